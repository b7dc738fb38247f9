"""The C functions of vectors of floats that epilogues and programs call.

    relu_of  exp_of  tanh_of  gelu_of …         definitions({"tanh_of"}, isa): their text, and that of all they call

They compute the functions of `tiling.loops.meaning.functions`, to within the error that each text states.
"""

# In a text `$V` and forms such as `larger[a, b]` stand for words of the instruction set, as in `function_texts`.

from __future__ import annotations

import re
from collections.abc import Iterable
from math import log2

import numpy as np

from cpu.codegen.function_texts import TEXTS
from microkernels.tile.instructions import instructions_of
from microkernels.tile.isa_row import Isa

# What other texts call. Text beside these functions may call them too.
_BASE = {
    "bits": "typedef int bits __attribute__((vector_size($BYTES)));",
    "constant": "static inline $V constant(float value) { return constant[value]; }",
    "choose": (
        "static inline $V choose(bits lanes, $V a, $V b) { return ($V)((lanes & (bits)a) | (~lanes & (bits)b)); }"
    ),
}

# For instruction sets with an instruction that multiplies by a power of two, and one that looks numbers up. The texts
# for others are below.
_BY_TABLE = {
    "exp2_of": """\

/* 2^(k / 16). Volatile, so it is read where it is used: gcc would keep it in a register through the loops of a
 * product. */
static const volatile $V sixteenths = {$SIXTEENTHS};

/* 2^(k / 16 + r) with |r| <= 1 / 32. shifted is 1.5 * 2^19 plus a whole number plus k / 16. Of that size an f32 has no
 * bits below a sixteenth, so its last four bits are k. 2^r is a polynomial, fitted minimax to a relative error of
 * 2^-28. */
static inline $V exp2_of($V shifted, $V r)
{
    const $V power = lookup[shifted, sixteenths];
    const $V p = (constant(5.55050853e-2f) * r + constant(2.40233555e-1f)) * r + constant(6.93147182e-1f);
    return (power * r) * p + power;
}""",
    "exp_of": """\

/* 1 / ln 2 is the sum of two f32. From v = 89 on the result is infinite. Below -87 it is 0: subnormal numbers begin a
 * little further, and many CPUs compute them slowly. Error: below 1.1 ulp. */
static inline $V exp_of($V v)
{
    const $V near = smaller[constant(89.0f), v], log2e = constant(1.44269502f), shift = constant(786432.0f);
    const $V shifted = near * log2e + shift, whole = shifted - shift;
    const $V r = (near * log2e - whole) + near * constant(1.92596303e-8f);
    return scale[v, constant(-87.0f), exp2_of(shifted, r), whole];
}""",
    "sharp_exp_of": """\

/* k / 16 minus the logarithm to base 2 of the rounded 2^(k / 16). */
static const volatile $V rounded_off = {$ROUNDED_OFF};

/* exp_of without the error of the table, for functions in whose results it would count twice. Error: below 0.6 ulp. */
static inline $V sharp_exp_of($V v)
{
    const $V near = smaller[constant(89.0f), v], log2e = constant(1.44269502f), shift = constant(786432.0f);
    const $V shifted = near * log2e + shift, whole = shifted - shift;
    const $V rest = near * constant(1.92596303e-8f) + lookup[shifted, rounded_off];
    return scale[v, constant(-87.0f), exp2_of(shifted, (near * log2e - whole) + rest), whole];
}""",
    "exp_of_half": """\

/* e^-((v + low) / 2) for v >= 0, where low is what rounding took from v: exp_of with -1 / (2 ln 2). */
static inline $V exp_of_half($V v, $V low)
{
    const $V log2e = constant(-0.721347511f), shift = constant(786432.0f), shifted = v * log2e + shift;
    const $V whole = shifted - shift, r = ((v * log2e - whole) + v * constant(-9.62981517e-9f)) + low * log2e;
    return scale[-v, constant(-174.0f), exp2_of(shifted, r), whole];
}""",
}

