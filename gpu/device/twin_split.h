/*
 * Blocks that add up one tile together, on a CPU: the twin of split.cuh, behind twin.h. Sums that a block stored are
 * visible to another only once a barrier and then a ticket of the first came after them, and a ticket and then a
 * barrier of the other before it reads.
 */

/* Four sums in memory: who stored them. `epoch` 0 stands for nobody. */
struct twin_sums { unsigned block; int thread; uint32_t epoch; };

/* The ticket that a block took: when, and which of its threads. `epoch` 0 stands for none. */
struct twin_ticket { int thread; uint32_t epoch; };

static struct {
    unsigned *tickets;
    float *partial_sums;
    struct twin_sums *stored;
    struct twin_ticket *taken;       /* by each block */
    long ticket_count, sum_count;
    struct { unsigned block; uint32_t epoch; int value; } any[2];
} twin_split;

/* Whether what `thread` did at `epoch` of a block is ordered before, or is, what `other` of that block does at `later`. */
static int twin_before(int thread, uint32_t epoch, int other, uint32_t later)
{
    return epoch < later || (epoch == later && thread == other);
}

static struct twin_sums *twin_stored(const float *at, const char *what)
{
    const long first = at - twin_split.partial_sums;
    if (at < twin_split.partial_sums || first + 4 > twin_split.sum_count || first % 4)
        twin_fail("%s touches memory outside the partial sums, or not four of them", what);
    return twin_split.stored + first / 4;
}

DEVICE void store_sums(float *to, const float *sum)
{
    struct twin_sums *stored = twin_stored(to, "store_sums");
    if (stored->epoch)
        twin_fail("store_sums writes sum %ld a second time", (long)(to - twin_split.partial_sums));
    *stored = (struct twin_sums){blockIdx.x, twin_self(), twin_here()->epoch};
    memcpy(to, sum, 16);
}

DEVICE void add_sums(float *sum, const float *from)
{
    const struct twin_sums *stored = twin_stored(from, "add_sums");
    const struct twin_ticket *mine = twin_split.taken + blockIdx.x, *theirs = twin_split.taken + stored->block;
    const long number = (long)(from - twin_split.partial_sums);
    if (!stored->epoch)
        twin_fail("add_sums reads sum %ld, which no block has stored", number);
    if (stored->block == blockIdx.x) {
        if (!twin_before(stored->thread, stored->epoch, twin_self(), twin_here()->epoch))
            twin_fail("add_sums reads sum %ld, which thread %d stored since the last barrier", number, stored->thread);
    } else {
        if (!theirs->epoch || !twin_before(stored->thread, stored->epoch, theirs->thread, theirs->epoch))
            twin_fail("add_sums reads sum %ld, which block %u has not published", number, stored->block);
        if (!mine->epoch || !twin_before(mine->thread, mine->epoch, twin_self(), twin_here()->epoch))
            twin_fail("add_sums reads sum %ld of block %u, and no ticket and barrier came before", number, stored->block);
    }
    for (int i = 0; i < 4; ++i)
        sum[i] += from[i];
}

DEVICE unsigned take_ticket(unsigned *ticket, unsigned count)
{
    if (ticket < twin_split.tickets || ticket >= twin_split.tickets + twin_split.ticket_count)
        twin_fail("take_ticket touches memory outside the tickets");
    twin_split.taken[blockIdx.x] = (struct twin_ticket){twin_self(), twin_here()->epoch};
    const unsigned before = *ticket;
    *ticket = before >= count - 1 ? 0 : before + 1;
    return before;
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
    twin_split.stored = calloc((size_t)sums / 4, sizeof *twin_split.stored);
    twin_split.taken = calloc(blocks, sizeof *twin_split.taken);
    return twin_split.tickets && twin_split.partial_sums && twin_split.stored && twin_split.taken;
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
    free(twin_split.stored);
    free(twin_split.taken);
    return *report->message != 0;
}
