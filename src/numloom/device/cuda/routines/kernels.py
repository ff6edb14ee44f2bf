"""What the texts of the routines share: types, strided offsets, and how a text is launched."""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numloom.base.dtypes import CTYPES, code_of
from numloom.device.cuda.routines.recording import ScriptRecorder
from numloom.device.interface import Strided
from numloom.graph.layout import c_strides

PRELUDE = """\
#define DEV __device__ __forceinline__
typedef signed char i8; typedef unsigned char u8; typedef short i16; typedef unsigned short u16;
typedef int i32; typedef unsigned int u32; typedef long long i64; typedef unsigned long long u64;
typedef float f32; typedef double f64;
struct f16 { u16 bits; };
template <class T> struct complex { T re, im; };
typedef complex<f32> c64;
typedef complex<f64> c128;
// Writes a complaint to the table of `numloom.device.complaints`.
DEV void complain(i64* error, i64 location) {
    error[8 + 4 * (location & 1023)] = location;
    *error = location;
}
DEV void complain(i64* error, i64 location, i64 index, i64 extent) {
    i64* const slot = error + 8 + 4 * (location & 1023);
    if (atomicCAS((u64*)slot, 0ull, (u64)location) == 0) { slot[1] = index; slot[2] = extent; slot[3] = 1; }
    *error = location;
}
// Values travel as V: float for float16, else as they are.
template <class T> struct value_of { typedef T type; };
template <> struct value_of<f16> { typedef f32 type; };
template <class T> DEV T widen(T x) { return x; }
DEV f32 widen(f16 x) { f32 r; asm("cvt.f32.f16 %0, %1;" : "=f"(r) : "h"(x.bits)); return r; }
template <class T> DEV void put(T* to, T x) { *to = x; }
DEV void put(f16* to, f32 x) { f16 r; asm("cvt.rn.f16.f32 %0, %1;" : "=h"(r.bits) : "f"(x)); *to = r; }
template <class T> DEV bool truth(T x) { return x != T(0); }
template <class T> DEV bool truth(complex<T> x) { return x.re != T(0) || x.im != T(0); }
DEV bool truth(f16 x) { return (x.bits & 0x7fff) != 0; }
// Where element i (in C order) of extents lies.
template <int R> DEV i64 offset_of(i64 i, const i64* extent, const i64* stride) {
    i64 at = 0;
#pragma unroll
    for (int d = R - 1; d > 0; --d) {
        const i64 e = extent[d];
        const i64 q = ((u64)i | (u64)e) >> 32 ? i / e : (i64)((u32)i / (u32)e);
        at += (i - q * e) * stride[d];
        i = q;
    }
    return at + i * stride[0];
}
"""

LANES = """
// The value of the lane `d` before this one, and of lane `l`.
template <class V> DEV V shifted(V x, int d) {
    constexpr int N = (sizeof(V) + 3) / 4;
    u32 w[N];
    w[N - 1] = 0;
    memcpy(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_up_sync(0xffffffffu, w[k], d);
    memcpy(&x, w, sizeof(V));
    return x;
}
template <class V> DEV V of_lane(V x, int l) {
    constexpr int N = (sizeof(V) + 3) / 4;
    u32 w[N];
    w[N - 1] = 0;
    memcpy(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < N; ++k) w[k] = __shfl_sync(0xffffffffu, w[k], l);
    memcpy(&x, w, sizeof(V));
    return x;
}
template <class V, class C> DEV V scan_lanes(V x, C combine) {
    const int lane = threadIdx.x & 31;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
        const V other = shifted(x, d);
        if (lane >= d) x = combine(other, x);
    }
    return x;
}
struct Sum { template <class V> __device__ V operator()(V a, V b) const { return a + b; } };
"""

