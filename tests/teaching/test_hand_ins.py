"""Every file that a platform hands over ends in one row, and nobody's work replaces another's.

The archives have the names that the platforms give; `collecting.PLATFORMS` names the sources.
"""

import builtins
import csv
import json
import os
import random
import zipfile

import assignments
import classroom
import collecting
import nbformat
import pytest
import rebuilding
from nbformat.v4 import new_code_cell, new_notebook
from nbgrader.utils import is_grade, is_solution

NAME = "04_vanilla_cfr"
PAGE = assignments.BOOK / f"{NAME}.ipynb"


def released(name):
    """Return an assignment as it is handed out, without nbgrader."""
    nb = assignments.assignment(assignments.BOOK / f"{name}.ipynb")
    for cell in nb.cells:
        cell.source = cell.source.partition(assignments.BEGIN)[0].rstrip()
    return nb


@pytest.fixture(scope="module")
def release():
    return released(NAME)


@pytest.fixture(scope="module")
def page():
    return assignments.read(PAGE)


def answered(release, word):
    """Return the text of a submission with this word in all answers."""
    nb = nbformat.from_dict(release)
    for cell in filter(is_solution, nb.cells):
        cell.source = f"answer = {word!r}"
    return nbformat.writes(nb)


def archive(path, members, **options):
    """Write a zip file of (name, text) pairs, which may have one name twice."""
    with zipfile.ZipFile(path, "w", **options) as file:
        for name, text in members:
            file.writestr(name, text)
    return path


