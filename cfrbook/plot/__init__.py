"""Figures and tables of the book: convergence, paths on the simplex, game trees, strategy bars.

Every function returns a Matplotlib figure; :func:`show` turns it into an inline SVG with a
caption and an alternative text, in the colors of the page's light or dark theme. Colors have
a meaning: regret, strategy, value and reach each have one color throughout the book, and no
figure relies on color alone. Figures are also redrawn while a slider moves, so their axes have
few ticks and fixed margins, since ticks and layout take most of Matplotlib's time.
"""

from __future__ import annotations

import hashlib
import io
import math
import re
import unicodedata
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import Any, Literal

from cfrlib.core.extras import require

require("cfrbook.plot", "plot", "matplotlib")

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.font_manager import fontManager
from matplotlib.lines import Line2D
from matplotlib.markers import TICKDOWN, TICKLEFT
from matplotlib.patches import Rectangle
from matplotlib.ticker import LogLocator, MaxNLocator, ScalarFormatter

from cfrbook.plot.artists import ChunkedLine, Labels, LazyAxes, Legend, Words
from cfrlib.core.tree import CHANCE, TERMINAL, Floats, Tree, compile
from cfrlib.game import Action, Game, action_label
from cfrlib.solution import Trace
from cfrlib.strategy import Strategy

__all__ = [
    "COLORS",
    "Picture",
    "Table",
    "annotate",
    "convergence",
    "infoset_numbers",
    "inline_svg",
    "lines",
    "show",
    "simplex",
    "strategy_bars",
    "ten_to",
    "to_simplex",
    "tree",
]

COLORS = {
    "regret": "#B8440A",
    "strategy": "#0072B2",
    "value": "#00795A",
    "reach": "#9C4F84",
    "muted": "#767676",
}
INK = "#010203"  # placeholder for the text color of the page
PAPER = "#FDFEFD"  # placeholder for the background color of the page
# id of a group of labels that lie over lines -> its style: the labels keep the lines off
HALO = {"gid": "halo"}
HALO_STYLE = f"paint-order:stroke;stroke:{PAPER};stroke-width:3px;stroke-linejoin:round"
SERIES = ("strategy", "regret", "value", "reach")
FONT, SMALL, TINY = 11, 10, 8  # points, a page shows as 1.4 pixels each at full width
LEAST = 9  # pixels: no picture shrinks so far that its letters become smaller
RINGS = ("reach", "strategy", "regret", "value")
DASHES = ("-", "--", "-.", ":")
# Texts in a table at the right of their column: they begin with a number and have no long word
NUMERAL = re.compile(r"(?!.*[^\W\d]{4})\s*(?:[+−±<>-]?\s?(?:[\d.½⅓¼∞]|inf|nan)|[–—·-]?\s*$)")

# Fonts with Japanese letters, on Linux, Macs and Windows. A page needs none of them, as it
# draws all letters in the reader's fonts, but Matplotlib measures texts and draws PNG files.
JAPANESE = ("Noto Sans CJK JP", "IPAexGothic", "Hiragino Sans", "Yu Gothic", "MS Gothic")

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cfrlib",
    "font.family": ["sans-serif", *sorted({*JAPANESE} & {*fontManager.get_font_names()})],
    "font.size": FONT,
    "text.parse_math": False,  # actions may have names such as "raise $5 to $10"
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": FONT,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(color=[COLORS[name] for name in SERIES], linestyle=list(DASHES)),
}


