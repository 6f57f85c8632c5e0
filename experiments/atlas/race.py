"""The race: player-gradients that each rule needs to reach a tolerance, game by game.

    python experiments/atlas/race.py          every run that race.csv lacks

A *player-gradient* is one computation of one player's counterfactual values at all of the
player's infosets. An iteration costs one for each player, in both orders of updates. README.md
describes the games, the rules and the columns.
"""

import csv
from collections import Counter
from itertools import combinations, product
from math import inf
from pathlib import Path
from typing import NamedTuple

import numpy as np

import cfrlib as cfr
from cfrlib.bands import band_layout, iterate_bands
from cfrlib.core.jit import kernel
from cfrlib.core.sequence import behavior, gradient, realize, sequence_form
from cfrlib.evaluate import nash_conv_of_plans
from cfrlib.last_iterate import MethodRule, regret_step
from cfrlib.regret import Rule

RESULTS = Path(__file__).with_suffix(".csv")
TOLERANCES = (1e-3, 1e-6, 1e-9)  # times the largest payoff minus the smallest
HALVING = 8  # checkpoints between T / 2 and T, each 9 percent after the last
GAMMA = 2.0  # averages have weights t²


# ---- a river endgame -------------------------------------------------------------------------


class River(cfr.Game):
    """The last betting round of no-limit hold'em, on a board without straights and flushes.

    Written from the rules of poker. Each player holds two cards of a range of hands; the pot
    has 10 chips of each player. Player 0 checks or bets. A bet is half the pot or the pot, and
    may be raised once, by the pot. The best five of seven cards win.
    """

    BOARD = ("Ks", "Td", "7d", "4c", "2s")
    HANDS = (
        ("AK", "KQ", "KJ", "T9", "77", "87", "QJ", "J9", "98", "A5"),
        ("AA", "KT", "K9", "AT", "JT", "44", "99", "A3", "QJ", "98"),
    )
    ANTE = 10.0

    def __init__(self, hands=HANDS):
        self.hands = [[h for ranks in own for h in _combos(ranks)] for own in hands]
        self.hands = [[h for h in own if not {*h} & {*self.BOARD}] for own in self.hands]
        deals = [(h, k) for h, k in product(*self.hands) if not {*h} & {*k}]
        self.deals = dict.fromkeys(deals, 1 / len(deals))
        sevens = {h: (*h, *self.BOARD) for own in self.hands for h in own}
        self.worth = {h: max(map(_worth, combinations(s, 5))) for h, s in sevens.items()}

    def node(self, h):
        if not h:
            return cfr.Chance(self.deals)
        deal, moves = h[0], h[1:]
        paid, turn = [self.ANTE, self.ANTE], 0
        for move in moves:
            pot, due = sum(paid), max(paid) - min(paid)
            share = {"half": 0.5, "pot": 1.0, "raise": 1.0}.get(move, 0.0)
            if move not in ("fold", "check"):
                paid[turn] += due + share * (pot + due)
            turn = 1 - turn
        if moves[-1:] == ("fold",):
            return self._won(paid, turn)
        if moves[-1:] == ("call",) or moves == ("check", "check"):
            a, b = (self.worth[hand] for hand in deal)
            return cfr.Terminal((0, 0)) if a == b else self._won(paid, int(a < b))
        raised = moves.count("raise")
        bets = ("fold", "call") if raised else ("fold", "call", "raise")
        actions = ("check", "half", "pot") if {*moves} <= {"check"} else bets
        return cfr.Decision(turn, " ".join((*deal[turn], *moves)), actions)

    def _won(self, paid, winner):
        lost = paid[1 - winner]
        return cfr.Terminal((lost, -lost) if winner == 0 else (-lost, lost))


def _combos(ranks):
    """Return the pairs of a rank ("AA": six) or the suited hands of two ("AK": four)."""
    pairs = [(ranks[0] + s, ranks[1] + z) for s, z in product("shdc", repeat=2)]
    if ranks[0] == ranks[1]:
        return [(a, b) for a, b in pairs if a < b]
    return [(a, b) for a, b in pairs if a[1] == b[1]]


def _worth(five):
    """Return the value of five cards that are neither a straight nor a flush."""
    counts = Counter("23456789TJQKA".index(card[0]) for card in five)
    return tuple(zip(*sorted(((n, r) for r, n in counts.items()), reverse=True), strict=True))


# ---- games and rules -------------------------------------------------------------------------

