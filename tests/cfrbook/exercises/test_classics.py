"""The five classic projects: their games are correct, and their feedback fits the answer."""

import importlib
from itertools import product

import numpy as np
import pytest

import cfrlib as cfr
from cfrbook import exercises
from cfrbook.exercises import forgetting
from cfrbook.exercises.grading import Unreadable
from cfrbook.exercises.written import learner
from cfrbook.museum import find
from cfrlib.regret import _sample

classics = importlib.import_module("cfrbook.exercises.projects")

U = cfr.Strategy.uniform


def check_changed(number, **parts):
    """Return the feedback to the solution with some parts replaced."""
    answer = {**exercises.find(number).solution()}
    return exercises.check(number, answer | parts)


# ---- the games equal those of the package ----------------------------------------------------


@pytest.mark.parametrize(
    ("mine", "known"),
    [
        (classics.Kuhn(), cfr.games.KuhnPoker()),
        (classics.Dudo(2), cfr.games.LiarsDice(2)),
        (classics.Dudo(3), cfr.games.LiarsDice(3)),
        (classics.Leduc(), cfr.games.LeducPoker()),
    ],
    ids=repr,
)
def test_game_equals_the_game_of_the_package(mine, known):
    a, b = cfr.compile(mine), cfr.compile(known)
    for size in ("num_histories", "num_terminals", "num_infosets"):
        assert getattr(a, size) == getattr(b, size)
    assert cfr.exploitability(mine, U(mine)) == pytest.approx(
        cfr.exploitability(known, U(known)), abs=1e-12
    )
    runs = [cfr.solve(game, "cfr", 50, progress=False) for game in (mine, known)]
    assert runs[0].value == pytest.approx(runs[1].value, abs=1e-9)
    assert runs[0].exploitability == pytest.approx(runs[1].exploitability, abs=1e-9)


def test_dudo_equals_liars_dice_under_one_renaming_of_faces():
    assert classics.count_differences(classics.matching_faces()) == 0
    for a, b in product(range(1, 7), repeat=2):
        if a < b:
            swapped = dict(classics.matching_faces())
            swapped[a], swapped[b] = swapped[b], swapped[a]
            assert classics.count_differences(swapped) > 0


# ---- wrong and invalid games -----------------------------------------------------------------


class Pot(cfr.Game):
    """Kuhn poker that pays the pot to the winner and nothing to the loser: not zero-sum."""

    def node(self, h):
        node = classics.KUHN.node(h)
        if isinstance(node, cfr.Terminal):
            return cfr.Terminal(tuple(max(2 * u, 0) for u in node.utilities))
        return node


class ThreePlayers(cfr.games.KuhnPoker):
    """Kuhn poker with three players."""

    def __init__(self):
        super().__init__(players=3)


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (Pot(), "not zero-sum: at the end 'JQ bet bet' it pays (0.0, 4.0)"),
        (ThreePlayers(), "3 players, not 2"),
        (classics.Kuhn, "inherits from cfr.Game"),
        (cfr.games.LeducPoker, "inherits from cfr.Game"),
    ],
)
def test_invalid_game_is_unreadable(game, message):
    feedback = check_changed("classic.2", game=game)
    assert feedback.verdict == "unreadable" and message in feedback.text, feedback


# ---- correct answers other than the solution -------------------------------------------------


def test_blotto_accepts_every_near_equilibrium():
    six = {d: 1 / 6 for d in classics.DIVISIONS if sorted(d) == [0, 2, 3]}
    nine = {"-".join(map(str, d)): 1 / 9 for d in classics.DIVISIONS if max(d) == 3}
    sampled = cfr.play(cfr.games.ColonelBlotto(), 50_000, seed=1).average[0][-1]
    average = dict(zip(cfr.games.ColonelBlotto().actions[0], sampled, strict=True))
    for strategy in (six, nine, average):
        assert check_changed("classic.1", strategy=strategy).right
    even = dict.fromkeys(classics.DIVISIONS, 1 / 21)
    two = {(2, 2, 1): 1 / 3, (2, 1, 2): 1 / 3, (1, 2, 2): 1 / 3}
    for strategy, says in ((even, "Even play"), (two, "'strategy' is not right")):
        assert says in check_changed("classic.1", strategy=strategy).text
    assert "add up to" in check_changed("classic.1", strategy={(3, 1, 1): 0.5}).text
    assert "not a division" in check_changed("classic.1", strategy={(4, 1, 1): 1.0}).text


