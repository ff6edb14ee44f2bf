"""Fourier transforms by cuFFT, which reads and writes by strides where its plans can say them.

Plans are made for one layout, kept by it, and have no memory of their own: a transform takes its workspace from the
device's pool. What cuFFT cannot describe, or would overwrite, is copied first. Results are scaled where they are
copied anyway, else in place.
"""

from __future__ import annotations

import ctypes
import itertools
import os
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import partial
from math import prod
from typing import Any, NamedTuple

import numpy as np

from numloom.base.lasting import WeakValues
from numloom.device.cuda.routines.host import on_host
from numloom.device.cuda.routines.kernels import (
    PRELUDE,
    THREADS,
    Grid,
    address,
    assign,
    collapse,
    command,
    ctype_of,
    empty,
    run,
)
from numloom.device.cuda.routines.libraries import library
from numloom.device.interface import Strided
from numloom.ops.fourier import scale_of

try:
    from numloom.device.cuda._fft import Transform  # type: ignore[import-not-found]
except ImportError:
    Transform = None

PLANS = 64  # plans that are kept; one is some kilobytes of the host and, for large primes, tables on the GPU
MOST_LAUNCHES = 16  # transforms of parts of an array; beyond, a dense copy is cheaper

# CUDA's numbers of the element types.
_TYPES = {"f": 0, "d": 1, "F": 4, "D": 5}
_PARTS = {"c64": "f32", "c128": "f64"}
_FORWARD, _INVERSE = -1, 1


class Side(NamedTuple):
    """How cuFFT's advanced layout describes one side of a plan: elements of the nested axes, step, and batch step."""

    embed: tuple[int, ...]
    stride: int
    distance: int


class FourierPlan:
    """How cuFFT transforms one layout, both ways; the library knows those that were used last.

    Attributes
    ----------
    key : tuple
        What it is made for: lengths, sides, batch and element types.
    handle : int
        The library's; -1 while it knows it no more.
    nbytes : int
        Workspace that it needs.
    forward, inverse : callable
        Queue it for the addresses of source, target and workspace.
    """

    __slots__ = ("__weakref__", "_cufft", "forward", "handle", "inverse", "key", "nbytes")

    def __init__(self, cufft: Cufft, key: tuple[Any, ...]) -> None:
        self._cufft = cufft
        self.key = key
        self.handle = -1
        self.nbytes = 0
        self.forward, self.inverse = (self._bound(direction) for direction in (_FORWARD, _INVERSE))

    def ready(self) -> int:
        """Its handle; of all plans it was used last."""
        if self.handle < 0:
            self._cufft.make(self)
        self._cufft.plans.move_to_end(self)
        return self.handle

    def call(self, direction: int, source: int, target: int, work: int) -> None:
        """Queue it through the binding, which raises what the library says."""
        library, handle = self._cufft.library, self.ready()
        library.set_work_area(handle, work)
        library.xt_exec(handle, source, target, direction)

    def _bound(self, direction: int) -> Callable[[int, int, int], None]:
        by_binding = partial(self.call, direction)
        if self._cufft.addresses is None:
            return by_binding
        return Transform(self._cufft.addresses, self.ready, direction, by_binding)  # type: ignore[no-any-return]


