"""``python -m numloom``: the command line."""

from __future__ import annotations

from numloom.command.main import main

if __name__ == "__main__":
    raise SystemExit(main())
