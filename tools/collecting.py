"""Collect what students handed in: unpack archives, and find and load the notebooks in them.

Every file that a learning platform hands over belongs to one student, and nobody's work
replaces another's. Names and contents of the files are whatever students and platforms chose:
links, endless archives and files that only look like notebooks end as a reason, `NotGraded`.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import stat
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path, PurePosixPath
from typing import Any

import nbformat

LARGEST = 50  # MB of a submitted file
TYPED = 300_000  # characters of all cells of a notebook; the book's longest has 69,000
CELLS = 500  # of a notebook; the book's longest has 107
MOST = 20  # notebooks of one student that are unpacked
RECORD = "collected.json"  # beside unpacked files: whose they are, and remarks on them
# How a platform names a folder or file: whose it is, an id, and for several attempts the time.
# Moodle: mod/assign/classes/downloader.php, `get_student_prefix`; with folders or without, and
#   with a last _ before version 4.1. Blind marking calls everybody "Participant".
# Canvas: lib/content_zipper.rb, `get_filename`; only the last attempt.
# Blackboard: "Assignment File Download", as read by kwurst/bb-file-cleanup; beside each attempt
#   is a text file with its comments.
# Brightspace: "Download" in an assignment folder; one folder an attempt, beside an index.html.
# ILIAS: ilExSubmission, `getDirectoryNameFromUserData`; teams have folders around it.
# Google Classroom: "Make a copy for each student" puts the student's name before the title.
PLATFORMS = {
    "Moodle": r"(?P<student>.+)_(?P<id>\d+)_assignsubmission_[a-z]+(?:_.*)?",
    "Canvas": r"(?:LATE_)?(?P<student>.+?)(?:_LATE)?_(?P<id>\d+|(?<=anon_)\w{5})"
    r"_(?:\d+_.+|text\.html|link\.html)",
    "Blackboard": r"(?P<id>.+_(?P<student>[^_]+))_attempt_(?P<when>[\d-]{19})(?:_.+|\.txt)",
    "Brightspace": r"(?P<id>\d+-\d+) *- *(?P<student>.+?) *- *(?P<when>[^-]*\d{4}[^-]*)",
    "ILIAS": r"(?P<student>[^_]+_.+)_[^_]+_(?P<id>\d+)",
    "Google Classroom": r"(?P<student>.+?) - (?P<id>.+)\.\w+",
}
# What a platform adds of its own, beside the students' folders
ADDED = {"Brightspace": r"index\.html", "ILIAS": r".+\.xlsx?"}
COMMENTS = re.compile(r".+_attempt_[\d-]{19}\.txt")
NO_HAND_IN = re.compile(r"(__MACOSX|\.ipynb_checkpoints|\.DS_Store|desktop\.ini|\._.*)")
TIMES = ("%Y-%m-%d-%H-%M-%S", "%b %d, %Y %I:%M %p", "%B %d, %Y %I:%M %p", "%b %d, %Y %H:%M")


class NotGraded(Exception):
    """A submission that cannot be graded; the message tells the teacher why."""


def printable(text: object) -> str:
    """Return a text without characters that steer a terminal: students choose file names."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in str(text))


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula, and no terminal for a command.

    Examples
    --------
    >>> harmless("=1+1"), harmless("Ada")
    ("'=1+1", 'Ada')
    """
    text = printable(text)
    return f"'{text}" if text.lstrip().startswith(tuple("=+-@＝＋－＠")) else text


# ---- collecting ------------------------------------------------------------------------------


@dataclass(frozen=True)
class Member:
    """A file in an archive and the student who handed it in.

    Attributes
    ----------
    info : ZipInfo
        The file.
    student, id : str
        The student's name, and what tells students of one name apart.
    platform : str
        The platform that gave the file its name; "" for none.
    when : datetime
        When it was handed in; the same for all files if a platform keeps one attempt.
    """

    info: zipfile.ZipInfo
    student: str
    id: str
    platform: str = ""
    when: datetime = datetime.min

    @property
    def name(self) -> str:
        """The name of the file."""
        return path_of(self.info).name


def may_be_notebook(file: Member | Path) -> bool:
    """Return whether a file may be a notebook, whatever a browser has made of its name."""
    ending = PurePosixPath(file.name).suffix.lower()
    return ".ipynb" in file.name.lower() or ending in ("", ".json", ".txt")


def collect(archive: Path, submitted: Path, name: str) -> list[str]:
    """Unpack what a learning platform collected into `submitted/STUDENT/NAME`.

    Students of one name get the platform's number after it. If a student has several attempts,
    the last one with a notebook counts. What is collected again replaces what the same student
    handed in before. `collected.json` in each folder keeps the remarks for the table. What the
    platform has added is printed.

    Parameters
    ----------
    archive : Path
        The zip file.
    submitted : Path
        The course's folder of submissions.
    name : str
        The assignment.

    Returns
    -------
    list of str
        The students, sorted.

    Raises
    ------
    NotGraded
        If the file is no zip file.
    """
    try:
        opened = zipfile.ZipFile(archive)
    except zipfile.BadZipFile as error:
        raise NotGraded(
            f"{archive} is no zip file; of a folder, make one with `zip -r`"
        ) from error
    with opened as file:
        members, aside = attributed(file.infolist())
        own: defaultdict[tuple[str, str], list[Member]] = defaultdict(list)
        for member in members:
            own[member.student, member.id].append(member)
        folders, shared = named(list(own), submitted, name)
        for key, files in own.items():
            folder = submitted / folders[key] / name
            if folder.is_symlink() or folder.parent.is_symlink():
                aside.append(f"{folders[key]}: the folder is a link, nothing was unpacked")
                continue
            remarks = ["another student has the same name"] if key in shared else []
            unpack(file, folder, key, files, remarks)
    for each in aside:
        print(f"left aside: {each}")
    return sorted(folders.values())


def path_of(info: zipfile.ZipInfo) -> PurePosixPath:
    """Return the path of a file in an archive, without ways out of it."""
    path = PurePosixPath(unicodedata.normalize("NFC", info.filename.replace("\\", "/")))
    return PurePosixPath(*(p for p in path.parts if p not in ("/", "..", ".")))


def attributed(infos: Iterable[zipfile.ZipInfo]) -> tuple[list[Member], list[str]]:
    """Return the files with their students, and what the platform has added.

    The platform is the one whose pattern fits most files. Without one, a student is named by
    the first folder below those around everything, or else by the file.
    """
    files = {info: path_of(info) for info in infos if not info.is_dir()}
    files = {
        info: path
        for info, path in files.items()
        if path.parts and not any(map(NO_HAND_IN.fullmatch, path.parts))
    }
    fits = {
        platform: {info: fit(pattern, path) for info, path in files.items()}
        for platform, pattern in PLATFORMS.items()
    }
    platform = max(fits, key=lambda each: sum(map(bool, fits[each].values())))
    known = fits[platform]
    if 2 * sum(map(bool, known.values())) < len(files):
        platform, known = "", {}
    common = os.path.commonpath(files.values()) if len(files) > 1 else ""
    shared = len(PurePosixPath(common).parts)
    members, aside = [], []
    for info, path in files.items():
        found = known.get(info)
        if found:
            groups = {"when": None, **found.groupdict()}
            when = moment(groups["when"], info) if groups["when"] else datetime.min
            members.append(Member(info, found["student"], found["id"], platform, when))
        elif platform in ADDED and re.fullmatch(ADDED[platform], path.name):
            aside.append(f"{printable(path)}: added by {platform}")
        else:
            label = path.parts[shared] if len(path.parts) > shared + 1 else path.stem
            members.append(Member(info, label, label))
    return members, aside


def fit(pattern: str, path: PurePosixPath) -> re.Match[str] | None:
    """Return the match of the first folder, or of the file, that a pattern fits."""
    return next(filter(None, (re.fullmatch(pattern, part) for part in path.parts)), None)


def moment(text: str, info: zipfile.ZipInfo) -> datetime:
    """Return the time in a name, or else the file's own.

    Examples
    --------
    >>> moment("Sep 24, 2024 126 PM", zipfile.ZipInfo())
    datetime.datetime(2024, 9, 24, 13, 26)
    """
    text = re.sub(r" (\d{1,2})(\d\d)\b(?=$| [AP]M)", r" \1:\2", text.strip())
    for form in TIMES:
        with suppress(ValueError):
            return datetime.strptime(text, form)
    with suppress(ValueError):
        return datetime(*info.date_time)
    return datetime.min


def named(
    keys: Sequence[tuple[str, str]], submitted: Path, name: str
) -> tuple[dict[tuple[str, str], str], set[tuple[str, str]]]:
    """Return a folder's name for each student, and who shares a name with somebody.

    Who was collected before keeps the folder. Names that differ only in replaced characters, or
    in upper and lower case, are the same name: some disks think so.
    """
    before: dict[tuple[str, str], str] = {}
    for path in submitted.glob(f"*/{name}/{RECORD}"):
        match record(path.parent).get("key"), path.parents[1].name:
            # a record that a student has written cannot claim another name's folder
            case [str(student), str(number)], folder if folder.startswith(cleaned(student)):
                before[student, number] = folder
    students = {*keys, *before}
    counts = Counter(cleaned(student).casefold() for student, _ in students)
    folders, taken = {}, {folder.casefold() for folder in before.values()}
    for key in keys:
        student = cleaned(key[0])
        twins = counts[student.casefold()] > 1
        choices = [student] * (not twins)
        choices += [cleaned(f"{student} {key[1]}")] * (key[0] != key[1])
        choices += [f"{student} {n}" for n in range(1, len(students) + 1)]
        free = (choice for choice in choices if choice.casefold() not in taken)
        folders[key] = before.get(key) or next(free)
        taken.add(folders[key].casefold())
    return folders, {key for key in keys if counts[cleaned(key[0]).casefold()] > 1}


def cleaned(text: str) -> str:
    """Return a text as the name of a folder or file.

    Examples
    --------
    >>> cleaned("../Ada: Lovelace")
    'Ada_ Lovelace'
    """
    return re.sub(r"[^\w .,'@()-]", "_", text.lstrip("./\\"))[-60:].strip(" .") or "unnamed"


def unpack(
    file: zipfile.ZipFile,
    folder: Path,
    key: tuple[str, str],
    members: Sequence[Member],
    remarks: list[str],
) -> None:
    """Write a student's notebooks into a folder, and a record of what else there was."""
    comments = [member for member in members if COMMENTS.fullmatch(member.name)]
    files = [member for member in members if member not in comments] or comments
    notebooks = sorted(
        filter(may_be_notebook, files), key=lambda m: ".ipynb" not in m.name.lower()
    )
    last = max((member.when for member in notebooks), default=datetime.min)
    earlier = [printable(member.name) for member in notebooks if member.when < last]
    notebooks = [member for member in notebooks if member.when == last]
    others = [member for member in files if not may_be_notebook(member)] + notebooks[MOST:]
    folder.mkdir(parents=True, exist_ok=True)
    replaced, written, unread = taken_away(folder), {}, []
    for member in notebooks[:MOST]:
        try:
            content = contents(file, member.info)
        except NotGraded as reason:
            unread.append(printable(member.name))
            remarks.append(f"{unread[-1]} could not be unpacked: {reason}")
            continue
        new = folder / free_name(folder, cleaned(member.name))
        with new.open("xb") as target:
            target.write(content)
        written[new.name] = hashlib.sha256(content).digest()
    if earlier:
        remarks.append(f"an earlier attempt does not count: {listed(earlier)}")
    if replaced and replaced != {*written.values()}:
        remarks.append("replaces what was collected before")
    if others:
        remarks.append(f"also handed in: {listed(printable(m.name) for m in others)}")
    kept = {"platform": members[0].platform, "key": key, "files": [*written]}
    kept |= {"unread": unread, "remarks": remarks}
    (folder / RECORD).unlink(missing_ok=True)  # it may be a link
    (folder / RECORD).write_text(json.dumps(kept, indent=1), "utf-8")


