"""Make slides from an outline in Markdown: one HTML file that needs nothing else.

`# ` begins the title slide, each `## ` another one. Every slide ends with notes for the speaker
and the minutes that it takes:

    ```{notes} 5
    Ask, before you move the slider: ...
    ```

The key → shows the next step of a slide, then the next slide; ← goes back the same way. What an
arrow marks is a step, see sheets.py, also for figures and algorithms. N shows the notes. In
print every slide is one page, with all its steps.
"""

from __future__ import annotations

import re
from collections.abc import Container
from dataclasses import dataclass
from functools import cached_property
from html import escape

import questions
import sheets

from cfrbook.explore.explorable import asset

SESSION = range(110, 121)  # minutes of one of the eight sessions
ALONE = range(85, 91)  # of the session that is not one of a course

READING = 130  # words a minute, read aloud
VOTE = 3  # minutes: think, raise hands, count

# Type has the size that a script has measured: the largest with which the slide, all steps
# shown, fits the window, and once more for the page that is printed.
STYLE = """
:root { color-scheme: light dark; LIGHT; --ink: #1f2933; --paper: #fff; font-size: 2.2vh;
  --pst-color-background: var(--paper); --pst-color-text-muted: var(--cfr-muted); }
@media (prefers-color-scheme: dark) { :root { DARK; --ink: #e6e8eb; --paper: #14181e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.35 system-ui, "DejaVu Sans", sans-serif; }
.slide { display: none; padding: 3vh 4vw 7vh; }
.slide.shown, .plain .slide { display: block; }
.content { font-size: var(--type, 3.5vh); height: 90vh; }
.plain .content { height: auto; }
.slide.title .content { align-content: center; }
h1 { font-size: 1.4em; line-height: 1.15; margin: 0 0 .6em; }
h2 { font-size: 1.2em; line-height: 1.15; margin: 0 0 .5em; }
.content > :is(p, ul, ol) { margin: .5em 0; max-width: 44em; }
.content > :last-child { margin-bottom: 0; }
.content :is(ul, ol) { padding-left: 1.6em; }
li { margin: .25em 0; } pre { font-size: .85em; margin: .5em 0; }
table { border-collapse: collapse; margin: .4em 0; } th, td { padding: .15em .7em;
  text-align: left; border-bottom: 1px solid var(--cfr-rule); }
:is(th, td):first-child { padding-left: 0; }
thead th { vertical-align: bottom; } thead:not(:has(th:not(:empty))) { display: none; }
figure { margin: .3em 0; text-align: center; }
.content figure svg { width: 100% !important; min-width: 0; height: auto;
  max-height: var(--figure, 54vh); } /* a figure has its width on the page as a style */
.content .cfr-explore .cfr-panels { flex-wrap: nowrap; overflow: visible; }
.content .cfr-explore .cfr-panels svg { flex: 1 1 var(--w, 17rem); max-width: none;
  min-width: 0; }
.cfr-explore dl.cfr-numbers { max-width: none; margin: .2em auto; gap: .1em 1.75em; }
figcaption { font-size: .6em; line-height: 1.3; color: var(--cfr-muted); max-width: 64em;
  margin: .2em auto 0; }
.cfr-explore { font-size: .75em; }
.cfr-explore .cfr-controls { margin-bottom: .4em; padding: .4em 1em; max-width: 56em; }
.cfr-explore .cfr-slider { grid-template-columns: 10em minmax(5em, 1fr) auto; }
.cfr-explore button.cfr-link { display: none; }
.cfr-explore figcaption, .cfr-explore .cfr-caption { font-size: .8em; line-height: 1.3;
  max-width: 64em; margin: .2em auto 0; }
.algorithm { border-left: .2em solid var(--cfr-strategy); padding-left: .8em;
  line-height: 1.2; }
.algorithm :is(p, ol) { margin: .1em 0; } .algorithm li { margin: .05em 0; }
.admonition-title { font-weight: 700; }
table:not(:has(th:not(:empty))) td:nth-child(2):not(:last-child) { width: 100%; }
.address { display: flex; gap: 2em; align-items: center; }
.address svg { flex: none; width: var(--figure, 54vh); height: auto; background: #fff; }
.address p { font-size: 1.1em; overflow-wrap: anywhere; }
body:not(.plain) .later:not(.now) { visibility: hidden; }
.notes { display: none; margin-top: 2rem; padding: .2em 1em; font-size: 1.1rem;
  max-width: 58em; border: 1px dashed var(--cfr-muted); border-radius: .4em; }
.with-notes .notes { display: block; }
nav { position: fixed; bottom: 0; right: 0; padding: .3rem .6rem; font-size: 1rem;
  background: var(--paper); border-top-left-radius: .5rem; }
nav button { font: inherit; color: inherit; background: none; cursor: pointer;
  border: 1px solid var(--cfr-muted); border-radius: .375rem; padding: .2rem .7rem; }
nav :focus-visible { outline: 3px solid var(--cfr-strategy); outline-offset: 2px; }
.printed { display: block; width: 297mm; padding: 12mm 16mm; }
.printed .content { height: 184mm; font-size: var(--print-type, 15pt);
  --figure: var(--print-figure, 100mm); }
.printed .cfr-controls { display: none !important; }
@media print {
  @page { size: 297mm 210mm; margin: 0; }
  :root { color-scheme: light; LIGHT; --ink: #000; --paper: #fff; font-size: 12pt; }
  body .slide { display: block; height: 209mm; padding: 12mm 16mm; break-after: page;
    break-inside: avoid; }
  .slide:last-child { break-after: auto; }
  body .slide .content { height: 184mm; font-size: var(--print-type, 15pt);
    --figure: var(--print-figure, 100mm); }
  body.with-notes .slide { height: auto; }
  body:not(.plain) .later:not(.now) { visibility: visible; }
  nav, .cfr-explore .cfr-controls { display: none !important; }
}
"""

