"""Tests of `make portable`: imitation of machines, and the report of differing outputs."""

import subprocess
import sys
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import portable  # noqa: E402
from portable import MACHINES, Result, Row  # noqa: E402

GROUPS = {"X86_V3": True, "X86_V4": True, "AVX512_ICL": True, "AVX512_SPR": False}
SINGLE = ["SSSE3", "SSE41", "POPCNT", "SSE42", "AVX", "F16C", "FMA3", "AVX2", "AVX512F"]
OLDER = {**dict.fromkeys(SINGLE, True), "AVX512_SKX": False}


# ---- machines ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("machine", "dispatched", "off"),
    [
        ("no AVX", GROUPS, "X86_V3 X86_V4 AVX512_ICL"),
        ("AVX2 only", GROUPS, "X86_V4 AVX512_ICL"),
        ("no AVX", OLDER, "AVX F16C FMA3 AVX2 AVX512F"),
        ("AVX2 only", OLDER, "AVX512F"),
    ],
)
def test_newer_cpu_features_are_disabled_by_numpy_name(tmp_path, machine, dispatched, off):
    variables = portable.environment(MACHINES[machine], dispatched, tmp_path)
    assert variables["NPY_DISABLE_CPU_FEATURES"] == off


def test_unchanged_machine_sets_only_its_own_caches(tmp_path):
    variables = portable.environment(MACHINES["this one"], GROUPS, tmp_path)
    homes = {name for name, value in variables.items() if str(tmp_path) in value}
    assert homes == {"NUMBA_CACHE_DIR", "JAX_COMPILATION_CACHE_DIR", "CFRLIB_PAGE_CACHE"}
    assert set(variables) - homes == {"JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"}


def test_thread_count_is_set_for_every_library(tmp_path):
    variables = portable.environment(MACHINES["one thread"], GROUPS, tmp_path)
    assert {name for name, value in variables.items() if value == "1"} == {
        "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS",
        "NPROC",
    }  # fmt: skip


OLD = {
    "numpy": {"X86_V3": False, "X86_V4": False},
    "blas": {"numpy": ("Nehalem", 2), "scipy": ("nehalem", 2)},
    "numba": "generic",
    "xla": [],
    "threads": {"Numba": 2},
}


@pytest.mark.parametrize(
    ("machine", "found", "complaints"),
    [
        ("no AVX", {}, []),
        ("this one", {}, []),
        ("no AVX", {"numpy": {"X86_V3": True}}, ["NumPy uses X86_V3"]),
        ("no AVX", {"blas": {}}, ["OpenBLAS runs as nothing, not as Nehalem"]),
        (
            "no AVX",
            {"blas": {"numpy": ("Nehalem", 2), "scipy": ("Zen", 2)}},
            ["OpenBLAS runs as Nehalem, Zen, not as Nehalem"],
        ),
        ("no AVX", {"numba": "znver4"}, ["Numba compiles for znver4, not for generic"]),
        ("no AVX", {"xla": ["AVX", "FMA"]}, ["XLA uses AVX FMA"]),
        ("AVX2 only", {"xla": ["AVX2", "AVX512F"], "numba": "haswell",
                       "blas": {"numpy": ("Haswell", 2)}}, ["XLA uses AVX512F"]),
        ("one thread", {"blas": {"numpy": ("Zen", 3)}},
         ["Numba has 2 threads", "numpy has 3 threads"]),
    ],
)  # fmt: skip
def test_libraries_that_ignore_settings_are_reported(machine, found, complaints):
    assert portable.missed(MACHINES[machine], OLD | found) == complaints


@pytest.mark.slow
@pytest.mark.parametrize("name", [[*portable.possible()][n] for n in (0, -1)])
def test_installed_libraries_follow_settings(tmp_path, name):
    machine = portable.possible()[name]
    variables = portable.environment(machine, portable.features(), tmp_path)
    assert portable.missed(machine, portable.probe_under(variables)) == []


