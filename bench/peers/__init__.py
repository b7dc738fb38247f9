"""Other ways to compute a layer, each as somebody who knows the library would call it. Read in this order:

    peer           the interface, and what a prepared layer is
    convolution    a `Problem` in the words of libraries: strides, padding on four sides, groups
    onednn onednn_nchw ort openvino xtc tvm numpy    one adapter each; its docstring says what was learned
    cudnn cublas triton    on an NVIDIA GPU, their `target`: no comparison with what a CPU computes
    torch_cuda triton_product    what these three share, a GPU through PyTorch; the kernel in Triton's language
    torch_cpu verbose    PyTorch set up for float32 on the CPU; oneDNN's own account of its time
    tvm_library    what XTC and TVM compiled, called; xtc_search and tvm_search are the processes that search for it
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
