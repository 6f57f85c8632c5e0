"""The hub's recipe: what a student's home gets."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
VALUES = yaml.safe_load((ROOT / "deploy" / "jupyterhub-values.yaml").read_text("utf-8"))
NAME = "04_vanilla_cfr.ipynb"


@pytest.fixture
def start(tmp_path):
    """Return a function that starts a student's server, as far as files are concerned."""
    image, releases, home = (tmp_path / name for name in ("image", "releases", "home"))
    for name in ("book/_ext", "deploy", "experiments", "teaching"):
        (image / name).mkdir(parents=True)
    for name in ("deploy/home.py", "book/_ext/unsolved.py", f"book/{NAME}", "teaching/exam.md"):
        shutil.copyfile(ROOT / name, image / name)
    (image / "experiments" / "a.json").write_text("{}")
    releases.mkdir()
    (releases / NAME).write_text('{"cells": []}')
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "python3").symlink_to(sys.executable)
    command = VALUES["singleuser"]["lifecycleHooks"]["postStart"]["exec"]["command"]
    for old, new in (("/srv/cfr-book", image), ("/srv/releases", releases)):
        command = [word.replace(old, str(new)) for word in command]
    command = [word.replace("/home/jovyan/cfr-book", str(home)) for word in command]

    def started(solutions):
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        environment = {"PATH": path, "CFR_BOOK_SOLUTIONS": solutions}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        assert done.returncode == 0 and not done.stderr
        return home

    return started


def test_a_home_has_the_book_and_the_assignments_but_not_the_exam(start):
    home = start(VALUES["singleuser"]["extraEnv"]["CFR_BOOK_SOLUTIONS"])
    assert {path.name for path in home.iterdir()} == {"book", "experiments", "assignments"}
    assert (home / "book" / NAME).read_bytes() == (ROOT / "book" / NAME).read_bytes()
    assert (home / "assignments" / NAME).read_text() == '{"cells": []}'


def test_what_a_student_has_stays(start):
    (start("shown") / "assignments" / NAME).write_text("mine")
    assert (start("shown") / "assignments" / NAME).read_text() == "mine"


def test_solutions_can_be_hidden(start):
    text = (start("hidden") / "book" / NAME).read_text("utf-8")
    assert "{solution}" not in text and "{exercise}" in text
    tags = [cell["metadata"].get("tags", []) for cell in json.loads(text)["cells"]]
    assert ["answer"] in tags and not any("solution" in each for each in tags)
