"""Players of Koi-Koi that choose by a network's values, regrets or logits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from hashlib import sha256
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cfrlib.core import files, schema
from cfrlib.core.rng import uniforms
from cfrlib.core.sequence import behavior, sequence_form
from cfrlib.core.tree import Floats
from cfrlib.deep.features import sequences_of
from cfrlib.deep.memory import Singles
from cfrlib.game import Chance, Decision, History
from cfrlib.koikoi.afterstates import Afterstates, Describer
from cfrlib.koikoi.learners.segments import best, drawn, matched, owners, softmax
from cfrlib.koikoi.learners.value_network import ValueNetwork
from cfrlib.koikoi.players import CHANCE, POINTS, Advice
from cfrlib.koikoi.rules import KoiKoi
from cfrlib.koikoi.simulator import Numbers, Rounds, Simulator
from cfrlib.strategy import Strategy

RULES = ("value", "regret", "logit")  # what a network's output means


def act_by(
    rule: str, judge: ValueNetwork, weights: Singles, after: Afterstates, unit: float
) -> Floats:
    """Return the probabilities of all actions, as a network answers.

    Parameters
    ----------
    rule : "value", "regret" or "logit"
        By its values the best is taken, its regrets are matched, of logits a softmax is taken.
    judge : ValueNetwork
    weights : float32 array
        The network.
    after : Afterstates
    unit : float
        The points that count 1.
    """
    if rule == "value":
        return best(values_of(judge, weights, after, unit), after.start)
    if rule == "regret":
        return matched(regrets_of(judge, weights, after, unit), after.start)
    return softmax(judge(weights, after.code), after.start)


def values_of(judge: ValueNetwork, weights: Singles, after: Afterstates, unit: float) -> Floats:
    """Return the values of all actions: what a network says, but what stopping pays."""
    return known_values(judge(weights, after.code), after.paid, unit)


def regrets_of(
    judge: ValueNetwork, weights: Singles, after: Afterstates, unit: float
) -> Floats:
    """Return the regrets of all actions: their values less that of their decision.

    A network that sees the table after an action could not tell the regret itself: the same
    table may be the best or the worst that could be made of a hand.
    """
    said = judge(weights, np.concatenate([after.code, after.before]))
    actions, decisions = np.split(said, [len(after.code)])
    return known_values(actions, after.paid, unit) - decisions[owners(after.start)]


def known_values(said: Floats, paid: Floats, unit: float) -> Floats:
    """Return values that a network said, in place of those of stopping what it pays."""
    return np.where(np.isnan(paid), said, paid / unit)


def payoff_scale(game: KoiKoi) -> float:
    """Return the points that count 1 for a network: the most that one yaku is worth."""
    return float(max(y.points for y in game.yaku))


def moment(rounds: Rounds, rows: Numbers) -> Numbers:
    """Return a number for when in its round each decision is, another for each of them."""
    plays: Numbers = np.bitwise_count(rounds.hands[rows, rounds.player[rows]]).astype(np.int64)
    return 1 + 4 * (64 * plays + rounds.turned[rows]) + rounds.stage[rows]


class NetworkPlayer:
    """Plays Koi-Koi as a network says, or each round as one of several.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    networks : sequence of float32 arrays, shape (size,)
    hidden : sequence of int
        Their widths.
    rule : "value", "regret" or "logit"
        How they are asked: the action of the highest value; actions in proportion to positive
        regret, the value of an action less that of the decision; or by a softmax of logits.
    weights : sequence of float, optional
        How likely each network is chosen for a round, in proportion.

    Raises
    ------
    ValueError
        If the networks have another size, or there is not one weight for each.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrlib.koikoi.learners import DeepMonteCarlo
    >>> from cfrlib.koikoi.simulator import Simulator
    >>> game = cfr.koikoi.MiniKoiKoi.K8()
    >>> player = DeepMonteCarlo(game, hidden=(16,)).player()  # has learned nothing yet
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

    def __init__(
        self,
        game: KoiKoi,
        networks: Sequence[Singles],
        hidden: Sequence[int],
        rule: str,
        weights: Sequence[float] | None = None,
    ):
        if rule not in RULES:
            raise ValueError(f"rule must be one of {RULES}, got {rule!r}")
        self.game, self.hidden, self.rule = game, tuple(hidden), rule
        self.judge = ValueNetwork(Describer(game), hidden)
        self.networks = [np.asarray(network, np.float32) for network in networks]
        share = np.ones(len(self.networks)) if weights is None else np.asarray(weights, float)
        sizes = {network.shape for network in self.networks}
        if sizes != {(self.judge.size,)} or share.shape != (len(self.networks),):
            raise ValueError(
                f"networks of widths {self.hidden} for {game!r} have {self.judge.size:,} "
                f"weights; got {sizes}, and {len(share)} shares of {len(self.networks)}"
            )
        self.weights = share / share.sum()
        self._unit = payoff_scale(game)

    def sigma(self, n: int, after: Afterstates) -> Floats:
        """Return what network n plays, shape (rows,)."""
        return act_by(self.rule, self.judge, self.networks[n], after, self._unit)

    def __call__(
        self, simulator: Simulator, rounds: Rounds, rows: Numbers, key: np.uint64
    ) -> Numbers:
        """Return an action for each of these rounds."""
        network = self.network_of(uniforms(key, np.zeros_like(rows), rows))
        return self.moves(rounds, rows, network, uniforms(key, moment(rounds, rows), rows))

    def network_of(self, u: Floats) -> Numbers:
        """Return the networks that numbers in [0, 1) draw, for whole rounds."""
        drawn_networks: Numbers = np.searchsorted(np.cumsum(self.weights)[:-1], u, side="right")
        return drawn_networks

    def asked(
        self, rounds: Rounds, rows: Numbers, network: Numbers
    ) -> Iterator[tuple[Numbers, Afterstates, Floats]]:
        """Ask in each of these rounds one network; yield which, the afterstates, and σ."""
        for n in np.unique(network).tolist():
            some = np.flatnonzero(network == n)
            after = self.judge.describer.after(rounds, rows[some])
            yield some, after, self.sigma(n, after)

    def moves(self, rounds: Rounds, rows: Numbers, network: Numbers, u: Floats) -> Numbers:
        """Return the actions that u, in [0, 1), draws in each of these rounds."""
        actions = np.empty(len(rows), np.int64)
        for some, after, sigma in self.asked(rounds, rows, network):
            actions[some] = after.action[drawn(sigma, after.start, u[some])]
        return actions

    def save(self, path: files.PathLike) -> None:
        """Write the networks, as float16 if they are none the worse for it, else float32."""
        networks: npt.NDArray[Any] = np.stack(self.networks)
        if (networks == (half := networks.astype(np.float16))).all():
            networks = half
        header = {"hidden": self.hidden, "rule": self.rule, "sha256": _digest(networks)}
        arrays: Any = {"networks": networks, "weights": self.weights}
        files.write(path, PLAYER, RulesOnly(self.game), header, arrays)

    @classmethod
    def load(cls, path: files.PathLike, game: KoiKoi) -> NetworkPlayer:
        """Return a saved player.

        Raises
        ------
        ValueError
            If the file is damaged, of another kind, of a game with other rules, or if its
            networks are not those it was written with.
        """
        with files.reading(path, PLAYER, RulesOnly(game)) as file:
            hidden = file.header["hidden"]
            demand_widths(file, "networks", hidden)
            size = ValueNetwork(Describer(game), hidden).size
            arrays = file.arrays(weights=size)
            if file.header["sha256"] != _digest(arrays["networks"]):
                raise ValueError("networks other than those it was written with")
            networks, weights = arrays["networks"].astype(np.float32), arrays["weights"]
            return cls(game, list(networks), hidden, file.header["rule"], weights.tolist())

    def advise(self, simulator: Simulator, rounds: Rounds, r: int) -> Advice:
        """Return what it thinks of each action in round r.

        By rule "value" in points, what whoever chooses can expect; by the others how likely it
        plays each. Of several networks it is their mean, by how likely each is chosen for a
        round, not by how likely each would have come here.

        Returns
        -------
        Advice
            The actions as `Simulator.act` takes them.
        """
        after = self.judge.describer.after(rounds, np.array([r]))
        numbers = np.zeros(len(after.action))
        for network, weight in zip(self.networks, self.weights, strict=True):
            if self.rule == "value":
                points = self._unit * values_of(self.judge, network, after, self._unit)
                numbers += weight * points
            else:
                numbers += weight * act_by(self.rule, self.judge, network, after, self._unit)
        what = POINTS if self.rule == "value" else CHANCE
        pairs = zip(after.action.tolist(), numbers.tolist(), strict=True)
        return Advice(what, dict(pairs))

    def strategy(self) -> Strategy:
        """Return what it plays as exact probabilities, if the game compiles.

        With several networks each plays whole rounds, so their strategies are mixed by how
        likely the player's own choices lead to an infoset.

        Raises
        ------
        GameError
            If the game is too large.
        """
        form, all_of_them = sequence_form(self.game), decisions_of(self.game)
        total = np.zeros(form.num_sequences)
        sigma = form.uniform()
        for n, weight in enumerate(self.weights):
            row = form.uniform()
            row[all_of_them.sequence] = self.sigma(n, all_of_them.after)
            total += weight * form.plans(row)
        behavior(form.treeplexes, total, sigma)
        return Strategy.from_vector(form, sigma)

    def __repr__(self) -> str:
        many = (
            f"one of {len(self.networks)} networks" if len(self.networks) > 1 else "a network"
        )
        return f"NetworkPlayer of {self.game!r}: {many}, {self.hidden}, by {self.rule}"


