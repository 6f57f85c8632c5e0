"""What readers do on a page also works in Firefox: answers, veils, programs, Python."""

from __future__ import annotations

from collections.abc import Iterator

import firefox
import pytest
from reader import HTML
from test_answers import RIGHT, WRONG, nested
from test_programs import FOUND

from cfrbook import exercises

CHAPTER = (HTML / "book" / "01_regret_matching.html").as_uri()
ANSWER = """(number, values) => {
    const box = document.querySelector(`form[data-exercise="${number}"]`);
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
    assert questions == 4 and veiled > 4
    left, still = tab.run(VEILS, 0)
    assert left == 3 and 0 < still < veiled


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
