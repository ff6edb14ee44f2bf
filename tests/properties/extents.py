"""Random programs over symbols with unknown extents: the bits of the same program recorded for known ones.

A program is a list of assignments whose right sides are drawn from `LINES`. It is recorded once over symbols with
unknown extents and made a function, and for each combination of shapes over symbols with known ones. Both are called
`CALLS` times with other numbers and sizes, 0 and 1 among them, and must give equal bits, or the same error; so must
what numloom computes without a tree. Between calls results are written to. Lines that a program cannot have (they
fail where all extents are known) are left out as it is drawn; what is refused only where extents are unknown is
counted.

``python tests/properties/extents.py --programs 5000`` runs many, and prints what was refused and what was wrong.
"""

from __future__ import annotations

import argparse
import copy
import random
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Sequence
from types import CodeType
from typing import Any

import numpy as np
from functions import MODES, given, often
from worlds import Host, load_loops

import numloom as nl
from numloom.compiled.deferred import parts_of

CALLS = 6
NAMES = "xyzi"
SIZES = [0, 1, 2, 3, 4, 7]
TRIED = [(3, 4), (4, 2)]
"""Sizes for which a line must have a value."""
DTYPES = ["float64", "float64", "float32", "int64", "int32", "complex128", "bool"]

# Values {a} and {b} of any kind, {f} of floats, {v} of one axis, {t} of two; {n} is a number that follows from extents.
LINES = """
np.negative({f}) | np.sin({f}) | np.tanh({f}) | {a} * 2 | 1 - {f} | abs({f}) | np.sqrt(abs({f}) + 1) | {a} == {b}
{a} + {b} | {a} * {b} | {f} - {b} | {f} / ({b} + 3) | {a} < {b} | np.maximum({f}, {b}) | np.where({b} > 1, {a}, {b})
np.where({b} != 0, {a}, 2) | {a}.astype('float32') | np.hypot({f}, {f}) | np.clip({f}, -1, 1) | divmod({f}, 2)[1]
{a}.sum() | {a}.sum(0) | np.sum({a}, axis=-1, keepdims=True) | np.mean({f}, 0) | {f}.std() | np.var({f}, axis=0)
{f}.max() | np.min({f}, axis=0) | np.argmax({f}) | np.any({a}, 0) | np.all({a}) | np.prod({f}, axis=0) | {f}.mean()
np.cumsum({a}, 0) | np.sort({f}, 0) | np.argsort({f}, axis=0, kind='stable') | np.linalg.norm({f})
np.diff({f}, axis=0) | np.median({f}) | np.ptp({f}, axis=0) | np.count_nonzero({a}) | np.nansum({f}, 0)
np.percentile({f}, 30) | {a}.T | {a}[::-1] | {a}[..., None] | {a}[None] | {a}[{n} // 2 :] | {a}[: {n}] | {a}[1:]
{a}[-1] | {a}[0] | {a}[:1] | {a}[: {a}.shape[0] // 2] | {a}.ravel() | {a}.reshape(-1) | {a}.reshape({a}.size)
np.reshape({a}, ({a}.shape[0], -1)) | {t}.reshape({t}.shape[1], {t}.shape[0]) | np.swapaxes({t}, 0, 1)
np.broadcast_to({a}, (2, *{a}.shape)) | np.flip({a}) | np.expand_dims({a}, 0) | np.atleast_2d({a})
np.squeeze({a}[None], 0) | np.moveaxis({t}, 0, -1) | {a}.copy() | np.tile({a}, 2) | np.repeat({a}, 2, 0)
np.roll({a}, {n}) | np.roll({a}, 1, 0) | np.pad({a}, 1) | np.triu({t}) | np.arange({n}) | np.zeros({a}.shape)
np.ones(({n}, 2)) | np.linspace(0.0, 1.0, {n}) | np.eye({n}) | np.tri({n}) | np.full({a}.shape, {n})
np.zeros_like({a}) | np.arange({n}) * 0.5 | np.full(({n}, {n}), 2.5) | np.indices({a}.shape)[0]
np.ones_like({a}, dtype='int32') | np.linspace({f}, 2.0, 3) | np.identity({n}) | np.empty({a}.shape).shape[0] + {a}
{t} @ {t}.T | np.dot({t}.T, {t}) | np.dot({t}, {v}) | np.outer({v}, {v}) | np.einsum('ij,ij->i', {t}, {t})
np.vdot({v}, {v}) | np.matmul({t}, {t}.T).trace() | np.tensordot({t}, {t}, 2) | np.kron({v}, {v}) | np.inner({v}, {v})
np.cross(ones, ones * {n}) | np.concatenate([{a}, {a}]) | np.stack([{a}, {a}]) | np.concatenate([{v}, table[:2]])
np.vstack([{t}, {t}[:1]]) | np.append({a}, {b}) | np.column_stack([{v}, {v}]) | np.split({a}, [1])[0]
np.meshgrid({v}, {v})[0] | np.array([{n}, 2, {n}]) | np.array_split({a}, 2)[1] | np.block([{v}, {v}])
np.asarray([{a}.sum(), {n}]) | np.hstack([{v}, {v}, table]) | table[: {n}] | table[{n}] | table[np.arange({n}) % 7]
table[{n} :] | table[{n} : 2 : -1] | table.reshape(4, 5)[1, : {n}] | table[[{n}, 1]] | table[{n}, None]
np.take(table, {n}) | np.take({a}, [0, -1], 0) | {v}[np.argsort({v}, kind='stable')]
np.take_along_axis({f}, np.argsort({f}, 0, kind='stable'), 0) | np.choose(np.arange({n}) % 2, [1, 2.5])
np.searchsorted(table, {f}) | np.interp({f}, table, table * 2) | np.digitize({f}, table[:3]) | np.isin({a}, [1, 2])
{n} * 2.5 | {n} // 2 | np.sqrt({n}) | np.minimum({n}, {n}) | {n} > 2 | {n} == {n} | {a} * {n} | {a} - {n}
{f} / ({n} + 1) | {f} ** ({n} % 3) | {a}.size | {a}.nbytes | ({n} + 1) % 3 | -{n} | {a}.real | {a}.imag | {a}.flat[:2]
np.shape({a})[0] | np.fori_loop(0, {n}, lambda i, s: s * 0.5 + i, {f})
np.fori_loop(0, 3, lambda i, s: s + {b}.sum() * i, np.zeros(3)) | np.fori_loop(0, 40, lambda i, s: s * 0.5 + i, {f})
np.fori_loop(0, {n} * 9, lambda i, s: s * 0.5 + table[i % 7], {f})
np.scan(lambda s, e: (s + e.sum(), s * 2), np.asarray(0.0), {f}.real)[1]
np.scan(lambda s, e: (s + 1, s), 0, length={n})[1] | np.scan(lambda s, e: (s * 0.5 + e, s - e), {t}[0], {t})[1]
np.scan(lambda s, e: (s + {b}.size, e), 0, {a})[1]
np.while_loop(lambda s: s[0] < {n}, lambda s: (s[0] + 1, s[1] * 0.5), (np.asarray(0), {f}))[1]
np.ifelse({n} > 2, lambda: {a} * 2, lambda: {a} + {a}) | np.ifelse({a}.sum() == 0, {f} * 2.0, {f} + 1.0)
np.grad(lambda w: (w * w).sum() * {n})({f}.real) | np.grad(lambda w: (w * {b}.sum().real).sum())(ones)
np.value_and_grad(lambda w: np.sin(w).sum())({f}.real)[1] | np.vjp(lambda w: w * w, {f})[0]
np.jacobian(lambda w: (w * w).sum(0))({f}.real) | np.jvp(lambda w: w * 3, [{f}], [{f}])[1] | np.stop_gradient({a})
clipped({f}) | np.grad(lambda w: clipped(w).sum())({f}.real) | doubled({a}) | np.allclose({f}, {b})
np.array_equal({a}, {b}) | rng.normal(size={n}) | rng.random({a}.shape) | rng.integers(0, 9, {n})
rng.normal(size=(2, {n})) + {n} | rng.permutation({n}) | np.linalg.qr({t} + 0.0)[1]
np.linalg.svd({t} + 0.0, compute_uv=False) | np.fft.fft({f}) | np.fft.rfft({v}.real, {n} + 1)
np.special.softmax({f}.real, 0) | np.special.expit({f}.real) | np.special.logsumexp({f}.real)
np.stable(np.log(1 + np.exp({f}.real))) | np.frexp({f}.real)[0] | np.modf({f}.real)[1]
np.histogram({f}.real, 3, (0, 4))[0] | np.add.reduce({a}, 0) | np.add.outer({v}, {v}) | {a}[i : i + 1]
table[i * {n} : (i + 1) * {n}] | {v}[i : i + {n}] | {a}[..., i : i + 2] | table[i + {n}]
np.fori_loop(i, {n}, lambda k, s: s * 0.5 + k, {f}) | np.fori_loop(0, {n} + i, lambda k, s: s + {b}.size, 0) | {a} * i
np.add.accumulate({a}) | np.multiply.reduceat({f}, [0, 1]) | np.apply_along_axis(lambda r: r.sum() + {n}, 0, {a})
np.trapezoid({f})
"""
TEMPLATES = [one.strip() for line in LINES.strip().splitlines() for one in re.split(r" \| ", line)]
NUMBERS = ["x.shape[0]", "x.shape[1]", "{a}.shape[0]", "{a}.shape[-1]", "x.size", "y.shape[0]", "{a}.ndim"]
OURS = re.compile(r"\b(hp)\.")


