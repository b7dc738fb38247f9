/*
 * The twin of ptx.cuh: the device layer on a CPU, in C. It runs a kernel's text with one fibre for each CUDA thread,
 * one cluster after another (most have one block). At the first error it stops, with a sentence that says what is
 * wrong.
 *
 *   order     The seed decides which warp runs. Warps have random priorities, which change now and then, so that one
 *             warp runs as far ahead of the others as barriers let it. The order of the blocks is random too.
 *   copies    Each cp.async is done either at once or only when its thread waits for it, by a random draw.
 *   races     Each two bytes of shared memory know who wrote and read them since the last barrier, and whether a copy
 *             to them is under way. An access that needs a barrier or a wait before it, and has none, is an error.
 *   poison    Shared memory starts as 0xff bytes: NaN in f16, bf16 and f32.
 *   bounds    Accesses to shared and global memory are checked for bounds and alignment. Each byte of the output must
 *             be written exactly once.
 *   wgmma     Each product is done at once or at the wait. Until then no thread may write what it reads. To multiply
 *             copied data that no proxy fence has made visible is an error.
 *   clusters  The threads of all blocks of a cluster run side by side. Each block has a shared memory of its own.
 *   banks     The twin counts the extra cycles that bank conflicts cost ldmatrix and 32-bit loads.
 *   loads     The twin counts loads of elements, or pairs, of global memory to registers.
 *
 * Fragment layouts are those of the PTX ISA, section "Matrix fragments for mma.m16n8k16 / m16n8k8". They are written
 * here as formulas, not taken from the emitter's tables; a test compares the two.
 */
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define KERNEL(threads, blocks) static void
#define DEVICE static inline __attribute__((unused))
#define threadIdx (twin_thread_index())
#define blockIdx (twin_block_index())
#define gridDim (twin_grid())

enum { TWIN_LARGEST_BLOCK = 1024, TWIN_STACK = 64 << 10, TWIN_COPIES = 512, TWIN_PRODUCTS = 64, TWIN_WIDEST = 256, TWIN_WRITES = 1024, TWIN_BASE = 1024, TWIN_LARGEST_CLUSTER = 2 };

struct twin_index { unsigned x, y, z; };

/* What the host reads after a run. */
struct twin_report {
    char message[512];               /* what went wrong; empty if nothing did */
    long conflicts, switches, blocks, loads;
};

struct twin_buffer { char *base; long bytes; unsigned char *written; };

/* A copy under way. Its bytes are read when it is done. `group` counts commits; -1 means not yet committed. */
struct twin_copy { unsigned to; const char *from; int bytes, inside, done; long group; };

/* A wgmma under way, as one lane sees it: its sums, and the matrices of its warp, with elements of `bytes` bytes. */
struct twin_product { float *sums; uint64_t a, b; int a_across, b_across, columns, bytes, done; long group; float (*decode)(unsigned); };

enum twin_state { TWIN_READY, TWIN_AT_BARRIER, TWIN_IN_WARP, TWIN_AT_CLUSTER, TWIN_AT_MBARRIER, TWIN_AT_REGISTERS, TWIN_DONE };

struct twin_written { unsigned address; int bytes; };

/* Its lists are in `struct twin_lists`, so that lanes lie side by side: all of a warp are looked at again and again. */
struct twin_thread {
    void *stack_pointer;
    enum twin_state state;
    struct twin_copy *copies;
    int copy_count;
    long groups;
    struct twin_written *writes;     /* since the last proxy fence */
    int write_count;
    struct twin_product *products;
    int product_count, fenced;
    long product_groups;
    uint32_t warp_epoch;             /* barriers of its warp so far */
    const char *collective;          /* the instruction at which it waits for the rest of its warp */
    void *arguments[3];
    const void *awaited;             /* the mbarrier that it waits for */
    long tma_groups;
    int at_cluster;                  /* whether it has arrived at the cluster's barrier and not yet waited */
    unsigned cluster_turn;
    int registers;                   /* 0: as many as at the launch */
};

struct twin_lists {
    struct twin_copy copies[TWIN_COPIES];
    struct twin_written writes[TWIN_WRITES];
    struct twin_product products[TWIN_PRODUCTS];
};

/* The history of two bytes of shared memory: who wrote and read them, and between which barriers. `reader` is -2 - w
 * for several lanes of warp w, and -1 for threads of several warps. `copies`, `products` and `stores` count the copies
 * to these bytes, and the products and TMA stores that read them, which are under way. `hidden`: the last write is not
 * yet visible to products and TMA stores. */
struct twin_history { uint32_t write_epoch, read_epoch, write_warp_epoch, read_warp_epoch; int16_t writer, reader; uint16_t copies, products, stores; uint8_t hidden; };

/* A block of the cluster that runs. Barriers divide its time into epochs. `spare`: registers that no thread has. */
struct twin_block { char *shared; struct twin_history *history; int live, at_barrier, spare; uint32_t epoch; };

