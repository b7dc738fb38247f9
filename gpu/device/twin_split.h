/*
 * Blocks that add up one tile together, on a CPU: the twin of split.cuh, behind twin.h. Sums that a thread stored are
 * visible to another block only once a barrier of block or warp and then a ticket came after them, and a later one of the
 * same tickets and then a barrier before it reads.
 */

/* When a thread did something: barriers of its block, and of its warp, divide its time. `epoch` 0 stands for never. */
struct twin_moment { unsigned block; int thread; uint32_t epoch, warp_epoch; };

/* Four sums in memory: when they were stored, and number and 1 of the ticket that published them. `next` is the index, and 1, of
 * those that the same block stored before and has not published either. */
struct twin_sums { struct twin_moment stored; long ticket, next; };

static struct {
    unsigned *tickets;
    float *partial_sums;
    struct twin_sums *sums;
    struct twin_moment *taken;       /* when each ticket was taken last */
    long *unpublished;               /* of each block the head of its list of sums */
    long ticket_count, sum_count;
    struct { unsigned block; uint32_t epoch; int value; } any[2];
} twin_split;

static struct twin_moment twin_now(void)
{
    return (struct twin_moment){blockIdx.x, twin_self(), twin_here()->epoch, twin.current->warp_epoch};
}

/* Whether one moment of a block is ordered before another of it. */
static int twin_before(struct twin_moment first, struct twin_moment later)
{
    return first.epoch < later.epoch || first.thread == later.thread ||
           (first.thread / 32 == later.thread / 32 && first.warp_epoch < later.warp_epoch);
}

static struct twin_sums *twin_sums_at(const float *at, const char *what)
{
    const long first = at - twin_split.partial_sums;
    if (at < twin_split.partial_sums || first + 4 > twin_split.sum_count || first % 4)
        twin_fail("%s touches memory outside the partial sums, or not four of them", what);
    return twin_split.sums + first / 4;
}

DEVICE void store_sums(float *to, const float *sum)
{
    struct twin_sums *sums = twin_sums_at(to, "store_sums");
    if (sums->stored.epoch)
        twin_fail("store_sums writes sum %ld a second time", (long)(to - twin_split.partial_sums));
    *sums = (struct twin_sums){twin_now(), 0, twin_split.unpublished[blockIdx.x]};
    twin_split.unpublished[blockIdx.x] = sums - twin_split.sums + 1;
    memcpy(to, sum, 16);
}

DEVICE void add_sums(float *sum, const float *from)
{
    const struct twin_sums *sums = twin_sums_at(from, "add_sums");
    const long number = (long)(from - twin_split.partial_sums);
    const struct twin_moment now = twin_now(), stored = sums->stored;
    if (!stored.epoch)
        twin_fail("add_sums reads sum %ld, which no block has stored", number);
    if (stored.block == now.block) {
        if (!twin_before(stored, now))
            twin_fail("add_sums reads sum %ld, which thread %d stored since the last barrier", number, stored.thread);
    } else {
        if (!sums->ticket)
            twin_fail("add_sums reads sum %ld, which block %u has not published", number, stored.block);
        const struct twin_moment taken = twin_split.taken[sums->ticket - 1];
        if (taken.block != now.block || !twin_before(taken, now))
            twin_fail("add_sums reads sum %ld of block %u, and no ticket and barrier came before", number, stored.block);
    }
    for (int i = 0; i < 4; ++i)
        sum[i] += from[i];
}

/* What this block stored before now is published by a ticket. */
static void twin_publish(long ticket)
{
    const struct twin_moment now = twin_now();
    long *at = twin_split.unpublished + blockIdx.x;
    while (*at) {
        struct twin_sums *sums = twin_split.sums + *at - 1;
        if (twin_before(sums->stored, now)) {
            sums->ticket = ticket + 1;
            *at = sums->next;
        } else
            at = &sums->next;
    }
}

DEVICE unsigned take_ticket(unsigned *ticket, unsigned count)
{
    const long number = ticket - twin_split.tickets;
    if (ticket < twin_split.tickets || number >= twin_split.ticket_count)
        twin_fail("take_ticket touches memory outside the tickets");
    twin_publish(number);
    twin_split.taken[number] = twin_now();
    const unsigned before = *ticket;
    *ticket = before >= count - 1 ? 0 : before + 1;
    return before;
}

static void twin_any_lane(struct twin_thread *lanes)
{
    int any = 0;
    for (int lane = 0; lane < 32; ++lane)
        any |= *(int *)lanes[lane].arguments[0];
    for (int lane = 0; lane < 32; ++lane)
        *(int *)lanes[lane].arguments[0] = any;
}

DEVICE int any_lane(int value)
{
    twin_collective("any_lane", twin_any_lane, &value, NULL, NULL);
    return value;
}

DEVICE int any_thread(int value)
{
    const uint32_t epoch = twin_here()->epoch;
    if (twin_split.any[epoch % 2].epoch != epoch || twin_split.any[epoch % 2].block != blockIdx.x) {
        twin_split.any[epoch % 2].block = blockIdx.x;
        twin_split.any[epoch % 2].epoch = epoch;
        twin_split.any[epoch % 2].value = 0;
    }
    twin_split.any[epoch % 2].value |= value;
    __syncthreads();
    return twin_split.any[epoch % 2].value;
}

/* Makes room for so many tickets and partial sums of `blocks` blocks; whether there was memory. */
static int twin_split_begin(long tickets, long sums, unsigned blocks)
{
    memset(&twin_split, 0, sizeof twin_split);
    twin_split.ticket_count = tickets;
    twin_split.sum_count = sums;
    twin_split.tickets = calloc((size_t)tickets, sizeof *twin_split.tickets);
    twin_split.partial_sums = malloc((size_t)sums * sizeof *twin_split.partial_sums);
    twin_split.sums = calloc((size_t)sums / 4, sizeof *twin_split.sums);
    twin_split.taken = calloc((size_t)tickets, sizeof *twin_split.taken);
    twin_split.unpublished = calloc(blocks, sizeof *twin_split.unpublished);
    return twin_split.tickets && twin_split.partial_sums && twin_split.sums && twin_split.taken && twin_split.unpublished;
}

/* After a run: the tickets are to be as they were. Whether anything is wrong. */
static int twin_split_end(struct twin_report *report)
{
    for (long i = 0; i < twin_split.ticket_count && !*report->message; ++i)
        if (twin_split.tickets[i])
            snprintf(report->message, sizeof report->message, "ticket %ld is left at %u: the next launch would begin with it",
                     i, twin_split.tickets[i]);
    free(twin_split.tickets);
    free(twin_split.partial_sums);
    free(twin_split.sums);
    free(twin_split.taken);
    free(twin_split.unpublished);
    return *report->message != 0;
}