class Picture:
    """Figure for a page: inline SVG, alternative text and caption.

    Parameters
    ----------
    svg, alt, caption : str
        As created by :func:`show`.

    Examples
    --------
    >>> Picture("<svg></svg>", alt="A falling line.", caption="Exploitability falls.")
    <Picture: A falling line.>
    """

    def __init__(self, svg: str, alt: str, caption: str):
        self.svg, self.alt, self.caption = svg, alt, caption

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def _repr_html_(self) -> str:
        return (
            f'<figure class="cfr-figure">{self.svg}'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


class Table:
    """Results in rows: a table on a page and in a notebook, aligned columns elsewhere.

    Parameters
    ----------
    columns : sequence of str
        Heading of each column; the first column holds the headings of the rows.
    rows : iterable of sequences
        A value for each column. Whole numbers get commas, texts stay as they are.
    floats : str
        Format of the other numbers.

    Raises
    ------
    ValueError
        If a row has more or fewer values than there are columns.

    Examples
    --------
    >>> Table(["rule", "iterations", "exploitability"], [["CFR+", 1000, 0.00123]], floats=".4f")
    rule  iterations  exploitability
    CFR+       1,000          0.0012
    """

    def __init__(
        self, columns: Sequence[str], rows: Iterable[Sequence[Any]], *, floats: str = ".3f"
    ):
        self.columns = list(columns)
        self.rows = [[_in_cell(value, floats) for value in row] for row in rows]
        for row in self.rows:
            if len(row) != len(self.columns):
                raise ValueError(
                    f"the row {row} has {len(row)} values; there are {len(self.columns)} "
                    f"columns: {', '.join(self.columns)}"
                )
        cells = zip(*self.rows, strict=True) if self.rows else ([] for _ in self.columns)
        self._right = [all(NUMERAL.match(text) for text in column) for column in cells]

    def __repr__(self) -> str:
        lines = [self.columns, *self.rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        return "\n".join(
            "  ".join(
                text.rjust(width) if right else text.ljust(width)
                for text, width, right in zip(line, widths, self._right, strict=True)
            ).rstrip()
            for line in lines
        )

    def _repr_html_(self) -> str:
        def cells(texts: Sequence[str], tags: Sequence[str]) -> str:
            return "".join(
                f"<{tag}{' class=cfr-right' * right}>{_breaking(text)}</{tag[:2]}>"
                for text, tag, right in zip(texts, tags, self._right, strict=True)
            )

        columns = len(self.columns)
        head = cells(self.columns, ["th scope=col"] * columns)
        tags = ["th scope=row", *["td"] * (columns - 1)]
        body = "\n".join(f"<tr>{cells(row, tags)}</tr>" for row in self.rows)
        return (
            f'<table class="cfr-table">\n<thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{body}\n</tbody>\n</table>"
        )


def _breaking(text: str) -> str:
    """Return a text of a table as HTML that breaks where a narrow column may."""
    text = escape(text).replace("exploitab", "exploit&shy;ab").replace("± ", "±&nbsp;")
    text = re.sub(r"(?<=\d) (?=(?:µs|ms|s|[kMG]B)\b)", "&nbsp;", text)
    return re.sub(r"[\d.]+e-\d+", r"<span class=cfr-joined>\g<0></span>", text)


def _in_cell(value: Any, floats: str) -> str:
    """Return the text of a value in a table."""
    if isinstance(value, (int, np.integer)) and not isinstance(value, bool):
        return f"{value:,}"
    return format(value, floats) if isinstance(value, (float, np.floating)) else str(value)


def inline_svg(figure: Figure, attributes: str, *, key: str = "", crop: bool = True) -> str:
    """Return `figure` as inline SVG in the colors of the page's theme.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    attributes : str
        Further attributes of the ``<svg>`` element.
    key : str
        Prefix of every id; by default a digest, so that ids differ from figure to figure.
    crop : bool
        Whether to crop empty margins. Without cropping, figures of equal size keep it.

    Returns
    -------
    str

    Examples
    --------
    >>> figure = lines({"y": ([0, 1], [0, 2])}, xlabel="x", ylabel="y")
    >>> inline_svg(figure, 'role="img" aria-label="A line."').startswith('<svg role="img"')
    True
    """
    buffer = io.StringIO()
    box = "tight" if crop else None
    with mpl.rc_context(STYLE), warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph .* missing")  # the browser has other fonts
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches=box, metadata={"Date": None}
        )
    return _themed(buffer.getvalue(), attributes, key)


def show(figure: Figure, *, alt: str, caption: str) -> Picture:
    """Return `figure` as a picture for the page.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure.
    alt : str
        Alternative text: a description for readers who cannot see the figure.
    caption : str
        What to look at, and why.

    Raises
    ------
    ValueError
        If `alt` or `caption` is empty.

    Examples
    --------
    >>> figure = lines({"y": ([0, 1], [0, 2])}, xlabel="x", ylabel="y")
    >>> show(figure, alt="A line that rises to 2.", caption="How y grows.")
    <Picture: A line that rises to 2.>
    """
    if not alt.strip() or not caption.strip():
        raise ValueError("every figure needs an alt text and a caption; describe what it shows")
    label = f'role="img" aria-label="{escape(alt)}"'
    return Picture(inline_svg(figure, label), alt, caption)


def _themed(svg: str, attributes: str, key: str) -> str:
    """Adapt Matplotlib's SVG to a page: unique ids, theme colors, attributes."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    # Matplotlib's style rule selects all elements and would apply to the whole page.
    strokes = re.search(r"<style[^>]*>\*\{(.*?)\}</style>", svg)
    assert strokes, "the SVG output of Matplotlib has changed"
    svg = svg.replace(strokes[0], "")
    strokes_here = strokes[1].replace(": ", ":")
    svg = svg.replace('<g id="halo">', f'<g style="{HALO_STYLE}">')
    svg = re.sub(r'<g id="\w+">', "<g>", svg)  # no references to groups
    pieces = re.split(r"(?<=>)([^<>]*[^<>\s][^<>]*)(?=<)", svg)  # tags, text, tags, ...
    pieces[::2] = [re.sub(r"(?<=\.\d\d)\d+", "", tags) for tags in pieces[::2]]
    svg = "".join(pieces)
    key = key or hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{key}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]+"', r"\1", svg, count=1)
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg).group(1))  # type: ignore[union-attr]
    svg = re.sub(r'(<svg[^>]*?) height="[^"]+"', r"\1", svg, count=1)
    letters = [float(size) for size in re.findall(r"<text[^>]*?([\d.]+)px", svg)]
    least = LEAST * width / min(letters, default=LEAST * width)  # a narrow page scrolls
    sizes = f"--w:{width * 1.4:.0f}px;--least:{least:.0f}px;width:var(--w)"
    svg = svg.replace("<svg ", f'<svg {attributes} style="{sizes};{strokes_here}" ', 1)
    return re.sub(
        "|".join([INK, PAPER, *COLORS.values()]), _theme_color, svg, flags=re.IGNORECASE
    )


def _theme_color(found: re.Match[str]) -> str:
    """Return the CSS color for a color of the palette."""
    if found[0].upper() == INK:
        return "currentColor"
    if found[0].upper() == PAPER:  # the book's variable, then JupyterLab's
        return "var(--pst-color-background, var(--jp-layout-color0, white))"
    name = next(name for name, value in COLORS.items() if value.lower() == found[0].lower())
    return f"var(--cfr-{name}, {found[0]})"


def _empty_figure(
    width: float, height: float, margins: tuple[float, float, float, float]
) -> tuple[Figure, Axes]:
    """Return an empty figure with margins (W, E, S, N); all sizes in inches."""
    west, east, south, north = margins
    figure = Figure(figsize=(width, height))
    extent = 1 - (west + east) / width, 1 - (south + north) / height
    axes = figure.add_axes((west / width, south / height, *extent), axes_class=LazyAxes)
    return figure, axes


def lines(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    xlabel: str,
    ylabel: str,
    xscale: str = "linear",
    yscale: str = "linear",
    xlim: tuple[float, float] | None = None,
    ylim: tuple[float, float] | None = None,
    levels: Mapping[str, float] | None = None,
    mark: float | None = None,
    size: tuple[float, float] = (5.0, 3.0),
) -> Figure:
    """Draw named curves.

    Parameters
    ----------
    curves : mapping from name to (x, y)
        The curves; a single point becomes a cross.
    xlabel, ylabel, xscale, yscale, xlim, ylim : str or pair
        As in Matplotlib; without a value above 0, a logarithmic y axis becomes linear.
    levels : mapping from name to y, optional
        Horizontal reference lines.
    mark : float, optional
        Position of a vertical line, with a dot on every curve.
    size : (width, height) in inches

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> T = np.arange(1, 1_001)
    >>> lines({"1/√T": (T, T**-0.5)}, xlabel="T", ylabel="bound", xscale="log", yscale="log")
    <Figure size 500x300 with 1 Axes>
    """
    columns, raised = _legend_columns(list(curves), len(ylabel), size[0])
    if not any(np.greater(y, 0).any() for _, y in curves.values()):
        yscale = "linear"
    with mpl.rc_context(STYLE):
        figure, axes = _empty_figure(*size, margins=(0.77, 0.2, 0.54, 0.33 + raised))
        for name, (x, y) in curves.items():
            (line,) = axes.plot(np.asarray(x), np.asarray(y), label=name)
            if np.size(x) == 1:
                line.set(marker="X", linestyle="none")
            if mark is not None:
                axes.plot(
                    mark,
                    np.interp(mark, np.asarray(x), np.asarray(y)),
                    "o",
                    color=line.get_color(),
                )
        if mark is not None:
            axes.axvline(mark, color=INK, linewidth=0.8, linestyle="-")
        for name, level in (levels or {}).items():
            axes.axhline(level, color=COLORS["muted"], linewidth=1, linestyle=(0, (4, 3)))
            style: dict[str, Any] = {
                "va": "bottom",
                "color": COLORS["muted"],
                "fontsize": SMALL,
            }
            labels = Labels([name], [(0.01, level)], axes.get_yaxis_transform(), **style)
            labels.set(**HALO)
            axes.add_artist(labels)
        axes.set(xscale=xscale, yscale=yscale, xlim=xlim, ylim=ylim)
        _draw_axis(axes, "x", _ticks(axes.get_xlim(), xscale), xlabel)
        _draw_axis(axes, "y", _ticks(axes.get_ylim(), yscale), ylabel)
        if len(curves) > 1:
            above = 0.29 / (size[1] - 0.87 - raised) if raised else 0.0
            _add_legend(axes, "right", columns, above)
    return figure


def _legend_columns(names: list[str], label: int, width: float) -> tuple[int, float]:
    """Return the columns of a legend, and the height in inches by which it is above the label.

    It shares the row of a y label with `label` letters if there is room for both.
    """
    letter, handle = 0.08, 0.5  # inches, about

    def extent(columns: int) -> float:
        parts = np.array_split([_letters(name) for name in names], columns)
        return sum(handle + letter * float(part.max()) for part in parts if len(part))

    if len(names) <= 4 and extent(4) <= width - 0.8 - letter * label:
        return 4, 0.0
    columns = next((n for n in (4, 3, 2) if extent(n) <= width - 0.3), 1)
    return columns, 0.24 * math.ceil(len(names) / columns)


def _letters(text: str) -> int:
    """Return the width of a text in letters; a Japanese one is as wide as two of ours."""
    return sum(1 + (unicodedata.east_asian_width(c) in "WF") for c in text)


def _ticks(limits: tuple[float, float], scale: str = "linear") -> dict[float, str]:
    """Return the positions and labels of about five ticks within the limits."""
    low, high = sorted(limits)
    if scale == "log":
        for factors in (1.0,), (1.0, 2.0, 5.0):
            values = LogLocator(subs=factors, numticks=6).tick_values(low, high)
            # a power of ten is rounded differently on other processors
            inside = [
                float(x) for x in values if low < x * (1 + 1e-9) and x < high * (1 + 1e-9)
            ]
            if len(inside) > 1:  # a single tick gives no scale
                break
        return {x: _on_log_axis(x) for x in inside}
    positions = [float(x) for x in MaxNLocator(5, steps=[1, 2, 5, 10]).tick_values(low, high)]
    formatter = ScalarFormatter()
    formatter.create_dummy_axis()
    labels = formatter.format_ticks(positions)
    return {x: text for x, text in zip(positions, labels, strict=True) if low <= x <= high}


def _on_log_axis(x: float) -> str:
    """Format a tick: 1,000 and 0.02 in digits, 10⁵ and 2·10⁻⁵ with powers."""
    if 1e-3 <= x < 1e4:
        return f"{x:,.0f}" if x >= 1 else f"{x:g}"
    digits, exponent = f"{x:.1e}".split("e")
    return ("" if digits == "1.0" else f"{float(digits):g}·") + ten_to(int(exponent))


def ten_to(exponent: int) -> str:
    """Return 10 to the power of `exponent` as text.

    Examples
    --------
    >>> ten_to(-5)
    '10⁻⁵'
    """
    return "10" + str(exponent).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))


def _add_legend(
    axes: Axes, side: Literal["left", "right"], columns: int = 4, above: float = 0.0
) -> None:
    """Add a legend above the axes, by a share of their height, where it hides nothing."""
    end = float(side == "right")
    margin = 0.0 if above else 3.0 * end  # at the height of the y label
    axes.add_artist(Legend(axes, (end, 0), (end, 1 + above), columns, gap=4.4, margin=margin))


def _draw_axis(axes: Axes, which: str, ticks: Mapping[float, str], label: str) -> None:
    """Draw the ticks and labels of one axis; Matplotlib's own take twice as long.

    The x label is below the axis; the y label is above its upper end, horizontally.
    """
    across = which == "x"
    getattr(axes, f"{which}axis").set_visible(False)
    transform = axes.get_xaxis_transform() if across else axes.get_yaxis_transform()
    positions = [(t, 0.0) if across else (0.0, t) for t in ticks]
    tick_style: dict[str, Any] = {"marker": TICKDOWN if across else TICKLEFT, "color": INK}
    axes.add_artist(
        Line2D(
            *np.transpose(positions),
            linestyle="none",
            transform=transform,
            clip_on=False,
            **tick_style,
        )
    )
    style = {"ha": "center", "va": "top"} if across else {"ha": "right", "va": "center"}
    offset = (0, -7) if across else (-7, 0)
    axes.add_artist(Labels(ticks.values(), positions, transform, offset, **style))
    if across:
        axes.add_artist(Labels([label], [(0.5, 0)], axes.transAxes, (0, -25), **style))
    elif label:
        axes.add_artist(Labels([label], [(0, 1)], axes.transAxes, (-25, 11)))


def annotate(
    figure: Figure,
    notes: Mapping[str, tuple[tuple[float, float], tuple[float, float]]],
    *,
    panel: int = 0,
) -> Figure:
    """Write into a figure what to look at: a few words each, with an arrow.

    Parameters
    ----------
    figure : matplotlib Figure
        The figure, which is changed.
    notes : mapping from text to (place, offset)
        The place (x, y) as on the axes, and where its text is seen from there, in points. A
        text that is closer than 15 points needs no arrow, and has none.
    panel : int
        Which of the figure's axes is meant.

    Returns
    -------
    matplotlib Figure
        The same figure.

    Examples
    --------
    >>> figure = lines({"y": ([1, 2, 3], [2, 1, 2])}, xlabel="x", ylabel="y")
    >>> annotate(figure, {"the least": ((2, 1), (0, 40))})
    <Figure size 500x300 with 1 Axes>
    """
    arrow: dict[str, Any] = {"arrowstyle": "-|>", "color": COLORS["muted"], "shrinkB": 3}
    with mpl.rc_context(STYLE):
        for text, (place, (across, up)) in notes.items():
            beside = abs(across) > abs(up)
            style: dict[str, Any] = {
                "ha": ("left" if across > 0 else "right") if beside else "center",
                "va": "center" if beside else ("bottom" if up > 0 else "top"),
                "arrowprops": arrow if math.hypot(across, up) >= 15 else None,
                **HALO,
            }
            figure.axes[panel].annotate(
                text,
                place,
                (across, up),
                textcoords="offset points",
                fontsize=SMALL,
                annotation_clip=False,
                zorder=4,
                **style,
            )
    return figure


def convergence(
    traces: Mapping[str, Trace] | Trace, *, x: str = "iterations", bound: bool = False
) -> Figure:
    """Plot exploitability against iterations, work or seconds, on logarithmic axes.

    Parameters
    ----------
    traces : Trace, or mapping from name to Trace
        ``solution.trace`` of a run, or of each run.
    x : str
        ``"iterations"``, ``"seconds"``, or the unit of work that all traces have:
        ``"gradients"`` or ``"nodes"``.
    bound : bool
        Whether to add a 1/√T line through the first point of the first trace.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    ValueError
        If `x` is not one of the four, a trace is none, or a trace has no such column.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> runs = {name: cfr.solve(cfr.games.KuhnPoker(), name, 100) for name in ("cfr", "cfr+")}
    >>> convergence({name: solution.trace for name, solution in runs.items()}, bound=True)
    <Figure size 500x300 with 1 Axes>
    """
    if x not in ("iterations", "gradients", "nodes", "seconds"):
        raise ValueError(
            f'x must be "iterations", "gradients", "nodes" or "seconds", got {x!r}'
        )
    traces = traces if isinstance(traces, Mapping) else {"exploitability": traces}
    for trace in traces.values():
        if not isinstance(trace, Trace):
            raise ValueError(
                "expected a trace, solution.trace, or a dict from names to traces; got "
                f"{type(trace).__name__}"
            )
        if x in ("gradients", "nodes") and x != trace.unit:
            raise ValueError(
                f"a trace has its work in {trace.unit}, not in {x}; to compare a run over the "
                "whole tree with a sampled one, plot its gradients * histories of the tree"
            )
    curves = {name: (getattr(t, x), t.exploitability) for name, t in traces.items()}
    if bound:
        first = next(iter(traces.values()))
        start = first.exploitability[0] * np.sqrt(first.iterations[0])
        curves["falls like 1/√T"] = (getattr(first, x), start / np.sqrt(first.iterations))
    xlabel = "player-gradients" if x == "gradients" else x
    return lines(curves, xlabel=xlabel, ylabel="exploitability", xscale="log", yscale="log")


def strategy_bars(
    strategies: Mapping[str, Strategy],
    action_of: Mapping[str, Action],
    *,
    xlabel: str,
    width: float = 5.0,
) -> Figure:
    """Compare strategies by a group of bars per infoset.

    Parameters
    ----------
    strategies : mapping from name to Strategy
        The strategies.
    action_of : mapping from infoset to action
        The action whose probability is drawn, for each infoset to show.
    xlabel : str
        Label of the x axis.
    width : float
        Width of the figure in inches; labels that need more get it.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    KeyError
        If a strategy lacks one of the infosets or actions.
    ValueError
        If there is no strategy or no infoset.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.games.KuhnPoker()
    >>> pair = {"CFR": cfr.solve(game).strategy, "uniform": cfr.Strategy.uniform(game)}
    >>> strategy_bars(pair, {"J": "bet", "Q check-bet": "call"}, xlabel="probability")
    <Figure size 500x183 with 1 Axes>
    """
    if not strategies or not action_of:
        raise ValueError("nothing to draw; give at least one strategy and one infoset")
    names = [f"{infoset}: {action_label(a)}" for infoset, a in action_of.items()]
    height = 0.32 * len(action_of) * (0.5 + 0.5 * len(strategies)) + 0.87
    west = 0.27 + 0.0825 * max(map(_letters, names))
    width = max(width, west + 1.2)  # an inch for the bars
    thick = 0.8 / len(strategies)
    with mpl.rc_context(STYLE):
        figure, axes = _empty_figure(width, height, margins=(west, 0.2, 0.54, 0.33))
        for n, (name, strategy) in enumerate(strategies.items()):
            y = np.arange(len(action_of)) + (n - (len(strategies) - 1) / 2) * thick
            p = [strategy[infoset][action] for infoset, action in action_of.items()]
            color = COLORS[("strategy", "muted", "value", "reach")[n % 4]]
            axes.barh(y, p, thick * 0.92, label=name, color=color)
        axes.set(xlim=(0, 1.02), ylim=(len(action_of) - 0.5, -0.5))
        _draw_axis(axes, "x", _ticks((0, 1)), xlabel)
        _draw_axis(axes, "y", dict(enumerate(names)), "")
        if len(strategies) > 1:
            _add_legend(axes, "left")
    return figure


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def to_simplex(probabilities: npt.ArrayLike) -> Floats:
    """Map distributions over three actions to points of the plane.

    The corners of the simplex are (0, 0), (1, 0) and (1/2, √3/2).

    Parameters
    ----------
    probabilities : array-like, shape (…, 3)

    Returns
    -------
    float array, shape (…, 2)

    Examples
    --------
    >>> to_simplex([[1, 0, 0], [1 / 3, 1 / 3, 1 / 3]]).round(3)
    array([[0.   , 0.   ],
           [0.5  , 0.289]])
    """
    return np.asarray(np.asarray(probabilities, np.float64) @ CORNERS)


def simplex(
    paths: Mapping[str, npt.ArrayLike],
    corners: Sequence[str],
    *,
    points: Mapping[str, npt.ArrayLike] | None = None,
) -> Figure:
    """Draw paths of strategies over three actions.

    Parameters
    ----------
    paths : mapping from name to array-like, shape (T, 3)
        The paths; the first one is drawn thin, the others thick.
    corners : three names
        Names of the pure strategies: left, right and top.
    points : mapping from name to array-like, shape (3,), optional
        Strategies to mark with a cross.

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> import cfrlib as cfr
    >>> path = cfr.play(cfr.games.RockPaperScissors(3), 500, seed=0)
    >>> names = ("rock", "paper", "scissors")
    >>> simplex({"now": path.current[0], "mean": path.average[0]}, names)
    <Figure size 420x350 with 1 Axes>
    """
    with mpl.rc_context(STYLE):
        figure, axes = _empty_figure(4.2, 3.5, margins=(0.5, 0.5, 0.3, 0.3))
        axes.fill(*CORNERS.T, fill=False, edgecolor=INK, linewidth=1)
        for n, (name, path) in enumerate(paths.items()):
            xy = to_simplex(path)
            color = COLORS[("muted", "strategy", "value")[n % 3]]
            style: dict[str, Any] = {
                "color": color,
                "linestyle": "-",
                "linewidth": 0.8 if n == 0 else 2.4,
            }
            axes.add_line(ChunkedLine(*xy.T, **style))
            end: dict[str, Any] = {"marker": "os^"[n % 3], "markersize": 7}
            axes.plot(*xy[-1], **end, **style, label=name)
        for name, point in (points or {}).items():
            style = {"markersize": 9, "markeredgewidth": 2, "color": INK}
            axes.plot(*to_simplex(point), "x", **style, label=name)
        for name, corner, (ha, va) in zip(
            corners,
            CORNERS,
            (("right", "top"), ("left", "top"), ("center", "bottom")),
            strict=True,
        ):
            offset = (0, 4 if va == "bottom" else -4)
            axes.add_artist(Labels([name], [corner], axes.transData, offset, ha=ha, va=va))
        axes.set_aspect("equal")
        axes.axis("off")
        axes.add_artist(Legend(axes, (0, 1), (0.72, 0.98), columns=1, gap=8, margin=5))
    return figure


def infoset_numbers(
    columns: Mapping[str, str],
    groups: Mapping[str, Mapping[str, Sequence[str]]],
    *,
    title: Sequence[str] = (),
    framed: Collection[tuple[str, str]] = (),
    size: tuple[float, float] = (3.8, 3.7),
) -> Figure:
    """Write numbers of infosets, with a row for each action.

    Parameters
    ----------
    columns : mapping from name to color
        The columns, each in one of :data:`COLORS`.
    groups : mapping from infoset to mapping from action to texts
        A text for each column.
    title : up to three texts
        Lines above the table; the first is bold.
    framed : pairs of infoset and column
        Texts to look at; each has a frame.
    size : (width, height) in inches

    Returns
    -------
    matplotlib Figure

    Examples
    --------
    >>> rows = {"Q": {"check": ("1/2", "−1/8"), "bet": ("1/2", "1/8")}}
    >>> infoset_numbers({"σ": "strategy", "R": "regret"}, rows, framed=[("Q", "R")])
    <Figure size 380x370 with 1 Axes>
    """
    width, height = 72 * size[0], 72 * size[1]
    step = (width - 48) / len(columns)
    ends = {name: 44 + step * (n + 1) for n, name in enumerate(columns)}
    with mpl.rc_context(STYLE):
        figure, axes = _empty_figure(*size, margins=(0, 0, 0, 0))
        axes.set_axis_off()
        axes.set(xlim=(0, width), ylim=(height, 0))  # points, from the upper left corner
        words = Words(axes, fontsize=SMALL)
        for n, line in enumerate(title):
            words.add(line, (2, 14 + 15 * n), weight="normal" if n else "bold")
        y = 62.0
        for name, color in columns.items():
            words.add(name, (ends[name], y), ha="right", color=COLORS[color])
        for infoset, rows in groups.items():
            y += 16
            words.add(infoset, (2, y), color=COLORS["reach"])
            for action, texts in rows.items():
                y += 14
                words.add(action, (12, y))
                for (name, color), text in zip(columns.items(), texts, strict=True):
                    words.add(text, (ends[name], y), ha="right", color=COLORS[color])
            for name in columns:
                if (infoset, name) in framed:
                    corner = ends[name] - step + 6, y + 4
                    extent = step - 4, -14 * len(rows) - 1
                    axes.add_patch(Rectangle(corner, *extent, fill=False, edgecolor=INK))
    return figure


def tree(
    game: Game,
    root: tuple[Action, ...] = (),
    *,
    labels: bool = True,
    highlight: Sequence[str | Iterable[tuple[Action, ...]]] = (),
    shade: Sequence[tuple[Action, ...]] = (),
    trace: Iterable[tuple[Action, ...]] = (),
    notes: Mapping[tuple[Action, ...], Mapping[str, str]] | None = None,
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw the subtree of `root`, from left to right.

    Circles are decisions (filled: player 0; open: the others, from player 2 on with their
    number), diamonds are chance nodes, squares are terminal histories with player 0's payoff.

    Parameters
    ----------
    game : Game
        Any game that compiles and is small enough to draw.
    root : tuple of actions
        The history whose subtree is drawn.
    labels : bool
        Whether to show actions, infosets and payoffs.
    highlight : sequence of infosets or of lists of histories
        Groups of histories; each is ringed in its own color and joined by a line.
    shade : sequence of histories
        Histories whose subtrees are shaded, together with the branches that lead there. The
        blocks of neighbors touch.
    trace : iterable of histories
        Histories to which thick branches lead from the root.
    notes : mapping from history to mapping from color to text, optional
        Further texts at decisions, each in one of :data:`COLORS`. With notes, all texts of a
        decision are on the side of it that no branch comes from.
    size : (width, height) in inches, optional
        By default there is room for the longest label of an infoset.

    Returns
    -------
    matplotlib Figure

    Raises
    ------
    GameError
        If the game does not compile.
    ValueError
        If `root` is not a history of the game, or its subtree has more than 400 histories.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> tree(cfr.games.KuhnPoker(), root=(("J", "Q"),), highlight=["J check-bet"])
    <Figure size 504x230 with 1 Axes>
    >>> tree(cfr.games.KuhnPoker(), (("J", "Q"),), shade=[(("J", "Q"), "bet")])
    <Figure size 504x230 with 1 Axes>
    >>> tree(cfr.games.KuhnPoker(), (("J", "Q"),), notes={(("J", "Q"),): {"reach": "1/6"}})
    <Figure size 504x230 with 1 Axes>
    """
    compiled = compile(game)
    start = compiled.find(tuple(root))
    positions = _layout(compiled, start)
    if len(positions) > 400:
        raise ValueError(
            "more than 400 histories are too many to draw; choose a deeper root, e.g. "
            f"root={compiled.history(min(positions) + 1)!r}"
        )
    ends = sum(compiled.player[k] == TERMINAL for k in positions)
    depth = max(x for x, _ in positions.values())
    step, room = _room_for_labels(compiled, positions, start, notes is not None)
    if size or not labels:
        step, room = STEP, 0.0
    width, height = size or (step * depth + 0.9 + room, max(1.7, 0.46 * ends))
    with mpl.rc_context(STYLE):
        figure, axes = _empty_figure(width, height, margins=(0.2, 0.4, 0.15, 0.15))
        for n, group in enumerate(highlight):
            shown = [k for k in _histories_of(compiled, group) if k in positions]
            _draw_rings(axes, [positions[k] for k in shown], n)
        _draw_branches(axes, compiled, positions, start, map(compiled.find, trace))
        _draw_markers(axes, compiled, positions, 11 if labels else 6)
        if labels:
            _draw_labels(axes, compiled, positions, start, notes is not None)
        if notes is not None:
            found = {compiled.find(h): texts for h, texts in notes.items()}
            _draw_notes(axes, compiled, positions, start, found)
        axes.set_axis_off()
        west = 0.03 if notes is None else 0.25  # the root's notes are on its left
        low = 0.6 if notes is None else 0.5
        left = max(west * depth, room / step)
        axes.set(xlim=(-left, depth * 1.03), ylim=(low - ends, 0.4))
        for h in shade:
            _draw_shade(axes, compiled, positions, compiled.find(tuple(h)))
    return figure


STEP = 1.38  # inches from a history to the next


def _room_for_labels(
    tree: Tree, positions: Iterable[int], start: int, noted: bool
) -> tuple[float, float]:
    """Return the inches from a history to the next, and those that the root's label needs.

    They are the usual ones and 0 unless an infoset's label is longer than a step.
    """
    letter = 0.08  # inches, about
    widths = {k: letter * _letters(_infoset_label(tree, k) or "") for k in positions}
    actions = [letter * _letters(action_label(tree.action[k])) for k in positions if k != start]
    if max(widths.values()) <= STEP:
        return STEP, 0.0
    step = (max(widths.values()) + max(actions, default=0.0)) / 0.96  # actions are in between
    return step, widths[start] if noted else widths[start] / 2


def _layout(tree: Tree, start: int) -> dict[int, tuple[float, float]]:
    """Place terminal histories one below the other, and parents midway between children."""
    positions: dict[int, tuple[float, float]] = {}
    row = 0

    def visit(k: int, depth: int) -> float:
        nonlocal row
        if len(positions) > 400:
            return 0.0
        first, count = int(tree.first_child[k]), int(tree.num_children[k])
        positions[k] = (depth, 0.0)  # inserts parents before their children
        if count == 0:
            y, row = -float(row), row + 1
        else:
            ys = [visit(c, depth + 1) for c in range(first, first + count)]
            y = (ys[0] + ys[-1]) / 2
        positions[k] = (depth, y)
        return y

    visit(start, 0)
    return positions


def _infoset_label(tree: Tree, k: int) -> str | None:
    I = int(tree.infoset[k])
    return tree.infoset_label[I] if I >= 0 else None


def _draw_shade(
    axes: Axes, tree: Tree, positions: Mapping[int, tuple[float, float]], top: int
) -> None:
    """Shade the rectangle around a subtree, from the middle of the branch to its payoffs."""
    points = [positions[k] for k in positions if _is_below(tree, k, top)]
    if points:
        (west, south), (east, north) = np.min(points, axis=0), np.max(points, axis=0)
        figure: Any = axes.get_figure()
        inch = np.ptp(axes.get_xlim()) * figure.dpi / axes.bbox.width
        corner = west - 0.3, south - 0.5  # neighbors become one block
        extent = east + 0.45 * inch - corner[0], north - south + 1
        style: dict[str, Any] = {"facecolor": COLORS["muted"], "alpha": 0.12, "linewidth": 0}
        axes.add_patch(Rectangle(corner, *extent, zorder=0, clip_on=False, **style))


def _is_below(tree: Tree, k: int, top: int) -> bool:
    """Return whether history k is `top` or continues it; parents have smaller indices."""
    while k > top:
        k = int(tree.parent[k])
    return k == top


def _draw_branches(
    axes: Axes,
    tree: Tree,
    positions: Mapping[int, tuple[float, float]],
    start: int,
    traced: Iterable[int],
) -> None:
    """Draw all branches as one line with gaps, and those to `traced` as a thick one."""
    thick: set[int] = set()
    for k in traced:
        while k > start:
            thick.add(k)
            k = int(tree.parent[k])
    for some, color, width in ((positions, "muted", 1.0), (sorted(thick), "strategy", 2.6)):
        points = [
            p
            for k in some
            if k != start
            for p in (positions[int(tree.parent[k])], positions[k], (np.nan, np.nan))
        ]
        if points:
            style: dict[str, Any] = {"color": COLORS[color], "linewidth": width}
            axes.plot(*np.transpose(points), linestyle="-", **style)


def _draw_markers(
    axes: Axes, tree: Tree, positions: Mapping[int, tuple[float, float]], full: int
) -> None:
    """Draw the markers of the histories, one kind at a time; decisions have the full size."""
    owner = {k: min(int(tree.player[k]), 1) for k in positions}  # 1: player 1 and all others
    for player, marker, size, face in (
        (CHANCE, "D", 0.8 * full, COLORS["muted"]),
        (TERMINAL, "s", 0.4 * full, INK),
        (0, "o", full, INK),
        (1, "o", full, PAPER),
    ):
        mine = [positions[k] for k in positions if owner[k] == player]
        if mine:
            axes.plot(
                *np.transpose(mine),
                linestyle="none",
                marker=marker,
                markersize=size,
                markeredgecolor=INK,
                markerfacecolor=face,
            )


def _draw_labels(
    axes: Axes,
    tree: Tree,
    positions: Mapping[int, tuple[float, float]],
    start: int,
    noted: bool,
) -> None:
    """Label branches by action, decisions (unless noted) by infoset, ends by payoff."""
    words, numbers = Words(axes, fontsize=SMALL, **HALO), Words(axes, fontsize=TINY)
    for k, (x, y) in positions.items():
        if k != start:
            x0, y0 = positions[int(tree.parent[k])]
            middle = 0.52 * x0 + 0.48 * x, 0.52 * y0 + 0.48 * y
            place: dict[str, Any] = {"offset": (0, 3), "ha": "center"}
            if noted and y > y0:  # notes may be above
                place = {"offset": (2, -1), "ha": "left", "va": "top"}
            words.add(action_label(tree.action[k]), middle, **place)
        player = int(tree.player[k])
        if player == TERMINAL:
            payoff, color = _signed(tree.utility[k, 0]), COLORS["value"]
            words.add(payoff, (x, y), (13, 0), va="center", color=color)
        elif player != CHANCE and not noted:
            label, color = _infoset_label(tree, k) or "", COLORS["reach"]
            words.add(label, (x, y), (0, 10), ha="center", color=color)
        if player > 1:
            numbers.add(str(player), (x, y), ha="center", va="center")


def _signed(payoff: float) -> str:
    """Return a payoff with its sign, and 0 without one."""
    return f"{payoff:+g}".replace("-", "−") if payoff else "0"


def _draw_notes(
    axes: Axes,
    tree: Tree,
    positions: Mapping[int, tuple[float, float]],
    start: int,
    notes: Mapping[int, Mapping[str, str]],
) -> None:
    """Write the infoset and the notes of a decision where no branch comes from."""
    words = Words(axes, fontsize=SMALL, **HALO)
    for k, (x, y) in positions.items():
        if tree.player[k] < 0:
            continue
        above = k != start and y > positions[int(tree.parent[k])][1]
        texts = [(_infoset_label(tree, k) or "", "reach")]
        texts += [(text, color) for color, text in notes.get(k, {}).items()]
        sides = {
            "va": "bottom" if above else "top",
            "ha": "right" if k == start else "center",
        }
        across, away = 6 * (k == start), 12.0
        for text, color in texts:
            for line in text.split("\n")[:: -1 if above else 1]:
                offset = across, away if above else -away
                words.add(line, (x, y), offset, color=COLORS[color], **sides)
                away += 1.25 * SMALL


def _histories_of(tree: Tree, group: str | Iterable[tuple[Action, ...]]) -> list[int]:
    """Return the indices of the histories of an infoset, or of the given histories."""
    if isinstance(group, str):
        return [k for k in range(tree.num_histories) if _infoset_label(tree, k) == group]
    return [tree.find(tuple(h)) for h in group]


def _draw_rings(axes: Axes, points: list[tuple[float, float]], n: int) -> None:
    """Ring histories and connect them; the rings grow from group to group."""
    if points:
        axes.plot(
            *np.transpose(points),
            color=COLORS[RINGS[n % 4]],
            linewidth=2,
            linestyle=(0, (2, 2 + n)),
            marker="o",
            markersize=15 + 6 * n,
            markerfacecolor="none",
            markeredgewidth=2,
            clip_on=False,
        )