static struct {
    struct twin_thread *threads;
    struct twin_thread *current;
    struct twin_lists *lists;
    struct twin_block *here;         /* of the current thread */
    int self, thread;                /* its number in the cluster, and in its block */
    void *scheduler;
    char *stacks;
    struct twin_block blocks[TWIN_LARGEST_CLUSTER];
    int thread_count, cluster, shared_bytes, failed, lateness, at_cluster;
    unsigned first_block, grid, cluster_turn;
    uint64_t random;
    int priority[TWIN_LARGEST_CLUSTER * TWIN_LARGEST_BLOCK / 32];
    uint32_t ready[TWIN_LARGEST_CLUSTER * TWIN_LARGEST_BLOCK / 32];  /* lanes of each warp that can go on, as bits */
    struct twin_buffer *buffers;
    int buffer_count;
    void (*body)(void);
    int (*arrival)(void);            /* lets one TMA copy arrive; returns whether there was one; or NULL */
    void (*leaving)(void);           /* the check when a thread ends */
    struct twin_report *report;
} twin;

static float twin_half[65536];       /* the value of each f16 */
/* Notes a byte of an array that a TMA store writes; whether it was written before. NULL where outputs note bytes. */
static int (*twin_stored)(const char *to);

/* ---- fibres ---- */

#if defined(__x86_64__) && !defined(TWIN_UCONTEXT)
/* Saves the registers that a called function must keep, and goes on where the other fibre stopped. ucontext would enter
 * the operating system's kernel each time. */
void twin_switch(void **from, void *to);
__asm__(".text\n.globl twin_switch\n.hidden twin_switch\ntwin_switch:\n"
        " pushq %rbp\n pushq %rbx\n pushq %r12\n pushq %r13\n pushq %r14\n pushq %r15\n"
        " movq %rsp, (%rdi)\n movq %rsi, %rsp\n"
        " popq %r15\n popq %r14\n popq %r13\n popq %r12\n popq %rbx\n popq %rbp\n ret\n");

static void *twin_prepare(char *stack, void (*entry)(void))
{
    void **top = (void **)(stack + TWIN_STACK);
    *--top = NULL;                   /* keeps the stack aligned as at a call */
    *--top = (void *)(uintptr_t)entry;
    for (int i = 0; i < 6; ++i)
        *--top = NULL;
    return top;
}
#else
#include <ucontext.h>

static void twin_switch(void **from, void *to)
{
    ucontext_t here;
    *from = &here;
    swapcontext(&here, to);
}

static void *twin_prepare(char *stack, void (*entry)(void))
{
    ucontext_t *context = (ucontext_t *)stack;
    getcontext(context);
    context->uc_stack.ss_sp = stack + sizeof *context;
    context->uc_stack.ss_size = TWIN_STACK - sizeof *context;
    context->uc_link = NULL;
    makecontext(context, entry, 0);
    return context;
}
#endif

/* Gives a thread a state, and notes whether its lane can go on. */
static void twin_set(struct twin_thread *thread, enum twin_state state)
{
    const int number = (int)(thread - twin.threads);
    const uint32_t bit = (uint32_t)1 << number % 32;
    thread->state = state;
    twin.ready[number / 32] = state == TWIN_READY ? twin.ready[number / 32] | bit : twin.ready[number / 32] & ~bit;
}

static void twin_yield(void) { twin_switch(&twin.current->stack_pointer, twin.scheduler); }

/* The number of the current thread among all of its cluster. */
static int twin_self(void) { return twin.self; }

/* The block of the current thread. */
static struct twin_block *twin_here(void) { return twin.here; }

/* Ends the run with a sentence. The thread that fails does not go on. */
__attribute__((format(printf, 1, 2), noreturn)) static void twin_fail(const char *format, ...)
{
    char what[400];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    snprintf(twin.report->message, sizeof twin.report->message, "block %u, thread %d: %s",
             twin.first_block + (unsigned)(twin.here - twin.blocks), twin.thread, what);
    twin.failed = 1;
    for (;;)
        twin_yield();
}

static unsigned twin_random(unsigned below)
{
    twin.random = twin.random * 6364136223846793005u + 1442695040888963407u;
    return (unsigned)((twin.random >> 33) % below);
}

static void twin_draw_priorities(void)
{
    const int warps = twin.cluster * twin.thread_count / 32;
    for (int i = 0; i < warps; ++i) {
        const int j = (int)twin_random((unsigned)i + 1);
        twin.priority[i] = twin.priority[j];
        twin.priority[j] = i;
    }
}

DEVICE struct twin_index twin_thread_index(void)
{
    struct twin_index index = {(unsigned)twin.thread, 0, 0};
    return index;
}

DEVICE struct twin_index twin_block_index(void)
{
    struct twin_index index = {twin.first_block + (unsigned)(twin.here - twin.blocks), 0, 0};
    return index;
}

