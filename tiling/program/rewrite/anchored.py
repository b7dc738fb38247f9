"""A program as three: what comes before its anchor, the anchor with its stores, and what comes after.

    e[i,k] = exp(a[i,k]); y[i,j] = sum[k] e[i,k] * b[k,j]; z[i,j] = relu(y[i,j]); s[i] = sum[j] z[i,j]

The anchor is y, which stores z. e comes before it, s after it.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from tiling.program.anchors.anchor import FULL_VECTOR, Anchor, anchor_of
from tiling.program.anchors.product import NoProductError, factors
from tiling.program.anchors.stores import Stores, stores_of
from tiling.program.infer import Array, Sized
from tiling.program.language import Access, Declaration, Dim, Program, Reduce, Statement
from tiling.program.rewrite.inline import substituted
from tiling.program.rewrite.lay_out_operands import is_product, laid_out
from tiling.program.rewrite.rename import with_accesses

# The least number of uses of each weight: packing the weights in each call takes about as long as so many uses. With
# shorter vectors, or fewer multiplications, the loops of the rules are as fast.
LEAST_USES, LEAST_FLOPS = 32, 1 << 22


@dataclass(frozen=True)
class Anchored:
    """The three programs.

    before, after: None where there is nothing. moved: arrays left out, since they only changed the order of axes.
    """

    program: Sized
    before: Sized | None
    anchor: Anchor
    stores: Stores
    after: Sized | None
    moved: tuple[str, ...]


def anchored(program: Sized, dtypes: tuple[str, ...] = ("f32",), ahead: frozenset[str] = frozenset()) -> Anchored | str:
    """The program around its anchor; else a sentence that says why rules decide its loops.

    dtypes: the machine has kernels of problems in these. ahead: inputs that a caller packs once for many calls.
    """
    if program.runtime:
        return f"{' '.join(program.runtime)}: a scheme is chosen for one extent, and every call has another"
    sums = [statement for statement in program.program.statements if _is_product(statement) or is_product(statement)]
    if len(sums) != 1:
        names = " ".join(statement.array for statement in sums)
        return (
            f"{names} are sums of products: only one can be an anchor" if sums else "no statement is a sum of products"
        )
    array, original = sums[0].array, program
    found = _read_as_it_is(program, array, dtypes, ahead)
    for changed in laid_out(program, array) if isinstance(found, str) else ():
        other = _read_as_it_is(changed, array, dtypes, ahead)
        if not isinstance(other, str):
            found = other
            break
    if isinstance(found, str):
        return found
    program, anchor = found
    stores = stores_of(program, anchor)
    left = {statement.array for statement in program.program.statements}
    moved = tuple(s.array for s in original.program.statements if s.array not in left)
    return _split(program, anchor, stores, moved)


def _read_as_it_is(
    program: Sized, array: str, dtypes: tuple[str, ...], ahead: frozenset[str]
) -> tuple[Sized, Anchor] | str:
    """The program with a sum that reads its operands as they are, and its anchor; else why there is none."""
    if not _is_product(next(s for s in program.program.statements if s.array == array)):
        return f"{array} goes by rules: its factors are no elements of arrays"
    program = _read_directly(_transposed(program, array), array)
    found = _with_weights(program, array)
    if isinstance(found, str):
        return found
    reason = _by_rules(found, dtypes, found.w.array in ahead)
    return f"{array} goes by rules: {reason}" if reason else (program, found)


def _with_weights(program: Sized, array: str) -> Anchor | str:
    """The anchor whose weights are an input, where only one factor is an input: only inputs can be packed ahead."""
    names = {access.array for access in factors(next(s for s in program.program.statements if s.array == array))}
    given = [name for name in names if name in program.program.inputs]
    found = anchor_of(program, array, given[0]) if len(given) == 1 else ""
    return anchor_of(program, array) if isinstance(found, str) else found


def _is_product(statement: Statement) -> bool:
    try:
        return bool(factors(statement))
    except NoProductError:
        return False


def _by_rules(anchor: Anchor, dtypes: tuple[str, ...], ahead: bool) -> str:
    """Why the loops of the rules are as fast; "" where they are not. ahead: the weights are packed already."""
    problem = anchor.problem
    if problem.dtype not in dtypes:
        return f"this machine has no instructions for products of {problem.dtype}"
    uses = problem.flops // 2 // problem.tensors[1].elements
    if problem.flops < LEAST_FLOPS and not ahead:
        return "it has few multiplications"
    if uses < LEAST_USES and not ahead:
        return f"each element of {anchor.w.array} is used {uses} times only, which packing does not pay for"
    if problem.extents[problem.vector_dim] < FULL_VECTOR:
        return f"only {problem.extents[problem.vector_dim]} outputs share what is read"
    return ""


def _transposed(program: Sized, array: str) -> Sized:
    """The program whose product has its axes in the order of its only reader, where that is an anchor."""
    statement = next(s for s in program.program.statements if s.array == array)
    readers = [(s, a) for s in program.program.statements for a in s.accesses if a.array == array]
    if array in program.outputs or len(readers) != 1 or isinstance(readers[0][0].value, Reduce):
        return program
    reader, access = readers[0]
    walked = [index.name for index in access.at if isinstance(index, Dim)]
    if access.outside is not None or len(walked) < len(access.at) or sorted(walked) != sorted(reader.dims):
        return program
    order = [walked.index(dim) for dim in reader.dims]
    if order == sorted(order):
        return program

    def changed(part: Access) -> Access | None:
        return replace(part, at=tuple(part.at[axis] for axis in order)) if part.array == array else None

    statements = []
    for each in program.program.statements:
        new = replace(each, dims=tuple(each.dims[axis] for axis in order)) if each is statement else each
        statements.append(with_accesses(new, changed))
    shape = program.array(array).shape
    arrays = tuple(
        replace(one, shape=tuple(shape[axis] for axis in order)) if one.name == array else one
        for one in program.assigned
    )
    found = replace(program, program=replace(program.program, statements=tuple(statements)), assigned=arrays)
    return program if isinstance(anchor_of(found, array), str) else found


def _read_directly(program: Sized, array: str) -> Sized:
    """The program whose product reads an array directly instead of its relaid copy, if that is still an anchor."""
    for access in factors(next(s for s in program.program.statements if s.array == array)):
        map_ = next((s for s in program.program.statements if s.array == access.array), None)
        if map_ is None or not isinstance(map_.value, Access) or map_.value.outside is not None:
            continue
        if program.array(map_.array).dtype != program.array(map_.value.array).dtype:
            continue
        statements = tuple(
            substituted(s, map_, map_.value, program) if s.array == array else s for s in program.program.statements
        )
        read = {a.array for s in statements for a in s.accesses} | set(program.outputs)
        kept = tuple(s for s in statements if s.array != map_.array or s.array in read)
        found = _part(program, kept, program.inputs, program.outputs)
        if not isinstance(anchor_of(found, array), str):
            return _read_directly(found, array)
    return program


def _split(program: Sized, anchor: Anchor, stores: Stores, moved: tuple[str, ...]) -> Anchored:
    needed = {anchor.x.array, anchor.w.array, *(array for _, array in stores.arrays)}
    before: list[Statement] = []
    for statement in reversed(program.program.statements):
        if statement.array in needed:
            before.insert(0, statement)
            needed |= {access.array for access in statement.accesses}
    first = {statement.array for statement in before}
    after = [s for s in program.program.statements if s.array not in first and s.array not in stores.fused]
    handed = {anchor.x.array, anchor.w.array, *(array for _, array in stores.arrays), *program.outputs}
    handed |= {access.array for statement in after for access in statement.accesses}
    given = tuple(s.array for s in before if s.array in handed)
    wanted = tuple(s.array for s in after if s.array in program.outputs)
    return Anchored(
        program,
        _part(program, tuple(before), (*program.inputs, *program.assigned), given) if before else None,
        anchor,
        stores,
        _part(program, tuple(after), (*program.inputs, *program.assigned), wanted) if wanted else None,
        moved,
    )


def _part(
    program: Sized, statements: tuple[Statement, ...], arrays: tuple[Array, ...], outputs: tuple[str, ...]
) -> Sized:
    """Some statements as a program of their own. arrays: the arrays that its inputs may be."""
    left = {statement.array for statement in statements}
    bare = Program(statements)
    read = {array.name: array for array in (*arrays, *program.assigned)}
    inputs = tuple(read[name] for name in bare.inputs)
    declared = [d for d in program.program.declarations if d.array in left or d.array in bare.inputs]
    known = {declaration.array for declaration in declared}
    declared += [Declaration(a.name, a.dtype, None) for a in inputs if a.name not in known and a.dtype != "f32"]
    text = Program(statements, tuple(declared))
    dims = {*text.dims}
    return Sized(
        text,
        tuple((dim, extent) for dim, extent in program.dims if dim in dims),
        inputs,
        tuple(array for array in program.assigned if array.name in left),
        outputs,
    )
