"""Play Koi-Koi against a player in a notebook.

`Sitting` is the match: `press` is a move of the reader, and the attributes are the state. Its
widget is a thin layer of pictures and buttons, one button per action.
"""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections import Counter
from collections.abc import Callable, Sequence
from functools import partial
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.rng import new_key
from koikoi import art
from koikoi.cards import kind_of, made
from koikoi.players import DEALERS, POINTS, PROBABILITY, Advice, Adviser
from koikoi.rules import KoiKoi, Position
from koikoi.simulator import (
    CALL,
    MATCH,
    OVER,
    PLAY,
    STOPPING,
    Player,
    Rounds,
    Simulator,
    members,
)

if TYPE_CHECKING:
    import ipywidgets

NEXT, AGAIN = "next round", "new match"
PAGE = "CFRLIB_PAGE"  # environment variable that is set while the book is built
KINDS = ("light", "animal", "ribbon", "plain")
NEAR = 2  # yaku with at most this many missing cards are shown
RECORD = "cfrlib Koi-Koi record 1"
HOUSE_RULES: dict[str, dict[str, Any]] = {  # for networks that know the same cards and yaku
    "koi_limit": {"any number of calls": None, "one call a round": 1},
    "special": {"special hands are dealt again": "redeal", "special hands pay 6": 6},
    "void_points": {"a void round pays nothing": 0, "a void round pays the dealer 6": 6},
    "after_void": {"after it, the other player deals": "other", "the dealer stays": "same"},
}
NO_KERNEL = (
    "To play, run this page with a kernel: on your own machine, or by the launch button at the "
    "top of a book that is online."
)


def sit_down(
    game: KoiKoi,
    opponent: Player,
    *,
    hints: bool | Adviser = False,
    rounds: int = 12,
    after_void: str = "other",
    seed: int | None = None,
) -> Sitting:
    """Start a match against a player, which a notebook displays with buttons.

    You deal the first round. The winner of a round deals the next one. The player with more
    points after the last round wins. House rules can be chosen at the table, and with a player
    that gives hints you can look, after a round, at what it would have done.

    Parameters
    ----------
    game : KoiKoi or MiniKoiKoi
    opponent : Player
    hints : bool or Adviser
        Offer hints, by the opponent or by another player. Their numbers are points or
        probabilities, depending on the player; the heading of the table tells which.
    rounds : int
        Number of rounds in a match.
    after_void : "other" or "same"
        Who deals after a round that pays nothing: the player who did not deal it, or the same.
    seed : int, optional
        For the deals and the opponent. The same seed and the same choices give the same
        rounds.

    Returns
    -------
    Sitting

    Raises
    ------
    ValueError
        If the player that should give hints has no method `advise`, or `after_void` is neither.

    Examples
    --------
    >>> from koikoi import KoiKoi
    >>> from koikoi.players import GreedyPlayer
    >>> table = sit_down(KoiKoi(), GreedyPlayer(), seed=1)
    >>> table.press(table.actions[0])
    >>> table.log[0].startswith("You play")
    True
    """
    whole_number("rounds", rounds, 1)
    adviser = opponent if hints is True else hints or None
    if adviser is not None and not isinstance(adviser, Adviser):
        raise ValueError(
            f"{adviser!r} gives no advice, as it has no method `advise`; leave out hints, or "
            "pass a NetworkPlayer as hints"
        )
    return Sitting(game, opponent, adviser, rounds, after_void, seed)


