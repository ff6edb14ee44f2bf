"""Programs over host memory: random ones, and three ways to run any of them.

A `Case` is a program and its memory. `run_host` runs the text as the host compiler builds it,
`run_emulated` the CUDA side of the same text on emulated threads (`emulator.hpp`), `expected`
evaluates it in plain NumPy. Each works on its own copy of the memory and gives all of it, so a
write to a wrong place shows.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import re
import subprocess
import tempfile
from array import array
from dataclasses import dataclass, field
from math import prod
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import as_strided

import kept
from compilers import SWITCHING, gxx, needed
from numloom.base.dtypes import (
    BOOL,
    C64,
    C128,
    CHARS,
    CTYPES,
    DTYPES,
    F16,
    F32,
    F64,
    I8,
    I16,
    I32,
    I64,
    ITEMSIZES,
    KINDS,
    U8,
    U16,
    U32,
    U64,
    code_of,
)  # fmt: skip
from numloom.device import complaints
from numloom.device.cpu.compiler import identify
from numloom.emit.emit import emit
from numloom.ops.definitions import ReductionDef
from numloom.ops.elementwise import ELEMENTWISE, resolve
from numloom.ops.reductions import REDUCTIONS
from numloom.plan.program import Box, Instr, KernelSource, Operand, Program, Reduce, Store

Memory = list[np.ndarray[Any, Any]]
EMULATOR = (Path(__file__).parent / "emulator.hpp").read_text().replace("// SWITCHING", SWITCHING)
CODES = (F32, F32, F32, F64, F64, I32, I64, U8, I8, U32, F16, BOOL)


@dataclass
class Case:
    """A program, the memory of its operands (a flat array each), where each begins, and its host numbers.

    Operands of one group share the array of the first (`share`).
    """

    program: Program
    memory: Memory
    starts: list[int]
    params: list[Any] = field(default_factory=list)
    iota_offsets: list[int] = field(default_factory=list)
    share: dict[int, int] = field(default_factory=dict)

    def fresh(self) -> Memory:
        """A copy of the memory, each array on a 64-byte boundary."""
        copies = []
        for number, values in enumerate(self.memory):
            if number in self.share:
                copies.append(copies[self.share[number]])
                continue
            raw = np.zeros(values.nbytes + 64, np.uint8)
            skip = -raw.ctypes.data % 64
            copy = raw[skip : skip + values.nbytes].view(values.dtype)
            copy[:] = values
            copies.append(copy)
        return copies

    def pointers(self, memory: Memory) -> list[int]:
        """Address of each operand."""
        return [a.ctypes.data + start * a.itemsize for a, start in zip(memory, self.starts, strict=True)]

    def view(self, memory: Memory, number: int) -> np.ndarray[Any, Any]:
        """An operand over its space, as an array."""
        operand = self.program.operands[number]
        shape = self.program.shape[: self.program.kept] if operand.post else self.program.shape
        values = memory[number]
        strides = tuple(stride * values.itemsize for stride in operand.strides)
        base = np.ndarray((), values.dtype, buffer=values.data, offset=self.starts[number] * values.itemsize)
        return as_strided(base, shape, strides)


def memory_for(shape: tuple[int, ...], strides: tuple[int, ...], start: int) -> tuple[int, int]:
    """Elements of an array that holds an operand, and where in it index zero lies."""
    low = sum(min(0, stride * (extent - 1)) for stride, extent in zip(strides, shape, strict=True) if extent)
    high = sum(max(0, stride * (extent - 1)) for stride, extent in zip(strides, shape, strict=True) if extent)
    return high - low + 1 + start, start - low


# ------------------------------------------------------------------ running


def words_of(case: Case, source: KernelSource, memory: Memory, work: int, error: int) -> array[int]:
    """The filled parameter block."""
    words: array[int] = array("q")
    pointers = case.pointers(memory)
    for word in source.words:
        if word.kind == "unused":
            continue
        if word.kind == "param":
            raw = np.asarray(case.params[word.index]).tobytes()
            raw += bytes(-len(raw) % 8)
            words.frombytes(raw)
        else:
            words.append(
                {
                    "pointer": lambda w: pointers[w.index],
                    "iota_offset": lambda w: case.iota_offsets[w.index],
                    "constant": lambda w: w.value,
                    "workspace": lambda w: work,
                    "error": lambda w: error,
                    "location": lambda w: 1,
                }[word.kind](word)
            )
    assert len(words) == len(source.words)
    return words


@functools.cache
def host_library(text: str) -> ctypes.CDLL:
    """The text, built as the CPU backend builds it."""
    return load(needed().compile(text))


@functools.cache
def emulated_library(text: str, entry: str) -> ctypes.CDLL:
    """The CUDA side of the text, with emulated threads."""
    text = re.sub(r'asm\("cvt\.f32\.f16.*?\)\);', "r = half_to_float(h.bits);", text)
    text = re.sub(r'asm\("cvt\.rn\.f16.*?\)\);', "r.bits = to_half(x);", text)
    text = re.sub(r'asm\("cvt\.[su]32\.[su]16.*?\)\);', "r = x;", text)
    text = text.replace(
        "extern __shared__ __align__(16) char exchanged[]", "alignas(16) __shared__ char exchanged[1 << 18]"
    )
    text = re.sub(r'asm volatile\("mapa.*?\)\);', "r = fibres::of_block(own, rank);", text)
    text = re.sub(r'asm volatile\("barrier.cluster.arrive.*?\);', "fibres::arrive();", text)
    text = re.sub(r'asm volatile\("barrier.cluster.wait.*?\);', "fibres::meet();", text)
    text = re.sub(r'asm volatile\((""[^;]*|"prefetch[^)]*\)\));', "", text)
    clusters = re.search(r"__cluster_dims__\((\d+)", text)
    blocks = clusters[1] if clusters else "1"
    launch = (
        f'static P params;\nextern "C" void run_thread() {{ {entry}(params); }}\n'
        'extern "C" int run_grid(const void* p, unsigned blocks, unsigned blocks_y, unsigned threads, int backwards)\n'
        "{\n"
        "memcpy(&params, p, sizeof(P)); fibres::entry = run_thread;\n"
        "gridDim = {blocks, blocks_y, 1}; blockDim = {threads, 1, 1};\n"
        f"if (blocks % {blocks}) return 5;\n"
        f"for (unsigned b = 0; b < blocks * blocks_y / {blocks}; ++b) {{\n"
        f"const unsigned at = {blocks} * (backwards ? blocks * blocks_y / {blocks} - 1 - b : b);\n"
        "blockIdx = {at % blocks, at / blocks, 0};\n"
        f"if (int wrong = fibres::run_cluster((int)threads, {blocks}, backwards)) return wrong;\n}}\nreturn 0; }}\n"
    )
    flags = ["-O0", "-std=c++17", "-march=native", "-ffp-contract=off", "-fwrapv", "-fno-strict-aliasing", "-w"]
    flags += ["-nostdinc++", "-shared", "-fPIC", "-nostdlib"]
    whole, command = EMULATOR + text + launch, gxx()
    return load(kept.once((identify([command]), *flags, whole), lambda: _emulated(command, flags, whole)))


def _emulated(command: str, flags: list[str], text: str) -> bytes:
    """The library of a text that emulates."""
    with tempfile.TemporaryDirectory() as folder:
        path, target = Path(folder) / "emulated.cpp", Path(folder) / "emulated.so"
        path.write_text(text)
        command_line = [command, *flags, str(path), "-o", str(target), "-lm", "-lc", "-lgcc"]
        done = subprocess.run(command_line, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[:4000]
        return target.read_bytes()


def load(content: bytes) -> ctypes.CDLL:
    """A library from its bytes."""
    with tempfile.NamedTemporaryFile(suffix=".so") as file:
        Path(file.name).write_bytes(content)
        return ctypes.CDLL(file.name)


@dataclass
class Result:
    """Memory after a run, and the error word; of plain NumPy also the values of each reduction, before it."""

    memory: Memory
    error: int
    reduced: Memory = field(default_factory=list)


def run_host(case: Case, pieces: int = 2) -> Result:
    """Run the compiled host text, its items cut into pieces, later pieces first."""
    source = emit(case.program)
    memory = case.fresh()
    geometry = source.geometry
    work = np.zeros(geometry.workspace + 64, np.uint8)
    error = np.zeros(complaints.WORDS, np.int64)
    words = words_of(case, source, memory, work.ctypes.data, error.ctypes.data)
    library = host_library(source.text)
    address = ctypes.c_void_p(words.buffer_info()[0])

    def run(entry: str, items: int) -> None:
        edges = [items * k // pieces for k in range(pieces + 1)]
        for begin, end in reversed(list(itertools.pairwise(edges))):
            getattr(library, entry)(address, ctypes.c_longlong(begin), ctypes.c_longlong(end))

    run(source.entry, geometry.items)
    if geometry.finish_items:
        run(f"{source.entry}_finish", geometry.finish_items)
    return Result(memory, int(error[0]))


def run_emulated(case: Case, backwards: bool = False) -> Result:
    """Run the CUDA side of the text twice over one workspace (counters must come back to zero)."""
    source = emit(case.program)
    geometry = source.geometry
    work = np.full(geometry.workspace + 64, 0xA5, np.uint8)
    skip = -work.ctypes.data % 64
    counters = work[skip : skip + geometry.counters]
    counters[:] = 0
    error = np.zeros(complaints.WORDS, np.int64)
    library = emulated_library(source.text, source.entry)
    for _ in range(2):
        memory = case.fresh()
        words = words_of(case, source, memory, work.ctypes.data + skip, error.ctypes.data)
        wrong = library.run_grid(
            ctypes.c_void_p(words.buffer_info()[0]), geometry.blocks, geometry.blocks_y, geometry.threads, backwards
        )
        assert wrong == 0, "threads of a block diverged at a barrier"
        assert not counters.any(), "the counters were not reset"
    assert (work[skip + geometry.workspace :] == 0xA5).all(), "wrote past the workspace"
    return Result(memory, int(error[0]))


# ------------------------------------------------------------------ plain NumPy


def expected(case: Case) -> Result:
    """The program in plain NumPy: every value over the whole space; sums in NumPy's own order."""
    program, memory = case.program, case.fresh()
    error = [0]
    rows: Memory = []
    with np.errstate(all="ignore"):
        before = [case.view(memory, k).copy() for k in range(len(program.operands))]
        values = _values(case, program.body, program.shape, before, memory, [], error)
        for store in program.stores:
            full = np.broadcast_to(values[store.value], program.shape)
            if program.box is not None:
                box = program.box
                around = case.params[box.fill] if box.fill >= 0 else before[box.base]
                full = np.where(inside(box, program.shape), full, around)
            case.view(memory, store.operand)[...] = full
        if program.reductions:
            axes = tuple(range(program.kept, len(program.shape)))
            rows = [np.broadcast_to(np.asarray(values[r.value]), program.shape) for r in program.reductions]
            results = [_reduced(case, r, values[r.value], axes) for r in program.reductions]
            kept = program.shape[: program.kept]
            post = _values(case, program.post, kept, before, memory, results, error)
            for store in program.post_stores:
                case.view(memory, store.operand)[...] = np.broadcast_to(post[store.value], kept)
    return Result(memory, error[0], rows)


