"""The pages that tell contributors what to write are done as they stand, in a copy of the tree (`tools/howtos.py`)."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tools"))

import howtos

PAGES = sorted((howtos.ROOT / "docs").glob("add-*.md"))

PAGE = """
# Adding a dish

In `menu.py`, after the line `"soup",`:

```py
"salad",
"stew",
```

In `menu.py`, before the line `__all__ = ...`:

```py
def price() -> int:
    return 3
```

At the end of `menu.py`:

```py
LAST = price()
```

    this is for the reader alone

## Then

```sh
python -c "import menu; print(menu.DISHES, menu.LAST)"
```
"""
MENU = 'DISHES = [\n    "soup",\n]\n__all__ = ["DISHES"]\n'


@pytest.fixture
def kitchen(tmp_path: Path) -> Path:
    (tmp_path / "menu.py").write_text(MENU)
    return tmp_path


def fails(page: str, tree: Path) -> str:
    with pytest.raises(howtos.HowtoError) as error:
        howtos.follow(page, tree)
    return str(error.value)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="pages have commands of a POSIX shell")
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_is_done_as_it_stands(page: Path, tmp_path: Path) -> None:
    howtos.copy(tmp_path)
    assert not [*tmp_path.rglob("*.so")], "the copy runs uncompiled"
    howtos.follow(page.read_text(encoding="utf-8"), tmp_path)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_ends_with_commands(page: Path) -> None:
    last = list(howtos.steps(page.read_text(encoding="utf-8")))[-1]
    assert not last.file and "python -m pytest" in last.text


def test_text_goes_where_the_page_says(kitchen: Path) -> None:
    assert howtos.follow(PAGE, kitchen) == "['soup', 'salad', 'stew'] 3\n"
    assert (kitchen / "menu.py").read_text() == (
        'DISHES = [\n    "soup",\n    "salad",\n    "stew",\n]\n\n\n'
        'def price() -> int:\n    return 3\n\n\n__all__ = ["DISHES"]\n\n\nLAST = price()\n'
    )


def test_a_line_is_replaced(kitchen: Path) -> None:
    howtos.follow('In `menu.py`, instead of the line `"soup",`:\n\n```py\n"pie",\n```\n', kitchen)
    assert (kitchen / "menu.py").read_text() == MENU.replace("soup", "pie")


def test_a_page_that_is_wrong_says_where(kitchen: Path) -> None:
    assert fails(PAGE.replace('"soup"', '"sup"'), kitchen) == 'menu.py has no line `"sup",`'
    assert fails(PAGE.replace("menu.py", "card.py"), kitchen) == "there is no file card.py"
    assert "but 'Somewhere:' stands before it:\nLAST" in fails(
        PAGE.replace("At the end of `menu.py`", "Somewhere"), kitchen
    )
    (kitchen / "menu.py").write_text(MENU.replace("]\n_", '    "soup",\n]\n_'))
    assert fails(PAGE, kitchen) == 'menu.py has 2 lines `"soup",`'


def test_a_command_that_fails_shows_what_it_printed(kitchen: Path) -> None:
    assert "exit status 1 of\npython -c" in (told := fails(PAGE.replace("menu.LAST", "menu.FIRST"), kitchen))
    assert "has no attribute 'FIRST'" in told
    # Also where another command follows, and where pytest finds no test.
    assert "exit status 7 of" in fails("```sh\npython -c 'exit(7)'\necho done\n```\n", kitchen)
    assert "exit status 5 of" in fails("```sh\npython -m pytest menu.py -k salad\n```\n", kitchen)