class Sitting:
    """A match in progress; made by :func:`sit_down`.

    Attributes
    ----------
    actions : tuple of str
        The actions available now: cards, ``"stop"`` and ``"koi-koi"``, ``"next round"``,
        ``"new match"``.
    log : list of str
        The events of this round, one sentence each.
    results : list of int
        Your payoff in each finished round of this match, in points.
    dealing : bool
        Whether you deal this round.
    judged : list of Judged
        Your choices in this round, with the adviser's numbers.
    """

    def __init__(
        self,
        game: KoiKoi,
        opponent: Player,
        adviser: Adviser | None,
        rounds: int,
        after_void: str,
        seed: int | None,
    ):
        self.opponent, self.adviser, self.rounds = opponent, adviser, rounds
        self._set_rules(game, after_void)
        self._source = np.random.SeedSequence(seed)
        self._matches = 0
        self._begin_match()

    # ---- actions -----------------------------------------------------------------------------

    def press(self, action: str) -> None:
        """Take an action, as its button does, and let the opponent move.

        Parameters
        ----------
        action : str
            One of `actions`.

        Raises
        ------
        ValueError
            If the action is not available now.
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
            self._shown_lines = len(self.log)
            advice = self.advice()
            if advice is not None:
                self.judged.append(Judged(self.question(), action, advice))
            self._act(self._numbers[action])
            self._let_opponent_move()

    def play_by(self, game: KoiKoi, after_void: str = "other") -> None:
        """Begin a new match by other rules.

        A `NetworkPlayer` plays by rules that it was not trained on: see its method `under`.

        Parameters
        ----------
        game : KoiKoi or MiniKoiKoi
        after_void : "other" or "same"

        Raises
        ------
        ValueError
            If the cards or yaku are others than those of a network, or `after_void` is neither.
        """
        changed = {id(p): under(p, game) for p in (self.opponent, self.adviser) if p}
        self._set_rules(game, after_void)
        self.opponent = changed[id(self.opponent)]
        self.adviser = changed[id(self.adviser)] if self.adviser else None
        self._begin_match()

    def _set_rules(self, game: KoiKoi, after_void: str) -> None:
        if after_void not in DEALERS:
            raise ValueError(f"after_void must be one of {DEALERS}, got {after_void!r}")
        self.game, self.after_void = game, after_void
        self._simulator = Simulator(game)

    @property
    def actions(self) -> tuple[str, ...]:
        """The actions available now."""
        if not self.over:
            return tuple(self._numbers)
        return (NEXT,) if len(self.results) < self.rounds else (AGAIN,)

    @property
    def over(self) -> bool:
        """Whether the round is over."""
        return bool(self._round.stage[0] == OVER)

    @property
    def score(self) -> int:
        """Your points minus the opponent's, in this match."""
        return sum(self.results)

    def advice(self) -> Advice | None:
        """Return the adviser's numbers for the actions, by name; None if there is no choice.

        The adviser uses no hidden cards.
        """
        if self.adviser is None or self.over or len(self._numbers) < 2:
            return None
        advice = self.adviser.advise(self._simulator, self._round, 0)
        names = {number: name for name, number in self._numbers.items()}
        numbers = {names[int(a)]: float(x) for a, x in advice.numbers.items()}
        return Advice(advice.what, numbers)

    # ---- the course of a match ---------------------------------------------------------------

    def _begin_match(self) -> None:
        self.results: list[int] = []
        self._records: list[dict[str, Any]] = []
        self._matches += 1
        self.dealing = self._matches % 2 == 0  # `_begin_round` changes it
        self._begin_round()

    def _begin_round(self) -> None:
        """Deal a round; the winner of the last one deals."""
        last = self.results[-1] if self.results else 0
        stays = bool(self.results) and self.after_void == "same"
        self.dealing = last > 0 if last else self.dealing == stays
        dealing, moving = self._source.spawn(2)
        self._round = self._simulator.deal(1, seed=dealing)
        self._key = new_key(moving)
        self.log: list[str] = []
        self.judged: list[Judged] = []
        self._shown_lines = 0  # lines of the log before your last action
        self._record_deal()
        if self.over:  # a special deal was paid at once
            self._settle()
        self._let_opponent_move()

    @property
    def _seat(self) -> int:
        """Your player number in this round; the dealer is player 0."""
        return 0 if self.dealing else 1

    @property
    def _numbers(self) -> dict[str, int]:
        """The numbers of the legal actions, by name."""
        return {str(a): n for n, a in self._simulator.actions(self._round, 0).items()}

    def _let_opponent_move(self) -> None:
        """Let the opponent move until it is your turn, or the round is over."""
        rows = np.zeros(1, np.int64)
        while not self.over and self._round.player[0] != self._seat:
            chosen = self.opponent(self._simulator, self._round.take(rows), rows, self._key)
            self._act(int(chosen[0]))

    def _act(self, action: int) -> None:
        before = self._round.take([0])
        names = {number: name for name, number in self._numbers.items()}
        mover = "you" if self._round.player[0] == self._seat else "they"
        self._records[-1]["moves"].append([mover, names[action]])
        self._simulator.act(self._round, [0], [action])
        self.log.extend(self._sentences(before, action))
        if self.over:
            self._settle()

    def _settle(self) -> None:
        """Record the payoff of the round."""
        paid = int(self._round.paid[0])
        self.results.append(paid if self.dealing else -paid)
        self._records[-1]["paid"] = self.results[-1]
        self.log.append(outcome(self.results[-1]))

    # ---- the record --------------------------------------------------------------------------

    def _record_deal(self) -> None:
        """Begin the record of a round."""
        at, names = self._simulator.position(self._round, 0), self._simulator.names
        stock = self._round.order[0, self._round.turned[0] :]
        self._records.append(
            {
                "dealer": "you" if self.dealing else "they",
                "hands": {"you": at.hands[self._seat], "they": at.hands[1 - self._seat]},
                "field": at.field,
                "stock": [names[card] for card in stock],
                "moves": [],
            }
        )

    def record(self) -> dict[str, Any]:
        """Return the record of this match, ready for JSON.

        Returns
        -------
        dict
            The rules, and for each round begun the dealer, the cards as dealt, the stock in
            the order of its draws, the moves of both players and, once it is over, your
            points. The record of a round that is not over shows the other hand.

        Examples
        --------
        >>> from koikoi import KoiKoi
        >>> from koikoi.players import GreedyPlayer
        >>> table = sit_down(KoiKoi(), GreedyPlayer(), seed=1)
        >>> table.press(table.actions[0])
        >>> [who for who, card in table.record()["rounds"][0]["moves"]]
        ['you', 'they']
        """
        rules = {"game": repr(self.game), "after_void": self.after_void}
        about = {"format": RECORD, **rules, "against": repr(self.opponent)}
        rounds = [{**known, "moves": [*known["moves"]]} for known in self._records]
        return {**about, "rounds": rounds}

    def link(self) -> str:
        """Return a link that saves the record of the rounds that are over, as HTML."""
        record = self.record()
        record["rounds"] = [known for known in record["rounds"] if "paid" in known]
        if not record["rounds"]:
            return ""
        content = b64encode(json.dumps(record, indent=1).encode()).decode()
        return (
            f'<a download="koikoi.json" href="data:application/json;base64,{content}">'
            f"Save the record of {len(record['rounds'])} "
            f"round{'s' * (len(record['rounds']) > 1)}</a>"
        )

    # ---- text --------------------------------------------------------------------------------

    def _sentences(self, before: Rounds, action: int) -> list[str]:
        """Describe an action, and the draw after it."""
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
        """Return the cards of the field that a card may capture; one of two identical cards."""
        months, names = self.game.months, self._simulator.names
        field = members(int(at.field[0]))
        same = [c for c in field if months[names[c]] == months[names[card]]]
        return same[:1] if len(same) == 2 and names[same[0]] == names[same[1]] else same

    def question(self) -> str:
        """Return the decision that you have to make, as a sentence.

        Examples
        --------
        >>> from koikoi import MiniKoiKoi
        >>> from koikoi.players import RandomPlayer
        >>> sit_down(MiniKoiKoi.K10(), RandomPlayer(), seed=0).question()
        'Play a card.'
        """
        at, i = self._round, self._seat
        if self.over:
            if len(self.results) < self.rounds:
                return "The round is over."
            winner = "a draw" if not self.score else "yours" if self.score > 0 else "theirs"
            return f"The match is over: {winner}, by {counted(abs(self.score))}."
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
        """The number of the current round, counted from 1."""
        return len(self.results) + (not self.over)

    # ---- pictures ----------------------------------------------------------------------------

    def choices(self) -> list[Choice]:
        """Return the buttons: your hand, card by card, or the other available actions."""
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
        """Return the table from your view as HTML; without your hand while it has buttons.

        The opponent's hand is face down until the round is over, the stock always.
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
        """Return captured cards by kind as HTML, with the progress of their yaku."""
        kinds: dict[str, list[str]] = {kind: [] for kind in KINDS}
        for card in at.piles[i]:
            kinds[kind_of(self.game.faces((card,))[0])].append(card)
        rows = "".join(f"<span>{pictures(cards)}</span>" for cards in kinds.values() if cards)
        called = " <em>koi-koi!</em>" * (at.calls[i] > 0)
        words = f"{counted(at.points[i])}{called}{self._progress(at.piles[i])}"
        return block(title, rows, words, "cfr-seat-pile")

    def _progress(self, pile: Sequence[str]) -> str:
        """List the yaku that captured cards make, and those they nearly make."""
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
        """Return the adviser's numbers as an HTML table, with the largest highlighted."""
        advice = self.advice()
        if advice is None:
            return "<p>There is nothing to choose.</p>"
        largest = max(advice.numbers.values())
        rows = "".join(
            f"<tr{' class=cfr-seat-best' * (x == largest)}><th scope='row'>{escape(name)}</th>"
            f"<td>{_number(advice.what)(x)}</td></tr>"
            for name, x in advice.numbers.items()
        )
        head = _HEADS[advice.what]
        return f"<table><tr><th></th><th scope='col'>{head}</th></tr>{rows}</table>"

    def review(self) -> str:
        """Return what the adviser would have done in this round, as HTML, once it is over."""
        if not (self.over and self.judged):
            return ""
        rows = []
        for n, choice in enumerate(self.judged, 1):
            mine, best = choice.advice.numbers[choice.action], choice.best
            number = _number(choice.advice.what)
            falling = sorted(choice.advice.numbers.items(), key=lambda pair: -pair[1])
            all_of_them = ", ".join(f"{escape(name)} {number(x)}" for name, x in falling)
            rows.append(
                f"<tr><th scope='row'>{n}. {escape(choice.action)}</th><td>{number(mine)}</td>"
                f"<td>{'the same' if choice.action == best else escape(best)}</td>"
                f"<td>{number(choice.advice.numbers[best])}</td></tr>"
                f"<tr><td colspan='4'><small>{escape(choice.question)} {all_of_them}</small>"
                "</td></tr>"
            )
        head = "".join(
            f"<th scope='col'>{word}</th>"
            for word in ("you", _HEADS[self.judged[0].advice.what], "the adviser", "")
        )
        table = f"<table><tr>{head}</tr>{''.join(rows)}</table>"
        return f"<details><summary>What would it have done?</summary>{table}</details>"

    def story(self) -> str:
        """Return the log as HTML."""
        lines = "".join(f"<li>{escape(line)}</li>" for line in self.log)
        return f"<ol>{lines or '<li>The cards are dealt.</li>'}</ol>"

    def picture(self, how: str = NO_KERNEL) -> str:
        """Return the state as HTML, and a sentence on how to play."""
        hand = "".join(
            f"<figure>{choice.picture}<figcaption>{escape(choice.note)}</figcaption></figure>"
            for choice in self.choices()
            if choice.picture
        )
        return (
            f'<figure class="cfr-figure cfr-seat"><style>{style()}</style>{self.board()}'
            f'<p class="cfr-seat-title">Your hand</p><div class="cfr-seat-hand">{hand}</div>'
            f"<figcaption>{how}</figcaption></figure>"
        )

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return static HTML while the book is built, else the widget."""
        if os.environ.get(PAGE):
            return {"text/plain": repr(self), "text/html": self.picture()}
        live: dict[str, Any] = self.widget()._repr_mimebundle_()
        return {**live, "text/plain": repr(self)}

    def widget(self) -> ipywidgets.Widget:
        """Return a new ipywidgets widget, with a button for every action.

        Its attribute `buttons` lists as many buttons as there can be actions; only those of
        available actions are displayed.
        """
        import ipywidgets as w

        board, status, hints, story, after = (w.HTML() for _ in range(5))
        slots = [(w.HTML(), w.Button()) for _ in range(max(self.game.hand, 2))]
        toggle = w.ToggleButton(description="Hints", tooltip="Show the numbers of the adviser")
        toggle.layout.display = None if self.adviser else "none"
        actions = [""] * len(slots)

        def show() -> None:
            board.value, story.value = self.board(), self.story()
            words = " ".join([*self.log[self._shown_lines :], self.question()])
            status.value = f"<p role='status'>{escape(words)}</p>"
            hints.value = self.hint() if toggle.value else ""
            after.value = self.review() + self.link()
            found = self.choices()
            for n, (picture, button) in enumerate(slots):
                there = n < len(found)
                picture.layout.display = button.layout.display = None if there else "none"
                if there:
                    actions[n], button.description = found[n].action, found[n].action
                    button.tooltip = f"{found[n].action} {found[n].note}".strip()
                    picture.value = f"{found[n].picture}<small>{escape(found[n].note)}</small>"

        def pressed(n: int) -> None:
            self.press(actions[n])
            show()
            if slots[n][1].layout.display == "none":
                slots[0][1].focus()

        for n, (_, button) in enumerate(slots):
            button.on_click(lambda _, n=n: pressed(n))
        toggle.observe(lambda _: show(), "value")
        menus = [
            w.Dropdown(options=list(words.items()), layout=w.Layout(width="auto"))
            for words in HOUSE_RULES.values()
        ]

        def chosen(_: object) -> None:
            *rules, dealer = (menu.value for menu in menus)
            self.play_by(KoiKoi(**dict(zip(HOUSE_RULES, rules, strict=False))), dealer)
            show()

        for menu, (name, words) in zip(menus, HOUSE_RULES.items(), strict=True):
            now = getattr(self, name, getattr(self.game, name, None))
            menu.value = now if now in words.values() else next(iter(words.values()))
            menu.observe(chosen, "value")
        house = w.Accordion(
            [w.VBox(menus)], titles=["House rules: a change begins a new match"]
        )
        house.layout.display = None if _offers_house_rules(self.game) else "none"
        hand = w.Box([w.VBox(slot) for slot in slots])
        hand.add_class("cfr-seat-hand")
        box = w.VBox(
            [w.HTML(f"<style>{style()}</style>"), board, status, hand, toggle, hints, story,
             after, house]
        )  # fmt: skip
        box.add_class("cfr-seat")
        box.buttons, box.toggle = [button for _, button in slots], toggle
        box.house_rules = dict(zip(HOUSE_RULES, menus, strict=True))
        show()
        return box


class Choice(NamedTuple):
    """A button: its action, the picture of the card, and a note on its captures."""

    action: str
    picture: str
    note: str


class Judged(NamedTuple):
    """One of your choices, with the adviser's numbers for all actions, by name."""

    question: str
    action: str
    advice: Advice

    @property
    def best(self) -> str:
        """The action of the largest number; yours, if there are several."""
        numbers = self.advice.numbers
        largest: str = max(numbers, key=lambda name: (numbers[name], name == self.action))
        return largest