LOOK_BACK = """
// Inter-block flags: words by which blocks of one launch publish values, 4 bytes each, with the launch's number above.
DEV u64 load_flag(const u64* at) {
    u64 x;
    asm volatile("ld.relaxed.gpu.b64 %0, [%1];" : "=l"(x) : "l"(at) : "memory");
    return x;
}
DEV void publish(u64* at, u64 x) { asm volatile("st.relaxed.gpu.b64 [%0], %1;" : : "l"(at), "l"(x) : "memory"); }
template <class V> DEV constexpr int SLOTS() { return (sizeof(V) + 3) / 4; }
template <class V> DEV void publish_value(u64* at, i64 launch, V x) {
    u32 w[SLOTS<V>()];
    w[SLOTS<V>() - 1] = 0;
    memcpy(w, &x, sizeof(V));
#pragma unroll
    for (int k = 0; k < SLOTS<V>(); ++k) publish(at + k, (u64)launch << 32 | w[k]);
}
template <class V> DEV bool published(const u64* at, i64 launch, V& x) {
    u32 w[SLOTS<V>()];
    bool here = true;
#pragma unroll
    for (int k = 0; k < SLOTS<V>(); ++k) {
        const u64 found = load_flag(at + k);
        w[k] = (u32)found;
        here = here && (u32)(found >> 32) == (u32)launch;
    }
    memcpy(&x, w, sizeof(V));
    return here;
}
// What `count` values, `stride` words apart, give together in their order; waits until they are published.
template <class V, class C> DEV V read_published(const u64* at, i64 stride, i64 count, i64 launch, C combine) {
    V sum;
    for (i64 i = 0; i < count; i += 4) {
        V x[4];
        bool here;
        do {
            here = true;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                const i64 j = i + k < count ? i + k : count - 1;
                const bool one = published(at + j * stride, launch, x[k]);
                here = here && one;
            }
        } while (!here);
#pragma unroll
        for (int k = 0; k < 4; ++k) if (i + k < count) sum = i + k > 0 ? combine(sum, x[k]) : x[k];
    }
    return sum;
}
// The same by a warp, each lane some neighbours; every lane gets the result.
template <class V, class C> DEV V fold_published(const u64* at, i64 count, i64 launch, C combine) {
    const i64 each = (count + 31) / 32, begin = (threadIdx.x & 31) * each, rest = count - begin;
    V own;
    if (rest > 0)
        own = read_published<V>(at + begin * SLOTS<V>(), SLOTS<V>(), rest < each ? rest : each, launch, combine);
    __syncwarp();
    return of_lane(scan_lanes(own, combine), (int)((count - 1) / each));
}
"""

THREADS = 256
FAST_TIER_MOST = 1 << 22
"""Most threads of a launch whose code is compiled by the fast tier."""


class Grid(NamedTuple):
    """How a text is launched: `numloom.plan.program.Geometry` without what only planned kernels need."""

    blocks: int
    threads: int = THREADS
    shared: int = 0
    blocks_y: int = 1


def kernel_of(device: Any, text: str, entry: str, grid: Any, wait: bool = False) -> Any:
    """The kernel `entry` of a text, to be launched in this call over `grid`.

    For the first call that may be code that was compiled by the fast tier (see
    `numloom.device.interface.Backend.kernel`), which takes two to forty times as long; but not with `wait`, or where
    there are many threads.
    """
    wait = wait or grid.blocks * grid.blocks_y * grid.threads > FAST_TIER_MOST
    return device.kernel(text, entry, wait=wait)


def run(device: Any, text: str, entry: str, grid: Grid, words: Iterable[int], wait: bool = False) -> None:
    """Launch `entry` of a text; `words` fill its struct of parameters, 8 bytes each. For `wait` see `kernel_of`."""
    launch(device, kernel_of(device, text, entry, grid, wait), words, grid)


def launch(device: Any, kernel: Any, words: Iterable[int], grid: Any) -> None:
    """Launch a kernel with these words as its parameters."""
    device.launch(kernel, words if type(device) is ScriptRecorder else array("q", words), grid)


def command(device: Any, function: Callable[..., None], *addresses: int) -> None:
    """Call what queues work of a library for these addresses, in the order of launches."""
    if type(device) is ScriptRecorder:
        device.call(function, addresses)
    else:
        function(*addresses)


class InterBlockFlags:
    """Words by which blocks of one launch publish values, used by launch after launch, never cleared."""

    def __init__(self) -> None:
        self.buffer: Any = None
        self.launch = 0

    def next(self, device: Any, words: int, launches: int = 1) -> tuple[int, int]:
        """Address of at least `words` words, and the first number (2 for each launch) in no upper half of them."""
        if self.buffer is None or self.buffer.nbytes < 8 * words or self.launch >= (1 << 32) - 2 * launches - 2:
            self.buffer = device.allocate(max(8 * words, 1 << 16))
            device.clear(self.buffer, self.buffer.nbytes)
            self.launch = 0
        first = self.launch + 2
        self.launch += 2 * launches
        return self.buffer.ptr, first


