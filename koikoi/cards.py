"""Hanafuda, the flower cards, and the yaku that captured cards score in Koi-Koi."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from cfrlib.core.checks import whole_number

KINDS = ("light", "animal", "ribbon", "plain")
MONTHS = (
    "Pine", "Plum", "Cherry", "Wisteria", "Iris", "Peony",
    "Clover", "Pampas", "Mum", "Maple", "Willow", "Paulownia",
)  # fmt: skip


# the Japanese name of each word of the game, and how it is read
JAPANESE: dict[str, tuple[str, str]] = {
    # the twelve months
    "Pine": ("松", "まつ"),
    "Plum": ("梅", "うめ"),
    "Cherry": ("桜", "さくら"),
    "Wisteria": ("藤", "ふじ"),
    "Iris": ("菖蒲", "あやめ"),
    "Peony": ("牡丹", "ぼたん"),
    "Clover": ("萩", "はぎ"),
    "Pampas": ("芒", "すすき"),
    "Mum": ("菊", "きく"),
    "Maple": ("紅葉", "もみじ"),
    "Willow": ("柳", "やなぎ"),
    "Paulownia": ("桐", "きり"),
    # the cards; a plain one is 松のカス, まつのかす
    "Crane": ("松に鶴", "まつにつる"),
    "Pine-poem": ("松に赤短", "まつにあかたん"),
    "Warbler": ("梅に鶯", "うめにうぐいす"),
    "Plum-poem": ("梅に赤短", "うめにあかたん"),
    "Curtain": ("桜に幕", "さくらにまく"),
    "Cherry-poem": ("桜に赤短", "さくらにあかたん"),
    "Cuckoo": ("藤に不如帰", "ふじにほととぎす"),
    "Wisteria-ribbon": ("藤に短冊", "ふじにたんざく"),
    "Bridge": ("菖蒲に八橋", "あやめにやつはし"),
    "Iris-ribbon": ("菖蒲に短冊", "あやめにたんざく"),
    "Butterflies": ("牡丹に蝶", "ぼたんにちょう"),
    "Peony-blue": ("牡丹に青短", "ぼたんにあおたん"),
    "Boar": ("萩に猪", "はぎにいのしし"),
    "Clover-ribbon": ("萩に短冊", "はぎにたんざく"),
    "Moon": ("芒に月", "すすきにつき"),
    "Geese": ("芒に雁", "すすきにかり"),
    "Sake": ("菊に盃", "きくにさかずき"),
    "Mum-blue": ("菊に青短", "きくにあおたん"),
    "Deer": ("紅葉に鹿", "もみじにしか"),
    "Maple-blue": ("紅葉に青短", "もみじにあおたん"),
    "Rain-man": ("柳に小野道風", "やなぎにおののとうふう"),
    "Swallow": ("柳に燕", "やなぎにつばめ"),
    "Willow-ribbon": ("柳に短冊", "やなぎにたんざく"),
    "Phoenix": ("桐に鳳凰", "きりにほうおう"),
    # the four kinds
    "light": ("光", "ひかり"),
    "animal": ("タネ", "たね"),
    "ribbon": ("短冊", "たんざく"),
    "plain": ("カス", "かす"),
    # yaku
    "goko": ("五光", "ごこう"),
    "shiko": ("四光", "しこう"),
    "ame-shiko": ("雨四光", "あめしこう"),
    "sanko": ("三光", "さんこう"),
    "hanami": ("花見で一杯", "はなみでいっぱい"),
    "tsukimi": ("月見で一杯", "つきみでいっぱい"),
    "inoshikacho": ("猪鹿蝶", "いのしかちょう"),
    "akatan-aotan": ("赤短・青短の重複", "あかたん・あおたんのちょうふく"),
    "akatan": ("赤短", "あかたん"),
    "aotan": ("青短", "あおたん"),
    "tane": ("タネ", "たね"),
    "tan": ("タン", "たん"),
    "kasu": ("カス", "かす"),
    # the table
    "hanafuda": ("花札", "はなふだ"),
    "koi-koi": ("こいこい", "こいこい"),
    "stop": ("勝負", "しょうぶ"),
    "yaku": ("役", "やく"),
    "dealer": ("親", "おや"),
    "other": ("子", "こ"),
    "hand": ("手札", "てふだ"),
    "field": ("場札", "ばふだ"),
    "stock": ("山札", "やまふだ"),
    "captured cards": ("取り札", "とりふだ"),
    "teshi": ("手四", "てし"),
    "kuttsuki": ("くっつき", "くっつき"),
    "oya-ken": ("親権", "おやけん"),
}


class Card(NamedTuple):
    """A card of the deck.

    Parameters
    ----------
    name : str
        The picture in one word: ``"Moon"``, ``"Pine-poem"``, ``"Pine-1"``.
    month : int
        From 1 to 12; cards of a month match.
    kind : str
        ``"light"``, ``"animal"``, ``"ribbon"`` or ``"plain"``.

    Examples
    --------
    >>> DECK[0]
    Card(name='Crane', month=1, kind='light')
    """

    name: str
    month: int
    kind: str


def _month(month: int, *special: str, plain: int = 2) -> list[Card]:
    """Return the cards of a month: special ones, given as ``kind:name``, and plain ones."""
    named = [pair.split(":") for pair in special]
    flower = MONTHS[month - 1]
    return [Card(name, month, kind) for kind, name in named] + [
        Card(f"{flower}-{n}", month, "plain") for n in range(1, plain + 1)
    ]


DECK: tuple[Card, ...] = (
    *_month(1, "light:Crane", "ribbon:Pine-poem"),
    *_month(2, "animal:Warbler", "ribbon:Plum-poem"),
    *_month(3, "light:Curtain", "ribbon:Cherry-poem"),
    *_month(4, "animal:Cuckoo", "ribbon:Wisteria-ribbon"),
    *_month(5, "animal:Bridge", "ribbon:Iris-ribbon"),
    *_month(6, "animal:Butterflies", "ribbon:Peony-blue"),
    *_month(7, "animal:Boar", "ribbon:Clover-ribbon"),
    *_month(8, "light:Moon", "animal:Geese"),
    *_month(9, "animal:Sake", "ribbon:Mum-blue"),
    *_month(10, "animal:Deer", "ribbon:Maple-blue"),
    *_month(11, "light:Rain-man", "animal:Swallow", "ribbon:Willow-ribbon", plain=1),
    *_month(12, "light:Phoenix", plain=3),
)


def named(kind: str) -> tuple[str, ...]:
    """Return the names of all cards of a kind.

    Examples
    --------
    >>> named("light")
    ('Crane', 'Curtain', 'Moon', 'Rain-man', 'Phoenix')
    """
    return tuple(card.name for card in DECK if card.kind == kind)


def kind_of(name: str) -> str:
    """Return the kind of a card; a plain card of a miniature deck has its flower's name.

    Examples
    --------
    >>> kind_of("Moon"), kind_of("Pine-1"), kind_of("Pine")
    ('light', 'plain', 'plain')
    """
    return "plain" if name in MONTHS else _KINDS[name]


_KINDS = {card.name: card.kind for card in DECK}


class Yaku(NamedTuple):
    """A combination of captured cards that scores.

    Parameters
    ----------
    name : str
        Its name.
    cards : tuple of str
        The cards that count. A card listed n times counts at most n times, in any number of
        copies.
    need : int
        Number of these cards that make the yaku.
    points : int
        Its points.
    more : tuple of str
        Each of these cards beyond `need` adds one point; `cards` are among them.
    replaces : tuple of str
        Names of yaku that do not count beside it; the rules of a game list them after it.

    Examples
    --------
    >>> pair = Yaku("hanami", ("Curtain", "Sake"), 2, 5)
    >>> pile = Counter(["Sake", "Moon", "Curtain"])
    >>> pair.held(pile), pair.worth(pile)
    (2, 5)
    """

    name: str
    cards: tuple[str, ...]
    need: int
    points: int
    more: tuple[str, ...] = ()
    replaces: tuple[str, ...] = ()

    def held(self, pile: Mapping[str, int]) -> int:
        """Return the number of its cards in a pile, given as a count of each card."""
        return _held(self.cards, pile)

    def worth(self, pile: Mapping[str, int]) -> int:
        """Return its points in a pile, given as a count of each card; 0 if it is not made."""
        if self.held(pile) < self.need:
            return 0
        return self.points + max(0, _held(self.more, pile) - self.need)


def _held(cards: tuple[str, ...], pile: Mapping[str, int]) -> int:
    """Return the number of these cards in a pile, as many of each as are listed."""
    return sum(min(n, pile.get(card, 0)) for card, n in Counter(cards).items())


_LIGHTS, _ANIMALS, _RIBBONS = named("light"), named("animal"), named("ribbon")
_DRY = tuple(card for card in _LIGHTS if card != "Rain-man")
_PLAIN = (*named("plain"), "Sake")  # the sake cup counts as an animal and as a plain card
_POEMS = ("Pine-poem", "Plum-poem", "Cherry-poem")
_BLUE = ("Peony-blue", "Mum-blue", "Maple-blue")

YAKU: tuple[Yaku, ...] = (
    Yaku("goko", _LIGHTS, 5, 10, replaces=("shiko", "ame-shiko", "sanko")),
    Yaku("shiko", _DRY, 4, 8, replaces=("ame-shiko", "sanko")),
    Yaku("ame-shiko", _LIGHTS, 4, 7, replaces=("sanko",)),
    Yaku("sanko", _DRY, 3, 5),
    Yaku("hanami", ("Curtain", "Sake"), 2, 5),
    Yaku("tsukimi", ("Moon", "Sake"), 2, 5),
    Yaku("inoshikacho", ("Boar", "Deer", "Butterflies"), 3, 5, _ANIMALS, ("tane",)),
    Yaku("akatan-aotan", _POEMS + _BLUE, 6, 10, _RIBBONS, ("akatan", "aotan", "tan")),
    Yaku("akatan", _POEMS, 3, 5, _RIBBONS, ("tan",)),
    Yaku("aotan", _BLUE, 3, 5, _RIBBONS, ("tan",)),
    Yaku("tane", _ANIMALS, 5, 1, _ANIMALS),
    Yaku("tan", _RIBBONS, 5, 1, _RIBBONS),
    Yaku("kasu", _PLAIN, 10, 1, _PLAIN),
)


def made(pile: Iterable[str], yaku: Sequence[Yaku] = YAKU) -> dict[str, int]:
    """Return the yaku that a pile of captured cards makes, and the points of each.

    Parameters
    ----------
    pile : iterable of str
        Names of cards.
    yaku : sequence of Yaku
        The yaku of the rules; by default those of the book.

    Returns
    -------
    dict from str to int
        In the order of the rules, without yaku that another one replaces.

    Examples
    --------
    >>> made(["Sake", "Moon", "Curtain", "Crane"])
    {'sanko': 5, 'hanami': 5, 'tsukimi': 5}
    >>> made(["Boar", "Deer", "Butterflies", "Geese", "Sake"])
    {'inoshikacho': 7}
    """
    counts = Counter(pile)
    worth = {y.name: y.worth(counts) for y in yaku}
    replaced = {name for y in yaku if worth[y.name] for name in y.replaces}
    return {name: points for name, points in worth.items() if points and name not in replaced}


def rescored(points: Mapping[str, int]) -> tuple[Yaku, ...]:
    """Return the yaku of the book with other points.

    Parameters
    ----------
    points : mapping from names to points
        At least 0; a yaku with 0 points is left out. The others keep theirs.

    Raises
    ------
    ValueError
        If there is no such yaku, or the points are not a whole number.

    Examples
    --------
    >>> made(["Crane", "Curtain", "Moon", "Sake"], rescored({"sanko": 6, "hanami": 0}))
    {'sanko': 6, 'tsukimi': 5}
    """
    known = [y.name for y in YAKU]
    for name, worth in points.items():
        if name not in known:
            raise ValueError(f"no yaku is called {name!r}; there are {', '.join(known)}")
        whole_number(f"the points of {name}", worth, 0)
    gone = {name for name, worth in points.items() if not worth}
    return tuple(
        y._replace(
            points=points.get(y.name, y.points),
            replaces=tuple(name for name in y.replaces if name not in gone),
        )
        for y in YAKU
        if y.name not in gone
    )


def check_yaku(yaku: Iterable[Yaku]) -> tuple[Yaku, ...]:
    """Validate the yaku of a game and return them as a tuple.

    Raises
    ------
    ValueError
        If one needs no cards or more than it lists, or has no points, if two have the same
        name, or if one replaces a yaku that is not listed after it.
    """
    known = tuple(yaku)
    names = [y.name for y in known]
    if len(set(names)) < len(names):
        raise ValueError(f"two yaku have the same name: {', '.join(names)}")
    for n, y in enumerate(known):
        if not 1 <= y.need <= len(y.cards):
            raise ValueError(
                f"yaku {y.name!r} needs {y.need} cards of the {len(y.cards)} that it names"
            )
        whole_number(f"the points of {y.name}", y.points, 1)
        for name in y.replaces:
            if name not in names[n + 1 :]:
                raise ValueError(
                    f"yaku {y.name!r} replaces {name!r}: list that yaku, and after this one"
                )
    return known
