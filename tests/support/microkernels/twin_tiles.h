/* Tile registers in plain C, for CPUs without them: the same names as those of microkernels/tile/amx.py, and what the manual
 * says faults ends the program. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef uint32_t word;

struct shapes {
    uint8_t palette, start, reserved[14];
    uint16_t bytes[16];
    uint8_t rows[16];
};
enum { tmm0, tmm1, tmm2, tmm3, tmm4, tmm5, tmm6, tmm7 };
static __thread struct { int rows, bytes; uint8_t data[16][64]; } tiles[8];

static void fault(const char *why)
{
    fprintf(stderr, "tile registers: %s\n", why);
    abort();
}
static const struct shapes *shaped(const struct shapes *wanted, const struct shapes *now)
{
    if (wanted == now) return now;
    if (wanted->palette != 1) fault("no palette 1");
    for (int t = 0; t < 16; ++t) {
        if (wanted->rows[t] > 16 || wanted->bytes[t] > 64 || (t >= 8 && wanted->rows[t])) fault("a shape beyond 16 x 64");
        if (!wanted->rows[t] != !wanted->bytes[t]) fault("rows without bytes");
        if (t < 8) {
            memset(&tiles[t], 0, sizeof tiles[t]);
            tiles[t].rows = wanted->rows[t];
            tiles[t].bytes = wanted->bytes[t];
        }
    }
    return wanted;
}
static void tiles_end(void) { memset(tiles, 0, sizeof tiles); }
static void tile_zero(int t)
{
    if (!tiles[t].rows) fault("a tile without a shape");
    memset(tiles[t].data, 0, sizeof tiles[t].data);
}
static void tile_load(int t, const void *p, long step)
{
    tile_zero(t);
    for (int row = 0; row < tiles[t].rows; ++row)
        memcpy(tiles[t].data[row], (const char *)p + row * step, tiles[t].bytes);
}
static void tile_store(int t, void *p, long step)
{
    if (!tiles[t].rows) fault("a tile without a shape");
    for (int row = 0; row < tiles[t].rows; ++row)
        memcpy((char *)p + row * step, tiles[t].data[row], tiles[t].bytes);
}
static void multiply_bf16(void *sum, const uint8_t *x, const uint8_t *w)
{
    float total, a, b;
    memcpy(&total, sum, 4);
    for (int number = 0; number < 2; ++number) {
        uint32_t bits[2] = {0, 0};
        memcpy((char *)&bits[0] + 2, x + 2 * number, 2);
        memcpy((char *)&bits[1] + 2, w + 2 * number, 2);
        memcpy(&a, &bits[0], 4);
        memcpy(&b, &bits[1], 4);
        total += a * b;
    }
    memcpy(sum, &total, 4);
}
static void multiply_int8(void *sum, const uint8_t *x, const uint8_t *w)
{
    int32_t total;
    memcpy(&total, sum, 4);
    for (int number = 0; number < 4; ++number) total += x[number] * (int8_t)w[number];
    memcpy(sum, &total, 4);
}
static void tile_dot(int sums, int x, int w)
{
    if (tiles[sums].rows != tiles[x].rows || tiles[sums].bytes != tiles[w].bytes || tiles[x].bytes != 4 * tiles[w].rows)
        fault("shapes that do not fit");
    for (int row = 0; row < tiles[sums].rows; ++row)
        for (int at = 0; at < tiles[w].rows; ++at)
            for (int byte = 0; byte < tiles[sums].bytes; byte += 4)
                MULTIPLY(&tiles[sums].data[row][byte], &tiles[x].data[row][4 * at], &tiles[w].data[at][byte]);
}
#define stay_awake() ((void)0)
static int tiles_given(void) { return 1; }
