"""The tournament: exact results, and files that cannot play."""

import csv
import itertools
import json
import os
import subprocess
import sys

import contained
import leaderboard
import numpy as np
import pytest
import tournament
from tournament import Invalid, load, read_all

import cfrlib as cfr

SANDBOX = pytest.mark.skipif(sys.platform != "linux", reason="bubblewrap is for Linux")
KUHN = cfr.games.KuhnPoker()
GOOD = {I: dict(row) for I, row in cfr.Strategy.uniform(KUHN).items()}


@pytest.fixture(scope="module")
def example():
    """Return the results and payoffs of the strategies that come with the kit."""
    players, left_out = read_all(tournament.EXAMPLES, lambda path: load(path, KUHN))
    assert not left_out
    results, payoffs = tournament.tournament(KUHN, players)
    return {r.name: r for r in results}, payoffs, players


def test_who_wins_is_not_who_is_safe(example):
    results, _, players = example
    wanted = {
        "equilibrium": 0.0806, "coin_flips": -0.1875, "never_bluffs": 0.0910,
        "always_bets": 0.0826, "always_calls": -0.0667,
    }  # fmt: skip
    assert {name: r.mean for name, r in results.items()} == pytest.approx(wanted, abs=1e-3)
    assert [name for name, r in results.items() if r.safe] == ["equilibrium"]
    for name, result in results.items():
        exact = cfr.exploitability(KUHN, players[name])
        assert result.exploitability == pytest.approx(exact, abs=1e-12)


def test_matrix_agrees_with_expected_utility(example):
    """Each pair is played again seat by seat, with the package's own evaluation."""
    results, payoffs, players = example
    seat = players["equilibrium"].player
    for (a, one), (b, other) in itertools.product(enumerate(results), repeat=2):
        mine, theirs, both = players[one], players[other], 0
        for i in (0, 1):
            pair = {I: (mine if seat(I) == i else theirs)[I] for I in mine}
            both += cfr.expected_utility(KUHN, pair)[i]
        assert payoffs[a, b] == pytest.approx(both / 2, abs=1e-12)
    assert np.allclose(payoffs, -payoffs.T)


def test_gain_is_what_a_best_response_adds(example):
    """Nobody in the class earns more against the others than mean + gain."""
    results, payoffs, _ = example
    for n, result in enumerate(results.values()):
        others = [k for k in range(len(payoffs)) if k != n]
        assert payoffs[:, others].mean(axis=1).max() <= result.mean + result.gain + 1e-12
        assert result.gain >= -1e-12


def test_leduc_poker_plays():
    game = cfr.games.LeducPoker()
    players = {str(seed): cfr.Strategy.random(game, seed) for seed in range(3)}
    results, payoffs = tournament.tournament(game, players)
    assert np.allclose(payoffs, -payoffs.T) and len(results) == 3
    assert results[0].mean >= results[1].mean >= results[2].mean


# ---- files -----------------------------------------------------------------------------------


def save(folder, name, content):
    path = folder / name
    path.write_text(content if isinstance(content, str) else json.dumps(content), "utf-8")
    return path


def table(rows):
    lines = [f"{I},{a},{p}" for I, row in rows.items() for a, p in row.items()]
    return "infoset,action,probability\n" + "\n".join(lines)


def test_all_forms_read_the_same(tmp_path):
    """Rounded probabilities are accepted."""
    forms = [save(tmp_path, "a.json", GOOD), save(tmp_path, "b.csv", "\ufeff" + table(GOOD))]
    for path in forms:
        assert load(path, KUHN) == cfr.Strategy.uniform(KUHN)
    rounded = GOOD | {"J": {"check": 0.667, "bet": 0.3333}}
    found = load(save(tmp_path, "a.json", rounded), KUHN)
    assert sum(found["J"].values()) == pytest.approx(1, abs=1e-12)


