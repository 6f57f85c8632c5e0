"""Turn the Markdown of `teaching/` into HTML, with figures and algorithms from the built pages.

Besides ordinary Markdown and `$formulas$`, a text may hold directives. These two fail if the
page has no such part:

    ```{figure} 04_vanilla_cfr Stop CFR on Kuhn poker
    iterations: 100
    ```
    ```{algorithm} 04_vanilla_cfr alg-cfr
    ```

The first takes the figure whose caption begins with these words. If it has sliders, they keep
working, and the lines below set them, by the name and text that the page shows.

A paragraph, a list item or a cell that begins with an arrow is a step: a slide hides it until →
is pressed. So is a figure with the arrow before the name of its page. The other arrow is for
what appears together with the step before it:

    | rock | 1 | → **2** |
    | in all | ↳ −1 | ↳ **3** |

    ```{figure} → 04_vanilla_cfr Stop CFR on Kuhn poker
    ```

For a class with phones, `{address} play_kuhn` shows where they find that page of the book: a
code to photograph and the address.

Worksheets and exams are printed twice from one text, blank and solved:

    The regret of rock is [[2]].

    ```{solution} 4
    It would have won a point instead of losing one.
    ```
    ```{tree} all 200mm Q check-bet
    ```

In the blank version `[[2]]` is a gap and the solution is four lines to write on; after
`{solution} 9 drawing`, only the last two of nine lines are ruled. The last directive draws
all of Kuhn poker, or one deal such as KQ, in the given height; the solved version names the
infosets and rings those that are listed, with commas between them.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Sequence
from copy import copy
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import segno
from bs4 import BeautifulSoup, Tag
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

import cfrlib as cfr
from cfrbook import plot

ROOT = Path(__file__).resolve().parents[1]
STEPS = {"→ ": "later", "↳ ": "later together"}  # the classes of a step
PAGES = ROOT / "_build" / "html" / "book"
HOLDS = re.compile(r"<!-- holds: (.*?) -->\n?", re.S)
GAP = re.compile(r"\[\[(.+?)\]\]")
LINE = '<div class="line"></div>'
KUHN = cfr.games.KuhnPoker()


def colored(style: str) -> str:
    """Fill the book's colors into a style sheet, for `LIGHT;` and `DARK;`.

    They are the first twelve variables of the book's own style sheet.
    """
    book = (ROOT / "book" / "_static" / "book.css").read_text("utf-8")
    colors = re.findall(r"--cfr-\w+: #[0-9a-f]{6};", book)
    return style.replace("LIGHT;", " ".join(colors[:6])).replace(
        "DARK;", " ".join(colors[6:12])
    )


class Missing(ValueError):
    """A directive that names a page, figure, algorithm or position that does not exist."""


def mathml(tex: str, display: bool = False) -> str:
    """Convert TeX to MathML, which browsers show without scripts or fonts of their own."""
    made: str = convert(tex, display="block" if display else "inline")
    return made


# ---- parts of built pages -------------------------------------------------------------------


@cache
def page(name: str) -> BeautifulSoup:
    """Return a parsed page of the built book."""
    path = PAGES / f"{name}.html"
    if not path.exists():
        raise Missing(f"the book has no built page {name!r}")
    return BeautifulSoup(path.read_text("utf-8"), "html.parser")


def figure(name: str, words: str, settings: Sequence[str] = ()) -> str:
    """Return the figure of a page whose caption begins with `words`, at these positions."""
    captions = page(name).select("figure.cfr-figure > figcaption")
    found = [c.parent for c in captions if text_of(c).startswith(words)]
    if len(found) != 1 or not isinstance(found[0], Tag):
        there = "; ".join(text_of(c)[:50] for c in captions)
        raise Missing(f"{name} has {len(found)} figures {words!r}; captions: {there}")
    taken = copy(found[0])
    if settings:
        set_controls(taken, settings)
    return str(taken)


def text_of(tag: Any) -> str:
    """Return the text of an element with single spaces."""
    return " ".join(tag.get_text().split())


def set_controls(taken: Tag, settings: Sequence[str]) -> None:
    """Move the sliders of a figure, and show the frame that belongs to their positions."""
    script = taken.find("script", type="application/json")
    if script is None:
        raise Missing("only a figure with sliders has positions")
    data = json.loads(script.get_text())
    boxes = taken.select(".cfr-control")
    names = [str(box.get("data-name")) for box in boxes]
    at = [first_position(box, c) for box, c in zip(boxes, data["controls"], strict=True)]
    for line in settings:
        name, _, text = (part.strip() for part in line.partition(":"))
        if name not in names:
            raise Missing(f"the figure has no control {name!r}, only {names}")
        k = names.index(name)
        texts = control_texts(data["controls"][k])
        if text not in texts:
            raise Missing(f"{name} has no position {text!r}; the first are {texts[:8]}")
        at[k] = texts.index(text)
        move(boxes[k], at[k], text)
    number = 0
    for position, control in zip(at, data["controls"], strict=True):
        number = number * len(control_texts(control)) + position
    pieces = "".join(data["pieces"][n] for n in data["frames"][number])
    stage = taken.select_one(".cfr-stage")
    assert stage is not None
    stage.clear()
    stage.append(BeautifulSoup(pieces, "html.parser"))


def control_texts(control: dict[str, Any]) -> list[str]:
    """Return the texts of all positions of a slider or a list."""
    if "texts" not in control:
        raise Missing(f"a control of the kind {control['kind']!r} cannot be set here")
    return [str(text) for text in control["texts"]]


def first_position(box: Tag, control: dict[str, Any]) -> int:
    """Return the position that a page shows first."""
    slider = box.find("input")
    return int(str(slider.get("value"))) if isinstance(slider, Tag) else 0


def move(box: Tag, position: int, text: str) -> None:
    """Move a slider, or choose from a list."""
    slider = box.find("input")
    if isinstance(slider, Tag):
        slider["value"] = str(position)
        value = box.select_one(".cfr-value")
        assert value is not None
        value.string = text
        return
    for n, option in enumerate(box.find_all("option")):
        option.attrs.pop("selected", None)
        if n == position:
            option["selected"] = ""


def algorithm(name: str, ident: str) -> str:
    """Return an algorithm of a page, with its formulas as MathML."""
    found = page(name).find("div", class_="algorithm", id=ident)
    if not isinstance(found, Tag):
        there = [str(tag.get("id")) for tag in page(name).select("div.algorithm[id]")]
        raise Missing(f"{name} has no algorithm {ident!r}, only {there}")
    taken = copy(found)
    for formula in taken.select(".math"):
        tex = formula.get_text().strip()
        made = mathml(tex[2:-2].strip(), display=tex.startswith("\\["))
        formula.replace_with(BeautifulSoup(made, "html.parser"))
    for link in taken.select("a"):
        link.unwrap()
    return str(taken)


def address(name: str) -> str:
    """Return a code and the address of a page, or a sentence if nobody knows it.

    It is the environment variable CFR_BOOK_PAGE, for a short address that leads to the page;
    else the page in the published book, whose address is CFR_BOOK_URL.
    """
    page(name)
    known = os.environ.get("CFR_BOOK_URL", "")
    whole = os.environ.get("CFR_BOOK_PAGE") or (
        known and f"{known.rstrip('/')}/book/{name}.html"
    )
    if not whole:
        return "<p>The address is on the board.</p>"
    code = segno.make_qr(whole, error="m").svg_inline(omitsize=True, border=4)
    shown = escape(re.sub(r"^https?://|/$", "", whole))
    return f'<div class="address">{code}<p><b>{shown}</b></p></div>'


def tree(deal: str, height: str, rings: Sequence[str], solved: bool) -> str:
    """Return the tree of Kuhn poker, or of one deal. Infosets are marked if it is solved."""
    root = () if deal == "all" else (tuple(deal),)
    tall = float(height.removesuffix("mm")) / 25.4
    drawn = plot.tree(
        KUHN, root, highlight=rings if solved else (), size=(6.9, tall) if not root else None
    )
    label = f'role="img" aria-label="The tree of Kuhn poker: {deal}"'
    kind = "tree" if solved else "tree blank-tree"
    made = plot.inline_svg(drawn, label)
    first = " The first branches name the deals, player 0's card first." if not root else ""
    return (
        f'<figure class="{kind}" style="--height:{height}">{made}<figcaption>Black circles: '
        "player 0 moves. White circles: player 1 moves. The numbers are player 0's payoffs."
        f"{first}</figcaption></figure>"
    )


# ---- Markdown -------------------------------------------------------------------------------


def fence(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    """Render a fenced block: a directive, or a listing."""
    token = tokens[n]
    kind, _, rest = token.info.strip().partition(" ")
    if rest[:2] in STEPS:
        token.info = f"{kind} {rest[2:]}"
        shown = fence(self, tokens, n, options, env)
        return f'<div class="{STEPS[rest[:2]]}">{shown}</div>'
    name, _, words = rest.strip().partition(" ")
    lines = [line for line in token.content.splitlines() if line.strip()]
    if kind == "{figure}":
        return figure(name, words.strip(), lines)
    if kind == "{algorithm}":
        return algorithm(name, words.strip())
    if kind == "{address}":
        return address(name)
    if kind == "{solution}":
        if env.get("solved", True):
            return f'<div class="solution">{parser().render(token.content, env)}</div>'
        if not name.isdecimal():
            raise Missing("a solution needs the number of lines to write on")
        return f'<div class="room {words}">{LINE * int(name)}</div>'
    if kind == "{tree}":
        height, _, rings = words.strip().partition(" ")
        return tree(name, height, rings.split(", ") if rings else [], env.get("solved", True))
    if kind.startswith("{"):
        raise Missing(f"no directive {kind}")
    escaped = BeautifulSoup("<pre></pre>", "html.parser")
    assert escaped.pre is not None
    escaped.pre.string = token.content
    return str(escaped.pre)


def mark_steps(state: StateCore) -> None:
    """Give a class to each block that begins with an arrow, and take the arrow away."""
    tokens = state.tokens
    for n, inline in enumerate(tokens):
        if inline.type != "inline" or inline.content[:2] not in STEPS:
            continue
        hidden = tokens[n - 1].hidden  # the paragraph in a list item of one line
        tokens[n - 2 if hidden else n - 1].attrSet("class", STEPS[inline.content[:2]])
        assert inline.children
        inline.children[0].content = inline.children[0].content[2:]


@cache
def parser() -> MarkdownIt:
    """Return the Markdown parser of all sheets."""
    made = MarkdownIt("commonmark", {"html": True}).enable("table")
    made.use(dollarmath_plugin, renderer=lambda tex, o: mathml(tex, o["display_mode"]))
    made.add_render_rule("fence", fence)
    made.core.ruler.after("inline", "steps", mark_steps)
    return made


def html(text: str, *, solved: bool = True) -> str:
    """Convert a text to HTML, with its solutions or with room to write them."""

    def gap(found: re.Match[str]) -> str:
        if solved:
            return f'<span class="filled">{found[1]}</span>'
        width = min(24, max(3, 0.8 * len(found[1])))
        return f'<span class="gap" style="width:{width:g}em"></span>'

    made: str = parser().render(GAP.sub(gap, text), {"solved": solved})
    return made


def title_of(text: str) -> str:
    """Return the heading of a text."""
    found = re.search(r"^# (.+)$", text, re.M)
    if not found:
        raise Missing("a text needs a title")
    return found[1]
