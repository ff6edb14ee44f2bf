"""Looking inside: the tree, the plan and the kernels of what is recorded, and the parity check of a tree."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from numloom.array.ndarray import bind, ndarray, node_of
from numloom.base import later
from numloom.base.wording import counted
from numloom.device.registry import current
from numloom.engine.body import body_of
from numloom.engine.evaluate import leaf_memory
from numloom.engine.reference import reference_value

if TYPE_CHECKING:
    from numloom.engine import explain as explaining
    from numloom.engine.explain import KernelPlan, Structure
else:
    explaining = later.Later("numloom.engine.explain")

MOST_NODES, MOST_STEPS, MOST_KERNELS = 24, 8, 3
SCREEN, LEAST_LINES = 48, 20
"""What a printed explanation shows at most, so that it fits a screen; of kernels' texts at least some lines."""


def _escaped(text: str) -> str:
    return str(later.load("html").escape(text))


class Explanation:
    """What is recorded for an array and how it would run.

    Printed it fits a screen: the end of the tree, the plan, and of the first kernels what is their own, for the device
    at hand. `tree`, `plan` and `kernels` have all of it, and so has what ``explain(source=True)`` gives when printed.

    Attributes
    ----------
    tree : str
        The recorded tree, a line a node, arguments before what uses them.
    plan : str
        The steps: kernels with their spaces, what they read, compute and move.
    kernels : list of str
        C++ text of each kernel, exactly as it will be compiled.
    bytes_read, bytes_written : int
        Memory that the kernels move, each buffer counted once a kernel.
    operations : int
        Elementwise operations and combined elements.
    """

    def __init__(self, found: Structure, source: bool = False) -> None:
        self._found = found
        self._source = source
        self._cuda = current().discrete
        self.kernels = [step.text for step in found.steps if step.text]
        self.bytes_read = sum(step.bytes_read for step in found.steps)
        self.bytes_written = sum(step.bytes_written for step in found.steps)
        self.operations = sum(step.operations for step in found.steps)
        self.instructions = sum(step.instructions for step in found.steps)

    @property
    def tree(self) -> str:
        return self._tree(explaining.SHOWN)

    def _tree(self, most: int, inline: bool = False) -> str:
        """The last nodes; `inline`: numbers stand where they are used, and have no line."""
        nodes = self._found.nodes
        names = {node.number: f"%{node.number}" for node in nodes}
        if inline:
            names |= {node.number: node.detail for node in nodes[:-1] if node.name == "scalar" and not node.held}
            nodes = tuple(node for node in nodes if names[node.number].startswith("%"))
        lines = []
        if len(nodes) > most:
            lines.append(f"... {counted(len(nodes) - most, 'node')} before these")
        for node in nodes[-most:]:
            args = ", ".join(names.get(arg, f"%{arg}") for arg in node.args)
            held = "  (held)" if node.held else ""
            detail = f"  {node.detail}" if node.detail else ""
            lines.append(f"%{node.number} = {node.name}({args}) {node.dtype}{list(node.shape)}{detail}{held}")
        return "\n".join(lines)

    @property
    def plan(self) -> str:
        return self._plan(explaining.SHOWN)

    def _plan(self, most: int) -> str:
        steps = self._found.steps
        if not steps:
            few = "operations on few elements run when they are called: config.unplanned = 0 records them"
            return f"nothing to run: the value is there ({few})"
        lines = [_step_line(number, step) for number, step in enumerate(steps[:most])]
        if len(steps) > most:
            lines.append(f"... {counted(len(steps) - most, 'more step')}")
        return "\n".join(lines)

    def floor(self, bandwidth: float) -> float:
        """Seconds to move the kernels' bytes once, at `bandwidth` bytes a second."""
        return (self.bytes_read + self.bytes_written) / bandwidth

    def __str__(self) -> str:
        tree, plan = (self.tree, self.plan) if self._source else (self._tree(MOST_NODES, True), self._plan(MOST_STEPS))
        parts = [
            "tree:", tree, "", "plan:", plan, "",
            f"{counted(len(self.kernels), 'kernel')}, {counted(self.bytes_read, 'byte')} read, "
            f"{counted(self.bytes_written, 'byte')} written, {counted(self.operations, 'operation')}",
        ]  # fmt: skip
        shown = self.kernels if self._source else self.kernels[:MOST_KERNELS]
        used = sum(part.count("\n") + 1 for part in parts) + 3 * len(shown)
        most = max(SCREEN - used, LEAST_LINES) // max(len(shown), 1)
        for number, text in enumerate(shown):
            parts += ["", f"kernel {number}:", text if self._source else self._body(text, most)]
        if len(self.kernels) > len(shown):
            parts += ["", f"... {counted(len(self.kernels) - len(shown), 'more kernel')}: explain(source=True)"]
        return "\n".join(parts)

    def _body(self, text: str, most: int) -> str:
        lines = [line if len(line) <= 118 else line[:115] + "..." for line in body_of(text, self._cuda)]
        if len(lines) > most + 1:
            lines[most:] = [f"... {counted(len(lines) - most, 'more line')}: explain(source=True)"]
        return "\n".join(lines)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        """The picture of the tree, and the texts folded below it, for a notebook."""
        texts = "".join(
            f"<details><summary>kernel {number}</summary><pre>{_escaped(self._body(text, 400))}</pre></details>"
            for number, text in enumerate(self.kernels[:8])
        )
        return f"{self._repr_svg_()}<pre>{_escaped(self.plan)}</pre>{texts}"

    def _repr_svg_(self) -> str:
        """The tree as a picture: arguments above what uses them, what one kernel stores in one colour."""
        return picture(self._found)


