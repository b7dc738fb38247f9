/*
 * The twin of tma.cuh: Hopper's TMA copies, mbarriers and clusters on a CPU. It comes behind twin.h and twin_wgmma.h.
 *
 * TMA copies run by themselves. They arrive at random times and in random order, at the latest when no thread can go on
 * otherwise. Until then no thread may touch the bytes that a copy writes, or write the bytes that it reads.
 */

enum { TWIN_TMA = 256, TWIN_MAGIC = 0x2a5f };

#define CLUSTER_KERNEL(threads, blocks, cluster) static void
#define TENSOR_MAP const tensor_map

/* `gpu.twin.launch` fills it in. Strides are bytes, all else is elements, innermost first. `pixels` is 0 for boxes.
 * `rounded` means that f32 arrive as tf32. */
typedef struct
{
    char *base;
    int64_t dims[5], strides[5];
    int32_t box[5], lower[2], upper[2], steps[2], rank, element_bytes, swizzled, pixels, rounded;
} tensor_map;

/* A TMA copy under way. A store stays here until its thread has waited for it. `group` counts as for cp.async. */
struct twin_tma {
    tensor_map map;
    struct twin_block *block;
    unsigned place, barrier;
    int at[5], offsets[2], store, done;
    struct twin_thread *owner;
    long group;
};

static struct twin_tma twin_tma[TWIN_TMA];
static int twin_tma_count;

/* The 8 bytes of an mbarrier. `visible`: a fence has made its initialisation visible. */
struct twin_mbarrier { uint64_t phase : 1, visible : 1, expected : 12, pending : 12, magic : 14; int64_t bytes : 24; };

/* The twin has no cache of tensor maps. */
DEVICE void prefetch_map(const tensor_map *map) { (void)map; }

/* ---- clusters ---- */

DEVICE unsigned cluster_rank(void) { return (unsigned)(twin.here - twin.blocks); }

DEVICE void cluster_arrive(void)
{
    struct twin_thread *self = twin.current;
    if (self->at_cluster)
        twin_fail("cluster_arrive comes a second time before cluster_wait");
    self->at_cluster = 1;
    self->cluster_turn = twin.cluster_turn;
    twin.at_cluster++;
    twin_release_cluster();
}

DEVICE void cluster_wait(void)
{
    struct twin_thread *self = twin.current;
    if (!self->at_cluster)
        twin_fail("cluster_wait comes before cluster_arrive");
    while (self->cluster_turn == twin.cluster_turn) {
        twin_set(self, TWIN_AT_CLUSTER);
        twin_yield();
    }
    self->at_cluster = 0;
}

/* The twin has no registers to move. */

/* ---- mbarriers ---- */

static struct twin_mbarrier *twin_mbarrier_at(unsigned barrier, const char *what)
{
    if (!twin_block_at(barrier)->live)
        twin_fail("%s reaches for the mbarrier of a block that has ended", what);
    struct twin_mbarrier *m = (struct twin_mbarrier *)twin_shared(barrier, 8, what);
    if (m->magic != TWIN_MAGIC)
        twin_fail("%s: nobody has initialised an mbarrier at byte %u", what, (barrier & 0xffffff) - TWIN_BASE);
    return m;
}

/* Ends the phase if all arrivals and bytes have come, and lets the threads go on that wait for it. */
static void twin_end_phase(struct twin_mbarrier *m)
{
    if (m->pending || m->bytes)
        return;
    m->phase ^= 1;
    m->pending = m->expected;
    for (int t = 0; t < twin.cluster * twin.thread_count; ++t)
        if (twin.threads[t].state == TWIN_AT_MBARRIER && twin.threads[t].awaited == m)
            twin_set(&twin.threads[t], TWIN_READY);
}

DEVICE void mbarrier_init(unsigned barrier, unsigned arrivals)
{
    struct twin_mbarrier *m = (struct twin_mbarrier *)twin_shared(barrier, 8, "mbarrier_init");
    *m = (struct twin_mbarrier){0, 0, arrivals, arrivals, TWIN_MAGIC, 0};
    twin_note_write(barrier, 8, "mbarrier_init");
}