class Decisions(NamedTuple):
    """All decisions of a compiled game where there is a choice.

    Attributes
    ----------
    after : Afterstates
    sequence : int array, shape (rows,)
        The sequence of each action.
    """

    after: Afterstates
    sequence: Numbers


def decisions_of(game: KoiKoi) -> Decisions:
    """Return all decisions of a game that compiles; remembered on the game object.

    Raises
    ------
    GameError
        If the game is too large.
    """
    known: Decisions | None = getattr(game, "_decisions", None)
    if known is None:
        tree = sequence_form(game).tree
        found: dict[str, History] = {}
        level: list[History] = [game.root()]
        while level:
            below: list[History] = []
            for h in level:
                node = game.node(h)
                if isinstance(node, Decision):
                    found.setdefault(node.infoset, h)
                if isinstance(node, Decision | Chance):
                    below.extend(game.step(h, a) for a in node.actions)
            level = below
        which = [I for I, actions in enumerate(tree.infoset_actions) if len(actions) > 1]
        describer = Describer(game)
        rounds = describer.simulator.place([found[tree.infoset_label[I]] for I in which])
        sequences = sequences_of(tree)
        known = Decisions(
            describer.after(rounds, np.arange(len(which))),
            np.concatenate([sequences[I, : len(tree.infoset_actions[I])] for I in which]),
        )
        object.__setattr__(game, "_decisions", known)
    return known


