"""One row per instruction set: everything the emitters need to know about it, as text.

A new instruction set is a new row. The emitters fill the `{…}` fields of these forms and never ask which row it is.
Forms: `p` is a pointer to floats, `acc`, `x`, `w`, `v` are names of vector variables. `lanes` names the first lanes of a
partly used vector, such as TAIL, and is defined by `lanes_definition`. `constant` spreads the number `s`; `larger` and
`smaller` of the vectors `a` and `b` give b where either is no number; `shuffle` takes the lanes `places` of both, those of
`b` counted on, by the macro of `transpose`. For everything else the vector types of all rows have C's own operators, which
gcc and clang define: + - * / lane by lane, < giving lanes of all bits or none.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Isa:
    """An instruction set as the emitters see it.

    lanes: f32 per vector; registers: vector registers there are; cpu_flags: what /proc/cpuinfo must list;
    compiler_flags: what makes gcc and clang accept the forms; any_cpu: the attribute of a function that is compiled
    without them, and supported: the C condition that the CPU it runs on has cpu_flags; embedded_broadcast: an FMA can read and spread a scalar
    from memory by itself, so a broadcast needs no register of its own.
    """

    name: str
    lanes: int
    registers: int
    cpu_flags: tuple[str, ...]
    compiler_flags: tuple[str, ...]
    any_cpu: str
    supported: str
    embedded_broadcast: bool
    vector_type: str
    prologue: str
    lanes_definition: str
    zero: str
    load: str
    load_tail: str
    store: str
    store_tail: str
    stream: str
    stream_fence: str
    broadcast: str
    fma: str
    constant: str
    larger: str
    smaller: str
    shuffle: str = "PICK({a}, {b}, {places})"


AVX512F = Isa(
    name="avx512f",
    lanes=16,
    registers=32,
    cpu_flags=("avx512f", "avx512vl", "fma"),
    compiler_flags=("-mavx512f", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"),
    any_cpu='__attribute__((target("no-avx"))) ',
    supported='__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("fma")',
    embedded_broadcast=True,
    vector_type="__m512",
    prologue="#include <immintrin.h>",
    lanes_definition="#define {name} ((__mmask16){mask:#06x}) /* the {lanes} lanes used of {what} */",
    zero="_mm512_setzero_ps()",
    load="_mm512_loadu_ps({p})",
    load_tail="_mm512_maskz_loadu_ps({lanes}, {p})",
    store="_mm512_storeu_ps({p}, {v})",
    store_tail="_mm512_mask_storeu_ps({p}, {lanes}, {v})",
    stream="_mm512_stream_ps({p}, {v})",
    stream_fence="_mm_sfence()",
    broadcast="_mm512_set1_ps(*({p}))",
    fma="_mm512_fmadd_ps({x}, {w}, {acc})",
    constant="_mm512_set1_ps({s})",
    larger="_mm512_max_ps({a}, {b})",
    smaller="_mm512_min_ps({a}, {b})",
)

AVX2 = Isa(
    name="avx2",
    lanes=8,
    registers=16,
    cpu_flags=("avx2", "fma"),
    compiler_flags=("-mavx2", "-mfma"),
    any_cpu='__attribute__((target("no-avx"))) ',
    supported='__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")',
    embedded_broadcast=False,
    vector_type="__m256",
    prologue="#include <immintrin.h>",
    lanes_definition=(
        "/* The {lanes} lanes used of {what}: a lane counts where its sign bit is set. */\n"
        "static const int {array}[8] = {{{lane_list}}};\n"
        "#define {name} _mm256_loadu_si256((const __m256i *){array})"
    ),
    zero="_mm256_setzero_ps()",
    load="_mm256_loadu_ps({p})",
    load_tail="_mm256_maskload_ps({p}, {lanes})",
    store="_mm256_storeu_ps({p}, {v})",
    store_tail="_mm256_maskstore_ps({p}, {lanes}, {v})",
    stream="_mm256_stream_ps({p}, {v})",
    stream_fence="_mm_sfence()",
    broadcast="_mm256_broadcast_ss({p})",
    fma="_mm256_fmadd_ps({x}, {w}, {acc})",
    constant="_mm256_set1_ps({s})",
    larger="_mm256_max_ps({a}, {b})",
    smaller="_mm256_min_ps({a}, {b})",
)

PORTABLE = Isa(
    name="portable",
    lanes=4,
    registers=16,
    cpu_flags=(),
    compiler_flags=("-ffp-contract=fast",),
    any_cpu="",
    supported="1",
    embedded_broadcast=False,
    vector_type="vec",
    prologue="""\
