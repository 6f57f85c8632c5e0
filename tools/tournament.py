"""Play a class's strategies against one another, exactly, and write a table.

    python tools/tournament.py FOLDER [--game leduc] [--out FOLDER]

Everybody hands in one file, named after its author, with a probability for every action at
every infoset of both players:

- `.json`: {"J": {"check": 0.8, "bet": 0.2}, ...}
- `.csv`: lines with infoset, action, probability, below these three words
- `.py`: a program that defines `strategy`, such a dictionary. It is run in the sandbox in which
  submissions are graded (see contained.py); without bubblewrap it is not run at all.

An action that is left out has probability 0. A file that cannot be used is listed with the
reason, and the others play without it. Nothing is sampled: all results are expectations.
"""

from __future__ import annotations

import argparse
import csv
import json
import math
import re
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, TypeVar

import contained
import numpy as np
from collecting import harmless, printable

import cfrlib as cfr
from cfrlib.core.sequence import sequence_form
from cfrlib.evaluate import evaluate
from cfrlib.strategy import strategy_vector

T = TypeVar("T")
ROOT = Path(__file__).resolve().parents[1]
GAMES = {"kuhn": cfr.games.KuhnPoker, "leduc": cfr.games.LeducPoker}
EXAMPLES = ROOT / "teaching" / "tournament"
LARGEST = 5  # MB of a file
PATIENCE, WAIT = 60, 300  # seconds for a program: of computing, and in all
MEMORY = 4  # GiB for a program
ROUNDING = 1e-3  # by which the probabilities of an infoset may miss 1
SAFE = 1e-3  # chips: who loses no more on average to a perfect opponent is safe
# A program's last words: Python's own JSON, with what it prints kept out of the way.
RUN = """\
import json, runpy
found = runpy.run_path({path!r}).get("strategy")
plain = {{str(I): {{str(a): float(p) for a, p in row.items()}} for I, row in found.items()}}
with open({out!r}, "w") as file:
    json.dump(plain, file)
"""


class Invalid(Exception):
    """A file that cannot play; the message says why."""


@dataclass(frozen=True)
class Result:
    """A player's result in chips per hand, the mean of both seats.

    Attributes
    ----------
    name : str
        The name of the file.
    mean : float
        Against all others, on average.
    exploitability : float
        What a perfect opponent wins from this player.
    gain : float
        How much more a best response to all others would have earned.
    """

    name: str
    mean: float
    exploitability: float
    gain: float

    @property
    def safe(self) -> bool:
        """Whether a perfect opponent wins next to nothing."""
        return self.exploitability <= SAFE


# ---- reading --------------------------------------------------------------------------------