def world(rng: Any, xp: Any = nl) -> dict[str, Any]:
    """Names that programs read beside their arguments."""
    clipped = nl.custom_gradient(lambda a: a * 1.5, gradient=lambda g, y, a: nl.clip(g, -0.5, 0.5) * 2)
    return {
        "np": nl, "hp": np, "rng": rng, "clipped": clipped, "doubled": nl.compile(lambda a: a * 2 + 1),
        "table": nl.asarray(np.arange(20.0) / 4), "ones": nl.asarray(np.ones(3)),
    }  # fmt: skip


def arguments(generator: np.random.Generator, sizes: tuple[int, int], dtypes: Sequence[str]) -> list[Host]:
    """A matrix, its first axis as a vector and its second one, of numbers of which some are equal; and 0 or 1."""
    shapes = sizes, sizes[:1], sizes[1:]
    place = np.asarray(generator.integers(0, 2))
    found = [generator.integers(-4, 8, shape) / 2 for shape in shapes]
    hosts = [(one * (1 + 0.5j) if dtype[0] == "c" else one).astype(dtype)
             for one, dtype in zip(found, dtypes, strict=True)]  # fmt: skip
    return [*hosts, place]


class Program:
    """Lines that have values for the sizes that were tried; each gives a name a value."""

    def __init__(self, seed: int) -> None:
        self.rnd = rnd = random.Random(seed)
        self.seed = seed
        self.dtypes = [rnd.choice(DTYPES) for _ in range(3)]
        self.lines: list[str] = []
        self.codes: list[CodeType] = []
        self.refused: Counter[str] = Counter()
        self.draws = False
        generator = np.random.default_rng(seed)
        tried = [
            world(nl.random.default_rng(seed))
            | dict(zip(NAMES, map(nl.asarray, arguments(generator, sizes, self.dtypes)), strict=True))
            for sizes in TRIED
        ]
        unknown = world(nl.random.default_rng(seed)) | self.symbols((None, None))
        known = world(nl.random.default_rng(seed)) | self.symbols(TRIED[0])
        for _ in range(rnd.randrange(2, 8)):
            self._add(tried, unknown, known)

    def symbols(self, sizes: Sequence[int | None]) -> dict[str, Any]:
        shapes = (*sizes,), (sizes[0],), (sizes[1],), ()
        forms = zip(NAMES, shapes, [*self.dtypes, "int64"], strict=True)
        return {name: nl.symbol(name, shape, dtype) for name, shape, dtype in forms}

    def _add(self, tried: list[dict[str, Any]], unknown: dict[str, Any], known: dict[str, Any]) -> None:
        """Draw a line, and keep it if it has values for the sizes that are tried, also as a tree."""
        template = self.rnd.choice(TEMPLATES)
        there = [(name, value) for name, value in tried[0].items() if name in NAMES or name[0] == "v"]

        def one(kind: str) -> str:
            fits: dict[str, Callable[[Any], bool]] = {
                "a": lambda v: v.ndim > 0, "b": lambda v: True, "f": lambda v: v.dtype.kind in "fc" and v.ndim > 0,
                "v": lambda v: v.ndim == 1, "t": lambda v: v.ndim == 2,
            }  # fmt: skip
            names = [name for name, value in there if fits[kind](value)]
            return self.rnd.choice(names[-4:] + names) if names else "x"

        def filled(text: str) -> str:
            text = re.sub(r"\{n\}", lambda _: self.rnd.choice(NUMBERS), text)
            return re.sub(r"\{([abfvt])\}", lambda found: one(found.group(1)), text)

        text = filled(template)
        if self.rnd.random() < 0.15 and "table" not in text:
            text = re.sub(r"\bnp\.(sin|sqrt|sum|mean|where|concatenate|stack|sort|dot|cumsum|roll|tile|zeros_like)\b",
                          r"hp.\1", text)  # fmt: skip
        name = f"v{len(self.lines)}"
        code = compile(f"{name} = {text}", "<program>", "exec")
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            if self._has_values(name, code, tried, known) and self._is_noted(name, text, unknown, template):
                self.lines.append(text)
                self.codes.append(code)
                self.draws = self.draws or "rng" in text
                return
        for names in tried:
            names.pop(name, None)

    def _has_values(self, name: str, code: CodeType, tried: list[dict[str, Any]], known: dict[str, Any]) -> bool:
        """Whether a line has a small value where numbers or extents are known."""
        try:
            for names in tried:
                exec(code, names)
                names[name] = nl.asarray(names[name])
                if names[name].size > 3000 or names[name].ndim > 4:
                    return False
            exec(code, known)
        except Exception:
            return False
        return True

    def _is_noted(self, name: str, text: str, unknown: dict[str, Any], template: str) -> bool:
        """Whether a line can be written where extents are unknown."""
        try:
            exec(f"{name} = {text}", unknown)
        except Exception as error:
            self.refused[f"{template}: {type(error).__name__} {str(error)[:90]}"] += 1
            return False
        # Draws of a size that is known are drawn once more, as the tree is recorded.
        return "rng" not in text or (".ndim" not in text and bool(parts_of(unknown[name])))

    def run(self, names: dict[str, Any]) -> list[Any]:
        """The values of all lines, over arguments."""
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            for code in self.codes:
                exec(code, names)
        return [names[f"v{number}"] for number in range(len(self.codes))]

    def shown(self) -> str:
        return "\n".join([f"seed {self.seed}, x, y, z of {self.dtypes}"]
                         + [f"v{number} = {line}" for number, line in enumerate(self.lines)])  # fmt: skip


