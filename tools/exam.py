"""Make an exam with drawn numbers: `make exam SEED=...` writes variants A to D to _build/exam.

    python tools/exam.py [SEED]

The seed is any word; without one, a word is drawn and printed. The same seed makes the same
exam, so it must stay as secret as the exam.

The tasks are in `teaching/exam.md`, a template for Jinja: `{{ game.fold }}` is a number from
here. For each task, one function returns all numbers that it may have, as easy as one another,
and another one computes the results, in fractions.
"""

from __future__ import annotations

import argparse
import re
import secrets
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from fractions import Fraction as F
from functools import cache
from itertools import permutations, product
from math import inf
from pathlib import Path
from random import Random
from types import CodeType
from typing import Any

import paper as printed
from jinja2 import Environment, StrictUndefined, Template

ROOT = Path(__file__).resolve().parents[1]
OUT, TASKS = ROOT / "_build" / "exam", ROOT / "teaching" / "exam.md"
VARIANTS = "ABCD"
ACTIONS = ("rock", "paper", "scissors")
Row = Sequence[F | int]
Numbers = dict[str, Any]


def show(value: Any) -> Any:
    """Return a number, or several in parentheses, as one writes them; texts stay.

    Examples
    --------
    >>> show(F(-2, 9)), show([F(0), F(1, 3)])
    ('−2/9', '(0, 1/3)')
    """
    if isinstance(value, list | tuple):
        return f"({', '.join(map(show, value))})"
    return str(value).replace("-", "−") if isinstance(value, int | F) else value


def matched(regrets: Row) -> list[F]:
    """Return the strategy that regret matching plays."""
    positive = [max(F(r), F(0)) for r in regrets]
    total = sum(positive)
    return [p / total if total else F(1, len(positive)) for p in positive]


# ---- 1. Regret ------------------------------------------------------------------------------

Rounds = tuple[tuple[int, int], ...]


def earns(wins: int, mine: int, theirs: int) -> int:
    """Return a payoff in rock-paper-scissors if rock wins so much from scissors."""
    if {mine, theirs} == {0, 2}:
        return wins if mine == 0 else -wins
    return (0, 1, -1)[(mine - theirs) % 3]


def regret(wins: int, rounds: Rounds) -> Numbers:
    """Return the numbers of task 1."""
    each = [
        [earns(wins, a, theirs) - earns(wins, mine, theirs) for a in range(3)]
        for mine, theirs in rounds
    ]
    sums = [sum(column) for column in zip(*each, strict=True)]
    earned = sum(earns(wins, *pair) for pair in rounds)
    return {
        "wins": wins,
        "rounds": [
            (ACTIONS[a], ACTIONS[b], row) for (a, b), row in zip(rounds, each, strict=True)
        ],
        "sums": sums,
        "played": matched(sums),
        "best": ACTIONS[sums.index(max(sums))],
        "earned": earned,
        "more": max(sums),
        "most": earned + max(sums),
    }


@cache
def all_rounds() -> list[tuple[int, Rounds]]:
    """Return rounds that leave one negative regret and two different positive ones."""
    found = []
    for wins, *moves in product((2, 3, 4, 5), *[range(3)] * 6):
        rounds = tuple(zip(moves[:3], moves[3:], strict=True))
        low, middle, high = sorted(regret(wins, rounds)["sums"])
        special = any({*pair} == {0, 2} for pair in rounds)
        if low < 0 < middle < high and middle + high <= 9 and special and len({*rounds}) == 3:
            found.append((wins, rounds))
    return found


# ---- 2 and 3. A game with hidden cards ------------------------------------------------------


def game(cards: int, wins: int, bet: int, bluff: F) -> Numbers:
    """Return the numbers of tasks 2 and 3, where player 1 does the worse of fold and call."""
    win, lose, stake = F(wins, cards), F(cards - wins, cards), 1 + bet
    fold, call = -(win + lose * bluff), stake * (lose * bluff - win)
    calls = fold > call
    seen = -min(fold, call)
    bluffs_gain = lose * bluff * bet if calls else lose * (1 - bluff) * 2
    return {
        **{"cards": cards, "wins": wins, "bet": bet, "bluff": bluff, "stake": stake},
        **{"win": win, "lose": lose, "bluffs": lose * bluff, "fold": fold, "call": call},
        "even": win * bet / (lose * (bet + 2)),
        **{"histories": 1 + 5 * cards, "ends": 3 * cards, "infosets": cards + 1},
        **{"calls": calls, "seen": seen, "earned": seen - lose * (1 - bluff)},
        "gains": (bluffs_gain, abs(fold - call)),
    }