def inside(box: Box, shape: tuple[int, ...]) -> Any:
    """Which indices of the space a box holds."""
    result: Any = np.ones(shape, bool)
    for d, (start, step, count) in enumerate(zip(box.starts, box.steps, box.counts, strict=True)):
        line = np.isin(np.arange(shape[d]), start + step * np.arange(count))
        result = result & line.reshape((-1,) + (1,) * (len(shape) - 1 - d))
    return result


def _reduced(case: Case, reduction: Reduce, value: Any, axes: tuple[int, ...]) -> Any:
    shape = case.program.shape
    full = np.broadcast_to(np.asarray(value), shape)
    out = DTYPES[reduction.code]
    if reduction.op_def.name.startswith("arg"):
        flat = full.reshape(*shape[: axes[0]], prod(shape[axes[0] :]))
        return np.asarray(reduction.op_def.numpy(flat, axis=-1)).astype(out)
    if full.dtype.kind in "fc" and reduction.op_def.name in ("sum", "prod", "mean", "m2", "var"):
        full = full.astype(np.complex128 if full.dtype.kind == "c" else np.float64)
    return np.asarray(reduction.op_def.numpy(full, axis=axes)).astype(out)


def _values(
    case: Case, instrs: Any, shape: tuple[int, ...], before: Any, memory: Memory, reduced: list[Any], error: list[int]
) -> list[Any]:
    values: list[Any] = []
    for instr in instrs:
        args = [np.asarray(values[arg]) for arg in instr.args]
        dtype = DTYPES[instr.code]
        if instr.kind == "load":
            value: Any = before[instr.operand]
        elif instr.kind == "param":
            value = np.asarray(case.params[instr.index])
        elif instr.kind == "iota":
            value = np.full(shape, case.iota_offsets[instr.index])
            for d, stride in enumerate(instr.strides):
                value = value + (np.arange(shape[d]) * stride).reshape((-1,) + (1,) * (len(shape) - 1 - d))
        elif instr.kind == "op":
            # Whole arrays, as NumPy's scalars follow rules of their own.
            value = instr.op_def.numpy(*[np.broadcast_to(arg, shape or (1,)) for arg in args]).astype(dtype)
            value = value.reshape(shape)
        elif instr.kind == "cast":
            value = np.broadcast_to(args[0], shape).astype(dtype)
        elif instr.kind == "bitcast":
            value = np.ascontiguousarray(np.broadcast_to(args[0], shape)).reshape(shape).view(dtype)
        elif instr.kind == "gather":
            value = np.zeros(shape, dtype)
            box = case.program.box
            reached = np.ones(shape, bool) if box is None else inside(box, shape)
            operand = case.program.operands[instr.operand]
            for at in np.ndindex(*shape):
                offset = case.starts[instr.operand] + sum(s * i for s, i in zip(operand.strides, at, strict=True))
                for arg, (extent, stride) in zip(args, instr.strides, strict=True):
                    index = int(np.broadcast_to(arg, shape)[at])
                    index += extent if index < 0 else 0
                    if not 0 <= index < extent:
                        error[0], index = error[0] | int(reached[at]), 0
                    offset += index * stride
                value[at] = memory[instr.operand][offset]
        else:
            value = reduced[instr.index]
        values.append(value)
    return values


