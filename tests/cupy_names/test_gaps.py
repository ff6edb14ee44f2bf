"""What CuPy's programs ask for beside NumPy's names: keywords, former names, cublas, pools, headers, attributes."""

import io
import pickle

import numpy
import pytest

import numloom as np
from numloom import cupy as cp


def same(found, expected, rtol=1e-12):
    numpy.testing.assert_allclose(cp.asnumpy(found), expected, rtol=rtol, atol=1e-12)


# ---------------------------------------------------------------- keywords


def test_functions_take_cupys_names_and_numpys():
    a = numpy.arange(6.0).reshape(2, 3)
    x = cp.asarray(a)
    same(cp.concatenate(tup=[x, x], axis=1), numpy.concatenate([a, a], axis=1))
    same(cp.stack(tup=(x, x)), numpy.stack((a, a)))
    same(cp.flip(a=x, axis=1), a[:, ::-1])
    same(cp.flip(m=x, axis=1), a[:, ::-1])
    same(cp.reshape(a=x, newshape=(3, 2)), a.reshape(3, 2))
    same(cp.where(condition=x > 2, x=x, y=0.0), numpy.where(a > 2, a, 0))
    same(cp.delete(x, indices=[0], axis=1), numpy.delete(a, [0], axis=1))
    same(cp.inner(a=x, b=x), numpy.inner(a, a))
    same(cp.cov(a=x), numpy.cov(a))
    same(cp.corrcoef(x, bias=True), numpy.corrcoef(a))
    same(cp.percentile(x, 30, interpolation="lower"), numpy.percentile(a, 30, method="lower"))
    same(cp.quantile(x, q=0.3, axis=1), numpy.quantile(a, 0.3, axis=1))
    same(cp.unravel_index(cp.array([4]), dims=(2, 3))[1], [1])
    with pytest.raises(TypeError):
        cp.flip(b=x)


def test_functions_have_cupys_order():
    x, y = numpy.array([0.1, 0.6, 0.7]), numpy.array([0.2, 0.3, 0.9])
    w = numpy.array([1.0, 2, 4])
    found = cp.histogram2d(cp.asarray(x), cp.asarray(y), 2, [[0, 1], [0, 1]], cp.asarray(w), True)
    expected = numpy.histogram2d(x, y, 2, [[0, 1], [0, 1]], weights=w, density=True)
    for one, other in zip(found, expected, strict=True):
        same(one, other)
    bits = numpy.array([[7], [8]], "u1")
    same(cp.unpackbits(cp.asarray(bits), 1, "little"), numpy.unpackbits(bits, axis=1, bitorder="little"))
    with pytest.raises(TypeError, match="at most 3 arguments by place"):
        cp.unpackbits(cp.asarray(bits), 1, "little", 3)
    a = numpy.array([[1.0, 5], [7, 2]])
    position = cp.argmax(cp.asarray(a), 1, "i4", None, True)
    assert position.dtype == "i4" and position.tolist() == [[1], [0]]
    out = cp.zeros(2, "i8")
    assert cp.argmin(cp.asarray(a), axis=0, out=out) is out and out.tolist() == [0, 1]


def test_names_that_numpy_had():
    assert cp.Inf == cp.infty == cp.PINF == numpy.inf and numpy.inf == -cp.NINF and cp.NaN != cp.NaN
    assert cp.float_ is numpy.float64 and cp.cfloat is cp.complex_ is numpy.complex128
    a = numpy.array([[3.0, 1], [2, 5]])
    x = cp.asarray(a)
    same(cp.in1d(x, [1.0, 5.0], invert=True), numpy.isin(a.ravel(), [1, 5], invert=True))
    same(cp.msort(x), numpy.sort(a, axis=0))
    same(cp.product(x), 30)
    same(cp.round_(x / 3, 2), numpy.round(a / 3, 2))
    same(cp.trapz(x[0]), numpy.trapezoid(a[0]))
    assert bool(cp.alltrue(x)) and bool(cp.sometrue(x)) and cp.asfarray([1, 2]).dtype == float
    assert cp.asfarray([1], "f4").dtype == "f4" and cp.asfarray([1], int).dtype == float
    assert cp.issubclass_(cp.int8, cp.integer) and not cp.issubclass_(1, int)
    assert cp.issubsctype("i4", cp.integer) and cp.issctype(cp.float32) and not cp.issctype(3.0)
    assert cp.obj2sctype(x) is numpy.float64 and cp.obj2sctype("no such", 7) == 7 and cp.sctype2char("f4") == "f"
    with pytest.raises(cp.AxisError):
        cp.sum(x, axis=4)


