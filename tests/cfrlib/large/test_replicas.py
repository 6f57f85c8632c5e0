"""Batches of games too large to compile are shared among processes: the same numbers."""

import dataclasses
import inspect
import os
import pickle
import sys

import joblib
import numpy as np
import pytest

import cfrlib as cfr
from cfrlib import MCCFR, RobustSampling
from cfrlib.games import LiarsDice
from cfrlib.large import replicas, workers


class InPython(LiarsDice):
    """Liar's dice without rules that compile."""

    rules = None


GAMES = {"rules that compile": LiarsDice(3), "rules in Python": InPython(3)}
CASES = {
    "external, baseline": {"sampling": "external", "batch": 9, "baseline": 0.3},
    "outcome": {"variant": "dcfr", "sampling": "outcome", "batch": 20, "averaging": "lazy"},
    "robust, simultaneous": {
        "variant": "cfr+",
        "sampling": RobustSampling(2, 0.5),
        "batch": 5,
        "update": "simultaneous",
        "baseline": 0.5,
    },
    "chance": {"sampling": "chance", "batch": 3, "averaging": "optimistic"},
}
each_game = pytest.mark.parametrize("game", GAMES.values(), ids=GAMES)
case = pytest.mark.parametrize("options", CASES.values(), ids=CASES)
OUTCOME = CASES["outcome"]


def begin(game, options, **more):
    return MCCFR(game, **options, seed=3, threads=1, on_demand=True, **more)


def same(a, b):
    """Whether two runs hold the same infosets in the same order, with the same numbers."""
    mine, theirs = (run._state() for run in (a, b))
    names, others = (run._tree.names(0, run._tree.num_infosets) for run in (a, b))
    return (
        a.nodes == b.nodes
        and names == others
        and all(np.array_equal(mine[name], theirs[name]) for name in mine)
    )


class Cluster:
    """Worker processes, imitated: what goes to a worker and what comes back is pickled.

    Workers are chosen at random, so that some are passed over. `lose` is the number of a call
    that ends with an error after some of its tasks were done.
    """

    def __init__(self, size, lose=0):
        self.kept = [{} for _ in range(size)]
        self.rng, self.lose = np.random.default_rng(0), lose
        self.calls = self.behind = 0
        self.sizes = []

    def __call__(self, jobs, call, tasks, at_once):
        self.calls += 1
        answers = []
        for task in tasks:
            if self.calls == self.lose and answers:
                raise OSError("a worker was lost")
            workers._cached = self.kept[self.rng.integers(len(self.kept))]
            sent = pickle.dumps((call, task))
            self.sizes.append(len(sent))
            there, its_task = pickle.loads(sent)
            answers.append(pickle.loads(pickle.dumps(there(its_task))))
            self.behind += isinstance(answers[-1], str)
        return answers


@pytest.fixture
def cluster(monkeypatch):
    """Return a function that puts an imitated cluster in place of joblib's backend."""
    monkeypatch.setattr(workers, "_cached", {})

    def start(size, **options):
        imitated = Cluster(size, **options)
        monkeypatch.setattr(replicas, "map_tasks", imitated)
        return imitated

    return start


@each_game
@case
@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_workers_that_were_passed_over_catch_up(cluster, game, options, jobs):
    alone = begin(game, options).run(12)
    imitated = cluster(4)
    assert same(alone, begin(game, options, jobs=jobs).run(12))
    assert imitated.behind > 3


def test_tasks_bring_only_what_changed(cluster):
    options = {"sampling": "outcome", "batch": 2, "seed": 0, "on_demand": True}
    imitated = cluster(1)
    run = MCCFR(GAMES["rules that compile"], jobs=1, **options).run(100)
    full = len(pickle.dumps(run._walks.versions.changes(run._tree, None)))
    assert max(imitated.sizes[-20:]) < full / 2
    kept = [numbers for _, numbers in run._walks.versions.changed.values()]
    assert sum(map(len, kept)) <= run._tree.num_infosets


