"""One row per instruction set: everything the emitters need to know about it, as text.

A new instruction set is a new row; so is one that multiplies narrower numbers, several of them in each 32-bit lane
(`tiling.words`): to the emitters such a lane is a float whose bits mean something else. The emitters fill the `{…}`
fields of these forms and never ask which row it is.
Forms: `p` is a pointer to floats, `acc`, `x`, `w`, `v` are names of vector variables. `lanes` names the first lanes of
a partly used vector, such as TAIL, and is defined by `lanes_definition`. `constant` spreads the number `s`; `larger`
and `smaller` of the vectors `a` and `b` give b where either is no number; `shuffle` takes the lanes `places` of both,
those of `b` counted on, by a macro that `microkernels.lanes` defines. For everything else the vector types of all rows
have C's own operators, which gcc and clang define: + - * / lane by lane, < giving lanes of all bits or none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Narrow:
    """How a vector of floats `v` is stored as numbers of fewer bits, rounded to nearest even; `definition` comes
    before.
    """

    dtype: str
    definition: str
    store: str
    store_tail: str
    stream: str


@dataclass(frozen=True)
class Lanes:
    """How as many neighbouring narrow numbers as a vector has lanes are loaded from `p`, and what becomes of them in
    `v`.

    number: the C type of x's; alone: each is the lowest bits of a lane, the others 0; moved: the same, up by `bits`;
    together: they stay side by side, in the first lanes.
    """

    number: str
    load: str
    load_tail: str
    alone: str
    moved: str
    together: str


@dataclass(frozen=True)
class Matrix:
    """Tile registers, each of up to `rows` rows of up to `bytes` bytes, and the forms of what is done with them.

    Forms: `t`, `x`, `w`, `acc` are numbers of tile registers, `p` is a pointer to the first row and `step` the bytes
    from one row to the next. multiply: to each row of acc and each of its lanes the products of a row of x with a
    column of w are added. shaped: makes the shapes at `p` those of all tile registers, which it zeroes. definition:
    with `{bytes}`, those that a row of x has. ahead: the line at `ahead`, unless that is `end`, is on its way to L2 and
    `ahead` moved to the next. awake: what keeps the units awake that the way of the sums needs.
    """

    rows: int
    bytes: int
    registers: int
    definition: str
    zero: str
    load: str
    store: str
    multiply: str
    ahead: str
    awake: str
    shaped: str
    release: str


@dataclass(frozen=True)
class Isa:
    """An instruction set as the emitters see it.

    lanes: f32 per vector; registers: vector registers there are; cpu_flags: what /proc/cpuinfo must list;
    compiler_flags: what makes gcc and clang accept the forms; any_cpu: the attribute of a function that is compiled
    without them, and supported: the C condition that the CPU it runs on has cpu_flags; embedded_broadcast: an FMA can
    read and spread a scalar from memory by itself, so a broadcast needs no register of its own. dtype: of what `fma`
    multiplies; word: the C type that x and the weights are read as; floats: the float vector of the sums in `v`;
    narrow: the stores of other dtypes; numbers: of narrow ones, the loads that give each a lane of its own; ranked_as:
    the instruction set whose measured tiles stand for this one's, empty for its own. matrix: what multiplies blocks
    (`tiling.words`); then `vectors` is the instruction set of its schemes of words.
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
    dtype: str = "f32"
    word: str = "float"
    floats: str = "{v}"
    narrow: tuple[Narrow, ...] = ()
    numbers: Lanes | None = None
    ranked_as: str = ""
    matrix: Matrix | None = None
    vectors: str = ""

    @property
    def ranked(self) -> str:
        """The instruction set whose measurements, of tiles and of caches, hold for this one."""
        return self.ranked_as or self.name

    def narrow_to(self, dtype: str) -> Narrow | None:
        """The stores of this output dtype; None for one that is stored by whole vectors."""
        return next((row for row in self.narrow if row.dtype == dtype), None)

    def x_type(self, lanewise: bool) -> str:
        """The C type that tiles read x as: that of a number where they load vectors of narrow ones."""
        return self.numbers.number if self.numbers and lanewise else self.word


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
/* To each lane of acc, a float, the products of its two bf16 of x and of w are added. */
static inline __m512 dot(__m512 x, __m512 w, __m512 acc) { return _mm512_dpbf16_ps(acc, (__m512bh)x, (__m512bh)w); }""",
    broadcast="_mm512_set1_ps(*({p}))",
    fma="dot({x}, {w}, {acc})",
    dtype="bf16",
    word="word",
    narrow=(
        Narrow(
            dtype="bf16",
            definition="static inline __m256i to_bf16(__m512 v) { return (__m256i)_mm512_cvtneps_pbh(v); }",
            store="_mm256_storeu_si256((__m256i *)({p}), to_bf16({v}))",
            store_tail="_mm256_mask_storeu_epi16({p}, {lanes}, to_bf16({v}))",
            stream="_mm256_stream_si256((__m256i *)({p}), to_bf16({v}))",
        ),
    ),
    numbers=Lanes(
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
/* The nearest whole numbers (of two the even one), those beyond {low} and {high} as these; no number as {low}. */
static inline __m512i to_{dtype}(__m512 v)
{{
    const __m512 most = _mm512_min_ps(_mm512_max_ps(v, _mm512_set1_ps({low}.0f)), _mm512_set1_ps({high}.0f));
    return _mm512_cvtps_epi32(most);
}}""",
        store=f"_mm_storeu_si128((__m128i *)({{p}}), _mm512_cvtepi32_epi8(to_{dtype}({{v}})))",
        store_tail=f"_mm512_mask_cvtepi32_storeu_epi8({{p}}, {{lanes}}, to_{dtype}({{v}}))",
        stream=f"_mm_stream_si128((__m128i *)({{p}}), _mm512_cvtepi32_epi8(to_{dtype}({{v}})))",
    )


