"""NumPy's own functions called with our arrays, flags, and questions about arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import assert_array_equal


def test_ufuncs_of_numpy_give_our_arrays() -> None:
    x = nl.arange(6.0).reshape(2, 3)
    host = x.get()
    for result, expected in (
        (np.add(x, 1), host + 1),
        (np.add(host, x), host * 2),
        (host + x, host * 2),
        (np.float64(2) * x, 2 * host),
        (np.ones(3) @ x.T, np.ones(3) @ host.T),
        (np.add.reduce(x, axis=1), host.sum(1)),
        (np.multiply.outer(x, [1, 2]), np.multiply.outer(host, [1, 2])),
        (np.add.accumulate(x, axis=1), host.cumsum(1)),
        (np.divmod(x, 2)[0], host // 2),
        (np.matmul(x, x.T), host @ host.T),
    ):
        assert type(result) is nl.ndarray
        assert_array_equal(result, expected, strict=True)
    out = nl.zeros((2, 3))
    assert np.add(x, 1, out=out) is out
    assert np.add(x, 1, out=(out,)) is out
    host_out = np.zeros((2, 3))
    with nl.config(host_copy="allow"):  # NumPy stores into its own arrays.
        assert np.add(x, 1, out=host_out) is host_out
        host_out += x
    assert_array_equal(host_out, host + 1 + host, strict=True)
    with nl.config(host_copy="allow"):
        found = np.frompyfunc(lambda a: a + 0.5, 1, 1)(x)  # Computed on the host; objects stay NumPy's.
    assert type(found) is np.ndarray and found.tolist() == (x + 0.5).tolist()


def test_functions_of_numpy_give_our_arrays() -> None:
    x = nl.arange(6.0).reshape(2, 3)
    host = x.get()
    for result, expected in (
        (np.sum(x, axis=0), host.sum(0)),
        (np.mean(x), host.mean()),
        (np.concatenate([x, x]), np.concatenate([host, host])),
        (np.where(x > 2, x, 0), np.where(host > 2, host, 0)),
        (np.transpose(x), host.T),
        (np.zeros_like(x), np.zeros_like(host)),
        (np.clip(x, 1, 3), np.clip(host, 1, 3)),
    ):
        assert type(result) is nl.ndarray
        assert_array_equal(result, expected, strict=True)
    assert np.shape(x) == (2, 3) and np.ndim(x) == 2 and np.size(x) == 6
    assert np.result_type(x, np.float32) == np.float64
    with pytest.raises(TypeError):
        np.busday_count(x, x)


def test_flags() -> None:
    x = nl.ones((2, 3))
    host = np.ones((2, 3))
    names = (
        "c_contiguous", "f_contiguous", "owndata", "writeable", "aligned", "fnc", "forc", "behaved", "carray",
        "contiguous", "fortran", "writebackifcopy",
    )  # fmt: skip
    for mine, theirs in (
        (x, host), (x.T, host.T), (x[:, ::2], host[:, ::2]), (nl.ones(3), np.ones(3)), (nl.ones(()), np.ones(())),
        (nl.broadcast_to(x, (2, 2, 3)), np.broadcast_to(host, (2, 2, 3))),
    ):  # fmt: skip
        for name in names:
            assert getattr(mine.flags, name) == getattr(theirs.flags, name), name
        for key in ("C", "F", "O", "W", "A", "X", "B", "CA", "FNC", "FORC", "C_CONTIGUOUS", "OWNDATA"):
            assert mine.flags[key] == theirs.flags[key], key
        assert repr(mine.flags) == repr(theirs.flags).rstrip("\n") + "\n"
        assert mine.flags.num == theirs.flags.num
    x.flags.writeable = False
    with pytest.raises(ValueError):
        x[0] = 1
    with pytest.raises(ValueError):
        x[0].flags.writeable = True
    x.flags["W"] = True
    x[0] = 2
    with pytest.raises(KeyError):
        x.flags["nothing"]


def test_questions() -> None:
    x = nl.ones((2, 3), "f4")
    assert nl.shape(x) == (2, 3) and nl.shape([[1], [2]]) == (2, 1)
    assert nl.ndim(x) == 2 and nl.size(x) == 6 and nl.size(x, 1) == 3
    assert nl.result_type(x, 1.0) == np.float32 and nl.result_type(x, np.float64) == np.float64
    assert nl.can_cast(x, "f8") and not nl.can_cast(x, "i4")
    assert nl.common_type(x, nl.ones(2, "i4")) is np.float64
    assert nl.min_scalar_type(200) == np.uint8 and nl.min_scalar_type(x) == np.float32
    assert nl.isscalar(3) and not nl.isscalar(x)
    assert nl.isfortran(x.T) and not nl.isfortran(x)
    assert x.to_device(x.device) is x
    assert (x.itemsize, x.nbytes, x.dtype) == (4, 24, np.float32)


def test_every_public_name_exists() -> None:
    for name in nl.__all__:
        assert hasattr(nl, name), name


def test_byteswap_and_files(tmp_path: Any) -> None:
    x = nl.asarray([[1, 2], [3, 400]], "i4")
    assert_array_equal(x.byteswap(), x.get().byteswap(), strict=True)
    y = x.copy()
    assert y.byteswap(inplace=True) is y
    assert_array_equal(y, x.get().byteswap(), strict=True)
    z = nl.asarray([1 + 2j])
    assert_array_equal(z.byteswap(), z.get().byteswap(), strict=True)
    x.tofile(tmp_path / "x")
    assert nl.fromfile(tmp_path / "x", "i4").tolist() == [1, 2, 3, 400]
