"""Five classic projects: Blotto, Kuhn poker, Dudo, Leduc poker, and a player who forgets."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from itertools import groupby, permutations, product
from typing import Any

import numpy as np

from cfrbook.exercises import find
from cfrbook.exercises.forgetting import (
    FORGET_WEATHER,
    Merged,
    Outcome,
    Weather,
    best_guarantee,
    forgetful,
)
from cfrbook.exercises.grading import (
    Mistaken,
    Unreadable,
    as_number,
    entries,
    normalized,
    shortened,
)
from cfrbook.exercises.shared import as_rows, fresh, knows_own_card
from cfrbook.exercises.sheet import read
from cfrbook.exercises.written import infosets, table
from cfrlib import games
from cfrlib.cfr import CFR
from cfrlib.core.tree import Floats, Tree, compile
from cfrlib.evaluate import expected_utility, exploitability, solve_lp
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal, history_label
from cfrlib.solve import solve
from cfrlib.strategy import Strategy

Rows = Mapping[str, Mapping[Any, float]]

# ---- reading ---------------------------------------------------------------------------------


def part(answer: object, key: str) -> Any:
    """Return the value of a key of an answer."""
    if not isinstance(answer, Mapping):
        raise Unreadable("yours is not a dictionary")
    found = [value for name, value in answer.items() if normalized(name) == key]
    if not found:
        raise Unreadable(f"{key!r} is missing: the keys here are {shortened(list(answer))}")
    return found[0]


def zero_sum_tree(game: object) -> Tree:
    """Compile a reader's game, which must be a zero-sum game for two players."""
    if not isinstance(game, Game):
        raise Unreadable("'game' is not an object of a class that inherits from cfr.Game")
    try:
        tree = compile(game)
    except ValueError as error:
        raise Unreadable(f"the rules are invalid: {error}") from error
    if tree.num_players != 2:
        raise Unreadable(f"your game has {tree.num_players} players, not 2")
    if not tree.zero_sum:
        k = int(np.abs(tree.utility.sum(axis=1)).argmax())
        raise Unreadable(
            "your game is not zero-sum: at the end "
            f"'{history_label(tree.history(k))}' it pays {tuple(tree.utility[k].tolist())}, "
            "and what one player wins the other loses"
        )
    return tree


def quality(game: Game, strategy: Any, bar: float) -> str:
    """Classify a strategy as uniform, solved or exploitable."""
    if not isinstance(strategy, Mapping):
        raise Unreadable("'strategy' is not a dictionary of infosets")
    if not isinstance(strategy, Strategy) or strategy.game is not game:
        strategy = Strategy(game, as_rows(game, strategy))
    if strategy.max_difference(Strategy.uniform(game)) < 1e-6:
        return "uniform"
    return "solved" if exploitability(game, strategy) < bar else "exploitable"


# ---- 1: Colonel Blotto -----------------------------------------------------------------------

Division = tuple[int, ...]
BLOTTO_BAR = 0.02
DIVISIONS: tuple[Division, ...] = tuple(
    d for d in product(range(5, -1, -1), repeat=3) if sum(d) == 5
)


def battle(mine: Division, theirs: Division) -> int:
    """Return 1 if the first division takes more battlefields, -1 if the second does."""
    return int(np.sign(np.sign(np.subtract(mine, theirs)).sum()))


def battlefields_won(mine: Division, theirs: Division) -> int:
    """Return the number of battlefields that the first division wins: a mistake."""
    return int((np.subtract(mine, theirs) > 0).sum())


def winner_only(mine: Division, theirs: Division) -> int:
    """Return 1 if the first division takes more battlefields, else 0: a mistake."""
    return max(battle(mine, theirs), 0)


def tie_lost(mine: Division, theirs: Division) -> int:
    """Return -1 also for a tie: a mistake."""
    return 1 if battle(mine, theirs) > 0 else -1


Payoff = Callable[[Division, Division], int]


