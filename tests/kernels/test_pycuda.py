"""PyCUDA's tutorial programs and examples with their imports changed, and the rest of its names."""

import numloom.pycuda.autoinit
import numloom.pycuda.driver as drv
import numpy
import pytest
from numloom.pycuda.compiler import SourceModule

import numloom as np
from numloom.device import registry
from numloom.pycuda import ElementwiseKernel, ReductionKernel, gpuarray

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(not hasattr(registry.current(), "module"), reason="no raw kernels on this device yet"),
]

rng = numpy.random.default_rng(3)

MULTIPLY_THEM = """
__global__ void multiply_them(float *dest, float *a, float *b)
{
  const int i = threadIdx.x;
  dest[i] = a[i] * b[i];
}
"""


def randn(*shape):
    return rng.standard_normal(shape).astype(numpy.float32)


def test_multiply_them():
    multiply_them = SourceModule(MULTIPLY_THEM).get_function("multiply_them")
    a, b = randn(400), randn(400)
    dest = numpy.zeros_like(a)
    multiply_them(drv.Out(dest), drv.In(a), drv.In(b), block=(400, 1, 1), grid=(1, 1))
    numpy.testing.assert_array_equal(dest, a * b)


def test_multiply_them_on_a_matrix():
    code = """
    __global__ void multiply_them(float *dest, float *a, float *b)
    {
      const int i = threadIdx.y * blockDim.x + threadIdx.x;
      dest[i] = a[i] * b[i];
    }
    """
    a, b = randn(20, 10), randn(20, 10)
    dest = numpy.zeros_like(a)
    SourceModule(code).get_function("multiply_them")(drv.Out(dest), drv.In(a), drv.In(b), block=(10, 20, 1))
    numpy.testing.assert_array_equal(dest, a * b)


def test_two_outputs():
    code = """
    __global__ void plus_minus(float *plus, float *minus, float *x, float *y)
    {
      const int i = threadIdx.x + threadIdx.y * blockDim.x;
      plus[i] = x[i] + y[i];
      minus[i] = x[i] - y[i];
    }
    """
    x, y = randn(20, 10), randn(20, 10)
    plus, minus = numpy.zeros_like(x), numpy.zeros_like(x)
    function = SourceModule(code).get_function("plus_minus")
    function(drv.Out(plus), drv.Out(minus), drv.In(x), drv.In(y), block=(10, 20, 1), grid=(1, 1))
    numpy.testing.assert_array_equal(plus, x + y)
    numpy.testing.assert_array_equal(minus, x - y)


STRIDED = """
__global__ void multiply_them(float *dest, int ds0, int ds1, const float *a, int as0, int as1, const float *b,
                              int bs0, int bs1)
{
  const int i = threadIdx.y, j = threadIdx.x;
  dest[i * ds0 + j * ds1] = a[i * as0 + j * as1] * b[i * bs0 + j * bs1];
}
"""


