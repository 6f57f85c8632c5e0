"""Exact evaluation of strategies: expected payoff, best response, exploitability, and the LP.

NashConv(σ) = Σ_i ( max_{σ'_i} u_i(σ'_i, σ_-i) − u_i(σ) ): the sum of what each player could
gain by deviating alone. Exploitability = NashConv / number of players. Both are 0 exactly at a
Nash equilibrium. In a two-player zero-sum game a small value is a guarantee against every
opponent; in other games it only bounds what a player gains by deviating alone.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterable
from itertools import repeat
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cfrlib.core.checks import player_of, real_number
from cfrlib.core.sequence import SequenceForm, behavior, best_backup, gradient, sequence_form
from cfrlib.core.tree import TERMINAL, Floats
from cfrlib.game import Action, Game
from cfrlib.strategy import Strategy, StrategyLike, strategy_vector

# Only the linear program needs SciPy, which takes longer to import than all of cfrlib, so the
# functions that use SciPy import it.
if TYPE_CHECKING:
    from scipy.sparse import csr_array

SMALLEST = 1e-280  # the linear program needs a payoff of at least this size, unless all are 0
ACCURACY = 1e-6  # accepted NashConv of its solution, relative to the average payment


class BestResponse(NamedTuple):
    """A best response of one player to fixed opponents.

    Attributes
    ----------
    player : int
        The responder.
    value : float
        The responder's expected payoff.
    gain : float
        The increase of that payoff over the given strategy's, at least 0.
    strategy : Strategy
        The given profile with the responder's part replaced by a pure best response.
    """

    player: int
    value: float
    gain: float
    strategy: Strategy


class Reach(NamedTuple):
    """The reach probability of a history, by factor: π(h) = π_c(h) Π_i π_i(h).

    Attributes
    ----------
    chance : float
        π_c(h), chance's factor.
    players : tuple of float
        π_i(h), one factor for each player.

    Examples
    --------
    >>> r = Reach(chance=0.5, players=(0.25, 0.8))
    >>> r.total, r.others(0)
    (0.1, 0.4)
    """

    chance: float
    players: tuple[float, ...]

    @property
    def total(self) -> float:
        """The probability π(h) that the history is played."""
        return float(self.chance * np.prod(self.players))

    def others(self, player: int) -> float:
        """``π_-i(h)``: the product of all factors but `player`'s, chance's included."""
        factors = [p for i, p in enumerate(self.players) if i != player]
        return float(self.chance * np.prod(factors))


def reach(game: Game, strategy: StrategyLike, history: tuple[Action, ...]) -> Reach:
    """Return the reach probabilities of one history.

    Parameters
    ----------
    game : Game
    strategy : Strategy or mapping from infoset to mapping from action to float
        A strategy for every player.
    history : tuple of actions
        All actions from the root, including chance's.

    Returns
    -------
    Reach

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If the game has no such history, or the strategy belongs to another game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> r = cfr.reach(game, cfr.Strategy.uniform(game), (("K", "Q"), "check", "bet"))
    >>> round(r.total * 24, 9), round(r.others(0) * 12, 9)
    (1.0, 1.0)
    """
    form = sequence_form(game)
    k = form.tree.find(tuple(history))
    x = form.plans(strategy_vector(form, strategy))
    own = tuple(float(x[q]) for q in form.tree.sequence[k])
    return Reach(float(form.tree.chance_reach[k]), own)


def expected_utility(game: Game, strategy: StrategyLike) -> Floats:
    """Return u_i(σ), the expected payoff of every player.

    Parameters
    ----------
    game : Game
    strategy : Strategy or mapping from infoset to mapping from action to float
        A strategy for every player.

    Returns
    -------
    float array, shape (players,)
        In units of the game (chips, points).

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If the strategy belongs to another game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> cfr.expected_utility(game, cfr.Strategy.uniform(game))
    array([ 0.125, -0.125])
    """
    form = sequence_form(game)
    return utilities(form, form.plans(strategy_vector(form, strategy)))


def utilities(form: SequenceForm, x: Floats) -> Floats:
    """Return u_i at the realization plans `x`, shape (players,)."""
    return _sum_by_player(form, x * form.gradients(x))


def evaluate(form: SequenceForm, x: Floats) -> tuple[Floats, Floats, Floats]:
    """Return expected payoffs, best-response gains and best responses at the plans `x`.

    Shapes (players,), (players,) and (sequences,). The best responses are pure strategies.
    Rounding can make a gain negative.
    """
    g = form.gradients(x)
    own = _sum_by_player(form, x * g)
    choice = np.ones(form.num_sequences)
    for i in range(form.num_players):
        best_backup(form.treeplexes, i, g, choice)
    return own, g[form.treeplexes.player_sequences[:-1]] - own, choice


def not_negative(gain: Floats) -> float:
    """Return the sum of gains, or 0.0 if rounding makes it negative."""
    return max(0.0, float(np.sum(gain)))


def _sum_by_player(form: SequenceForm, terms: Floats) -> Floats:
    """Sum one number per sequence over the sequences of each player; no sum is -0.0."""
    starts = form.treeplexes.player_sequences[:-1].astype(np.intp)
    return np.add.reduceat(terms, starts) + 0.0


def best_response(game: Game, strategy: StrategyLike, player: int) -> BestResponse:
    """Return a pure best response of `player` against the others' part of `strategy`.

    Parameters
    ----------
    game : Game
    strategy : Strategy or mapping from infoset to mapping from action to float
        A strategy for every player.
    player : int
        The responder. The gain is measured from this player's part of `strategy`.

    Returns
    -------
    BestResponse

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If the game has no such player, or the strategy belongs to another game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.RockPaperScissors()
    >>> uniform = cfr.Strategy.uniform(game)
    >>> biased = uniform.replace({"player 1": {"rock": .4, "paper": .3, "scissors": .3}})
    >>> response = cfr.best_response(game, biased, player=0)
    >>> round(response.value, 9), response.strategy["player 0"]
    (0.1, {'rock': 0.0, 'paper': 1.0, 'scissors': 0.0})
    """
    form = sequence_form(game)
    player = player_of(game, player)
    sigma = strategy_vector(form, strategy)
    own, gain, choice = evaluate(form, form.plans(sigma))
    first, last = form.treeplexes.player_sequences[player : player + 2]
    profile = sigma.copy()
    profile[first:last] = choice[first:last]
    return BestResponse(
        player,
        float(own[player] + gain[player]),
        not_negative(gain[player]),
        Strategy.from_vector(form, profile),
    )


def nash_conv(game: Game, strategy: StrategyLike) -> float:
    """Return Σ_i (best-response value − own value); 0 at equilibrium.

    Parameters
    ----------
    game : Game
    strategy : Strategy or mapping from infoset to mapping from action to float
        A strategy for every player.

    Returns
    -------
    float
        In units of the game (chips, points).

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If the strategy belongs to another game.

    Notes
    -----
    Source: Lanctot et al. (2017).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> round(12 * cfr.nash_conv(game, cfr.Strategy.uniform(game)), 9)
    11.0
    """
    form = sequence_form(game)
    return nash_conv_of_plans(form, form.plans(strategy_vector(form, strategy)))


def nash_conv_of_plans(form: SequenceForm, x: Floats) -> float:
    """Return NashConv at the realization plans `x`."""
    return not_negative(evaluate(form, x)[1])


def exploitability(game: Game, strategy: StrategyLike) -> float:
    """Return NashConv divided by the number of players.

    In a two-player zero-sum game: how far the strategy's payoff falls below the value of the
    game against an opponent who knows the strategy, averaged over the two seats.

    Parameters
    ----------
    game : Game
    strategy : Strategy or mapping from infoset to mapping from action to float
        A strategy for every player.

    Returns
    -------
    float
        In units of the game (chips, points).

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If the strategy belongs to another game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> round(24 * cfr.exploitability(game, cfr.Strategy.uniform(game)), 9)
    11.0
    """
    return nash_conv(game, strategy) / sequence_form(game).num_players


def cce_gaps(
    game: Game, profiles: Iterable[StrategyLike], weights: Iterable[float] | None = None
) -> Floats:
    """Return what each player gains by leaving joint play for the best fixed strategy.

    In joint play one of the profiles is sampled, by its weight, and all players play their part
    of it. A player who leaves does so before it is sampled; the others go on. If nobody gains,
    it is a coarse correlated equilibrium. For the iterates of a run, the gains are the players'
    average regrets, so they go to 0 or below in games of any number of players.

    Parameters
    ----------
    game : Game
    profiles : iterable of Strategy or of mapping from infoset to mapping from action to float
        Strategies for every player, e.g. the current strategies of a run. They are not kept.
    weights : iterable of float, optional
        One for each profile, at least 0 and not all 0. By default all are equal.

    Returns
    -------
    float array, shape (players,)
        In units of the game. The largest is the CCE gap. A gain may be negative: then leaving
        costs something.

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If there is no profile, one belongs to another game, or weights are not as above.

    Notes
    -----
    Source: Cesa-Bianchi & Lugosi (2006), chapter 7.

    Examples
    --------
    The iterates of a run. Iterations are weighted as in the run's average:

    >>> import cfrlib as cfr
    >>> kuhn = cfr.games.KuhnPoker(players=3)
    >>> run = cfr.CFR(kuhn, "cfr+", update="simultaneous")
    >>> def played(iterations):
    ...     for _ in range(iterations):
    ...         yield run.current
    ...         run.run(1)
    >>> gaps = cfr.cce_gaps(kuhn, played(200), weights=range(1, 201))
    >>> bool(gaps.max() < 0.01)
    True
    """
    form = sequence_form(game)
    known = repeat(1.0) if weights is None else weights
    given = zip(profiles, known, strict=weights is not None)
    total, own, g = 0.0, np.zeros(form.num_players), np.zeros(form.num_sequences)
    for profile, w in given:
        w = real_number("each weight", w)
        x = form.plans(strategy_vector(form, profile))
        now = form.gradients(x)
        g, own, total = g + w * now, own + w * _sum_by_player(form, x * now), total + w
    if not total:
        raise ValueError("joint play needs at least one profile with a weight above 0")
    choice = np.ones(form.num_sequences)
    for i in range(form.num_players):
        best_backup(form.treeplexes, i, g, choice)
    return (g[form.treeplexes.player_sequences[:-1]] - own) / total


class LPSolution(NamedTuple):
    """An exact equilibrium of a two-player constant-sum game, or an optimal strategy.

    Attributes
    ----------
    value : float
        The value of the game: player 0's expected payoff.
    strategy : Strategy
        One equilibrium; there may be others.
    """

    value: float
    strategy: Strategy


def solve_lp(game: Game) -> LPSolution:
    """Solve a two-player zero-sum game exactly by its sequence-form linear program.

    Each player i maximizes their payoff against a best-responding opponent j:
    max v_∅ over plans x ≥ 0 with E_i x = e, subject to E_jᵀ v ≤ A_iᵀ x. A_i[q, q'] is the
    payoff of i, and row I of E states that a plan's weights at I sum to the parent's weight.

    If the payoffs sum to another constant, the program of the zero-sum game that differs by
    constants is solved. A game of one player needs no program: the strategy is a best response.

    Parameters
    ----------
    game : Game

    Returns
    -------
    LPSolution

    Raises
    ------
    GameError
        If the rules of the game are unsound.
    ValueError
        If the game has more than two players, or the payoffs of two do not sum to a constant;
        or if payoffs are so small or so large that products with probabilities leave the range
        of floats.
    RuntimeError
        If the solution is not accurate enough, which can happen if payoffs differ by a factor
        of a billion or more.

    Notes
    -----
    Source: Koller, Megiddo & von Stengel (1996). SciPy's HiGHS solves the program of each
    player, with payoffs scaled to at most 1. The two programs are each other's duals, and
    NashConv of their solutions is the duality gap. A gap above a millionth of the average
    amount that changes hands raises the RuntimeError.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> round(18 * cfr.solve_lp(cfr.games.KuhnPoker()).value, 9)
    -1.0
    """
    form, constant = sequence_form(game), None
    if form.num_players == 1:
        best = best_response(game, Strategy.uniform(game), 0)
        return LPSolution(best.value, best.strategy)
    if form.num_players == 2:
        constant = form.tree.constant_sum
    if constant is None:
        raise ValueError(
            "the linear program solves two-player zero-sum and constant-sum games; "
            f"{form.tree!r}. Use cfrlib.solve, which runs on any game (without this guarantee)"
        )
    shift = 0.0
    if constant:
        shift, form = _as_zero_sum(form)
    exponent, form = _scaled(form)
    flows = [_flow_matrix(form, i) for i in (0, 1)]
    values, plan = [], np.empty(form.num_sequences)
    for i in (0, 1):
        value, x = _maximin(form, i, flows[i], flows[1 - i])
        first, last = form.treeplexes.player_sequences[i : i + 2]
        plan[first:last] = np.maximum(x, 0.0)
        values.append(value)
    sigma = np.empty(form.num_sequences)
    behavior(form.treeplexes, plan, sigma)
    value = _checked_strategies(form, values[0], sigma)
    value = math.ldexp(value, exponent) + shift
    return LPSolution(value, Strategy.from_vector(sequence_form(game), sigma))


def _as_zero_sum(form: SequenceForm) -> tuple[float, SequenceForm]:
    """Return player 0's payoff in the middle of the range, and the game after subtracting it.

    Player 1 pays what player 0 gets above it, so the players' interests stay as they are.
    """
    tree = copy.copy(form.tree)
    ends = tree.player == TERMINAL
    payoffs = tree.utility[ends, 0]
    shift = float(payoffs.min() / 2 + payoffs.max() / 2)
    tree.utility = np.zeros_like(tree.utility)
    tree.utility[ends] = np.stack([payoffs - shift, shift - payoffs], axis=1)
    return shift, SequenceForm(tree)


def _scaled(form: SequenceForm) -> tuple[int, SequenceForm]:
    """Return an exponent e, and the game with payoffs divided by 2^e, none above 1."""
    payoffs, game = form.treeplexes.leaf_payoff, form.tree.game
    largest = float(np.abs(form.tree.utility).max())
    if 0 < largest < SMALLEST:
        raise ValueError(
            f"the largest payoff of {game!r} is {largest:.2g}, so small that products with "
            "probabilities are rounded to 0; multiply all payoffs by a constant"
        )
    if not np.isfinite(payoffs).all():
        raise ValueError(
            f"the largest payoff of {game!r} is {largest:.2g}, so large that sums leave the "
            "range of floats; divide all payoffs by a constant"
        )
    exponent = math.frexp(np.abs(payoffs).max(initial=0.0))[1]
    scaled = copy.copy(form)  # a power of two is exact
    scaled.treeplexes = form.treeplexes._replace(leaf_payoff=np.ldexp(payoffs, -exponent))
    return exponent, scaled


def _checked_strategies(form: SequenceForm, value: float, sigma: Floats) -> float:
    """Return the value of the game; raise an error unless `sigma` is an equilibrium."""
    x = form.plans(sigma)
    own, gain, _ = evaluate(form, x)
    sizes = np.abs(form.treeplexes.leaf_payoff)
    payments = np.empty(form.num_sequences)
    gradient(form.treeplexes._replace(leaf_payoff=sizes), 0, x, payments)
    player_0 = slice(0, form.treeplexes.player_sequences[1])
    average = float(x[player_0] @ payments[player_0])
    smallest = float(sizes.min(where=sizes > 0, initial=1.0))
    if not gain.sum() <= ACCURACY * (average + smallest):
        utility = np.abs(form.tree.utility)
        raise RuntimeError(
            f"the linear program of {form.tree.game!r} could not be solved accurately: "
            f"its payoffs range from {utility.min(where=utility > 0, initial=np.inf):.1g} to "
            f"{utility.max():.1g} in size, too far apart; bring them closer together, or use "
            "cfrlib.solve, which reports the exploitability it reaches"
        )
    return value if abs(value - own[0]) <= ACCURACY * average else float(own[0])


def _flow_matrix(form: SequenceForm, player: int) -> csr_array:
    """Return E: row 0 is x[∅] = 1, row I is Σ_a x[I,a] − x[parent(I)] = 0."""
    from scipy.sparse import csr_array

    t = form.treeplexes
    first, last = t.player_sequences[player : player + 2]
    infosets = range(t.player_infosets[player], t.player_infosets[player + 1])
    rows, columns, signs = [0], [0], [1.0]
    for row, I in enumerate(infosets, start=1):
        own = range(t.infoset_start[I] - first, t.infoset_stop[I] - first)
        columns += [t.infoset_parent[I] - first, *own]
        signs += [-1.0] + [1.0] * len(own)
        rows += [row] * (1 + len(own))
    return csr_array((signs, (rows, columns)), shape=(len(infosets) + 1, last - first))


def _payoff_matrix(form: SequenceForm, player: int) -> csr_array:
    """Return A: payoffs to `player`, by own sequence (rows) and opponent's (columns)."""
    from scipy.sparse import csr_array

    t = form.treeplexes
    first, last = t.player_sequences[player : player + 2]
    other_first, other_last = t.player_sequences[1 - player : 3 - player]
    begin, end = t.leaf_start[first], t.leaf_start[last]
    return csr_array(
        (
            t.leaf_payoff[begin:end],
            t.leaf_others[0][begin:end] - other_first,
            t.leaf_start[first : last + 1] - begin,
        ),
        shape=(last - first, other_last - other_first),
    )


def _maximin(
    form: SequenceForm, player: int, own_flow: csr_array, other_flow: csr_array
) -> tuple[float, Floats]:
    """Return the value that `player` can guarantee, and a plan that guarantees it."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_array, hstack

    payoff = _payoff_matrix(form, player)
    n, m = payoff.shape[0], other_flow.shape[0]
    e = np.zeros(own_flow.shape[0])
    e[0] = 1.0
    objective = np.zeros(n + m)
    objective[n] = -1.0  # linprog minimizes; v_∅ is the first of the m values
    for presolve in (True, False):  # HiGHS in SciPy 1.14 may find a program infeasible
        result = linprog(
            objective,
            A_ub=hstack([-payoff.T, other_flow.T], format="csr"),
            b_ub=np.zeros(payoff.shape[1]),
            A_eq=hstack([own_flow, csr_array((own_flow.shape[0], m))], format="csr"),
            b_eq=e,
            bounds=[(0, None)] * n + [(None, None)] * m,
            method="highs",
            options={"presolve": presolve},
        )
        if result.success:
            break
    if not result.success or result.x is None or result.fun is None:
        raise RuntimeError(f"the linear program of {form.tree.game!r} failed: {result.message}")
    return 0.0 - float(result.fun), np.asarray(result.x[:n])  # not -x, which may be -0.0
