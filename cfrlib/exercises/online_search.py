"""Exercises of chapter 9: the price of a coin, targeted sampling, tables kept by a search."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import cache
from itertools import pairwise, product
from types import SimpleNamespace
from typing import Any

import numpy as np

from cfrlib import games
from cfrlib.core.tree import compile
from cfrlib.equilibrium import solve_lp
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unanswered,
    as_number,
    require_function,
)
from cfrlib.exercises.monte_carlo import Draw, Table
from cfrlib.exercises.robust_sampling import largest_gap
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.games import kuhn_equilibrium
from cfrlib.montecarlo import every_path
from cfrlib.strategy import Strategy

Aim = frozenset[History]
Walk = Callable[[Any, History, int, float, float, float, bool], Any]

PRICES = (-0.8, -0.2, 0.0, 0.4, 0.6)
DELTA, EPSILON = 0.5, 0.4  # of the listings of the page
TARGETS = ("Q check-bet", "J bet", "K")

# ---- the coin --------------------------------------------------------------------------------


class CoinSale(Game):
    """A game in which player 0 sells a coin or lets player 1 guess it."""

    def __init__(self, price: float):
        self.price = {"heads": price, "tails": -price}

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if not h:
            return Chance({"heads": 0.5, "tails": 0.5})
        if len(h) == 1:
            return Decision(0, h[0], ("sell", "play"))
        if h[1] == "sell":
            pay = self.price[h[0]]
            return Terminal((pay, -pay))
        if len(h) == 2:
            return Decision(1, "guess", ("heads", "tails"))
        pay = -1 if h[2] == h[0] else 1
        return Terminal((pay, -pay))


@cache
def heads_probability(price: float) -> float:
    """Return the maximin probability of guessing heads."""
    return float(solve_lp(CoinSale(price)).strategy["guess"]["heads"])


def at_prices(answer: Any) -> dict[str, float]:
    """Return the values of a function of the price at some prices."""
    require_function(answer)
    return {f"price {price}": as_number(answer(price)) for price in PRICES}


# ---- two probabilities -----------------------------------------------------------------------


def sampling_weights(
    own: bool = False,
    deal: bool = True,
    either: bool = False,
    swap: bool = False,
    delta: float = 0.9,
    free: int = 0,
    **changes: float,
) -> dict[str, float]:
    """Return the answer to exercise 9.2, correct or with a mistake.

    Parameters
    ----------
    own : bool
        Whether the weight includes the player's own reach.
    deal : bool
        Whether s2 includes the probability of the deal.
    either : bool
        Whether targeted samples are divided by s1 alone.
    swap : bool
        Whether s1 and s2 are exchanged.
    delta : float
        Share of aimed walks.
    free : int
        Number of steps after the deal that an aimed walk would not be certain to take.
    **changes : float
        Other numbers in the answer.
    """
    game, h = games.KuhnPoker(), (("Q", "J"), "check", "bet")
    sigma, aim = Strategy.uniform(game), targeted(game, "Q check-bet")
    s1 = s2 = others = 1.0
    for n, a in enumerate(h):
        node = game.node(h[:n])
        assert not isinstance(node, Terminal)
        row = node.probabilities if isinstance(node, Chance) else sigma[node.infoset]
        s1 *= row[a] / sum(x for c, x in row.items() if (*h[:n], c) in aim)
        if deal or n:
            s2 *= row[a]
        if own or isinstance(node, Chance) or node.player == 1:
            others *= row[a]
    s1 /= 2**free
    s1, s2 = (s2, s1) if swap else (s1, s2)
    q = s1 if either else delta * s1 + (1 - delta) * s2
    return {"s1": s1, "s2": s2, "aimed": others / q, "not aimed": others / s2} | changes


# ---- tables kept by a search -----------------------------------------------------------------


def decisions(game: Game, h: History = (), past: tuple[Any, ...] = ()) -> Iterator[Any]:
    """Yield each decision of a game, with the decisions before it."""
    node = game.node(h)
    if isinstance(node, Terminal):
        return
    if isinstance(node, Decision):
        yield node, past
        past = (*past, node)
    for a in node.actions:
        yield from decisions(game, (*h, a), past)


def second_moves() -> set[str]:
    """Return the infosets of Kuhn poker whose player has moved before."""
    return {
        node.infoset
        for node, past in decisions(games.KuhnPoker())
        if any(before.player == node.player for before in past)
    }


def infosets(player: int | None = None, later: bool = False) -> set[str]:
    """Return the infosets of Kuhn poker, optionally of one player or after a first move."""
    return {
        node.infoset
        for node, past in decisions(games.KuhnPoker())
        if player in (None, node.player) and (past or not later)
    }


# ---- targets ---------------------------------------------------------------------------------


def targeted(
    game: Game, target: str, public: bool = False, before: bool = True, after: bool = True
) -> set[History]:
    """Return the histories before, at and after an infoset.

    Parameters
    ----------
    public : bool
        Whether the infoset is extended to its public state.
    before, after : bool
        Whether histories before and after it are included.
    """
    at = {h for h, node in histories(game) if getattr(node, "infoset", None) == target}
    moves = {h[1:] for h in at}
    if public:
        at = {h for h, _ in histories(game) if h and h[1:] in moves}
    found = set(at)
    for h, _ in histories(game):
        if (before and any(goal[: len(h)] == h for goal in at)) or (
            after and any(h[: len(goal)] == goal for goal in at)
        ):
            found.add(h)
    return found


def histories(game: Game, h: History = ()) -> Iterator[tuple[History, Node]]:
    """Yield all histories of a game."""
    node = game.node(h)
    yield h, node
    if not isinstance(node, Terminal):
        for a in node.actions:
            yield from histories(game, (*h, a))


def check_targets(answer: Any) -> dict[str, set[History]]:
    """Return a reader's targeted histories for some infosets."""
    require_function(answer)
    found = {target: answer(games.KuhnPoker(), target) for target in TARGETS}
    if ... in found.values():
        raise Unanswered
    return found


