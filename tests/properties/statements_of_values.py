"""Statements of random programs that compute: elementwise, reductions, order, scans, joins, products."""

from __future__ import annotations

import numpy as np
from author import Author


def binary(a: Author) -> None:
    name, x = a.chosen()
    sign, other = a.operation(x), a.other(np.shape(x))
    if a.is_exact(x, other, sign):
        left, right = (name, other) if a.number(4) else (other, name)
        a.add(f"{a.target()} = {left} {sign} {right}")


def unary(a: Author) -> None:
    name, x = a.chosen()
    options = [f"abs({name})", f"-{name}"] if x.dtype.kind != "c" else [f"-{name}", f"{name}.conj()"]
    if x.dtype.kind in "biu":
        options.append(f"~{name}")
    if not a.bits and x.dtype.kind != "c":
        options += [f"np.square({name})", f"np.sign({name})", f"np.sqrt(abs({name}))", f"np.floor({name})",
                    f"np.reciprocal(abs({name}) + 1)", f"np.isfinite({name})"]  # fmt: skip
    a.add(f"{a.target()} = {a.pick(options)}")


def choice(a: Author) -> None:
    name, x = a.chosen()
    other = a.other(np.shape(x))
    if not a.is_exact(x, other, "+") or x.dtype.kind == "c":
        return
    if x.dtype.kind == "u" and other == "n0":
        # NumPy's `where` wraps it around, its ufuncs refuse it.
        return
    options = [f"np.where({name} > {a.pick(['0', '1', 'p0'])}, {name}, {other})"]
    if not a.bits:
        options += [f"np.maximum({name}, {other})", f"np.minimum({name}, {other})", f"np.clip({name}, 0, p0)"]
    a.add(f"{a.target()} = {a.pick(options)}")


def cast(a: Author) -> None:
    name, x = a.chosen()
    dtype = a.pick(a.dtypes)
    if np.dtype(dtype).kind == "c" or x.dtype.kind != "c":
        a.add(f"{a.target()} = {name}.astype({dtype!r})", a.casts(name, dtype))


def call(a: Author) -> None:
    """A ufunc with out=, where=, dtype= or casting=."""
    name, x = a.chosen()
    if a.bits or x.dtype.kind == "c":
        return
    other = a.other(np.shape(x))
    function = a.pick(["add", "subtract", "maximum", "minimum", "less", "equal", "multiply", "logical_and", "fmax"])
    try:
        value = a.value(f"np.{function}({name}, {other})")
    except (TypeError, ValueError, OverflowError):
        return
    outs = [each for each in a.rotated(a.arrays()) if _is_apart(a, each, name, other, np.shape(value))]
    options = [f"np.{function}({name}, {other}, dtype='f8')", f"np.{function}({name}, {other}, order='F')",
               f"np.{function}.outer({name}.ravel()[:3], {name}.ravel()[-3:])"]  # fmt: skip
    if outs:
        out = outs[0]
        dtype = a.value(out).dtype
        options = (
            ["", f", where={name} > 1"] if np.can_cast(value.dtype, dtype, "same_kind") else [", casting='unsafe'"]
        )
        if function in ("less", "equal"):  # NumPy 2.4 crashes where it compares with a number that does not fit.
            options = [option for option in options if "where" not in option] or [""]
        call = f"{a.target()} = np.{function}({name}, {other}, out={out}{a.pick(options)})"
        a.add(call, a.casts(f"np.{function}({name}, {other})", dtype))
        return
    if function in ("less", "equal", "logical_and"):
        options = options[1:]
    a.add(f"{a.target()} = {a.pick(options)}")


def _is_apart(a: Author, out: str, name: str, other: str, shape: tuple[int, ...]) -> bool:
    """Whether an array can take a result, and is no part of what that is computed from."""
    x = a.value(out)
    return (
        isinstance(x, np.ndarray)
        and x.shape == shape
        and x.flags.writeable
        and x.dtype.kind != "c"
        and not any(np.may_share_memory(x, a.value(each)) for each in (name, other))
    )


