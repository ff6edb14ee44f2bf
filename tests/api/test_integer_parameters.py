"""Every integer parameter of the API takes what NumPy's integers are here: results of no dimensions.

`x.sum()` is a scalar to NumPy, which takes it as a count, an axis, a seed or a size. Here it is an array of no
dimensions, often one that is not computed yet. The parameters are found by their names in all signatures; one that is
in no list below fails the test.
"""

from __future__ import annotations

import inspect
import io
import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

import numloom as nl

SUBMODULES = (
    "linalg", "fft", "random", "special", "lib.stride_tricks", "lib.array_utils", "polynomial.polynomial",
    "polynomial.chebyshev", "polynomial.legendre", "polynomial.hermite", "polynomial.hermite_e", "polynomial.laguerre",
    "cuda",
)  # fmt: skip
CLASSES = {
    "ndarray": (nl.ndarray, "x"),
    "Generator": (nl.random.Generator, "np.random.default_rng(1)"),
    "RandomState": (nl.random.RandomState, "np.random.RandomState(1)"),
    "Philox": (nl.random.Philox, "np.random.Philox(1)"),
    "Polynomial": (nl.polynomial.Polynomial, "np.polynomial.Polynomial([1., 2., 3.])"),
}

# What an integer parameter of that name is given, in the walk's own calls.
INTEGERS = {
    "M": 4, "N": 3, "axis": 1, "axis1": 1, "axis2": 1, "axisa": 1, "axisb": 1, "axisc": 1, "axes": 1, "bins": 3,
    "buffersize": 16, "count": 2, "counter": 3, "ddof": 1, "decimals": 1, "deg": 2, "destination": 1, "source": 1,
    "dimensions": 2,     "dims": 12, "edge_order": 2, "edgeitems": 2, "exp_digits": 3, "ind": 1,
    "indices_or_sections": 2, "itershape": 3,
    "k": 1, "key": 3, "kth": 1, "length": 5, "linewidth": 40, "m": 2, "max_line_width": 30, "max_rows": 2,
    "max_work": 100, "min_digits": 3, "minlength": 6, "n": 3, "n_children": 2, "ndim": 2, "ndmax": 2, "ndmin": 2,
    "new_shape": 4, "nsample": 3, "num": 5, "number": 10, "obj": 1, "offset": 1, "ord": 2, "pad_left": 4,
    "pad_right": 4, "pad_width": 2, "padding": 2, "precision": 3, "repeats": 2, "reps": 2, "s": 2, "seed": 3,
    "shape": 12, "shift": 1, "size": 2, "skip_footer": 1, "skip_header": 1, "skiprows": 1, "start": 0,
    "strides": 8, "threshold": 5, "usecols": 1, "width": 6, "window_shape": 2, "d": 2, "base": 3,
}  # fmt: skip
# Parameters of those names that are none: data of any dtype, or numbers that need not be whole.
OTHERS = {
    "angle.deg", "cov.m", "flip.m", "fliplr.m", "flipud.m", "rot90.m", "arange.start", "geomspace.start",
    "linspace.start", "logspace.start", "logspace.base", "random.binomial.n", "random.negative_binomial.n",
    "Generator.binomial.n", "Generator.negative_binomial.n", "RandomState.binomial.n",
    "RandomState.negative_binomial.n", "random.hypergeometric.nsample", "Generator.hypergeometric.nsample",
    "RandomState.hypergeometric.nsample", "put.ind", "fft.fftfreq.d", "fft.rfftfreq.d", "explain.source",
    "ndarray.explain.source", "random.gamma.shape", "random.standard_gamma.shape", "Generator.gamma.shape",
    "Generator.standard_gamma.shape", "RandomState.gamma.shape", "RandomState.standard_gamma.shape", "flatiter.base",
    # NumPy's own function: arrays of no dimensions are no numbers to it.
    "set_printoptions.threshold",
    "polynomial.polynomial.polyint.k", "polynomial.chebyshev.chebint.k", "polynomial.legendre.legint.k",
    "polynomial.hermite.hermint.k", "polynomial.hermite_e.hermeint.k", "polynomial.laguerre.lagint.k",
    "Polynomial.integ.k", "polyint.k", "digitize.bins", "triu.m", "tril.m",
    "special.logsumexp.b",
    # Records of what was found, and memory and functions of CUDA that a program was given.
    "Comparison.index", "Explanation.source", "operation.shared_mem", "cuda.ExternalStream.device_id",
    *(f"OutOfMemoryError.{name}" for name in ("asked", "used", "cached", "limit")),
    *(f"Placement.{name}" for name in ("on_host", "to_device", "to_host", "bytes_to_device", "bytes_to_host")),
    *(f"cuda.UnownedMemory.{name}" for name in ("ptr", "size", "device_id")),
    "cuda.PythonFunctionAllocator.malloc_func",
    "cuda.PythonFunctionAllocator.free_func",
    # Inside: what the package calls itself.
    "Philox.counters.shape", "Philox.places.shape", "Philox.places.each", "Philox.reserve.count",
    "Philox.give_back.start", "Philox.give_back.count",
    "Philox.take.count", "Generator.draw.shape", "RandomState.draw.shape",
    # Memory that a program of CUDA was given.
    "cuda.PinnedMemoryPointer.shape", "cuda.PinnedMemoryPointer.strides", "cuda.PinnedMemoryPointer.offset",
    "cuda.MemoryPointer.offset",
}  # fmt: skip
# Arguments that calls need beside the integer, by name.
SAMPLES = {
    **dict.fromkeys(("a", "array", "m", "x", "X", "arr", "ary", "A", "filt", "y", "prototype", "v", "p"), "x"),
    **dict.fromkeys(("arrays", "tup"), "[x, x]"), "object": "x", "sample": "x", "fill_value": "7", "source": "0",
    "destination": "0", "shift": "1", "shape": "3", "indices": "np.array([[0, 1], [1, 0], [0, 2]])", "values": "x",
    "newshape": "12", "q": "0.5", "func1d": "lambda r: r.sum()", "start": "1.0", "stop": "9.0", "n": "3", "k": "1",
    "low": "5", "pvals": "[0.5, 0.5]", "b": "2.0", "alpha": "2.0", "df": "3.0", "dfnum": "3.0", "dfden": "4.0",
    "nonc": "1.0", "mu": "0.5", "kappa": "1.0", "lam": "2.0", "mean": "[0.0, 0.0]", "cov": "[[1.0, 0.0], [0.0, 1.0]]",
    "left": "0.0", "mode": "0.5", "right": "1.0", "ngood": "5", "nbad": "5", "nsample": "3", "colors": "[3, 4]",
    "dates": "x", "file": "None", "axis1": "0", "axis2": "1", "c": "x", "kth": "1", "deg": "2", "N": "3", "M": "4",
    "repeats": "2", "obj": "1", "condition": "[True, False]", "indices_or_sections": "2",
}  # fmt: skip
TEXT = "io.StringIO('1 2 3\\n4 5 6\\n7 8 9\\n')"
CUBE = "np.arange(24.0).reshape(2, 3, 4)"
OWN = {
    "a": {"random": "0.5", "Generator": "0.5", "RandomState": "0.5"},
    "p": {"random": "0.5", "Generator": "0.5", "RandomState": "0.5"},
    "n": {"random": "5", "Generator": "5", "RandomState": "5"},
}
FFTS = ("fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2", "rfftn")
BASES = {"polynomial": "poly", "chebyshev": "cheb", "legendre": "leg", "hermite": "herm", "hermite_e": "herme",
         "laguerre": "lag"}  # fmt: skip