DEVICE struct twin_index twin_grid(void)
{
    struct twin_index index = {twin.grid, 1, 1};
    return index;
}

/* ---- barriers ---- */

static void twin_release_barrier(struct twin_block *block)
{
    struct twin_thread *threads = twin.threads + (block - twin.blocks) * twin.thread_count;
    for (int t = 0; t < twin.thread_count; ++t)
        if (threads[t].state == TWIN_AT_BARRIER)
            twin_set(&threads[t], TWIN_READY);
    block->at_barrier = 0;
    block->epoch++;
    twin_draw_priorities();
}

DEVICE void __syncthreads(void)
{
    struct twin_block *block = twin_here();
    twin_set(twin.current, TWIN_AT_BARRIER);
    if (++block->at_barrier == block->live)
        twin_release_barrier(block);
    twin_yield();
}

static int twin_live(void)
{
    int live = 0;
    for (int b = 0; b < twin.cluster; ++b)
        live += twin.blocks[b].live;
    return live;
}

/* Lets the threads of the cluster pass its barrier if all live threads have arrived. */
static void twin_release_cluster(void)
{
    if (twin.at_cluster < twin_live())
        return;
    for (int t = 0; t < twin.cluster * twin.thread_count; ++t)
        if (twin.threads[t].state == TWIN_AT_CLUSTER)
            twin_set(&twin.threads[t], TWIN_READY);
    for (int b = 0; b < twin.cluster; ++b)
        twin.blocks[b].epoch++;
    twin.at_cluster = 0;
    twin.cluster_turn++;
    twin_draw_priorities();
}

/* ---- shared memory ---- */

DEVICE unsigned shared_base(void) { return TWIN_BASE; }

/* An address in another block's shared memory has 1 + the rank of that block in its top byte. */
static struct twin_block *twin_block_at(unsigned address)
{
    return address >> 24 ? twin.blocks + (address >> 24) - 1 : twin_here();
}

static char *twin_shared(unsigned address, int bytes, const char *what)
{
    const long offset = (long)(address & 0xffffff) - TWIN_BASE;
    if (offset < 0 || offset + bytes > twin.shared_bytes)
        twin_fail("%s touches bytes %ld to %ld of the %d bytes of shared memory", what, offset, offset + bytes - 1,
                  twin.shared_bytes);
    if (address % (unsigned)bytes)
        twin_fail("%s needs a shared address that is a multiple of %d, not byte %ld", what, bytes, offset);
    return twin_block_at(address)->shared + offset;
}

static struct twin_history *twin_history_of(unsigned address)
{
    return twin_block_at(address)->history + ((address & 0xffffff) - TWIN_BASE) / 2;
}

/* Whether no barrier of the block or the warp lies between the access of `thread` in a history and now. */
static int twin_unordered(uint32_t epoch, uint32_t warp_epoch, int thread, int self)
{
    const int warp = thread >= 0 ? thread / 32 : -2 - thread;
    if (epoch != twin_here()->epoch || thread == self)
        return 0;
    return warp != self / 32 || warp_epoch == twin.threads[self].warp_epoch;
}

/* The readers of two bytes since the last barrier, after `reader` reads them too. */
static int twin_readers(const struct twin_history *h, int reader)
{
    if (h->read_epoch != twin_here()->epoch || h->reader == reader)
        return reader;
    return (h->reader >= 0 ? h->reader / 32 : -2 - h->reader) == reader / 32 ? -2 - reader / 32 : -1;
}

static void twin_note_read(unsigned address, int bytes, int reader, const char *what)
{
    struct twin_history *h = twin_history_of(address), before, after;
    for (int i = 0; i < bytes / 2; ++i, ++h) {
        if (i && !memcmp(h, &before, sizeof before)) {  /* most neighbours have the same history */
            *h = after;
            continue;
        }
        before = *h;
        if (h->copies)
            twin_fail("%s reads byte %u of shared memory, to which a copy is under way: a wait is missing", what,
                      address - TWIN_BASE + 2 * (unsigned)i);
        if (twin_unordered(h->write_epoch, h->write_warp_epoch, h->writer, reader))
            twin_fail("%s reads byte %u of shared memory, which thread %d wrote since the last barrier", what,
                      address - TWIN_BASE + 2 * (unsigned)i, h->writer % twin.thread_count);
        h->reader = (int16_t)twin_readers(h, reader);
        h->read_epoch = twin_here()->epoch;
        h->read_warp_epoch = twin.threads[reader].warp_epoch;
        after = *h;
    }
}

