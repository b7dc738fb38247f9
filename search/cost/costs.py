"""The constants that the model of `search.cost.predict` assumes of any core."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Costs:
    """What the model assumes of any core, in cycles unless said otherwise.

    To calibrate: measure a random sample of schemes (`search.space.sample`), then fit the constants by least squares.
    `Prediction` keeps every part of the time, so the fit is linear in all constants except `exposed`.
    """

    # Vector FMAs a cycle at the peak. This alone turns a measured peak into a clock.
    pipes: float = 2.0
    # To write an accumulator, and to read one back where the sum continues. Every x86 core with 2 FMA pipes does
    # 1 store and 2 loads a cycle.
    store: float = 1.0
    load: float = 0.5
    # From the last FMA of a register tile to its first store: the latency of an FMA (uops.info).
    drain: float = 4.0
    # Addresses and branches of the loops around one register tile. Arithmetic hides a part of them.
    tile: float = 6.0
    # To enter the innermost loop anew. Pointers are set up while FMAs run, and the exit of a short loop is predicted:
    # loops of 2 to 7 trips take 0 to 1 cycles an entry on Zen 5 (docs/decisions/048).
    entry: float = 1.0
    # The same between tiles that read x by vectors, whose loads leave less room for it: on Zen 5 mobilenet_v2:D4 takes
    # 1.16 times as long with a loop over s as with s unrolled.
    entry_by_vectors: float = 5.0
    # An iteration of the innermost loop, besides its FMAs. Each cycle of FMAs hides two of these.
    step: float = 1.0
    # A step of a tile that has no more sums than FMAs in flight, of which each waits for the one before. A ranking sees
    # none of it. On a Zen 3 such tiles take 2 to 4 % longer in a calm minute, 12 % in others (docs/decisions/069).
    slack: float = 0.25
    # A vector of packed weights that a tile of short vectors takes from L2, besides what its score has seen. On a Zen 3
    # whose neighbours compute, tiles of 4 rows and 3 vectors take 4 to 7 % longer than those of 6 rows and 2 vectors.
    # In calm minutes both take as long. So this decides between near ties alone (docs/decisions/016).
    from_l2: float = 0.02
    # The share of every part but the slowest that shows in the time (no unit).
    exposed: float = 0.1
    # The same share between matrix instructions. Each of their loads waits for 16 lines. Fitted to 728 schemes of 19
    # layers in bf16 and int8 on Sapphire Rapids.
    in_tiles: float = 0.25
    # The same share of data that comes from beyond L2 without a prefetch (`tiling.loops.lowering.prefetch`).
    # On Sapphire Rapids that is 3.5 to 4 cycles a line of x, 2 to 9 a line of weights and 4 a line of y (952 schemes of
    # 24 layers in f32, least squares).
    not_prefetched: float = 0.5
    # The same share of an x whose every step lies on another line, on its way to L1. No prefetcher follows such steps.
    # Chosen by products of an a that is (K,M) on a Zen 3 (docs/decisions/073).
    stepped: float = 0.5
    # The same share of an x that comes from memory without a prefetch: each line is waited for, so more shows than its
    # transfer takes.
    from_memory: float = 3.0
    # The share of L2's bandwidth from which on data comes in time without a prefetch. Zen 5's L3 has 0.42, and what it
    # sends shows no more than other data. Sapphire Rapids' L3, behind a mesh, has 0.18 (docs/decisions/054).
    in_time: float = 1 / 3
    # One shuffle of two vectors, where tiles are transposed as they are stored. A shuffle takes 1 cycle on Intel's
    # cores with AVX-512 and 1/2 on Zen (uops.info). The arithmetic of neighbouring tiles hides about half.
    shuffle: float = 0.25
    # To start and to drain the matrix instructions of a register tile: a sum is ready 52 cycles after its instruction
    # began.
    matrix: float = 40.0
    # A vector of the sums of matrix instructions, which leave and come through memory.
    through: float = 1.0
    # A row of such sums that is one vector wide, so that y is written by single lines that lie far apart. int8
    # yolo9000:Y4 in the same loops takes 1.11 ms with one vector and 0.80 with two, bf16 resnet18:R1 0.32 and 0.24.
    lone: float = 4.0
    # To change the shape of the tile registers, from the last instruction of one shape to the first of the next: 150 to
    # 260 ns (bf16 resnet18:R2 and int8 yolo9000:Y8, λ inside and outside the loops over rows).
    reshape: float = 700.0
    # A vector that is made narrower and stored by itself, where several could be stored as one line.
    narrow: float = 0.8
    # A vector of x that is read in place and lies in two lines; and to store a vector to a panel, whose lines are not
    # in L1. Fitted to yolo9000:Y13 and Y19, channels first, with and without S(x), on Sapphire Rapids.
    split: float = 0.5
    pack: float = 4.0
    # The share of the time of data from beyond L2 that shows besides, for each row dim along which lanewise tiles leave
    # lines beside theirs for later (no unit). Prefetchers follow parts of pixels, and columns, worse than whole rows.
    # Arithmetic does not hide that. mobilenet_v2:D2 in f32 on Sapphire Rapids takes 0.207 ms with c innermost, 0.25
    # with c outside w, 0.29 with c outermost. D1 on Zen 3 takes 1.05 times as long by columns as by rows with warm
    # caches, 1.58 from memory; by halves of rows 0.99 and 1.16, by quarters 1.01 and 1.24 (docs/decisions/064). For L3
    # that is too much, then, and for memory too little; what is chosen by it gains from both.
    sweep: float = 0.2
    # Seconds to start and join a team of OpenMP threads that are running already.
    start: float = 4e-6
    # Seconds in which such a team waits for its last thread (docs/decisions/039).
    wait: float = 0.4e-6
    # Seconds for a line that another core wrote last. On a Zen 3 it was 1.5e-9 in some minutes and 15e-9 in others, by
    # where the host ran the two cores (docs/decisions/069).
    theirs: float = 1.5e-9


COSTS = Costs()