G = cfr.games
BUDGET = {"small": 200_000, "large": 100_000}  # player-gradients of a run that does not arrive
GAMES = {  # by the size of the leaf table: rules are chosen on every other game
    "liar's dice, 4 faces": (lambda: G.LiarsDice(4), "small"),
    "Leduc poker": (G.LeducPoker, "small"),
    "Coyote, up to 40": (lambda: G.Coyote(cap=40), "small"),
    "Leduc poker, 6 ranks": (lambda: G.LeducPoker(6, merge_suits=True), "small"),
    "Goofspiel, 4 cards": (G.Goofspiel, "small"),
    "Goofspiel, 5 cards": (lambda: G.Goofspiel(5, prizes="descending"), "small"),
    "Blotto, 8 soldiers": (lambda: G.ColonelBlotto(8, 4), "small"),
    "Kuhn poker, 60 cards": (lambda: G.KuhnPoker(60), "small"),
    "river of hold'em": (River, "small"),
    "liar's dice, 5 faces": (lambda: G.LiarsDice(5), "small"),
    "liar's dice, 2 dice": (lambda: G.LiarsDice(3, 2), "large"),
    "liar's dice, 6 faces": (G.LiarsDice, "large"),
}


class Entrant(NamedTuple):
    """A rule: discounts, prediction, order, and what else happens to the regrets."""

    alpha: float
    beta: float
    prediction: float
    order: str = "alternating"
    extra: str = ""  # "norm kept" or "restarted"

    @property
    def label(self):
        """The rule as the file writes it."""
        return (*map(str, (self.alpha, self.beta, round(self.prediction, 3))), *self[3:])


THIRD = 1 / 3
DISCOUNTS = ((inf, inf), (inf, -inf), (1.0, 1.0), (1.5, 0.0), (1.5, -inf), (2.3, -inf))
ENTRANTS = (
    *(Entrant(*pair, strength) for pair in DISCOUNTS for strength in (0.0, THIRD, 1.0)),
    Entrant(inf, -inf, 2 / 3),
    *(Entrant(inf, -inf, s, extra="norm kept") for s in (THIRD, 1.0)),
    *(Entrant(inf, -inf, s, extra="restarted") for s in (0.0, THIRD, 1.0)),
    *(Entrant(inf, -inf, s, "simultaneous") for s in (0.0, THIRD, 1.0)),
    *(Entrant(*pair, 0.0, "simultaneous") for pair in ((1.0, 1.0), (1.5, 0.0))),
    Entrant(2.3, -inf, 1.0, "simultaneous"),
    Entrant(inf, -inf, 1.0, "simultaneous", "norm kept"),
)


# ---- runs ------------------------------------------------------------------------------------


def checkpoints(iterations):
    """Yield about 2^(k / 8), so that T / 2 is the checkpoint eight before T."""
    seen = sorted({round(2 ** (k / HALVING)) for k in range(8 * HALVING * 3)})
    return [t for t in seen if t <= iterations]


class Family:
    """A run of (α, β, λ), for large games as fast as `cfrlib.CFR`."""

    def __init__(self, form, entrant):
        self.form, self.layout, self.t = form, band_layout(form), 0
        sigma = form.uniform()
        self.tables = self.layout.new_tables(sigma, form.plans(sigma))
        numbers = entrant.alpha, entrant.beta, GAMMA, entrant.prediction
        self.rule = Rule(*map(float, numbers), 0, entrant.order == "alternating", False)

    def run(self, count):
        iterate_bands(self.layout.bands, self.tables, self.rule, self.t + 1, count)
        self.t += count

    @property
    def plan(self):
        return self.layout.unpack(self.tables.plan)

    @property
    def total(self):
        return self.layout.unpack(self.tables.strategy_sum)

    def restart(self, sigma):
        """Play `sigma` from now on, with regrets in proportion to it, and average anew."""
        tables, treeplexes = self.tables, self.form.treeplexes
        sums = np.maximum(self.layout.unpack(tables.regret), 0.0)
        regret = np.zeros(len(sigma))
        for start, stop in zip(treeplexes.infoset_start, treeplexes.infoset_stop, strict=True):
            regret[start:stop] = sigma[start:stop] * sums[start:stop].sum()
        tables.regret[:], tables.sigma[:] = self.layout.pack(regret), self.layout.pack(sigma)
        tables.plan[:] = self.layout.pack(self.form.plans(sigma))
        tables.strategy_sum[:] = 0.0
        self.rule = self.rule._replace(delay=self.t)