static void twin_note_write(unsigned address, int bytes, const char *what)
{
    struct twin_thread *self = twin.current;
    if (self->write_count < TWIN_WRITES) {
        self->writes[self->write_count].address = address;
        self->writes[self->write_count].bytes = bytes;
    }
    self->write_count++;             /* writes beyond the limit matter only if a fence comes */
    struct twin_history *h = twin_history_of(address);
    for (int i = 0; i < bytes / 2; ++i, ++h) {
        if (twin_unordered(h->read_epoch, h->read_warp_epoch, h->reader, twin_self()))
            twin_fail("%s overwrites byte %u of shared memory, which another thread read since the last barrier", what,
                      address - TWIN_BASE + 2 * (unsigned)i);
        if (h->products)
            twin_fail("%s overwrites byte %u of shared memory, which a wgmma under way reads", what,
                      address - TWIN_BASE + 2 * (unsigned)i);
        if (h->stores)
            twin_fail("%s overwrites byte %u of shared memory, which a TMA store under way reads", what,
                      address - TWIN_BASE + 2 * (unsigned)i);
        if (h->copies)
            twin_fail("%s overwrites byte %u of shared memory, to which a copy is under way", what,
                      address - TWIN_BASE + 2 * (unsigned)i);
        if (twin_unordered(h->write_epoch, h->write_warp_epoch, h->writer, twin_self()))
            twin_fail("%s overwrites byte %u of shared memory, which thread %d wrote since the last barrier", what,
                      address - TWIN_BASE + 2 * (unsigned)i, h->writer % twin.thread_count);
        h->write_epoch = twin_here()->epoch;
        h->write_warp_epoch = self->warp_epoch;
        h->writer = (int16_t)twin_self();
        h->hidden = 1;
    }
}

/* ---- global memory ---- */

static struct twin_buffer *twin_global(const void *address, int bytes, const char *what)
{
    const char *p = address;
    if ((uintptr_t)p % (uintptr_t)bytes)
        twin_fail("%s needs a global address that is a multiple of %d", what, bytes);
    for (int i = 0; i < twin.buffer_count; ++i) {
        struct twin_buffer *b = twin.buffers + i;
        if (p >= b->base && p + bytes <= b->base + b->bytes)
            return b;
    }
    twin_fail("%s touches memory outside every array", what);
}

/* ---- asynchronous copies ---- */

static void twin_carry_out(struct twin_copy *c)
{
    char *to = twin_here()->shared + (c->to - TWIN_BASE);
    if (c->inside)
        memcpy(to, c->from, (size_t)c->bytes);
    else
        memset(to, 0, (size_t)c->bytes);
    c->done = 1;
}

static void twin_start_copy(unsigned to, const void *from, int inside, int bytes, const char *what)
{
    struct twin_thread *self = twin.current;
    twin_shared(to, bytes, what);
    twin_note_write(to, bytes, what);
    if (self->copy_count == TWIN_COPIES)
        twin_fail("more than %d copies are under way", TWIN_COPIES);
    struct twin_copy *c = self->copies + self->copy_count++;
    *c = (struct twin_copy){to, from, bytes, inside, 0, -1};
    for (int i = 0; i < bytes / 2; ++i)
        twin_history_of(to)[i].copies++;
    if ((int)twin_random(4) >= twin.lateness)
        twin_carry_out(c);
}

static void twin_copy_async(unsigned to, const void *from, int inside, int bytes, const char *what)
{
    if (inside)
        twin_global(from, bytes, what);
    twin_start_copy(to, from, inside, bytes, what);
}

DEVICE void cp_async_16(unsigned to, const void *from, int inside) { twin_copy_async(to, from, inside, 16, "cp_async_16"); }
DEVICE void cp_async_8(unsigned to, const void *from, int inside) { twin_copy_async(to, from, inside, 8, "cp_async_8"); }
DEVICE void cp_async_4(unsigned to, const void *from, int inside) { twin_copy_async(to, from, inside, 4, "cp_async_4"); }

DEVICE void gather_16(unsigned *to, const void *from, int first, int end)
{
    for (int i = first > 0 ? first : 0; i < (end < 8 ? end : 8); ++i) {
        uint16_t element;
        twin_global((const char *)from + 2 * i, 2, "gather_16");
        memcpy(&element, (const char *)from + 2 * i, 2);
        to[i / 2] |= (unsigned)element << i % 2 * 16;
    }
}

DEVICE void store_shared_16(unsigned to, const unsigned *words)
{
    char *at = twin_shared(to, 16, "store_shared_16");
    twin_note_write(to, 16, "store_shared_16");
    memcpy(at, words, 16);
}

DEVICE void cp_async_commit(void)
{
    struct twin_thread *self = twin.current;
    for (int i = 0; i < self->copy_count; ++i)
        if (self->copies[i].group < 0)
            self->copies[i].group = self->groups;
    self->groups++;
}

/* Does, in random order, the copies that must have arrived. The waiting thread then counts as the writer of their
 * bytes. */
