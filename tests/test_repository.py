"""README, Makefile, workflow and other files agree with the book and the package."""

import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
import yaml

import cfrlib

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import package  # noqa: E402
import portable  # noqa: E402
from notebooks import NEED_NETWORKS  # noqa: E402

TEXTS = ("README.md", "CONTRIBUTING.md", "CHANGELOG.md", "book/troubleshooting.md")
TARGETS = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
WORKFLOW = (ROOT / ".github" / "workflows" / "book.yml").read_text("utf-8")
JOBS = yaml.safe_load(WORKFLOW)["jobs"]
STEPS = [step for job in JOBS.values() for step in job["steps"]]


def read(name):
    return (ROOT / name).read_text("utf-8")


OLDEST, PAST = map(int, re.search(r">=3\.(\d+),<3\.(\d+)", read("pyproject.toml")).groups())
PYTHONS = [f"3.{minor}" for minor in range(OLDEST, PAST)]


def code(text):
    """Return a text's inline code and indented code lines."""
    blocks = re.findall(r"^(?: {4}|\t)(.*)$", text, re.MULTILINE)
    return [*blocks, *re.findall(r"`([^`\n]+)`", text)]


# ---- versions --------------------------------------------------------------------------------


def test_version_agrees_across_files():
    version = cfrlib.__version__
    assert tomllib.loads(read("pyproject.toml"))["project"]["version"] == version
    citation = yaml.safe_load(read("CITATION.cff"))
    assert citation["version"] == citation["preferred-citation"]["version"] == version
    assert f"version {version}" in read("README.md")
    assert f"version   = {{{version}}}" in read("book/index.md")
    newest = re.search(r"^## \[(.*?)\]", read("CHANGELOG.md"), re.MULTILINE)[1]
    assert newest in (version, "Unreleased")


def test_supported_pythons_agree_across_files():
    """`requires-python` is their one place; the Makefile and ruff read it."""
    named = tomllib.loads(read("pyproject.toml"))["project"]["classifiers"]
    assert [name.rpartition(" ")[2] for name in named if ":: 3." in name] == PYTHONS
    first, last = PYTHONS[0], PYTHONS[-1]
    assert f"Python {first} to {last}" in read("README.md")
    assert f"Python {first} to {last} is needed" in read("book/troubleshooting.md")
    assert f"older than {first} or newer than {last}" in read("book/troubleshooting.md")
    assert read("binder/runtime.txt").strip() == f"python-{first}"


def test_book_title_agrees_across_files():
    title = yaml.safe_load(read("_config.yml"))["title"]
    assert yaml.safe_load(read("CITATION.cff"))["preferred-citation"]["title"] == title


# ---- commands and files named in documents ---------------------------------------------------


@pytest.mark.parametrize("name", TEXTS)
def test_named_make_targets_exist(name):
    named = {
        target
        for line in code(read(name))
        if line.startswith("make ")
        for target in line.split()[1:]
        if re.fullmatch(r"[a-z-]+", target)
    }
    assert named and named <= TARGETS


@pytest.mark.parametrize("name", TEXTS)
def test_named_files_exist(name):
    kinds = r"(?:[\w.-]+/)+[\w.-]+\.(?:py|json|md|bib|ipynb|txt|toml|yml|html)"
    named = {path for line in code(read(name)) for path in re.findall(kinds, line)}
    placeholder = re.compile(r"name\.|^\.venv/|^_build/|^path/")
    assert not [
        path
        for path in named
        if not placeholder.search(path)
        and not any((home / path).exists() for home in (ROOT, ROOT / "cfrlib"))
    ]


def test_every_result_of_an_experiment_has_a_row():
    """The table in experiments/README.md: the file, script, seeds, budget, machine and page."""
    folder = ROOT / "experiments"
    lines = [line for line in read("experiments/README.md").splitlines() if "| `" in line]
    rows = [[cell.strip(" `") for cell in line.strip("|").split("|")] for line in lines]
    results = {
        path.relative_to(folder).as_posix()
        for kind in ("json", "csv", "npz")
        for path in folder.rglob(f"*.{kind}")
        if "runs" not in path.parts
    }
    listed = [found for row in rows for found in folder.glob(row[0])]
    assert sorted(path.relative_to(folder).as_posix() for path in listed) == sorted(results)
    uses = {}
    for result, script, *described, page in rows:
        assert len(described) == 3 and all(described) and any(folder.glob(result)), result
        assert (folder / script).exists(), script
        for name in re.findall(r"\w+\.ipynb", page):
            assert (ROOT / "book" / name).exists(), name
            uses.setdefault(name, set()).add(result)
    for path in (ROOT / "book").glob("*.ipynb"):  # names of players are put together there
        text = path.read_text("utf-8")
        named = {result for result in results if re.search(rf"\b{Path(result).name}\b", text)}
        players = {result for result in uses.get(path.name, ()) if result.endswith(".npz")}
        assert named | players == uses.get(path.name, set()), path.name


def test_documents_list_the_chapters_that_need_jax():
    """The other chapters run without JAX, which is most of the download."""
    deep = set()
    for path in (ROOT / "book").glob("*.ipynb"):
        cells = json.loads(path.read_text("utf-8"))["cells"]
        code = "".join(
            "".join(c["source"]) + "\n"
            for c in cells
            if c["cell_type"] == "code" and c["id"] != "colab"
        )
        if NEED_NETWORKS.search(code):
            deep.add(path.name.partition("_")[0])
    assert deep == {"10", "11", "12", "14", "16"}
    for name in ("README.md", "pyproject.toml", "book/troubleshooting.md"):
        assert "10, 11, 12, 14 and 16" in read(name), name


