"""Exercises of chapter 2: counting, reach, a game of one's own, coarse infoset labels."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from itertools import product
from math import prod
from typing import Any

from cfrlib.core.tree import Tree
from cfrlib.core.tree import compile as compile_game
from cfrlib.equilibrium import reach, solve_lp
from cfrlib.exercises.grading import (
    Exercise,
    Mistake,
    Unanswered,
    Unreadable,
    entries,
    shortened,
)
from cfrlib.exercises.plain import fresh
from cfrlib.game import Chance, Decision, Game, GameError, History, Node, Terminal
from cfrlib.games import KuhnPoker
from cfrlib.strategy import Strategy

SIDES = ("heads", "tails")
REPLIES = ("believe", "doubt")


def size(deals: int | None = None, infosets: int | None = None) -> dict[str, int]:
    """Return the size of Kuhn poker with four cards, optionally with wrong counts."""
    tree = compile_game(KuhnPoker(cards=4))
    all_deals = 4 * 3
    histories, ends = (tree.num_histories - 1) // all_deals, tree.num_terminals // all_deals
    deals = all_deals if deals is None else deals
    return {
        "histories": 1 + deals * histories,
        "ends": deals * ends,
        "infosets": tree.num_infosets if infosets is None else infosets,
    }


def reach_factors() -> dict[str, float]:
    """Return the reach of the history in exercise 2.2, and its factors."""
    game = KuhnPoker()
    r = reach(game, Strategy.uniform(game), (("J", "K"), "check", "bet", "call"))
    return {
        "chance": r.chance,
        "player 0": r.players[0],
        "player 1": r.players[1],
        "in all": r.total,
        "all but player 1": r.others(1),
    }


def deal_of(chance: float) -> dict[str, float]:
    """Return the answer of a reader with this probability of the deal: a mistake."""
    right = reach_factors()
    scale = chance / right["chance"]
    changed = ("chance", "in all", "all but player 1")
    return right | {name: scale * right[name] for name in changed}


class Liar(Game):
    """The game of exercise 2.3, correct or with a mistake.

    Parameters
    ----------
    peeks : bool
        Whether player 1 sees the toss.
    blind : bool
        Whether player 0 does not see the toss.
    deaf : bool
        Whether player 1 does not hear the word.
    sign : int
        -1 to exchange the payoffs.
    judged : str
        What the payoffs depend on: ``"both"`` the word and the reply, or one of them only.
    """

    def __init__(
        self,
        peeks: bool = False,
        blind: bool = False,
        deaf: bool = False,
        sign: int = 1,
        judged: str = "both",
    ):
        self.peeks, self.blind, self.deaf = peeks, blind, deaf
        self.sign, self.judged = sign, judged

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        if len(h) == 0:
            return Chance(dict.fromkeys(SIDES, 0.5))
        if len(h) == 1:
            return Decision(0, "blind" if self.blind else f"saw {h[0]}", SIDES)
        if len(h) == 2:
            heard = "deaf" if self.deaf else f"heard {h[1]}"
            return Decision(1, f"{heard}, saw {h[0]}" if self.peeks else heard, REPLIES)
        true, believed = h[0] == h[1], h[2] == "believe"
        right = {"both": true == believed, "word": true, "reply": believed}[self.judged]
        paid = -self.sign if right else self.sign
        return Terminal((paid, -paid))


def require_nodes(game: Game) -> None:
    """Raise `Unanswered` if ``...`` replaces a node or an infoset label."""
    for h in ((), ("heads",), ("heads", "tails"), ("heads", "tails", "believe")):
        node: Any = game.node(h)
        if node is ... or getattr(node, "infoset", "") is ...:
            raise Unanswered(f", the node after {h} is missing")


def size_and_payoffs(answer: Any) -> dict[str, object]:
    """Return the size and the payoffs of a reader's game."""
    game = answer() if isinstance(answer, type) else answer
    if not isinstance(game, Game):
        raise Unreadable("yours is not a cfr.Game")
    require_nodes(game)
    tree, payoffs = compile_game(fresh(game)), {}
    for h in product(SIDES, SIDES, REPLIES):
        node = game.node(h)
        if not isinstance(node, Terminal):
            raise Unreadable(f"after {h} your game is not at a terminal history")
        if len(node.utilities) != 2 or abs(sum(node.utilities)) > 1e-9:
            raise Unreadable(
                f"after {h} your game pays {node.utilities}: what one player loses, the other "
                "should win"
            )
        payoffs[", ".join(h)] = node.utilities[0]
    return {
        "histories": tree.num_histories,
        "what player 0 knows": infosets_of(tree, 0),
        "what player 1 knows": infosets_of(tree, 1),
        "paid to player 0": payoffs,
    }


