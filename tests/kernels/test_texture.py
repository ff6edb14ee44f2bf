"""Textures and surfaces against a NumPy model of fetching: address modes, filters, dtypes, dimensions, channels."""

import gc
import itertools
import warnings

import numpy
import pytest
from tests.nvrtc import ARCHITECTURE

import numloom as np
from numloom import texture as tx
from numloom.device import registry
from numloom.device.cuda.module import compile_module
from numloom.kernels.raw import RawKernel, RawModule

pytestmark = [
    pytest.mark.compiler,
    pytest.mark.skipif(registry.current().name == "null", reason="no raw kernels on the null device"),
]
ON_GPU = registry.current().name == "cuda"
rng = numpy.random.default_rng(11)

SOURCE = r"""
template <typename T> __global__ void fetch(cudaTextureObject_t t, const int* x, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1Dfetch<T>(t, x[i]);
}
template <typename T> __global__ void sample1(cudaTextureObject_t t, const float* x, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1D<T>(t, x[i]);
}
template <typename T> __global__ void sample2(cudaTextureObject_t t, const float* x, const float* y, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) tex2D(&out[i], t, x[i], y[i]);
}
template <typename T>
__global__ void sample3(cudaTextureObject_t t, const float* x, const float* y, const float* z, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex3D<T>(t, x[i], y[i], z[i]);
}
template <typename T>
__global__ void layers1(cudaTextureObject_t t, const float* x, const int* layer, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex1DLayered<T>(t, x[i], layer[i]);
}
template <typename T>
__global__ void layers2(cudaTextureObject_t t, const float* x, const float* y, const int* layer, T* out, int n)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = tex2DLayered<T>(t, x[i], y[i], layer[i]);
}
"""
INTEGERS = {"i1": "char", "u1": "uchar", "i2": "short", "u2": "ushort", "i4": "int", "u4": "uint"}
SCALARS = {"char": "signed char", "uchar": "unsigned char", "ushort": "unsigned short", "uint": "unsigned int"}


def type_name(dtype, channels):
    """The type that a kernel fetches."""
    name = INTEGERS.get(numpy.dtype(dtype).str[1:], "float")
    return SCALARS.get(name, name) if channels == 1 else f"{name}{channels}"


TYPES = [type_name(dtype, channels) for dtype in ("f4", *INTEGERS) for channels in (1, 2, 4)]
KERNELS = ("fetch", "sample1", "sample2", "sample3")
NAMES = [f"{kernel}<{name}>" for kernel in KERNELS for name in TYPES]
NAMES += [f"{kernel}<{name}>" for kernel in ("layers1", "layers2") for name in ("float", "int")]

SURFACES = r"""
template <typename T>
__global__ void swap1(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width)
{
    int x = threadIdx.x;
    if (x < width) surf1Dwrite(surf1Dread<T>(from, x * sizeof(T)), to, (width - 1 - x) * sizeof(T));
}
template <typename T>
__global__ void swap2(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width)
{
    int x = threadIdx.x, y = blockIdx.x;
    T value;
    surf2Dread(&value, from, x * sizeof(T), y);
    surf2Dwrite(value, to, (width - 1 - x) * sizeof(T), y);
}
template <typename T>
__global__ void swap3(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width)
{
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    surf3Dwrite(surf3Dread<T>(from, x * sizeof(T), y, z), to, (width - 1 - x) * sizeof(T), y, z);
}
template <typename T>
__global__ void swap2layers(cudaSurfaceObject_t from, cudaSurfaceObject_t to, int width)
{
    int x = threadIdx.x, y = blockIdx.x, z = blockIdx.y;
    surf2DLayeredwrite(surf2DLayeredread<T>(from, x * sizeof(T), y, z), to, (width - 1 - x) * sizeof(T), y, z);
}
extern "C" __global__ void edges(cudaSurfaceObject_t s, int* out)
{
    int i = threadIdx.x, x = (i - 2) * 4;
    out[i] = surf1Dread<int>(s, x, cudaBoundaryModeZero);
    out[16 + i] = surf1Dread<int>(s, x, cudaBoundaryModeClamp);
    if (i < 2) surf1Dwrite(99, s, x, cudaBoundaryModeZero);
}
extern "C" __global__ void outside(cudaSurfaceObject_t s, int* out) { out[0] = surf1Dread<int>(s, 400); }
"""
SURFACE_TYPES = ("float", "float4", "uchar4", "short2", "int", "unsigned char")
SURFACE_NAMES = [f"{kernel}<{name}>" for kernel in ("swap1", "swap2", "swap3", "swap2layers") for name in SURFACE_TYPES]


