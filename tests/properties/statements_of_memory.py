"""Statements of random programs that make arrays, see them as views, and write to them."""

from __future__ import annotations

from typing import Any

import numpy as np
from author import BIT_DTYPES, NUMBERS, SHAPES, Author


def make_fresh(a: Author) -> None:
    shape, dtype = a.pick(SHAPES), a.pick(a.dtypes)
    kind = a.number(6)
    if kind == 0:
        a.add(f"{a.target()} = np.zeros({shape}, {dtype!r})")
    elif kind == 1:
        a.add(f"{a.target()} = np.full({shape}, {a.pick(['p0', 'p1', '0', '1'])}, {dtype!r})")
    elif kind == 2 and dtype != "?":
        a.add(f"{a.target()} = np.arange({a.pick([1, 6, 12, 16, 20])}, dtype={dtype!r}) * p0")
    elif kind == 3 and not a.bits:
        a.add(f"{a.target()} = draw({a.number(9)}, {shape or (1,)}, {a.pick(['f', 'i'])!r})")
    else:
        a.add(f"{a.target()} = fresh({a.number(11)}, {shape}, {dtype!r}, {a.pick(['C', 'F'])!r})")


def make_number(a: Author) -> None:
    """An array of no dimensions, made from a number, and what may be made of it."""
    number = a.pick(NUMBERS)
    if a.bits and number[0] not in "pb012":
        return
    dtype = a.pick(["", "", f", {a.pick(a.dtypes)!r}"])
    texts = [f"np.asarray({number}{dtype})", f"np.array({number}{dtype})", f"np.asarray({number}).copy()",
             f"np.asarray({number}).reshape(1)", f"np.broadcast_to(np.asarray({number}), (3, 4))",
             f"np.asarray({number})[...]", f"np.array([{number}, 1, 2])", f"np.full((), {number})",
             f"np.asarray({number})[None]", f"copy_of(np.asarray({number}))"]  # fmt: skip
    a.add(f"{a.target()} = {a.pick(texts)}")


def make_view(a: Author) -> None:
    name, x = a.chosen()
    a.add(f"{a.target()} = {name}[{a.index(np.shape(x))}]")


def make_turned(a: Author) -> None:
    name, x = a.chosen()
    if isinstance(x, np.generic):
        return
    size, ndim = x.size, x.ndim
    options = [f"{name}.T", f"{name}.reshape(-1)", f"{name}.ravel()", f"np.flip({name})", f"{name}[None]",
               f"{name}.real", f"np.broadcast_to({name}, (2, *{name}.shape))", f"np.squeeze({name})", f"{name}.view()",
               f"np.atleast_2d({name})"]  # fmt: skip
    if ndim > 1:
        options += [f"{name}.swapaxes(0, -1)", f"np.moveaxis({name}, 0, -1)", f"{name}.reshape(-1, order='F')",
                    f"np.rot90({name})", f"np.diagonal({name})", f"np.fliplr({name})"]  # fmt: skip
    if size % 4 == 0 and size:
        options += [f"{name}.reshape(2, -1)", f"{name}.reshape(-1, 2)", f"{name}.reshape(2, 2, -1)"]
    if size % 3 == 0 and size:
        options.append(f"{name}.reshape(3, -1)")
    if x.dtype.kind == "c":
        options += [f"{name}.imag"] * 3 + [f"{name}.real"] * 2
    a.add(f"{a.target()} = {a.pick(options)}")


def make_bits(a: Author) -> None:
    name, x = a.chosen()
    if isinstance(x, np.generic) or x.dtype.kind == "b":
        return
    dtype = a.pick(BIT_DTYPES)
    if np.dtype(dtype).itemsize == x.itemsize or (x.ndim and a.number(3)):
        a.add(f"{a.target()} = {name}.view({dtype!r})")


