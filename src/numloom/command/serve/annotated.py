"""The report as a page (HTML): the lines that cost most, and the program's source with the time of each line."""

from __future__ import annotations

import os
from collections import defaultdict
from html import escape
from typing import Any

_COLOURS = {"results": "#3b7dd8", "recording": "#7c5cc4", "NumPy": "#e08a1e", "Python": "#c43c3c"}
_OTHER = "#5a8f5a"
_WORDS = {
    "results": "running recorded work", "recording": "recording calls", "NumPy": "NumPy",
    "waiting": "waiting for a GPU",
    "Python": "the program's own Python", "compiling": "planning and compiling", "copies": "copies to and from NumPy",
}  # fmt: skip
_MOST_LINES = 3000
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 72em; padding: 0 1em; color: #222;
       background: #fff }
table { border-collapse: collapse } td, th { padding: .15em .7em; text-align: left; vertical-align: top }
th { border-bottom: 1px solid #999 } td.n { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap }
code, pre, table.source { font: 13px/1.4 ui-monospace, monospace } table.source td { padding: 0 .6em }
table.source td.code { white-space: pre; width: 100% } tr.hot td.code { background: #fff3e6 }
td.note { color: #8a3b00; font: 13px/1.4 system-ui, sans-serif; padding-bottom: .3em }
span.bar { display: inline-block; height: .8em } td.bar { width: 130px; white-space: nowrap }
span.key { display: inline-block; width: .8em; height: .8em; margin: 0 .3em 0 1em }
a { color: inherit } .faint { color: #777 }
@media (prefers-color-scheme: dark) { body { background: #1b1b1d; color: #ddd } tr.hot td.code { background: #3a2c1c }
  td.note { color: #f0a868 } }
"""


def page(data: dict[str, Any], title: str) -> str:
    """The page of a report.

    Parameters
    ----------
    data : dict
        What `Ledger.as_dict` gives.
    title : str
        The program's name.
    """
    seconds = data["seconds"]
    lines = data["lines"]
    kinds = sorted({kind for line in lines for kind in line["spent"]}, key=lambda kind: (kind not in _COLOURS, kind))
    parts = [
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>{escape(title)}</title>'
        f"<style>{_STYLE}</style></head><body>",
        f"<h1>{escape(title)}</h1>",
        f"<p>{seconds['total']:.3g} s on {escape(data['device'])}: in NumPy's functions numloom "
        f"{seconds['numloom']:.3g} s and NumPy {seconds['numpy']:.3g} s; elsewhere {seconds['elsewhere']:.3g} s. "
        f"{data['kernels']:,} kernels, {data['library_calls']:,} library calls.</p>",
        "<p>" + "".join(
            f'<span class="key" style="background:{_colour(kind)}"></span>{escape(_WORDS.get(kind, kind))}'
            for kind in kinds
        ) + "</p>",
        "<h2>Lines that cost most</h2>",
        "<table><tr><th>seconds</th><th>share</th><th></th><th>line</th><th>what to change</th></tr>",
    ]  # fmt: skip
    most = max((line["seconds"] for line in lines), default=0.0)
    for line in lines[:20]:
        parts.append(
            f'<tr><td class="n">{line["seconds"]:.3f}</td><td class="n">{100 * line["share"]:.0f} %</td>'
            f'<td class="bar">{_bar(line["spent"], most)}</td><td><a href="#{_anchor(line["line"])}">'
            f"<code>{escape(line['shown'])}</code></a><br><code>{escape(line['text'])}</code></td>"
            f"<td>{escape(line['change'])}</td></tr>"
        )
    parts.append("</table>")
    if data["advice"]:
        parts.append("<h2>Advice</h2><ul>")
        parts += [f"<li>{escape(text)}</li>" for text in data["advice"]]
        parts.append("</ul>")
    by_file: defaultdict[str, dict[int, dict[str, Any]]] = defaultdict(dict)
    for line in lines:
        file, _, number = line["line"].rpartition(":")
        by_file[file][int(number)] = line
    for file, found in sorted(by_file.items(), key=lambda item: -sum(one["seconds"] for one in item[1].values())):
        parts.append(_source(file, found, most))
    parts.append("</body></html>\n")
    return "\n".join(parts)


def _source(file: str, found: dict[int, dict[str, Any]], most: float) -> str:
    """A file with the seconds of its lines."""
    head = f"<h2><code>{escape(os.path.relpath(file) if os.path.isabs(file) else file)}</code></h2>"
    try:
        with open(file, encoding="utf-8", errors="replace") as source:
            texts = source.read().splitlines()
    except OSError:
        texts = []
    if not texts:
        return f"{head}<p class='faint'>The source is not in a file.</p>"
    rows = [head, '<table class="source">']
    for number, text in enumerate(texts[:_MOST_LINES], 1):
        line = found.get(number)
        anchor = f' id="{_anchor(f"{file}:{number}")}"'
        if line is None:
            rows.append(
                f'<tr{anchor}><td class="n"></td><td class="bar"></td><td class="n faint">{number}</td>'
                f'<td class="code">{escape(text)}</td></tr>'
            )
            continue
        hot = ' class="hot"' if line["share"] >= 0.05 else ""
        told = ", ".join(f"{_WORDS.get(kind, kind)} {spent:.3f} s" for kind, spent in line["spent"].items())
        rows.append(
            f'<tr{anchor}{hot}><td class="n" title="{escape(told)}">{line["seconds"]:.3f}</td>'
            f'<td class="bar" title="{escape(told)}">{_bar(line["spent"], most)}</td>'
            f'<td class="n faint">{number}</td><td class="code">{escape(text)}</td></tr>'
        )
        if line["change"] and line["share"] >= 0.02:
            rows.append(f'<tr><td colspan="3"></td><td class="note">{escape(line["change"])}</td></tr>')
    rows.append("</table>")
    return "\n".join(rows)


def _bar(spent: dict[str, float], most: float) -> str:
    width = 120 / most if most else 0.0
    return "".join(
        f'<span class="bar" style="width:{max(seconds * width, 0.5):.1f}px;background:{_colour(kind)}"></span>'
        for kind, seconds in spent.items()
    )


def _colour(kind: str) -> str:
    return _COLOURS.get(kind, _OTHER)


def _anchor(line: str) -> str:
    return escape("line-" + line.replace(" ", "_"))


__all__ = ["page"]
