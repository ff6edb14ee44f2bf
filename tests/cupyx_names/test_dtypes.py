"""Functions of ``cupyx.scipy.special`` have the dtypes of SciPy's loops."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

import numloom as nl
from numloom.cupyx.scipy import special as ours
from numloom.cupyx.scipy.loops import Typed, typed
from numloom.special.functions import FUNCTIONS

scipys = pytest.importorskip("scipy.special")

_DTYPES = ("?", "i1", "u2", "i4", "u8", "f2", "f4", "f8")
_ELEMENTWISE = sorted(name for name in FUNCTIONS if isinstance(getattr(scipys, name, None), np.ufunc))


@pytest.mark.parametrize("name", _ELEMENTWISE)
@pytest.mark.filterwarnings("ignore")
def test_elementwise_functions(name: str) -> None:
    function = getattr(ours, name)
    assert isinstance(function, Typed) and function.types == getattr(scipys, name).types
    for dtype in _DTYPES:
        for last in ("f4", "f8", dtype):
            kinds = (*[dtype] * (function.nin - 1), last)
            expected = getattr(scipys, name)(*(np.ones(1, kind) for kind in kinds)).dtype
            assert function(*(nl.ones(1, kind) for kind in kinds)).dtype == expected, kinds


@pytest.mark.parametrize("name", ["cbrt", "exp2", "log_softmax", "logsumexp", "sinc", "softmax", "zeta"])
def test_functions_of_one_array(name: str) -> None:
    for dtype in _DTYPES[name == "softmax" or name == "log_softmax" :]:
        x = np.array([1, 1, 2], dtype) if dtype == "?" else np.array([2, 3, 5], dtype)
        expected = getattr(scipys, name)(x)
        found = getattr(ours, name)(nl.asarray(x))
        assert found.dtype == expected.dtype, dtype
        if "softmax" in name and np.dtype(dtype).kind == "u":
            expected = getattr(scipys, name)(x.astype("f8"))  # SciPy's own differences wrap around.
        np.testing.assert_allclose(found.get(), expected, rtol={"e": 4e-3, "f": 1e-5}.get(found.dtype.char, 1e-12))


def test_functions_of_whole_numbers_and_arrays() -> None:
    for dtype in _DTYPES:
        x = nl.asarray(np.array([3, 4], "f8").astype(dtype))
        for n in (0, 2, np.float32(1), np.array([1, 2], "i4")):
            expected = scipys.polygamma(n, x.get())
            found = ours.polygamma(n, x)
            assert found.dtype == expected.dtype, (dtype, n)
            np.testing.assert_allclose(found.get(), expected, rtol=1e-6)
    found = ours.multigammaln(nl.asarray(np.array([3, 4], "f4")), 2)
    np.testing.assert_allclose(found.get(), scipys.multigammaln(np.array([3.0, 4.0]), 2), rtol=1e-13)
    assert ours.zeta(nl.ones(2, "f4") * 2, nl.ones(2, "f4")).dtype == np.float32


def test_numbers_count_as_they_do_beside_numpys_arrays() -> None:
    for name, args in (
        ("huber", (np.ones(2, "f4"), 2.0)), ("huber", (1, np.ones(2, "i1"))), ("beta", (np.ones(2, "f4"), 2)),
        ("yn", (1, np.ones(2, "f4"))), ("yn", (True, np.ones(2, "f4"))), ("huber", (np.float32(1), np.float16(2))),
        ("erf", (0.5,)), ("gamma", (3,)),
    ):  # fmt: skip
        mine = [nl.asarray(each) if isinstance(each, np.ndarray) else each for each in args]
        expected = getattr(scipys, name)(*args)
        found = getattr(ours, name)(*mine)
        assert found.dtype == expected.dtype, (name, args)
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6)


def test_numbers_of_eight_bits_more_than_numpys_are_held_in_float32() -> None:
    bfloat = pytest.importorskip("ml_dtypes").bfloat16
    assert ours.erf(nl.ones(2, bfloat)).dtype == ours.huber(nl.ones(2, bfloat), nl.ones(2, "f4")).dtype == np.float32


def test_complex_numbers_are_scipys() -> None:
    z = np.array([0.5 + 1j, 2 - 0.25j], "c8")
    rows = np.array([[1, 2 + 1j], [3j, 4]])
    for name, args in (("gamma", (z,)), ("psi", (z,)), ("xlogy", (z, z)), ("jv", (1.0, z)), ("softmax", (rows, 1)),
                       ("log_softmax", (rows,)), ("logsumexp", (rows, 0)), ("zeta", (z,))):  # fmt: skip
        expected = getattr(scipys, name)(*args)
        found = getattr(ours, name)(*(nl.asarray(each) if isinstance(each, np.ndarray) else each for each in args))
        assert found.dtype == expected.dtype, name
        np.testing.assert_allclose(found.get(), expected, rtol=1e-6)
    out = nl.zeros(2, "c8")
    assert ours.gamma(nl.asarray(z), out=out) is out
    np.testing.assert_allclose(out.get(), scipys.gamma(z), rtol=1e-6)
    with pytest.raises(TypeError, match="input types"):
        ours.erfinv(nl.asarray(z))


def test_outputs_masks_and_pickles() -> None:
    x = nl.arange(4, dtype="i4")
    out = nl.zeros(4, "f4")
    assert ours.erf(x, out) is out and out.tolist() == pytest.approx(scipys.erf(np.arange(4)).tolist(), rel=1e-6)
    masked = ours.gammaln(x + 3, where=x > 1)
    assert masked.dtype == np.float64 and masked[:2].tolist() == [0, 0] and masked[2] > 0
    assert ours.erf(nl.ones(1), dtype="f4").dtype == np.float32
    assert pickle.loads(pickle.dumps(ours.erf)) is ours.erf is typed("erf") and ours.digamma is ours.psi
    with pytest.raises(TypeError, match="takes 2 positional arguments but 1 were given"):
        ours.beta(1.0)
