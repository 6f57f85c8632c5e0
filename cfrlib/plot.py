"""Figures of the book: convergence, paths on the simplex, game trees, strategy bars.

Every function returns a Matplotlib figure; :func:`show` turns it into an inline SVG with a
caption and an alternative text, whose ink follows the page's light or dark theme. Colours
have a meaning: regret, strategy, value and reach each keep theirs throughout the book, and
no picture relies on colour alone.
"""

from __future__ import annotations

import hashlib
import io
import re
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any

import matplotlib as mpl
import numpy as np
import numpy.typing as npt
from cycler import cycler
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from cfrlib.cfr import Trace
from cfrlib.game import Action, Game, action_label
from cfrlib.strategy import Strategy
from cfrlib.tree import CHANCE, TERMINAL, Floats, Tree, compile

COLORS = {
    "regret": "#B8440A",
    "strategy": "#0072B2",
    "value": "#00795A",
    "reach": "#9C4F84",
    "muted": "#767676",
}
INK = "#010203"  # stands for the colour of the text around the figure
PAPER = "#FDFEFD"  # stands for the colour of the page
SERIES = ("strategy", "regret", "value", "reach")
DASHES = ("-", "--", "-.", ":")

STYLE: dict[Any, Any] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "cfrlib",
    "font.family": "sans-serif",
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "legend.frameon": False,
    "lines.linewidth": 1.8,
    "axes.prop_cycle": cycler(color=[COLORS[name] for name in SERIES], linestyle=list(DASHES)),
}


class Picture:
    """A figure for the page: inline SVG, a caption, and words for those who do not see it."""

    def __init__(self, svg: str, alt: str, caption: str):
        self.svg, self.alt, self.caption = svg, alt, caption

    def __repr__(self) -> str:
        return f"<Picture: {self.alt}>"

    def _repr_html_(self) -> str:
        return (
            f'<figure class="cfr-figure">{self.svg}'
            f"<figcaption>{escape(self.caption)}</figcaption></figure>"
        )