@cache
def blotto_equilibrium(wanted: str = "") -> tuple[float, Floats]:
    """Return the largest probability of a shape in any equilibrium, and such an equilibrium."""
    from scipy.optimize import linprog

    table = games.ColonelBlotto().row_payoffs
    cost = np.array([-float(shape(d) == wanted) for d in DIVISIONS])
    found = linprog(
        cost,
        A_ub=-table.T,
        b_ub=np.full(len(cost), 1e-9),
        A_eq=np.ones((1, len(cost))),
        b_eq=[1],
    )
    if not found.success or found.fun is None:
        raise RuntimeError(found.message)
    return -float(found.fun), np.asarray(found.x)


def shape(division: Any) -> str:
    """Return the sorted numbers of a division, such as '3-1-1'.

    Examples
    --------
    >>> shape((1, 3, 1)), shape("0-2-3")
    ('3-1-1', '3-2-0')
    """
    return "-".join(map(str, sorted(as_division(division), reverse=True)))


def as_division(name: Any) -> Division:
    """Convert a division from a tuple, a list or a string."""
    try:
        found = tuple(
            int(n) for n in (name.split("-") if isinstance(name, str) else entries(name))
        )
    except (TypeError, ValueError):
        raise Unreadable(f"{shortened(name)} is not a division such as (3, 1, 1)") from None
    return found


@cache
def equilibrium_shapes() -> frozenset[str]:
    """Return the shapes that have positive probability in some equilibrium."""
    shapes = sorted({shape(d) for d in DIVISIONS})
    return frozenset(s for s in shapes if blotto_equilibrium(s)[0] > 1e-6)


def blotto_answer(payoff: Payoff = battle) -> dict[str, object]:
    """Return the answer of a reader with these payoffs."""
    plan = blotto_equilibrium()[1]
    return {
        "divisions": list(DIVISIONS),
        "payoff": payoff,
        "strategy": dict(zip(DIVISIONS, plan, strict=True)),
        "shapes": set(equilibrium_shapes()),
    }


def blotto_values(answer: object) -> dict[str, object]:
    """Return the number of errors in each part, and the quality of the strategy."""
    listed = [as_division(d) for d in entries(part(answer, "divisions"))]
    payoff = part(answer, "payoff")
    if not callable(payoff):
        raise Unreadable("'payoff' is not a function of two divisions")
    pairs = list(product(DIVISIONS, repeat=2))
    wrong = sum(abs(as_number(payoff(a, b)) - battle(a, b)) > 1e-9 for a, b in pairs)
    return {
        "divisions": len(set(listed) ^ set(DIVISIONS)) + len(listed) - len(set(listed)),
        "payoff": wrong,
        "strategy": blotto_quality(part(answer, "strategy")),
        "shapes": {shape(d) for d in entries(part(answer, "shapes"))},
    }


def blotto_quality(strategy: Any) -> str:
    """Classify a mixed strategy as uniform, pure, solved or exploitable."""
    if not isinstance(strategy, Mapping):
        raise Unreadable("'strategy' is not a dictionary from division to probability")
    plan = dict.fromkeys(DIVISIONS, 0.0)
    for division, p in strategy.items():
        name = as_division(division)
        if name not in plan:
            raise Unreadable(f"{shortened(division)} is not a division of five soldiers")
        plan[name] += as_number(p)
    x = np.array(list(plan.values()))
    if x.min() < -1e-9 or abs(x.sum() - 1) > 1e-3:
        raise Unreadable(f"the probabilities of 'strategy' add up to {x.sum():.4g}")
    if np.ptp(x) < 1e-6:
        return "uniform"
    if x.max() > 1 - 1e-6:
        return "pure"
    loss = -(x @ games.ColonelBlotto().row_payoffs).min()
    return "solved" if loss < BLOTTO_BAR else "exploitable"


# ---- 2: Kuhn poker ---------------------------------------------------------------------------

KUHN_BAR = 0.01
ROUNDS = 2_000  # of a reader's learner


