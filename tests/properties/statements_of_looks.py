"""Statements of random programs that look at values, decide by them, or are wrong."""

from __future__ import annotations

import numpy as np
from author import Author


def read(a: Author) -> None:
    name, x = a.chosen()
    if np.size(x) == 1 and x.dtype.kind in "biuf" and a.number(2):
        a.add(f"read(float({name}.item()))")
    else:
        a.add(f"read({name})")


def look(a: Author) -> None:
    """Any look at an array between recording and running, or at what is computed of it at this moment."""
    name, x = a.chosen()
    ways = ["get", "tolist", "pickle", "deepcopy"]
    if not a.bits:
        ways += ["print", "format"]
    if x.dtype.kind in "biu":
        ways += ["nonzero" if np.ndim(x) else "print", "tobytes"]
    if np.ndim(x):
        ways += ["len", "iteration"]
        if x.dtype.kind != "c":
            ways.append("contains")
    if np.size(x) == 1:
        ways += ["item"] * 2
        if not np.ndim(x):
            ways += ["complex"] if x.dtype.kind == "c" else ["float", "bool", "print", "format", "int"]
            ways += ["index"] if x.dtype.kind in "iu" else []
    value = name
    if not a.bits and x.dtype.kind in "iuf":
        value = a.pick([name, name, f"{name} + p0", f"{name} * f0 if p0 > 3 else {name} - 1"])
    way = a.pick(ways)
    a.add(f"look({way!r}, {value})", *([a.casts(value, "i8")] if way in ("int", "index") else []))


def decide(a: Author) -> None:
    """What is computed depends on values."""
    name, x = a.chosen()
    if a.bits or x.dtype.kind == "c" or not np.size(x):
        return
    t = a.target()
    options = [f"{t} = {name} * 2 if bool(np.any({name} > p0)) else {name} + {name}",
               f"{t} = {name} - 1 if float({name}.ravel()[0]) > 1 else {name} - 2 + 1",
               f"{t} = [{name}, {name} + 0][int(np.all({name} == {name}))]",
               f"{t} = {name}.ravel()[int({name}.size > p0)::2]",
               f"{t} = np.asarray(np.asarray({name}).ravel()[0].item())",
               f"{t} = max({name}.ravel()[:3].tolist()) + {name}"]  # fmt: skip
    if x.dtype.kind in "iu":
        options += [f"{t} = sum({name})"] if np.ndim(x) else []
        options.append(f"{t} = np.full((int(abs({name}.ravel()[0])) % 5,), p0)")
    a.add(a.pick(options))


def wrong(a: Author) -> None:
    """What NumPy refuses; the program goes on."""
    name, x = a.chosen()
    if isinstance(x, np.generic):
        return
    t, n = a.target(), x.shape[0] if x.ndim else 0
    options = [f"{t} = {name}.reshape(7, 11, 13)", f"{t} = {name}[99:, 0, 0, 0, 0, 0]", f"{t} = {name}.sum(axis=7)",
               f"{t} = np.concatenate([{name}, {name}[None]])", f"{t} = {name} + 'x'", f"{t} = {name}.nothing",
               f"{t} = {name} + np.zeros((7, 11, 13))", f"{t} = np.zeros((2, -3))", f"{t} = {name}.astype('q9')",
               f"{name}[...] = np.zeros((7, 11, 13))", f"{t} = np.stack([])", f"{t} = np.max({name}[..., :0][..., 0])",
               f"{t} = np.add({name}, 1, bogus=2)", f"{t} = np.broadcast_to({name}, (7, 11, 13))"]  # fmt: skip
    if n and x.size:
        options += [f"{t} = {name}[{n}]", f"{t} = {name}[np.asarray([0, {n}])]", f"{t} = np.take({name}, [{n + 3}], 0)",
                    f"{t} = {name}[[0, -{n} - 1]] + 1", f"{t} = np.take({name}, np.asarray([p0 * 100]), 0) * 2",
                    f"{t} = {name}.sum() + {name}[np.asarray([p0 * 100])]"] * 2  # fmt: skip
    if x.size > 1:
        options += [f"{t} = float({name})", f"{t} = bool({name})", f"{t} = int({name})"]
    if x.dtype.kind in "iu":
        options += [f"{name} += 1j", f"{name} += 0.5", f"np.add({name}, 0.5, out={name})"]
    a.add_wrong(a.pick(options))
