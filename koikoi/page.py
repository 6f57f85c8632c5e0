"""Koi-Koi as data for the book's scripts, which play it on a page without a kernel."""

from __future__ import annotations

import json
from typing import Any

from koikoi import art
from koikoi.cards import JAPANESE, kind_of
from koikoi.rules import KoiKoi


def rules(game: KoiKoi) -> dict[str, Any]:
    """Return the rules of a game as the script reads them.

    Examples
    --------
    >>> from koikoi import MiniKoiKoi
    >>> numbers = rules(MiniKoiKoi.K8())
    >>> numbers["hand"], numbers["special"], numbers["double_at"]
    (2, 'none', None)
    """
    names = ("deck", "months", "hand", "open", "special", "koi_limit", "double_at")
    numbers = {name: getattr(game, name) for name in (*names, "koi_factor", "void_points")}
    return {**numbers, "yaku": [y._asdict() for y in game.yaku]}


def japanese(game: KoiKoi) -> dict[str, str]:
    """Return the Japanese names of a game's cards and yaku, without the readings.

    A plain card has its flower's name, and the word for plain.

    Examples
    --------
    >>> names = japanese(KoiKoi())
    >>> names["Crane"], names["Pine-1"], names["sanko"]
    ('松に鶴', '松のカス', '三光')
    """
    words = [*game.months, *(y.name for y in game.yaku)]
    plain = JAPANESE["plain"][0]
    return {
        word: f"{JAPANESE[word.partition('-')[0]][0]}の{plain}"
        if word in game.months and kind_of(word) == "plain"
        else JAPANESE.get(word, ("",))[0]
        for word in words
    }


def embed(name: str, game: KoiKoi, data: dict[str, Any], plain: str) -> str:
    """Return the HTML in which a script opens a table.

    Parameters
    ----------
    name : str
        The table: ``"koikoi"`` for single rounds, ``"match"`` for matches.
    game : KoiKoi or MiniKoiKoi
    data : dict
        What the table needs besides the rules and the pictures, ready for JSON.
    plain : str
        HTML that readers without scripts see instead.

    Examples
    --------
    >>> "<p>No table</p>" in embed("match", KoiKoi(), {}, "<p>No table</p>")
    True
    """
    cards = {card: art.draw(card) for card in game.months}
    kinds = {card: kind_of(card) for card in game.months}
    names = {"kinds": kinds, "japanese": japanese(game)}
    known = {"rules": rules(game), **data, **names, "pictures": cards, "back": art.back()}
    text = json.dumps(known, separators=(",", ":"))
    # neither the end of the script nor a comment, in which a script would not end
    text = text.replace("</", "<\\/").replace("<!", "\\u003c!")
    return (
        f"<div class='play-table' data-game='{name}'><div class='play-plain'>{plain}</div>"
        f"<script type='application/json'>{text}</script></div>"
    )
