"""Factorisations by cuSOLVER, and by cuBLAS's batched ones where there are many small matrices.

A dense stack in C order is, counted by columns as the libraries do, a stack of the transposes A' of its matrices.
So what is wanted of A is asked of A' where that is as good (LU, Cholesky, Hermitian matrices, singular values of wide
ones), and A is turned first where it is not. Where cuSOLVER or its bindings are not installed, and for empty
matrices, the rows' NumPy twins run on the host.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np
from numpy.linalg import LinAlgError

import numloom.ops.factorizations  # noqa: F401  (enters the rows)
from numloom.device.cuda.routines.kernels import address, assign, dense, dense_strides, empty
from numloom.device.cuda.routines.libraries import library
from numloom.device.cuda.routines.matrices import (
    addresses,
    arranged,
    determinants,
    failed,
    in_turn,
    paired,
    part,
    shaped,
)
from numloom.device.cuda.routines.products import blas_of
from numloom.device.cuda.routines.reflections import SMALL, columns_of, reflect
from numloom.device.interface import Strided
from numloom.ops.routines import ROUTINES as ROWS

BATCHED = 512
"""Matrices of a stack up to this order are factored all at once, larger ones one after the other."""

JACOBI = 32
"""Largest extent of matrices whose singular values cuSOLVER finds for a whole stack."""

AT_ONCE = 1 << 14
"""Most matrices of one call for eigenvalues or singular values: cuSOLVER refuses some 32,000, and counts workspace in
32 bits."""

# CUDA's numbers of element types, of arithmetic likewise; of triangles and transposition cuBLAS's.
_KINDS = {"f": 0, "d": 1, "F": 4, "D": 5}
_LOWER, _UPPER = 0, 1
_PLAIN, _TURNED = 0, 1
_REAL = {"f": "f", "d": "d", "F": "f", "D": "d"}
_PREFIX = {"f": "s", "d": "d", "F": "c", "D": "z"}

Stack = Strided
"""A dense operand in C order of shape (count, rows, columns)."""


class Solver:
    """cuSOLVER with a handle on the device's stream, and cuBLAS's."""

    def __init__(self, device: Any, bindings: Any, blas: Any) -> None:
        self.device = device
        self.dense = bindings
        self.blas = blas
        self.handle = bindings.create()
        bindings.set_stream(self.handle, device.stream)
        self.options = bindings.create_params()
        self._jacobi: Any = None

    @property
    def jacobi(self) -> Any:
        """Default settings of the Jacobi method."""
        if self._jacobi is None:
            self._jacobi = self.dense.create_gesvdj_info()
        return self._jacobi

    def each(self, name: str, before: tuple[Any, ...], *lines: Any, info: Strided) -> None:
        """Call the 64-bit function `name` for every matrix of stacks.

        Parameters
        ----------
        name : str
            The function; its workspace is asked for by the function of that name with ``_buffer_size``.
        before : tuple
            Its arguments before the first operand.
        *lines : Strided or plain arguments
            Its operands, each given to it as address of the matrix in turn, and what stands between them.
        info : Strided
            Its reports (int32), one a matrix.
        """
        count = prod(info.shape)

        def arguments(index: int) -> list[Any]:
            return [at(each, index) if isinstance(each, Strided) else each for each in lines]

        size = getattr(self.dense, f"{name}_buffer_size")(self.handle, self.options, *before, *arguments(0))
        on_device, on_host = size
        space = self.device.allocate(max(on_device, 1))
        host = np.empty(max(on_host, 1), np.uint8)
        work = (space.ptr, on_device, host.__array_interface__["data"][0], on_host)
        function = getattr(self.dense, name)
        for index in range(count):
            function(self.handle, self.options, *before, *arguments(index), *work, address(info) + 4 * index)

    def addresses(self, stack: Stack) -> Any:
        """Addresses of the matrices of a stack, in device memory."""
        return addresses(self.device, stack).buffer


def at(stack: Strided, index: int) -> int:
    """Address of a matrix, or of a vector, of a stack."""
    return address(stack) + index * stack.strides[0] * stack.dtype.itemsize


def solver_of(device: Any) -> Solver | None:
    """The device's cuSOLVER, None where it is not installed."""
    if not hasattr(device, "solver") and (blas := blas_of(device)) is not None:
        library(device, "solver", "cusolverDn", lambda cusolver: Solver(device, cusolver, blas))
    found: Solver | None = getattr(device, "solver", None)
    return found


