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
import os
import re
import selectors
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
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
ROUNDING = 1e-3  # by which the probabilities of an infoset may miss 1
SAFE = 1e-3  # chips: who loses no more on average to a perfect opponent is safe
# How a program begins. What it prints is kept out of the way, and it waits until it is heard.
START = """\
import json, os, runpy
import cfrlib as cfr
out, answers = os.fdopen(os.dup(1), "w"), os.fdopen(os.dup(0))
for file in (0, 1):
    os.dup2(os.open(os.devnull, os.O_RDWR), file)

def tell(strategy):
    rows = strategy.items()
    plain = {{str(I): {{str(a): float(p) for a, p in row.items()}} for I, row in rows}}
    print(json.dumps(plain), file=out, flush=True)
    answers.readline()

def ready():
    tell({{}})

"""
RUN = """\
ready()
tell(runpy.run_path({path!r})["strategy"])
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


def run_program(path: Path) -> Any:
    """Return the strategy that a Python program defines when it is run in the sandbox."""
    for line, _ in told(path, RUN, PATIENCE):
        return json.loads(line)
    raise Invalid(f"the program failed: no strategy, and no error, in {PATIENCE} seconds")


def told(path: Path, run: str, seconds: float) -> Iterator[tuple[bytes, float]]:
    """Run a program in the sandbox; yield each strategy it tells, and its seconds until then.

    Seconds are processor time of its process with all threads, from when it says that it is
    ready. They are measured here, not by the program. It can start no other process.

    Parameters
    ----------
    path : Path
        The program.
    run : str
        Python code that runs the program `{path}` after `START`, and first tells anything.
    seconds : float
        Processor time after which the program is stopped.

    Raises
    ------
    Invalid
        If the program fails before; the message is for its author.
    """
    if not contained.can_sandbox():
        raise Invalid("a program is only run in the sandbox, and there is no bubblewrap here")
    with tempfile.TemporaryDirectory(prefix="player-") as folder:
        top = Path(folder)
        program = top / "given" / "player.py"
        program.parent.mkdir()
        program.write_bytes(path.read_bytes())
        code = (START + run).format(path=str(program))
        command = contained.confined([sys.executable, "-c", code], top, alone=True)
        pipes = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE)
        with subprocess.Popen(
            command, env=contained.environment(top), cwd=top, bufsize=0, **pipes
        ) as sandbox:
            watch = contained.Watch(sandbox.pid, top)
            try:
                yield from heard(sandbox, watch, seconds)
            finally:
                sandbox.kill()


def heard(
    sandbox: subprocess.Popen[bytes], watch: contained.Watch, seconds: float
) -> Iterator[tuple[bytes, float]]:
    """Yield the lines of a program and its seconds, answering each; see `told`."""
    spent: Callable[[], float] | None = None
    buffer = said = b""
    latest = time.monotonic() + WAIT + 5 * seconds
    with selectors.DefaultSelector() as selector:
        for pipe in (sandbox.stdout, sandbox.stderr):
            selector.register(pipe, selectors.EVENT_READ)
        while selector.get_map():
            for key, _ in selector.select(0.1):
                data = os.read(key.fd, 2**16)
                if not data:
                    selector.unregister(key.fileobj)
                elif key.fileobj is sandbox.stderr:
                    said = (said + data)[-10_000:]
                else:
                    buffer += data
            *lines, buffer = buffer.split(b"\n")
            if len(buffer) > LARGEST * 1_000_000:
                raise Invalid(f"a strategy larger than {LARGEST} MB")
            for line in lines:
                if spent is None:
                    spent = stopwatch(contained.children(watch.sandbox)[-1].pid)
                else:
                    yield line, spent()
                with suppress(BrokenPipeError):
                    sandbox.stdin.write(b"\n")
            if time.monotonic() > latest or (spent and seconds < spent() < math.inf):
                return
    if watch.exceeded:
        raise Invalid(f"the program held more than {contained.MEMORY} GiB of memory")
    if sandbox.wait():
        reason = said.decode("utf-8", "replace").strip().rpartition("\n")[2][:200]
        raise Invalid(f"the program failed: {reason or 'it was stopped'}")


def stopwatch(pid: int) -> Callable[[], float]:
    """Return a function that returns how long a process has computed from now on.

    Once it has ended, that is infinite: what it told without waiting counts nowhere.
    """
    number = ~pid << 3 | 2  # of the clock of a process, in Linux
    began = time.clock_gettime(number)

    def spent() -> float:
        try:
            return time.clock_gettime(number) - began
        except OSError:
            return math.inf

    return spent


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
