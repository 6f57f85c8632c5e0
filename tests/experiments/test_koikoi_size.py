"""Sizes of Koi-Koi: the counted trees, and the estimates for the full game."""

import numpy as np
import pytest
from recorded import recorded
from toy_games import mini

import cfrlib as cfr
from koikoi import KoiKoi, estimate


@pytest.mark.slow
def test_recorded_sizes():
    sizes = recorded("koikoi_size")
    for name in ("K8", "K9", "K10"):
        tree = cfr.compile(mini(name))
        assert sizes["counted"][name] == {
            "histories": tree.num_histories,
            "terminals": tree.num_terminals,
            "infosets": np.diff(tree.player_infosets).tolist(),
        }
    assert sizes["counted"]["K8, copies told apart"]["histories"] == 102_505
    found = estimate(KoiKoi(), 300, sizes["seed"])
    assert [round(x, 2) for x in found.other] == sizes["full"]["300"]["other"]
    for row in sizes["full"].values():
        for kind, wanted in (("terminals", 52.1), ("dealer", 49.4), ("other", 51.1)):
            low, middle, high = row[kind]
            assert low <= middle <= high
            assert middle == pytest.approx(wanted, abs=0.3)