_HEADS = {POINTS: "points to expect", PROBABILITY: "would be played"}


def _number(what: str) -> Callable[[float], str]:
    """Return how to write an adviser's numbers."""
    return partial(signed, digits=1) if what == POINTS else "{:.0%}".format


def _offers_house_rules(game: KoiKoi) -> bool:
    """Return whether the rules of a game are a choice of `HOUSE_RULES`."""
    rules = {name: getattr(game, name) for name in HOUSE_RULES if hasattr(game, name)}
    listed = all(value in HOUSE_RULES[name].values() for name, value in rules.items())
    return listed and repr(game) == repr(KoiKoi(**rules))


def under(player: Any, game: KoiKoi) -> Any:
    """Return a player for a game: networks need to know, others play by any rules."""
    return player.under(game) if hasattr(player, "under") else player


def outcome(points: int) -> str:
    """Describe the result of a round.

    Examples
    --------
    >>> outcome(5), outcome(-1), outcome(0)
    ('You get 5 points.', 'They get 1 point.', 'Nobody gets points.')
    """
    if not points:
        return "Nobody gets points."
    return f"{'You' if points > 0 else 'They'} get {counted(abs(points))}."


def counted(points: int) -> str:
    """Return a number of points with its unit.

    Examples
    --------
    >>> counted(1), counted(7)
    ('1 point', '7 points')
    """
    return f"{points} point{'' if points == 1 else 's'}"


def signed(x: float, digits: int = 0) -> str:
    """Format a number with its sign, without one if it rounds to 0.

    Examples
    --------
    >>> signed(3), signed(-1.25, 1), signed(-0.04, 1)
    ('+3', '−1.2', '0.0')
    """
    text = f"{abs(x):.{digits}f}"
    return text if not float(text) else ("−" if x < 0 else "+") + text


def pictures(cards: Sequence[str]) -> str:
    """Return the pictures of cards in a row."""
    return "".join(art.draw(card) for card in cards)


def block(title: str, cards: str, words: str = "", name: str = "") -> str:
    """Return a titled section of the table as HTML."""
    title, below = escape(title), f"<p>{words}</p>" if words else ""
    return (
        f'<section class="{name}" aria-label="{title}"><p class="cfr-seat-title">{title}</p>'
        f'<div class="cfr-seat-cards">{cards or "none"}</div>{below}</section>'
    )


def style() -> str:
    """Return the style sheet ``table.css``."""
    return resources.files("koikoi").joinpath("table.css").read_text("utf-8")
