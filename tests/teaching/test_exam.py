"""Exams with drawn numbers: every result is computed again, from what is printed."""

from __future__ import annotations

import re
import sys
from fractions import Fraction as F
from functools import cache
from itertools import pairwise
from pathlib import Path

import chromium
import exam
import paper
import pytest
import sheets
from pypdf import PdfReader

import cfrlib as cfr
from cfrlib.game import Chance, Decision, Game, Terminal

TEACHING = Path(__file__).parents[2] / "teaching"
SOLUTION = re.compile(r"^```\{solution\} (\d+).*?\n(.*?)^```$", re.M | re.S)
SEEDS = [f"seed {n}" for n in range(200)]
POINTS = [6, 8, 6, 6, 6, 8]


@pytest.fixture(scope="module")
def drawn():
    """Return the six tasks of 200 seeds in four variants, as solved Markdown."""
    return [
        split(exam.text(seed, variant, solved=True))
        for seed in SEEDS
        for variant in exam.VARIANTS
    ]


def split(text):
    return re.split(r"^## \d\. ", text, flags=re.M)[1:]


def fractions(text):
    return [F(found.replace("−", "-")) for found in re.findall(r"−?\d+(?:/\d+)?", text)]


def bold(text):
    """Return the results of a task: what is bold in its solutions."""
    return [fractions(found) for found in re.findall(r"\*\*(.+?)\*\*", text)]


def filled(line):
    return [fractions(found) for found in re.findall(r"\[\[(.+?)\]\]", line)]


def match(regrets):
    total = sum(r for r in regrets if r > 0)
    return [r / total if r > 0 else F(0) for r in regrets] if total else [F(1, 3)] * 3


# ---- results ---------------------------------------------------------------------------------


@pytest.mark.slow
def test_regrets_are_right(drawn):
    """The table of payoffs is written out here."""
    for task in (tasks[0] for tasks in drawn):
        wins = int(re.search(r"rock wins (\d) points", task)[1])
        table = {
            "rock": {"rock": 0, "paper": -1, "scissors": wins},
            "paper": {"rock": 1, "paper": 0, "scissors": -1},
            "scissors": {"rock": -wins, "paper": 1, "scissors": 0},
        }
        sums, earned, totals = [0, 0, 0], 0, dict.fromkeys(table, 0)
        rows = re.findall(r"^\| \d \| (\w+) \| (\w+) \| (.*)$", task, re.M)
        for mine, theirs, rest in rows:
            regrets = [table[a][theirs] - table[mine][theirs] for a in table]
            assert filled(rest) == [[r] for r in regrets]
            sums = [a + b for a, b in zip(sums, regrets, strict=True)]
            earned += table[mine][theirs]
            totals = {a: totals[a] + table[a][theirs] for a in table}
        assert len(rows) == 3
        assert filled(task.split("| sum |")[1]) == [[r] for r in sums]
        best = max(totals, key=totals.get)
        played, _, most = bold(task)
        assert played == match([F(r) for r in sums]) and most == [totals[best]]
        assert f"**{best}**" in task and f"You earned {exam.show(earned)}," in task


class Cards(Game):
    """The game of task 2, written from its text."""

    def __init__(self, cards, winning, bet):
        self.cards, self.winning, self.bet = cards, winning, bet

    def node(self, h):
        if not h:
            return Chance(dict.fromkeys(range(1, self.cards + 1), 1 / self.cards))
        if len(h) == 1:
            return Decision(0, f"card {h[0]}", ("check", "bet"))
        sign = 1 if h[0] in self.winning else -1
        if h[1:] == ("bet",):
            return Decision(1, "bet", ("fold", "call"))
        won = 1 if h[-1] == "fold" else sign * (1 + self.bet if h[-1] == "call" else 1)
        return Terminal((won, -won))