AVX512VNNI = replace(
    AVX512F,
    name="avx512vnni",
    cpu_flags=(*AVX512F.cpu_flags, "avx512bw", "avx512_vnni"),
    compiler_flags=(*AVX512F.compiler_flags, "-mavx512bw", "-mavx512vnni"),
    supported=AVX512F.supported + ' && __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vnni")',
    embedded_broadcast=False,  # of the weights alone: x is the unsigned operand, which comes from a register
    prologue=_WORD.format(numbers="Up to four u8 of x or four s8 of the weights")
    + """\
/* To each lane of acc, an int32, the products of its four u8 of x and s8 of w are added, exactly. Not the intrinsic:
 * gcc 12 stores every one of its results to the stack as well. */
static inline __m512 dot(__m512 x, __m512 w, __m512 acc)
{
    __asm__("vpdpbusd %2, %1, %0" : "+v"(acc) : "v"(x), "v"(w));
    return acc;
}""",
    stream="_mm512_stream_ps((float *)({p}), {v})",
    fma="dot({x}, {w}, {acc})",
    dtype="int8",
    word="word",
    floats="_mm512_cvtepi32_ps((__m512i)({v}))",
    narrow=(_bytes("u8", 0, 255), _bytes("s8", -128, 127)),
    numbers=Lanes(
        number="uint8_t",
        load="_mm_loadu_si128((const __m128i *)({p}))",
        load_tail="_mm_maskz_loadu_epi8({lanes}, {p})",
        alone="_mm512_cvtepu8_epi32({v})",
        moved="_mm512_slli_epi32(_mm512_cvtepu8_epi32({v}), {bits})",
        together="_mm512_castsi128_si512({v})",
    ),
    ranked_as="avx512f",
)

# Linux gives a process the tile registers once it asks (its Documentation/arch/x86/xstate.rst: ARCH_REQ_XCOMP_PERM is
# 0x1023, the state XTILEDATA 18). The asm statements are not the intrinsics: those of gcc 12 say neither what memory
# they read nor that all 64 bytes of the shapes count, so that it leaves out the stores before them.
_TILES = """\
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* The block of a row of x, or of one lane of the weights, that an instruction multiplies. */
typedef struct {{ uint8_t bytes[{bytes}]; }} word;

/* What a tile register holds: ROWS[t] rows of BYTES[t] bytes. */
struct shapes {{
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
}};
static inline const struct shapes *shaped(const struct shapes *wanted, const struct shapes *now)
{{
    if (wanted != now) __asm__ volatile("ldtilecfg %0" : : "m"(*wanted));
    return wanted;
}}
#define tiles_end() __asm__ volatile("tilerelease")
#define tile_zero(t) __asm__ volatile("tilezero %%tmm" #t : :)
#define tile_load(t, p, step) \\
    __asm__ volatile("tileloadd (%0,%1,1), %%tmm" #t : : "r"(p), "r"((long)(step)) : "memory")
#define tile_store(t, p, step) \\
    __asm__ volatile("tilestored %%tmm" #t ", (%0,%1,1)" : : "r"(p), "r"((long)(step)) : "memory")
/* To each row i and lane j of tile acc, the products of row i of tile x and column j of tile w are added. */
#define tile_dot(acc, x, w) __asm__ volatile("{instruction} %%tmm" #w ", %%tmm" #x ", %%tmm" #acc : :)

/* One line of the weights that are multiplied next comes to L2 meanwhile. */
static inline const char *to_l2(const char *ahead, const char *end)
{{
    if (ahead == end) return end;
    _mm_prefetch(ahead, _MM_HINT_T1);
    return ahead + 64;
}}

/* A multiplication of vectors. After some 600 ns without any, the units that multiply them sleep, and the next
 * tile_store waits 250 ns until they are awake: 36 steps and their stores take 770 ns with it, 1054 without (Sapphire
 * Rapids). */
#define stay_awake() __asm__ volatile("vpmaddwd %%xmm15, %%xmm15, %%xmm15" : : : "xmm15")

/* Whether the CPU has tile registers and the system gives them to this process: once asked, for good, and signal stacks
 * must then have room for them. */
static __attribute__((target("no-avx"))) int tiles_given(void)
{{
    static int known = -1;
    unsigned a, b, c, d;
    int given = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (given < 0) {{
        const int there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1 && d >> {bit} & 1;
        given = there && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
        __atomic_store_n(&known, given, __ATOMIC_RELAXED);
    }}
    return given;
}}"""