def reduce(a: Author) -> None:
    name, x = a.chosen()
    axis = a.axis(np.ndim(x))
    if x.dtype.kind == "c":
        return
    options = [f"{name}.max({axis})", f"{name}.min({axis}, keepdims=True)", f"{name}.any({axis})",
               f"{name}.all({axis})"]  # fmt: skip
    if not a.bits:
        options += [f"np.max({name}, {axis}, where={name} > 0, initial=p0)", f"np.ptp({name}, {axis})",
                    f"np.count_nonzero({name}, {axis})"]  # fmt: skip
    if x.dtype.kind in "biu":
        options += [f"{name}.sum({axis})", f"np.sum({name}, {axis}, where={name} > 0)", f"np.prod({name}, {axis})",
                    f"np.sum({name}, {axis}, dtype='i4', initial=p0)", f"np.median({name}, {axis})"]  # fmt: skip
    if "(" not in axis:
        options += [f"{name}.argmax({axis})", f"{name}.argmin({axis})"]
    if a.bits and x.dtype.kind == "f":
        options = options[2:4]
    a.add(f"{a.target()} = {a.pick(options)}", *([] if np.ndim(x) < 2 else [a.full(name)]))


def near(a: Author) -> None:
    """What may be added in another order: looked at, never kept."""
    name, x = a.chosen()
    if a.bits or not np.size(x):
        return
    condition = a.tame(name)
    if x.dtype.kind in "fc" and x.dtype.itemsize in (2, 8) and x.dtype.char != "d":
        name = f"{name}.astype('{'c16' if x.dtype.kind == 'c' else 'f8'}')"
    axis = a.axis(np.ndim(x))
    options = [f"{name}.sum({axis})", f"{name}.mean({axis})", f"({name} * p0).sum({axis}) + f0"]
    if x.dtype.kind not in "bc":
        options += [f"{name}.var({axis})", f"{name} - {name}.mean({axis}, keepdims=True)", f"{name}.std({axis})",
                    f"np.median({name}, {axis})", f"np.average({name}, {axis})"]  # fmt: skip
        if "(" not in axis:
            options += [f"np.cumsum({name}, {axis})", f"np.percentile({name}, 30, {axis})"]
    if x.dtype.kind == "f":
        row = f"{name}.ravel()"
        options += [f"np.dot({row}, {row}[::-1])", f"{row} @ np.abs({row})", f"np.vdot({row}[::2], {row}[::2] * p0)",
                    f"np.array([*{row}[-4:]])", f"np.array([{row}[-1], {row}[0] * p0, {row}[0]])"]  # fmt: skip
    a.add(f"near({a.pick(options)})", condition)


def order(a: Author) -> None:
    """Sorts, and what sorts."""
    name, x = a.chosen()
    if x.dtype.kind == "c" or (a.bits and x.dtype.kind == "f"):
        return
    axis = a.axis(np.ndim(x), several=False)
    t = a.target()
    options = [f"{t} = np.sort({name}, {axis})", f"{t} = np.argsort({name}, {axis}, kind='stable')",
               f"{t} = np.unique({name})", f"{t} = np.nonzero({name})[0]", f"{t} = np.flatnonzero({name} > p0)",
               f"{t} = np.searchsorted(np.sort({name}, None), p0)", f"{t} = np.isin({name}, [p0, p1])",
               f"{t} = np.argwhere({name})", f"{t} = np.digitize({name}, [0, 2, 5])",
               f"{t} = np.unique({name}, return_inverse=True)[1]", f"{t} = np.lexsort(({name}.ravel(),))"]  # fmt: skip
    if np.ndim(x):
        options += [f"{name}.sort({axis})" if axis != "None" else f"{name}.sort()", f"{t} = np.sort({name}[::-1], 0)",
                    f"{t} = np.sort(np.partition({name}, 0, -1), -1)"]  # fmt: skip
    if x.dtype.kind == "u" and x.dtype.itemsize == 1:
        options.append(f"{t} = np.bincount({name}.ravel(), minlength=4)")
    a.add(a.pick(options))


