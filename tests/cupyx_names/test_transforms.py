"""``cupyx.scipy.fft`` and ``fftpack``: SciPy's numbers and dtypes, and plans that are held against the arrays."""

import numpy as np
import pytest

import numloom as nl
from numloom.cupyx.scipy import fft, fftpack
from numloom.device import registry

older = pytest.importorskip("scipy.fftpack")
newer = pytest.importorskip("scipy.fft")
TOLERANCE = {"e": 2e-5, "f": 2e-5, "F": 2e-5}


def numbers(shape, dtype):
    rng = np.random.default_rng(len(shape) + sum(shape))
    values = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        return (values + 1j * rng.standard_normal(shape)).astype(dtype)
    return (9 * values).astype(dtype)


def same(ours, theirs, host):
    assert isinstance(ours, nl.ndarray)
    assert ours.dtype == theirs.dtype and ours.shape == theirs.shape
    scale = max(1.0, float(np.abs(theirs).max(initial=0)))
    np.testing.assert_allclose(ours.get(), theirs, atol=scale * TOLERANCE.get(host.dtype.char, 1e-12), rtol=0)


@pytest.mark.parametrize("dtype", ["e", "f", "d", "i4"])
@pytest.mark.parametrize("name", ["rfft", "irfft"])
@pytest.mark.parametrize("shape", [(1,), (2,), (5,), (6,), (3, 4), (4, 5, 2)])
@pytest.mark.parametrize("n", [None, 1, 2, 4, 7])
def test_real_layout(name, dtype, shape, n):
    host = numbers(shape, dtype)
    for axis in range(-1, len(shape) - 1):
        theirs = getattr(older, name)(host, n=n, axis=axis)
        same(getattr(fftpack, name)(nl.array(host), n=n, axis=axis), theirs, host)


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D", "i8"])
def test_older_names(dtype):
    host = numbers((4, 6), dtype)
    x = nl.array(host)
    for name in ("fft", "ifft"):
        for options in ({}, {"n": 5}, {"n": 7, "axis": 0}, {"overwrite_x": True}):
            same(getattr(fftpack, name)(x, **options), getattr(older, name)(host.copy(), **options), host)
    for name in ("fft2", "ifft2", "fftn", "ifftn"):
        for options in ({}, {"shape": (3, 8)}, {"axes": (1, 0)}, {"shape": (3, 5), "axes": (1, 0)}):
            same(getattr(fftpack, name)(x, **options), getattr(older, name)(host, **options), host)


@pytest.mark.parametrize("name", ["hfft2", "hfftn", "ihfft2", "ihfftn"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward"])
def test_hermitian(name, norm):
    host = numbers((4, 5), "d" if name.startswith("i") else "D")
    same(getattr(fft, name)(nl.array(host), norm=norm), getattr(newer, name)(host, norm=norm), host)


def test_complex_numbers_have_no_real_layout():
    for function in (fftpack.rfft, fftpack.irfft):
        with pytest.raises(TypeError, match="complex128"):
            function(nl.ones(4, "D"))


def test_real_layout_without_length():
    for name in ("rfft", "irfft"):
        empty = numbers((0, 4), "d")
        same(getattr(fftpack, name)(nl.array(empty)), getattr(older, name)(empty), empty)
        for shape, n in (((0,), None), ((3,), 0), ((3,), -2), ((3, 0), None)):
            with pytest.raises(ValueError, match="invalid number"):
                getattr(older, name)(np.ones(shape), n)
            with pytest.raises(ValueError, match=r"length|data points|positive"):
                getattr(fftpack, name)(nl.ones(shape), n)


def test_real_layout_without_number():
    if registry.current().name == "cuda":
        pytest.skip("which numbers of such a transform are finite is the library's own")
    host = np.array([1.0, np.inf, 2.0, 3.0, np.nan, 1.0])
    for name in ("rfft", "irfft"):
        for stop in (4, 6):
            theirs = np.isfinite(getattr(older, name)(host[:stop]))
            assert np.array_equal(nl.isfinite(getattr(fftpack, name)(nl.array(host[:stop]))).get(), theirs)


PLANS = [
    ("fft", (4, 6), "D", {}, {"axes": 1}),
    ("ifft", (4, 6), "F", {"axis": 0}, {"axes": 0}),
    ("fft", (4, 6), "d", {"n": 9}, {"axes": -1, "shape": 9}),
    ("fftn", (4, 6), "D", {}, {}),
    ("fft2", (2, 4, 6), "D", {}, {"axes": (1, 2)}),
    ("rfft", (4, 6), "f", {}, {"axes": (1,), "value_type": "R2C"}),
    ("rfftn", (4, 6), "d", {}, {"value_type": "R2C"}),
    ("irfft", (4, 6), "D", {}, {"axes": 1, "value_type": "C2R"}),
    ("irfft", (4, 6), "D", {"n": 11}, {"axes": 1, "shape": 11, "value_type": "C2R"}),
    ("irfft2", (2, 4, 6), "D", {"s": (4, 9)}, {"shape": (4, 9), "axes": (-2, -1), "value_type": "C2R"}),
    ("hfft", (6,), "D", {}, {"value_type": "C2R"}),
    ("ihfft", (6,), "d", {}, {"value_type": "R2C"}),
]


@pytest.mark.parametrize(("name", "shape", "dtype", "options", "planned"), PLANS)
def test_plans(name, shape, dtype, options, planned):
    host = numbers(shape, dtype)
    x = nl.array(host)
    theirs = getattr(newer, name)(host, **options)
    plan = fft.get_fft_plan(x, **planned)
    same(getattr(fft, name)(x, plan=plan, **options), theirs, host)
    with plan as entered:
        assert entered is plan
        same(getattr(fft, name)(x, **options), theirs, host)
        with pytest.raises(RuntimeError, match="with block"):
            getattr(fft, name)(x, plan=plan, **options)
        with pytest.raises(ValueError, match="do not match"):
            getattr(fft, name)(nl.concatenate([x, x]), **options)
    same(getattr(fft, name)(nl.concatenate([x, x]), **options),
         getattr(newer, name)(np.concatenate([host, host]), **options), host)  # fmt: skip


def test_a_plan_of_another_precision_or_kind_is_refused():
    x = nl.ones(8, "D")
    for other in (fft.get_fft_plan(nl.ones(8, "F")), fft.get_fft_plan(x, value_type="C2R"), fft.get_fft_plan(x, 9)):
        with pytest.raises(ValueError, match="do not match"):
            fft.fft(x, plan=other)
        with pytest.raises(ValueError, match="do not match"):
            fftpack.fft(x, plan=other)
    with pytest.raises(TypeError, match="get_fft_plan"):
        fft.fft(x, plan=3)


def test_a_plan_leaves_its_block_after_an_error():
    with pytest.raises(ZeroDivisionError), fft.get_fft_plan(nl.ones(3)):
        raise ZeroDivisionError
    assert fft.fft(nl.ones(5)).shape == (5,)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"value_type": "R2R"}, "R2R"),
        ({"axes": 2}, "2 dimensions"),
        ({"axes": (0, 1), "shape": (3,)}, "1 lengths"),
        ({"axes": ()}, "not 0"),
    ],
)
def test_no_such_plan(options, said):
    with pytest.raises(ValueError, match=said):
        fft.get_fft_plan(nl.ones((2, 3)), **options)
    with pytest.raises(ValueError, match="not 4"):
        fft.get_fft_plan(nl.ones((1, 2, 3, 4)))


