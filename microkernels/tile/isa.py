"""The table of instruction sets: one row each, with everything that the emitters need to know as text.

The emitters fill the `{…}` fields of these forms and never ask which row it is. `forms` says what the fields mean. An
instruction set for narrow numbers is a row too: to the emitters a dot group in a 32-bit lane is a float.
"""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.amx import with_tiles
from microkernels.tile.isa_row import Isa, MultiplyAdd, Narrow, NarrowLoads
from tiling.choices import meant

AVX512F = Isa(
    name="avx512f",
    lanes=16,
    registers=32,
    cpu_flags=("avx512f", "avx512vl", "fma"),
    compiler_flags=("-mavx512f", "-mavx512vl", "-mfma", "-mprefer-vector-width=512"),
    any_cpu='__attribute__((target("no-avx"))) ',
    supported=" && ".join(f'__builtin_cpu_supports("{flag}")' for flag in ("avx512f", "avx512vl", "fma")),
    embedded_broadcast=True,
    vector_type="__m512",
    prologue="#include <immintrin.h>",
    lanes_definition="#define {name} ((__mmask16){mask:#06x}) /* the {lanes} lanes used of {what} */",
    first_lanes="(__mmask16)((1u << ({lanes})) - 1)",
    zero="_mm512_setzero_ps()",
    load="_mm512_loadu_ps({p})",
    load_tail="_mm512_maskz_loadu_ps({lanes}, {p})",
    store="_mm512_storeu_ps({p}, {v})",
    store_tail="_mm512_mask_storeu_ps({p}, {lanes}, {v})",
    stream="_mm512_stream_ps({p}, {v})",
    stream_fence="_mm_sfence()",
    broadcast="_mm512_set1_ps(*({p}))",
    fma=MultiplyAdd("_mm512_fmadd_ps({x}, {w}, {acc})", ("fma",)),
    constant="_mm512_set1_ps({s})",
    larger="_mm512_max_ps({a}, {b})",
    smaller="_mm512_min_ps({a}, {b})",
    no_number="_mm512_mask_mov_ps({found}, _mm512_cmp_ps_mask({v}, {v}, _CMP_UNORD_Q), {v})",
    # "Not less" holds for NaN, so NaN stays NaN.
    scale="_mm512_maskz_scalef_ps(_mm512_cmp_ps_mask({v}, {least}, _CMP_NLT_UQ), {p}, {n})",
    lookup="_mm512_permutexvar_ps((__m512i){n}, {table})",
    once="_mm512_fmadd_ps({a}, {b}, {c})",
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
        "/* The {lanes} lanes used of {what}. A lane counts where its sign bit is set. */\n"
        "static const int {array}[8] = {{{lane_list}}};\n"
        "#define {name} _mm256_loadu_si256((const __m256i *){array})"
    ),
    first_lanes="_mm256_cmpgt_epi32(_mm256_set1_epi32((int)({lanes})), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7))",
    zero="_mm256_setzero_ps()",
    load="_mm256_loadu_ps({p})",
    load_tail="_mm256_maskload_ps({p}, {lanes})",
    store="_mm256_storeu_ps({p}, {v})",
    store_tail="_mm256_maskstore_ps({p}, {lanes}, {v})",
    stream="_mm256_stream_ps({p}, {v})",
    stream_fence="_mm_sfence()",
    broadcast="_mm256_broadcast_ss({p})",
    fma=MultiplyAdd("_mm256_fmadd_ps({x}, {w}, {acc})", ("fma",)),
    constant="_mm256_set1_ps({s})",
    larger="_mm256_max_ps({a}, {b})",
    smaller="_mm256_min_ps({a}, {b})",
    no_number="_mm256_blendv_ps({found}, {v}, _mm256_cmp_ps({v}, {v}, _CMP_UNORD_Q))",
    nan="_mm256_cmp_ps({a}, {b}, _CMP_UNORD_Q)",
    or_nan="_mm256_or_ps({a}, {b})",
    once="_mm256_fmadd_ps({a}, {b}, {c})",
    fma_in_place="""\
/* acc + x * w, in the register of acc. Where all registers are taken, gcc would move sums and spill one. */
#define FMA_IN_PLACE(x, w, acc) ({ __asm__("vfmadd231ps %2, %1, %0" : "+x"(acc) : "x"(x), "x"(w)); acc; })""",
    store_lanes="""\
/* Stores the first lanes of v by stores of 4, 2 and 1 lanes. A Zen 3 takes 12 cycles for a masked store. */
static inline __attribute__((always_inline)) void store_lanes(float *p, __m256 v, int lanes)
{
    __m128 rest = _mm256_castps256_ps128(v);
    if (lanes & 4) {
        _mm_storeu_ps(p, rest);
        rest = _mm256_extractf128_ps(v, 1);
    }
    if (lanes & 2) {
        _mm_storel_pi((__m64 *)(p + (lanes & 4)), rest);
        rest = _mm_movehl_ps(rest, rest);
    }
    if (lanes & 1)
        _mm_store_ss(p + (lanes & 6), rest);
}""",
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
/* A vector of the compiler: four floats, on any CPU. `vec_at` is one at any address. Not every kernel calls all
 * of these functions. */
