"""Grades go back to the platform: into its own table, in which nothing else changes."""

import csv
import io
import zipfile

import classroom
import gradebooks
import pytest
from classroom import Outcome

NAME = "04_vanilla_cfr"
MOST = {"4.1": 2.0, "4.4": 3.0}
FILES = {
    "Moodle": "{student}_{number}_assignsubmission_file_/answers.ipynb",
    "Canvas": "{student}_{number}_77001_answers.ipynb",
}
# Two are graded, the third is not, and the fourth handed in nothing.
CLASS = {"Ada": "956", "Émilie": "957", "=Bob": "958"}
WORKSHEET = (
    'Identifier,"Full name","Email address",Status,Grade,"Maximum Grade",'
    '"Grade can be changed","Last modified (submission)","Last modified (grade)",'
    '"Feedback comments"\r\n'
    '"Participant 957","Émilie du Châtelet",e@example.org,"Submitted - ",,{full},Yes,'
    '"Sunday, 29 November 2026, 10:03 AM",-,"so far, ""good""\r\n'
    'next line"\r\n'
    "Participant 956,Ada Lovelace,a@example.org,Submitted - ,1.00,{full},Yes,-,-,\r\n"
    "Participant 958,Bob,b@example.org,Submitted - ,,{full},Yes,-,-,\r\n"
    "Participant 959,Carl,c@example.org,No submission - ,,{full},Yes,-,-,"
)
GRADEBOOK = (
    "\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Essay (7),4: Vanilla CFR (8),Total\n"
    ",,,,,,Manual Posting,\n"
    "    Points Possible,,,,,10,5,(read only)\n"
    '"du Châtelet, Émilie",957,e1,"emilie","A, B",3,,61.5\n'
    '"Lovelace, Ada",956,a1,ada,A,,"",\n'
    "Bob,958,b1,bob,A,1,,\n"
    "Carl,959,c1,carl,A,,,\n"
)


@pytest.fixture(params=FILES)
def collected(request, tmp_path):
    """Return a platform and a course with what it has collected."""
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        for student, number in CLASS.items():
            name = FILES[request.param].format(student=student, number=number)
            file.writestr(name, '{"cells": [], "metadata": {}}')
    classroom.collect(tmp_path / "all.zip", tmp_path / "submitted", NAME)
    return request.param, tmp_path


def reported(course, worksheet=None, content=None):
    """Write the tables of a course, and return the path of the table of points."""
    outcomes = []
    for folder in sorted((course / "submitted").iterdir()):
        _, _, number = gradebooks.whose(folder / NAME)
        scores = {"956": {"4.1": 2.0, "4.4": 3.0}, "957": {"4.1": 0.0, "4.4": 2.5}}.get(number)
        outcomes.append(Outcome(folder.name, scores, () if scores else ("is no notebook",)))
    if content:
        worksheet = course / "worksheet.csv"
        worksheet.write_bytes(content.encode("utf-8"))
    path = course / "grades" / f"{NAME}.csv"
    classroom.report(path, MOST, outcomes, worksheet)
    return path


def test_points_have_the_platforms_number(collected):
    platform, course = collected
    rows = list(csv.DictReader(reported(course).open(encoding="utf-8")))
    found = {row["number"]: row["all"] for row in rows if row["platform"] == platform}
    assert found == {"956": "5.0", "957": "2.5", "958": ""}


def test_new_table_has_the_platforms_columns(collected):
    platform, course = collected
    path = reported(course).with_name(f"{NAME}-{platform.lower()}.csv")
    head, *rows = csv.reader(path.open(encoding="utf-8"))
    table = [dict(zip(head, row, strict=True)) for row in rows]
    if platform == "Moodle":
        assert head == next(csv.reader([WORKSHEET.partition("\r\n")[0]]))
        found = {row["Identifier"].split()[1]: row["Grade"] for row in table}
        assert {row["Maximum Grade"] for row in table} == {"5"}
    else:
        assert head == ["Student", "ID", "SIS User ID", "SIS Login ID", "Section", NAME]
        assert rows[0] == ["    Points Possible", "", "", "", "", "5"]
        found = {row["ID"]: row[NAME] for row in table[1:]}
    assert found == {"956": "5", "957": "2.5", "958": ""}
    assert "'=Bob" in path.read_text("utf-8") and '"=' not in path.read_text("utf-8")