# ---- the traversal of the page ---------------------------------------------------------------


def targeted_walk(bug: str = "") -> Walk:
    """Return the page's traversal with targeted sampling, optionally with a bug.

    Parameters
    ----------
    bug : str
        ``"chance"``: values at chance nodes are not multiplied by the probability of the
        outcome; ``"nobody"``: nowhere are values multiplied by a probability; ``"reach"``: as
        ``"chance"``, and the others' reach omits chance; ``"own reach"``: the others' reach
        includes the player's own; ``"S"`` and ``"R"``: what is added to a table omits the
        others' reach; ``"ordinary"``: q counts ordinary walks only; ``"tail"``: values are not
        divided by the probability of an action; ``"head"``: regrets are not divided by q.
    """

    def walk(
        m: Any, h: History, i: int, s1: float, s2: float, others: float, targeted: bool
    ) -> Any:
        node = m.game.node(h)
        if isinstance(node, Terminal):
            return node.utilities[i]
        played, p2, p1 = m.rows(h, node, i)
        n = m.draw(p1 if targeted else p2)
        a, x = list(node.actions)[n], played[n]
        t1, t2 = s1 * p1[n], s2 * p2[n]
        share = 0.0 if bug == "ordinary" else DELTA
        q, after = (share * s + (1 - share) * t for s, t in ((s1, s2), (t1, t2)))
        chance = isinstance(node, Chance)
        own = not chance and node.player == i
        left_out = (own and bug != "own reach") or (chance and bug == "reach")
        reach = others if left_out else others * x
        u = walk(m, (*h, a), i, t1, t2, reach, targeted) * (1 if bug == "tail" else q / after)
        mean = u if bug == "nobody" or (chance and bug in ("chance", "reach")) else x * u
        for c in () if chance else node.actions:
            if own:
                regret = u * (c == a) - mean
                weight = 1.0 if bug == "R" else others
                m.R[node.infoset, c] += regret * weight / (1 if bug == "head" else q)
            else:
                weight = 1.0 if bug == "S" else others
                m.S[node.infoset, c] += m.sigma[node.infoset][c] * weight / q
        return mean

    return walk


