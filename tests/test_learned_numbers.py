"""Outputs of trained networks are compared loosely, but they are compared."""

import pytest
from learned_numbers import agree


@pytest.mark.parametrize(
    ("committed", "elsewhere"),
    [
        ("NashConv 0.039, mixture 0.040", "NashConv 0.046, mixture 0.027"),
        ("{'fold': 0.16, 'call': 0.28}", "{'fold': 0.18, 'call': 0.11}"),
        ("worse than sound: 1 of 3", "worse than sound: 2 of 3"),
        ("[0.429 0.571]", "[0.435   0.565]\n"),
        ("10,000 rounds: +0.5 ± 0.2", "10,000 rounds: +0.6 ± 0.2"),
    ],
)
def test_the_same_training_elsewhere(committed, elsewhere):
    assert agree(committed, elsewhere)


@pytest.mark.parametrize(
    ("committed", "elsewhere"),
    [
        ("NashConv 0.039", "NashConv 0.539"),
        ("NashConv 0.039", "exploitability 0.039"),
        ("NashConv 0.039, mixture 0.040", "NashConv 0.039"),
        ("worse than sound: 0 of 3", "worse than sound: 2 of 3"),
        ("10,000 rounds: +1.5 ± 0.2", "10,000 rounds: -1.5 ± 0.2"),
        ("150,000 rounds", "15,000 rounds"),
    ],
)
def test_another_result(committed, elsewhere):
    assert not agree(committed, elsewhere)
