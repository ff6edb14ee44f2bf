"""What changed between the texts of two sides, and its tables."""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import lru_cache

from rich.console import Console
from rich.table import Table
from rich.text import Text

from benchmarks.texts.side import Found, Key, Side

SAME, CHANGED, HERE, THERE, REFUSED = "same", "changed", "only here", "only there", "refused"
OUTCOMES = (SAME, CHANGED, HERE, THERE, REFUSED)
SHOWN_LINES = 40
_COLORS = {"+": "green", "-": "red", "@": "cyan"}
_MISSING = Found(refused="no such program")


@dataclass(frozen=True)
class Outcome:
    """How one program's texts of both sides compare.

    `lines` is a unified diff, from there to here, where the texts changed; `reason` says why a side has none.
    """

    key: Key
    what: str
    lines: tuple[str, ...] = ()
    reason: str = ""

    @property
    def changes(self) -> tuple[str, ...]:
        """Lines that came and went, without where they stand."""
        return tuple(line for line in self.lines[2:] if line[0] in "+-")

    def count(self, sign: str) -> int:
        """How many lines came (+) or went (-)."""
        return sum(line.startswith(sign) for line in self.changes)


def compare(here: Side, there: Side) -> list[Outcome]:
    """Every program of either side."""
    keys = dict.fromkeys([*here.programs, *there.programs])
    return [outcome(key, here.programs.get(key, _MISSING), there.programs.get(key, _MISSING)) for key in keys]


def outcome(key: Key, here: Found, there: Found) -> Outcome:
    """How one program compares."""
    if here.refused and there.refused:
        return Outcome(key, REFUSED, reason=here.refused)
    if here.refused or there.refused:
        return Outcome(key, THERE if here.refused else HERE, reason=here.refused or there.refused)
    if here.texts == there.texts:
        return Outcome(key, SAME)
    return Outcome(key, CHANGED, differences(there.document(), here.document()))


@lru_cache(maxsize=256)
def differences(old: str, new: str) -> tuple[str, ...]:
    """A unified diff, without ends of lines."""
    return tuple(difflib.unified_diff(old.splitlines(), new.splitlines(), "there", "here", lineterm=""))


def any_change(outcomes: Iterable[Outcome]) -> bool:
    """Whether a text changed, came or went."""
    return any(each.what in (CHANGED, HERE, THERE) for each in outcomes)


def alike(outcomes: Iterable[Outcome]) -> list[list[Outcome]]:
    """Changed programs, those together that changed by the same lines."""
    groups: dict[tuple[str, ...], list[Outcome]] = {}
    for each in outcomes:
        if each.what == CHANGED:
            groups.setdefault(each.changes, []).append(each)
    return list(groups.values())


# ---------------------------------------------------------------- tables


def grouped(keys: Iterable[Key]) -> dict[tuple[str, str], list[Key]]:
    """Programs by family and target, in their order."""
    groups: dict[tuple[str, str], list[Key]] = {}
    for key in keys:
        groups.setdefault((key[0], key[2]), []).append(key)
    return groups


def empty_table(title: str, columns: Sequence[str]) -> Table:
    """Family, target and numbers."""
    table = Table(title=title, title_justify="left")
    table.add_column("family", no_wrap=True)
    table.add_column("target", no_wrap=True)
    for name in columns:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def table_of_side(side: Side) -> Table:
    """How many programs and texts each family has, and a digest of them."""
    table = empty_table(
        f"texts, planned and emitted in {side.seconds:.1f} s", ("programs", "texts", "refused", "digest")
    )
    for (family, target), keys in grouped(side.programs).items():
        table.add_row(family, target, *numbers_of_side(side, keys))
    table.add_section()
    table.add_row("all", "", *numbers_of_side(side, list(side.programs)))
    return table


def numbers_of_side(side: Side, keys: Sequence[Key]) -> list[str]:
    """One line of numbers."""
    found = [side.programs[key] for key in keys]
    texts, refused = sum(len(each.texts) for each in found), sum(bool(each.refused) for each in found)
    return [f"{len(found):,}", f"{texts:,}", f"{refused or ''}", side.digest(keys)]


def table_of_outcomes(outcomes: Sequence[Outcome], title: str) -> Table:
    """How many programs of each family are the same, and how many are not."""
    table = empty_table(title, ("programs", *OUTCOMES, "lines +", "lines −"))
    by_key = {each.key: each for each in outcomes}
    for (family, target), keys in grouped(by_key).items():
        table.add_row(family, target, *numbers([by_key[key] for key in keys]))
    table.add_section()
    table.add_row("all", "", *numbers(outcomes))
    return table


def numbers(outcomes: Sequence[Outcome]) -> list[str]:
    """One line of numbers; nothing stands for 0."""
    counts = [sum(each.what == what for each in outcomes) for what in OUTCOMES]
    counts += [sum(each.count(sign) for each in outcomes) for sign in "+-"]
    return [f"{len(outcomes):,}", *(f"{count:,}" if count else "" for count in counts)]


# ---------------------------------------------------------------- printing


def title_of(key: Key) -> str:
    """A program and its target."""
    return f"{key[0]}/{key[1]} ({key[2]})"


def print_refused(console: Console, side: Side, most: int) -> None:
    """Programs without a text, and why."""
    refused = [f"{title_of(key)}: {found.refused}" for key, found in side.programs.items() if found.refused]
    print_some(console, "refused", refused, most)


def print_outcomes(console: Console, outcomes: Sequence[Outcome], title: str, show: int) -> None:
    """The table, what one side has not, and some of the changes."""
    console.print(table_of_outcomes(outcomes, title))
    say(console, summary(outcomes), "bold")
    for what in (HERE, THERE, REFUSED):
        print_some(console, what, [f"{title_of(o.key)}: {o.reason}" for o in outcomes if o.what == what], max(show, 5))
    groups = alike(outcomes)
    for group in groups[:show]:
        print_change(console, group)
    rest = sum(map(len, groups[show:]))
    if rest:
        say(console, f"{len(groups) - show} other changes, of {rest} programs: --show {len(groups)} shows all")


def summary(outcomes: Sequence[Outcome]) -> str:
    """All in one line."""
    counts = [(sum(each.what == what for each in outcomes), what) for what in OUTCOMES[1:]]
    some = ", ".join(f"{count:,} {what}" for count, what in counts if count)
    return f"{len(outcomes):,} programs: {some or 'all texts are the same'}"


def print_some(console: Console, what: str, lines: Sequence[str], most: int) -> None:
    """At most so many lines; the others are counted."""
    for line in lines[:most]:
        say(console, f"{what}: {line}")
    if len(lines) > most:
        say(console, f"{what}: and {len(lines) - most} others")


def print_change(console: Console, group: Sequence[Outcome]) -> None:
    """One change, and the programs that have it."""
    first, others = group[0], [title_of(each.key) for each in group[1:]]
    say(console, f"\n{title_of(first.key)}: +{first.count('+')} −{first.count('-')} lines", "bold")
    if others:
        more = f" and {len(others) - 3} others" if len(others) > 3 else ""
        say(console, f"by the same lines: {', '.join(others[:3])}{more}")
    for line in first.lines[:SHOWN_LINES]:
        say(console, line, _COLORS.get(line[:1], ""))
    if len(first.lines) > SHOWN_LINES:
        say(console, f"… {len(first.lines) - SHOWN_LINES} more lines")


def say(console: Console, line: str, style: str = "") -> None:
    """A line as it is."""
    console.print(Text(line, style), soft_wrap=True)