class NormKept:
    """A run of RM+ in which the norm of an infoset's stored regrets never falls."""

    def __init__(self, form, entrant):
        self.form, self.t, self.sigma = form, 0, form.uniform()
        self.plan, self.total = form.plans(self.sigma), np.zeros(len(self.sigma))
        self.regret, self.v = np.zeros((2, len(self.sigma)))
        self.rule = MethodRule(True, float(entrant.prediction), 0.0, True)
        self.alternating = entrant.order == "alternating"

    def run(self, count):
        tables = self.sigma, self.plan, self.total, self.regret, self.v
        iterate(self.form.treeplexes, tables, self.rule, self.alternating, self.t + 1, count)
        self.t += count


@kernel
def iterate(form, tables, rule, alternating, first, count):
    """Run iterations of `regret_step` on the sequence form; the averages have weights t²."""
    sigma, plan, total, regret, v = tables
    players = len(form.player_infosets) - 1
    for t in range(first, first + count):
        w = float(t) ** 2
        for i in range(players):
            for q in range(form.player_sequences[i], form.player_sequences[i + 1]):
                total[q] += w * plan[q]
            gradient(form, i, plan, v)
            regret_step(form, i, v, (sigma, sigma), (regret, regret), sigma, rule)
            if alternating:
                realize(form, i, sigma, plan)
        if not alternating:
            for i in range(players):
                realize(form, i, sigma, plan)


def exploitability(form, plan):
    return nash_conv_of_plans(form, plan) / form.num_players


def scores(form, entrant, iterations):
    """Yield the player-gradients so far and four exploitabilities.

    They are those of the last iterate, of the average of the second half, of the whole average,
    and of the average since the last restart. A rule without restarts has no fourth one, and a
    rule with restarts only the first and the fourth. Restarts are decided at checkpoints, from
    an exploitability, which costs one more gradient of each player.
    """
    restarts = entrant.extra == "restarted"
    run = (NormKept if entrant.extra == "norm kept" else Family)(form, entrant)
    sums, sigma, goal = {0: np.zeros(form.num_sequences)}, np.empty(form.num_sequences), inf
    marks = checkpoints(iterations)

    def of_average(total):
        behavior(form.treeplexes, total, sigma)
        return exploitability(form, form.plans(sigma))

    for k, T in enumerate(marks):
        run.run(T - run.t)
        last, total = exploitability(form, run.plan), run.total
        if restarts:
            late, whole = of_average(total), inf
            if late <= goal / 2 or goal == inf:
                if goal < inf:
                    run.restart(sigma.copy())
                goal = late
        else:
            whole = of_average(total)
            half = max((t for t in marks[:k] if 2 * t <= T), default=0)
            late = of_average(total - sums[half])
            sums[T] = total.copy()
            sums = {t: s for t, s in sums.items() if t >= half}
        yield form.num_players * (T + (k + 1) * restarts), last, late, whole


def race(make, entrant, budget):
    """Return a row: the gradients spent, then those at the tolerances, then of which output.

    The run ends when both outputs have what is asked for: the better of the last iterate and
    the late average all three tolerances, the whole average the first two.
    """
    form = sequence_form(make())
    span = np.ptp(form.tree.utility)
    best, which, whole = {}, {}, {}
    spent = 0
    for spent, last, late, all_of_it in scores(form, entrant, budget // form.num_players):
        for tolerance in TOLERANCES:
            if min(last, late) <= tolerance * span and tolerance not in best:
                best[tolerance] = spent
                which[tolerance] = "last" if last < late else "average"
            if all_of_it <= tolerance * span:
                whole.setdefault(tolerance, spent)
        if len(best) == 3 and (len(whole) >= 2 or entrant.extra == "restarted"):
            break
    columns = (table.get(t, "") for table in (best, which, whole) for t in TOLERANCES)
    return (spent, *columns)


HEADER = (
    *("game", "alpha", "beta", "lambda", "order", "extra", "spent"),
    *(f"{kind}{t:.0e}" for kind in ("", "output ", "whole ") for t in TOLERANCES),
)


def main():
    """Run what the file lacks."""
    done = set()
    if RESULTS.exists():
        with RESULTS.open(encoding="utf-8") as file:
            done = {tuple(row[:6]) for row in csv.reader(file)}
    else:
        with RESULTS.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow(HEADER)
    for name, (make, size) in GAMES.items():
        for entrant in ENTRANTS:
            label = (name, *entrant.label)
            if label not in done:
                row = race(make, entrant, BUDGET[size])
                with RESULTS.open("a", newline="", encoding="utf-8") as file:
                    csv.writer(file, lineterminator="\n").writerow((*label, *row))
                print(*label, *row, flush=True)


if __name__ == "__main__":
    main()
