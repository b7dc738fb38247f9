"""Reading a scheme: from its text to its loops, to the register tiles inside, and to C.

python examples/read_scheme.py
"""

from cpu.codegen.emit import emit
from microkernels.tile.isa import isa_named
from tiling.arrays.footprint import footprint
from tiling.loops.lowering.show import show
from tiling.text.notation import parse
from tiling.text.shapes import parse_shape

problem = parse_shape("c=32,h=14,w=14,k=64,r=3,s=3,pad=1")

# Outermost first. T(k,2): two steps over k. S(y): from here on y's tile stays in registers. U: unrolled; V: a vector.
# L(w, 2x4 + 1x6): two tiles of 4 pixels, then one of 6, which together cover all 14; λ stands for either inside.
scheme = parse(problem, "T(k,2) T(h,14) L(w, 2x4 + 1x6) S(y) T(r,3) T(s,3) T(c,32) U(w,λ) U(k,2) V(k,16)")
print(f"{problem}\n\n{scheme}\n\n{show(scheme)}\n")

# What a tile touches, in bytes, says which cache it fits: here of one row of the image, with all taps and channels.
row = problem.extents | {"h": 1, "k": 32}
for tensor in problem.tensors:
    print(f"a row of {row['w']} pixels touches {footprint(problem, tensor, row)} bytes of {tensor.name}")

source = emit(scheme, isa_named("avx512f"))
print(f"\nmicrokernels: {', '.join(map(str, source.microkernels))}")
print(f"C: {source.symbol}, {len(source.text.splitlines())} lines")