@pytest.mark.parametrize("alpha", [0.0, 0.2, 1 / 3])
def test_kuhn_accepts_all_equilibria(alpha):
    known = cfr.games.kuhn_equilibrium(cfr.games.KuhnPoker(), alpha)
    words = {"": "", " pass": " check", " bet": " bet", " pass bet": " check-bet"}
    strategy = {}
    for label in U(classics.KUHN):
        past = label[3:].strip()
        row = list(known[label[2] + words[f" {past}" if past else ""]].values())
        strategy[label] = {"pass": row[0], "bet": row[1]}
    assert cfr.exploitability(classics.KUHN, strategy) < 1e-12
    assert check_changed("classic.2", strategy=strategy, alpha=alpha).right
    assert (
        "'alpha' is not right" in check_changed("classic.2", strategy=strategy, alpha=0.5).text
    )


@pytest.mark.slow
def test_leduc_accepts_labels_without_suits():
    game = cfr.games.LeducPoker(merge_suits=True)
    best = cfr.solve(game, "cfr+", 1_000, progress=False)
    feedback = check_changed("classic.4", game=game, strategy=best.strategy)
    assert feedback.right, feedback
    poor = cfr.solve(game, "cfr", 100, progress=False).strategy
    feedback = check_changed("classic.4", game=game, strategy=poor)
    assert "'strategy' is not right" in feedback.text


# ---- sampled play ----------------------------------------------------------------------------

EIGHTHS = [(0.5, 0.25, 0.25), (0.125, 0.0, 0.875), (0.0, 0.0, 1.0), (0.625, 0.375, 0.0), (1.0,)]


@pytest.mark.parametrize("probabilities", EIGHTHS)
def test_action_is_sampled_on_an_interval_as_long_as_its_probability(probabilities):
    """The intervals are half-open, to the last float."""
    p = np.array(probabilities)
    stop = np.cumsum(p)  # exact: these are eighths
    for a in np.flatnonzero(p):
        start = stop[a] - p[a]
        for u in (start, start + p[a] / 3, np.nextafter(stop[a], 0)):
            assert _sample(p, u) == a


def test_rounding_never_samples_an_action_of_probability_0():
    """In floats, the sum of ten tenths is less than 1."""
    p = np.array([0.1] * 10 + [0.0])
    assert _sample(p, np.nextafter(1.0, 0.0)) == 9
    assert _sample(np.array([0.0, 1 - 1e-12, 0.0]), np.nextafter(1.0, 0.0)) == 1
    assert _sample(np.array([0.0, 1.0]), 0.0) == 1


UNEVEN = cfr.games.MatrixGame([[0, 2, -3], [-1, 0, 5], [4, -6, 0]])


def played(path, table):
    """Recover both actions of each round from the growth of regrets, u(·, b) − u(a, b)."""
    growth = np.diff(path.regret[0], axis=0, prepend=0.0)
    pairs = list(product(range(3), repeat=2))
    fits = [(growth == table[:, b] - table[a, b]).all(axis=1) for a, b in pairs]
    assert np.all(np.sum(fits, axis=0) == 1)
    return np.array(pairs)[np.argmax(fits, axis=0)].T


@pytest.mark.parametrize("opponent", [None, (0.5, 0.3, 0.2)])
def test_sampled_actions_follow_the_strategies(opponent):
    """Counts of actions are within five standard deviations of their expectations."""
    path = cfr.play(UNEVEN, 100_000, opponent=opponent, seed=0)
    for taken, current in zip(played(path, UNEVEN.row_payoffs), path.current, strict=True):
        excess = (np.eye(3)[taken] - current).sum(axis=0)
        assert np.all(np.abs(excess) <= 5 * np.sqrt((current * (1 - current)).sum(axis=0)))


# ---- a player who forgets --------------------------------------------------------------------