def test_platforms_table_comes_back_with_the_grades_and_nothing_else(collected, capsys):
    platform, course = collected
    if platform == "Moodle":
        before = WORKSHEET.format(full="5.00")
        after = before.replace(' - ",,5.00', ' - ",2.5,5.00').replace("1.00", "5", 1)
    else:
        before = GRADEBOOK
        after = before.replace('"A, B",3,,', '"A, B",3,2.5,').replace('A,,"",', 'A,,"5",')
    assert sum(a != b for a, b in zip(before, after, strict=False)) > 2
    path = reported(course, content=before).with_name(f"{NAME}-{platform.lower()}.csv")
    assert path.read_bytes() == after.encode("utf-8")
    assert "scaled" not in capsys.readouterr().out


@pytest.mark.parametrize(
    "full, grades",
    [("100.00", ("50", "100")), ("100,00", ('"50"', "100")), ("-", ("2.5", "5"))],
)
def test_other_maximum_scales_the_grades(tmp_path, capsys, full, grades):
    full = f'"{full}"' if "," in full else full
    people = [("956", 5.0), ("957", 2.5)]
    own = [gradebooks.Grade("Moodle", "", *person) for person in people]
    _, text, found = gradebooks.filled(WORKSHEET.format(full=full), own, 5, NAME)
    told = capsys.readouterr().out
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["Grade"] for row in rows] == [grades[0].strip('"'), grades[1], "", ""]
    assert found == {"956", "957"} and ("scaled" in told) == (full != "-")


def test_decimal_comma_of_a_platform_is_kept():
    text = GRADEBOOK.replace(",", ";").replace(";5;(", ";5,00;(")
    own = [gradebooks.Grade("Canvas", "", "958", 2.5)]
    assert 'Bob;958;b1;bob;A;1;"2,5";\n' in gradebooks.filled(text, own, 5, NAME)[1]


def test_who_is_excused_stays_so():
    text = GRADEBOOK.replace("bob,A,1,,", "bob,A,1,EX,")
    own = [gradebooks.Grade("Canvas", "", "958", 2.0)]
    assert gradebooks.filled(text, own, 5, NAME)[1] == text


def test_a_student_who_is_missing_or_doubled_is_named(collected, capsys):
    platform, course = collected
    text = WORKSHEET.format(full="5") if platform == "Moodle" else GRADEBOOK
    reported(course, content=text.replace("956", "1956"))
    assert "Not in" in (said := capsys.readouterr().out) and "Ada" in said
    forged = course / "submitted" / "Émilie" / NAME / "collected.json"
    forged.write_text(forged.read_text("utf-8").replace("957", "956"), "utf-8")
    path = reported(course, content=text).with_name(f"{NAME}-{platform.lower()}.csv")
    assert path.read_bytes() == text.encode("utf-8")
    assert "several have" in capsys.readouterr().out


@pytest.mark.parametrize(
    "text, why",
    [
        ("Name,Grade\nAda,1\n", "neither Moodle's"),
        (WORKSHEET.replace('"Full', '"Fu"ll'), "line 1 is not in the form of CSV"),
        (GRADEBOOK.replace("4: Vanilla CFR", "Homework"), "Essay (7), Homework (8)"),
    ],
)
def test_other_tables_are_refused_before_anything_is_graded(tmp_path, capsys, text, why):
    (tmp_path / "release" / NAME).mkdir(parents=True)
    (tmp_path / "other.csv").write_text(text, "utf-8")
    options = ["--course", str(tmp_path), "--grade", NAME]
    with pytest.raises(SystemExit):
        classroom.main([*options, "--worksheet", str(tmp_path / "other.csv")])
    assert why in capsys.readouterr().err