SOURCES = {"random": "np.random", "Generator": "np.random.default_rng(1)", "RandomState": "np.random.RandomState(1)"}
TEXT_OPTIONS = ("skip_header", "skip_footer", "skiprows", "usecols", "max_rows", "ndmin")
DIGITS = ("precision", "pad_left", "pad_right", "min_digits", "exp_digits")
# Calls that the names do not give: K is the integer.
CALLS = {
    "empty.shape": "np.empty(K).shape",
    "empty_like.shape": "np.empty_like(x, shape=K).shape",
    "apply_over_axes.axes": "np.apply_over_axes(np.sum, x, K)",
    "base_repr.base": "np.base_repr(10, K)",
    "base_repr.padding": "np.base_repr(10, padding=K)",
    "binary_repr.width": "np.binary_repr(3, K)",
    "bincount.minlength": "np.bincount(np.array([1, 0, 1]), minlength=K)",
    "broadcast_to.shape": "np.broadcast_to(x[0, 0], K)",
    "cross.axisa": "np.cross(x.T, x.T, axisa=K)",
    "cross.axisb": "np.cross(x.T, x.T, axisb=K)",
    "cross.axisc": "np.cross(x.T, x.T, axisc=K)",
    "cross.axis": "np.cross(x.T, x.T, axis=K)",
    "diagonal.axis1": "np.diagonal(x, axis1=K, axis2=0)",
    "trace.axis1": "np.trace(x, axis1=K, axis2=0)",
    "ndarray.diagonal.axis1": "x.diagonal(axis1=K, axis2=0)",
    "ndarray.trace.axis1": "x.trace(axis1=K, axis2=0)",
    "dsplit.indices_or_sections": "np.dsplit(np.ones((1, 2, 4)), K)",
    "split.indices_or_sections": "np.split(np.arange(6), K)",
    "vsplit.indices_or_sections": "np.vsplit(x.T, K)",
    "frombuffer.count": "np.frombuffer(b'abcdefgh', np.uint8, count=K)",
    "frombuffer.offset": "np.frombuffer(b'abcdefgh', np.uint8, offset=K)",
    "fromfile.count": "np.fromfile(path, np.uint8, count=K)",
    "fromfile.offset": "np.fromfile(path, np.uint8, offset=K)",
    "memmap.offset": "np.memmap(path, np.uint8, 'r', offset=K)",
    "memmap.shape": "np.memmap(path, np.uint8, 'r', shape=K)",
    "fromfunction.shape": "np.fromfunction(lambda i: i, (K,))",
    "fromiter.count": "np.fromiter(range(9), float, count=K)",
    "fromstring.count": "np.fromstring('1 2 3 4', sep=' ', count=K)",
    "geomspace.axis": "np.geomspace([1.0, 2.0], 9.0, 3, axis=K)",
    "logspace.axis": "np.logspace([1.0, 2.0], 3.0, 3, axis=K)",
    "linspace.axis": "np.linspace([1.0, 2.0], 3.0, 3, axis=K)",
    "gradient.axis": "np.gradient(x, axis=K)",
    "gradient.edge_order": "np.gradient(x, edge_order=K)",
    "histogram2d.bins": "np.histogram2d(x[0], x[1], K)",
    "insert.obj": "np.insert(x, K, 7)",
    "insert.axis": "np.insert(x, 1, 7, axis=K)",
    "kaiser.M": "np.kaiser(K, 2.0)",
    "lexsort.axis": "np.lexsort((x, x), axis=K)",
    "mask_indices.n": "np.mask_indices(K, np.triu)",
    "mask_indices.k": "np.mask_indices(3, np.triu, K)",
    "matmul.axis": "np.vecdot(x, x, axis=K)",
    "matvec.axis": "np.vecdot(x, x, axis=K)",
    "vecmat.axis": "np.vecdot(x, x, axis=K)",
    "vecdot.axis": "np.vecdot(x, x, axis=K)",
    "matmul.axes": "np.matmul(x, x, axes=[(K, 0), (0, 1), (0, K)])",
    "matvec.axes": "np.matvec(x, x, axes=[(0, K), K, 0])",
    "vecmat.axes": "np.vecmat(x, x, axes=[K, (K, 0), 0])",
    "vecdot.axes": "np.vecdot(x, x, axes=[K, 1])",
    "nditer.itershape": "np.nditer(x[0], itershape=(2 * K - 2,)).itersize",
    "nditer.buffersize": "np.nditer(x, ['buffered'], buffersize=K).itersize",
    "nested_iters.axes": "[i.itersize for i in np.nested_iters(x, [[K], [0]])]",
    "nested_iters.buffersize": "[i.itersize for i in np.nested_iters(x, [[1], [0]], ['buffered'], buffersize=K)]",
    "packbits.axis": "np.packbits(np.ones((2, 3), np.uint8), axis=K)",
    "unpackbits.axis": "np.unpackbits(np.ones((2, 3), np.uint8), axis=K)",
    "unpackbits.count": "np.unpackbits(np.ones(3, np.uint8), count=K)",
    "permute_dims.axes": "np.permute_dims(x, (K, 0))",
    "transpose.axes": "np.transpose(x, (K, 0))",
    "ndarray.transpose.axes": "x.transpose(K, 0)",
    "rot90.axes": "np.rot90(x, axes=(K, 0))",
    "polyder.m": "np.polyder(x[1], K)",
    "polyint.m": "np.polyint(x[1], K)",
    "polyfit.deg": "np.polyfit(x[0], x[1], K)",
    "put_along_axis.axis": "np.put_along_axis(x, np.array([[0, 1], [1, 0], [0, 2]]), 7.0, K)",
    "ravel_multi_index.dims": "np.ravel_multi_index((np.array([1, 2]),), (K,))",
    "rollaxis.start": "np.rollaxis(x, 1, K)",
    "squeeze.axis": "np.squeeze(x[:, :1], axis=K)",
    "ndarray.squeeze.axis": "x[:, :1].squeeze(axis=K)",
    "tensordot.axes": "np.tensordot(x, x.T, axes=K)",
    "unique.axis": "np.unique(x, axis=K)",
    "vander.N": "np.vander(x[0], K)",
    "linalg.cross.axis": "np.linalg.cross(x[:, :3], x[:, :3], axis=K)",
    "linalg.matrix_power.n": "np.linalg.matrix_power(x[:, :3], K)",
    "linalg.tensordot.axes": "np.linalg.tensordot(x, x.T, axes=K)",
    "linalg.tensorinv.ind": "np.linalg.tensorinv(np.eye(4).reshape(4, 2, 2), ind=K)",
    "linalg.tensorsolve.axes": "np.linalg.tensorsolve(np.eye(6).reshape(6, 3, 2), np.ones(6), axes=(K,))",
    "linalg.vecdot.axis": "np.linalg.vecdot(x, x, axis=K)",
    **{f"fft.{f}.s": f"np.fft.{f}(x, s=(3, K), axes=(0, 1))" for f in FFTS},
    **{f"fft.{f}.axes": f"np.fft.{f}(x, axes=(0, K))" for f in FFTS},
    "random.BitGenerator.seed": "np.random.Generator(np.random.Philox(K))",
    **{f"{where}.choice.{p}": f"{source}.choice({a}, {p}=K)" for where, source in SOURCES.items()
       for p, a in (("size", "5"), ("axis", "x")) if p == "size" or where == "Generator"},
    **{f"{where}.dirichlet.size": f"{source}.dirichlet([2.0, 3.0], K)" for where, source in SOURCES.items()},
    **{f"{where}.wald.size": f"{source}.wald(2.0, 3.0, K)" for where, source in SOURCES.items()},
    **{f"{where}.zipf.size": f"{source}.zipf(2.0, K)" for where, source in SOURCES.items()},
    "special.multigammaln.d": "np.special.multigammaln(x + 3.0, K)",
    "lib.stride_tricks.as_strided.shape": "np.lib.stride_tricks.as_strided(x, (K - 10, 2), (8, 8))",
    "lib.stride_tricks.as_strided.strides": "np.lib.stride_tricks.as_strided(x, (2, 2), (8, K))",
    "lib.stride_tricks.sliding_window_view.window_shape": "np.lib.stride_tricks.sliding_window_view(x[0], K)",
    "lib.stride_tricks.sliding_window_view.axis": "np.lib.stride_tricks.sliding_window_view(x, 2, K)",
    "lib.array_utils.normalize_axis_tuple.axis": "np.lib.array_utils.normalize_axis_tuple(K, 3)",
    "lib.array_utils.normalize_axis_tuple.ndim": "np.lib.array_utils.normalize_axis_tuple(0, K)",
    **{f"polynomial.{m}.{p}fit.deg": f"np.polynomial.{m}.{p}fit(x[0], x[1], K)" for m, p in BASES.items()},
    **{f"polynomial.{m}.{p}vander2d.deg": f"np.polynomial.{m}.{p}vander2d(x, x, (1, K))" for m, p in BASES.items()},
    **{f"polynomial.{m}.{p}vander3d.deg": f"np.polynomial.{m}.{p}vander3d(x, x, x, (1, K, 1))"
       for m, p in BASES.items()},
    "polynomial.chebyshev.chebinterpolate.deg": "np.polynomial.chebyshev.chebinterpolate(np.sin, K)",
    "Polynomial.fit.deg": "np.polynomial.Polynomial.fit(x[0], x[1], K)",
    "ndarray.getfield.offset": "x.getfield(np.int8, K)",
    "ndarray.setfield.offset": "x.setfield(1, np.int8, K)",
    "ndarray.resize.new_shape": "np.arange(12.0).resize(K)",
    **{f"polynomial.{m}.{p}pow.pow": f"np.polynomial.{m}.{p}pow(x[0], K)" for m, p in BASES.items()},
    **{f"polynomial.{m}.{p}pow.maxpower": f"np.polynomial.{m}.{p}pow(x[0], 2, maxpower=K)" for m, p in BASES.items()},
    "load.max_header_size": "np.load(io.BytesIO(stored), max_header_size=500 * K)",
    "cuda.Device.device": "np.cuda.Device(K - 2)",
    "cuda.get_current_stream.device_id": "type(np.cuda.get_current_stream(K - 2))",
    "cuda.MemoryAsync.size": "np.cuda.MemoryAsync(K, None).size",
    "cuda.PinnedMemory.flags": "np.cuda.PinnedMemory(64, flags=K).size",
    "cuda.Stream.priority": "np.cuda.Stream(priority=K).priority",
    "cuda.benchmark.n_repeat": "np.cuda.benchmark(abs, (1,), n_repeat=K).cpu_times.shape",
    "cuda.benchmark.n_warmup": "np.cuda.benchmark(abs, (1,), n_repeat=1, n_warmup=K).cpu_times.shape",
    "cuda.benchmark.devices": "np.cuda.benchmark(abs, (1,), n_repeat=1, devices=(K - 2,)).cpu_times.shape",
    "Texture.channels": "np.Texture(np.ones((4, 2), np.float32), channels=K)",
    **{f"genfromtxt.{p}": f"np.genfromtxt({TEXT}, {p}=K)" for p in TEXT_OPTIONS},
    **{f"loadtxt.{p}": f"np.loadtxt({TEXT}, {p}=K)" for p in TEXT_OPTIONS},
    **{f"format_float_positional.{p}": f"np.format_float_positional(1.25, {p}=K)" for p in DIGITS},
    **{f"format_float_scientific.{p}": f"np.format_float_scientific(1.25, {p}=K)" for p in DIGITS},
}  # fmt: skip
# Integers elsewhere: in tuples and lists, in subscripts, in positions that no name gives.
MORE = (
    "np.zeros((K, 2))", "np.ones([K, 2])", "np.empty((K, 2)).shape", "np.full((2, K), 7)",
    "np.zeros_like(x, shape=(K, 2))", "x.reshape(K, -1)", "x.reshape((K, 6))", "np.reshape(x, (6, K))",
    "np.resize(x, (K, 3))", "np.tile(x, (K, 1))", "np.roll(x, (K, 1), (0, 1))", "np.roll(x, 1, (0, K - 1))",
    "np.moveaxis(x, (K - 1,), (0,))", "x.sum(axis=(K - 1, 0))", "np.sum(x, axis=(0, K - 1))",
    "np.expand_dims(x, (0, K))", "np.flip(x, (0, K - 1))", "np.pad(x, ((K, 1), (0, K)))", "np.pad(x, (1, K))",
    "np.pad(x, K)", "np.broadcast_to(x, (K, 3, 4))", "np.broadcast_shapes((K, 1), (1, 3))", "np.broadcast_shapes(K, K)",
    "np.unravel_index(K, (2, K))", "np.unravel_index([1, 2], (2, K))", "np.unravel_index(np.array([1, 2]), (K, 2))",
    "np.unravel_index(np.array([1]), K)", "np.ravel_multi_index((np.array([1]), np.array([1])), (K, K))",
    "np.ravel_multi_index(([1], [1]), (2, K))", "np.indices((K, 3))", "list(np.ndindex(K, 2))",
    "list(np.ndindex((K, 2)))", "np.split(x, [K - 1, K])", "np.array_split(x, [1, K])", "np.delete(x, [0, K])",
    "np.insert(x, [0, K], 7)", "np.repeat(x, [1, K, 1], 0)", "np.partition(x, (1, K))",
    "np.argpartition(x, (1, K))[..., :K]", "np.tensordot(x, x, ((K - 1,), (1,)))", "np.tensordot(x, x, (K - 1, 1))",
    "np.fft.fftshift(x, (0, K - 1))", "np.fft.ifftshift(x, K - 1)", "np.linalg.norm(x, axis=(0, K - 1))",
    "np.linalg.norm(x, K)", "np.linalg.norm(x, K, axis=0)", "np.random.default_rng([K, 1])",
    "np.random.RandomState([K, 1])",
    "np.random.default_rng(1).normal(size=(K, 2))",
    "np.random.default_rng(1).integers(K, size=3)", "np.random.default_rng(1).integers(0, K, 3)",
    "np.random.default_rng(1).permutation(K)", "np.random.RandomState(1).permutation(K)", "np.random.permutation(K)",
    "np.random.default_rng(1).choice(K, 4)", "np.random.RandomState(1).rand(K, 2)", "np.random.RandomState(1).randn(K)",
    "np.random.rand(K)", "np.random.randn(K, 2)", "np.random.RandomState(1).choice(K, K)", "np.random.choice(K)",
    "np.random.default_rng(1).multinomial(K, [0.5, 0.5])", "np.random.default_rng(1).binomial(K, 0.5, 4)",
    "np.random.RandomState(1).randint(K, size=K)", "np.random.default_rng(1).multivariate_hypergeometric([3, 4], K)",
    "np.random.RandomState(1).tomaxint(K)", "x[:K]", "x[K]", "x[K, 1]", "x[..., K]", "x[K:]", "x[::K]", "x[-K:]",
    "x[0, :K]", "x[K, K].item()", "x.item(K)", "x.item(1, K)", "x.item((1, K))", "range(K)", "[1, 2, 3][K]", "'ab' * K",
    "hex(K)", "x.take(K)", "x.take([0, K])", "np.arange(K)", "np.arange(0, 6, K)", "np.linspace(0, 1, K)",
    "np.split(x[:, :2 * K], K, axis=K - 1)", "x.swapaxes(0, K - 1)", "x.transpose((K - 1, 0))",
    "np.concatenate([x, x], K - 1)", "np.stack([x, x], K)", "np.lib.stride_tricks.sliding_window_view(x, (K, K))",
    "np.histogram(x, K)", "np.histogram2d(x[0], x[1], (K, 3))", "np.histogramdd(x, (K, 2, 2, 2))",
    "np.add.reduce(x, K - 1)", "np.add.accumulate(x, K - 1)", "np.add.reduceat(x, [0, 1], K - 1)",
    "np.add.reduce(x, (K - 1, 0))", "np.mgrid[: int(K), :3]", "np.ogrid[:K]", "np.r_[:K, 5]", "np.diag_indices(K)",
    "np.tri(K, 3, K)", "np.eye(K, M=K, k=K)", "np.identity(K)", "np.vander(x[0], K, True)", "np.rollaxis(x, K - 1)",
    "np.round(x, K)", "round(x[0, 0], K)", "np.diff(x, K, 0)", "np.unwrap(x, axis=K - 1)", "np.average(x, axis=K - 1)",
    "np.quantile(x, 0.5, axis=(K - 1, 0))", "np.median(x, axis=(0, K - 1))", "np.lexsort((x[0], x[1]), K - K)",
    "np.apply_along_axis(np.sum, K - 1, x)", "np.gradient(x, axis=(0, K - 1))", "np.trim_zeros(x, axis=K - 1)",
    "np.einsum(x, [0, K], [K, 0])", "np.ldexp(1.0, K)", "np.polynomial.Polynomial([1.0, 2.0]) ** K",
    "np.poly1d([1.0, 2.0]) ** K", "np.polynomial.Polynomial([1.0, 2.0]).deriv(K)",
    "np.polynomial.polynomial.polypow([1.0, 2.0], K)", "x.flat[K]", "np.bartlett(K)",
    "np.take_along_axis(x, np.array([[0], [1], [0]]), K - 1)", "np.compress([True], x, K - 1)",
    "np.choose(K, [x, x, x + 1])", "np.array_repr(x, K * 10, K)", "np.put(x, K, 9.0)", "np.argsort(x, K - 1)",
    "x.sort(K - 1)", "x.cumsum(K - 1)", "x.repeat(K, K - 1)", "np.delete(x, K, K - 1)",
    "np.delete(x, slice(0, K), K - 1)", "bool(np.s_[:K].stop == 2)",
)  # fmt: skip