@cache
def game_of(text):
    """Return the game, the winning cards and the share of bluffs that a task states."""
    cards = int(re.search(r"one of (\d) cards", text)[1])
    bet = int(re.search(r"bets (\d) chip", text)[1])
    winning = [int(n) for n in re.findall(r"\d", re.search(r"decides: (.*?) the pot", text)[1])]
    bluff = F(re.search(r"loses with probability (\S+)\. Compute", text)[1])
    return Cards(cards, winning, bet), bluff


@cache
def profile(game, bluff, call):
    table = {"bet": {"fold": 1 - call, "call": call}}
    for n in range(1, game.cards + 1):
        share = 1 if n in game.winning else float(bluff)
        table[f"card {n}"] = {"check": 1 - share, "bet": share}
    return cfr.Strategy(game, table)


@cache
def measured(game, bluff, call):
    """Return player 0's payoff, the gains, NashConv and exploitability by the package."""
    strategy = profile(game, bluff, call)
    gains = [cfr.best_response(game, strategy, i).gain for i in (0, 1)]
    earned = cfr.expected_utility(game, strategy)[0]
    return [earned, *gains, cfr.nash_conv(game, strategy), cfr.exploitability(game, strategy)]


@pytest.mark.slow
def test_cards_and_exploitability_are_right(drawn):
    for tasks in drawn:
        game, bluff = game_of(tasks[1].split("c) With")[0])
        histories, ends, infosets, fold, call, even = (r for (r,) in bold(tasks[1]))
        tree = cfr.compile(game)
        counted = (len(tree.infoset), sum(tree.num_children == 0), len(tree.infoset_label))
        assert counted == (histories, ends, infosets)
        # checks, which player 1 wins against losing cards, are no part of the values
        share = F(game.cards - len(game.winning), game.cards) * (1 - bluff)
        paid = [-measured(game, bluff, c)[0] - float(share) for c in (0, 1)]
        assert paid == pytest.approx([float(fold), float(call)])
        alike = [measured(game, even, c)[0] for c in (0, 1)]
        assert alike[0] == pytest.approx(alike[1]) and 0 < even < 1
        calls = "Player 1 calls every bet" in tasks[2]
        assert calls or "Player 1 folds to every bet" in tasks[2]
        results = [float(r) for (r,) in bold(tasks[2])]
        assert results == pytest.approx(measured(game, bluff, int(calls)))
        assert min(results[1:3]) > 0, "both players have something to gain"


def steps(rows, wrong):
    """Return R after each iteration, by loops that do not read the printed program."""
    regrets, found = [F(0)] * 3, []
    for others, own, *u in rows:
        size = [abs(r) if wrong == "size" else max(r, 0) for r in regrets]
        total = sum(size)
        play = [s / total if total else F(1, 3) for s in size]
        if wrong == "even":
            mean = sum(u) / 3
        else:
            mean = sum(p * x for p, x in zip(play, u, strict=True))
        weight = own if wrong == "own" else others
        kept = [F(0)] * 3 if wrong == "last" else regrets
        regrets = [r + weight * (x - mean) for r, x in zip(kept, u, strict=True)]
        found.append(regrets)
    return found


@pytest.mark.slow
def test_only_one_mistake_explains_the_friends_numbers(drawn):
    seen = set()
    for task in (tasks[3] for tasks in drawn):
        lines = re.findall(r"^\| \d \| .*$", task, re.M)
        rows = [fractions(line)[1:6] for line in lines]
        theirs = [fractions(line)[6:] for line in lines]
        first, second, (line,), right, friend = bold(task)
        assert [first, second] == steps(rows, "") != theirs
        (wrong,) = [name for name in exam.WRONG if steps(rows, name) == theirs]
        number, code, reason = exam.WRONG[wrong]
        assert line == number and f"`{code.strip()}`; {reason}" in task
        assert right == match(second) != friend
        assert friend == match([abs(r) if wrong == "size" else r for r in theirs[-1]])
        seen.add(wrong)
    assert seen == set(exam.WRONG)


