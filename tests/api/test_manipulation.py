"""Shapes, joins, splits, repeats and orders against NumPy; views share memory where NumPy's do."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry
from numloom.testing import assert_array_equal, matches_numpy

CASES = """
xp.reshape(m, (5, 4))
xp.reshape(m, (2, -1), order="F")
xp.reshape(t, (6, 4), copy=True)
xp.reshape(m, (3, 3))
xp.ravel(t)
xp.ravel(t, "F")
xp.transpose(t)
xp.transpose(t, (1, 0, 2))
xp.transpose(t, (1, 0))
xp.permute_dims(t, (2, 0, 1))
xp.matrix_transpose(t)
xp.matrix_transpose(v)
xp.swapaxes(t, 0, -1)
xp.swapaxes(t, 0, 5)
xp.moveaxis(t, 0, -1)
xp.moveaxis(t, (0, 1), (-1, 0))
xp.moveaxis(t, (0, 0), (1, 2))
xp.rollaxis(t, 2)
xp.rollaxis(t, 0, 3)
xp.rollaxis(t, 1, 7)
xp.expand_dims(m, 0)
xp.expand_dims(m, (0, -1))
xp.expand_dims(m, (0, 0))
xp.squeeze(m[None, :, :, None])
xp.squeeze(m[None, :, :, None], 0)
xp.squeeze(m, 0)
xp.atleast_1d(3, v)
xp.atleast_2d(v)
xp.atleast_3d(2.0, v, m, t)
xp.broadcast_to(v, (3, 5))
xp.broadcast_to(v, (3, 4))
xp.broadcast_to(m, (5,))
xp.broadcast_to(2.0, 3)
xp.broadcast_arrays(v, m)
xp.broadcast_arrays(v, t)
xp.concatenate((m, m))
xp.concatenate((m, m.T.copy().T, m), 1)
xp.concatenate((m, i), -1)
xp.concatenate((m, v), None)
xp.concatenate((m, v))
xp.concatenate((m, t[0]))
xp.concatenate(())
xp.concatenate((m, i), dtype="f4")
xp.concatenate((m, i), dtype="i4")
xp.concatenate((m, i), dtype="i4", casting="unsafe")
xp.concatenate((m[:0], m))
xp.concatenate((xp.asarray(1), xp.asarray(2)))
xp.concat((i, i), axis=0)
xp.stack((v, v + 1))
xp.stack((v, v), -1)
xp.stack((v, v), 2)
xp.stack((v, m))
xp.vstack((v, m))
xp.hstack((v, v))
xp.hstack((m, m))
xp.dstack((v, v))
xp.column_stack((v, v, xp.ones((5, 2))))
xp.block([[m, m], [i, m]])
xp.block([v, v])
xp.block([[1, 2], [3]])
xp.array_split(v, 3)
xp.array_split(m, 3, 1)
xp.split(m, 2)
xp.split(v, 2)
xp.split(m, [1, 3], axis=1)
xp.split(m, [3, 9], axis=1)
xp.hsplit(v, [2])
xp.vsplit(t, 2)
xp.dsplit(t, [1])
xp.vsplit(v, 1)
xp.unstack(m)
xp.unstack(t, axis=2)
xp.tile(v, 3)
xp.tile(m, (2, 1, 3))
xp.tile(m, 0)
xp.repeat(m, 2)
xp.repeat(m, 3, axis=1)
xp.repeat(m, [1, 0, 2, 3], axis=0)
xp.repeat(m, [1, 2], axis=0)
xp.repeat(m, -1)
m.repeat(2, 0)
xp.flip(t)
xp.flip(t, (0, 2))
xp.fliplr(m)
xp.flipud(v)
xp.fliplr(v)
xp.rot90(m)
xp.rot90(m, 2)
xp.rot90(m, -1)
xp.rot90(t, 1, (1, 2))
xp.rot90(t, 1, (1, 1))
xp.roll(v, 2)
xp.roll(m, 3)
xp.roll(m, -1, 0)
xp.roll(m, (1, 2), (0, 1))
xp.roll(t, (1, -2), (0, 2))
xp.roll(m, 1, (0, 1))
xp.roll(m, (1, 2), 0)
xp.roll(m[:0], 1, 0)
xp.roll(m, 0)
xp.append(m, m, 0)
xp.append(m, 7)
xp.delete(v, 1)
xp.delete(v, -1)
xp.delete(v, 9)
xp.delete(m, [0, 2, 2], 1)
xp.delete(m, slice(None, None, 2), 1)
xp.delete(m, np.array([True, False, True, False]), 0)
xp.delete(m, 3)
xp.insert(v, 1, 9)
xp.insert(v, [1, 3], [7, 8])
xp.insert(v, [1, 1, 4], 9)
xp.insert(v, slice(1, 4), 5)
xp.insert(m, 1, 9, axis=1)
xp.insert(m, 1, [1, 2, 3, 4], axis=1)
xp.insert(m, [1], [[1], [2], [3], [4]], axis=1)
xp.insert(m, [0, 2], [[1, 2]], axis=1)
xp.insert(m, -1, 3)
xp.insert(i, 1, 2.7)
xp.insert(v, 9, 1)
xp.resize(v, (3, 4))
xp.resize(m, 7)
xp.resize(v[:0], (2,))
xp.trim_zeros(xp.asarray([0, 0, 1, 2, 0, 3, 0]))
xp.trim_zeros(xp.asarray([0, 0, 1, 2, 0, 3, 0]), "f")
xp.trim_zeros(xp.asarray([0, 0]), "b")
xp.pad(v, 2)
xp.pad(m, ((1, 2), (3, 0)), constant_values=4)
xp.pad(m, 2, constant_values=((1, 2), (3, 4)))
xp.pad(i, 1, constant_values=2.9)
xp.pad(m, {0: 1, 1: (2, 0)}) if hasattr(xp, "pad") else None
xp.pad(m, ((5, 9), (6, 14)), "reflect")
xp.pad(m, ((5, 9), (6, 14)), "symmetric")
xp.pad(m, ((5, 9), (6, 14)), "reflect", reflect_type="odd")
xp.pad(i, ((5, 9), (6, 14)), "symmetric", reflect_type="odd")
xp.pad(m, ((5, 9), (6, 14)), "wrap")
xp.pad(m, ((1, 2), (0, 3)), "edge")
xp.pad(m, 2, "maximum")
xp.pad(m, 2, "minimum", stat_length=2)
xp.pad(m, 2, "mean")
xp.pad(i, 2, "mean", stat_length=3)
xp.pad(i, 2, "median")
xp.pad(m, 3, "linear_ramp", end_values=(2, -4))
xp.pad(i, 3, "linear_ramp", end_values=20)
xp.pad(v, 2, "nonsense")
xp.pad(v, -1)
xp.pad(v, 1.5)
xp.pad(v, 1, "edge", constant_values=3)
xp.pad(v[:0], 1, "edge")
xp.pad(v[:0], 1)
""".strip().splitlines()


def arrays(xp: Any) -> dict[str, Any]:
    return {
        "xp": xp,
        "np": np,
        "v": xp.asarray(np.arange(5) * 1.5 - 2),
        "m": xp.asarray(np.arange(20.0).reshape(4, 5) ** 2 % 17),
        "i": xp.asarray((np.arange(20).reshape(4, 5) * 7 % 13).astype(np.int32)),
        "t": xp.asarray(np.arange(24.0).reshape(2, 3, 4)),
    }


@pytest.mark.parametrize("expression", CASES)
@matches_numpy(rtol=1e-14)
def test_matches(xp: Any, expression: str) -> Any:
    return eval(expression, arrays(xp))


@pytest.mark.parametrize(
    "expression",
    [
        "xp.reshape(m, (5, 4))", "xp.ravel(m)", "xp.transpose(t)", "xp.swapaxes(t, 0, 1)", "xp.moveaxis(t, 0, 2)",
        "xp.expand_dims(m, 1)", "xp.squeeze(m[None])", "xp.atleast_3d(m)", "xp.flip(m)", "xp.rot90(m)",
        "xp.split(m, 2)[1]", "xp.unstack(m)[1]", "xp.matrix_transpose(m)", "xp.array_split(m, 3, 1)[2]",
    ],
)  # fmt: skip
@matches_numpy
def test_views(xp: Any, expression: str) -> Any:
    names = arrays(xp)
    view = eval(expression, names)
    view[...] = -1
    whole = names["t"] if "(t" in expression else names["m"]
    return whole, xp.may_share_memory(view, whole), xp.shares_memory(view, whole)


@matches_numpy
def test_shares_memory(xp: Any) -> Any:
    x = xp.asarray(np.arange(24.0).reshape(4, 6))
    pairs = [(x[:2], x[2:]), (x[:, ::2], x[:, 1::2]), (x[:, :3], x[:, 2:]), (x, x.T), (x, x.copy()), (x[1], x[:, 1])]
    return [(xp.may_share_memory(a, b), xp.shares_memory(a, b)) for a, b in pairs]


def test_memory_shared_with_numpy() -> None:
    host = np.arange(6.0)
    x = nl.from_dlpack(host)
    shared = not registry.current().discrete
    for a, b in [(x, host), (host, x[3:]), (x[::2], host), (nl.from_dlpack(host), x)]:
        assert nl.may_share_memory(a, b) is nl.shares_memory(a, b) is shared
    assert nl.may_share_memory(x[::2], host[1::2]) is shared
    assert not nl.shares_memory(x[::2], host[1::2])
    assert not nl.may_share_memory(x[3:], host[:3])
    assert not nl.may_share_memory(nl.arange(6.0), host)
    assert nl.shares_memory(host, host[1:])


@pytest.mark.parametrize("expression", ["xp.broadcast_to(v, (2, 5))", "xp.broadcast_to(v, (2, 5))[0]"])
@matches_numpy
def test_broadcast_is_read_only(xp: Any, expression: str) -> Any:
    view = eval(expression, arrays(xp))
    view[0] = 1


@matches_numpy
def test_out(xp: Any) -> Any:
    names = arrays(xp)
    out = xp.zeros((8, 5), np.float32)
    same = xp.concatenate((names["m"], names["m"]), out=out)
    stacked = xp.zeros((2, 5))
    xp.stack((names["v"], names["v"]), out=stacked)
    return out, same is out, stacked


def test_scalars_do_not_share() -> None:
    total = nl.asarray(np.arange(3.0)).sum()
    view = nl.reshape(total, (1,))
    view[0] = 9
    assert float(total) == 3


def test_roll_reads_what_was_there() -> None:
    x = nl.asarray(np.arange(6.0))
    rolled = nl.roll(x, 1)
    x[...] = 0
    assert_array_equal(rolled, np.roll(np.arange(6.0), 1), strict=True)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("shift", "axis"), [(1, 0), (-2, 1), (7, -1), (0, 0), (5, None), ((1, -1), (0, 1))])
def test_roll_asks_nothing_of_its_indices(shift: Any, axis: Any, order: str) -> None:
    """One kernel with what it is used in, and no check of indices that cannot be out of range."""
    host = np.asarray(np.arange(12.0).reshape(3, 4), order=order)
    x = nl.asarray(host)
    value = nl.roll(x, shift, axis) * 2 + x
    assert "nl::checked(" not in str(value.explain()).partition("struct P")[2]
    assert_array_equal(value, np.roll(host, shift, axis) * 2 + host, strict=True)
