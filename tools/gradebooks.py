"""Give grades back to the learning platform that collected the hand-ins.

A platform imports grades from the table that it offers for download. Moodle's grading worksheet
(mod/assign/feedback/offline) names students by the number that is in the names of collected
files, and so does Canvas's exported gradebook (lib/gradebook_exporter.rb).
"""

from __future__ import annotations

import csv
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from collecting import cleaned, harmless, listed, printable, record

MOODLE = ("Identifier", "Full name", "Email address", "Status", "Grade", "Maximum Grade")
MOODLE += ("Grade can be changed", "Last modified (submission)", "Last modified (grade)")
MOODLE += ("Feedback comments",)
CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Section")
KEPT = ("EX", "N/A")  # excused, not assigned
POSSIBLE = "Points Possible"  # begins the row with the points of Canvas's assignments


class Unreadable(ValueError):
    """A table that no platform wrote, or in which a column cannot be found."""


@dataclass(frozen=True)
class Grade:
    """What a student has earned, and how the platform names the student."""

    platform: str
    student: str
    number: str
    points: float | None


def whose(folder: Path) -> tuple[str, str, str]:
    """Return the platform, name and number of the student who handed in a folder."""
    match record(folder):
        # a record that a student has written cannot claim another name
        case {"platform": str(platform), "key": [str(student), str(number)]} if (
            folder.parent.name.startswith(cleaned(student))
        ):
            return platform, student, number
    return "", folder.parent.name, ""


def give_back(path: Path, grades: Iterable[Grade], most: float, worksheet: Path | None) -> None:
    """Write tables for upload beside a table of points, and print where they are.

    Parameters
    ----------
    path : Path
        The table of points, named like the assignment.
    grades : iterable of Grade
        Everybody's points.
    most : float
        The points of the assignment.
    worksheet : Path or None
        A table from the platform, which is filled in; without one, a new table is written.

    Raises
    ------
    Unreadable
        If the worksheet is no such table.
    """
    grades = [grade for grade in grades if grade.number]
    claims = Counter((grade.platform, grade.number) for grade in grades)
    if twice := [g.student for g in grades if claims[g.platform, g.number] > 1]:
        print(f"No grade for a number that several have: {printable(listed(twice))}")
    grades = [grade for grade in grades if claims[grade.platform, grade.number] == 1]
    if worksheet:
        platform, filled_in, found = filled(content(worksheet), grades, most, path.stem)
        target = path.with_name(f"{path.stem}-{platform.lower()}.csv")
        target.write_bytes(filled_in.encode("utf-8", "surrogateescape"))
        print(f"For {platform}: {target}")
        graded = [grade for grade in grades if grade.points is not None]
        if lost := [g.student for g in graded if g.number not in found]:
            print(f"Not in {worksheet}: {printable(listed(lost, len(lost)))}")
        return
    for platform in ("Moodle", "Canvas"):
        if own := [grade for grade in grades if grade.platform == platform]:
            target = path.with_name(f"{path.stem}-{platform.lower()}.csv")
            with target.open("w", newline="", encoding="utf-8") as file:
                csv.writer(file).writerows(fresh(platform, own, most, path.stem))
            print(f"For {platform}: {target}")


def fresh(
    platform: str, grades: Iterable[Grade], most: float, name: str
) -> Iterator[Sequence[object]]:
    """Yield the rows of a new table in a platform's columns."""
    yield MOODLE if platform == "Moodle" else (*CANVAS, name)
    if platform == "Canvas":
        yield (f"    {POSSIBLE}", "", "", "", "", number(most))
    for grade in grades:
        student, points = harmless(grade.student), number(grade.points)
        if platform == "Moodle":
            own = (f"Participant {grade.number}", student, "", "", points)
            yield (*own, number(most), "Yes", "", "", "")
        else:
            yield (student, grade.number, "", "", "", points)


def number(points: float | None) -> str:
    """Return points as platforms write them; "" for none.

    Examples
    --------
    >>> number(18.0), number(2 / 3), number(None)
    ('18', '0.67', '')
    """
    return "" if points is None else f"{points:.2f}".rstrip("0").rstrip(".")


