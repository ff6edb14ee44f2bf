"""In and out of the device: NumPy, DLPack, pickling, Python numbers."""

from __future__ import annotations

import copy
import gc
import pickle
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_array_equal, for_all_dtypes


@for_all_dtypes()
def test_round_trip(dtype: np.dtype[Any], sample: Any) -> None:
    host = sample(dtype, 24).reshape(2, 3, 4)
    views = (
        lambda x: x, lambda x: x.T, lambda x: x[::-1, ::2], lambda x: x[0, 0, 0:1].reshape(()), lambda x: x[:, :0],
    )  # fmt: skip
    for view in views:
        mine = nl.asarray(view(host))
        assert_array_equal(mine, view(host), strict=True)
        assert_array_equal(view(nl.asarray(host)), view(host), strict=True)
        assert mine.tolist() == view(host).tolist() or dtype.kind in "fc"
        assert mine.tobytes() == view(host).tobytes()
        assert_array_equal(pickle.loads(pickle.dumps(mine)), view(host), strict=True)
    mine = nl.asarray(host)
    host_again = mine.get()
    host_again[...] = 0
    assert_array_equal(mine, host, strict=True)
    assert_array_equal(mine.byteswap(), host.byteswap(), strict=True)


def test_asnumpy_and_get_array_module() -> None:
    x = nl.arange(6).reshape(2, 3)
    assert isinstance(nl.asnumpy(x), np.ndarray)
    assert nl.asnumpy(x, order="F").flags.f_contiguous
    assert nl.asnumpy([1, 2]).tolist() == [1, 2]
    out = np.zeros((2, 3), "f4")
    assert nl.asnumpy(x, out=out) is out and out[1, 2] == 5
    assert nl.get_array_module(x) is nl
    assert nl.get_array_module(np.ones(3), 2) is np
    assert nl.get_array_module(np.ones(3), x) is nl


def test_python_numbers() -> None:
    x = nl.asarray(2.5)
    assert (float(x), int(x), bool(x), complex(x), x.item(), round(x)) == (2.5, 2, True, 2.5, 2.5, 2)
    assert f"{x:.2f}" == "2.50"
    assert [10, 20, 30][nl.asarray(1)] == 20
    assert nl.asarray([7]).item() == 7 and nl.arange(6).reshape(2, 3).item(1, 2) == 5
    assert hash(nl.arange(3).sum()) == hash(3)
    with pytest.raises(TypeError):
        float(nl.ones(2))
    with pytest.raises(TypeError):
        hash(nl.ones(2))
    with pytest.raises(ValueError, match="ambiguous"):
        bool(nl.ones(2))
    with pytest.raises(TypeError):
        len(nl.asarray(1))
    with pytest.raises(TypeError):
        operator_index = nl.asarray(1.5).__index__()
        assert operator_index
    with pytest.raises(ValueError):
        nl.ones(2).item()


def test_copies_are_independent() -> None:
    x = nl.arange(4)
    for y in (x.copy(), copy.copy(x), copy.deepcopy(x), nl.copy(x), nl.array(x)):
        y += 1
        assert x.tolist() == [0, 1, 2, 3] and y.tolist() == [1, 2, 3, 4]


def on_host() -> None:
    if nl.zeros(1).device != "cpu":
        pytest.skip("the memory of the device is not the host's")


@for_all_dtypes()
def test_dlpack_out_shares_memory(dtype: np.dtype[Any]) -> None:
    on_host()
    x = nl.asarray(np.arange(12).reshape(3, 4).astype(dtype))
    for mine in (x, x.T, x[1:, ::2], x[::-1]):
        host = np.from_dlpack(mine)
        assert_array_equal(host, mine.get(), strict=True)
    host = np.from_dlpack(x[1:])
    if host.flags.writeable:
        host[0, 0] = 1
        assert x[1, 0].item() == 1
    x[1, 1] = 0
    assert host[0, 1] == 0
    pending = x + x
    x[1, 2] = 1
    assert_array_equal(pending.get()[0], np.arange(4).astype(dtype) + np.arange(4).astype(dtype), strict=True)
    assert host[0, 2] == 1


def test_dlpack_pins_while_it_is_in_use() -> None:
    on_host()
    x = nl.arange(4.0)
    assert x.storage.pins == 0
    capsule = x.__dlpack__()
    assert x.storage.pins == 1
    del capsule
    gc.collect()
    assert x.storage.pins == 0
    host = np.from_dlpack(x)
    x += 1
    assert host.tolist() == [1, 2, 3, 4]
    del host
    assert x.storage.pins == 0
    assert x.__dlpack_device__() == (1, 0)
    lazy = x.copy()
    host = np.from_dlpack(lazy)
    lazy[0] = 50
    assert x[0].item() == 1 and host[0] == 50
    with pytest.raises(BufferError):
        x.__dlpack__(dl_device=(2, 0))