def contents(file: zipfile.ZipFile, info: zipfile.ZipInfo) -> bytes:
    """Return what is in a member of an archive, up to one byte more than `load` accepts.

    Raises
    ------
    NotGraded
        If it cannot be read: it is a link, encrypted, damaged, or compressed in another way.
    """
    if stat.S_ISLNK(info.external_attr >> 16):
        raise NotGraded("it is a link")
    try:
        with file.open(info) as opened:
            return opened.read(LARGEST * 1_000_000 + 1)
    except Exception as error:  # of zipfile or of a decompressor
        raise NotGraded(printable(f"{type(error).__name__}: {error}")[:200]) from error


def free_name(folder: Path, name: str) -> str:
    """Return the name, or one with a number, that no other file has."""
    used = {RECORD, "timestamp.txt", *(other.name.casefold() for other in folder.iterdir())}
    stem, dot, suffix = name.partition(".")
    tried = (name, *(f"{stem} ({n}){dot}{suffix}" for n in range(2, len(used) + 3)))
    return next(each for each in tried if each.casefold() not in used)


def taken_away(folder: Path) -> set[bytes]:
    """Remove the files that were collected into a folder before; return their digests."""
    found = set()
    for old in record(folder).get("files", ()):
        path = folder / PurePosixPath(old).name
        if path.is_file() and not path.is_symlink():
            found.add(hashlib.sha256(path.read_bytes()).digest())
            path.unlink()
    return found