def test_polynomials_go_to_numpy_and_back():
    p = cp.poly1d([2.0, 0, 1], variable="z")
    host = p.get()
    assert type(host) is numpy.poly1d and host == numpy.poly1d([2, 0, 1]) and host.variable == "z"
    q = cp.poly1d([1.0])
    q.set(host, stream=cp.cuda.Stream.null)
    assert q == p and q.variable == "z" and float(q(2.0)) == 9


def test_dlpack_by_capsules():
    x = cp.arange(6.0).reshape(2, 3)
    with cp.members():
        y = cp.fromDlpack(x.toDlpack())
        z = cp.fromDlpack(x[:, ::2].toDlpack())
    y += 1
    same(x, numpy.arange(1.0, 7).reshape(2, 3))
    z[...] = 0
    same(y, [[0, 2, 0], [0, 5, 0]])


def test_module_of_sparse_matrices():
    sparse = cp.sparse.csr_matrix(cp.eye(2))
    assert cp.get_array_module(sparse) is cp and cp.get_array_module([1.0]) is numpy


# ---------------------------------------------------------------- cublas


@pytest.mark.parametrize("dtype", ["f", "d", "F", "D"])
def test_cublas(dtype):
    rng = numpy.random.RandomState(2)

    def drawn(*shape):
        made = rng.normal(size=shape)
        return (made + 1j * rng.normal(size=shape) if dtype in "FD" else made).astype(dtype)

    rtol = 1e-4 if dtype in "fF" else 1e-11
    a, b, c, x, y = drawn(3, 4), drawn(4, 5), drawn(3, 5), drawn(4), drawn(3)
    blas = cp.cublas
    A, B = cp.asarray(a), cp.asarray(b)
    for found, expected in (
        (blas.gemm("N", "N", A, B), a @ b),
        (blas.gemm("H", "N", A, A, alpha=2), 2 * a.conj().T @ a),
        (blas.gemm("N", "N", A, B, out=cp.asarray(c), alpha=2, beta=3), 2 * a @ b + 3 * c),
        (blas.geam("N", "T", 2, A, -1, cp.asarray(a.T.copy())), a),
        (blas.dgmm("L", A, cp.asarray(y)), y[:, None] * a),
        (blas.dgmm("R", A, cp.asarray(x)), a * x),
        (blas.nrm2(cp.asarray(x)), numpy.linalg.norm(x)),
        (blas.asum(cp.asarray(x)), (abs(x.real) + abs(x.imag)).sum()),
        (blas.dotu(cp.asarray(x), cp.asarray(x)), (x * x).sum()),
        (blas.dotc(cp.asarray(x), A[0]), (x.conj() * a[0]).sum()),
        (blas.batched_gesv(cp.asarray(a[:, :3]), cp.asarray(y)), numpy.linalg.solve(a[:, :3], y)),
    ):
        assert found.dtype == numpy.asarray(expected).dtype or found.dtype.kind == "f"
        numpy.testing.assert_allclose(found.get(), expected, rtol=rtol, atol=rtol)
    Y = cp.asarray(y)
    blas.gemv("N", 2, A, cp.asarray(x), 3, Y)
    numpy.testing.assert_allclose(Y.get(), 2 * a @ x + 3 * y, rtol=rtol, atol=rtol)
    blas.gerc(2, cp.asarray(y), cp.asarray(x), A)
    numpy.testing.assert_allclose(A.get(), a + 2 * numpy.outer(y, x.conj()), rtol=rtol, atol=rtol)
    X = cp.asarray(x)
    blas.scal(3, X)
    blas.axpy(2, cp.asarray(x), X)
    numpy.testing.assert_allclose(X.get(), 5 * x, rtol=rtol)
    parts = abs(x.real) + abs(x.imag)
    assert int(blas.iamax(cp.asarray(x))) == parts.argmax() + 1 and int(blas.iamin(cp.asarray(x))) == parts.argmin() + 1
    before = drawn(3, 3)
    found = blas.syrk("N", cp.asarray(a), out=cp.asarray(before), alpha=2, beta=3, lower=True)
    whole = 2 * a @ a.T + 3 * before
    expected = numpy.tril(whole) + numpy.triu(before, 1)
    numpy.testing.assert_allclose(found.get(), expected, rtol=rtol, atol=rtol)
    with pytest.raises(TypeError, match="'N', 'T' or 'H'"):
        blas.gemm("X", "N", A, B)
    with pytest.raises(TypeError, match="BLAS takes arrays of 1 axes"):
        blas.nrm2(A)


