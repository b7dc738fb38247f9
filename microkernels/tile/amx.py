"""Intel's AMX as rows of the table in `isa`: tile registers beside the vectors of an instruction set."""

from __future__ import annotations

from dataclasses import replace

from microkernels.tile.isa_row import Isa, MultiplyAdd, TileRegisters

# Linux gives a process the tile registers once it asks (Documentation/arch/x86/xstate.rst: ARCH_REQ_XCOMP_PERM is
# 0x1023, the state XTILEDATA 18). These are asm statements, since gcc 12 leaves out stores before its intrinsics: these
# do not say which memory they read, nor that all 64 bytes of the shapes count.
_TILES = """\
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>

/* A dot group: neighbours that an instruction multiplies and adds, several numbers of x or of a lane of the weights. */
typedef uint32_t word;

/* Tile register t holds rows[t] rows of bytes[t] bytes. */
struct shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};
static inline const struct shapes *shaped(const struct shapes *wanted, const struct shapes *now)
{
    if (wanted != now) __asm__ volatile("ldtilecfg %0" : : "m"(*wanted));
    return wanted;
}
/* Tile registers are tmm0 to tmm7. */
#define tiles_end() __asm__ volatile("tilerelease")
#define tile_zero(t) __asm__ volatile("tilezero %%" #t : :)
#define tile_load(t, p, step) \\
    __asm__ volatile("tileloadd (%0,%1,1), %%" #t : : "r"(p), "r"((long)(step)) : "memory")
#define tile_store(t, p, step) \\
    __asm__ volatile("tilestored %%" #t ", (%0,%1,1)" : : "r"(p), "r"((long)(step)) : "memory")
/* Adds to row i and lane j of tile acc the products of row i of tile x and column j of tile w. */
#define tile_dot(acc, x, w) __asm__ volatile("{instruction} %%" #w ", %%" #x ", %%" #acc : :)

/* Multiplies two vectors, for its side effect. The units that multiply vectors sleep after some 600 ns without work,
 * and the next tile_store then waits 250 ns for them. With this, 36 steps and their stores take 910 ns; without it,
 * 1173 (`python -m bench.tiles` on Sapphire Rapids). */
#define stay_awake() __asm__ volatile("vpmaddwd %%xmm15, %%xmm15, %%xmm15" : : : "xmm15")

/* Whether the CPU has tile registers and the system gives them to this process. Asked once: the process then keeps
 * them, and its signal stacks must have room for them. */
static __attribute__((target("no-avx"))) int tiles_given(void)
{
    static int known = -1;
    unsigned a, b, c, d;
    int given = __atomic_load_n(&known, __ATOMIC_RELAXED);
    if (given < 0) {
        const int there = __get_cpuid_count(7, 0, &a, &b, &c, &d) && d >> 24 & 1 && d >> {bit} & 1;
        given = there && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
        __atomic_store_n(&known, given, __ATOMIC_RELAXED);
    }
    return given;
}"""


def with_tiles(vectors: Isa, name: str, flag: str, bit: int, instruction: str, adds: tuple[str, ...]) -> Isa:
    """The row of Intel's AMX beside `vectors`, the instruction set that multiplies vectors of the same numbers.

    `bit` is the instruction's bit in CPUID leaf 7, register edx; `adds` is what it means (`MultiplyAdd`).
    Only the assembler reads the statements, so the compiler needs no flag for AMX and may be older. Source: Intel 64
    and IA-32 Architectures Software Developer's Manual, volume 1, chapter 18.
    """
    return replace(
        vectors,
        name=name,
        cpu_flags=(*vectors.cpu_flags, "amx_tile", flag),
        supported=f"{vectors.supported} && tiles_given()",
        prologue=vectors.prologue.partition("\n\n")[0],
        matrix=TileRegisters(
            rows=16,
            bytes=64,
            registers=8,
            definition=_TILES.replace("{instruction}", instruction).replace("{bit}", str(bit)),
            zero="tile_zero({t})",
            load="tile_load({t}, {p}, {step})",
            store="tile_store({t}, {p}, {step})",
            multiply=MultiplyAdd("tile_dot({acc}, {x}, {w})", adds),
            awake="stay_awake()",
            release="tiles_end()",
        ),
        vectors=vectors.name,
    )
