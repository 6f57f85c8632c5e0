"""The long runs of chapter 15: their beginnings, made again."""

import numpy as np
from recorded import recorded

from cfrlib.games import KuhnPoker
from cfrlib.last_iterate import RegretMatching, follow


def test_experiment_can_be_reproduced():
    saved = recorded("last_iterate")
    marks = [t for t in saved["checkpoints"] if t <= 30]
    for name, method in (("RM+", RegretMatching()), ("PRM+", RegretMatching(prediction=1))):
        found = follow(KuhnPoker(), method, marks)
        expected = saved["long"][f"{name} | Kuhn poker"]["last"][: len(marks)]
        np.testing.assert_allclose(found.last, expected, rtol=0.01)
