"""What is used of numloom's inside: how programs become texts. All the rest of this command uses its public API."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.texts.program import GPU, HOST, OLD_GPU, Named, Program
from numloom.array.ndarray import node_of
from numloom.device.registry import current
from numloom.emit.emit import emit
from numloom.engine.walk import walk
from numloom.plan.plan import make_plan
from numloom.plan.program import Select

TARGETS: dict[str, dict[str, Any]] = {
    GPU: {"short_rows": True, "low_products": True, "tiny_product": 1 << 21, "cluster": 8},
    OLD_GPU: {"short_rows": True, "low_products": True, "tiny_product": 1 << 21, "cluster": 1},
    HOST: {"short_rows": False, "low_products": False, "tiny_product": 4096, "cluster": 1},
}
"""What recording and planning know of a device."""


def texts_of(program: Program, target: str) -> list[str]:
    """The texts that a program takes on a target: those of its plan, or where it runs at once those that it compiles.

    It is recorded on the null device, which is told what it knows of itself; nothing is compiled or computed. What is
    compiled beside a plan is left out: it depends on what was compiled before.
    """
    device: Any = current()
    traits = TARGETS[target]
    for name, value in traits.items():
        setattr(device, name, value)
    texts: list[str] = []

    def kernel(text: str, entry: str, **options: Any) -> Any:
        texts.append(text)
        return type(device).kernel(device, text, entry, **options)

    device.kernel = kernel
    found = program.work()
    outputs = list(found) if isinstance(found, (list, tuple)) else [found]
    if all(isinstance(output, str) for output in outputs):
        return outputs
    roots = list(dict.fromkeys(node_of(output) for output in outputs))
    met = walk(roots)
    plan = make_plan(
        met.nodes, [root.number for root in roots], short_rows=traits["short_rows"], cluster=traits["cluster"]
    )
    planned = [step.program for step in plan.steps if step.program is not None]
    if program.select:
        planned = [replace(each, select=Select(*program.select)) for each in planned]
    return [emit(each).text for each in planned] or texts


def loops() -> Iterator[Named]:
    """What the host runs while kernels are compiled, and what ufuncs' methods run."""
    yield "all operations", all_loops
    for op, dtype in (("add", "F32"), ("maximum", "F64"), ("bitwise_or", "I32"), ("multiply", "I64")):
        for name in ("fold_text", "segments_text"):
            yield f"{name} of {op} {dtype}", lambda n=name, o=op, d=dtype: folding(n, o, d)


def all_loops() -> list[str]:
    """The loops of single operations, as one text."""
    from numloom.emit.loops import loops_text

    return [loops_text()]


def folding(name: str, op: str, dtype: str) -> list[str]:
    """A text of `numloom.emit.folding`."""
    from numloom.base import dtypes
    from numloom.emit import folding

    code = getattr(dtypes, dtype)
    if name == "fold_text":
        return [folding.fold_text(op, code, 2, True)]
    return [folding.segments_text(op, code, 1, True, "segments")]