def test_strides():
    function = SourceModule(STRIDED).get_function("multiply_them")
    whole = randn(40, 30)
    a, b = whole[::2, 29::-3], numpy.asfortranarray(randn(20, 10))
    kept = numpy.full((20, 20), -1, numpy.float32)
    dest = kept[:, ::2]
    assert a.shape == b.shape == dest.shape == (20, 10)
    args = []
    for given, array in ((drv.Out, dest), (drv.In, a), (drv.In, b)):
        args += [given(array), *(numpy.int32(stride // 4) for stride in array.strides)]
    function(*args, block=(10, 20, 1), grid=(1, 1))
    numpy.testing.assert_array_equal(dest, a * b)
    assert (kept[:, 1::2] == -1).all()


def test_doublify():
    code = """
    __global__ void doublify(float *a)
    {
      int idx = threadIdx.x + threadIdx.y*4;
      a[idx] *= 2;
    }
    """
    a = randn(4, 4)
    before = a.copy()
    a_gpu = drv.mem_alloc(a.nbytes)
    drv.memcpy_htod(a_gpu, a)
    function = SourceModule(code).get_function("doublify")
    function(a_gpu, block=(4, 4, 1))
    doubled = numpy.empty_like(a)
    drv.memcpy_dtoh(doubled, a_gpu)
    numpy.testing.assert_array_equal(doubled, before * 2)
    function(drv.InOut(a), block=(4, 4, 1))
    numpy.testing.assert_array_equal(a, before * 2)
    grid_of = gpuarray.to_gpu(before)
    function(grid_of, block=(4, 4, 1))
    function(grid_of.gpudata, block=(4, 4, 1))
    numpy.testing.assert_array_equal(grid_of.get(), before * 4)
    function.prepare("P")
    function.prepared_call((1, 1), (4, 4, 1), a_gpu)
    numpy.testing.assert_array_equal(drv.from_device_like(a_gpu, a), before * 4)


class DoubleOpStruct:
    mem_size = 8 + numpy.intp(0).nbytes

    def __init__(self, array, struct_arr_ptr):
        self.data = drv.to_device(array)
        self.shape, self.dtype = array.shape, array.dtype
        drv.memcpy_htod(int(struct_arr_ptr), memoryview(numpy.int32(array.size)))
        drv.memcpy_htod(int(struct_arr_ptr) + 8, memoryview(numpy.uintp(int(self.data))))

    def get(self):
        return drv.from_device(self.data, self.shape, self.dtype)


def test_doublify_with_a_struct():
    struct_arr = drv.mem_alloc(2 * DoubleOpStruct.mem_size)
    do2_ptr = int(struct_arr) + DoubleOpStruct.mem_size
    array1 = DoubleOpStruct(numpy.array([1, 2, 3], dtype=numpy.float32), struct_arr)
    array2 = DoubleOpStruct(numpy.array([0, 4], dtype=numpy.float32), do2_ptr)
    module = SourceModule("""
    struct DoubleOperation {
        int datalen, __padding; // so 64-bit ptrs can be aligned
        float *ptr;
    };

    __global__ void double_array(DoubleOperation *a) {
        a = &a[blockIdx.x];
        for (int idx = threadIdx.x; idx < a->datalen; idx += blockDim.x) {
            float *a_ptr = a->ptr;
            a_ptr[idx] *= 2;
        }
    }
    """)
    function = module.get_function("double_array")
    function(struct_arr, block=(32, 1, 1), grid=(2, 1))
    assert array1.get().tolist() == [2, 4, 6] and array2.get().tolist() == [0, 8]
    function(numpy.uintp(do2_ptr), block=(32, 1, 1), grid=(1, 1))
    assert array1.get().tolist() == [2, 4, 6] and array2.get().tolist() == [0, 16]


def test_prepared_calls():
    code = """
    __global__ void axpy(float *z, const float *x, float a, int n)
    {
      const int i = threadIdx.x;
      if (i < n) z[i] += a * x[i];
    }
    """
    function = SourceModule(code).get_function("axpy")
    with pytest.raises(drv.Error, match="not prepared"):
        function.prepared_call((1, 1), (4, 1, 1))
    x, z = gpuarray.arange(4, dtype=numpy.float32), gpuarray.zeros(4, numpy.float32)
    for types in ("PPfi", ["P", "P", numpy.float32, numpy.int32], [numpy.ndarray, "P", "f", "i"]):
        function.prepare(types).prepared_call((1, 1), (4, 1, 1), z.gpudata, x.gpudata, 2.5, 4)
    function.prepared_async_call((1, 1), (4, 1, 1), drv.Stream(), z.gpudata, x.gpudata, 2.5, 4)
    took = function.prepared_timed_call((1, 1), (4, 1, 1), z.gpudata, x.gpudata, 0, 4)
    assert 0 <= took() < 10
    assert z.get().tolist() == [0, 10, 20, 30]
    with pytest.raises(TypeError, match="prepared for 4 arguments, got 3"):
        function.prepared_call((1, 1), (4, 1, 1), z, x, 2)
    with pytest.raises(TypeError, match="takes 4 arguments"):
        function.prepare("PP")
    with pytest.raises(TypeError, match="no argument type"):
        function.prepare("PP?#")


def test_global_variables_and_time():
    module = SourceModule("__constant__ float factor; __global__ void f(float *x) { x[threadIdx.x] *= factor; }")
    address, nbytes = module.get_global("factor")
    assert nbytes == 4
    drv.memcpy_htod(address, numpy.float32(3))
    x = numpy.ones(4, numpy.float32)
    took = module.get_function("f")(drv.InOut(x), block=(4, 1, 1), time_kernel=True)
    assert x.tolist() == [3, 3, 3, 3] and 0 <= took < 10
    with pytest.raises(drv.Error, match="no variable"):
        module.get_global("nothing")


def test_templates_and_no_extern_c():
    code = """
    template <class T> __device__ T twice(T x) { return x + x; }
    extern "C" { __global__ void f(float *x) { x[threadIdx.x] = twice(x[threadIdx.x]); } }
    """
    x = numpy.arange(4, dtype=numpy.float32)
    SourceModule(code, no_extern_c=True, options=["-DUNUSED=1"]).get_function("f")(drv.InOut(x), block=(4, 1, 1))
    assert x.tolist() == [0, 2, 4, 6]
    with pytest.raises(ValueError, match="no kernel 'g'"):
        SourceModule("__global__ void g() { }", no_extern_c=True).get_function("g")


def test_mistakes():
    function = SourceModule(MULTIPLY_THEM).get_function("multiply_them")
    a = randn(4)
    with pytest.raises(ValueError, match="block must be given"):
        function(drv.In(a))
    with pytest.raises(TypeError, match="multiply_them takes 3 arguments"):
        function(drv.In(a), block=(4, 1, 1))
    with pytest.raises(TypeError, match="lies on the host"):
        function(a, a, a, block=(4, 1, 1))
    with pytest.raises(TypeError, match="take a NumPy array"):
        drv.In([1.0])
    with pytest.raises(ValueError, match="read-only"):
        drv.Out(numpy.broadcast_to(a, (2, 4)))
    with pytest.raises(drv.CompileError, match=r"undefined|not declared"):
        SourceModule("__global__ void f(float *x) { x[0] = nothing_there; }")
    with pytest.raises(ValueError, match="threads"):
        function(drv.Out(a), drv.In(a), drv.In(a), block=(4000, 1, 1))
    memory = drv.mem_alloc(8)
    with pytest.raises(ValueError, match="do not fit"):
        drv.memcpy_htod(memory, numpy.zeros(3))
    memory.free()
    with pytest.raises(drv.Error, match="freed"):
        int(memory)
    with pytest.raises(ValueError, match="contiguous"):
        drv.to_device(numpy.zeros((4, 4))[::2, ::2])
    with pytest.raises(drv.Error, match="texture"):
        SourceModule(MULTIPLY_THEM).get_texref("t")


def test_memory():
    a = numpy.arange(6, dtype=numpy.int32).reshape(2, 3)
    gpu = drv.to_device(a)
    other = drv.mem_alloc_like(a)
    drv.memcpy_dtod(other, gpu, a.nbytes)
    numpy.testing.assert_array_equal(drv.from_device(other, a.shape, a.dtype), a)
    drv.memset_d32(other, 7, 3)
    drv.memset_d8(int(other) + 12, 1, 4)
    drv.memset_d16(int(other) + 16, 2, 2)
    assert drv.from_device_like(other, a).ravel().tolist() == [7, 7, 7, 0x01010101, 0x00020002, 5]
    host = drv.pagelocked_empty((2, 3), numpy.int32)
    drv.memcpy_dtoh_async(host, gpu, drv.Stream())
    numpy.testing.assert_array_equal(host, a)
    start, end = drv.Event(), drv.Event()
    start.record()
    end.record()
    end.synchronize()
    assert 0 <= start.time_till(end) < 10_000
    drv.Context.synchronize()
    assert drv.Device.count() == 1 and drv.Device(0).name()


def test_gpuarray():
    host = randn(4, 4)
    a = gpuarray.to_gpu(host)
    numpy.testing.assert_array_equal((2 * a).get(), 2 * host)
    numpy.testing.assert_allclose((a + a * 3 - 1 / (a * a + 1)).get(), host * 4 - 1 / (host * host + 1), rtol=1e-5)
    b = a.copy()
    b += 1
    b *= a
    numpy.testing.assert_array_equal(b.get(), (host + 1) * host)
    numpy.testing.assert_array_equal((-a).get(), -host)
    numpy.testing.assert_array_equal(abs(a).get(), abs(host))
    numpy.testing.assert_array_equal(a[1:, ::2].get(), host[1:, ::2])
    numpy.testing.assert_array_equal(a.T.get(), host.T)
    numpy.testing.assert_array_equal(a.reshape(16).astype(numpy.float64).get(), host.ravel().astype(numpy.float64))
    numpy.testing.assert_allclose(a.mul_add(2, b, 3).get(), host * 2 + b.get() * 3, rtol=1e-6)
    assert a.dtype == numpy.float32 and a.shape == (4, 4) and a.size == 16 and a.nbytes == 64 and len(a) == 4
    assert gpuarray.zeros(3, numpy.int32).get().tolist() == [0, 0, 0]
    assert gpuarray.empty(3, numpy.int32).fill(5).get().tolist() == [5, 5, 5]
    assert gpuarray.ones_like(gpuarray.zeros(2)).get().tolist() == [1, 1]
    assert gpuarray.arange(2, 8, 2).get().tolist() == [2, 4, 6]
    numpy.testing.assert_allclose(gpuarray.sum(a).get(), host.sum(), rtol=1e-5)
    numpy.testing.assert_allclose(gpuarray.dot(a, b).get(), (host * b.get()).sum(), rtol=1e-5)
    assert gpuarray.max(a).get() == host.max() and gpuarray.min(a).get() == host.min()
    numpy.testing.assert_array_equal(gpuarray.maximum(a, b).get(), numpy.maximum(host, b.get()))
    numpy.testing.assert_array_equal(gpuarray.if_positive(a, a, b).get(), numpy.where(host > 0, host, b.get()))
    assert gpuarray.take(a, gpuarray.to_gpu(numpy.array([5, 0]))).get().tolist() == [host[1, 1], host[0, 0]]
    numpy.testing.assert_array_equal(a.set(host * 2).get(), host * 2)
    with pytest.raises(ValueError, match="set needs"):
        a.set(host[0])
    assert drv.from_device(a.ptr, (4, 4), numpy.float32).tolist() == (host * 2).tolist()
    assert isinstance(a.array, np.ndarray)


def test_cumath():
    import numloom.pycuda.cumath as cumath

    host = abs(randn(50)) * 0.9
    host = host / host.max() * numpy.float32(0.99)
    a = gpuarray.to_gpu(host)
    for name, theirs in cumath.NAMES.items():
        found = getattr(cumath, name)(a)
        assert found.dtype == numpy.float32
        numpy.testing.assert_allclose(found.get(), getattr(numpy, theirs)(host), rtol=1e-5, atol=1e-6)
    out = gpuarray.empty_like(a)
    assert cumath.sqrt(a, out=out) is out
    numpy.testing.assert_allclose(out.get(), numpy.sqrt(host), rtol=1e-6)
    numpy.testing.assert_allclose(cumath.fmod(a, a * 0.3).get(), numpy.fmod(host, host * numpy.float32(0.3)), atol=1e-5)
    numpy.testing.assert_allclose(cumath.ldexp(a, a * 0 + 3).get(), host * 8)


def test_elementwise_kernels():
    a, b = randn(500), randn(500)
    a_gpu, b_gpu = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    combination = ElementwiseKernel(
        "float a, float *x, float b, float *y, float *z", "z[i] = my_f(a*x[i], b*y[i])", "linear_combination",
        preamble="__device__ float my_f(float x, float y) { return x + y; }",
    )  # fmt: skip
    c_gpu = gpuarray.empty_like(a_gpu)
    combination(5, a_gpu, 6, b_gpu, c_gpu)
    numpy.testing.assert_allclose(c_gpu.get(), 5 * a + 6 * b, rtol=1e-5, atol=1e-5)
    square = ElementwiseKernel("float *z, float *x", "z[i] = x[i]*x[i]")
    z = gpuarray.zeros(500)
    square(z, a_gpu, range=slice(10, 100, 3))
    expected = numpy.zeros(500, numpy.float32)
    expected[10:100:3] = (a * a)[10:100:3]
    numpy.testing.assert_array_equal(z.get(), expected)
    square(z.array, a_gpu.array)
    numpy.testing.assert_array_equal(z.get(), a * a)
    with pytest.raises(TypeError, match="takes 2 arguments"):
        square(z)
    with pytest.raises(ValueError, match="contiguous"):
        square(z, a_gpu[::2])
    with pytest.raises(TypeError, match="points to float32"):
        square(z, a_gpu.astype(numpy.float64))
    with pytest.raises(ValueError, match="declares no array"):
        ElementwiseKernel("float a", "a")
    with pytest.raises(ValueError, match="identifier"):
        ElementwiseKernel("float *z", "z[i] = 0", "no name")


def test_an_element_ends_alone():
    size = 1024 * 128 + 500  # More than there are threads.
    x = numpy.where(numpy.arange(size) % 3 == 0, -1, 1).astype("f4")
    z = gpuarray.to_gpu(numpy.full(size, -5, "f4"))
    ends = ElementwiseKernel("float *x, float *z", "if (x[i] < 0) { z[i] = 2; return; } z[i] = 3", "ends")
    ends(gpuarray.to_gpu(x), z)
    numpy.testing.assert_array_equal(z.get(), numpy.where(x < 0, 2, 3))


@pytest.mark.parametrize("size", [1, 7, 128, 5000])
def test_reduction_kernels(size):
    a, b = rng.integers(0, 9, (2, size)).astype(numpy.float32)
    a_gpu, b_gpu = gpuarray.to_gpu(a), gpuarray.to_gpu(b)
    dot = ReductionKernel(
        numpy.float32, neutral="0", reduce_expr="a+b", map_expr="x[i]*y[i]", arguments="float *x, float *y"
    )
    assert dot(a_gpu, b_gpu).get() == a @ b
    largest = ReductionKernel(numpy.float32, "-1", "a > b ? a : b", arguments="const float *x")
    assert float(largest(a_gpu).get()) == a.max()
    count = ReductionKernel(numpy.int32, "0", "a+b", "x[i] > limit ? 1 : 0", "float *x, float limit")
    assert int(count(a_gpu, 4).get()) == (a > 4).sum()
    with pytest.raises(TypeError, match="takes 1 argument"):
        largest(a_gpu, a_gpu)


def test_the_names_are_there():
    assert numloom.pycuda.driver is drv and numloom.pycuda.autoinit is not None
    assert numloom.pycuda.SourceModule is SourceModule is drv.SourceModule


def test_copies_keep_the_order():
    host = numpy.asfortranarray(numpy.arange(12.0).reshape(3, 4))
    array = gpuarray.to_gpu(host)
    for copied in (array.copy(), array.copy().copy()):
        assert copied.strides == host.strides and (copied.get() == host).all()
