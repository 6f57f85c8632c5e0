"""Race a class's solvers: who is least exploitable after a minute of computing?

    python tools/leaderboard.py FOLDER [--game leduc] [--seconds 60] [--out FOLDER]

Everybody hands in one Python program, named after its author, that defines

    def learn(game):
        ...
        while True:
            ...
            yield strategy

A strategy is a dictionary with a probability for every action at every infoset of both players.
The board shows the exploitability of the latest strategy after 1/64, 1/16, 1/4 and all of the
time, best first. Seconds are processor time of the program alone, as the machine counts it:
importing cfrlib, NumPy, SciPy, Numba and JAX does not count, compilation does, and so does
every thread. A program can start no other process. Programs run one after the other, in the
sandbox in which submissions are graded (see contained.py). Two programs can be compared within
one board only, since another machine gives other numbers.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from collecting import printable
from tournament import (
    GAMES,
    ROOT,
    Invalid,
    checked,
    explained,
    html_table,
    publish,
    read_all,
    told,
)

import cfrlib as cfr

Numbers = list[float | None]
EXAMPLES = ROOT / "teaching" / "leaderboard"
SHARES = (1 / 64, 1 / 16, 1 / 4, 1)  # of the time
# A strategy is handed over no more often than after this share of the time so far, and after so
# many times what that took: at most a twentieth of the time is lost to it.
FRESH, REST = 1 / 50, 20
SECONDS = 60
RUN = """\
import time
import jax, numba
game, clock = cfr.games.{game}, time.process_time
ready()
began, fresh, told = clock(), 0, True
for strategy in runpy.run_path({{path!r}})["learn"](game):
    told = (begin := clock()) >= fresh
    if told:
        tell(strategy)
        fresh = clock() + max({share} * (begin - began), {rest} * (clock() - begin))
if not told:
    tell(strategy)
"""
ABOUT = """\
Exploitability of each program's latest strategy after these seconds of processor time: what a
perfect opponent wins in chips per hand, the mean of both seats. It is exact. All programs ran
on the same machine, one after the other."""


def race(path: Path, game: str, seconds: float) -> Numbers:
    """Return the exploitability of a program's latest strategy at each time of the board.

    Parameters
    ----------
    path : Path
        The program.
    game : str
        A key of `GAMES`.
    seconds : float
        The whole time.

    Returns
    -------
    list of float or None
        In chips per hand; None where the program had not yielded anything yet.

    Raises
    ------
    Invalid
        If the program fails, or yields something that is no strategy of the game; the message
        is for its author.
    """
    if path.suffix != ".py":
        raise Invalid("not a .py file")
    rules = GAMES[game]()
    due = [share * seconds for share in SHARES]
    kept: list[bytes | None] = [None] * len(due)
    run = RUN.format(game=rules, share=FRESH, rest=REST)
    with explained(path):
        for line, spent in told(path, run, seconds):
            kept = [line if spent <= at else old for at, old in zip(due, kept, strict=True)]
        found = [None if line is None else json.loads(line) for line in kept]
        if found[-1] is None:
            raise Invalid(f"learn yielded no strategy within {seconds:g} seconds")
        return [
            None if row is None else cfr.exploitability(rules, checked(row, rules))
            for row in found
        ]


def board(
    folder: Path, game: str, seconds: float
) -> tuple[list[tuple[str, Numbers]], dict[str, str]]:
    """Return the rows of the board, best first, and why other files are left out."""
    found, left_out = read_all(folder, lambda path: race(path, game, seconds))
    # no strategy yet is worse than any
    rows = sorted(found.items(), key=lambda row: [(x is None, x or 0.0) for x in row[1][::-1]])
    return rows, left_out


def cells_of(numbers: Sequence[float | None]) -> list[str]:
    """Return exploitabilities as text with three digits."""
    return ["–" if x is None else f"{x:.3g}" for x in numbers]


def main(arguments: list[str] | None = None) -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, nargs="?", default=EXAMPLES)
    parser.add_argument("--game", choices=GAMES, default="leduc")
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--out", type=Path, default=ROOT / "_build" / "leaderboard")
    options = parser.parse_args(arguments)
    rows, left_out = board(options.folder.expanduser(), options.game, options.seconds)
    head = ["program", *(f"{share * options.seconds:.3g} s" for share in SHARES)]
    lines = [[name, *cells_of(numbers)] for name, numbers in rows]
    for line in [head, *lines]:
        print(f"{printable(line[0]):<24}" + "".join(f"{cell:>12}" for cell in line[1:]))
    for name, reason in left_out.items():
        print(printable(f"not on the board  {name}: {reason}"))
    out = options.out.expanduser() / "board"
    title = f"Leaderboard: {options.game.title()} poker"
    body = f"<p>{ABOUT}</p><div>{html_table(head, lines)}</div>"
    publish(out, title, body, [head, *lines], left_out)
    print(f"The board: {out.with_suffix('.html').resolve().as_uri()}")
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
