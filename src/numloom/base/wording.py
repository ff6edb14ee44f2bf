"""Wording of messages: counts of things, names that are not there, and values that no device holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import numpy as np

from numloom.base import later
from numloom.base.nesting import deeper

_HELD = "numloom arrays hold bool, integers of 8 to 64 bits, float16/32/64, bfloat16, float8 and complex64/128"
NOTHING: Any = object()
"""Stands for what was not given."""


def counted(count: int, thing: str) -> str:
    """A count of things, such as "1 kernel" and "2 kernels".

    Examples
    --------
    >>> counted(1, "kernel"), counted(2048, "byte")
    ('1 kernel', '2,048 bytes')
    """
    return f"{count:,} {thing}{'' if count == 1 else 's'}"


def no_name(module: str, name: str, cures: Mapping[str, str], names: Iterable[str], otherwise: str = "") -> str:
    """What the AttributeError says about a name that a module lacks: what to use, or names that are like it.

    Examples
    --------
    >>> no_name("numloom", "NaN", {"NaN": "use numloom.nan"}, ())
    'numloom.NaN is not supported: use numloom.nan'
    >>> no_name("numloom", "aranged", {}, ("arange", "sin"))
    "module 'numloom' has no attribute 'aranged'; did you mean 'arange'?"
    """
    if name in cures:
        return f"{module}.{name} is not supported: {cures[name]}"
    text = f"module {module!r} has no attribute {name!r}"
    if name.startswith("_"):
        return text
    public = [each for each in names if not each.startswith("_")]
    near = later.load("difflib").get_close_matches(name, public, 3, 0.75)
    near = near or [each for each in public if each.lower() == name.lower()]
    if near:
        return f"{text}; did you mean {' or '.join(map(repr, near))}?"
    return text + otherwise


def unsupported(dtype: np.dtype[Any], given: Any = NOTHING) -> str:
    """Why a dtype, or what was given and has it, cannot be on the device, and what to do.

    Examples
    --------
    >>> print(unsupported(np.dtype(object), None))
    dtype object is not supported on the device: None is no number; use numloom.nan for what is missing
    """
    what, cure = _cure(dtype, given)
    return f"dtype {dtype} is not supported on the device: {what}; {cure}"


def _cure(dtype: np.dtype[Any], given: Any) -> tuple[str, str]:
    kind = dtype.kind
    if not dtype.isnative and kind in "iufc":
        plain = dtype.newbyteorder("=").name
        return (
            "arrays lie in this machine's byte order",
            f"ask for {plain}, and for bytes of the other order take byteswap() of that: x.view({plain!r}).byteswap() "
            f"reads such bytes, x.astype({plain!r}).byteswap() has them",
        )
    if kind in "US":
        what = "the array holds text" if given is NOTHING or isinstance(given, np.ndarray) else _shown_text(given)
        return what, "it stays in NumPy arrays, but numbers written as text become numbers with dtype=float"
    if kind in "mM":
        return "dates and times stay in NumPy arrays", "x.astype('int64') of a NumPy array gives their counts"
    if dtype.fields:
        return "an array with fields stays in NumPy", "keep one numloom array for each field"
    if kind == "V" and dtype.itemsize <= 2:
        return (
            "it is not said what the bytes of its elements mean",
            "x.view(ml_dtypes.bfloat16) of a NumPy array, or of a float8, says so",
        )
    if kind in "fc":
        return "no GPU computes with it", f"convert it with {'astype(float)' if kind == 'f' else 'astype(complex)'}"
    if given is NOTHING or kind != "O":
        return _HELD, "keep other data in NumPy arrays, or convert it with astype"
    return _of_objects(given)


def _of_objects(given: Any) -> tuple[str, str]:
    """What is wrong with something that NumPy makes an array of objects of."""
    if isinstance(given, Iterator):
        return f"a {type(given).__name__} is no array", "use numloom.fromiter(x, dtype), or make a list of it"
    if isinstance(given, (set, frozenset, dict)) or type(given).__name__ in ("dict_values", "dict_keys"):
        return f"a {type(given).__name__} is no array", "make a list of it"
    found, items = given, []
    if isinstance(given, (list, tuple, np.ndarray)):
        items = list(given.flat if isinstance(given, np.ndarray) else _leaves(given))
        found = next((item for item in items if not isinstance(item, (int, float, complex, np.generic))), NOTHING)
    if found is None:
        return f"{'it holds None, which' if found is not given else 'None'} is no number", (
            "use numloom.nan for what is missing"
        )
    if found is NOTHING:
        if any(isinstance(item, int) for item in items):
            return "it holds an integer that int64 and uint64 cannot", "use dtype=float"
        return "its numbers or rows make no array of one dtype", "give it a dtype, or rows of equal length"
    where = "" if found is given else "it holds "
    if type(found).__module__.startswith("scipy.sparse."):
        return f"{where}a {type(found).__name__} of SciPy's, which is no dense array", (
            f"use x.toarray(), or numloom.sparse.{type(found).__name__}(x)"
        )
    return f"{where}an object of type {type(found).__name__}, which is no number", (
        "convert it with float(), or keep it in a NumPy array"
    )


def _leaves(nested: Any, depth: int = 0) -> Iterator[Any]:
    depth = deeper(depth)
    for item in nested:
        if isinstance(item, (list, tuple)):
            yield from _leaves(item, depth)
        else:
            yield item


def _shown_text(given: Any) -> str:
    found = given
    if isinstance(given, (list, tuple)):
        found = next((item for item in _leaves(given) if isinstance(item, (str, bytes))), given)
    shown = repr(found)
    return f"{shown if len(shown) <= 40 else shown[:37] + '...'} is text"


def no_array(given: Any) -> str:
    """Why something cannot be an operand, and what to do.

    Examples
    --------
    >>> no_array("a")
    "'a' is text: numbers written as text become an array by numloom.asarray(x, float)"
    >>> no_array(iter([1]))
    'a list_iterator is no array: use numloom.fromiter(x, dtype), or make a list of it'
    """
    if isinstance(given, (str, bytes)):
        return f"{_shown_text(given)}: numbers written as text become an array by numloom.asarray(x, float)"
    what, cure = _of_objects(given)
    return f"{what}: {cure}"


def no_truth(size: int) -> ValueError:
    """The error of an array of several elements, or of none, that is asked whether it is true."""
    if size:
        return ValueError("The truth value of an array with more than one element is ambiguous. Use a.any() or a.all()")
    return ValueError(
        "The truth value of an empty array is ambiguous. Use `array.size > 0` to check that an array is not empty."
    )


__all__ = ["NOTHING", "counted", "no_array", "no_name", "no_truth", "unsupported"]