def record(folder: Path) -> dict[str, Any]:
    """Return what `collect` has noted about a folder, {} if nothing."""
    path = folder / RECORD
    if path.is_symlink() or not path.is_file():
        return {}
    with suppress(ValueError):
        found = json.loads(path.read_text("utf-8"))
        return found if isinstance(found, dict) else {}
    return {}


def listed(names: Iterable[str], most: int = 5) -> str:
    """Return names in a line, at most five of them."""
    names = list(names)
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


# ---- reading ---------------------------------------------------------------------------------


def find(folder: Path) -> list[Path]:
    """Return the submitted files that are notebooks by their names, or else by their contents.

    Raises
    ------
    NotGraded
        If there is none, or a link in its place: it may lead to somebody else's work.
    """
    for above in (folder, folder.parent):
        if above.is_symlink():
            raise NotGraded(f"the folder {above.name} is a link")
    files, links = [], []
    for path in sorted(folder.rglob("*")):
        if any(map(NO_HAND_IN.fullmatch, path.relative_to(folder).parts)):
            continue
        if path.is_symlink() or not (path.is_file() or path.is_dir()):
            links.append(printable(path.name))
        elif path.is_file() and path.name not in (RECORD, "timestamp.txt"):
            files.append(path)
    found = [path for path in files if ".ipynb" in path.name.lower() or has_answers(path)]
    found = found or [path for path in files if is_notebook(path)]
    if links:
        raise NotGraded(f"a link, or no ordinary file: {listed(links)}")
    if not found:
        there = listed(printable(path.name) for path in files)
        raise NotGraded(f"no notebook, only {there}" if there else "no notebook")
    return found


