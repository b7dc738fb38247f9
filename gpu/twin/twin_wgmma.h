/*
 * The twin of wgmma.cuh: Hopper's wgmma on a CPU. It comes behind twin.h. A product is counted at the bytes that it
 * reads when it starts. It is done at once, or when its warpgroup waits for it.
 */

/* Makes this thread's writes visible to wgmma. Copies that have not arrived yet stay hidden. */
DEVICE void fence_proxy_async(void)
{
    struct twin_thread *self = twin.current;
    int kept = 0;
    if (self->write_count > TWIN_WRITES)
        twin_fail("fence_proxy_async comes after more than %d writes", TWIN_WRITES);
    for (int i = 0; i < self->write_count; ++i) {
        struct twin_history *h = twin_history_of(self->writes[i].address);
        if (h->copies)
            self->writes[kept++] = self->writes[i];
        else
            for (int k = 0; k < self->writes[i].bytes / 2; ++k)
                h[k].hidden = 0;
    }
    self->write_count = kept;
}

/* Only NVRTC needs this. */
DEVICE void pin(float *sum) { (void)sum; }

/* ---- registers ---- */

static void twin_set_registers(int from, int count, const char *what)
{
    struct twin_thread *self = twin.current;
    struct twin_block *block = twin_here();
    if (count % 8 || count < 24 || count > 256)
        twin_fail("%s: %d is no multiple of 8 from 24 to 256", what, count);
    if (from % 8 || from * twin.thread_count > 65536)
        twin_fail("%s: the %d threads of a block do not begin with %d registers", what, twin.thread_count, from);
    if (self->registers)
        twin_fail("%s: the registers of this thread were set before", what);
    while (block->spare < count - from) {
        twin_set(self, TWIN_AT_REGISTERS);
        twin_yield();
    }
    block->spare += from - count;
    self->registers = count;
    for (int t = 0; t < twin.cluster * twin.thread_count; ++t)
        if (twin.threads[t].state == TWIN_AT_REGISTERS)
            twin_set(&twin.threads[t], TWIN_READY);
}

DEVICE void give_registers(int from, int count)
{
    if (count > from)
        twin_fail("give_registers: %d of %d registers give none", count, from);
    twin_set_registers(from, count, "give_registers");
}

DEVICE void take_registers(int from, int count)
{
    if (count < from)
        twin_fail("take_registers: %d after %d registers take none", count, from);
    twin_set_registers(from, count, "take_registers");
}

DEVICE void wgmma_fence(void) { twin.current->fenced = 1; }