def test_next_fast_len():
    smooth = sorted(2**a * 3**b * 5**c * 7**d for a in range(12) for b in range(8) for c in range(5) for d in range(4))
    for target in (1, 2, 11, 13, 97, 121, 1021, 1999):
        assert fft.next_fast_len(target) == next(n for n in smooth if n >= target)
    assert fft.next_fast_len(0) == 0
    with pytest.raises(ValueError, match="-1"):
        fft.next_fast_len(-1)


REAL = ("dct", "idct", "dst", "idst")


@pytest.mark.parametrize("dtype", ["?", "i2", "e", "f", "d", "F", "D"])
@pytest.mark.parametrize("norm", [None, "ortho", "forward", "backward"])
@pytest.mark.parametrize("type", [1, 2, 3, 4])
@pytest.mark.parametrize("name", REAL)
def test_real_transforms_of_every_type(name, type, norm, dtype):
    """CuPy has types 2 and 3 alone; ours are SciPy's, in any layout."""
    whole = numbers((7, 12), dtype)
    for host in (whole, whole[::-2, 1:10:3], whole.T, np.asfortranarray(whole), np.broadcast_to(whole[0], (3, 12))):
        x = nl.asarray(whole)
        if host.shape == (4, 3):
            x = x[::-2, 1:10:3]
        elif host.shape == (12, 7):
            x = x.T
        elif host.shape == (3, 12):
            x = nl.broadcast_to(x[0], (3, 12))
        for options in ({}, {"axis": 0}, {"n": 5}, {"n": 16, "axis": 0}, {"orthogonalize": norm != "ortho"}):
            for overwrite_x in (False, True):
                options |= {"type": type, "norm": norm, "overwrite_x": overwrite_x}
                theirs = getattr(newer, name)(host.copy(), **options)
                same(getattr(fft, name)(x, **options), theirs, host)
        np.testing.assert_array_equal(x.get(), host)


@pytest.mark.parametrize("type", [1, 4])
@pytest.mark.parametrize("name", ["dctn", "idctn", "dstn", "idstn"])
def test_real_transforms_of_several_axes(name, type):
    host = numbers((3, 4, 5), "d")
    x = nl.array(host)
    for options in ({}, {"axes": (2, 0)}, {"s": (6, 2)}, {"s": (-1, 7), "axes": (0, 1)}, {"s": -1}, {"norm": "ortho"}):
        same(getattr(fft, name)(x, type, **options), getattr(newer, name)(host, type, **options), host)


def test_a_length_of_minus_one_keeps_an_axis():
    host = numbers((3, 4), "D")
    x = nl.array(host)
    for name in ("fftn", "ifftn", "irfftn", "hfftn", "dctn"):
        for options in ({"s": (-1, -1)}, {"s": (-1, 3)}, {"s": -1}, {"s": (5, -1), "axes": (1, 0)}):
            same(getattr(fft, name)(x, **options), getattr(newer, name)(host, **options), host)
        for lengths, words in (((-2, 3), "data points"), ((0, 5), "data points"), ((1.5, 2.5), "iterable of integers"),
                               ((1, 2, 3), "more axes than are present")):  # fmt: skip
            with pytest.raises(ValueError, match=words):
                getattr(fft, name)(x, s=lengths)
    for name in ("fft", "dct"):
        with pytest.raises(ValueError, match="data points"):
            getattr(fft, name)(x, n=-1)