# ---- files -----------------------------------------------------------------------------------


HIDDEN = schema.listed(schema.whole(1), 0, 64)
PLAYER = files.Kind(
    "cfrlib network player 1",
    "player",
    "NetworkPlayer.save",
    {"hidden": HIDDEN, "rule": schema.one_of(*RULES), "sha256": schema.text},
    {
        "networks": schema.Array((None, "weights"), schema.single),
        "weights": schema.Array(
            (None,), lambda share: schema.finite(share) and bool((share >= 0).all())
        ),
    },
    ("float16", "float32", "float64"),
)


def demand_widths(file: files.Saved, name: str, hidden: Any) -> None:
    """Raise a ValueError if a network with such layers has more weights than a file holds."""
    files.demand(HIDDEN(hidden), "hidden")
    least = sum(m * n for m, n in pairwise((1, *hidden)))
    files.demand(least <= file.shape(name)[-1], "hidden")


def _digest(networks: npt.NDArray[Any]) -> str:
    return sha256(networks.tobytes()).hexdigest()


class RulesOnly:
    """A game as files describe it: by its rules alone, for it has too many infosets."""

    num_sequences = 0

    def __init__(self, game: KoiKoi):
        self.tree = _NoInfosets(game, [], [], [])
        self._rules = repr((game, game.deck, game.hand, game.open, game.yaku))

    def fingerprint(self) -> str:
        """Return a digest of the rules."""
        return sha256(self._rules.encode()).hexdigest()


class _NoInfosets(NamedTuple):
    game: KoiKoi
    infoset_player: list[int]
    infoset_label: list[str]
    infoset_actions: list[tuple[str, ...]]
