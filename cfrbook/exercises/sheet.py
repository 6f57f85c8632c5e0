"""Sheets: the exercises of a page as text.

Beside each module of helpers is a Markdown file of the same name. A section is an exercise::

    ## 4.1 By hand

    points: 2
    asks: a dictionary with 'fold' and 'call'
    answer: at_the_queen()
    right: Feedback to a correct answer.
    otherwise: Feedback to a wrong answer that matches no mistake.

    - `at_the_queen(scale=2)`, `at_the_queen(scale=3)`
      Feedback to this wrong answer.
    + `in_another_order()`
      What the feedback to this answer, which is right as well, says besides.

`asks`, `right` and `otherwise` are prose. The other fields, and the text between backticks,
are Python expressions that may use every name of the module. A line that continues another is
indented. Further fields are attributes of `Exercise`; mistakes that a field `mistakes` computes
come after those of the list.

If the numbers of an exercise depend on the student, the field `drawn` names a function that
takes the student and returns a dictionary of further names for the section; prose may contain
them in braces.
"""

from __future__ import annotations

import builtins
import dis
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType
from typing import Any

from cfrbook.exercises.grading import Exercise, Mistake

SECTION = re.compile(r"^## (\S+) (.+)\n\n((?:.+\n)+)((?:(?!## ).*\n)*)", re.MULTILINE)
FIELD = re.compile(r"^(\w+): (.+(?:\n  .+)*)", re.MULTILINE)
MISTAKE = re.compile(r"^([-+]) (`[^`]+`(?:,\s+`[^`]+`)*)\n((?:  .+\n)+)", re.MULTILINE)
PROSE = {"asks": "asks", "right": "takeaway", "otherwise": "advice"}  # attribute by field


def read(module: str, names: dict[str, Any]) -> tuple[Exercise, ...]:
    """Return the exercises of the sheet beside a module.

    Parameters
    ----------
    module : str
        The module's ``__file__``.
    names : dict
        The module's ``globals()``.

    Raises
    ------
    ValueError
        If a part of the sheet is neither a field nor a mistake.
    NameError
        If an expression uses an unknown name.
    """
    path = Path(module).with_suffix(".md")
    text = path.read_text("utf-8")
    sections = list(SECTION.finditer(text))
    if len(sections) != len(re.findall("^##", text, re.MULTILINE)):
        raise ValueError(
            f"{path.name}: after each heading comes an empty line, then the fields"
        )
    return tuple(_exercise(path.name, names, *section.groups()) for section in sections)


def number_of(sheet: Path) -> str:
    """Return the number of the first exercise of a sheet."""
    found = SECTION.search(sheet.read_text("utf-8"))
    assert found, f"{sheet} has no exercise"
    return found[1]


def _exercise(
    sheet: str, names: dict[str, Any], number: str, title: str, head: str, tail: str
) -> Exercise:
    """Return the exercise of a section."""
    place = f"{sheet}, {number}"
    fields = {key: _joined(text) for key, text in FIELD.findall(head)}
    if rest := (FIELD.sub("", head) + MISTAKE.sub("", tail)).strip():
        raise ValueError(f"{place}: neither a field nor a mistake: {rest!r}")
    variant: Callable[[str], Exercise] | None = None
    if "drawn" in fields:
        drawn = _value(place, fields.pop("drawn"), names)()

        def variant(student: str) -> Exercise:
            return build(drawn(student))

    def build(more: dict[str, Any]) -> Exercise:
        known = {**names, **more} if more else names  # in use while the module loads
        attributes: dict[str, Any] = {}
        for key, text in fields.items():
            if key in PROSE:
                attributes[PROSE[key]] = text.format(**more) if more else text
            elif key != "answer":
                attributes[key] = _value(place, text, known)()
        listed: dict[str, list[Mistake]] = {"-": [], "+": []}
        for sign, several, says in MISTAKE.findall(tail):
            for other in re.findall(r"`([^`]+)`", several):
                listed[sign].append(Mistake(_value(place, other, known), _joined(says)))
        return Exercise(
            number,
            title,
            solution=_value(place, fields["answer"], known),
            mistakes=(*listed["-"], *attributes.pop("mistakes", ())),
            also=tuple(listed["+"]),
            variant=variant,
            **attributes,
        )

    return variant("0") if variant else build({})


def _joined(text: str) -> str:
    """Return a text on one line."""
    return " ".join(text.split())


def _value(place: str, expression: str, names: dict[str, Any]) -> Callable[[], Any]:
    """Return a function that evaluates an expression; its names must be known."""
    code = compile(_joined(expression), place, "eval")
    for name in _globals(code):
        if name not in names and not hasattr(builtins, name):
            raise NameError(f"{place}: the name {name!r} in {expression!r} is unknown")
    return lambda: eval(code, names)


def _globals(code: CodeType) -> Iterator[str]:
    """Yield the global names that an expression uses, also in functions it defines."""
    for step in dis.get_instructions(code):
        if step.opname in ("LOAD_NAME", "LOAD_GLOBAL"):
            yield step.argval
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _globals(constant)