# ---------------------------------------------------------------- random


def test_states():
    state = cp.random.RandomState(4, method=100)
    before = cp.random.get_random_state()
    cp.random.set_random_state(state)
    try:
        assert cp.random.get_random_state() is state
        first = cp.random.rand(3)
        assert (np.random.rand(3) == state.random_sample(3)).sum() == 0
        state.seed(4)
        assert (first == cp.random.random(3)).all()
        with pytest.raises(TypeError, match="is a RandomState"):
            cp.random.set_random_state(3)
        cp.random.reset_states()
        assert cp.random.get_random_state() is not state
    finally:
        cp.random.set_random_state(before)
    np.random.set_bit_generator(np.random.Philox(4))
    assert (cp.random.get_random_state().rand(3) == first).all()
    assert (cp.random.RandomState(2**33).rand(2) != cp.random.RandomState(2**34).rand(2)).all()
    assert cp.random.dirichlet([1.0, 2.0], 3, dtype="f4").dtype == "f4"
    again = pickle.loads(pickle.dumps(cp.random.RandomState(3)))
    assert (again.rand(3) == cp.random.RandomState(3).rand(3)).all()


def test_generators_by_name():
    for kind in (cp.random.XORWOW, cp.random.MRG32k3a, cp.random.Philox4x3210):
        assert issubclass(kind, cp.random.BitGenerator)
        rng = cp.random.Generator(kind(5, size=1000))
        assert (rng.random(3) == np.random.default_rng(5).random(3)).all()
        assert rng.beta(1.0, 2.0, 3, dtype="f4").dtype == "f4" and rng.uniform(size=3, dtype="f4").dtype == "f4"
    rng = cp.random.default_rng(rng)
    assert isinstance(rng, cp.random.Generator) and cp.random.default_rng(rng) is rng


# ---------------------------------------------------------------- fft


def test_settings_of_transforms():
    config = cp.fft.config
    cache = config.get_plan_cache()
    before = cache.get_size()
    config.set_plan_cache_size(3)
    assert config.get_plan_cache_size() == 3 and config.get_plan_cache_max_memsize() == -1
    config.clear_plan_cache()
    assert cache.get_curr_memsize() == 0
    with pytest.raises(ValueError, match="-1 for none"):
        cache.set_size(-2)
    config.set_plan_cache_size(before)
    same(cp.fft.ifft(cp.fft.fft(cp.arange(8.0))).real, numpy.arange(8.0))


# ---------------------------------------------------------------- kernels

SQUARES = r"""
#include <cupy/complex.cuh>
template <typename T> __global__ void squares(const complex<T>* x, complex<T>* y, T scale, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = scale * x[i] * x[i] / complex<T>(0, 2) + conj(sqrt(exp(x[i]))) - 1 + pow(x[i], 2);
}
"""


