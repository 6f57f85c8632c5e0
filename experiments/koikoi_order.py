"""Does the order of play help a network? An MLP and a Transformer on miniature Koi-Koi, K10.

    python experiments/koikoi_order.py                everything that is missing
    python experiments/koikoi_order.py --only fitted  one section
    python experiments/koikoi_order.py --minutes 10   start nothing later than this

The MLP sees the table. The Transformer also reads the order of play, and has an MLP of the same
widths behind it. Writes experiments/koikoi_order.json after each result; a second run computes
only what is missing. Learners are saved under experiments/koikoi_players/runs and resume
exactly.

- `fitted`: the network learns an equilibrium of K10 (CFR+) by cross entropy, at all decisions
  alike; the exploitability of what it then plays shows what its input and its size can express.
- `averaged`: the same for the mean of the equilibrium over all decisions with the same table
  before them, which is the best fit for a player that sees only the table.
- `learned`: exploitability of two learners by self-play, after equal numbers of iterations, and
  processor seconds, for seeds 100, 101 and 102.
- `speed`: rounds of the full game per second of self-play and training by deep Monte Carlo.

Results depend on the seed and, in their digits, on the processor; seconds on the machine.
`device` is where JAX ran. On one core: a few minutes for `fitted`, half an hour for `learned`.
"""

import argparse
import json
import time
from pathlib import Path

import flat_json
import jax
import numpy as np

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from koikoi import KoiKoi, MiniKoiKoi
from koikoi.learners import DeepMonteCarlo, NetworkPlayer
from koikoi.learners.network_player import decisions_of
from koikoi.learners.segments import segment_ids
from koikoi.learners.value_network import choice_loss, value_network
from koikoi_learners import MMDPolicyGradient

RESULTS = Path(__file__).with_suffix(".json")
RUNS = Path(__file__).with_name("koikoi_players") / "runs"
NETWORKS = ("mlp", "transformer")
SEEDS = (100, 101, 102)
HIDDEN = (128, 128)
CHECKED = (500, 1_000, 2_000, 4_000)  # steps of Adam after which a fit is measured
BATCH = 512  # decisions of a step
LEARNERS = {
    "policy gradient": (MMDPolicyGradient, {"eta": 2.0, "magnet": 0.1}),
    "monte carlo": (DeepMonteCarlo, {}),
}
ITERATIONS = (50, 100, 150, 200)
game = MiniKoiKoi.K10()


def digits(number):
    """Keep four significant digits."""
    return float(f"{number:.4g}")


def device():
    """Return the platform and the kind of the device that JAX uses."""
    found = jax.devices()[0]
    return " ".join(dict.fromkeys((found.platform, found.device_kind)))


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


def learn(learner, kind, seed, iterations, known):
    """Continue a learner to some iterations; return its exploitability and all its seconds."""
    make, options = LEARNERS[learner]
    path = RUNS / f"order-{learner.replace(' ', '-')}-{kind}-{seed}.npz"
    run = make.load(path, game) if path.exists() else None
    if run is None or run.iterations > iterations:
        run = make(game, hidden=HIDDEN, batch=BATCH, seed=seed, network=kind, **options)
    spent = known.get(str(run.iterations), [0, 0.0])[1]
    began = time.process_time()
    run.run(iterations - run.iterations, progress=False)
    spent += time.process_time() - began
    RUNS.mkdir(parents=True, exist_ok=True)
    run.save(path)
    return [digits(cfr.exploitability(game, run.player().strategy())), round(spent, 1)]


def speed(kind):
    """Return the rounds per processor second of ten iterations, after five to compile."""
    run = DeepMonteCarlo(KoiKoi(), seed=SEEDS[0], network=kind).run(5, progress=False)
    began = time.process_time()
    run.run(10, progress=False)
    return round(10 * run.rounds / (time.process_time() - began))


class Results:
    """The results so far; missing ones are computed until the time is over."""

    def __init__(self, only, minutes):
        self.only, self.end = only, time.monotonic() + 60 * minutes
        self.known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}

    def once(self, section, place, key, compute, *arguments):
        """Compute and write a result, unless it is known."""
        out = self.known.setdefault(section, {})
        for name in place:
            out = out.setdefault(name, {})
        wanted = section.startswith(self.only) and time.monotonic() < self.end
        if key in out or not wanted:
            return
        if section == "learned":
            arguments = (*arguments, out)
        out[key] = compute(*arguments)
        self.known["device"] = device()
        print(section, *place, key, out[key], flush=True)
        flat_json.write(RESULTS, self.known)


def main():
    """Compute all results that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="sections whose names start like this")
    parser.add_argument("--minutes", type=float, default=np.inf, help="start nothing later")
    options = parser.parse_args()
    results = Results(options.only, options.minutes)
    print("JAX uses", device())
    for kind in NETWORKS:
        results.once("speed", (), kind, speed, kind)
    results.once("averaged", (), "looks", averaged)
    for seed in SEEDS:
        for kind in NETWORKS:
            results.once("fitted", (kind,), str(seed), fit, kind, seed)
    for learner in LEARNERS:
        for seed in SEEDS:
            for kind in NETWORKS:
                for n in ITERATIONS:
                    place = (learner, kind, str(seed))
                    results.once("learned", place, str(n), learn, learner, kind, seed, n)


if __name__ == "__main__":
    main()