def test_dlpack_in_shares_memory() -> None:
    on_host()
    host = np.arange(12.0).reshape(3, 4)
    for view in (host, host.T, host[::-1, ::2], host[1], host[:0]):
        mine = nl.from_dlpack(view)
        assert_array_equal(mine, view, strict=True)
    mine = nl.from_dlpack(host[:, ::2])
    before = mine * 1
    host[0, 0] = 70
    mine[1] = -1
    assert host[1].tolist() == [-1, 5, -1, 7]
    assert mine[0, 0].item() == 70 and before[0, 0].item() == 0
    mine += 1
    assert host[0, 0] == 71
    again = nl.from_dlpack(mine)
    again[0, 0] = 5
    assert host[0, 0] == 5
    assert_array_equal(nl.from_dlpack(host, copy=True), host, strict=True)
    read_only = np.arange(3)
    read_only.flags.writeable = False
    with pytest.raises(ValueError):
        nl.from_dlpack(read_only)[0] = 1


class Foreign:
    """An array of a library that only speaks DLPack."""

    def __init__(self, host: Any) -> None:
        self.host = host

    def __dlpack__(self, **options: Any) -> Any:
        return self.host.__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.host.__dlpack_device__()


def test_arrays_of_other_libraries() -> None:
    on_host()
    foreign = Foreign(np.arange(3.0))
    assert (nl.ones(3) + foreign).tolist() == [1, 2, 3]
    assert nl.asarray(foreign, "f4").dtype == np.float32

    class OnlyArray:
        def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
            return np.arange(3)

    assert nl.asarray(OnlyArray()).tolist() == [0, 1, 2]
    assert nl.asarray(memoryview(b"abc")).tolist() == [97, 98, 99]


class Gives:
    """What gives something for itself where an array is asked for."""

    def __init__(self, given: Any) -> None:
        self.given = given

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        return self.given


WITH_OURS = {
    "asarray": lambda xp, of: xp.asarray(of([1.0, 2.0])),
    "dtype": lambda xp, of: xp.asarray(of([1.0, 2.0]), "f4"),
    "order": lambda xp, of: xp.asarray(of([[1.0, 2.0], [3.0, 4.0]]), order="F"),
    "array": lambda xp, of: xp.array(of([1.0, 2.0]), ndmin=2),
    "list": lambda xp, of: xp.asarray([of([1.0, 2.0]), of([3.0, 4.0])]),
    "nested list": lambda xp, of: xp.array([[of([1, 2])], [[3, 4]]], dtype="f4"),
    "tuple": lambda xp, of: xp.stack((of([1, 2]), xp.ones(2))),
    "operand": lambda xp, of: xp.ones(2) + of([1.0, 2.0]),
    "on the left": lambda xp, of: xp.subtract(of([1.0, 2.0]), xp.ones(2)),
    "function": lambda xp, of: xp.sum(of([1.0, 2.0])),
    "number": lambda xp, of: xp.asarray(of(2.0)) * xp.ones(2),
    "stored": lambda xp, of: stored(xp.zeros((2, 2)), of([1.0, 2.0])),
}


def stored(x: Any, value: Any) -> Any:
    x[1:] = value
    return x


@pytest.mark.parametrize("name", WITH_OURS)
def test_what_gives_an_array_of_ours(name: str) -> None:
    want = WITH_OURS[name](np, lambda value: Gives(np.asarray(value)))
    for made in (nl.asarray, np.asarray):
        got = WITH_OURS[name](nl, lambda value, made=made: Gives(made(value)))
        assert_array_equal(got, np.asarray(want), strict=True)


class Described:
    """What describes the memory of an array."""

    def __init__(self, array: Any) -> None:
        self.array = array

    @property
    def __array_interface__(self) -> Any:
        return self.array.__array_interface__


def test_memory_that_is_described_is_the_arrays_own_or_read_only() -> None:
    x = nl.asarray(np.arange(6.0).reshape(2, 3))
    with nl.config(host_copy="allow"):
        for look in (lambda x: x, lambda x: x.T, lambda x: x[:, ::2]):
            with nl.symbolic():
                copy = np.asarray(Described(look(x * 2)))  # What is recorded has no memory yet.
            assert copy.tolist() == look(np.arange(6.0).reshape(2, 3) * 2).tolist()
            with pytest.raises(ValueError, match="read-only"):
                copy[0] = 9
            y = x * 2
            seen = np.asarray(Described(look(y)))
            if seen.flags.writeable:
                seen[0] = 9
                y += 1
                assert (look(y)[0] == 10).all() and (seen[0] == 10).all()


def test_what_gives_no_array() -> None:
    for wrong in (Gives([1, 2]), [Gives(nl.ones(2)), Gives(3)]):
        with pytest.raises(ValueError, match="__array__ method not producing an array"):
            nl.asarray(wrong)


def test_host_memory_has_no_cuda_interface() -> None:
    x = nl.ones(3)
    assert hasattr(x, "__cuda_array_interface__") == (x.device != "cpu")