# Platform -> (file, word in the answers or X, student in whose row it ends or "")
NB, X = f"{NAME}.ipynb", "no notebook"
ARCHIVES = {
    "Moodle": [
        (f"Ada Lovelace_101_assignsubmission_file/{NB}", "ada", "Ada Lovelace"),
        (f"Kim Min_111_assignsubmission_file/{NB}", "kim 1", "Kim Min 111"),
        (f"Kim Min_222_assignsubmission_file/{NB}", "kim 2", "Kim Min 222"),
        ("Émile Borel_124_assignsubmission_file/work/deep/a (1).ipynb", "émile", "Émile Borel"),
        ("Lee_125_assignsubmission_file/essay.pdf", X, "Lee"),
        ("Ann_126_assignsubmission_onlinetext/onlinetext.html", X, "Ann"),
        (f"Bo_127_assignsubmission_file/{NAME}.ipynb.txt", "bo", "Bo"),
    ],
    "Moodle before 4.1, blind": [
        (f"Participant_1_assignsubmission_file_/{NB}", "one", "Participant 1"),
        (f"Participant_2_assignsubmission_file_/{NB}", "two", "Participant 2"),
    ],
    "Moodle without folders": [
        (f"Ada Lovelace_101_assignsubmission_file_{NB}", "ada", "Ada Lovelace"),
        (f"Kim Min_111_assignsubmission_file_{NB}", "kim 1", "Kim Min 111"),
        (f"Kim Min_222_assignsubmission_file_{NB}", "kim 2", "Kim Min 222"),
        ("Lee_125_assignsubmission_file_work.zip", X, "Lee"),
    ],
    "Moodle in a folder": [
        (f"HW4/Ada_1_assignsubmission_file_/{NB}", "ada", "Ada"),
        (f"HW4/Kim_2_assignsubmission_file_/{NB}", "kim 1", "Kim 2"),
        (f"HW4/Kim_3_assignsubmission_file_/{NB}", "kim 2", "Kim 3"),
        ("__MACOSX/HW4/._Ada_1_assignsubmission_file_", X, ""),
    ],
    "Canvas": [
        (f"lovelaceada_1000_5_{NB}", "ada", "lovelaceada"),
        (f"wangwei_1001_6_{NB}", "wei 1", "wangwei 1001"),
        (f"wangwei_1002_7_{NB}", "wei 2", "wangwei 1002"),
        (f"kuhnharold_LATE_1003_8_{NAME}-1.ipynb", "kuhn", "kuhnharold"),
        (f"nash_1004_9_{NAME}.IPYNB", "nash", "nash"),
        ("tucker_1005_text.html", X, "tucker"),
    ],
    "Canvas, anonymous": [
        (f"anon_x7Abc_5_{NB}", "x", "anon x7Abc"),
        (f"LATE_anon_12345_6_{NB}", "y", "anon 12345"),
    ],
    "Blackboard": [
        (f"Week 4_ada_attempt_2026-11-20-10-00-00_{NB}", "old", ""),
        ("Week 4_ada_attempt_2026-11-20-10-00-00.txt", "Name: Ada (ada)", ""),
        (f"Week 4_ada_attempt_2026-11-21-09-00-00_{NB}", "ada", "ada"),
        ("Week 4_ada_attempt_2026-11-21-09-00-00.txt", "Name: Ada (ada)", ""),
        ("Week 4_bob_attempt_2026-11-21-09-00-00_4.py", X, "bob"),
        ("Week 4_eve_attempt_2026-11-21-09-00-00.txt", "I could not do it.", "eve"),
    ],
    "Brightspace": [
        (f"301-77 - Mary-Ann Smith - Sep 24, 2026 926 PM/{NB}", "old", ""),
        (f"301-77 - Mary-Ann Smith - Sep 24, 2026 1126 PM/{NB}", "mary", "Mary-Ann Smith"),
        (f"302-77 - Kim Min - Sep 24, 2026 926 PM/{NB}", "kim 1", "Kim Min 302-77"),
        (
            f"303-77 - Kim Min - Sep 24, 2026 927 PM/{NAME}.ipynb.json",
            "kim 2",
            "Kim Min 303-77",
        ),
        ("index.html", X, ""),
    ],
    "ILIAS": [
        (f"Blatt_4/Abgaben/Lovelace_Ada_ada_7/{NB}", "ada", "Lovelace_Ada"),
        (f"Blatt_4/Abgaben/Min_Kim_kim1_8/{NB}", "kim 1", "Min_Kim 8"),
        (f"Blatt_4/Abgaben/Min_Kim_kim2_9/{NB}", "kim 2", "Min_Kim 9"),
        ("Blatt_4/Blatt_4.xlsx", X, ""),
    ],
    "ILIAS, teams": [
        (f"Blatt_4/Abgaben/Team 3/Lovelace_Ada_ada_7/{NB}", "ada", "Lovelace_Ada"),
        (f"Blatt_4/Abgaben/Team 4/Min_Kim_kim1_8/Verspätet - {NB}", "kim", "Min_Kim"),
    ],
    "Google Classroom": [
        (f"Week 4/Ada Lovelace - {NB}", "ada", "Ada Lovelace"),
        (f"Week 4/Kim Min - {NB}", "kim 1", f"Kim Min {NAME}"),
        (f"Week 4/Kim Min - {NAME} (1).ipynb", "kim 2", f"Kim Min {NAME} (1)"),
        (f"Week 4/{NAME} (2).ipynb", "uploaded", f"{NAME} (2)"),
    ],
    "folders in a folder": [
        (f"HW4/Ada/{NB}", "ada", "Ada"),
        (f"HW4/Kim [A]/{NB}", "kim 1", "Kim _A_ 1"),
        (f"HW4/Kim :A:/{NB}", "kim 2", "Kim _A_ 2"),
        (f"HW4/kim _a_/{NB}", "kim 3", "kim _a_ 3"),
        ("__MACOSX/HW4/Ada/._a.ipynb", X, ""),
        ("HW4/.DS_Store", X, ""),
    ],
    "files in a folder": [
        ("All/ada.ipynb", "ada", "ada"),
        ("All/bob.ipynb.txt", "bob", "bob.ipynb"),
        ("All/eve.py", X, "eve"),
    ],
    "two folders of one name": [
        (f"one/ada/{NB}", "ada", "one"),
        (f"two/ada/{NB}", "other", "two"),
    ],
    "ways out": [
        (f"../../evil/{NB}", "evil", "evil"),
        (f"/etc/{NB}", "etc", "etc"),
        (f"..\\..\\back\\{NB}", "back", "back"),
        (f"C:\\drive\\{NB}", "drive", "C_"),
    ],
}


def rows(submitted, release, page=None):
    """Return each student's answers, or None if there is nothing to grade, and the remarks."""
    found = {}
    for folder in sorted(submitted.glob(f"*/{NAME}")):
        noted = collecting.record(folder).get("remarks", [])
        try:
            nb, remarks = rebuilding.choose(release, page, folder)
            words = {cell.source for cell in nb.cells if is_solution(cell)}
            found[folder.parent.name] = words, [*noted, *remarks]
        except collecting.NotGraded as reason:
            found[folder.parent.name] = None, [*noted, str(reason)]
    return found


