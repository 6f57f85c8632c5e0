"""Programs that readers write themselves: run on small games, and compared with plain ones.

The right program and the museum's bugs run as the reader's does, and give numbers in the same
form. So an answer whose numbers are those of a bug has that bug, however it is written.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache, partial
from random import Random
from typing import Any

from cfrbook.exercises.grading import (
    Mistake,
    Mistaken,
    Unreadable,
    as_list,
    as_number,
    require_function,
    shortened,
)
from cfrbook.museum import BUGS, TwoBets, mutant
from cfrlib.game import Action, Decision, Game, History, Terminal
from cfrlib.games import KuhnPoker
from cfrlib.montecarlo import every_path
from cfrlib.plain import SOLVERS, Row, SamplingSolver, shares

ITERATIONS = 3  # enough for every bug, and too few for a tie in Kuhn poker
Actions = tuple[Action, ...]
Rows = dict[str, Row]  # by infoset
Choose = Callable[[Mapping[Any, float]], Any]

LOOK = {  # what the line of a bug does, by its place
    "utility": "computes or returns the utility of a history",
    "regret": "adds to the regrets, or passes the reach on",
    "average": "collects the average strategy, or divides it",
    "matching": "makes regrets into a strategy",
    "update": "decides what is updated, and when",
    "discount": "stores a regret in the table of sums",
    "sampling": "samples an action, or makes up for its being sampled",
}


def small_games() -> dict[str, Game]:
    """Return the games on which programs are compared."""
    return {"Kuhn poker": KuhnPoker(), "two bets": TwoBets()}


def planted(
    solver: str, form: Callable[..., Any], *others: str, without: tuple[str, ...] = ()
) -> tuple[Mistake, ...]:
    """Return the museum's bugs in a program that readers write.

    Parameters
    ----------
    solver : str
        A name of `cfrlib.plain.SOLVERS`; all bugs of this solver count.
    form : callable
        Makes a class of `cfrlib.plain` into a program as readers write it.
    *others : str
        Bugs of other solvers that can be planted as well.
    without : sequence of str
        Bugs that change no number of this program, or the same ones as another bug.

    Examples
    --------
    >>> from cfrbook.exercises.written import learner
    >>> len(planted("Vanilla", learner))
    15
    """
    named = [bug for bug in BUGS if bug.solver == solver or bug.name in others]
    return tuple(
        Mistake(
            partial(lambda bug: form(mutant(SOLVERS[solver], {bug.line: bug.broken})), bug),
            f"Your numbers are those of a program with the bug “{bug.name}”, which is in the "
            f"museum of bugs. In your program, look at the line that {LOOK[bug.place]}.",
        )
        for bug in named
        if bug.name not in without
    )


# ---- tables ----------------------------------------------------------------------------------


def infosets(game: Game) -> dict[str, Actions]:
    """Return the actions of each infoset of a small game, by its label."""
    found: dict[str, Actions] = {}
    left: list[History] = [()]
    for h in left:
        node = game.node(h)
        if isinstance(node, Decision):
            found[node.infoset] = tuple(node.actions)
        if not isinstance(node, Terminal):
            left += [(*h, a) for a in node.actions]
    return found


def table(found: Any, actions: Mapping[str, Actions], partly: bool = False) -> Rows:
    """Return a reader's table as a row of numbers for each infoset.

    Its keys are infosets, or pairs of an infoset and an action; with `partly`, what it lacks
    is 0.
    """
    if not isinstance(found, Mapping):
        raise Unreadable(f"your function returns {shortened(found)} where a table belongs")
    rows = {}
    for I, A in actions.items():
        row = found[I] if I in found else {a: found[I, a] for a in A if (I, a) in found}
        if not isinstance(row, Mapping):
            row = dict(zip(A, as_list(row, len(A)), strict=True))
        if not partly and set(A) - set(row):
            raise Unreadable(f"your table has no row for the infoset {I!r}, or not all of it")
        rows[I] = {a: as_number(row.get(a, 0.0)) for a in A}
    return rows


def strategy(found: Any, game: Game) -> Rows:
    """Return a reader's strategy, each row of which must add up to 1.

    Where negative regrets are divided by a sum that is 0 but for rounding, all is rounding.
    """
    rows = table(found, infosets(game))
    if any(abs(x) > 1e6 for row in rows.values() for x in row.values()):
        return {I: dict.fromkeys(row, math.inf) for I, row in rows.items()}
    for I, row in rows.items():
        if abs(sum(row.values()) - 1) > 1e-9:
            raise Mistaken(
                f"At the infoset {I!r} your strategy adds up to {sum(row.values()):.4g}. "
                "Divide the sums of an infoset by their total, once, at the end."
            )
    return rows


def uneven(actions: Mapping[str, Actions], seed: int = 1) -> Rows:
    """Return a strategy with different positive probabilities, some of them small."""
    rng = Random(seed)
    return {I: shares({a: 0.02 + rng.random() ** 2 for a in A}) for I, A in actions.items()}


# ---- programs that visit the whole tree ------------------------------------------------------


def learner(solver: Callable[..., Any], **settings: float) -> Callable[[Game, int], Rows]:
    """Return a plain solver as readers write it: a function that returns an average."""
    return lambda game, iterations: solver(game, **settings).run(iterations)


def averages(learn: Any) -> dict[str, Rows]:
    """Return a reader's average strategies after a few iterations."""
    require_function(learn)
    return {
        name: strategy(learn(game, ITERATIONS), game) for name, game in small_games().items()
    }


# ---- walks that sample -----------------------------------------------------------------------


def walker(solver: type[SamplingSolver]) -> Callable[..., Any]:
    """Return a plain sampler as readers write it: a function that runs one walk."""
    made = cache(solver)  # not once more for each path

    def walk(game: Game, i: int, sigma: Rows, choose: Choose, **settings: int) -> Any:
        run: Any = made(game, **settings)
        run.match, run.draw = sigma.__getitem__, choose
        run.R.clear()
        run.S.clear()
        run.walk((), i)
        return run.R, run.S

    return walk


def every_walk(walk: Any, game: Game, i: int, **settings: int) -> Iterator[tuple[float, Any]]:
    """Yield the probability of each path of a reader's walk, and the two tables returned."""
    actions, asked = infosets(game), []

    def one(choose: Choose) -> Any:
        def counted(weights: Any) -> Any:
            asked.append(True)
            return choose(weights)

        return walk(game, i, uneven(actions), counted, **settings)

    for p, both in every_path(one):
        yield p, [table(part, actions, partly=True) for part in as_list(both, 2)]
    if not asked:
        raise Mistaken("Your walk never calls `choose`, so it samples nothing.")


def increments(walk: Any, **settings: int) -> dict[str, Any]:
    """Return what a reader's walks add to both tables, on average over all random paths.

    The mean square of the regrets depends on which actions are sampled, and which expanded.
    """
    require_function(walk)
    found: dict[str, Any] = {}
    for name, game in small_games().items():
        parts = ("regrets", "sums")
        means: Any = {part: table({}, infosets(game), partly=True) for part in parts}
        square = 0.0
        for i in (0, 1):
            for p, both in every_walk(walk, game, i, **settings):
                for part, rows in zip(parts, both, strict=True):
                    for I, row in rows.items():
                        for a, x in row.items():
                            means[part][I][a] += p * x
                square += p * sum(x * x for row in both[0].values() for x in row.values())
        found[name] = {**means, "mean square": square}
    return found


def some_increments(walk: Any) -> dict[str, Any]:
    """Return the increments of a walk that tries k of its traverser's actions."""
    return {f"k = {k}": increments(walk, k=k) for k in (1, 2)}
