"""What a run of `python -m bench` finds, as immutable records that flow from measuring to reporting."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tiling.machine import Machine, Timing

OURS, MODEL = "tilewright", "model"
_EPILOGUE = ",epilogue="  # begins the end of a shape (`tiling.shapes.canonical`)


@dataclass(frozen=True)
class Contender:
    """One way to compute a layer, as measured: ours, the model's own choice (nothing measured), or a peer.

    `call` is a call as a Python user makes it, output memory re-used; `kernel` the kernel alone, where it can be had.
    `max_error` is the largest error against float64 on random reals.
    """

    name: str
    layout: str
    call: Timing
    kernel: Timing | None
    max_error: float


@dataclass(frozen=True)
class LayerResult:
    """A layer of a suite, `count` times in its network, timed in turns by every contender; ours come first.

    `flops` count padding, as everyone counts; `flops_on_image` leave out the taps that fall on it. `compulsory_bytes`
    are those of every tensor once. `tried` are (predicted, measured) seconds of each candidate the search measured,
    `skipped` (peer, reason). `memory_bandwidth` is one core's, bytes/s read, measured in the same process.
    `search_seconds` is from the question to the scheme, `total_seconds` until everything was timed. `algorithm` is the
    one asked for: "direct", "winograd" or "auto". On a GPU, `target`
    "cuda", a call's time is that of the device, the peak its tensor-core rate, the bandwidth that of a copy within it.
    """

    suite: str
    layer: str
    count: int
    op: str
    shape: str
    flops: int
    flops_on_image: int
    compulsory_bytes: int
    threads: int
    dtype: str
    cache: str
    scheme: str
    model_scheme: str
    tried: tuple[tuple[float, float], ...]
    contenders: tuple[Contender, ...]
    skipped: tuple[tuple[str, str], ...]
    memory_bandwidth: float
    search_seconds: float
    total_seconds: float
    target: str = "cpu"
    algorithm: str = "direct"

    def contender(self, name: str) -> Contender | None:
        """The contender of that name; None where it did not run."""
        return next((c for c in self.contenders if c.name == name), None)

    @property
    def layout(self) -> str:
        """Of a convolution's x and y: "nhwc", or "nchw" where the shape says so."""
        return "nchw" if "layout=nchw" in self.shape.split(",") else "nhwc"

    @property
    def epilogue(self) -> str:
        """What is fused into the stores, as the shape says it but for the dims of its arrays, which differ from layer
        to layer; empty where nothing is.
        """
        return re.sub(r"\[[^]]*\]", "", self.shape.partition(_EPILOGUE)[2])

    @property
    def shown_shape(self) -> str:
        """The shape with spaces between its pairs, where a table may break the line; an epilogue is one of them."""
        extents, mark, epilogue = self.shape.partition(_EPILOGUE)
        return extents.replace(",", " ") + mark.replace(",", " ") + epilogue

    @property
    def ours(self) -> Contender:
        """The tuned kernel."""
        return self.contenders[0]

    @property
    def peers(self) -> tuple[Contender, ...]:
        """What is not ours."""
        return tuple(c for c in self.contenders if c.name not in (OURS, MODEL))

    @property
    def best_peer(self) -> Contender | None:
        """The peer whose call is fastest; None where none ran."""
        return min(self.peers, key=lambda c: c.call.seconds, default=None)

    def percent(self, contender: Contender) -> float:
        """Of the FMA peak of the threads used, for a call from Python."""
        return 100 * contender.call.fraction_of_peak(self.flops, self.threads)

    def kernel_percent(self, contender: Contender) -> float | None:
        """The same for the kernel alone; None where its time is not known."""
        return 100 * contender.kernel.fraction_of_peak(self.flops, self.threads) if contender.kernel else None

    @property
    def limit_percent(self) -> float:
        """What a kernel at the peak reaches that computes no tap on padding: 100, or more on small images."""
        return 100 * self.flops / max(self.flops_on_image, 1)

    def ratio(self, peer: Contender) -> float:
        """How many times as long as ours a peer takes, both called from Python."""
        return peer.call.seconds / self.ours.call.seconds


@dataclass(frozen=True)
class Conditions:
    """What every figure of a run holds under. `peers` are (name, title, version) of those that ran, `missing` (name,
    why).
    """

    command: str
    machine: Machine
    compiler: str
    tilewright: str
    python: str
    peers: tuple[tuple[str, str, str], ...]
    missing: tuple[tuple[str, str], ...]
    cache: str
    pinned: str
    allocator: str
    turns: str
    budget: float
    target: str = "cpu"