DEVICE void cp_async_wait(int pending)
{
    struct twin_thread *self = twin.current;
    const long oldest = self->groups - pending;
    int due = 0;
    for (int i = 0; i < self->copy_count; ++i)
        if (self->copies[i].group >= 0 && self->copies[i].group < oldest) {
            const struct twin_copy c = self->copies[i];
            self->copies[i] = self->copies[due];
            self->copies[due++] = c;
        }
    for (int i = due; i > 0; --i) {
        const int j = (int)twin_random((unsigned)i);
        struct twin_copy c = self->copies[j];
        self->copies[j] = self->copies[i - 1];
        if (!c.done)
            twin_carry_out(&c);
        struct twin_history *h = twin_history_of(c.to);
        for (int k = 0; k < c.bytes / 2; ++k) {
            h[k].copies--;
            h[k].write_epoch = twin_here()->epoch;
            h[k].writer = (int16_t)twin_self();
        }
    }
    self->copy_count -= due;
    memmove(self->copies, self->copies + due, (size_t)self->copy_count * sizeof *self->copies);
}

/* ---- instructions of a whole warp ---- */

/* Waits for the other lanes. The last lane to come does the instruction for all 32. */
static void twin_collective(const char *what, void (*act)(struct twin_thread *lanes), void *first, void *second, void *third)
{
    struct twin_thread *self = twin.current, *lanes = twin.threads + twin_self() / 32 * 32;
    self->collective = what;
    self->arguments[0] = first, self->arguments[1] = second, self->arguments[2] = third;
    twin_set(self, TWIN_IN_WARP);
    for (int i = 0; i < 32; ++i) {
        if (lanes[i].state != TWIN_IN_WARP) {
            twin_yield();
            return;
        }
        if (lanes[i].collective != what && strcmp(lanes[i].collective, what))
            twin_fail("the lanes of a warp part: %s meets %s", what, lanes[i].collective);
    }
    act(lanes);
    for (int i = 0; i < 32; ++i)
        twin_set(&lanes[i], TWIN_READY);
    if (!twin_random(16))
        twin_draw_priorities();
    twin_yield();
}

static void twin_pass_warp_barrier(struct twin_thread *lanes)
{
    for (int lane = 0; lane < 32; ++lane)
        lanes[lane].warp_epoch++;
}

DEVICE void __syncwarp(void) { twin_collective("__syncwarp", twin_pass_warp_barrier, NULL, NULL, NULL); }

/* Extra cycles of one access by `count` lanes to `bytes` each: 32 banks of 4 bytes, one word a bank and cycle. */
static void twin_count_conflicts(const unsigned *addresses, int count, int bytes)
{
    unsigned words[32][32];
    int distinct[32] = {0}, worst = 1;
    for (int i = 0; i < count; ++i)
        for (int b = 0; b < bytes; b += 4) {
            const unsigned word = (addresses[i] + (unsigned)b) / 4, bank = word % 32;
            int known = 0;
            for (int k = 0; k < distinct[bank] && !known; ++k)
                known = words[bank][k] == word;
            if (known || distinct[bank] == 32)
                continue;
            words[bank][distinct[bank]++] = word;
            if (distinct[bank] > worst)
                worst = distinct[bank];
        }
    twin.report->conflicts += worst - 1;
}

static void twin_ldmatrix(struct twin_thread *lanes, int transposed)
{
    for (int matrix = 0; matrix < 4; ++matrix) {
        unsigned rows[8];
        uint16_t elements[8][8];
        for (int row = 0; row < 8; ++row) {
            rows[row] = *(unsigned *)lanes[8 * matrix + row].arguments[1];
            memcpy(elements[row], twin_shared(rows[row], 16, "ldmatrix"), 16);
            twin_note_read(rows[row], 16, (int)(lanes - twin.threads) + 8 * matrix + row, "ldmatrix");
        }
        twin_count_conflicts(rows, 8, 16);
        for (int lane = 0; lane < 32; ++lane) {
            const int group = lane / 4, pair = lane % 4 * 2;
            const uint16_t low = transposed ? elements[pair][group] : elements[group][pair];
            const uint16_t high = transposed ? elements[pair + 1][group] : elements[group][pair + 1];
            ((unsigned *)lanes[lane].arguments[0])[matrix] = low | (unsigned)high << 16;
        }
    }
}

static void twin_ldmatrix_plain(struct twin_thread *lanes) { twin_ldmatrix(lanes, 0); }
static void twin_ldmatrix_trans(struct twin_thread *lanes) { twin_ldmatrix(lanes, 1); }

DEVICE void ldmatrix_x4(unsigned *to, unsigned row) { twin_collective("ldmatrix_x4", twin_ldmatrix_plain, to, &row, NULL); }

DEVICE void ldmatrix_x4_trans(unsigned *to, unsigned row)
{
    twin_collective("ldmatrix_x4_trans", twin_ldmatrix_trans, to, &row, NULL);
}