# For instruction sets that multiply and add at once, but have no such instructions: 2^n is the exponent itself.
_BY_EXPONENT = {
    "twice_exp2_of": """\

/* 2 * 2^r with |r| <= 1/2: a polynomial, fitted minimax to a relative error of 2^-28. */
static inline $V twice_exp2_of($V r)
{
    $V p = constant(3.06529459e-4f);
    p = p * r + constant(2.67816172e-3f);
    p = p * r + constant(1.92370117e-2f);
    p = p * r + constant(1.11007199e-1f);
    p = p * r + constant(4.80452955e-1f);
    p = p * r + constant(1.38629436f);
    return p * r + constant(2.0f);
}""",
    "half_power_of": """\

/* 2^(n - 1), and 0 for n = -126. The last bits of shifted = 1.5 * 2^23 + 126 + n are its exponent. It is half of 2^n,
 * since n may be 128 and 2^128 is no f32. */
static inline $V half_power_of($V shifted) { return ($V)((bits)shifted << 23); }""",
    "exp_of": """\

/* e^v = 2^n 2^r. An f32 near 1.5 * 2^23 has no fraction, so adding that number rounds. 1 / ln 2 is the sum of two f32.
 * From v = 89 on the result is infinite. Below -86.99 it is 0: subnormal numbers begin a little further, and many CPUs
 * compute them slowly. Error: below 1.1 ulp. */
static inline $V exp_of($V v)
{
    const $V near = smaller[constant(89.0f), larger[constant(-87.0f), v]], log2e = constant(1.44269502f);
    const $V shift = constant(12583038.0f), shifted = near * log2e + shift, whole = shifted - shift;
    const $V r = (near * log2e - whole) + near * constant(1.92596303e-8f);
    return twice_exp2_of(r) * half_power_of(shifted);
}""",
    "exp_of_half": """\

/* e^-((v + low) / 2) for v >= 0, where low is what rounding took from v: exp_of with -1 / (2 ln 2). */
static inline $V exp_of_half($V v, $V low)
{
    const $V near = smaller[constant(174.0f), v], log2e = constant(-0.721347511f);
    const $V shift = constant(12583038.0f), shifted = near * log2e + shift, whole = shifted - shift;
    const $V r = ((near * log2e - whole) + near * constant(-9.62981517e-9f)) + low * log2e;
    return twice_exp2_of(r) * half_power_of(shifted);
}""",
}

# Where one instruction multiplies and adds, and rounds once; the other way is in the table. There the roundings of the
# quotient of a GELU would come to 8.4 ulp.
_BY_ONCE = {
    "gelu_of": """\

/* max(v, 0) - |v| P(-|v|), where P is the probability of a normal deviate below its argument. P(-a) is e^(-a^2/2)
 * times a quotient of polynomials, fitted minimax on 0 <= a <= 15 to a relative error of 2^-27. None of their
 * coefficients is negative, so nothing cancels. For large a the rounding of a^2 would show in e^(-a^2/2). So an FMA
 * finds what was rounded off. |v| counts as 15 where v < -15, since an infinite v times 0 is a NaN. Error: below 8
 * ulp. */
static inline $V gelu_of($V v)
{
    const $V below = abs_of(smaller[constant(15.0f), v]), a = smaller[constant(15.0f), below];
    const $V square = a * a, rest = once[a, a, -square];
    $V p = constant(0.398946553f);
    p = p * a + constant(3.92701101f);
    p = p * a + constant(17.672163f);
    p = p * a + constant(42.1981812f);
    p = p * a + constant(48.0312157f);
    $V q = a + constant(9.84414387f);
    q = q * a + constant(45.2837029f);
    q = q * a + constant(115.806458f);
    q = q * a + constant(161.043137f);
    q = q * a + constant(96.0624313f);
    const $V tail = exp_of_half(square, rest) * p / q;
    return larger[constant(0.0f), v] - below * tail;
}""",
    "round_mul_of": """\

/* The whole number nearest to a * b, of two the even one: an f32 near 1.5 * 2^23 has no fraction. From |a * b| = 2^22
 * on it is the product, off by at most 2 ulp. */
static inline $V round_mul_of($V a, $V b)
{
    const $V shift = constant(12582912.0f);
    return once[a, b, shift] - shift;
}""",
}