class LastMoveKuhn(KuhnPoker):
    """Kuhn poker whose infoset labels contain only the last move.

    Parameters
    ----------
    owned : bool
        Whether labels contain the player.
    """

    def __init__(self, owned: bool):
        super().__init__()
        self.owned = owned

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if not isinstance(node, Decision):
            return node
        who = f"{node.player}: " if self.owned else ""
        last = "".join(h[1:][-1:])
        return Decision(node.player, f"{who}{h[0][node.player]} {last}", node.actions)


def infosets_of(tree: Tree, player: int) -> set[frozenset[History]]:
    """Return the sets of a player's histories with the same label."""
    members: dict[int, set[History]] = {}
    for k, I in enumerate(tree.infoset.tolist()):
        if I >= 0 and tree.infoset_player[I] == player:
            members.setdefault(I, set()).add(tree.history(k))
    return {frozenset(histories) for histories in members.values()}


def check_labels() -> dict[str, object]:
    """Return the answer to exercise 2.4."""
    try:
        compile_game(LastMoveKuhn(owned=False))
        compiles = True
    except GameError:
        compiles = False
    tree, kuhn = compile_game(LastMoveKuhn(owned=True)), compile_game(KuhnPoker())
    return {
        "compiles": compiles,
        "infosets": tree.num_infosets,
        "same game": all(infosets_of(tree, i) == infosets_of(kuhn, i) for i in (0, 1)),
    }


def count_labels() -> int:
    """Return the number of labels without the player."""
    tree, game = compile_game(KuhnPoker()), LastMoveKuhn(owned=False)
    nodes = [game.node(tree.history(k)) for k in range(tree.num_histories)]
    return len({node.infoset for node in nodes if isinstance(node, Decision)})


class CoarseKuhn(KuhnPoker):
    """Kuhn poker with five cards; player 0 sees only the group of their own card.

    Parameters
    ----------
    groups : iterable of str
        Cards of each group.
    """

    def __init__(self, groups: Iterable[str]):
        super().__init__(cards=5)
        self.groups = tuple(groups)

    def node(self, h: History) -> Node:
        """Return the node of a history."""
        node = super().node(h)
        if not isinstance(node, Decision) or node.player == 1:
            return node
        own = h[0][0]
        seen = next(group for group in self.groups if own in group)
        return Decision(0, node.infoset.replace(own, seen), node.actions)


@cache
def cost(groups: frozenset[str]) -> float:
    """Return the loss of value to player 0 from seeing only groups of cards."""
    return solve_lp(KuhnPoker(cards=5)).value - solve_lp(CoarseKuhn(groups)).value


def check_groups(answer: Any) -> dict[str, object]:
    """Return a reader's groups and their cost."""
    deck = KuhnPoker(cards=5).deck
    parts = [] if isinstance(answer, str) else entries(answer)
    if len(parts) != 3:
        raise Unreadable(f"{shortened(answer)} is not a list of three groups")
    parts = [[str(card) for card in entries(part)] for part in parts]
    if sorted(card for part in parts for card in part) != sorted(deck) or not all(parts):
        raise Unreadable(f"your groups do not contain each of {', '.join(deck)} once")
    groups = frozenset("".join(sorted(part, key=deck.index)) for part in parts)
    return {"groups": set(groups), "cost": cost(groups)}


def cheapest_groups() -> list[str]:
    """Return the three groups with the least cost."""
    deck = KuhnPoker(cards=5).deck
    partitions = {
        frozenset("".join(c for c, g in zip(deck, of, strict=True) if g == k) for k in range(3))
        for of in product(range(3), repeat=len(deck))
        if len(set(of)) == 3
    }
    costs = {groups: cost(groups) for groups in partitions}
    best = min(costs, key=costs.__getitem__)
    return sorted(best)


