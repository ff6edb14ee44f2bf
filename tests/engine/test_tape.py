"""How a plan's steps are made ready."""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.base.config import config


def test_steps_that_do_the_same_to_other_memory_have_one_text(monkeypatch: pytest.MonkeyPatch) -> None:
    emitting = importlib.import_module("numloom.emit.emit")
    real = emitting.emit
    programs: list[Any] = []

    def emit(program: Any, fast_math: bool = False) -> Any:
        programs.append(program)
        return real(program, fast_math)

    monkeypatch.setattr(emitting, "emit", emit)
    host = np.arange(3000.0) % 7
    x, expected = nl.asarray(host), host
    with config(unplanned=0):
        for _ in range(12):
            x, expected = nl.roll(x * 2 + 1, 5), np.roll(expected * 2 + 1, 5)
        found = x.get()
    np.testing.assert_array_equal(found, expected)
    assert 0 < len(programs) == len(set(programs)) < 12
