"""All programs, by name."""

from __future__ import annotations

from benchmarks.small_work import (
    bits,
    dynamic_programming,
    images,
    linear_algebra,
    mixed,
    networks,
    neural,
    recurrences,
    search,
    simulation,
    solvers,
    untuned,
    untuned_more,
)
from benchmarks.small_work.program import Program

FIELDS = (
    linear_algebra,
    solvers,
    recurrences,
    dynamic_programming,
    networks,
    simulation,
    bits,
    search,
    images,
    neural,
    mixed,
    untuned,
    untuned_more,
)
PROGRAMS: dict[str, Program] = {
    value.name: value for field in FIELDS for value in vars(field).values() if isinstance(value, Program)
}
