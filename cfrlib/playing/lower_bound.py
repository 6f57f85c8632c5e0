"""Lower bounds on what a best response earns, for strategies and games of any size.

Whatever a responder earns against a strategy, a best response earns at least as much. A
responder that is fixed before the rounds are dealt is a strategy like any other, so the mean of
its payoffs is an unbiased estimate of a lower bound, however poor the responder is. The quality
of the responder decides only how tight the bound is: a small one proves nothing.

Two responders for any game: :class:`LocalBestResponse` looks one action ahead (Lisý & Bowling,
2017); :class:`TrainedResponse` learns by Monte Carlo CFR of one player.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from zlib import crc32

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import choice, player_of, whole_number
from cfrlib.core.tree import Floats, check_game
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal
from cfrlib.playing.matches import (
    Engine,
    Player,
    Rounds,
    SampleMean,
    pick,
    play_rounds,
    policies_of,
    probabilities,
    seats_of,
)

TICKETS = 64  # random numbers of the players in a belief, if these may be mixtures
ROUNDS = 10_000
NEGLIGIBLE = 1e-9  # share of a belief that is left out

# ---- bounds ----------------------------------------------------------------------------------


class Bound(SampleMean):
    """A lower bound on the value of a best response; made by :func:`best_response_bound`.

    The samples are the responder's payoffs. The bound holds in expectation: with probability
    97.5 %, the exact value is above the lower end of the interval.

    Attributes
    ----------
    player : int
    responder : player
    gain : SampleMean
        Lower bound on the gain, :attr:`BestResponse.gain`: the responder's payoffs minus those
        of the strategy in its place, in the same rounds.
    """

    def __init__(self, player: int, responder: Any, paid: Floats, own: Floats):
        super().__init__(paid)
        self.player, self.responder, self.gain = player, responder, SampleMean(paid - own)

    def __repr__(self) -> str:
        return (
            f"player {self.player}: value ≥ {self.mean:+.3f} ± {self.margin:.3f}, "
            f"gain ≥ {self.gain.mean:+.3f} ± {self.gain.margin:.3f} "
            f"(95 %, {len(self.samples):,} rounds)"
        )


class ExploitabilityBound(SampleMean):
    """A lower bound on exploitability; made by :func:`exploitability_bound`.

    Attributes
    ----------
    nash_conv : SampleMean
        Lower bound on NashConv, the sum of the gains.
    bounds : list of Bound
        One for each player, from the same rounds.
    """

    def __init__(self, bounds: list[Bound]):
        self.bounds = bounds
        self.nash_conv = SampleMean(sum(bound.gain.samples for bound in bounds))
        super().__init__(self.nash_conv.samples / len(bounds))

    def __repr__(self) -> str:
        return f"exploitability ≥ {super().__repr__()}"


def best_response_bound(
    game: Game | Engine,
    strategy: Any,
    player: int,
    responder: Any = "local",
    *,
    rounds: int = ROUNDS,
    seed: int | None = None,
) -> Bound:
    """Return a lower bound on what `player` can earn against a strategy, with an interval.

    Parameters
    ----------
    game : Game, or koikoi.Simulator for the players of Koi-Koi
        Of any size: it is not compiled.
    strategy : player, or sequence of players
        A profile, as for :func:`simulate`: a strategy, also a partial one, a dictionary, a
        :class:`cfrlib.deep.Policy` or any function of decisions; or one of these per seat.
    player : int
        The responder's seat.
    responder : "local", "trained", or player
        :class:`LocalBestResponse` or :class:`TrainedResponse` with their default options; or
        any player, for example one of these with other options, or
        ``cfr.deep.Responder(...).run(16).seated()``. In a simulator, a player of its game. It
        must not have seen the rounds.
    rounds : int
        The number of rounds, all played after the responder is complete; at least 2.
    seed : int, optional
        Seed of the responder and, independent of it, of the rounds.

    Returns
    -------
    Bound

    Raises
    ------
    ValueError
        If an argument is invalid.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> cfr.best_response_bound(game, {}, 0, seed=0)  # against uniform play
    player 0: value ≥ +0.497 ± 0.029, gain ≥ +0.370 ± 0.019 (95 %, 10,000 rounds)
    >>> cfr.best_response(game, cfr.Strategy.uniform(game), 0).value
    0.5
    """
    return _bounds(game, strategy, [player], responder, rounds, seed)[0]


def exploitability_bound(
    game: Game | Engine,
    strategy: Any,
    responder: Any = "local",
    *,
    rounds: int = ROUNDS,
    seed: int | None = None,
) -> ExploitabilityBound:
    """Return a lower bound on the exploitability of a strategy, with an interval.

    Parameters
    ----------
    game, strategy, rounds, seed
        As for :func:`best_response_bound`.
    responder : "local", "trained", player, or sequence of players
        As for :func:`best_response_bound`; a sequence holds one for each seat.

    Returns
    -------
    ExploitabilityBound

    Notes
    -----
    All seats respond in the same rounds. So in a zero-sum game of two, in which the payoffs of
    the strategy itself cancel, this is half the sum of what the responders earn.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> cfr.exploitability_bound(game, {}, seed=0)
    exploitability ≥ +0.469 ± 0.014 (95 %, 10,000 rounds)
    >>> round(cfr.exploitability(game, cfr.Strategy.uniform(game)), 4)
    0.4583
    """
    players = list(range(game.num_players))
    return ExploitabilityBound(_bounds(game, strategy, players, responder, rounds, seed))


def _bounds(
    game: Any,
    strategy: Any,
    players: list[int],
    responder: Any,
    rounds: int,
    seed: int | None,
) -> list[Bound]:
    """Return the bounds of some players, from the same rounds."""
    whole_number("rounds", rounds, 2)
    profile, players = seats_of(game, strategy), [player_of(game, i) for i in players]
    learning, dealing = np.random.SeedSequence(seed).generate_state(2, np.uint64).tolist()
    if isinstance(responder, str):
        build = RESPONDERS[choice("responder", responder, RESPONDERS)]
        if not isinstance(game, Game):
            raise ValueError(
                f"responder={responder!r} is for a Game; in {game!r}, pass a responder of the "
                "kind of its other players"
            )
        responders = {i: build(game, strategy, i, seed=learning) for i in players}
    else:
        responders = dict(enumerate(seats_of(game, responder)))

    def paid(some: Sequence[Any]) -> Floats:
        return play_rounds(game, some, rounds, np.random.SeedSequence(dealing))

    own, bounds = paid(profile), []
    for i in players:
        seated = [*profile[:i], responders[i], *profile[i + 1 :]]
        bounds.append(Bound(i, responders[i], paid(seated)[:, i], own[:, i]))
    return bounds


# ---- the local best response -----------------------------------------------------------------


class Response:
    """A player that deviates from a strategy at some infosets, and plays as it does at others.

    Call it with decisions, as :func:`simulate` does.
    """

    def __init__(self, game: Game, strategy: Player | Sequence[Player], player: int):
        check_game(game)
        self.game, self.player = game, player_of(game, player)
        self.policies = policies_of(game, strategy)

    def choose(self, node: Decision) -> int | None:
        """Return the action at an infoset, or None to play as the strategy does."""
        raise NotImplementedError

    def own(self, decisions: Sequence[Decision], tickets: npt.ArrayLike) -> Floats:
        """Return the strategy's own probabilities."""
        u = np.asarray(tickets, np.float64)
        return probabilities(self.policies[self.player], self.player, decisions, u)

    def __call__(self, decisions: Sequence[Decision], tickets: npt.ArrayLike) -> Floats:
        """Return the probabilities of each decision's actions, shape (decisions, actions)."""
        sigma = self.own(decisions, tickets)
        for row, node in zip(sigma, decisions, strict=True):
            chosen = self.choose(node)
            if chosen is not None:
                row[:] = np.arange(len(row)) == chosen
        return sigma

    def __repr__(self) -> str:
        return f"{type(self).__name__} of player {self.player} in {self.game!r}"