/* The compiler's own vectors: four floats, whatever the CPU makes of them. `vec_at` is one at any address. */
typedef float vec __attribute__((vector_size(16)));
typedef float vec_at __attribute__((vector_size(16), aligned(4), may_alias));
static inline vec spread(float value) { return (vec){value, value, value, value}; }
static inline vec load_lanes(const float *p, int lanes)
{
    vec v = {0, 0, 0, 0};
    for (int lane = 0; lane < lanes; ++lane)
        v[lane] = p[lane];
    return v;
}
static inline void store_lanes(float *p, vec v, int lanes)
{
    for (int lane = 0; lane < lanes; ++lane)
        p[lane] = v[lane];
}""",
    lanes_definition="#define {name} {lanes} /* lanes used of {what} */",
    zero="((vec){0, 0, 0, 0})",
    load="((vec)*(const vec_at *)({p}))",
    load_tail="load_lanes({p}, {lanes})",
    store="*(vec_at *)({p}) = {v}",
    store_tail="store_lanes({p}, {v}, {lanes})",
    stream="*(vec_at *)({p}) = {v}",
    stream_fence="(void)0",
    broadcast="spread(*({p}))",
    fma="{x} * {w} + {acc}",
    constant="spread({s})",
    larger="choose({a} > {b}, {a}, {b})",
    smaller="choose({a} < {b}, {a}, {b})",
)

# Widest first: the first one that the CPU has is the default.
ISAS: dict[str, Isa] = {isa.name: isa for isa in (AVX512F, AVX2, PORTABLE)}


def isa_named(name: str) -> Isa:
    """The row called `name`. Raises ValueError listing the names there are."""
    if name not in ISAS:
        raise ValueError(f"unknown instruction set {name!r}; known are {', '.join(ISAS)}")
    return ISAS[name]


def best_isa(cpu_flags: frozenset[str]) -> Isa:
    """The widest instruction set that a CPU with these flags runs; `portable` runs everywhere."""
    return next(isa for isa in ISAS.values() if cpu_flags.issuperset(isa.cpu_flags))


def lacking(isa: Isa, cpu_flags: frozenset[str]) -> tuple[str, ...]:
    """Of the next wider instruction set, the flags that this CPU has not: why `isa` is its best; empty for the widest."""
    wider = list(ISAS.values())[: list(ISAS).index(isa.name)]
    return tuple(flag for flag in wider[-1].cpu_flags if flag not in cpu_flags) if wider else ()


def tail_definition(isa: Isa, lanes: int) -> str:
    """The C text that defines TAIL for a last vector of which `lanes` lanes are used."""
    return _lanes_definition(isa, "TAIL", lanes, "the last vector")


def block_definition(isa: Isa, rows: int) -> str:
    """The C text that defines FIRST_n for a transposed block of n `rows`."""
    return _lanes_definition(isa, f"FIRST_{rows}", rows, f"a block of {rows} rows")


def _lanes_definition(isa: Isa, name: str, lanes: int, what: str) -> str:
    lane_list = ", ".join("-1" if lane < lanes else "0" for lane in range(isa.lanes))
    words = {"name": name, "array": f"{name.lower()}_lanes", "what": what}
    return isa.lanes_definition.format(**words, lanes=lanes, mask=(1 << lanes) - 1, lane_list=lane_list)
