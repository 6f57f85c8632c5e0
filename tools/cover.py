"""Draw the cover: book/_static/cover.svg, and cover.png for the previews of shared links.

If the book is built, also take the picture in README.md, .github/book.png, of its chapter 4.

    python tools/cover.py

The path is the average strategy of regret matching on biased rock–paper–scissors over 3,000
rounds, computed as in chapter 1.
"""

from __future__ import annotations

from pathlib import Path

import chromium
import numpy as np
from playwright.sync_api import Browser

import cfrlib as cfr
from cfrbook.plot import COLORS, to_simplex

WIDTH, HEIGHT = 1200, 630
ROOT = Path(__file__).resolve().parents[1]
STATIC = ROOT / "book" / "_static"
CHAPTER = ROOT / "_build" / "html" / "book" / "04_vanilla_cfr.html"
PAPER, INK, FAINT = "#fbfaf7", "#1f2933", "#c9ccd1"
TITLE = ("Counterfactual", "Regret", "Minimization")
SUBTITLE = "from Rock–Paper–Scissors to Koi-Koi"


def place(strategies: np.ndarray) -> np.ndarray:
    """Return the cover's coordinates of distributions over rock, paper and scissors."""
    xy = to_simplex(strategies)
    return np.stack([655 + 470 * xy[..., 0], 115 + 470 * (np.sqrt(0.75) - xy[..., 1])], axis=-1)


def points(places: np.ndarray) -> str:
    return " ".join(f"{x:.1f},{y:.1f}" for x, y in places)


def svg() -> str:
    """Return the cover as SVG."""
    run = cfr.play(cfr.games.RockPaperScissors(3), 3_000, seed=0)
    corners, end = place(np.eye(3)), place(np.array([0.2, 0.6, 0.2]))
    current, average = place(run.current[0][:400]), place(run.average[0])
    rays = "".join(
        f'<line x1="{x:.1f}" y1="{y:.1f}" x2="{end[0]:.1f}" y2="{end[1]:.1f}"/>'
        for x, y in corners
    )
    title = "".join(
        f'<text x="80" y="{195 + 72 * n}" font-size="60" font-weight="700">{line}</text>'
        for n, line in enumerate(TITLE)
    )
    names = "".join(
        f'<text x="{x:.0f}" y="{y + dy:.0f}" text-anchor="middle" font-size="24">{name}</text>'
        for name, (x, y), dy in zip(
            ("rock", "paper", "scissors"), corners, (38, 38, -18), strict=True
        )
    )
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}"
 font-family="Georgia, 'DejaVu Serif', serif" role="img"
 aria-label="Cover: {" ".join(TITLE)}, {SUBTITLE}; a path ends at a point inside a triangle">
<rect width="{WIDTH}" height="{HEIGHT}" fill="{PAPER}"/>
<g stroke="{FAINT}" stroke-width="1.5" stroke-dasharray="3 7">{rays}</g>
<g fill="none" stroke-linejoin="round">
<polyline points="{points(current)}" stroke="{COLORS["regret"]}" stroke-opacity="0.35"
 stroke-width="1.5"/>
<polyline points="{points(average)}" stroke="{COLORS["strategy"]}" stroke-width="5"/>
<polygon points="{points(corners)}" stroke="{INK}" stroke-width="3"/></g>
<circle cx="{end[0]:.1f}" cy="{end[1]:.1f}" r="10" fill="{COLORS["value"]}"
 stroke="{PAPER}" stroke-width="3"/>
<g fill="{INK}">{names}{title}
<text x="80" y="400" font-size="27" fill="#4b5560">{SUBTITLE}</text></g>
<rect x="80" y="436" width="120" height="5" fill="{COLORS["strategy"]}"/>
<text x="80" y="490" font-size="22" fill="#4b5560">a book you can run</text>
</svg>
"""


def take(browser: Browser) -> None:
    """Take a picture of the first figure with sliders of chapter 4."""
    page = chromium.context(browser, viewport={"width": 1280, "height": 760}).new_page()
    page.goto(CHAPTER.as_uri())
    page.locator(".cfr-explore").first.evaluate(
        "figure => scrollTo(0, scrollY + figure.getBoundingClientRect().top - 100)"
    )
    page.screenshot(path=ROOT / ".github" / "book.png")


def main() -> None:
    """Write both files."""
    (STATIC / "cover.svg").write_text(svg(), encoding="utf-8")
    with chromium.opened() as browser:
        size = {"width": WIDTH, "height": HEIGHT}
        page = chromium.context(browser, viewport=size).new_page()
        page.set_content(f"<style>body{{margin:0}}</style>{svg()}")
        page.screenshot(path=STATIC / "cover.png")
        if CHAPTER.exists():
            take(browser)


if __name__ == "__main__":
    main()