WITHOUT = {I: row for I, row in GOOD.items() if I != "K bet"}
BAD = {
    "a.json": ("[1, 2", "line 1"),
    "b.json": ("[1, 2]", "not a dictionary"),
    "c.json": (WITHOUT, "no probabilities for 'K bet'"),
    "d.json": (GOOD | {"A": {"check": 1}}, "no infoset 'A'"),
    "e.json": (GOOD | {"J": {"check": 0.5, "raise": 0.5}}, "no action 'raise'"),
    "f.json": (GOOD | {"J": {"check": 0.5, "bet": 0.6}}, "add up to 1.1"),
    "g.json": (GOOD | {"J": {"check": 1.5, "bet": -0.5}}, "no probability"),
    "h.json": (json.dumps(GOOD).replace("0.5", "NaN", 1), "no probability"),
    "i.json": (GOOD | {"J": {"check": True, "bet": False}}, "no probability"),
    "j.json": (GOOD | {"J": {"check": "1/2", "bet": "1/2"}}, "no probability"),
    "k.json": (GOOD | {"J": [0.5, 0.5]}, "no dictionary of actions"),
    "l.json": ("[" * 100_000, "recursion|Stack overflow"),
    "m.json": (json.dumps(GOOD).replace("0.5", "1" + "0" * 400, 1), "no probability"),
    "n.csv": ("card,action,p\nJ,bet,1", "first line"),
    "o.csv": (table(GOOD) + "\nJ;bet;1", "a line with 1 fields"),
    "p.csv": (table(GOOD) + "\nJ,bet,half", "half"),
    "q.csv": ("", "first line"),
    "r.txt": ("hello", "not a .json"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_files_have_a_reason(tmp_path, name):
    content, reason = BAD[name]
    with pytest.raises(Invalid, match=reason):
        load(save(tmp_path, name, content), KUHN)


def test_too_large_and_strange_files(tmp_path):
    large = save(tmp_path, "a.json", " " * (tournament.LARGEST * 1_000_000 + 1))
    (tmp_path / "b.json").symlink_to("/etc/passwd")
    (tmp_path / "c.json").mkdir()
    for path in (large, tmp_path / "b.json", tmp_path / "c.json"):
        with pytest.raises(Invalid, match=r"larger|ordinary"):
            load(path, KUHN)


def test_invalid_files_do_not_stop_the_others(tmp_path, capsys):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    save(folder, "anna.json", GOOD)
    save(folder, "anna.csv", table(GOOD))
    save(folder, "=ben.json", GOOD | {"J": {"check": 0, "bet": 1}})
    save(folder, "@dan.json", GOOD | {"J": {"check": 0, "bet": 1}})
    save(folder, "-\x1b[2J.json", "[")
    save(folder, "<b>eve.json", "[")
    (folder / os.fsdecode(b"odd\xff.json")).write_text("{", "utf-8")
    save(folder, ".hidden", "")
    assert tournament.main([str(folder), "--out", str(out)]) == 0
    said = capsys.readouterr().out
    assert "not playing  <b>eve.json" in said and "anna.json: a second file" in said
    page = (out / "table.html").read_text("utf-8")
    assert "&lt;b&gt;eve.json" in page and "<b>eve" not in page
    with (out / "table.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file))
    assert {row[0] for row in rows[1:4]} == {"'=ben", "'@dan", "anna"}  # no formula
    assert "'-\N{REPLACEMENT CHARACTER}[2J.json" in {row[0] for row in rows[4:]}
    assert "\x1b" not in said
    assert len(rows) == 8 and rows[0] == list(tournament.HEAD)


def test_nobody_to_play_with(tmp_path):
    save(tmp_path, "anna.json", GOOD)
    assert tournament.main([str(tmp_path), "--out", str(tmp_path / "out")]) == 1


# ---- programs --------------------------------------------------------------------------------

UNIFORM = f"strategy = {GOOD!r}\n"


@SANDBOX
@pytest.mark.slow
def test_a_program_defines_a_strategy(tmp_path):
    source = "print('x' * 10_000)\nimport cfrlib as cfr\n"
    source += "strategy = cfr.Strategy.uniform(cfr.games.KuhnPoker())\n"
    assert load(save(tmp_path, "a.py", source), KUHN) == cfr.Strategy.uniform(KUHN)


@SANDBOX
@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "reason"),
    [
        ("strategy = 1 / 0", "ZeroDivisionError"),
        ("", "the program failed"),
        ("strategy = {'J': 1}", "the program failed"),
        (f"{UNIFORM}import os; os._exit(0)", "the program failed"),
        ("x = bytearray(6 * 2**30)", "MemoryError"),
        ("open('/tmp/a', 'w').write('x' * 300_000_000)", "File too large"),
        ("strategy = {'J': {'x' * 10_000_000: 1}}", "larger than 5 MB"),
        ("import sys\nfor _ in range(9_999): print('x' * 999, file=sys.stderr)\n1/0", "Zero"),
        ("import subprocess; subprocess.run('true')", "not permitted"),
    ],
)
def test_a_program_that_fails_has_a_reason(tmp_path, source, reason):
    with pytest.raises(Invalid, match=reason):
        load(save(tmp_path, "a.py", source), KUHN)


@SANDBOX
@pytest.mark.slow
def test_a_program_that_never_ends_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(tournament, "PATIENCE", 1)
    with pytest.raises(Invalid, match="no strategy, and no error, in 1 seconds"):
        load(save(tmp_path, "a.py", "while True: pass"), KUHN)


@SANDBOX
@pytest.mark.slow
def test_a_program_sees_no_other_files(tmp_path):
    """It tries to read a neighbor's file and to leave one of its own beside it."""
    save(tmp_path, "rival.json", GOOD)
    source = f"""
from pathlib import Path
found = Path({str(tmp_path / "rival.json")!r}).exists()
try:
    Path({str(tmp_path / "left.txt")!r}).write_text("here")
except OSError:
    pass
assert not found
{UNIFORM}"""
    load(save(tmp_path, "a.py", source), KUHN)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.py", "rival.json"]


def test_without_a_sandbox_no_program_runs(tmp_path, monkeypatch):
    monkeypatch.setattr(contained, "can_sandbox", lambda: False)
    mark = tmp_path / "ran"
    path = save(tmp_path, "a.py", f"open({str(mark)!r}, 'w')\n{UNIFORM}")
    with pytest.raises(Invalid, match="no bubblewrap"):
        load(path, KUHN)
    assert not mark.exists()


@pytest.mark.slow
def test_the_command_plays_the_example(tmp_path):
    command = [sys.executable, tournament.__file__, "--out", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "never_bluffs wins. Safe: equilibrium." in done.stdout
    assert (tmp_path / "table.html").is_file()


# ---- leaderboard -----------------------------------------------------------------------------

LEARNER = """
from cfrlib.plain import Vanilla

def learn(game):
    run = Vanilla(game)
    for _ in range({rounds}):
        average = run.run(100)
        yield {what}
"""


def learner(folder, name, what="average", rounds=1_000_000):
    return save(folder, name, LEARNER.format(what=what, rounds=rounds))


@SANDBOX
@pytest.mark.slow
def test_board_is_sorted_and_says_why_a_file_is_left_out(tmp_path, capsys):
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    learner(folder, "ends.py", rounds=10)
    learner(folder, "uniform.py", "Vanilla(game).average()")
    learner(folder, "never.py", rounds=0)
    learner(folder, "wrong.py", "{'J': {'check': 1}}")
    save(folder, "breaks.py", "def learn(game):\n    raise ValueError('no idea')\n    yield\n")
    save(folder, "strategy.json", GOOD)
    options = ["--game", "kuhn", "--seconds", "4", "--out", str(out)]
    assert leaderboard.main([str(folder), *options]) == 0
    said = capsys.readouterr().out
    with (out / "board.csv").open(encoding="utf-8", newline="") as file:
        head, *rows = csv.reader(file)
    assert head == ["program", "0.0625 s", "0.25 s", "1 s", "4 s"]
    assert [row[0] for row in rows[:2]] == ["ends", "uniform"]
    # 1,000 iterations, and a strategy that never changes
    assert rows[0][-1] == "0.00727" and rows[1][-1] == "0.458"
    reasons = {row[0]: row[-1] for row in rows[2:]}
    assert reasons == {
        "breaks.py": "the program failed: ValueError: no idea",
        "never.py": "learn yielded no strategy within 4 seconds",
        "strategy.json": "not a .py file",
        "wrong.py": reasons["wrong.py"],
    }
    assert "no probabilities for" in reasons["wrong.py"]
    assert all(f"not on the board  {name}: {reasons[name]}" in said for name in reasons)
    assert "no idea" in (out / "board.html").read_text("utf-8")


@SANDBOX
@pytest.mark.slow
def test_a_strategy_that_comes_too_late_does_not_count(tmp_path):
    """After the first strategy, the second takes half of the time, the third all of it."""
    source = """
import time

def learn(game):
    rows = {c + after: {"check": 1, "bet": 0} for c in "JQK" for after in ("", " check")}
    facing = (" bet", " check-bet")
    rows |= {c + after: {"fold": 1, "call": 0} for c in "JQK" for after in facing}
    yield rows
    for wait, call in ((0.5, 0.5), (1, 1)):
        end = time.process_time() + wait
        while time.process_time() < end:
            pass
        yield rows | {"K bet": {"fold": 1 - call, "call": call}}
"""
    path = save(tmp_path, "late.py", source)
    quarter, all_of_it = leaderboard.race(path, "kuhn", 1)[2:]
    passive = {I: dict(zip(row, (1, 0), strict=True)) for I, row in GOOD.items()}
    first, second = (
        cfr.exploitability(KUHN, passive | {"K bet": {"fold": 1 - p, "call": p}})
        for p in (0, 0.5)
    )
    assert quarter == pytest.approx(first, abs=1e-12) and all_of_it == pytest.approx(second)
    assert first > second


@SANDBOX
@pytest.mark.slow
def test_examples_of_the_board_learn(tmp_path):
    for path in sorted(leaderboard.EXAMPLES.glob("*.py")):
        numbers = leaderboard.race(path, "kuhn", 2)
        assert numbers[-1] < 0.05, path.name


SOLVED = """
import cfrlib as cfr, cfrlib.plain, time
def work(seconds):
    end = cpu() + seconds
    while cpu() < end:
        pass
cpu = time.process_time
strategy = cfr.plain.Vanilla(cfr.games.KuhnPoker()).run(100)
"""
LATE = "learn yielded no strategy within 1 seconds"
# Each pretends that it had a strategy before it had computed for a second.
FORGED = {
    "writes the result itself": (
        "import json, os\nopen('strategy.json', 'w').write(json.dumps([strategy] * 4))\n"
        "os._exit(0)",
        LATE,
    ),
    "has another clock": (
        "time.process_time = lambda: 0.0\ndef learn(game):\n    work(1.5)\n    yield strategy",
        LATE,
    ),
    "computes before it learns": (
        "work(1.5)\ndef learn(game):\n    yield strategy",
        LATE,
    ),
    "computes in threads": (
        "from threading import Thread\n"
        "def learn(game):\n"
        "    threads = [Thread(target=work, args=[n]) for n in (1.5, 1.5)]\n"
        "    for thread in threads: thread.start()\n"
        "    for thread in threads: thread.join()\n"
        "    yield strategy",
        LATE,
    ),
    "computes in another process": (
        "import subprocess, sys\n"
        "def learn(game):\n"
        "    subprocess.run([sys.executable, '-c', 'sum(range(10**8))'], check=True)\n"
        "    yield strategy",
        "not permitted",
    ),
    "computes in a process that nobody waits for": (
        "import os, signal\nsignal.signal(signal.SIGCHLD, signal.SIG_IGN)\n"
        "def learn(game):\n    os.fork() or work(1.5)\n    yield strategy",
        "not permitted",
    ),
    "tells without waiting": (
        "import os\nwork(1.5)\n"
        "def learn(game):\n"
        "    line = __import__('json').dumps(dict(strategy)).encode()\n"
        "    for file in range(3, 99):\n"
        "        try: os.write(file, line + b'\\n')\n"
        "        except OSError: pass\n"
        "    os._exit(0)\n    yield",
        LATE,
    ),
}


@SANDBOX
@pytest.mark.slow
@pytest.mark.parametrize("how", FORGED)
def test_no_program_is_faster_than_it_was(tmp_path, how):
    source, reason = FORGED[how]
    with pytest.raises(Invalid, match=reason):
        leaderboard.race(save(tmp_path, "forged.py", SOLVED + source), "kuhn", 1)


@SANDBOX
@pytest.mark.slow
@pytest.mark.parametrize("then", ["while True: pass", "import time; time.sleep(1_000)"])
def test_a_program_that_is_stopped_keeps_what_it_had(tmp_path, monkeypatch, then):
    monkeypatch.setattr(tournament, "WAIT", 1)
    source = f"{SOLVED}def learn(game):\n    yield strategy\n    {then}\n    yield {{}}"
    numbers = leaderboard.race(save(tmp_path, "a.py", source), "kuhn", 1)
    solved = cfr.plain.Vanilla(KUHN).run(100)
    assert numbers[-1] == pytest.approx(cfr.exploitability(KUHN, solved), abs=1e-12)
