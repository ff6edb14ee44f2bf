"""Few random numbers drawn at once: the same stream, and the same state afterwards, as when draws are recorded."""

from __future__ import annotations

import pickle
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from numloom.array.ndarray import node_of
from numloom.base.config import config
from numloom.device import registry
from numloom.engine import unplanned
from numloom.graph.node import LEAF, register

pytestmark = pytest.mark.skipif(
    registry.current().name != "cpu" or config.executor == "reference" or unplanned._unplanned is None,
    reason="numbers are drawn at once on the host alone, and by the compiled core",
)

DRAWS: dict[str, Callable[[Any, Any], Any]] = {
    "random": lambda g, size: g.random(size),
    "standard_normal": lambda g, size: g.standard_normal(size),
    "standard_exponential": lambda g, size: g.standard_exponential(size),
    "normal": lambda g, size: g.normal(size=size),
    "normal elsewhere": lambda g, size: g.normal(-3, 0.7, size),
    "uniform": lambda g, size: g.uniform(size=size),
    "uniform between": lambda g, size: g.uniform(-2, 5.5, size),
    "exponential": lambda g, size: g.exponential(2.5, size),
    "integers": lambda g, size: g.integers(10, size=size),
    "integers between": lambda g, size: g.integers(-5, 7, size, endpoint=True),
    "many integers": lambda g, size: g.integers(-(1 << 61), 1 << 61, size),
    "float32": lambda g, size: g.random(size, dtype=np.float32),
    "int8": lambda g, size: g.integers(-3, 3, size, dtype=np.int8),
}


@pytest.fixture
def no_trees(monkeypatch: pytest.MonkeyPatch) -> None:
    """A process in which nobody has made a symbol: else draws are recorded, as expressions with one want to know."""
    monkeypatch.setattr(register, "symbols", False)


def stream(g: Any, draw: Callable[[Any, Any], Any]) -> list[Any]:
    """Draws of several sizes after each other, with the state after each."""
    found = []
    for size in (None, 1, None, 2, 7, None, 1024, 1025, (), (2, 3), 0, None):
        x = draw(g, size)
        found.append((x.shape, x.dtype.str, x.is_scalar, x.get().tobytes(), str(g.bit_generator.state)))
    return found


@pytest.mark.usefixtures("no_trees")
@pytest.mark.parametrize("name", DRAWS)
def test_numbers_and_states_are_those_of_recorded_draws(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    at_once = stream(nl.random.default_rng(5), DRAWS[name])
    assert at_once == stream(nl.random.default_rng(5), DRAWS[name])
    monkeypatch.setattr(config, "unplanned", 0)
    assert at_once == stream(nl.random.default_rng(5), DRAWS[name])


@pytest.mark.usefixtures("no_trees")
def test_numbers_are_the_same_beside_a_gpu() -> None:
    for draw in DRAWS.values():
        alone = stream(nl.random.default_rng(5), draw)
        with stand_in():
            assert stream(nl.random.default_rng(5), draw) == alone


@pytest.mark.usefixtures("no_trees")
def test_single_numbers_are_numbers() -> None:
    g = nl.random.default_rng(3)
    for draw in (g.random, g.normal, g.standard_normal, g.exponential, g.uniform, nl.random.rand, nl.random.randn):
        assert draw().is_scalar and draw().shape == ()
        assert isinstance(draw().item(), float)
    assert isinstance(g.integers(4).item(), int) and nl.random.randint(4).is_scalar
    assert not g.random(()).is_scalar and g.random(()).shape == ()
    assert node_of(g.random(5)).kind == LEAF


def test_wrong_parameters_take_nothing() -> None:
    g = nl.random.default_rng(3)
    before = g.bit_generator.state
    wrongs: tuple[Callable[[Any], Any], ...] = (
        lambda g: g.normal(0, -1),
        lambda g: g.exponential(-1),
        lambda g: g.uniform(3, 2),
        lambda g: g.integers(0),
        lambda g: g.integers(5, 4),
        lambda g: g.random(-1),
    )
    for wrong in wrongs:
        with pytest.raises(ValueError) as ours:
            wrong(g)
        with pytest.raises(ValueError) as numpys:
            wrong(np.random.default_rng(3))
        assert str(ours.value) == str(numpys.value)
    with pytest.raises(OverflowError):
        g.uniform(-1e308, 1e308)
    assert g.bit_generator.state == before


@pytest.mark.usefixtures("no_trees")
def test_children_copies_and_threads() -> None:
    g, h = nl.random.default_rng(8), nl.random.default_rng(8)
    g.random()
    twin = pickle.loads(pickle.dumps(g))
    assert float(twin.random()) == float(g.random())
    h.random()
    assert float(g.spawn(1)[0].normal()) == float(h.spawn(1)[0].normal())
    found: list[float] = []

    def draw() -> None:
        found.extend([float(g.random()) for _ in range(300)])

    threads = [threading.Thread(target=draw) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    alone = nl.random.default_rng(8)
    blocks = [float(alone.random()) for _ in range(1202)][2:]
    assert sorted(found) == sorted(blocks)


def test_compiled_functions_draw_anew_in_each_call() -> None:
    g = nl.random.default_rng(4)

    def noisy(x: Any) -> Any:
        return x + g.random() + g.normal(size=3)

    compiled: Any = nl.compile(noisy)
    results = [compiled(nl.zeros(3)).get().tobytes() for _ in range(4)]
    assert len(set(results)) == 4
