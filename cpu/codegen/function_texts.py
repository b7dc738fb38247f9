"""The C texts of functions of vectors, for every instruction set (`vector_functions` has what some have beside these).

In a text `$V` is the type of a vector, and `larger[a, b]` the form `larger` of the instruction set, with its fields in
order. A function that another one names is defined before it. A new function is a text here.
"""

TEXTS = {
    "max_of": "static inline $V max_of($V a, $V b) { return choose(a != a, a, larger[a, b]); }",
    "min_of": "static inline $V min_of($V a, $V b) { return choose(a != a, a, smaller[a, b]); }",
    "abs_of": "static inline $V abs_of($V v) { return ($V)((bits)v & ~(bits)constant(-0.0f)); }",
    "clamp_of": "static inline $V clamp_of($V v, $V low, $V high) { return min_of(high, max_of(low, v)); }",
    "zeros": """\
/* Volatile, so a tile reads zero once, when its sums are done. gcc would keep a bound that it knows in a register
 * through the inner loops, and spill an accumulator for it: above all zero, with which it also clears accumulators. */
static const volatile $V zeros = {0};""",
    "relu_of": "static inline $V relu_of($V v, $V zero) { return larger[zero, v]; }",
    "six": "static const volatile $V six = {$SIXES};",
    "relu6_of": "static inline $V relu6_of($V v, $V zero) { return smaller[six, larger[zero, v]]; }",
    "leaky_relu_of": """\
static inline $V leaky_relu_of($V v, $V slope) { return choose(v < constant(0.0f), v * slope, v); }""",
    "hardsigmoid_of": """\
static inline $V hardsigmoid_of($V v, $V zero)
{
    return relu6_of(v + constant(3.0f), zero) * constant(1.0f / 6.0f);
}""",
    "hardswish_of": "static inline $V hardswish_of($V v, $V zero) { return v * hardsigmoid_of(v, zero); }",
    "rest_of": """\

/* The whole number nearest to (v + low) / ln 2, as bits and as a float, and what then remains of v + low; |low| is at
 * most 2^-10 |v|. An f32 near 1.5 * 2^23 has no fraction, so adding that number rounds, and the last bits of the sum
 * are the whole number. ln 2 has two parts: a whole number times the first one, 355 / 512, is exact. A compiler leaves
 * out a low of -0. */
static inline $V rest_of($V v, $V low, bits *n, $V *whole)
{
    const $V shift = constant(12582912.0f), shifted = (v + low) * constant(1.44269504f) + shift;
    *whole = shifted - shift;
    *n = (bits)shifted - (bits)shift;
    return ((v - *whole * constant(0.693359375f)) + *whole * constant(2.12194440e-4f)) + low;
}""",
    "power_of_2": """\

/* 2^n for -127 < n < 128: n is the exponent itself. */
static inline $V power_of_2(bits n) { return ($V)((n + 127) << 23); }""",
    "expm1_near_0": """\

/* e^r - 1 for |r| <= ln 2 / 2: r + r^2 times a polynomial, fitted minimax to a relative error of 2^-31. */
static inline $V expm1_near_0($V r)
{
    $V p = constant(1.98458998e-4f);
    p = p * r + constant(1.39408259e-3f);
    p = p * r + constant(8.33338980e-3f);
    p = p * r + constant(4.16663586e-2f);
    p = p * r + constant(1.66666664e-1f);
    p = p * r + constant(5.00000004e-1f);
    return (r * r) * p + r;
}""",
    "exp_of_sum": """\

/* e^(v + low) = 2^n e^r. 2^n is applied in two halves, since 2^128 is no f32. From v = 89 on the result is infinite.
 * Below -87 it is 0: subnormal numbers begin a little further, and many CPUs compute them slowly. Error: below 1.1
 * ulp. */
static inline $V exp_of_sum($V v, $V low)
{
    const $V least = constant(-87.0f);
    bits n;
    $V whole;
    const $V r = rest_of(smaller[constant(89.0f), larger[least, v]], low, &n, &whole);
    const bits half = n >> 1;
    const $V power = (expm1_near_0(r) + constant(1.0f)) * power_of_2(half) * power_of_2(n - half);
    return choose(v < least, constant(0.0f), power);
}""",
    "exp_of_half": """\

/* e^-((v + low) / 2). */
static inline $V exp_of_half($V v, $V low) { return exp_of_sum(constant(-0.5f) * v, constant(-0.5f) * low); }""",
    "exp_of": "static inline $V exp_of($V v) { return exp_of_sum(v, constant(-0.0f)); }",
    "sharp_exp_of": "static inline $V sharp_exp_of($V v) { return exp_of(v); }",
    "expm1_of": """\

/* e^v - 1 = 2^n (e^r - 1) + (2^n - 1), which loses nothing near 0, of the sign of v. Below -30 it is -1. Error: below 3
 * ulp. */
static inline $V expm1_of($V v)
{
    bits n;
    $V whole;
    const $V near = larger[constant(-30.0f), smaller[constant(1.0f), v]];
    const $V r = rest_of(near, constant(-0.0f), &n, &whole), power = power_of_2(n);
    const $V below = expm1_near_0(r) * power + (power - constant(1.0f));
    const $V found = choose(v < constant(1.0f), below, exp_of(v) - constant(1.0f));
    return ($V)((bits)found | ((bits)v & (bits)constant(-0.0f)));
}""",
    "tanh_of": """\

/* tanh |v| = -t / (2 + t) with t = e^(-2|v|) - 1 = 2^n (e^r - 1) + (2^n - 1), which loses nothing near 0; from
 * |v| = 15 on it is 1. Error: below 3 ulp. */
static inline $V tanh_of($V v)
{
    bits n;
    $V whole;
    const $V r = rest_of(larger[constant(-30.0f), constant(-2.0f) * abs_of(v)], constant(-0.0f), &n, &whole);
    const $V power = power_of_2(n), t = expm1_near_0(r) * power + (power - constant(1.0f));
    return ($V)((bits)((constant(0.0f) - t) / (t + constant(2.0f))) | ((bits)v & (bits)constant(-0.0f)));
}""",
    "sigmoid_of": """\

/* 1 / (1 + e^-v), which is 0 where e^-v is infinite, below v = -88.7, and then off by at most 2^-127. Error: below 3
 * ulp. */
static inline $V sigmoid_of($V v) { return constant(1.0f) / (constant(1.0f) + sharp_exp_of(-v)); }""",
    "silu_of": """\

/* v / (1 + e^-v). Below v = -88.7, where e^-v is infinite, it is -0, and off by at most 2^-119. Error: below 3 ulp. */
static inline $V silu_of($V v) { return v / (constant(1.0f) + sharp_exp_of(-v)); }""",
    "gelu_of": """\

/* v times P(v), the probability of a normal deviate below v. The tail P(-|v|) = e^(-v^2/2) q(|v|), where q is a
 * polynomial of t = 1 / (1 + 0.3 |v|), fitted minimax on 0 <= |v| <= 15 to a relative error of 2^-28; P(|v|) = 1 -
 * P(-|v|). For large |v| the rounding of v^2 would show in e^(-v^2/2). So v^2 is two numbers: the square of the upper
 * 12 bits, which is exact, and the rest. Error: below 8 ulp. */
static inline $V gelu_of($V v)
{
    const $V a = smaller[constant(15.0f), abs_of(v)];
    const $V upper = ($V)((bits)a & -4096), square = upper * upper, rest = (a - upper) * (a + upper);
    const $V t = constant(1.0f) / (constant(0.3f) * a + constant(1.0f));
    $V q = constant(-2.06285099e-2f);
    q = q * t + constant(1.12464014e-1f);
    q = q * t + constant(-2.28283058e-1f);
    q = q * t + constant(1.91881120e-1f);
    q = q * t + constant(-7.95074725e-2f);
    q = q * t + constant(9.62040784e-2f);
    q = q * t + constant(7.83724923e-2f);
    q = q * t + constant(1.10239294e-1f);
    q = q * t + constant(1.19571323e-1f);
    q = q * t + constant(1.19686716e-1f);
    const $V tail = exp_of_half(square, rest) * (q * t);
    return v * choose(v < constant(0.0f), tail, constant(1.0f) - tail);
}""",
    "gelu_tanh_of": """\

/* v (1 + tanh u) / 2 = v / (1 + e^(-2u)) with u = sqrt(2 / pi) (v + 0.044715 v^3). Error: below 5 + 5 |u| ulp. */
static inline $V gelu_tanh_of($V v)
{
    const $V cubic = constant(0.0713548163f) * (v * v) + constant(1.59576912f);
    return v / (constant(1.0f) + exp_of(-(cubic * v)));
}""",
    "erf_of": """\

/* Below |v| = 1, v times a polynomial of v^2, fitted minimax to a relative error of 2^-29; beyond, 1 - e^P(|v|), where
 * P is fitted to ln(1 - erf), so that e^P is right to 2^-29. From |v| = 4 on it is 1. Error: below 2 ulp. */
static inline $V erf_of($V v)
{
    const $V a = smaller[constant(4.0f), abs_of(v)], square = v * v, sign = ($V)((bits)v & (bits)constant(-0.0f));
    $V near = constant(7.8538445e-5f);
    near = near * square + constant(-8.0101881e-4f);
    near = near * square + constant(5.18832699e-3f);
    near = near * square + constant(-2.68538115e-2f);
    near = near * square + constant(1.12835851e-1f);
    near = near * square + constant(-3.76126258e-1f);
    near = near * square + constant(1.28379170e-1f); /* plus 1, which the end adds: so it rounds once */
    $V far = constant(1.85574025e-4f);
    far = far * a + constant(-2.93960745e-3f);
    far = far * a + constant(2.18053189e-2f);
    far = far * a + constant(-1.0303737e-1f);
    far = far * a + constant(-6.38225676e-1f);
    far = far * a + constant(-1.12704004f);
    far = far * a + constant(-3.53719308e-4f);
    const $V beyond = constant(1.0f) - exp_of(far);
    return choose(a < constant(1.0f), v * near + v, ($V)((bits)beyond | (bits)sign));
}""",
    "log_of": """\

/* ln v = e ln 2 + ln(1 + f) with v = 2^e (1 + f) and sqrt(1/2) <= 1 + f < sqrt(2). ln(1 + f) = f - f^2/2 + f^3 times a
 * polynomial, fitted minimax to a relative error of 2^-30. ln 2 is split in two: e times the first part, 355 / 512, is
 * exact. A subnormal v is multiplied by 2^23 first. Error: below 1 ulp. */
static inline $V log_of($V v)
{
    const $V zero = constant(0.0f), one = constant(1.0f), infinite = constant(__builtin_inff());
    const bits few = v < constant(1.17549435e-38f);
    const $V whole = choose(few, v * constant(8388608.0f), v);
    const bits n = ((bits)whole - 0x3f3504f3) >> 23;
    const $V f = ($V)((bits)whole - (n << 23)) - one, square = f * f;
    const $V e = __builtin_convertvector(n, $V) - choose(few, constant(23.0f), zero);
    $V p = constant(6.74664033e-2f);
    p = p * f + constant(-1.16756518e-1f);
    p = p * f + constant(1.18881623e-1f);
    p = p * f + constant(-1.24055889e-1f);
    p = p * f + constant(1.42195524e-1f);
    p = p * f + constant(-1.66679959e-1f);
    p = p * f + constant(2.00021187e-1f);
    p = p * f + constant(-2.50000096e-1f);
    p = p * f + constant(3.33333126e-1f);
    const $V rest = ((square * f) * p + e * constant(-2.12194440e-4f)) - constant(0.5f) * square;
    const $V special = choose(v == zero, -infinite, choose(v < zero, constant(__builtin_nanf("")), v));
    return choose((v > zero) & (v < infinite), (rest + f) + e * constant(0.693359375f), special);
}""",
    "round_mul_of": """\

/* The whole number nearest to a * b, of two the even one: an f64 near 1.5 * 2^52 has no fraction. */
static inline $V round_mul_of($V a, $V b)
{
    const double shift = 6755399441055744.0;
    for (int lane = 0; lane < $LANES; ++lane)
        a[lane] = (float)((double)a[lane] * b[lane] + shift - shift);
    return a;
}""",
    "log1p_of": """\

/* log(1 + v). Adding 1 rounds v; near v = 0 the factor v / ((1 + v) - 1) makes up for it. */
static inline $V log1p_of($V v)
{
    const $V one = constant(1.0f), u = one + v, d = u - one;
    return choose((d == constant(0.0f)) | (u == constant(INFINITY)), v, log_of(u) * (v / d));
}""",
}