def handed_in(folder, release, members, **options):
    """Collect an archive in a folder; return the rows."""
    path = archive(folder / "a.zip", members, **options)
    collecting.collect(path, folder / "s", NAME)
    return rows(folder / "s", release)


def is_text(name, word):
    """Return whether a file of an archive is no notebook."""
    return word == X or (name.endswith(".txt") and "ipynb" not in name)


@pytest.mark.parametrize("platform", ARCHIVES)
def test_every_file_of_a_platform_ends_in_one_row(tmp_path, release, platform, capsys):
    members = ARCHIVES[platform]
    texts = [(n, w if is_text(n, w) else answered(release, w)) for n, w, _ in members]
    wanted = {student: None if is_text(n, w) else w for n, w, student in members if student}
    course = tmp_path / "a" / "course"
    zipped = archive(tmp_path / "all.zip", texts)
    found = collecting.collect(zipped, course / "submitted", NAME)
    aside = capsys.readouterr().out.splitlines()
    table = rows(course / "submitted", release)
    assert sorted(table) == found
    graded = {next(iter(words)) for words, _ in table.values() if words}
    for student, word in wanted.items():
        words, told = table[student]
        assert words == ({f"answer = {word!r}"} if word else None)
        assert word or told, "a reason"
    assert set(table) == set(wanted)
    lost = {f"answer = {word!r}" for _, word, _ in members if word not in (X, "old")} - graded
    assert all("Name: " in word or "could not" in word for word in lost)
    assert [entry.split(": ")[1] for entry in aside] == [
        name for name, *_ in members if name in ("index.html", "Blatt_4/Blatt_4.xlsx")
    ]
    outside = [p for p in tmp_path.rglob("*") if p.is_file() and course not in p.parents]
    assert outside == [zipped]


def test_earlier_attempts_and_other_files_are_named(tmp_path, release):
    texts = [(name, answered(release, word)) for name, word, _ in ARCHIVES["Blackboard"]]
    texts.append(("Week 4_ada_attempt_2026-11-21-09-00-00_notes.pdf", ""))
    told = " ".join(handed_in(tmp_path, release, texts)["ada"][1])
    assert "an earlier attempt does not count: Week 4_ada_attempt_2026-11-20" in told
    assert "also handed in" in told and "notes.pdf" in told and ".txt" not in told


def test_students_of_one_name_are_told_apart_in_later_archives(tmp_path, release):
    """Two groups come one after the other; then everybody once more, with a new attempt."""
    folder = tmp_path / "s"

    def hand_in(*numbers, word):
        name = "Kim Min_{}_assignsubmission_file/" + NB
        texts = [(name.format(n), answered(release, f"{word} {n}")) for n in numbers]
        return collecting.collect(archive(tmp_path / "a.zip", texts), folder, NAME)

    assert hand_in(111, word="first") == ["Kim Min"]
    assert hand_in(222, word="first") == ["Kim Min 222"]
    assert hand_in(111, 222, word="then") == ["Kim Min", "Kim Min 222"]
    table = rows(folder, release)
    assert table["Kim Min"][0] == {"answer = 'then 111'"}
    assert table["Kim Min 222"][0] == {"answer = 'then 222'"}
    for _, told in table.values():
        assert "replaces what was collected before" in told
        assert "another student has the same name" in told


def test_files_of_one_student_do_not_replace_each_other(tmp_path, release):
    texts = [(f"ada/{n}/a.ipynb", answered(release, str(n))) for n in range(2)]
    texts.append(("bob/b.ipynb", answered(release, "bob")))
    table = handed_in(tmp_path, release, texts)
    assert table["ada"] == (None, ["several notebooks, keep one: a (2).ipynb, a.ipynb"])
    assert table["bob"][0] == {"answer = 'bob'"}