@pytest.mark.parametrize(("dtype", "name", "rtol"), [("F", "float", 1e-5), ("D", "double", 1e-13)])
def test_complex_numbers_in_kernels(dtype, name, rtol):
    rng = numpy.random.RandomState(1)
    x = (rng.normal(size=100) + 1j * rng.normal(size=100)).astype(dtype)
    y = cp.zeros(100, dtype)
    module = cp.RawModule(code=SQUARES, name_expressions=[f"squares<{name}>"], options=("-std=c++14",))
    kernel = module.get_function(f"squares<{name}>")
    kernel((1,), (128,), (cp.asarray(x), y, 1.5, 100))
    z = x.astype("D")
    expected = 1.5 * z * z / 2j + numpy.sqrt(numpy.exp(z)).conj() - 1 + z**2
    numpy.testing.assert_allclose(y.get(), expected, rtol=rtol, atol=rtol)
    assert kernel.code == module.code == SQUARES and "-std=c++14" in kernel.options


def test_attributes_of_kernels(tmp_path):
    text = 'extern "C" __global__ void two(int* x) { *x = 2; }'
    file = tmp_path / "two.cu"
    file.write_text(text)
    kernel = cp.RawKernel(text, "two", (), "nvcc")
    assert kernel.code == text and kernel.file_path is None and kernel.backend == "nvrtc" and kernel.options == ()
    assert not kernel.enable_cooperative_groups and kernel.max_threads_per_block >= 1
    module = cp.RawModule(path=str(file))
    assert module.file_path == str(file) and module.code is None and module.backend == "nvrtc"
    for each in (kernel, module.get_function("two"), pickle.loads(pickle.dumps(kernel))):
        x = cp.zeros(1, "i4")
        each((1,), (1,), (x,), stream=cp.cuda.Stream.null, shared_mem=16)
        assert x.tolist() == [2]
    with pytest.raises(cp.cuda.compiler.CompileException) as wrong:
        cp.RawKernel('extern "C" __global__ void f() { nothing; }', "f").compile()
    written = io.StringIO()
    wrong.value.dump(written)
    assert "nothing" in wrong.value.get_message() and "1 extern" in written.getvalue()
    loop = cp.ElementwiseKernel("T x", "T y", "y = x", "same")
    assert loop.kernel_name == "same" and [one.name for one in loop.params] == ["x", "y"]


READ = """
extern "C" __global__ void read(float* out, cudaTextureObject_t texture, int width)
{
    out[threadIdx.y * width + threadIdx.x] = tex2D<float>(texture, threadIdx.x + 0.5f, threadIdx.y + 0.5f);
}"""


def test_textures_by_the_names_of_the_runtime():
    from numloom.cupy.cuda import runtime, texture

    image = cp.arange(12, dtype="f4").reshape(3, 4)
    array = texture.CUDAarray(texture.ChannelFormatDescriptor(32, 0, 0, 0, runtime.cudaChannelFormatKindFloat), 4, 3)
    array.copy_from(image)
    source = texture.ResourceDescriptor(runtime.cudaResourceTypeArray, cuArr=array)
    how = texture.TextureDescriptor(
        (runtime.cudaAddressModeClamp,) * 2, runtime.cudaFilterModePoint, runtime.cudaReadModeElementType
    )
    out = cp.zeros_like(image)
    cp.RawKernel(READ, "read")((1,), (4, 3), (out, texture.TextureObject(source, how), 4))
    assert (out == image).all()


# ---------------------------------------------------------------- cuda


def test_memory_of_all_kinds():
    for kind in (cp.cuda.Memory, cp.cuda.ManagedMemory, lambda size: cp.cuda.MemoryAsync(size, cp.cuda.Stream.null)):
        memory = kind(80)
        assert isinstance(memory, cp.cuda.BaseMemory) and memory.size == 80 and int(memory) == memory.ptr > 0
        x = np.ndarray((10,), "f8", cp.cuda.MemoryPointer(memory, 0))
        x[...] = 3
        assert float(x.sum()) == 30 and memory.device == cp.cuda.Device()
    assert cp.cuda.ManagedMemory(0).size == 0
    pinned = cp.cuda.PinnedMemory(64)
    assert pinned.size == 64 and pinned.ptr > 0
    assert cp.cuda.memory.OutOfMemoryError is np.OutOfMemoryError