def integer_parameters() -> Iterator[tuple[str, str, list[inspect.Parameter]]]:
    """Names of callables, a parameter that reads integers, and all parameters without a receiver."""
    modules: list[tuple[str, ModuleType]] = [("", nl)]
    for name in SUBMODULES:
        module: Any = nl
        for part in name.split("."):
            module = getattr(module, part)
        modules.append((f"{name}.", module))
    owners: list[tuple[str, Any]] = [*modules, *((f"{name}.", cls) for name, (cls, _) in CLASSES.items())]
    for prefix, owner in owners:
        for name in sorted(set(getattr(owner, "__all__", None) or dir(owner))):
            function = getattr(owner, name, None)
            if name[0] == "_" or not callable(function) or isinstance(function, nl.ufunc):
                continue
            try:
                parameters = list(inspect.signature(function).parameters.values())
            except (TypeError, ValueError):
                continue
            if inspect.isclass(owner) and not inspect.ismethod(function):
                parameters = parameters[1:]
            for parameter in parameters:
                known = parameter.name in INTEGERS or re.search(r"^(?!.*Callable).*\bint\b", str(parameter.annotation))
                if known and f"{prefix}{name}.{parameter.name}" not in OTHERS:
                    yield f"{prefix}{name}", parameter.name, parameters


