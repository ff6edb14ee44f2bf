"""NumPy's protocols, DLPack, CUDA's array interface, buffers, pickles; what becomes of arrays in other hands."""

from __future__ import annotations

import copy
import ctypes
import operator
import os
import pickle
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.convert import _managed
from numloom.engine.state import counters

X = np.arange(6.0).reshape(2, 3) - 2


def compiled(cls: type) -> bool:
    """Whether a class is Cython's."""
    return not cls.__flags__ & 1 << 9  # Py_TPFLAGS_HEAPTYPE


def same(mine: Any, theirs: Any) -> None:
    if isinstance(theirs, (tuple, list)):
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            same(a, b)
    else:
        assert type(mine) is nl.ndarray and mine.dtype == theirs.dtype and mine.shape == theirs.shape
        np.testing.assert_allclose(mine.get(), theirs, rtol=1e-12, atol=1e-14)


# ---------------------------------------------------------------- NEP 13 and 18


def test_functions_of_numpys_submodules_give_our_arrays() -> None:
    x = nl.asarray(X)
    for part, calls in (
        ("linalg", (lambda x: np.linalg.norm(x), lambda x: np.linalg.svd(x @ x.T)[1], lambda x: np.linalg.pinv(x))),
        ("fft", (lambda x: np.fft.fft(x), lambda x: np.fft.irfft2(np.fft.rfft2(x), s=(2, 3)))),
    ):  # fmt: skip
        if hasattr(nl, part):
            for call in calls:
                same(call(x), call(X))


def test_numpys_functions_and_ours_mixed() -> None:
    x = nl.asarray(X)
    for call in (
        lambda x: np.stack([x, X]), lambda x: np.concatenate([X, x]), lambda x: np.where(X > 0, x, 0),
        lambda x: np.dot(X, x.T), lambda x: X[0] - x, lambda x: np.float32(2) * x, lambda x: X @ x.T,
        lambda x: np.einsum("ij,kj->ik", X, x), lambda x: np.interp(x, [0.0, 1], [0.0, 2]),
        lambda x: np.add.reduce(x), lambda x: np.take(x, np.array([2, 0])), lambda x: np.isclose(x, X),
        lambda x: np.split(x, 3, axis=1), lambda x: np.meshgrid(x[0], X[1]), lambda x: np.unique(x),
        lambda x: np.add(X, 1, where=x > 0, out=x * 0), lambda x: np.clip(x, X - 1, X + 1),
        lambda x: np.histogram(x, 3)[0], lambda x: np.quantile(x, 0.5, axis=0), lambda x: np.moveaxis(x, 0, 1),
    ):  # fmt: skip
        same(call(x), call(X))
    assert x.__array_priority__ > X.__array_priority__
    host = X.copy()
    same_host = host
    with nl.config(host_copy="allow"):
        host += x  # NumPy's memory, by NumPy: `test_their_side.py`
    assert host is same_host and np.array_equal(host, X + X) and np.result_type(x, np.float32) == np.float64


class Foreign:
    """Another library's array, which takes ours."""

    def __array_ufunc__(self, function: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return function.__name__, len(inputs)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return function.__name__

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        raise AssertionError("taken apart")

    def __radd__(self, other: Any) -> Any:
        return "theirs"

    __rmatmul__ = __rpow__ = __rsub__ = __radd__


def test_arrays_that_hold_ours_decide_themselves() -> None:
    x, y = nl.asarray(X), Foreign()
    assert np.add(x, y) == ("add", 2) and np.concatenate([x, y]) == "concatenate"
    # As NumPy's arrays: the protocol is asked before a reflected operator.
    assert (x + y, x - y, x**y, x @ y, x * y) == (
        ("add", 2), ("subtract", 2), ("power", 2), ("matmul", 2), ("multiply", 2),
    )  # fmt: skip
    with pytest.raises(TypeError):
        x + object()


def test_the_name_of_the_class_and_what_arrays_refuse() -> None:
    x = nl.asarray(X)
    assert nl.ndarray.__module__ == "numloom" and nl.ndarray.__name__ == "ndarray"
    for call, error in (
        (lambda: hash(x), TypeError), (lambda: bool(x), ValueError), (lambda: bool(nl.ones(0)), ValueError),
        (lambda: float(x), TypeError), (lambda: int(x), TypeError), (lambda: operator.index(nl.ones(())), TypeError),
        (lambda: len(nl.ones(())), TypeError), (lambda: iter(nl.ones(())), TypeError), (lambda: x @ 3, ValueError),
        (lambda: {x: 1}, TypeError), (lambda: np.random.permutation(x) if x.device != "cpu" else hash(x), TypeError),
    ):  # fmt: skip
        with pytest.raises(error):
            call()


# ---------------------------------------------------------------- copies


def test_copies_and_pickles() -> None:
    x = nl.asarray(X)[:, ::-1]
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x)), copy.deepcopy([x])[0]):
        same(made, X[:, ::-1])
        made[0, 0] = 100
        assert x[0, 0] != 100
    assert pickle.loads(pickle.dumps(nl.asarray(np.asfortranarray(X)))).flags.f_contiguous
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        same(pickle.loads(pickle.dumps(nl.asarray(X), protocol)), X)
    assert pickle.loads(pickle.dumps(nl.add)) is nl.add