def calls(count: int) -> list[tuple[int, int]]:
    """First matrix and number of matrices of each call for a stack."""
    return [(first, min(AT_ONCE, count - first)) for first in range(0, count, AT_ONCE)]


Routine = Callable[..., Any]
ROUTINES: dict[str, Routine] = {}


def by_library(function: Routine) -> Routine:
    """Enter a routine; for empty matrices, and without the library, the row's twin on the host stands in."""
    name = function.__name__

    @functools.wraps(function)
    def routine(device: Any, *operands: Strided, **options: Any) -> Any:
        solver = solver_of(device) if all(prod(operand.shape) for operand in operands) else None
        if solver is not None:
            return function(solver, *operands, **options)
        found = ROWS[name].numpy(*[_downloaded(device, operand) for operand in operands], **options)
        return (
            tuple(_uploaded(device, host) for host in found) if isinstance(found, tuple) else _uploaded(device, found)
        )

    ROUTINES[name] = routine
    return routine


def _downloaded(device: Any, operand: Strided) -> np.ndarray[Any, Any]:
    count = prod(operand.shape)
    if not count:
        return np.empty(operand.shape, operand.dtype)
    operand = dense(device, operand)
    itemsize = operand.dtype.itemsize
    data: np.ndarray[Any, Any] = device.download(operand.buffer, operand.offset * itemsize, count * itemsize)
    return data.view(operand.dtype).reshape(operand.shape)


def _uploaded(device: Any, host: np.ndarray[Any, Any]) -> Strided:
    host = np.asarray(host, order="C")
    buffer = device.upload(host) if host.size else device.allocate(host.itemsize)
    return Strided(buffer, 0, host.shape, dense_strides(host.shape), host.dtype)


def _stack(device: Any, a: Strided, form: str = "whole", **options: Any) -> Stack:
    """A fresh stack of matrices, its leading axes as one."""
    copied = arranged(device, a, form, **options)
    return shaped(copied, (prod(copied.shape[:-2]),))


def _vectors(device: Any, count: int, length: int, dtype: Any) -> Strided:
    return empty(device, (count, length), dtype)


def _led(stack: Strided, lead: tuple[int, ...]) -> Strided:
    """A dense stack of vectors or numbers with its first axis as several."""
    shape = (*lead, *stack.shape[1:])
    return Strided(stack.buffer, stack.offset, shape, dense_strides(shape), stack.dtype)


def _reports(device: Any, count: int) -> Strided:
    return empty(device, (count,), np.int32)


# ---------------------------------------------------------------- Cholesky


@by_library
def cholesky(solver: Solver, a: Strided, *, upper: bool) -> Strided:
    """As the row. The lower triangle of A is the upper one of A', whose upper factor is the lower one of A turned."""
    device, kind = solver.device, _KINDS[a.dtype.char]
    stack = _stack(device, a)
    count, n, _ = stack.shape
    info = _reports(device, count)
    triangle = _LOWER if upper else _UPPER
    if count > 1 and n <= BATCHED:
        function = getattr(solver.dense, f"{_PREFIX[a.dtype.char]}potrf_batched")
        places = solver.addresses(stack)
        function(solver.handle, triangle, n, places.ptr, n, address(info), count)
    else:
        solver.each("xpotrf", (triangle, n, kind), stack, n, kind, info=info)
    if failed(device, info):
        raise LinAlgError("Matrix is not positive definite")
    return arranged(device, shaped(stack, a.shape[:-2]), "upper" if upper else "lower")


# ---------------------------------------------------------------- LU


