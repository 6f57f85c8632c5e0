"""Explorables and their frames: HTML for a page, ipywidgets for a kernel."""

from __future__ import annotations

import hashlib
import inspect
import itertools
import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from html import escape
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.figure import Figure

from cfrbook.explore.controls import Control
from cfrbook.plot import inline_svg, ten_to

if TYPE_CHECKING:
    import ipywidgets

MOST_AXES, MOST_FRAMES = 3, 400
PAGE = "CFRLIB_PAGE"  # environment variable, set while the book is built


class Frame:
    """The return value of a drawing function: figures, their description and their numbers.

    Parameters
    ----------
    *figures : matplotlib Figure
        Shown side by side, or below one another on a narrow screen.
    alt : str
        Description of the figures at these parameters, for readers who cannot see them.
    numbers : mapping from name to number, distribution or text
        Shown below the figures: iterations, exploitability, value.

    Raises
    ------
    ValueError
        If there is no figure, alt text or number.

    Examples
    --------
    >>> from cfrbook import plot
    >>> figure = plot.lines({"y": ([0, 1], [0, 2])}, xlabel="x", ylabel="y")
    >>> frame = Frame(figure, alt="A line that rises to 2.", numbers={"y(1)": 2})
    >>> "<dd>2</dd>" in frame.html(key="f")
    True
    """

    def __init__(self, *figures: Figure, alt: str, numbers: Mapping[str, Any]):
        if not figures or not alt.strip() or not numbers:
            raise ValueError(
                "a frame needs at least one figure, an alt text that describes it, and numbers "
                "for readers who cannot see it"
            )
        self.figures, self.alt, self.numbers = figures, alt, dict(numbers)

    def html(self, key: str) -> str:
        """Return figures and numbers as HTML; ids begin with `key`."""
        pictures = "\n".join(
            inline_svg(figure, 'aria-hidden="true"', key=f"{key}{n}", crop=False)
            for n, figure in enumerate(self.figures)
        )
        numbers = "".join(
            f"\n<div><dt>{escape(name)}</dt>\n<dd>{escape(number_text(value))}</dd></div>"
            for name, value in self.numbers.items()
        )
        return (
            f'<div class="cfr-panels" role="img" aria-label="{escape(self.alt)}">\n{pictures}\n'
            f'</div>\n<dl class="cfr-numbers">{numbers}\n</dl>'
        )


def number_text(value: Any) -> str:
    """Return a number with four decimals, a small one with a power of ten, several in brackets.

    Examples
    --------
    >>> number_text(1_000), number_text(1 / 3), number_text(0.000217), number_text(1e-17)
    ('1,000', '0.3333', '2.17 × 10⁻⁴', '0')
    >>> number_text((0.25, -0.0625)), number_text(0.03125)
    ('(0.250, -0.063)', '0.0313')
    """
    if isinstance(value, str):
        return value
    up = 1 + 1e-12  # halves away from zero, whichever way their last bit was rounded
    if isinstance(value, (tuple, list, np.ndarray)):
        return f"({', '.join(f'{v * up:.3f}' for v in value)})"
    if isinstance(value, (int, np.integer)):
        return f"{value:,}"
    value *= up
    if abs(value) < 1e-12:
        return "0"
    if abs(value) >= 1e-3:
        return f"{value:.4f}".replace("-", "−")
    digits, exponent = f"{value:.2e}".split("e")
    return f"{digits.replace('-', '−')} × {ten_to(int(exponent))}"


def about(value: float) -> str:
    """Return a number of which rounding, or the seed, changes all but the first digit.

    Examples
    --------
    >>> about(0.0347), about(2.6e-05), about(409_746)
    ('≈ 0.03', '≈ 3 × 10⁻⁵', '≈ 400,000')
    """
    first = float(f"{value:.0e}")
    digits, exponent = f"{first:.0e}".split("e")
    if abs(first) < 1e-3:
        return f"≈ {digits} × {ten_to(int(exponent))}"
    return f"≈ {first:,.0f}" if abs(first) >= 1 else f"≈ {first:g}"