@pytest.mark.slow
def test_the_floor_is_right(drawn):
    for task in (tasks[4] for tasks in drawn):
        given = fractions(re.search(r"regrets of the round (.*)", task)[1])
        R, Q = [0, 0], [0, 0]
        wanted = {"R": [], "Q": []}
        for t in range(3):
            for a in range(2):
                R[a] += given[2 * t + a]
                Q[a] = max(Q[a] + given[2 * t + a], 0)
            wanted["R"].append([*R])
            wanted["Q"].append([*Q])
        for name, rows in wanted.items():
            assert filled(re.search(rf"^\| {name} (.*)$", task, re.M)[1]) == rows
        assert bold(task) == [match(R), match(Q)] and match(R) != match(Q)


@pytest.mark.slow
def test_estimates_are_unbiased_and_their_variance_is_right(drawn):
    for task in (tasks[5] for tasks in drawn):
        values = fractions(re.search(r"worth (.*?), and plays", task)[1])
        plays = fractions(re.search(r"probabilities \((.*?)\)\.", task)[1])
        *triples, first, second, third, variance, even = bold(task)
        assert sum(plays) == 1 and [first, second, third] == [[v] for v in values]
        for a in range(3):
            mean = sum(q * triple[a] for q, triple in zip(plays, triples, strict=True))
            assert mean == values[a]
        squares = [(triples[0][0] - values[0]) ** 2, values[0] ** 2]
        assert variance == [plays[0] * squares[0] + (1 - plays[0]) * squares[1]]
        squares[0] = (3 * values[0] - values[0]) ** 2
        assert even == [squares[0] / 3 + squares[1] * 2 / 3]


# ---- the exam as a whole ---------------------------------------------------------------------


@pytest.mark.slow
def test_numbers_are_for_pencil_and_paper(drawn):
    for tasks in drawn:
        for number in fractions("".join(tasks)):
            assert number.denominator <= 30 and abs(number.numerator) <= 1296, number


@pytest.mark.slow
def test_points_add_up_to_forty(drawn):
    for tasks in drawn:
        assert [int(re.search(r"\((\d) points\)", task)[1]) for task in tasks] == POINTS
        bare = [SOLUTION.sub("", task) for task in tasks]
        assert [sum(map(int, re.findall(r"\((\d)\)$", t, re.M))) for t in bare] == POINTS
    head = exam.text("any", "A", solved=False).split("## ")[0]
    row = [int(n) for n in fractions(re.search(r"^\| of .*$", head, re.M)[0])]
    assert row == [*POINTS, sum(POINTS)] and "40 points" in head and sum(POINTS) == 40


@pytest.mark.slow
def test_no_two_variants_share_a_task(drawn):
    for n in range(0, len(drawn), 4):
        for task in zip(*drawn[n : n + 4], strict=True):
            assert len({*task}) == 4


def test_the_same_seed_makes_the_same_exam():
    for variant in exam.VARIANTS:
        once, twice = (exam.text("word", variant, solved=True) for _ in range(2))
        assert once == twice != exam.text("another", variant, solved=True)


def test_room_to_write_is_below_every_question():
    """A question is followed by lines, or by a table with gaps."""
    text = (TEACHING / "exam.md").read_text("utf-8")
    for question in re.split(r"^[a-d]\) ", text, flags=re.M)[1:]:
        found = SOLUTION.search(question)
        assert "[[" in question or (found and int(found[1]) >= 5), question


@pytest.mark.slow
def test_handouts_answer_no_question(drawn):
    """Its code, its reasons, its sentences and its lists of numbers are on no handout."""
    handouts = [path.read_text("utf-8") for path in (TEACHING / "handouts").glob("*.md")]
    sheet = " ".join(" ".join(handouts).split())
    assert len(handouts) == 8
    words = {line for _, code, reason in exam.WRONG.values() for line in (code.strip(), reason)}
    for tasks in drawn:
        for _, solution in SOLUTION.findall("".join(tasks)):
            words |= {*re.findall(r"\*\*(\(.+?\))\*\*", solution)}
            words |= {*re.split(r"[.:;] ", re.sub(r"\*\*.*?\*\*|[−\d/]+", "…", solution))}
    words = {word.strip(" .\n") for word in words}
    words = {word for word in words if len(word) >= 8}
    assert len(words) > 200
    assert not {word for word in words if word in sheet}


