"""Koi-Koi as a formal game: one round for two, at full size and in miniature."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

from cfrlib.core.checks import whole_number
from cfrlib.game import Action, Chance, Decision, Game, History, Node, Terminal
from cfrlib.koikoi.cards import DECK, MONTHS, YAKU, Yaku, check_yaku, made

Cards: TypeAlias = tuple[str, ...]  # names, in the order of the deck
Type: TypeAlias = tuple[int, str, int]  # of a miniature deck: month, kind, copies

T = TypeVar("T")

STOP, KOI = "stop", "koi-koi"
SEATS = ("dealer", "other")


class Position(NamedTuple):
    """A history of Koi-Koi, as far as the rest of the round depends on it, and what was seen.

    Attributes
    ----------
    stage : str
        ``"deal"``, ``"play"`` a card of the hand, ``"match"`` the open card with one of two,
        ``"draw"`` from the stock, ``"call"`` koi-koi or stop, ``"over"``.
    player : int
        Whose turn it is; the dealer, who begins, is player 0.
    hands, piles : pair of tuples of str
        The cards of each player, held and captured.
    field, stock : tuple of str
        The open cards, and those never dealt so far, which nobody sees.
    card : str
        The card just played or drawn that has to be matched, or empty.
    drawn : bool
        Whether the stock's card was turned in this turn.
    points : pair of int
        What the piles were worth when they were last counted.
    calls : pair of int
        How often each player called koi-koi.
    paid : int
        What player 1 pays player 0 in the end.
    first : pair of str
        What each player saw first: the own hand and the field.
    heard : str
        What both saw since.

    Examples
    --------
    >>> game = MiniKoiKoi.K8()
    >>> at = game.step(game.root(), "Curtain Curtain / Moon Moon / Sake Sake")
    >>> at.stage, at.hands, at.field
    ('play', (('Curtain', 'Curtain'), ('Moon', 'Moon')), ('Sake', 'Sake'))
    """

    stage: str
    player: int
    hands: tuple[Cards, Cards]
    field: Cards
    piles: tuple[Cards, Cards]
    stock: Cards
    card: str = ""
    drawn: bool = False
    points: tuple[int, int] = (0, 0)
    calls: tuple[int, int] = (0, 0)
    paid: int = 0
    first: tuple[str, str] = ("", "")
    heard: str = ""


class KoiKoi(Game):
    """One round of Koi-Koi for two players, with the 48 flower cards.

    Both hold eight cards, eight lie open on the field, the rest is the stock. In your turn
    you play a card from the hand, then turn over the top card of the stock. Either card
    captures a card of its month from the field; of two you choose one, and it takes all
    three. Without a match it stays on the field. Captured cards make *yaku* and score points.

    When your points have risen in your turn, you *stop* and are paid them, or call *koi-koi*
    and play on, in the hope of more. Points count double from seven on, and double again if
    the opponent has called koi-koi. With your last card played you must stop. A round that
    nobody stops pays nothing.

    Cards are dealt one after the other: the dealer's, the other player's, the field's. An
    infoset names the seat, the hand and the field as first seen, then all that happened in the
    open: ``"dealer Crane … | Moon … | Geese +Sake, Boar"`` says that Geese were played, Sake
    was drawn, and the other played Boar. A card that was chosen stands in parentheses.

    Parameters
    ----------
    yaku : sequence of Yaku
        What scores.
    special : "redeal" or int
        What becomes of a hand with all four cards of a month, or four pairs: cards are dealt
        again, or its owner is paid so many points at once (nothing if both hold one). A field
        with four cards of a month is always dealt again.
    koi_limit : int, optional
        After so many calls of koi-koi, by both together, whoever scores must stop.
    double_at : int or None
        From how many points on they count double; None for never.
    koi_factor : int
        What the points are multiplied by if the opponent has called koi-koi.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Notes
    -----
    A round has perfect recall and its payoffs add up to zero. It is far too large to compile:
    about 10^52 histories, and a deal that is made again makes the tree infinite besides.

    Source: the rules that Nintendo prints in its decks (花札 こいこい), where special hands
    pay six points; the round is the unit that a match of twelve repeats.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = KoiKoi()
    >>> paid = cfr.simulate(game, [{}, {}], 100, seed=1)  # both play at random
    >>> bool((paid.sum(axis=1) == 0).all())
    True
    """

    hand: int = 8
    open: int = 8  # cards on the field at the start

    def __init__(
        self,
        yaku: Sequence[Yaku] = YAKU,
        special: str | int = "redeal",
        koi_limit: int | None = None,
        double_at: int | None = 7,
        koi_factor: int = 2,
    ):
        if special != "redeal" and not (isinstance(special, int) and special > 0):
            raise ValueError(f'special must be "redeal" or points to pay, got {special!r}')
        self.special: str | int = special
        self._settle(yaku, koi_limit, double_at, koi_factor)
        self._introduce(
            "KoiKoi",
            special=special,
            koi_limit=koi_limit,
            double_at=double_at,
            koi_factor=koi_factor,
        )
        self._use({card.name: card.month for card in DECK}, {})

    def _settle(
        self,
        yaku: Sequence[Yaku],
        koi_limit: int | None,
        double_at: int | None,
        koi_factor: int,
    ) -> None:
        """Keep the rules of scoring."""
        whole_number("koi_limit", 0 if koi_limit is None else koi_limit, 0)
        whole_number("double_at", 0 if double_at is None else double_at)
        whole_number("koi_factor", koi_factor, 1)
        self.yaku: tuple[Yaku, ...] = check_yaku(yaku)
        self.koi_limit, self.double_at, self.koi_factor = koi_limit, double_at, koi_factor
        self._worth: dict[Cards, int] = {}

    def _introduce(self, name: str, **options: object) -> None:
        """Keep what the game is called: its name, and the options that are not the usual."""
        usual = inspect.signature(type(self)).parameters
        self._name = name
        self._options = {o: v for o, v in options.items() if v != usual[o].default}

    def _use(self, months: Mapping[str, int], copies: Mapping[str, int]) -> None:
        """Play with cards of these names and months; one copy of each, unless told."""
        self.months = dict(months)
        self.deck: Cards = tuple(c for c in months for _ in range(copies.get(c, 1)))
        self._rank = {name: n for n, name in enumerate(months)}

    # ---- the tree ----------------------------------------------------------------------------

    def root(self) -> Position:
        """Return the position before the deal."""
        return Position("deal", 0, ((), ()), (), ((), ()), self.deck)

    def node(self, h: History) -> Node:
        """Say what the position `h` is."""
        at: Position = h
        if at.stage == "deal":
            return Chance(self._deal_odds(at))
        if at.stage == "draw":
            left = Counter(at.stock)
            return Chance({card: n / len(at.stock) for card, n in left.items()})
        if at.stage == "over":
            return Terminal((at.paid, -at.paid))
        return Decision(at.player, self._label(at), self._actions(at))

    def step(self, h: History, a: Action) -> Position:
        """Return the position after the action `a`."""
        at: Position = h
        card = str(a)
        if at.stage == "deal":
            return self._deal(at, card)
        if at.stage == "play":
            hands = _replaced(at.hands, at.player, self._without(at.hands[at.player], card))
            heard = f"{at.heard}, {card}" if at.heard else card
            return self._lay(at._replace(hands=hands, heard=heard), card)
        if at.stage == "draw":
            stock, heard = self._without(at.stock, card), f"{at.heard} +{card}"
            return self._lay(at._replace(stock=stock, heard=heard, drawn=True), card)
        if at.stage == "match":
            return self._take(at._replace(heard=f"{at.heard} ({card})"), at.card, (card,))
        if card == STOP:
            return self._pay(at)
        calls = _replaced(at.calls, at.player, at.calls[at.player] + 1)
        return self._pass(at._replace(calls=calls, heard=f"{at.heard} koi"))

    def _label(self, at: Position) -> str:
        return f"{SEATS[at.player]} {at.first[at.player]} | {at.heard}"

    def _actions(self, at: Position) -> tuple[str, ...]:
        if at.stage == "play":
            return tuple(dict.fromkeys(at.hands[at.player]))
        if at.stage == "match":
            return tuple(dict.fromkeys(self._matching(at.field, at.card)))
        return (STOP, KOI)

    # ---- the deal ----------------------------------------------------------------------------

    def _deal_odds(self, at: Position) -> dict[Action, float]:
        """Return the probability of each event of the deal that may come next."""
        return dict.fromkeys(at.stock, 1 / len(at.stock))

    def _deal(self, at: Position, card: str) -> Position:
        """Deal one card, to the dealer first."""
        stock, (first, second), field = self._without(at.stock, card), at.hands, at.field
        if len(first) < self.hand:
            first = self._with(first, card)
        elif len(second) < self.hand:
            second = self._with(second, card)
        else:
            field = self._with(field, card)
        at = at._replace(stock=stock, hands=(first, second), field=field)
        return at if len(field) < self.open else self._begin(at)

    def _begin(self, at: Position) -> Position:
        """Let the dealer play, unless the deal is a special one."""
        lucky = [special_hand(self.months[card] for card in hand) for hand in at.hands]
        if four_of_a_month(self.months[card] for card in at.field):
            return self.root()
        if any(lucky):
            if self.special == "redeal":
                return self.root()
            paid = int(self.special) * (lucky[0] - lucky[1])
            return at._replace(stage="over", paid=paid)
        return self._open(at)

    @staticmethod
    def _open(at: Position) -> Position:
        """Let both look at their cards, and the dealer play."""
        first, second = (" ".join(hand) + " | " + " ".join(at.field) for hand in at.hands)
        return at._replace(stage="play", first=(first, second))

    # ---- a turn ------------------------------------------------------------------------------

    def _lay(self, at: Position, card: str) -> Position:
        """Lay an open card on the field, where it captures what matches."""
        matching = self._matching(at.field, card)
        if len(matching) == 2 and matching[0] != matching[1]:
            return at._replace(stage="match", card=card)
        return self._take(at, card, matching[:1] if len(matching) == 2 else matching)

    def _take(self, at: Position, card: str, taken: Cards) -> Position:
        """Capture these cards of the field with the open card; without any, leave it there."""
        field, piles = at.field, at.piles
        if taken:
            for other in taken:
                field = self._without(field, other)
            piles = _replaced(piles, at.player, self._with(piles[at.player], card, *taken))
        else:
            field = self._with(field, card)
        at = at._replace(field=field, piles=piles, card="")
        if at.stock and not at.drawn:
            return at._replace(stage="draw")
        return self._count(at)

    def _count(self, at: Position) -> Position:
        """End a turn: more points than before must be paid, or bet on."""
        i = at.player
        points = self.worth(at.piles[i])
        if points <= at.points[i]:
            return self._pass(at)
        at = at._replace(points=_replaced(at.points, i, points))
        if not at.hands[i] or (self.koi_limit is not None and sum(at.calls) >= self.koi_limit):
            return self._pay(at)
        return at._replace(stage="call")

    def _pass(self, at: Position) -> Position:
        """Give the turn to the other player, if there is a card to play."""
        other = 1 - at.player
        stage = "play" if at.hands[other] else "over"
        return at._replace(stage=stage, player=other, drawn=False)

    def _pay(self, at: Position) -> Position:
        i = at.player
        paid = self.payment(at.points[i], at.calls[1 - i] > 0)
        return at._replace(stage="over", paid=paid if i == 0 else -paid)

    def worth(self, pile: Cards) -> int:
        """Return the points of captured cards."""
        points = self._worth.get(pile)
        if points is None:
            points = self._worth[pile] = sum(made(self.faces(pile), self.yaku).values())
        return points

    def payment(self, points: int, called: bool) -> int:
        """Return what is paid for points, given whether the opponent has called koi-koi.

        Examples
        --------
        >>> KoiKoi().payment(6, called=False), KoiKoi().payment(7, called=True)
        (6, 28)
        """
        if self.double_at is not None and points >= self.double_at:
            points *= 2
        return points * self.koi_factor if called else points

    # ---- cards -------------------------------------------------------------------------------

    def faces(self, pile: Cards) -> Cards:
        """Return what the cards show, which is what scores."""
        return pile

    def _matching(self, field: Cards, card: str) -> Cards:
        month = self.months[card]
        return tuple(other for other in field if self.months[other] == month)

    def _with(self, cards: Cards, *new: str) -> Cards:
        return tuple(sorted((*cards, *new), key=self._rank.__getitem__))

    @staticmethod
    def _without(cards: Cards, card: str) -> Cards:
        n = cards.index(card)
        return cards[:n] + cards[n + 1 :]

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"{self._name}({options})"


class MiniKoiKoi(KoiKoi):
    """A round of Koi-Koi with a small deck: the same turns, few enough cards to solve exactly.

    Cards of a type are alike, so they are one outcome of chance and one action. The whole deal
    is one event. There are no special deals, and points are not doubled at seven.

    Parameters
    ----------
    types : sequence of (month, kind, copies)
        The deck. A type is called like the card of its month and kind: ``(8, "light", 2)`` are
        two copies of ``"Moon"``; plain cards are called by the flower, ``"Pine"``.
    hand, field : int
        How many cards each player holds, and how many lie open, at the start. The others are
        the stock; one is turned over in each turn while it lasts.
    points : sequence of Yaku
        What scores.
    koi_limit, double_at, koi_factor
        As in `KoiKoi`.
    distinct : bool
        Tell the copies apart, ``"Moon-a"`` and ``"Moon-b"``: the same game, much larger.

    Raises
    ------
    ValueError
        If an argument is not accepted, or there are too few cards.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> cfr.compile(MiniKoiKoi.K8())
    MiniKoiKoi.K8(): 2 players, zero-sum, 7,663 histories (1,944 terminal), 3,216 infosets
    >>> games = MiniKoiKoi.K9(), MiniKoiKoi.K10(), MiniKoiKoi.K12()
    >>> [(len(game.deck), game.hand, game.open) for game in games]
    [(9, 2, 2), (10, 2, 2), (12, 3, 4)]
    """

    def __init__(
        self,
        types: Sequence[Type],
        hand: int,
        field: int,
        points: Sequence[Yaku],
        koi_limit: int | None = None,
        double_at: int | None = None,
        koi_factor: int = 2,
        distinct: bool = False,
    ):
        hand, field = whole_number("hand", hand), whole_number("field", field)
        self.types, self.hand, self.open, self.distinct = tuple(types), hand, field, distinct
        self.special = "none"
        self._settle(points, koi_limit, double_at, koi_factor)
        self._introduce(
            "MiniKoiKoi",
            types=self.types,
            hand=hand,
            field=field,
            koi_limit=koi_limit,
            double_at=double_at,
            koi_factor=koi_factor,
            distinct=distinct,
        )
        months: dict[str, int] = {}
        copies: dict[str, int] = {}
        for month, kind, n in self.types:
            face = face_of(month, kind)
            whole_number("copies", n)
            if n < 1 or face in copies:
                raise ValueError(
                    f"each type needs a month and kind of its own and at least one copy; see "
                    f"{(month, kind, n)!r}"
                )
            copies[face] = n
            labels = [f"{face}-{chr(97 + k)}" for k in range(n)] if distinct else [face]
            months |= dict.fromkeys(labels, month)
        needed, held = 2 * hand + field, sum(copies.values())
        if hand < 1 or field < 0 or needed > held:
            raise ValueError(
                f"two hands of {hand!r} and a field of {field!r} need {needed} of the deck's "
                f"{held} cards, and each hand at least one"
            )
        self._use(months, {} if distinct else copies)
        self._deals = {self._deal_name(deal): deal for deal in self._all_deals()}

    @classmethod
    def K8(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 8 cards: two each of Curtain, Moon, Sake and Pine.

        Two cards in each hand and on the field, so that two turns draw from the stock. Four,
        six or eight captured cards are worth 1, 2 or 3 points, Curtain with Sake 2 and Moon
        with Sake 2 more. `options` are those of the class.
        """
        return cls._of_pairs("K8", (1,), options)

    @classmethod
    def K10(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 10 cards: as K8 with two more, Plum; every turn draws."""
        return cls._of_pairs("K10", (1, 2), options)

    @classmethod
    def K9(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 9 cards: Curtain, Moon, Sake, each with two plain cards.

        Two cards in each hand and on the field, so that three turns draw from the stock. Three
        captured plain cards are worth 1 point, each further one 1 more; Curtain with Sake 3,
        and Moon with Sake 3. `options` are those of the class.
        """
        return cls._of_months("K9", 2, 2, 2, options)

    @classmethod
    def K12(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 12 cards: as K9, with three plain cards of each month.

        Three cards in each hand, four on the field; five captured plain cards are worth 1
        point, each further one 1 more. `options` are those of the class.
        """
        return cls._of_months("K12", 3, 3, 4, options)

    @classmethod
    def _of_pairs(
        cls, name: str, plain: Sequence[int], options: Mapping[str, Any]
    ) -> MiniKoiKoi:
        types, points = pairs_of(plain)
        return cls._member(name, types, 2, 2, points, options)

    @classmethod
    def _of_months(
        cls, name: str, plain: int, hand: int, field: int, options: Mapping[str, Any]
    ) -> MiniKoiKoi:
        types = [(3, "light", 1), (3, "plain", plain), (8, "light", 1), (8, "plain", plain)]
        types += [(9, "animal", 1), (9, "plain", plain)]
        chaff = tuple(face_of(month, "plain") for month in (3, 8, 9)) * plain
        points = (
            Yaku("kasu", chaff, 2 * plain - 1, 1, chaff),
            Yaku("hanami", ("Curtain", "Sake"), 2, 3),
            Yaku("tsukimi", ("Moon", "Sake"), 2, 3),
        )
        return cls._member(name, types, hand, field, points, options)

    @classmethod
    def _member(
        cls,
        name: str,
        types: Sequence[Type],
        hand: int,
        field: int,
        points: Sequence[Yaku],
        options: Mapping[str, Any],
    ) -> MiniKoiKoi:
        game = cls(types, hand, field, points, **options)
        game._introduce(f"MiniKoiKoi.{name}", **options)
        return game

    def _all_deals(self) -> Iterator[tuple[Cards, Cards, Cards]]:
        """Yield all deals: both hands, and the field."""
        for first in _choices(self.deck, self.hand):
            rest = self._less(self.deck, first)
            for second in _choices(rest, self.hand):
                for field in _choices(self._less(rest, second), self.open):
                    yield first, second, field

    @staticmethod
    def _deal_name(deal: tuple[Cards, Cards, Cards]) -> str:
        return " / ".join(" ".join(cards) for cards in deal)

    def _less(self, cards: Cards, gone: Cards) -> Cards:
        for card in gone:
            cards = self._without(cards, card)
        return cards

    def _deal_odds(self, at: Position) -> dict[Action, float]:
        ways = {}
        for name, deal in self._deals.items():
            left, n = Counter(self.deck), 1
            for cards in deal:
                drawn = Counter(cards)
                n *= prod(comb(left[card], k) for card, k in drawn.items())
                left -= drawn
            ways[name] = n
        total = sum(ways.values())
        return {name: n / total for name, n in ways.items()}

    def _deal(self, at: Position, card: str) -> Position:
        first, second, field = self._deals[card]
        stock = self._less(self.deck, first + second + field)
        return self._begin(at._replace(hands=(first, second), field=field, stock=stock))

    def _begin(self, at: Position) -> Position:
        """Let the dealer play: no deal is a special one."""
        return self._open(at)

    def faces(self, pile: Cards) -> Cards:
        """Return what the cards show, whichever copy they are."""
        return tuple(card.rsplit("-", 1)[0] for card in pile) if self.distinct else pile


def pairs_of(plain: Sequence[int]) -> tuple[list[Type], tuple[Yaku, ...]]:
    """Return the deck and the yaku of K8 and K10: pairs, the plain ones of these months.

    Examples
    --------
    >>> types, points = pairs_of([1])
    >>> MiniKoiKoi(types, 2, 2, points).deck == MiniKoiKoi.K8().deck
    True
    """
    types = [(3, "light", 2), (8, "light", 2), (9, "animal", 2)]
    types += [(month, "plain", 2) for month in plain]
    cards = tuple(face_of(month, kind) for month, kind, _ in types) * 2
    points = (
        Yaku("8 cards", cards, 8, 3, replaces=("6 cards", "4 cards")),
        Yaku("6 cards", cards, 6, 2, replaces=("4 cards",)),
        Yaku("4 cards", cards, 4, 1),
        Yaku("hanami", ("Curtain", "Sake"), 2, 2),
        Yaku("tsukimi", ("Moon", "Sake"), 2, 2),
    )
    return types, points


def face_of(month: int, kind: str) -> str:
    """Return what a type of card is called in a miniature deck.

    Examples
    --------
    >>> face_of(9, "animal"), face_of(9, "plain")
    ('Sake', 'Mum')
    """
    for card in DECK:
        if (card.month, card.kind) == (month, kind):
            return MONTHS[month - 1] if kind == "plain" else card.name
    raise ValueError(f"no card of the deck has month {month!r} and kind {kind!r}")


def four_of_a_month(months: Iterable[int]) -> bool:
    """Return whether four of the cards share a month."""
    return 4 in Counter(months).values()


def special_hand(months: Iterable[int]) -> bool:
    """Return whether a hand is special: four cards of a month, or four pairs.

    Examples
    --------
    >>> special_hand([1, 1, 2, 2, 3, 3, 4, 4]), special_hand([1, 1, 1, 2, 2, 3, 3, 4])
    (True, False)
    """
    counts = sorted(Counter(months).values())
    return 4 in counts or counts == [2, 2, 2, 2]


def _replaced(pair: tuple[T, T], i: int, value: T) -> tuple[T, T]:
    return (value, pair[1]) if i == 0 else (pair[0], value)


def _choices(cards: Cards, k: int) -> Iterator[Cards]:
    """Yield the different hands of k cards; cards of a name are alike."""
    if k == 0:
        yield ()
    elif cards:
        n = cards.count(cards[0])
        for taken in range(min(n, k), -1, -1):
            for more in _choices(cards[n:], k - taken):
                yield cards[:taken] + more
