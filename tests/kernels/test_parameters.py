"""Reading a kernel's parameters from its source, and turning arguments into them; needs no device."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from numloom.kernels.arguments import Signature, encoded
from numloom.kernels.options import checked
from numloom.kernels.parameters import Reader, split

SOURCE = r"""
// extern "C" __global__ void commented(int a);
#define REAL float
#define COUNT (4 * 4 + 2)
typedef unsigned long long u64;
using index_t = const int;
enum Mode { A, B };
enum class Small : unsigned char { X };
struct Params { int n; float* p; };
const char* text = "__global__ void quoted(int a)";
__constant__ float coefficients[COUNT][3];
static __device__ volatile int counter = 0;
__device__ Params shared_params;

extern "C" __global__ void __launch_bounds__(256, 2)
all_kinds(const REAL* __restrict__ x, REAL *y, unsigned int n, u64 k, Params s, float4 v, float z[], const int* const q,
          double, void* w, float **pp, index_t m, Mode mode, Small small, long long unsigned r, signed char c)
{ }
template <typename T, int K = 3> __global__ static void generic(T* x, const T* y, T a, thrust::complex<T> c) { }
namespace inner {
__global__ void spaced(__half* x, const __grid_constant__ Params p, std::int32_t u, __nv_bfloat16 b) { }
}
extern "C" { __global__ void block(void) { } }
__global__ void twice(int a, float b);
__global__ void twice(int x, float y) { }
__global__ void overloaded(int a) { }
__global__ void overloaded(float a) { }
template <class T> __global__ void loaded(T* x) { }
__global__ void loaded(int x) { }
"""


@pytest.fixture(scope="module")
def reader():
    return Reader([SOURCE], ("-DUSED=1",))


def described(parameters):
    return [(p.name, p.pointer, p.const, None if p.dtype is None else p.dtype.name) for p in parameters]


def test_every_kind_of_parameter(reader):
    assert described(reader.parameters("all_kinds")) == [
        ("x", True, True, "float32"),
        ("y", True, False, "float32"),
        ("n", False, False, "uint32"),
        ("k", False, False, "uint64"),
        ("s", False, False, None),
        ("v", False, False, "void128"),
        ("z", True, False, "float32"),
        ("q", True, True, "int32"),
        ("8", False, False, "float64"),
        ("w", True, False, None),
        ("pp", True, False, "uint64"),
        ("m", False, False, "int32"),
        ("mode", False, False, "int32"),
        ("small", False, False, "uint8"),
        ("r", False, False, "uint64"),
        ("c", False, False, "int8"),
    ]
    assert str(reader.parameters("all_kinds")[0]) == "const float* x"


@pytest.mark.parametrize(
    "name, real, complex_", [("double", "float64", "complex128"), ("float, 8", "float32", "complex64")]
)
def test_templates(reader, name, real, complex_):
    found = described(reader.parameters(f"generic<{name}>"))
    assert found == [
        ("x", True, False, real),
        ("y", True, True, real),
        ("a", False, False, real),
        ("c", False, False, complex_),
    ]


def test_linkage_and_other_names(reader):
    assert [reader.mangled(name) for name in ("all_kinds", "generic<int>", "inner::spaced", "block", "none")] == [
        False, True, True, False, False,
    ]  # fmt: skip
    assert described(reader.parameters("inner::spaced")) == [
        ("x", True, False, "float16"), ("p", False, False, None), ("u", False, False, "int32"),
        ("b", False, False, "bfloat16"),
    ]  # fmt: skip
    assert reader.parameters("block") == ()
    assert reader.parameters("commented") is None and reader.parameters("quoted") is None
    assert described(reader.parameters("twice")) == [("x", False, False, "int32"), ("y", False, False, "float32")]
    assert reader.parameters("overloaded") is None
    assert described(reader.parameters("loaded<float>")) == [("x", True, False, "float32")]


def test_variables(reader):
    assert reader.variable("coefficients") == (numpy.dtype("f4"), (18, 3))
    assert reader.variable("counter") == (numpy.dtype("i4"), ())
    assert reader.variable("shared_params") is None and reader.variable("nothing") is None


@given(st.text(alphabet="_global void(){}<>*&,;=[]#\"'/\\\nabT:.01-+", max_size=200))
@settings(max_examples=200)
def test_nonsense_is_read_without_harm(text):
    for source in (text, f"__global__ void f({text}) {{}}", f"template <{text}> __global__ void f(int a) {{}}"):
        reader = Reader([source, f"#define A {text}\n"])
        for name in ("f", f"f<{text}>"):
            reader.parameters(name)
            reader.mangled(name)
            reader.variable("a")


def test_split():
    assert split("a<b, c>, (d, e), {f, g}") == ["a<b, c>", "(d, e)", "{f, g}"]
    assert split("  ") == []


@pytest.mark.parametrize("dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "F", "D"])
@pytest.mark.parametrize(
    "given_dtype", ["?", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8", "f2", "f4", "f8", "F", "D"]
)
def test_numpy_scalars_arrive_whole_or_not_at_all(dtype, given_dtype):
    dtype = numpy.dtype(dtype)
    for value in (0, 1, 100, 255, 60000):
        with numpy.errstate(all="ignore"):
            scalar = numpy.asarray(value).astype(given_dtype)[()]
        try:
            result = encoded(scalar, dtype)
        except (TypeError, OverflowError):
            continue
        assert result.dtype == dtype and result == scalar


def test_numbers_of_python():
    assert encoded(0.1, numpy.dtype("f4")) == numpy.float32(0.1)
    assert encoded(float("inf"), numpy.dtype("f4")) == numpy.inf and numpy.isnan(
        encoded(float("nan"), numpy.dtype("f2"))
    )
    assert encoded(1 + 2j, numpy.dtype("F")) == 1 + 2j and encoded(True, numpy.dtype("i4")) == 1
    with pytest.raises(OverflowError):
        encoded(1e39, numpy.dtype("f4"))
    with pytest.raises(OverflowError):
        encoded(2**53 + 1, numpy.dtype("f8"))
    with pytest.raises(OverflowError):
        encoded(10**400, numpy.dtype("f8"))
    with pytest.raises(TypeError):
        encoded(1j, numpy.dtype("f8"))


def test_a_layout_that_does_not_fit_the_source_wins():
    parameters = Reader(["__global__ void f(int a, float b) {}"]).parameters("f")
    signature = Signature("f", parameters, ((0, 8), (8, 4)))
    assert signature.pack((5, 1.5), []) == (5).to_bytes(8, "little") + numpy.float32(1.5).tobytes()
    signature = Signature("f", parameters, ((0, 4),))
    assert signature.pack((numpy.int32(7),), []) == (7).to_bytes(4, "little")
    with pytest.raises(TypeError, match="of 8 bytes, the kernel takes 4"):
        signature.pack((numpy.int64(7),), [])


def test_options():
    assert checked(("-DA", "-D", "B=1", "--define-macro=C", "-std=c++17", "--use_fast_math")) == (
        "-DA", "-DB=1", "-DC", "-std=c++17", "-use_fast_math",
    )  # fmt: skip
    for wrong in ("-Xcompiler=x", "-include evil.h", "@file", "x.cu", "-D1x", "-std=c++98;", "--pre-include=x", ""):
        with pytest.raises(ValueError, match="not among those"):
            checked((wrong,))
