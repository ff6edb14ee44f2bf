"""Einstein summation: diagonals and permutations are views, pairs of operands become matrix products."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numloom.api.calling import Replayed, frozen, recalled, replayed
from numloom.api.products import MULTIPLY, arranged, delivered, permuted, product, reshaped, seen, summed
from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of, view_of, wrap
from numloom.base.dtypes import DTYPES, F32, ROUNDED, code_of
from numloom.graph import build
from numloom.graph.layout import k_order, named_order, ordered_strides
from numloom.graph.node import Node

Array = Any
Labels = tuple[Any, ...]
"""One label an axis: a letter, or a number for an axis that an ellipsis stands for."""

SMALL = 65536
"""Elements up to which a result is copied where it does not lie in NumPy's order; larger ones are views."""

_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"


def einsum(
    *operands: Any,
    out: Any = None,
    dtype: Any = None,
    order: str | None = "K",
    casting: str = "safe",
    optimize: Any = False,
) -> Array:
    """Products of operands summed over the subscripts that the result does not have.

    Parameters
    ----------
    *operands : str and array_like, or array_like and labels
        ``einsum("ij,jk->ik", a, b)``, or ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.
    out : ndarray, optional
        Where the result goes.
    dtype : dtype, optional
        dtype to compute in.
    order : {"K", "C", "F", "A"}
        Memory order of the result; "K" and "A" leave it to the computation.
    casting : str
        Which casts of operands are allowed.
    optimize : bool, str, tuple or list
        Which operands are contracted first. Without it two at a time, the pair with the smallest result first; True,
        "greedy", "optimal" (with a limit of memory as a pair) or a list that `einsum_path` gave: as NumPy does.

    Returns
    -------
    ndarray
    """
    given: Any
    arrays: tuple[Any, ...]
    if operands and isinstance(operands[0], str):
        given, arrays = str(operands[0]), operands[1:]
    else:
        if out is None:
            return _einsum_of_lists(*operands, dtype=dtype, order=order, casting=casting, optimize=optimize)
        given, arrays = _from_lists(operands)
    recall = True
    if dtype is not None or order != "K" or casting != "safe" or optimize is not False:
        kind = type(optimize)
        if optimize is not None and not isinstance(optimize, (bool, str, list, tuple)):
            raise TypeError(f"optimize is a bool, a name or a path, not {kind.__name__}")
        if kind is list or kind is tuple:
            recall = frozen(optimize) is not NotImplemented
            optimize = frozen(optimize) if recall else optimize
        given = given, None if dtype is None else code_of(dtype), named_order(order, "K"), casting, optimize, kind
    result = recalled(_EINSUM, given, arrays) if recall else _einsum(given, *arrays)
    return result if out is None else delivered(node_of(result), out, "einsum", *arrays, casting=casting)


@replayed
def _einsum_of_lists(*operands: Any, **options: Any) -> Array:
    """`einsum` by lists of labels."""
    text, arrays = _from_lists(operands)
    return einsum(text, *arrays, **options)


def _einsum(given: Any, *operands: Any) -> Array:
    """`einsum` by what its call is known by: its subscripts and, where they are not the defaults, its options."""
    kind: Any
    optimize: Any
    text, dtype, order, casting, optimize, kind = (
        (given, None, "K", "safe", False, bool) if type(given) is str else given
    )
    optimize = [*optimize] if kind is list else optimize
    inputs, output, arrays = parsed(text, operands)
    path = _path((text, *arrays), optimize) if optimize is not False and optimize is not None else []
    code = dtype if dtype is not None else code_of(np.result_type(*(array.dtype for array in arrays)))
    extents = _extents(inputs, arrays)
    # Nothing is computed, so NumPy asks neither for the dtype nor for the order.
    if len(arrays) == 1 and set(inputs[0]) == set(output):
        labels, shape, strides = _diagonals(inputs[0], arrays[0].shape, arrays[0].strides)
        order_of = [labels.index(label) for label in output]
        if not shape:
            return wrap(node_of(arrays[0]))
        return view_of(
            arrays[0], arrays[0].offset, tuple(shape[k] for k in order_of), tuple(strides[k] for k in order_of)
        )
    for array in arrays:
        if not np.can_cast(array.dtype, DTYPES[code], casting):  # type: ignore[arg-type]
            raise TypeError(
                f"Iterator operand required casting from {array.dtype!r} to {DTYPES[code]!r} but casting is {casting!r}"
            )
    inner = F32 if code in ROUNDED else code
    values = []
    for labels, array in zip(inputs, arrays, strict=True):
        node = build.cast(node_of(array), inner)
        labels, shape, strides = _diagonals(labels, node.shape, node.strides)
        node = seen(node, shape, strides) if shape != node.shape else node
        values.append(_squeezed(labels, node, extents))
    for step in path:
        group = [values.pop(k) for k in sorted(step, reverse=True)][::-1]
        values.append(_contracted(group, output, [labels for labels, _ in values]))
    values = [_contracted(values, output, [])]
    labels, node = _reduced(*values[0], set(output))
    node = permuted(node, [labels.index(label) for label in output if label in labels])
    full = tuple(extents[label] for label in output)
    if len(labels) != len(output):
        # Labels of extent 1 were dropped on the way.
        node = reshaped(node, full)
    node = build.cast(node, code)
    if not path and node.size <= SMALL:
        node = arranged(node, _ordered(inputs, output, arrays, full, DTYPES[code].itemsize))
    return delivered(node, None, "einsum", *arrays, order=order)


