"""Arrays in files: NumPy's formats, text, and maps of files that are larger than memory.

Files are read and written by NumPy, on the host; what is read goes to the device in one copy, and
what is written comes from there in one.
"""

from __future__ import annotations

import os
import pickle
from collections.abc import Iterator, Mapping
from os import PathLike
from typing import Any

import numpy as np

from numloom.api.creation import array
from numloom.array.convert import asarray
from numloom.array.ndarray import bind, ndarray
from numloom.base.dtypes import DTYPES, LOW, refuse_other_order
from numloom.base.progress import Line, place

Array = Any
Host = np.ndarray[Any, Any]

_LOW = tuple([DTYPES[code] for code in LOW])
_PACKED = (".gz", ".bz2", ".xz", ".lzma")
_LARGE = 32 << 20
"""Bytes of a text that takes seconds to read."""


def _host(array: Any) -> Any:
    """An array of ours as NumPy's, everything else as it is."""
    return array.get() if type(array) is ndarray else array


def to_file(array: Any) -> Host:
    """An array as NumPy writes it: ours in the order that a file has for how it lies."""
    host = array.get(order="F" if array.flags.fnc else "C") if type(array) is ndarray else np.asanyarray(array)
    return host.view(as_written(host.dtype)) if host.dtype in _LOW else host


