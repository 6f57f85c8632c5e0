"""A seat at the table: rounds of Koi-Koi against a player, under a kernel.

`Sitting` is played by `press` and read by its attributes. Its widget is a thin layer: pictures,
and a button for everything that can be pressed.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.rng import new_key
from cfrlib.koikoi import art
from cfrlib.koikoi.cards import kind_of, made
from cfrlib.koikoi.players import CHANCE, POINTS, Advice, Adviser, Player
from cfrlib.koikoi.rules import KoiKoi, Position
from cfrlib.koikoi.simulator import (
    CALL,
    MATCH,
    OVER,
    PLAY,
    STOPPING,
    Rounds,
    Simulator,
    members,
)

if TYPE_CHECKING:
    import ipywidgets

NEXT, AGAIN = "next round", "new match"
PAGE = "CFRLIB_PAGE"  # environment variable, set while the book is built
KINDS = ("light", "animal", "ribbon", "plain")
NEAR = 2  # a yaku is shown from so many missing cards on
SENTENCE = (
    "To play, run this page with a kernel: on your own machine, or by the launch button at the "
    "top of a book that is online."
)


def sit_down(
    game: KoiKoi,
    opponent: Player,
    *,
    hints: bool | Adviser = False,
    rounds: int = 12,
    seed: int | None = None,
) -> Sitting:
    """Return a match against a player, which a notebook shows with buttons.

    You deal the first round; then whoever won the last one does, or the other player if nobody
    scored. Who has more points after the last round has won.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    opponent : Player
    hints : bool or Adviser
        Offer hints: the opponent's own, or another player's. What their numbers are, points
        or probabilities, is up to whoever gives them, and said beside them.
    rounds : int
        Of a match.
    seed : int, optional
        Of the deals, and of the opponent. The same seed and the same choices give the same
        rounds.

    Returns
    -------
    Sitting

    Raises
    ------
    ValueError
        If the opponent is asked for hints and has none.

    Examples
    --------
    >>> from cfrlib.koikoi import KoiKoi
    >>> from cfrlib.koikoi.players import GreedyPlayer
    >>> table = sit_down(KoiKoi(), GreedyPlayer(), seed=1)
    >>> table.press(table.actions[0])
    >>> table.log[0].startswith("You play")
    True
    """
    whole_number("rounds", rounds, 1)
    adviser = opponent if hints is True else hints or None
    if adviser is not None and not isinstance(adviser, Adviser):
        raise ValueError(
            f"{adviser!r} gives no advice, which takes a method `advise`; leave out hints, or "
            "let them be those of a NetworkPlayer"
        )
    return Sitting(game, opponent, adviser, rounds, seed)


class Sitting:
    """A match under way; made by :func:`sit_down`.

    Attributes
    ----------
    actions : tuple of str
        What can be pressed now: cards, ``"stop"`` and ``"koi-koi"``, ``"next round"``,
        ``"new match"``.
    log : list of str
        What happened in this round, sentence by sentence.
    results : list of int
        Points that you won of the opponent, of every finished round of this match.
    dealing : bool
        Whether you deal this round.
    """

    def __init__(
        self,
        game: KoiKoi,
        opponent: Player,
        adviser: Adviser | None,
        rounds: int,
        seed: int | None,
    ):
        self.game, self.opponent, self.adviser, self.rounds = game, opponent, adviser, rounds
        self._simulator = Simulator(game)
        self._source = np.random.SeedSequence(seed)
        self._matches = 0
        self._begin_match()

    # ---- what can be done --------------------------------------------------------------------

    def press(self, action: str) -> None:
        """Do what a button of that name does, and let the opponent answer.

        Parameters
        ----------
        action : str
            One of `actions`.

        Raises
        ------
        ValueError
            If that cannot be done now.
        """
        if action not in self.actions:
            raise ValueError(
                f"{action!r} cannot be pressed now; choose one of {', '.join(self.actions)}"
            )
        if action == AGAIN:
            self._begin_match()
        elif action == NEXT:
            self._begin_round()
        else:
            self._heard = len(self.log)
            self._act(self._numbers[action])
            self._answer()

    @property
    def actions(self) -> tuple[str, ...]:
        """What can be pressed now."""
        if not self.over:
            return tuple(self._numbers)
        return (NEXT,) if len(self.results) < self.rounds else (AGAIN,)

    @property
    def over(self) -> bool:
        """Whether the round is over."""
        return bool(self._round.stage[0] == OVER)

    @property
    def score(self) -> int:
        """Your points less the opponent's, in this match."""
        return sum(self.results)

    def advice(self) -> Advice | None:
        """Return what the adviser says of the actions, by name; None if there is no choice.

        The adviser sees what you see.
        """
        if self.adviser is None or self.over or len(self._numbers) < 2:
            return None
        said = self.adviser.advise(self._simulator, self._round, 0)
        named = {number: name for name, number in self._numbers.items()}
        return Advice(said.what, {named[int(a)]: float(x) for a, x in said.numbers.items()})

    # ---- what happens ------------------------------------------------------------------------

    def _begin_match(self) -> None:
        self.results: list[int] = []
        self._matches += 1
        self.dealing = self._matches % 2 == 0  # is changed before the first round
        self._begin_round()

    def _begin_round(self) -> None:
        """Deal: who won the last round, or did not deal it if it paid nothing."""
        last = self.results[-1] if self.results else 0
        self.dealing = last > 0 if last else not self.dealing
        dealing, moving = self._source.spawn(2)
        self._round = self._simulator.deal(1, seed=dealing)
        self._key = new_key(moving)
        self.log: list[str] = []
        self._heard = 0  # lines of it that were there when you last pressed
        if self.over:  # a special deal was paid at once
            self._settle()
        self._answer()

    @property
    def _seat(self) -> int:
        """Your number in the round: the dealer is player 0."""
        return 0 if self.dealing else 1

    @property
    def _numbers(self) -> dict[str, int]:
        """The actions that may be chosen, by name."""
        return {str(a): n for n, a in self._simulator.actions(self._round, 0).items()}

    def _answer(self) -> None:
        """Let the opponent move until you have to, or the round is over."""
        rows = np.zeros(1, np.int64)
        while not self.over and self._round.player[0] != self._seat:
            chosen = self.opponent(self._simulator, self._round.take(rows), rows, self._key)
            self._act(int(chosen[0]))

    def _act(self, action: int) -> None:
        before = self._round.take([0])
        self._simulator.act(self._round, [0], [action])
        self.log.extend(self._told(before, action))
        if self.over:
            self._settle()

    def _settle(self) -> None:
        """Write down what the round paid."""
        paid = int(self._round.paid[0])
        self.results.append(paid if self.dealing else -paid)
        self.log.append(outcome(self.results[-1]))

    # ---- in words ----------------------------------------------------------------------------

    def _told(self, before: Rounds, action: int) -> list[str]:
        """Say what an action did, and the draw after it."""
        after, names, i = self._round, self._simulator.names, before.player[0]
        who = "You" if i == self._seat else "They"
        if before.stage[0] == CALL:
            return [f"{who} stop." if action == STOPPING else f"{who} call koi-koi."]
        if before.stage[0] == MATCH:
            card, taken = int(before.card[0]), [action]
            lines = [f"{who} capture {names[action]} with {names[card]}."]
        else:
            card, taken = action, self._matching(before, action)
            if after.stage[0] == MATCH and after.card[0] == card:
                return [f"{who} play {names[card]}, which matches two."]
            lines = [f"{who} play {names[card]}{self._captures(taken)}"]
        if after.turned[0] > before.turned[0]:
            drawn = int(before.order[0, before.turned[0]])
            if after.stage[0] == MATCH:
                return [*lines, f"{who} draw {names[drawn]}, which matches two."]
            gained = members(int(after.piles[0, i] & ~before.piles[0, i]))
            gone = {drawn, *taken, *([card] if taken else [])}
            rest = [c for c in gained if c not in gone]
            lines.append(f"{who} draw {names[drawn]}{self._captures(rest)}")
        return lines

    def _captures(self, taken: Sequence[int]) -> str:
        names = " and ".join(self._simulator.names[c] for c in taken)
        return f" and capture {names}." if names else "; it stays."

    def _matching(self, at: Rounds, card: int) -> list[int]:
        """Return the cards of the field that a card may take; one of two that look alike."""
        months, names = self.game.months, self._simulator.names
        field = members(int(at.field[0]))
        same = [c for c in field if months[names[c]] == months[names[card]]]
        return same[:1] if len(same) == 2 and names[same[0]] == names[same[1]] else same

    def question(self) -> str:
        """Return what is to be decided, in a sentence.

        Examples
        --------
        >>> from cfrlib.koikoi import MiniKoiKoi
        >>> from cfrlib.koikoi.players import RandomPlayer
        >>> sit_down(MiniKoiKoi.K10(), RandomPlayer(), seed=0).question()
        'Play a card.'
        """
        at, i = self._round, self._seat
        if self.over:
            if len(self.results) < self.rounds:
                return "The round is over."
            verdict = "a draw" if not self.score else "yours" if self.score > 0 else "theirs"
            return f"The match is over: {verdict}, by {counted(abs(self.score))}."
        if at.stage[0] == MATCH:
            return f"Which card does {self._simulator.names[at.card[0]]} capture?"
        if at.stage[0] == PLAY:
            return "Play a card."
        points = int(at.points[0, i])
        paid = self.game.payment(points, called=bool(at.calls[0, 1 - i]))
        more = f", which pays {paid}" if paid != points else ""
        return f"You have {counted(points)}{more}. Stop, or koi-koi?"

    def __repr__(self) -> str:
        return (
            f"Sitting at {self.game!r} against {self.opponent!r}: round {self._number} of "
            f"{self.rounds}, score {self.score:+d}"
        )

    @property
    def _number(self) -> int:
        """The round of the match, counted from 1."""
        return len(self.results) + (not self.over)

    # ---- in pictures -------------------------------------------------------------------------

    def choices(self) -> list[Choice]:
        """Return what the buttons are: your hand card by card, or whatever else can be done."""
        if self.over or self._round.stage[0] == CALL:
            return [Choice(action, "", "") for action in self.actions]
        if self._round.stage[0] == MATCH:
            return [Choice(name, art.draw(name), "") for name in self.actions]
        found = []
        for card in members(int(self._round.hands[0, self._seat])):
            name, taken = self._simulator.names[card], self._matching(self._round, card)
            others = [self._simulator.names[c] for c in taken]
            words = " or ".join(others) if len(others) == 2 else ", ".join(others)
            found.append(Choice(name, art.draw(name), f"takes {words}" if words else "stays"))
        return found

    def board(self) -> str:
        """Return what you see on the table, as HTML; without your hand when you may play it.

        The opponent's hand lies face down until the round is over, the stock always.
        """
        at, i = self._simulator.position(self._round, 0), self._seat
        held = at.hands[1 - i]
        cards = pictures(held) if self.over else art.back() * len(held)
        theirs = block("Their hand", cards, name="cfr-seat-backs")
        left = len(self.game.deck) - int(self._round.turned[0])
        stock = f"{art.back()}<span>×{left}</span>" if left else ""
        opened = block("To be matched", art.draw(at.card)) if at.card else ""
        mine = "" if at.stage == "play" else block("Your hand", pictures(at.hands[i]))
        deals = "You deal and begin" if self.dealing else "They deal and begin"
        return (
            f"<p>Round {self._number} of {self.rounds}. {deals}. Your score: "
            f"<strong>{signed(self.score)}</strong></p>"
            f"<div>{theirs}{self._pile('They captured', at, 1 - i)}</div>"
            f'<div class="cfr-seat-field">{block("Field", pictures(at.field))}'
            f"{block('Stock', stock)}{opened}</div>"
            f"<div>{mine}{self._pile('You captured', at, i)}</div>"
        )

    def _pile(self, title: str, at: Position, i: int) -> str:
        """Return captured cards by kind, and how far their yaku are."""
        kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for card in at.piles[i]:
            kinds[kind_of(self.game.faces((card,))[0])].append(card)
        rows = "".join(f"<span>{pictures(cards)}</span>" for cards in kinds.values() if cards)
        called = " <em>koi-koi!</em>" * (at.calls[i] > 0)
        words = f"{counted(at.points[i])}{called}{self._progress(at.piles[i])}"
        return block(title, rows, words, "cfr-seat-pile")

    def _progress(self, pile: Sequence[str]) -> str:
        """Say which yaku captured cards make, and which they nearly make."""
        faces = self.game.faces(tuple(pile))
        done, counts, words = made(faces, self.game.yaku), Counter(faces), []
        for y in self.game.yaku:
            held = y.held(counts)
            if y.name in done:
                words.append(f"<strong>{escape(y.name)} {done[y.name]}</strong>")
            elif held and y.need - NEAR <= held < y.need:
                words.append(f"{escape(y.name)} {held} of {y.need}")
        return ": " + ", ".join(words) if words else ""

    def hint(self) -> str:
        """Return the adviser's numbers as HTML, the largest marked."""
        advice = self.advice()
        if advice is None:
            return "<p>There is nothing to choose.</p>"
        largest = max(advice.numbers.values())
        rows = "".join(
            f"<tr{' class=cfr-seat-best' * (x == largest)}><th scope='row'>{escape(name)}</th>"
            f"<td>{signed(x, 2) if advice.what == POINTS else f'{x:.0%}'}</td></tr>"
            for name, x in advice.numbers.items()
        )
        head = {POINTS: "points to expect", CHANCE: "would be played"}[advice.what]
        return f"<table><tr><th></th><th scope='col'>{head}</th></tr>{rows}</table>"

    def story(self) -> str:
        """Return the log as HTML."""
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.log)
        return f"<ol>{lines or '<li>The cards are dealt.</li>'}</ol>"

    def page(self) -> str:
        """Return how it stands as HTML, for a page without a kernel; and how to get one."""
        hand = "".join(
            f"<figure>{choice.picture}<figcaption>{escape(choice.note)}</figcaption></figure>"
            for choice in self.choices()
            if choice.picture
        )
        return (
            f'<figure class="cfr-figure cfr-seat"><style>{style()}</style>{self.board()}'
            f'<p class="cfr-seat-title">Your hand</p><div class="cfr-seat-hand">{hand}</div>'
            f"<figcaption>{SENTENCE}</figcaption></figure>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the page's face while a book is built, else the kernel's."""
        if os.environ.get(PAGE):
            return {"text/plain": repr(self), "text/html": self.page()}
        live: dict[str, Any] = self.widget()._repr_mimebundle_()
        return {**live, "text/plain": repr(self)}

    def widget(self) -> ipywidgets.Widget:
        """Return the table as a new ipywidgets widget, with a button for every action.

        Its attribute `buttons` has them, as many as there can be; those that can be pressed
        are displayed.
        """
        import ipywidgets as w

        board, said, hints, story = w.HTML(), w.HTML(), w.HTML(), w.HTML()
        slots = [(w.HTML(), w.Button()) for _ in range(max(self.game.hand, 2))]
        toggle = w.ToggleButton(description="Hints", tooltip="What the adviser says")
        toggle.layout.display = None if self.adviser else "none"
        meant = [""] * len(slots)

        def show() -> None:
            board.value, story.value = self.board(), self.story()
            words = " ".join([*self.log[self._heard :], self.question()])
            said.value = f"<p role='status'>{escape(words)}</p>"
            hints.value = self.hint() if toggle.value else ""
            found = self.choices()
            for n, (picture, button) in enumerate(slots):
                there = n < len(found)
                picture.layout.display = button.layout.display = None if there else "none"
                if there:
                    meant[n], button.description = found[n].action, found[n].action
                    button.tooltip = f"{found[n].action} {found[n].note}".strip()
                    picture.value = f"{found[n].picture}<small>{escape(found[n].note)}</small>"

        def pressed(n: int) -> None:
            self.press(meant[n])
            show()
            if slots[n][1].layout.display == "none":
                slots[0][1].focus()

        for n, (_, button) in enumerate(slots):
            button.on_click(lambda _, n=n: pressed(n))
        toggle.observe(lambda _: show(), "value")
        hand = w.Box([w.VBox(slot) for slot in slots])
        hand.add_class("cfr-seat-hand")
        box = w.VBox(
            [w.HTML(f"<style>{style()}</style>"), board, said, hand, toggle, hints, story]
        )
        box.add_class("cfr-seat")
        box.buttons, box.toggle = [button for _, button in slots], toggle
        show()
        return box


class Choice(NamedTuple):
    """A button: what it does, the card above it, and what becomes of that."""

    action: str
    picture: str
    note: str


def outcome(points: int) -> str:
    """Say how a round ended.

    Examples
    --------
    >>> outcome(5), outcome(-1), outcome(0)
    ('You get 5 points.', 'They get 1 point.', 'Nobody gets points.')
    """
    if not points:
        return "Nobody gets points."
    return f"{'You' if points > 0 else 'They'} get {counted(abs(points))}."


def counted(points: int) -> str:
    """Return so many points in words.

    Examples
    --------
    >>> counted(1), counted(7)
    ('1 point', '7 points')
    """
    return f"{points} point{'' if points == 1 else 's'}"


def signed(x: float, digits: int = 0) -> str:
    """Return a number with its sign, none for what rounds to 0.

    Examples
    --------
    >>> signed(3), signed(-1.25, 1), signed(-0.04, 1)
    ('+3', '−1.2', '0.0')
    """
    text = f"{abs(x):.{digits}f}"
    return text if not float(text) else ("−" if x < 0 else "+") + text


def pictures(cards: Sequence[str]) -> str:
    """Return cards as pictures, one after the other."""
    return "".join(art.draw(card) for card in cards)


def block(title: str, cards: str, words: str = "", name: str = "") -> str:
    """Return a titled part of the table."""
    title, below = escape(title), f"<p>{words}</p>" if words else ""
    return (
        f'<section class="{name}" aria-label="{title}"><p class="cfr-seat-title">{title}</p>'
        f'<div class="cfr-seat-cards">{cards or "none"}</div>{below}</section>'
    )


def style() -> str:
    """Return the style sheet that lies beside this file."""
    return resources.files("cfrlib.koikoi").joinpath("table.css").read_text("utf-8")
