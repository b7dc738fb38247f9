"""What the model of `search.predict` assumes of any core."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """What the model assumes of any core; cycles unless said otherwise.

    To calibrate: measure a random sample of schemes (`search.sample`), and fit the constants to the samples by least
    squares; `Prediction` keeps every part, so the fit is linear but for `exposed`.

    pipes: vector FMAs a cycle at the peak. This alone turns a measured peak into a clock.
    store, load: cycles for an accumulator to be written, or read back where the sum continues (1 store and 2 loads
        a cycle on every x86 core with 2 FMA pipes).
    drain: from the last FMA of a register tile to its first store: the FMA latency, 4 (uops.info).
    tile: addresses and branches of the loops around one register tile, partly hidden.
    entry: entering the innermost loop anew: its last exit is mispredicted now and then (about 15 cycles when it is),
        and pointers are set up.
    step: an iteration of the innermost loop, beyond its FMAs; two of these hide behind each FMA cycle.
    exposed: the fraction of the faster parts that is not hidden behind the slowest; in_tiles: the same between matrix
        instructions, whose loads wait for 16 lines each (728 schemes of 19 layers in bf16 and int8 on Sapphire Rapids).
    unasked: the same of what comes from beyond L2 and no tile has asked for before (`tiling.ahead`), on Sapphire Rapids
        3.5 to 4 cycles a line of x (952 schemes of 24 layers in f32, least squares), 2 to 9 of weights, 4 of y.
    shuffle: cycles of one shuffle of two vectors, where tiles are transposed as they are stored: 1 on Intel's cores
        with AVX-512, 1/2 on Zen (uops.info); the arithmetic of the tiles around hides about half.
    matrix: cycles until the first and after the last matrix instructions of a register tile, whose sums stand until 52
        cycles after they began; through: of each vector of its sums, which leave and come through memory.
    lone: of a row of such sums that is one vector, so that single lines of y are written far apart (int8 yolo9000:Y4 in
        the same loops, one vector and two: 1.11 and 0.80 ms; bf16 resnet18:R1 0.32 and 0.24).
    reshape: from the last instruction with tile registers of one shape to the first with those of another: 150 to 260
        ns (bf16 resnet18:R2, int8 yolo9000:Y8, λ inside and outside the loops over rows).
    narrow: of each vector that is made narrower and stored by itself, where a line of them would be stored as one.
    split: of a vector of x that is read in place and lies in two lines; pack: to store one to a panel, whose lines are
        in no L1 (yolo9000:Y13 and Y19, channels first, with and without S(x), on Sapphire Rapids).
    sweep: the part of the time that data from beyond L2 takes longer for each row dim inside a loop over the channels
        that vectors run over: prefetchers follow parts of pixels worse than whole ones (mobilenet_v2:D2 in f32 on
        Sapphire Rapids with c innermost, outside w, and outermost: 0.207, 0.25 and 0.29 ms).
    start: seconds to start and join a team of threads (OpenMP, threads already running).
    """

    pipes: float = 2.0
    store: float = 1.0
    load: float = 0.5
    drain: float = 4.0
    tile: float = 6.0
    entry: float = 5.0
    step: float = 1.0
    exposed: float = 0.1
    in_tiles: float = 0.25
    unasked: float = 0.5
    shuffle: float = 0.25
    matrix: float = 40.0
    through: float = 1.0
    lone: float = 4.0
    reshape: float = 700.0
    narrow: float = 0.8
    split: float = 0.5
    pack: float = 4.0
    sweep: float = 0.2
    start: float = 4e-6


COSTS = Costs()
