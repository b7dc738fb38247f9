"""Changes of the statements of a block, at any depth."""

from tiling.loops.index import ZERO, constant, variable
from tiling.loops.language import For, If, Inside, Number, Store
from tiling.loops.walk import with_statements


def store(at):
    return Store("y", (constant(at),), Number(at, "f32"))


def loop(name, *body):
    return For(name, ZERO, constant(2), 1, body)


def test_statements_are_replaced_removed_and_looked_into():
    test = (Inside(variable("i"), None, 1),)
    body = (store(0), loop("i", store(1), If(test, (store(2),), (store(0), store(3)))), loop("j", store(0)))

    def change(statement):
        if statement == store(0):
            return ()
        if statement == store(1):
            return (store(4), store(1))
        return (statement,) if isinstance(statement, For) and statement.name == "j" else None

    wanted = (loop("i", store(4), store(1), If(test, (store(2),), (store(3),))), loop("j", store(0)))
    assert with_statements(body, change) == wanted