def test_pickles_name_no_device() -> None:
    code = "import pickle, sys; x = pickle.load(sys.stdin.buffer); print(type(x).__module__, x.device, x[1, 0])"
    data = pickle.dumps(nl.asarray(X))
    found = subprocess.run(
        [sys.executable, "-c", code], input=data, capture_output=True, check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "NUMLOOM_DEVICE": "cpu"},
    )  # fmt: skip
    assert found.stdout.split() == [b"numloom", b"cpu", b"1.0"]


# ---------------------------------------------------------------- NumPy's view of our memory


def test_numpy_arrays_of_our_memory() -> None:
    x = nl.asarray(X) + 0
    if x.device != "cpu":
        for call in (lambda: np.asarray(x), lambda: np.array(x), lambda: np.array([x, x]), lambda: np.asarray(x[0, 0])):
            with pytest.raises(TypeError, match=r"\.get\(\)"):
                call()
        return
    view = np.asarray(x)
    assert type(view) is np.ndarray
    view[0, 0] = 50
    assert x[0, 0] == 50
    x[1, 1] = 70
    x += 1
    assert view[1, 1] == 71
    copied = np.array(x)
    copied[0, 0] = 0
    assert x[0, 0] == 51
    assert np.shares_memory(np.asarray(x, copy=False), view) and not np.shares_memory(np.asarray(x, copy=True), view)
    assert np.asarray(x, "f4").dtype == np.float32
    with pytest.raises(ValueError, match="copy"):
        np.asarray(x, "f4", copy=False)
    x.flags.writeable = False
    assert not np.asarray(x).flags.writeable
    same(nl.asarray(np.asarray(x[:, ::-1])), x[:, ::-1].get())
    assert np.asarray(nl.zeros((0, 3))).shape == (0, 3) and np.asarray(nl.asarray(3)) == 3
    del view
    y = x.copy()
    assert np.asarray(y).tolist() == x.tolist() and not np.shares_memory(np.asarray(y), np.asarray(x))
    if sys.version_info >= (3, 12) or compiled(nl.ndarray):
        memory = memoryview(y)
        assert memory.tolist() == x.tolist() and memory.format == "d"
        memory[0, 0] = -3
        assert y[0, 0] == -3


# ---------------------------------------------------------------- DLPack


def capsule_flags(capsule: Any) -> int:
    name, managed = _managed(capsule)
    assert name == b"dltensor_versioned"
    return managed.flags


def test_dlpack_capsules() -> None:
    x = nl.asarray(X)
    where = x.__dlpack_device__()
    assert where[0] == (1 if x.device == "cpu" else 2)
    assert _managed(x.__dlpack__())[0] == b"dltensor"
    capsule = x.__dlpack__(max_version=(1, 1))
    name, managed = _managed(capsule)
    assert name == b"dltensor_versioned" and managed.major == 1
    assert (managed.tensor.device_type, managed.tensor.device_id) == where
    assert capsule_flags(capsule) == 0
    assert capsule_flags(x.__dlpack__(max_version=(1, 0), copy=True)) == 2
    assert _managed(x.__dlpack__(max_version=(0, 8)))[0] == b"dltensor"
    x.flags.writeable = False
    assert capsule_flags(x.__dlpack__(max_version=(1, 0))) == 1
    with pytest.raises(BufferError):
        x.__dlpack__()
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(9, 0))
    host = x.__dlpack__(dl_device=(1, 0), max_version=(1, 0))
    assert _managed(host)[1].tensor.device_type == 1
    values = ctypes.cast(_managed(host)[1].tensor.data, ctypes.POINTER(ctypes.c_double))
    assert values[0] == -2.0
    if x.device != "cpu":
        assert capsule_flags(host) & 2
        with pytest.raises(BufferError):
            x.__dlpack__(dl_device=(1, 0), max_version=(1, 0), copy=False)


