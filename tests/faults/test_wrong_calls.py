"""Wrong arguments: NumPy's values or an error of ours that tells of what was given, and never a hang or a crash.

`wrong_calls.py` makes all calls, of which these are those that once told of our code, or gave other values, and some by
chance.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import wrong_calls

FOUND = """
percentile(q=Decimal) quantile(q=Decimal) nanpercentile(q=Fraction) median(a=None) quantile(q=dates)
abs(signature=2**31) add(signature=inf) acosh(casting=[text]) add(casting=set) multiply(subok=None) matmul(x2=answers)
cumsum(out=10**30) cumprod(out=objects) cumulative_sum(out=-100) concatenate(out=-1) concat(out=[None])
column_stack(tup=silent) dstack(tup=True) vstack(tup=generator) hstack(tup=set) lexsort(keys=-1) select(condlist=-1)
select(choicelist=Decimal) piecewise(funclist=Decimal) convolve(mode=ragged) correlate(mode=vector of 5)
packbits(bitorder=dict) unpackbits(bitorder=bytearray) unravel_index(shape=None) bincount(minlength=set)
array(ndmin=lambda) array(ndmax=[nan]) empty(order=ragged) zeros(order=[None]) full(order=number)
array2string(threshold=[]) tri(k=dict) tri(k=2**63) tril(k=2**63) tril(k=float with __float__) triu(k=-10**30)
isclose(rtol=class) allclose(atol=range) isclose(atol=answers) trapezoid(dx=declines) unwrap(discont=Fraction)
interp(period=Fraction) polyval(p=[text]) einsum(optimize=small) einsum_path(argument 0=nan)
einsum_path(einsum_call=inf) histogram2d(bins=silent) histogramdd(bins=generator) apply_over_axes(axes=date)
common_type(argument 0=dict) fft.fft(norm=[nan]) fft.fftn(axes=object()) fft.fft2(axes=2**63) fft.rfft2(s=[None])
linalg.multi_dot(arrays=True) random.multivariate_normal(mean=inf) Generator.dirichlet(alpha=number)
Generator.spawn(n_children=[]) random.RandomState(seed=[None]) Generator.beta(a=dates) random.gumbel(loc=dates)
Generator.normal(loc=texts) std(ddof=[text]) var(ddof=nan) var(correction=float with __float__) nanvar(ddof=Fraction)
var(dtype=int) std(dtype=int) var(mean=cube) var(mean=1j) cov(bias=()) rot90(k=1.5) arange(step=inf)
array_repr(arr=date) array_repr(arr=void) sum(keepdims=None) amax(keepdims=object()) mean(keepdims=2**63)
nanargmin(a=[2**63]) trace(offset=2**31) diagonal(offset=-2**63) diag(k=2**31) take(indices=[nan])
partition(order=2**63) argpartition(kind=Decimal) polyint(m=2**31) absolute(out=...) modf(out=...)
add.reduce(array=answers) add.at(a=answers) power.reduce(array=answers) ndarray.__array_ufunc__(ufunc=None)
ndarray.__array_ufunc__(ufunc=[]) ndarray.__array_function__(function=Decimal) ndarray.__array_function__(types=int)
ndarray.__array_function__(kwargs=objects) ndarray.__dlpack__(max_version=-1) ndarray.__dlpack__(dl_device=True)
ndarray.__dlpack__(stream=text) ndarray.copy(order=[nan]) ndarray.__getitem__(key=int with __index__)
set.dtype(value=dict) set.shape(value=None) set.shape(value=nan)
"""
BY_CHANCE = 3000


def bad(rows: list[wrong_calls.Row]) -> list[wrong_calls.Row]:
    """Rows that may not be."""
    return [row for row in rows if row.label in wrong_calls.BAD]


def test_what_was_found() -> None:
    named = {str(call) for call in wrong_calls.calls()}
    text = " ".join(FOUND.split())
    chosen = [name for name in named if f" {name} " in f" {text} "]
    rows = wrong_calls.run(only=chosen)
    assert len(rows) == len(chosen) > 100
    assert not bad(rows)


def test_some_by_chance() -> None:
    rows = wrong_calls.run(BY_CHANCE)
    assert len(rows) == BY_CHANCE
    assert not bad(rows)
    assert sum(row.label == wrong_calls.SAME for row in rows) > BY_CHANCE / 2  # They are wrong.


def test_it_makes_as_many_calls_as_there_should_be() -> None:
    assert sum(1 for _ in wrong_calls.calls()) > 100_000


def test_results_are_compared() -> None:
    numbers = np.arange(3.0)
    compared = wrong_calls.compared
    assert compared(numbers, numbers + 1e-14) == compared([numbers, "a"], [numbers, "a"]) == wrong_calls.EQUAL
    assert compared(numbers, numbers.astype("f4")) == wrong_calls.DTYPE
    assert compared(numbers, numbers + 1) == compared(numbers, numbers[1:]) == wrong_calls.DIFFER
    assert compared([numbers], [numbers] * 2) == compared("a", numbers) == wrong_calls.DIFFER
    assert compared(numbers, numbers + 1, random=True) == wrong_calls.EQUAL


def test_errors_are_sorted() -> None:
    call = wrong_calls.Call("sin", 0, "x", "text")
    theirs, other = TypeError("no"), TypeError("so")
    axis, value = np.exceptions.AxisError("no"), ValueError("no")
    outcome = wrong_calls.Outcome
    assert wrong_calls.sort(call, outcome(None, theirs), outcome(None, other)) == wrong_calls.SAME
    assert wrong_calls.sort(call, outcome(None, value), outcome(None, axis)) == wrong_calls.SAME
    assert wrong_calls.sort(call, outcome(None, theirs), outcome(None, value)) == wrong_calls.OTHER
    for error in (
        AttributeError("'int' object has no attribute 'code'"), RecursionError("deep"), AssertionError(), KeyError("a"),
        TypeError("'NoneType' object is not iterable"),
    ):  # fmt: skip
        assert wrong_calls.sort(call, outcome(None, theirs), outcome(None, error)) == wrong_calls.INSIDES
        assert wrong_calls.sort(call, outcome(None, error), outcome(None, error)) == wrong_calls.SAME


def test_a_worker_that_says_nothing_is_ended() -> None:
    worker = subprocess.Popen(
        [sys.executable, "-c", "import time; print('0 theirs', flush=True); time.sleep(60)"], stdout=subprocess.PIPE
    )
    assert list(wrong_calls.lines_of(worker, 1.0)) == ["0 theirs"]
    assert worker.wait(10) == -9
    assert worker.stdout is not None
    worker.stdout.close()