def made_call(name: str, wanted: str, parameters: list[inspect.Parameter]) -> str:
    """A call with sample arguments, in which K stands for the integer."""
    known = CALLS.get(f"{name}.{wanted}")
    if known is not None:
        return known
    room = name.rpartition(".")[0]
    words = []
    for parameter in parameters:
        if parameter.kind is parameter.VAR_KEYWORD:
            continue
        needed = parameter.default is parameter.empty
        if parameter.name == wanted:
            words.append("K" if needed else f"{wanted}=K")
        elif needed and parameter.kind is not parameter.VAR_POSITIONAL:
            words.append(OWN.get(parameter.name, {}).get(room, SAMPLES.get(parameter.name, "?" + parameter.name)))
    receiver = CLASSES[room][1] if room in CLASSES else f"np.{room}" if room else "np"
    return f"{receiver}.{name.rpartition('.')[2]}({', '.join(words)})"


@pytest.fixture(scope="module", name="path")
def path_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("bytes") / "bytes.bin"
    path.write_bytes(bytes(range(40)))
    return path


@pytest.fixture(autouse=True)
def quiet(request: pytest.FixtureRequest) -> Iterator[None]:
    if ("[cuda." in request.node.name or "[Texture." in request.node.name) and request.config.getoption(
        "--device"
    ) == "beside":
        pytest.skip("a stand-in for a GPU has no driver")
    numloom: Any = nl
    size = numloom.getbufsize()
    with warnings.catch_warnings(), np.errstate(all="ignore"), np.printoptions():
        warnings.simplefilter("ignore")
        yield
    numloom.setbufsize(size)