def show(figure: Figure, *, alt: str, caption: str) -> Picture:
    """Return `figure` as a picture for the page.

    Parameters
    ----------
    figure : matplotlib Figure
        What to show.
    alt : str
        What there is to see, for readers who do not see it.
    caption : str
        What to look at and why.

    Raises
    ------
    ValueError
        If either text is empty.
    """
    if not alt.strip() or not caption.strip():
        raise ValueError(
            "every figure needs an alt text and a caption; say what there is to see"
        )
    buffer = io.StringIO()
    with mpl.rc_context(STYLE):
        figure.savefig(
            buffer, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
    return Picture(_themed(buffer.getvalue(), alt), alt, caption)


def _themed(svg: str, alt: str) -> str:
    """Make Matplotlib's SVG part of a page: ids of its own, the theme's colours, a label."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'<g id="\w+">', "<g>", svg)  # groups are never referred to
    key = hashlib.sha256(svg.encode()).hexdigest()[:8]
    svg = re.sub(r'(id="|url\(#|href="#)', rf"\g<1>{key}-", svg)
    svg = re.sub(r'(<svg[^>]*?) width="[^"]+"', r"\1", svg, count=1)
    width = float(re.search(r'viewBox="0 0 ([\d.]+)', svg).group(1))  # type: ignore[union-attr]
    svg = re.sub(r'(<svg[^>]*?) height="[^"]+"', r"\1", svg, count=1)
    label = f'<svg role="img" aria-label="{escape(alt)}" style="width:{width * 1.25:.0f}px" '
    svg = svg.replace("<svg ", label, 1)
    return re.sub(
        "|".join([INK, PAPER, *COLORS.values()]), _theme_color, svg, flags=re.IGNORECASE
    )


def _theme_color(found: re.Match[str]) -> str:
    """Return the CSS colour that stands for a colour of the palette."""
    if found[0].upper() == INK:
        return "currentColor"
    if found[0].upper() == PAPER:  # the book's variable, then JupyterLab's
        return "var(--pst-color-background, var(--jp-layout-color0, white))"
    name = next(name for name, value in COLORS.items() if value.lower() == found[0].lower())
    return f"var(--cfr-{name}, {found[0]})"


def _new(width: float, height: float, panels: int = 1) -> tuple[Figure, list[Axes]]:
    """Return an empty figure in the book's style, in inches."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        axes = [figure.add_subplot(1, panels, k + 1) for k in range(panels)]
    return figure, axes


def lines(
    curves: Mapping[str, tuple[npt.ArrayLike, npt.ArrayLike]],
    *,
    xlabel: str,
    ylabel: str,
    xscale: str = "linear",
    yscale: str = "linear",
    levels: Mapping[str, float] | None = None,
) -> Figure:
    """Draw named curves, each with its name at its end.

    Parameters
    ----------
    curves : mapping from name to (x, y)
        What to draw.
    xlabel, ylabel, xscale, yscale : str
        As in Matplotlib.
    levels : mapping from name to y, optional
        Horizontal lines to compare with.
    """
    figure, (axes,) = _new(6.0, 3.3)
    with mpl.rc_context(STYLE):
        for name, (x, y) in curves.items():
            axes.plot(np.asarray(x), np.asarray(y), label=name)
        for name, y in (levels or {}).items():
            axes.axhline(y, color=COLORS["muted"], linewidth=1, linestyle=(0, (4, 3)))
            axes.annotate(
                name, (0.01, y), xycoords=("axes fraction", "data"), va="bottom",
                color=COLORS["muted"], fontsize=9,
            )  # fmt: skip
        axes.set(xlabel=xlabel, ylabel=ylabel, xscale=xscale, yscale=yscale)
        if len(curves) > 1:
            axes.legend(loc="best", handlelength=3)
    return figure


def convergence(
    traces: Mapping[str, Trace], *, x: str = "iterations", bound: bool = False
) -> Figure:
    """Draw exploitability against iterations, nodes or seconds, both axes logarithmic.

    Parameters
    ----------
    traces : mapping from name to Trace
        ``solution.trace`` of each run.
    x : str
        ``"iterations"``, ``"nodes"`` or ``"seconds"``.
    bound : bool
        Whether to add a line that falls like 1/√T from the first trace's first point.
    """
    curves = {name: (getattr(t, x), t.exploitability) for name, t in traces.items()}
    if bound:
        first = next(iter(traces.values()))
        start = first.exploitability[0] * np.sqrt(first.iterations[0])
        curves["falls like 1/√T"] = (getattr(first, x), start / np.sqrt(first.iterations))
    return lines(curves, xlabel=x, ylabel="exploitability", xscale="log", yscale="log")


def strategy_bars(
    strategies: Mapping[str, Strategy], action_of: Mapping[str, Action], *, xlabel: str
) -> Figure:
    """Compare strategies infoset by infoset: one group of bars each.

    Parameters
    ----------
    strategies : mapping from name to Strategy
        What to compare.
    action_of : mapping from infoset to action
        Which probability to draw at which infoset.
    xlabel : str
        What the bars measure.
    """
    figure, (axes,) = _new(6.0, 0.32 * len(action_of) * (0.5 + 0.5 * len(strategies)) + 0.8)
    height = 0.8 / len(strategies)
    with mpl.rc_context(STYLE):
        for n, (name, strategy) in enumerate(strategies.items()):
            y = np.arange(len(action_of)) + (n - (len(strategies) - 1) / 2) * height
            width = [strategy[infoset][action] for infoset, action in action_of.items()]
            axes.barh(
                y, width, height * 0.92, label=name, color=COLORS[SERIES[n % 4]],
                alpha=1 - 0.45 * (n % 2),
            )  # fmt: skip
        names = [f"{infoset}: {action_label(a)}" for infoset, a in action_of.items()]
        axes.set_yticks(np.arange(len(action_of)), names)
        axes.invert_yaxis()
        axes.set(xlabel=xlabel, xlim=(0, 1.02))
        if len(strategies) > 1:
            axes.legend(loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def to_simplex(probabilities: npt.ArrayLike) -> Floats:
    """Return points of the plane, shape (…, 2), for distributions over three actions."""
    return np.asarray(np.asarray(probabilities, np.float64) @ CORNERS)


def simplex(
    paths: Mapping[str, npt.ArrayLike],
    corners: Sequence[str],
    *,
    points: Mapping[str, npt.ArrayLike] | None = None,
) -> Figure:
    """Draw how strategies over three actions move.

    Parameters
    ----------
    paths : mapping from name to array-like, shape (T, 3)
        The first is drawn thin, the others thick.
    corners : three names
        Left, right and top: the pure strategies.
    points : mapping from name to array-like, shape (3,), optional
        Single strategies to mark with a cross.
    """
    figure, (axes,) = _new(4.4, 4.0)
    with mpl.rc_context(STYLE):
        axes.fill(*CORNERS.T, fill=False, edgecolor=INK, linewidth=1)
        for n, (name, path) in enumerate(paths.items()):
            xy = to_simplex(path)
            color = COLORS[("regret", "strategy", "value")[n % 3]]
            axes.plot(
                *xy.T, color=color, linestyle="-", linewidth=0.8 if n == 0 else 2.4, label=name
            )
            axes.plot(*xy[-1], marker="os^"[n % 3], markersize=7, color=color)
        for name, point in (points or {}).items():
            xy = to_simplex(point)
            axes.plot(*xy, marker="x", markersize=9, markeredgewidth=2, color=INK)
            axes.annotate(name, (xy[0], xy[1]), xytext=(8, -4), textcoords="offset points")
        for name, corner, (ha, va) in zip(
            corners,
            CORNERS,
            (("right", "top"), ("left", "top"), ("center", "bottom")),
            strict=True,
        ):
            axes.annotate(name, corner, ha=ha, va=va, xytext=(0, 4 if va == "bottom" else -4),
                          textcoords="offset points")  # fmt: skip
        axes.set_aspect("equal")
        axes.axis("off")
        axes.legend(loc="upper left", bbox_to_anchor=(0.72, 0.98))
    return figure


def animate_simplex(
    paths: Mapping[str, npt.ArrayLike],
    corners: Sequence[str],
    *,
    alt: str,
    caption: str,
    seconds: float = 20.0,
    frames: int = 120,
) -> Picture:
    """Return a moving picture of strategies over three actions, drawn by the browser alone.

    The dots move through rounds at equal steps. It can be paused, works without scripts and
    without a kernel, and stands still for readers who asked their system for less motion.

    Parameters
    ----------
    paths : mapping from name to array-like, shape (T, 3)
        All of one length.
    corners, alt, caption
        As in `simplex` and `show`.
    seconds : float
        How long one passage takes.
    frames : int
        How many of the T rounds to show, evenly spread, the last included.
    """
    places = {name: _place(path) for name, path in paths.items()}
    rounds = len(next(iter(places.values())))
    keep = np.unique(np.linspace(0, rounds - 1, frames).round().astype(int))
    key = "s" + hashlib.sha256(repr(list(places.items())).encode()).hexdigest()[:8]
    rules, marks = [], [_triangle(corners)]
    for n, (name, place) in enumerate(places.items()):
        color = ("regret", "strategy", "value")[n % 3]
        rules.append(_motion(f"{key}-{n}", place[keep], seconds))
        marks.append(
            _mover(f"{key}-{n}", name, place[keep], f"var(--cfr-{color}, {COLORS[color]})", n)
        )
    rules.append(f".{key}:has(input:checked) circle{{animation-play-state:paused}}")
    rules.append(
        f"@media (prefers-reduced-motion:reduce){{.{key} circle{{animation:none!important}}}}"
    )
    svg = (
        f'<svg role="img" aria-label="{escape(alt)}" viewBox="0 0 460 360" style="width:520px" '
        f'font-family="sans-serif" font-size="13">{"".join(marks)}</svg>'
    )
    pause = '<label class="cfr-pause"><input type="checkbox"> pause</label>'
    style = f"<style>{''.join(rules)}</style>"
    return Picture(f'{style}<div class="{key}">{svg}<div>{pause}</div></div>', alt, caption)


def _place(path: npt.ArrayLike) -> Floats:
    """Return where distributions over three actions lie in a moving picture, in pixels."""
    xy = to_simplex(path)
    return np.stack([40 + 320 * xy[..., 0], 40 + 320 * (np.sqrt(0.75) - xy[..., 1])], axis=-1)


def _triangle(corners: Sequence[str]) -> str:
    """Draw the simplex and name its corners."""
    places = _place(np.eye(3))
    names = "".join(
        f'<text x="{x:.0f}" y="{y + dy:.0f}" text-anchor="middle" fill="currentColor">'
        f"{escape(name)}</text>"
        for name, (x, y), dy in zip(corners, places, (22, 22, -10), strict=True)
    )
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    return f'<polygon points="{points}" fill="none" stroke="currentColor"/>{names}'


def _motion(key: str, places: Floats, seconds: float) -> str:
    """Return the CSS that moves a dot through `places` at equal steps, and back."""
    steps = "".join(
        f"{100 * k / max(len(places) - 1, 1):.4g}%{{transform:translate({x:.1f}px,{y:.1f}px)}}"
        for k, (x, y) in enumerate(places)
    )
    move = f"animation:{key} {seconds:g}s linear infinite alternate"
    return f"@keyframes {key}{{{steps}}}.{key}{{{move}}}"


def _mover(key: str, name: str, places: Floats, color: str, n: int) -> str:
    """Draw the trail, the dot (resting at its end) and its name."""
    trail = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    x, y = places[-1]
    return (
        f'<polyline points="{trail}" fill="none" style="stroke:{color}" stroke-opacity="0.45"/>'
        f'<circle class="{key}" r="{5 + 2 * n}" '
        f'style="fill:{color};transform:translate({x:.1f}px,{y:.1f}px)"/>'
        f'<text x="290" y="{30 + 20 * n}" style="fill:{color}">● {escape(name)}</text>'
    )


def tree(
    game: Game,
    root: tuple[Action, ...] = (),
    *,
    labels: bool = True,
    highlight: Iterable[str] = (),
    size: tuple[float, float] | None = None,
) -> Figure:
    """Draw the histories that follow `root`, left to right.

    Circles are decisions (filled: player 0, open: player 1 and others, with the number),
    diamonds are chance, squares are ends with the payoff of player 0.

    Parameters
    ----------
    game : Game
        Any game that compiles and is small enough to draw.
    root : tuple of actions
        Draw only what follows this history.
    labels : bool
        Whether to write actions on the branches and payoffs at the ends.
    highlight : infoset labels
        Histories of these infosets are ringed and joined by a line.
    size : (width, height) in inches, optional

    Raises
    ------
    ValueError
        If there is no such history, or more than 400 would have to be drawn.
    """
    compiled = compile(game)
    start = compiled.find(tuple(root))
    place = _layout(compiled, start)
    if len(place) > 400:
        raise ValueError(
            f"{len(place):,} histories are too many to draw; give a root further down, e.g. "
            f"root={compiled.history(min(place) + 1)!r}"
        )
    ends = sum(compiled.player[k] == TERMINAL for k in place)
    depth = max(x for x, _ in place.values())
    figure, (axes,) = _new(*(size or (1.5 * depth + 1.2, max(1.6, 0.3 * ends))))
    with mpl.rc_context(STYLE):
        for k, (x, y) in place.items():
            if k != start:
                _branch(axes, place[int(compiled.parent[k])], (x, y),
                        action_label(compiled.action[k]) if labels else "")  # fmt: skip
            _mark(axes, compiled, k, (x, y), labels)
        for label in highlight:
            _join(axes, [place[k] for k in place if _label(compiled, k) == label], label)
        axes.axis("off")
        axes.margins(0.06, 0.04)
    return figure


def _layout(tree: Tree, start: int) -> dict[int, tuple[float, float]]:
    """Place ends one below the other and every other history midway between its children."""
    place: dict[int, tuple[float, float]] = {}
    row = 0

    def visit(k: int, depth: int) -> float:
        nonlocal row
        if len(place) > 400:
            return 0.0
        first, count = int(tree.first_child[k]), int(tree.num_children[k])
        place[k] = (depth, 0.0)  # keeps parents before children
        if count == 0:
            y, row = -float(row), row + 1
        else:
            ys = [visit(c, depth + 1) for c in range(first, first + count)]
            y = (ys[0] + ys[-1]) / 2
        place[k] = (depth, y)
        return y

    visit(start, 0)
    return place


def _label(tree: Tree, k: int) -> str | None:
    I = int(tree.infoset[k])
    return tree.infoset_label[I] if I >= 0 else None


def _branch(axes: Axes, a: tuple[float, float], b: tuple[float, float], text: str) -> None:
    axes.plot(
        *zip(a, b, strict=True), color=COLORS["muted"], linewidth=1, linestyle="-", zorder=1
    )
    if text:
        x, y = 0.42 * a[0] + 0.58 * b[0], 0.42 * a[1] + 0.58 * b[1]
        axes.annotate(text, (x, y), xytext=(0, 3), textcoords="offset points", ha="center",
                      fontsize=9)  # fmt: skip


def _mark(axes: Axes, tree: Tree, k: int, xy: tuple[float, float], labels: bool) -> None:
    player, big = int(tree.player[k]), 11 if labels else 6
    marker: dict[str, Any] = {"markeredgecolor": INK, "markerfacecolor": "none"}
    if player == TERMINAL:
        axes.plot(*xy, marker="s", markersize=big / 2.5, **{**marker, "markerfacecolor": INK})
        if labels:
            payoff = f"{tree.utility[k, 0]:+g}"
            axes.annotate(payoff, xy, xytext=(9, 0), textcoords="offset points", va="center",
                          color=COLORS["value"])  # fmt: skip
        return
    if player == CHANCE:
        axes.plot(
            *xy,
            marker="D",
            markersize=big * 0.8,
            **{**marker, "markerfacecolor": COLORS["muted"]},
        )
        return
    face = INK if player == 0 else PAPER
    axes.plot(*xy, marker="o", markersize=big, **{**marker, "markerfacecolor": face})
    if labels and player > 1:
        axes.annotate(str(player), xy, ha="center", va="center", fontsize=7, color=INK)
    if labels:
        axes.annotate(_label(tree, k) or "", xy, xytext=(0, 10), textcoords="offset points",
                      ha="center", fontsize=9, color=COLORS["reach"])  # fmt: skip


def _join(axes: Axes, points: list[tuple[float, float]], label: str) -> None:
    """Ring the histories of one infoset and connect them."""
    if not points:
        return
    x, y = zip(*points, strict=True)
    axes.plot(x, y, color=COLORS["reach"], linewidth=2, linestyle=(0, (2, 2)), zorder=0)
    axes.plot(x, y, linestyle="none", marker="o", markersize=13, markerfacecolor="none",
              markeredgecolor=COLORS["reach"], markeredgewidth=2)  # fmt: skip