def sampling_rows(m: Any, h: History, node: Any, i: int) -> tuple[list[float], ...]:
    """Return line 2: the strategy, and its samplers without and with targeting."""
    if isinstance(node, Chance):
        played = p2 = list(node.probabilities.values())
    else:
        played = p2 = list(m.sigma[node.infoset].values())
        if node.player == i:
            p2 = [EPSILON / len(played) + (1 - EPSILON) * x for x in played]
    allowed = [(*h, a) in m.aim for a in node.actions]
    p1 = [x * keep for x, keep in zip(p2, allowed, strict=True)]
    total = sum(p1) or 1.0
    return played, p2, [x / total for x in p1]


def expected_increments(game: Game, target: str, walk: Any) -> tuple[Table, Table]:
    """Return the expected increments of R and S by a traversal under uniform strategies."""
    m = SimpleNamespace(
        game=game, sigma=Strategy.uniform(game), aim=targeted(game, target), delta=DELTA
    )
    m.rows = lambda h, node, i: sampling_rows(m, h, node, i)
    means: tuple[Table, Table] = (defaultdict(float), defaultdict(float))
    for i in (0, 1):

        def one(draw: Draw, i: int = i) -> None:
            m.draw = lambda row: draw(dict(enumerate(row)))
            m.R, m.S = defaultdict(float), defaultdict(float)
            walk(m, (), i, 1.0, 1.0, 1.0, m.draw([1 - DELTA, DELTA]) == 1)

        for p, _ in every_path(one):
            for mean, table in zip(means, (m.R, m.S), strict=True):
                for key, x in table.items():
                    mean[key] += p * x
    return means


def increments(name: str, walk: Any) -> tuple[Table, Table]:
    """Return the expected increments on one of two games, for the target in it."""
    if name == "Kuhn":
        return expected_increments(games.KuhnPoker(), "Q check-bet", walk)
    small = games.LeducPoker(ranks=2, merge_suits=True)
    return expected_increments(small, "K bet-raise", walk)


@cache
def correct_increments(name: str) -> tuple[Table, Table]:
    """Return the expected increments by the correct traversal."""
    return increments(name, targeted_walk())


def biases(walk: Any) -> dict[str, float]:
    """Return the largest bias of a reader's traversal in R or S, for each game."""
    require_function(walk)
    return {
        name: largest_gap(increments(name, walk), correct_increments(name))
        for name in ("Kuhn", "Leduc")
    }


# ---- safe greed ------------------------------------------------------------------------------

RISKS = (0.0, 0.1, 0.2, 1 / 3, 0.5, 1.0)


@cache
def safe_greed(risk: float) -> float:
    """Return the most that player 0 can earn from a timid opponent at some risk.

    The opponent folds each queen to a bet and else plays the equilibrium. A linear program
    finds the realization plan x of player 0 that earns most from this opponent, and loses no
    more than the value of the game and the risk to any pure strategy.
    """
    from scipy.optimize import linprog

    game = games.KuhnPoker()
    tree = compile(game)
    n, m = int(tree.player_sequences[1]), int(tree.player_sequences[2])
    payoff = np.zeros((n, m - n))
    for k in np.flatnonzero(tree.num_children == 0):
        mine, theirs = tree.sequence[k]
        payoff[mine, theirs - n] += tree.chance_reach[k] * tree.utility[k, 0]
    own, other = (range(a, b) for a, b in pairwise(tree.player_infosets))
    flow = [np.eye(n)[0]]
    for I in own:
        start, parent = int(tree.infoset_start[I]), int(tree.infoset_parent[I])
        flow.append(np.eye(n)[start] + np.eye(n)[start + 1] - np.eye(n)[parent])
    starts = [int(tree.infoset_start[I]) - n for I in other]
    pure = np.zeros((2 ** len(starts), m - n))
    pure[:, 0] = 1
    for row, choice in zip(pure, product((0, 1), repeat=len(starts)), strict=True):
        row[np.add(starts, choice)] = 1
    timid = kuhn_equilibrium(game, 0.0).replace({"Q bet": {"fold": 1.0, "call": 0.0}})
    plan = np.eye(m - n)[0]
    for I, start in zip(other, starts, strict=True):
        plan[start : start + 2] = list(timid[tree.infoset_label[I]].values())
    found = linprog(
        -payoff @ plan,
        A_ub=-(payoff @ pure.T).T,
        b_ub=np.full(len(pure), risk - solve_lp(game).value),
        A_eq=np.array(flow),
        b_eq=np.eye(len(flow))[0],
    )
    assert found.fun is not None  # the equilibrium is feasible
    return -float(found.fun)