def _step_line(number: int, step: KernelPlan) -> str:
    computes = ", ".join(f"%{n}" for n in step.computes)
    if not step.text:
        return f"{number}: {step.mode} {computes}"
    space = " × ".join(map(str, step.space))
    if step.kept < len(step.space):
        space += f", the last {len(step.space) - step.kept} reduced"
    reads = ", ".join(f"%{n}" for n in step.reads) or "nothing"
    return (
        f"{number}: {step.mode} over {space}: computes {computes} from {reads}; "
        f"{counted(step.bytes_read, 'byte')} in, {step.bytes_written:,} out, {counted(step.operations, 'operation')}"
    )


_COLOURS = ("#cfe8ff", "#d8f5d0", "#ffe6c7", "#f3d9ff", "#ffd6d9", "#e8e8a8", "#c9f2ee", "#e0e0e0")


_BOX, _GAP, _HIGH, _STEP = 170, 20, 40, 64
"""Widths of a value's box and between what stands in a row, heights of a box and from row to row."""


def picture(found: Structure) -> str:
    """A tree as a picture (SVG): arguments above what uses them; the last 60 values of a larger one."""
    nodes = found.nodes[-60:]
    first = nodes[0].number if nodes else 0
    row = _rows(nodes)
    stored = {number: k for k, step in enumerate(found.steps) for number in step.computes}
    colour: dict[int, str] = {}
    for node in reversed(nodes):
        if node.number in stored:
            colour[node.number] = _COLOURS[stored[node.number] % len(_COLOURS)]
        for arg in node.args:
            if arg >= first and arg not in stored:
                colour.setdefault(arg, colour.get(node.number, "#ffffff"))
    middle, total_w = _middles(nodes, row)
    total_h = 2 * _GAP + _STEP * (1 + max(row.values(), default=0))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{total_w}" height="{total_h}" font-family="sans-serif" '
        'font-size="12">'
    ]
    for node in nodes:
        for arg in sorted(set(node.args) & set(row)):
            way = [(middle[arg, row[arg]], _GAP + row[arg] * _STEP + _HIGH)]
            for passed in range(row[arg] + 1, row[node.number]):
                way += [(middle[arg, passed], _GAP + passed * _STEP + down) for down in (0, _HIGH)]
            way.append((middle[node.number, row[node.number]], _GAP + row[node.number] * _STEP))
            parts.append(f'<polyline points="{" ".join(f"{x},{y}" for x, y in way)}" fill="none" stroke="#888"/>')
    for node in nodes:
        x, y = middle[node.number, row[node.number]] - _BOX // 2, _GAP + row[node.number] * _STEP
        fill = "#ffffff" if node.name == "leaf" else colour.get(node.number, "#ffffff")
        border = "#222" if node.number in stored else "#999"
        value = "" if node.args or not node.detail or node.detail == node.name else f" {node.detail}"
        label = _escaped(f"%{node.number} {node.name}{value}"[:26])
        kind = _escaped(f"{node.dtype}{list(node.shape)}")
        parts.append(f'<rect x="{x}" y="{y}" width="{_BOX}" height="{_HIGH}" rx="6" fill="{fill}" stroke="{border}"/>')
        parts.append(f'<text x="{x + 8}" y="{y + 17}">{label}</text><text x="{x + 8}" y="{y + 33}">{kind}</text>')
    parts.append("</svg>")
    return "".join(parts)


def _rows(nodes: Sequence[Any]) -> dict[int, int]:
    """In which row each value stands: below its arguments, and what has none right above its first use."""
    row: dict[int, int] = {}
    for node in nodes:
        row[node.number] = 1 + max((row[arg] for arg in node.args if arg in row), default=-1)
    for node in nodes:
        uses = [row[user.number] for user in nodes if node.number in user.args]
        if uses and not any(arg in row for arg in node.args):
            row[node.number] = min(uses) - 1
    return row


