"""Features without their zeros: no number changes, whatever an infoset's label is."""

import numpy as np
import pytest

from cfrlib import Chance, Decision, Game, Terminal
from cfrlib.deep import DeepCFR, Training, feature_rows, hashed
from cfrlib.deep.feature_rows import FeatureRows, Form, common_form, concatenate
from cfrlib.deep.memory import in_common_form, new_memory, offer
from cfrlib.games import KuhnPoker, LiarsDice

RNG = np.random.default_rng(0)
INPUTS = 200


def one_hot(rows, words):
    """Return rows with this many ones, in random columns."""
    place = np.argsort(RNG.random((rows, INPUTS)), axis=1)
    return (place < words).astype(np.float32)


KINDS = {  # rows, and the form that has room for them
    "no word": (np.zeros((3, INPUTS), np.float32), Form(16, False)),
    "few words": (one_hot(9, 5), Form(16, False)),
    "16 words": (one_hot(9, 16), Form(16, False)),
    "17 words": (one_hot(9, 17), Form(32, False)),
    "every word": (one_hot(2, INPUTS), Form(INPUTS, False)),
    "counts": (one_hot(9, 20) * 3, Form(32, True)),
    "numbers": (RNG.normal(size=(9, INPUTS)).astype(np.float32), Form(0, True)),
}


@pytest.mark.parametrize("kind", KINDS)
def test_rows_are_those_stored(kind):
    dense, form = KINDS[kind]
    rows = FeatureRows.of(dense)
    assert (rows.form, rows.shape) == (form, dense.shape)
    assert np.array_equal(rows[:], dense)
    some = np.array([1, 1, 0])
    assert np.array_equal(rows[some], dense[some])


def test_more_columns_than_small_integers_have_room():
    dense = np.zeros((1, 40_000), np.float32)
    dense[0, [0, 32_767, 39_999]] = 1
    assert np.array_equal(FeatureRows.of(dense)[:], dense)


@pytest.mark.parametrize("second", KINDS)
@pytest.mark.parametrize("first", KINDS)
def test_rows_of_any_two_forms_are_joined(first, second):
    parts = KINDS[first][0], KINDS[second][0]
    joined = concatenate([FeatureRows.of(part) for part in parts])
    assert np.array_equal(joined[:], np.concatenate(parts))


def test_the_common_form_takes_the_least_memory():
    """17 to 32 numbers and their columns take 192 bytes a row, 40 numbers 160."""
    narrow, wide = np.eye(1, 40) * 3, np.tri(1, 40, 16)
    parts = [FeatureRows.of(part) for part in (narrow, wide)]
    assert [rows.form for rows in parts] == [Form(16, True), Form(32, False)]
    assert common_form(parts) == Form(0, True)
    assert np.array_equal(concatenate(parts)[:], np.concatenate([narrow, wide]))


USUAL = "few words", "17 words", "counts", "numbers"


@pytest.mark.parametrize("later", USUAL)
@pytest.mark.parametrize("earlier", USUAL)
def test_a_memory_makes_room_for_new_features(earlier, later):
    """The rows filled before keep their features, and empty ones stay empty."""
    offered = [KINDS[earlier][0], KINDS[later][0]]
    memory = new_memory(50, 2, np.uint64(0), 0, FeatureRows.of(offered[0][:1]))
    for dense in offered:
        features = FeatureRows.of(dense)
        samples = new_memory(len(dense), 2, np.uint64(0), 0, features).with_features(features)
        samples.infoset[:] = range(len(dense))
        memory, samples = in_common_form(memory, samples)
        offer(samples, memory)
    kept = np.concatenate(offered)
    assert memory.filled == len(kept)
    assert np.array_equal(memory.features[: len(kept)], kept)
    assert not np.asarray(memory.features[len(kept) :]).any()


# ---- runs ------------------------------------------------------------------------------------


class Wordy(Game):
    """Rows with few words come first; later ones have more, and all rows grow wider."""

    def node(self, h):
        if not h:
            cards = [f"{rank} {'very ' * n}good" for rank in "KQJ" for n in (1, 40)]
            return Chance(dict.fromkeys(cards, 1 / 6))
        if len(h) < 3:
            return Decision(len(h) - 1, " ".join(h), ("a", "b"))
        sign = 1 if ("K" in h[0]) == (h[1] == h[2]) else -1
        return Terminal((sign, -sign))


class Counted(KuhnPoker):
    """Words, and a number that is not 1."""

    def features(self, labels):
        lengths = np.array([len(label) / 3 for label in labels]).reshape(-1, 1)
        return np.concatenate([hashed(labels), lengths], axis=1).astype(np.float32)


class Measured(KuhnPoker):
    """Numbers alone."""

    def features(self, labels):
        numbers = [
            [np.sin(k * len(label) + ord(label[0])) for k in range(7)] for label in labels
        ]
        return np.array(numbers, np.float32).reshape(-1, 7)


TINY = Training((16,), 40, 64)


def trained(game, **options):
    options = {"traversals": 40, "memory": 300, "advantage": TINY, "strategy": TINY, **options}
    return DeepCFR(game, on_demand=True, seed=3, **options)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("game", "form"),
    [(Wordy(), Form(48, False)), (Counted(), Form(16, True)), (Measured(), Form(0, True))],
    ids=lambda value: type(value).__name__,
)
def test_a_run_equals_one_that_stores_all_numbers(game, form, monkeypatch, tmp_path):
    """Bit for bit, because batches are the same; also from a file."""
    run = trained(game).run(2)
    assert {memory.features.form for memory in run._memories} == {form}
    run.save(tmp_path / "run.npz")
    again = DeepCFR.load(tmp_path / "run.npz", game).run(1)
    run.run(1)
    monkeypatch.setattr(feature_rows, "_smallest", lambda *_: Form(0, True))
    plain = trained(game).run(3)
    assert {memory.features.form for memory in plain._memories} == {Form(0, True)}
    for other in (again, plain):
        assert np.array_equal(run._networks, other._networks)
        assert np.array_equal(run.average.networks, other.average.networks)


def test_default_memories_are_small():
    """A million rows: less than 100 MB besides the targets; none for a mixture's strategies."""
    for average, memories in (("network", 3), ("mixture", 2)):
        run = DeepCFR(LiarsDice(6, dice=2), on_demand=True, average=average)
        arrays = [memory._replace(target=np.zeros(0)) for memory in run._memories]
        sizes = [
            sum(part.nbytes for part in rows if isinstance(part, np.ndarray)) for rows in arrays
        ]
        assert [size > 1e3 for size in sizes] == [n < memories for n in range(3)]
        assert max(sizes) < 100e6
    compiled = DeepCFR(KuhnPoker(), average="mixture", advantage=TINY)
    assert [len(memory.infoset) for memory in compiled._memories] == [1_000_000, 1_000_000, 0]


def test_a_file_with_wider_rows_than_features_is_an_error(tmp_path):
    """Its million rows would not fit anywhere."""
    run = trained(KuhnPoker(), average="mixture")
    rows = FeatureRows.empty(len(run._memories[0].infoset), INPUTS, Form(10_000, False))
    run._memories[0] = run._memories[0].with_features(rows)._replace(inputs=512)
    run.save(tmp_path / "run.npz")
    with pytest.raises(ValueError, match=r"memory0\.columns has shape"):
        DeepCFR.load(tmp_path / "run.npz", KuhnPoker())
