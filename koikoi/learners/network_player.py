"""Koi-Koi players whose strategy comes from networks of values, regrets or logits."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from cfrlib.core import files
from cfrlib.core.files import Array, PathLike, Saved
from cfrlib.core.memo import remembered
from cfrlib.core.rng import uniforms
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.deep.features import sequences_of
from cfrlib.deep.memory import Singles
from cfrlib.game import History
from cfrlib.strategy import Strategy
from koikoi.afterstates import Afterstates, Describer
from koikoi.learners.segments import (
    greedy,
    match_segments,
    sample_rows,
    segment_ids,
    softmax,
)
from koikoi.learners.value_network import PairNetwork, ValueNetwork, value_network
from koikoi.players import POINTS, PROBABILITY, Advice
from koikoi.rules import KoiKoi
from koikoi.simulator import Numbers, Rounds, Simulator

RULES = ("value", "regret", "logit")  # what a network's output means


def action_probabilities(
    rule: str, network: ValueNetwork, weights: Singles, after: Afterstates, scale: float
) -> Floats:
    """Return the strategy that a network defines, shape (rows,).

    Parameters
    ----------
    rule : "value", "regret" or "logit"
        Greedy in the values, regret matching, or a softmax of the logits.
    network : ValueNetwork
    weights : float32 array
    after : Afterstates
    scale : float
        Points per unit of network output.
    """
    if rule == "value":
        return greedy(values_of(network, weights, after, scale), after.start)
    if rule == "regret":
        return match_segments(regrets_of(network, weights, after, scale), after.start)
    return softmax(network(weights, after.code), after.start)


def values_of(
    network: ValueNetwork, weights: Singles, after: Afterstates, scale: float
) -> Floats:
    """Return the values of all actions: predicted, except that stopping pays a known amount."""
    return known_values(network(weights, after.code), after.paid, scale)


def regrets_of(
    network: ValueNetwork, weights: Singles, after: Afterstates, scale: float
) -> Floats:
    """Return the regrets of all actions, shape (rows,).

    A network that sees only the table after an action could not predict its regret: the same
    table may be the best result of one hand and the worst result of another. So the regret is
    either the output for the tables after and before the action, or the difference of the
    values of both.
    """
    if isinstance(network, PairNetwork):
        return network(weights, after.pairs)
    return predicted_values(network, weights, after, scale).regrets(after.start)


class PredictedValues(NamedTuple):
    """A network's values at some decisions, which define regrets.

    Attributes
    ----------
    actions : float array, shape (rows,)
        The value q(a) of each action, known for stopping.
    decisions : float array, shape (decisions,)
        The value v of each decision.
    """

    actions: Floats
    decisions: Floats

    def regrets(self, start: Numbers) -> Floats:
        """Return q(a) − v for each action, shape (rows,)."""
        return self.actions - self.decisions[segment_ids(start)]


def predicted_values(
    network: ValueNetwork, weights: Singles, after: Afterstates, scale: float
) -> PredictedValues:
    """Return the values of all actions, by the table after each, and of all decisions."""
    predicted = network(weights, np.concatenate([after.code, after.before]))
    actions, decisions = np.split(predicted, [len(after.code)])
    return PredictedValues(known_values(actions, after.paid, scale), decisions)


def known_values(predicted: Floats, paid: Floats, scale: float) -> Floats:
    """Replace the predictions for stop actions by their known payoff."""
    return np.where(np.isnan(paid), predicted, paid / scale)


def payoff_scale(game: KoiKoi) -> float:
    """Return the points per unit of network output: the most that a single yaku is worth."""
    return float(max(y.points for y in game.yaku))


def decision_time(rounds: Rounds, rows: Numbers) -> Numbers:
    """Return an integer per decision that is unique within its round."""
    plays: Numbers = np.bitwise_count(rounds.hands[rows, rounds.player[rows]]).astype(np.int64)
    return 1 + 4 * (64 * plays + rounds.turned[rows]) + rounds.stage[rows]


class NetworkPlayer:
    """Plays Koi-Koi by a network, or by a mixture of networks, one sampled per round.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    networks : sequence of float32 arrays, shape (size,)
        The weights of each network.
    hidden : sequence of int
        Widths of their hidden layers.
    rule : "value", "regret" or "logit"
        How outputs become a strategy: take the action of the highest value; play in proportion
        to positive regret, the action's value minus the decision's; or a softmax of logits.
    weights : sequence of float, optional
        The weight of each network in the mixture; equal if left out. Normalized to sum to 1.
    network : "mlp", "pair", "transformer" or "transformer pair"
        Their kind.

    Raises
    ------
    ValueError
        If the kind is unknown, the networks have another size, or there is not one weight for
        each.

    Examples
    --------
    >>> import cfrlib as cfr, koikoi
    >>> from koikoi.learners import DeepMonteCarlo
    >>> from koikoi.simulator import Simulator
    >>> game = koikoi.MiniKoiKoi.K8()
    >>> player = DeepMonteCarlo(game, hidden=(16,)).player()  # not trained yet
    >>> simulator = Simulator(game)
    >>> player.advise(simulator, simulator.deal(1, seed=0), 0).what
    'points'
    >>> cfr.exploitability(game, player.strategy()) > 0.5
    True

    Files:

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     player.save(f"{folder}/player.npz")
    ...     NetworkPlayer.load(f"{folder}/player.npz", game)
    NetworkPlayer of MiniKoiKoi.K8(): a network, (16,), by value
    """

    FORMAT = "koikoi.NetworkPlayer 2"

    def __init__(
        self,
        game: KoiKoi,
        networks: Sequence[Singles],
        hidden: Sequence[int],
        rule: str,
        weights: Sequence[float] | None = None,
        network: str = "mlp",
    ):
        if rule not in RULES:
            raise ValueError(f"rule must be one of {RULES}, got {rule!r}")
        self.game, self.hidden, self.rule = game, tuple(hidden), rule
        self.network = value_network(game, hidden, network)
        self.networks = [np.asarray(row, np.float32) for row in networks]
        share = np.ones(len(self.networks)) if weights is None else np.asarray(weights, float)
        sizes = {row.shape for row in self.networks}
        if sizes != {(self.network.size,)} or share.shape != (len(self.networks),):
            raise ValueError(
                f"networks of widths {self.hidden} for {game!r} have {self.network.size:,} "
                f"weights; got {sizes}, and {len(share)} shares of {len(self.networks)}"
            )
        self.weights = share / share.sum()
        self._scale = payoff_scale(game)

    def under(self, game: KoiKoi) -> NetworkPlayer:
        """Return a player with the same networks for a game with other rules.

        The legal actions, the payoffs and the input of the networks follow the new rules. The
        networks themselves were trained under the old ones: if the new rules allow one call of
        koi-koi per round, for example, the predicted value of a call still includes later
        calls. So this is the way to measure a player under rules that it was not trained on.

        Parameters
        ----------
        game : KoiKoi or MiniKoiKoi
            A game with the same cards and yaku.

        Raises
        ------
        ValueError
            If its cards or yaku are not the same.

        Examples
        --------
        >>> from koikoi import MiniKoiKoi
        >>> from koikoi.learners import DeepMonteCarlo
        >>> player = DeepMonteCarlo(MiniKoiKoi.K8(), hidden=(16,)).player()
        >>> player.under(MiniKoiKoi.K8(koi_limit=1))
        NetworkPlayer of MiniKoiKoi.K8(koi_limit=1): a network, (16,), by value
        """
        if (game.deck, game.yaku) != (self.game.deck, self.game.yaku):
            raise ValueError(
                f"the networks of a player of {self.game!r} have an input for each card and "
                f"yaku, and {game!r} has others: train a player of that game"
            )
        weights = self.weights.tolist()
        return NetworkPlayer(
            game, self.networks, self.hidden, self.rule, weights, self.network.kind
        )

    def _check_rules(self, simulator: Simulator) -> None:
        """Raise a ValueError if the rules of a simulator are not those of the player's game."""
        if simulator.game is self.game:
            return
        theirs, mine = (RulesOnly(game).fingerprint() for game in (simulator.game, self.game))
        if theirs != mine:
            raise ValueError(
                f"this is a player of {self.game!r}, and the simulator has other rules, those "
                f"of {simulator.game!r}: play by the player's own rules, or let "
                "player.under(game) play by rules that its networks were not trained on"
            )

    def sigma(self, n: int, after: Afterstates) -> Floats:
        """Return the strategy of network n, shape (rows,)."""
        return action_probabilities(
            self.rule, self.network, self.networks[n], after, self._scale
        )

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds.

        Raises
        ------
        ValueError
            If the simulator has other rules than the player's game.
        """
        self._check_rules(simulator)
        index = self.network_of(uniforms(key, np.zeros_like(rows), rows))
        return self.moves(rounds, rows, index, uniforms(key, decision_time(rounds, rows), rows))

    def network_of(self, u: Floats) -> Numbers:
        """Sample the network of each round by inverse transform; u is uniform in [0, 1)."""
        index: Numbers = np.searchsorted(np.cumsum(self.weights)[:-1], u, side="right")
        return index

    def strategies(
        self, rounds: Rounds, rows: Numbers, index: Numbers
    ) -> Iterator[tuple[Numbers, Afterstates, Floats]]:
        """Yield the strategies in these rounds, grouped by network.

        Parameters
        ----------
        rounds : Rounds
        rows : int array, shape (decisions,)
        index : int array, shape (decisions,)
            The network that plays each.

        Yields
        ------
        positions : int array
            Positions in `rows` of the decisions of one network.
        after : Afterstates
        sigma : float array, shape (rows of `after`,)
        """
        for n in np.unique(index).tolist():
            some = np.flatnonzero(index == n)
            after = self.network.describer.after(rounds, rows[some])
            yield some, after, self.sigma(n, after)

    def moves(self, rounds: Rounds, rows: Numbers, index: Numbers, u: Floats) -> Numbers:
        """Sample an action in each of these rounds; u is uniform in [0, 1)."""
        actions = np.empty(len(rows), np.int64)
        for some, after, sigma in self.strategies(rounds, rows, index):
            actions[some] = after.action[sample_rows(sigma, after.start, u[some])]
        return actions

    @property
    def checksum(self) -> str:
        """A digest of the networks and their weights in the mixture, 16 characters."""
        content = sha256(self.weights.tobytes())
        for row in self.networks:
            content.update(row.tobytes())
        return content.hexdigest()[:16]

    def save(self, path: PathLike) -> None:
        """Write the player to a file: in float16 if that is lossless, else in float32."""
        networks: Array = np.stack(self.networks)
        if np.array_equal(half := networks.astype(np.float16), networks):
            networks = half
        fields = {"hidden": self.hidden, "rule": self.rule, "network": self.network.kind}
        arrays = {"networks": networks, "weights": self.weights}
        files.write(path, self.FORMAT, RulesOnly(self.game), fields, arrays)

    @classmethod
    def load(cls, path: PathLike, game: KoiKoi) -> NetworkPlayer:
        """Load a saved player.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, or of a game with other rules.
        """
        with files.reading(path, cls.FORMAT) as file:
            file.require_game(RulesOnly(game))
            hidden, rule, kind = (file.header[name] for name in ("hidden", "rule", "network"))
            check_widths(file, "networks", hidden)
            precision, (number, size), _ = file.header["arrays"]["networks"]
            networks = file.array("networks", (number, size), precision)
            player = cls(game, list(networks), hidden, rule, network=kind)
            player.weights = file.array("weights", (number,))  # normalized before
        return player

    def advise(self, simulator: Simulator, rounds: Rounds, r: int) -> Advice:
        """Return a number for each action in round r.

        With rule "value" the numbers are expected payoffs to the player to move, in points;
        with the other rules they are probabilities. A mixture returns the mean of its
        networks by their weights, not by how likely each would have reached this decision.

        Returns
        -------
        Advice
            Its keys are actions as `Simulator.act` takes them.

        Raises
        ------
        ValueError
            If the simulator has other rules than the player's game.
        """
        self._check_rules(simulator)
        after = self.network.describer.after(rounds, np.array([r]))
        numbers = np.zeros(len(after.action))
        for n, weight in enumerate(self.weights):
            if self.rule == "value":
                values = values_of(self.network, self.networks[n], after, self._scale)
                points = self._scale * values
                numbers += weight * points
            else:
                numbers += weight * self.sigma(n, after)
        what = POINTS if self.rule == "value" else PROBABILITY
        pairs = zip(after.action.tolist(), numbers.tolist(), strict=True)
        return Advice(what, dict(pairs))

    def page_data(self) -> dict[str, Any] | None:
        """Return the network for the script of a page, ready for JSON.

        The script evaluates one MLP of values whose weights are lossless in float16; for other
        players the result is None.

        Returns
        -------
        dict or None
            ``sizes``, from the number of features to the single output; ``scale``, the points
            per unit of output; ``weights``, in the order of the file, as base64 of float16.
        """
        weights = self.networks[0].astype("<f2")
        values = self.rule == "value" and self.network.kind == "mlp"
        if not values or len(self.networks) > 1 or (weights != self.networks[0]).any():
            return None
        sizes = (self.network.describer.columns, *self.hidden, 1)
        text = b64encode(weights.tobytes()).decode()
        return {"sizes": sizes, "scale": self._scale, "weights": text}

    def strategy(self) -> Strategy:
        """Return the player's behavior strategy, if the game compiles.

        Each network of a mixture plays whole rounds, so the strategies are averaged weighted
        by the player's own reach.

        Raises
        ------
        GameError
            If the game is too large.
        """
        form = sequence_form(self.game)
        decisions = decisions_of(self.game, self.network.describer.ordered)
        total = np.zeros(form.num_sequences)
        sigma = form.uniform()
        for n, weight in enumerate(self.weights):
            row = form.uniform()
            row[decisions.sequence] = self.sigma(n, decisions.after)
            total += weight * form.plans(row)
        behavior(form.treeplexes, total, sigma)
        return Strategy.from_vector(form, sigma)

    def __repr__(self) -> str:
        many = (
            f"one of {len(self.networks)} networks" if len(self.networks) > 1 else "a network"
        )
        kind = "" if self.network.kind == "mlp" else f" ({self.network.kind})"
        return f"NetworkPlayer of {self.game!r}: {many}{kind}, {self.hidden}, by {self.rule}"


class Decisions(NamedTuple):
    """All decisions of a compiled game that have two or more actions.

    Attributes
    ----------
    after : Afterstates
    sequence : int array, shape (rows,)
        The sequence of each action.
    """

    after: Afterstates
    sequence: Numbers


@remembered
def infosets_of(game: KoiKoi, /) -> tuple[Rounds, Numbers]:
    """Return all decisions of a game that compiles, one history of each, and their sequences.

    Decision d is round d; the second result is as `Decisions.sequence`. Cached on the game.

    Raises
    ------
    GameError
        If the game is too large.
    """
    tree = sequence_form(game).tree
    found: dict[int, History] = {0: game.root()}

    def position(k: int) -> History:
        if k not in found:
            found[k] = game.step(position(int(tree.parent[k])), tree.action[k])
        return found[k]

    which = [I for I, actions in enumerate(tree.infoset_actions) if len(actions) > 1]
    infosets, first = np.unique(tree.infoset, return_index=True)
    first_history = dict(zip(infosets.tolist(), first.tolist(), strict=True))
    rounds = Simulator(game).place([position(first_history[I]) for I in which])
    sequences = sequences_of(tree)
    return rounds, np.concatenate([sequences[I, : len(tree.infoset_actions[I])] for I in which])


@remembered
def decisions_of(game: KoiKoi, ordered: bool = False, /) -> Decisions:
    """Return all decisions of a game that compiles; cached on the game object.

    With `ordered`, the tables contain the record of play; each infoset has one.

    Raises
    ------
    GameError
        If the game is too large.
    """
    rounds, sequence = infosets_of(game)
    return Decisions(Describer(game, ordered).after(rounds, np.arange(len(rounds))), sequence)


# ---- files -----------------------------------------------------------------------------------


def check_widths(file: Saved, name: str, hidden: Sequence[int]) -> None:
    """Raise a ValueError if networks of these widths have more weights than the file holds.

    This bounds the memory that is allocated for a file by the size of the file.
    """
    if sum(m * n for m, n in pairwise((1, *hidden))) > file.shape(name)[-1]:
        raise ValueError(f"{name} is smaller than networks of widths {hidden}")


class RulesOnly:
    """A file's description of a game that is too large to list its infosets: its rules."""

    infoset_player = infoset_label = infoset_actions = ()

    def __init__(self, game: KoiKoi):
        self.game = game

    @property
    def tree(self) -> RulesOnly:
        """The game, and no infosets."""
        return self

    def fingerprint(self) -> str:
        """Return a digest of the rules."""
        game = self.game
        rules = repr((game, game.deck, game.hand, game.open, game.yaku))
        return sha256(rules.encode()).hexdigest()
