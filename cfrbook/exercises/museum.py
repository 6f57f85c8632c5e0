"""Exercises of the museum of bugs: a late coin, a planted bug, a bug of one's own."""

from __future__ import annotations

from functools import cache, partial
from typing import Any

from cfrbook.exercises.grading import Unreadable, as_number, pair_values
from cfrbook.exercises.shared import average, solver, strategy_sums
from cfrbook.exercises.sheet import read
from cfrbook.museum import BUGS, CHECKS, LADDER, Bug
from cfrlib.core.tree import compile
from cfrlib.evaluate import exploitability
from cfrlib.game import Chance, History, Terminal
from cfrlib.plain import Plain

ROUNDS, LONG = 50, 200  # of exercises museum.2 and museum.3
PASSED = ("value of Kuhn poker", "threshold on Kuhn poker", "deals in reverse")

# ---- museum.1 --------------------------------------------------------------------------------


def by_hand(heads: float, tails: float) -> dict[str, float]:
    """Return the answer to exercise museum.1, with these weights of the coin's sides."""
    left, right = heads + 3 * tails, 3 * heads + tails  # what player 0 wins in each hand
    caught = -(heads + tails)
    hides = (right - caught) / (left + right - 2 * caught)  # in the left hand
    return {"left": left, "right": right, "hides left": hides}


def right_but(**changes: float) -> dict[str, float]:
    """Return the answer to exercise museum.1 with changes."""
    return by_hand(3 / 4, 1 / 4) | {key.replace("_", " "): x for key, x in changes.items()}


def numbers(answer: Any) -> list[float]:
    """Return the three numbers of an answer."""
    return [as_number(x) for _, x, _ in pair_values(answer, by_hand(0.75, 0.25))]


# ---- museum.2 --------------------------------------------------------------------------------


class ValuesOfOthersReach(Plain):
    """Vanilla CFR whose traversal returns counterfactual values, as exercise museum.2 has it.

    They contain the others' reach, which is multiplied in at the ends of the game.
    """

    def iterate(self) -> None:
        """Traverse the tree for each player, then match regrets at every infoset."""
        for i in (0, 1):
            self.walk((), i, 1, 1)
        self.sigma = {I: self.match(I) for I in self.actions}

    def walk(self, h: History, i: int, own: float, others: float) -> float:
        """Return player i's counterfactual value at h; add regrets and strategies."""
        node = self.node(h)
        if isinstance(node, Terminal):
            return others * node.utilities[i]
        if isinstance(node, Chance):
            outcomes = node.probabilities.items()
            return sum(self.walk((*h, a), i, own, f * others) for a, f in outcomes)
        I, row = node.infoset, self.sigma[node.infoset]
        if node.player != i:
            return sum(self.walk((*h, a), i, own, p * others) for a, p in row.items())
        v = {a: self.walk((*h, a), i, p * own, others) for a, p in row.items()}
        mean = sum(p * v[a] for a, p in row.items())
        for a, p in row.items():
            self.R[I, a] += v[a] - mean
            self.S[I, a] += own * p
        return mean


friend = partial(solver, ValuesOfOthersReach)
COIN = "return sum(self.walk((*h, a), i, own, f * others) for a, f in outcomes)"


def averages(solve: Any) -> dict[str, list[float]]:
    """Return the average strategies of a reader's solver on two games."""
    found = {}
    for name in ("Kuhn poker", "a late coin"):
        game = LADDER[name]
        sums = strategy_sums(solve, game, ROUNDS)
        labels = compile(game).infoset_label
        found[name] = [average(sums, I)[0] for I in labels]
    return found


# ---- museum.3 --------------------------------------------------------------------------------


def invented(answer: Any) -> dict[str, float]:
    """Return which checks find a reader's bug (0 or 1), and its cost on Leduc poker."""
    keys = dict.fromkeys(("solver", "line", "broken"))
    solver, line, broken = (str(x).strip() for _, x, _ in pair_values(answer, keys))
    solver = solver.capitalize()
    if solver not in ("Vanilla", "Family"):
        raise Unreadable("the solver must be 'Vanilla' or 'Family'")
    if any((bug.line, bug.broken) == (line, broken) for bug in BUGS):
        raise Unreadable("the museum has that one already")
    return measured(solver, line, broken)


@cache
def measured(name: str, line: str, broken: str) -> dict[str, float]:
    """Return 1 for each check that finds a bug, and the factor that it costs."""
    bug = Bug("yours", "", name, line, broken, "", "")
    try:
        bug.compiled()
    except SyntaxError as error:
        raise Unreadable(f"{error.msg} (<string>, line {error.lineno})") from error
    except ValueError as error:
        raise Unreadable(str(error)) from error
    tree, game = CHECKS["tree"], LADDER["Leduc, 2 ranks"]
    wrong, right = bug.wrong(game).run(LONG), bug.right(game).run(LONG)
    found = {name: float(not tree[name](bug.wrong, bug.right)) for name in PASSED}
    return found | {"factor": exploitability(game, wrong) / exploitability(game, right)}


def hides_and_costs(found: Any) -> bool:
    """Return whether a bug passes the checks on Kuhn poker and costs a factor of two."""
    return not any(found[name] for name in PASSED) and bool(found["factor"] > 2)


def planted(line: str, broken: str) -> dict[str, str]:
    """Return an answer to exercise museum.3: a wrong line of vanilla CFR."""
    return {"solver": "Vanilla", "line": line, "broken": broken}


EXERCISES = read(__file__, globals())
