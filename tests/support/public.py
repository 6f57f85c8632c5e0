"""The public names: `__all__` of the public modules, and the pages that document them."""

from __future__ import annotations

import importlib
import inspect
import re
from contextlib import suppress
from functools import reduce
from pathlib import Path
from typing import Any

PAGES = sorted((Path(__file__).parents[2] / "book").glob("api*.md"))
MODULES = (
    "cfrlib",
    "cfrlib.games",
    "koikoi",
    "koikoi.learners",
    "cfrlib.interop",
    "cfrlib.deep",
    "cfrbook.plot",
    "cfrbook.explore",
    "cfrbook.exercises",
    "cfrbook.museum",
    "cfrlib.subgames",
    "cfrlib.last_iterate",
)
ENTRY = re.compile(r"^\.\. auto(\w+):: ([\w.]+)(?:\(.*\))?\n((?:   :.*\n)*)", re.MULTILINE)


def names() -> list[str]:
    """Return the name of every public object once, in the first module that exports it."""
    found: dict[int, str] = {}
    for module in MODULES:
        for name in importlib.import_module(module).__all__:
            thing = getattr(importlib.import_module(module), name)
            if not inspect.ismodule(thing):
                found.setdefault(id(thing), f"{module}.{name}")
    return sorted(found.values())


def resolve(path: str) -> Any:
    """Return the object with a dotted name."""
    parts = path.split(".")
    for n in range(len(parts) - 1, 0, -1):  # a module may have the name of its function
        with suppress(ImportError, AttributeError):
            return reduce(getattr, parts[n:], importlib.import_module(".".join(parts[:n])))
    raise ImportError(f"there is no {path}")


def methods() -> list[tuple[str, str]]:
    """Return (class, method) for each method that the pages document."""
    found = []
    for kind, path, options in ENTRY.findall("".join(p.read_text("utf-8") for p in PAGES)):
        shown = re.search(r":members:(.*)", options)
        if kind == "class" and shown:
            cls = resolve(path)
            listed = [name.strip() for name in shown[1].split(",")] if shown[1] else vars(cls)
            found += [
                (path, name)
                for name in listed
                if not name.startswith("_") and inspect.isroutine(getattr(cls, name))
            ]
    return found
