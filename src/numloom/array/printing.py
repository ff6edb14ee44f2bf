"""Arrays as text, by NumPy's own rules and print options; of large arrays only the edges are fetched."""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numloom.array.ndarray import bind, ndarray, node_of
from numloom.array.views import constant_of
from numloom.base import later
from numloom.base.errors import DeviceError
from numloom.base.integers import is_integer
from numloom.base.wording import counted
from numloom.device.registry import current
from numloom.engine.evaluate import download_value, leaf_from_host
from numloom.engine.pending import pending_work
from numloom.graph import build

Array = Any

_IMPLIED = tuple(map(np.dtype, ("?", "int64", "d", "D")))


def array2string(
    a: Array,
    max_line_width: int | None = None,
    precision: int | None = None,
    suppress_small: bool | None = None,
    separator: str = " ",
    prefix: str = "",
    *,
    formatter: Any = None,
    threshold: int | None = None,
    edgeitems: int | None = None,
    sign: Any = None,
    floatmode: Any = None,
    suffix: str = "",
    legacy: Any = None,
) -> str:
    """An array as text; of a large array on the device only what is shown is fetched.

    Parameters
    ----------
    a : array_like
        The array.
    max_line_width, precision, suppress_small, separator, prefix, formatter, threshold, edgeitems, sign, floatmode,
    suffix, legacy
        As for `numpy.array2string`; what is not given is taken from the print options.

    Returns
    -------
    str

    Examples
    --------
    >>> import numloom as np
    >>> np.array2string(np.arange(10000) / 3, precision=2, edgeitems=1)
    '[   0. ... 3333.]'
    """
    settings = np.get_printoptions()
    threshold = settings["threshold"] if threshold is None else int(threshold) if is_integer(threshold) else threshold
    if not isinstance(threshold, (int, float, np.number)):
        raise TypeError(f"threshold must be a number, not {type(threshold).__name__}")
    edge = settings["edgeitems"] if edgeitems is None else edgeitems
    options: dict[str, Any] = {
        "max_line_width": max_line_width, "precision": precision, "suppress_small": suppress_small,
        "separator": separator, "prefix": prefix, "formatter": formatter, "edgeitems": edge, "sign": sign,
        "floatmode": floatmode, "suffix": suffix, "legacy": legacy,
    }  # fmt: skip
    if type(a) is ndarray:
        a = constant_of(a)
    if type(a) is ndarray and prod(a.shape) > threshold and any(extent > 2 * edge + 1 for extent in a.shape):
        return np.array2string(_edges(a, edge), threshold=0, **options)
    return np.array2string(a.get() if type(a) is ndarray else np.asarray(a), threshold=threshold, **options)


def _edges(array: Array, edge: int) -> np.ndarray[Any, Any]:
    """What a summary shows of an array: `edge` places at both ends of each axis, one between stands for the rest."""
    kept = [
        np.arange(extent) if extent <= 2 * edge + 1 else np.r_[0 : edge + 1, extent - edge : extent]
        for extent in array.shape
    ]
    indices = [leaf_from_host(index) for index in np.ix_(*kept)]
    return download_value(build.gather(node_of(array), indices, tuple(range(array.ndim)), 0))


def array_repr(
    arr: Array, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """``array(...)``, as NumPy prints it."""
    if type(arr) is not ndarray:
        arr = arr if isinstance(arr, (np.ndarray, np.generic)) else np.asarray(arr)
        return np.array_repr(arr, max_line_width, precision, suppress_small)
    arr = constant_of(arr)
    settings = np.get_printoptions()
    edge = settings["edgeitems"]
    if arr.size <= settings["threshold"] or all(extent <= 2 * edge + 1 for extent in arr.shape):
        return np.array_repr(arr.get(), max_line_width, precision, suppress_small)
    width = settings["linewidth"] if max_line_width is None else max_line_width
    head = "array("
    body = head + array2string(
        arr, max_line_width=width, precision=precision, suppress_small=suppress_small, separator=", ", prefix=head,
        suffix=")",
    ) + ","  # fmt: skip
    tail = f"shape={arr.shape}"
    if arr.dtype not in _IMPLIED:
        tail += f", dtype={arr.dtype.name}"
    tail += ")"
    last_line = len(body) - body.rfind("\n") - 1
    gap = " " if last_line + 1 + len(tail) <= width else "\n" + " " * len(head)
    return body + gap + tail


def array_str(
    a: Array, max_line_width: int | None = None, precision: int | None = None, suppress_small: bool | None = None
) -> str:
    """The values without ``array(...)``, as NumPy prints them."""
    if type(a) is not ndarray or not a.shape:
        host = constant_of(a).get() if type(a) is ndarray else np.asarray(a)
        return np.array_str(host, max_line_width, precision, suppress_small)
    return array2string(
        a, max_line_width=max_line_width, precision=precision, suppress_small=suppress_small, separator=" ", prefix=""
    )


_WAITED = {False: 1 << 25, True: 1 << 31}
"""Elements that recorded work may compute for a preview in a notebook: on the host, and on a GPU."""
_PREVIEW: dict[str, Any] = {"threshold": 200, "edgeitems": 3, "max_line_width": 100}


def _escaped(text: str) -> str:
    return str(later.load("html").escape(text))


def array_html(array: Array) -> str | None:
    """An array in a notebook: what it is, and a preview; None for what has no axes, which shows as its number.

    The preview shows the edges, of which alone values are fetched. Where much work is recorded it is left out, and
    nothing runs.

    Parameters
    ----------
    array : ndarray
        The array.

    Returns
    -------
    str or None

    Examples
    --------
    >>> import numloom as np
    >>> "2 × 3 · int64" in np.ones((2, 3), "i8")._repr_html_()
    True
    """
    node = node_of(array)
    if not array.shape or node.tree:
        return None
    most = _WAITED[current().discrete]
    operations, elements = pending_work(node, most)
    about = [
        " × ".join(f"{extent:,}" for extent in array.shape) + (" element" if array.ndim == 1 else ""),
        array.dtype.name, _bytes(array.nbytes), array.device,
    ]  # fmt: skip
    if array.ndim == 1 and array.size != 1:
        about[0] += "s"
    if elements > most:
        body = (
            "<i>Not computed yet: much work is recorded, and runs when values are looked at. print(x) does so, "
            "x.explain() shows the work.</i>"
        )
        about.append(f"recorded: {counted(operations, 'operation')} or more")
    else:
        body = f"<pre style='margin:.3em 0'>{_escaped(array2string(array, separator=' ', **_PREVIEW))}</pre>"
        if node.buffer is None and operations:
            about.append(f"computed now: {counted(operations, 'operation')}")
    return f"<div><small><b>array</b> {_escaped(' · '.join(about))}</small>{body}</div>"


def _bytes(count: float) -> str:
    for unit in ("bytes", "KB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def _repr(arr: Array) -> str:
    """What `repr` gives, also of an array whose device is lost: whoever reports what happened shows arrays, too."""
    try:
        return array_repr(arr)
    except DeviceError as error:
        return f"<numloom.ndarray of {arr.dtype} and shape {arr.shape} without values: {error}>"


bind(array_repr=_repr, array_str=array_str, method__repr_html_=array_html)

__all__ = ["array2string", "array_html", "array_repr", "array_str"]
