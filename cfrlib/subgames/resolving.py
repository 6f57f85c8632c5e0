"""Solve parts of a game again, and assemble the result into a strategy of the whole game.

:func:`resolve` replaces a blueprint below chosen public states, once. :func:`continual` plays
the whole game by solving at every decision, and keeps two things between solves: the player's
own reach, and an alternative value for each hand of the opponent (Moravčík et al., 2017). Both
return a strategy for every infoset, so that its exploitability can be computed exactly: what a
player at the table computes for one path, they compute for all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from cfrlib.cfr import CFR
from cfrlib.core.checks import choice, player_of
from cfrlib.core.sequence import SequenceForm, sequence_form
from cfrlib.core.tree import Floats, Tree
from cfrlib.evaluate import best_response
from cfrlib.game import Game
from cfrlib.strategy import Strategy, StrategyLike
from cfrlib.subgames.gadgets import Gadget, MaxMargin, Subgame
from cfrlib.subgames.public import PublicState, PublicTree, public_tree

METHODS = ("unsafe", "gadget", "maxmargin")


def history_values(tree: Tree, sigma: Floats) -> Floats:
    """Return what both players expect at every history if all play σ, shape (histories, 2).

    Parameters
    ----------
    tree : Tree
        A compiled game of two players.
    sigma : float array, shape (sequences,)
        A strategy by sequence, such as `Strategy.values_by_sequence`.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> uniform = cfr.Strategy.uniform(game)
    >>> history_values(cfr.compile(game), uniform.values_by_sequence)[0]
    array([ 0.125, -0.125])
    """
    u, p, parent = tree.utility.copy(), tree.probability.copy(), tree.parent
    c = np.flatnonzero(tree.player[parent] >= 0)
    c = c[c > 0]
    p[c] = sigma[tree.sequence[c, tree.player[parent[c]]]]
    for d in range(len(tree.level_start) - 2, 0, -1):
        level = slice(*tree.level_start[d : d + 2])
        np.add.at(u, parent[level], p[level, None] * u[level])
    return u


class Trunk(NamedTuple):
    """What the solving player knows about the way to a subgame, from a strategy for it.

    Attributes
    ----------
    weights : float array, shape (histories,)
        ``π_-j(h)``: chance's reach times that of the solving player.
    opponent_reach : float array, shape (histories,)
        π_j(h), which only unsafe solving uses.
    values : float array, shape (histories,)
        What the opponent j expects at each history by a best response to the strategy.
    gifts : float array, shape (histories,)
        What j has given up on the way, compared with that best response.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> way = trunk(game, cfr.Strategy.uniform(game), player=0)
    >>> k = cfr.compile(game).find((("K", "J"), "bet"))
    >>> float(way.weights[k] * way.opponent_reach[k])  # a deal in six, a bet in two
    0.08333333333333333
    """

    weights: Floats
    opponent_reach: Floats
    values: Floats
    gifts: Floats


def trunk(game: Game, strategy: StrategyLike, player: int) -> Trunk:
    """Return reach, best-response values and gifts of a strategy, at every history.

    Parameters
    ----------
    game : Game
        A two-player zero-sum game.
    strategy : Strategy or mapping
        The blueprint, for both players.
    player : int
        The player who will solve a part again.

    Returns
    -------
    Trunk

    Notes
    -----
    A *gift* is the amount by which the best action of the opponent at an infoset beats the one
    that leads on (Brown and Sandholm, 2017); gifts on the path of a history add up.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> found = trunk(game, cfr.Strategy.uniform(game), player=0)
    >>> k = cfr.compile(game).find((("K", "J"), "bet"))
    >>> round(float(found.values[k]), 9)
    -1.0
    """
    form, opponent = sequence_form(game), 1 - player
    tree = form.tree
    strategy = as_strategy(game, strategy)
    x = form.plans(strategy.values_by_sequence)
    best = best_response(game, strategy, opponent).strategy.values_by_sequence
    values = history_values(tree, best)[:, opponent]
    reach = x[tree.sequence]
    weights = tree.chance_reach * reach[:, player]
    gifts = _gifts(form, weights, values, opponent)[tree.sequence[:, opponent]]
    return Trunk(weights, reach[:, opponent], values, gifts)


def _gifts(form: SequenceForm, weights: Floats, values: Floats, opponent: int) -> Floats:
    """Return what each sequence of the opponent has given up so far, shape (sequences,)."""
    tree, t = form.tree, form.treeplexes
    total, earned = np.zeros(form.num_sequences), np.zeros(form.num_sequences)
    after = np.flatnonzero(tree.player[tree.parent] == opponent)
    after = after[after > 0]
    q = tree.sequence[after, opponent]
    np.add.at(total, q, weights[after])
    np.add.at(earned, q, weights[after] * values[after])
    mean = np.divide(earned, total, out=np.zeros_like(total), where=total > 0)
    gifts = np.zeros(form.num_sequences)
    for I in range(*t.player_infosets[opponent : opponent + 2]):
        own = slice(t.infoset_start[I], t.infoset_stop[I])
        gifts[own] = gifts[t.infoset_parent[I]] + mean[own].max() - mean[own]
    return gifts


def resolve(
    game: Game,
    blueprint: StrategyLike,
    player: int,
    states: Iterable[PublicState],
    method: str = "gadget",
    *,
    reach: bool = False,
    iterations: int = 1_000,
) -> Strategy:
    """Replace one player's strategy below some public states by solving there again.

    Parameters
    ----------
    game : Game
        A two-player zero-sum game.
    blueprint : Strategy or mapping
        A strategy for both players.
    player : int
        The player who solves again; the other player's strategy stays.
    states : iterable of PublicState
        Where the subgames begin. None may lie below another one.
    method : {"unsafe", "gadget", "maxmargin"}
        The beginning of each subgame: see :mod:`cfrlib.subgames.gadgets`.
    reach : bool
        Whether to add to each alternative value what the opponent has given up on the way.
    iterations : int
        Iterations of CFR+ for each subgame.

    Returns
    -------
    Strategy

    Raises
    ------
    ValueError
        If `method` is unknown, the game is not a zero-sum game of two players, or it has no
        such player.

    Notes
    -----
    Alternative values are counterfactual best-response values against the blueprint, divided by
    the reach of the hand. Sources: Burch et al. (2014), Moravčík et al. (2016), Brown and
    Sandholm (2017).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.LeducPoker(merge_suits=True)
    >>> poor = cfr.solve(game, "cfr", 10, progress=False).strategy
    >>> public = public_tree(game)
    >>> flops = [s for s in public.states if len(s.actions) > 1 and s.actions[-1] in "JQK"]
    >>> better = resolve(game, poor, 0, flops, "gadget")
    >>> before, after = (cfr.best_response(game, s, 1).value for s in (poor, better))
    >>> len(flops), after < before
    (15, True)
    """
    check_solver(game, player)
    choice("method", method, METHODS)
    blueprint = as_strategy(game, blueprint)
    found: dict[str, Mapping[Any, float]] = {}
    public, way = public_tree(game), trunk(game, blueprint, player)
    for state in states:
        alternatives = _alternatives(state, way, 1 - player, reach)
        part = _subgame(public, state, way, method, alternatives, player)
        if part is not None:
            found |= own_rows(part, blueprint, player, iterations)
    return blueprint.replace(found)


def check_solver(game: Game, player: int) -> None:
    """Raise a ValueError unless this is a player of a two-player zero-sum game."""
    tree = sequence_form(game).tree
    if tree.num_players != 2 or not tree.zero_sum:
        raise ValueError(f"{game!r} is not a zero-sum game of two players; subgames need one")
    player_of(game, player)


def as_strategy(game: Game, strategy: StrategyLike) -> Strategy:
    """Return a strategy of the game from a dictionary of infosets, or the strategy itself."""
    return strategy if isinstance(strategy, Strategy) else Strategy(game, strategy)


def _alternatives(state: PublicState, way: Trunk, opponent: int, reach: bool) -> Floats:
    """Return the mean of the values of each hand, with the gifts if wanted, shape (hands,)."""
    ks = state.histories
    worth = way.values[ks] + way.gifts[ks] if reach else way.values[ks]
    total = state.by_hand(opponent, way.weights[ks])
    earned = state.by_hand(opponent, way.weights[ks] * worth)
    return np.divide(earned, total, out=np.zeros_like(total), where=total > 0)


def _subgame(
    public: PublicTree,
    state: PublicState,
    way: Trunk,
    method: str,
    alternatives: Floats,
    player: int,
) -> Subgame | None:
    """Return the game to solve at a public state, or None if nobody can come there."""
    weights = way.weights[state.histories]
    if method == "unsafe":
        weights = weights * way.opponent_reach[state.histories]
        return Subgame(public, state, weights) if weights.sum() > 0 else None
    if not weights.sum() > 0:
        return None
    kind = Gadget if method == "gadget" else MaxMargin
    return kind(public, state, weights, 1 - player, alternatives)


def own_rows(
    part: Subgame, strategy: Strategy, player: int, iterations: int
) -> dict[str, Mapping[Any, float]]:
    """Solve a subgame by CFR+ and return the player's rows of the whole game."""
    new = CFR(part, "cfr+").run(iterations, progress=False).average
    return {I: row for I, row in new.items() if I in strategy and new.player(I) == player}
