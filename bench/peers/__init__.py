"""Other ways to compute a layer, each as somebody who knows the library would call it. Read in this order:

    interface/  what all libraries share
    cpu/        oneDNN, OpenVINO, ONNX Runtime, NumPy
    gpu/        cuDNN, cuBLAS, Triton
    compilers/  TVM and XTC
    networks/   whole networks

Importing this package imports none of the libraries.
"""

from bench.peers.compilers.tvm import Tvm
from bench.peers.compilers.xtc import Xtc
from bench.peers.cpu.numpy import NumPy
from bench.peers.cpu.onednn import OneDnn
from bench.peers.cpu.onednn_nchw import OneDnnNchw
from bench.peers.cpu.openvino import OpenVino
from bench.peers.cpu.ort import OnnxRuntime
from bench.peers.gpu.cublas import CuBlas
from bench.peers.gpu.cudnn import CuDnn
from bench.peers.gpu.triton import Triton
from bench.peers.interface.peer import Peer, Prepared

__all__ = ["PEERS", "Peer", "Prepared"]

PEERS: dict[str, Peer] = {
    peer.name: peer
    for peer in (
        *(OneDnn(), OneDnnNchw(), OnnxRuntime(), OpenVino(), Xtc(), Tvm(), NumPy()),
        *(CuDnn(), CuBlas(), Triton()),
    )
}
