"""Solve the beginning of a game when a blueprint plays the rest, and the opponent may pick how.

If both follow the blueprint after the depth limit, the solving player learns to exploit that
play, and is exploited for it. Brown, Sandholm and Amos (2018) let the opponent choose among
several continuations at the depth limit; then the beginning must be sound against all of them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

import numpy as np

from cfrlib.core.sequence import sequence_form
from cfrlib.game import Action, Game
from cfrlib.strategy import Strategy, StrategyLike
from cfrlib.subgames.gadgets import Leaves, Subgame
from cfrlib.subgames.public import PublicState, public_tree
from cfrlib.subgames.resolving import as_strategy, check_solver, history_values, own_rows


def biased(strategy: Strategy, actions: Collection[Action], factor: float = 10.0) -> Strategy:
    """Return a strategy that plays some actions more often.

    Parameters
    ----------
    strategy : Strategy
    actions : collection of actions
        Where one of them is legal, its probability is multiplied by `factor`.
    factor : float
        At least 0.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> uniform = cfr.Strategy.uniform(cfr.games.KuhnPoker())
    >>> biased(uniform, ["bet"], factor=4)["Q"]
    {'check': 0.2, 'bet': 0.8}
    """
    rows = {}
    for I, row in strategy.items():
        new = {a: p * (factor if a in actions else 1.0) for a, p in row.items()}
        total = sum(new.values())
        rows[I] = {a: p / total for a, p in new.items()} if total > 0 else row
    return Strategy(strategy.game, rows)


def depth_limited(
    game: Game,
    blueprint: StrategyLike,
    player: int,
    ends: Iterable[PublicState],
    continuations: Sequence[StrategyLike] = (),
    *,
    iterations: int = 1_000,
) -> Strategy:
    """Replace one player's strategy before a depth limit.

    Parameters
    ----------
    game : Game
        A two-player zero-sum game.
    blueprint : Strategy
        What `player` does after the depth limit, and both do without continuations.
    player : int
        The player who solves; the other player's strategy stays.
    ends : iterable of PublicState
        The depth limit.
    continuations : sequence of Strategy, optional
        What the opponent, who sees their hand, may do after the depth limit besides the
        blueprint.
    iterations : int
        Iterations of CFR+.

    Returns
    -------
    Strategy
        The blueprint, with new rows for `player` before the limit.

    Notes
    -----
    Source: Brown, Sandholm and Amos (2018).

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.subgames import public_tree
    >>> game = cfr.games.KuhnPoker()
    >>> blueprint, public = cfr.Strategy.uniform(game), public_tree(game)
    >>> mine = depth_limited(game, blueprint, 0, [public.find("check"), public.find("bet")])
    >>> [round(mine[card]["bet"]) for card in "JQK"]  # half of all bets are called
    [1, 1, 1]
    """
    check_solver(game, player)
    public, form, opponent = public_tree(game), sequence_form(game), 1 - player
    theirs = slice(*form.treeplexes.player_sequences[opponent : opponent + 2])
    blueprint, worth = as_strategy(game, blueprint), []
    for continuation in (blueprint, *(as_strategy(game, each) for each in continuations)):
        sigma = blueprint.values_by_sequence.copy()
        sigma[theirs] = continuation.values_by_sequence[theirs]
        worth.append(history_values(form.tree, sigma))
    values, payoffs, hand = np.stack(worth, axis=1), {}, {}
    for end in ends:
        labels = end.hand_label[opponent]
        for k, c in zip(end.histories.tolist(), end.hand[opponent].tolist(), strict=True):
            payoffs[k], hand[k] = values[k], labels[c]
    start = public.states[0]
    part = Subgame(
        public, start, np.ones(len(start.histories)), Leaves(payoffs, opponent, hand)
    )
    return blueprint.replace(own_rows(part, blueprint, player, iterations))