class Cufft:
    """Plans on the device's stream, by what they are made for; the least recently used ones go."""

    def __init__(self, device: Any, library: Any) -> None:
        self.device = device
        self.library = library
        self.addresses = _addresses(library) if Transform is not None else None
        self.plans: OrderedDict[FourierPlan, None] = OrderedDict()
        self._met: WeakValues[Any, FourierPlan] = WeakValues()

    def plan(self, key: tuple[Any, ...]) -> FourierPlan:
        """The one plan for a layout, which the library knows."""
        plan = self._met.get(key)
        if plan is None:
            plan = self._met[key] = FourierPlan(self, key)
        plan.ready()
        return plan

    def make(self, plan: FourierPlan) -> None:
        """Let the library know a plan, and forget the one that was not used for longest if there are too many."""
        lengths, source, target, batch, source_char, target_char = plan.key
        handle = self.library.create()
        try:
            self.library.set_auto_allocation(handle, 0)
            complex_char = target_char if target_char in "FD" else source_char
            nbytes = self.library.xt_make_plan_many(
                handle, len(lengths), lengths, source.embed, source.stride, source.distance, _TYPES[source_char],
                target.embed, target.stride, target.distance, _TYPES[target_char], batch, _TYPES[complex_char],
            )  # fmt: skip
            self.library.set_stream(handle, self.device.stream)
        except BaseException:
            self.library.destroy(handle)
            raise
        if len(self.plans) >= PLANS:
            oldest, _ = self.plans.popitem(last=False)
            self.device.synchronize()  # a transform may still use the plan's tables
            self.library.destroy(oldest.handle)
            oldest.handle = -1
        plan.handle, plan.nbytes = handle, int(nbytes)
        self.plans[plan] = None

    def run(
        self, device: Any, source: Strided, target: Strided, axes: Sequence[int], lengths: Sequence[int], forward: bool
    ) -> bool:
        """Transform along `axes` by one plan if cuFFT can describe both sides so; whether it could."""
        sides = [_nested(x, axes) for x in (source, target)]
        if None in sides:
            return False
        rest = [axis for axis in range(len(target.shape)) if axis not in axes]
        extents, steps = collapse(
            [target.shape[axis] for axis in rest],
            [source.strides[axis] for axis in rest],
            [target.strides[axis] for axis in rest],
        )
        if any(step <= 0 < extent - 1 for side in steps for step, extent in zip(side, extents, strict=True)):
            return False
        # One batch a launch: the longest run of transforms.
        batch = max(range(len(extents)), key=extents.__getitem__)
        others = [k for k in range(len(extents)) if k != batch]
        if prod(extents[k] for k in others) > MOST_LAUNCHES:
            return False
        for x, side in zip((source, target), steps, strict=True):
            # Real numbers must begin where complex ones might.
            wide = 2 * x.dtype.itemsize
            if x.dtype.kind == "f" and (address(x) % wide or any(side[k] % 2 for k in others)):
                return False
        described = [
            Side(embed, stride, steps[k][batch] or 1)
            for k, (embed, stride) in enumerate(side for side in sides if side is not None)
        ]
        key = (tuple(lengths), *described, extents[batch], source.dtype.char, target.dtype.char)
        plan = self.plan(key)
        queue = plan.forward if forward else plan.inverse
        work = device.allocate(max(plan.nbytes, 1))
        for index in itertools.product(*(range(extents[k]) for k in others)):
            begin, end = (
                address(x) + x.dtype.itemsize * sum(i * side[k] for i, k in zip(index, others, strict=True))
                for x, side in zip((source, target), steps, strict=True)
            )
            command(device, queue, begin, end, work.ptr)
        return True


