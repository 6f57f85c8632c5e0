"""Unsound games, each with words that its error message must contain."""

import math
from collections import deque

from toy_games import TableGame

from cfrlib import Chance, Decision, Terminal

END = Terminal((1, -1))
LEFT_RIGHT = ("left", "right")
COIN = Chance({"heads": 0.5, "tails": 0.5})


def after_coin(heads, tails, **more):
    """Return a game in which a coin flip leads to one of two nodes, then to left or right."""
    nodes = {(): COIN, ("heads",): heads, ("tails",): tails}
    nodes |= {(c, a): END for c in ("heads", "tails") for a in (*LEFT_RIGHT, "up")}
    return TableGame(nodes | {tuple(k.split("-")): v for k, v in more.items()})


def choice(player=0, infoset="x", actions=LEFT_RIGHT):
    return Decision(player, infoset, actions)


def forgetful():
    """Return a game in which player 0 forgets their first action."""
    nodes = {(): choice()}
    nodes |= {(a,): choice(infoset="later") for a in LEFT_RIGHT}
    nodes |= {(a, b): END for a in LEFT_RIGHT for b in LEFT_RIGHT}
    return TableGame(nodes)


def absent_minded():
    """Return a game in which player 0 cannot tell their first move from their second."""
    nodes = {(): choice(), ("left",): choice(), ("right",): END}
    return TableGame(nodes | {("left", a): END for a in LEFT_RIGHT})


def ends_with(utilities, players=2):
    return TableGame({(): choice(), ("left",): Terminal(utilities), ("right",): END}, players)


class Shared(TableGame):
    """A game whose histories are lists or the like, which `step` changes, and may copy."""

    def __init__(self, copies, kind=list):
        nodes = {(): choice(), **{(a,): choice(1, "y") for a in LEFT_RIGHT}}
        super().__init__(nodes | {(a, b): END for a in LEFT_RIGHT for b in LEFT_RIGHT})
        self.copies, self.kind = copies, kind

    def root(self):
        return self.kind()

    def step(self, h, a):
        h.append(a)
        return h[:] if self.copies else h

    def node(self, h):
        return super().node(tuple(h)[:2])


# fault -> (game, history, words of the diagnosis, words of the remedy)
BAD_GAMES = {
    "chance sums to 0.9": (
        after_coin(Chance({"a": 0.5, "b": 0.4}), END),
        ("heads",), "sum to 0.9, not 1", "divide each by their sum",
    ),
    "negative probability": (
        after_coin(END, Chance({"a": 1.5, "b": -0.5})),
        ("tails",), "negative", "between 0 and 1",
    ),
    "probability not a number": (
        after_coin(END, Chance({"a": math.nan, "b": 1.0})),
        ("tails",), "non-finite", "between 0 and 1",
    ),
    "chance without outcomes": (
        after_coin(Chance({}), END), ("heads",), "no outcomes", "at least one",
    ),
    "chance is a list of pairs": (
        after_coin(Chance([("a", 1.0)]), END), ("heads",), "does not map", "pass a dict",
    ),
    "probability is a string": (
        after_coin(Chance({"a": "1"}), END), ("heads",), "does not map", "pass a dict",
    ),
    "no actions": (
        after_coin(choice(actions=()), END), ("heads",), "no actions", "return a Terminal",
    ),
    "step changes its argument": (
        Shared(copies=False), (), "step(h, 'left') changes the history", "return a new one",
    ),
    "step changes its argument, of any type": (
        Shared(copies=False, kind=deque), (), "step(h, 'left') changes the history", "a copy",
    ),
    "step changes its argument, then copies it": (
        Shared(copies=True), (), "step(h, 'left') changes the history", "change a copy",
    ),
    "a single action without its comma": (
        after_coin(END, choice(actions=("call"))),
        ("tails",), "the letters ('c', 'a', 'l', 'l')", "write a comma",
    ),
    "repeated action": (
        after_coin(END, choice(actions=("left", "right", "left"))),
        ("tails",), "repeats an action", "appear once",
    ),
    "other actions in the same infoset": (
        after_coin(choice(), choice(actions=("left", "up"))),
        ("tails",), "'up'", "put what differs into the label",
    ),
    "fewer actions in the same infoset": (
        after_coin(choice(), choice(actions=("left",))),
        ("tails",), "('left',)", "same actions, in the same order",
    ),
    "other order of actions in the same infoset": (
        after_coin(choice(), choice(actions=("right", "left"))),
        ("tails",), "('right', 'left')", "in the same order",
    ),
    "infoset shared by two players": (
        after_coin(choice(0), choice(1)),
        ("tails",), "belongs to player 0", "labels of their own",
    ),
    "imperfect recall": (
        forgetful(), ("right",), "imperfect recall", "into the label",
    ),
    "absent-mindedness": (
        absent_minded(), ("left",), "nothing done before", "into the label",
    ),
    "too few utilities": (ends_with((1,)), ("left",), "(1,)", "one utility for each player"),
    "too many utilities": (ends_with((1, 0, -1)), ("left",), "2 numbers", "set num_players"),
    "utilities not a sequence": (
        ends_with(1.0), ("left",), "1.0", "one utility for each player",
    ),
    "utilities not numbers": (
        ends_with("ab"), ("left",), "'ab'", "one utility for each player",
    ),
    "infinite utility": (ends_with((math.inf, 0)), ("left",), "inf", "ordinary number"),
    "utility not a number": (ends_with((0, math.nan)), ("left",), "nan", "ordinary number"),
    "node returns None": (
        after_coin(None, END), ("heads",), "node() returned None", "return a Chance, Decision",
    ),
    "node returns a class": (
        after_coin(END, Terminal), ("tails",), "node() returned", "return a Chance, Decision",
    ),
    "label not a string": (
        after_coin(choice(infoset=7), END), ("heads",), "7 is a int", "str(...)",
    ),
    "label a list": (
        after_coin(choice(infoset=["Q"]), END), ("heads",), "is a list", "str(...)",
    ),
    "player out of range": (
        after_coin(choice(player=2), END), ("heads",), "player 2 acts", "0 to 1",
    ),
    "player negative": (
        after_coin(choice(player=-1), END), ("heads",), "player -1 acts", "set num_players",
    ),
    "player a word": (
        after_coin(choice(player="chance"), END), ("heads",), "'chance' acts", "0 to 1",
    ),
    "action not hashable": (
        after_coin(choice(actions=(["left"], ["right"])), END),
        ("heads",), "['left']", "hashable",
    ),
}  # fmt: skip
