"""Coyote: each player sees all cards but their own; the players bid on the sum of all."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import accumulate, combinations
from typing import ClassVar, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from cfrlib.core.checks import whole_number
from cfrlib.game import Chance, Decision, Game, History, Node, Terminal

Card: TypeAlias = int | str  # a number, or one of SPECIAL

SPECIAL = ("x2", "black0", "max0", "?")
CALL = "coyote"
CARD_FEATURES = 1 + len(SPECIAL)  # per visible card: its number and a flag per special card


class _Declared(NamedTuple):
    """The public state of a round: its declarations, and who acts next."""

    turn: int  # the player to act
    declaration: int  # the last number declared, or 0
    text: str  # the declarations as an infoset label shows them
    actions: tuple[str, ...]


class Coyote(Game):
    """One round of Coyote for two to six players; with `lives`, the whole game.

    Each player is dealt one card and holds it up so that only the others can see it. In turn,
    the players declare a number, each higher than the last: in this simplified game, exactly
    one higher. Instead of raising, a player may call ``"coyote"``. Then the cards are added
    up: if the last declaration exceeds the total, its declarer loses, otherwise the caller
    does. The loser is paid -1, every other player +1.

    A number card counts its number, and ``"black0"`` counts 0. The other special cards change
    the total, in this order: ``"?"`` is replaced by a card drawn after the call, ``"max0"``
    makes the highest number count 0 (even if it is negative), ``"x2"`` doubles the total.

    Cards are dealt one by one, starting with player 0; copies of a card are one outcome. A
    declaration is the action that names its increment, ``"+1"``. An infoset label lists the
    cards by seat, with ``_`` for the player's own, and the last declaration (0 for none):
    ``"_ x2 10: 7"`` is an infoset of player 0 in a game for three.

    Parameters
    ----------
    players : int
        From 2 to 6.
    deck : mapping from card to int, optional
        Number of copies of each card; at most one of each special card. The default is
        ``Coyote.DECK``, the 36 cards of the real game. ``Coyote.SMALL`` and ``Coyote.TINY``
        have one copy each of nine and of three cards.
    cap : int, optional
        The highest number that may be declared; the next player must call. The default is one
        above the largest possible total, the lowest declaration that is always false.
    raises : int or None
        The largest increment of a declaration. None allows any number up to `cap`, as in the
        real game. Unless it is 1, labels list all declarations: ``"_ 3: 1-4"``.
    first_may_call : bool
        Whether player 0 may call before any declaration. This claims that the total is below
        0; if it is, the last player loses. In the real game the first player must declare.
    thinning : int
        If not 0, up to this many cards (each count equally likely) are removed at random
        before the deal, unseen by the players.
    lives : int, optional
        Number of lives per player; the game is then played over many rounds. The loser of a
        round loses a life and begins the next round. A player without lives is out, and the
        next player in turn begins instead. Cards that were shown stay out of the deck until
        the black 0 has been shown or too few cards are left for a round; then all cards are
        shuffled again. The last player left is paid one by each of the others.

    Raises
    ------
    ValueError
        If an argument is out of range, the deck has too few cards, or `thinning` is combined
        with `lives`.

    Notes
    -----
    The payoffs of n players always add up to n - 2, so the game is zero-sum for two players.
    For more it is not, and small regret does not guarantee an equilibrium. (Nor would it if
    the others shared the loser's 1: that is the same game in other units.)

    Source: the program *Kuron* (2025), which simplifies the real game in this way, with
    ``cap=120``. Unlike in Kuron, a call always ends the round, even if a ``"?"`` is replaced,
    and the removal of cards is a chance event. In the real game a player may raise by any
    number, and each player has three lives.

    With lives, labels begin with the earlier rounds, all cards open: ``"3 ?=10: 7 | _ 2: 1"``.
    A ``-`` marks a player who is out.

    Examples
    --------
    >>> game = Coyote()
    >>> game.node((10, 3, "+1"))
    Decision(1, '10 _: 1', ('+1', 'coyote'))
    >>> game.node((10, "max0", "+1", "coyote"))  # the total is 0: player 0 declared too much
    Terminal((-1, 1))
    >>> import cfrlib as cfr
    >>> cfr.compile(Coyote(deck=Coyote.TINY, raises=None)).num_infosets
    192
    """

    DECK: ClassVar[Mapping[Card, int]] = {
        -10: 1, -5: 2, 0: 3, 1: 4, 2: 4, 3: 4, 4: 4, 5: 4, 10: 3, 15: 2, 20: 1,
        "x2": 1, "black0": 1, "max0": 1, "?": 1,
    }  # fmt: skip
    SMALL: ClassVar[Mapping[Card, int]] = dict.fromkeys((-5, *range(6), "x2", "max0"), 1)
    TINY: ClassVar[Mapping[Card, int]] = dict.fromkeys((1, 2, 3), 1)

    def __init__(
        self,
        players: int = 2,
        deck: Mapping[Card, int] | None = None,
        cap: int | None = None,
        raises: int | None = 1,
        first_may_call: bool = True,
        thinning: int = 0,
        lives: int | None = None,
    ):
        players, thinning = whole_number("players", players), whole_number("thinning", thinning)
        lives = None if lives is None else whole_number("lives", lives)
        if lives is not None and (lives < 1 or thinning):
            raise ValueError(
                "lives must be at least 1, and cannot be combined with thinning; "
                f"got lives={lives!r}, thinning={thinning!r}"
            )
        self.lives = lives
        if not 2 <= players <= 6:
            raise ValueError(f"Coyote needs 2 to 6 players, got {players!r}")
        self.num_players = players
        self.deck = _checked(self.DECK if deck is None else deck)
        needed, held = players + ("?" in self.deck), sum(self.deck.values())
        if held < needed:
            each = "one each and one to replace '?'" if "?" in self.deck else "one each"
            raise ValueError(
                f"{players} players need {needed} cards, {each}; the deck has only {held}: "
                "add cards, or use fewer players"
            )
        if not 0 <= thinning <= held - needed:
            raise ValueError(
                f"thinning must lie between 0 and {held - needed}, the cards that {players} "
                f"players can spare of these {held}; got {thinning!r}"
            )
        self.thinning = thinning
        self.cap = self._always_false() if cap is None else whole_number("cap", cap)
        self.raises = None if raises is None else whole_number("raises", raises)
        self.first_may_call = first_may_call
        if self.cap < 1 or (raises is not None and raises < 1):
            raise ValueError(
                f"cap and raises must be at least 1, got {self.cap!r} and {raises!r}"
            )
        self._removed = {f"{k} aside": k for k in range(thinning + 1)}
        self._lost_by = [
            Terminal([-1 if i == loser else 1 for i in range(players)])
            for loser in range(players)
        ]
        self._public: dict[tuple[str, ...], _Declared] = {}
        numbers = [
            c if isinstance(c, int) else 0 for c, n in self.deck.items() for _ in range(n)
        ]
        self._unit = float(np.std(numbers)) or 1.0

    @staticmethod
    def total(cards: Iterable[Card]) -> int:
        """Return the sum of the cards; a ``"?"`` that was not replaced counts 0.

        Examples
        --------
        >>> Coyote.total((10, "x2")), Coyote.total((10, "max0", 3)), Coyote.total(("max0", -5))
        (20, 3, 0)
        """
        shown = tuple(cards)
        numbers = [card for card in shown if isinstance(card, int)]
        total = sum(numbers)
        if "max0" in shown and numbers:
            total -= max(numbers)
        return 2 * total if "x2" in shown else total

    def node(self, h: History) -> Node:
        """Return the node at history `h`."""
        if self.lives is not None:
            return self._multi_round_node(h, self.lives)
        if self.thinning and not h:
            return Chance(dict.fromkeys(self._removed, 1 / len(self._removed)))
        first = 1 if self.thinning else 0  # index of the first card in h
        start = first + self._removed[h[0]] if self.thinning else 0  # … of the first dealt card
        stop = start + self.num_players
        if len(h) < stop:
            return self._card_chance(h[first:])
        hand, moves = h[start:stop], h[stop:]
        if CALL not in moves[-2:]:
            return self._decision(hand, moves)
        if "?" in hand:
            if moves[-1] == CALL:
                return self._card_chance(h[first:stop])
            hand = tuple(moves[-1] if card == "?" else card for card in hand)
        return self._showdown(hand, moves[: moves.index(CALL)])

    def features(self, labels: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return the features of infosets: numbers and flags for a network.

        For each of the other players, in turn order from the player to act: the number on the
        card (0 for a special card), and a flag for each of ``"x2"``, ``"black0"``, ``"max0"``
        and ``"?"``. Then, for each kind of card in the order of the deck, the share of its
        copies that the player does not see; the total of the visible cards, see ``total``;
        the last declaration; and the difference of the two. Unless `raises` is 1, a flag for
        each number up to `cap` follows: whether it was declared.

        Seats are relative, so all players can share a network, and all games with the same
        number of players an architecture. The unit is the standard deviation of the deck.

        Parameters
        ----------
        labels : sequence of str
            Labels of infosets of this game.

        Returns
        -------
        float32 array, shape (labels, 5 · (players - 1) + kinds of cards + 3)
            Unless `raises` is 1, `cap` more columns.

        Raises
        ------
        ValueError
            If a label does not belong to an infoset of this game.

        Notes
        -----
        After the program *Kuron* (2025), whose network has the same inputs in other units,
        and for the seats additional columns that are always 0.

        Examples
        --------
        >>> game = Coyote(deck={-2: 1, 2: 1})  # the unit is 2
        >>> game.features(["_ 2: 1"]).tolist()  # a 2, no flags; unseen -2, 2; 2; 1; 2 - 1
        [[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.5, 0.5]]
        """
        if self.lives is not None:
            raise ValueError(
                f"{self!r} has infosets of several rounds, for which no features are defined: "
                "define a method features(labels) in a subclass"
            )
        pairs = [label.split(": ") for label in labels]
        views = dict.fromkeys(pair[0] for pair in pairs)  # many labels share the same cards
        row_of = {view: row for row, view in enumerate(views)}
        try:
            deck = tuple(self.deck.items())
            tables = np.array(
                [_card_features(v, self.num_players, deck, self._unit) for v in views],
                np.float32,
            )
            texts = {pair[1]: None for pair in pairs}
            rows_of_text = dict(zip(texts, map(self._declaration_features, texts), strict=True))
            declared = np.array([rows_of_text[pair[1]] for pair in pairs], np.float32)
        except (IndexError, KeyError, ValueError):
            raise ValueError(
                f"some of these are not infosets of {self!r}: {list(labels)[:6]!r}; use labels "
                "of its decisions, such as those of cfrlib.compile(game)"
            ) from None
        width = CARD_FEATURES * (self.num_players - 1) + len(self.deck) + 1
        rows = [row_of[pair[0]] for pair in pairs]
        cards = tables.reshape(-1, width)[rows]
        declared = declared.reshape(len(pairs), 1 if self.raises == 1 else 1 + self.cap)
        last = declared[:, :1]
        return np.concatenate((cards, last, cards[:, -1:] - last, declared[:, 1:]), axis=1)

    def _declaration_features(self, text: str) -> list[float]:
        """Return the last declaration and, unless `raises` is 1, a flag per number declared."""
        declared = [int(number) for number in text.split("-")]
        if max(declared) > self.cap:
            raise ValueError
        flags = [] if self.raises == 1 else [0.0] * self.cap
        for number in declared if flags and declared != [0] else ():
            flags[number - 1] = 1.0
        return [declared[-1] / self._unit, *flags]

    def _multi_round_node(self, h: History, lives: int) -> Node:
        """Return the node at history `h` of the game with lives, by replaying its rounds."""
        left, first, past = [lives] * self.num_players, 0, ""
        gone: tuple[Card, ...] = ()
        while len(seats := [i for i, n in enumerate(left) if n]) > 1:
            if sum(self.deck.values()) - len(gone) < len(seats) + ("?" in self.deck):
                gone = ()
            hand, h = h[: len(seats)], h[len(seats) :]
            gone += hand
            if len(hand) < len(seats):
                return self._card_chance(gone)
            start = seats.index(first)
            turn = [*seats[start:], *seats[:start]]
            if CALL not in h:
                i, public = turn[len(h) % len(turn)], self._declared(h)
                seen = ["_" if j == i else c for j, c in zip(seats, hand, strict=True)]
                label = f"{past}{self._cards_by_seat(seats, seen)}: {public.text}"
                return Decision(i, label, public.actions)
            at = h.index(CALL)
            moves, h, shown = h[:at], h[at + 1 :], list(hand)
            if "?" in hand:
                if not h:
                    return self._card_chance(gone)
                drawn, h, q = h[0], h[1:], hand.index("?")
                gone, shown[q] = (*gone, drawn), f"?={drawn}"
                hand = (*hand[:q], drawn, *hand[q + 1 :])
            public = self._declared(moves)
            past += f"{self._cards_by_seat(seats, shown)}: {public.text} | "
            caller, false = len(moves), public.declaration > self.total(hand)
            loser = (caller - false) % len(turn)
            left[turn[loser]] -= 1
            first = turn[loser if left[turn[loser]] else (loser + 1) % len(turn)]
            if "black0" in gone:
                gone = ()
        return Terminal([len(left) - 1 if i in seats else -1 for i in range(len(left))])

    def _cards_by_seat(self, seats: Sequence[int], cards: Sequence[Card]) -> str:
        """Write the cards in the order of the seats, with - for a player who is out."""
        shown = dict(zip(seats, cards, strict=True))
        return " ".join(str(shown.get(i, "-")) for i in range(self.num_players))

    def _card_chance(self, gone: tuple[Card, ...]) -> Chance:
        """Return the chance node that deals a card from the deck without the cards `gone`."""
        left = Counter(self.deck)
        left.subtract(gone)
        total = left.total()
        return Chance({card: n / total for card, n in left.items() if n})

    def _decision(self, hand: tuple[Card, ...], moves: tuple[str, ...]) -> Decision:
        """Return the decision of the player to act, who sees all cards but their own."""
        public = self._declared(moves)
        seen = " ".join("_" if i == public.turn else str(c) for i, c in enumerate(hand))
        return Decision(public.turn, f"{seen}: {public.text}", public.actions)

    def _declared(self, moves: tuple[str, ...]) -> _Declared:
        """Return the public state after `moves`; cached, since many deals share the moves."""
        try:
            return self._public[moves]
        except KeyError:
            return self._public.setdefault(moves, self._replay(moves))

    def _replay(self, moves: tuple[str, ...]) -> _Declared:
        """Compute the public state after these declarations."""
        declared = [0, *accumulate(int(move) for move in moves)]
        left = self.cap - declared[-1]
        most = left if self.raises is None else min(left, self.raises)
        actions = tuple(f"+{k}" for k in range(1, most + 1))
        if moves or self.first_may_call:
            actions = (*actions, CALL)
        shown = declared[-1:] if self.raises == 1 else declared[1:] or declared
        return _Declared(
            len(moves) % self.num_players, declared[-1], "-".join(map(str, shown)), actions
        )

    def _showdown(self, hand: tuple[Card, ...], moves: tuple[str, ...]) -> Terminal:
        """Return the terminal node after a call of the last of these declarations."""
        caller = len(moves) % self.num_players
        false = self._declared(moves).declaration > self.total(hand)
        loser = (caller - 1) % self.num_players if false else caller
        return self._lost_by[loser]

    def _always_false(self) -> int:
        """Return the lowest declaration, at least 1, that exceeds every possible total."""
        numbers = [
            card for card, n in self.deck.items() if isinstance(card, int) for _ in range(n)
        ]
        numbers.sort(reverse=True)
        special = [card for card in self.deck if card in SPECIAL and card != "?"]
        totals = [
            self.total((*some, *numbers[: self.num_players - k]))
            for k in range(len(special) + 1)
            for some in combinations(special, k)
            if 0 <= self.num_players - k <= len(numbers)
        ]
        return max(0, *totals) + 1

    def __repr__(self) -> str:
        options = []
        if self.num_players != 2:
            options.append(f"players={self.num_players}")
        if self.deck != self.DECK:
            options.append(f"deck={self.deck!r}")
        if self.cap != self._always_false():
            options.append(f"cap={self.cap}")
        if self.raises != 1:
            options.append(f"raises={self.raises}")
        options += [] if self.first_may_call else ["first_may_call=False"]
        options += [] if self.thinning == 0 else [f"thinning={self.thinning}"]
        options += [] if self.lives is None else [f"lives={self.lives}"]
        return f"Coyote({', '.join(options)})"


@lru_cache(maxsize=1 << 15)  # each view recurs with every declaration
def _card_features(
    view: str, players: int, deck: tuple[tuple[Card, int], ...], unit: float
) -> list[float]:
    """Return the features of the visible cards: each card, the unseen cards, the total."""
    shown = view.split(" ")
    own = shown.index("_")
    names = [*shown[own + 1 :], *shown[:own]]
    cards: list[Card] = [name if name in SPECIAL else int(name) for name in names]
    left = dict(deck)
    row: list[float] = []
    for card in cards:
        left[card] -= 1
        row.append(card / unit if isinstance(card, int) else 0.0)
        row += [float(card == special) for special in SPECIAL]
    if len(cards) != players - 1 or min(left.values()) < 0:
        raise ValueError
    row += [left[card] / copies for card, copies in deck]
    return [*row, Coyote.total(cards) / unit]


def _checked(deck: Mapping[Card, int]) -> dict[Card, int]:
    """Return a copy of a deck; raise a ValueError if it is not valid."""
    if not isinstance(deck, Mapping):
        raise ValueError(
            f"deck must be a dict from card to number of copies, e.g. {{1: 2, 'x2': 1}}, "
            f"got {deck!r}"
        )
    for card, copies in deck.items():
        if not isinstance(card, int) and card not in SPECIAL:
            raise ValueError(
                f"{card!r} is not a card of Coyote; cards are whole numbers and "
                f"{', '.join(map(repr, SPECIAL))}"
            )
        whole_number(f"copies of {card!r}", copies)
        if copies < 1 or (copies > 1 and card in SPECIAL):
            allowed = "exactly 1 copy" if card in SPECIAL else "at least 1 copy, or be left out"
            raise ValueError(f"the card {card!r} must have {allowed}; got {copies}")
    return dict(deck)