DEVICE uint64_t wgmma_descriptor(unsigned tile, unsigned deep)
{
    return (uint64_t)((tile + deep & 0x3ffff) >> 4) | 1ull << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

DEVICE uint64_t wgmma_descriptor_across(unsigned tile, unsigned every_64, unsigned deep)
{
    return (uint64_t)((tile + deep & 0x3ffff) >> 4) | (uint64_t)(every_64 >> 4) << 16 | (uint64_t)(1024 >> 4) << 32 | 1ull << 62;
}

/* The address of 16 bytes of `row`, at byte 16 `chunk` of the instruction's depth. The swizzle XORs bits 4 to 6 of the
 * whole address with bits 7 to 9. */
static unsigned twin_described(uint64_t descriptor, int row, int chunk)
{
    const unsigned start = (unsigned)(descriptor & 0x3fff) << 4, every_8 = (unsigned)(descriptor >> 32 & 0x3fff) << 4;
    const unsigned address = start + (unsigned)(row / 8) * every_8 + (unsigned)(row % 8) * 128 + (unsigned)chunk * 16;
    if (descriptor >> 62 != 1)
        twin_fail("wgmma: the twin knows the swizzle of 128 bytes only");
    return address ^ (address >> 7 & 7) << 4;
}

/* The address of 16 bytes in a matrix across the depth: at depth `k`, from `point` on, which is a multiple of 8. */
static unsigned twin_described_across(uint64_t descriptor, int point, int k)
{
    const unsigned start = (unsigned)(descriptor & 0x3fff) << 4;
    const unsigned every_64 = (unsigned)(descriptor >> 16 & 0x3fff) << 4, every_8 = (unsigned)(descriptor >> 32 & 0x3fff) << 4;
    const unsigned address = start + (unsigned)(point / 64) * every_64 + (unsigned)(k / 8) * every_8 + (unsigned)(k % 8) * 128 +
                             (unsigned)(point % 64) * 2;
    if (descriptor >> 62 != 1)
        twin_fail("wgmma: the twin knows the swizzle of 128 bytes only");
    return address ^ (address >> 7 & 7) << 4;
}

/* Counts a product in or out at 16 bytes that it reads. */
static void twin_count_chunk(unsigned address, int by)
{
    twin_shared(address, 16, "wgmma");
    if (by > 0)
        twin_note_read(address, 16, twin_self(), "wgmma");
    for (int i = 0; i < 8; ++i) {
        struct twin_history *h = twin_history_of(address) + i;
        if (by > 0 && h->hidden)
            twin_fail("wgmma reads byte %u of shared memory, after which no fence_proxy_async came", address - TWIN_BASE);
        h->products = (uint16_t)(h->products + by);
    }
}

static void twin_count_matrix(uint64_t descriptor, int across, int first, int points, int by)
{
    for (int i = 0; i < 2 * points; ++i)
        twin_count_chunk(across ? twin_described_across(descriptor, first + i / 16 * 8, i % 16)
                                : twin_described(descriptor, first + i / 2, i % 2), by);
}

/* Counts a product of the lane's warp in or out at the bytes that it reads: 16 rows of a, and all columns of b. */
static void twin_count_product(const struct twin_product *p, int warp_row, int by)
{
    twin_count_matrix(p->a, p->a_across, warp_row, 16, by);
    twin_count_matrix(p->b, p->b_across, 0, p->columns, by);
}

/* Loads 32 bytes of elements for each of `points` points from `first` on; `points` is a multiple of 8. Elements across
 * the depth have 2 bytes. `values`: by depth, then by point, of which there is room for `room`. */
static void twin_points(const struct twin_product *p, uint64_t descriptor, int across, int first, int points, float *values,
                        int room)
{
    const int each = 16 / p->bytes;
    for (int i = 0; i < 2 * points; ++i) {
        const unsigned address = across ? twin_described_across(descriptor, first + i / 16 * 8, i % 16)
                                        : twin_described(descriptor, first + i / 2, i % 2);
        const char *chunk = twin_shared(address, 16, "wgmma");
        float *to = values + (across ? i % 16 * room + i / 16 * 8 : i % 2 * each * room + i / 2);
        const int step = across ? 1 : room;
        uint16_t halves[8];
        uint32_t words[4];
        memcpy(p->bytes == 2 ? (void *)halves : words, chunk, 16);
        for (int e = 0; e < each; ++e)
            to[e * step] = p->decode(p->bytes == 2 ? halves[e] : words[e]);
    }
}

/* The first row of a that a warp multiplies. Blocks have any number of warps. */
static int twin_warp_row(const struct twin_thread *lanes)
{
    return (int)(lanes - twin.threads) % twin.thread_count % 128 / 32 * 16;
}

/* Does product `index` of each lane of a warp. */
static void twin_multiply(struct twin_thread *lanes, int index)
{
    static float a[16][16], b[16][TWIN_WIDEST];
    struct twin_product *p = lanes[0].products + index;
    const int warp_row = twin_warp_row(lanes), depth = 32 / p->bytes;
    twin_points(p, p->a, p->a_across, warp_row, 16, a[0], 16);
    twin_points(p, p->b, p->b_across, 0, p->columns, b[0], TWIN_WIDEST);
    for (int row = 0; row < 16; ++row) {
        /* Four lanes have the sums of a row. They are added up side by side, each in the order of the depth. */
        float sums[TWIN_WIDEST];
        const struct twin_thread *owners = lanes + row % 8 * 4;
        for (int column = 0; column < p->columns; ++column)
            sums[column] = owners[column % 8 / 2].products[index].sums[column / 8 * 4 + row / 8 * 2 + column % 2];
        for (int k = 0; k < depth; ++k)
            for (int column = 0; column < p->columns; ++column)
                sums[column] += a[k][row] * b[k][column];
        for (int column = 0; column < p->columns; ++column)
            owners[column % 8 / 2].products[index].sums[column / 8 * 4 + row / 8 * 2 + column % 2] = sums[column];
    }
    twin_count_product(p, warp_row, -1);
    for (int lane = 0; lane < 32; ++lane)
        lanes[lane].products[index].done = 1;
}

static void twin_start_product(struct twin_thread *lanes)
{
    const int index = lanes[0].product_count;
    for (int lane = 0; lane < 32; ++lane) {
        if (!lanes[lane].fenced)
            twin_fail("wgmma: its sums were used by the threads and no wgmma_fence followed");
        if (index == TWIN_PRODUCTS || lanes[lane].product_count != index)
            twin_fail("wgmma: more than %d are under way, or lanes differ in how many", TWIN_PRODUCTS);
        lanes[lane].products[index] = *(struct twin_product *)lanes[lane].arguments[0];
        lanes[lane].product_count++;
    }
    twin_count_product(lanes[0].products + index, twin_warp_row(lanes), 1);
    /* Products of one sum are done in order, so this one is done at once only if those before it are done. */
    if ((!index || lanes[0].products[index - 1].done) && (int)twin_random(4) >= twin.lateness)
        twin_multiply(lanes, index);
}

static void twin_wgmma(float *d, uint64_t a, uint64_t b, int a_across, int b_across, int columns, float (*decode)(unsigned))
{
    struct twin_product product = {d, a, b, a_across, b_across, columns, decode == twin_tf32_of ? 4 : 2, 0, -1, decode};
    twin_collective("wgmma", twin_start_product, &product, NULL, NULL);
}

DEVICE void wgmma_m64n64k16_f16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 64, twin_half_of); }
DEVICE void wgmma_m64n128k16_f16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 128, twin_half_of); }
DEVICE void wgmma_m64n192k16_f16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 192, twin_half_of); }
DEVICE void wgmma_m64n256k16_f16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 256, twin_half_of); }
DEVICE void wgmma_m64n64k16_bf16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 64, twin_bf16_of); }
DEVICE void wgmma_m64n128k16_bf16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 128, twin_bf16_of); }
DEVICE void wgmma_m64n192k16_bf16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 192, twin_bf16_of); }
DEVICE void wgmma_m64n256k16_bf16(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 256, twin_bf16_of); }