class _Factors:
    """LU factors of the transposes of matrices.

    Attributes
    ----------
    stack, pivots, info : Strided
        Factors in place of the matrices, exchanged rows (int32 where all were factored at once, else int64), reports.
    """

    def __init__(self, solver: Solver, a: Strided, lead: tuple[int, ...]) -> None:
        self.solver = solver
        device, char = solver.device, a.dtype.char
        self.stack = stack = _stack(device, a, lead=lead)
        count, n, _ = stack.shape
        self.info = _reports(device, count)
        self.together = count > 1 and n <= BATCHED
        self.pivots = empty(device, (count, n), np.int32 if self.together else np.int64)
        if self.together:
            function = getattr(solver.blas.cublas, f"{_PREFIX[char]}getrf_batched")
            self.places = solver.addresses(stack)
            function(solver.blas.handle, n, self.places.ptr, n, address(self.pivots), address(self.info), count)
        else:
            self._factor(_KINDS[char], n)

    def _factor(self, kind: int, n: int) -> None:
        # The pivots stand between operand and workspace in the call, but not in the question for its size.
        solver, stack = self.solver, self.stack
        bindings, device = solver.dense, solver.device
        on_device, on_host = bindings.xgetrf_buffer_size(
            solver.handle, solver.options, n, n, kind, address(stack), n, kind
        )
        space = device.allocate(max(on_device, 1))
        host = np.empty(max(on_host, 1), np.uint8)
        for index in range(stack.shape[0]):
            bindings.xgetrf(
                solver.handle, solver.options, n, n, kind, at(stack, index), n, at(self.pivots, index), kind,
                space.ptr, on_device, host.__array_interface__["data"][0], on_host, address(self.info) + 4 * index,
            )  # fmt: skip

    def solve(self, turned: int, sides: Stack) -> None:
        """Solutions in place of right sides, which are the lines of `sides`."""
        solver, stack = self.solver, self.stack
        count, n, _ = stack.shape
        columns = sides.shape[-2]
        char = stack.dtype.char
        if self.together:
            function = getattr(solver.blas.cublas, f"{_PREFIX[char]}getrs_batched")
            places, refused = solver.addresses(sides), np.zeros(1, np.int32)
            function(
                solver.blas.handle, turned, n, columns, self.places.ptr, n, address(self.pivots), places.ptr, n,
                refused.__array_interface__["data"][0], count,
            )  # fmt: skip
            return
        report = _reports(solver.device, 1)
        kind = _KINDS[char]
        for index in range(count):
            solver.dense.xgetrs(
                solver.handle, solver.options, turned, n, columns, kind, at(stack, index), n, at(self.pivots, index),
                kind, at(sides, index), n, address(report),
            )  # fmt: skip


@by_library
def solve(solver: Solver, a: Strided, b: Strided) -> Strided:
    """As the row. One matrix for many right sides is factored once."""
    device = solver.device
    lead = np.broadcast_shapes(a.shape[:-2], b.shape[:-2])
    n, k = b.shape[-2:]
    alone = prod(a.shape[:-2]) == 1
    factors = _Factors(solver, a, () if alone else lead)
    sides = _stack(device, b, turned=True, lead=lead)
    if alone:
        sides = Strided(sides.buffer, 0, (1, sides.shape[0] * k, n), (prod(sides.shape), n, 1), sides.dtype)
    factors.solve(_TURNED, sides)
    if failed(device, factors.info):
        raise LinAlgError("Singular matrix")
    solutions = shaped(Strided(sides.buffer, 0, (prod(lead), k, n), (k * n, n, 1), sides.dtype), lead)
    return arranged(device, solutions, turned=True)


@by_library
def inv(solver: Solver, a: Strided, *, check: bool) -> Strided:
    """As the row. The inverse of A' is that of A turned, which is A's in C order."""
    device = solver.device
    factors = _Factors(solver, a, a.shape[:-2])
    stack = factors.stack
    count, n, _ = stack.shape
    if check and failed(device, factors.info):
        raise LinAlgError("Singular matrix")
    if factors.together:
        inverses = empty(device, stack.shape, stack.dtype)
        function = getattr(solver.blas.cublas, f"{_PREFIX[stack.dtype.char]}getri_batched")
        places, reports = solver.addresses(inverses), _reports(device, count)
        function(
            solver.blas.handle, n, factors.places.ptr, n, address(factors.pivots), places.ptr, n, address(reports),
            count,
        )  # fmt: skip
    else:
        inverses = _stack(device, stack, "identity")
        factors.solve(_PLAIN, inverses)
    if not check:
        inverses = arranged(device, inverses, info=factors.info)
    return shaped(inverses, a.shape[:-2])


@by_library
def det(solver: Solver, a: Strided) -> Strided:
    """As the row: A' has the determinant of A."""
    factors = _Factors(solver, a, a.shape[:-2])
    whole = empty(solver.device, a.shape[:-2], a.dtype)
    determinants(solver.device, factors.stack, factors.pivots, factors.info, {"whole": whole})
    return whole