@pytest.fixture(scope="module")
def sampling():
    return RawModule(code=SOURCE, name_expressions=NAMES)


@pytest.fixture(scope="module")
def surfaces():
    return RawModule(code=SURFACES, name_expressions=SURFACE_NAMES)


# ---------------------------------------------------------------- the model


def as_read(values, as_float):
    """Elements as a fetch gives them."""
    if not as_float:
        return values.astype(numpy.float32) if values.dtype.kind == "f" else values
    scale = numpy.float32(numpy.iinfo(values.dtype).max)
    return numpy.maximum(values.astype(numpy.float32) / scale, numpy.float32(-1))


def placed(x, count, mode, normalized):
    """Coordinates in elements; only wrap and mirror move them."""
    x = x.astype(numpy.float32)
    if normalized:
        whole = numpy.floor(x)
        if mode == "wrap":
            x = numpy.minimum(x - whole, numpy.float32(0.99999994))
        elif mode == "mirror":
            x = numpy.where(whole % 2 == 0, x - whole, 1 - (x - whole))
        x = (x * numpy.float32(count)).astype(numpy.float32)
    return x


def model(values, coordinates, modes, linear=False, normalized=False, border=0.0):
    """What a texture gives: `values` as depth, height, width, channels; coordinates and modes for x, y, z."""
    axes = len(coordinates)
    parts = []
    for x, mode, count in zip(coordinates, modes, values.shape[axes - 1 :: -1], strict=True):
        at = placed(x, count, mode, normalized) - numpy.float32(0.5 if linear else 0)
        low = numpy.floor(at)
        weight = numpy.floor((at - low) * numpy.float32(256) + numpy.float32(0.5)) / numpy.float32(256)
        choices = []
        for high in (0, 1) if linear else (0,):
            index = low.astype(numpy.int64) + high
            outside = ((index < 0) | (index >= count)) if mode == "border" else numpy.zeros(index.shape, bool)
            index = index % count if mode == "wrap" and normalized else numpy.clip(index, 0, count - 1)
            share = (weight if high else 1 - weight) if linear else None
            choices.append((index, outside, share))
        parts.append(choices)
    total = None
    for corner in itertools.product(*reversed(parts)):  # x changes fastest
        found = values[tuple(index for index, _, _ in corner)]
        outside = numpy.logical_or.reduce([out for _, out, _ in corner])
        found = numpy.where(outside[:, None], numpy.asarray(border, found.dtype), found)
        if linear:
            share = numpy.float32(1)
            for _, _, part in reversed(corner):
                share = share * part
            found = share[:, None].astype(float) * found
        total = found if total is None else total + found
    return total.astype(numpy.float32) if linear else total


def close(got, expected, linear, scale=1.0):
    """The same bits on the CPU; GPUs do not tell how they round the weights and products of linear filtering."""
    assert got.shape == expected.shape
    if linear and ON_GPU:
        numpy.testing.assert_allclose(got, expected, rtol=0, atol=scale / 128)
    else:
        numpy.testing.assert_array_equal(got, expected)


def random_values(dtype, shape):
    dtype = numpy.dtype(dtype)
    if dtype.kind == "f":
        return rng.random(shape).astype(dtype)
    limits = numpy.iinfo(dtype)
    return rng.integers(limits.min, limits.max, shape, dtype, endpoint=True)


def random_coordinates(extents, normalized, count=400):
    """In and beside the texture; nowhere near the middle between two weights or elements."""
    result = []
    for extent in extents:
        x = rng.integers(-16 * extent, 24 * extent, count) / 8 + 0.0625 + 0.0009765625
        result.append((x / extent if normalized else x).astype(numpy.float32))
    return result