def test_runtime():
    runtime = cp.cuda.runtime
    address = runtime.malloc(32)
    runtime.memset(address, 0, 32)
    other = runtime.mallocManaged(32)
    runtime.memcpyPeer(other, 0, address, 0, 32)
    x = np.ndarray((4,), "f8", cp.cuda.MemoryPointer(cp.cuda.UnownedMemory(other, 32, None), 0))
    assert x.tolist() == [0, 0, 0, 0]
    del x
    runtime.free(other)
    runtime.free(address)
    host = runtime.hostAlloc(16, 0)
    assert host > 0
    runtime.freeHost(host)
    assert runtime.deviceGetAttribute(runtime.cudaDevAttrMultiProcessorCount, 0) >= 1
    found = runtime.getDeviceProperties(0)
    assert found["maxThreadsDim"] == (1024, 1024, 64) and len(found["maxGridSize"]) == 3
    if not cp.is_available():
        with pytest.raises(ValueError, match="the host has no attribute"):
            runtime.deviceGetAttribute(runtime.cudaDevAttrEccEnabled, 0)


def test_handles():
    runtime = cp.cuda.runtime
    stream = runtime.streamCreateWithFlags(runtime.streamNonBlocking)
    start, end = runtime.eventCreate(), runtime.eventCreateWithFlags(runtime.eventBlockingSync)
    assert runtime.streamGetFlags(stream) == runtime.streamNonBlocking and not runtime.streamIsCapturing(stream)
    called = []
    runtime.eventRecord(start, stream)
    with cp.cuda.ExternalStream(stream):
        x = cp.arange(1000.0) + 1
    runtime.launchHostFunc(stream, called.append, 1)
    runtime.streamAddCallback(stream, lambda *given: called.append(given), 2)
    runtime.eventRecord(end, stream)
    runtime.streamWaitEvent(0, end)
    runtime.eventSynchronize(end)
    runtime.streamSynchronize(stream)
    assert runtime.eventQuery(end) == runtime.streamQuery(stream) == 0 and called == [1, (stream, 0, 2)]
    assert runtime.eventElapsedTime(start, end) >= 0 and float(x.sum()) == 500500
    address = runtime.mallocAsync(64, stream)
    runtime.streamSynchronize(stream)
    runtime.memset(address, 1, 64)
    runtime.freeAsync(address, stream)
    host = numpy.zeros(4096, "u1")
    runtime.hostRegister(host.ctypes.data, host.nbytes, 0)
    runtime.hostUnregister(host.ctypes.data)
    runtime.streamDestroy(stream)
    for event in (start, end):
        runtime.eventDestroy(event)
    with pytest.raises(ValueError, match="no event"):
        runtime.eventDestroy(start)
    with pytest.raises(ValueError, match="no stream"):
        runtime.streamDestroy(stream)
    if cp.is_available():
        assert runtime.deviceGetLimit(0) > 0
    else:
        with pytest.raises(ValueError, match="no limits of CUDA's"):
            runtime.deviceSetLimit(0, 4096)


def test_names_of_cuda():
    cuda = cp.cuda
    assert cuda.Stream.from_external(cuda.Stream()).ptr > 0 and not cuda.Stream().is_non_blocking
    assert cuda.Stream(non_blocking=True).is_non_blocking and isinstance(cuda.Stream().priority, int)
    assert cuda.driver.get_build_version() == cuda.get_local_runtime_version() == cuda.runtime.runtimeGetVersion()
    assert cuda.memory_hook.get_memory_hooks() == {} and cuda.pinned_memory.PinnedMemoryPool is cuda.PinnedMemoryPool
    assert cuda.texture.TextureObject and cuda.device.get_compute_capability() == cuda.Device().compute_capability
    with cuda.profile():
        cuda.profiler.start()
        cuda.profiler.stop()
    assert cuda.nvtx.available in (True, False) and cuda.compiler.is_valid_kernel_name("f")
    cuda.nvtx.RangeEnd(cuda.nvtx.RangeStart("part", 0))
    with pytest.raises(AttributeError, match="numloom calls this library itself"):
        cuda.cublas
    with pytest.raises(ValueError, match="nothing is loaded"):
        cuda.Module().get_function("f")
    with pytest.raises(np.DeviceError, match="no device sits"):
        cuda.Device.from_pci_bus_id("ffff:ff:ff.f")