def walked() -> list[tuple[str, str, int]]:
    calls = [
        (f"{name}.{wanted}", made_call(name, wanted, parameters), INTEGERS.get(wanted, 2))
        for name, wanted, parameters in integer_parameters()
    ]
    return [*calls, *((call, call, 2) for call in MORE)]


def shown(value: Any) -> Any:
    """A result by dtype, shape and text."""
    if isinstance(value, (nl.random.Generator, nl.random.RandomState)):
        return shown(value.random(2)) if isinstance(value, nl.random.Generator) else shown(value.random_sample(2))
    if isinstance(value, (nl.ndarray, np.ndarray)):
        return (value.dtype.str, value.shape, repr(value.tolist()))
    if isinstance(value, (tuple, list)):
        return [shown(item) for item in value]
    return re.sub("0x[0-9a-f]+", "", repr(value))


def outcome(call: str, np: Any, value: Any, path: Path) -> Any:
    """What a call gives and what it leaves of its array; or the exception."""
    np.random.seed(1)
    x = np.arange(12.0).reshape(3, 4)
    try:
        result = eval(call, {"np": np, "x": x, "K": value, "io": io, "path": path, "stored": STORED})
        return shown(result), shown(x)
    except Exception as error:
        return error


def _stored() -> bytes:
    file = io.BytesIO()
    np.save(file, np.arange(3.0))
    return file.getvalue()