class Worlds(NamedTuple):
    """A weighted sample of histories, each with the players' random numbers.

    Attributes
    ----------
    histories : list of histories
    tickets : float array, shape (players, histories)
        The number in [0, 1) of each player, which selects the network of a mixture.
    weights : float array, shape (histories,)
    """

    histories: list[History]
    tickets: Floats
    weights: Floats


class LocalBestResponse(Response):
    """Local best response: an exact or sampled belief, and a look-ahead of one own action.

    At each infoset the responder knows the distribution over its histories, weighted by chance
    and by the opponents' strategies. It plays out every action in some of them, with the
    strategy in all seats, and takes the action of the highest mean payoff minus one standard
    error, relative to the strategy's own play there. Where this is not positive, it plays as
    the strategy does: without the margin it would act on noise.

    Call it with decisions, as :func:`simulate` does. Its choice at an infoset depends on the
    seed alone.

    Parameters
    ----------
    game : Game
    strategy : player, or sequence of players
        As for :func:`best_response_bound`.
    player : int
    samples : int
        Number of playouts per action; at least 2.
    histories : int
        Size of a belief. A larger one is sampled; at an infoset that then has no history, the
        responder plays as the strategy does.
    seed : int, optional

    Notes
    -----
    After Lisý & Bowling, *Equilibrium Approximation Quality of Current No-Limit Poker Bots*
    (2017). Their responder continues by checking and calling in poker, where the pot is known;
    this one continues with the strategy itself, so with an exact belief and many playouts it
    earns at least as much as the strategy.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> local = cfr.LocalBestResponse(cfr.games.KuhnPoker(), {}, 1, seed=0)
    >>> local([cfr.games.KuhnPoker().node((("J", "K"), "bet"))], [0.5])
    array([[0., 1.]])
    """

    def __init__(
        self,
        game: Game,
        strategy: Player | Sequence[Player],
        player: int,
        *,
        samples: int = 200,
        histories: int = 50_000,
        seed: int | None = None,
    ):
        super().__init__(game, strategy, player)
        self.samples = whole_number("samples", samples, 2)
        self.histories = whole_number("histories", histories, 1)
        self._key = int(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])
        self._worlds: dict[str, Worlds] = {}  # the belief at infosets not decided yet
        self._choice: dict[str, int | None] = {}  # None: as the strategy
        fixed = all(isinstance(each, Mapping) for each in seats_of(game, strategy))
        rng, copies = self._rng(""), 1 if fixed else TICKETS
        tickets = rng.random((game.num_players, copies))
        self._walk(Worlds([game.root()] * copies, tickets, np.ones(copies)), rng)

    def _rng(self, label: str) -> np.random.Generator:
        return np.random.default_rng([self._key, crc32(label.encode())])

    def _walk(self, worlds: Worlds, rng: np.random.Generator) -> None:
        """Walk down to the responder's next infosets, and store the belief at each."""
        found: dict[str, list[Worlds]] = {}
        least = NEGLIGIBLE * worlds.weights.sum()  # a walk in an infinite tree must end
        while worlds.histories:
            nodes: list[Any] = [self.game.node(h) for h in worlds.histories]
            mine: dict[str, list[int]] = {}
            for r, node in enumerate(nodes):
                if _acts(node, self.player):
                    mine.setdefault(node.infoset, []).append(r)
            for label, some in mine.items():
                found.setdefault(label, []).append(_take(worlds, some))
            rows = moves(nodes, self.policies, worlds.tickets, self.player)
            pairs = [(r, a, p) for r, row in enumerate(rows) for a, p in row.items() if p > 0]
            parent = np.array([r for r, _, _ in pairs], np.int64)
            weights = worlds.weights[parent] * np.array([p for _, _, p in pairs])
            kept = np.flatnonzero(weights > least)
            if len(kept) > self.histories:
                start = np.array([0, len(pairs)])
                kept = resample(weights, start, self.histories, rng.random(1))[0]
                weights[kept] = weights.sum() / len(kept)
            histories = [
                self.game.step(worlds.histories[pairs[k][0]], pairs[k][1])
                for k in kept.tolist()
            ]
            worlds = Worlds(histories, worlds.tickets[:, parent[kept]], weights[kept])
        for label, parts in found.items():
            self._worlds[label] = Worlds(
                [h for part in parts for h in part.histories],
                np.concatenate([part.tickets for part in parts], axis=1),
                np.concatenate([part.weights for part in parts]),
            )

    def choose(self, node: Decision) -> int | None:
        """Return the action at an infoset, or None to play as the strategy does."""
        if node.infoset not in self._choice:
            self._choice[node.infoset] = self._look_ahead(node)
        return self._choice[node.infoset]

    def _look_ahead(self, node: Decision) -> int | None:
        """Return the action that is clearly better than the strategy's own play, if any."""
        worlds = self._worlds.pop(node.infoset, None)
        if worlds is None:
            return None
        rng, actions = self._rng(node.infoset), list(node.actions)
        start = np.array([0, len(worlds.weights)])
        some = _take(worlds, resample(worlds.weights, start, self.samples, rng.random(1))[0])
        n = len(actions)
        step = self.game.step
        after = [step(h, a) for a in actions for h in some.histories]
        tickets = np.tile(some.tickets, n)
        source = np.random.SeedSequence(int(rng.integers(2**63)))
        rounds = Rounds(self.game, self.policies, after, source, tickets, self.samples)
        paid = rounds.play()[:, self.player].reshape(n, self.samples)
        default = self.own([node] * self.samples, some.tickets[self.player])[:, :n]
        gain = paid - (default.T * paid).sum(axis=0)
        chosen = int(clear_choice(gain, np.array([0, n]))[0])
        legal = actions if chosen < 0 else [actions[chosen]]
        self._walk(
            Worlds(
                [step(h, a) for a in legal for h in worlds.histories],
                np.tile(worlds.tickets, len(legal)),
                np.tile(worlds.weights, len(legal)),
            ),
            rng,
        )
        return None if chosen < 0 else chosen