def test_copies_and_empty_files_do_not_count(tmp_path, release):
    other = nbformat.writes(new_notebook(cells=[new_code_cell("1 + 1")]))
    texts = {
        "a (1).ipynb": answered(release, "mine"),
        "a.ipynb": answered(release, "mine"),
        f"{NAME}.ipynb": nbformat.writes(release),
        "scratch.ipynb": other,
    }
    for name, text in texts.items():
        (tmp_path / name).write_text(text, "utf-8")
    nb, remarks = rebuilding.choose(release, None, tmp_path)
    assert {cell.source for cell in nb.cells if is_solution(cell)} == {"answer = 'mine'"}
    told = " ".join(remarks)
    assert f"{NAME}.ipynb: without an answer" in told and "a.ipynb: a copy" in told
    assert "scratch.ipynb: no cell of this assignment" in told


def test_an_empty_assignment_beside_a_file_that_cannot_be_read_is_no_zero(tmp_path, release):
    (tmp_path / "a.ipynb").write_text(nbformat.writes(release), "utf-8")
    nb, remarks = rebuilding.choose(release, None, tmp_path)
    assert remarks == [] and len(nb.cells) == len(release.cells)
    (tmp_path / "b.ipynb").write_text("{", "utf-8")
    with pytest.raises(
        collecting.NotGraded, match=r"b.ipynb is no notebook.*without an answer"
    ):
        rebuilding.choose(release, None, tmp_path)
    (tmp_path / "b.ipynb").unlink()
    (tmp_path / collecting.RECORD).write_text('{"unread": ["b.ipynb"]}')
    with pytest.raises(collecting.NotGraded, match="without an answer"):
        rebuilding.choose(release, None, tmp_path)


# ---- hostile archives ------------------------------------------------------------------------


def test_members_that_cannot_be_read_have_a_reason_and_spoil_no_other(tmp_path, release):
    text = answered(release, "ada")
    path = archive(tmp_path / "a.zip", [(f"{s}/a.ipynb", text) for s in "abcde"])
    data = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as file:
        local = {i.filename[0]: i.header_offset for i in file.infolist()}
    entry = {s: data.rindex(f"{s}/a.ipynb".encode()) - 46 for s in "abcde"}
    data[entry["a"] + 8] |= 1  # encrypted
    data[local["a"] + 6] |= 1
    data[entry["b"] + 10] = data[local["b"] + 8] = 97  # an unknown compression
    data[entry["c"] + 16] ^= 255  # a bad checksum
    data[entry["d"] + 41] = 0xA1  # a link
    data[entry["d"] + 5] = 3  # written by Unix
    path.write_bytes(data)
    found = collecting.collect(path, tmp_path / "s", NAME)
    assert found == list("abcde")
    table = rows(tmp_path / "s", release)
    reasons = {"a": "encrypted", "b": "compression", "c": "CRC", "d": "a link"}
    for student, reason in reasons.items():
        words, told = table[student]
        assert words is None and reason in " ".join(told)
    assert table["e"][0] == {"answer = 'ada'"}


def test_a_bomb_is_cut(tmp_path, release, monkeypatch):
    monkeypatch.setattr(collecting, "LARGEST", 1)
    texts = [("ada/a.ipynb", "0" * 3_000_000), ("bob/a.ipynb", answered(release, "bob"))]
    table = handed_in(tmp_path, release, texts, compression=zipfile.ZIP_DEFLATED)
    assert (tmp_path / "s" / "ada" / NAME / "a.ipynb").stat().st_size == 1_000_001
    assert table["ada"] == (None, ["a.ipynb is larger than 1 MB"])
    assert table["bob"][0]


def test_the_number_of_files_is_limited(tmp_path, release):
    flood = [(f"ada/{n}.ipynb", "{}") for n in range(3 * collecting.MOST)]
    bob = "bob/a.ipynb", answered(release, "bob")
    table = handed_in(tmp_path, release, [*flood, bob])
    assert len([*(tmp_path / "s" / "ada" / NAME).glob("*.ipynb")]) == collecting.MOST
    assert table["ada"][0] is None and "and 35 more" in table["ada"][1][0]
    assert table["bob"][0]