class Explorable:
    """A figure with controls: redrawn by a kernel, or drawn in advance for a page.

    Parameters
    ----------
    draw : callable
        Takes one keyword argument for each control and returns a `Frame`. All frames must
        have figures of the same sizes.
    caption : str
        What to move, what to look at and why.
    play : str, optional
        Name of the control that the play button moves; by default the first slider.
    interval : int
        Milliseconds from one position to the next while it plays; more where each position
        has something to read.
    **controls : Control
        `Linear`, `Log`, `Seed`, `Choice`, `Mix` or `Walk`, one to three of them.

    Raises
    ------
    ValueError
        If the controls do not match the parameters of `draw`, if a page would have more than
        400 frames, if the caption is empty, or if `play` is not a slider.

    Examples
    --------
    >>> from cfrbook import explore, plot
    >>> def draw(a):
    ...     figure = plot.lines({"y": ([0, 1], [0, a])}, xlabel="x", ylabel="y", ylim=(0, 2))
    ...     return explore.Frame(figure, alt=f"A line that rises to {a}", numbers={"y(1)": a})
    >>> line = explore.Explorable(draw, caption="A line.", a=explore.Linear(0, 2, step=0.5))
    >>> line
    Explorable(a = 0.0 … 2.0, 5 frames)
    >>> line.start, "rises to 1.25" in line.frame_html(a=1.25)  # between two positions
    ({'a': 0.0}, True)
    >>> line.page().count("<input"), type(line.widget()).__name__
    (1, 'VBox')
    """

    def __init__(
        self,
        draw: Callable[..., Frame],
        *,
        caption: str,
        play: str | None = None,
        interval: int = 150,
        **controls: Control,
    ):
        wanted = list(inspect.signature(draw).parameters)
        if sorted(wanted) != sorted(controls) or not 1 <= len(controls) <= MOST_AXES:
            raise ValueError(
                f"draw takes {', '.join(wanted) or 'nothing'}, the controls are "
                f"{', '.join(controls) or 'none'}; draw must take one to {MOST_AXES} "
                "parameters, each with a control of the same name"
            )
        self.frames_on_page = int(np.prod([len(c.positions) for c in controls.values()]))
        if self.frames_on_page > MOST_FRAMES:
            sizes = ", ".join(f"{name} {len(c.positions)}" for name, c in controls.items())
            raise ValueError(
                f"{self.frames_on_page:,} frames are too many for a page ({sizes} positions); "
                f"use fewer positions, for at most {MOST_FRAMES} frames"
            )
        if not caption.strip():
            raise ValueError("an explorable needs a caption that says what to move and why")
        self.draw, self.caption, self.interval = draw, caption, interval
        self.controls = {name: control.labeled(name) for name, control in controls.items()}
        sliders = [name for name, control in controls.items() if control.plays]
        if play is not None and play not in sliders:
            raise ValueError(f"play={play!r} is not a slider; the sliders are {sliders}")
        self.play = play or next(iter(sliders), None)
        digest = hashlib.sha256(f"{caption}{wanted}".encode()).hexdigest()
        self._key = f"x{digest[:6]}-"

    @property
    def start(self) -> dict[str, Any]:
        """Values shown first, by control."""
        return {name: c.positions[c.start] for name, c in self.controls.items()}

    def frame_html(self, **values: Any) -> str:
        """Return figures and numbers at these values as HTML, for pages and kernels alike.

        Parameters
        ----------
        **values
            By default, the values shown first.

        Raises
        ------
        ValueError
            If a value is out of its control's range, or `draw` returns no `Frame`.
        """
        values = self.start | values
        checked = {name: control.check(values[name]) for name, control in self.controls.items()}
        frame = self.draw(**checked)
        if not isinstance(frame, Frame):
            raise ValueError(f"draw returned {frame!r}; it must return an explore.Frame")
        return frame.html(self._key)

    def __repr__(self) -> str:
        axes = ", ".join(
            f"{name} = {c.text(c.positions[0])} … {c.text(c.positions[-1])}"
            for name, c in self.controls.items()
        )
        return f"Explorable({axes}, {self.frames_on_page} frames)"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, Any]:
        """Return the page's HTML while a book is built, else a widget."""
        if os.environ.get(PAGE):
            return {"text/plain": repr(self), "text/html": self.page()}
        live: dict[str, Any] = self.widget()._repr_mimebundle_()
        return {**live, "text/plain": repr(self)}

    # ---- on a page --------------------------------------------------------------------------

    def page(self) -> str:
        """Return the explorable as HTML with all its frames, which needs no kernel.

        Raises
        ------
        ValueError
            If figures differ in size between frames, since the page would jump.
        """
        axes = [c.positions for c in self.controls.values()]
        grid = [dict(zip(self.controls, v, strict=True)) for v in itertools.product(*axes)]
        frames = [self.frame_html(**values) for values in grid]
        if len({tuple(re.findall(r'viewBox="[^"]*"', frame)) for frame in frames}) > 1:
            raise ValueError("all frames must have figures of the same sizes")
        pieces, rows = shared_pieces([frame.splitlines(keepends=True) for frame in frames])
        data = {
            "controls": [c.page_data() for c in self.controls.values()],
            "play": list(self.controls).index(self.play) if self.play else -1,
            "interval": self.interval,
            "pieces": pieces,
            "frames": rows,
        }
        text = json.dumps(data, ensure_ascii=False, separators=(",", ":"))
        # neither the end of the script nor a comment, in which a script would not end
        text = text.replace("</", "<\\/").replace("<!", "\\u003c!")
        script = f'<script type="application/json">{text}</script>'
        return (
            f"<style>{asset('page.css')}</style>"
            f'<figure class="cfr-figure cfr-explore">{self._inputs()}'
            f"{_stage(frames[grid.index(self.start)])}"
            '<p class="cfr-announce" aria-live="polite"></p>'
            f"<figcaption>{escape(self.caption)}</figcaption>"
            f'<button type="button" class="cfr-link" hidden>copy link</button>{script}</figure>'
            f"<script>{asset('page.js')}</script>"
        )

    def _inputs(self) -> str:
        """Return the HTML of the controls, hidden until the page's script runs."""
        play = '<button type="button" class="cfr-play" aria-pressed="false">▶ play</button>'
        # no stop for the Tab key: on a keyboard, the arrow keys move the slider
        step = 'type="button" class="cfr-step" tabindex="-1" aria-label="one step'
        buttons = f'<button {step} back">◀</button><button {step} on">▶</button>{play}'
        inputs = "".join(
            f'<div class="cfr-control" data-name="{name}">{control.inputs()}'
            f"{f'<div class=cfr-buttons>{buttons}</div>' if name == self.play else ''}</div>"
            for name, control in self.controls.items()
        )
        group = 'class="cfr-controls" role="group" aria-label="Controls" hidden'
        return f"<div {group}>{inputs}</div>"

    # ---- with a kernel ----------------------------------------------------------------------

    def widget(self) -> ipywidgets.Widget:
        """Return the explorable as a new ipywidgets widget, which redraws on every change."""
        import ipywidgets

        stage = ipywidgets.HTML(_stage(self.frame_html()))
        parts: dict[str, tuple[ipywidgets.Widget, Callable[[], Any]]] = {}

        def redraw() -> None:
            values = {name: read() for name, (_, read) in parts.items()}
            try:
                stage.value = _stage(self.frame_html(**values))
            except Exception as error:  # ipywidgets would swallow it in a callback
                stage.value = f"<pre>{escape(f'{type(error).__name__}: {error}')}</pre>"

        for name, control in self.controls.items():
            parts[name] = control.widget(redraw)
        rows = [self._with_play(name, widget) for name, (widget, _) in parts.items()]
        style = ipywidgets.HTML(f"<style>{asset('page.css')}</style>")
        caption = ipywidgets.HTML(f'<p class="cfr-caption">{escape(self.caption)}</p>')
        box = ipywidgets.VBox([style, *rows, stage, caption])
        box.add_class("cfr-explore")
        box.stage, box.parts = stage, {name: widget for name, (widget, _) in parts.items()}
        return box

    def _with_play(self, name: str, widget: ipywidgets.Widget) -> ipywidgets.Widget:
        """Return a control's widget, with buttons to step and play if it is the one to play."""
        import ipywidgets

        if name != self.play:
            return widget
        control = self.controls[name]
        last = len(control.positions) - 1

        def go(k: int) -> None:
            control.set(widget, control.positions[min(max(k, 0), last)])

        def step(by: int) -> None:
            go(int(np.abs(np.subtract(control.positions, widget.value)).argmin()) + by)

        steps = [ipywidgets.Button(description=text, layout={"width": "3rem"}) for text in "◀▶"]
        for button, by in zip(steps, (-1, 1), strict=True):
            button.on_click(lambda _, by=by: step(by))
        play = ipywidgets.Play(min=0, max=last, value=control.start, interval=self.interval)
        play.observe(lambda change: go(change["new"]), "value")
        return ipywidgets.HBox([widget, *steps, play])