STORED = _stored()
FORMS: dict[str, Callable[[int], Any]] = {
    "NumPy's scalar": np.int64,
    "a pending sum": lambda k: (nl.arange(k + 5) < k).sum(),
    "no dimensions": lambda k: nl.array(k, "i4"),
}
WALKED = walked()


def test_the_walk_is_whole() -> None:
    """Fewer parameters: the walk looks away. More: a new one, which this count lets in once a call of it is below."""
    assert len(WALKED) - len(MORE) == 572
    assert not [call for _, call, _ in WALKED if "?" in call], "a parameter that the samples do not know"


@pytest.mark.parametrize(("name", "call", "k"), WALKED, ids=[name for name, _, _ in WALKED])
def test_results_are_integers(name: str, call: str, k: int, path: Path) -> None:
    expected = outcome(call, nl, k, path)
    assert not isinstance(expected, Exception), f"{call}: {expected!r}"
    for form, made in FORMS.items():
        for _ in range(2):  # A call that is known is made another way.
            got = outcome(call, nl, made(k), path)
            assert got == expected, f"{call} of {form}: {got!r}"


# What NumPy takes by chance, since it computes with the number before it is an integer to it (floats), or casts it as
# data. Some of these are results of NumPy that are no integers either: `np.tri(2.0)`.
REFUSED_HERE = {
    "diag_indices.n", "gradient.edge_order", "linalg.vector_norm.axis", "mask_indices.n", "tri.N", "tri.M",
    "Philox.spawn.n_children", "Generator.spawn.n_children", "average.axis",
    *(f"{where}.{law}.size" for where in SOURCES for law in ("dirichlet", "multinomial")),
    *(f"{half}_indices{rest}" for half in ("tril", "triu") for rest in (".n", ".m")),
    "np.tri(K, 3, K)", "np.diag_indices(K)", "x.flat[K]",
}  # fmt: skip
TAKEN_HERE = {
    "array.ndmin",
    "array.ndmax",
    "may_share_memory.max_work",
    "shares_memory.max_work",
    "ndarray.resize.new_shape",
    "np.poly1d([1.0, 2.0]) ** K",
}


@pytest.mark.parametrize(("name", "call", "k"), WALKED, ids=[name for name, _, _ in WALKED])
def test_what_is_no_integer(name: str, call: str, k: int, path: Path) -> None:
    """Floats are refused where NumPy refuses them; truth values are taken where NumPy takes them."""
    if isinstance(outcome(call, np, k, path), AttributeError):
        pytest.skip("NumPy lacks it")
    if name in REFUSED_HERE or name in TAKEN_HERE:
        return
    wanted, got = (outcome(call, xp, float(k), path) for xp in (np, nl))
    assert isinstance(got, Exception) == isinstance(wanted, Exception), f"{call}: {got!r}; NumPy: {wanted!r}"
    wanted, got = (outcome(call, xp, True, path) for xp in (np, nl))
    extents = name.rpartition(".")[2] in ("shape", "size", "new_shape")
    if not isinstance(wanted, Exception) or extents:
        assert isinstance(got, Exception) == isinstance(wanted, Exception), f"{call}: {got!r}; NumPy: {wanted!r}"
    result = outcome(call, nl, nl.array([float(k)]).sum(), path)
    if isinstance(outcome(call, np, np.float64(k), path), Exception):
        assert isinstance(result, Exception), f"{call} of a result of float64: {result!r}"