def test_links_are_not_followed(tmp_path, release):
    """Work that was collected as clones may have links to other students' work."""
    adam, eve, ann, dan = (tmp_path / "s" / s / NAME for s in ("adam", "eve", "ann", "dan"))
    for folder in (adam, eve, dan.parent):
        folder.mkdir(parents=True)
    (adam / "a.ipynb").write_text(answered(release, "adam"), "utf-8")
    (eve / "a.ipynb").symlink_to(adam / "a.ipynb")
    ann.parent.symlink_to(adam.parent)
    dan.symlink_to("/dev")
    os.mkfifo(adam.parent / "pipe.ipynb")
    table = rows(tmp_path / "s", release)
    assert table["adam"][0] == {"answer = 'adam'"}
    for student in ("eve", "ann", "dan"):
        assert table[student][0] is None and "link" in table[student][1][0]
    (adam.parent / "pipe.ipynb").rename(adam / "pipe.ipynb")
    assert rows(tmp_path / "s", release)["adam"][0] is None  # nothing waits for a pipe
    with pytest.raises(collecting.NotGraded, match="no ordinary file"):
        collecting.load(eve / "a.ipynb")


def test_collecting_writes_through_no_link(tmp_path, release, capsys):
    outside = tmp_path / "outside"
    outside.mkdir()
    (tmp_path / "s" / "bob" / NAME).mkdir(parents=True)
    (tmp_path / "s" / "ada").symlink_to(outside)
    (outside / "a").write_text("mine")
    for name in ("a.ipynb", collecting.RECORD):
        (tmp_path / "s" / "bob" / NAME / name).symlink_to(outside / "a")
    texts = [(f"{s}/a.ipynb", answered(release, s)) for s in ("ada", "bob")]
    collecting.collect(archive(tmp_path / "a.zip", texts), tmp_path / "s", NAME)
    assert "ada: the folder is a link, nothing was unpacked" in capsys.readouterr().out
    assert [path.name for path in outside.iterdir()] == ["a"]
    assert (outside / "a").read_text() == "mine"


@pytest.mark.parametrize("key", [["ada", "ada"], 7, ["bob"], None])
def test_a_forged_record_gets_nobody_elses_work(tmp_path, release, key):
    folder = tmp_path / "s" / "eve" / NAME
    folder.mkdir(parents=True)
    (folder / collecting.RECORD).write_text(json.dumps({"key": key}))
    texts = [(f"{s}/a.ipynb", answered(release, s)) for s in ("ada", "bob")]
    table = handed_in(tmp_path, release, texts)
    assert {*table} == {"ada", "bob", "eve"} and table["ada"][0] == {"answer = 'ada'"}
    assert table["bob"][0] == {"answer = 'bob'"}


def test_other_files_are_no_archive(tmp_path):
    (tmp_path / "a.zip").write_text("no")
    with pytest.raises(collecting.NotGraded, match="is no zip file"):
        collecting.collect(tmp_path / "a.zip", tmp_path / "s", NAME)


FORMULAS = ['=HYPERLINK("http://x","y")', "+1", "-1", "@SUM(1)", "\t=1", " =1", "＝1"]


@pytest.mark.parametrize("text", FORMULAS)
def test_no_name_becomes_a_formula_or_a_command(tmp_path, capsys, text):
    steer = f"{text}\x1b[2J"
    outcomes = [classroom.Outcome(steer, None, [f"{steer}.ipynb is no notebook"])]
    classroom.report(tmp_path / "points.csv", {"4.1": 2.0}, outcomes)
    lines = (tmp_path / "points.csv").read_text("utf-8").splitlines()
    said = capsys.readouterr().out
    assert "\x1b" not in said + "".join(lines)
    student, status, _, _, remark, *_ = next(csv.reader(lines[1:]))
    assert student[0] == remark[0] and student[0] in "'\N{REPLACEMENT CHARACTER}"
    assert status == "not graded"


