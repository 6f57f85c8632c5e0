"""The experiment on the order of play: exact tables, and networks fitted to them."""

import koikoi_order as script
import pytest
from recorded import recorded

pytestmark = pytest.mark.slow


def test_the_recorded_experiment_is_reproduced():
    """The mean over equal tables is exact; fits are compared by their size."""
    stored = recorded("koikoi_order")
    found, known = script.averaged(), stored["averaged"]["looks"]
    assert found["looks"] == known["looks"] == 870
    assert found["exploitability"] == pytest.approx(known["exploitability"], rel=0.02)
    last = str(script.CHECKED[-1])
    fitted = {kind: [seed[last] for seed in stored["fitted"][kind].values()]
              for kind in script.NETWORKS}  # fmt: skip
    assert len(fitted["mlp"]) == len(fitted["transformer"]) == len(script.SEEDS)
    assert min(fitted["mlp"]) > 0.9 * found["exploitability"] > 5 * max(fitted["transformer"])
