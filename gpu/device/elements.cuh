/*
 * Elements of arrays in shared or global memory, and what lanes of a warp give each other, for NVRTC.
 *
 *   get_f32(p), put_f32(p, v)          one element; that of an f16 or bf16 as the f32 that it is
 *   get4_f32(to, p), put4_f32(p, v)    four neighbours in one access, at a multiple of their size or of 16 bytes
 *   get2_f32(to, p), put2_f32(p, v)    two neighbours in one access, at a multiple of their size
 *   copy_async_16(to, from, inside)    16 bytes to shared memory while the thread goes on; also of 8 and 4 bytes
 *   get_matrices(to, p)                a warp loads four matrices, also with rows and columns exchanged (across)
 *
 * The twin of this file is twin_elements.h, which checks every access.
 */

/* An array of this block's shared memory that begins at a byte. */
#define SHARED(type, at) ((type *)(dynamic_shared_memory + (at)))

#define INF_F32 __int_as_float(0x7f800000)
#define NAN_F32 __int_as_float(0x7fffffff)
#define INF_F64 __longlong_as_double(0x7ff0000000000000ll)
#define NAN_F64 __longlong_as_double(0x7fffffffffffffffll)

/* An index that was read from an array lies outside of another one. */
DEVICE void report(int *outside) { *outside = 1; }

template <typename T> struct __align__(sizeof(T) * 2) two { T v[2]; };
template <typename T> struct __align__(sizeof(T) * 4 < 16 ? sizeof(T) * 4 : 16) four { T v[4]; };

/* stored: how an element lies in memory. taken, made: the functions from it to its value, and back. */
#define ELEMENTS(dtype, type, stored, taken, made) \
    DEVICE type get_##dtype(const stored *p) { return taken(*p); } \
    DEVICE void put_##dtype(stored *p, type v) { *p = made(v); } \
    DEVICE void get2_##dtype(type *to, const stored *p) \
    { \
        const two<stored> both = *(const two<stored> *)p; \
        to[0] = taken(both.v[0]); \
        to[1] = taken(both.v[1]); \
    } \
    DEVICE void put2_##dtype(stored *p, const type *from) \
    { \
        const two<stored> both = {{made(from[0]), made(from[1])}}; \
        *(two<stored> *)p = both; \
    } \
    DEVICE void get4_##dtype(type *to, const stored *p) \
    { \
        const four<stored> all = *(const four<stored> *)p; \
        for (int i = 0; i < 4; ++i) \
            to[i] = taken(all.v[i]); \
    } \
    DEVICE void put4_##dtype(stored *p, const type *from) \
    { \
        four<stored> all; \
        for (int i = 0; i < 4; ++i) \
            all.v[i] = made(from[i]); \
        *(four<stored> *)p = all; \
    }

DEVICE float f32_of_half(unsigned short bits)
{
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

DEVICE unsigned short half_of_f32(float value)
{
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

DEVICE float f32_of_bf16(unsigned short bits) { return __uint_as_float((unsigned)bits << 16); }

DEVICE unsigned short bf16_of_f32(float value)
{
    unsigned short bits;
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

ELEMENTS(f32, float, float, , )
ELEMENTS(f64, double, double, , )
ELEMENTS(f16, float, unsigned short, f32_of_half, half_of_f32)
ELEMENTS(bf16, float, unsigned short, f32_of_bf16, bf16_of_f32)
ELEMENTS(s64, long long, long long, , )
ELEMENTS(u64, unsigned long long, unsigned long long, , )
ELEMENTS(s32, int, int, , )
ELEMENTS(u32, unsigned, unsigned, , )
ELEMENTS(s16, short, short, , )
ELEMENTS(u16, unsigned short, unsigned short, , )
ELEMENTS(s8, signed char, signed char, , )
ELEMENTS(u8, unsigned char, unsigned char, , )
ELEMENTS(bool, int, unsigned char, , )
ELEMENTS(tf32, unsigned, unsigned, , )

/* The bits of the nearest tf32. */
DEVICE unsigned tf32_of(float v) { return round_tf32(__float_as_uint(v)); }

/* A place in shared memory as mbarriers, the copy engine and wgmma know it. */
DEVICE unsigned shared_address(const void *p) { return (unsigned)__cvta_generic_to_shared(p); }

/* An asynchronous copy to shared memory, or of zeros where it is not `inside`. */
#define COPIES(bytes) \
    DEVICE void copy_async_##bytes(void *to, const void *from, int inside) \
    { \
        cp_async_##bytes((unsigned)__cvta_generic_to_shared(to), from, inside); \
    }

COPIES(16)
COPIES(8)
COPIES(4)

/* Four 8x8 matrices of shared memory, of which each lane gives the place of a row, as words of all lanes. */
DEVICE void get_matrices(unsigned *to, const void *p) { ldmatrix_x4(to, (unsigned)__cvta_generic_to_shared(p)); }
DEVICE void get_matrices_across(unsigned *to, const void *p) { ldmatrix_x4_trans(to, (unsigned)__cvta_generic_to_shared(p)); }

/* The same of numbers of 32 bits, rounded to tf32. */
DEVICE void get_matrices_tf32(unsigned *to, const void *p)
{
    get_matrices(to, p);
    for (int i = 0; i < 4; ++i)
        to[i] = round_tf32(to[i]);
}

/* The nearest f16 or bf16. */
DEVICE float round_f16(float v) { return f32_of_half(half_of_f32(v)); }
DEVICE float round_bf16(float v) { return f32_of_bf16(bf16_of_f32(v)); }
DEVICE float round_f16_of_f64(double v)
{
    unsigned short bits;
    asm("cvt.rn.f16.f64 %0, %1;" : "=h"(bits) : "d"(v));
    return f32_of_half(bits);
}

/* The value of the lane whose number differs by the bit `step`. All lanes of the warp call it. */
#define FROM_MEMBER(dtype, type) \
    DEVICE type from_member_##dtype(type v, int step) { return __shfl_xor_sync(0xffffffff, v, step); }

FROM_MEMBER(f32, float)
FROM_MEMBER(f64, double)
FROM_MEMBER(s32, int)
FROM_MEMBER(s64, long long)
FROM_MEMBER(u64, unsigned long long)
FROM_MEMBER(bool, int)
