"""Operands of other classes: those with an ``__array_ufunc__`` are asked as NumPy asks them."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl


class Answers:
    """What tells how it was asked, though it has an operator of its own."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        return f"{ufunc.__name__}.{method} of {len(inputs)} and {sorted(options)}"

    def __radd__(self, other: Any) -> Any:
        return "its own"


class AnsweringList(list[float]):
    """A list that NumPy does not read, but asks."""

    __array_ufunc__ = Answers.__array_ufunc__


class Declines:
    """What wants its own operators."""

    __array_ufunc__: Any = None

    def __radd__(self, other: Any) -> Any:
        return "its own"

    __rsub__ = __rmul__ = __rmatmul__ = __rpow__ = __rdivmod__ = __rtruediv__ = __lt__ = __gt__ = __eq__ = __radd__


class DecliningArray(np.ndarray[Any, Any]):
    """An array of NumPy's that wants its own operators."""

    __array_ufunc__: Any = None
    __radd__ = __rmatmul__ = __rsub__ = Declines.__radd__


class Silent:
    """What is asked, and says nothing."""

    def __array_ufunc__(self, *given: Any, **options: Any) -> Any:
        return NotImplemented

    def __radd__(self, other: Any) -> Any:
        return "its own"


KINDS: dict[str, Callable[[], Any]] = {
    "answers": Answers,
    "a list that answers": lambda: AnsweringList([1.0]),
    "declines": Declines,
    "an array that declines": lambda: np.ones(3).view(DecliningArray),
    "silent": Silent,
}
OPERATORS = [
    *("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "lt", "le", "eq", "ne", "gt", "ge"),
    *("iadd", "isub", "imul", "itruediv", "ifloordiv", "imod", "ipow", "imatmul"),
]
CALLS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "divmod": lambda m, x, y: divmod(x, y),
    "rdivmod": lambda m, x, y: divmod(y, x),
    "add": lambda m, x, y: m.add(x, y),
    "add on the left": lambda m, x, y: m.add(y, x),
    "sin": lambda m, x, y: m.sin(y),
    "out": lambda m, x, y: m.add(x, 1, out=y),
    "out by place": lambda m, x, y: m.add(x, 1, y),
    "one of two outputs": lambda m, x, y: m.divmod(x, 2, out=(None, y)),
    "two outputs": lambda m, x, y: m.divmod(x, y),
    "where": lambda m, x, y: m.add(x, 1, where=y),
    "power": lambda m, x, y: m.power(x, y),
    "matmul": lambda m, x, y: m.matmul(x, y),
    "vecdot": lambda m, x, y: m.vecdot(x, y),
    "matmul's out": lambda m, x, y: m.matmul(x, x, out=y),
    "outer": lambda m, x, y: m.add.outer(x, y),
    "at": lambda m, x, y: m.add.at(x, [0], y),
    "at it": lambda m, x, y: m.add.at(y, [0], 1),
}


def both(call: Callable[[Any, Any, Any], Any], kind: str, shape: tuple[int, ...] = (3,)) -> list[Any]:
    """What NumPy and numloom say, or the class of what they raise."""
    found = []
    for library in (np, nl):
        try:
            result = call(library, library.ones(shape), KINDS[kind]())
        except Exception as error:
            found.append(TypeError if isinstance(error, TypeError) else type(error))
        else:
            found.append(result.tolist() if hasattr(result, "tolist") else result)
    return found


@pytest.mark.parametrize("shape", [(3,), ()])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", OPERATORS)
def test_operators_ask_as_numpys(name: str, kind: str, shape: tuple[int, ...]) -> None:
    function = getattr(operator, name)
    theirs, ours = both(lambda m, x, y: function(x, y), kind, shape)
    assert ours == theirs
    if not name.startswith("i"):
        theirs, ours = both(lambda m, x, y: function(y, x), kind, shape)
        assert ours == theirs


@pytest.mark.parametrize("kind", ["answers", "a list that answers", "declines", "silent"])
@pytest.mark.parametrize("name", CALLS)
def test_calls_ask_as_numpys(name: str, kind: str) -> None:
    theirs, ours = both(CALLS[name], kind)
    assert ours == theirs


@pytest.mark.parametrize("name", ["reduce", "accumulate", "reduceat"])
def test_methods_of_ufuncs_ask(name: str) -> None:
    more = ([0],) if name == "reduceat" else ()
    for function in (nl.add, nl.power):
        found = getattr(function, name)(Answers(), *more)
        assert found.startswith(f"{function.__name__}.{name} of {1 + len(more)}")


def test_the_protocol_is_given_a_function_and_a_method() -> None:
    for given in ((None, None), ([], "__call__"), (np.add, None)):
        with pytest.raises(TypeError, match="a function and the name of a method"):
            nl.ones(3).__array_ufunc__(*given)
    with pytest.raises(TypeError):
        np.ones(3).__array_ufunc__(None, None)  # type: ignore[arg-type]