def test_the_demonstration_deletes_nothing_outside_of_a_sandbox(tmp_path, monkeypatch):
    """Also with -O, which removes asserts."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    deleted = []
    monkeypatch.setattr("shutil.rmtree", lambda *args, **options: deleted.append(args))
    with pytest.raises(SystemExit, match="not contained"):
        exec(compile(classroom.DELETE, "cell", "exec", optimize=2), {})
    assert not deleted


# ---- what was answered -----------------------------------------------------------------------


def test_another_chapter_is_not_graded(release):
    """Its cells with imports and with check_answer may be the same."""
    one = released("01_regret_matching")
    for cells in (one.cells, [c | {"metadata": {}} for c in one.cells]):
        cells = [nbformat.from_dict(c) for c in cells]
        with pytest.raises(collecting.NotGraded, match="this is 01_regret_matching"):
            rebuilding.rebuild(release, cells)
    page = assignments.read(assignments.BOOK / "01_regret_matching.ipynb")
    with pytest.raises(collecting.NotGraded, match="this is 01_regret_matching"):
        rebuilding.rebuild(release, page.cells, assignments.read(PAGE))


def unlabeled(release):
    cells = json.loads(answered(release, "x"))["cells"]
    nb = nbformat.from_dict({"cells": cells})
    for n, cell in enumerate(nb.cells):
        cell.source = "".join(cell.source)
        if is_solution(release.cells[n]):
            cell.source = f"answer = {release.cells[n].metadata.nbgrader.grade_id!r}"
        cell.metadata.clear()
    return nb.cells


def test_answers_without_labels_are_found_by_their_order(release):
    nb, remarks = rebuilding.rebuild(release, unlabeled(release))
    for cell in filter(is_solution, nb.cells):
        assert cell.source == f"answer = {cell.metadata.nbgrader.grade_id!r}"
    assert all("had lost its label" in remark for remark in remarks)


@pytest.mark.parametrize("seed", range(20))
def test_without_labels_and_in_another_order_nobody_gets_anothers_answer(release, seed):
    cells = unlabeled(release)
    last = cells[-8:]
    random.Random(seed).shuffle(last)
    try:
        nb, _ = rebuilding.rebuild(release, [*cells[:-8], *last])
    except collecting.NotGraded as reason:
        assert "lost their labels" in str(reason)
        return
    for cell in filter(is_solution, nb.cells):
        own = f"answer = {cell.metadata.nbgrader.grade_id!r}"
        assert cell.source == own


def test_two_answers_that_changed_places_with_their_checks_are_not_graded(release):
    cells = unlabeled(release)
    kept = [
        n for n, cell in enumerate(release.cells) if "ex-4-6" in cell.metadata.nbgrader.grade_id
    ]
    (t, a, c), (u, b, d) = kept, [n + 3 for n in kept]
    mixed = [cells[n] for n in (t, u, a, d, b, c)]
    with pytest.raises(collecting.NotGraded, match="in another order"):
        rebuilding.rebuild(release, [*cells[:t], *mixed])


def test_an_answer_that_moved_away_without_its_label_is_no_zero(release):
    cells = unlabeled(release)
    place = rebuilding.places_of(release, is_solution)[2]
    cells.append(cells.pop(place))
    with pytest.raises(collecting.NotGraded, match=r"may be an answer to 4\.3"):
        rebuilding.rebuild(release, cells)


# ---- the chapter's notebook ------------------------------------------------------------------


def on_page(page, answers, unlabeled=False):
    """Return the cells of the page's notebook with answers put in, as a student leaves them."""
    cells = []
    for cell in page.cells:
        cell = nbformat.from_dict(cell)
        if "answer" in assignments.tags(cell):
            code, number, name = assignments.check_of(cell.source, "")
            code = answers.get(number, code)
            cell.source = f'{code}\nexercises.check("{number}", {name})'
        if unlabeled:
            cell.metadata = {}
        cells.append(cell)
    return cells


@pytest.mark.parametrize("labels", [True, False])
def test_answers_in_the_chapters_notebook_are_found(release, page, labels):
    answers = {"4.1": "answer = 41", "4.3": "helper = 1\nanswer = helper"}
    cells = on_page(page, answers, unlabeled=not labels)
    nb, remarks = rebuilding.rebuild(release, cells, page)
    found = {
        rebuilding.number_of(cell.metadata.nbgrader.grade_id): cell.source
        for cell in filter(is_solution, nb.cells)
    }
    assert {number: found[number] for number in answers} == answers
    forms = {rebuilding.number_at(release, n): release.cells[n].source
             for n in rebuilding.places_of(release, is_solution)}  # fmt: skip
    assert {n: s for n, s in found.items() if n not in answers} == {
        n: s for n, s in forms.items() if n not in answers
    }
    assert remarks[0] == "answered in the chapter's notebook"
    assert [c.source for c in nb.cells if is_grade(c)] == [
        c.source for c in release.cells if is_grade(c)
    ]


def test_solutions_of_the_page_are_no_answers(release, page):
    cells = [nbformat.from_dict(cell | {"metadata": {}}) for cell in page.cells]
    nb, _ = rebuilding.rebuild(release, cells, page)
    assert [c.source for c in nb.cells if c.cell_type == "code"] == [
        c.source for c in release.cells if c.cell_type == "code"
    ]