def same(a: Memory, b: Memory) -> bool:
    """Whether two memories hold the same bits, all NaNs being one."""
    return all(same_bits(x, y) for x, y in zip(a, b, strict=True))


def same_bits(x: Any, y: Any) -> bool:
    """Whether two arrays hold the same bits, all NaNs being one."""
    if x.dtype.kind == "c":
        return same_bits(x.real, y.real) and same_bits(x.imag, y.imag)
    x, y = np.ascontiguousarray(x), np.ascontiguousarray(y)
    equal = x.view(f"u{x.itemsize}") == y.view(f"u{y.itemsize}")
    return bool((equal | (np.isnan(x) & np.isnan(y)) if x.dtype.kind == "f" else equal).all())


# ------------------------------------------------------------------ random programs


def codes(everything: bool) -> tuple[int, ...]:
    """Dtypes of random programs: those whose every operation NumPy does bit by bit, or all."""
    return (*CODES, C64, C128, I16, U16, U64) if everything else CODES


UNARY = (
    "negative", "absolute", "sqrt", "square", "floor", "rint", "sign", "isnan", "logical_not", "invert", "reciprocal",
)  # fmt: skip
BINARY = (
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "equal", "logical_and", "floor_divide",
    "remainder", "bitwise_and", "left_shift", "fmax", "copysign",
)  # fmt: skip
REDUCE = ("sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", "m2", "fmin", "bitwise_xor")