def as_written(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The dtype that a file of NumPy's has for one: for bfloat16 and float8, which it cannot name, a field so named.

    Examples
    --------
    >>> as_written(np.dtype("bfloat16")), as_written(np.dtype("float32"))
    (dtype([('bfloat16', '<u2')]), dtype('float32'))
    """
    return np.dtype([(dtype.name, f"u{dtype.itemsize}")]) if dtype in _LOW else dtype


def as_meant(found: Any) -> Any:
    """What a file holds in the dtype that it was written as (see `as_written`)."""
    for dtype in _LOW if isinstance(found, np.ndarray) and found.dtype.names is not None else ():
        if found.dtype == as_written(dtype):
            return found.view(dtype)
    return found


def _delivered(found: Any) -> Any:
    """What NumPy read, on the device; tables with named columns are a dictionary of their columns."""
    if isinstance(found, (list, tuple)):
        return type(found)(map(_delivered, found))
    if isinstance(found, np.memmap):
        return memmap._of(found)
    if not isinstance(found, (np.ndarray, np.void)):
        return found if not isinstance(found, np.generic) else asarray(found)
    if found.dtype.names is not None:
        return {name: _delivered(found[name]) for name in found.dtype.names}
    return array(found)


def mapped(host: np.memmap[Any, Any]) -> memmap:
    """A mapped file of NumPy's as ours."""
    return memmap._of(host)


def watched(fname: Any, encoding: str | None) -> Any:
    """What a text is read from: of a large file its lines, if there is somebody to tell how far it is read."""
    if not isinstance(fname, (str, PathLike)) or str(fname).endswith(_PACKED) or place() is None:
        return fname
    try:
        size = os.path.getsize(fname)
    except OSError:  # NumPy says what is wrong, or fetches it.
        return fname
    return _lines(fname, size, encoding) if size > _LARGE else fname


def _lines(fname: Any, size: int, encoding: str | None) -> Iterator[str]:
    """The lines of a file, with a line that says how much of it is read."""
    with open(fname, encoding=encoding) as file, Line(f"reading {os.path.basename(fname)}", size) as told:
        behind: Any = file.buffer
        for number, line in enumerate(file):
            yield line
            if not number % 4096:
                told.advance(behind.tell() - told.done)


# ---------------------------------------------------------------- NumPy's formats


def load(
    file: Any,
    mmap_mode: str | None = None,
    allow_pickle: bool = False,
    fix_imports: bool = True,
    encoding: str = "ASCII",
    *,
    max_header_size: int = 10000,
) -> Any:
    """An array of an ``.npy`` file, the arrays of an ``.npz`` file, or what was pickled.

    Parameters
    ----------
    file : file, str or path
        What to read.
    mmap_mode : {None, "r+", "r", "w+", "c"}
        Map the file instead of reading it: a `memmap` is given, whose parts go to the device when asked for.
    allow_pickle : bool
        Whether pickled objects may be loaded. They run code of whoever wrote the file, so they are refused by default.
    fix_imports, encoding
        For pickles of Python 2, as in NumPy.
    max_header_size : int
        Longer headers are refused.

    Returns
    -------
    ndarray, memmap, NpzFile or object

    Raises
    ------
    OSError
        If the file does not exist or cannot be read.
    ValueError
        If it holds pickled objects and they are not allowed.
    EOFError
        If it is empty.
    TypeError
        If it holds an array that the device cannot (strings, objects).

    Examples
    --------
    >>> import io
    >>> import numloom as np
    >>> file = io.BytesIO()
    >>> np.save(file, np.arange(3))
    >>> _ = file.seek(0)
    >>> np.load(file)
    array([0, 1, 2])
    """
    found = np.load(
        file,
        mmap_mode,  # type: ignore[arg-type]
        allow_pickle,
        fix_imports,
        encoding,  # type: ignore[arg-type]
        max_header_size=max_header_size,
    )
    return NpzFile(found) if isinstance(found, np.lib.npyio.NpzFile) else _delivered(as_meant(found))


def save(file: Any, arr: Any, allow_pickle: bool = True) -> None:
    """Write an array as an ``.npy`` file; its memory order is kept.

    Parameters
    ----------
    file : file, str or path
        Where to write; a name gets the ending ``.npy`` if it has none.
    arr : array_like
        The array.
    allow_pickle : bool
        Whether arrays of objects (NumPy's) may be pickled.
    """
    np.save(file, to_file(arr), allow_pickle=allow_pickle)


def savez(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """Write several arrays to one ``.npz`` file.

    Parameters
    ----------
    file : file, str or path
        Where to write; a name gets the ending ``.npz`` if it has none.
    *args : array_like
        Arrays, named ``arr_0``, ``arr_1`` and so on.
    allow_pickle : bool
        Whether arrays of objects (NumPy's) may be pickled.
    **kwds : array_like
        Arrays under these names.
    """
    np.savez(file, *map(to_file, args), allow_pickle=allow_pickle, **{name: to_file(a) for name, a in kwds.items()})


def savez_compressed(file: Any, *args: Any, allow_pickle: bool = True, **kwds: Any) -> None:
    """As `savez`, compressed."""
    arrays = {name: to_file(a) for name, a in kwds.items()}
    np.savez_compressed(file, *map(to_file, args), allow_pickle=allow_pickle, **arrays)


class NpzFile(Mapping[str, Any]):
    """The arrays of an ``.npz`` file by name; each is read, and brought to the device, when it is asked for.

    Attributes
    ----------
    files : list of str
        Their names.
    f : object
        The arrays as attributes.
    """

    def __init__(self, host: Any) -> None:
        self._host = host
        self.files: list[str] = host.files
        self.zip = host.zip
        self.fid = host.fid
        self.f = _Attributes(self)

    def __getitem__(self, key: str) -> Any:
        return _delivered(as_meant(self._host[key]))

    def __contains__(self, key: object) -> bool:
        return key in self._host

    def __iter__(self) -> Iterator[str]:
        return iter(self.files)

    def __len__(self) -> int:
        return len(self.files)

    def __enter__(self) -> NpzFile:
        return self

    def __exit__(self, *error: Any) -> None:
        self.close()

    def close(self) -> None:
        """Close the file."""
        self._host.close()

    def __repr__(self) -> str:
        return repr(self._host)


class _Attributes:
    """Items of a mapping as attributes."""

    def __init__(self, items: Mapping[str, Any]) -> None:
        self._items = items

    def __getattr__(self, name: str) -> Any:
        try:
            return self._items[name]
        except KeyError:
            raise AttributeError(name) from None

    def __dir__(self) -> list[str]:
        return list(self._items)


# ---------------------------------------------------------------- text


def loadtxt(
    fname: Any,
    dtype: Any = float,
    comments: Any = "#",
    delimiter: str | None = None,
    converters: Any = None,
    skiprows: int = 0,
    usecols: Any = None,
    unpack: bool = False,
    ndmin: int = 0,
    encoding: str | None = None,
    max_rows: int | None = None,
    *,
    quotechar: str | None = None,
    like: Any = None,
) -> Any:
    """Numbers of a text file with as many in every line.

    Parameters
    ----------
    fname : file, str, path, or iterable of lines
        What to read; files named ``.gz``, ``.bz2`` and ``.xz`` are decompressed.
    dtype : dtype
        dtype of the result. A structured one gives a dictionary of columns.
    comments : str or sequence of str, optional
        What starts a comment.
    delimiter : str, optional
        What separates numbers; white space if not given.
    converters : callable or dict, optional
        Functions of the text, for all columns or by column.
    skiprows : int
        Lines to skip at the start.
    usecols : int or sequence of int, optional
        Columns to read.
    unpack : bool
        Whether columns are given apart, as the transposed array.
    ndmin : {0, 1, 2}
        Least number of dimensions.
    encoding : str, optional
        Encoding of the file.
    max_rows : int, optional
        Most lines to read.
    quotechar : str, optional
        What quotes fields.
    like : optional
        Taken for NumPy's sake.

    Returns
    -------
    ndarray, list of ndarray, or dict of ndarray

    Raises
    ------
    ValueError
        If a line has another number of columns, or something is no number.

    Examples
    --------
    >>> import numloom as np
    >>> np.loadtxt(["1, 2", "3, 4"], delimiter=",")
    array([[1., 2.],
           [3., 4.]])
    """
    refuse_other_order(dtype)
    return _delivered(
        np.loadtxt(  # type: ignore[call-overload]
            watched(fname, encoding), dtype, comments, delimiter, converters, skiprows, usecols, unpack,
            ndmin, encoding, max_rows, quotechar=quotechar,
        )
    )  # fmt: skip


def genfromtxt(
    fname: Any,
    dtype: Any = float,
    comments: str | None = "#",
    delimiter: Any = None,
    skip_header: int = 0,
    skip_footer: int = 0,
    converters: Any = None,
    missing_values: Any = None,
    filling_values: Any = None,
    usecols: Any = None,
    names: Any = None,
    excludelist: Any = None,
    deletechars: str = " !#$%&'()*+,-./:;<=>?@[\\]^{|}~",
    replace_space: str = "_",
    autostrip: bool = False,
    case_sensitive: Any = True,
    defaultfmt: str = "f%i",
    unpack: bool | None = None,
    usemask: bool = False,
    loose: bool = True,
    invalid_raise: bool = True,
    max_rows: int | None = None,
    encoding: str | None = None,
    *,
    ndmin: int = 0,
    like: Any = None,
) -> Any:
    """Numbers of a text file in which some are missing.

    Parameters
    ----------
    fname : file, str, path, or iterable of lines
        What to read.
    dtype : dtype, optional
        dtype of the result; None finds one for each column.
    comments, delimiter, skip_header, skip_footer, converters, usecols, max_rows, encoding, ndmin, unpack
        As for `loadtxt`; `delimiter` may also be widths of columns.
    missing_values, filling_values : optional
        What counts as missing, and what stands there instead (NaN, -1, ...), by column if given so.
    names : {None, True, str, sequence}, optional
        Names of columns (True: in the first line). Columns with names give a dictionary.
    excludelist, deletechars, replace_space, case_sensitive, defaultfmt
        How names are made, as in NumPy.
    autostrip : bool
        Whether white space around values is cut.
    usemask : bool
        Refused if true: there are no masked arrays.
    loose, invalid_raise : bool
        Whether values that are no numbers count as missing, and whether lines of other lengths are an error.
    like : optional
        Taken for NumPy's sake.

    Returns
    -------
    ndarray, list of ndarray, or dict of ndarray

    Raises
    ------
    ValueError
        If lines have other numbers of columns.
    TypeError
        If there are columns of text, or with `usemask`.
    """
    if usemask:
        raise TypeError("numloom has no masked arrays: choose filling_values=, or compare with them afterwards")
    refuse_other_order(dtype)
    return _delivered(
        np.genfromtxt(  # type: ignore[call-overload]
            watched(fname, encoding), dtype, comments, delimiter, skip_header, skip_footer, converters, missing_values,
            filling_values, usecols, names, excludelist, deletechars, replace_space, autostrip, case_sensitive,
            defaultfmt, unpack, False, loose, invalid_raise, max_rows, encoding, ndmin=ndmin,
        )
    )  # fmt: skip


def savetxt(
    fname: Any,
    X: Any,
    fmt: Any = "%.18e",
    delimiter: str = " ",
    newline: str = "\n",
    header: str = "",
    footer: str = "",
    comments: str = "# ",
    encoding: str | None = None,
) -> None:
    """Write a vector or matrix as text.

    Parameters
    ----------
    fname : file, str or path
        Where to write; names that end in ``.gz`` are compressed.
    X : array_like
        One or two dimensions.
    fmt : str or sequence of str
        How to write a number, each column's, or a whole line.
    delimiter, newline : str
        What stands between columns and after lines.
    header, footer : str
        Text at start and end, behind `comments`.
    comments : str
        What starts a comment.
    encoding : str, optional
        Encoding of the file.

    Raises
    ------
    ValueError
        If there are more than two dimensions, or a number of formats that does not fit.
    TypeError
        If a format does not fit the dtype.
    """
    np.savetxt(fname, _host(X), fmt, delimiter, newline, header, footer, comments, encoding)


def fromregex(file: Any, regexp: Any, dtype: Any, encoding: str | None = None) -> dict[str, Array]:
    r"""Columns of numbers found in a text by a regular expression.

    Parameters
    ----------
    file : file, str or path
        What to read.
    regexp : str or pattern
        The expression; each of its groups is a column.
    dtype : structured dtype
        Names and dtypes of the columns, as ``[("count", "i8"), ("size", "f4")]``.
    encoding : str, optional
        Encoding of the file.

    Returns
    -------
    dict of ndarray
        Columns by name (NumPy gives a structured array, which the device cannot hold).

    Raises
    ------
    TypeError
        If `dtype` is not structured, or has fields that are no numbers.

    Examples
    --------
    >>> import io
    >>> import numloom as np
    >>> text = io.StringIO("size 3 cm, size 4 cm")
    >>> np.fromregex(text, r"size (\d+)", [("size", "i8")])
    {'size': array([3, 4])}
    """
    refuse_other_order(dtype)
    return _delivered(np.fromregex(file, regexp, dtype, encoding))  # type: ignore[no-any-return]


# ---------------------------------------------------------------- maps of files


class memmap(np.lib.mixins.NDArrayOperatorsMixin):
    """A file seen as an array; the parts that are asked for are read and brought to the device.

    ``m[index]`` is an array on the device, a copy: what is then written to it is not written to the
    file. ``m[index] = values`` and ``m += values`` write to the file. Operators, functions and methods
    work on all of the file's elements, which are brought to the device each time.

    Parameters
    ----------
    filename : file, str or path
        The file.
    dtype : dtype
        dtype of its elements.
    mode : {"r", "r+", "w+", "c"}
        Read, read and write, make anew, or write to memory only.
    offset : int
        Bytes before the first element.
    shape : int or tuple of int, optional
        Shape; a vector of all there is if not given.
    order : {"C", "F"}
        Memory order.

    Attributes
    ----------
    filename : path or None
        The file.
    mode : str
        How it was opened.
    offset : int
        Bytes before the first element.
    shape, dtype, ndim, size, nbytes, itemsize, strides
        As those of an array.

    Examples
    --------
    >>> import tempfile
    >>> import numloom as np
    >>> with tempfile.NamedTemporaryFile() as file:
    ...     m = np.memmap(file, dtype="f4", mode="w+", shape=(1000, 3))
    ...     m[10] = [1, 2, 3]
    ...     rows = m[9:11] * 2
    >>> rows
    array([[0., 0., 0.],
           [2., 4., 6.]], dtype=float32)
    """

    __slots__ = ("_map",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(
        self,
        filename: str | PathLike[str] | Any,
        dtype: Any = np.uint8,
        mode: str = "r+",
        offset: int = 0,
        shape: Any = None,
        order: str = "C",
    ) -> None:
        self._map: Any = np.memmap(filename, dtype, mode, offset, shape, order)  # type: ignore[call-overload]

    @classmethod
    def _of(cls, host: Any) -> memmap:
        result = cls.__new__(cls)
        result._map = host
        return result

    @property
    def filename(self) -> Any:
        return self._map.filename

    @property
    def mode(self) -> str:
        return self._map.mode  # type: ignore[no-any-return]

    @property
    def offset(self) -> int:
        return self._map.offset  # type: ignore[no-any-return]

    @property
    def shape(self) -> tuple[int, ...]:
        return self._map.shape  # type: ignore[no-any-return]

    @property
    def dtype(self) -> np.dtype[Any]:
        return self._map.dtype  # type: ignore[no-any-return]

    @property
    def ndim(self) -> int:
        return self._map.ndim  # type: ignore[no-any-return]

    @property
    def size(self) -> int:
        return self._map.size  # type: ignore[no-any-return]

    @property
    def itemsize(self) -> int:
        return self._map.itemsize  # type: ignore[no-any-return]

    @property
    def nbytes(self) -> int:
        return self._map.nbytes  # type: ignore[no-any-return]

    @property
    def strides(self) -> tuple[int, ...]:
        return self._map.strides  # type: ignore[no-any-return]

    def flush(self) -> None:
        """Write what was changed to the file."""
        self._map.flush()

    def __len__(self) -> int:
        return len(self._map)

    def __iter__(self) -> Iterator[Array]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index: Any) -> Array:
        found = self._map[_host_index(index)]
        # What NumPy copies may be written whatever its byte order; `asarray` says of a view that it may not.
        return asarray(np.asarray(found)) if isinstance(found, np.memmap) else array(np.asarray(found))

    def __setitem__(self, index: Any, value: Any) -> None:
        self._map[_host_index(index)] = _host(value)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Host:
        # One's own: what is written to it is meant for memory, not for the file.
        return np.array(self._map, dtype)

    def __numloom_array__(self) -> Array:
        return asarray(np.asarray(self._map))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = (), **options: Any) -> Any:
        found = getattr(ufunc, method)(*map(_read, inputs), **options)
        for target, result in zip(out, found if isinstance(found, tuple) else (found,), strict=False):
            target[...] = result
        return (out[0] if len(out) == 1 else out) if out else found

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return function(*map(_read, args), **{name: _read(value) for name, value in kwargs.items()})

    def __getattr__(self, name: str) -> Any:
        # Other attributes are those of the array of all elements.
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(asarray(self), name)

    def __bool__(self) -> bool:
        return bool(asarray(self))

    def __int__(self) -> int:
        return int(asarray(self))

    def __float__(self) -> float:
        return float(asarray(self))

    def __contains__(self, item: Any) -> bool:
        return item in asarray(self)

    def __repr__(self) -> str:
        return repr(self._map)

    def __str__(self) -> str:
        return str(self._map)


def _read(operand: Any) -> Any:
    """All elements of a mapped file as an array; everything else as it is."""
    return asarray(operand) if type(operand) is memmap else operand


def _host_index(index: Any) -> Any:
    return tuple(map(_host, index)) if isinstance(index, tuple) else _host(index)


# ---------------------------------------------------------------- methods


def dumps(array: Array) -> bytes:
    """The array pickled; a pickle made on a GPU loads on a machine without one."""
    return pickle.dumps(array, 2)


def dump(array: Array, file: Any) -> None:
    """Pickle the array to a file, given by its name or open."""
    if hasattr(file, "write"):
        pickle.dump(array, file, 2)
        return
    with open(file, "wb") as opened:
        pickle.dump(array, opened, 2)


bind(method_dump=dump, method_dumps=dumps)

__all__ = [
    "NpzFile",
    "fromregex",
    "genfromtxt",
    "load",
    "loadtxt",
    "memmap",
    "save",
    "savetxt",
    "savez",
    "savez_compressed",
    "watched",
]
