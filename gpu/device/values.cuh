/*
 * The numbers of workers, and functions of single numbers: C that CUDA reads too, so the twin runs the same text.
 *
 *   exp_f32(v)            a function, by the dtype of its arguments
 *   add_s64(a, b)         whole numbers wrap around
 *   round_bf16(v)         the nearest bf16, as the f32 that it is: f16 and bf16 are how numbers are stored
 *   across_add_f32(v)     the sum over the lanes of a warp, the same bits in every lane
 *
 * Each function gives what PyTorch's gives, also for NaN.
 */

/* Compilers see that they are not negative, so divisions by powers of two are shifts. */
DEVICE int block_number(void) { return (int)(blockIdx.x & 0x7fffffff); }
DEVICE int block_count(void) { return (int)(gridDim.x & 0x7fffffff); }
DEVICE int thread_number(void) { return (int)(threadIdx.x & 1023); }
DEVICE int warp_number(void) { return (int)(threadIdx.x / 32); }
DEVICE int member_number(void) { return (int)(threadIdx.x % 32); } /* of its warp */

/* ---- of any numbers ---- */

#define VALUES_OF_NUMBERS(dtype, type) \
    DEVICE type max_##dtype(type a, type b) { return a > b || a != a ? a : b; } \
    DEVICE type min_##dtype(type a, type b) { return a < b || a != a ? a : b; } \
    DEVICE type relu_##dtype(type v) { return max_##dtype(v, 0); } \
    DEVICE type clamp_##dtype(type v, type low, type high) { return min_##dtype(max_##dtype(v, low), high); } \
    DEVICE type relu6_##dtype(type v) { return clamp_##dtype(v, 0, 6); } \
    DEVICE type sign_##dtype(type v) { return v > 0 ? 1 : v < 0 ? (type)-1 : v; }

VALUES_OF_NUMBERS(f32, float)
VALUES_OF_NUMBERS(f64, double)
VALUES_OF_NUMBERS(s32, int)
VALUES_OF_NUMBERS(s64, long long)
VALUES_OF_NUMBERS(u64, unsigned long long)

/* ---- of floats: f is what the names of the C library end with ---- */

#define VALUES_OF_FLOATS(dtype, type, f) \
    DEVICE type add_##dtype(type a, type b) { return a + b; } \
    DEVICE type mul_##dtype(type a, type b) { return a * b; } \
    DEVICE type abs_##dtype(type v) { return fabs##f(v); } \
    DEVICE type floor_##dtype(type v) { return floor##f(v); } \
    DEVICE type ceil_##dtype(type v) { return ceil##f(v); } \
    DEVICE type round_##dtype(type v) { return rint##f(v); } \
    DEVICE type round_mul_##dtype(type a, type b) { return (type)rint((double)a * (double)b) + 0; } \
    DEVICE type sqrt_##dtype(type v) { return sqrt##f(v); } \
    DEVICE type rsqrt_##dtype(type v) { return 1 / sqrt##f(v); } \
    DEVICE type exp_##dtype(type v) { return exp##f(v); } \
    DEVICE type expm1_##dtype(type v) { return expm1##f(v); } \
    DEVICE type log_##dtype(type v) { return log##f(v); } \
    DEVICE type log1p_##dtype(type v) { return log1p##f(v); } \
    DEVICE type sin_##dtype(type v) { return sin##f(v); } \
    DEVICE type cos_##dtype(type v) { return cos##f(v); } \
    DEVICE type tan_##dtype(type v) { return tan##f(v); } \
    DEVICE type asin_##dtype(type v) { return asin##f(v); } \
    DEVICE type acos_##dtype(type v) { return acos##f(v); } \
    DEVICE type atan_##dtype(type v) { return atan##f(v); } \
    DEVICE type sinh_##dtype(type v) { return sinh##f(v); } \
    DEVICE type cosh_##dtype(type v) { return cosh##f(v); } \
    DEVICE type tanh_##dtype(type v) { return tanh##f(v); } \
    DEVICE type asinh_##dtype(type v) { return asinh##f(v); } \
    DEVICE type acosh_##dtype(type v) { return acosh##f(v); } \
    DEVICE type atanh_##dtype(type v) { return atanh##f(v); } \
    DEVICE type erf_##dtype(type v) { return erf##f(v); } \
    DEVICE type pow_##dtype(type a, type b) { return pow##f(a, b); } \
    DEVICE type leaky_relu_##dtype(type v, type slope) { return v > 0 ? v : v * slope; } \
    DEVICE type hardsigmoid_##dtype(type v) { return relu6_##dtype(v + 3) / 6; } \
    DEVICE type hardswish_##dtype(type v) { return v * hardsigmoid_##dtype(v); } \
    DEVICE type sigmoid_##dtype(type v) { return 1 / (1 + exp##f(-v)); } \
    DEVICE type silu_##dtype(type v) { return v * sigmoid_##dtype(v); } \
    DEVICE type gelu_##dtype(type v) { return v * (type)0.5 * erfc##f(v * (type)-0.70710678118654752); } \
    DEVICE type gelu_tanh_##dtype(type v) \
    { \
        return v * sigmoid_##dtype(v * ((type)1.5957691216057308 + (type)0.071354816272600247 * (v * v))); \
    } \
    /* a / b rounded down. The remainder is exact, so the quotient is a whole number but for its own rounding. */ \
    DEVICE type floordiv_##dtype(type a, type b) \
    { \
        if (b == 0) \
            return a / b; \
        const type rest = fmod##f(a, b); \
        return rint##f((a - rest) / b - (rest != 0 && (rest < 0) != (b < 0))); \
    } \
    /* What a / b rounded down leaves, of the sign of b. */ \
    DEVICE type mod_##dtype(type a, type b) \
    { \
        const type rest = fmod##f(a, b); \
        return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest; \
    }