SCRIPT = """
(function () {
  "use strict";
  // In percent of the height: bounds of the type, and what a figure has before type grows
  const LEAST = 2.2, MOST = 7, BESIDE_FIGURE = 4.6, FIGURE = 50;
  const slides = [...document.querySelectorAll(".slide")], place = document.title;
  const [back, counter, forward, notes] = document.querySelectorAll("nav > *");
  let at = 0, step = 0;
  try { at = +sessionStorage.getItem(place) || 0; } catch { /* not from a file */ }

  // ---- the size of type ----

  // The largest number between two bounds that fits, if the lower one does
  function largest(low, high, fits) {
    for (let n = 0; n < 8; n++) {
      const middle = (low + high) / 2;
      if (fits(middle)) low = middle; else high = middle;
    }
    fits(low);
    return low;
  }

  // Fit a displayed slide into its box; `prefix` begins the variables that keep the sizes.
  function fit(slide, prefix) {
    const content = slide.querySelector(".content"), high = content.clientHeight / 100;
    const set = (name, percent) => {
      content.style.setProperty(prefix + name, `${percent * high}px`);
      return content.scrollHeight <= content.clientHeight
        && content.scrollWidth <= content.clientWidth;
    };
    const drawn = slide.querySelector(".content svg");
    if (drawn) set("figure", FIGURE);
    largest(LEAST, drawn ? BESIDE_FIGURE : MOST, (percent) => set("type", percent));
    if (drawn) largest(0, 100, (percent) => set("figure", percent));
  }

  function fitPrinted() {
    document.documentElement.style.fontSize = "12pt";
    for (const slide of slides) {
      slide.classList.add("printed");
      fit(slide, "--print-");
      slide.classList.remove("printed");
    }
    document.documentElement.style.fontSize = "";
  }

  // ---- steps ----

  // The steps of a slide: what appears together is one of them.
  const steps = slides.map((slide) => {
    const found = [];
    for (const each of slide.querySelectorAll(".later")) {
      if (each.classList.contains("together") && found.length) found.at(-1).push(each);
      else found.push([each]);
    }
    return found;
  });

  // Show the first steps of a slide.
  function show(to, count) {
    at = Math.min(Math.max(to, 0), slides.length - 1);
    step = Math.min(count, steps[at].length);
    slides.forEach((slide, n) => slide.classList.toggle("shown", n === at));
    steps[at].forEach((group, n) => {
      for (const each of group) each.classList.toggle("now", n < step);
    });
    counter.textContent = `${at + 1} / ${slides.length}`;
    try { sessionStorage.setItem(place, at); } catch { /* the same */ }
  }
  function go(to, count) {
    show(to, count);
    fit(slides[at], "--");
    scrollTo(0, 0);
  }
  function next() {
    if (step < steps[at].length) show(at, step + 1);
    else if (at + 1 < slides.length) go(at + 1, 0);
  }
  function previous() {
    if (step) show(at, step - 1);
    else if (at) go(at - 1, Infinity);
  }
  function toggle() {
    const shown = document.body.classList.toggle("with-notes");
    notes.setAttribute("aria-pressed", shown);
  }
  back.addEventListener("click", previous);
  forward.addEventListener("click", next);
  notes.addEventListener("click", toggle);
  addEventListener("resize", () => fit(slides[at], "--"));
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return; // a slider keeps its arrows
    if (event.key === " " && event.target.closest("button")) return;
    const moves = { ArrowRight: next, PageDown: next, " ": next,
      ArrowLeft: previous, PageUp: previous, n: toggle, N: toggle,
      Home: () => go(0, 0), End: () => go(slides.length - 1, Infinity) };
    if (!(event.key in moves)) return;
    event.preventDefault();
    moves[event.key]();
  });
  document.body.classList.remove("plain");
  fitPrinted();
  go(at, 0);
})();
"""