static void twin_load_shared(struct twin_thread *lanes)
{
    unsigned addresses[32];
    for (int lane = 0; lane < 32; ++lane) {
        addresses[lane] = *(unsigned *)lanes[lane].arguments[1];
        memcpy(lanes[lane].arguments[0], twin_shared(addresses[lane], 4, "load_shared"), 4);
        twin_note_read(addresses[lane], 4, (int)(lanes - twin.threads) + lane, "load_shared");
    }
    twin_count_conflicts(addresses, 32, 4);
}

DEVICE unsigned load_shared(unsigned from)
{
    unsigned value;
    twin_collective("load_shared", twin_load_shared, &value, &from, NULL);
    return value;
}

/* ---- number formats ---- */

static float twin_from_bits(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, 4);
    return value;
}

static uint32_t twin_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits;
}

static float twin_decode_half(unsigned bits)
{
    const int exponent = bits >> 10 & 31, fraction = bits & 1023;
    const float sign = bits >> 15 ? -1.0f : 1.0f;
    if (exponent == 31)
        return fraction ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexpf((float)(fraction + 1024), exponent - 25) : ldexpf((float)fraction, -24));
}

/* Rounds to nearest, ties to even, by an f32 sum that is rounded at the last place of an f16. */
static uint16_t twin_to_half(float value)
{
    const uint32_t bits = twin_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude > 0x7f800000)
        return 0x7fff;
    if (magnitude >= 0x477ff000)     /* 65520 and above round to infinity */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000)      /* below 2^-14: multiples of 2^-24 */
        return (uint16_t)(sign | (twin_bits(twin_from_bits(magnitude) + 0.5f) - twin_bits(0.5f)));
    return (uint16_t)(sign | (magnitude - 0x38000000 + 0xfff + (magnitude >> 13 & 1)) >> 13);
}

