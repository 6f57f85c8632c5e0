"""Files round-trip; damaged files and files of another game or format are rejected."""

import hashlib
import json
import zipfile

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.core.files import reading, replacing
from cfrlib.games import KuhnPoker, MatrixGame, RockPaperScissors

GAMES = [KuhnPoker(), KuhnPoker(players=3), MatrixGame([[1, 0], [0, 2]], [[3, 0], [0, 1]])]


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_strategies_round_trip(tmp_path, game):
    strategy, path = cfr.solve(game, "dcfr", 37).strategy, tmp_path / "s.npz"
    strategy.save(path)
    loaded = cfr.Strategy.load(path, game)
    assert loaded.max_difference(strategy) == 0
    assert loaded == strategy
    assert repr(loaded) == repr(strategy)


@pytest.mark.parametrize("game", GAMES, ids=repr)
def test_solutions_round_trip(tmp_path, game):
    solution, path = cfr.solve(game, "dcfr", 37, delay=3), tmp_path / "s.npz"
    solution.save(str(path))
    loaded = cfr.Solution.load(str(path), game)
    for name, before, after in zip(solution._fields, solution, loaded, strict=True):
        if name == "trace":
            np.testing.assert_array_equal(before.rows, after.rows)
        else:
            assert before == after, name
    assert repr(loaded) == repr(solution)
    assert loaded._repr_html_() == solution._repr_html_()


SAVED = {
    "strategy": (lambda game: cfr.Strategy.uniform(game), cfr.Strategy),
    "solution": (lambda game: cfr.solve(game, iterations=5), cfr.Solution),
    "run": (lambda game: cfr.CFR(game).run(5), cfr.CFR),
}


@pytest.mark.parametrize("noun", SAVED)
@pytest.mark.parametrize("other", [KuhnPoker(4), RockPaperScissors()], ids=repr)
def test_files_of_another_game_are_rejected(tmp_path, kuhn, noun, other):
    make, cls = SAVED[noun]
    make(kuhn).save(tmp_path / "file.npz")
    with pytest.raises(ValueError, match=r"saved for KuhnPoker\(\), not for .* load it with"):
        cls.load(tmp_path / "file.npz", other)


@pytest.mark.parametrize("noun", SAVED)
@pytest.mark.parametrize("expected", SAVED)
def test_files_of_another_format_are_rejected(tmp_path, kuhn, noun, expected):
    if noun != expected:
        SAVED[noun][0](kuhn).save(tmp_path / "file.npz")
        with pytest.raises(ValueError, match=r"not a complete file .* save it again"):
            SAVED[expected][1].load(tmp_path / "file.npz", kuhn)


@pytest.mark.parametrize("noun", SAVED)
def test_truncated_files_are_rejected(tmp_path, kuhn, noun):
    make, cls = SAVED[noun]
    path = tmp_path / "file.npz"
    make(kuhn).save(path)
    content = path.read_bytes()
    for length in range(0, len(content), 997):
        path.write_bytes(content[:length])
        with pytest.raises(ValueError, match="is not a complete file"):
            cls.load(path, kuhn)


def test_a_saved_strategy_can_be_read_without_cfrlib(tmp_path, kuhn):
    """As documented: a JSON header that names infosets, and an array over sequences."""
    strategy = cfr.solve(kuhn, iterations=50).strategy
    strategy.save(tmp_path / "s.npz")
    with np.load(tmp_path / "s.npz", allow_pickle=False) as file:
        header, p = json.loads(str(file["header"])), file["strategy"].tolist()
    assert header["format"] == "cfrlib.Strategy 2"
    assert header["game"] == "KuhnPoker()"
    found, at, owner = {}, 0, -1
    for player, label, actions in header["infosets"]:
        at += player - owner  # the empty sequence of each player
        owner = player
        found[label] = dict(zip(actions, p[at : at + len(actions)], strict=True))
        at += len(actions)
    assert found == dict(strategy)
    assert at == len(p)


# ---- damaged files, and files of other programs --------------------------------------------


@pytest.fixture
def saved(tmp_path, kuhn):
    path = tmp_path / "kuhn.npz"
    cfr.CFR(kuhn, "dcfr").run(20).save(path)
    return path


INVALID_FILE = "is not a complete file written by CFR.save"


@pytest.mark.slow
def test_flipped_bits_are_harmless_or_reported(saved, kuhn):
    content, rng = saved.read_bytes(), np.random.default_rng(0)
    original, reported = cfr.CFR.load(saved, kuhn).average, 0
    for at in rng.permutation(len(content))[:600]:
        damaged = bytearray(content)
        damaged[at] ^= 1 << rng.integers(8)
        saved.write_bytes(damaged)
        try:
            run = cfr.CFR.load(saved, kuhn)
        except ValueError as error:
            assert INVALID_FILE in str(error)
            reported += 1
        else:  # zip stores some fields twice, and dates that are not read
            assert run.average.max_difference(original) == 0
            assert run.iterations == 20
    assert reported > 300


def test_random_bytes_are_rejected(saved, kuhn):
    rng = np.random.default_rng(0)
    for prefix in (b"", b"PK\x03\x04", b"\x93NUMPY", b"{}"):
        saved.write_bytes(prefix + rng.bytes(1000))
        with pytest.raises(ValueError, match=INVALID_FILE):
            cfr.CFR.load(saved, kuhn)