VOTES = """\
# Votes

Four choices for each misconception, chapter by chapter.

```{notes} 1
Give everybody half a minute alone, then ask for four shows of hands. If they disagree, let
pairs talk for a minute, and vote again before you press →. The notes of each slide have a reply
to each wrong choice.
```
"""

PAGE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>{style}</style></head>
<body class="plain">
<main>{sections}</main>
<nav aria-label="Slides"><button type="button" aria-label="back">←</button>
<span aria-live="polite"></span> <button type="button" aria-label="forward">→</button>
<button type="button" aria-pressed="false">notes</button></nav>
<script>{explorables}</script><script>{script}</script>
</body></html>
"""


@dataclass(frozen=True)
class Slide:
    """One slide: its Markdown with the notes, and the minutes that it takes."""

    text: str
    minutes: int

    @property
    def heading(self) -> str:
        """The heading, for messages."""
        return self.text.lstrip("# ").partition("\n")[0]

    @cached_property
    def parts(self) -> tuple[str, str]:
        """What the class sees, and what the speaker reads, as Markdown."""
        shown, _, notes = self.text.partition("```{notes}")
        return shown, notes.partition("\n")[2].partition("```")[0]

    def estimate(self) -> float:
        """Return how many minutes the slide takes at least, by the rule of the guide.

        Everything is read aloud once, a vote takes three minutes, and a task takes the
        minutes that the notes give it.
        """
        shown, notes = self.parts
        text = re.sub(r"<!--.*?-->", "", shown + notes, flags=re.S)
        words = re.findall(r"[^\W_]+", re.sub(r"^```.*", "", text, flags=re.M))
        tasks = sum(int(n) for n in re.findall(r"\b(\d+) minutes?\b", notes))
        return len(words) / READING + tasks + VOTE * len(re.findall(r"\bVote\b", notes))


def slides_of(outline: str, minutes: Container[int] = SESSION) -> list[Slide]:
    """Split an outline into slides.

    Raises
    ------
    ValueError
        If a slide has no minutes, or the session is too long or too short.
    """
    found = []
    for part in re.split(r"^(?=##? )", outline, flags=re.M):
        if not part.strip():
            continue
        given = re.findall(r"^```\{notes\} (\d+)$", part, re.M)
        if len(given) != 1:
            raise ValueError(f"{part[:60]!r} needs one block of notes with minutes")
        found.append(Slide(part, int(given[0])))
    total = sum(slide.minutes for slide in found)
    if total not in minutes:
        raise ValueError(f"the session takes {total} minutes, not one of {minutes}")
    return found


def render(outline: str, minutes: Container[int] = SESSION) -> str:
    """Return the slides of an outline as one HTML file.

    Raises
    ------
    sheets.Missing
        If a slide names something that the book does not have; the message names the slide.
    """
    sections = []
    for n, slide in enumerate(slides_of(outline, minutes)):
        try:
            shown, notes = (sheets.html(part) for part in slide.parts)
        except sheets.Missing as error:
            raise sheets.Missing(f"slide {n + 1}, {slide.heading}: {error}") from error
        kind = "slide" if n else "slide title"
        sections.append(
            f'<section class="{kind}"><div class="content">{shown}</div>'
            f'<aside class="notes"><b>{slide.minutes} min</b>{notes}</aside></section>'
        )
    return PAGE.format(
        title=escape(sheets.title_of(outline)),
        style=asset("page.css") + sheets.colored(STYLE),
        sections="\n".join(sections),
        explorables=asset("page.js"),
        script=SCRIPT,
    )


def votes() -> str:
    """Return an outline of one slide for each misconception, with four choices."""
    parts = [VOTES]
    for question in questions.misconceptions():
        shown = questions.shuffled(question)
        right = next(letter for letter, answer in shown if answer.right)
        rows = "".join(
            f"| **{letter}** | {answer.value} | {'→ ✓' if answer.right else ''} |\n"
            for letter, answer in shown
        )
        replies = "".join(
            f"- **{letter}**: {answer.reply}\n" for letter, answer in shown if not answer.right
        )
        asked = re.sub(r"</?p>", "", question.html)
        parts.append(
            f"## {question.title}\n\n{asked}\n\n"
            f"| | | |\n|---|---|---|\n{rows}\n↳ {question.because}\n\n"
            f"```{{notes}} {VOTE}\n"
            f"Uncovers: *{question.uncovers}* Vote, then press →: {right}.\n\n{replies}```\n"
        )
    return "\n".join(parts)