typedef float vec __attribute__((vector_size(16)));
typedef float vec_at __attribute__((vector_size(16), aligned(4), may_alias));
static inline __attribute__((unused)) vec spread(float value) { return (vec){value, value, value, value}; }
static inline __attribute__((unused)) vec load_lanes(const float *p, int lanes)
{
    vec v = {0, 0, 0, 0};
    for (int lane = 0; lane < lanes; ++lane)
        v[lane] = p[lane];
    return v;
}
static inline __attribute__((unused)) void store_lanes(float *p, vec v, int lanes)
{
    for (int lane = 0; lane < lanes; ++lane)
        p[lane] = v[lane];
}""",
    lanes_definition="#define {name} {lanes} /* lanes used of {what} */",
    first_lanes="(int)({lanes})",
    zero="((vec){0, 0, 0, 0})",
    load="((vec)*(const vec_at *)({p}))",
    load_tail="load_lanes({p}, {lanes})",
    store="*(vec_at *)({p}) = {v}",
    store_tail="store_lanes({p}, {v}, {lanes})",
    stream="*(vec_at *)({p}) = {v}",
    stream_fence="(void)0",
    broadcast="spread(*({p}))",
    fma=MultiplyAdd("{x} * {w} + {acc}", ("mul_add",)),
    constant="spread({s})",
    larger="choose({a} > {b}, {a}, {b})",
    smaller="choose({a} < {b}, {a}, {b})",
)

_WORD = """\
#include <immintrin.h>
#include <stdint.h>

/* {numbers} side by side, in the 32 bits of a lane, at any address. */
typedef float word __attribute__((aligned(1), may_alias));
"""

AVX512BF16 = replace(
    AVX512F,
    name="avx512bf16",
    cpu_flags=(*AVX512F.cpu_flags, "avx512bw", "avx512_bf16"),
    compiler_flags=(*AVX512F.compiler_flags, "-mavx512bw", "-mavx512bf16"),
    supported=AVX512F.supported + ' && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512bf16")',
    embedded_broadcast=False,  # the CPU could, gcc 12 never does
    prologue=_WORD.format(numbers="Up to two bf16")
    + """\
/* Adds to each lane of acc, a float, the products of its two bf16 of x and of w. */
static inline __m512 dot(__m512 x, __m512 w, __m512 acc) { return _mm512_dpbf16_ps(acc, (__m512bh)x, (__m512bh)w); }""",
    broadcast="_mm512_set1_ps(*({p}))",
    fma=MultiplyAdd("dot({x}, {w}, {acc})", ("dot_bf16_add",)),
    dtype="bf16",
    word="word",
    narrow=(
        Narrow(
            dtype="bf16",
            definition="""\
static inline __m256i to_bf16(__m512 v) { return (__m256i)_mm512_cvtneps_pbh(v); }
static inline __m512i line_of_bf16(__m512 a, __m512 b) { return (__m512i)_mm512_cvtne2ps_pbh(b, a); }""",
            store="_mm256_storeu_si256((__m256i *)({p}), to_bf16({v}))",
            store_tail="_mm256_mask_storeu_epi16({p}, {lanes}, to_bf16({v}))",
            stream="_mm256_stream_si256((__m256i *)({p}), to_bf16({v}))",
            in_line=2,
            store_line="_mm512_storeu_si512({p}, line_of_bf16({v}))",
        ),
    ),
    numbers=NarrowLoads(
        number="uint16_t",
        load="_mm256_loadu_si256((const __m256i *)({p}))",
        load_tail="_mm256_maskz_loadu_epi16({lanes}, {p})",
        alone="_mm512_cvtepu16_epi32({v})",
        moved="_mm512_slli_epi32(_mm512_cvtepu16_epi32({v}), {bits})",
        together="_mm512_castsi256_si512({v})",
    ),
    ranked_as="avx512f",
)


def _bytes(dtype: str, low: int, high: int) -> Narrow:
    return Narrow(
        dtype=dtype,
        definition=f"""\
