"""Read-only arrays stay what they are, whatever would write to them, and the error is NumPy's."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl

Write = Callable[[Any, Any], Any]

WRITERS: dict[str, Write] = {
    "add": lambda xp, ro: xp.add(ro, 1, out=ro),
    "sum": lambda xp, ro: xp.sum(xp.ones((2, 2, 2)), 0, out=ro),
    "cumsum": lambda xp, ro: xp.cumsum(ro, 0, out=ro),
    "cumprod": lambda xp, ro: xp.cumprod(ro + 1, 0, out=ro),
    "cumulative_sum": lambda xp, ro: xp.cumulative_sum(ro[:1], axis=0, include_initial=True, out=ro),
    "accumulate": lambda xp, ro: xp.add.accumulate(ro, out=ro),
    "nancumsum": lambda xp, ro: xp.nancumsum(ro, 0, out=ro),
    "matmul": lambda xp, ro: xp.matmul(ro, ro * 2, out=ro),
    "dot": lambda xp, ro: xp.dot(ro, ro * 2, out=ro),
    "outer": lambda xp, ro: xp.outer(xp.arange(2.0), xp.ones(2), out=ro),
    "einsum": lambda xp, ro: xp.einsum("ij,jk", ro, ro, out=ro),
    "take": lambda xp, ro: xp.take(ro, xp.asarray([1, 0]), 0, out=ro),
    "choose": lambda xp, ro: xp.choose(xp.zeros((2, 2), int), [ro * 2], out=ro),
    "compress": lambda xp, ro: xp.compress([1, 1], ro * 4, 0, out=ro),
    "clip": lambda xp, ro: xp.clip(ro, 2, 3, out=ro),
    "round": lambda xp, ro: xp.round(ro * 2, out=ro),
    "concatenate": lambda xp, ro: xp.concatenate([ro[:1], ro[:1] + 1], out=ro),
    "stack": lambda xp, ro: xp.stack([ro[0], ro[1] + 1], out=ro),
    "median": lambda xp, ro: xp.median(xp.ones((2, 2, 2)) * 4, 0, out=ro),
    "quantile": lambda xp, ro: xp.quantile(xp.ones((2, 2, 2)) * 4, 0.5, 0, out=ro),
    "var": lambda xp, ro: xp.var(xp.ones((2, 2, 2)), 0, out=ro),
    "nanmax": lambda xp, ro: xp.nanmax(xp.ones((2, 2, 2)) * 3, 0, out=ro),
    "fft": lambda xp, ro: xp.fft.fft(ro, out=ro),
    "copyto": lambda xp, ro: xp.copyto(ro, 2),
    "put": lambda xp, ro: xp.put(ro, [0], 9),
    "place": lambda xp, ro: xp.place(ro, ro > 0, 9),
    "putmask": lambda xp, ro: xp.putmask(ro, ro > 0, 9),
    "fill_diagonal": lambda xp, ro: xp.fill_diagonal(ro, 9),
    "put_along_axis": lambda xp, ro: xp.put_along_axis(ro, xp.zeros((1, 2), int), 9, 0),
    "at": lambda xp, ro: xp.add.at(ro, 0, 1),
    "random": lambda xp, ro: xp.random.default_rng(1).random(out=ro),
    "normal": lambda xp, ro: xp.random.default_rng(1).standard_normal(out=ro),
    "exponential": lambda xp, ro: xp.random.default_rng(1).standard_exponential(out=ro),
    "gamma": lambda xp, ro: xp.random.default_rng(1).standard_gamma(2.0, out=ro),
    "permuted": lambda xp, ro: xp.random.default_rng(1).permuted(xp.arange(4.0).reshape(2, 2), out=ro),
    "shuffle": lambda xp, ro: xp.random.default_rng(1).shuffle(ro),
    "sort": lambda xp, ro: ro.sort(),
    "partition": lambda xp, ro: ro.partition(1),
    "fill": lambda xp, ro: ro.fill(2),
    "byteswap": lambda xp, ro: ro.byteswap(inplace=True),
    "setfield": lambda xp, ro: ro.setfield(1, "i4"),
    "[...] =": lambda xp, ro: operator.setitem(ro, ..., 3),
    "[i, j] =": lambda xp, ro: operator.setitem(ro, (0, 1), 3),
    "[mask] =": lambda xp, ro: operator.setitem(ro, ro > 0, 3),
    "+=": lambda xp, ro: operator.iadd(ro, 1),
    "**=": lambda xp, ro: operator.ipow(ro, 2),
    "@=": lambda xp, ro: operator.imatmul(ro, ro + 1),
    "real": lambda xp, ro: setattr(ro, "real", 5),
    "flat": lambda xp, ro: operator.setitem(ro.flat, slice(None), 5),
}  # fmt: skip


def refusal(xp: Any, write: Write) -> tuple[type | None, Any]:
    """The class of the error, and what the array is afterwards."""
    ro = xp.arange(1.0, 5.0).reshape(2, 2)
    ro.flags.writeable = False
    try:
        write(xp, ro)
    except Exception as error:
        return type(error), ro.tolist()
    return None, ro.tolist()


@pytest.mark.parametrize("name", WRITERS)
def test_read_only(name: str) -> None:
    got, want = refusal(nl, WRITERS[name]), refusal(np, WRITERS[name])
    assert got == want and want[0] is not None and want[1] == [[1.0, 2.0], [3.0, 4.0]]
