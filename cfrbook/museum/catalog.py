"""The bugs, one line each, and the solvers that have them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from cfrbook.museum.mutant import mutant, replaced, source
from cfrlib import plain
from cfrlib.game import Game
from cfrlib.plain import SOLVERS, Plain

# Settings of the solver `Family` by the name that they have in `cfrlib.VARIANTS`
SETTINGS: Mapping[str, Mapping[str, float]] = {
    "cfr": {},
    "cfr+": {"alpha": inf, "beta": -inf, "gamma": 1},
    "linear": {"alpha": 1, "beta": 1, "gamma": 1},
    "dcfr": {"alpha": 1.5, "beta": 0, "gamma": 2},
    "pcfr+": {"alpha": inf, "beta": -inf, "gamma": 2, "prediction": 1},
}


@dataclass(frozen=True)
class Bug:
    """One wrong line in a solver of `cfrlib.plain`.

    Attributes
    ----------
    name : str
        A name for the bug.
    place : str
        The part of the algorithm that it is in: ``"utility"``, ``"regret"``, ``"average"``,
        ``"matching"``, ``"update"``, ``"discount"`` or ``"sampling"``.
    solver, variant : str
        The solver's class; and for the class ``"Family"`` the variant it runs.
    line, broken : str
        The line as it should be, and as it is with the bug, without indentation.
    symptom : str
        What one sees.
    source : str
        Where the book has the bug from; "planted" if nobody published it as far as we know.
    smallest : str
        The first game of `cfrbook.museum.LADDER` whose curve shows the bug, or "" if none does:
        exploitability ends up more than 1.5 times that of the right solver, or is undefined
        (experiments/bugs.py).
    caught_by : str
        The first check of `cfrbook.museum.CHECKS` that finds the bug.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrbook.museum import find
    >>> bug = find("sign lost")
    >>> print(bug.line, "->", bug.broken)
    return sign * mean -> return mean
    >>> kuhn = cfr.games.KuhnPoker()
    >>> right, wrong = bug.right(kuhn).run(300), bug.wrong(kuhn).run(300)
    >>> round(cfr.exploitability(kuhn, right), 2), round(cfr.exploitability(kuhn, wrong), 2)
    (0.01, 0.33)
    >>> "return sign * mean" in bug.source_code(), bug.compiled().__name__
    (False, 'Vanilla')
    """

    name: str
    place: str
    solver: str
    line: str
    broken: str
    symptom: str
    source: str
    smallest: str = ""
    caught_by: str = ""
    variant: str = "cfr"

    @property
    def sampled(self) -> bool:
        """Whether the solver is a Monte Carlo one."""
        return issubclass(SOLVERS[self.solver], plain.SamplingSolver)

    def right(self, game: Game, **settings: Any) -> Plain:
        """Return a new solver without the bug; `settings` are a sampler's."""
        return SOLVERS[self.solver](game, **self._settings(), **settings)

    def wrong(self, game: Game, **settings: Any) -> Plain:
        """Return a new solver with the bug; `settings` are a sampler's."""
        return self.compiled()(game, **self._settings(), **settings)

    def source_code(self) -> str:
        """Return the program with the bug: the solver's class and the classes it inherits."""
        return replaced(SOLVERS[self.solver], {self.line: self.broken})

    def compiled(self) -> type[Plain]:
        """Return the class with the bug."""
        try:
            return mutant(SOLVERS[self.solver], {self.line: self.broken})
        except ValueError as error:
            what = str(error).removeprefix("cannot replace")
            raise ValueError(f"{self.name!r} replaces{what}") from None

    def _settings(self) -> dict[str, float]:
        return dict(SETTINGS[self.variant]) if self.solver == "Family" else {}


def program(solver: str) -> str:
    """Return the source of a solver's class, after those of the classes that it inherits.

    Examples
    --------
    >>> program("Outcome").count("class ")
    3
    """
    return source(SOLVERS[solver])


SECTION = re.compile(r"^## (.+)\n(.+)\n- (.+)\n\+ (.+)\n(.+)$", re.MULTILINE)


def read(sheet: Path) -> Iterator[Bug]:
    """Yield the bugs of a sheet, which begins with a description of its form."""
    text = sheet.read_text("utf-8")
    found = SECTION.findall(text)
    if len(found) != len(re.findall("^##", text, re.MULTILINE)):
        raise ValueError(f"{sheet.name}: a section has a heading and four lines")
    for name, facts, line, broken, symptom in found:
        place, solver, variant, source, smallest, check = map(str.strip, facts.split("|"))
        lines = line, broken, symptom
        yield Bug(name, place, solver, *lines, source, smallest, check, variant)


BUGS = tuple(read(Path(__file__).with_name("bugs.md")))


def find(name: str) -> Bug:
    """Return a bug by its name.

    Parameters
    ----------
    name : str
        The name, as `BUGS` has it.

    Raises
    ------
    ValueError
        If no bug has that name; the message lists the names.

    Examples
    --------
    >>> find("sign of today").variant
    'dcfr'
    """
    for bug in BUGS:
        if bug.name == name:
            return bug
    names = ", ".join(repr(bug.name) for bug in BUGS)
    raise ValueError(f"there is no bug {name!r}; the museum has {names}")