# ---- a platform's own table ------------------------------------------------------------------


@dataclass(frozen=True)
class Cell:
    """A field of a table: its text, and where it is in the file."""

    text: str
    start: int
    end: int


def content(worksheet: Path) -> str:
    """Return the text of a table, in which bytes that are no UTF-8 survive."""
    return worksheet.expanduser().read_bytes().decode("utf-8", "surrogateescape")


def filled(
    text: str, grades: Iterable[Grade], most: float, name: str
) -> tuple[str, str, set[str]]:
    """Return the platform of a table, the table with grades, and the numbers that it has.

    No other character changes. If the table counts to another number than the assignment,
    grades are scaled, which is printed.
    """
    head, *rows = cells(text)
    titles = [cell.text for cell in head]
    if {"Identifier", "Grade", "Maximum Grade"} <= {*titles}:
        platform, key, column = "Moodle", "Identifier", titles.index("Grade")
    elif {"ID", "SIS Login ID"} <= {*titles}:
        platform, key = "Canvas", "ID"
        possible = next((row for row in rows if row[0].text.strip() == POSSIBLE), [])
        column = assignment_in(titles, [cell.text for cell in possible], name)
    else:
        raise Unreadable(
            "this is neither Moodle's grading worksheet nor Canvas's gradebook, in English"
        )
    points = {grade.number: grade.points for grade in grades if grade.platform == platform}
    changes, found, limits = [], set(), set()
    for row in rows:
        if len(row) != len(titles):
            continue
        student = re.sub(r"^\D*(?=\d)", "", row[titles.index(key)].text.strip())
        earned, old = points.get(student), row[column]
        if earned is None or old.text in KEPT:
            continue
        limit = (
            row[titles.index("Maximum Grade")] if platform == "Moodle" else possible[column]
        ).text
        full = as_number(limit) or most
        limits.add(full)
        found.add(student)
        new = number(earned * full / most).replace(".", "," if "," in limit else ".")
        if text[old.start : old.end].startswith('"') or "," in new:
            new = f'"{new}"'
        changes.append((old, new))
    for limit in limits - {most}:
        print(f"{platform} counts to {number(limit)}, the points to {number(most)}: scaled")
    for old, new in reversed(changes):
        text = text[: old.start] + new + text[old.end :]
    return platform, text, found


def assignment_in(titles: Sequence[str], possible: Sequence[str], name: str) -> int:
    """Return the column of an assignment in Canvas's gradebook, by its name or the only one."""
    there = [n for n, points in enumerate(possible) if as_number(points) is not None]
    wanted = {*re.findall("[a-z]+", name.lower())}
    named = [n for n in there if wanted <= {*re.findall("[a-z]+", titles[n].lower())}]
    if len(named or there) != 1:
        raise Unreadable(
            f"which column is {name}: {listed((titles[n] for n in named or there), 20)}? "
            "Delete the others from the file; Canvas does not miss them"
        )
    return (named or there)[0]


def as_number(text: str) -> float | None:
    """Return a number that a platform wrote, in English or with a decimal comma."""
    found = re.fullmatch(r"\d+(?:[.,]\d+)?", text.strip())
    return float(found[0].replace(",", ".")) if found else None


def cells(text: str) -> list[list[Cell]]:
    """Return the cells of a table in CSV, whatever separates them."""
    comma = max(",;\t", key=text.partition("\n")[0].count)
    field = re.compile(
        rf'("(?:[^"]|"")*"|[^"{comma}\r\n][^{comma}\r\n]*|)({comma}|\r\n|\r|\n|\Z)'
    )
    rows: list[list[Cell]] = [[]]
    at = int(text.startswith("\ufeff"))
    while at < len(text):
        if not (found := field.match(text, at)):
            raise Unreadable(f"line {text.count(chr(10), 0, at) + 1} is not in the form of CSV")
        plain = found[1][1:-1].replace('""', '"') if found[1][:1] == '"' else found[1]
        rows[-1].append(Cell(plain, *found.span(1)))
        if found[2] != comma:
            rows.append([])
        at = found.end()
    return [row for row in rows if row]
