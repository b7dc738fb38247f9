/*
 * The twin of split_k.cuh: split-K on a CPU. It comes behind twin.h. Another block sees a thread's sums only if, after
 * the store, there was a barrier of the block or warp and then a semaphore, and if the other block took a later one of the
 * same semaphores and then had a barrier before it reads.
 */

/* When a thread did something. Barriers of its block and of its warp divide its time. `epoch` 0 means never. */
struct twin_moment { unsigned block; int thread; uint32_t epoch, warp_epoch; };

/* Four sums in memory. `stored`: when they were stored. `semaphore`: 1 + the number of the semaphore that published them.
 * `next`: 1 + the index of the sums that the same block stored before and has not published either. */
struct twin_sums { struct twin_moment stored; long semaphore, next; };

static struct {
    unsigned *semaphores;
    float *partial_sums;
    struct twin_sums *sums;
    struct twin_moment *taken;       /* when each semaphore was taken last */
    long *unpublished;               /* the head of each block's list of sums */
    long semaphore_count, sum_count;
} twin_split_k;

static struct twin_moment twin_now(void)
{
    return (struct twin_moment){blockIdx.x, twin_self(), twin_here()->epoch, twin.current->warp_epoch};
}

/* Whether one moment of a block is ordered before another moment of the same block. */
static int twin_before(struct twin_moment first, struct twin_moment later)
{
    return first.epoch < later.epoch || first.thread == later.thread ||
           (first.thread / 32 == later.thread / 32 && first.warp_epoch < later.warp_epoch);
}

static struct twin_sums *twin_sums_at(const float *at, const char *what)
{
    const long first = at - twin_split_k.partial_sums;
    if (at < twin_split_k.partial_sums || first + 4 > twin_split_k.sum_count || first % 4)
        twin_fail("%s touches memory outside the partial sums, or not four of them", what);
    return twin_split_k.sums + first / 4;
}

DEVICE void store_sums(float *to, const float *sum)
{
    struct twin_sums *sums = twin_sums_at(to, "store_sums");
    if (sums->stored.epoch)
        twin_fail("store_sums writes sum %ld a second time", (long)(to - twin_split_k.partial_sums));
    *sums = (struct twin_sums){twin_now(), 0, twin_split_k.unpublished[blockIdx.x]};
    twin_split_k.unpublished[blockIdx.x] = sums - twin_split_k.sums + 1;
    memcpy(to, sum, 16);
}

DEVICE void add_sums(float *sum, const float *from)
{
    const struct twin_sums *sums = twin_sums_at(from, "add_sums");
    const long number = (long)(from - twin_split_k.partial_sums);
    const struct twin_moment now = twin_now(), stored = sums->stored;
    if (!stored.epoch)
        twin_fail("add_sums reads sum %ld, which no block has stored", number);
    if (stored.block == now.block) {
        if (!twin_before(stored, now))
            twin_fail("add_sums reads sum %ld, which thread %d stored since the last barrier", number, stored.thread);
    } else {
        if (!sums->semaphore)
            twin_fail("add_sums reads sum %ld, which block %u has not published", number, stored.block);
        const struct twin_moment taken = twin_split_k.taken[sums->semaphore - 1];
        if (taken.block != now.block || !twin_before(taken, now))
            twin_fail("add_sums reads sum %ld of block %u, and no split-K semaphore and barrier came before", number, stored.block);
    }
    for (int i = 0; i < 4; ++i)
        sum[i] += from[i];
}

/* Marks the sums that this block stored before now as published by a semaphore. */
static void twin_publish(long semaphore)
{
    const struct twin_moment now = twin_now();
    long *at = twin_split_k.unpublished + blockIdx.x;
    while (*at) {
        struct twin_sums *sums = twin_split_k.sums + *at - 1;
        if (twin_before(sums->stored, now)) {
            sums->semaphore = semaphore + 1;
            *at = sums->next;
        } else
            at = &sums->next;
    }
}

DEVICE unsigned take_semaphore(unsigned *semaphore, unsigned count)
{
    const long number = semaphore - twin_split_k.semaphores;
    if (semaphore < twin_split_k.semaphores || number >= twin_split_k.semaphore_count)
        twin_fail("take_semaphore touches memory outside the semaphores");
    twin_publish(number);
    twin_split_k.taken[number] = twin_now();
    const unsigned before = *semaphore;
    *semaphore = before >= count - 1 ? 0 : before + 1;
    return before;
}

/* Allocates semaphores and partial sums for `blocks` blocks. Returns whether there was enough memory. */
static int twin_split_k_begin(long semaphores, long sums, unsigned blocks)
{
    memset(&twin_split_k, 0, sizeof twin_split_k);
    twin_split_k.semaphore_count = semaphores;
    twin_split_k.sum_count = sums;
    twin_split_k.semaphores = calloc((size_t)semaphores, sizeof *twin_split_k.semaphores);
    twin_split_k.partial_sums = malloc((size_t)sums * sizeof *twin_split_k.partial_sums);
    twin_split_k.sums = calloc((size_t)sums / 4, sizeof *twin_split_k.sums);
    twin_split_k.taken = calloc((size_t)semaphores, sizeof *twin_split_k.taken);
    twin_split_k.unpublished = calloc(blocks, sizeof *twin_split_k.unpublished);
    return twin_split_k.semaphores && twin_split_k.partial_sums && twin_split_k.sums && twin_split_k.taken && twin_split_k.unpublished;
}

/* Checks after a run that the semaphores are 0 again, and frees the memory. Returns whether anything is wrong. */
static int twin_split_k_end(struct twin_report *report)
{
    for (long i = 0; i < twin_split_k.semaphore_count && !*report->message; ++i)
        if (twin_split_k.semaphores[i])
            snprintf(report->message, sizeof report->message, "semaphore %ld is left at %u: the next launch would begin with it",
                     i, twin_split_k.semaphores[i]);
    free(twin_split_k.semaphores);
    free(twin_split_k.partial_sums);
    free(twin_split_k.sums);
    free(twin_split_k.taken);
    free(twin_split_k.unpublished);
    return *report->message != 0;
}
