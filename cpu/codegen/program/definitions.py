"""The C definitions that the file of a program needs: vectors, functions of the language, accesses and shuffles."""

from __future__ import annotations

import re

from cpu.codegen.program.functions import (
    BEFORE,
    COMPARED,
    ELEMENT,
    INFIX,
    LANE,
    LANE_BY_LANE,
    SHARED,
    c_name,
    comparison,
    expression,
    scalar,
    vector_type,
)
from microkernels.tile.isa_row import Isa
from microkernels.tile.lanes import shuffle_definition
from microkernels.tile.transpose import definitions


class Definitions:
    """The C definitions that a file needs. Each stands after the definitions that it uses.

    shared: the functions of f32 that epilogues use too.
    """

    def __init__(self, isa: Isa):
        self.isa = isa
        self.shared: set[str] = set()
        self.found: dict[tuple[str, str], str] = {}

    @property
    def lines(self) -> list[str]:
        """All definitions."""
        return [line for text in self.found.values() for line in text.splitlines()]

    def vector(self, dtype: str) -> str:
        """The C type of a vector of a dtype."""
        name = vector_type(dtype, self.isa.vector_type)
        if dtype != "f32":
            size = self.isa.lanes * LANE[dtype]
            self.add(("type", dtype), f"typedef {ELEMENT[dtype]} {name} __attribute__((vector_size({size})));")
        return name

    def constant(self, dtype: str) -> str:
        """The function that gives all lanes a number."""
        if dtype == "f32":
            return "constant"
        body = f"return {'-' * (dtype == 'bool')}value - ({{T}}){{{{0}}}};"  # all bits are the truth
        if dtype == "f16":  # C computes f16 as floats, and makes no vectors of _Float16 of them
            loop = f"for (int lane = 0; lane < {self.isa.lanes}; ++lane)\n    all[lane] = value;"
            body = f"{{T}} all;\n{loop}\nreturn all;"
        return self.function("constant", dtype, f"{ELEMENT[dtype]} value", body)

    def called(self, function: str = "", *of: str) -> None:
        """Adds the definition of the function that an instruction calls."""
        match function:
            case "":
                pass
            case "constant":
                self.constant(*of)
            case "positions":
                self.positions()
                self.constant("s64")
            case "first_lanes":
                self.first_lanes()
            case "across":
                self.across(*of)
            case "transposed":
                self.transposed()
            case "transposed_to":
                self.transposed_to()
            case "braided":
                self.braided(int(of[0]))
            case _:
                self.access(function, *of)

    def applied(self, function: str, dtype: str) -> None:
        """Adds the definition of a function of vectors, if it is no operator of C."""
        operator = function in INFIX or function in BEFORE or (function in COMPARED and LANE[dtype] == 4)
        if not operator:
            self.need(function, dtype)

    def need(self, function: str, dtype: str) -> str:
        """The C name of a function for arguments of this dtype. Adds its definition."""
        name = c_name(function, dtype)
        if function.startswith("as_") or function == "from_bf16":
            self.conversion(name)
        elif dtype == "f32" and function in SHARED:
            self.shared.add(name)
        elif function == "where":
            self.choice(dtype)
        elif function in COMPARED:
            self.compared(function, dtype)
        elif function in LANE_BY_LANE:
            self.lane_by_lane(function, dtype)
        else:
            form = expression(function, dtype)
            zero, most = (f"{self.constant(dtype)}({value})" for value in (0, 8 * LANE[dtype] - 1))
            tests = {"gt": ("gt", "a", "b"), "lt": ("lt", "a", "b"), "none": ("ne", "a", "a")}
            tests |= {"negative": ("lt", "a", zero), "beyond": ("gt", "b", most), "below": ("lt", "b", zero)}
            named = {
                test: self.comparison(*compared, dtype) for test, compared in tests.items() if f"{{{test}}}" in form
            }
            text = form.format(where=self.choice(dtype), zero=zero, most=most, **named)
            two = re.search(r"\bb\b", text)
            self.function(function, dtype, "{T} a, {T} b" if two else "{T} a", f"return {text};")
        return name

    def comparison(self, function: str, left: str, right: str, dtype: str) -> str:
        """As the function of that name. Adds the definition of what it calls."""
        self.applied(function, dtype)
        return comparison(function, left, right, dtype)

    def choice(self, dtype: str) -> str:
        """The function that chooses lane by lane."""
        if dtype == "f32":
            return "choose"
        wide = LANE[dtype] == 8
        mask = self.vector("s64" if wide else "bool")
        lanes = f"__builtin_convertvector(lanes, {mask})" if wide else "lanes"
        body = f"const {mask} all = {lanes};\nreturn ({{T}})((all & ({mask})a) | (~all & ({mask})b));"
        return self.function("where", dtype, f"{self.vector('bool')} lanes, {{T}} a, {{T}} b", body)

    def compared(self, function: str, dtype: str) -> None:
        truths = self.vector("bool")
        value = f"a {COMPARED[function]} b"
        value = f"__builtin_convertvector({value}, {truths})" if LANE[dtype] == 8 else f"({truths})({value})"
        self.function(function, dtype, "{T} a, {T} b", f"return {value};", gives=truths)

    def lane_by_lane(self, function: str, dtype: str) -> None:
        suffix = "f" if dtype == "f32" else ""
        text = LANE_BY_LANE[function].format(f=suffix, dtype=dtype)
        called = text.partition("_")[0]
        if defined := scalar(called, dtype):
            self.add((called, dtype), defined)
        element, two = ELEMENT[dtype], "b)" in text
        given = "a", "b"
        arrays = ", ".join(f"{name}s[{self.isa.lanes}]" for name in given[: 1 + two])
        body = [f"{element} {arrays};"]
        body += [f"__builtin_memcpy({name}s, &{name}, sizeof {name});" for name in given[: 1 + two]]
        inner = text.replace("(a", "(as[lane]").replace(" b)", " bs[lane])")
        body += [f"for (int lane = 0; lane < {self.isa.lanes}; ++lane)", f"    as[lane] = {inner};"]
        body += ["__builtin_memcpy(&a, as, sizeof a);", "return a;"]
        self.function(function, dtype, "{T} a, {T} b" if two else "{T} a", "\n".join(body))

    def conversion(self, name: str) -> None:
        """The function that converts lane by lane, such as s32_of_f32."""
        wanted, _, dtype = name.split("_")
        source, target, floats = self.vector(dtype), self.vector(wanted), self.vector("f32")
        if wanted == "bf16":  # rounded to nearest even; NaN stays NaN
            words = self.vector("s32")
            body = (
                f"const {words} all = ({words})v;\n"
                f"const {words} rounded = (all + 0x7fff + ((all >> 16) & 1)) >> 16, odd = (all >> 16) | 0x40;\n"
                f"return __builtin_convertvector(((v == v) & rounded) | ((v != v) & odd), {target});"
            )
        elif dtype == "bf16":
            words = self.vector("s32")
            body = f"return ({floats})(__builtin_convertvector(v, {words}) << 16);"
        else:
            minus = "-" if dtype == "bool" else ""
            body = f"return __builtin_convertvector({minus}v, {target});"
        self.add(("as", name), _function(target, name, f"{source} v", body))

    def across(self, function: str, dtype: str) -> str:
        """The function that combines all lanes, half with half."""
        if function in ("max", "min", "mul", "add", "and", "or") and function not in INFIX:
            combined = f"{self.need(function, dtype)}(v, other)"
        else:
            combined = f"v {INFIX[function]} other"
        vector, lanes = self.vector(dtype), self.isa.lanes
        halves = [lanes >> step for step in range(1, lanes.bit_length())]
        if LANE[dtype] == 4:
            self.pick()
            body = [f"{vector} other;"]
            for half in halves:
                places = ", ".join(str(lane ^ half) for lane in range(lanes))
                body += [f"other = PICK(v, v, {places});", f"v = {combined};"]
        else:
            body = [f"for (int half = {lanes // 2}; half; half /= 2) {{", f"    {vector} other;"]
            body += [f"    for (int lane = 0; lane < {lanes}; ++lane)", "        other[lane] = v[lane ^ half];"]
            body += [f"    v = {combined};", "}"]
        name = f"across_{function}_{dtype}"
        about = "/* All lanes combined, in every lane: each with that half a vector away, then a quarter, and so on. */"
        text = "\n".join([*body, "return v;"])
        self.add((f"across_{function}", dtype), f"{about}\n{_function(vector, name, f'{vector} v', text)}")
        return name

    def pick(self) -> None:
        """The macro that shuffles the lanes of vectors of 32 bits."""
        self.add(("pick", ""), "\n".join(shuffle_definition(self.isa)))

    def transposed(self) -> None:
        """The function that reads a block of columns."""
        lanes = self.isa.lanes
        body = [*self.columns(), f"for (int place = 0; place < {lanes}; ++place)"]
        body.append("    " + self.isa.store.format(p=f"to + {lanes} * place", v="t[place]") + ";")
        about = "/* As many rows as a vector has lanes, `apart` from each other: `to` gets their columns. */"
        function = _function("void", "transposed", "float *to, const float *p, long apart", "\n".join(body))
        self.add(("transposed", ""), "\n".join([about, function]))

    def transposed_to(self) -> None:
        """The function that stores a block of columns where they belong."""
        stores = [self.isa.store.format(p=f"to + {n} * to_apart", v=f"t[{n}]") + ";" for n in range(self.isa.lanes)]
        about = "/* As many rows as a vector has lanes, `apart` from each other, become columns, `to_apart` apart. */"
        parameters = "float *to, long to_apart, const float *p, long apart"
        function = _function("void", "transposed_to", parameters, "\n".join([*self.columns(), *stores]))
        self.add(("transposed_to", ""), "\n".join([about, function]))

    def braided(self, rows: int) -> None:
        """The function that stores numbers of a few rows side by side. A shuffle for each row but the first."""
        self.pick()
        lanes, vector = self.isa.lanes, self.vector("f32")
        body = [f"const {vector} row_{row} = {self.isa.load.format(p=f'p + {row} * apart')};" for row in range(rows)]
        for number in range(rows):
            places = [divmod(number * lanes + lane, rows) for lane in range(lanes)]
            value = "row_0"
            for row in range(1, rows):
                before = (lane if row > 1 else place for lane, (place, _) in enumerate(places))
                picked = (lanes + at[0] if at[1] == row else own for own, at in zip(before, places))
                value = self.isa.shuffle.format(a=value, b=f"row_{row}", places=", ".join(map(str, picked)))
            body.append(self.isa.store.format(p=f"to + {number * lanes}", v=value) + ";")
        about = f"/* A vector of each of {rows} rows, `apart` from each other: their numbers side by side. */"
        name, parameters = f"braided_{rows}", "float *to, const float *p, long apart"
        self.add((name, ""), "\n".join([about, _function("void", name, parameters, "\n".join(body))]))

    def columns(self) -> list[str]:
        """The lines that give the columns `t` of the rows at `p`. Adds the shuffles that they take."""
        self.pick()
        lanes, own = self.isa.lanes, shuffle_definition(self.isa)
        shuffles = (line for line in definitions(self.isa, [lanes]) if line not in own)
        self.add(("shuffles", ""), "\n".join(shuffles))
        loaded = ", ".join(self.isa.load.format(p=f"p + {row} * apart") for row in range(lanes))
        return [f"{self.vector('f32')} t[{lanes}];", f"transpose_{lanes}(t, {loaded});"]

    def access(self, access: str, dtype: str) -> None:
        """A load or store for which the instruction set has no form."""
        element, tail = ELEMENT[dtype], ", int lanes" * access.endswith("tail")
        text = {
            "load": "{T} v;\n__builtin_memcpy(&v, p, sizeof v);\nreturn v;",
            "load_tail": "{T} v = {{0}};\n__builtin_memcpy(&v, p, lanes * sizeof *p);\nreturn v;",
            "broadcast": "return {constant}(*p);",
            "store": "__builtin_memcpy(p, &v, sizeof v);",
            "store_tail": "__builtin_memcpy(p, &v, lanes * sizeof *p);",
            "store_first": "*p = v[0];",
        }[access].replace("{constant}", self.constant(dtype) if access == "broadcast" else "")
        if access.startswith("store"):
            self.function(access, dtype, f"{element} *p, {{T}} v{tail}", text, gives="void")
        else:
            self.function(access, dtype, f"const {element} *p{tail}", text)

    def positions(self) -> None:
        """The function that gives evenly spaced numbers from a first one."""
        each = ", ".join(map(str, range(self.isa.lanes)))
        self.function(
            "positions",
            "s64",
            "long first, long step",
            f"return first + step * ({{T}}){{{{{each}}}}};",
            name="positions",
        )

    def first_lanes(self) -> None:
        """The truth for the first lanes, and false for the others."""
        each = ", ".join(map(str, range(self.isa.lanes)))
        self.function("first_lanes", "bool", "int lanes", f"return ({{T}}){{{{{each}}}}} < lanes;", name="first_lanes")

    def function(
        self, function: str, dtype: str, parameters: str, body: str, gives: str = "{T}", name: str = ""
    ) -> str:
        vector, name = self.vector(dtype), name or c_name(function, dtype)
        filled = [text.format(T=vector) for text in (gives, parameters, body)]
        self.add((function, dtype), _function(filled[0], name, *filled[1:]))
        return name

    def add(self, key: tuple[str, str], text: str) -> None:
        self.found.setdefault(key, text)


def _function(gives: str, name: str, parameters: str, body: str) -> str:
    """A function of C. A body of one line stands beside its head."""
    head = f"static inline {gives} {name}({parameters})"
    if "\n" not in body and len(head) + len(body) < 110:
        return f"{head} {{ {body} }}"
    return "\n".join([head, "{", *(f"    {line}" for line in body.splitlines()), "}"])