def load(path: Path, game: cfr.Game) -> cfr.Strategy:
    """Return the strategy in a file.

    Raises
    ------
    Invalid
        If there is none; the message is for its author.
    """
    readers = {".json": read_json, ".csv": read_csv, ".py": run_program}
    if path.suffix not in readers:
        raise Invalid("not a .json, .csv or .py file")
    with explained(path):
        return checked(readers[path.suffix](path), game)


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Refuse what is no ordinary file; make the errors of reading it reasons for its author."""
    if path.is_symlink() or not path.is_file():
        raise Invalid("not an ordinary file")
    if path.stat().st_size > LARGEST * 1_000_000:
        raise Invalid(f"larger than {LARGEST} MB")
    try:
        yield
    except (ValueError, RecursionError, csv.Error) as error:
        raise Invalid(str(error).partition("\n")[0][:300]) from error


def read_json(path: Path) -> Any:
    """Return the contents of a JSON file."""
    return json.loads(path.read_text("utf-8-sig"))


def read_csv(path: Path) -> dict[str, dict[str, float]]:
    """Return the strategy in a table with the columns infoset, action, probability."""
    found: dict[str, dict[str, float]] = {}
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = [[field.strip() for field in row] for row in csv.reader(file) if any(row)]
    if not rows or rows[0] != ["infoset", "action", "probability"]:
        raise Invalid("the first line must be infoset,action,probability")
    for row in rows[1:]:
        if len(row) != 3:
            raise Invalid(f"a line with {len(row)} fields: {','.join(row)[:60]}")
        infoset, action, p = row
        found.setdefault(infoset, {})[action] = float(p)
    return found


def run_program(path: Path, run: str = RUN, seconds: float = 0) -> Any:
    """Return what a Python program leaves behind when it is run in the sandbox.

    Parameters
    ----------
    path : Path
        The program.
    run : str
        Python code that runs the program `{path}` and writes JSON to `{out}`.
    seconds : float
        Processor time that it may take beside `PATIENCE`.
    """
    if not contained.can_sandbox():
        raise Invalid("a program is only run in the sandbox, and there is no bubblewrap here")
    with tempfile.TemporaryDirectory(prefix="player-") as top:
        folder = Path(top)
        program, out, said = (
            folder / name for name in ("player.py", "strategy.json", "stderr")
        )
        program.write_bytes(path.read_bytes())
        code = run.format(path=str(program), out=str(out))
        # one option at a time is all that dash takes
        sizes = {"d": MEMORY * 2**20, "f": LARGEST * 2_000, "t": math.ceil(PATIENCE + seconds)}
        limits = " && ".join(f"ulimit -{name} {size}" for name, size in sizes.items())
        start = ["sh", "-c", f'{limits} && exec "$@"', "sh", *contained.bubblewrap(folder)]
        try:
            with said.open("wb") as stderr:  # a file, whose size is limited
                done = subprocess.run(
                    [*start, sys.executable, "-c", code],
                    env=contained.environment(folder),
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.DEVNULL,
                    stderr=stderr,
                    timeout=WAIT + 5 * seconds,
                )
        except subprocess.TimeoutExpired as error:
            patience = f"{error.timeout:g} seconds"
            raise Invalid(f"the program did not end within {patience}") from None
        if done.returncode or not out.is_file() or out.is_symlink():
            raise Invalid(f"the program failed: {last_line(said) or 'it was stopped'}")
        if out.stat().st_size > LARGEST * 1_000_000:
            raise Invalid(f"a strategy larger than {LARGEST} MB")
        return read_json(out)


def last_line(path: Path) -> str:
    """Return the last line of a file, shortened."""
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - 10_000))
        return file.read().decode("utf-8", "replace").strip().rpartition("\n")[2][:200]


def checked(given: Any, game: cfr.Game) -> cfr.Strategy:
    """Return a strategy after small rounding errors have been removed.

    Raises
    ------
    ValueError
        If it is no dictionary of dictionaries of numbers, or does not fit the game.
    """
    rows = {}
    if not isinstance(given, Mapping):
        raise ValueError("the strategy is not a dictionary of infosets")
    for infoset, row in given.items():
        if not isinstance(row, Mapping):
            raise ValueError(f"{infoset!r} has no dictionary of actions")
        for action, p in row.items():
            number = isinstance(p, int | float) and not isinstance(p, bool)
            if not (number and 0 <= p <= 1):  # NaN is not
                raise ValueError(f"{infoset!r}, {action!r}: {str(p)[:40]} is no probability")
        total = math.fsum(row.values())
        if abs(total - 1) > ROUNDING:
            raise ValueError(f"the probabilities at {infoset!r} add up to {total:.4g}")
        rows[infoset] = {action: p / total for action, p in row.items()}
    return cfr.Strategy(game, rows)


def read_all(folder: Path, read: Callable[[Path], T]) -> tuple[dict[str, T], dict[str, str]]:
    """Return what is read from the files of a folder, and why other files are left out."""
    playing: dict[str, T] = {}
    left_out: dict[str, str] = {}
    for path in sorted(folder.iterdir()):
        if path.name.startswith("."):
            continue
        # a name may have bytes that are no text
        name, stem = (n.encode("utf-8", "replace").decode() for n in (path.name, path.stem))
        try:
            if stem in playing:
                raise Invalid("a second file of the same name")
            playing[stem] = read(path)
        except Invalid as reason:
            left_out[name] = str(reason)
    return playing, left_out


# ---- playing --------------------------------------------------------------------------------


def tournament(
    game: cfr.Game, players: Mapping[str, cfr.Strategy]
) -> tuple[list[Result], np.ndarray]:
    """Return all results, best first, and the matrix of payoffs in that order.

    Entry (a, b) of the matrix is what a earns from b on average over both seats. A payoff is
    linear in the realization plan, so one gradient of each player gives a whole column, and the
    mean plan of the others plays like a random one of them.
    """
    if len(players) < 2:
        raise ValueError("a tournament needs at least two valid strategies")
    form = sequence_form(game)
    plans = np.stack([form.plans(strategy_vector(form, s)) for s in players.values()])
    gradients = np.stack([form.gradients(x) for x in plans])
    payoffs = plans @ gradients.T / 2
    results = []
    for n, name in enumerate(players):
        others = np.delete(np.arange(len(plans)), n)
        mean = payoffs[n, others].mean()
        own, gains, _ = evaluate(form, plans[others].mean(axis=0))
        best = (own + gains).mean()
        loss = evaluate(form, plans[n])[1].mean()
        results.append(Result(name, float(mean), float(loss), float(best - mean)))
    order = sorted(range(len(results)), key=lambda n: (-results[n].mean, results[n].name))
    return [results[n] for n in order], payoffs[np.ix_(order, order)]


# ---- writing --------------------------------------------------------------------------------

HEAD = ("player", "mean", "exploitability", "gain", "safe")
PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto;
  padding: 0 1rem; }}
div {{ overflow-x: auto; }}
table {{ border-collapse: collapse; font-variant-numeric: tabular-nums; }}
th, td {{ padding: .25rem .75rem; text-align: right; border-bottom: 1px solid #8888; }}
th:first-child, td:first-child, .reasons * {{ text-align: left; }}
</style>
<h1>{title}</h1>
{body}</html>
"""