def other_npz(path):
    np.savez(path, a=np.arange(3))


def plain_npy(path):
    with path.open("wb") as file:
        np.save(file, np.arange(3))


def pickled(path):
    np.savez(path, header=np.array({"format": "cfrlib.CFR 1"}, object))


def other_zip(path):
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("header.npy", "hello")


def other_json(path):
    np.savez(path, header=np.array("[1, 2]"), trace=1, regret=1, sigma=1, total=1)


def other_format(path):
    header = np.array('{"format": "cfrlib.CFR 99"}')
    np.savez(path, header=header, trace=1, regret=1, sigma=1, total=1)


def directory(path):
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    "write", [other_npz, plain_npy, pickled, other_zip, other_json, other_format, directory]
)
def test_files_of_other_programs_are_rejected(saved, kuhn, write):
    write(saved)
    with pytest.raises(ValueError, match=INVALID_FILE):
        cfr.CFR.load(saved, kuhn)


def test_files_of_a_game_with_changed_payoffs_are_rejected(tmp_path):
    path = tmp_path / "rps.npz"
    cfr.CFR(RockPaperScissors(3)).run(10).save(path)
    with pytest.raises(ValueError, match="rules have changed"):
        cfr.CFR.load(path, RockPaperScissors())


@pytest.mark.parametrize("name", ["header", "digest", "total"])
def test_a_second_member_of_one_name_is_rejected(saved, kuhn, name):
    """Equal to the first, or other: a reader of the archive would find one of the two."""
    with zipfile.ZipFile(saved) as archive:
        members = archive.namelist()
        name = f"{name}.npy" if f"{name}.npy" in members else members[-1]
        data = archive.read(name)
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(saved, "a") as archive:
        archive.writestr(name, data)
    with pytest.raises(ValueError, match=INVALID_FILE):
        cfr.CFR.load(saved, kuhn)


def rewritten(path, sealed, **changed):
    """Write a file again with other header fields or arrays, with or without right digests."""
    with np.load(path) as file:
        arrays = dict(file)
    header = json.loads(str(arrays.pop("header")))
    old = arrays.pop("digest")
    for name, value in changed.items():
        if name in arrays:
            arrays[name] = value(arrays[name])
            listed = [arrays[name].dtype.str, list(arrays[name].shape)]
            digest = hashlib.sha256(arrays[name].tobytes()).hexdigest()
            header["arrays"][name] = [*listed, digest]
        else:
            header[name] = value(header[name])
    text = json.dumps(header)
    new = np.array(hashlib.sha256(text.encode()).hexdigest())
    np.savez(path, header=np.array(text), digest=new if sealed else old, **arrays)


def first_floats(path):
    with np.load(path) as file:
        return next(n for n in file.files if file[n].dtype == np.float64 and file[n].ndim == 1)


def test_a_changed_header_does_not_match_its_digest(saved, kuhn):
    rewritten(saved, True)  # as it was
    assert cfr.CFR.load(saved, kuhn).iterations == 20
    rewritten(saved, False, game=lambda text: text + " ")
    with pytest.raises(ValueError, match="the header does not match its digest"):
        cfr.CFR.load(saved, kuhn)


def test_arrays_of_another_type_or_shape_are_rejected(saved, kuhn):
    """Even if all digests are right."""
    name, content = first_floats(saved), saved.read_bytes()
    for change, says in [
        (lambda a: a.astype(np.float32), "has dtype 'float32', expected float64"),
        (lambda a: a[:-1], "has shape"),
        (lambda a: a[:, None], "has shape"),
    ]:
        saved.write_bytes(content)
        rewritten(saved, True, **{name: change})
        with pytest.raises(ValueError, match=says):
            cfr.CFR.load(saved, kuhn)


def test_an_array_that_no_run_has_is_rejected(saved, kuhn):
    with np.load(saved) as file:
        arrays = dict(file)
    header, extra = json.loads(str(arrays["header"])), np.arange(3.0)
    header["arrays"]["extra"] = ["<f8", [3], hashlib.sha256(extra.tobytes()).hexdigest()]
    arrays["header"] = np.array(json.dumps(header))
    digest = hashlib.sha256(json.dumps(header).encode()).hexdigest()
    np.savez(saved, **arrays | {"digest": np.array(digest), "extra": extra})
    with pytest.raises(ValueError, match=r"unexpected arrays \['extra'\]"):
        cfr.CFR.load(saved, kuhn)


def test_the_shape_of_an_array_is_told_before_it_is_read(saved, kuhn):
    sequences = cfr.compile(kuhn).player_sequences[-1]
    with reading(saved, cfr.CFR.FORMAT) as file:
        assert file.shape("regret") == (sequences,)
        file.unread.clear()


def test_a_block_that_fails_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "run.npz"
    path.write_text("old", "utf-8")
    with pytest.raises(RuntimeError), replacing(path) as file:
        file.write(b"new")
        raise RuntimeError
    assert [p.name for p in tmp_path.iterdir()] == ["run.npz"]
    assert path.read_text("utf-8") == "old"