# ---- 2.6 -------------------------------------------------------------------------------------


def how_many_strategies(player: int = 0) -> dict[str, int]:
    """Return the numbers that make a strategy of Kuhn poker with five cards, and its kinds."""
    tree = compile_game(KuhnPoker(cards=5))
    first, last = (int(i) for i in tree.player_infosets[player : player + 2])
    below: dict[int, list[int]] = {}
    for I in range(first, last):
        below.setdefault(int(tree.infoset_parent[I]), []).append(int(tree.infoset_start[I]))

    def plans(sequence: int) -> int:
        """Return in how many ways a pure strategy can go on after a sequence."""
        return prod(plans(start) + plans(start + 1) for start in below.get(sequence, []))

    infosets = last - first
    root = int(tree.player_sequences[player])
    return {"numbers": infosets, "pure": 2**infosets, "played": plans(root)}


EXERCISES = (
    Exercise(
        "2.1",
        "Count",
        "a dictionary with the numbers of 'histories', 'ends' and 'infosets'",
        size,
        (
            Mistake(
                lambda: size() | {"histories": size()["histories"] - 1},
                "One is missing, and it is easy to forget: the beginning, before any card is "
                "dealt, is also a history.",
            ),
            Mistake(
                lambda: size(4 * 4),
                "You let both players get the same card. There is only one of each.",
            ),
            Mistake(
                lambda: size(4 * 3 // 2),
                "You counted the pairs of cards. It also matters who has which card: a deal "
                "names player 0's card first, then player 1's.",
            ),
            Mistake(
                lambda: size(infosets=size()["infosets"] // 2),
                "These are the infosets of one player. Both have some.",
            ),
            Mistake(
                lambda: size(infosets=4 * 3 * 4 // 2),
                "With three cards every infoset has two histories. With four cards it has "
                "more: count the cards that the other player may hold.",
            ),
            Mistake(
                lambda: size(4 * 3 * 2),
                "You dealt three cards. Two players get one each, and the rest stays in the "
                "deck, where its order makes no difference.",
            ),
            Mistake(
                lambda: {"histories": 55, "ends": 30, "infosets": 12},
                "This is the game with three cards, from the page. With a fourth card there "
                "are more deals.",
            ),
            Mistake(
                lambda: size() | {"histories": 1 + 4 * 3 * 8},
                "The deal itself is a history as well, before anybody has moved: it comes on "
                "top of what follows it.",
            ),
            Mistake(
                lambda: size() | {"ends": 4 * 3 * 4},
                "Below each deal there are five ways to the end: one of them takes three "
                "moves. Draw the small tree once more.",
            ),
            Mistake(
                lambda: size(infosets=4 * 3 * 4),
                "You counted the histories at which somebody decides. Those that the player "
                "cannot tell apart are one infoset.",
            ),
            Mistake(
                lambda: size(infosets=4),
                "You counted an infoset for each card. A player with the same card decides in "
                "several places, and knows the moves so far.",
            ),
        ),
        takeaway="The number of infosets grows in proportion to the deck, the number of "
        "histories faster.",
        advice="Count the deals first. Each of them is followed by the same small tree, the "
        "first picture of the page. Then add the beginning.",
    ),
    Exercise(
        "2.2",
        "Reach by hand",
        "a dictionary with the accounts of 'chance', 'player 0' and 'player 1', their product "
        "under 'in all', and the part 'all but player 1'",
        reach_factors,
        (
            Mistake(
                lambda: reach_factors() | {"all but player 1": reach_factors()["player 0"]},
                "Everything is right but the last: *everybody* else counts there, and chance "
                "is one of them.",
            ),
            Mistake(
                lambda: reach_factors() | {"all but player 1": reach_factors()["player 1"]},
                "Everything is right but the last. You gave player 1's own part; the minus in "
                "π₋₁ means that this part is left out.",
            ),
            Mistake(
                lambda: (
                    reach_factors()
                    | {
                        "player 0": 1 / 2,
                        "in all": reach_factors()["in all"] * 2,
                        "all but player 1": reach_factors()["all but player 1"] * 2,
                    }
                ),
                "Player 0 acts twice in this history, before and after the other player's bet.",
            ),
            Mistake(
                lambda: (
                    reach_factors()
                    | {
                        "player 0": reach_factors()["player 1"],
                        "player 1": reach_factors()["player 0"],
                        "all but player 1": reach_factors()["chance"]
                        * reach_factors()["player 1"],
                    }
                ),
                "The two players are swapped: player 0 begins, then they take turns.",
            ),
            Mistake(
                lambda: deal_of(1 / 3),
                "You counted the card of one player only. A deal says both: how many deals are "
                "there, all equally likely?",
            ),
            Mistake(
                lambda: deal_of(1 / 9),
                "You dealt both cards from a full deck. Once the jack is gone, two cards are "
                "left.",
            ),
            Mistake(
                lambda: deal_of(1),
                "Chance deals before anybody moves, and its account counts as well. How likely "
                "is this deal?",
            ),
            Mistake(
                lambda: (
                    reach_factors()
                    | {"in all": 1 / 6 + 1 / 4 + 1 / 2, "all but player 1": 5 / 12}
                ),
                "The three accounts are right. For several steps to happen, one after the "
                "other, their probabilities are multiplied, not added.",
            ),
            Mistake(
                lambda: (
                    reach_factors()
                    | {
                        "all but player 1": reach_factors()["chance"]
                        * reach_factors()["player 1"]
                    }
                ),
                "Everything is right but the last: you left out player 0. The index −1 means "
                "all players but player 1, chance included.",
            ),
        ),
        tolerance=1e-4,
        takeaway="Every factor belongs to a player or to chance, and all we need is the "
        "product of all but one player's.",
        advice="Walk along the history: who decides at each step, and with which probability?",
    ),
    Exercise(
        "2.3",
        "Write a game",
        "an instance of your class, `Liar()`",
        Liar,
        (
            Mistake(
                lambda: Liar(peeks=True),
                "It compiles, but there are too many infosets: player 1's label reveals the "
                "toss. Player 1 heard the word and saw nothing.",
            ),
            Mistake(
                lambda: Liar(blind=True),
                "Player 0 sees the toss. So after heads and after tails player 0 knows "
                "different things, and needs different labels.",
            ),
            Mistake(
                lambda: Liar(deaf=True),
                "Player 1 hears the word. So after each word player 1 knows a different thing, "
                "and needs a different label.",
            ),
            Mistake(
                lambda: Liar(peeks=True, deaf=True),
                "Each player has two infosets, as they should. But player 1's label contains "
                "the toss, which player 1 does not see, instead of the word.",
            ),
            Mistake(
                lambda: Liar(sign=-1),
                "Everything is right but the payoffs, which go to the wrong player. Their "
                "order is (player 0, player 1), and a player who believes a lie *loses* a "
                "point.",
            ),
            Mistake(
                lambda: Liar(judged="word"),
                "Your payoffs depend on the toss and the word only. The reply matters as well: "
                "believing the truth is right, and so is doubting a lie.",
            ),
            Mistake(
                lambda: Liar(judged="reply"),
                "Your payoffs depend on the reply only. Whether it is right to believe depends "
                "on whether the word is true.",
            ),
        ),
        see=size_and_payoffs,
        points=3,
        takeaway="Each label contains what its player knows, no less and no more.",
        advice="The history is (toss, word, reply). Ask of each player what they know, and of "
        "each of the eight ends who pays.",
    ),
    Exercise(
        "2.4",
        "Diagnose",
        "a dictionary: under 'compiles' True or False, then, with the player added to the "
        "label, the number of 'infosets', and under 'same game' True or False",
        check_labels,
        (
            Mistake(
                lambda: check_labels() | {"compiles": True},
                "The last two are right. But try the label as the friend wrote it: both "
                "players would share a label such as 'Q bet', and a label belongs to one "
                "player.",
            ),
            Mistake(
                lambda: check_labels() | {"same game": False},
                "Which two histories share a label now and did not before? In Kuhn poker, all "
                "earlier moves follow from the last move and the player.",
            ),
            Mistake(
                lambda: check_labels() | {"infosets": count_labels()},
                "That is the number of labels without the player in them. A label that both "
                "players share becomes two.",
            ),
            Mistake(
                lambda: (
                    check_labels() | {"infosets": compile_game(KuhnPoker()).num_infosets // 2}
                ),
                "These are the infosets of one player. Both have some.",
            ),
            Mistake(
                lambda: (
                    check_labels()
                    | {"infosets": compile_game(KuhnPoker()).num_infosets * 3 // 2}
                ),
                "There are too many: a player decides in two places with each card, and not in "
                "three. After which moves does each of them decide?",
            ),
        ),
        points=2,
        takeaway="A short label is fine as long as it belongs to one player and merges no "
        "histories that this player can tell apart.",
        advice="Subclass `MyKuhn`, replace `knows`, and pass it to `cfr.compile`.",
    ),
    Exercise(
        "2.5",
        "Open: what may be forgotten?",
        "a list of three groups of cards, each a string such as '9T'",
        cheapest_groups,
        (
            Mistake(
                lambda: ["9T", "JQ", "K"],
                "Pairs of neighbors look natural, but this costs nearly a hundredth of a chip "
                "per hand. Which two of these cards does player 0 play alike anyway?",
            ),
            Mistake(
                lambda: ["9T", "J", "QK"],
                "The two highest together: a good idea. The two lowest together cost a little "
                "too much, as only one of them bluffs.",
            ),
            Mistake(
                lambda: ["9", "TJQ", "K"],
                "The ends apart, everything else in one group: but the queen is nearly a king "
                "here, and the ten is not.",
            ),
            Mistake(
                lambda: ["9TJ", "Q", "K"],
                "The three lowest cards are not played alike: which of them opens with a "
                "bluff?",
            ),
            Mistake(
                lambda: ["9", "T", "JQK"],
                "The two lowest apart and all the rest together: but the jack has to give way "
                "where the king calls.",
            ),
        ),
        see=check_groups,
        accepts=lambda seen: seen["cost"] < 1e-3,
        points=3,
        takeaway="It costs nothing at all with this deck, even if the opponent knows of it. "
        "Which hands to merge where nobody can try all ways is open.",
        advice="There are only 25 ways to make three groups of five cards: let a loop compare "
        "the values of all of them.",
    ),
    Exercise(
        "2.6",
        "How many strategies?",
        "a dictionary with the 'numbers' that a strategy of player 0 needs, how many are "
        "'pure', and how many of those are 'played' differently",
        how_many_strategies,
        (
            Mistake(
                lambda: how_many_strategies() | {"numbers": 2 * 10},
                "You counted both probabilities of each infoset. They add up to 1, so one of "
                "them is enough.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"pure": 2 * 10},
                "You added where you should multiply: a pure strategy chooses at *each* of its "
                "infosets, whatever it chose at the others.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"played": how_many_strategies()["pure"]},
                "The first two are right. Two pure strategies that both open with a bet may "
                "still differ in what they answer to a bet after a check. Who would ever see "
                "that?",
            ),
            Mistake(
                lambda: how_many_strategies() | {"played": 2**5},
                "The first two are right. You counted the openings only. After a check there "
                "is one more decision.",
            ),
            Mistake(
                lambda: {
                    key: a * b if key != "numbers" else a + b
                    for (key, a), b in zip(
                        how_many_strategies().items(),
                        how_many_strategies(1).values(),
                        strict=True,
                    )
                },
                "That is for both players together. A strategy belongs to one of them.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"numbers": 5},
                "You counted an infoset for each card. After a check and a bet, player 0 "
                "decides once more with the same card.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"pure": 2**5, "played": 2**5},
                "The first number is right. You chose an action at the openings only. A pure "
                "strategy also answers a bet that follows a check.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"pure": 2**5},
                "You chose an action at the openings only. A pure strategy has one ready at "
                "every infoset.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"played": 3 * 5},
                "The first two are right. Each card is played in one of three ways, whatever "
                "the others do: that asks for a product, not a sum.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"pure": 10**2},
                "You raised the number of infosets to the power of the actions. It is the "
                "other way round: each infoset doubles the number of pure strategies.",
            ),
            Mistake(
                lambda: how_many_strategies() | {"numbers": 2**10},
                "That is the number of pure strategies. A strategy needs one probability at "
                "each infoset.",
            ),
        ),
        tolerance=1e-9,
        takeaway="A pure strategy has an action even at infosets that it never reaches. One "
        "probability per infoset describes a mixture of all pure strategies.",
        advice="Two infosets for each card. And in which ways can one card be played?",
    ),
)
