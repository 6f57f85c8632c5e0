"""Large trees: the sizes of liar's dice, and what a short run meets and holds."""

import large_trees
import pytest
from recorded import recorded

import cfrlib as cfr
from cfrlib.games import LiarsDice


@pytest.mark.slow
def test_recorded_sizes_and_memory():
    results = recorded("large_trees")
    two, *_, nine = (results["games"][str(faces)] for faces in large_trees.FACES)
    tree = cfr.compile(LiarsDice(2, 2))
    assert (two["histories"], two["infosets"]) == (tree.num_histories, tree.num_infosets)
    assert large_trees.size(LiarsDice(9, 2)).items() <= nine.items()
    met, held = large_trees.memory(LiarsDice(9, 2), large_trees.ITERATIONS[:1])
    assert met == pytest.approx(nine["met"][:1], rel=0.05)
    assert held == pytest.approx(nine["bytes"][:1], rel=0.05)
