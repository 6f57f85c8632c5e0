"""Does the order of play help a network? An MLP and a Transformer fitted to miniature Koi-Koi.

    python experiments/koikoi_order.py

The MLP sees the table. The Transformer also reads the order of play, and has an MLP of the same
widths behind it. Writes experiments/koikoi_order.json after each result, in a few minutes; a
second run computes only what is missing.

- `fitted`: the network learns an equilibrium of K10 (CFR+) by cross entropy, at all decisions
  alike; the exploitability of what it then plays shows what its input and its size can express.
- `averaged`: the same for the mean of the equilibrium over all decisions with the same table
  before them, which is the best fit for a player that sees only the table.

Results depend on the seed and, in their digits, on the processor. What learners reach with
either network, koikoi_factorial.py measures.
"""

from pathlib import Path

import flat_json
import jax
import numpy as np
from koikoi_judge import digits

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from koikoi import MiniKoiKoi
from koikoi.learners import NetworkPlayer
from koikoi.learners.network_player import decisions_of
from koikoi.learners.segments import segment_ids
from koikoi.learners.value_network import choice_loss, value_network

RESULTS = Path(__file__).with_suffix(".json")
NETWORKS = ("mlp", "transformer")
SEEDS = (100, 101, 102)
HIDDEN = (128, 128)
CHECKED = (500, 1_000, 2_000, 4_000)  # steps of Adam after which a fit is measured
BATCH = 512  # decisions of a step
game = MiniKoiKoi.K10()


def equilibrium():
    """Return an almost exact equilibrium of the game."""
    return cfr.solve(game, "cfr+", iterations=1_000, progress=False)


def averaged():
    """Return the exploitability of an equilibrium averaged over decisions that look alike."""
    solution, form = equilibrium(), sequence_form(game)
    after, sequence = decisions_of(game)
    look = np.unique(after.before, axis=0, return_inverse=True)[1].ravel()
    key = np.stack([look[segment_ids(after.start)], after.action], axis=1)
    alike = np.unique(key, axis=0, return_inverse=True)[1].ravel()
    total = np.bincount(alike, solution.strategy.values_by_sequence[sequence])
    sigma = solution.strategy.values_by_sequence.copy()
    sigma[sequence] = (total / np.bincount(alike))[alike]
    strategy = cfr.Strategy.from_vector(form, sigma)
    return {
        "looks": len(set(look)),
        "exploitability": digits(cfr.exploitability(game, strategy)),
    }


def fit(kind, seed):
    """Return the exploitability of a network fitted to an equilibrium, after some steps."""
    solution = equilibrium()
    network = value_network(game, HIDDEN, kind)
    after, sequence = decisions_of(game, network.describer.ordered)
    sigma = solution.strategy.values_by_sequence[sequence]
    counts = np.diff(after.start)
    place = after.start[:-1, None] + np.arange(counts.max())
    legal = np.arange(counts.max()) < counts[:, None]
    place = np.where(legal, place, 0)
    state, rng = network.fresh(jax.random.key(seed)), np.random.default_rng(seed)
    found = {"equilibrium": digits(solution.exploitability)}
    for done in range(0, CHECKED[-1], 100):
        which = rng.integers(0, len(place), (100, BATCH))
        rows, mask = place[which], legal[which]
        code = np.where(mask[..., None], after.code[rows], 0)
        target = np.where(mask, sigma[rows], 0.0)
        rate = 2e-3 * 0.5 * (1 + np.cos(np.pi * done / CHECKED[-1]))
        state, _ = network.improve(state, code, target, mask * 1.0, rate, choice_loss)
        if done + 100 in CHECKED:
            player = NetworkPlayer(game, [state.weights], HIDDEN, "logit", network=kind)
            found[str(done + 100)] = digits(cfr.exploitability(game, player.strategy()))
    return found


def main():
    """Compute all results that are missing."""
    plan = [(("averaged", "looks"), averaged)]
    plan += [(("fitted", n, str(seed)), fit, n, seed) for seed in SEEDS for n in NETWORKS]
    for place, compute, *arguments in plan:
        if flat_json.find(RESULTS, place) is None:
            flat_json.record(RESULTS, place, compute(*arguments))


if __name__ == "__main__":
    main()