def test_a_changed_solution_is_no_answer_beside_one(release, page):
    cells = on_page(page, {"4.1": "answer = 41"})
    for cell in cells:
        if "solution" in assignments.tags(cell):
            cell.source = f"changed = 1\n{cell.source}"
    nb, _ = rebuilding.rebuild(release, cells, page)
    found = [cell.source for cell in filter(is_solution, nb.cells)]
    assert found[0] == "answer = 41" and "changed" in found[1]


def test_an_answer_brings_no_solution(release, page):
    cells = on_page(page, {"4.1": "answer = secret"})
    page = nbformat.from_dict(page)
    solution = new_code_cell("secret = 7", metadata={"tags": ["solution"]})
    page.cells.insert(1, solution)
    nb, _ = rebuilding.rebuild(release, cells, page)
    assert "answer = secret" in str(nb) and "secret = 7" not in str(nb)


@pytest.mark.slow
@pytest.mark.parametrize("path", assignments.pages(), ids=lambda path: path.stem)
def test_answers_in_any_chapters_notebook_bring_what_they_use(path):
    """Some platforms remove tags. The answers are the solutions, which use the page's names."""
    page, titles = assignments.read(path), assignments.page_titles()
    tasks = assignments.tasks(page.cells, titles, path.name)
    answers = {task.number: f"# mine\n{task.form}\n{task.worked}" for task in tasks}
    cells = on_page(page, answers, unlabeled=True)
    nb, remarks = rebuilding.rebuild(released(path.stem), cells, page)
    assert remarks == ["answered in the chapter's notebook"]
    assert all("# mine" in cell.source for cell in filter(is_solution, nb.cells))
    known = {*dir(builtins), "display", "home", "branch"}  # of IPython; where a page is hosted
    for cell in filter(rebuilding.is_code, nb.cells):
        bound, needed = rebuilding.bound_and_needed(cell.source)
        later = {"differences"} if path.stem == "reading_papers" else set()  # in a function
        assert not needed - known - later
        known |= bound


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ('exercises.check("4.1", {"a": 1})', [("4.1", "", "", "{'a': 1}")]),
        ('x = 2\nexercises.check("4.1", x)\nprint(x)', [("4.1", "x = 2", "x", "x")]),
        (
            'answer = 1\nprint(exercises.check("4.1", answer))\n'
            'answer = 2\nexercises.check("4.3", answer)',
            [
                ("4.1", "answer = 1", "answer", "answer"),
                (
                    "4.3",
                    'answer = 1\nprint(exercises.check("4.1", answer))\nanswer = 2',
                    "answer",
                    "answer",
                ),
            ],
        ),
        ('%time answer = 1\nexercises.check("4.1", answer)', None),
        ('answer = (\nexercises.check("4.1", answer)', [("4.1", None, "", "...")]),
        ('exercises.check("9.9", answer)', []),
        ('exercises.check("3.5", answer, student="7")', []),
    ],
)
def test_calls_of_check_are_read(source, wanted):
    found = [*rebuilding.answers_in(source, ("4.1", "4.3"))]
    if wanted is None:
        assert len(found) == 1 and "answer = 1" in found[0][1]
        return
    assert [
        (n, c if c2 is not None else None, name, value)
        for (n, c, name, value), (_, c2, _, _) in zip(found, wanted, strict=True)
    ] == wanted


def test_an_answer_brings_the_code_of_the_page_that_it_uses():
    sources = ["a = 1", "b = a + 1", "b = 0\nz = b", "def f(x):\n    return x + z"]
    sources.append("answer = 7")
    assert rebuilding.from_above(sources, ["answer = f(1)"], set()) == [sources[2], sources[3]]
    assert rebuilding.from_above(sources, ["b = 3", "answer = b"], set()) == []
    assert rebuilding.from_above(sources, ["a = a"], set()) == [sources[0]]
    assert rebuilding.from_above(sources, ["f(1)"], {"f"}) == []
    assert rebuilding.from_above(sources, ["answer"], set()) == []
    calls_later = ["def f():\n    return g()", "def g():\n    return 1"]
    assert rebuilding.from_above(calls_later, ["answer = f()"], set()) == calls_later


