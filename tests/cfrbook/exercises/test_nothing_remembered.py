"""A check remembers nothing that a reader may change: code they mend, tables they spoil."""

from __future__ import annotations

import importlib
import random

import pytest
from graded import ALL, name

import cfrlib as cfr
from cfrbook import exercises
from cfrbook.museum import mutant

deep_cfr = importlib.import_module("cfrbook.exercises.10_deep_cfr")
regret_matching = importlib.import_module("cfrbook.exercises.01_regret_matching")
your_own_game = importlib.import_module("cfrbook.exercises.your_own_game")


def test_mended_helper_is_used():
    """Exercise 1.7, where the function calls another one that is mended in its own cell."""
    learn = [exercises.find("1.7").mistakes[0].answer()]

    def program(*args):
        return learn[0](*args)

    assert not exercises.check("1.7", program).right
    learn[0] = regret_matching.learn
    assert exercises.check("1.7", program).right


def test_mended_method_is_used():
    class Buffer(exercises.find("10.5").mistakes[0].answer()):
        pass

    assert not exercises.check("10.5", Buffer).right
    Buffer.offer = deep_cfr.Buffer.offer
    assert exercises.check("10.5", Buffer).right


@pytest.mark.parametrize("number", ["2.5", "own.4"])
def test_mended_class_of_a_game_is_used(number):
    """Also where the reader compiled the same object before."""
    exercise = exercises.find(number)
    right, wrong = (
        game() if isinstance(game, type) else game
        for game in (exercise.solution(), exercise.mistakes[0].answer())
    )

    class Game(cfr.Game):
        def node(self, h):
            return wrong.node(h)

    game = Game()
    cfr.compile(game)
    assert not exercises.check(number, game).right
    Game.node = lambda self, h: right.node(h)
    assert exercises.check(number, game).right


def test_mended_leduc_is_used():
    classics = importlib.import_module("cfrbook.exercises.projects")

    class Leduc(classics.Leduc):
        pass

    game = Leduc(bets=(2, 2))
    answer = {**exercises.find("classic.4").solution(), "game": game}
    assert not exercises.check("classic.4", answer).right
    game.bets = (2, 4)
    assert exercises.check("classic.4", answer).right


def clears_rows(game, h, i, draw, sigma, r, S):
    """7.5, where the walk is given the strategy itself."""
    for row in sigma.values():
        row.clear()
    return 0.0


def clears_tables(m, h, i, *reaches):
    m.sigma = {}
    m.game.__dict__.clear()
    return 0.0


@pytest.mark.parametrize(
    ("number", "spoils"), [("7.5", clears_rows), ("8.6", clears_tables), ("9.5", clears_tables)]
)
def test_spoiled_tables_spoil_no_later_check(number, spoils):
    assert not exercises.check(number, spoils).right
    assert exercises.check(number, exercises.find(number).solution()).right


@pytest.mark.slow
@pytest.mark.parametrize("exercise", ALL, ids=name)
def test_solution_is_a_copy(exercise):
    first, second = exercise.solution(), exercise.solution()
    if isinstance(first, dict | list | set):
        assert first is not second
        first.clear()
        assert second


def test_answers_are_not_changed():
    answer = {"regrets": [0, 1, 2], "next": (0, "1/3", "2/3")}
    assert exercises.check("1.1", answer).right
    assert answer == {"regrets": [0, 1, 2], "next": (0, "1/3", "2/3")}


def test_labels_of_kuhn_poker():
    """Deals come in many forms; a label that shows the other's card is found in all of them."""
    from cfrbook.exercises.shared import knows_own_card

    own = "{cards[i]} {moves}"

    class Cards(cfr.Game):
        """Kuhn poker with other deals, seats and names."""

        def __init__(self, names="JQK", deal=tuple, swap=False, sees=own):
            self.names, self.deal, self.swap, self.sees = names, deal, swap, sees

        def node(self, h):
            label = f'label = f"{self.sees}"'
            right = mutant(your_own_game.LabeledKuhn, {your_own_game.LABEL: label})()
            if not h:
                odds = right.node(()).probabilities
                return cfr.Chance({self.renamed(deal): p for deal, p in odds.items()})
            deal = next(d for d in right.node(()).probabilities if self.renamed(d) == h[0])
            return right.node((deal, *h[1:]))

        def renamed(self, deal):
            cards = [self.names["JQK".index(card)] for card in deal]
            return self.deal(cards[::-1] if self.swap else cards)

    others, both = "{cards[1 - i]} {moves}", "{i} {cards} {moves}"
    nothing, number = "{i} {moves}", "{cards[i]} {len(moves)}"
    forms = (tuple, "".join, "-".join)
    for names in ("JQK", "123", "jqk"):
        for deal in forms:
            for swap in (False, True):
                assert knows_own_card(Cards(names, deal, swap))
                for sees in (others, both, nothing, number):
                    assert not knows_own_card(Cards(names, deal, swap, sees)), (names, sees)
    assert knows_own_card(cfr.games.KuhnPoker())


def test_seeds_do_not_depend_on_earlier_checks():
    random.seed(1)
    assert exercises.check("10.5", deep_cfr.Buffer).right
    assert random.random() == random.Random(1).random()