ABOUT = """All numbers are chips per hand, the mean of both seats, and exact: nothing is
sampled. <em>Exploitability</em> is what a perfect opponent wins. <em>Gain</em> is how much more
a best response to all the others would have earned."""


def rows_of(results: Sequence[Result]) -> list[list[str]]:
    """Return the rows of the table as text."""
    return [
        [
            r.name,
            signed(r.mean),
            f"{r.exploitability:.4f}",
            f"{r.gain:.4f}",
            "yes" if r.safe else "no",
        ]
        for r in results
    ]


def signed(number: float) -> str:
    """Return a number with four decimals and no minus before a zero."""
    return f"{round(number, 4) + 0.0:.4f}"


def minus(cell: str) -> str:
    """Return a negative number with the sign that people print; other texts unchanged."""
    return re.sub(r"^-(?=\d+\.\d+$)", "−", cell)


def summary(results: Sequence[Result]) -> str:
    """Return who wins and who is safe, in two sentences."""
    best = results[0].mean
    winners = [r.name for r in results if best - r.mean < 1e-9]
    safe = [r.name for r in results if r.safe]
    win = "wins" if len(winners) == 1 else "win together"
    return f"{', '.join(winners)} {win}. Safe: {', '.join(safe) or 'nobody'}."


def html_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table as HTML."""
    top = "".join(f'<th scope="col">{escape(name)}</th>' for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{escape(minus(cell))}</td>" for cell in row) + "</tr>"
        for row in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def publish(
    path: Path,
    title: str,
    body: str,
    rows: Sequence[Sequence[str]],
    left_out: Mapping[str, str],
) -> None:
    """Write rows as CSV and a body as a page, both with the files that are left out.

    The first row has the names of the columns. Reasons go into the last column.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    blank = [""] * (len(rows[0]) - 2)
    reasons = [[name, *blank, harmless(reason)] for name, reason in left_out.items()]
    with path.with_suffix(".csv").open("w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([harmless(name), *rest] for name, *rest in [*rows, *reasons])
    if left_out:
        invalid = html_table(("file", "reason"), list(left_out.items()))
        body += f'<h2>Left out</h2><div class="reasons">{invalid}</div>'
    page = PAGE.format(title=escape(title), body=body)
    path.with_suffix(".html").write_text(page, "utf-8")


def write(
    out: Path,
    game: str,
    results: Sequence[Result],
    payoffs: np.ndarray,
    left_out: dict[str, str],
) -> None:
    """Write the table as CSV and as a page."""
    names, rows = [r.name for r in results], rows_of(results)
    pairs = [[a, *map(signed, row)] for a, row in zip(names, payoffs, strict=True)]
    body = (
        f"<p>{escape(summary(results))} {ABOUT}</p><div>{html_table(HEAD, rows)}</div>"
        "<h2>Who wins from whom</h2>"
        "<p>What the player of the row earns from the player of the column.</p>"
        f"<div>{html_table(('', *names), pairs)}</div>"
    )
    title = f"Tournament: {game.title()} poker"
    publish(out / "table", title, body, [HEAD, *rows], left_out)


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=EXAMPLES)
    parser.add_argument("--game", choices=GAMES, default="kuhn")
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "tournament")
    options = parser.parse_args(arguments)
    game = GAMES[options.game]()
    players, left_out = read_all(options.folder.expanduser(), lambda path: load(path, game))
    for name, reason in left_out.items():
        print(printable(f"not playing  {name}: {reason}"))
    if len(players) < 2:
        print("A tournament needs at least two valid strategies.")
        return 1
    results, payoffs = tournament(game, players)
    for row in [list(HEAD), *rows_of(results)]:
        print(f"{printable(row[0]):<20}" + "".join(f"{cell:>16}" for cell in row[1:]))
    print(printable(summary(results)))
    out = options.out.expanduser()
    write(out, options.game, results, payoffs, left_out)
    print(f"The table: {(out / 'table.html').resolve().as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