def test_a_student_may_use_the_names_of_the_chapter():
    """Chapter 1 defines `second`; its assignment, unlike ROCK, does not."""
    one, page = (
        released("01_regret_matching"),
        assignments.read(assignments.BOOK / "01_regret_matching.ipynb"),
    )
    cells = on_page(page, {"1.2": 'answer = {"best": ROCK, "earns": second[ROCK]}'})
    nb, _ = rebuilding.rebuild(one, cells, page)
    place = next(n for n, c in enumerate(nb.cells) if "best" in c.source and is_solution(c))
    facts = [
        rebuilding.bound_and_needed(c.source) for c in nb.cells[:place] if c.cell_type == "code"
    ]
    bound = set()
    for binds, needs in facts:  # in an order that runs
        assert not needs & {"ROCK", "PAPER", "SCISSORS", "second", "np"} - bound
        bound |= binds
    assert {"ROCK", "second"} <= bound
    used = [cell for cell in nb.cells if "second = " in cell.source]
    assert [cell.id.partition("-")[0] for cell in used] == ["page"]


# ---- answers typed on a page -----------------------------------------------------------------

TYPED = {"4.1": {"values": {"fold": "-1/3", "call": None}}, "4.2": ["−1/24", "T"]}


def test_answers_of_a_page_are_a_hand_in(tmp_path, release, page):
    """As the page saves them; an answer that lacks a part is the student's, unfinished."""
    text = json.dumps({"name": "Ada", "page": NAME, "answers": TYPED})
    path = archive(tmp_path / "a.zip", [(f"Ada Lovelace - {NAME}.json", text)])
    assert collecting.collect(path, tmp_path / "s", NAME) == ["Ada Lovelace"]
    nb, remarks = rebuilding.choose(release, page, tmp_path / "s" / "Ada Lovelace" / NAME)
    given = {cell.source for cell in nb.cells if is_solution(cell)}
    assert "answer = {'values': {'fold': '-1/3', 'call': ...}}" in given
    assert "answer = ['−1/24', 'T']" in given
    assert remarks[0] == "answered on the page" and "4.3" in remarks[1]


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ('{"answers": {"1.1": 3}}', "this is 01_regret_matching"),
        ('{"answers": {}}', "no notebook, only"),
        ('{"answers": [1]}', "no notebook, only"),
        ('{"answers": {"4.1": ' + "[" * 100_000, "no notebook, only"),
        ('{"answers": {"4.1": "x', "no notebook, only"),
        ('{"name": "Ada"}', "no notebook, only"),
    ],
)
def test_damaged_answers_of_a_page_have_a_reason(tmp_path, release, page, content, why):
    (tmp_path / f"Ada - {NAME}.json").write_text(content, "utf-8")
    with pytest.raises(collecting.NotGraded, match=why):
        rebuilding.choose(release, page, tmp_path)


def test_answers_of_a_page_are_data(tmp_path, release, page):
    """Whatever is typed, it is no code."""
    evil = "__import__('os').system('true')"
    content = {"answers": {"4.8": evil, f"4.4', {evil}, '": evil}}
    (tmp_path / "a.json").write_text(json.dumps(content), "utf-8")
    nb, _ = rebuilding.choose(release, page, tmp_path)
    assert f"answer = {evil!r}" in {cell.source for cell in nb.cells if is_solution(cell)}


def test_a_notebook_beside_answers_of_a_page_is_not_passed_over(tmp_path, release, page):
    (tmp_path / "a.ipynb").write_text(answered(release, "mine"), "utf-8")
    (tmp_path / "a.json").write_text(json.dumps({"answers": TYPED}), "utf-8")
    with pytest.raises(collecting.NotGraded, match=r"keep one: a.ipynb, a.json"):
        rebuilding.choose(release, page, tmp_path)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be"])
def test_every_unicode_encoding_is_read(tmp_path, release, encoding):
    """Some editors of Windows save notebooks and answers in UTF-16."""
    answers = json.dumps({"name": "Æ", "answers": {"4.1": "é"}}, ensure_ascii=False)
    for name, text in (("a.ipynb", answered(release, "é")), ("b.json", answers)):
        (tmp_path / name).write_bytes(text.encode(encoding))
        assert any("'é'" in cell.source for cell in collecting.load(tmp_path / name))
