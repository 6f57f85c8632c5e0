"""A LiteEFG worker that run.py drives through a pipe, in LiteEFG's own Python environment.

Reads lines "game variant iterations", runs that many more iterations of that solver, and prints
the seconds they took and the NashConv of the average strategy.
"""

import sys
from time import perf_counter

import LiteEFG
import pyspiel
from LiteEFG.baselines import CFR, CFRplus

BASELINES = {"cfr": (CFR, "avg-iterate"), "cfr+": (CFRplus, "linear-avg-iterate")}
known = {}


def solver(game, variant):
    """Return the graph and the environment of a solver, cached."""
    if (game, variant) not in known:
        graph = BASELINES[variant][0].graph()
        env = LiteEFG.OpenSpielEnv(pyspiel.load_game(game), traverse_type="Enumerate")
        env.set_graph(graph)
        known[game, variant] = graph, env
    return known[game, variant]


def main():
    replies, sys.stdout = sys.stdout, sys.stderr  # LiteEFG prints greetings
    LiteEFG.set_threads(1)
    for line in sys.stdin:
        game, variant, iterations = line.split()
        graph, env = solver(game, variant)
        began = perf_counter()
        for _ in range(int(iterations)):
            graph.update_graph(env)
            env.update_strategy(graph.current_strategy())
        took = perf_counter() - began
        conv = sum(env.exploitability(graph.current_strategy(), BASELINES[variant][1]))
        print(took, conv, file=replies, flush=True)


if __name__ == "__main__":
    main()