def test_readme_lists_the_chapters_of_the_book():
    parts = yaml.safe_load(read("_toc.yml"))["parts"]
    pages = [page["file"] for part in parts[:-1] for page in part["chapters"]]
    listed = re.findall(r"\[([^]]+)\]\((book/\w+)(\.ipynb|\.md)\)", read("README.md"))
    assert parts[-1]["caption"] == "Appendix"
    assert [page for _, page, _ in listed][: len(pages)] == pages
    for title, page, ending in listed:
        text = re.sub(r"^# \[(.+)\]\{.*\}$", r"# \1", read(page + ending), flags=re.MULTILINE)
        assert f"# {title}\\n" in text.replace("\n", "\\n"), page


def test_badges_of_the_readme_are_true():
    badges = re.findall(r"img\.shields\.io/badge/(\w+)-([\w.]+)-", read("README.md"))
    assert dict(badges) == {
        "python": f"{PYTHONS[0]}_to_{PYTHONS[-1]}",
        "code": tomllib.loads(read("pyproject.toml"))["project"]["license"],
        "text": "CC_BY_4.0",
    }
    assert "CC BY 4.0" in read("_config.yml")
    assert "actions/workflows/book.yml/badge.svg" in read("README.md")


@pytest.mark.parametrize("name", [*TEXTS, "book/for_teachers.md"])
def test_commands_have_no_comment(name):
    """A comment pasted into zsh, the shell of macOS, becomes arguments of its command."""
    command = re.compile(r"(\w+=\S+ )*(make|pip|python3?|uv|git|jupyter[\w-]*|\.venv/\S+) ")
    lines = [line for line in code(read(name)) if command.match(line)]
    assert lines and not [line for line in lines if re.search(r"\s#", line)]


# ---- the workflow ----------------------------------------------------------------------------


def test_workflow_runs_the_two_commands_of_the_readme():
    two = re.search(r"## Two commands\n\n(.*?)\n\n", read("README.md"), re.DOTALL)[1]
    commands = [line.strip() for line in two.splitlines()]
    assert commands == ["make book", "make test"]
    runs = [step["run"] for step in JOBS["book"]["steps"] if "run" in step]
    made = [run for run in runs if run.startswith("make")]
    assert made == [*commands, "make test-slow", "make package"]
    assert re.findall(r"make [a-z-]+$", read(".ci/run"), re.MULTILINE) == made[1:3]


def test_workflow_covers_every_machine_and_python():
    rows = JOBS["portable"]["strategy"]["matrix"]["include"]
    assert {row["machine"] for row in rows if "os" not in row} == set(portable.MACHINES)
    assert {row.get("python", PYTHONS[0]) for row in rows} == set(PYTHONS)
    assert set(re.findall(r"python-version: .*?\b(3\.\d+)", WORKFLOW)) == {PYTHONS[0]}
    assert {row["os"].split("-")[0] for row in rows if "os" in row} == {"macos", "windows"}


def test_workflow_names_no_owner_and_pins_major_versions():
    assert not re.search(r"github\.com/\w|github\.io|/gh/\w", WORKFLOW)
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert used and all(re.fullmatch(r"actions/[\w-]+@v\d+", action) for action in used)


def test_workflow_permissions_are_minimal():
    flow = yaml.safe_load(WORKFLOW)
    assert flow["permissions"] == {}
    may = {name: job.get("permissions", {}) for name, job in flow["jobs"].items()}
    assert may == {
        "book": {"contents": "read", "pages": "read"},
        "portable": {"contents": "read"},
        "mistakes": {"contents": "read"},
        "publish": {"pages": "write", "id-token": "write"},
        "binder": {},
    }


def test_releases_are_started_by_hand_and_need_no_password():
    text = read(".github/workflows/release.yml")
    flow = yaml.safe_load(text)
    assert list(flow[True]) == ["workflow_dispatch"]  # YAML reads `on` as true
    assert flow["permissions"] == {}
    may = {name: job["permissions"] for name, job in flow["jobs"].items()}
    assert may == {
        "find": {"actions": "read", "contents": "read"},
        "pypi": {"id-token": "write"},
        "github": {"contents": "write"},
    }
    assert "secrets." not in text and "github.com/" not in text
    made = {s["with"]["name"] for s in STEPS if "upload-artifact" in s.get("uses", "")}
    assert {"package", "site"} <= made  # what it downloads


# ---- the package for PyPI --------------------------------------------------------------------


def test_package_has_the_addresses_that_are_known():
    assert package.urls(None, "main", "") == ""
    site = "https://example.org/cfr"
    only = tomllib.loads(package.urls(None, "main", site))["project"]["urls"]
    assert only == {"Book": site}
    urls = tomllib.loads(package.urls("https://github.com/o/r", "main", site))["project"][
        "urls"
    ]
    assert urls["Source"] == "https://github.com/o/r" and urls["Book"] == site
    assert "urls" not in tomllib.loads(read("pyproject.toml"))["project"]


def test_readme_on_pypi_has_no_relative_link():
    text = read("README.md")
    assert package.LINK.search(text)
    for source in (None, "https://github.com/o/r"):
        assert not package.LINK.search(package.readme(text, source, "main"))
    page = (
        "![a picture](.github/book.png) [a chapter](book/a.ipynb) [site](https://example.org)"
    )
    assert package.readme(page, None, "main") == " a chapter [site](https://example.org)"