@by_library
def slogdet(solver: Solver, a: Strided) -> tuple[Strided, ...]:
    """As the row."""
    factors = _Factors(solver, a, a.shape[:-2])
    sign = empty(solver.device, a.shape[:-2], a.dtype)
    logarithm = empty(solver.device, a.shape[:-2], _REAL[a.dtype.char])
    outs = {"sign": sign, "logarithm": logarithm}
    determinants(solver.device, factors.stack, factors.pivots, factors.info, outs)
    return sign, logarithm


# ---------------------------------------------------------------- QR


@by_library
def qr(solver: Solver, a: Strided, *, mode: str) -> tuple[Strided, ...]:
    """As the row."""
    device, char = solver.device, a.dtype.char
    kind, lead = _KINDS[char], a.shape[:-2]
    m, n = a.shape[-2:]
    k = min(m, n)
    wide = m if mode == "complete" else k
    stack = _stack(device, a, turned=True)
    count = stack.shape[0]
    together = count > 1 and max(m, n) <= SMALL
    scales = _vectors(device, count, k, a.dtype)
    if together:
        reflect(device, stack, scales)
    else:
        solver.each("xgeqrf", (m, n, kind), stack, m, kind, scales, kind, info=_reports(device, count))
    if mode == "raw":
        return shaped(stack, lead), _led(scales, lead)
    r = arranged(device, part(in_turn(shaped(stack, lead)), wide, n), "upper")
    if mode == "r":
        return (r,)
    columns = stack
    if wide > n:
        # Room for the columns of Q that the matrix does not have.
        columns = empty(device, (count, wide, m), a.dtype)
        assign(device, part(columns, n, m), stack)
    if together:
        columns_of(device, columns, scales, wide)
    else:
        _columns_each(solver, columns, scales, wide)
    return arranged(device, part(in_turn(shaped(columns, lead)), m, wide)), r


def _columns_each(solver: Solver, columns: Stack, scales: Strided, wide: int) -> None:
    """Columns of Q in place of reflectors, one matrix after the other."""
    device, char = solver.device, columns.dtype.char
    count, _, m = columns.shape
    name = _PREFIX[char] + ("orgqr" if char in "fd" else "ungqr")
    operands = (m, wide, scales.shape[-1])
    size = getattr(solver.dense, f"{name}_buffer_size")(solver.handle, *operands, address(columns), m, address(scales))
    space, info = device.allocate(max(size, 1) * columns.dtype.itemsize), _reports(device, 1)
    function = getattr(solver.dense, name)
    for index in range(count):
        function(
            solver.handle, *operands, at(columns, index), m, at(scales, index), space.ptr, size, address(info)
        )  # fmt: skip


# ---------------------------------------------------------------- eigenvalues


@by_library
def eigh(solver: Solver, a: Strided, *, lower: bool, vectors: bool) -> tuple[Strided, ...]:
    """As the row. A' is the conjugate of A, and so are its vectors, which come as the lines of the stack.

    The upper triangle is given to the library in any case, that of A itself where it is the one to be read: some
    versions fail on stacks of lower ones (complex64).
    """
    device, kind, real = solver.device, _KINDS[a.dtype.char], _REAL[a.dtype.char]
    lead = a.shape[:-2]
    stack = _stack(device, a, turned=not lower)
    count, n, _ = stack.shape
    values = _vectors(device, count, n, real)
    info = _reports(device, count)
    before = (int(vectors), _UPPER, n, kind)
    if count > 1 and n <= BATCHED:
        for first, many in calls(count):
            after = (at(stack, first), n, _KINDS[real], at(values, first), kind)
            on_device, on_host = solver.dense.xsyev_batched_buffer_size(
                solver.handle, solver.options, *before, *after, many
            )
            space = device.allocate(max(on_device, 1))
            host = np.empty(max(on_host, 1), np.uint8)
            solver.dense.xsyev_batched(
                solver.handle, solver.options, *before, *after, space.ptr, on_device,
                host.__array_interface__["data"][0], on_host, address(info) + 4 * first, many,
            )  # fmt: skip
    else:
        solver.each("xsyevd", before, stack, n, _KINDS[real], values, kind, info=info)
    if failed(device, info):
        raise LinAlgError("Eigenvalues did not converge")
    if not vectors:
        return (_led(values, lead),)
    return _led(values, lead), arranged(device, shaped(stack, lead), "conjugate" if lower else "whole", turned=True)


