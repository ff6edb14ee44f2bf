"""Members of the array's class that modules above it give, also where the class is compiled."""

from __future__ import annotations

from typing import Any

from numloom.base.tracebacks import public

try:
    from numloom.array._type import set_member as set_compiled  # type: ignore[import-not-found]
except ImportError:
    set_compiled = None


def set_member(kind: type, name: str, member: Any) -> Any:
    """Give a class a method or a property, or take it away (None); what was there before."""
    before = kind.__dict__.get(name)
    member = public(member)
    if set_compiled is not None:
        set_compiled(kind, name, member)
    elif member is None:
        delattr(kind, name)
    elif name != "__class__":  # Of a class written in Python that would be the class's own; it goes without.
        setattr(kind, name, member)
    return before


__all__ = ["set_member"]
