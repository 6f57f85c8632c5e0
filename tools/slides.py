"""Make slides from an outline in Markdown: one HTML file that needs nothing else.

`# ` begins the title slide, each `## ` another one. Every slide ends with notes for the speaker
and the minutes that it takes:

    ```{notes} 5
    Ask, before you move the slider: ...
    ```

The keys → and ← go forward and back, N shows the notes. In print every slide is one page. See
sheets.py for figures and algorithms.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

import sheets

from cfrbook.explore.explorable import asset

MOST, LEAST = 120, 110  # minutes of a session

STYLE = """
:root { color-scheme: light dark; LIGHT; --ink: #1f2933; --paper: #fff;
  --pst-color-background: var(--paper); --pst-color-text-muted: var(--cfr-muted); }
@media (prefers-color-scheme: dark) { :root { DARK; --ink: #e6e8eb; --paper: #14181e; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: clamp(16px, 3vmin, 40px)/1.4 system-ui, "DejaVu Sans", sans-serif; }
.slide { display: none; min-height: 100vh; padding: 4vmin 6vmin 9vmin; }
.slide.shown, .plain .slide { display: block; }
.slide.title { align-content: center; }
h1 { font-size: 2.2em; line-height: 1.15; } h2 { font-size: 1.5em; margin: 0 0 .6em; }
.slide > :is(p, ul, ol, table) { max-width: 46em; }
li { margin: .3em 0; } pre { font-size: .85em; overflow-x: auto; }
table { border-collapse: collapse; } th, td { padding: .2em .8em; text-align: left;
  border-bottom: 1px solid var(--cfr-rule); } thead th { vertical-align: bottom; }
figure { margin: .5em 0; text-align: center; overflow-x: auto; }
figure svg { max-width: 100%; height: auto; max-height: 54vh; }
.cfr-explore .cfr-panels svg { max-height: 40vh; }
.cfr-explore dl.cfr-numbers { max-width: none; margin: .3em auto; }
figcaption { font-size: .7em; color: var(--cfr-muted); max-width: 60em; margin: .3em auto 0; }
.cfr-explore { font-size: .75em; } .cfr-explore .cfr-controls { margin-bottom: .4rem; }
.cfr-explore button.cfr-link { display: none; }
.algorithm { border-left: .25em solid var(--cfr-strategy); padding-left: 1em; font-size: .7em; }
.algorithm :is(p, ol) { margin: .2em 0; } .algorithm li { margin: .1em 0; }
.admonition-title { font-weight: 700; }
.notes { display: none; margin-top: 2em; padding: .2em 1em; font-size: .8em; max-width: 58em;
  border: 1px dashed var(--cfr-muted); border-radius: .4em; }
.with-notes .notes { display: block; }
nav { position: fixed; bottom: 0; right: 0; padding: .6rem 1rem; font-size: 1rem;
  background: var(--paper); border-top-left-radius: .5rem; }
nav button { font: inherit; color: inherit; background: none; cursor: pointer;
  border: 1px solid var(--cfr-muted); border-radius: .375rem; padding: .2rem .7rem; }
nav :focus-visible { outline: 3px solid var(--cfr-strategy); outline-offset: 2px; }
@media print {
  @page { size: 297mm 210mm; margin: 0; }
  :root { color-scheme: light; LIGHT; --ink: #000; --paper: #fff; }
  body { font-size: 15pt; }
  .slide { display: block; min-height: 0; height: 209mm; overflow: hidden; padding: 12mm 16mm;
    break-after: page; break-inside: avoid; }
  .slide:last-child { break-after: auto; }
  .with-notes .slide { height: auto; overflow: visible; }
  figure svg { max-height: 100mm; } .cfr-explore .cfr-panels svg { max-height: 84mm; }
  nav, .cfr-explore .cfr-controls { display: none !important; }
}
"""

SCRIPT = """
(function () {
  "use strict";
  const slides = [...document.querySelectorAll(".slide")], place = document.title;
  const [back, counter, forward, notes] = document.querySelectorAll("nav > *");
  let at = 0;
  try { at = +sessionStorage.getItem(place) || 0; } catch { /* not from a file */ }
  function show(to) {
    at = Math.min(Math.max(to, 0), slides.length - 1);
    slides.forEach((slide, n) => slide.classList.toggle("shown", n === at));
    counter.textContent = `${at + 1} / ${slides.length}`;
    try { sessionStorage.setItem(place, at); } catch { /* the same */ }
    scrollTo(0, 0);
  }
  function toggle() {
    const shown = document.body.classList.toggle("with-notes");
    notes.setAttribute("aria-pressed", shown);
  }
  back.addEventListener("click", () => show(at - 1));
  forward.addEventListener("click", () => show(at + 1));
  notes.addEventListener("click", toggle);
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return; // a slider keeps its arrows
    if (event.key === " " && event.target.closest("button")) return;
    const moves = { ArrowRight: at + 1, PageDown: at + 1, " ": at + 1, ArrowLeft: at - 1,
      PageUp: at - 1, Home: 0, End: slides.length - 1 };
    if (event.key in moves) { event.preventDefault(); show(moves[event.key]); }
    if (event.key === "n" || event.key === "N") toggle();
  });
  document.body.classList.remove("plain");
  show(at);
})();
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


def slides_of(outline: str) -> list[Slide]:
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
        minutes = re.findall(r"^```\{notes\} (\d+)$", part, re.M)
        if len(minutes) != 1:
            raise ValueError(f"{part[:60]!r} needs one block of notes with minutes")
        found.append(Slide(part, int(minutes[0])))
    total = sum(slide.minutes for slide in found)
    if not LEAST <= total <= MOST:
        raise ValueError(f"the session takes {total} minutes, not {LEAST} to {MOST}")
    return found


def render(outline: str) -> str:
    """Return the slides of an outline as one HTML file.

    Raises
    ------
    sheets.Missing
        If a slide names something that the book does not have; the message names the slide.
    """
    sections = []
    for n, slide in enumerate(slides_of(outline)):
        try:
            body = sheets.html(slide.text)
        except sheets.Missing as error:
            raise sheets.Missing(f"slide {n + 1}, {slide.heading}: {error}") from error
        kind = "slide" if n else "slide title"
        sections.append(f'<section class="{kind}">{body}</section>')
    return PAGE.format(
        title=escape(sheets.title_of(outline)),
        style=sheets.colored(STYLE) + asset("page.css"),
        sections="\n".join(sections),
        explorables=asset("page.js"),
        script=SCRIPT,
    )
