"""`Lasting`: what is shared as long as somebody has it."""

import gc
import sys

from numloom.base.lasting import Lasting, WeakValues


class Thing:
    pass


def filled(room, count):
    table = Lasting(room)
    for number in range(count):
        table.keep(number, Thing())
    return table


def test_what_somebody_has_is_found_whatever_came_since():
    table = Lasting(4)
    mine = table.keep("mine", Thing())
    for number in range(100):
        table.keep(number, Thing())
    assert table.get("mine") is mine and table.setdefault("mine", Thing()) is mine
    assert 3 <= len(table) <= 5 and len(table.values()) == len(table)
    del mine
    gc.collect()
    for number in range(8):
        table.keep(number, Thing())
    assert table.get("mine") is None


def test_what_is_not_kept_is_forgotten_when_nobody_has_it():
    table = Lasting(4)
    mine = table.setdefault("mine", Thing())
    assert table.get("mine") is mine
    del mine
    assert table.get("mine") is None and len(table) == 0


def test_it_is_crowded_when_others_have_more_than_there_is_room_for():
    table = filled(8, 100)
    assert not table.crowded()
    held = [table.keep(number, Thing()) for number in range(100)]
    assert table.crowded()
    assert not table.crowded()  # Nobody let go: to ask again would change nothing.
    for number in range(4):
        table.keep(number, Thing())
    assert table.crowded()
    held.clear()
    assert len(table) <= 8 and not table.crowded()


def test_values_are_there_as_long_as_somebody_has_them():
    class Value:
        pass

    table = WeakValues()
    one, two = Value(), Value()
    table["one"], table["two"] = one, two
    assert table.get("one") is one and "two" in table and len(table) == 2 and table.setdefault("two", one) is two
    del one
    assert table.get("one") is None and "one" not in table and table.values() == [two]
    assert len(table) == 1
    three = Value()
    assert table.setdefault("one", three) is three
    table["one"] = two  # What dies now is not what the key has.
    del three
    assert len(table) == 2 and table.get("one") is two


def test_no_line_of_python_runs_where_a_weak_value_dies():
    class Value:
        pass

    table, seen = WeakValues(), []
    kept = [Value()]
    table["key"] = kept[0]
    sys.setprofile(lambda frame, event, _: seen.append(frame.f_code.co_name) if event == "call" else None)
    kept.clear()
    sys.setprofile(None)
    assert seen == [] and len(table) == 0