# ---- paper -----------------------------------------------------------------------------------


def test_a_blank_exam_holds_no_solution_and_not_its_seed():
    for variant in exam.VARIANTS:
        blank = exam.text("secret-word", variant, solved=False)
        page = sheets.html(blank, solved=False)
        assert "secret-word" not in page and "Solutions" not in page
        for _, solution in SOLUTION.findall(blank):
            assert solution.strip()[:24] not in page
        assert 'class="filled"' not in page and 'class="solution"' not in page
        solved = sheets.html(exam.text("secret-word", variant, solved=True))
        assert "secret-word" in solved and solved.count('class="solution"') == 17
        assert page.count('class="room ') == 17, "1 a) is answered in its table"


@pytest.mark.slow
def test_every_task_fits_its_page(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(exam, "OUT", tmp_path / "exam")
    monkeypatch.setattr(sys, "argv", ["exam.py", "word"])
    assert exam.main() == 0 and "'word'" in capsys.readouterr().out
    names = {f"{kind}_{v}.pdf" for kind in ("exam", "solutions") for v in exam.VARIANTS}
    assert {path.name for path in exam.OUT.iterdir()} == names
    for variant in exam.VARIANTS:
        pdf = PdfReader(exam.OUT / f"exam_{variant}.pdf")
        pages = [leaf.extract_text() for leaf in pdf.pages]
        assert len(pages) == 6
        assert f"variant {variant}" in pages[0] and "Name:" in pages[0]
        for n, text in enumerate(pages, 1):
            assert f"Variant {variant} · page {n} of 6 · Name" in " ".join(text.split())
            assert re.findall(r"^(\d)\. ", text, re.M) == [str(n)]
        pdf = PdfReader(exam.OUT / f"solutions_{variant}.pdf")
        for n, leaf in enumerate(pdf.pages, 1):
            mark = f"Solutions, variant {variant} · page {n} of {len(pdf.pages)}"
            assert mark in " ".join(leaf.extract_text().split())


def test_a_drawing_has_no_lines_below_it():
    """Only its numbers do."""
    page = sheets.html(exam.text("word", "A", solved=False), solved=False)
    assert page.count('class="room drawing"') == 1
    assert "Draw the tree" in page.partition('class="room drawing"')[0][-400:]


@pytest.mark.slow
def test_every_task_fits_its_page_whatever_is_drawn():
    """Between two page breaks there is less than a page, 269 by 178 mm."""
    with chromium.opened() as browser:
        size = {"width": round(178 * 96 / 25.4), "height": 1000}
        tab = chromium.context(browser, viewport=size).new_page()
        tab.emulate_media(media="print")
        for seed in SEEDS[:10]:
            for name, page in exam.documents(seed):
                if name.startswith("exam"):
                    tab.set_content(page)
                    tops = tab.evaluate(
                        "[...document.querySelectorAll('h1, .leaf')]"
                        ".map(e => e.getBoundingClientRect().top).concat("
                        "document.body.getBoundingClientRect().bottom)"
                    )
                    heights = [b - a for a, b in pairwise(tops)]
                    assert len(heights) == 6 and max(heights) < 269 * 96 / 25.4, name


@pytest.mark.slow
def test_without_a_seed_one_is_drawn(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(exam, "OUT", tmp_path)
    monkeypatch.setattr(sys, "argv", ["exam.py"])
    monkeypatch.setattr(paper, "print_all", lambda pages, out: None)
    told = set()
    for _ in range(2):
        assert exam.main() == 0
        told.add(re.search(r"exam '(\w{8})' are ready", capsys.readouterr().out)[1])
    assert len(told) == 2