def block_flags(device: Any, words: int, launches: int = 1) -> tuple[int, int]:
    """`InterBlockFlags.next` of the device's own."""
    if not hasattr(device, "block_flags"):
        device.block_flags = InterBlockFlags()
    return device.block_flags.next(device, words, launches)  # type: ignore[no-any-return]


def ctype_of(dtype: np.dtype[Any]) -> str:
    """C++ type of an element in memory."""
    return CTYPES[code_of(dtype)]


def cell_of(dtype: np.dtype[Any]) -> str:
    """C++ type that moves an element's bits: one for each size."""
    return {1: "u8", 2: "u16", 4: "u32", 8: "u64", 16: "c128"}[dtype.itemsize]


def address(operand: Strided) -> int:
    """Address of the operand's first element."""
    return operand.buffer.ptr + operand.offset * operand.dtype.itemsize


def collapse(shape: Sequence[int], *strides: Sequence[int]) -> tuple[list[int], list[list[int]]]:
    """The same elements in the same C order with the fewest axes (at least one).

    >>> collapse((2, 3, 4), (12, 4, 1), (4, 0, 1))
    ([2, 3, 4], [[12, 4, 1], [4, 0, 1]])
    >>> collapse((2, 1, 4), (4, 9, 1))
    ([8], [[1]])
    """
    extents: list[int] = []
    steps: list[list[int]] = [[] for _ in strides]
    for axis, extent in enumerate(shape):
        if extent == 1:
            continue
        if extents and all(step[-1] == stride[axis] * extent for step, stride in zip(steps, strides, strict=True)):
            extents[-1] *= extent
            for step, stride in zip(steps, strides, strict=True):
                step[-1] = stride[axis]
        else:
            extents.append(extent)
            for step, stride in zip(steps, strides, strict=True):
                step.append(stride[axis])
    if not extents:
        return [1], [[0] for _ in strides]
    return extents, steps


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides (in elements) of C order; as everywhere, an empty axis counts as one element, so that none is 0."""
    return c_strides(tuple(shape), 1)


def empty(device: Any, shape: Sequence[int], dtype: Any) -> Strided:
    """A fresh dense operand that nothing has been written to."""
    dtype = np.dtype(dtype)
    buffer = device.allocate(max(prod(shape), 1) * dtype.itemsize)
    return Strided(buffer, 0, tuple(shape), dense_strides(shape), dtype)


def is_dense(operand: Strided) -> bool:
    """Whether the elements lie in C order without gaps."""
    if len(operand.shape) == 1 and operand.strides[0] == 1:
        return True
    extents, (strides,) = collapse(operand.shape, operand.strides)
    return (len(extents) == 1 and strides[0] == 1) or prod(operand.shape) <= 1


def move_text(unit_type: str, rank: int) -> str:
    """Text that copies elements from one layout to another."""
    return f"""{PRELUDE}
struct P {{ const {unit_type}* a; {unit_type}* out; i64 n; i64 extent[{rank}], from[{rank}], to[{rank}]; }};
extern "C" __global__ void __launch_bounds__({THREADS}) move(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i < p.n) p.out[offset_of<{rank}>(i, p.extent, p.to)] = p.a[offset_of<{rank}>(i, p.extent, p.from)];
}}
"""


def assign(device: Any, out: Strided, source: Strided) -> None:
    """Copy the elements of `source` to `out`, of the same shape and dtype."""
    count = prod(out.shape)
    if not count:
        return
    extents, (from_, to) = collapse(out.shape, source.strides, out.strides)
    rank = len(extents)
    if rank == 1 and from_[0] == to[0] == 1:
        itemsize = out.dtype.itemsize
        device.copy(out.buffer, out.offset * itemsize, source.buffer, source.offset * itemsize, count * itemsize)
        return
    text = move_text(cell_of(out.dtype), rank)
    words = [address(source), address(out), count, *extents, *from_, *to]
    run(device, text, "move", Grid(-(-count // THREADS)), words)


def dense(device: Any, operand: Strided) -> Strided:
    """The operand itself where it is dense in C order, else a dense copy."""
    if is_dense(operand):
        return operand
    copied = empty(device, operand.shape, operand.dtype)
    assign(device, copied, operand)
    return copied
