"""Other ways to compute a layer, each as somebody who knows the library would call it. Read in this order:

    peer           the interface, and what a prepared layer is
    convolution    a `Problem` in the words of libraries: strides, padding on four sides, groups
    onednn onednn_nchw ort openvino xtc tvm numpy    one library each
    cudnn cublas triton    libraries on an NVIDIA GPU, which are not compared with those on a CPU
    torch_cuda triton_product    a GPU through PyTorch, for these three; the kernel in Triton's language
    torch_cpu verbose    PyTorch set up for float32 on the CPU; the times that oneDNN reports
    tvm_library    calls libraries that XTC and TVM compiled; xtc_search and tvm_search are the processes that search
    versions       versions of packages, without importing them

Importing this package imports none of the libraries.
"""

from bench.peers.cublas import CuBlas
from bench.peers.cudnn import CuDnn
from bench.peers.numpy import NumPy
from bench.peers.onednn import OneDnn
from bench.peers.onednn_nchw import OneDnnNchw
from bench.peers.openvino import OpenVino
from bench.peers.ort import OnnxRuntime
from bench.peers.peer import Peer, Prepared
from bench.peers.triton import Triton
from bench.peers.tvm import Tvm
from bench.peers.xtc import Xtc

__all__ = ["PEERS", "Peer", "Prepared"]

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        *(OneDnn(), OneDnnNchw(), OnnxRuntime(), OpenVino(), Xtc(), Tvm(), NumPy()),
        *(CuDnn(), CuBlas(), Triton()),
    )
}
