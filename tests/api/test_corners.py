"""Corners of the API, one statement a line, against NumPy: values, dtypes, shapes, order in memory, kinds of errors."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing.compare import host

STATEMENTS = """
x=xp.array([2, 3]); x **= xp.array([-1, 2]); x
o=xp.zeros((), "i1"); xp.maximum.reduce(xp.array([300, 5]), out=o); o
o=xp.zeros((), "i1"); xp.fmax.reduce(xp.array([300, 5]), out=o); o
xp.einsum("iji->ij", xp.ones((2, 3, 2), "i4"), dtype="f8")
a=xp.arange(4.); xp.put(a, [5], [1]); a
a=xp.arange(4.); a.put([-5], [1]); a
xp.reshape(xp.arange(6), (2, 3), order="f")
xp.reshape(xp.arange(6), (2, 3), order=None)
xp.array([[1, 2], [3, 4]], order="f")
xp.array([[1, 2], [3, 4]], order=None)
xp.zeros((2, 3), order="f")
xp.zeros((2, 3), order=None)
xp.ones((2, 3), order="f")
xp.full((2, 3), 1, order="f")
xp.arange(6).reshape(2, 3).copy(order="f")
xp.arange(6).reshape(2, 3).copy(order=None)
xp.ravel(xp.arange(6).reshape(2, 3), order="f")
xp.arange(6).reshape(2, 3).flatten(order="f")
xp.arange(6).reshape(2, 3).astype("f4", order="f")
xp.add(xp.ones((2, 3)), 1, order="f")
xp.add(xp.ones((2, 3)), 1, order=None)
xp.asarray(np.ones((2, 3)), order="f")
xp.zeros_like(xp.ones((2, 3)), order="f")
xp.einsum("ij->ij", xp.ones((2, 3)), order="f")
o=xp.zeros((3, 2)); xp.dot(xp.ones((2, 3)), xp.ones((3, 3)), out=o.T)
o=xp.zeros((3, 3)); xp.dot(xp.ones((3, 3)), xp.ones((3, 3)), out=o.T)
xp.corrcoef(xp.array([[1, 2, 3], [3, 2, 1]]), dtype="i4")
xp.corrcoef(xp.array([[1, 2, 3], [3, 2, 1]]), dtype="f4")
xp.clip(xp.array([-1., 2]), 0., None)
xp.clip(xp.array([-1., 2]), a_max=0)
xp.array([-1., 2]).clip(0)
xp.array([-1., 2]).clip()
xp.clip(xp.array([-1., 2]))
xp.unique(xp.array([[np.nan, 1], [np.nan, 1]]), axis=0)
xp.unique(xp.array([[np.nan, 1], [1, np.nan], [np.nan, 1]]), axis=1, return_inverse=True)
xp.where(xp.array([True, False]), xp.array([1, 2], "u1"), 300)
xp.max(xp.zeros((0,)))
xp.max(xp.zeros((0, 3)), axis=0)
xp.max(xp.zeros((0, 3)), axis=1)
xp.max(xp.zeros((3, 0)), axis=0)
xp.zeros((0, 3)).max(axis=1)
xp.argmax(xp.zeros((0, 3)), axis=0)
xp.argmax(xp.zeros((0, 3)), axis=1)
xp.einsum("ii->i", xp.zeros((1, 3)))
xp.einsum("ii", xp.zeros((0, 3)))
a=xp.zeros((3, 0)); a[...]=xp.zeros((5, 3, 0)); a
a=xp.zeros((3, 0)); a[...]=xp.zeros((4, 0)); a
a=xp.zeros(3); a[3:]=xp.zeros(2); a
a=xp.zeros(3); a[3:]=xp.zeros(0); a
a=xp.zeros(3); a[3:]=xp.zeros((1, 1)); a
a=xp.zeros(3); a[:0]=xp.zeros((2, 0)); a
xp.trim_zeros(xp.array(0.))
xp.trim_zeros(xp.array(3.))
xp.pad(xp.array(3.), ())
xp.pad(xp.array(3.), 0)
xp.tensordot(xp.ones(3), xp.ones(3), 1)
t=xp.tensordot(xp.ones(3), xp.ones(3), 1); u=t; t+=1; (t, u)
t=xp.pad(xp.array(3.), 0); u=t; t+=1; (t, u)
t=xp.trim_zeros(xp.array(3.)); u=t; t+=1; (t, u)
xp.take(xp.arange(10), 10**30)
xp.asfortranarray(xp.arange(12).reshape(3, 4)) > 3
a=xp.asfortranarray(xp.arange(12.).reshape(3, 4)); a[a>3]
xp.isnan(xp.asfortranarray(xp.ones((3, 4))))
xp.round(xp.broadcast_to(xp.arange(3.), (4, 3)), 1)
xp.round(xp.broadcast_to(xp.arange(3.)[:, None], (3, 4)), 1)
xp.median(xp.broadcast_to(xp.arange(3.)[:, None, None], (3, 4, 5)), axis=0)
xp.percentile(xp.broadcast_to(xp.arange(3.)[:, None, None], (3, 4, 5)), 50, axis=0)
xp.argmin(xp.argmax(xp.full((1,), 1, "u8"), keepdims=True), axis=0)
float(xp.array(1+2j))
int(xp.array(1+2j))
int(xp.array([1.5]))
float(xp.array([[1.5]]))
a=xp.zeros(3); xp.copyto(a, 1, where=[]); a
a=xp.zeros(3); xp.copyto(a, 1, where=False); a
a=xp.zeros(3); xp.copyto(a, 1, where=xp.zeros(0, bool)); a
a=xp.zeros((0,)); xp.copyto(a, 1, where=xp.zeros(0, bool)); a
a=xp.zeros((0,)); xp.copyto(a, 1, where=[]); a
xp.var(xp.array(3.), axis=0)
xp.std(xp.array(3.), axis=0)
xp.var(xp.array(3.), axis=-1)
xp.mean(xp.array(3.), axis=0)
xp.std(xp.array(3.), axis=1)
xp.var(xp.array(3.), axis=0, keepdims=True)
xp.array(3.).var(axis=0, ddof=1)
xp.floor_divide(xp.array([np.inf]), 2.)
xp.tanh(xp.array([complex(np.inf, 1)]))
float(xp.array([1+2j])[0])
int(xp.array([1+2j])[0])
int(xp.array([complex(np.nan, 1)])[0])
float(xp.array([1+2j]))
complex(xp.array([1+2j]))
int(xp.array([np.nan])[0])
int(xp.array([np.inf])[0])
round(xp.array([1+2j])[0])
xp.cov(xp.array([[1, 2, 3], [3, 2, 1]]), dtype="i4")
xp.cov(xp.array([[1, 2, 3], [3, 2, 1]]), dtype="i8")
xp.cov(xp.array([[1, 2, 3], [3, 2, 1]]), dtype="?")
xp.where(xp.array([True, False]), 300, xp.array([1, 2], "u1"))
xp.where(xp.array([True, False]), -1, xp.array([1, 2], "u1"))
xp.where(xp.array([True, False]), xp.array([1, 2], "i1"), 2**40)
xp.where(xp.array([True, False]), xp.array([1, 2], "i8"), 2**64)
xp.where(xp.array([True, False]), xp.array([1, 2], "i8"), 2**63)
xp.where(xp.array([True, False]), xp.array([1, 2], "u8"), 2**63)
xp.where(xp.array([True, False]), xp.array([1, 2], "u8"), 2**70)
xp.where(xp.array([True, False]), xp.array([1, 2], "f4"), 1e300)
xp.where(xp.array([True, False]), xp.array([1, 2], "f2"), 100000)
xp.where(xp.array([True, False]), xp.array([1, 2], "f2"), 10**400)
xp.where(xp.array([True, False]), xp.array([1, 2], "?"), 3)
xp.where(True, 300, xp.array([1, 2], "u1"))
xp.where(xp.array([True, False]), xp.array([1, 2], "u1"), [300])
xp.where(xp.array([True, False]), xp.array([1, 2], "u1"), 300.)
xp.where(xp.array([True, False]), xp.array([1, 2], "u1"), True)
xp.where(xp.array([True, False]), 1, 2**63)
xp.where(xp.array([True, False]), 1, 2.5)
xp.where(xp.array([True, False]), xp.array([1, 2], "u1"), np.int64(300))
xp.take(xp.arange(10), 2**63)
xp.repeat(xp.ones(4), -1)
xp.array(300, "u1")
xp.array([300], "u1")
xp.array([-1], "u1")
xp.full(2, 300, "u1")
xp.full(2, -1, "u8")
a=xp.zeros(2, "u1"); a[0]=300; a
a=xp.zeros(2, "u1"); a[:]=300; a
a=xp.zeros(2, "u1"); a[:]=[300, 1]; a
a=xp.zeros(2, "u1"); a[:]=np.array([300, 1]); a
a=xp.zeros(2, "u1"); a[:]=np.int64(300); a
a=xp.zeros(2, "u1"); a.fill(300); a
a=xp.zeros(2, "u1"); a+=300; a
a=xp.zeros(2, "u1"); a+300
a=xp.zeros(2, "u1"); a<300
a=xp.zeros(2, "u1"); a==-1
a=xp.zeros(2, "u1"); xp.maximum(a, 300)
a=xp.zeros(2, "u1"); xp.clip(a, -1, 300)
a=xp.zeros(2, "u1"); xp.clip(a, -1, None)
a=xp.zeros(2, "u1"); xp.clip(a, 300, None)
a=xp.zeros(2, "u1"); xp.clip(a, 0, -1)
a=xp.zeros(2, "u1"); xp.put(a, [0], 300); a
a=xp.zeros(2, "u1"); xp.copyto(a, 300); a
a=xp.zeros(2, "u1"); xp.searchsorted(a, 300)
a=xp.zeros(2, "u1"); xp.isin(a, 300)
a=xp.zeros(2, "u1"); xp.insert(a, 0, 300)
a=xp.zeros(2, "u1"); xp.append(a, 300)
a=xp.zeros(2, "u1"); xp.pad(a, 1, constant_values=300)
a=xp.zeros((2, 2), "u1"); xp.fill_diagonal(a, 300); a
a=xp.zeros(2, "u1"); xp.bitwise_and(a, -1)
a=xp.zeros(2, "u1"); xp.add.reduce(a, initial=300)
a=xp.zeros(2, "u1"); xp.full_like(a, 300)
a=xp.zeros(2, "u1"); xp.choose([0, 1], [a, 300])
a=xp.zeros(2, "u1"); xp.nan_to_num(a, nan=300)
a=xp.zeros(2, "f4"); a+10**40
a=xp.zeros(2, "f4"); a+10**400
a=xp.zeros(2, "f2"); a*70000
a=xp.zeros(2, "f2"); a[0]=70000; a
a=xp.zeros(2, "f2"); a[0]=10**400; a
a=xp.arange(5.); xp.put(a, 5, 1); a
a=xp.arange(5.); xp.put(a, [0, -6], 1); a
a=xp.arange(5.); xp.put(a, xp.array([0, 5]), 1); a
a=xp.arange(5.); a.put([7], 1); a
a=xp.arange(5.); xp.put(a, [7], 1, mode="clip"); a
a=xp.arange(5.); xp.put(a, [7, -8], [1, 2], mode="wrap"); a
a=xp.zeros(0); xp.put(a, [0], 1); a
a=xp.zeros(0); xp.put(a, [], 1); a
a=xp.zeros(3); xp.put(a, [0], []); a
a=xp.zeros((3, 0)); a[...]=xp.zeros((1, 3, 0)); a
a=xp.zeros((3, 0)); a[...]=xp.zeros((3, 1)); a
a=xp.zeros((3, 0)); a[...]=xp.zeros((3, 2)); a
a=xp.zeros((3, 0)); a[...]=xp.zeros((2, 0)); a
a=xp.zeros((3, 0)); a[...]=[]; a
a=xp.zeros((3, 0)); a[...]=[1]; a
a=xp.zeros((3, 0)); a[...]=[1, 2]; a
a=xp.zeros(0); a[:]=xp.zeros(2); a
a=xp.zeros(0); a[...]=xp.zeros((2, 1)); a
a=xp.zeros(0); a[...]=xp.zeros((2, 0)); a
a=xp.zeros(0); a[[]]=xp.zeros(2); a
a=xp.zeros(0); a[[]]=xp.zeros(1); a
a=xp.zeros(3); a[[]]=xp.zeros(2); a
a=xp.zeros(3); a[[]]=xp.zeros((1, 0)); a
a=xp.zeros(3); a[xp.zeros(3, bool)]=xp.zeros(2); a
a=xp.zeros(3); a[xp.zeros(3, bool)]=xp.zeros(0); a
a=xp.zeros(3); a[xp.zeros(3, bool)]=xp.zeros((2, 0)); a
a=xp.zeros((3, 2)); a[xp.zeros(3, bool)]=xp.zeros((2, 2)); a
a=xp.zeros((3, 2)); a[xp.zeros(3, bool)]=xp.zeros((0, 2)); a
a=xp.zeros((3, 2)); a[0:0]=xp.zeros((0, 2)); a
a=xp.zeros((3, 2)); a[0:0]=xp.zeros((2, 2)); a
a=xp.zeros((3, 2)); a[0:0]=xp.zeros((1, 2)); a
a=xp.zeros((3, 2)); a[0:0]=xp.zeros((1, 3)); a
a=xp.zeros((3, 2)); a[0:0]+=xp.zeros((1, 3)); a
a=xp.zeros((3, 2)); a[0:0]+=xp.zeros((3, 2)); a
a=xp.zeros((0, 2)); a+=xp.zeros((3, 2)); a
a=xp.zeros((0, 2)); a+=xp.zeros((1, 2)); a
a=xp.zeros((0, 2)); xp.copyto(a, xp.zeros((3, 2))); a
a=xp.zeros((0, 2)); xp.copyto(a, xp.zeros((2, 0, 2))); a
a=xp.zeros((0, 2)); xp.add(a, 1, out=xp.zeros((3, 2)))
a=xp.zeros((0, 2)); xp.add(xp.zeros((3, 2)), 1, out=a)
a=xp.zeros((0, 2)); xp.sum(xp.zeros((0, 2)), axis=0, out=xp.zeros(3))
a=xp.zeros(3); xp.copyto(a, 1, where=[True, False]); a
a=xp.zeros(3); xp.copyto(a, 1, where=[[True, False, True]]); a
a=xp.zeros(3); xp.copyto(a, 1, where=xp.zeros((0, 3), bool)); a
a=xp.zeros(3); xp.copyto(a, 1, where=1); a
a=xp.zeros(3); xp.copyto(a, 1, where=[1, 0, 1]); a
a=xp.zeros(3); xp.copyto(a, [1, 2, 3], where=xp.array([1, 0, 1])); a
a=xp.zeros((0, 3)); xp.copyto(a, 1, where=xp.zeros((1, 3), bool)); a
xp.max(xp.zeros((0, 3)), axis=(0, 1))
xp.max(xp.zeros((3, 0)), axis=1)
xp.max(xp.zeros((3, 0)), axis=1, initial=5)
xp.max(xp.zeros((0, 3)), axis=0, keepdims=True)
xp.min(xp.zeros((0, 0)), axis=0)
xp.argmax(xp.zeros((3, 0)), axis=1)
xp.argmax(xp.zeros((3, 0)), axis=0)
xp.ptp(xp.zeros((3, 0)), axis=0)
xp.ptp(xp.zeros((3, 0)), axis=1)
xp.median(xp.zeros((3, 0)), axis=0)
xp.median(xp.zeros((3, 0)), axis=1)
xp.nanmax(xp.zeros((3, 0)), axis=0)
xp.nanmax(xp.zeros((3, 0)), axis=1)
xp.maximum.accumulate(xp.zeros((3, 0)), axis=1)
xp.sort(xp.zeros((3, 0)))
xp.percentile(xp.zeros((3, 0)), 50, axis=1)
xp.percentile(xp.zeros((3, 0)), 50, axis=0)
xp.cumsum(xp.zeros((3, 0)), axis=1)
xp.mean(xp.zeros((3, 0)), axis=1)
xp.mean(xp.zeros((3, 0)), axis=0)
xp.std(xp.array(3.), axis=0, keepdims=True)
xp.var(xp.array(3.), axis=1)
xp.var(xp.array(3.), axis=(0,))
xp.var(xp.array(3.), axis=())
xp.sum(xp.array(3.), axis=(0,))
xp.sum(xp.array(3.), axis=(0, -1))
xp.mean(xp.array(3.), axis=-1)
xp.max(xp.array(3.), axis=0)
xp.any(xp.array(3.), axis=0)
xp.nanvar(xp.array(3.), axis=0)
xp.nansum(xp.array(3.), axis=0)
xp.median(xp.array(3.), axis=0)
xp.percentile(xp.array(3.), 50, axis=0)
xp.argmax(xp.array(3.), axis=0)
xp.argmax(xp.array(3.), axis=1)
xp.argmax(xp.array(3.), axis=0, keepdims=True)
xp.cumsum(xp.array(3.), axis=0)
xp.sort(xp.array(3.), axis=0)
xp.sort(xp.array(3.))
xp.argsort(xp.array(3.), axis=0)
xp.average(xp.array(3.), axis=0)
xp.count_nonzero(xp.array(3.), axis=0)
xp.ptp(xp.array(3.), axis=0)
xp.prod(xp.array(3.), axis=0)
xp.unique(xp.array([[np.nan, 1], [1, np.nan], [np.nan, 1]]), axis=0, return_inverse=True)
xp.unique(xp.array([[np.nan, 1], [1, np.nan], [np.nan, 1]]), axis=1, return_inverse=True, return_counts=True)
xp.unique(xp.array([[np.nan, 1], [np.nan, 1]]), axis=0, equal_nan=False)
xp.unique(xp.array([np.nan, 1, np.nan]), axis=0)
xp.unique(xp.array([[-0., 1], [0., 1]]), axis=0)
xp.unique(xp.array([[np.nan+1j, 1], [np.nan+1j, 1]]), axis=0)
o=xp.zeros((3, 3)); xp.dot(xp.ones((3, 3)).T, xp.ones((3, 3)), out=o)
o=xp.zeros((3, 3)); xp.dot(xp.ones((3, 3)), xp.ones((3, 3)), out=o[::-1])
o=xp.zeros((3, 3), order="F"); xp.dot(xp.ones((3, 3)), xp.ones((3, 3)), out=o)
o=xp.zeros((3, 3), "f4"); xp.dot(xp.ones((3, 3)), xp.ones((3, 3)), out=o)
o=xp.zeros((3, 3)); xp.matmul(xp.ones((3, 3)), xp.ones((3, 3)), out=o.T)
o=xp.zeros((3, 3)); xp.dot(xp.ones((3, 3)), xp.arange(9.).reshape(3, 3).T, out=o)
o=xp.zeros((3, 3)); xp.ones((3, 3)).dot(xp.arange(9.).reshape(3, 3).T, out=o)
a=xp.arange(9.).reshape(3, 3); o=xp.zeros((3, 3)); xp.dot(a, a.T, o)
a=xp.arange(6.).reshape(2, 3); xp.dot(a, a.T, xp.zeros((2, 2)))
a=xp.arange(6.).reshape(2, 3); o=xp.dot(a.T, a); xp.dot(a.T, a, o)
a = xp.zeros(()); xp.copyto(a, xp.ones((1, 1))); a
a = xp.zeros(3); xp.copyto(a, xp.ones((1, 1, 3))); a
a = xp.zeros(3); xp.copyto(a, xp.ones((2, 3))); a
a = xp.zeros((3, 4)); xp.may_share_memory(a, a[:0])
xp.var(xp.array(3.), axis=0, where=xp.array(True))
xp.std(xp.array(3.), axis=-1, keepdims=True, where=xp.array(True))
xp.mean(xp.array(3), axis=0, dtype=int)
xp.var(xp.array(3.), axis=1, where=xp.array(True))
xp.var(xp.array([3., 4]), axis=(0,), where=xp.array([True, False]))
a = xp.zeros((3, 2)); a[[]] = xp.zeros((0, 3)); a
a = xp.zeros((3, 2)); a[[]] = xp.zeros((2, 0)); a
a = xp.zeros((3, 2)); a[[]] = xp.zeros((0,)); a
a = xp.zeros((3, 2)); a[[]] = xp.zeros((5, 0, 2)); a
a = xp.zeros((3, 0)); a[[0, 1]] = xp.zeros((0,)); a
a = xp.zeros((3, 0)); a[[0, 1]] = xp.zeros((3, 0)); a
a = xp.zeros((3, 0)); a[[0, 1]] = xp.zeros((0, 5)); a
a = xp.zeros((3,)); a[[]] = xp.zeros((2, 0)); a
a = xp.zeros((3,)); a[[]] = xp.zeros((0, 2)); a
a = xp.zeros((3, 2)); a[[], 0] = xp.zeros((0, 2)); a
a = xp.zeros((3, 2)); a[[], []] = xp.zeros((0, 2)); a
a = xp.zeros((3, 2)); a[:, []] = xp.zeros((0, 2)); a
a = xp.zeros((3, 2)); a[:, []] = xp.zeros((5, 0)); a
a = xp.zeros((3, 2)); a[:, []] = xp.zeros((0,)); a
a = xp.zeros((3, 2, 4)); a[[], :, []] = xp.zeros((0, 7)); a
"""


def outcome(text: str, xp: Any) -> Any:
    """What the last expression gives; of an error the built-in class."""
    *before, last = text.split("; ")
    names = {"xp": xp, "np": np}
    try:
        for statement in before:
            exec(statement, names)
        found = eval(last, names)
        nl.synchronize()
        return described(found)
    except Exception as error:
        return next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def described(found: Any) -> Any:
    """Everything of a result that a program can see."""
    if isinstance(found, (tuple, list)):
        return [described(part) for part in found]
    if type(found) is nl.ndarray:
        lies = found.strides if found.size > 1 else None
        return not found.is_scalar, found.dtype, found.shape, lies, host(found).tolist(), found.flags.writeable
    if isinstance(found, np.generic):
        return False, found.dtype, (), None, found.tolist(), True
    if isinstance(found, np.ndarray):
        lies = found.strides if found.size > 1 else None
        return True, found.dtype, found.shape, lies, found.tolist(), found.flags.writeable
    return found


@pytest.mark.parametrize("text", STATEMENTS.strip().splitlines())
def test_statements_give_what_numpy_gives(text: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = outcome(text, nl), outcome(text, np)
    assert str(ours) == str(theirs)


@pytest.mark.parametrize("number", [float, int])
def test_the_real_part_of_a_complex_scalar_warns(number: Any) -> None:
    scalar = nl.asarray([1.5 + 2j]).sum()
    with pytest.warns(np.exceptions.ComplexWarning):
        assert number(scalar) == number(1.5)
    with pytest.raises(TypeError):
        number(nl.asarray(1.5 + 2j))


@pytest.mark.parametrize("call", [nl.asarray, nl.sum, lambda m: nl.ones(3) + m, lambda m: nl.add(m, nl.ones(3))])
def test_masked_arrays_are_refused_where_something_is_masked(call: Any) -> None:
    values = np.array([1.0, 2, 3])
    with pytest.raises(TypeError, match=r"filled"):
        call(np.ma.array(values, mask=[0, 1, 0]))
    np.testing.assert_array_equal(host(call(np.ma.array(values))), host(call(values)))


def test_arrays_of_numpys_other_classes_are_plain_ones() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", PendingDeprecationWarning)
        matrix = np.matrix([[1.0, 2], [3, 4]])
    np.testing.assert_array_equal(host(nl.asarray(matrix) * 2), [[2, 4], [6, 8]])


@pytest.mark.parametrize("shape", [(0, 0), (0, 3), (3, 0), (0, 3, 0), (2, 0, 3)])
@pytest.mark.parametrize("name", ["max", "min", "argmax", "maximum.reduce", "fmin.reduce", "sum", "ptp", "nanmax"])
def test_reductions_of_nothing(name: str, shape: tuple[int, ...]) -> None:
    for axis in (None, *range(len(shape)), *(() if name == "argmax" else [(0, 1), (-1, 0)])):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            text = f"xp.{name}(xp.zeros({shape}), axis={axis})"
            assert str(outcome(text, nl)) == str(outcome(text, np)), text


@pytest.mark.parametrize("name", ["repeat", "outer", "kron", "tensordot", "take"])
def test_what_is_computed_from_the_rows_that_no_mask_took(name):
    """Rows taken have NumPy's strides, which are 0 where there are none."""
    calls = {
        "repeat": lambda xp, z: xp.repeat(z * 2, 2, axis=1),
        "outer": lambda xp, z: xp.add.outer(xp.arange(3) + z.sum(0), (z + 1).ravel()[:7]),
        "kron": lambda xp, z: xp.kron(xp.arange(2) + 1, z + z),
        "tensordot": lambda xp, z: xp.tensordot(z + 1, xp.ones((3, 2)), 1),
        "take": lambda xp, z: (z * 3)[:, [2, 0]] + 1,
    }
    for rows in (np.zeros(4, bool), np.zeros(0, int)):
        found = [calls[name](xp, xp.ones((4, 3))[xp.asarray(rows)]) for xp in (np, nl)]
        np.testing.assert_array_equal(found[1].get(), found[0], strict=True)