DEVICE void mbarrier_fence_init(void)
{
    struct twin_thread *self = twin.current;
    for (int i = 0; i < self->write_count && i < TWIN_WRITES; ++i) {
        if (self->writes[i].bytes != 8)
            continue;
        struct twin_mbarrier *m = (struct twin_mbarrier *)twin_shared(self->writes[i].address, 8, "mbarrier_fence_init");
        if (m->magic == TWIN_MAGIC)
            m->visible = 1;
    }
}

static void twin_arrive(struct twin_mbarrier *m, int bytes, const char *what)
{
    if (!m->pending)
        twin_fail("%s: all arrivals of this phase of the mbarrier have come", what);
    m->pending--;
    m->bytes += bytes;
    twin_end_phase(m);
    if (!twin_random(4))
        twin_yield();
}

DEVICE void mbarrier_arrive(unsigned barrier) { twin_arrive(twin_mbarrier_at(barrier, "mbarrier_arrive"), 0, "mbarrier_arrive"); }

DEVICE void mbarrier_arrive_at(unsigned barrier, unsigned rank)
{
    if (rank >= (unsigned)twin.cluster)
        twin_fail("mbarrier_arrive_at: the cluster has no block %u", rank);
    struct twin_mbarrier *m = twin_mbarrier_at(barrier | (rank + 1) << 24, "mbarrier_arrive_at");
    if (!m->visible)
        twin_fail("mbarrier_arrive_at: no mbarrier_fence_init followed the mbarrier's initialisation");
    twin_arrive(m, 0, "mbarrier_arrive_at");
}

DEVICE void mbarrier_expect(unsigned barrier, unsigned bytes)
{
    twin_arrive(twin_mbarrier_at(barrier, "mbarrier_expect"), (int)bytes, "mbarrier_expect");
}

DEVICE void mbarrier_wait(unsigned barrier, unsigned parity)
{
    const struct twin_mbarrier *m = twin_mbarrier_at(barrier, "mbarrier_wait");
    while (m->phase == parity) {
        twin_set(twin.current, TWIN_AT_MBARRIER);
        twin.current->awaited = m;
        twin_yield();
    }
}

/* ---- TMA copies ---- */

static int twin_tma_rows(const tensor_map *map)
{
    int rows = map->pixels ? map->pixels : 1;
    for (int d = 1; d < map->rank && !map->pixels; ++d)
        rows *= map->box[d];
    return rows;
}

/* The number of windows that begin between a map's corners, along W (0) or H (1). */
static int64_t twin_tma_windows(const tensor_map *map, int d)
{
    return (map->dims[1 + d] + map->upper[d] - map->lower[d] + map->steps[d] - 1) / map->steps[d];
}

/* Finds the coordinates at which row `row` of the box begins. Returns whether all but the innermost are inside. */
static int twin_tma_row(const struct twin_tma *c, int row, int64_t *at)
{
    const tensor_map *map = &c->map;
    at[0] = c->at[0];
    if (map->pixels) {
        const int64_t wide = twin_tma_windows(map, 0), high = twin_tma_windows(map, 1);
        const int64_t window = ((int64_t)c->at[3] * high + (c->at[2] - map->lower[1]) / map->steps[1]) * wide +
                               (c->at[1] - map->lower[0]) / map->steps[0] + row;
        at[1] = map->lower[0] + window % wide * map->steps[0] + c->offsets[0];
        at[2] = map->lower[1] + window / wide % high * map->steps[1] + c->offsets[1];
        at[3] = window / wide / high;
    } else
        for (int d = 1; d < map->rank; row /= map->box[d], ++d)
            at[d] = c->at[d] + row % map->box[d];
    for (int d = 1; d < map->rank; ++d)
        if (at[d] < 0 || at[d] >= map->dims[d])
            return 0;
    return 1;
}

static char *twin_tma_global(const tensor_map *map, const int64_t *at)
{
    char *p = map->base + at[0] * map->element_bytes;
    for (int d = 1; d < map->rank; ++d)
        p += at[d] * map->strides[d];
    return p;
}