VALUES_OF_FLOATS(f32, float, f)
VALUES_OF_FLOATS(f64, double, )

/* ---- of whole numbers: computed without a sign, they wrap around ---- */

#define VALUES_OF_WHOLE_NUMBERS(dtype, type, bits_of) \
    DEVICE type add_##dtype(type a, type b) { return (type)((bits_of)a + (bits_of)b); } \
    DEVICE type sub_##dtype(type a, type b) { return (type)((bits_of)a - (bits_of)b); } \
    DEVICE type mul_##dtype(type a, type b) { return (type)((bits_of)a * (bits_of)b); } \
    DEVICE type neg_##dtype(type v) { return (type)(0 - (bits_of)v); } \
    DEVICE type abs_##dtype(type v) { return v < 0 ? neg_##dtype(v) : v; } \
    DEVICE type floor_##dtype(type v) { return v; } \
    DEVICE type ceil_##dtype(type v) { return v; } \
    DEVICE type round_##dtype(type v) { return v; } \
    /* a / b rounded down; 0 where b is 0. */ \
    DEVICE type floordiv_##dtype(type a, type b) \
    { \
        if (b == 0 || b == (type)-1) \
            return b == 0 ? 0 : (type)-1 < 0 ? neg_##dtype(a) : (type)(a == b); \
        return a / b - (a % b != 0 && (a < 0) != (b < 0)); \
    } \
    /* What a / b rounded down leaves, of the sign of b; 0 where b is 0. */ \
    DEVICE type mod_##dtype(type a, type b) { return b == 0 ? 0 : sub_##dtype(a, mul_##dtype(floordiv_##dtype(a, b), b)); } \
    /* Nothing, or the sign alone, is left where b is as many bits as a has. */ \
    DEVICE type shl_##dtype(type a, type b) \
    { \
        return (bits_of)b < 8 * sizeof a ? (type)((bits_of)a << (bits_of)b) : 0; \
    } \
    DEVICE type shr_##dtype(type a, type b) \
    { \
        return (bits_of)b < 8 * sizeof a ? (type)(a >> (bits_of)b) : a < 0 ? (type)-1 : 0; \
    } \
    DEVICE type bitand_##dtype(type a, type b) { return a & b; } \
    DEVICE type bitor_##dtype(type a, type b) { return a | b; } \
    DEVICE type bitxor_##dtype(type a, type b) { return a ^ b; } \
    DEVICE type bitnot_##dtype(type v) { return ~v; }

VALUES_OF_WHOLE_NUMBERS(s32, int, unsigned)
VALUES_OF_WHOLE_NUMBERS(s64, long long, unsigned long long)
VALUES_OF_WHOLE_NUMBERS(u64, unsigned long long, unsigned long long)

/* ---- of truths, which are 0 or 1 ---- */

DEVICE int or_bool(int a, int b) { return a || b; }
DEVICE int and_bool(int a, int b) { return a && b; }
DEVICE int max_bool(int a, int b) { return a || b; }
DEVICE int min_bool(int a, int b) { return a && b; }

/* ---- across the lanes of a warp: halves are combined, then quarters, and so on ---- */

#define ACROSS(function, dtype, type) \
    DEVICE type across_##function##_##dtype(type v) \
    { \
        for (int step = 16; step; step /= 2) \
            v = function##_##dtype(v, from_member_##dtype(v, step)); \
        return v; \
    }
#define ACROSS_NUMBERS(dtype, type) \
    ACROSS(add, dtype, type) ACROSS(mul, dtype, type) ACROSS(max, dtype, type) ACROSS(min, dtype, type)

ACROSS_NUMBERS(f32, float)
ACROSS_NUMBERS(f64, double)
ACROSS_NUMBERS(s32, int)
ACROSS_NUMBERS(s64, long long)
ACROSS_NUMBERS(u64, unsigned long long)
ACROSS(or, bool, int)
ACROSS(and, bool, int)