def _tiles(vectors: Isa, name: str, flag: str, bit: int, instruction: str) -> Isa:
    """The row of Intel's AMX (Intel 64 and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18)
    beside the instruction set of the same numbers' vectors; `bit`: of CPUID leaf 7, register edx. The
    statements are the assembler's alone, so the compiler needs no flag of AMX and may be older.
    """
    return replace(
        vectors,
        name=name,
        cpu_flags=(*vectors.cpu_flags, "amx_tile", flag),
        supported=f"{vectors.supported} && tiles_given()",
        prologue=vectors.prologue.partition("\n\n")[0],
        matrix=Matrix(
            rows=16,
            bytes=64,
            registers=8,
            definition=_TILES.replace("{instruction}", instruction).replace("{bit}", str(bit)),
            zero="tile_zero({t})",
            load="tile_load({t}, {p}, {step})",
            store="tile_store({t}, {p}, {step})",
            multiply="tile_dot({acc}, {x}, {w})",
            ahead="ahead = to_l2(ahead, end)",
            awake="stay_awake()",
            shaped="shape = shaped(&{p}, shape)",
            release="tiles_end()",
        ),
        vectors=vectors.name,
    )


AMXBF16 = _tiles(AVX512BF16, "amxbf16", "amx_bf16", 22, "tdpbf16ps")
AMXINT8 = _tiles(AVX512VNNI, "amxint8", "amx_int8", 25, "tdpbusd")

# Widest first: the first one that the CPU has is the default. Other dtypes have their own instruction sets.
ISAS: dict[str, Isa] = {isa.name: isa for isa in (AVX512F, AVX2, PORTABLE)}
ISAS_OF: dict[str, dict[str, Isa]] = {
    "f32": ISAS,
    "bf16": {isa.name: isa for isa in (AMXBF16, AVX512BF16)},
    "int8": {isa.name: isa for isa in (AMXINT8, AVX512VNNI)},
}
EVERY_ISA: dict[str, Isa] = {name: isa for isas in ISAS_OF.values() for name, isa in isas.items()}


def isa_named(name: str) -> Isa:
    """The row called `name`. Raises ValueError listing the names there are."""
    if name not in EVERY_ISA:
        raise ValueError(f"unknown instruction set {name!r}; known are {', '.join(EVERY_ISA)}")
    return EVERY_ISA[name]


def best_isa(cpu_flags: frozenset[str], dtype: str = "f32") -> Isa:
    """The widest instruction set of `dtype` that a CPU with these flags runs; of f32, `portable` runs everywhere.

    Raises ValueError where it runs none.
    """
    for isa in ISAS_OF[dtype].values():
        if cpu_flags.issuperset(isa.cpu_flags):
            return isa
    missing = [flag for flag in isa.cpu_flags if flag not in cpu_flags]
    raise ValueError(
        f"this CPU computes nothing in {dtype}: it lacks {', '.join(missing)}; dtype='f32' runs everywhere"
    )


def lacking(isa: Isa, cpu_flags: frozenset[str]) -> tuple[str, ...]:
    """Of the next wider instruction set, the flags that this CPU has not: why `isa` is its best; empty for
    the widest.
    """
    names = list(ISAS_OF[isa.dtype])
    wider = [isa_named(name) for name in names[: names.index(isa.name)]]
    return tuple(flag for flag in wider[-1].cpu_flags if flag not in cpu_flags) if wider else ()