static uint16_t twin_to_bf16(float value)
{
    const uint32_t bits = twin_bits(value);
    if ((bits & 0x7fffffff) > 0x7f800000)
        return 0x7fff;
    return (uint16_t)((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

/* Rounds to nearest, ties away from zero, as cvt.rna does. */
DEVICE unsigned round_tf32(unsigned bits)
{
    return (bits & 0x7fffffff) >= 0x7f800000 ? bits : (bits + 0x1000) & ~0x1fffu;
}

static float twin_half_of(unsigned bits) { return twin_half[bits & 0xffff]; }
static float twin_bf16_of(unsigned bits) { return twin_from_bits(bits << 16); }
static float twin_tf32_of(unsigned bits) { return twin_from_bits(bits & ~0x1fffu); }

/* ---- matrix instructions ---- */

/* `packed` elements share a register, the first one in its low bits. i is the number of an element within its lane. */
static void twin_mma(struct twin_thread *lanes, int depth, int packed, float (*decode)(unsigned))
{
    float a[16][16], b[16][8];
    for (int lane = 0; lane < 32; ++lane) {
        const int group = lane / 4, member = lane % 4;
        const unsigned *a_registers = lanes[lane].arguments[1], *b_registers = lanes[lane].arguments[2];
        for (int i = 0; i < 16 * depth / 32; ++i) {
            const unsigned bits = a_registers[i / packed] >> (i % packed * 16);
            const int lower = packed == 2 ? (i >> 1) & 1 : i & 1;            /* f16: i in 2,3,6,7; tf32: i in 1,3 */
            const int right = packed == 2 ? i >= 4 : i >= 2;
            const int row = lower ? group + 8 : group;
            const int column = packed == 2 ? member * 2 + (i & 1) + (right ? 8 : 0) : member + (right ? 4 : 0);
            a[row][column] = decode(bits);
        }
        for (int i = 0; i < 8 * depth / 32; ++i) {
            const unsigned bits = b_registers[i / packed] >> (i % packed * 16);
            const int row = packed == 2 ? member * 2 + (i & 1) + (i >= 2 ? 8 : 0) : member + (i ? 4 : 0);
            b[row][group] = decode(bits);
        }
    }
    for (int lane = 0; lane < 32; ++lane) {
        float *d = lanes[lane].arguments[0];
        for (int i = 0; i < 4; ++i) {
            const int row = lane / 4 + (i < 2 ? 0 : 8), column = lane % 4 * 2 + (i & 1);
            for (int k = 0; k < depth; ++k)
                d[i] += a[row][k] * b[k][column];
        }
    }
}

static void twin_mma_f16(struct twin_thread *lanes) { twin_mma(lanes, 16, 2, twin_half_of); }
static void twin_mma_bf16(struct twin_thread *lanes) { twin_mma(lanes, 16, 2, twin_bf16_of); }
static void twin_mma_tf32(struct twin_thread *lanes) { twin_mma(lanes, 8, 1, twin_tf32_of); }

DEVICE void mma_m16n8k16_f16(float *d, const unsigned *a, const unsigned *b)
{
    twin_collective("mma_m16n8k16_f16", twin_mma_f16, d, (void *)a, (void *)b);
}

DEVICE void mma_m16n8k16_bf16(float *d, const unsigned *a, const unsigned *b)
{
    twin_collective("mma_m16n8k16_bf16", twin_mma_bf16, d, (void *)a, (void *)b);
}

DEVICE void mma_m16n8k8_tf32(float *d, const unsigned *a, const unsigned *b)
{
    twin_collective("mma_m16n8k8_tf32", twin_mma_tf32, d, (void *)a, (void *)b);
}

/* ---- single elements ---- */

static void twin_load(void *value, const void *from, int bytes, const char *what)
{
    twin_global(from, bytes, what);
    memcpy(value, from, (size_t)bytes);
    twin.report->loads++;
}

DEVICE float load_f32(const void *from)
{
    float value;
    twin_load(&value, from, 4, "load_f32");
    return value;
}

static unsigned twin_load_16(const void *from, const char *what)
{
    uint16_t bits;
    twin_load(&bits, from, 2, what);
    return bits;
}

DEVICE float load_f16(const void *from) { return twin_half_of(twin_load_16(from, "load_f16")); }
DEVICE float load_bf16(const void *from) { return twin_bf16_of(twin_load_16(from, "load_bf16")); }

static void twin_store(void *to, const void *value, int bytes, const char *what)
{
    struct twin_buffer *b = twin_global(to, bytes, what);
    if (!b->written)
        twin_fail("%s writes to an input", what);
    for (int i = 0; i < bytes; ++i)
        if (b->written[(char *)to - b->base + i]++)
            twin_fail("%s writes byte %ld of the output a second time", what, (long)((char *)to - b->base + i));
    memcpy(to, value, (size_t)bytes);
}

DEVICE void store_16(void *to, const unsigned *words) { twin_store(to, words, 16, "store_16"); }

DEVICE void store_f32(void *to, float value) { twin_store(to, &value, 4, "store_f32"); }

/* ---- running a kernel ---- */

/* At the end of a thread: all four warps of a warpgroup have set their registers to the same number, or none has. */
static void twin_check_registers(void)
{
    const int self = twin.thread, first = self / 128 * 128;
    const struct twin_thread *group = twin.current - (self - first);
    for (int t = 0; t < 128; ++t) {
        const int there = first + t < twin.thread_count, set = there ? group[t].registers : 0;
        if ((there ? group[t].state == TWIN_DONE || set : twin.current->registers) && set != twin.current->registers)
            twin_fail("not all threads of a warpgroup have set their registers to the same number");
    }
}

static void twin_thread_main(void)
{
    struct twin_block *block = twin_here();
    twin.body();
    twin_check_registers();
    if (twin.leaving)
        twin.leaving();
    twin_set(twin.current, TWIN_DONE);
    if (--block->live && block->at_barrier == block->live)
        twin_release_barrier(block);
    if (twin.at_cluster)
        twin_release_cluster();
    for (;;)
        twin_yield();
}

/* The next thread to run: a random lane of the warp with the highest priority that can go on. NULL if no thread can. */
static struct twin_thread *twin_next(void)
{
    for (int i = 0; i < twin.cluster * twin.thread_count / 32; ++i) {
        const int warp = twin.priority[i];
        const unsigned first = twin_random(32);
        const uint32_t from_first = twin.ready[warp] >> first | (uint32_t)((uint64_t)twin.ready[warp] << (32 - first));
        if (from_first)
            return twin.threads + 32 * warp + (first + (unsigned)__builtin_ctz(from_first)) % 32;
    }
    return NULL;
}

static void twin_say_stuck(void)
{
    int waiting[TWIN_DONE + 1] = {0};
    for (int t = 0; t < twin.cluster * twin.thread_count; ++t)
        waiting[twin.threads[t].state]++;
    snprintf(twin.report->message, sizeof twin.report->message,
             "block %u: no thread can go on: of %d, %d wait at a barrier, %d at the cluster's, %d at an mbarrier, %d for registers",
             twin.first_block, twin_live(), waiting[TWIN_AT_BARRIER], waiting[TWIN_AT_CLUSTER], waiting[TWIN_AT_MBARRIER],
             waiting[TWIN_AT_REGISTERS]);
    twin.failed = 1;
}

static void twin_start_block(struct twin_block *block)
{
    memset(block->shared, 0xff, (size_t)twin.shared_bytes);
    memset(block->history, 0, (size_t)(twin.shared_bytes / 2 + 1) * sizeof *block->history);
    block->epoch = 1;                /* 0 means never */
    block->live = twin.thread_count;
    block->at_barrier = block->spare = 0;
}

static void twin_run_cluster(void)
{
    for (int b = 0; b < twin.cluster; ++b)
        twin_start_block(twin.blocks + b);
    twin.at_cluster = 0;
    twin.lateness = (int)twin_random(5);
    for (int t = 0; t < twin.cluster * twin.thread_count; ++t) {
        struct twin_thread *thread = twin.threads + t;
        twin_set(thread, TWIN_READY);
        thread->copy_count = 0;
        thread->groups = thread->tma_groups = 0;
        thread->product_count = thread->fenced = thread->write_count = thread->at_cluster = 0;
        thread->product_groups = 0;
        thread->warp_epoch = 0;
        thread->registers = 0;
        thread->stack_pointer = twin_prepare(twin.stacks + (size_t)t * TWIN_STACK, twin_thread_main);
    }
    twin_draw_priorities();
    while (twin_live() && !twin.failed) {
        if (twin.arrival && (int)twin_random(256) >= 64 * twin.lateness)
            twin.arrival();
        struct twin_thread *next = twin_next();
        if (!next) {
            if (!twin.failed && !(twin.arrival && twin.arrival()))
                twin_say_stuck();
            continue;
        }
        twin.current = next;
        twin.self = (int)(next - twin.threads);
        twin.here = twin.blocks + twin.self / twin.thread_count;
        twin.thread = twin.self % twin.thread_count;
        twin.report->switches++;
        twin_switch(&twin.scheduler, next->stack_pointer);
    }
}

static void twin_check_written(void)
{
    for (int i = 0; i < twin.buffer_count; ++i)
        for (long k = 0; twin.buffers[i].written && k < twin.buffers[i].bytes; ++k)
            if (!twin.buffers[i].written[k]) {
                snprintf(twin.report->message, sizeof twin.report->message, "byte %ld of the output was never written", k);
                return;
            }
}

/* Runs `blocks` blocks of `body` in clusters. The last `outputs` of the `count` arrays are written, each byte once.
 * Returns 0, or 1 with a message. */
static int twin_run(void (*body)(void), unsigned blocks, int cluster, int threads, int shared_bytes, char **arrays,
                    const long *bytes, int count, int outputs, uint64_t seed, struct twin_report *report)
{
    memset(report, 0, sizeof *report);
    memset(&twin, 0, sizeof twin);
    for (unsigned i = 0; i < 65536; ++i)
        twin_half[i] = twin_decode_half(i);
    twin.body = body;
    twin.report = report;
    twin.thread_count = threads;
    twin.cluster = cluster;
    twin.grid = blocks;
    twin.shared_bytes = shared_bytes;
    twin.random = seed;
    const size_t fibres = (size_t)(cluster * threads);
    int missing = 0;
    twin.threads = calloc(fibres, sizeof *twin.threads);
    twin.lists = calloc(fibres, sizeof *twin.lists);
    for (size_t t = 0; twin.threads && twin.lists && t < fibres; ++t) {
        twin.threads[t].copies = twin.lists[t].copies;
        twin.threads[t].writes = twin.lists[t].writes;
        twin.threads[t].products = twin.lists[t].products;
    }
    twin.stacks = aligned_alloc(64, fibres * TWIN_STACK);
    for (int b = 0; b < cluster; ++b) {
        twin.blocks[b].shared = aligned_alloc(64, ((size_t)shared_bytes + 63) / 64 * 64);
        twin.blocks[b].history = calloc((size_t)shared_bytes / 2 + 1, sizeof *twin.blocks[b].history);
        missing |= !twin.blocks[b].shared || !twin.blocks[b].history;
    }
    twin.buffers = calloc((size_t)count + 1, sizeof *twin.buffers);
    twin.buffer_count = twin.buffers ? count : 0;
    missing |= !twin.buffers;
    for (int i = 0; i < twin.buffer_count; ++i) {
        const int output = i >= count - outputs;
        twin.buffers[i] = (struct twin_buffer){arrays[i], bytes[i], output ? calloc((size_t)bytes[i], 1) : NULL};
        missing |= output && !twin.buffers[i].written;
    }
    const unsigned clusters = blocks / (unsigned)cluster;
    unsigned *order = calloc(clusters, sizeof *order);
    for (unsigned i = 0; order && i < clusters; ++i)
        order[i] = i;
    if (missing || !twin.threads || !twin.lists || !twin.stacks || !order)
        snprintf(report->message, sizeof report->message, "the twin has no memory for %d threads", cluster * threads);
    for (unsigned done = 0; done < clusters && !*report->message; ++done, report->blocks += cluster) {
        /* The clusters that have run are first in `order`. */
        const unsigned drawn = done + twin_random(clusters - done);
        twin.first_block = order[drawn] * (unsigned)cluster;
        order[drawn] = order[done];
        twin_run_cluster();
    }
    if (!*report->message)
        twin_check_written();
    free(twin.threads);
    free(twin.lists);
    free(twin.stacks);
    for (int b = 0; b < cluster; ++b) {
        free(twin.blocks[b].shared);
        free(twin.blocks[b].history);
    }
    for (int i = 0; i < twin.buffer_count; ++i)
        free(twin.buffers[i].written);
    free(twin.buffers);
    free(order);
    return *report->message != 0;
}
