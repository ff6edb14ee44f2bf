"""Gradients of factorisations, by the routine's name.

Formulas are those for ``h = dC/dx + i dC/dy``, the conjugate of what flows here; so rules conjugate on the way in and
on the way out. Where a routine reads one triangle of a Hermitian matrix, its gradient is the Hermitian one.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from numloom.api.matrices import eye, tril, triu
from numloom.api.products import matmul
from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import F64, ITEMSIZES, KINDS
from numloom.compiled.gradient_rules import NoGradientError, others
from numloom.compiled.gradient_values import Array, cast_to, constant, filled, named, summed_to, turned
from numloom.engine.routines import call
from numloom.graph import build

Parts = list[Array | None]


def conjugated(a: Array) -> Array:
    """Its conjugate, which a real array is itself."""
    return named("conjugate", a) if KINDS[a.code] == "c" else a


def adjoint(a: Array) -> Array:
    """Matrices transposed and conjugated."""
    return conjugated(turned(a))


def factors(name: str, a: Array, **options: Any) -> list[Array]:
    """All results of a factorisation."""
    found = call(name, node_of(a), **options)
    return [wrap(node) for node in (found if isinstance(found, tuple) else (found,))]


def solved(a: Array, b: Array) -> Array:
    """Matrices x with ``a @ x = b``."""
    return wrap(call("solve", node_of(a), node_of(b)))


def divided(b: Array, a: Array) -> Array:
    """Matrices x with ``x @ a = b``."""
    return adjoint(solved(adjoint(a), adjoint(b)))


def _hermitian(a: Array) -> Array:
    return 0.5 * (a + adjoint(a))


def _unit(n: int) -> Array:
    return eye(n, dtype=bool)


def _diagonal(values: Array) -> Array:
    """Diagonal matrices."""
    return named("where", _unit(values.shape[-1]), values[..., None], 0)


def _scaled(number: Array) -> Array:
    return number[..., None, None]


def cholesky(number: int, g: Array, y: Array, operands: list[Array], *, upper: bool) -> Parts:
    """``a = L L^H``."""
    h = conjugated(g)
    low, h = (adjoint(y), adjoint(h)) if upper else (y, h)
    inner = tril(matmul(adjoint(low), tril(h)))
    inner = named("where", _unit(y.shape[-1]), 0.5 * inner, inner)
    return [conjugated(_hermitian(divided(solved(adjoint(low), inner), low)))]


def det(number: int, g: Array, y: Array, operands: list[Array]) -> Parts:
    """The cofactors."""
    return [_scaled(g) * _cofactors(operands[0], y)]


def _cofactors(a: Array, determinant: Array) -> Array:
    """Derivatives of determinants by the elements, also where these are 0: polynomials of the elements.

    Of matrices of more than three rows they follow from the inverse; where that loses too many digits, from the
    inverse of a matrix of full rank. Each way gets matrices that suit it in the place of the other one's, whose
    infinities would be NaN in higher derivatives.
    """
    n = a.shape[-1]
    if n < 4 or not a.size:
        return _cofactors_of_few(a)
    spread = _largest_sum(a) * _largest_sum(_inverse(a))
    limit = 1e3 if ITEMSIZES[spread.code] == 4 else 1e8
    # What is NaN or infinite goes the first way, where no routine refuses it.
    regular = (spread < limit) | ~named("isfinite", _largest_sum(a))
    whether = regular[..., None, None]
    unit = cast_to(wrap(build.cast(node_of(_unit(n)), F64)), a.code)
    by_inverse = _scaled(determinant) * turned(_inverse(named("where", whether, a, unit)))
    return named("where", whether, by_inverse, _cofactors_of_singular(named("where", whether, unit, a)))


def _cofactors_of_singular(a: Array) -> Array:
    """Those of matrices of any rank.

    Singular values that are small are filled up along their vectors, which are constants: ``b = a + u d v^H``. Then
    ``det a = det b det w`` with ``w = 1 - d v^H b^-1 u`` whatever `a` is, so this has all derivatives; `w` differs from
    the unit matrix in the rows of small values. Its own cofactors are right to first order, and of up to two such rows
    to any: where there are more, derivatives beyond are infinite instead of wrong.
    """
    u, s, vh = (constant(one) for one in factors("svd", constant(a), full=False, vectors=True))
    largest = s[..., :1]
    small = s <= (1e-3 if ITEMSIZES[s.code] == 4 else 1e-8) * largest
    filling = named("where", small, named("where", largest == 0, 1, largest), 0)
    d = cast_to(filling, a.code)
    b = a + matmul(u * d[..., None, :], vh)
    inverse = _inverse(b)
    w = named("where", _unit(a.shape[-1]), 1, 0) - d[..., :, None] * matmul(vh, matmul(inverse, u))
    diagonal = (w * _unit(a.shape[-1])).sum(-1)
    pairs = named("where", _unit(a.shape[-1]), 0, turned(w) * _without_two(diagonal))
    inner = named("where", _unit(a.shape[-1]), others(diagonal, (diagonal.ndim - 1,))[..., None, :], -pairs)
    # Of det w by a: d v^H b^-1 da b^-1 u.
    by_w = matmul(turned(matmul(vh, inverse)), matmul(inner * d[..., :, None], turned(matmul(inverse, u))))
    whole = diagonal.prod(-1) - 0.5 * (w * pairs).sum((-2, -1))
    found = _scaled(factors("det", b)[0]) * (_scaled(whole) * turned(inverse) + by_w)
    many = small.sum(-1) > 2
    change = named("real", a - constant(a)).sum((-2, -1))  # 0, and depends on a.
    beyond = named("where", many, change, 1) ** 1.5
    return found + _scaled(named("where", many, beyond, 0))


def _without_two(values: Array) -> Array:
    """For each pair of values the product of all other ones."""
    return others(named("where", _unit(values.shape[-1]), 1, values[..., None, :]), (values.ndim,))


def _cofactors_of_few(a: Array) -> Array:
    """Those of matrices of up to three rows, as they stand."""
    n = a.shape[-1]
    result = filled(1, a.code, a.shape)
    if n == 2:
        for i, j in np.ndindex(n, n):
            other = a[..., 1 - i, 1 - j]
            result[..., i, j] = -other if i != j else other
    elif n == 3:
        for i, j in np.ndindex(n, n):
            (i1, i2), (j1, j2) = ((i + 1) % n, (i + 2) % n), ((j + 1) % n, (j + 2) % n)
            result[..., i, j] = a[..., i1, j1] * a[..., i2, j2] - a[..., i1, j2] * a[..., i2, j1]
    return result


def _inverse(a: Array) -> Array:
    return factors("inv", a, check=False)[0]


def _largest_sum(a: Array) -> Array:
    """The greatest sum of the lengths of a row."""
    return named("absolute", a).sum(-1).max(-1)


def slogdet(number: int, g: Array, y: Array, operands: list[Array]) -> Parts:
    """The inverse, transposed; the sign of a real determinant does not change."""
    a = operands[0]
    if number == 1:
        return [_scaled(cast_to(g, a.code)) * turned(_inverse(a))]
    if KINDS[a.code] != "c":
        return [None]
    return [_scaled(named("complex_pack", 0.0, named("imag", g * y))) * turned(_inverse(a))]


def inv(number: int, g: Array, y: Array, operands: list[Array], *, check: bool) -> Parts:
    """``-y^T g y^T``."""
    return [-matmul(matmul(turned(y), g), turned(y))]


def solve(number: int, g: Array, y: Array, operands: list[Array]) -> Parts:
    """The transposed system, and its product with the solution."""
    a, b = operands
    side = solved(turned(a), g)
    return [summed_to(-matmul(side, turned(y)), a.shape), summed_to(side, b.shape)]


def qr(number: int, g: Array, y: Array, operands: list[Array], *, mode: str) -> Parts:
    """Of matrices of full rank."""
    a = operands[0]
    rows, columns = a.shape[-2:]
    least = min(rows, columns)
    if mode == "raw":
        raise NoGradientError("qr: reflectors (mode='raw') have no gradient here; ask for mode='reduced'")
    if mode == "complete" and rows > columns:
        if number == 0:
            raise NoGradientError("qr: a complete basis is not determined by the matrix: ask for mode='reduced'")
        g = g[..., :columns, :]
    q, r = factors("qr", a, mode="reduced")
    zero_q, zero_r = 0 * q, 0 * r
    h_q, h_r = (zero_q, conjugated(g)) if mode == "r" or number == 1 else (conjugated(g), zero_r)
    h_r = triu(h_r)
    if rows >= columns:
        return [conjugated(_of_tall_qr(q, r, h_q, h_r))]
    rest = a[..., :, least:]
    h_rest = h_r[..., :, least:]
    h_q = h_q + matmul(rest, adjoint(h_rest))
    left = _of_tall_qr(q, r[..., :, :least], h_q, h_r[..., :, :least])
    result = filled(0, a.code, a.shape)
    result[..., :, :least] = left
    result[..., :, least:] = matmul(q, h_rest)
    return [conjugated(result)]


def _of_tall_qr(q: Array, r: Array, h_q: Array, h_r: Array) -> Array:
    inner = triu(matmul(h_r, adjoint(r)) - matmul(adjoint(q), h_q))
    both = inner + adjoint(inner)
    half = 0.5 * both if KINDS[both.code] != "c" else both - 0.5 * cast_to(named("real", both), both.code)
    both = named("where", _unit(both.shape[-1]), half, both)
    return divided(matmul(q, both) + h_q, adjoint(r))


def _gaps(values: Array) -> Array:
    """``values[j] - values[i]``, and 1 where i is j."""
    gaps = values[..., None, :] - values[..., :, None]
    return named("where", _unit(values.shape[-1]), 1, gaps)


def _beside(a: Array) -> Array:
    """Matrices without their diagonals."""
    return named("where", _unit(a.shape[-1]), 0, a)


def eigh(number: int, g: Array, y: Array, operands: list[Array], *, lower: bool, vectors: bool) -> Parts:
    """Of distinct eigenvalues, where vectors are concerned."""
    a = operands[0]
    w, v = factors("eigh", a, lower=lower, vectors=True)
    h = conjugated(g)
    inner = _diagonal(cast_to(h, a.code)) if number == 0 else _beside(matmul(adjoint(v), h)) / _gaps(w)
    return [conjugated(_hermitian(matmul(matmul(v, inner), adjoint(v))))]


def eig(number: int, g: Array, y: Array, operands: list[Array], *, vectors: bool) -> Parts:
    """Of distinct eigenvalues; vectors have length one."""
    w, v = factors("eig", operands[0], vectors=True)
    h = conjugated(g)
    if number == 0:
        inner = _diagonal(h)
    else:
        inside = matmul(adjoint(v), h)
        lengths = named("where", _unit(w.shape[-1]), named("real", inside), 0)
        inner = _beside(inside - matmul(matmul(adjoint(v), v), cast_to(lengths, v.code))) / conjugated(_gaps(w))
    return [conjugated(solved(adjoint(v), matmul(inner, adjoint(v))))]


def svd(number: int, g: Array, y: Array, operands: list[Array], *, full: bool, vectors: bool) -> Parts:
    """Of distinct singular values that are not zero, where vectors are concerned."""
    a = operands[0]
    rows, columns = a.shape[-2:]
    values = number == 1 or not vectors
    if full and ((number == 0 and rows > columns) or (number == 2 and columns > rows)) and not values:
        raise NoGradientError(
            "svd: vectors of a complete basis are not determined by the matrix: ask for full_matrices=False"
        )
    u, s, vh = factors("svd", a, full=False, vectors=True)
    h = conjugated(g)
    if values:
        return [conjugated(matmul(u * cast_to(h, a.code)[..., None, :], vh))]
    if number == 2:  # Of the adjoint matrix these are the left ones.
        return [conjugated(adjoint(_of_left_vectors(adjoint(vh), s, adjoint(u), adjoint(h), False)))]
    return [conjugated(_of_left_vectors(u, s, vh, h, True))]


def _of_left_vectors(u: Array, s: Array, vh: Array, h: Array, turns: bool) -> Array:
    """What flows back through one side's vectors; the phases that both sides share are that side's which `turns`."""
    inside = matmul(adjoint(u), h)
    skew = inside - adjoint(inside)
    squares = s * s
    inner = _beside(skew) / _gaps(squares) * s[..., None, :]
    if KINDS[u.code] == "c" and turns:
        inner = inner + named("where", _unit(s.shape[-1]), skew / (2 * s[..., None, :]), 0)
    found = matmul(matmul(u, inner), vh)
    if u.shape[-2] > u.shape[-1]:
        found = found + matmul((h - matmul(u, inside)) / s[..., None, :], vh)
    return found


__all__ = ["cholesky", "det", "eig", "eigh", "inv", "qr", "slogdet", "solve", "svd"]