class Kuhn(Game):
    """Kuhn poker as a reader may write it, optionally with typical mistakes.

    Parameters
    ----------
    sees : str
        Cards in an infoset label: ``"own"``, ``"other's"``, ``"both"`` or ``"none"``.
    folding, called : int
        Stakes after a fold, and after a bet and a call.
    """

    def __init__(self, sees: str = "own", folding: int = 1, called: int = 2):
        self.sees, self.folding, self.called = sees, folding, called

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if not h:
            deals = list(permutations("JQK", 2))
            return Chance(dict.fromkeys(deals, 1 / len(deals)))
        cards, moves = h[0], h[1:]
        i = len(moves) % 2
        if (len(moves) > 1 and moves[-1] == "pass") or moves[-2:] == ("bet", "bet"):
            higher = 1 if "JQK".index(cards[i]) > "JQK".index(cards[1 - i]) else -1
            gain = self.called * higher if moves[-1] == "bet" else self.folding
            if moves == ("pass", "pass"):
                gain = higher
            return Terminal((gain, -gain) if i == 0 else (-gain, gain))
        seen = {"own": cards[i], "other's": cards[1 - i], "both": "".join(cards)}
        return Decision(i, f"{i} {seen.get(self.sees, '?')} {' '.join(moves)}", ("pass", "bet"))


def openings(game: Game, strategy: Rows) -> list[float]:
    """Return the probabilities with which the jack, the queen and the king open with a bet.

    Whatever their names, cards are identified by their expected utility in uniform play, and
    the bet by its higher stakes.
    """
    earned: dict[str, float] = {}
    staked: dict[tuple[str, Any], float] = {}

    def walk(h: History, p: float, first: tuple[str, Any] | None) -> None:
        node = game.node(h)
        if isinstance(node, Terminal):
            if first is not None:
                earned[first[0]] = earned.get(first[0], 0.0) + p * node.utilities[0]
                staked[first] = staked.get(first, 0.0) + p * abs(node.utilities[0])
        elif isinstance(node, Chance):
            for a, q in node.probabilities.items():
                walk(game.step(h, a), p * q, first)
        else:
            for a in node.actions:
                walk(game.step(h, a), p / len(node.actions), first or (node.infoset, a))

    walk(game.root(), 1.0, None)
    found = []
    for label in sorted(earned, key=earned.__getitem__):
        bet = max(strategy[label], key=lambda a: staked[label, a])
        found.append(as_number(strategy[label][bet]))
    return found


@cache
def kuhn_solution(game: Game) -> tuple[Any, Any]:
    """Return the average and the current strategy after 2,000 iterations of CFR."""
    run = CFR(game).run(2_000, progress=False).solution()
    return run.strategy, run.current


def kuhn_answer(game: Game, current: bool = False, card: int = 0) -> dict[str, object]:
    """Return the answer of a reader with this game; alpha is the opening bet of `card`."""
    strategy = kuhn_solution(game)[int(current)]
    alpha = openings(game, strategy)[card]
    return {"game": game, "strategy": dict(strategy), "alpha": alpha}


def kuhn_and(alpha: Callable[[float], float]) -> dict[str, object]:
    """Return the answer of a reader with another alpha."""
    right = kuhn_answer(KUHN)
    return right | {"alpha": alpha(as_number(right["alpha"]))}


def kuhn_values(answer: object) -> dict[str, object]:
    """Return the size and value of a game, and the quality of its strategy."""
    game, strategy = fresh(part(answer, "game")), part(answer, "strategy")
    tree = zero_sum_tree(game)
    if callable(strategy):  # a learner, which has to be right on other games as well
        checked = find("4.7").check(strategy)
        if not checked.right:
            raise Mistaken(f"The learner under 'strategy': {checked.text}")
        strategy = table(strategy(game, ROUNDS), infosets(game))
    value = solve_lp(game).value
    level = quality(game, strategy, KUHN_BAR)
    opens = openings(game, strategy)
    family = len(opens) == 3 and abs(opens[2] - 3 * opens[0]) < 0.1 and opens[1] < 0.05
    known = level == "solved" and abs(value - solve_lp(games.KuhnPoker()).value) < 1e-6
    return {
        "histories": tree.num_histories,
        "ends": tree.num_terminals,
        "infosets": tree.num_infosets,
        "labels": knows_own_card(game),
        "uniform play": float(expected_utility(game, Strategy.uniform(game))[0]),
        "value": value,
        "strategy": level,
        "family": not known or family,  # checked only for solutions of Kuhn poker
        "alpha": as_number(part(answer, "alpha")) - opens[0],
    }