def sample(module, texture, coordinates, dtype, channels):
    count = len(coordinates[0])
    fetched = numpy.dtype(dtype)
    out = np.zeros((count, channels), fetched)
    kernel = module.get_function(f"sample{len(coordinates)}<{type_name(fetched, channels)}>")
    kernel((count + 127) // 128, 128, (texture, *[np.asarray(x) for x in coordinates], out, count))
    return out.get()


# ---------------------------------------------------------------- textures


SHAPES = [(9,), (8, 5), (6, 8, 5)]


@pytest.mark.parametrize("mode", ["clamp", "border", "wrap", "mirror"])
@pytest.mark.parametrize("linear", [False, True], ids=["point", "linear"])
@pytest.mark.parametrize("normalized", [False, True], ids=["elements", "normalized"])
@pytest.mark.parametrize("shape", SHAPES, ids=len)
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_address_and_filter(sampling, mode, linear, normalized, shape, channels):
    values = random_values("f4", (*shape, channels))
    border = numpy.arange(1, channels + 1, dtype=numpy.float32) / 4
    memory = tx.CUDAarray(tx._format_of("f4", channels), *shape[::-1])
    memory.copy_from(values if channels > 1 else values[..., 0])
    names = ["wrap", "clamp", "mirror", "border"]
    how = tx.TextureDescriptor(
        [names.index(mode)] * len(shape), int(linear), borderColors=border, normalizedCoords=normalized
    )
    texture = tx.TextureObject(tx.ResourceDescriptor(tx.cudaResourceTypeArray, cuArr=memory), how)
    x = random_coordinates(shape[::-1], normalized)
    taken = mode if normalized or mode not in ("wrap", "mirror") else "clamp"
    expected = model(values, x, [taken] * len(shape), linear, normalized, border)
    close(sample(sampling, texture, x, "f4", channels), expected, linear)


@pytest.mark.parametrize("dtype", [*INTEGERS, "f2", "f4"])
@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("shape", SHAPES, ids=len)
def test_dtypes_by_point(sampling, dtype, channels, shape):
    values = random_values(dtype, (*shape, channels))
    texture = np.Texture(values if channels > 1 else values[..., 0], filter="point", channels=channels)
    x = random_coordinates(shape[::-1], False)
    expected = model(as_read(values, False), x, ["clamp"] * len(shape))
    close(sample(sampling, texture, x, expected.dtype, channels), expected, False)


@pytest.mark.parametrize("dtype", ["i1", "u1", "i2", "u2"])
@pytest.mark.parametrize("channels", [1, 2, 4])
@pytest.mark.parametrize("linear", [False, True], ids=["point", "linear"])
def test_integers_as_float(sampling, dtype, channels, linear):
    values = random_values(dtype, (8, 5, channels))
    values[0, 0] = numpy.iinfo(dtype).min
    texture = np.Texture(
        values if channels > 1 else values[..., 0], filter="linear" if linear else "point", channels=channels,
        as_float=True,
    )  # fmt: skip
    x = random_coordinates((5, 8), False)
    got, expected = sample(sampling, texture, x, "f4", channels), model(as_read(values, True), x, ["clamp"] * 2, linear)
    if ON_GPU and not linear:
        numpy.testing.assert_allclose(got, expected, rtol=3e-7)
    else:
        close(got, expected, linear, 2)


def test_half_is_filtered(sampling):
    values = rng.random((8, 5)).astype("f2")
    values[0, :3] = [6e-8, 3e-5, 0]
    x = random_coordinates((5, 8), False)
    expected = model(as_read(values[..., None], False), x, ["clamp"] * 2, True)
    close(sample(sampling, np.Texture(values), x, "f4", 1), expected, True)


def test_address_modes_differ_by_axis(sampling):
    values = random_values("f4", (6, 8, 5, 1))
    modes = ["wrap", "border", "mirror"]
    x = random_coordinates((5, 8, 6), True)
    texture = np.Texture(values[..., 0], modes, "point", True, border=0.5)
    close(sample(sampling, texture, x, "f4", 1), model(values, x, modes, False, True, 0.5), False)


def test_channels_that_are_not_there(sampling):
    got = sample(sampling, np.Texture(numpy.full((2, 2), 7, "f4")), [numpy.ones(1, "f4")] * 2, "f4", 4)
    assert got.tolist() == [[7, 0, 0, 0]]
    got = sample(sampling, np.Texture(numpy.full((2, 2), 7, "u1"), filter="point"), [numpy.ones(1, "f4")] * 2, "u1", 4)
    assert got.tolist() == [[7, 0, 0, 0]]


def test_srgb(sampling):
    values = numpy.arange(256, dtype="u1")[:, None].repeat(4, 1)
    memory = tx.CUDAarray(tx._format_of("u1", 4), 256)
    memory.copy_from(values)
    how = tx.TextureDescriptor(readMode=tx.cudaReadModeNormalizedFloat, sRGB=True)
    texture = tx.TextureObject(tx.ResourceDescriptor(tx.cudaResourceTypeArray, memory), how)
    got = sample(sampling, texture, [numpy.arange(256, dtype="f4") + 0.5], "f4", 4)
    u = numpy.arange(256) / 255
    expected = numpy.where(u <= 0.04045, u / 12.92, ((u + 0.055) / 1.055) ** 2.4)
    numpy.testing.assert_allclose(got[:, :3], expected[:, None].repeat(3, 1), rtol=0, atol=5e-3 if ON_GPU else 1e-6)
    numpy.testing.assert_allclose(got[:, 3], u, rtol=3e-7)


@pytest.mark.parametrize("dtype", [*INTEGERS, "f2", "f4"])
@pytest.mark.parametrize("channels", [1, 2, 4])
def test_linear_memory(sampling, dtype, channels):
    values = random_values(dtype, (37, channels))
    array = np.asarray(values)
    res = tx.ResourceDescriptor(
        tx.cudaResourceTypeLinear, arr=array, chDesc=tx._format_of(dtype, channels), sizeInBytes=array.nbytes
    )
    texture = tx.TextureObject(res, tx.TextureDescriptor())
    index = numpy.arange(-3, 41, dtype=numpy.int32)
    expected = numpy.zeros((44, channels), "f4" if numpy.dtype(dtype).kind == "f" else dtype)
    expected[3:40] = values
    out = np.zeros_like(np.asarray(expected))
    kernel = sampling.get_function(f"fetch<{type_name(dtype, channels)}>")
    kernel(1, 64, (texture, np.asarray(index), out, 44))
    numpy.testing.assert_array_equal(out.get(), expected)
    array += array.dtype.type(1)  # the texture stays where the array lies
    expected[3:40] = values + values.dtype.type(1)
    kernel(1, 64, (texture, np.asarray(index), out, 44))
    numpy.testing.assert_array_equal(out.get(), expected)


@pytest.mark.parametrize("linear", [False, True], ids=["point", "linear"])
def test_pitched_memory(sampling, linear):
    values = random_values("f4", (6, 16))
    array = np.asarray(values)
    res = tx.ResourceDescriptor(
        tx.cudaResourceTypePitch2D, arr=array, chDesc=tx._format_of("f4", 1), width=11, height=6, pitchInBytes=64
    )
    texture = tx.TextureObject(res, tx.TextureDescriptor(filterMode=int(linear)))
    x = random_coordinates((11, 6), False)
    close(sample(sampling, texture, x, "f4", 1), model(values[:, :11, None], x, ["clamp"] * 2, linear), linear)
    array[2:4] = 5  # a recorded write to a part
    values[2:4] = 5
    close(sample(sampling, texture, x, "f4", 1), model(values[:, :11, None], x, ["clamp"] * 2, linear), linear, 5)


@pytest.mark.parametrize("shape", [(3, 9), (3, 8, 5)], ids=len)
@pytest.mark.parametrize("dtype", ["f4", "i4"])
def test_layers(sampling, shape, dtype):
    values = random_values(dtype, shape)
    width, *height = shape[:0:-1]
    memory = tx.CUDAarray(tx._format_of(dtype, 1), width, *(height or [0]), depth=3, flags=tx.cudaArrayLayered)
    assert memory.ndim == len(shape) - 1
    memory.copy_from(values)
    back = numpy.zeros_like(values)
    memory.copy_to(back)
    numpy.testing.assert_array_equal(back, values)
    linear = dtype == "f4"
    texture = tx.TextureObject(tx.ResourceDescriptor(0, memory), tx.TextureDescriptor(filterMode=int(linear)))
    x = random_coordinates(shape[:0:-1], False)
    layer = rng.integers(-1, 5, 400).astype(numpy.int32)
    out = np.zeros(400, dtype)
    kernel = sampling.get_function(f"layers{len(x)}<{type_name(dtype, 1)}>")
    kernel(4, 100, (texture, *[np.asarray(part) for part in x], np.asarray(layer), out, 400))
    each = [model(values[at, ..., None], x, ["clamp"] * len(x), linear)[:, 0] for at in range(3)]
    close(out.get(), numpy.stack(each)[layer.astype("u4").clip(0, 2), numpy.arange(400)], linear)


def test_far_and_odd_coordinates(sampling):
    x = numpy.array([1e30, -1e30, numpy.inf, -numpy.inf, 3e9, -3e9], "f4")
    values = numpy.arange(4, dtype="f4") + 1
    assert sample(sampling, np.Texture(values), [x], "f4", 1)[:, 0].tolist() == [4, 1, 4, 1, 4, 1]
    border = np.Texture(values, "border", border=9)
    assert sample(sampling, border, [x], "f4", 1)[:, 0].tolist() == [9] * 6


# ---------------------------------------------------------------- memory


@pytest.mark.parametrize("channels", [1, 4])
@pytest.mark.parametrize("dtype", ["f4", "f2", "u1", "i2"])
def test_copies(dtype, channels):
    for shape in SHAPES:
        values = random_values(dtype, (*shape, channels) if channels > 1 else shape)
        memory = tx.CUDAarray(tx._format_of(dtype, channels), *shape[::-1])
        assert memory.shape == values.shape
        memory.copy_from(np.asarray(values))
        ours = np.zeros(values.shape, dtype)
        memory.copy_to(ours)
        numpy.testing.assert_array_equal(ours.get(), values)
        merged = numpy.zeros((*shape[:-1], shape[-1] * channels), dtype)
        memory.copy_to(merged)
        numpy.testing.assert_array_equal(merged, values.reshape(merged.shape))
        memory.copy_from(values[::-1])  # not contiguous
        wide = np.zeros((2, *values.shape), dtype)
        memory.copy_to(wide[1])
        numpy.testing.assert_array_equal(wide.get()[1], values[::-1])


def test_recorded_values_and_later_writes(sampling):
    x = np.arange(6, dtype="f4")
    texture = np.Texture(x * 2 + 1)
    x += 100
    at = [numpy.arange(6, dtype="f4") + 0.5]
    assert sample(sampling, texture, at, "f4", 1)[:, 0].tolist() == [1, 3, 5, 7, 9, 11]
    texture.copy_from(x)
    assert sample(sampling, texture, at, "f4", 1)[:, 0].tolist() == [100, 101, 102, 103, 104, 105]


def test_memory_lives_as_long_as_the_texture(sampling):
    def make():
        array = np.arange(1000, dtype="f4") * 3
        res = tx.ResourceDescriptor(2, arr=array, chDesc=tx._format_of("f4", 1), sizeInBytes=array.nbytes)
        return tx.TextureObject(res, tx.TextureDescriptor()), np.Texture(np.ones((20, 20), "f4"))

    linear, copied = make()
    gc.collect()
    others = [np.full(1000, 7, "f4") + 0 for _ in range(8)]
    np.evaluate(*others)
    out = np.zeros(4, "f4")
    sampling.get_function("fetch<float>")(1, 4, (linear, np.array([0, 1, 2, 999], np.int32), out, 4))
    assert out.tolist() == [0, 3, 6, 2997]
    assert sample(sampling, copied, [numpy.ones(1, "f4")] * 2, "f4", 1).tolist() == [[1]]


def test_an_array_is_let_go_with_its_texture():
    array = np.arange(64, dtype="f4") + 1
    res = tx.ResourceDescriptor(2, arr=array, chDesc=tx._format_of("f4", 1), sizeInBytes=64)
    texture = tx.TextureObject(res, tx.TextureDescriptor())
    assert array.storage.pins == 1
    del texture
    gc.collect()
    assert array.storage.pins == 0


# ---------------------------------------------------------------- surfaces


def surface(values, channels, flags=0):
    layered = bool(flags & tx.cudaArrayLayered)
    shape = values.shape[: values.ndim - (channels > 1)][::-1]
    memory = tx.CUDAarray(tx._format_of(values.dtype, channels), *shape, flags=flags | tx.cudaArraySurfaceLoadStore)
    assert memory.ndim == len(shape) - layered
    memory.copy_from(values)
    return memory, tx.SurfaceObject(tx.ResourceDescriptor(tx.cudaResourceTypeArray, memory))


@pytest.mark.parametrize("name", SURFACE_TYPES)
@pytest.mark.parametrize("kernel", ["swap1", "swap2", "swap3", "swap2layers"])
def test_surfaces(surfaces, name, kernel):
    dtype, channels = {
        "float": ("f4", 1), "float4": ("f4", 4), "uchar4": ("u1", 4), "short2": ("i2", 2), "int": ("i4", 1),
        "unsigned char": ("u1", 1),
    }[name]  # fmt: skip
    shape = {"1": (9,), "2": (8, 5), "3": (6, 8, 5), "s": (6, 8, 5)}[kernel[-1]]
    flags = tx.cudaArrayLayered if kernel.endswith("layers") else 0
    values = random_values(dtype, (*shape, channels) if channels > 1 else shape)
    _, source = surface(values, channels, flags)
    target, written = surface(numpy.zeros_like(values), channels, flags)
    grid = (1, 1) if len(shape) == 1 else (shape[-2], 1) if len(shape) == 2 else (shape[1], shape[0])
    surfaces.get_function(f"{kernel}<{name}>")(grid, shape[-1], (source, written, shape[-1]))
    got = numpy.zeros_like(values)
    target.copy_to(got)
    axis = len(shape) - 1
    numpy.testing.assert_array_equal(got, numpy.flip(values, axis))


def test_surface_boundaries(surfaces):
    memory, handle = surface(numpy.arange(1, 11, dtype="i4"), 1)
    out = np.zeros((2, 16), "i4")
    surfaces.get_function("edges")(1, 16, (handle, out))
    assert out[0].tolist() == [0, 0, *range(1, 11), 0, 0, 0, 0]
    assert out[1].tolist() == [1, 1, *range(1, 11), 10, 10, 10, 10]
    back = numpy.zeros(10, "i4")
    memory.copy_to(back)
    assert back.tolist() == list(range(1, 11))


def test_a_surface_is_read_as_a_texture(surfaces, sampling):
    values = random_values("f4", (8, 5))
    _, source = surface(values, 1)
    target, written = surface(numpy.zeros_like(values), 1)
    texture = tx.TextureObject(tx.ResourceDescriptor(0, target), tx.TextureDescriptor())
    surfaces.get_function("swap2<float>")((8, 1), 5, (source, written, 5))
    x = random_coordinates((5, 8), False)
    close(sample(sampling, texture, x, "f4", 1), model(values[:, ::-1, None], x, ["clamp"] * 2), False)


# ---------------------------------------------------------------- mistakes


on_cpu = pytest.mark.skipif(ON_GPU, reason="a GPU does not check what kernels do with textures")
PLAIN = 'extern "C" __global__ void f(cudaTextureObject_t t, float* y) { y[threadIdx.x] = %s; }'


@on_cpu
@pytest.mark.parametrize(
    "fetch, words",
    [
        ("tex2D<float>(t, 1, 1)", "tex2D: the memory has 1 dimension, no layers"),
        ("tex1D<int>(t, 1)", "tex1D: the texture is read as float"),
        ("tex1Dfetch<float>(t, 1)", "tex1Dfetch: the texture lies over a CUDA array"),
        ("tex1DLayered<float>(t, 1, 0)", "tex1DLayered: the memory has 1 dimension"),
        ("tex1D<float>(0, 1)", "tex1D: the handle is no texture object"),
        ("surf1Dread<float>(t, 0)", "surf1Dread: the handle is no surface object"),
    ],
)
def test_kernels_that_fetch_wrongly(fetch, words):
    with pytest.raises(np.DeviceError, match=words):
        RawKernel(PLAIN % fetch, "f")(1, 1, (np.Texture(np.ones(4, "f4")), np.zeros(1, "f4")))


@on_cpu
def test_integers_fetched_as_float(sampling):
    with pytest.raises(np.DeviceError, match="holds integers and does not read them as float"):
        sample(sampling, np.Texture(numpy.ones((2, 2), "u1"), filter="point"), [numpy.ones(1, "f4")] * 2, "f4", 1)


@on_cpu
def test_outside_of_a_surface(surfaces):
    _, handle = surface(numpy.zeros(10, "i4"), 1)
    with pytest.raises(np.DeviceError, match=r"surf1Dread: the place \(400 bytes, 0, 0\) is outside"):
        surfaces.get_function("outside")(1, 1, (handle, np.zeros(1, "i4")))


@on_cpu
def test_levels_run_on_a_gpu_only():
    with pytest.raises(np.CompileError, match="tex2DLod runs on a GPU only"):
        RawKernel(PLAIN % "tex2DLod<float>(t, 1, 1, 0)", "f").compile()


@on_cpu
def test_with_checks(sampling):
    kernel = RawKernel(PLAIN % "tex2D<float>(t, threadIdx.x + 0.5f, 1)", "f", options=("--check",))
    out = np.zeros(4, "f4")
    kernel(1, 4, (np.Texture(np.arange(8, dtype="f4").reshape(2, 4), filter="point"), out))
    assert out.tolist() == [4, 5, 6, 7]


def test_arguments_of_kernels(surfaces, sampling):
    _, handle = surface(numpy.zeros(10, "i4"), 1)
    kernel = sampling.get_function("sample1<float>")
    x = np.ones(1, "f4")
    with pytest.raises(TypeError, match=r"argument 1 \(cudaTextureObject_t t\) takes a texture .* got an array"):
        kernel(1, 1, (x, x, x + 0, 1))
    with pytest.raises(TypeError, match=r"takes a texture .* got a cudaSurfaceObject_t"):
        kernel(1, 1, (handle, x, x + 0, 1))
    with pytest.raises(TypeError, match="takes int, got a cudaTextureObject_t"):
        kernel(1, 1, (np.Texture(x), x, x + 0, np.Texture(x)))
    with pytest.raises(TypeError, match=r"takes a surface .* got a cudaTextureObject_t"):
        surfaces.get_function("outside")(1, 1, (np.Texture(x), np.zeros(1, "i4")))


FLOATS = (32, 0, 0, 0, 2)


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: tx.ChannelFormatDescriptor(32, 32, 32, 0, 2), ValueError, "one, two or four channels"),
        (lambda: tx.ChannelFormatDescriptor(32, 16, 0, 0, 2), ValueError, "of the same bits, got"),
        (lambda: tx.ChannelFormatDescriptor(0, 32, 0, 0, 2), ValueError, "of the same bits, got"),
        (lambda: tx.ChannelFormatDescriptor(64, 0, 0, 0, 2), ValueError, "float channels have 16 or 32 bits, got 64"),
        (lambda: tx.ChannelFormatDescriptor(8, 0, 0, 0, 7), ValueError, "kind of a channel"),
        (lambda: tx.CUDAarray("f4", 3), TypeError, "desc must be a ChannelFormatDescriptor, got str"),
        (lambda: tx.CUDAarray(tx.ChannelFormatDescriptor(*FLOATS), 0), ValueError, "width must be at least 1"),
        (lambda: tx.CUDAarray(tx.ChannelFormatDescriptor(*FLOATS), 2.5), TypeError, "width must be an int"),
        (lambda: tx.CUDAarray(tx.ChannelFormatDescriptor(*FLOATS), 2, 0, 3), ValueError, "needs a height"),
        (lambda: tx.CUDAarray(tx.ChannelFormatDescriptor(*FLOATS), 2, flags=1), ValueError, "number of layers"),
        (lambda: tx.ResourceDescriptor(0, "x"), TypeError, "takes cuArr, a CUDAarray; got str"),
        (lambda: tx.ResourceDescriptor(1), NotImplementedError, "mipmapped"),
        (lambda: tx.ResourceDescriptor(9), ValueError, "restype is 0"),
        (lambda: tx.ResourceDescriptor(2, arr=numpy.ones(3)), TypeError, "an array of numloom; got ndarray"),
        (lambda: tx.TextureDescriptor([7]), ValueError, "addressModes are"),
        (lambda: tx.TextureDescriptor(filterMode=3), ValueError, "filterMode is 0"),
        (lambda: tx.TextureDescriptor(readMode=3), ValueError, "readMode is 0"),
        (lambda: tx.TextureDescriptor(borderColors=[1] * 5), ValueError, "up to four numbers"),
        (lambda: np.Texture(np.ones(3, "f8")), TypeError, "got float64: convert it with astype"),
        (lambda: np.Texture(np.ones((3, 3), "f4"), channels=2), ValueError, "the last axis must have 2"),
        (lambda: np.Texture(np.ones((3, 3), "f4"), channels=3), ValueError, "1, 2 or 4 channels, got 3"),
        (lambda: np.Texture(np.ones((2, 2, 2, 2), "f4")), ValueError, "1 to 3 dimensions"),
        (lambda: np.Texture(np.ones((0, 2), "f4")), ValueError, "not empty"),
        (lambda: np.Texture(np.ones(3, "f4"), "warp"), ValueError, "address is one of wrap, clamp"),
        (lambda: np.Texture(np.ones(3, "f4"), "wrap"), ValueError, "needs normalized=True"),
        (lambda: np.Texture(np.ones(3, "f4"), filter="cubic"), ValueError, "filter is 'point' or 'linear'"),
        (lambda: np.Texture(np.ones(3, "u1")), ValueError, "integers have no linear filter, got uint8"),
        (lambda: np.Texture(np.ones(3, "i4"), filter="point", as_float=True), ValueError, "integers of 8 and 16 bits"),
        (lambda: np.Texture(np.ones(3, "i4"), "border", "point", border=1), ValueError, "border of 0"),
    ],
)  # fmt: skip
def test_wrong_arguments(make, error, words):
    with pytest.raises(error, match=words):
        make()


