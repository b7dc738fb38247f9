/* A kernel that is compiled with this prologue computes nothing: each load and store tells a simulated memory hierarchy
 * which address it touches. Caches are sets of `ways` lines, least recently used goes first; a line that misses one
 * level is asked for at the next. Lines are told apart by which of X, W and Y they belong to, or to none: a panel of x.
 */
#include <stdint.h>

enum { LEVELS = 8, TENSORS = 3 };
typedef float vec;

typedef struct {
    long sets, ways, hashed;
    uint64_t *lines; /* sets x ways line numbers, most recently used first; 0 is an empty place */
} trace_cache;

static trace_cache trace_caches[LEVELS];
static int trace_levels;
static int trace_line_bits;
static uintptr_t trace_first[TENSORS], trace_end[TENSORS];
static long trace_fills[LEVELS][TENSORS + 1];

/* Whether the line was there; it is the most recently used one afterwards. */
static int trace_hit(trace_cache *cache, uint64_t line)
{
    /* A cache of slices picks the set by a hash; Fibonacci hashing stands for it. */
    const uint64_t place = cache->hashed ? (line * 0x9e3779b97f4a7c15u) >> 20 : line;
    uint64_t *set = cache->lines + place % cache->sets * cache->ways;
    uint64_t moved = set[0];
    if (moved == line)
        return 1;
    set[0] = line;
    for (long way = 1; way < cache->ways; ++way) {
        const uint64_t here = set[way];
        set[way] = moved;
        if (here == line)
            return 1;
        moved = here;
    }
    return 0;
}

static void trace_touch(const void *p, long bytes)
{
    const uintptr_t address = (uintptr_t)p;
    int tensor = 0;
    while (tensor < TENSORS && !(trace_first[tensor] <= address && address < trace_end[tensor]))
        ++tensor;
    for (uint64_t line = address >> trace_line_bits; line <= (address + bytes - 1) >> trace_line_bits; ++line)
        for (int level = 0; level < trace_levels; ++level) {
            if (trace_hit(&trace_caches[level], line))
                break;
            ++trace_fills[level][tensor];
        }
}

static inline vec trace_load(const float *p, long lanes)
{
    trace_touch(p, lanes * 4);
    return 0;
}

static inline void trace_store(const float *p, long lanes)
{
    trace_touch(p, lanes * 4);
}

/* lines: one array for all levels, zeroed, sets x ways each, one after the other. */
void trace_begin(int levels, const long *sets, const long *ways, const long *hashed, int line_bits,
                 uint64_t *lines)
{
    trace_levels = levels;
    trace_line_bits = line_bits;
    for (int level = 0; level < levels; ++level) {
        trace_caches[level] = (trace_cache){sets[level], ways[level], hashed[level], lines};
        lines += sets[level] * ways[level];
    }
}

/* From here on fills count, from 0; tensor `t` lies in [first[t], end[t]). */
void trace_count(const uintptr_t *first, const uintptr_t *end)
{
    for (int tensor = 0; tensor < TENSORS; ++tensor) {
        trace_first[tensor] = first[tensor];
        trace_end[tensor] = end[tensor];
    }
    for (int level = 0; level < LEVELS; ++level)
        for (int tensor = 0; tensor <= TENSORS; ++tensor)
            trace_fills[level][tensor] = 0;
}

long trace_filled(int level, int tensor)
{
    return trace_fills[level][tensor];
}