@pytest.mark.parametrize("dtype", ["?", "b", "B", "h", "H", "i", "I", "q", "Q", "e", "f", "d", "F", "D"])
def test_dlpack_from_numpy_and_back(dtype: str) -> None:
    host = np.arange(12).reshape(3, 4).astype(dtype)
    for theirs in (host, host.T, host[::2, 1:], host[0, :1].reshape(()), host[:0]):
        same(nl.from_dlpack(theirs), theirs)
        mine = nl.asarray(theirs)
        back = np.from_dlpack(mine, device="cpu")
        assert back.dtype == theirs.dtype and np.array_equal(back, theirs)


def test_dlpack_shares_memory_and_says_what_it_cannot() -> None:
    host = X.copy()
    x = nl.from_dlpack(host)
    if x.device == "cpu":
        host[0, 0] = 9
        assert x[0, 0] == 9
        x[0, 1] = 8
        assert host[0, 1] == 8
    assert not np.shares_memory(nl.from_dlpack(host, copy=True).get(), host)
    read_only = X.copy()
    read_only.flags.writeable = False
    if x.device == "cpu":
        assert not nl.from_dlpack(read_only).flags.writeable
    y = nl.asarray(X)
    assert np.shares_memory(nl.from_dlpack(y).get(), nl.from_dlpack(y).get()) is False
    view = nl.from_dlpack(y)
    view[0, 0] = 77
    assert y[0, 0] == 77 and nl.from_dlpack(y, copy=True)[0, 0] == 77

    class Elsewhere:
        def __dlpack__(self, **options: Any) -> Any:
            raise BufferError("no")

        def __dlpack_device__(self) -> tuple[int, int]:
            return 12, 0

    for options in ({}, {"copy": False}):
        with pytest.raises(BufferError):
            nl.from_dlpack(Elsewhere(), **options)
    with pytest.raises(TypeError):
        nl.from_dlpack(object())


def test_versions_of_dlpack_that_nobody_knows_are_left_alone() -> None:
    from numloom.array.convert import _Consumed

    capsule = X.__dlpack__(max_version=(1, 0))
    _managed(capsule)[1].major = 2
    with pytest.raises(BufferError, match="newer"):
        _Consumed(capsule)
    _managed(capsule)[1].major = 1
    consumed = _Consumed(capsule)
    assert not consumed.read_only
    with pytest.raises(BufferError, match="fresh"):
        _Consumed(capsule)


def test_memory_that_a_gpu_cannot_read_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    convert = sys.modules["numloom.array.convert"]
    host = np.zeros(17, np.uint8)[1:].view("F")
    monkeypatch.setattr(convert, "registry", SimpleNamespace(current=lambda: SimpleNamespace(discrete=True)))
    with pytest.raises(BufferError, match="not aligned"):
        convert.over(host.ctypes.data, host.dtype, host.shape, host.strides, host)
    with pytest.raises(BufferError, match="not aligned"):
        convert.over(64, np.dtype("f8"), (2, 2), (20, 8), host)


def test_cuda_array_interface() -> None:
    x = nl.asarray(X)[:, ::2]
    assert hasattr(x, "__cuda_array_interface__") == (x.device != "cpu")
    if x.device == "cpu":
        return
    described = x.__cuda_array_interface__
    assert described["version"] == 3 and described["shape"] == (2, 2) and described["strides"] == (24, 16)
    assert described["typestr"] == "<f8" and described["stream"] == 1

    class Other:
        __cuda_array_interface__ = {**described, "data": (described["data"][0], True)}
        keep = x

    y = nl.asarray(Other())
    same(y, X[:, ::2])
    assert not y.flags.writeable
    for change, error in (({"stream": 0}, ValueError), ({"mask": y}, TypeError)):
        Other.__cuda_array_interface__ = {**described, **change}
        with pytest.raises(error):
            nl.asarray(Other())


@pytest.mark.cuda
def test_streams_are_ordered() -> None:
    from numloom.device.cuda import driver

    stream = int(driver.call("cuStreamCreate", 1))  # one that does not wait for the legacy stream by itself
    x = nl.ones(1 << 20)
    for _ in range(20):
        x = x + 1
    taken = nl.asarray(
        type("Other", (), {"__cuda_array_interface__": {**x.__cuda_array_interface__, "stream": stream}})
    )
    assert x.__dlpack__(stream=stream, max_version=(1, 0)) is not None
    driver.call("cuStreamSynchronize", stream)
    assert float(taken.sum()) == 21 * (1 << 20)
    with pytest.raises(ValueError):
        x.__dlpack__(stream=0)
    driver.call("cuStreamDestroy", stream)