def clear_choice(gain: Floats, start: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
    """Return each decision's row of the highest mean minus one standard error.

    Decision d has the rows ``start[d] … start[d + 1] - 1``: an action's sampled gains over the
    strategy's own play. The row is -1 where that score is not positive.

    Examples
    --------
    >>> gain = np.array([[0.0, 0.0], [1.0, 3.0], [0.0, 0.0], [-1.0, 3.0]])
    >>> clear_choice(gain, np.array([0, 2, 4]))
    array([ 1, -1])
    """
    score = gain.mean(axis=1) - gain.std(axis=1, ddof=1) / gain.shape[1] ** 0.5
    decision = np.repeat(np.arange(len(start) - 1), np.diff(start))
    best = np.lexsort((-score, decision))[start[:-1]]
    return np.where(score[best] > 0, best, -1)


def resample(
    weight: Floats, start: npt.NDArray[np.int64], samples: int, u: Floats
) -> npt.NDArray[np.int64]:
    """Return rows of some beliefs in proportion to weight, shape (beliefs, samples).

    Belief d has the rows ``start[d] … start[d + 1] - 1``. This is systematic resampling: the
    points are evenly spaced, shifted by one number u in [0, 1) per belief, so each row is taken
    its expected number of times, rounded up or down.

    Examples
    --------
    >>> resample(np.array([0.5, 0.0, 1.5]), np.array([0, 3]), 4, np.array([0.5]))
    array([[0, 2, 2, 2]])
    """
    spaced = (u[:, None] + np.arange(samples)) / samples
    sums = np.cumsum(weight)
    before = np.concatenate([[0.0], sums])[start[:-1]]
    target = before[:, None] + spaced * (sums[start[1:] - 1] - before)[:, None]
    row = np.searchsorted(sums, target.ravel(), side="right").reshape(len(u), samples)
    rows: npt.NDArray[np.int64] = np.clip(row, start[:-1, None], start[1:, None] - 1)
    return rows


def _take(worlds: Worlds, rows: Any) -> Worlds:
    histories = [worlds.histories[r] for r in rows]
    return Worlds(histories, worlds.tickets[:, rows], worlds.weights[rows])


def _acts(node: Node, player: int) -> bool:
    """Return whether a player acts at a node."""
    return isinstance(node, Decision) and node.player == player


def moves(
    nodes: Sequence[Node], policies: Sequence[Any], tickets: Floats, player: int
) -> list[dict[Any, float]]:
    """Return the probabilities of each node's actions; none at ends and where `player` acts."""
    rows: list[dict[Any, float]] = [{}] * len(nodes)
    pending: dict[int, list[int]] = {}
    for r, node in enumerate(nodes):
        if isinstance(node, Chance):
            rows[r] = dict(node.probabilities)
        elif isinstance(node, Decision) and not _acts(node, player):
            pending.setdefault(node.player, []).append(r)
    for i, some in pending.items():
        acting: list[Any] = [nodes[r] for r in some]
        sigma = probabilities(policies[i], i, acting, tickets[i, some]).tolist()
        for r, node, row in zip(some, acting, sigma, strict=True):
            rows[r] = dict(zip(node.actions, row, strict=False))
    return rows


# ---- the trained responder -------------------------------------------------------------------


class TrainedResponse(Response):
    """A responder trained by external sampling MCCFR of one player, in a table of infosets.

    Against fixed opponents there is nothing to mix: CFR+ approaches a best response. At
    infosets that training has not met, it plays as the strategy does.

    Call it with decisions, as :func:`simulate` does.

    Parameters
    ----------
    game : Game
    strategy : player, or sequence of players
        As for :func:`best_response_bound`.
    player : int
    traversals : int
    batch : int
        Traversals per iteration, all with the same strategy.
    seed : int, optional

    Examples
    --------
    >>> import cfrlib as cfr
    >>> trained = cfr.TrainedResponse(cfr.games.KuhnPoker(), {}, 1, traversals=1_000, seed=0)
    >>> trained([cfr.games.KuhnPoker().node((("J", "K"), "bet"))], [0.5]).round(1)
    array([[0., 1.]])
    """

    def __init__(
        self,
        game: Game,
        strategy: Player | Sequence[Player],
        player: int,
        *,
        traversals: int = 20_000,
        batch: int = 100,
        seed: int | None = None,
    ):
        super().__init__(game, strategy, player)
        self.batch = whole_number("batch", batch, 1)
        self.traversals = whole_number("traversals", traversals, 1)
        self.regrets: dict[str, Floats] = {}
        self.total: dict[str, Floats] = {}
        self._rng = np.random.default_rng(seed)
        for t in range(1, -(-traversals // batch) + 1):
            self._iterate(t)

    def _iterate(self, t: int) -> None:
        """Run a batch of traversals level by level, and update the tables."""
        histories, reach = [self.game.root()] * self.batch, np.ones(self.batch)
        tickets = self._rng.random((self.game.num_players, self.batch))
        levels = []
        while histories:
            nodes: list[Any] = [self.game.node(h) for h in histories]
            rows = moves(nodes, self.policies, tickets, self.player)
            own = self._current(nodes, tickets)
            below: list[tuple[int, Any, float]] = []  # parent, action, reach
            for r, (node, row) in enumerate(zip(nodes, rows, strict=True)):
                if r in own:
                    reached = (reach[r] * own[r]).tolist()
                    below += zip([r] * len(reached), node.actions, reached, strict=True)
                elif row:
                    below.append((r, pick(row, self._rng.random()), reach[r]))
            parent = [r for r, _, _ in below]
            levels.append((nodes, own, parent, reach))
            histories = [self.game.step(histories[r], a) for r, a, _ in below]
            reach, tickets = np.array([x for _, _, x in below]), tickets[:, parent]
        self._update(levels, t)

    def _current(self, nodes: Sequence[Any], tickets: Floats) -> dict[int, Floats]:
        """Return the responder's strategy at those nodes at which they act."""
        mine = [r for r, node in enumerate(nodes) if _acts(node, self.player)]
        if not mine:
            return {}
        own, sigma = {}, self.own([nodes[r] for r in mine], tickets[self.player, mine])
        for r, row in zip(mine, sigma, strict=True):
            regrets = self.regrets.get(nodes[r].infoset)
            own[r] = row[: len(nodes[r].actions)]
            if regrets is not None and regrets.any():
                own[r] = regrets / regrets.sum()
        return own

    def _update(self, levels: list[Any], t: int) -> None:
        """Pass payoffs up through the levels; add regrets and strategies."""
        change: dict[str, Floats] = {}
        below = np.zeros(0)
        for nodes, own, parent, reach in reversed(levels):
            values = np.zeros(len(nodes))
            first = np.searchsorted(parent, np.arange(len(nodes) + 1)).tolist()
            for r, node in enumerate(nodes):
                if isinstance(node, Terminal):
                    values[r] = node.utilities[self.player]
                elif r not in own:
                    values[r] = below[first[r]]
                else:
                    I, each = node.infoset, below[first[r] : first[r + 1]]
                    values[r] = own[r] @ each
                    change[I] = change.get(I, 0.0) + each - values[r]
                    self.total[I] = self.total.get(I, 0.0) + t * reach[r] * own[r]
            below = values
        for I, regret in change.items():
            self.regrets[I] = np.maximum(self.regrets.get(I, 0.0) + regret, 0.0)

    def choose(self, node: Decision) -> int | None:
        """Return the action at an infoset, or None to play as the strategy does."""
        total = self.total.get(node.infoset)
        return None if total is None or not total.any() else int(total.argmax())


RESPONDERS: dict[str, Any] = {"local": LocalBestResponse, "trained": TrainedResponse}
