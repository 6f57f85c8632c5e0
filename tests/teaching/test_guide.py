"""What the teacher's guide says about nbgrader."""

import re
import textwrap
from pathlib import Path

import pytest
from nbgrader.apps.dbapp import DbAssignmentAddApp
from nbgrader.plugins import LateSubmissionPlugin
from nbgrader.preprocessors import AssignLatePenalties

GUIDE = (Path(__file__).parents[2] / "teaching" / "guide.md").read_text("utf-8")


def test_late_penalty_of_the_guide_works():
    code = re.search(r"^    from nbgrader\.plugins.*?(?=^\S)", GUIDE, re.M | re.S)[0]
    names = {}
    exec(textwrap.dedent(code), names)
    plugin = names["TenPercentADay"]()
    for seconds, penalty in ((1, 1), (86_400, 1), (86_401, 2), (100 * 86_400, 10)):
        assert plugin.late_submission_penalty("anna", 10, seconds) == pytest.approx(penalty)
    settings = AssignLatePenalties(plugin_class=names["TenPercentADay"])
    assert settings.plugin_class is names["TenPercentADay"]


def test_settings_of_the_guide_exist():
    name = re.search(r"c\.LateSubmissionPlugin\.(\w+) = \"(\w+)\"", GUIDE)
    assert getattr(LateSubmissionPlugin(**{name[1]: name[2]}), name[1]) == name[2]
    assert "--duedate" in GUIDE and DbAssignmentAddApp.duedate.metadata.get("config")