/* Writes an element to the output. It fails where the element was written before. */
static void twin_tma_store(const char *from, char *to, int bytes)
{
    struct twin_buffer *b = twin.buffers + twin.buffer_count - 1;
    for (int i = 0; i < bytes; ++i)
        if ((twin_stored ? twin_stored(to + i) : b->written[to - b->base + i]++) && !twin.failed) {
            snprintf(twin.report->message, sizeof twin.report->message,
                     "a TMA store writes byte %ld of the output a second time", (long)(to - b->base + i));
            twin.failed = 1;
        }
    memcpy(to, from, (size_t)bytes);
}

/* Rounds an f32 to tf32 as a TMA copy does: to nearest, ties to even. Infinities and NaN stay. Source: Triton, pull
 * request 11751, whose tests found that on an sm_120. */
static void twin_tma_round(char *element)
{
    uint32_t bits;
    memcpy(&bits, element, 4);
    if (~bits & 0x7f800000)
        bits = (bits + 0xfff + (bits >> 13 & 1)) & ~0x1fffu;
    memcpy(element, &bits, 4);
}

/* Moves the bytes of one copy. It may run outside of all threads. */
static void twin_tma_move(struct twin_tma *c)
{
    const tensor_map *map = &c->map;
    const int rows = twin_tma_rows(map), bytes = map->element_bytes;
    for (int row = 0; row < rows; ++row) {
        int64_t at[5];
        const int inside = twin_tma_row(c, row, at);
        for (int x = 0; x < map->box[0]; ++x, ++at[0]) {
            unsigned place = c->place + (unsigned)((row * map->box[0] + x) * bytes);
            if (map->swizzled)
                place ^= (place >> 7 & 7) << 4;
            char *here = c->block->shared + (place - TWIN_BASE);
            if (!inside || at[0] < 0 || at[0] >= map->dims[0]) {
                if (!c->store)
                    memset(here, 0, (size_t)bytes);
            } else if (c->store)
                twin_tma_store(here, twin_tma_global(map, at), bytes);
            else {
                memcpy(here, twin_tma_global(map, at), (size_t)bytes);
                if (map->rounded)
                    twin_tma_round(here);
            }
        }
    }
    c->done = 1;
}

/* The bytes of shared memory that a copy touches. They are contiguous, since the swizzle stays within rows of 128
 * bytes. */
static int twin_tma_bytes(const tensor_map *map) { return twin_tma_rows(map) * map->box[0] * map->element_bytes; }

static struct twin_history *twin_tma_history(const struct twin_tma *c) { return c->block->history + (c->place - TWIN_BASE) / 2; }

static void twin_tma_drop(int index) { twin_tma[index] = twin_tma[--twin_tma_count]; }

/* Lets a random copy arrive. */
static int twin_tma_arrival(void)
{
    int waiting[TWIN_TMA], count = 0;
    for (int i = 0; i < twin_tma_count; ++i)
        if (!twin_tma[i].done)
            waiting[count++] = i;
    if (!count)
        return 0;
    const int index = waiting[twin_random((unsigned)count)];
    struct twin_tma *c = twin_tma + index;
    twin_tma_move(c);
    if (c->store)
        return 1;
    struct twin_history *h = twin_tma_history(c);
    const int bytes = twin_tma_bytes(&c->map);
    for (int i = 0; i < bytes / 2; ++i) {
        h[i].copies--;
        h[i].hidden = 0;
        h[i].write_epoch = 0;
    }
    struct twin_mbarrier *m = (struct twin_mbarrier *)(c->block->shared + (c->barrier - TWIN_BASE));
    m->bytes -= bytes;
    twin_end_phase(m);
    twin_tma_drop(index);
    return 1;
}

/* The check when a thread ends: its stores must have read their bytes; no copy to an ending block may be under way. */
static void twin_tma_leaving(void)
{
    const struct twin_block *here = twin_here();
    for (int i = 0; i < twin_tma_count; ++i) {
        if (twin_tma[i].store && twin_tma[i].owner == twin.current)
            twin_fail("ends before it has waited for its TMA stores to have read shared memory");
        if (!twin_tma[i].store && twin_tma[i].block == here && here->live == 1)
            twin_fail("its block ends while a copy to its shared memory is under way");
    }
}