@each_game
def test_a_lost_worker_costs_a_batch_and_no_number(cluster, game):
    alone = begin(game, OUTCOME).run(9)
    cluster(2, lose=9)
    run = begin(game, OUTCOME, jobs=2)
    with pytest.raises(OSError, match="was lost"):
        run.run(9)
    assert 0 < run.iterations < 9
    assert same(alone, run.run(9 - run.iterations))


@each_game
@pytest.mark.parametrize("part", ["add", "enter"])
def test_an_interrupt_while_sums_are_added_costs_a_batch_and_no_number(
    cluster, monkeypatch, game, part
):
    cluster(1)
    run = begin(game, OUTCOME, jobs=2).run(1)
    whole = getattr(run._walks, part)

    def interrupted(*arguments):
        whole(*arguments)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(run._walks, part, interrupted)
        with pytest.raises(KeyboardInterrupt):
            run.run(1)
    assert run.iterations == 1
    assert same(begin(game, OUTCOME).run(6), run.run(5))


def test_processes_of_joblib_may_keep_large_replicas():
    loky = joblib.externals.loky.process_executor
    with joblib.parallel_config("threading"):
        begin(GAMES["rules in Python"], OUTCOME, jobs=1).run(1)
    assert vars(loky)["_MAX_MEMORY_LEAK_SIZE"] == sys.maxsize
    assert "< _MAX_MEMORY_LEAK_SIZE:" in inspect.getsource(loky)  # still what joblib reads


@each_game
def test_copies_go_on_without_each_other(cluster, game):
    cluster(1)
    run = begin(game, OUTCOME, jobs=2).run(5)
    copy = run.copy()
    for _ in range(3):
        run.run(2)
        copy.run(1)
    assert same(begin(game, OUTCOME).run(11), run)
    assert same(begin(game, OUTCOME).run(8), copy)


class Numbered(InPython):
    """Liar's dice whose actions are numbers: files only hold their labels."""

    def node(self, h):
        names = tuple("liar" if a == -1 else self.bids[a] for a in h[1:])
        node = super().node((*h[:1], *names))
        if not isinstance(node, cfr.Decision):
            return node
        numbers = [-1 if a == "liar" else self.bids.index(a) for a in node.actions]
        return cfr.Decision(node.player, node.infoset, tuple(numbers))


@pytest.mark.parametrize("game", [*GAMES.values(), Numbered(3)], ids=[*GAMES, "numbers"])
def test_saved_runs_go_on_in_workers(cluster, game, tmp_path):
    begin(game, OUTCOME).run(5).save(tmp_path / "run.npz")
    alone = MCCFR.load(tmp_path / "run.npz", game).run(6)
    whole = begin(game, OUTCOME).run(11)
    assert same(alone, whole) or isinstance(game, Numbered)  # whose names are other ones
    assert alone.nodes == whole.nodes
    cluster(2)
    shared = MCCFR.load(tmp_path / "run.npz", game, jobs=2).run(6)
    assert shared.jobs == 2
    assert same(alone, shared)


def test_a_complete_tree_does_not_go_on_in_workers(tmp_path):
    game = cfr.games.KuhnPoker()
    run = MCCFR(game, batch=5, seed=1).run(4)
    run.save(tmp_path / "run.npz")
    loaded = MCCFR.load(tmp_path / "run.npz", game, threads=1)
    assert loaded.run(4).average == run.run(4).average
    for jobs, why in ((1, r"^jobs= is for .*threads="), (0, "jobs must be at least 1")):
        with pytest.raises(ValueError, match=why):
            MCCFR.load(tmp_path / "run.npz", game, jobs=jobs)


class Broken(InPython):
    """Liar's dice whose rules fail after three bids."""

    def node(self, h):
        if len(h) == 4:
            raise ZeroDivisionError("three bids")
        return super().node(h)


