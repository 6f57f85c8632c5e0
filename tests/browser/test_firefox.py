"""What readers do on a page works in Firefox as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import firefox
import pytest
from reader import HTML, pages
from test_answers import RIGHT, WRONG, nested
from test_programs import FOUND

from cfrbook import exercises

CHAPTER = (HTML / "book" / "01_regret_matching.html").as_uri()
ANSWER = """async (number, values) => {
    const box = document.querySelector(`form[data-exercise="${number}"]`);
    box.scrollIntoView(); // what is out of sight has no text
    await new Promise((done) => setTimeout(done, 100));
    box.querySelectorAll("input, select").forEach((control, n) => {
        control.value = values[n];
        control.dispatchEvent(new Event("input", { bubbles: true }));
        control.dispatchEvent(new Event("change", { bubbles: true }));
    });
    box.requestSubmit();
    const reply = box.querySelector("[role=status]");
    return [reply.dataset.verdict, reply.innerText];
}"""
VEILS = """(number) => {
    const question = document.querySelectorAll(".predict")[number];
    question?.querySelector("summary").click();
    return new Promise((done) => setTimeout(() => done([
        document.querySelectorAll(".cfr-reveal").length,
        document.querySelectorAll(".cfr-veiled").length,
    ]), 100));
}"""
FILL = """async () => {
    const figure = document.querySelector("figure.cfr-program");
    const data = JSON.parse(figure.querySelector("script").textContent);
    figure.scrollIntoView();
    const verdict = () => figure.querySelector(".cfr-verdict")?.textContent ?? "";
    const until = async (words) => {
        while (!verdict().includes(words)) await new Promise((done) => setTimeout(done, 50));
        return verdict();
    };
    const before = await until("Not yet");
    figure.querySelectorAll("select").forEach((hole, n) => {
        const right = data.holes[n][0][0];
        hole.selectedIndex = [...hole.options].findIndex(({ label }) => label === right);
        hole.dispatchEvent(new Event("change", { bubbles: true }));
    });
    return [before, await until("this is the program")];
}"""
PYTHON = """async (number, program) => {
    const box = document.querySelector(`form[data-exercise="${number}"]`);
    const [begin, stop] = box.querySelectorAll("button");
    if (program !== null) box.querySelector("textarea").value = program;
    begin.click();
    const output = box.querySelector("pre"), reply = box.querySelector("[role=status]");
    while (!stop.hidden) {
        await new Promise((done) => setTimeout(done, 50));
        if (output.textContent.includes("on my way")) stop.click();
    }
    return [reply.innerText, output.textContent];
}"""

END, HOME, RIGHT_KEY = "\ue010", "\ue011", "\ue014"
KEYS = (END, HOME, RIGHT_KEY)
OPENED = """() => {
    document.querySelectorAll("details").forEach((fold) => { fold.open = true; });
    return document.querySelectorAll("figure.cfr-explore .cfr-control").length;
}"""
FOCUS = """(n) => {
    const box = document.querySelectorAll("figure.cfr-explore .cfr-control")[n];
    const input = box.querySelector("input[type=range]");
    input?.focus();
    return input !== null;
}"""
# Chooses the last entry, or takes the first action of a game
CHANGE = """(n) => {
    const box = document.querySelectorAll("figure.cfr-explore .cfr-control")[n];
    const list = box.querySelector("select");
    if (list) {
        list.selectedIndex = list.options.length - 1;
        list.dispatchEvent(new Event("change"));
    } else box.querySelector(".cfr-walk button:not(:disabled)").click();
}"""
# Whether each figure shows the frame of the positions that its controls say, and how much of it
# is beyond the edge of the screen
SHOWN = """() => [...document.querySelectorAll("figure.cfr-explore")].map((figure) => {
    const data = JSON.parse(figure.querySelector("script").textContent);
    const boxes = figure.querySelectorAll(".cfr-control");
    const number = data.controls.reduce((sum, control, k) => {
        const inputs = [...boxes[k].querySelectorAll("input")];
        const list = boxes[k].querySelector("select"), { counts } = control;
        const at = counts
            ? counts.findIndex((each) => each.every((count, n) => count === +inputs[n].value))
            : list ? list.selectedIndex
            : control.texts.indexOf(boxes[k].querySelector(".cfr-value").textContent);
        return sum * (control.counts ?? control.texts).length + at;
    }, 0);
    const wanted = document.createElement("div");
    wanted.innerHTML = data.frames[number].map((n) => data.pieces[n]).join("");
    const stage = figure.querySelector(".cfr-stage");
    const panels = stage.querySelector(".cfr-panels");
    return [wanted.innerHTML === stage.innerHTML, panels.scrollWidth - panels.clientWidth];
})"""
# How far the letters of formulas in sentences, which do not scroll, leave their paragraphs
CUT = """async () => {
    for (let y = 0; y < document.documentElement.scrollHeight; y += 700) {
        scrollTo(0, y);
        await new Promise((done) => setTimeout(done, 50));
    }
    const right = (element) => element.getBoundingClientRect().right;
    const formulas = [...document.querySelectorAll("span.math")];
    return formulas.filter((formula) => formula.checkVisibility()).map((formula) => {
        const letters = [...formula.querySelectorAll("mjx-mi, mjx-mo")].map(right);
        return Math.max(0, ...letters) - right(formula.closest("p, li, td, dd"));
    });
}"""
# How far the last button of each figure is beyond the box around its buttons
BUTTONS = """() => [...document.querySelectorAll(".cfr-explore .cfr-buttons")].map((box) =>
    box.lastElementChild.getBoundingClientRect().right - box.getBoundingClientRect().right)"""
# Of the formulas that may break: whether it has, and how far it is beyond its cell, if any
BROKEN = """async () => {
    while (!document.querySelector(".cfr-breakable"))
        await new Promise((done) => setTimeout(done, 50));
    return [...document.querySelectorAll("span.cfr-breakable")].map((formula) => {
        const letters = [...formula.querySelectorAll("mjx-c")];
        const boxes = letters.map((letter) => letter.getBoundingClientRect());
        const edge = formula.closest("td")?.getBoundingClientRect().right ?? Infinity;
        const beyond = Math.max(...boxes.map(({ right }) => right)) - edge;
        return [boxes.at(-1).top > boxes[0].bottom, Math.max(beyond, 0)];
    });
}"""
STATE = "() => [faults, document.documentElement.scrollWidth]"
# Plays hands by pressing buttons in turn; returns how many were played.
HANDS = """async (hands) => {
    const buttons = () => [...document.querySelectorAll(".play-actions button:not(:disabled)")];
    let ended = 0;
    for (let n = 0; ended < hands && n < 400; n++) {
        const now = buttons();
        if (!now.length) { await new Promise((done) => setTimeout(done, 50)); continue; }
        const button = now[n % now.length];
        if (button.dataset.action === "next") ended += 1;
        await new Promise((done) => setTimeout(done, 310)); // no double click
        button.click();
    }
    return ended;
}"""
TABLES = ["play_kuhn", "12_coyote", "13_koi_koi", "play_koikoi"]


@pytest.fixture(scope="module")
def tab() -> Iterator[firefox.Firefox]:
    try:
        firefox.executable()
    except RuntimeError as error:
        pytest.fail(str(error), pytrace=False)
    with firefox.opened() as browser:
        yield browser


def test_answers_are_checked(tab: firefox.Firefox) -> None:
    tab.open(CHAPTER)
    for number in RIGHT:
        for mark, values in (("✗", WRONG[number]), ("✓", RIGHT[number])):
            _, text = tab.run(ANSWER, number, values)
            wanted = exercises.check(number, nested(number, values)).text
            plain = [t.replace("*", "").replace("`", "") for t in (text, f"{mark} {wanted}")]
            assert plain[0] == plain[1]


def test_results_are_veiled(tab: firefox.Firefox) -> None:
    tab.open(CHAPTER)
    tab.run("() => { sessionStorage.clear(); location.reload(); }")
    tab.open(CHAPTER)
    questions, veiled = tab.run(VEILS, -1)
    assert questions == 3 and veiled > 4
    left, still = tab.run(VEILS, 0)
    assert left == 2 and 0 < still < veiled


@pytest.mark.parametrize("page", FOUND)
def test_holes_are_filled(tab: firefox.Firefox, page: str) -> None:
    tab.open((HTML / "book" / f"{page}.html").as_uri())
    before, after = tab.run(FILL)
    assert "Not yet" in before and "this is the program" in after


def test_python_runs_and_stops(tab: firefox.Firefox, served: str) -> None:
    tab.open(f"{served}01_regret_matching.html")
    says, _ = tab.run(PYTHON, "1.8", None)
    assert "line 5 still has a" in says
    says, printed = tab.run(PYTHON, "1.8", "x = 1\n1 / 0")
    assert "ended with an error" in says and "Line 2" in printed
    says, _ = tab.run(PYTHON, "1.8", "print('on my way')\nwhile True:\n    pass")
    assert says == "Stopped."


@pytest.mark.parametrize("page", pages(), ids=lambda page: Path(page).stem)
def test_page_fits_a_phone_and_its_figures_follow_their_controls(
    tab: firefox.Firefox, page: str
) -> None:
    tab.open((HTML / page).as_uri())
    for n in range(tab.run(OPENED)):
        steps = KEYS if tab.run(FOCUS, n) else (None, None)
        for key in steps:
            if key:
                tab.press(key)
            else:
                tab.run(CHANGE, n)
            assert all(right and hidden <= 0 for right, hidden in tab.run(SHOWN)), (n, key)
    faults, width = tab.run(STATE)
    assert faults == [] and width <= 360


def test_formulas_in_sentences_break(tab: firefox.Firefox) -> None:
    tab.open((HTML / "book" / "05_cfr_plus.html").as_uri())
    found = tab.run(CUT)
    assert len(found) > 100 and max(found) < 1


def test_buttons_keep_to_their_box(tab: firefox.Firefox) -> None:
    tab.open((HTML / "book" / "10_deep_cfr.html").as_uri(), width=1280)
    beyond = tab.run(BUTTONS)
    assert beyond and max(beyond) < 1


def test_formulas_break_in_sentences_and_keep_to_their_cells(tab: firefox.Firefox) -> None:
    tab.open((HTML / "book" / "reading_papers.html").as_uri())
    broken, beyond = zip(*tab.run(BROKEN), strict=True)
    assert any(broken) and max(beyond) < 1


@pytest.mark.parametrize("page", TABLES)
def test_hands_are_played(tab: firefox.Firefox, page: str) -> None:
    tab.open((HTML / "book" / f"{page}.html").as_uri())
    assert tab.run(HANDS, 2) == 2
    assert tab.run(STATE)[0] == []