def numbers(random: Random, code: int, count: int) -> np.ndarray[Any, Any]:
    """Small ordinary numbers with a few special ones."""
    rng = np.random.default_rng(random.randrange(1 << 30))
    dtype = DTYPES[code]
    if dtype.kind == "b":
        return rng.integers(0, 2, count).astype(bool)
    if dtype.kind in "iu":
        values = rng.integers(0 if dtype.kind == "u" else -20, 60, count).astype(dtype)
        return np.where(rng.random(count) < 0.02, np.iinfo(dtype).max, values).astype(dtype)
    values = rng.standard_normal(count) * 3
    if dtype.kind == "c":
        return (values + 1j * rng.standard_normal(count)).astype(dtype)
    if random.random() < 0.3:
        values[rng.random(count) < 0.05] = random.choice([np.nan, np.inf, -np.inf, -0.0, 1e300])
    with np.errstate(over="ignore"):
        return values.astype(dtype)


class Maker:
    """Makes one random case, its choices drawn from `random`."""

    def __init__(self, random: Random, shape: tuple[int, ...], kept: int, any_casts: bool = False) -> None:
        self.random = random
        self.shape = shape
        self.kept = kept
        self.codes = codes(any_casts)
        self.operands: list[Operand] = []
        self.memory: Memory = []
        self.starts: list[int] = []
        self.params: list[Any] = []
        self.iotas: list[int] = []
        self.gathers = 0
        self.share: dict[int, int] = {}
        self.any_casts = any_casts

    def operand(self, code: int, written: bool = False, post: bool = False, extra: int = 0) -> int:
        """A new operand with strides of some class, and its memory."""
        random = self.random
        shape = self.shape[: self.kept] if post else self.shape
        kinds = ("dense", "dense", "dense", "gaps", "turned") if written else (
            "dense", "dense", "dense", "gaps", "turned", "negative", "inner", "outer", "scalar")  # fmt: skip
        kind = random.choice(kinds)
        order = list(range(len(shape)))
        if kind == "turned":
            random.shuffle(order)
        step = 2 if kind == "gaps" else 1
        strides = [0] * len(shape)
        for d in reversed(order):
            strides[d] = step * (-1 if kind == "negative" and random.random() < 0.5 else 1)
            step *= max(shape[d], 1)
            if kind == "gaps" and random.random() < 0.5:
                step += 3
        if kind == "scalar":
            strides = [0] * len(shape)
        elif kind == "inner" and shape:
            strides[-1] = 0
        elif kind == "outer":
            strides[:-1] = [0] * (len(shape) - 1)
        # An even number of 16 bytes ahead, or one element more.
        begin = 16 if random.random() < 0.6 else 17
        size, start = memory_for(shape, tuple(strides), begin)
        itemsize = ITEMSIZES[code]
        aligned = start * itemsize % 16 == 0 and all(s * itemsize % 16 == 0 for s in strides[:-1])
        self.operands.append(Operand(code, tuple(strides), 16 if aligned else 0, 0, written, False, post))
        self.memory.append(numbers(random, code, size + 20 + extra))
        self.starts.append(start)
        return len(self.operands) - 1

    def body(self, post: bool = False, reduced: tuple[int, ...] = (), operations: int = 5) -> list[Instr]:
        """Leaves and a few operations on them."""
        random = self.random
        shape = self.shape[: self.kept] if post else self.shape
        instrs = [Instr("reduced", code, index=k) for k, code in enumerate(reduced)]
        for _ in range(random.randint(0 if reduced else 1, 3)):
            code = random.choice(self.codes)
            instrs.append(Instr("load", code, operand=self.operand(code, post=post)))
        if random.random() < 0.4:
            code = random.choice(self.codes)
            instrs.append(Instr("param", code, index=len(self.params)))
            self.params.append(numbers(random, code, 1)[0])
        if random.random() < 0.4:
            strides = tuple(random.choice((0, 1, -3, 100)) for _ in shape)
            instrs.append(Instr("iota", I64, index=len(self.iotas), strides=strides))
            self.iotas.append(random.randint(-50, 50))
        if random.random() < 0.25:
            self.gather(instrs, shape, post)
        for _ in range(random.randint(0, operations)):
            self.operation(instrs)
        return instrs

    def gather(self, instrs: list[Instr], shape: tuple[int, ...], post: bool) -> None:
        code = self.random.choice(self.codes)
        operand = self.operand(code, post=post, extra=60)
        extent, stride = self.random.choice(((5, 1), (4, 7), (11, 2)))
        # Mostly in range.
        low = self.cast(instrs, len(instrs) - 1, I64)
        limit = len(instrs)
        instrs.append(Instr("param", I64, index=len(self.params)))
        self.params.append(np.int64(extent if self.random.random() < 0.7 else extent + 2))
        instrs.append(Instr("op", I64, (low, limit), op_def=ELEMENTWISE["remainder"]))
        instrs.append(
            Instr("gather", code, (len(instrs) - 1,), operand=operand, index=self.gathers, strides=((extent, stride),))
        )
        self.gathers += 1

    def cast(self, instrs: list[Instr], value: int, code: int) -> int:
        """`value` as dtype `code`: integers come from floats only where that is defined."""
        source = instrs[value].code
        if source == code:
            return value
        if KINDS[source] in "fc" and KINDS[code] in "iu" and not self.any_casts:
            # Of truth values only, since NumPy's own casts of large numbers depend on their place.
            instrs.append(Instr("cast", BOOL, (value,)))
            value = len(instrs) - 1
        instrs.append(Instr("cast", code, (value,)))
        return len(instrs) - 1

    def operation(self, instrs: list[Instr]) -> None:
        random = self.random
        choice = random.random()
        picks = [random.randrange(len(instrs)) for _ in range(3)]
        if choice < 0.15:
            self.cast(instrs, picks[0], random.choice(self.codes))
            return
        if choice < 0.25:
            instrs.append(Instr("cast", BOOL, (picks[0],)))
            code = instrs[picks[1]].code
            other = self.cast(instrs, picks[2], code)
            condition = next(k for k in reversed(range(len(instrs))) if instrs[k].code == BOOL)
            instrs.append(Instr("op", code, (condition, picks[1], other), op_def=ELEMENTWISE["where"]))
            return
        names = UNARY if choice < 0.45 else BINARY
        op_def = ELEMENTWISE[random.choice(names)]
        args = picks[: op_def.nin]
        try:
            in_codes, out = resolve(op_def, tuple(DTYPES[instrs[a].code] for a in args))
        except TypeError:
            return
        args = [self.cast(instrs, a, code) for a, code in zip(args, in_codes, strict=True)]
        if any(instrs[a].code != code for a, code in zip(args, in_codes, strict=True)):
            return
        instrs.append(Instr("op", out, tuple(args), op_def=op_def))

    def stores(self, instrs: list[Instr], post: bool = False) -> list[Store]:
        chosen = {len(instrs) - 1, *(k for k in range(len(instrs)) if self.random.random() < 0.12)}
        return [Store(k, self.operand(instrs[k].code, written=True, post=post)) for k in sorted(chosen)[-3:]]

    def case(self, program: Program) -> Case:
        return Case(program, self.memory, self.starts, self.params, self.iotas, self.share)