def make_copy(a: Author) -> None:
    name, x = a.chosen()
    options = [f"{name}.copy()", f"copy_of({name})", name]
    if not isinstance(x, np.generic):
        options.append(f"{name}.copy('F')")
    a.add(f"{a.target()} = {a.pick(options)}")


def update(a: Author) -> None:
    name, x = a.chosen()
    sign = a.operation(x)
    if sign in ("==", "!=", "<", "<=", ">="):
        sign = "+" if x.dtype.kind not in "b" else "^"
    if a.bits and x.dtype.kind == "f":
        return
    other = a.other(np.shape(x))
    if not a.is_exact(x, other, sign):
        return
    if not a.number(3) and np.ndim(x):
        a.add(f"{name}[{a.index(np.shape(x))}] {sign}= {a.pick(['p0', 'n0', 'p1', '0'])}")
    else:
        a.add(f"{name} {sign}= {other}")


def fits(x: Any, value: Any) -> bool:
    """Whether NumPy stores such values without a warning, and reads none that it has just written."""
    return np.asarray(value).dtype.kind != "c" or x.dtype.kind == "c"


def assign(a: Author) -> None:
    name, x = a.chosen()
    if isinstance(x, np.generic):
        return
    index = a.index(x.shape)
    try:
        place = a.value(f"{name}[{index}]")
    except IndexError:
        return
    other = a.other(np.shape(place))
    value = a.value(other)
    if fits(x, value):
        text = f"apart({other})" if isinstance(value, np.ndarray) and np.may_share_memory(x, value) else other
        a.add(f"{name}[{index}] = {text}", a.casts(other, x.dtype))


def assign_window(a: Author) -> None:
    """A view written into another view of the same memory, whatever lies where."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or not x.ndim or not x.flags.writeable:
        return
    source = a.related(name)
    y = a.value(source)
    if y.ndim != x.ndim or not fits(x, y):
        return
    turned = a.pick(["", "", ".T", "[::-1]"])
    to, of = (f"{each}[{', '.join(_steps(a) for _ in x.shape)}]" for each in (name, source + turned))
    shape = tuple(map(min, zip(np.shape(a.value(to)), np.shape(a.value(of)), strict=True)))
    window = ", ".join(f":{n}" for n in shape)
    value = f"{of}[{window}]"
    if (x.dtype.kind in "iu" or (x.dtype.kind == "f" and not a.bits)) and a.number(2):
        value = f"{value} {a.pick(['+', '-', '*'])} {a.pick(['p0', '1', f'{to}[{window}]', f'{name}.max()'])}"
    way = a.number(4)
    if way == 0:
        a.add(f"np.copyto({to}[{window}], apart({value}))" if x.dtype == y.dtype else "pass")
    elif way == 1 and x.dtype.kind in "iu":
        a.add(f"{to}[{window}] += apart({value})", a.casts(value, x.dtype))
    else:
        a.add(f"{to}[{window}] = apart({value})", a.casts(value, x.dtype))


def _steps(a: Author) -> str:
    return str(a.pick([":", ":", "::-1", "::-1", "1:", ":-1", "::2", "1::2", "::-2", "-2::-1", "2:0:-1"]))


def assign_self(a: Author) -> None:
    """Reads and writes of one memory that overlap."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or not x.ndim or not x.flags.writeable or (a.bits and x.dtype.kind == "f"):
        return
    sign = "^" if x.dtype.kind == "b" else "+"
    options = [f"{name}[1:] = {name}[:-1]", f"{name}[:-1] = {name}[1:]", f"{name}[::-1] = {name}",
               f"{name}[1:] {sign}= {name}[:-1]", f"{name}[...] = {name}[::-1]", f"{name}[::-1] = {name}.copy()",
               f"{name}[::2] = {name}[::-1][: len({name}[::2])]", f"{name} {sign}= {name}[::-1]",
               f"np.flip({name})[...] = apart({name})", f"np.copyto({name}[::-1], {name})",
               f"{name}[1:-1] {sign}= {name}[2:] {sign} {name}[:-2]", f"{name}[:1] = {name}[-1:]"]  # fmt: skip
    if x.ndim > 1 and x.shape[0] == x.shape[1]:
        options += [f"{name} {sign}= {name}.swapaxes(0, 1)", f"{name}[...] = {name}.swapaxes(0, 1)"] * 3
    if x.ndim > 1:
        options += [f"{name}[:, 1:] = {name}[:, :-1]", f"{name}[1:, 1:] {sign}= {name}[:-1, :-1]",
                    f"{name}[:, ::-1] = {name}", f"np.rot90({name}, 2)[...] = apart({name})"]  # fmt: skip
    a.add(a.pick(options))