class OneLabel(InPython):
    """Liar's dice that gives one label to all decisions after two bids."""

    def node(self, h):
        node = super().node(h)
        if isinstance(node, cfr.Decision) and len(h) > 2:
            return cfr.Decision(node.player, "late", node.actions)
        return node


class Turncoat(InPython):
    """Liar's dice whose first decision has one label, but not always the same actions."""

    def node(self, h):
        node = super().node(h)
        if isinstance(node, cfr.Decision) and len(h) == 1:
            return cfr.Decision(0, "first", node.actions[h[0][0] < h[0][1] :])
        return node


def no_action(s, numbers, probabilities):
    """Return no action."""
    return 0


class NoAction(LiarsDice):
    """Liar's dice with rules that return no actions."""

    rules = dataclasses.replace(LiarsDice(3).rules, legal=no_action)


def test_errors_in_rules_keep_their_type_and_the_history():
    errors = []
    for jobs in (None, 2):
        with joblib.parallel_config("threading"), pytest.raises(ZeroDivisionError) as error:
            begin(Broken(3), OUTCOME, jobs=jobs).run(1)
        errors.append(pickle.loads(pickle.dumps(error.value)))
    assert "at history" in str(errors[0].__notes__)
    mine, theirs = ([note[:20] for note in error.__notes__] for error in errors)
    assert mine == theirs


@pytest.mark.parametrize("jobs", [None, 2])
@pytest.mark.parametrize(
    ("kind", "match"),
    [
        (OneLabel, r"LiarsDice\(faces=3\), history.*'late'"),
        (NoAction, "from 1 to most_actions"),
    ],
)
def test_unsound_rules_are_found_in_workers(cluster, kind, match, jobs):
    cluster(3)
    with pytest.raises(cfr.GameError, match=match):
        begin(kind(3), OUTCOME, jobs=jobs).run(5)


@pytest.mark.parametrize("jobs", [None, 8])
def test_labels_that_workers_give_to_different_decisions_are_found(cluster, jobs):
    """Each lane has one walk: the contradiction is between two of them."""
    cluster(8)
    with pytest.raises(cfr.GameError, match=r"history \(\(.*'first'"):
        begin(Turncoat(3), {"sampling": "outcome", "batch": 8}, jobs=jobs).run(3)


def test_rules_travel_without_the_addresses_of_a_process():
    rules = LiarsDice(3).rules
    assert rules.addresses.key
    assert set(rules.__getstate__()) == {field.name for field in dataclasses.fields(rules)}


def test_a_copy_of_a_run_by_rules_in_python_has_room_to_sample():
    """Formerly a copy, or a run from a file, failed where it met no infoset that was new."""
    options = {"sampling": RobustSampling(2, 0.5)}
    run = begin(InPython(3), options).run(50)
    assert same(run.copy().run(5), run.run(5))


class Fatal(InPython):
    """Liar's dice whose rules end the process once, if it is a worker."""

    def __init__(self, faces, marker):
        super().__init__(faces)
        self.marker, self.home = marker, os.getpid()

    def node(self, h):
        if os.getpid() != self.home and self.marker.exists():
            self.marker.unlink()
            os._exit(1)
        return super().node(h)


@pytest.mark.slow
@each_game
@pytest.mark.parametrize("options", [CASES["external, baseline"], OUTCOME], ids=["e", "o"])
@pytest.mark.parametrize("jobs", [2, 3])
def test_numbers_do_not_depend_on_processes(game, options, jobs):
    assert same(begin(game, options).run(12), begin(game, options, jobs=jobs).run(12))


@pytest.mark.slow
def test_a_process_that_dies_costs_a_batch_and_no_number(tmp_path):
    marker = tmp_path / "marker"
    game = Fatal(3, marker)
    run = begin(game, OUTCOME, jobs=2).run(4)
    marker.touch()
    with pytest.raises(Exception, match="terminated"):
        run.run(5)
    assert not marker.exists()
    assert same(begin(game, OUTCOME).run(9), run.run(9 - run.iterations))