def _middles(nodes: Sequence[Any], row: dict[int, int]) -> tuple[dict[tuple[int, int], int], int]:
    """Where values stand in their rows, and where they are led through rows on the way to who uses them; the width."""
    args = {node.number: [arg for arg in node.args if arg in row] for node in nodes}
    last = dict(row)
    for number, given in args.items():
        for arg in given:
            last[arg] = max(last[arg], row[number] - 1)
    middle: dict[tuple[int, int], int] = {}
    width = 0
    for at in range(1 + max(row.values(), default=-1)):
        found: list[tuple[float, int]] = []
        for number in args:
            if row[number] <= at <= last[number]:
                above = [middle[one, at - 1] for one in (args[number] if row[number] == at else [number]) if at]
                found.append((sum(above) / len(above) if above else width, number))
        x = _GAP
        for _, number in sorted(found):
            wide = _BOX if row[number] == at else 0
            middle[number, at] = x + wide // 2
            x += wide + _GAP
        width = max(width, x)
    return middle, width


def explain(array: Any, source: bool = False) -> Explanation:
    """What is recorded for `array` and how it would run; nothing runs.

    Operations on few elements (up to 256) run when they are called; ``config.unplanned = 0`` records them.

    Parameters
    ----------
    array : ndarray
        An array; as a method, this one.
    source : bool
        Whether printing shows the whole text of all kernels, as the compiler gets it, rather than what fits a screen.

    Returns
    -------
    Explanation
        Printed it is a text, in a notebook a picture.

    Examples
    --------
    >>> import numloom as np
    >>> x = np.arange(6.0)
    >>> len((x * 2 + 1).explain().kernels)
    1
    """
    return Explanation(explaining.structure(node_of(array)), source)


@dataclass(frozen=True)
class Comparison:
    """Difference between the reference executor's value and the device's.

    Attributes
    ----------
    equal : bool
        Whether the two have the same bits (NaNs count as equal).
    max_abs, max_ulp : float
        Largest difference, absolute and in units of the last place of the reference.
    index : tuple of int or None
        Where it is.
    reference, device : object
        The two values there.
    close : bool
        Whether all are within the tolerances.
    """

    equal: bool
    max_abs: float
    max_ulp: float
    index: tuple[int, ...] | None
    reference: Any
    device: Any
    close: bool

    def __bool__(self) -> bool:
        return self.close

    def __str__(self) -> str:
        if self.equal:
            return "the reference and the device give the same bits"
        return (
            f"largest difference {self.max_abs:.3g} ({self.max_ulp:.3g} ulp) at {self.index}: "
            f"reference {self.reference!r}, device {self.device!r}"
        )

    __repr__ = __str__


def compare(*arrays: Any, rtol: float = 1e-5, atol: float = 1e-8) -> Any:
    """Run what is recorded through the reference executor and through the device, and compare.

    Parameters
    ----------
    *arrays : ndarray
        Arrays whose recorded trees are run both ways.
    rtol, atol : float
        Tolerances of `Comparison.close`.

    Returns
    -------
    Comparison
        Or a list of them for several arrays.

    Examples
    --------
    >>> import numloom as np
    >>> np.compare(np.arange(5.0) * 2).equal
    True
    """
    for array in arrays:
        if not isinstance(array, ndarray):
            raise TypeError(f"compare takes numloom arrays, got {type(array).__name__}")
    references = [reference_value(node_of(array), current(), leaf_memory) for array in arrays]
    results = [
        _difference(reference, array.get(), rtol, atol) for reference, array in zip(references, arrays, strict=True)
    ]
    return results[0] if len(results) == 1 else results


def _difference(reference: np.ndarray[Any, Any], device: np.ndarray[Any, Any], rtol: float, atol: float) -> Comparison:
    inexact = reference.dtype.kind in "fc"
    same = (reference == device) | ((reference != reference) & (device != device))
    with np.errstate(all="ignore"):
        close = bool(np.allclose(device, reference, rtol, atol, equal_nan=inexact))
        signs = np.signbit(reference) == np.signbit(device) if reference.dtype.kind == "f" else np.True_
        if np.all(same & (signs | (reference != reference))):
            return Comparison(True, 0.0, 0.0, None, None, None, True)
        wide = reference.astype(np.complex128 if reference.dtype.kind == "c" else np.float64)
        distance = np.abs(device.astype(wide.dtype) - wide)
        distance = np.where(same, 0.0, np.where(np.isnan(distance), np.inf, distance))
        unit = np.abs(np.spacing(np.abs(reference))).astype(np.float64) if inexact else np.ones(reference.shape)
        where = np.unravel_index(int(np.argmax(distance)), reference.shape) if reference.ndim else ()
        ulp = float(np.max(np.where(distance > 0, distance / unit, 0.0)))
    index = tuple(int(i) for i in where)
    return Comparison(False, float(np.max(distance)), ulp, index, reference[index], device[index], close)


bind(method_explain=explain)

__all__ = ["Comparison", "Explanation", "compare", "explain", "picture"]
