"""``r_``, ``c_``, ``ndenumerate``, ``broadcast``, ``nditer`` and NumPy's own names against NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import matches_numpy

BRACKETS = """
xp.r_[1, 2, 3]
xp.r_[a, 0, 0, b]
xp.r_[1:5]
xp.r_[1:5:2, 3, a]
xp.r_[0:1:5j]
xp.r_[:3, 2.5]
xp.r_[0:3.5:0.5]
xp.r_[a, True]
xp.r_[a.astype("f4"), 1.5]
xp.r_[a.astype("i1"), 1]
xp.r_[a.astype("i1"), 1000]
xp.r_[xp.float32(1), a.astype("f4")]
xp.r_["0", m, m]
xp.r_["-1", m, m]
xp.r_["1", m, m]
xp.r_["0,2", a, b]
xp.r_["0,2,0", a, b]
xp.r_["1,2,0", a, b]
xp.r_["0,3,1", a, m]
xp.r_["0,3,0", m, m]
xp.r_["nonsense", a]
xp.r_["1,x", a]
xp.r_[a, "0"]
xp.r_[m, a]
xp.r_[[1, 2], (3.5, 4)]
xp.r_[()]
xp.r_[1j]
xp.c_[a, b]
xp.c_[a]
xp.c_[m, m]
xp.c_[xp.asarray([[1, 2, 3]]), 0, 0, xp.asarray([[4, 5, 6]])]
xp.c_[1:4, a]
xp.c_[a, m]
xp.c_["0", a, b]
len(xp.r_)
xp.mgrid[0:3, 0:2]
xp.mgrid[0:1:3j, 2:4]
xp.mgrid[1:4]
xp.ogrid[0:3, 0:1:4j][1]
xp.s_[1:2, None]
xp.index_exp[1:2]
xp.broadcast(m, a).shape
xp.broadcast(a, 1, m).ndim
xp.broadcast(a, m).size
xp.broadcast(a, m).nd
xp.broadcast(a, m).numiter
xp.broadcast().shape
xp.broadcast(a, xp.ones(2))
[tuple(map(float, pair)) for pair in xp.broadcast(a, m)]
[len(i) for i in xp.broadcast(a, m).iters]
xp.broadcast(xp.broadcast(a, m), 1).numiter
[(place, float(x)) for place, x in xp.ndenumerate(m.T)]
[(place, float(x)) for place, x in xp.ndenumerate(3)]
list(xp.ndindex(2, 2))
[float(x) for x in xp.nditer(m)]
[float(x) for x in xp.nditer(m.T)]
[float(x) for x in xp.nditer(m.T, order="C")]
[x.tolist() for x in xp.nditer(m, flags=["external_loop"])]
[tuple(map(float, pair)) for pair in xp.nditer([a, m])]
xp.nditer([a, xp.ones(2)])
xp.nditer(m, flags=["nonsense"])
xp.nditer(m[:0])
len(xp.nditer(m))
xp.nditer(m, flags=["multi_index"]).multi_index
xp.nditer(m).finished
[[float(x) for x in inner] for outer, inner in [xp.nested_iters(m, [[0], [1]])] for _ in outer]
bool(xp.True_), bool(xp.False_), xp.little_endian, xp.newaxis, xp.pi, xp.e, xp.euler_gamma, xp.inf
xp.finfo("f4").eps, xp.iinfo("i2").max
"""


@pytest.mark.parametrize("text", [text for text in BRACKETS.split("\n") if text])
def test_as_numpy(text: str) -> None:
    def body(xp: Any) -> Any:
        arrays = {"a": [1, 2, 3], "b": [4, 5, 6], "m": [[0.5, 1, 1.5], [2, 2.5, 3]]}
        return eval(text, {"xp": xp, **{name: xp.asarray(values) for name, values in arrays.items()}})

    matches_numpy(body)()


def test_matrices_are_refused() -> None:
    for text in "rc":
        with pytest.raises(TypeError, match="no matrices"):
            nl.r_[text, nl.arange(3)]


def test_broadcast_counts_and_starts_again() -> None:
    pair = nl.broadcast(nl.arange(2), nl.arange(4).reshape(2, 2))
    assert pair.index == 0
    next(pair)
    assert pair.index == 1
    pair.reset()
    assert len(list(pair)) == 4


def test_what_nditer_writes_comes_back() -> None:
    outcomes = []
    for xp in (nl, np):
        x = xp.arange(6).reshape(2, 3).T
        for item in xp.nditer(x, op_flags=["readwrite"]):
            item[...] = 2 * item
        y, total = xp.arange(3.0), xp.zeros(())
        with xp.nditer([y, total], ["reduce_ok"], [["readonly"], ["readwrite"]]) as it:
            for part, whole in it:
                whole[...] += part
        with xp.nditer([y, None]) as made:
            for part, new in made:
                new[...] = part * part
            squares = made.operands[1]
        z = xp.arange(4, dtype="f4")
        buffered = xp.nditer(z, ["buffered"], [["readwrite"]], op_dtypes=["f8"], casting="same_kind")
        with buffered:
            for item in buffered:
                item[...] += 1
        step = xp.nditer(z, ["c_index"], [["readwrite"]])
        step[0] = 9
        while step.iternext():
            pass
        step.reset()
        step.index = 2
        again = step.copy()
        outcomes.append([v.tolist() for v in (x, total, squares, z, step.value, again[0])] + [step.index])
        assert type(squares) is xp.ndarray
    assert outcomes[0] == outcomes[1]


def test_names_that_are_numpys_own() -> None:
    for name in ("float32", "generic", "number", "integer", "inexact", "str_", "void", "datetime64", "longdouble",
                 "errstate", "seterr", "geterr", "seterrcall", "geterrcall", "setbufsize", "getbufsize", "ScalarType",
                 "typecodes", "set_printoptions", "get_printoptions", "printoptions", "ndindex"):  # fmt: skip
        assert getattr(nl, name) is getattr(np, name)
    with pytest.raises(TypeError):
        nl.zeros(3, nl.str_)
