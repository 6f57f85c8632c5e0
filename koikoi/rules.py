"""The rules of Koi-Koi as an extensive-form game, at full size and in miniature."""

from __future__ import annotations

import inspect
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import comb, prod
from typing import Any, NamedTuple, TypeAlias, TypeVar

from cfrlib.core.checks import whole_number
from cfrlib.game import Action, Chance, Decision, Game, History, Node, Terminal
from koikoi.cards import DECK, MONTHS, YAKU, Yaku, check_yaku, made, rescored

Cards: TypeAlias = tuple[str, ...]  # names, in the order of the deck
Type: TypeAlias = tuple[int, str, int]  # of a miniature deck: month, kind, copies

T = TypeVar("T")

STOP, KOI = "stop", "koi-koi"
SEATS = ("dealer", "other")


class Position(NamedTuple):
    """A state of a round of Koi-Koi, with the observations of both players.

    Attributes
    ----------
    stage : str
        ``"deal"``, ``"play"`` a card of the hand, ``"match"`` the open card with one of two,
        ``"draw"`` from the stock, ``"call"`` koi-koi or stop, ``"over"``.
    player : int
        The player whose turn it is. Player 0 is the dealer, who plays first.
    hands, piles : pair of tuples of str
        The cards held and captured by each player.
    field, stock : tuple of str
        The cards on the field, and the cards not dealt yet, which nobody sees.
    card : str
        The card just played or drawn that has to be matched, or empty.
    drawn : bool
        Whether a card was drawn in this turn.
    points : pair of int
        Points of the piles when they were last counted.
    calls : pair of int
        Number of calls of koi-koi of each player.
    paid : int
        Payoff to player 0.
    first : pair of str
        Private observation of each player: their hand and the field as dealt.
    heard : str
        Public observations since: all cards played, drawn and chosen, and calls.

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

    Each player holds eight cards, eight are on the field, and the rest is the stock. In your
    turn you play a card from your hand and then draw the top card of the stock. Each of the
    two captures a card of its month from the field. If two match, you choose one; if three
    match, all are captured; if none does, the card stays on the field. Captured cards make
    *yaku*, which score points.

    If your points have risen in your turn, you either *stop* and are paid for them, or call
    *koi-koi* and play on for more. Seven or more points count double, and points count double
    again if the opponent has called koi-koi. After your last card you must stop. A round that
    nobody stops is *void*: it pays nothing.

    Cards are dealt one at a time: to the dealer, to the other player, to the field. An infoset
    label lists the seat, the hand and the field as dealt, and all public actions. In
    ``"dealer Crane … | Moon … | Geese +Sake, Boar"`` the dealer played Geese and drew Sake, and
    the other player played Boar. A chosen match is in parentheses.

    Parameters
    ----------
    yaku : sequence of Yaku, or mapping from names to points
        The combinations that score. A mapping changes the points of those in `YAKU`; one with 0
        points does not score.
    special : "redeal" or int
        What happens to a hand with all four cards of a month (手四, *teshi*), or of four pairs
        (くっつき, *kuttsuki*): redeal, or pay its owner this many points at once (nothing if
        both players hold one). A field with four cards of a month is always dealt again.
    koi_limit : int, optional
        After this many calls of koi-koi, of both players together, a player who scores must
        stop.
    double_at : int or None
        Smallest number of points that counts double; None for never.
    koi_factor : int
        Factor of the points if the opponent has called koi-koi.
    void_points : int
        What a void round pays the dealer (親権, *oya-ken*, the dealer's privilege), whether or
        not somebody has called.

    Raises
    ------
    ValueError
        If an argument is not accepted.

    Notes
    -----
    The game is zero-sum with perfect recall. It is far too large to compile: it has about
    10^52 histories, and redeals make the tree infinite besides.

    Source: the rules that Nintendo prints in its decks (花札 こいこい), where special hands
    pay six points and a match has twelve such rounds; the two yaku with the sake cup may be
    left out. Nintendo's leaflet in English allows one call a round, and lists 6 points for
    *sanko* and for the dealer of a void round. Other houses pay 6 for *inoshikacho* as well.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = KoiKoi()
    >>> paid = cfr.simulate(game, [{}, {}], 100, seed=1)  # both play at random
    >>> bool((paid.sum(axis=1) == 0).all())
    True
    >>> KoiKoi(yaku={"sanko": 6, "inoshikacho": 6}, special=6, void_points=6)  # a house's rules
    KoiKoi(yaku={'sanko': 6, 'inoshikacho': 6}, special=6, void_points=6)
    """

    hand: int = 8
    open: int = 8  # cards on the field at the start

    def __init__(
        self,
        yaku: Sequence[Yaku] | Mapping[str, int] = YAKU,
        special: str | int = "redeal",
        koi_limit: int | None = None,
        double_at: int | None = 7,
        koi_factor: int = 2,
        void_points: int = 0,
    ):
        points = isinstance(special, int) and not isinstance(special, bool) and special > 0
        if special != "redeal" and not points:
            raise ValueError(f'special must be "redeal" or points to pay, got {special!r}')
        self.special: str | int = special
        changes = dict(yaku) if isinstance(yaku, Mapping) else {}
        scoring = rescored(changes) if isinstance(yaku, Mapping) else yaku
        self._set_scoring(scoring, koi_limit, double_at, koi_factor, void_points)
        self._set_name(
            "KoiKoi",
            yaku=changes or YAKU,  # a sequence would be too long for a name
            special=special,
            koi_limit=koi_limit,
            double_at=double_at,
            koi_factor=koi_factor,
            void_points=void_points,
        )
        self._set_deck({card.name: card.month for card in DECK}, {})

    def _set_scoring(
        self,
        yaku: Sequence[Yaku],
        koi_limit: int | None,
        double_at: int | None,
        koi_factor: int,
        void_points: int,
    ) -> None:
        """Set the rules of scoring."""
        whole_number("koi_limit", 0 if koi_limit is None else koi_limit, 0)
        whole_number("double_at", 0 if double_at is None else double_at)
        whole_number("koi_factor", koi_factor, 1)
        self.void_points = whole_number("void_points", void_points, 0)
        self.yaku: tuple[Yaku, ...] = check_yaku(yaku)
        self.koi_limit, self.double_at, self.koi_factor = koi_limit, double_at, koi_factor
        self._worth: dict[Cards, int] = {}

    def _set_name(self, name: str, **options: object) -> None:
        """Set the name and the non-default options, for the repr."""
        defaults = inspect.signature(type(self)).parameters
        self._name = name
        self._options = {o: v for o, v in options.items() if v != defaults[o].default}

    def _set_deck(self, months: Mapping[str, int], copies: Mapping[str, int]) -> None:
        """Set the deck: cards of these names and months, one copy of each by default."""
        self.months = dict(months)
        self.deck: Cards = tuple(c for c in months for _ in range(copies.get(c, 1)))
        self._rank = {name: n for n, name in enumerate(months)}

    # ---- the tree ----------------------------------------------------------------------------

    def root(self) -> Position:
        """Return the position before the deal."""
        return Position("deal", 0, ((), ()), (), ((), ()), self.deck)

    def node(self, h: History) -> Node:
        """Return the node at position `h`."""
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
        """Return the probability of each next event of the deal."""
        return dict.fromkeys(at.stock, 1 / len(at.stock))

    def _deal(self, at: Position, card: str) -> Position:
        """Deal one card, to the dealer first."""
        stock, (first, second), field = self._without(at.stock, card), at.hands, at.field
        if len(first) < self.hand:
            first = self.add_cards(first, card)
        elif len(second) < self.hand:
            second = self.add_cards(second, card)
        else:
            field = self.add_cards(field, card)
        at = at._replace(stock=stock, hands=(first, second), field=field)
        return at if len(field) < self.open else self._begin(at)

    def _begin(self, at: Position) -> Position:
        """Start the first turn, unless the deal is special."""
        special = [special_hand(self.months[card] for card in hand) for hand in at.hands]
        if four_of_a_month(self.months[card] for card in at.field):
            return self.root()
        if any(special):
            if self.special == "redeal":
                return self.root()
            paid = int(self.special) * (special[0] - special[1])
            return at._replace(stage="over", paid=paid)
        return self._open(at)

    @staticmethod
    def _open(at: Position) -> Position:
        """Record what the players see first, and start the first turn."""
        first, second = (" ".join(hand) + " | " + " ".join(at.field) for hand in at.hands)
        return at._replace(stage="play", first=(first, second))

    # ---- a turn ------------------------------------------------------------------------------

    def _lay(self, at: Position, card: str) -> Position:
        """Lay an open card on the field and capture its matches, if there is no choice."""
        matching = self._matching(at.field, card)
        if len(matching) == 2 and matching[0] != matching[1]:
            return at._replace(stage="match", card=card)
        return self._take(at, card, matching[:1] if len(matching) == 2 else matching)

    def _take(self, at: Position, card: str, taken: Cards) -> Position:
        """Capture these cards with the open card; if there are none, leave it on the field."""
        field, piles = at.field, at.piles
        if taken:
            for other in taken:
                field = self._without(field, other)
            piles = _replaced(piles, at.player, self.add_cards(piles[at.player], card, *taken))
        else:
            field = self.add_cards(field, card)
        draws = bool(at.stock) and not at.drawn
        stage = "draw" if draws else at.stage
        at = at._replace(stage=stage, field=field, piles=piles, card="")
        return at if draws else self._count(at)

    def _count(self, at: Position) -> Position:
        """End a turn: if the points have risen, pay them or let the player call koi-koi."""
        i = at.player
        points = self.worth(at.piles[i])
        if points <= at.points[i]:
            return self._pass(at)
        at = at._replace(points=_replaced(at.points, i, points))
        if not at.hands[i] or (self.koi_limit is not None and sum(at.calls) >= self.koi_limit):
            return self._pay(at)
        return at._replace(stage="call")

    def _pass(self, at: Position) -> Position:
        """Pass the turn to the other player; end the round if that hand is empty."""
        other = 1 - at.player
        stage, paid = ("play", at.paid) if at.hands[other] else ("over", self.void_points)
        return at._replace(stage=stage, player=other, drawn=False, paid=paid)

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
        """Return the payoff for points, given whether the opponent has called koi-koi.

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
        """Return the faces of cards, by which they score."""
        return pile

    def _matching(self, field: Cards, card: str) -> Cards:
        month = self.months[card]
        return tuple(other for other in field if self.months[other] == month)

    def add_cards(self, cards: Cards, *new: str) -> Cards:
        """Return cards and further ones, in the order of the deck."""
        return tuple(sorted((*cards, *new), key=self._rank.__getitem__))

    @staticmethod
    def _without(cards: Cards, card: str) -> Cards:
        n = cards.index(card)
        return cards[:n] + cards[n + 1 :]

    def __repr__(self) -> str:
        options = ", ".join(f"{name}={value!r}" for name, value in self._options.items())
        return f"{self._name}({options})"


class MiniKoiKoi(KoiKoi):
    """Koi-Koi with a small deck: the same turns, with few enough cards to solve exactly.

    Cards of a type are identical, so they share one chance outcome and one action. The whole
    deal is one chance event. There are no special deals, and points do not double at seven.

    Parameters
    ----------
    types : sequence of (month, kind, copies)
        The deck. A type has the name of the card of its month and kind: ``(8, "light", 2)`` are
        two copies of ``"Moon"``. A plain card has the name of its flower, ``"Pine"``.
    hand, field : int
        Cards in each hand and on the field at the start. The others are the stock; one is drawn
        in each turn while it lasts.
    points : sequence of Yaku
        The combinations that score.
    koi_limit, double_at, koi_factor, void_points
        As in `KoiKoi`.
    distinct : bool
        Distinguish the copies, ``"Moon-a"`` and ``"Moon-b"``: the same game with a much larger
        tree.

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
        void_points: int = 0,
        distinct: bool = False,
    ):
        hand, field = whole_number("hand", hand), whole_number("field", field)
        self.types, self.hand, self.open, self.distinct = tuple(types), hand, field, distinct
        self.special = "none"
        self._set_scoring(points, koi_limit, double_at, koi_factor, void_points)
        self._set_name(
            "MiniKoiKoi",
            types=self.types,
            hand=hand,
            field=field,
            koi_limit=koi_limit,
            double_at=double_at,
            koi_factor=koi_factor,
            void_points=void_points,
            distinct=distinct,
        )
        months: dict[str, int] = {}
        copies: dict[str, int] = {}
        for month, kind, n in self.types:
            face = face_of(month, kind)
            whole_number("copies", n)
            if n < 1 or face in copies:
                raise ValueError(
                    f"each type needs a month and kind of its own and at least one copy, got "
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
        self._set_deck(months, {} if distinct else copies)
        self._deals = {self._deal_name(deal): deal for deal in self._all_deals()}

    @classmethod
    def K8(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 8 cards: two each of Curtain, Moon, Sake and Pine.

        Each hand, the field and the stock have two cards, so two turns draw. Four, six or eight
        captured cards are worth 1, 2 or 3 points; Curtain with Sake and Moon with Sake add 2
        points each. `options` are those of the class.
        """
        return cls._of_pairs("K8", (1,), options)

    @classmethod
    def K10(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 10 cards: K8 with two more, Plum. Every turn draws."""
        return cls._of_pairs("K10", (1, 2), options)

    @classmethod
    def K9(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 9 cards: Curtain, Moon, Sake, each with two plain cards.

        Each hand and the field have two cards, and the stock has three, so three turns draw.
        Three captured plain cards are worth 1 point and each further one adds 1; Curtain with
        Sake and Moon with Sake add 3 points each. `options` are those of the class.
        """
        return cls._of_months("K9", 2, 2, 2, options)

    @classmethod
    def K12(cls, **options: Any) -> MiniKoiKoi:
        """Return the game of 12 cards: K9 with three plain cards of each month.

        Each hand has three cards, and the field four. Five captured plain cards are worth 1
        point and each further one adds 1. `options` are those of the class.
        """
        return cls._of_months("K12", 3, 3, 4, options)

    @classmethod
    def _of_pairs(
        cls, name: str, plain: Sequence[int], options: Mapping[str, Any]
    ) -> MiniKoiKoi:
        types, points = pairs_of(plain)
        return cls._preset(name, types, 2, 2, points, options)

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
        return cls._preset(name, types, hand, field, points, options)

    @classmethod
    def _preset(
        cls,
        name: str,
        types: Sequence[Type],
        hand: int,
        field: int,
        points: Sequence[Yaku],
        options: Mapping[str, Any],
    ) -> MiniKoiKoi:
        game = cls(types, hand, field, points, **options)
        game._set_name(f"MiniKoiKoi.{name}", **options)
        return game

    def _all_deals(self) -> Iterator[tuple[Cards, Cards, Cards]]:
        """Yield all deals: both hands and the field."""
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
        """Start the first turn; no deal is special."""
        return self._open(at)

    def faces(self, pile: Cards) -> Cards:
        """Return the faces of cards, without the letters of copies."""
        return tuple(card.rsplit("-", 1)[0] for card in pile) if self.distinct else pile


def pairs_of(plain: Sequence[int]) -> tuple[list[Type], tuple[Yaku, ...]]:
    """Return the types and yaku of K8 and K10: pairs, with plain cards of these months.

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
    """Return the name of a type of card in a miniature deck.

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
    """Return whether four cards share a month."""
    return 4 in Counter(months).values()


def special_hand(months: Iterable[int]) -> bool:
    """Return whether a hand has four cards of a month, or is made of four pairs.

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
    """Yield the distinct hands of k cards; cards of one name are identical."""
    if k == 0:
        yield ()
    elif cards:
        n = cards.count(cards[0])
        for taken in range(min(n, k), -1, -1):
            for more in _choices(cards[n:], k - taken):
                yield cards[:taken] + more