def _words(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).partition('; recorded at')[0]}"


def outcome(call: Callable[[], Any], rnd: random.Random | None = None) -> Any:
    """Results as host arrays, or the error; with `rnd` some of the results are written to then."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            results = call()
            found = [one.get() if isinstance(one, nl.ndarray) else np.asarray(one) for one in results]
        except Exception as error:
            return _words(error)
    for one in results if rnd is not None else ():
        if rnd is not None and isinstance(one, nl.ndarray) and one.ndim and one.writeable and rnd.random() < 0.3:
            one[...] = 1
    return found


def same(found: Any, want: Any) -> bool:
    """Whether results have equal bits, or are the same error."""
    if isinstance(found, str) or isinstance(want, str):
        return isinstance(found, str) and isinstance(want, str) and found == want
    return all(
        [
            (one.shape, one.dtype) == (other.shape, other.dtype) and one.tobytes() == other.tobytes()
            for one, other in zip(found, want, strict=True)
        ]
    )


class Functions:
    """A program as functions: of unknown extents, in one of some ways, and of known ones for each size.

    `way` is "plain"; "givens": z follows from x; "updates": a shared variable, too; "pickled"; "substituted": extents
    are given to the expressions, instead of recording the program again; "called": from another function.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.symbols = program.symbols((None, None))
        with nl.symbolic():
            self.outputs = program.run(world(nl.random.default_rng(program.seed)) | self.symbols)
        self.known: dict[tuple[int, int], Any] = {}
        ways = ["plain", "givens", "updates", "called"]
        if not program.draws:
            ways += ["substituted"]
            ways += ["pickled"] if not re.search("lambda|clipped|doubled", program.shown()) else []
        self.way = program.rnd.choice(ways) if parts_of(self.outputs) else ""
        self.shared, self.model = nl.shared(0.0, "w"), nl.shared(0.0, "w")
        self.unknown = self.made(self.symbols, self.outputs, self.shared)

    def made(self, symbols: dict[str, Any], outputs: list[Any], shared: Any) -> Any:
        """The function of these symbols."""
        x = symbols["x"]
        options: dict[str, Any] = {}
        if self.way == "givens":
            options["givens"] = {symbols["z"]: (nl.arange(x.shape[1]) - 1).astype(self.program.dtypes[2])}
        if self.way == "updates":
            options["updates"] = {
                shared: shared * 0.5 + sum([nl.sum(nl.absolute(one)) for one in outputs]) + x.shape[0]
            }
        inputs = [symbols[name] for name in NAMES if not (self.way == "givens" and name == "z")]
        function = nl.function(inputs, outputs, **options)
        if self.way == "pickled" and symbols is self.symbols:
            function = copy.deepcopy(function)
        if self.way == "called" and not self.program.draws:
            inner = function
            function = nl.compile(lambda *arrays: inner(*arrays))
        return function

    def of(self, size: tuple[int, int]) -> Any:
        """The function of known extents, or the error of recording it."""
        if size not in self.known:
            symbols = self.program.symbols(size)
            try:
                if self.way == "substituted":
                    outputs = nl.substitute(self.outputs, [(self.symbols[name], symbols[name]) for name in "xyz"])
                    symbols["i"] = self.symbols["i"]
                else:
                    with nl.symbolic():
                        outputs = self.program.run(world(nl.random.default_rng(self.program.seed)) | symbols)
                self.known[size] = self.made(symbols, outputs, self.model)
            except Exception as error:
                self.known[size] = _words(error)
        return self.known[size]

    def arguments(self, hosts: list[Host]) -> list[Any]:
        """Arrays of these numbers: of their own, views, pending ones and others, in C order or not."""
        rnd = self.program.rnd
        arrays = [given(rnd, host if rnd.random() < 0.7 else host.copy("F")) for host in hosts]
        return [array for place, array in enumerate(arrays) if not (self.way == "givens" and place == 2)]