class Renamed(cfr.Game):
    def __init__(self, merge):
        self.merge, self.kuhn = merge, cfr.games.KuhnPoker()

    def node(self, h):
        node = self.kuhn.node(h)
        if isinstance(node, cfr.Decision):
            label = self.merge.get(node.infoset, node.infoset)
            return cfr.Decision(node.player, label, node.actions)
        return node


def merges():
    """Yield all 25 ways to merge cards at player 0's first and second decision."""
    ways = [("a", "b", "c"), ("a", "a", "b"), ("a", "b", "a"), ("b", "a", "a"), ("a", "a", "a")]
    for first, second in product(ways, repeat=2):
        names = dict(zip("JQK", first, strict=True))
        later = {f"{c} check-bet": f"{n} later" for c, n in zip("JQK", second, strict=True)}
        yield names | later


def test_without_merges_it_equals_cfr():
    game = cfr.games.KuhnPoker()
    mine = forgetting.Merged(game, {}).outcome(50)
    known = cfr.CFR(game, update="simultaneous").run(50, progress=False).average
    assert cfr.Strategy(game, mine.rows).max_difference(known) < 1e-9


@pytest.mark.slow
@pytest.mark.parametrize(
    "merge", list(merges()), ids=lambda m: "".join(v[0] for v in m.values())
)
def test_perfect_recall_keeps_the_regret_bound(merge):
    forgets = bool(forgetting.forgetful(merge))
    game = Renamed(merge)
    try:
        cfr.compile(game)
    except cfr.GameError as error:
        assert forgets and "imperfect recall" in str(error)
    else:
        assert not forgets
    best = forgetting.best_guarantee(merge)
    outcome = forgetting.Merged(cfr.games.KuhnPoker(), merge).outcome(100)
    assert outcome.reached <= best + 1e-9
    if not forgets:
        assert outcome.regret <= outcome.immediate + 1e-9
        assert best == pytest.approx(cfr.solve_lp(game).value, abs=1e-9)


@pytest.mark.slow
def test_merging_jack_and_king_keeps_cfr_from_the_best():
    best, outcome = classics.kuhn_merged(tuple(classics.J_OR_K.items()))
    assert best == pytest.approx(-1 / 18, abs=1e-9)
    longer = forgetting.Merged(cfr.games.KuhnPoker(), classics.J_OR_K).outcome(4_000)
    assert longer.reached < best - 0.16 and longer.regret > 0.27
    assert longer.immediate < 0.002 < outcome.immediate


@pytest.mark.slow
def test_other_harmful_merge_is_accepted():
    merge = {f"{card} check-bet": "?" for card in "JQK"}
    answer = classics.forgetting_answer(merge, (0.5, -1.0))
    assert exercises.check("classic.5", answer).right


@pytest.mark.parametrize(
    ("merge", "message"),
    [
        ({"J": "J check-bet"}, "different actions"),
        ({"J check": "Q check"}, "the infosets of player 0"),
        ("J check-bet", "not a dictionary"),
    ],
)
def test_invalid_merge_is_unreadable(merge, message):
    feedback = check_changed("classic.5", merge=merge)
    assert feedback.verdict == "unreadable" and message in feedback.text, feedback


@pytest.mark.slow
def test_regret_without_weather_depends_on_the_factor():
    """A positive factor is sufficient for falling regret; -2 shows that it is not necessary."""
    assert [classics.regret_in_rain(f) for f in (0.5, 1.0, 10.0)] == ["falls"] * 3
    assert [classics.regret_in_rain(f) for f in (-0.5, -1.0, -2.0)] == [
        "stays",
        "stays",
        "falls",
    ]
    with pytest.raises(Unreadable, match="not between"):
        classics.regret_in_rain(0.1)


@pytest.mark.slow
def test_forgetting_the_weather_is_harmless_in_the_full_game():
    """The regret bound of well-formed games holds for the game before merging."""
    game = forgetting.Weather(2.0)
    found = [
        cfr.exploitability(
            game, forgetting.Merged(game, forgetting.FORGET_WEATHER).outcome(T).rows
        )
        for T in (100, 1_600)
    ]
    assert found[1] < 0.3 * found[0]


def test_learner_of_the_kuhn_project_is_checked():
    broken = learner(find("no reach").compiled())
    feedback = check_changed("classic.2", strategy=broken)
    assert feedback.verdict == "wrong" and "“no reach”" in feedback.text