def is_notebook(path: Path) -> bool:
    """Return whether a file without a notebook's name is one."""
    with suppress(NotGraded):
        return may_be_notebook(path) and bool(load(path))
    return False


def has_answers(path: Path) -> bool:
    """Return whether a file is what *Download my answers* saves on a page."""
    with suppress(NotGraded):
        return path.suffix.lower() == ".json" and any("typed" in c.metadata for c in load(path))
    return False


def typed(file: dict[str, Any]) -> dict[str, Any]:
    """Return answers that were typed on a page as a notebook like the page's own.

    Examples
    --------
    >>> typed({"answers": {"1.2": {"best": "rock", "earns": None}}})["cells"][0]["source"]
    "answer = {'best': 'rock', 'earns': ...}\\nexercises.check('1.2', answer)"
    """

    def code(value: Any) -> str:
        if isinstance(value, dict):
            return f"{{{', '.join(f'{key!r}: {code(x)}' for key, x in value.items())}}}"
        if isinstance(value, list):
            return f"[{', '.join(map(code, value))}]"
        return "..." if value is None else repr(value)

    sources = [
        f"answer = {code(answer)}\nexercises.check({number!r}, answer)"
        for number, answer in file["answers"].items()
    ]
    sources += map(str, file.get("programs", {}).values())
    cells = [
        {"cell_type": "code", "source": source, "metadata": {"typed": True}}
        for source in sources
    ]
    return {"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": cells}


def load(path: Path) -> list[Any]:
    """Return the cells of a submitted notebook, or those that typed answers make.

    Raises
    ------
    NotGraded
        If the file is too large or is not a notebook, or has more cells or text than a student
        types: each cell is read here, and may run for a minute.
    """
    if path.is_symlink() or not path.is_file():
        raise NotGraded(f"{printable(path.name)} is no ordinary file")
    if path.stat().st_size > LARGEST * 1_000_000:
        raise NotGraded(f"{printable(path.name)} is larger than {LARGEST} MB")
    try:
        content = json.loads(path.read_bytes())  # UTF-8 or UTF-16, with a mark or without
        nb = nbformat.from_dict(typed(content) if "answers" in content else content)
        nb = nb if nb.nbformat == 4 else nbformat.convert(nb, 4)
        cells = [
            nbformat.from_dict(
                {
                    "cell_type": cell.cell_type,
                    "source": "".join(cell.source),
                    "metadata": dict(cell.get("metadata") or {}),
                }
            )
            for cell in nb.cells
        ]
    except Exception as error:
        reason = printable(error)[:200]
        raise NotGraded(f"{printable(path.name)} is no notebook: {reason}") from error
    typed_in = sum(len(cell.source) for cell in cells)
    if len(cells) > CELLS or typed_in > TYPED:
        told = f"{len(cells):,} cells and {typed_in:,} characters in them"
        raise NotGraded(f"{printable(path.name)} is too long: {told}")
    return cells