# Where masks choose. gcc 12 makes four instructions of the text in the table, and each maximum of a chain waits for two
# of them. With these texts a softmax of 6144 x 512 takes 552 µs and not 605 (one thread of a Zen 5).
_BY_MASK = {
    "kept_of": """\
/* found, or v where v is a NaN. Two forms mean the same: where gcc knows v it leaves out the test of the first form,
 * and elsewhere the second form is faster. */
static inline $V kept_of($V v, $V found)
{
    const bits none = v != v;
    return __builtin_constant_p(none[0]) ? choose(none, v, found) : no_number[v, found];
}""",
    "max_of": "static inline $V max_of($V a, $V b) { return kept_of(a, larger[a, b]); }",
    "min_of": "static inline $V min_of($V a, $V b) { return kept_of(a, smaller[a, b]); }",
}

NAMES = frozenset(TEXTS)
BASE = frozenset(_BASE)
ZEROS = "zeros"  # the vector of zeros, which functions that clamp at zero compare with

_FIELDS = {  # the fields of each form that texts use, in order
    "larger": ("a", "b"),
    "smaller": ("a", "b"),
    "no_number": ("v", "found"),
    "scale": ("v", "least", "p", "n"),
    "lookup": ("n", "table"),
    "once": ("a", "b", "c"),
    "constant": ("s",),
}
_COMMENT = re.compile(r"/\*.*?\*/", re.S)  # may speak of other functions
_FORM = re.compile(rf"\b({'|'.join(_FIELDS)})\[([^\[\]]*)\]")


def definitions(names: Iterable[str], isa: Isa) -> str:
    """The text of these functions, by their C names, and of all that they call. Some compilers warn of others."""
    texts = {name: _written(text, isa) for name, text in _texts(isa).items()}
    needed, waiting = set[str](), list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += [called for called in re.findall(r"\w+", _COMMENT.sub("", texts[name])) if called in texts]
    return "\n".join(texts[name] for name in texts if name in needed)


def _texts(isa: Isa) -> dict[str, str]:
    """The texts of all functions for an instruction set."""
    by_table = _BY_TABLE if isa.scale else _BY_EXPONENT if isa.once else {}  # before those that call them
    by_mask = _BY_MASK if isa.no_number else {}
    by_once = _BY_ONCE if isa.once else {}
    return _BASE | by_table | by_mask | TEXTS | by_table | by_mask | by_once


def _written(text: str, isa: Isa) -> str:
    """A text with the instruction set's own words."""
    forms = {name: instruction.text for name, instruction in instructions_of(isa).functions.items()}
    words = {"$V": isa.vector_type, "$BYTES": str(isa.lanes * 4), "$LANES": str(isa.lanes)}
    words |= {"$SIXES": ", ".join(["6"] * isa.lanes)}
    powers = [float(np.float32(2 ** (k / 16))) for k in range(16)]
    rests = [k / 16 - log2(power) for k, power in enumerate(powers)]
    words |= {"$SIXTEENTHS": _listed(powers), "$ROUNDED_OFF": _listed(rests)}
    for word, meant in words.items():
        text = text.replace(word, meant)
    while form := _FORM.search(text):  # the inner ones first
        fields = _FIELDS[form[1]]
        given = dict(zip(fields, form[2].split(", ", len(fields) - 1), strict=True))
        text = text[: form.start()] + forms[form[1]].format(**given) + text[form.end() :]
    return text


def _listed(numbers: Iterable[float]) -> str:
    """Numbers as C text, each with as many places as tell two f32 apart."""
    return ", ".join(f"{number:.9g}" for number in numbers)
