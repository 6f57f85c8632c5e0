"""Tests of `make portable`: digits that depend on rounding are found, machines are imitated."""

import sys
from pathlib import Path

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import kernels  # noqa: E402
import portable  # noqa: E402

# ---- which numbers moved ---------------------------------------------------------------------


def ran(text, **more):
    output = new_output("display_data", data={"text/html": text}, **more)
    return new_notebook(cells=[new_code_cell("", id="a", outputs=[output])])


FRAMES = '<script type="application/json">{{"pieces": ["<dd>", "{}", "7"], "frames": [[0, 1]]}}'


@pytest.mark.parametrize(
    ("before", "after", "found"),
    [
        ("<td>0.0044</td>", "<td>0.0067</td>", ["… 0.0044 → 0.0067"]),
        ("<td>0.0044</td>", "<td>0.0044</td>", []),
        ('<img alt="about 15 times">', '<img alt="about 9 times">', ["… about 15 → 9"]),
        (f"{FRAMES.format(0.5)}</script>", f"{FRAMES.format(0.6)}</script>", ["… 0.5 → 0.6"]),
        ("bets 1,000", "checks 1,000", ["'bets #' became 'checks #'"]),
        ("-0.125", "-0.1250000000000142", []),  # the unit of money alone
        ("≈ 0.03", "≈ 0.02", []),
        ("≈ 0.03", "≈ 0.05", ["… ≈ 0.03 → ≈ 0.05"]),
        ("≈ 400,000", "≈ 300,000", []),
        ("0.24 ± 0.08", "0.20 ± 0.07", []),
        ("0.24 ± 0.08", "0.54 ± 0.08", ["… 0.24 → 0.54"]),
        ("0.24 ± 0.08", "0.24 ± 0.30", ["… 0.24 ± 0.08 → ± 0.30"]),
        ("0.24 ± 0.08", "0.24 ± 0.03", []),
        ("3.4e-13", "3.9e-13", ["… 3.4e-13 → 3.9e-13"]),
    ],
)
def test_numbers_that_move_are_named(before, after, found):
    told = portable.moved(ran(before), ran(after))
    assert [" ".join(line.removeprefix("cell a: ").split()) for line in told] == found


@pytest.mark.parametrize(
    ("test", "told"),
    [("assert e < 0.01", ["cell a: assert e < 0.01"]), ("assert abs(e) < 1e-12", [])],
)
def test_a_bound_that_fails_is_named_and_an_exact_test_is_not(test, told):
    nb = ran("")
    trace = [f"\x1b[31m----> 1\x1b[39m {test}"]
    error = new_output("error", ename="AssertionError", evalue="", traceback=trace)
    nb.cells[0].outputs.append(error)
    assert list(portable.moved(ran(""), nb)) == told


# Plain regret matching in biased rock-paper-scissors: its NashConv after 1,000 rounds is the
# same for every order of additions, to four digits; that after 100,000 is not.
PLANTED = """\
import cfrlib as cfr
game = cfr.games.RockPaperScissors(3)
path = cfr.play(game, 100_000)
for t in (1_000, 100_000):
    x, y = (average[t - 1] for average in path.average)
    print(f"{(game.row_payoffs @ y).max() - (x @ game.row_payoffs).min():.4f}")"""


@pytest.mark.slow
def test_a_planted_chaotic_digit_is_found(monkeypatch, tmp_path):
    nb = new_notebook(cells=[new_code_cell(PLANTED, id="chaos"), new_markdown_cell("")])
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    kernels.client(nb, tmp_path).execute()
    robust, chaotic = nb.cells[0].outputs[0].text.split()
    nb.cells[1].source = f"The numbers are {robust} and {chaotic}."
    path = tmp_path / "page.ipynb"
    monkeypatch.setattr(portable, "executed", lambda _: nb)
    cell, prose = portable.perturbed(path)
    assert cell.startswith(f"cell chaos: … {robust} {chaotic} → ")
    assert f"computes or asserts {chaotic}" in prose


# ---- machines --------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", [portable.possible()[n] for n in (0, -1)])
def test_installed_libraries_follow_settings(name):
    assert portable.ignored(portable.environment(name)) == []


@pytest.mark.slow
def test_failed_imitation_fails_the_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(portable, "PLACE", tmp_path)
    monkeypatch.setattr(portable, "MACHINES", {"odd": {"OPENBLAS_CORETYPE": "Odd"}})
    monkeypatch.setattr(portable, "PYTEST", [])  # and nothing is run
    assert portable.main(["--machines", "odd"]) == 1
    assert "not imitated: OPENBLAS_CORETYPE=Odd, but" in capsys.readouterr().out