_EINSUM = Replayed(_einsum)


def _ordered(
    inputs: list[Labels], output: Labels, arrays: list[Array], shape: tuple[int, ...], itemsize: int
) -> tuple[int, ...]:
    """Strides of a result in K order of the operands' axes, of which those that are summed over count as well."""
    labels = [*output, *sorted({label for labels in inputs for label in labels}.difference(output), key=str)]
    known = []
    for own, array in zip(inputs, arrays, strict=True):
        strides = dict.fromkeys(labels, 0)
        for label, extent, stride in zip(own, array.shape, array.strides, strict=True):
            strides[label] += stride if extent > 1 else 0
        known.append(tuple(strides.values()))
    order = [axis for axis in k_order(len(labels), known) if axis < len(output)]
    return ordered_strides(shape, order, itemsize)


def einsum_path(*operands: Any, optimize: Any = "greedy", einsum_call: bool = False) -> Any:
    """In which order to contract the operands of `einsum`: NumPy's answer, for which shapes suffice.

    Parameters
    ----------
    *operands : str and array_like, or array_like and labels
        As of `einsum`.
    optimize : bool, str, tuple or list
        As of `einsum`.
    einsum_call : bool
        Not documented by NumPy.

    Returns
    -------
    path : list
        "einsum_path" and the positions of the operands of each contraction.
    text : str
        The path and what it costs, for people.

    Examples
    --------
    >>> import numloom as np
    >>> a = np.ones((2, 3))
    >>> np.einsum_path("ij,kj,kl->il", a, a, a)[0]
    ['einsum_path', (0, 1), (0, 1)]
    """
    options: dict[str, Any] = {"optimize": optimize, "einsum_call": einsum_call}
    found: Any = np.einsum_path(*_outlined(operands), **options)
    if einsum_call:  # With the operands, which are put back.
        return [asarray(operands[k]) for k in _places(operands)], *found[1:]
    return found


def _outlined(operands: tuple[Any, ...]) -> list[Any]:
    """The arguments of `einsum` with arrays of NumPy that have the shapes and no memory."""
    outlined = list(operands)
    for k in {*_places(operands), *(k for k, one in enumerate(operands) if type(one) is ndarray)}:
        array = asarray(operands[k])
        outlined[k] = np.broadcast_to(np.empty((), array.dtype), array.shape)
    return outlined


def _places(operands: tuple[Any, ...]) -> range:
    """Where the arrays stand among the arguments of `einsum`."""
    return range(1, len(operands)) if operands and isinstance(operands[0], str) else range(0, len(operands) - 1, 2)


def _path(operands: tuple[Any, ...], optimize: Any) -> list[tuple[int, ...]]:
    return list(np.einsum_path(*_outlined(operands), optimize=optimize)[0][1:])  # type: ignore[arg-type]


def _contracted(values: list[tuple[Labels, Node]], output: Labels, others: list[Labels]) -> tuple[Labels, Node]:
    """Operands contracted two at a time to one, which keeps what the result and the other operands need."""
    values = list(values)
    needed = set(output).union(*others)
    while len(values) > 1:
        i, j = _cheapest(values, tuple(needed))
        right, left = values.pop(j), values.pop(i)
        # The result's first label is the first operand's, so that it lies as it is asked for.
        first = next((label for label in output if (label in left[0]) != (label in right[0])), None)
        if first in right[0]:
            left, right = right, left
        values.append(_pair(*left, *right, needed.union(*(labels for labels, _ in values))))
    return values[0]


