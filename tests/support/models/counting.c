/* A main program that counts how often anything allocates while a model runs: put behind `#include "net.h"`.
 *
 * The C library calls these functions in place of its own, whoever calls it: OpenMP's library too.
 */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <errno.h>

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
static int counts, allocations;

static void count(void)
{
    if (counts)
        __atomic_add_fetch(&allocations, 1, __ATOMIC_SEQ_CST);
}

void *malloc(size_t size) { count(); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { count(); return __libc_calloc(n, size); }
void *realloc(void *p, size_t size) { count(); return __libc_realloc(p, size); }
void *memalign(size_t line, size_t size) { count(); return __libc_memalign(line, size); }
void *aligned_alloc(size_t line, size_t size) { count(); return __libc_memalign(line, size); }
int posix_memalign(void **p, size_t line, size_t size)
{
    count();
    *p = __libc_memalign(line, size);
    return *p ? 0 : ENOMEM;
}
