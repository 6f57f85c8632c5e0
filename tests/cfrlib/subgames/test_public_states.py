"""Public states and hands, against enumeration by the rules of each game."""

from collections import defaultdict

import numpy as np
import pytest

from cfrlib.game import Chance, Decision, Game, GameError, Terminal
from cfrlib.games import Goofspiel, KuhnPoker, LeducPoker, LiarsDice
from cfrlib.subgames import public_tree
from koikoi import MiniKoiKoi

LEDUC = LeducPoker(merge_suits=True)


def decided_later(tree):
    """Whether anybody decides at a history or after it."""
    found = tree.player >= 0
    for k in range(tree.num_histories - 1, 0, -1):
        found[tree.parent[k]] |= found[k]
    return found


@pytest.mark.parametrize(
    "game", [KuhnPoker(), KuhnPoker(4), LEDUC, LeducPoker(), LeducPoker(2, 2)]
)
def test_poker_states_are_what_is_said_aloud(game):
    """All but the deal is public: group the histories by their actions after it."""
    public = public_tree(game)
    expected, tree = defaultdict(list), public.tree
    for k in np.flatnonzero(decided_later(tree)).tolist():
        h = tree.history(k)
        expected[len(h), h[1:]].append(k)
    found = {
        (len(tree.history(s.histories[0])), s.actions): s.histories.tolist()
        for s in public.states
    }
    assert found == expected


def test_number_of_states_of_leduc():
    """6 betting states before the public card; 5 ways to it, 3 cards, 6 betting states each."""
    players = [state.player for state in public_tree(LEDUC).states]
    assert (len(players), players.count(0), players.count(1)) == (1 + 6 + 5 + 15 * 6, 48, 48)


@pytest.mark.parametrize("game", [LEDUC, KuhnPoker(5)])
def test_hands_of_poker_are_private_cards(game):
    public = public_tree(game)
    for state in public.states[1:]:
        deals = [public.tree.history(k)[0] for k in state.histories]
        for i in (0, 1):
            pairs = {
                (deal[i], c) for deal, c in zip(deals, state.hand[i].tolist(), strict=True)
            }
            cards, hands = map(set, zip(*pairs, strict=True))
            assert len(pairs) == len(cards) == len(hands) == len(state.hand_label[i])


@pytest.mark.parametrize("game", [LEDUC, Goofspiel(3), LiarsDice(3), MiniKoiKoi.K8()])
def test_states_are_closed(game):
    """No infoset has histories in two public states, nor two hands of its owner."""
    public = public_tree(game)
    tree, place = public.tree, {}
    for state in public.states:
        for n, k in enumerate(state.histories.tolist()):
            if tree.player[k] >= 0:
                where = state.number, int(state.hand[tree.player[k]][n])
                assert place.setdefault(int(tree.infoset[k]), where) == where
            assert public.state_of[k] == state.number
            if k:
                assert public.state_of[tree.parent[k]] == state.parent
    assert len(place) == tree.num_infosets


def test_find_names_what_is_missing():
    with pytest.raises(ValueError, match="no public state"):
        public_tree(LEDUC).find("check", "raise")


class Late(Game):
    """Player 1 cannot tell whether player 0 has moved once or twice."""

    def node(self, h):
        if h == ():
            return Decision(0, "start", ("short", "long"))
        if h == ("long",):
            return Decision(0, "again", ("go",))
        if h[-1] in ("short", "go"):
            return Decision(1, "guess", ("one", "two"))
        return Terminal((1, -1) if (h[-1] == "one") == (h[0] == "long") else (-1, 1))


class Secret(Game):
    """Chance decides who acts, and player 2 is not told."""

    num_players = 3

    def node(self, h):
        if not h:
            return Chance({0: 0.5, 1: 0.5})
        if len(h) == 1:
            return Decision(h[0], f"player {h[0]}", ("a", "b"))
        if len(h) == 2:
            return Decision(2, "not told", ("a", "b"))
        return Terminal((0, 0, int(h[1] == h[2])))


@pytest.mark.parametrize("game, word", [(Late(), "lengths"), (Secret(), "turns")])
def test_games_without_public_states(game, word):
    with pytest.raises(GameError, match=word):
        public_tree(game)
