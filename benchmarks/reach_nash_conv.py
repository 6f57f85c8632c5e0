"""Benchmark external sampling against donksolver's (C++): part of `make bench`.

Measures the seconds until the average strategy first has a given NashConv. Prints a table and
writes benchmarks/reach_nash_conv.json. README.md describes the comparison.
"""

import json
from pathlib import Path
from statistics import median
from time import perf_counter

from run import machine, show

import cfrlib as cfr

try:
    import donksolver
except ImportError:
    donksolver = None

RESULTS = Path(__file__).with_name("reach_nash_conv.json")
GAMES = {"kuhn": cfr.games.KuhnPoker(), "leduc": cfr.games.LeducPoker(merge_suits=True)}
TARGETS = {"kuhn": (0.01, 0.005), "leduc": (0.1, 0.05)}
FIRST = {"kuhn": 1_000, "leduc": 5_000}  # iterations before the first look at NashConv
GROWTH = 1.05  # then after 5 % more each time
SEEDS = 15
WEIGHTS = {"cfr": "vanilla", "linear": "linear"}  # variant -> donksolver's weighting
REACH = {"leduc": 2.0, "kuhn": 2.0}


class Ours:
    """External sampling by cfrlib, in one thread."""

    def __init__(self, game, variant, seed):
        self.game = GAMES[game]
        self.run = cfr.MCCFR(self.game, variant, seed=seed, threads=1)
        self.run.run(1, progress=False)  # compiles the kernels

    def iterate(self, count):
        before = self.run.seconds
        self.run.run(count, progress=False)
        return self.run.seconds - before

    def nash_conv(self):
        return cfr.nash_conv(self.game, self.run.average)


class Theirs:
    """External sampling by donksolver, in one thread; `strategy` is for checking the game."""

    def __init__(self, game, variant, seed):
        config = donksolver.toy(game, 2, weighting=WEIGHTS[variant], seed=seed + 1)
        self.solver = donksolver.Solver(config)
        self.solver.run(1)

    def iterate(self, count):
        began = perf_counter()
        self.solver.run(count, threads=1)
        return perf_counter() - began

    def nash_conv(self):
        return self.solver.exploitability()["nashconv"]

    def strategy(self):
        """Return the average strategy in cfrlib's form."""
        rows = {}
        self._add_rows(0, [""], rows)
        return rows

    def _add_rows(self, number, rounds, rows):
        node = self.solver.node(number)
        if node["actor"] < 0:
            return
        facing_bet = rounds[-1].endswith(("bet", "raise"))
        names = ("fold", "call", "raise") if facing_bet else ("fold", "check", "bet")
        actions = [names[kind] for kind in node["kinds"]]
        for bucket in range((3, 9)[node["street"]]):
            hand, board = ("JQK"[bucket], "") if len(rounds) == 1 else _cards(bucket)
            label = f"{hand} {rounds[0]}".strip()
            if board:
                label = f"{label} {board} {rounds[1]}".strip()
            row = self.solver.strategy(number, bucket)
            rows[label] = dict(zip(actions, row, strict=True))
        for action, child in zip(actions, node["children"], strict=True):
            history = f"{rounds[-1]}-{action}".strip("-")
            ends_round = action == "call" or history == "check-check"
            more = [""] if ends_round and len(rounds) == 1 else []
            self._add_rows(child, [*rounds[:-1], history, *more], rows)


def _cards(bucket):
    """Return the hand and the public card of a bucket of Leduc's second round."""
    return "JQK"[bucket // 3], "JQK"[bucket % 3]


def check():
    """Return the difference in NashConv of one strategy between the programs; stop if any."""
    found = {}
    for name, game in GAMES.items():
        theirs = Theirs(name, "linear", 0)
        theirs.iterate(3_000)
        rows = theirs.strategy()
        assert rows.keys() == cfr.Strategy.uniform(game).keys()
        found[name] = abs(cfr.nash_conv(game, rows) - theirs.nash_conv())
    assert max(found.values()) < 1e-9, f"not the same game: {found}"
    return found


def work_to(solver, game):
    """Return seconds of iterating and iterations until each target is first reached."""
    elapsed, done, step, found = 0.0, 0, FIRST[game], []
    for target in TARGETS[game]:
        while not done or solver.nash_conv() > target:
            elapsed += solver.iterate(step)
            done += step
            step = max(FIRST[game], round(done * (GROWTH - 1)))
        found.append((elapsed, done))
    return found


def measure():
    """Yield seconds and iterations of both programs, for each game, weighting and target."""
    for game in GAMES:
        for variant in WEIGHTS:
            pairs = []
            for seed in range(SEEDS):  # alternate, so that other work disturbs both
                print(f"\r{game}, {variant}, seed {seed} ", end="", flush=True)
                pairs.append([work_to(P(game, variant, seed), game) for P in (Ours, Theirs)])
            for n, target in enumerate(TARGETS[game]):
                ours, theirs = zip(*[(mine[n], peer[n]) for mine, peer in pairs], strict=True)
                (ours, our_iterations), (theirs, their_iterations) = (
                    zip(*side, strict=True) for side in (ours, theirs)
                )
                yield {
                    "game": game, "variant": variant, "nash_conv": target,
                    "ours": ours, "theirs": theirs, "ratio": median(theirs) / median(ours),
                    "our_iterations": our_iterations, "their_iterations": their_iterations,
                }  # fmt: skip
    print("\r" + " " * 40 + "\r", end="")


def main():
    if donksolver is None:
        print("donksolver is not installed; its comparison is left out")
        return
    differences = check()
    records = list(measure())
    show(
        [
            (
                r["game"], r["variant"], f"{r['nash_conv']:g}",
                f"{median(r['ours']) * 1e3:.1f} ms", f"{median(r['theirs']) * 1e3:.1f} ms",
                f"{r['ratio']:.2g}x", f">= {REACH[r['game']]:g}x",
                "yes" if r["ratio"] >= REACH[r["game"]] else "NO",
            )
            for r in records
        ],
        ("game", "variant", "NashConv", "cfrlib", "donksolver", "ratio", "reach", "reached"),
    )  # fmt: skip
    result = {
        "machine": machine(), "donksolver": donksolver.native_version(), "seeds": SEEDS,
        "differences": differences, "records": records,
    }  # fmt: skip
    RESULTS.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
