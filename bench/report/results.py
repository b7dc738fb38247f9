"""The results of `python -m bench`, as immutable records that flow from measuring to reporting."""

from __future__ import annotations

import re
from dataclasses import dataclass

from tiling.machine import Machine, Timing

OURS, MODEL = "tilewright", "model"
_EPILOGUE = ",epilogue="  # begins the end of a shape (`tiling.text.shapes.canonical`)


@dataclass(frozen=True)
class ContenderResult:
    """One measured way to compute a layer: our tuned kernel, the model's own choice, or a peer.

    call: the timing of a call from Python that re-uses its output memory. kernel: the timing of the kernel alone, where
    the library tells. max_error: the largest error against float64 on random reals.
    """

    name: str
    layout: str
    call: Timing
    kernel: Timing | None
    max_error: float


@dataclass(frozen=True)
class LayerResult:
    """A layer of a suite, `count` times in its network, timed in turns by every contender; ours come first.

    flops: operations with the taps on padding, as everyone counts. flops_on_image: operations without them.
    compulsory_bytes: bytes of every tensor once. tried: (predicted, measured) seconds of each measured candidate.
    skipped: (peer, reason). memory_bandwidth: bytes/s that one core reads, measured in the same process.
    search_seconds: from the start to the scheme. total_seconds: until everything was timed. algorithm: the requested
    one, "direct", "winograd" or "auto". On a GPU (`target` "cuda") a call's time is that of the device, the peak is its
    tensor-core rate, and the bandwidth is measured by a copy within it.
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
    contenders: tuple[ContenderResult, ...]
    skipped: tuple[tuple[str, str], ...]
    memory_bandwidth: float
    search_seconds: float
    total_seconds: float
    target: str = "cpu"
    algorithm: str = "direct"

    def contender(self, name: str) -> ContenderResult | None:
        """The contender of that name; None where it did not run."""
        return next((c for c in self.contenders if c.name == name), None)

    @property
    def layout(self) -> str:
        """The layout of a convolution's x and y: "nhwc", or "nchw" where the shape says so."""
        return "nchw" if "layout=nchw" in self.shape.split(",") else "nhwc"

    @property
    def epilogue(self) -> str:
        """The epilogue in the shape, without the dims of its arrays, which differ between layers; empty without one."""
        return re.sub(r"\[[^]]*\]", "", self.shape.partition(_EPILOGUE)[2])

    @property
    def shown_shape(self) -> str:
        """The shape with spaces between its pairs, where a table may break the line. An epilogue counts as a pair."""
        extents, mark, epilogue = self.shape.partition(_EPILOGUE)
        return extents.replace(",", " ") + mark.replace(",", " ") + epilogue

    @property
    def ours(self) -> ContenderResult:
        """The tuned kernel."""
        return self.contenders[0]

    @property
    def peers(self) -> tuple[ContenderResult, ...]:
        """The contenders that are not ours."""
        return tuple(c for c in self.contenders if c.name not in (OURS, MODEL))

    @property
    def best_peer(self) -> ContenderResult | None:
        """The peer whose call is fastest; None where none ran."""
        return min(self.peers, key=lambda c: c.call.seconds, default=None)

    def percent(self, contender: ContenderResult) -> float:
        """The percentage of the FMA peak of the used threads that a call from Python reaches."""
        return 100 * contender.call.fraction_of_peak(self.flops, self.threads)

    def kernel_percent(self, contender: ContenderResult) -> float | None:
        """The same for the kernel alone; None where its time is not known."""
        return 100 * contender.kernel.fraction_of_peak(self.flops, self.threads) if contender.kernel else None

    @property
    def limit_percent(self) -> float:
        """The percentage that a kernel at the peak reaches if it skips the taps on padding: 100 or more."""
        return 100 * self.flops / max(self.flops_on_image, 1)

    def ratio(self, peer: ContenderResult) -> float:
        """How many times as long as ours a peer takes, both called from Python."""
        return peer.call.seconds / self.ours.call.seconds


@dataclass(frozen=True)
class Conditions:
    """The conditions of a run. peers: (name, title, version) of each that ran. missing: (name, why) of the others."""

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