/* Checks of a map and a place that both directions need. */
static void twin_tma_check(const tensor_map *map, unsigned place, const int *at, int rank, int pixels, const char *what)
{
    if (map->rank != rank || (map->pixels != 0) != pixels)
        twin_fail("%s: the tensor map is of %d dims%s", what, map->rank, map->pixels ? ", of pixels" : "");
    if (at[0] * map->element_bytes % 16)
        twin_fail("%s begins at element %d of a row, which is no multiple of 16 bytes", what, at[0]);
    if (place % (map->swizzled ? 1024 : 128))
        twin_fail("%s needs a place in shared memory that is a multiple of %d, not byte %u", what, map->swizzled ? 1024 : 128,
                  place - TWIN_BASE);
    char *last = twin_shared(place, 2, what) + twin_tma_bytes(map);
    if (last > twin_here()->shared + twin.shared_bytes)
        twin_fail("%s touches bytes past the %d of shared memory", what, twin.shared_bytes);
    int64_t end[5];
    for (int d = 0; d < rank; ++d)
        end[d] = map->dims[d] - 1;
    twin_global(map->base, map->element_bytes, what);
    twin_global(twin_tma_global(map, end), map->element_bytes, what);
}

static void twin_tma_begin(struct twin_tma c)
{
    if (twin_tma_count == TWIN_TMA)
        twin_fail("more than %d TMA copies are under way", TWIN_TMA);
    if (!twin.arrival)
        twin_tma_count = 0;         /* an earlier run may have stopped at an error */
    twin_tma[twin_tma_count++] = c;
    twin.arrival = twin_tma_arrival;
    twin.leaving = twin_tma_leaving;
}

static void twin_tma_load(const char *what, unsigned to, const tensor_map *map, unsigned barrier, const int *at, int rank,
                           const int *offsets, unsigned blocks)
{
    twin_tma_check(map, to, at, rank, offsets != NULL, what);
    for (int d = 0; offsets && d < 2; ++d) {
        if ((at[1 + d] - map->lower[d]) % map->steps[d])
            twin_fail("%s begins at no window: %d along dim %d", what, at[1 + d], 1 + d);
        /* Only n may be past its end, at images that do not exist. Nothing documents what is copied otherwise. */
        if (at[1 + d] < map->lower[d] || at[1 + d] >= map->lower[d] + twin_tma_windows(map, d) * map->steps[d])
            twin_fail("%s begins outside the box of windows: %d along dim %d", what, at[1 + d], 1 + d);
        if (offsets[d] > 255)
            twin_fail("%s: a pixel cannot lie %d from its window's first, only up to 255", what, offsets[d]);
    }
    if (!blocks || blocks >> twin.cluster)
        twin_fail("%s: the cluster has %d blocks, the mask is %u", what, twin.cluster, blocks);
    for (unsigned rank_to = 0; rank_to < (unsigned)twin.cluster; ++rank_to) {
        if (!(blocks >> rank_to & 1))
            continue;
        struct twin_tma c = {*map, twin.blocks + rank_to, to, barrier, {0}, {0}, 0, 0, twin.current, -1};
        memcpy(c.at, at, (size_t)rank * sizeof *at);
        if (offsets)
            memcpy(c.offsets, offsets, sizeof c.offsets);
        if (!twin_mbarrier_at(barrier | (rank_to + 1) << 24, what)->visible)
            twin_fail("%s: no mbarrier_fence_init followed the mbarrier's initialisation", what);
        struct twin_history *h = twin_tma_history(&c);
        for (int i = 0; i < twin_tma_bytes(map) / 2; ++i, ++h) {
            if (h->products || h->stores || h->copies)
                twin_fail("%s overwrites byte %u of block %u's shared memory, which %s", what, to - TWIN_BASE + 2 * (unsigned)i,
                          twin.first_block + rank_to,
                          h->products ? "a wgmma under way reads" : h->stores ? "a TMA store under way reads"
                                                                              : "a copy under way writes");
            if (h->hidden)
                twin_fail("%s overwrites byte %u of shared memory, which a thread wrote: no fence_proxy_async came after that", what,
                          to - TWIN_BASE + 2 * (unsigned)i);
            h->copies++;
        }
        twin_tma_begin(c);
    }
}