def test_wrong_memory():
    desc = tx.ChannelFormatDescriptor(*FLOATS)
    memory = tx.CUDAarray(desc, 4, 3)
    with pytest.raises(TypeError, match="holds float32, the array given has dtype int32"):
        memory.copy_from(numpy.zeros((3, 4), "i4"))
    with pytest.raises(ValueError, match=r"takes arrays of shape \(3, 4\), got \(4, 3\)"):
        memory.copy_to(numpy.zeros((4, 3), "f4"))
    with pytest.raises(TypeError, match="an array to write to, got list"):
        memory.copy_to([1])
    with pytest.raises(ValueError, match="needs cudaArraySurfaceLoadStore"):
        tx.SurfaceObject(tx.ResourceDescriptor(0, memory))
    array = np.ones((4, 8), "f4")
    with pytest.raises(ValueError, match="would read 256 bytes, arr has 128"):
        tx.ResourceDescriptor(2, arr=array, chDesc=desc, sizeInBytes=256)
    with pytest.raises(ValueError, match="dense in C order"):
        tx.ResourceDescriptor(2, arr=array.T, chDesc=desc, sizeInBytes=64)
    with pytest.raises(ValueError, match="multiple of 32, got 36"):
        tx.ResourceDescriptor(3, arr=array, chDesc=desc, width=8, height=2, pitchInBytes=36)
    linear = tx.ResourceDescriptor(2, arr=array, chDesc=desc, sizeInBytes=128)
    with pytest.raises(ValueError, match="does not filter"):
        tx.TextureObject(linear, tx.TextureDescriptor(filterMode=1))
    with pytest.raises(ValueError, match="no normalized coordinates"):
        tx.TextureObject(linear, tx.TextureDescriptor(normalizedCoords=True))
    with pytest.raises(ValueError, match="sRGB is of uint8"):
        tx.TextureObject(linear, tx.TextureDescriptor(sRGB=True))
    with pytest.raises(ValueError, match="a surface lies over a CUDAarray"):
        tx.SurfaceObject(linear)
    with pytest.raises(TypeError, match="TexDesc must be a TextureDescriptor, got NoneType"):
        tx.TextureObject(linear, None)
    assert array.storage.pins == 0


def test_descriptions():
    desc = tx.ChannelFormatDescriptor(8, 8, 0, 0, tx.cudaChannelFormatKindUnsigned)
    assert desc.get_channel_format() == {"x": 8, "y": 8, "z": 0, "w": 0, "f": 1}
    assert repr(tx.CUDAarray(desc, 3, 2)) == "<CUDAarray of 3 x 2, <2 channels of uint8>>"


@pytest.mark.parametrize("text, names", [(SOURCE, NAMES), (SURFACES, SURFACE_NAMES)], ids=["textures", "surfaces"])
def test_nvrtc_takes_every_kernel(text, names):
    pytest.importorskip("cuda.bindings.nvrtc")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        _, symbols = compile_module({"kernel.cu": text}, (), tuple(names), ARCHITECTURE)
    assert set(symbols) == set(names)