@pytest.mark.slow
def test_failed_imitation_fails_the_run(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(portable, "PLACE", tmp_path)
    monkeypatch.setattr(portable, "environment", lambda *_: {})
    monkeypatch.setattr(portable, "possible", lambda: {"odd": portable.Machine(threads=77)})
    monkeypatch.setattr(portable, "run", None)  # and nothing is run
    assert portable.main(["--machines", "odd"]) == 1
    assert "not imitated: Numba has" in capsys.readouterr().out


# ---- what differs --------------------------------------------------------------------------

TESTS = """
import os
import pytest

def test_right():
    assert os.environ["PLANTED"] == "yes"

def test_wrong():
    assert 0.5 == 0.25 + 0.26

@pytest.mark.parametrize("kind", ["a b"])
def test_error(kind, not_there):
    pass

@pytest.mark.skip
def test_skipped():
    pass
"""


@pytest.mark.slow
def test_report_lists_failing_tests(tmp_path):
    (tmp_path / "test_planted.py").write_text(TESTS)
    result = portable.run([str(tmp_path)], {"PLANTED": "yes"}, tmp_path / "report.xml")
    assert result.passed == 1
    (wrong, values), (error, fixture) = result.differing.items()
    assert wrong.endswith("test_planted::test_wrong")
    assert values == "E       assert 0.5 == (0.25 + 0.26)"
    assert error.endswith("test_planted::test_error[a b]")
    assert fixture == "E       fixture 'not_there' not found"


@pytest.mark.slow
def test_pytest_usage_error_is_reported_as_failure(tmp_path):
    result = portable.run([str(tmp_path / "nowhere.py")], {}, tmp_path / "report.xml")
    assert result.passed == 0
    assert "nowhere.py" in result.differing["pytest itself"]


def notebook(path, cells):
    nb = nbformat.v4.new_notebook()
    for n, (source, printed) in enumerate(cells):
        output = nbformat.v4.new_output("stream", name="stdout", text=printed)
        nb.cells.append(nbformat.v4.new_code_cell(source, outputs=[output], execution_count=n))
    nb.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    nbformat.write(nb, path)


@pytest.mark.slow
def test_report_lists_differing_cell_outputs(tmp_path):
    path = tmp_path / "page.ipynb"
    notebook(path, [("print(1 + 1)", "2\n"), ("print('same'); print(0.5)", "same\n0.6\n")])
    arguments = [*portable.PARTS["notebooks"], str(path)]
    variables = {"CFRLIB_PAGE_CACHE": str(tmp_path / "cache")}
    result = portable.run(arguments, variables, tmp_path / "report.xml")
    assert result.passed == 1
    ((name, difference),) = result.differing.items()
    assert name.endswith("page.ipynb::Cell 1")
    assert difference.splitlines() == ["-0.6", "+0.5"]


def test_table_lists_results_and_differences():
    rows = [
        Row("no AVX", "library", Result(1_234, {}, 99.6), "hypothesis seed 5"),
        Row("no AVX", "notebooks", Result(7, {"page::Cell 3": "-1\n+2"}, 8.0), ""),
        Row("one thread", "all", None, "not imitated: Numba has 2 threads"),
    ]
    lines = portable.table(rows).splitlines()
    assert lines[1].split() == ["no", "AVX", "library", "1234", "0", "100",
                                "hypothesis", "seed", "5"]  # fmt: skip
    assert lines[3].split()[:6] == ["one", "thread", "all", "-", "-", "-"]
    assert lines[5:] == ["no AVX, notebooks: page::Cell 3", "    -1", "    +2"]


def test_interrupt_prints_results_so_far(monkeypatch, capsys):
    def examine(name, parts, workers):
        yield Row(name, parts[0], Result(3, {}, 1.0), "")
        raise KeyboardInterrupt

    monkeypatch.setattr(portable, "examine", examine)
    assert portable.main(["--machines", "this one"]) == 1
    printed = capsys.readouterr().out
    assert "this one, library: 3 passed, 0 differ, 1 s" in printed
    assert "Interrupted. Known so far:" in printed
    assert printed.splitlines()[-1].split() == ["this", "one", "library", "3", "0", "1"]


def test_busy_processes_end_with_the_block(monkeypatch):
    started, popen = [], subprocess.Popen

    def start(command):
        started.append(popen(command))
        return started[-1]

    with monkeypatch.context() as patched:
        patched.setattr(portable.subprocess, "Popen", start)
        with portable.busy(2):
            assert [child.poll() for child in started] == [None, None]
    assert all(child.wait() for child in started)  # killed


# ---- other random examples -----------------------------------------------------------------

EXAMPLES = """
from pathlib import Path
from hypothesis import given, strategies as st

@given(st.integers())
def test_examples(n):
    with Path(__file__).with_name("examples").open("a") as file:
        file.write(f"{n} ")
"""


@pytest.mark.slow
def test_fresh_profile_varies_examples_with_the_seed(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text("utf-8"))
    (tmp_path / "test_planted.py").write_text(EXAMPLES)
    fresh = next(option for option in portable.PARTS["library"] if "hypothesis" in option)
    found = []
    for seed in (1, 2):
        arguments = [fresh, f"--hypothesis-seed={seed}", str(tmp_path)]
        assert portable.run(arguments, {}, tmp_path / "report.xml").differing == {}
        found.append((tmp_path / "examples").read_text())
        (tmp_path / "examples").unlink()
    assert found[0] != found[1]
