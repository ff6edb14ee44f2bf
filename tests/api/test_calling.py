"""Plain calls of ufuncs: with outputs, several results, other operands; all as NumPy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import matches_numpy

CALLS = """
xp.add(a, b, out=o), o
xp.add(a, b, o), o
xp.add(a, b, out=(o,)), o
xp.sqrt(a, out=o), o
xp.sqrt(a, o), o
xp.add(a, 1, out=o), xp.subtract(2.5, a, out=o), o
xp.add(a, b, out=f), f
xp.add(a, b, out=i)
xp.add(a, b, out=i, casting="unsafe"), i
xp.add(i, i, out=o), o
xp.add(a, b, out=o[::-1]), o
xp.add(a, a[:1], out=o), o
xp.add(a, b, out=o[:2])
xp.add(a, b, out=xp.zeros((2, 4)))
xp.add(a, b, out=r)
xp.sqrt(a, out=r)
xp.add(a, b, out=None)
xp.add(a, b, out=(None,))
xp.add(a, b, where=a > 1, out=o), o
xp.add(a, b, dtype="f4")
xp.add(a, b, order="F")
xp.add(a, b, signature="dd->d")
xp.add(a, b, sig="dd->d")
xp.add(a, b, subok=False)
xp.add(a, b, nothing=1)
xp.add(a)
xp.add(a, b, o, o)
xp.add(a, b, o, out=o)
xp.add(1, 2), xp.add([1, 2], (3, 4)), xp.add(np.arange(4), a), xp.exp([0.0, 1]), xp.exp(2), xp.sqrt(np.arange(3.0))
xp.add(a, "x")
xp.less(u, 300), xp.less(-1, u), xp.add(u, 3), xp.maximum(a, 0)
xp.add(u, 300)
xp.less(u, 300, out=t), t
xp.divmod(a + 1, b + 1), xp.divmod(i, 2), xp.divmod(7, i + 1), xp.divmod([7, 8], 3)
xp.modf(a / 3), xp.modf(i), xp.frexp(a), xp.frexp(a.astype("f4"))
xp.divmod(a, b + 1, out=(o, f)), o, f
xp.modf(a / 3, o, f), o, f
xp.modf(a, out=o)
xp.divmod(a, "x")
xp.add(x=a)
""".strip().splitlines()


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.filterwarnings("ignore")
@matches_numpy(rtol=1e-6)
def test_calls(xp: Any, call: str) -> Any:
    names = {
        "a": xp.asarray([0.0, 1, 2, 3]), "b": xp.asarray([3.0, 1, 0, 2]), "o": xp.zeros(4), "f": xp.zeros(4, "f4"),
        "i": xp.arange(4, dtype="i4"), "u": xp.arange(3, dtype="u1"), "t": xp.zeros(3, "?"), "r": xp.zeros(4),
        "xp": xp, "np": np,
    }  # fmt: skip
    names["r"].flags.writeable = False
    return eval(call, names)


def test_an_output_that_is_read() -> None:
    x = nl.arange(4.0)
    y = x + 1
    assert nl.add(x, y, out=x) is x
    assert (x.tolist(), y.tolist()) == ([1, 3, 5, 7], [1, 2, 3, 4])
    nl.sqrt(y[1:], out=y[:-1])
    assert y.tolist() == [*np.sqrt([2.0, 3, 4]), 4]


def test_members_come_and_go() -> None:
    from numloom.array.ndarray import bind

    x = nl.arange(3)
    assert {"sum", "ctypes", "argmax", "item"} <= set(dir(x)) and not hasattr(x, "twice")
    before = bind(method_twice=lambda array: array * 2, method_thrice=property(lambda array: array * 3))
    assert before == {"method_twice": None, "method_thrice": None}
    assert (x.twice().tolist(), x.thrice.tolist()) == ([0, 2, 4], [0, 3, 6])
    bind(**before)
    assert not hasattr(x, "twice") and not hasattr(nl.ndarray, "thrice")


PARTS: list[Any] = [
    lambda x: x[1:3], lambda x: x[4:6], lambda x: x, lambda x: x[::2], lambda x: x[5:3:-1], lambda x: x[:, :3],
]  # fmt: skip


@pytest.mark.parametrize("write", [
    lambda xp, x: xp.put(x, [0, 2], [7, 8]), lambda xp, x: x.sort(axis=0), lambda xp, x: xp.fill_diagonal(x, 9),
    lambda xp, x: xp.putmask(x, x > 20, -1), lambda xp, x: x.__setitem__(np.array([1, 0]), x[0] * 2),
    lambda xp, x: xp.add.at(x, np.array([0, 0]), 5),
])  # fmt: skip
def test_writes_to_parts_go_where_the_part_lies(write: Any) -> None:
    """Parts of one dtype and shape that begin elsewhere, one after the other and again: what is known is of each."""
    for dtype in ("f8", "i4"):
        for part in PARTS * 3:
            host = np.arange(48)[::-1].reshape(8, 6).astype(dtype)
            mine = nl.asarray(host.copy())
            write(np, part(host))
            write(nl, part(mine))
            np.testing.assert_array_equal(mine.get(), host)


@pytest.mark.parametrize("name", ["outer", "kron", "matmul", "dot", "inner", "vdot"])
def test_products_keep_the_order_of_their_operands(name: str) -> None:
    """Whichever of the two is an array of ours, and in each call again."""
    first, second = np.array([[1.0, 2.0, -3.0], [0.5, 4.0, 5.0], [7.0, -1.0, 2.0]]), np.arange(9.0).reshape(3, 3) - 2
    left = first + 1j if name == "vdot" else first
    for _ in range(4):
        for one, other in ((left, second), (left[1], second[0])):
            expected = getattr(np, name)(one, other)
            for a in (nl.asarray(one), one.tolist()):
                for b in (nl.asarray(other), other.tolist()):
                    np.testing.assert_allclose(nl.asnumpy(getattr(nl, name)(a, b)), expected, rtol=1e-15)