KUHN = Kuhn()
PEEKING, BLIND, CROSSED = Kuhn("both"), Kuhn("none"), Kuhn("other's")
COSTLY, CHEAP = Kuhn(folding=2), Kuhn(called=1)

# ---- 3: Dudo ---------------------------------------------------------------------------------

DUDO_BAR = 0.005


class Dudo(Game):
    """Dudo with one die for each player, optionally with typical mistakes.

    Parameters
    ----------
    faces : int
        Number of faces of a die.

    Attributes
    ----------
    wild : bool
        Whether ones count as every rank.
    ones_first : bool
        Whether claims of ones are the lowest of their number.
    more : bool
        Whether a true claim needs more dice than its number.
    """

    wild, ones_first, more = True, False, False

    def __init__(self, faces: int = 6):
        self.faces = faces
        ranks = [*range(2, faces + 1)]
        ranks = [1, *ranks] if self.ones_first else [*ranks, 1]
        self.claims = [(n, rank) for n in (1, 2) for rank in ranks]

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if not h:
            rolls = list(product(range(1, self.faces + 1), repeat=2))
            return Chance(dict.fromkeys(rolls, 1 / len(rolls)))
        roll, claims = h[0], h[1:]
        i = len(claims) % 2
        if claims and claims[-1] == "dudo":
            n, rank = claims[-2]
            count = sum(die == rank or (self.wild and die == 1) for die in roll)
            gain = 1 if count >= n + self.more else -1  # of the player who made the claim
            return Terminal((gain, -gain) if i == 0 else (-gain, gain))
        if not claims:
            return Decision(0, f"0 {roll[0]}", tuple(self.claims))
        higher = self.claims[self.claims.index(claims[-1]) + 1 :]
        past = " ".join(f"{n}x{rank}" for n, rank in claims)
        return Decision(i, f"{i} {roll[i]} {past}", (*higher, "dudo"))


class NothingWild(Dudo):
    """Dudo in which ones count only as ones."""

    wild = False


class OnesFirst(Dudo):
    """Dudo in which claims of ones are the lowest of their number."""

    ones_first = True


class MoreThan(Dudo):
    """Dudo in which a true claim needs more dice than its number."""

    more = True


@cache
def dudo_solution() -> Any:
    """Solve Dudo by CFR+; compiling the tree takes most of the few seconds."""
    return solve(Dudo(), "cfr+", 300, progress=False)


def matching_faces() -> dict[int, int]:
    """Return the face of `LiarsDice` with the same rank, for each face of Dudo."""
    order = [rank for _, rank in Dudo().claims[:6]]
    return dict(zip(order, range(1, 7), strict=True))


def dudo_answer(rules: type[Dudo] = Dudo, **changed: object) -> dict[str, object]:
    """Return the answer of a reader with these rules."""
    solution = dudo_solution()
    return {
        "game": rules,
        "infosets": compile(solution.game).num_infosets,
        "value": solution.value,
        "strategy": solution.strategy,
        "twin": matching_faces(),
    } | changed


def dudo_values(answer: object) -> dict[str, object]:
    """Return sizes and values of small games, and the quality of the strategy for six faces."""
    rules = part(answer, "game")
    if isinstance(rules, Game) or not callable(rules):
        raise Unreadable("'game' is neither a class nor a function of a number of faces")
    small = [zero_sum_tree(rules(faces)) for faces in (3, 4)]
    values = [solve_lp(tree.game).value for tree in small]
    strategy = part(answer, "strategy")
    game = strategy.game if isinstance(strategy, Strategy) else rules(6)
    tree, answered = zero_sum_tree(game), as_number(part(answer, "value"))
    if isinstance(strategy, Mapping):
        strategy = Strategy(game, as_rows(game, strategy))
    value = float(expected_utility(game, strategy)[0])
    return {
        "histories with 3 and 4 faces": [tree.num_histories for tree in small],
        "values with 3 and 4 faces": values,
        "histories": tree.num_histories,
        "infosets": as_number(part(answer, "infosets")) - tree.num_infosets,
        "value": bool(abs(answered - value) < DUDO_BAR),
        "strategy": quality(game, strategy, DUDO_BAR),
        "twin": count_differences(part(answer, "twin")),
    }