@cache
def all_games() -> list[tuple[int, int, int, F]]:
    """Return games and numbers of bluffs that do not make player 1 indifferent."""
    found = {}
    shares = F(1, 2), F(1, 3), F(1, 4)
    for choice in product((3, 4, 5), (1, 2), (1, 2), shares):
        made = game(*choice)
        numbers = [made["even"], made["fold"], made["call"], made["earned"], *made["gains"]]
        if made["bluff"] != made["even"] < 1 and max(n.denominator for n in numbers) <= 15:
            found[made["earned"], made["gains"]] = choice  # no two have the same task 3
    return [*found.values()]


# ---- 4. One line is wrong -------------------------------------------------------------------

LINES = (
    "positive = {a: max(R[a], 0) for a in actions}",
    "total = sum(positive.values())",
    "sigma = {a: positive[a] / total if total > 0 else 1 / 3 for a in actions}",
    "mean = sum(sigma[a] * u[a] for a in actions)",
    "for a in actions:",
    "    R[a] += others * (u[a] - mean)",
    "    S[a] += own * sigma[a]",
)
WRONG = {  # the number of the line, the line, and what it does
    "size": (1, "positive = {a: abs(R[a]) for a in actions}", "it matches the size of R"),
    "even": (4, "mean = sum(u[a] for a in actions) / 3", "it is the mean of even play"),
    "own": (6, "    R[a] += own * (u[a] - mean)", "the reach is the player's own"),
    "last": (6, "    R[a] = others * (u[a] - mean)", "it forgets the earlier regrets"),
}
Iteration = tuple[F, F, Row]  # the reaches of the others and of the player, the utilities


@cache
def program(wrong: str) -> CodeType:
    """Return the printed lines as a program, one of them wrong unless the name is empty."""
    lines = [*LINES]
    if wrong:
        number, line, _ = WRONG[wrong]
        lines[number - 1] = line
    return compile("\n".join(lines).replace("1 / 3", "third"), "listing", "exec")


def run(wrong: str, iterations: Iterable[Iteration]) -> tuple[list[tuple[F, ...]], list[F]]:
    """Run the printed lines; return R after each iteration, and what is played next."""
    names: Numbers = {"actions": range(3), "R": [F(0)] * 3, "S": [F(0)] * 3, "third": F(1, 3)}
    found = []
    for others, own, u in iterations:
        exec(program(wrong), names | {"others": others, "own": own, "u": u})
        found.append(tuple(names["R"]))
    return found, matched([abs(r) if wrong == "size" else r for r in found[-1]])


def bug(wrong: str, iterations: Sequence[Iteration]) -> Numbers:
    """Return the numbers of task 4."""
    (right, plays), (theirs, they_play) = run("", iterations), run(wrong, iterations)
    number, line, reason = WRONG[wrong]
    rounds = [(*given, after) for given, after in zip(iterations, theirs, strict=True)]
    return {
        **{"lines": LINES, "rounds": rounds, "right": right, "played": (plays, they_play)},
        **{"line": number, "wrong": line.strip(), "reason": reason},
    }


@cache
def all_bugs() -> list[tuple[str, tuple[Iteration, ...]]]:
    """Return mistakes that no other one can be taken for, and that change what is played."""
    firsts = [u for t in ((0, 4, 5), (0, 5, 7), (0, 7, 8)) for u in permutations(map(F, t))]
    seconds = [u for t in ((0, 3, 6), (2, 4, 8), (1, 5, 6)) for u in permutations(map(F, t))]
    reaches, found = ((F(1, 2), F(1)), (F(1), F(1, 2))), []
    for (a, b), u, v in product(reaches, firsts, seconds):
        iterations = ((a, b, u), (b, a, v))
        after = {wrong: run(wrong, iterations) for wrong in ("", *WRONG)}
        told_apart = len({tuple(rows) for rows, _ in after.values()}) == len(after)
        stored = [r for rows, _ in after.values() for row in rows for r in row]
        small = all(r.denominator <= 6 for r in stored)
        if told_apart and small and sum(r > 0 for r in after[""][0][0]) == 2:
            for wrong in WRONG:
                plays = after[""][1], after[wrong][1]
                pleasant = max(p.denominator for play in plays for p in play) <= 20
                if pleasant and plays[0] != plays[1]:
                    found.append((wrong, iterations))
    return found


# ---- 5. CFR+ --------------------------------------------------------------------------------

Pairs = tuple[tuple[int, int], ...]