def parsed(text: str, operands: tuple[Any, ...]) -> tuple[list[Labels], Labels, list[Array]]:
    """Labels of each operand, of the result, and the operands."""
    text = text.replace(" ", "")
    arrays = [asarray(operand) for operand in operands]
    left, arrow, right = text.partition("->")
    terms = left.split(",")
    if len(terms) > len(arrays):
        raise ValueError("fewer operands provided to einstein sum function than specified in the subscripts string")
    if len(terms) < len(arrays):
        raise ValueError("more operands provided to einstein sum function than specified in the subscripts string")
    inputs = [_labels(term, array.ndim) for term, array in zip(terms, arrays, strict=True)]
    dots = max((sum(isinstance(label, int) for label in labels) for labels in inputs), default=0)
    hidden = tuple(range(-dots, 0))
    if arrow:
        output = _expand(right, hidden)
        counts = Counter(output)
        for label in output:
            if counts[label] > 1:
                raise ValueError(f"einstein sum subscripts string includes output subscript '{label}' multiple times")
            if not any(label in labels for labels in inputs):
                raise ValueError(
                    f"einstein sum subscripts string included output subscript '{label}' which never "
                    "appeared in an input"
                )
        if dots and "..." not in right:
            raise ValueError(
                "output has more dimensions than subscripts given in einstein sum, but no '...' ellipsis "
                "provided to broadcast the extra dimensions."
            )
    else:
        counts = Counter(label for labels in inputs for label in labels if isinstance(label, str))
        output = hidden + tuple(sorted(label for label, count in counts.items() if count == 1))
    return inputs, output, arrays


def _from_lists(operands: tuple[Any, ...]) -> tuple[str, tuple[Any, ...]]:
    """Subscripts and operands of the form ``einsum(a, [0, 1], b, [1, 2], [0, 2])``."""
    if not operands:
        raise ValueError(
            "must specify the einstein sum subscripts string and at least one operand, or at least one "
            "operand and its corresponding subscripts list"
        )

    def text(labels: Sequence[Any]) -> str:
        parts = []
        for label in labels:
            if label is Ellipsis:
                parts.append("...")
            elif 0 <= label < len(_LETTERS):
                parts.append(_LETTERS[label])
            else:
                raise ValueError("subscript is not within the valid range [0, 52)")
        return "".join(parts)

    pairs = list(zip(operands[0::2], operands[1::2], strict=False))
    found = ",".join(text(labels) for _, labels in pairs)
    if len(operands) % 2:
        found += "->" + text(operands[-1])
    return found, tuple([array for array, _ in pairs])


def _labels(term: str, ndim: int) -> Labels:
    letters = term.replace("...", "", 1)
    for letter in letters:
        if letter not in _LETTERS:
            raise ValueError(
                f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must be letters"
            )
    if "..." not in term:
        if len(letters) > ndim:
            raise ValueError("einstein sum subscripts string contains too many subscripts for operand 0")
        if len(letters) < ndim:
            raise ValueError(
                "operand has more dimensions than subscripts given in einstein sum, but no '...' ellipsis "
                "provided to broadcast the extra dimensions."
            )
        return tuple(letters)
    rest = ndim - len(letters)
    if rest < 0:
        raise ValueError("einstein sum subscripts string contains too many subscripts for operand 0")
    return _expand(term, tuple(range(-rest, 0)))


def _expand(term: str, hidden: tuple[int, ...]) -> Labels:
    before, dots, after = term.partition("...")
    for letter in before + after:
        if letter not in _LETTERS:
            raise ValueError(
                f"invalid subscript '{letter}' in einstein sum subscripts string, subscripts must be letters"
            )
    return (*before, *(hidden if dots else ()), *after)


def _extents(inputs: list[Labels], arrays: list[Array]) -> dict[Any, int]:
    extents: dict[Any, int] = {}
    for number, (labels, array) in enumerate(zip(inputs, arrays, strict=True)):
        for axis, (label, extent) in enumerate(zip(labels, array.shape, strict=True)):
            known = extents.setdefault(label, extent)
            if known == 1:
                extents[label] = extent
            elif extent not in (1, known):
                if isinstance(label, int):
                    raise ValueError(
                        "operands could not be broadcast together with remapped shapes [original->remapped]"
                    )
                raise ValueError(
                    f"operand {number} has a mismatch in its core dimension {axis}: label '{label}' has "
                    f"size {extent}, elsewhere {known}"
                )
    return extents