def shapes(random: Random, rank: int, budget: int) -> tuple[int, ...]:
    """Extents whose product stays below a budget; multiples of 8 often."""
    extents = []
    for _ in range(rank):
        extent = max(1, random.choice((1, 2, 3, 7, 8, 16, 33, 64, 100, 257, budget)))
        extent = min(extent, max(1, budget))
        budget //= extent
        extents.append(extent)
    random.shuffle(extents)
    return tuple(extents)


def random_map(
    random: Random, budget: int = 3000, any_casts: bool = False, shape: tuple[int, ...] | None = None
) -> Case:
    """A program without reductions; `any_casts`: all dtypes and casts, whose bits NumPy does not always give."""
    shape = shape or shapes(random, random.randint(1, 4), random.randint(1, budget))
    maker = Maker(random, shape, len(shape), any_casts)
    body = maker.body()
    if random.random() < 0.25:
        value = len(body) - 1
        store = maker.operand(body[value].code, written=True)
        fill = -1
        if random.random() < 0.3:
            base, fill = -1, len(maker.params)
            maker.params.append(numbers(random, body[value].code, 1)[0])
        else:
            base = maker.operand(body[value].code)
        starts = tuple(random.randint(0, e - 1) if random.random() < 0.7 else 0 for e in shape)
        steps = tuple(random.choice((1, 1, 1, 2, 3)) for _ in shape)
        counts = tuple(
            random.randint(0, -(-(e - s) // t)) if random.random() < 0.7 else -(-(e - s) // t)
            for e, s, t in zip(shape, starts, steps, strict=True)
        )
        box = Box(base, starts, steps, counts, fill)
        return maker.case(Program(shape, len(shape), tuple(body), (Store(value, store),), tuple(maker.operands),
                                  tuple(code_of(p.dtype) for p in maker.params), box=box))  # fmt: skip
    stores = maker.stores(body)
    if random.random() < 0.3:
        make_in_place(maker, body, stores)
    return maker.case(Program(shape, len(shape), tuple(body), tuple(stores), tuple(maker.operands),
                              tuple(code_of(p.dtype) for p in maker.params)))  # fmt: skip


def make_in_place(maker: Maker, body: list[Instr], stores: list[Store]) -> None:
    """Let a store write where a load of the same dtype reads, if there is one."""
    for store in stores:
        written = maker.operands[store.operand]
        for instr in body:
            if instr.kind == "load" and instr.code == written.code and instr.operand not in maker.share.values():
                k = instr.operand
                if k > store.operand:
                    continue
                maker.operands[k] = Operand(written.code, written.strides, written.word, 0, False, True)
                maker.operands[store.operand] = Operand(written.code, written.strides, written.word, 0, True, True)
                maker.memory[k] = maker.memory[store.operand]
                maker.starts[k] = maker.starts[store.operand]
                maker.share[store.operand] = k
                return


def random_reduction(random: Random, budget: int = 6000, any_casts: bool = False) -> Case:
    """A program with one to three reductions."""
    rank = random.randint(1, 4)
    shape = shapes(random, rank, random.choice((1, 10, 40, 200, budget)))
    kept = random.randint(0, rank - 1)
    fast = kept == 0 or random.random() < 0.6
    maker = Maker(random, shape, kept, any_casts)
    body = maker.body()
    reductions = some_reductions(maker, body, random.randint(1, 3))
    stores = maker.stores(body) if random.random() < 0.3 else []
    post = maker.body(post=True, reduced=tuple(r.code for r in reductions), operations=2)
    post_stores = [Store(k, maker.operand(r.code, written=True, post=True)) for k, r in enumerate(reductions)]
    if len(post) > len(reductions):
        post_stores.append(Store(len(post) - 1, maker.operand(post[-1].code, written=True, post=True)))
    return maker.case(
        Program(shape, kept, tuple(body), tuple(stores), tuple(maker.operands),
                tuple(code_of(p.dtype) for p in maker.params), tuple(reductions), tuple(post), tuple(post_stores),
                fast=fast)
    )  # fmt: skip


def some_reductions(maker: Maker, body: list[Instr], most: int) -> list[Reduce]:
    """One or several reductions of values of a body."""
    random = maker.random
    reductions = []
    for _ in range(most):
        op_def = REDUCTIONS[random.choice(REDUCE)]
        value = random.randrange(len(body))
        code = body[value].code
        if op_def.name in ("mean", "var", "m2") and KINDS[code] != "f":
            value = maker.cast(body, value, random.choice((F32, F64)))
        elif op_def.name in ("sum", "prod") and KINDS[code] == "b":
            value = maker.cast(body, value, I64)
        elif op_def.name.startswith("bitwise") and KINDS[code] not in "iub":
            continue
        code = body[value].code
        out = code_of(op_def.out_char(CHARS[code]))
        reductions.append(Reduce(op_def, value, out))
    return reductions or [Reduce(REDUCTIONS["max"], 0, body[0].code)]


def random_rows(random: Random, shape: tuple[int, ...], kept: int, any_casts: bool = False) -> Case:
    """A program in stages: reductions, values of the row, and elements computed from those, one to three times."""
    maker = Maker(random, shape, kept, any_casts)
    body = maker.body(operations=3)
    post: list[Instr] = []
    reductions: list[Reduce] = []
    post_stores: list[Store] = []
    for _ in range(random.randint(1, 3)):
        found = some_reductions(maker, body, random.randint(1, 2))
        for reduction in found:
            post.append(Instr("reduced", reduction.code, index=len(reductions)))
            reductions.append(reduction)
            if random.random() < 0.3:
                store = maker.operand(reduction.code, written=True, post=True)
                post_stores.append(Store(len(post) - 1, store))
        if random.random() < 0.3:
            code = random.choice(maker.codes)
            post.append(Instr("load", code, operand=maker.operand(code, post=True)))
        for _ in range(random.randint(0, 2)):
            maker.operation(post)
        body.append(Instr("kept", post[-1].code, index=len(post) - 1))
        last = len(body) - 1
        if random.random() < 0.3:
            code = random.choice(maker.codes)
            body.append(Instr("load", code, operand=maker.operand(code)))
        for _ in range(random.randint(1, 4)):
            maker.operation(body)
        code = random.choice((F32, F64))
        args = maker.cast(body, len(body) - 1, code), maker.cast(body, last, code)
        body.append(Instr("op", code, args, op_def=ELEMENTWISE[random.choice(("subtract", "maximum", "divide"))]))
    stores = maker.stores(body)
    return maker.case(
        Program(shape, kept, tuple(body), tuple(stores), tuple(maker.operands),
                tuple(code_of(p.dtype) for p in maker.params), tuple(reductions), tuple(post), tuple(post_stores))
    )  # fmt: skip


def reduction_of_memory(
    shape: tuple[int, ...], kept: int, fast: bool, names: tuple[str | ReductionDef, ...], code: int, seed: int = 1
) -> Case:
    """Reductions of one dense array: the reduced axes innermost in memory, or (not `fast`) outermost."""
    rng = np.random.default_rng(seed)
    strides, step = [0] * len(shape), 1
    order = list(range(len(shape))) if fast else [*range(kept, len(shape)), *range(kept)]
    for d in reversed(order):
        strides[d], step = step, step * shape[d]
    operands = [Operand(code, tuple(strides), word=0)]
    values = rng.standard_normal(max(step, 1)) * 3
    if KINDS[code] == "c":
        values = values + 1j * rng.standard_normal(max(step, 1))
    memory = [values.astype(DTYPES[code])]
    kept_strides, step = [0] * kept, 1
    for d in reversed(range(kept)):
        kept_strides[d], step = step, step * shape[d]
    reductions, post, stores = [], [], []
    for number, name in enumerate(names):
        op_def = REDUCTIONS[name] if isinstance(name, str) else name
        out = code_of(op_def.out_char(CHARS[code]))
        reductions.append(Reduce(op_def, 0, out))
        post.append(Instr("reduced", out, index=number))
        stores.append(Store(number, len(operands)))
        operands.append(Operand(out, tuple(kept_strides), written=True, post=True))
        memory.append(np.zeros(max(step, 1), DTYPES[out]))
    program = Program(
        shape, kept, (Instr("load", code, operand=0),), (), tuple(operands), (), tuple(reductions), tuple(post),
        tuple(stores), fast=fast,
    )  # fmt: skip
    return Case(program, memory, [0] * len(operands))


def describe(case: Case) -> str:
    """A case in words, for failures."""
    p = case.program
    lines = [f"shape {p.shape} kept {p.kept} fast {p.fast} box {p.box} share {case.share}"]
    lines += [f"x{k}: {CTYPES[o.code]} {o}" for k, o in enumerate(p.operands)]
    for name, instrs in (("v", p.body), ("w", p.post)):
        for k, i in enumerate(instrs):
            lines.append(f"{name}{k}: {i.kind} {i.op_def.name if i.op_def else ''} {CTYPES[i.code]} args {i.args} "
                         f"operand {i.operand} index {i.index} {i.strides}")  # fmt: skip
    lines += [str(s) for s in p.stores] + [f"post {s}" for s in p.post_stores]
    lines += [f"{r.op_def.name} v{r.value} -> {CTYPES[r.code]}" for r in p.reductions]
    return "\n".join(lines) + f"\nparams {case.params} iotas {case.iota_offsets}"