def _nested(x: Strided, axes: Sequence[int]) -> tuple[tuple[int, ...], int] | None:
    """`embed` and `stride` of these axes if each holds a whole number of the next one's elements."""
    strides = [x.strides[axis] for axis in axes]
    embed = [x.shape[axes[0]]]
    for axis, outer, inner in zip(axes[1:], strides, strides[1:], strict=False):
        if inner <= 0 or outer % inner or outer // inner < x.shape[axis]:
            return None
        embed.append(outer // inner)
    return (tuple(embed), strides[-1]) if strides[-1] > 0 else None


def _library(device: Any) -> Cufft | None:
    """The device's cuFFT, None where it is not installed."""
    found: Cufft | None = library(device, "cufft", "cufft", partial(_loaded, device))
    return found


def _loaded(device: Any, cufft: Any) -> Cufft:
    cufft.get_version()
    return Cufft(device, cufft)


def _addresses(cufft: Any) -> tuple[int, int] | None:
    """Addresses of the two functions that queue, in the library that the binding has loaded; None if not to be had."""
    try:
        found = ctypes.CDLL(f"libcufft.so.{cufft.get_version() // 1000}", mode=os.RTLD_NOLOAD)
        functions = found.cufftSetWorkArea, found.cufftXtExec
    except (AttributeError, OSError):
        return None
    return tuple(ctypes.cast(function, ctypes.c_void_p).value for function in functions)  # type: ignore[return-value]


def fourier(
    device: Any, a: Strided, *, kind: str, axes: tuple[int, ...], n: int, forward: bool, norm: str, out: Strided
) -> None:
    """``out`` = transforms of `a` along `axes`; see `numloom.ops.fourier.fourier`."""
    if not prod(out.shape):
        return
    library = _library(device)
    if library is None:
        on_host("fourier", device, a, kind=kind, axes=axes, n=n, forward=forward, norm=norm, out=out)
        return
    forward = {"r2c": True, "c2r": False}.get(kind, forward)
    lengths = [a.shape[axis] for axis in axes[:-1]] + [n if kind == "c2r" else a.shape[axes[-1]]]
    scale = scale_of(prod(lengths), forward, norm)
    if kind == "c2r":
        _to_real(device, library, a, out, axes, scale)
    elif a.dtype.kind == "f":
        # Half of a real array's spectrum says the rest.
        _spectrum_half(device, library, a, out, axes[-1])
        if kind == "c2c":
            _mirror(device, out, axes[-1], conjugate=not forward)
        _complex(device, library, out, out, axes[:-1], forward)
        _scale(device, out, scale)
    else:
        _complex(device, library, a, out, axes, forward)
        _scale(device, out, scale)


def _complex(device: Any, library: Cufft, source: Strided, target: Strided, axes: Sequence[int], forward: bool) -> None:
    """Complex transforms along axes, up to three of them by one plan."""
    left = sorted(axes, key=lambda axis: -target.strides[axis])
    while left:
        for count in range(min(3, len(left)), 0, -1):
            some = left[-count:]
            lengths = [target.shape[axis] for axis in some]
            if library.run(device, source, target, some, lengths, forward):
                break
        else:
            _by_copy(device, library, source, target, left[-1:], forward)
            count = 1
        left = left[:-count]
        source = target


def _by_copy(device: Any, library: Cufft, source: Strided, target: Strided, axes: list[int], forward: bool) -> None:
    """A complex transform along one axis in a dense copy that has it last."""
    scratch = _dense_last(device, target.shape, target.dtype, axes[0])
    assign(device, scratch, source)
    if not library.run(device, scratch, scratch, axes, [target.shape[axes[0]]], forward):
        raise AssertionError("cuFFT describes every dense array")
    assign(device, target, scratch)


def _dense_last(device: Any, shape: Sequence[int], dtype: np.dtype[Any], axis: int) -> Strided:
    """Fresh memory of a shape without gaps in which `axis` is the fast one."""
    order = [*(k for k in range(len(shape)) if k != axis), axis]
    dense = empty(device, [shape[k] for k in order], dtype)
    strides = tuple(dense.strides[order.index(k)] for k in range(len(shape)))
    return Strided(dense.buffer, 0, tuple(shape), strides, dense.dtype)


def _spectrum_half(device: Any, library: Cufft, source: Strided, out: Strided, axis: int) -> None:
    """The first half of the spectrum of real numbers along one axis, into the beginning of `out`."""
    n = source.shape[axis]
    shape = tuple(n // 2 + 1 if k == axis else extent for k, extent in enumerate(out.shape))
    half = Strided(out.buffer, out.offset, shape, out.strides, out.dtype)
    if library.run(device, source, half, [axis], [n], True):
        return
    real, spectrum = (_dense_last(device, x.shape, x.dtype, axis) for x in (source, half))
    assign(device, real, source)
    if not library.run(device, real, spectrum, [axis], [n], True):
        raise AssertionError("cuFFT describes every dense array")
    assign(device, half, spectrum)


def _to_real(device: Any, library: Cufft, source: Strided, out: Strided, axes: tuple[int, ...], scale: float) -> None:
    """Real numbers from half of a spectrum; cuFFT overwrites what it reads, so that is a copy, already scaled."""
    axis, n = axes[-1], out.shape[axes[-1]]
    half = n // 2 + 1
    shape = tuple(half if k == axis else extent for k, extent in enumerate(source.shape))
    scratch = _dense_last(device, shape, source.dtype, axis)
    first = Strided(source.buffer, source.offset, shape, source.strides, source.dtype)
    if len(axes) > 1:
        _complex(device, library, first, scratch, axes[:-1], False)
        first = scratch
    extents, (from_, to, which) = collapse(
        shape, first.strides, scratch.strides, [int(k == axis) for k in range(len(shape))]
    )
    text = half_text(ctype_of(source.dtype), len(extents))
    words = [address(first), address(scratch), prod(shape), 0 if n % 2 else half - 1, _bits(scale)]
    words += [*extents, *from_, *to, *which]
    run(device, text, "hermitian", Grid(-(-prod(shape) // THREADS)), words)
    if library.run(device, scratch, out, [axis], [n], False):
        return
    real = _dense_last(device, out.shape, out.dtype, axis)
    if not library.run(device, scratch, real, [axis], [n], False):
        raise AssertionError("cuFFT describes every dense array")
    assign(device, out, real)


def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


# ---------------------------------------------------------------- texts


def half_text(ctype: str, rank: int) -> str:
    """Text that copies half a spectrum, scaled, with what must be real made so: its first and (n even) last element."""
    real = _PARTS[ctype]
    return f"""{PRELUDE}
struct P {{
    const {ctype}* a; {ctype}* out; i64 n, last; f64 scale; i64 extent[{rank}], from[{rank}], to[{rank}], which[{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) hermitian(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    {ctype} x = p.a[offset_of<{rank}>(i, p.extent, p.from)];
    const i64 k = offset_of<{rank}>(i, p.extent, p.which);
    const {real} scale = ({real})p.scale;
    x.re *= scale;
    x.im = k == 0 || k == p.last ? 0 : x.im * scale;
    p.out[offset_of<{rank}>(i, p.extent, p.to)] = x;
}}
"""


def mirror_text(ctype: str, rank: int) -> str:
    """Text that fills the second half of a real array's spectrum from the first, or of its conjugate."""
    return f"""{PRELUDE}
struct P {{
    {ctype}* out; i64 count, half, n, step, conjugate; i64 extent[{rank}], stride[{rank}];
}};
extern "C" __global__ void __launch_bounds__({THREADS}) mirror(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.count) return;
    const i64 row = i / p.half, k = i - row * p.half + 1;
    {ctype}* at = p.out + offset_of<{rank}>(row, p.extent, p.stride);
    {ctype} x = at[k * p.step];
    {ctype} y = {{x.re, 0 - x.im}};  // Zero stays 0.0.
    at[(p.n - k) * p.step] = p.conjugate ? x : y;
    if (p.conjugate && 2 * k != p.n) at[k * p.step] = y;
}}
"""


def _mirror(device: Any, out: Strided, axis: int, conjugate: bool) -> None:
    n = out.shape[axis]
    half = n // 2
    rest = [k for k in range(len(out.shape)) if k != axis]
    extents, (strides,) = collapse([out.shape[k] for k in rest], [out.strides[k] for k in rest])
    count = half * prod(extents)
    if count:
        text = mirror_text(ctype_of(out.dtype), len(extents))
        words = [address(out), count, half, n, out.strides[axis], int(conjugate), *extents, *strides]
        run(device, text, "mirror", Grid(-(-count // THREADS)), words)


def scale_text(ctype: str) -> str:
    """Text that multiplies complex numbers without gaps by a real one, in place."""
    real = _PARTS[ctype]
    return f"""{PRELUDE}
struct P {{ {ctype}* out; i64 n; f64 scale; }};
extern "C" __global__ void __launch_bounds__({THREADS}) scale(const __grid_constant__ P p) {{
    const i64 i = (i64)blockIdx.x * {THREADS} + threadIdx.x;
    if (i >= p.n) return;
    {ctype} x = p.out[i];
    const {real} scale = ({real})p.scale;
    x.re *= scale;
    x.im *= scale;
    p.out[i] = x;
}}
"""


def _scale(device: Any, out: Strided, scale: float) -> None:
    """Multiply a fresh result, which has no gaps in some order of its axes."""
    if scale != 1:
        count = prod(out.shape)
        run(device, scale_text(ctype_of(out.dtype)), "scale", Grid(-(-count // THREADS)),
            [address(out), count, _bits(scale)])  # fmt: skip