def floor(*rounds: tuple[int, int]) -> Numbers:
    """Return the numbers of task 5."""
    made: Numbers = {"rounds": rounds, "R": [], "Q": []}
    for name, least in (("R", -inf), ("Q", 0)):
        now = (0, 0)
        for a, b in rounds:
            now = max(now[0] + a, least), max(now[1] + b, least)
            made[name].append(now)
    return made | {"played": [matched(made["R"][2]), matched(made["Q"][2])]}


@cache
def all_floors() -> list[Pairs]:
    """Return regrets after which both tables mix, each in its own way."""
    pairs = [p for p in product(range(-3, 4), repeat=2) if p[0] * p[1] < 0]
    found = []
    for rounds in product(pairs, repeat=3):
        made = floor(*rounds)
        R, Q = made["R"], made["Q"]
        lifted = sum(R[t][a] != Q[t][a] for t, a in product((0, 1), (0, 1)))
        mixed = min(*R[2], *Q[2]) > 0 and max(sum(R[2]), sum(Q[2])) <= 9
        if lifted >= 2 and mixed and made["played"][0] != made["played"][1]:
            found.append(rounds)
    return found


# ---- 6. Sampling ----------------------------------------------------------------------------


def sample(values: Sequence[int], plays: Sequence[F]) -> Numbers:
    """Return the numbers of task 6."""
    estimates = [value / play for value, play in zip(values, plays, strict=True)]
    triples = [[e if a == b else 0 for b in range(3)] for a, e in enumerate(estimates)]
    return {
        **{"worth": values, "plays": plays, "first": estimates[0]},
        "triples": [*zip(triples, plays, strict=True)],
        "means": [*zip(estimates, plays, values, strict=True)],
        "variance": estimates[0] ** 2 * plays[0] - values[0] ** 2,
        "even": F((3 * values[0]) ** 2, 3) - values[0] ** 2,
    }


@cache
def all_samples() -> list[tuple[tuple[int, ...], tuple[F, ...]]]:
    """Return three values, one of them 0, and how likely each is sampled."""
    shares = [(F(1, 2), F(1, 4), F(1, 4)), (F(1, 2), F(1, 3), F(1, 6))]
    values = [v for v in permutations((0, 2, 3, 4, 6), 3) if 0 in v[1:]]
    plays = sorted({p for share in shares for p in permutations(share) if p[0] != F(1, 3)})
    return [*product(values, plays)]


# ---- the exam -------------------------------------------------------------------------------


def numbers(seed: str, variant: str) -> Numbers:
    """Return the numbers of a variant. No two variants of a seed have a task in common."""
    rng, n = Random(seed), VARIANTS.index(variant)

    def drawn(choices: list[Any]) -> Any:
        return rng.sample(choices, len(VARIANTS))[n]

    return {
        "regret": regret(*drawn(all_rounds())),
        "game": game(*drawn(all_games())),
        "bug": bug(*drawn(all_bugs())),
        "floor": floor(*drawn(all_floors())),
        "sample": sample(*drawn(all_samples())),
    }


@cache
def template() -> Template:
    """Return the tasks without their numbers."""
    jinja = Environment(
        finalize=show, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    return jinja.from_string(TASKS.read_text("utf-8"))


def text(seed: str, variant: str, *, solved: bool) -> str:
    """Return a variant as Markdown. Only the solutions show the seed."""
    given = numbers(seed, variant)
    made = template().render(given, seed=seed, variant=variant, solved=solved)
    if solved:
        return made
    # room to write needs a page for each task
    return re.sub(r"^## (?!1\.)", '<div class="leaf"></div>\n\n\\g<0>', made, flags=re.M)


def documents(seed: str) -> Iterator[tuple[str, str]]:
    """Yield the names and pages of all variants and their solutions."""
    for variant in VARIANTS:
        for name, solved in (("exam", False), ("solutions", True)):
            made = text(seed, variant, solved=solved)
            label = f"{'Solutions, variant' if solved else 'Variant'} {variant}"
            page = printed.from_markdown(made, solved=solved, label=label)
            yield f"{name}_{variant}.pdf", page


def main() -> int:
    """Print all variants; say where they are."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("seed", nargs="?", default=secrets.token_hex(4), help="any word")
    seed = parser.parse_args().seed
    shutil.rmtree(OUT, ignore_errors=True)
    printed.print_all(documents(seed), OUT)
    print(f"Variants {VARIANTS[0]} to {VARIANTS[-1]} of the exam {seed!r} are ready: {OUT}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