def shared_pieces(frames: list[list[str]]) -> tuple[list[str], list[list[int]]]:
    """Return the pieces that frames consist of, each once, and the pieces of each frame.

    Lines that always follow one another form one piece. Frame k is the concatenation of
    ``pieces[n] for n in rows[k]``.

    Examples
    --------
    >>> shared_pieces([["a", "b", "x", "c"], ["a", "b", "y", "c"]])
    (['ab', 'x', 'c', 'y'], [[0, 1, 2], [0, 3, 2]])
    """
    after: dict[str, set[str | None]] = {}
    before: dict[str, set[str | None]] = {}
    for lines in frames:
        for line, following in itertools.pairwise([None, *lines, None]):
            if line is not None:
                after.setdefault(line, set()).add(following)
            if following is not None:
                before.setdefault(following, set()).add(line)

    def runs(lines: list[str]) -> Iterator[str]:
        run = ""
        for previous, line in itertools.pairwise(["", *lines]):
            if run and not (len(after[previous]) == len(before[line]) == 1):
                yield run
                run = ""
            run += line
        if run:
            yield run

    number: dict[str, int] = {}
    rows = [
        [number.setdefault(piece, len(number)) for piece in runs(lines)] for lines in frames
    ]
    return list(number), rows


def _stage(frame: str) -> str:
    """Return the container of the current frame."""
    return f'<div class="cfr-stage">{frame}</div>'


def asset(name: str) -> str:
    """Return the text of a file in this folder."""
    return resources.files("cfrbook.explore").joinpath(name).read_text("utf-8")