def count_differences(faces: Any) -> int:
    """Count the differences between Dudo and liar's dice with renamed faces."""
    ranks = range(1, 7)
    try:
        to = {int(a): int(b) for a, b in dict(faces).items()}
    except (TypeError, ValueError):
        raise Unreadable("'twin' is not a dictionary from face to face") from None
    if set(to) != set(ranks) or set(to.values()) != set(ranks):
        raise Unreadable("'twin' does not give each of the faces 1 to 6 a face of its own")
    dudo, liar = Dudo(), games.LiarsDice()
    bids = [f"{n}x{to[rank]}" for n, rank in dudo.claims]
    wrong = sum(a != b for a, b in zip(bids, liar.bids, strict=True))
    for roll in product(ranks, repeat=2):
        renamed = tuple(str(to[die]) for die in roll)
        for claim, bid in zip(dudo.claims, bids, strict=True):
            a, b = dudo.node((roll, claim, "dudo")), liar.node((renamed, bid, "liar"))
            assert isinstance(a, Terminal) and isinstance(b, Terminal)
            wrong += a.utilities[0] != b.utilities[0]
    return wrong


# ---- 4: Leduc poker --------------------------------------------------------------------------

LEDUC_BAR = 0.001
DECK = ("J♠", "J♥", "Q♠", "Q♥", "K♠", "K♥")


class Leduc(Game):
    """Leduc poker as a reader may write it, optionally with typical mistakes.

    Parameters
    ----------
    bets : pair of int
        Size of a bet or raise in the two rounds.
    pairs : bool
        Whether a pair with the public card beats any other hand.
    raises : int
        Number of bets and raises allowed in a round.
    """

    def __init__(self, bets: Sequence[int] = (2, 4), pairs: bool = True, raises: int = 2):
        self.bets, self.pairs, self.raises = bets, pairs, raises

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if not h:
            deals = list(permutations(DECK, 2))
            return Chance(dict.fromkeys(deals, 1 / len(deals)))
        cards, past = h[0], h[1:]
        public = next((a for a in past if a in DECK), None)
        rounds = [list(g) for card, g in groupby(past, DECK.__contains__) if not card]
        if public is not None and past[-1] == public:
            rounds.append([])
        paid = [1, 1]
        for bet, moves in zip(self.bets, rounds, strict=False):
            for n, move in enumerate(moves):
                if move in ("call", "raise"):
                    paid[n % 2] = max(paid)
                if move == "raise":
                    paid[n % 2] += bet
        current = rounds[-1] if rounds else []
        i = len(current) % 2
        if current and current[-1] == "fold":
            return Terminal((paid[1], -paid[1]) if i == 0 else (-paid[0], paid[0]))
        if len(current) > 1 and current[-1] == "call":
            if public is None:
                rest = [card for card in DECK if card not in cards]
                return Chance(dict.fromkeys(rest, 1 / len(rest)))
            return self.showdown(cards, public, paid[0])
        actions = ["fold"] if current and current[-1] == "raise" else []
        actions += ["call"] + ["raise"] * (current.count("raise") < self.raises)
        return Decision(i, f"{i} {cards[i]} {' '.join(past)}", tuple(actions))

    def showdown(self, cards: Sequence[str], public: str, stake: int) -> Terminal:
        """Return the node at which the better hand wins the stake."""
        strength = [
            (self.pairs and card[0] == public[0], "JQK".index(card[0])) for card in cards
        ]
        gain = stake * ((strength[0] > strength[1]) - (strength[0] < strength[1]))
        return Terminal((gain, -gain))


@cache
def leduc_solution(game: Leduc, variant: str, iterations: int) -> Any:
    """Solve one of the games below; the solution is cached."""
    return solve(game, variant, iterations, progress=False)


def leduc_answer(game: Leduc, measure: str = "exploitability") -> dict[str, object]:
    """Return the answer of a reader with this game."""
    best = leduc_solution(game, "cfr+", 1_000)
    return {
        "game": game,
        "value": best.value,
        "CFR": getattr(leduc_solution(game, "cfr", 100), measure),
        "CFR+": getattr(leduc_solution(game, "cfr+", 100), measure),
        "strategy": best.strategy,
    }