static void twin_tma_save(const char *what, const tensor_map *map, unsigned from, const int *at, int rank)
{
    twin_tma_check(map, from, at, rank, 0, what);
    if (twin_global(map->base, 1, what) != twin.buffers + twin.buffer_count - 1)
        twin_fail("%s writes to an input", what);
    struct twin_tma c = {*map, twin_here(), from, 0, {0}, {0}, 1, 0, twin.current, -1};
    memcpy(c.at, at, (size_t)rank * sizeof *at);
    struct twin_history *h = twin_tma_history(&c);
    for (int i = 0; i < twin_tma_bytes(map) / 2; ++i, ++h) {
        if (h->hidden)
            twin_fail("%s reads byte %u of shared memory, after which no fence_proxy_async came", what,
                      from - TWIN_BASE + 2 * (unsigned)i);
        h->stores++;
    }
    twin_tma_begin(c);
}

static unsigned twin_only_here(void) { return 1u << cluster_rank(); }

DEVICE void copy_box_2d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1)
{
    twin_tma_load("copy_box_2d", to, map, barrier, (int[]){x0, x1}, 2, NULL, twin_only_here());
}

DEVICE void copy_box_2d_multicast(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, unsigned short blocks)
{
    twin_tma_load("copy_box_2d_multicast", to, map, barrier, (int[]){x0, x1}, 2, NULL, blocks);
}

DEVICE void copy_box_3d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2)
{
    twin_tma_load("copy_box_3d", to, map, barrier, (int[]){x0, x1, x2}, 3, NULL, twin_only_here());
}

DEVICE void copy_box_3d_multicast(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2,
                                  unsigned short blocks)
{
    twin_tma_load("copy_box_3d_multicast", to, map, barrier, (int[]){x0, x1, x2}, 3, NULL, blocks);
}

DEVICE void copy_box_4d(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3)
{
    twin_tma_load("copy_box_4d", to, map, barrier, (int[]){x0, x1, x2, x3}, 4, NULL, twin_only_here());
}

DEVICE void copy_box_4d_multicast(unsigned to, const tensor_map *map, unsigned barrier, int x0, int x1, int x2, int x3,
                                  unsigned short blocks)
{
    twin_tma_load("copy_box_4d_multicast", to, map, barrier, (int[]){x0, x1, x2, x3}, 4, NULL, blocks);
}

DEVICE void copy_pixels(unsigned to, const tensor_map *map, unsigned barrier, int c, int w, int h, int n, unsigned short right,
                        unsigned short down)
{
    twin_tma_load("copy_pixels", to, map, barrier, (int[]){c, w, h, n}, 4, (int[]){right, down}, twin_only_here());
}

DEVICE void copy_pixels_multicast(unsigned to, const tensor_map *map, unsigned barrier, int c, int w, int h, int n,
                                  unsigned short right, unsigned short down, unsigned short blocks)
{
    twin_tma_load("copy_pixels_multicast", to, map, barrier, (int[]){c, w, h, n}, 4, (int[]){right, down}, blocks);
}

DEVICE void store_box_2d(const tensor_map *map, unsigned from, int x0, int x1)
{
    twin_tma_save("store_box_2d", map, from, (int[]){x0, x1}, 2);
}

DEVICE void store_box_3d(const tensor_map *map, unsigned from, int x0, int x1, int x2)
{
    twin_tma_save("store_box_3d", map, from, (int[]){x0, x1, x2}, 3);
}

DEVICE void tma_commit(void)
{
    for (int i = 0; i < twin_tma_count; ++i)
        if (twin_tma[i].owner == twin.current && twin_tma[i].store && twin_tma[i].group < 0)
            twin_tma[i].group = twin.current->tma_groups;
    twin.current->tma_groups++;
}

DEVICE void tma_wait_read(int pending)
{
    struct twin_thread *self = twin.current;
    for (int i = twin_tma_count - 1; i >= 0; --i) {
        struct twin_tma *c = twin_tma + i;
        if (!c->store || c->owner != self || c->group < 0 || c->group >= self->tma_groups - pending)
            continue;
        if (!c->done)
            twin_tma_move(c);
        for (int k = 0; k < twin_tma_bytes(&c->map) / 2; ++k)
            twin_tma_history(c)[k].stores--;
        twin_tma_drop(i);
    }
}

