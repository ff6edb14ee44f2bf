"""explain shows what will run without running it; compare runs a tree both ways."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

import numloom as nl
from numloom.engine.body import body_of
from numloom.engine.state import counters


def softplus(x: object) -> object:
    return nl.maximum(0, x) + nl.log1p(nl.exp(-abs(x)))  # type: ignore[arg-type, operator]


def test_explain_runs_nothing() -> None:
    x = nl.asarray(np.linspace(-3, 3, 1000, dtype="f4"))
    y = softplus(x)
    before = counters.kernels
    found = y.explain()  # type: ignore[attr-defined]
    assert counters.kernels == before
    assert len(found.kernels) == 1
    assert found.bytes_read == found.bytes_written == 4000
    assert found.operations == 6000
    assert "log1p" in found.tree and "kernel over 1000" in found.plan
    text = str(found)
    assert len(text.splitlines()) <= 48 and max(map(len, text.splitlines())) <= 150
    assert "  const " in text and "nl::log1p" in text and "1 kernel, 4,000 bytes read" in text
    assert "__CUDACC__" not in text and "namespace nl" not in text
    whole = str(y.explain(source=True))  # type: ignore[attr-defined]
    assert found.kernels[0] in whole and "__CUDACC__" in whole
    np.testing.assert_allclose(nl.asnumpy(y), np.log1p(np.exp(nl.asnumpy(x))), rtol=1e-5)


def test_a_computed_array_is_a_leaf() -> None:
    x = nl.asarray(np.arange(4.0))
    found = x.explain()
    assert not found.kernels and "nothing to run" in found.plan


def test_the_picture_is_well_formed() -> None:
    from xml.etree import ElementTree

    x = nl.asarray(np.arange(12.0).reshape(3, 4))
    svg = (x - x.mean(1, keepdims=True)).explain()._repr_svg_()
    root = ElementTree.fromstring(svg)
    assert sum(child.tag.endswith("rect") for child in root) >= 3


@pytest.mark.parametrize("seed", range(8))
def test_edges_of_the_picture_pass_no_box(seed: int) -> None:
    """Of random trees: boxes lie apart, each line is seen from end to end, and numbers have their values."""
    from xml.etree import ElementTree

    random = np.random.default_rng(seed)
    values = [nl.symbol("x", (3,)), nl.symbol("y", (3,))]
    for _ in range(3 * seed + 2):
        a, b = (values[k] for k in random.integers(0, len(values), 2))
        values.append([a + b, a * 2.5, nl.sin(a) - b][random.integers(0, 3)])
    tree = nl.tree(*values[-2:])
    root = ElementTree.fromstring(tree.svg())
    boxes = [[int(one.get(key, "")) for key in ("x", "y")] for one in root if one.tag.endswith("rect")]
    lines = [one.get("points", "").split() for one in root if one.tag.endswith("polyline")]
    assert len(boxes) == len({tuple(box) for box in boxes}) == len(tree)
    assert len(lines) == sum(len(set(part.args)) for part in tree)
    for line in lines:
        ends = [np.array(point.split(","), float) for point in line]
        for one, other in pairwise(ends):
            for at in np.linspace(0.01, 0.99, 50):
                x, y = one + (other - one) * at
                assert not any(left < x < left + 170 and top < y < top + 40 for left, top in boxes)
    assert tree.svg().count("scalar 2.5") == sum(part.name == "scalar" for part in tree)


def test_a_long_chain_is_shortened() -> None:
    if nl.config.executor != "fused" or nl.config.eager:
        pytest.skip("nothing stays recorded")
    x = nl.asarray(np.zeros(3))
    for _ in range(400):
        x = x + 1
    assert len(str(x.explain()).splitlines()) < 80
    assert x.explain().plan.count("kernel") >= 1


def test_generated_input_reads_nothing() -> None:
    found = (nl.arange(10_000).reshape(1000, -1).T * 2).explain()
    if nl.config.eager:
        return
    assert len(found.kernels) == 1 and found.bytes_read == 0 and found.bytes_written == 80_000


@pytest.mark.parametrize("dtype", ["f4", "f8", "c8", "i4", "?"])
def test_compare_of_arithmetic_is_equal(dtype: str) -> None:
    x = nl.asarray(np.arange(20).astype(dtype).reshape(4, 5))
    assert nl.compare(x + x).equal
    assert nl.compare(x[::-1], x.T.copy())[1].equal


def test_compare_measures_the_largest_difference() -> None:
    x = nl.asarray(np.linspace(0.1, 9, 1000, dtype="f4"))
    found = nl.compare(nl.exp(x))
    assert found.close and found.max_ulp <= 4
    assert found.equal or found.index is not None
    with pytest.raises(TypeError, match="numloom arrays"):
        nl.compare(np.zeros(3))


def test_a_body_is_that_of_the_device() -> None:
    x = nl.asarray(np.arange(1000.0))
    text = nl.sin(x - x.mean()).explain().kernels[-1]
    cuda, host = body_of(text, True), body_of(text, False)
    assert any("__global__" in line for line in cuda) and not any("__global__" in line for line in host)
    for lines in (cuda, host):
        assert lines[0].startswith("struct P") and lines[-1] == "}"
        assert sum(line.count("{") - line.count("}") for line in lines) == 0
        assert not any("__CUDACC__" in line or line.startswith("NL_DEV void fast_") for line in lines)


def test_a_notebook_gets_the_picture_and_bodies() -> None:
    html = nl.exp(nl.asarray(np.arange(5.0)) + 1).explain()._repr_html_()
    assert html.startswith("<svg") and "<details>" in html and "__CUDACC__" not in html


def test_an_explanation_fits_a_screen() -> None:
    x = nl.linspace(-5, 5, 1000)
    held = nl.log(1 + nl.exp(x))
    stable = nl.maximum(x, 0) + nl.log1p(nl.exp(-abs(x)))
    chain = x
    for k in range(40):
        chain = chain * k + x
    for value in (held, stable, chain, held.sum(), nl.sort(stable) + chain):
        lines = str(value.explain()).splitlines()
        assert len(lines) <= 60
        assert not any("scalar()" in line or "fast_element(const" in line for line in lines)
    assert len(str(held.explain()).splitlines()) <= 50
    again = nl.log(1 + nl.exp(x))
    assert "scalar()" in again.explain().tree
    assert "fast_element(const" in str(again.explain(source=True))