# ---------------------------------------------------------------- testing


def test_decorators_of_errors_and_loops():
    testing = cp.testing

    @testing.numpy_cupy_allclose(accept_error=ValueError)
    def both_raise(xp):
        raise ValueError("both")

    with pytest.warns(DeprecationWarning, match="pytest.raises"):

        @testing.numpy_cupy_raises()
        def shapes(xp):
            return xp.ones(3) + xp.ones(4)

        @testing.numpy_cupy_raises()
        def nothing_raised(xp):
            return 1

    @testing.numpy_cupy_array_equal()
    def ours_alone(xp):
        if xp is cp:
            raise ValueError("ours")
        return xp.ones(1)

    both_raise()
    shapes()
    for wrong in (nothing_raised, ours_alone):
        with pytest.raises(AssertionError):
            wrong()
    seen = []

    @testing.for_dtypes_combination("fd", names=["a", "b"], full=True)
    @testing.for_orders("CF")
    def loop(a, b, order):
        seen.append((a, b, order))

    loop()
    assert len(set(seen)) == 8

    @testing.for_all_dtypes_combination(names=("a", "b"))
    def some(a, b):
        seen.append((a, b))

    seen.clear()
    some()
    assert {one for one, _ in seen} == {other for _, other in seen} and len(seen) == len(set(seen)) > 13


@cp.testing.numpy_cupy_allclose(sp_name="sp", rtol={numpy.float32: 1e-5, "default": 1e-12})
def test_decorators_of_sparse_matrices(xp, sp):
    return sp.csr_matrix(xp.arange(6.0).reshape(2, 3)) * 2


def test_conditions_and_arrays():
    testing = cp.testing
    assert testing.product({"a": [1, 2], "b": [3]}) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert testing.product_dict([{"a": 1}, {"a": 2}], [{"b": 3}]) == [{"a": 1, "b": 3}, {"a": 2, "b": 3}]
    assert testing.installed("numpy>=2") and not testing.installed("no-such-package") and testing.numpy_satisfies(">1")
    A = testing.generate_matrix((2, 4, 3), dtype="D", singular_values=[3.0, 2.0, 1.0])
    same(cp.linalg.svd(A, compute_uv=False), [[3, 2, 1], [3, 2, 1]], 1e-10)
    S = testing.shaped_sparse_random((5, 6), dtype="f8", density=0.5)
    host = testing.shaped_sparse_random((5, 6), __import__("scipy.sparse").sparse, "f8", 0.5)
    same(S.toarray(), host.toarray())
    same(testing.shaped_linspace(0, 1, (2, 2), dtype="f8"), [[0, 1 / 3], [2 / 3, 1]])

    @testing.fix_random()
    def drawn():
        return float(cp.random.rand()), float(numpy.random.rand())

    cp.random.seed(1)
    expected = cp.random.RandomState(1).rand()
    assert drawn() == drawn() and cp.random.rand() == expected

    @testing.parameterize({"n": 2}, {"n": 3})
    class Squares:
        def squared(self):
            return self.n**2

    assert Squares is None
    made = [globals()[name]().squared() for name in ("Squares_0", "Squares_1")]
    assert made == [4, 9]


def test_waiting_can_be_forbidden():
    from numloom.cupy.synchronizing import DeviceSynchronized, allow_synchronize

    x = cp.arange(3000.0)
    with allow_synchronize(False):
        y = cp.sqrt(x) + 1
    with pytest.raises(DeviceSynchronized, match="waited for values"), allow_synchronize(False):
        y.get()
    with allow_synchronize(False), allow_synchronize(True):
        y.get()
    with pytest.raises(DeviceSynchronized), allow_synchronize(False):
        with allow_synchronize(True):
            y.get()
        cp.cuda.Device().synchronize()
    with pytest.raises(ZeroDivisionError), allow_synchronize(False):
        1 / 0
    y.get()