def check(seed: int, mode: str = "as ever") -> Counter[str]:
    """One program; what was found of it, an error where extents that are known give others."""
    with nl.config(**{"cpu_compile": "never", "executor": nl.config.executor, **MODES[mode]}):
        return _check(seed)


def _check(seed: int) -> Counter[str]:
    program = Program(seed)
    rnd, found = program.rnd, Counter({f"refused: {text}": count for text, count in program.refused.items()})
    functions = Functions(program)
    if not functions.way:
        return found
    found[functions.way] += 1
    plain = nl.random.default_rng(seed)
    sizes = [(rnd.choice(SIZES), rnd.choice(SIZES)) for _ in range(3)]
    for call in range(CALLS):
        size = rnd.choice(sizes)
        hosts = arguments(np.random.default_rng(1000 * seed + call), size, program.dtypes)
        if functions.way == "givens":
            hosts[2] = (np.arange(size[1]) - 1).astype(program.dtypes[2])
        what = f"call {call} with sizes {size}, {functions.way}:\n{program.shown()}"
        state = plain.bit_generator.state
        eager = outcome(lambda: program.run(world(plain) | dict(zip(NAMES, map(nl.asarray, hosts), strict=True))))
        if program.draws and isinstance(eager, str):
            plain.bit_generator.state = state  # Nor is the function asked, so that generators stay together.
            continue
        mine = outcome(lambda: functions.unknown(*functions.arguments(hosts)), rnd)
        if not program.draws:
            ready = functions.of(size)
            want = ready if isinstance(ready, str) else outcome(lambda: ready(*functions.arguments(hosts)))
            assert same(mine, want), f"unknown extents give {mine}\nknown ones {want}\nplain calls {eager}\n{what}"
            new, model = functions.shared.get_value(), functions.model.get_value()
            assert np.array_equal(new, model, equal_nan=True), f"the update is {new}, must be {model}\n{what}"
        if isinstance(mine, str) and ("a slice " in mine or "an ifelse in a tree" in mine):
            return found  # Slices that wait have one length, values of an ifelse one shape; generators are apart now.
        # Trees have other numbers by `stable`; of several errors another may come first; slices of nothing fit.
        # (or a truth of Python's, which has no size, is an array in trees)
        both_failed = isinstance(eager, str) and (isinstance(mine, str) or "AttributeError: 'bool'" in eager)
        alike = same(mine, eager) or both_failed or "np.stable" in what or (0 in size and "i : i +" in what)
        assert alike, f"unknown extents give {mine}\nplain calls {eager}\n{what}"
        found["errors" if isinstance(mine, str) else "calls"] += 1
    return found


def main() -> None:
    """Run many programs."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--programs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--shown", type=int, default=10)
    parser.add_argument("--modes", nargs="*", default=list(MODES))
    options = parser.parse_args()
    load_loops()
    total: Counter[str] = Counter()
    wrong, modes = 0, often(options.modes)
    for seed in range(options.seed, options.seed + options.programs):
        try:
            total += check(seed, modes[seed % len(modes)])
        except Exception as error:
            wrong += 1
            if wrong <= options.shown:
                print(f"---- seed {seed}, {modes[seed % len(modes)]}: {type(error).__name__}: {error}", flush=True)
    for text, count in total.most_common():
        print(count, text)
    print(f"{options.programs} programs, {total['calls']} calls, {total['errors']} errors alike, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
