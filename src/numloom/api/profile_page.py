"""A profile as a page: a flame chart and tables, in one file that needs no other."""

from __future__ import annotations

import json
from html import escape
from typing import Any

MOST = 4000
"""Spans that a chart shows: the longest."""
COLOURS = {
    "kernel": "#4c9f70", "small work": "#8ac6a0", "routine": "#3b7dd8", "copy": "#d8a13b", "to device": "#c9792b",
    "to host": "#b3582b", "wait": "#b9b9b9", "planning": "#9a6fc4", "compilation": "#c44f6b", "run": "#d9d3e8",
    "call": "#e8e2c8", "host": "#dddddd",
}  # fmt: skip

_STYLE = """
.nlp { font: 13px/1.4 system-ui, sans-serif; color: #222; max-width: 1200px; }
.nlp h2 { font-size: 15px; margin: 18px 0 6px; }
.nlp table { border-collapse: collapse; }
.nlp td, .nlp th { padding: 2px 10px; text-align: right; white-space: nowrap; border-bottom: 1px solid #eee; }
.nlp td:first-child, .nlp th:first-child, .nlp td.text, .nlp th.text { text-align: left; white-space: normal; }
.nlp .bar { display: flex; height: 26px; border-radius: 4px; overflow: hidden; margin: 6px 0; }
.nlp .bar span { overflow: hidden; white-space: nowrap; font-size: 11px; line-height: 26px; padding-left: 4px; }
.nlp .legend span { display: inline-block; margin-right: 14px; }
.nlp .legend i { display: inline-block; width: 11px; height: 11px; border-radius: 2px; margin-right: 5px; }
.nlp svg { width: 100%; background: #fafafa; border: 1px solid #ddd; border-radius: 4px; cursor: crosshair; }
.nlp .share { display: inline-block; height: 9px; background: #4c9f70; border-radius: 2px; }
"""

_SCRIPT = """
(function (root) {
  const data = JSON.parse(root.querySelector('script[type="application/json"]').textContent);
  const svg = root.querySelector('svg'), tip = root.querySelector('.tip');
  const width = 1160, high = 18, space = 'http://www.w3.org/2000/svg';
  let from = 0, to = data.end;
  function make(tag, given, parent) {
    const made = document.createElementNS(space, tag);
    for (const name in given) made.setAttribute(name, given[name]);
    parent.appendChild(made);
    return made;
  }
  function time(s) {
    if (s >= 1) return s.toFixed(3) + ' s';
    return s >= 1e-3 ? (s * 1e3).toFixed(3) + ' ms' : (s * 1e6).toFixed(1) + ' µs';
  }
  function draw() {
    while (svg.firstChild) svg.removeChild(svg.firstChild);
    const scale = width / (to - from);
    svg.setAttribute('viewBox', '0 0 ' + width + ' ' + (data.rows * (high + 2) + 24));
    for (let k = 0; k <= 8; k++) {
      const x = k * width / 8;
      make('line', {x1: x, x2: x, y1: 16, y2: data.rows * (high + 2) + 24, stroke: '#e4e4e4'}, svg);
      const label = make('text', {x: Math.min(x + 2, width - 60), y: 11, 'font-size': 10, fill: '#777'}, svg);
      label.textContent = time(from + k * (to - from) / 8);
    }
    for (const s of data.spans) {
      const x = (s.b - from) * scale, w = Math.max(s.s * scale, 0.6);
      if (x + w < 0 || x > width) continue;
      const y = 20 + s.r * (high + 2);
      const shape = make('rect', {x: x, y: y, width: w, height: high, rx: 2, fill: data.colours[s.k]}, svg);
      shape.addEventListener('mousemove', function () {
        tip.textContent = s.k + ': ' + s.n + (s.d ? '  (' + s.d + ')' : '') + '  ' + time(s.s) + '  ' + s.l;
      });
      if (w > 40) {
        const text = make('text', {x: Math.max(x, 0) + 3, y: y + 13, 'font-size': 11, fill: '#111'}, svg);
        text.setAttribute('pointer-events', 'none');
        text.textContent = s.n.slice(0, Math.floor((w - 6) / 6));
      }
    }
  }
  svg.addEventListener('wheel', function (event) {
    event.preventDefault();
    const box = svg.getBoundingClientRect(), at = from + (to - from) * (event.clientX - box.left) / box.width;
    const by = event.deltaY > 0 ? 1.25 : 0.8;
    from = Math.max(at - (at - from) * by, 0);
    to = Math.min(at + (to - at) * by, data.end);
    draw();
  }, {passive: false});
  svg.addEventListener('dblclick', function () { from = 0; to = data.end; draw(); });
  draw();
})(document.currentScript.parentElement);
"""


def _time(seconds: float) -> str:
    for unit, scale in (("s", 1.0), ("ms", 1e-3)):
        if seconds >= scale:
            return f"{seconds / scale:.3f} {unit}"
    return f"{seconds * 1e6:.2f} µs"