def loop(a: Author) -> None:
    """Many small writes in a row."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or not x.ndim or not x.shape[0]:
        return
    for k in range(a.number(6)):
        a.add(f"{name}[{(k * 3) % x.shape[0]}] = {a.pick(['0', '1', 'p0', 'p1'])}")
    if x.ndim == 1 and x.size > 1:
        a.add(f"{name}[0], {name}[1] = {name}[1], {name}[0]")


def scatter(a: Author) -> None:
    """Writes at lists of positions, at masks, and by functions that write."""
    name, x = a.chosen()
    if isinstance(x, np.generic) or not x.ndim or not x.shape[0] or not x.flags.writeable:
        return
    if x.dtype.kind == "c" or (a.bits and x.dtype.kind == "f"):
        return
    picks, number = a.picks(x.shape[0]), a.pick(["p0", "p1", "1"])
    different = a.pick(["[0, -1]", "[-1]", f"[{x.shape[0] // 2}]"]) if x.shape[0] > 1 else "[0]"
    same = f"{name}[{different}]"
    options = [f"{name}[{picks}] = {number}", f"{name}[{name} > 1] = {number}", f"{same} = {name}[0]",
               f"{name}[np.asarray({picks})] = {number}", f"{same} = apart({same[:-1]}][::-1])",
               f"{name}[np.asarray({picks}).astype('u8')] = {number}",
               f"np.put({name}, {different}, {number})", f"np.putmask({name}, {name} > 1, {number})",
               f"np.copyto({name}, {number}, where={name} < 1)", f"{name}[{name} == {name}[::-1]] = 0",
               f"np.place({name}, {name} > 2, [{number}, 0])", f"{name}.fill({number})"]  # fmt: skip
    if x.dtype.kind in "iu":
        options += [f"np.add.at({name}, {picks}, {number})", f"{same} += {number}",
                    f"np.maximum.at({name}, {picks}, {number})"]  # fmt: skip
    if x.ndim > 1 and x.shape[1]:
        options += [f"{name}[:, {a.picks(x.shape[1])}] = {number}", f"np.fill_diagonal({name}, {number})",
                    f"{name}[{a.picks(x.shape[0])}, {a.picks(x.shape[1])}] = {number}",
                    f"np.put_along_axis({name}, np.zeros({(1, *x.shape[1:])}, 'i8'), {number}, 0)"]  # fmt: skip
    a.add(a.pick(options))


def export(a: Author) -> None:
    """Share memory with NumPy, which writes numbers to it and reads it."""
    exported = [name for name in a.world.names if name[0] == "e" and name[1:].isdigit()]
    kind = a.number(4)
    if exported and kind:
        name = a.pick(exported)
        index = a.index(a.value(name).shape)
        a.add([f"{name}[{index}] = {a.pick(['0', 'p0', '1'])}", f"read({name})", f"del {name}"][kind - 1])
        return
    name, x = a.chosen()
    if not isinstance(x, np.generic) and x.flags.writeable and not a.bits:
        a.add(f"e{a.number(2)} = export({name})")


def forget(a: Author) -> None:
    names = a.arrays()
    if len(names) > 3:
        a.add(f"del {a.pick(names)}")