def leduc_and(**changes: object) -> dict[str, object]:
    """Return the right answer with changes; `plus` stands for CFR+."""
    names = {"plus": "CFR+"}
    return leduc_answer(LEDUC) | {names.get(key, key): x for key, x in changes.items()}


def leduc_values(answer: object) -> dict[str, object]:
    """Return values that identify the rules, and the errors of the numbers for this game."""
    game = fresh(part(answer, "game"))
    tree = zero_sum_tree(game)
    uniform = Strategy.uniform(game)
    best = solve(game, "cfr+", 1_000, progress=False)
    return {
        "infosets": "fit" if tree.num_infosets in leduc_sizes() else "do not fit",
        "uniform": [float(expected_utility(game, uniform)[0]), exploitability(game, uniform)],
        "value": as_number(part(answer, "value")) - best.value,
        **{
            name: as_number(part(answer, name))
            - solve(game, name, 100, progress=False).exploitability
            for name in ("cfr", "cfr+")
        },
        "strategy": quality(game, part(answer, "strategy"), LEDUC_BAR),
    }


@cache
def leduc_sizes() -> tuple[int, ...]:
    """Return the numbers of infosets with and without suits."""
    both = (games.LeducPoker(merge_suits=merged) for merged in (False, True))
    return tuple(compile(game).num_infosets for game in both)


LEDUC = Leduc()
SMALL_BETS, NO_PAIRS, THREE_RAISES = Leduc(bets=(2, 2)), Leduc(pairs=False), Leduc(raises=3)

# ---- 5: a player who forgets -----------------------------------------------------------------

MERGED = 1_000  # iterations
GAP = 0.1  # least distance of the average strategy below the best guarantee


@cache
def kuhn_merged(merge: tuple[tuple[str, str], ...]) -> tuple[float, Outcome]:
    """Return the best guarantee in an abstraction of Kuhn poker, and the outcome of CFR."""
    return best_guarantee(dict(merge)), Merged(games.KuhnPoker(), dict(merge)).outcome(MERGED)


@cache
def regret_in_rain(factor: float) -> str:
    """Return whether the regret of a player who forgets the weather falls or stays."""
    if not 0.5 <= abs(factor) <= 10:
        raise Unreadable(
            f"the absolute value of the factor {factor:g} is not between 1/2 and 10"
        )
    early, late = (
        Merged(Weather(factor), FORGET_WEATHER).outcome(iterations).regret
        for iterations in (MERGED // 4, MERGED)
    )
    return "falls" if late < 0.75 * early else "stays"


def forgetting_answer(
    merge: Mapping[str, str], factors: tuple[float, float] = (2.0, -1.0)
) -> dict[str, object]:
    """Return the answer of a reader who merges these infosets."""
    best, outcome = kuhn_merged(tuple(merge.items()))
    return {
        "merge": dict(merge),
        "best": best,
        "reached": outcome.reached,
        "regret": outcome.regret,
        "harmless": factors[0],
        "harmful": factors[1],
    }


def forgetting_values(answer: object) -> dict[str, object]:
    """Return the effects of a merge and of the factors, and the errors of the numbers."""
    merge = part(answer, "merge")
    if not isinstance(merge, Mapping):
        raise Unreadable("'merge' is not a dictionary from label to label")
    forgets = forgetful(merge)
    best, outcome = kuhn_merged(tuple(merge.items()))
    effect = "breaks" if best - outcome.reached > GAP else "does little"
    return {
        "merge": effect if forgets else "remembers",
        "best": as_number(part(answer, "best")) - best,
        "reached": as_number(part(answer, "reached")) - outcome.reached,
        "regret": as_number(part(answer, "regret")) - outcome.regret,
        "harmless": regret_in_rain(as_number(part(answer, "harmless"))),
        "harmful": regret_in_rain(as_number(part(answer, "harmful"))),
    }


J_OR_K = {"J check-bet": "J/K check-bet", "K check-bet": "J/K check-bet"}
Q_OR_K = {"Q check-bet": "Q/K check-bet", "K check-bet": "Q/K check-bet"}
J_OR_Q = {f"{card}{moves}": f"J/Q{moves}" for card in "JQ" for moves in ("", " check-bet")}

# ---- the projects ----------------------------------------------------------------------------


EXERCISES = read(__file__, globals())
