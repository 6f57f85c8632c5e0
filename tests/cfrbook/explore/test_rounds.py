"""Rounds against regret matching: the table, without a browser."""

from __future__ import annotations

import pytest
from bs4 import BeautifulSoup

import cfrlib as cfr
from cfrbook import explore


def test_table_has_a_row_for_each_round_and_a_column_for_each_action() -> None:
    game = cfr.games.MatrixGame([[1, -1], [-1, 1]], actions=("heads", "<tails>"))
    page = BeautifulSoup(explore.Rounds(game, 3, caption="A & B").page(), "html.parser")
    assert [row.get_text() for row in page.select("thead th")] == [
        "regret of",
        *("round", "you", "other", "earned", "heads", "<tails>"),
    ]
    rows = page.select("tbody tr, tfoot tr")
    assert [row.th.get_text() for row in rows if row.th] == ["1", "2", "3", "sum"]
    assert {len(row.select("td")) for row in rows} == {5}
    assert page.select_one("figcaption").get_text() == "A & B"  # type: ignore[union-attr]


def test_there_must_be_a_round() -> None:
    with pytest.raises(ValueError, match="at least 1"):
        explore.Rounds(cfr.games.RockPaperScissors(), 0, caption="None.")


def test_regrets_stand_below_their_name() -> None:
    page = BeautifulSoup(
        explore.Rounds(cfr.games.RockPaperScissors(), 1, caption="One.").page(), "html.parser"
    )
    first, second = page.select("thead tr")
    widths = [int(str(cell["colspan"])) for cell in first.select("td, th")]
    assert widths == [4, 3] and len(second.select("th")) == sum(widths)
