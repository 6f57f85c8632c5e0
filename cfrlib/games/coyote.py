"""Coyote: everybody sees all cards but their own, and says how much they add up to."""

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
FACTS = 1 + len(SPECIAL)  # what a network is told of each card on the table


class _Spoken(NamedTuple):
    """What everybody at the table has heard."""

    turn: int  # who speaks next
    declaration: int  # the last number said, or 0
    words: str  # the declarations, as a label shows them
    actions: tuple[str, ...]


class Coyote(Game):
    """One round of Coyote for two to six players, or with `lives` the whole game.

    Everybody is dealt one card and holds it up for all others to see. In turn the players
    say how much all cards add up to, each more than the one before: in this simplified game
    exactly one more. Instead of raising one may call ``"coyote"``. Then the cards are added
    up: if the last declaration is more than the total, whoever said it loses, else the caller
    does. The loser is paid -1, everybody else +1.

    Numbers count what they show, ``"black0"`` counts 0. The other special cards change the
    total, in this order: ``"?"`` is replaced by a card drawn after the call, ``"max0"`` makes
    the highest number (be it negative) count 0, ``"x2"`` doubles the total.

    Cards are dealt one after the other, to player 0 first; copies of a card are one outcome.
    A declaration is an action that says how much it adds, ``"+1"``. An infoset shows the
    cards in the order of the seats, ``_`` for the own one, and the last declaration, 0 for
    none: ``"_ x2 10: 7"`` is what player 0 of three may see.

    Parameters
    ----------
    players : int
        From 2 to 6.
    deck : mapping from card to int, optional
        How often each card comes: whole numbers, and each of the special cards once at most.
        ``Coyote.DECK``, the 36 cards of the real game, if left out; ``Coyote.SMALL`` and
        ``Coyote.TINY`` have one copy each of nine and of three cards.
    cap : int, optional
        The highest number that may be declared; after it one must call. Left out, it is one
        above the largest possible total, the first declaration that is surely false.
    raises : int or None
        By how much a declaration may exceed the last. With more than 1, or with None for any
        number up to `cap` as in the real game, infosets list all declarations, ``"_ 3: 1-4"``.
    first_may_call : bool
        Whether player 0 may call before anything was declared. That says the total is below
        0, and if so the last player loses. In the real game the first player must declare.
    thinning : int
        If not 0, up to so many cards (each number equally likely) are laid aside at random
        before the deal, and nobody sees them.
    lives : int, optional
        Play round after round. Who loses a round loses a life and begins the next one; who has
        none left is out, and the next player in turn begins in his place. Cards that were
        shown stay aside until the black 0 was among them, or too few are left for a round:
        then all are shuffled again. The last player left is paid one from each of the others.

    Raises
    ------
    ValueError
        If an argument is out of range, the deck has too few cards, or `thinning` is asked for
        together with `lives`.

    Notes
    -----
    The payoffs of n players always add up to n - 2, so two players play a zero-sum game. With
    more it is not one, and small regret guarantees no equilibrium. (Nor would it if the
    others shared the loser's 1: that is the same game in other units.)

    Source: the program *Kuron* (2025), which simplified the real game like this, with
    ``cap=120``. Unlike there, a call always ends the round, even one that has a ``"?"``
    replaced, and cards laid aside are a chance event. In the real game one may raise by any
    number, and each player has three lives.

    With lives, infosets begin with the rounds before, all cards open: ``"3 ?=10: 7 | _ 2: 1"``.
    A ``-`` stands where a player is out.

    Examples
    --------
    >>> game = Coyote()
    >>> game.node((10, 3, "+1"))
    Decision(1, '10 _: 1', ('+1', 'coyote'))
    >>> game.node((10, "max0", "+1", "coyote"))  # a total of 0: player 0 has said too much
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
                "lives must be at least 1, and cards are laid aside in a single round only; "
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
                "add cards, or take fewer players"
            )
        if not 0 <= thinning <= held - needed:
            raise ValueError(
                f"{players} players with these {held} cards can spare {held - needed} of them; "
                f"thinning must lie between 0 and that, got {thinning!r}"
            )
        self.thinning = thinning
        self.cap = self._surely_false() if cap is None else whole_number("cap", cap)
        self.raises = None if raises is None else whole_number("raises", raises)
        self.first_may_call = first_may_call
        if self.cap < 1 or (raises is not None and raises < 1):
            raise ValueError(
                f"cap and raises must be at least 1, got {self.cap!r} and {raises!r}"
            )
        self._aside = {f"{k} aside": k for k in range(thinning + 1)}
        self._lost_by = [
            Terminal([-1 if i == loser else 1 for i in range(players)])
            for loser in range(players)
        ]
        self._known: dict[tuple[str, ...], _Spoken] = {}
        numbers = [
            c if isinstance(c, int) else 0 for c, n in self.deck.items() for _ in range(n)
        ]
        self._unit = float(np.std(numbers)) or 1.0

    @staticmethod
    def total(cards: Iterable[Card]) -> int:
        """Add up the cards on the table; a ``"?"`` that was not replaced counts 0.

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
        """Say what the history `h` is."""
        if self.lives is not None:
            return self._follow_rounds(h, self.lives)
        if self.thinning and not h:
            return Chance(dict.fromkeys(self._aside, 1 / len(self._aside)))
        first = 1 if self.thinning else 0  # of the cards drawn
        start = first + self._aside[h[0]] if self.thinning else 0  # of the hand
        stop = start + self.num_players
        if len(h) < stop:
            return self._draw(h[first:])
        hand, moves = h[start:stop], h[stop:]
        if CALL not in moves[-2:]:
            return self._decision(hand, moves)
        if "?" in hand:
            if moves[-1] == CALL:
                return self._draw(h[first:stop])
            hand = tuple(moves[-1] if card == "?" else card for card in hand)
        return self._judge(hand, moves[: moves.index(CALL)])

    def features(self, labels: Sequence[str]) -> npt.NDArray[np.float32]:
        """Return what a network sees of each infoset: numbers and flags, not words.

        For each of the other players, in order of turn from the one to act: the number on the
        card (0 on a special one), and a flag for each of ``"x2"``, ``"black0"``, ``"max0"``
        and ``"?"``. Then, for each kind of card in the order of the deck, what share of its
        copies is not on the table before the player's eyes; the sum of the cards seen, as
        ``total`` counts them; the last declaration; and that sum less the declaration. With
        `raises` other than 1 a flag for each number up to `cap` follows: whether it was said.

        Seats are relative, so all players may share a network, and games for the same number
        of players its shape. Numbers are in units of the deck's standard deviation.

        Parameters
        ----------
        labels : sequence of str
            Of infosets of this game.

        Returns
        -------
        float32 array, shape (labels, 5 · (players - 1) + kinds of cards + 3)
            With `raises` other than 1, `cap` columns more.

        Raises
        ------
        ValueError
            If a label is no infoset of this game.

        Notes
        -----
        After the program *Kuron* (2025), whose network sees the same, in other units, and
        columns for the seats that are always 0.

        Examples
        --------
        >>> game = Coyote(deck={-2: 1, 2: 1})  # the unit is 2
        >>> game.features(["_ 2: 1"]).tolist()  # a 2, no flags; unseen -2, 2; 2; 1; 2 - 1
        [[1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.5, 0.5]]
        """
        if self.lives is not None:
            raise ValueError(
                f"{self!r} has infosets with many rounds, for which there are no features: "
                "give it a method features(labels) of your own, in a subclass"
            )
        pairs = [label.split(": ") for label in labels]
        views = dict.fromkeys(pair[0] for pair in pairs)  # many labels show the same cards
        row_of = {seen: row for row, seen in enumerate(views)}
        try:
            deck = tuple(self.deck.items())
            tables = np.array(
                [_view(seen, self.num_players, deck, self._unit) for seen in views], np.float32
            )
            words = {pair[1]: None for pair in pairs}
            heard = dict(zip(words, map(self._heard, words), strict=True))
            said = np.array([heard[pair[1]] for pair in pairs], np.float32)
        except (IndexError, KeyError, ValueError):
            raise ValueError(
                f"some of these are no infosets of {self!r}: {list(labels)[:6]!r}; take labels "
                "of its decisions, such as those of cfrlib.compile(game)"
            ) from None
        width = FACTS * (self.num_players - 1) + len(self.deck) + 1
        rows = [row_of[pair[0]] for pair in pairs]
        seen = tables.reshape(-1, width)[rows]
        said = said.reshape(len(pairs), 1 if self.raises == 1 else 1 + self.cap)
        return np.concatenate(
            (seen, said[:, :1], seen[:, -1:] - said[:, :1], said[:, 1:]), axis=1
        )

    def _heard(self, words: str) -> list[float]:
        """Return the last declaration, and with free raises which numbers were said."""
        said = [int(word) for word in words.split("-")]
        if max(said) > self.cap:
            raise ValueError
        flags = [] if self.raises == 1 else [0.0] * self.cap
        for number in said if flags and said != [0] else ():
            flags[number - 1] = 1.0
        return [said[-1] / self._unit, *flags]

    def _follow_rounds(self, h: History, lives: int) -> Node:
        """Say what a history of the whole game is, from its first round on."""
        left, first, past = [lives] * self.num_players, 0, ""
        gone: tuple[Card, ...] = ()
        while len(seats := [i for i, n in enumerate(left) if n]) > 1:
            if sum(self.deck.values()) - len(gone) < len(seats) + ("?" in self.deck):
                gone = ()
            hand, h = h[: len(seats)], h[len(seats) :]
            gone += hand
            if len(hand) < len(seats):
                return self._draw(gone)
            start = seats.index(first)
            turn = [*seats[start:], *seats[:start]]
            if CALL not in h:
                i, spoken = turn[len(h) % len(turn)], self._spoken(h)
                seen = ["_" if j == i else c for j, c in zip(seats, hand, strict=True)]
                label = f"{past}{self._show(seats, seen)}: {spoken.words}"
                return Decision(i, label, spoken.actions)
            at = h.index(CALL)
            moves, h, shown = h[:at], h[at + 1 :], list(hand)
            if "?" in hand:
                if not h:
                    return self._draw(gone)
                drawn, h, q = h[0], h[1:], hand.index("?")
                gone, shown[q] = (*gone, drawn), f"?={drawn}"
                hand = (*hand[:q], drawn, *hand[q + 1 :])
            past += f"{self._show(seats, shown)}: {self._spoken(moves).words} | "
            caller, false = len(moves), self._spoken(moves).declaration > self.total(hand)
            loser = (caller - false) % len(turn)
            left[turn[loser]] -= 1
            first = turn[loser if left[turn[loser]] else (loser + 1) % len(turn)]
            if "black0" in gone:
                gone = ()
        return Terminal([len(left) - 1 if i in seats else -1 for i in range(len(left))])

    def _show(self, seats: Sequence[int], cards: Sequence[Card]) -> str:
        """Return the cards in the order of all seats, a - for who is out."""
        shown = dict(zip(seats, cards, strict=True))
        return " ".join(str(shown.get(i, "-")) for i in range(self.num_players))

    def _draw(self, gone: tuple[Card, ...]) -> Chance:
        """Draw a card from what these cards leave of the deck."""
        left = Counter(self.deck)
        left.subtract(gone)
        total = left.total()
        return Chance({card: n / total for card, n in left.items() if n})

    def _decision(self, hand: tuple[Card, ...], moves: tuple[str, ...]) -> Decision:
        """Return the choice of a player who sees all cards of the hand but one."""
        spoken = self._spoken(moves)
        seen = " ".join("_" if i == spoken.turn else str(c) for i, c in enumerate(hand))
        return Decision(spoken.turn, f"{seen}: {spoken.words}", spoken.actions)

    def _spoken(self, moves: tuple[str, ...]) -> _Spoken:
        """Return what everybody has heard; remembered, as many hands share the same words."""
        try:
            return self._known[moves]
        except KeyError:
            return self._known.setdefault(moves, self._follow(moves))

    def _follow(self, moves: tuple[str, ...]) -> _Spoken:
        """Return what was heard after these declarations, and what may be said next."""
        said = [0, *accumulate(int(move) for move in moves)]
        left = self.cap - said[-1]
        most = left if self.raises is None else min(left, self.raises)
        actions = tuple(f"+{k}" for k in range(1, most + 1))
        if moves or self.first_may_call:
            actions = (*actions, CALL)
        words = said[-1:] if self.raises == 1 else said[1:] or said
        return _Spoken(
            len(moves) % self.num_players, said[-1], "-".join(map(str, words)), actions
        )

    def _judge(self, hand: tuple[Card, ...], moves: tuple[str, ...]) -> Terminal:
        """Pay after the last of these declarations was called."""
        caller = len(moves) % self.num_players
        false = self._spoken(moves).declaration > self.total(hand)
        loser = (caller - 1) % self.num_players if false else caller
        return self._lost_by[loser]

    def _surely_false(self) -> int:
        """Return the least declaration, 1 or more, that exceeds every total."""
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
        if self.cap != self._surely_false():
            options.append(f"cap={self.cap}")
        if self.raises != 1:
            options.append(f"raises={self.raises}")
        options += [] if self.first_may_call else ["first_may_call=False"]
        options += [] if self.thinning == 0 else [f"thinning={self.thinning}"]
        options += [] if self.lives is None else [f"lives={self.lives}"]
        return f"Coyote({', '.join(options)})"


@lru_cache(maxsize=1 << 15)  # hands come back, declaration after declaration
def _view(
    seen: str, players: int, deck: tuple[tuple[Card, int], ...], unit: float
) -> list[float]:
    """Return what the cards before a player's eyes say: facts, what is unseen, the sum."""
    shown = seen.split(" ")
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
    """Return a copy of a deck, or raise a ValueError that says what is wrong with it."""
    if not isinstance(deck, Mapping):
        raise ValueError(
            f"deck must be a dict from card to number of copies, e.g. {{1: 2, 'x2': 1}}, "
            f"got {deck!r}"
        )
    for card, copies in deck.items():
        if not isinstance(card, int) and card not in SPECIAL:
            raise ValueError(
                f"{card!r} is no card of Coyote; cards are whole numbers and "
                f"{', '.join(map(repr, SPECIAL))}"
            )
        whole_number(f"copies of {card!r}", copies)
        if copies < 1 or (copies > 1 and card in SPECIAL):
            allowed = "once" if card in SPECIAL else "at least once, or is left out"
            raise ValueError(f"the card {card!r} comes {allowed}, got {copies} copies")
    return dict(deck)
