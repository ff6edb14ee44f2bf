"""CuPy's names and keywords."""

import subprocess
import sys
import textwrap

import numpy
import pytest

import numloom as np
from numloom import cupy as cp
from numloom import cupyx
from numloom.command.serve.cupy import served
from numloom.device import registry


def test_names():
    assert cp.ndarray is np.ndarray and cp.cuda.Stream is np.cuda.Stream and cp.linalg is np.linalg
    assert cp.random is not np.random and cp.add is np.add and issubclass(cp.RawKernel, np.RawKernel)
    assert cp.get_array_module(cp.arange(3)) is cp and cp.get_array_module(numpy.arange(3)) is numpy
    assert cp.is_available() == np.cuda.is_available()
    with pytest.raises(AttributeError, match="use ElementwiseKernel"):
        cp.get_elementwise_kernel
    with pytest.raises(AttributeError, match="optimize"):
        cupyx.scipy.optimize
    assert {"cuda", "RawKernel", "asnumpy", "sin"} <= set(dir(cp)) and {"sin", "cuda"} <= set(cp.__all__)


def test_keywords_of_copies():
    host = numpy.arange(6.0).reshape(2, 3)
    x = cp.asarray(host, blocking=True)
    assert cp.array(host, order=None, blocking=True).shape == (2, 3)
    assert cp.asanyarray(host, blocking=False).dtype == x.dtype
    out = numpy.empty((2, 3))
    assert x.get(stream=cp.cuda.Stream.null, out=out, blocking=True) is out and (out == host).all()
    assert x.get(order="F").flags.f_contiguous and x.T.get(order="C").flags.c_contiguous
    assert cp.asnumpy(x.T, blocking=True).flags.c_contiguous
    with pytest.raises(ValueError, match="out must be a NumPy array of shape"):
        x.get(out=numpy.empty(3))


@pytest.mark.parametrize("dtype", ["f4", "f8"])
def test_draws_take_a_dtype(dtype):
    cp.random.seed(3)
    draws = [
        cp.random.rand(100, dtype=dtype), cp.random.randn(100, dtype=dtype), cp.random.random_sample((100,), dtype),
        cp.random.random(100, dtype=dtype), cp.random.uniform(0, 1, 100, dtype=dtype),
        cp.random.normal(0, 1, 100, dtype), cp.random.standard_normal(100, dtype), cp.random.gumbel(0, 1, 100, dtype),
        cp.random.exponential(1.0, 100, dtype=dtype), cp.random.RandomState(1).lognormal(size=100, dtype=dtype),
        cp.random.standard_gamma(2.0, 100, dtype=dtype),
    ]  # fmt: skip
    assert all(x.dtype == dtype and x.shape == (100,) for x in draws)
    assert float(draws[0].min()) >= 0 and float(draws[0].max()) < 1
    cp.random.seed(3)
    assert (cp.random.rand(100, dtype=dtype) == draws[0]).all()
    with pytest.raises(TypeError, match="float32 or float64"):
        cp.random.rand(3, dtype="i4")
    assert cp.random.poisson(4.0, 10, "i4").dtype == "i4"
    assert cp.random.randint(0, 5, 10, dtype="i2").dtype == "i2"
    assert cp.random.Generator(cp.random.XORWOW(1)).random(3).shape == (3,)


def test_draws_share_the_stream_of_numloom():
    cp.random.seed(5)
    first = cp.random.rand(4)
    np.random.seed(5)
    assert (np.random.rand(4) == first).all()


def test_members():
    x = cp.arange(4.0)
    before = type(np.arange(3).device)
    with cp.members():
        assert x.data.ptr > 0 and x.data.mem.size >= x.nbytes and x[1:].data.ptr == x.data.ptr + 8
        assert x.device == cp.cuda.Device()
        x.set(numpy.array([4.0, 3, 2, 1]))
        x.scatter_add(cp.array([0, 0]), 1)
        with pytest.raises(ValueError, match="set takes"):
            x.set(numpy.zeros(3))
    assert type(x.device) is before and not hasattr(x, "set")
    assert x.tolist() == [6, 3, 2, 1]


def test_memoize():
    calls = []

    @cp.memoize(for_each_device=True)
    def f(n, m=0):
        calls.append(n)
        return n + m

    assert f(1) == f(1) == 1 and f(1, m=2) == 3 and calls == [1, 1]
    cp.clear_memo()
    assert f(1) == 1 and len(calls) == 3