def _size(nbytes: float) -> str:
    for unit, scale in (("GB", 1e9), ("MB", 1e6), ("kB", 1e3)):
        if nbytes >= scale:
            return f"{nbytes / scale:.2f} {unit}"
    return f"{nbytes:.0f} B" if nbytes else ""


def _chart(data: dict[str, Any]) -> dict[str, Any]:
    """What the script draws: spans by depth of the host, and those of the device below."""
    spans = data["spans"]
    longest = sorted(spans, key=lambda span: -span["seconds"])[:MOST]
    drawn: list[dict[str, Any]] = []
    open_ends: list[float] = []
    deepest = 0
    for span in sorted(longest, key=lambda span: (span["begin"], -span["seconds"])):
        while open_ends and open_ends[-1] <= span["begin"] + 1e-9:
            open_ends.pop()
        depth = len(open_ends)
        open_ends.append(span["begin"] + span["seconds"])
        deepest = max(deepest, depth)
        drawn.append(_drawn(span, span["begin"], span["seconds"], depth))
    rows = deepest + 1
    of_device = [span for span in longest if span["device_seconds"] >= 0]
    for span in of_device:
        drawn.append(_drawn(span, span["device_begin"], span["device_seconds"], rows))
    end = max([span["b"] + span["s"] for span in drawn], default=1e-6)
    return {"spans": drawn, "rows": rows + bool(of_device), "end": max(end, 1e-9), "colours": COLOURS}


def _drawn(span: dict[str, Any], begin: float, seconds: float, row: int) -> dict[str, Any]:
    return {
        "k": span["kind"], "n": span["name"], "d": span["detail"], "l": span["line"], "b": begin, "s": seconds,
        "r": row,
    }  # fmt: skip


def _bar(rows: list[dict[str, Any]]) -> str:
    parts = []
    legend = []
    for row in rows:
        colour = COLOURS[row["name"].partition(" (")[0]]
        share = 100 * row["share"]
        if share >= 0.05:
            label = escape(f"{row['name']} {share:.1f} %")
            parts.append(f'<span style="width:{share:.3f}%;background:{colour}" title="{label}">{label}</span>')
        legend.append(f'<span><i style="background:{colour}"></i>{escape(row["name"])}: {_time(row["seconds"])}</span>')
    return f'<div class="bar">{"".join(parts)}</div><div class="legend">{"".join(legend)}</div>'


def _table(title: str, rows: list[dict[str, Any]]) -> str:
    nodes = title == "node"
    heads = ["% time", "", "cumulative %", "time", "time a call", "calls", "bytes", "GB/s", "% of ceiling"]
    first = f'<th class="text">{title}</th>' + "".join([f"<th>{head}</th>" for head in heads])
    lines = [first + ('<th class="text">over</th><th class="text">line</th>' if nodes else "")]
    for row in rows:
        moved = bool(row["nbytes"])
        cells = [
            f'<td class="text">{escape(row["name"])}</td>', f"<td>{100 * row['share']:.1f}</td>",
            f'<td class="text"><span class="share" style="width:{100 * row["share"]:.1f}px"></span></td>',
            f"<td>{100 * row['cumulative']:.1f}</td>", f"<td>{_time(row['seconds'])}</td>",
            f"<td>{_time(row['each'])}</td>", f"<td>{row['calls']:,}</td>", f"<td>{_size(row['nbytes'])}</td>",
            f"<td>{row['bandwidth'] / 1e9:.2f}</td>" if moved else "<td></td>",
            f"<td>{100 * row['of_ceiling']:.0f}</td>" if moved and row["of_ceiling"] else "<td></td>",
        ]  # fmt: skip
        if nodes:
            cells.append(f'<td class="text">{escape(row["detail"])}</td><td class="text">{escape(row["line"])}</td>')
        lines.append("".join(cells))
    return f"<h2>by {title}</h2><table>" + "".join([f"<tr>{line}</tr>" for line in lines]) + "</table>"


def page(data: dict[str, Any], whole: bool = True) -> str:
    """The page of a profile's data; without `whole` only what stands in its body."""
    chart = json.dumps(_chart(data)).replace("</", "<\\/")
    head = f"{data['name']}: {_time(data['seconds'])} on {data['device'] or 'no device'}"
    if data["calls"]:
        head += f", {data['calls']:,} calls"
    if data["ceiling"]:
        head += f", which copies {data['ceiling'] / 1e9:.0f} GB/s"
    body = (
        f'<div class="nlp"><style>{_STYLE}</style><h2>{escape(head)}</h2>{_bar(data["classes"])}'
        '<h2>time line (wheel: zoom, double click: all)</h2><svg></svg><div class="tip">&nbsp;</div>'
        f"{_table('class', data['classes'])}{_table('operation', data['operations'])}{_table('node', data['nodes'])}"
        f'<script type="application/json">{chart}</script><script>{_SCRIPT}</script></div>'
    )
    if not whole:
        return body
    title = escape(data["name"])
    head = f'<head><meta charset="utf-8"><title>{title}</title></head>'
    return f'<!DOCTYPE html><html lang="en">{head}<body>{body}</body></html>\n'


__all__ = ["page"]
