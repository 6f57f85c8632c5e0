"""Compiled kernels and interpreted kernels compute the same numbers."""

import json
import os
import subprocess
import sys

import pytest

import cfrlib as cfr

pytestmark = pytest.mark.slow

PROGRAM = """
import json, numba
import numpy as np
import cfrlib as cfr
found = {"jit": not numba.config.DISABLE_JIT}
def hedge(R, sigma, r, memory, t):
    R += r
    sigma[:] = np.exp(R - R.max())
    sigma /= sigma.sum()
METHODS = *cfr.VARIANTS, cfr.RegretMinimizer("Hedge", hedge)
for game in (cfr.games.KuhnPoker(), cfr.games.KuhnPoker(players=3)):
    for variant in METHODS:
        for update in ("alternating", "simultaneous"):
            run = cfr.CFR(game, variant, update=update).run(20)
            s = run.solution()
            numbers = [s.value, s.nash_conv, *run.regrets.values_by_sequence,
                       *s.strategy.values_by_sequence, *s.current.values_by_sequence]
            found[f"{game!r} {run.variant.name} {update}"] = [float(n).hex() for n in numbers]
rps = cfr.play(cfr.games.RockPaperScissors(3), 30, seed=1)
found["play"] = [float(n).hex() for table in (*rps.average, *rps.regret) for n in table.ravel()]
print(json.dumps(found))
"""


def numbers(disable_jit):
    environment = {**os.environ, "NUMBA_DISABLE_JIT": disable_jit}
    command = [sys.executable, "-c", PROGRAM]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_interpreted_kernels_match_compiled_up_to_rounding():
    compiled, interpreted = numbers("0"), numbers("1")
    assert compiled.pop("jit") is True
    assert interpreted.pop("jit") is False
    assert compiled.keys() == interpreted.keys()
    assert len(compiled) == 2 * (len(cfr.VARIANTS) + 1) * 2 + 1
    for name, row in compiled.items():
        assert len(row) == len(interpreted[name]) > 50
        for a, b in zip(row, interpreted[name], strict=True):
            x, y = float.fromhex(a), float.fromhex(b)
            assert abs(x - y) <= 1e-12 * max(1, abs(y)), name