# ---------------------------------------------------------------- waiting


def waits(call: Any) -> int:
    before = counters.waits
    call()
    return counters.waits - before


def test_questions_about_finished_values_are_answered_from_the_host() -> None:
    x = nl.asarray(X) * 3
    total, mask = x.sum(), x > 0
    nl.evaluate(x, total, mask)
    for question in (float, bool, int, complex, lambda t: t.item(), lambda t: f"{t:.2f}", hash, lambda t: t == 9):
        question(total)
    assert waits(lambda: [float(total) for _ in range(5)]) == 0
    assert waits(lambda: [bool(total.astype(bool)), int(total.astype("i4")), float(total)]) == 0
    for array in (x, mask, nl.zeros(5), nl.ones((), "i2"), x[0]):
        probe = lambda array=array: bool(nl.any(nl.reshape(array, (-1,))[0] if array.ndim else array))  # noqa: E731
        probe()
        assert waits(probe) == 0, array.shape
    assert bool(nl.any(x[0, 0].astype("c8"))) and not bool(nl.any(x[0, 2].astype("f2")))
    assert waits(lambda: [x.shape, x.dtype, x.device, x.size, x.ndim, len(x), x.flags, x.T, x[0], x + 1]) == 0


def test_each_array_for_numpy_is_counted_once() -> None:
    x = nl.asarray(X) * 3
    nl.evaluate(x)
    with nl.config(host_copy="allow"):
        assert [waits(x.__array__) for _ in range(3)] == [1, 1, 1]


def test_helpers_of_array_api_compat() -> None:
    compat = pytest.importorskip("array_api_compat")
    x = nl.asarray(X) + 1
    assert compat.is_array_api_obj(x) and compat.array_namespace(x, nl.ones(2)) is nl
    assert compat.device(x) == x.device and compat.to_device(x, x.device) is x and compat.size(x) == 6
    assert compat.is_writeable_array(x) and not compat.is_lazy_array(x)
    assert not compat.is_numpy_array(x) and not compat.is_cupy_array(x) and not compat.is_dask_array(x)
    assert waits(lambda: compat.is_lazy_array(x)) <= 1  # x is one value now, its first element asked for once
    assert waits(lambda: compat.is_lazy_array(x)) == 0


WAITS = {
    "at(x)[0].set": 0, "atleast_nd": 0, "cov": 0, "create_diagonal": 0, "expand_dims": 0, "isclose": 2, "kron": 0,
    "one_hot": 0, "pad": 0, "sinc": 0, "nunique": 2, "setdiff1d": 3, "apply_where": 3, "argpartition": 0, "isin": 0,
}  # fmt: skip
"""How often each helper of array_api_extra may wait for an array that is computed already."""


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_helpers_of_array_api_extra_wait_no_more_than_they_must() -> None:
    extra = pytest.importorskip("array_api_extra")
    x = nl.asarray(X) + 1
    nl.evaluate(x)
    calls = {
        "at(x)[0].set": lambda: extra.at(x)[0].set(5.0),
        "atleast_nd": lambda: extra.atleast_nd(x, ndim=3),
        "cov": lambda: extra.cov(x),
        "create_diagonal": lambda: extra.create_diagonal(x[0]),
        "expand_dims": lambda: extra.expand_dims(x, axis=(0, 1)),
        "isclose": lambda: extra.isclose(x, x),
        "kron": lambda: extra.kron(x, x),
        "nunique": lambda: extra.nunique(x),
        "one_hot": lambda: extra.one_hot(nl.arange(3), 4),
        "pad": lambda: extra.pad(x, 1),
        "setdiff1d": lambda: extra.setdiff1d(x, x),
        "sinc": lambda: extra.sinc(x),
        "apply_where": lambda: extra.apply_where(x > 0, x, lambda a: a * 2, fill_value=0),
        "argpartition": lambda: extra.argpartition(x, 1),
        "isin": lambda: extra.isin(x, x),
    }
    assert calls.keys() == WAITS.keys()
    found = {name: waits(call) for name, call in calls.items() if hasattr(extra, name.partition("(")[0])}
    assert {name: count for name, count in found.items() if count > WAITS[name]} == {}
