"""What tab and `dir` show: public names alone."""

from __future__ import annotations

import numpy as np
import pytest

import numloom as nl
from numloom.device import registry

INTERNAL = ("storage", "code", "era", "_shape", "held", "is_scalar", "number", "offset", "_strides", "writeable")


def shown(thing: object) -> set[str]:
    return {name for name in dir(thing) if not name.startswith("_")}


def test_an_array_shows_numpys_names_and_a_few_of_ours() -> None:
    x = nl.ones((3, 3))
    assert not shown(x) & set(INTERNAL)
    more = {"ascuda", "asnumpy", "get_value", "set_value"}  # Once numloom.compiled has been imported.
    assert shown(x) - shown(np.arange(3)) - more == {"explain", "get", "ptp", "to_numpy"}  # `ptp` was NumPy's
    missing = {name for name in shown(x) if not hasattr(x, name)}
    assert missing == ({"ctypes", "data"} if registry.current().discrete else set())


def test_the_module_shows_what_it_exports() -> None:
    names = shown(nl)
    assert set(nl.__all__) - {name for name in nl.__all__ if name.startswith("_")} <= names
    assert not names & {"OF_NUMPY", "api", "base", "emit", "engine", "graph", "importlib", "lookup", "plan"}
    assert all(hasattr(nl, name) for name in names)


@pytest.mark.parametrize("name", ["random", "linalg", "fft", "special", "testing", "lib", "polynomial", "interop"])
def test_a_submodule_shows_what_it_exports(name: str) -> None:
    module = getattr(nl, name)
    assert dir(module) == sorted(module.__all__)


def test_config_shows_the_settings() -> None:
    assert shown(nl.config) == set(vars(nl.config)) - {"_listeners"}


def test_the_class_tells_users_what_an_array_is() -> None:
    text = nl.ndarray.__doc__
    assert text is not None and text == nl.arange(3).__doc__
    assert all(word in text for word in ("shape", "dtype", "device", "get()", "lazy"))
    assert "dtype code" not in text and "storage" not in text