def scan(a: Author) -> None:
    name, x = a.chosen()
    if x.dtype.kind not in "iu":
        return
    axis, t = a.axis(np.ndim(x), several=False), a.target()
    options = [f"{t} = np.cumsum({name}, {axis})", f"{t} = np.cumprod({name}, {axis})",
               f"{t} = np.cumsum({name}.reshape(-1))", f"{t} = np.cumsum({name} * p0, {axis})"]  # fmt: skip
    if np.ndim(x) and x.shape[0]:
        options += [f"{t} = np.maximum.accumulate({name}, 0)", f"{t} = np.diff({name}, axis=0)",
                    f"{t} = np.add.reduceat({name}, [0, {x.shape[0] // 2}], 0)", f"{t} = np.ediff1d({name})",
                    f"{t} = np.add.accumulate({name}, 0, 'i8')"]  # fmt: skip
    a.add(a.pick(options))


def gather(a: Author) -> None:
    """Elements at lists of positions and at masks."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or not x.ndim or not x.shape[0]:
        return
    picks, t = a.picks(x.shape[0]), a.target()
    options = [f"{name}[{picks}]", f"{name}[np.asarray({picks})]", f"np.take({name}, {picks}, 0)",
               f"np.take({name}, np.asarray({picks}), 0, mode='wrap')", f"{name}[[{a.number(x.shape[0])}]]",
               f"np.take({name}, [[0, -1], [-1, 0]])", f"{name}[np.arange({x.shape[0]}) % p0]"]  # fmt: skip
    if x.dtype.kind != "c":
        options += [f"{name}[{name} > 1]", f"{name}[{name} >= p0]", f"np.compress([True, False], {name}, 0)",
                    f"np.extract({name} > 1, {name})", f"{name}[~({name} == 0)]"]  # fmt: skip
    if x.ndim > 1 and x.shape[1]:
        options += [f"{name}[:, [0, -1]].copy()", f"{name}[{picks}, {a.picks(x.shape[1])}]",
                    f"{name}[::-1, {a.picks(x.shape[1])}]", f"{name}[np.asarray({picks})[:, None], [0, -1]]",
                    f"np.take_along_axis({name}, np.zeros({(1, *x.shape[1:])}, 'i8'), 0)"]  # fmt: skip
    a.add(f"{t} = {a.pick(options)}")


def join(a: Author) -> None:
    name, x = a.chosen()
    if not np.ndim(x):
        return
    other = a.pick(a.arrays())
    y = a.value(other)
    if a.bits and (x.dtype != np.asarray(y).dtype):
        return
    options = [f"np.concatenate(({name}, {name}[::-1]))", f"np.roll({name}, 1)",
               f"np.concatenate(({name}, {other}))", f"np.stack(({name}, {other}))", f"np.append({name}, {other})",
               f"np.repeat({name}, 2, 0)", f"np.tile({name}, 2)", f"np.roll({name}, -2, 0)",
               f"np.pad({name}, 1)", f"np.pad({name}, 1, mode='edge')", f"np.delete({name}, 0, 0)",
               f"np.resize({name}, (3, 3))", f"np.roll({name}, p0)", f"np.array_split({name}, 2)[1]"]  # fmt: skip
    if x.dtype.kind in "iu":
        options += [f"np.insert({name}, 0, p0, 0)", f"np.pad({name}, (0, 2), constant_values=p0)"]
    if not a.bits or x.dtype.kind in "iu":
        options.append(f"np.diff({name})")
    a.add(f"{a.target()} = {a.pick(options)}")


def product(a: Author) -> None:
    """Products of integers, which are exact."""
    name, x = a.chosen()
    if x.dtype.kind not in "iu" or not np.ndim(x):
        return
    options = [f"np.outer({name}[:3], {name}[:2])", f"np.vdot({name}, {name})", f"np.inner({name}, {name})",
               f"np.einsum('...i,...i->...', {name}, {name})", f"np.tensordot({name}, {name}, {np.ndim(x)}) + 0",
               f"np.kron({name}.ravel()[:3], [1, p0])", f"np.convolve({name}.ravel(), [1, p0])"]  # fmt: skip
    if np.ndim(x) == 2:
        options += [f"{name} @ {name}.T", f"np.einsum('ij->ji', {name})", f"np.einsum('ij,kj->ik', {name}, {name})",
                    f"np.trace({name})", f"np.tril({name})", f"np.dot({name}.T, {name})",
                    f"np.einsum('ij->j', {name})"]  # fmt: skip
    a.add(f"{a.target()} = {a.pick(options)}")