def _diagonals(
    labels: Labels, shape: tuple[int, ...], strides: tuple[int, ...]
) -> tuple[Labels, tuple[int, ...], tuple[int, ...]]:
    """Repeated labels of one operand read its diagonal."""
    kept = tuple(dict.fromkeys(labels))
    new_shape, new_strides = [], []
    for label in kept:
        at = [k for k, other in enumerate(labels) if other == label]
        extent = max(shape[k] for k in at)
        if any(shape[k] != extent for k in at):
            raise ValueError(
                f"dimensions in single operand for collapsing index '{label}' don't match "
                f"({shape[at[0]]} != {next(shape[k] for k in at if shape[k] != shape[at[0]])})"
            )
        new_shape.append(extent)
        new_strides.append(sum(strides[k] for k in at if shape[k] == extent))
    return kept, tuple(new_shape), tuple(new_strides)


def _squeezed(labels: Labels, node: Node, extents: dict[Any, int]) -> tuple[Labels, Node]:
    """Without axes that only repeat (extent 1 where the label's extent is another)."""
    kept = [k for k, label in enumerate(labels) if node.shape[k] == extents[label]]
    if len(kept) == len(labels):
        return labels, node
    return tuple(labels[k] for k in kept), seen(
        node, tuple(node.shape[k] for k in kept), tuple(node.strides[k] for k in kept)
    )


def _reduced(labels: Labels, node: Node, needed: set[Any]) -> tuple[Labels, Node]:
    """Summed over the labels that nobody needs any more."""
    axes = tuple(k for k, label in enumerate(labels) if label not in needed)
    return tuple(label for label in labels if label in needed), summed(node, axes)


def _cheapest(values: list[tuple[Labels, Node]], output: Labels) -> tuple[int, int]:
    """The pair whose product is smallest compared with what it replaces (first such pair)."""
    best, choice = None, (0, 1)
    if len(values) == 2:
        return choice
    for j in range(1, len(values)):
        for i in range(j):
            sizes: dict[Any, int] = {}
            for labels, node in (values[i], values[j]):
                sizes.update(zip(labels, node.shape, strict=True))
            others = set(output).union(*(v[0] for k, v in enumerate(values) if k not in (i, j)))
            result = prod(extent for label, extent in sizes.items() if label in others)
            cost = (result - values[i][1].size - values[j][1].size, prod(sizes.values()))
            if best is None or cost < best:
                best, choice = cost, (i, j)
    return choice


def _pair(a_labels: Labels, a: Node, b_labels: Labels, b: Node, needed: set[Any]) -> tuple[Labels, Node]:
    """Two operands multiplied and summed over what is needed no more: one batched matrix product."""
    a_labels, a = _reduced(a_labels, a, needed | set(b_labels))
    b_labels, b = _reduced(b_labels, b, needed | set(a_labels))
    both = [label for label in a_labels if label in b_labels]
    batch = [label for label in both if label in needed]
    sums = [label for label in both if label not in needed]
    left = [label for label in a_labels if label not in both]
    right = [label for label in b_labels if label not in both]
    x = permuted(a, [a_labels.index(label) for label in (*batch, *left, *sums)])
    y = permuted(b, [b_labels.index(label) for label in (*batch, *sums, *right)])
    lead = x.shape[: len(batch)]
    rows = x.shape[len(batch) : len(batch) + len(left)]
    columns = y.shape[len(batch) + len(sums) :]
    if not sums:
        wide = (*lead, *rows, *((1,) * len(columns)))
        tall = (*lead, *((1,) * len(rows)), *columns)
        node = build.binary(MULTIPLY, reshaped(x, wide), reshaped(y, tall))
    else:
        count = prod(x.shape[len(batch) + len(left) :])
        node = product(reshaped(x, (*lead, prod(rows), count)), reshaped(y, (*lead, count, prod(columns))))
        node = reshaped(node, (*lead, *rows, *columns))
    return (*batch, *left, *right), node


__all__ = ["einsum", "einsum_path"]