def test_cupyx():
    x = cp.zeros(4)
    cupyx.scatter_add(x, cp.array([1, 1, 3]), cp.array([1.0, 2, 3]))
    cupyx.scatter_max(x, cp.array([0]), 5)
    cupyx.scatter_min(x, cp.array([3]), -1)
    assert x.tolist() == [5, 3, 0, -1]
    assert cupyx.rsqrt(cp.array([4, 16])).tolist() == [0.5, 0.25]
    pinned = cupyx.zeros_pinned((3, 2), "f4", order="F")
    assert isinstance(pinned, numpy.ndarray) and pinned.flags.f_contiguous and not pinned.any()
    assert cupyx.empty_like_pinned(pinned).shape == (3, 2) and cupyx.zeros_like_pinned(pinned).sum() == 0
    with cupyx.errstate(linalg="raise"):
        assert cupyx.geterr()["linalg"] == "raise"
    with pytest.raises(NotImplementedError, match="raises LinAlgError"):
        cupyx.seterr(linalg="ignore")
    assert cupyx.time.repeat is cupyx.profiler.benchmark
    with cupyx.profiler.profile():
        pass


def test_scipys_names():
    x = cp.arange(8.0)
    numpy.testing.assert_allclose(cupyx.scipy.special.erf(x).get()[0], 0)
    numpy.testing.assert_allclose(cupyx.scipy.fft.fft(x).get(), numpy.fft.fft(numpy.arange(8.0)), atol=1e-12)
    numpy.testing.assert_allclose(cupyx.scipy.fft.idct(cupyx.scipy.fft.dct(x)).get(), x.get(), atol=1e-12)
    assert cupyx.scipy.linalg.tril(cp.ones((2, 2))).tolist() == [[1, 0], [1, 1]]
    assert cupyx.scipy.get_array_module(x) is cp


def test_sparse_names():
    from numloom.cupyx.scipy.sparse.linalg import cg

    from numloom.cupyx.scipy.sparse import csr_matrix

    assert cupyx.scipy.sparse is cp.sparse is np.sparse and cg is np.sparse.linalg.cg
    assert served("cupyx.scipy.sparse.linalg") is np.sparse.linalg
    A = csr_matrix(cp.asarray([[2.0, 0], [0, 4]]))
    assert (A @ cp.ones(2)).tolist() == [2, 4] and cg(A, cp.ones(2))[0].tolist() == [0.5, 0.25]


@cp.testing.for_all_dtypes(no_complex=True, no_bool=True)
@cp.testing.numpy_cupy_allclose(rtol=1e-3)
def test_the_decorators_compare(xp, dtype):
    return cp.testing.shaped_arange((2, 3), xp, dtype).sum(axis=0)


@cp.testing.numpy_cupy_array_equal()
def test_random_shapes_are_the_same(xp):
    return cp.testing.shaped_random((3, 2), xp, xp.float64)


def test_the_decorators_see_what_differs():
    @cp.testing.numpy_cupy_array_equal()
    def differs(xp):
        return xp.arange(3) + (xp is numpy)

    with pytest.raises(AssertionError):
        differs()


def test_served_names():
    assert served("cupy.cuda.stream").Stream is np.cuda.Stream and served("cupyx.scipy.linalg").svd is np.linalg.svd
    with pytest.raises(ModuleNotFoundError, match=r"No module named 'cupyx\.scipy\.optimize'"):
        served("cupyx.scipy.optimize")


def test_only_the_program_is_served(tmp_path):
    (tmp_path / "helping.py").write_text("import cupy\nassert cupy.__name__ == 'numloom.cupy'\n")
    (tmp_path / "program.py").write_text(
        textwrap.dedent("""
        import sys
        import numpy as np
        import helping
        import cupy, cupy.cuda.runtime, cupyx.scipy.special
        from cupy.cuda import Device, memory_hooks
        from cupyx import scatter_add
        assert np.__name__ == "numpy" and type(np.arange(3)) is np.ndarray
        assert "cupy" not in sys.modules
        assert cupy.arange(3).device.id == Device().id == cupy.cuda.runtime.getDevice()
        with memory_hooks.LineProfileHook():
            x = cupy.ones(3) + 1
        print(sys.argv[1:], float(x.sum()))
        try:
            import cupyx.scipy.optimize
        except ImportError as error:
            print(error.name)
        raise SystemExit(3)
        """)
    )
    device = "cuda" if registry.current().discrete else "cpu"
    done = subprocess.run(
        [sys.executable, "-m", "numloom", "run", "--cupy", "--device", device, str(tmp_path / "program.py"), "a"],
        capture_output=True, text=True, timeout=120,
    )  # fmt: skip
    assert done.returncode == 3, done.stderr
    assert done.stdout == "['a'] 6.0\ncupyx.scipy.optimize\n"


def test_runners_give_what_decorators_do_not():
    import inspect

    @cp.testing.for_dtypes(["f4", "f8"])
    @cp.testing.numpy_cupy_allclose()
    def test_it(xp, dtype, shape, *, axis=0):
        return xp.ones(shape, dtype).sum(axis)

    assert str(inspect.signature(test_it)) == "(shape, *, axis=0)"
    test_it(shape=(2, 3), axis=1)