@by_library
def eig(solver: Solver, a: Strided, *, vectors: bool) -> tuple[Strided, ...]:
    """As the row."""
    device, char, lead = solver.device, a.dtype.char, a.shape[:-2]
    kind, result = _KINDS[char], np.result_type(a.dtype, np.complex64)
    stack = _stack(device, a, turned=True)
    count, n, _ = stack.shape
    values = _vectors(device, count, n, result)
    info = _reports(device, count)
    # Of a real matrix the vectors are real columns, pairs of them for pairs of complex values.
    columns = empty(device, stack.shape if vectors else (count, 1, 1), a.dtype)
    solver.each(
        "xgeev", (0, int(vectors), n, kind), stack, n, _KINDS[result.char], values, kind, 0, n, kind,
        columns, n, kind, info=info,
    )  # fmt: skip
    if failed(device, info):
        raise LinAlgError("Eigenvalues did not converge")
    if not vectors:
        return (_led(values, lead),)
    if char in "fd":
        return _led(values, lead), shaped(paired(device, values, columns), lead)
    return _led(values, lead), arranged(device, shaped(columns, lead), turned=True)


# ---------------------------------------------------------------- singular values


@by_library
def svd(solver: Solver, a: Strided, *, full: bool, vectors: bool) -> tuple[Strided, ...]:
    """As the row. NaN among singular values counts as no convergence."""
    lead = a.shape[:-2]
    m, n = a.shape[-2:]
    small = prod(lead) > 1 and max(m, n) <= JACOBI
    u, values, vh, info = (_svd_together if small else _svd_each)(solver, a, full, vectors)
    if failed(solver.device, info, values):
        raise LinAlgError("SVD did not converge")
    return (u, _led(values, lead), vh) if vectors else (_led(values, lead),)


def _svd_each(solver: Solver, a: Strided, full: bool, vectors: bool) -> tuple[Any, ...]:
    """One matrix after the other, by QR iteration: of A, or of A' where A is wider than tall."""
    device, char, lead = solver.device, a.dtype.char, a.shape[:-2]
    m, n = a.shape[-2:]
    tall = m >= n
    p, q = max(m, n), min(m, n)
    kind, real = _KINDS[char], _KINDS[_REAL[char]]
    stack = _stack(device, a, turned=tall)
    count = stack.shape[0]
    values, info = _vectors(device, count, q, _REAL[char]), _reports(device, count)
    job = ord(("A" if full else "S") if vectors else "N")
    # Columns of the first factor, and those of the second, as lines.
    first = empty(device, (count, (p if full else q) if vectors else 1, p if vectors else 1), a.dtype)
    second = empty(device, (count, q, q) if vectors else (count, 1, 1), a.dtype)
    solver.each(
        "xgesvd", (job, job, p, q, kind), stack, p, real, values, kind, first, p, kind, second, q, kind, info=info
    )
    if not vectors:
        return None, values, None, info
    first, second = shaped(first, lead), shaped(second, lead)
    if tall:
        return arranged(device, first, turned=True), values, arranged(device, second, turned=True), info
    # A' = U S V^H has the factors of A = (V^H)' S U', which lie in C order.
    return second, values, first, info


def _svd_together(solver: Solver, a: Strided, full: bool, vectors: bool) -> tuple[Any, ...]:
    """A stack of small matrices at once, by Jacobi's method: A' = U S V^H."""
    device, char, lead = solver.device, a.dtype.char, a.shape[:-2]
    m, n = a.shape[-2:]
    k = min(m, n)
    stack = _stack(device, a)
    count = stack.shape[0]
    values, info = _vectors(device, count, k, _REAL[char]), _reports(device, count)
    left, right = empty(device, (count, n, n), a.dtype), empty(device, (count, m, m), a.dtype)
    name = f"{_PREFIX[char]}gesvdj_batched"
    for first, many in calls(count):
        operands = (
            solver.handle, int(vectors), n, m, at(stack, first), n, at(values, first), at(left, first), n,
            at(right, first), m,
        )  # fmt: skip
        size = getattr(solver.dense, f"{name}_buffer_size")(*operands, solver.jacobi, many)
        space = device.allocate(max(size, 1) * a.dtype.itemsize)
        getattr(solver.dense, name)(*operands, space.ptr, size, address(info) + 4 * first, solver.jacobi, many)
    if not vectors:
        return None, values, None, info
    u = part(in_turn(shaped(right, lead)), m, m if full else k)
    vh = part(shaped(left, lead), n if full else k, n)
    return arranged(device, u, "conjugate"), values, arranged(device, vh), info


__all__ = ["ROUTINES", "Solver", "solver_of"]