def at_risks(answer: Any) -> dict[str, float]:
    """Return the values of a function of the risk at some risks."""
    require_function(answer)
    return {f"ε = {risk:.3g}": as_number(answer(risk)) for risk in RISKS}


EXERCISES = (
    Exercise(
        "9.1",
        "Any price",
        "a function of the price that returns the probability of saying heads",
        lambda: heads_probability,
        (
            Mistake(
                lambda: lambda price: (1 + price) / 2,
                "The wrong way round. If the sale of heads brings more, do you need to say "
                "heads more often, or less, to keep player 0 from playing all heads?",
            ),
            Mistake(
                lambda: lambda price: 0.5,
                "That is the search that starts here: it ignores the price.",
            ),
            Mistake(
                lambda: lambda price: 0.25,
                "That is right only for the price on the page.",
            ),
            Mistake(
                lambda: lambda price: 1 - price,
                "You left out the half. At the price 0 the coin is fair: how often must you "
                "say heads then?",
            ),
            Mistake(
                lambda: lambda price: price,
                "That is the price itself, which may even be negative. Solve for the guess at "
                "which playing heads earns as much as selling them.",
            ),
            Mistake(
                lambda: lambda price: price / 2,
                "At the price 0 you would never say heads. Then player 0 plays every coin that "
                "shows heads.",
            ),
            Mistake(
                lambda: lambda price: (price - 1) / 2,
                "The size is right, the sign is not: a probability is not negative.",
            ),
            Mistake(
                lambda: lambda price: 50 * (1 - price),
                "Is this in percent? Return 0.25, not 25.",
            ),
            Mistake(
                lambda: lambda price: (1 - 2 * price) / 2,
                "You counted the price twice. If you say heads with probability p, a coin that "
                "shows heads earns 1 − 2p: set that equal to the price.",
            ),
            Mistake(
                lambda: lambda price: float(price < 0),
                "You always say the same. Player 0 would find out, and play the other side.",
            ),
        ),
        see=at_prices,
        takeaway="The answer depends on a payment that can no longer be made.",
        advice="At which guess does player 0 earn as much by playing heads as by selling them?",
    ),
    Exercise(
        "9.2",
        "Two probabilities",
        "a dictionary with 's1', 's2', and the weights 'aimed' (δ = 0.9) and 'not aimed'",
        sampling_weights,
        (
            Mistake(
                lambda: sampling_weights(own=True),
                "Player 0's own check is in your weight. The reach of the *others* leaves it "
                "out.",
            ),
            Mistake(
                lambda: sampling_weights(deal=False),
                "An ordinary walk has to sample the deal as well.",
            ),
            Mistake(
                lambda: sampling_weights(either=True),
                "You divide by the probability of an aimed walk alone. But one walk in ten is "
                "ordinary, and may also come here.",
            ),
            Mistake(
                lambda: sampling_weights(swap=True),
                "You have them the wrong way round: the first index is for aimed walks.",
            ),
            Mistake(
                lambda: sampling_weights(free=2),
                "An aimed walk never leaves the way to its target: at the check and at the bet "
                "it has no choice.",
            ),
            Mistake(
                lambda: sampling_weights(free=-1),
                "An aimed walk still has to sample the deal. How many deals lead to the "
                "target?",
            ),
            Mistake(
                lambda: sampling_weights(delta=0.1),
                "δ is the share of aimed walks. You took it for the share of ordinary ones.",
            ),
            Mistake(
                lambda: {
                    k: 1 / x if "aimed" in k else x for k, x in sampling_weights().items()
                },
                "The two weights are upside down: the others' reach, divided by the "
                "probability of sampling.",
            ),
            Mistake(
                lambda: {
                    k: 2 * x if "aimed" in k else x for k, x in sampling_weights().items()
                },
                "Player 1's bet is missing from the others' reach. Chance is not the only "
                "other player.",
            ),
            Mistake(
                lambda: {
                    k: 6 * x if "aimed" in k else x for k, x in sampling_weights().items()
                },
                "The deal is missing from the others' reach: chance is one of the others.",
            ),
            Mistake(
                lambda: {
                    k: 1 / 12 if "aimed" in k else x for k, x in sampling_weights().items()
                },
                "That is the others' reach. Divide it by the probability that the walk comes "
                "here.",
            ),
            Mistake(
                lambda: sampling_weights(aimed=0.9 / 6 + 0.1 * 2),
                "You took the mean of two weights. A walk does not tell which kind it is: take "
                "the mean of the two *probabilities*, and divide by that.",
            ),
        ),
        tolerance=1e-4,
        points=2,
        takeaway="There are more visits, and each of them counts that much less.",
        advice="Step by step: the deal, the check, the bet. Then q, and the others' reach.",
    ),
    Exercise(
        "9.3",
        "Continue or start afresh?",
        "the set of infosets at which the two can differ",
        second_moves,
        (
            Mistake(
                infosets,
                "At the first move of a match there is nothing to remember yet.",
            ),
            Mistake(
                lambda: infosets(0),
                "Player 0 opens with an empty table either way.",
            ),
            Mistake(
                lambda: infosets(later=True),
                "These are all infosets at which *somebody* has moved. A search remembers "
                "what the same player computed at an earlier move.",
            ),
            Mistake(
                lambda: infosets(1),
                "Player 1 moves once in each match, and has no earlier search to remember.",
            ),
            Mistake(
                lambda: infosets(0) - second_moves(),
                "At the first move of a match there is nothing to remember yet. Who moves a "
                "second time?",
            ),
            Mistake(
                lambda: {"Q check-bet"},
                "One of them is right. The queen is not the only card that may be here.",
            ),
            Mistake(
                lambda: {"J check-bet", "Q check-bet"},
                "These are right, and one is missing: the king may be here as well.",
            ),
            Mistake(
                lambda: {I for I in infosets(later=True) if not I.endswith("check")},
                "After an opening bet, player 1 moves for the first time. What would they "
                "remember?",
            ),
            Mistake(
                lambda: {I for I in infosets(later=True) if not I.endswith(" bet")},
                "After an opening check, player 1 moves for the first time. What would they "
                "remember?",
            ),
        ),
        takeaway="A player who moves only once in a hand has nothing to forget.",
        advice="At which infosets has the player who decides there searched before?",
    ),
    Exercise(
        "9.4",
        "Find the planted bug",
        "a function like `friend`, with the same arguments",
        targeted_walk,
        (
            Mistake(
                lambda: targeted_walk("chance"),
                "On small Leduc poker it is still biased.",
            ),
            Mistake(
                lambda: targeted_walk("nobody"),
                "Now no value is multiplied by the probability of its action, and Kuhn poker "
                "also shows it.",
            ),
            Mistake(
                lambda: targeted_walk("reach"),
                "You left the deal out of the others' reach. That line was right.",
            ),
            Mistake(
                lambda: targeted_walk("own reach"),
                "Now the others' reach contains the player's own actions as well. That line "
                "was right.",
            ),
            Mistake(
                lambda: targeted_walk("S"),
                "What S adds is no longer weighted by the others' reach; that line was right.",
            ),
            Mistake(
                lambda: targeted_walk("R"),
                "The regrets are no longer weighted by the others' reach; that line was right.",
            ),
            Mistake(
                lambda: targeted_walk("tail"),
                "What an action brings back is no longer divided by the probability of "
                "sampling it; that line was right.",
            ),
            Mistake(
                lambda: targeted_walk("head"),
                "The regrets are no longer divided by q, the probability that a walk comes "
                "here; that line was right.",
            ),
        ),
        see=biases,
        points=3,
        takeaway="Divide by the probability of sampling an action, and multiply by the "
        "probability of playing it.",
        advice="Averaged over all walks, its increments of R or S are wrong.",
    ),
    Exercise(
        "9.5",
        "Open: where should the walks go?",
        "a function of a game and an infoset that returns a set of histories",
        lambda: lambda game, target: targeted(game, target, public=True),
        (
            Mistake(
                lambda: targeted,
                "This is the page's aim: your own infoset only. In public, deals look alike.",
            ),
            Mistake(
                lambda: lambda game, target: targeted(game, target, public=True, before=False),
                "The histories before the target are missing, so an aimed walk cannot find "
                "its way there.",
            ),
            Mistake(
                lambda: lambda game, target: targeted(game, target, public=True, after=False),
                "The histories after the target are missing. There, an aimed walk would have "
                "no action left to sample.",
            ),
            Mistake(
                lambda: (
                    lambda game, target: targeted(game, target, True, before=False, after=False)
                ),
                "These histories look alike in public. Those on the way there, and those "
                "beyond, are missing.",
            ),
            Mistake(
                lambda: lambda game, target: targeted(game, target, before=False, after=False),
                "These are the histories of the infoset alone. Add those that look the same in "
                "public, and those on the way there and beyond.",
            ),
            Mistake(
                lambda: lambda game, target: {h for h, _ in histories(game)},
                "That is the whole game. Histories with other moves do not belong to the aim.",
            ),
            Mistake(
                lambda: lambda game, target: targeted(game, target, public=True) - {()},
                "The beginning of the game is missing. It is on the way to every target.",
            ),
        ),
        see=check_targets,
        points=2,
        takeaway="The walk needs no other change, and stays unbiased. Whether this aim is the "
        "better one, and how δ should change from move to move, is open.",
        advice="Take the moves of a history without the deal, `h[1:]`, and compare those.",
    ),
    Exercise(
        "9.6",
        "Safe greed",
        "a function of ε that returns the most that player 0 can earn from this opponent",
        lambda: safe_greed,
        (
            Mistake(
                lambda: lambda risk: safe_greed(0.0) + risk,
                "A chip of risk does not buy a whole chip. Compare what a bluff gains if the "
                "queen folds with what it loses if she calls.",
            ),
            Mistake(
                lambda: lambda risk: safe_greed(0.0) + risk / 2,
                "For small ε this is right. But somewhere the best response to this opponent "
                "is reached, and more risk buys nothing.",
            ),
            Mistake(
                lambda: lambda risk: safe_greed(1.0),
                "That is what a best response earns. How much does it lose to an opponent who "
                "knows it? For small ε it is not allowed.",
            ),
            Mistake(
                lambda: lambda risk: safe_greed(0.0),
                "This is what an equilibrium earns. It risks nothing, and leaves the mistake "
                "unpunished.",
            ),
            Mistake(
                lambda: lambda risk: min(safe_greed(0.0) + risk, safe_greed(1.0)),
                "It does end at the best response. But a chip of risk does not buy a whole "
                "chip. Compare what a bluff gains if the queen folds with what it loses if she "
                "calls.",
            ),
            Mistake(
                lambda: lambda risk: -safe_greed(risk),
                "The sizes are right, the signs are not: it is what player 0 *earns*.",
            ),
            Mistake(
                lambda: lambda risk: safe_greed(risk) - safe_greed(0.0),
                "That is how much more you earn than with the equilibrium. The exercise asks "
                "for all that you earn.",
            ),
            Mistake(
                lambda: lambda risk: min(risk / 2, safe_greed(1.0)),
                "Without risk you still play an equilibrium, and what it earns is not 0.",
            ),
            Mistake(
                lambda: lambda risk: min(safe_greed(0.0) + 2 * risk, safe_greed(1.0)),
                "The price of the risk is upside down: a bluff risks more than it gains.",
            ),
            Mistake(
                lambda: lambda risk: min(safe_greed(0.0) + risk / 3, safe_greed(1.0)),
                "The jack bets with probability 3ε. How much does each of its bets gain from a "
                "queen that folds?",
            ),
            Mistake(
                lambda: lambda risk: safe_greed(0.0) - risk,
                "That is the least you may be left with, against an opponent who punishes you. "
                "This opponent does not: how much do you earn here?",
            ),
            Mistake(
                lambda: lambda risk: min(safe_greed(0.0) + risk / 2, 1 / 6),
                "For small ε this is right. But it ends too high: the jack cannot bet more "
                "often than always.",
            ),
            Mistake(
                lambda: lambda risk: min(safe_greed(0.0) + risk / 2, 1 / 18),
                "For small ε this is right. But it ends too low: let the jack always bet, and "
                "see what that earns here.",
            ),
        ),
        see=at_risks,
        tolerance=1e-5,
        points=3,
        takeaway="Every chip of risk earns half a chip, until nothing is left to win.",
        advice="Which card should bet more often against a queen that folds? Let it do so "
        "with a probability that loses ε to a queen that calls.",
    ),
)