/* The nearest whole numbers, of two the even one. They end at {low} and {high}; a NaN becomes {low}. */
static inline __m512i to_{dtype}(__m512 v)
{{
    const __m512 most = _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps({low}.0f)), _mm512_set1_ps({high}.0f));
    return _mm512_cvtps_epi32(most);
}}
static inline __m512i line_of_{dtype}(__m512 a, __m512 b, __m512 c, __m512 d)
{{
    __m512i line = _mm512_castsi128_si512(_mm512_cvtepi32_epi8(to_{dtype}(a)));
    line = _mm512_inserti32x4(line, _mm512_cvtepi32_epi8(to_{dtype}(b)), 1);
    line = _mm512_inserti32x4(line, _mm512_cvtepi32_epi8(to_{dtype}(c)), 2);
    return _mm512_inserti32x4(line, _mm512_cvtepi32_epi8(to_{dtype}(d)), 3);
}}""",
        store=f"_mm_storeu_si128((__m128i *)({{p}}), _mm512_cvtepi32_epi8(to_{dtype}({{v}})))",
        store_tail=f"_mm512_mask_cvtepi32_storeu_epi8({{p}}, {{lanes}}, to_{dtype}({{v}}))",
        stream=f"_mm_stream_si128((__m128i *)({{p}}), _mm512_cvtepi32_epi8(to_{dtype}({{v}})))",
        in_line=4,
        store_line=f"_mm512_storeu_si512({{p}}, line_of_{dtype}({{v}}))",
    )


AVX512VNNI = replace(
    AVX512F,
    name="avx512vnni",
    cpu_flags=(*AVX512F.cpu_flags, "avx512bw", "avx512_vnni"),
    compiler_flags=(*AVX512F.compiler_flags, "-mavx512bw", "-mavx512vnni"),
    supported=AVX512F.supported + ' && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")',
    embedded_broadcast=False,  # only weights can come from memory: x is the unsigned operand, which must be a register
    prologue=_WORD.format(numbers="Up to four u8 of x or four s8 of the weights")
    + """\
/* Adds to each lane of acc, an int32, the products of its four u8 of x and s8 of w, exactly. Not the intrinsic, since
 * gcc 12 stores every one of its results to the stack as well. */
static inline __m512 dot(__m512 x, __m512 w, __m512 acc)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}""",
    stream="_mm512_stream_ps((float *)({p}), {v})",
    broadcast="_mm512_set1_ps(*(const word *)({p}))",  # the bits of a word, and of a sum of an earlier pass
    fma=MultiplyAdd("dot({x}, {w}, {acc})", ("dot_int8_add",)),
    dtype="int8",
    word="word",
    floats="_mm512_cvtepi32_ps((__m512i)({v}))",
    narrow=(_bytes("u8", 0, 255), _bytes("s8", -128, 127)),
    numbers=NarrowLoads(
        number="uint8_t",
        load="_mm_loadu_si128((const __m128i *)({p}))",
        load_tail="_mm_maskz_loadu_epi8({lanes}, {p})",
        alone="_mm512_cvtepu8_epi32({v})",
        moved="_mm512_slli_epi32(_mm512_cvtepu8_epi32({v}), {bits})",
        together="_mm512_castsi128_si512({v})",
    ),
    ranked_as="avx512f",
)

# The two numbers of all words are summed apart.
AMXBF16 = with_tiles(AVX512BF16, "amxbf16", "amx_bf16", 22, "tdpbf16ps", ("first_bf16_add", "second_bf16_add"))
AMXINT8 = with_tiles(AVX512VNNI, "amxint8", "amx_int8", 25, "tdpbusd", ("dot_int8_add",))

# Widest first: the default is the first one that the CPU has. Other dtypes have their own instruction sets.
ISAS: dict[str, Isa] = {isa.name: isa for isa in (AVX512F, AVX2, PORTABLE)}
ISAS_OF: dict[str, dict[str, Isa]] = {
    "f32": ISAS,
    "bf16": {isa.name: isa for isa in (AMXBF16, AVX512BF16)},
    "int8": {isa.name: isa for isa in (AMXINT8, AVX512VNNI)},
}
EVERY_ISA: dict[str, Isa] = {name: isa for isas in ISAS_OF.values() for name, isa in isas.items()}


def isa_named(name: str) -> Isa:
    """The row called `name`. Raises ValueError, which lists the known names."""
    if name not in EVERY_ISA:
        raise ValueError(f"unknown instruction set {name!r}{meant(name, EVERY_ISA)}; known are {', '.join(EVERY_ISA)}")
    return EVERY_ISA[name]


def best_isa(cpu_flags: frozenset[str], dtype: str = "f32") -> Isa:
    """The widest instruction set for `dtype` that a CPU with these flags runs. For f32, `portable` runs everywhere.

    Raises ValueError where the CPU runs none, or where there is no such dtype.
    """
    if dtype not in ISAS_OF:
        raise ValueError(f"dtype {dtype!r:.40} is not covered: {', '.join(ISAS_OF)}")
    for isa in ISAS_OF[dtype].values():
        if cpu_flags.issuperset(isa.cpu_flags):
            return isa
    missing = [flag for flag in isa.cpu_flags if flag not in cpu_flags]
    raise ValueError(
        f"this CPU computes nothing in {dtype}: it lacks {', '.join(missing)}; dtype='f32' runs everywhere"
    )


def lacking(isa: Isa, cpu_flags: frozenset[str]) -> tuple[str, ...]:
    """The flags of the next wider instruction set that this CPU lacks: why `isa` is its best. Empty for the widest."""
    names = list(ISAS_OF[isa.dtype])
    wider = [isa_named(name) for name in names[: names.index(isa.name)]]
    return tuple(flag for flag in wider[-1].cpu_flags if flag not in cpu_flags) if wider else ()
