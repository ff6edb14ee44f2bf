"""The pictures of docs/architecture.md: ``python tools/draw_docs.py`` writes them.

With ``--check`` it writes nothing, and fails where a picture is not what it would write.
"""

from __future__ import annotations

import argparse
from html import escape
from pathlib import Path

DOCS = Path(__file__).resolve().parent.parent / "docs"
BLUE, GREEN, YELLOW, GREY = ("#eef4fb", "#4a78a8"), ("#eef8ee", "#4f8a4f"), ("#fdf6e3", "#a8832e"), ("#f4f4f4", "#888")
ARROW = (
    '<defs><marker id="a" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">'
    '<path d="M0 0 L10 5 L0 10 z" fill="#333"/></marker></defs>'
)


def box(x: int, y: int, width: int, height: int, colours: tuple[str, str], title: str, *lines: str) -> str:
    """A box with a bold title and lines of text below it."""
    parts = [
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" fill="{colours[0]}" stroke="{colours[1]}"/>'
    ]
    top = y + (height - 18 * len(lines)) / 2 + 5
    parts.append(text(x + width / 2, top, title, "bold"))
    parts += [text(x + width / 2, top + 18 * (n + 1), line, size=12) for n, line in enumerate(lines)]
    return "\n".join(parts)


def text(x: float, y: float, words: str, weight: str = "normal", size: int = 14, anchor: str = "middle") -> str:
    """One line of text."""
    return (
        f'<text x="{x:g}" y="{y:g}" text-anchor="{anchor}" font-weight="{weight}" font-size="{size}">'
        f"{escape(words)}</text>"
    )


def arrow(*points: tuple[int, int]) -> str:
    """A line from point to point with a head at its end."""
    path = " L".join(f"{x} {y}" for x, y in points)
    return f'<path d="M{path}" stroke="#333" fill="none" marker-end="url(#a)"/>'


def svg(width: int, height: int, parts: list[str]) -> str:
    """A whole picture on white, so that it can be read on dark pages too."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" font-family="sans-serif">'
    ground = f'<rect width="{width}" height="{height}" fill="white"/>'
    return "\n".join([head, ground, *parts, ARROW, "</svg>"]) + "\n"


def architecture() -> str:
    """The rooms, the way in (describe) and the way down (do)."""
    return svg(
        820,
        500,
        [
            text(215, 26, "describe: a call records and returns", "bold"),
            text(605, 26, "do: when somebody looks", "bold"),
            box(
                40,
                45,
                350,
                56,
                BLUE,
                "api, linalg, fft, random, kernels …",
                "NumPy's names: read the arguments, call one thing",
            ),
            box(40, 135, 350, 56, BLUE, "array", "ndarray = storage + layout; all of aliasing"),
            box(40, 225, 350, 56, BLUE, "graph", "values: immutable nodes; dtype, shape, order"),
            box(40, 315, 350, 56, GREY, "ops", "tables: one entry an operation, reduction, routine"),
            box(430, 45, 350, 56, YELLOW, "engine", "finds the plan, runs it; the one door to results"),
            box(430, 135, 350, 56, GREEN, "plan", "values to kernels; pure"),
            box(430, 225, 350, 56, GREEN, "emit", "kernel to C++, one text for GPU and CPU; pure"),
            box(430, 315, 350, 56, GREEN, "device", "memory, compile, launch: cuda, cpu, null"),
            box(40, 420, 740, 50, GREY, "base", "dtypes, settings, errors"),
            arrow((215, 101), (215, 133)),
            arrow((215, 191), (215, 223)),
            arrow((215, 281), (215, 313)),
            arrow((605, 101), (605, 133)),
            arrow((605, 191), (605, 223)),
            arrow((605, 281), (605, 313)),
            arrow((390, 160), (410, 160), (410, 73), (428, 73)),
            text(410, 396, "values of the graph are what engine and plan work on; everything may use base", size=12),
        ],
    )


STEPS = (
    (BLUE, "c = a + b", "array/ndarray.py", "operator or ufunc"),
    (BLUE, "read", "array/storage.py", "what each memory holds now"),
    (BLUE, "build", "graph/build.py", "dtype, shape, order; errors"),
    (BLUE, "node", "graph/node.py", "recorded; the call returns"),
    (YELLOW, "evaluate", "engine/evaluate.py", "print, float, if, .get()"),
    (YELLOW, "walk", "engine/walk.py", "what is needed, and its key"),
    (GREEN, "make_plan", "plan/plan.py", "which values share a kernel"),
    (GREEN, "emit", "emit/emit.py", "C++ text"),
    (GREEN, "kernel", "device/…/backend.py", "memory, disk, or compile"),
    (YELLOW, "launch", "engine/tape.py", "fill in addresses, queue"),
)


def call_to_launch() -> str:
    """Ten stations in two lines, with the short cuts that known work takes."""
    parts = [text(20, 28, "record", "bold", anchor="start"), text(20, 178, "run", "bold", anchor="start")]
    width, gap = 186, 22
    places = [(20 + (width + gap) * n, 40) for n in range(4)] + [(20 + (width + gap) * n, 190) for n in range(6)]
    for (x, y), (colours, title, file, words) in zip(places, STEPS, strict=True):
        parts.append(box(x, y, width, 76, colours, title, file, words))
    for n in [0, 1, 2, 4, 5, 6, 7, 8]:
        x, y = places[n]
        parts.append(arrow((x + width, y + 38), (x + width + gap - 2, y + 38)))
    last, first = places[3], places[4]
    parts.append(arrow((last[0] + 93, 116), (last[0] + 93, 147), (first[0] + 93, 147), (first[0] + 93, 188)))
    parts.append(text(420, 140, "later, when a value is needed", size=12))
    walk, end = places[5][0], places[9][0]
    parts.append(arrow((walk + 93, 266), (walk + 93, 300), (end + 80, 300), (end + 80, 268)))
    parts.append(
        text((walk + end) / 2 + 70, 318, "key is known: the plan is there, nothing is planned or compiled", size=12)
    )
    start = places[4][0]
    parts.append(arrow((start + 93, 266), (start + 93, 335), (end + 106, 335), (end + 106, 268)))
    parts.append(
        text(
            (start + end) / 2,
            353,
            "one value whose tree was met before: straight to the launch (engine/direct.py)",
            size=12,
        )
    )
    return svg(20 + (width + gap) * 6 + 4, 370, parts)


def main() -> None:
    """Write the pictures, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    for name, picture in (("architecture", architecture()), ("call-to-launch", call_to_launch())):
        path = DOCS / f"{name}.svg"
        if not check:
            path.write_text(picture, encoding="utf-8")
        elif not path.exists() or path.read_text(encoding="utf-8") != picture:
            raise SystemExit(f"{path.name} is not what tools/draw_docs.py writes: run it")


if __name__ == "__main__":
    main()