DEVICE void wgmma_m64n64k8_tf32(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 64, twin_tf32_of); }
DEVICE void wgmma_m64n128k8_tf32(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 128, twin_tf32_of); }
DEVICE void wgmma_m64n192k8_tf32(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 192, twin_tf32_of); }
DEVICE void wgmma_m64n256k8_tf32(float *d, uint64_t a, uint64_t b) { twin_wgmma(d, a, b, 0, 0, 256, twin_tf32_of); }

DEVICE void wgmma_m64n64k16_f16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 64, twin_half_of); }
DEVICE void wgmma_m64n128k16_f16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 128, twin_half_of); }
DEVICE void wgmma_m64n192k16_f16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 192, twin_half_of); }
DEVICE void wgmma_m64n256k16_f16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 256, twin_half_of); }
DEVICE void wgmma_m64n64k16_bf16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 64, twin_bf16_of); }
DEVICE void wgmma_m64n128k16_bf16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 128, twin_bf16_of); }
DEVICE void wgmma_m64n192k16_bf16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 192, twin_bf16_of); }
DEVICE void wgmma_m64n256k16_bf16_across(float *d, uint64_t a, uint64_t b, int i, int j) { twin_wgmma(d, a, b, i, j, 256, twin_bf16_of); }

DEVICE void wgmma_commit(void)
{
    struct twin_thread *self = twin.current;
    for (int i = 0; i < self->product_count; ++i)
        if (self->products[i].group < 0)
            self->products[i].group = self->product_groups;
    self->product_groups++;
}

static void twin_finish_products(struct twin_thread *lanes)
{
    const long oldest = lanes[0].product_groups - *(int *)lanes[0].arguments[0];
    int due = 0;
    while (due < lanes[0].product_count && lanes[0].products[due].group >= 0 && lanes[0].products[due].group < oldest) {
        if (!lanes[0].products[due].done)
            twin_multiply(lanes, due);
        due++;
    }
    for (int lane = 0; lane < 32; ++lane) {
        struct twin_thread *t = lanes + lane;
        t->product_count -= due;
        memmove(t->products, t->products + due, (size_t)t->product_count * sizeof *t->products);
        t->fenced = 0;
    }
}

DEVICE void wgmma_wait(int pending) { twin_collective("wgmma_wait", twin_finish_products, &pending, NULL, NULL); }
