"""Turn the Markdown of `teaching/` into HTML, with figures and algorithms from the built pages.

Besides ordinary Markdown and `$formulas$`, a text may hold two directives, which fail if the
page has no such part:

    ```{figure} 04_vanilla_cfr Stop CFR on Kuhn poker
    iterations: 100
    ```
    ```{algorithm} 04_vanilla_cfr alg-cfr
    ```

The first takes the figure whose caption begins with these words. If it has sliders, they keep
working, and the lines below set them, by the name and text that the page shows.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from copy import copy
from functools import cache
from pathlib import Path
from typing import Any

from bs4 import BeautifulSoup, Tag
from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

ROOT = Path(__file__).resolve().parents[1]
PAGES = ROOT / "_build" / "html" / "book"


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


# ---- Markdown -------------------------------------------------------------------------------


def fence(self: Any, tokens: Sequence[Token], n: int, options: Any, env: Any) -> str:
    """Render a fenced block: a directive, or a listing."""
    token = tokens[n]
    kind, _, rest = token.info.strip().partition(" ")
    name, _, words = rest.strip().partition(" ")
    lines = [line for line in token.content.splitlines() if line.strip()]
    if kind == "{figure}":
        return figure(name, words.strip(), lines)
    if kind == "{algorithm}":
        return algorithm(name, words.strip())
    if kind == "{notes}":
        inner = parser().render(token.content)
        return f'<aside class="notes"><b>{rest.strip()} min</b>{inner}</aside>'
    if kind.startswith("{"):
        raise Missing(f"no directive {kind}")
    escaped = BeautifulSoup("<pre></pre>", "html.parser")
    assert escaped.pre is not None
    escaped.pre.string = token.content
    return str(escaped.pre)


@cache
def parser() -> MarkdownIt:
    """Return the Markdown parser of all sheets."""
    made = MarkdownIt("commonmark", {"html": True}).enable("table")
    made.use(dollarmath_plugin, renderer=lambda tex, o: mathml(tex, o["display_mode"]))
    made.add_render_rule("fence", fence)
    return made


def html(text: str) -> str:
    """Convert a text to HTML."""
    made: str = parser().render(text)
    return made


def title_of(text: str) -> str:
    """Return the heading of a text."""
    found = re.search(r"^# (.+)$", text, re.M)
    if not found:
        raise Missing("a text needs a title")
    return found[1]
