"""A few rounds of a matrix game, in which the reader's regrets fill a table."""

from __future__ import annotations

import json
from html import escape
from typing import Any

from cfrbook.explore.explorable import asset
from cfrlib.games import MatrixGame


class Rounds:
    """Rounds of a matrix game that a reader plays against regret matching.

    The reader is player 0. Each round adds a row to a table: what both played, what the reader
    earned, and the regret of each action. The program knows the payoffs and samples its action
    before the reader chooses. All of it works without a kernel; without scripts, or on paper,
    the table is blank, to be filled in with a friend.

    Parameters
    ----------
    game : MatrixGame
        A zero-sum game.
    rounds : int
        Number of rounds, at least 1.
    caption : str
        What to play for and what to look at.

    Raises
    ------
    ValueError
        If there is no round.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> ten = Rounds(cfr.games.RockPaperScissors(), 10, caption="Win more often than you lose.")
    >>> ten
    Rounds(RockPaperScissors(), 10 rounds)
    >>> ten.page().count("<tr>")  # two of names, ten to be filled in, the sum
    13
    """

    def __init__(self, game: MatrixGame, rounds: int, *, caption: str):
        if rounds < 1:
            raise ValueError(f"{rounds} rounds; there must be at least 1")
        self.game, self.rounds, self.caption = game, rounds, caption

    def __repr__(self) -> str:
        return f"Rounds({self.game!r}, {self.rounds} rounds)"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the same HTML for a page and a notebook."""
        return {"text/plain": repr(self), "text/html": self.page()}

    def page(self) -> str:
        """Return the table as HTML, blank until the script runs and a reader plays."""
        mine, theirs = self.game.actions
        data = {"payoffs": self.game.row_payoffs.tolist(), "mine": mine, "theirs": theirs}
        text = json.dumps(data, ensure_ascii=False).replace("</", "<\\/")
        names = ["round", "you", "other", "earned", *map(escape, mine)]
        above = f'<th colspan="{len(mine)}" scope="colgroup">regret of</th>'
        columns = "".join(f'<th scope="col">{name}</th>' for name in names)
        head = f'<tr><td colspan="4"></td>{above}</tr><tr>{columns}</tr>'
        blank = "<td></td>" * (3 + len(mine))
        body = "".join(
            f'<tr><th scope="row">{t}</th>{blank}</tr>' for t in range(1, self.rounds + 1)
        )
        total = f'<tr><th scope="row">sum</th>{blank}</tr>'
        return (
            f"<style>{asset('page.css')}</style><style>{asset('rounds.css')}</style>"
            '<figure class="cfr-figure cfr-rounds"><div class="cfr-explore">'
            '<div class="cfr-controls" role="group" aria-label="Your action" hidden></div>'
            f"<table><thead>{head}</thead><tbody>{body}</tbody><tfoot>{total}</tfoot></table>"
            '<p class="cfr-outcome" aria-live="polite"></p></div>'
            f"<figcaption>{escape(self.caption)}</figcaption>"
            f'<script type="application/json">{text}</script></figure>'
            f"<script>{asset('rounds.js')}</script>"
        )
