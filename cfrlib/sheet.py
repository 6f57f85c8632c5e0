"""Sheets: Matplotlib axes on which the same picture takes half the time.

Figures are drawn by the hundred, for every position of a slider. Of the time that takes,
curves are a small part: the rest goes into ticks that nobody sees, and into measuring the same
few words again and again. So a sheet makes no tick until somebody asks for one, words are
measured once in a process, and a legend is laid out without boxes in boxes. What is kept from
figure to figure is the size of words, nothing else: no figure knows of another.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from matplotlib.artist import Artist, allow_rasterization
from matplotlib.axes import Axes
from matplotlib.axis import Axis, XAxis, YAxis
from matplotlib.colors import to_rgba
from matplotlib.font_manager import findfont
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle
from matplotlib.path import Path
from matplotlib.text import Text
from matplotlib.transforms import Affine2D, Bbox, Transform

PIECE = 50  # points
Size = tuple[float, float, float]  # of a word in pixels: width, height, and below the baseline

_sizes: dict[tuple[Any, ...], Size] = {}


class _Ticks:
    """Ticks of an axis, the first of which is made when it is asked for."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, axis: Any, owner: type[Axis]) -> list[Any]:
        if not axis.axes.begun:
            return []
        ticks: list[Any] = vars(Axis)[self._name].__get__(axis, owner)
        for tick in ticks:
            tick.set_clip_path(axis.axes.patch)
        return ticks


class _XAxis(XAxis):
    """An x axis that makes no tick in advance."""

    majorTicks, minorTicks = _Ticks("majorTicks"), _Ticks("minorTicks")


class _YAxis(YAxis):
    """A y axis that makes no tick in advance."""

    majorTicks, minorTicks = _Ticks("majorTicks"), _Ticks("minorTicks")


class Sheet(Axes):
    """Axes that make their ticks when they are first asked for one."""

    begun = False

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for spine in self.spines.values():
            spine.get_spine_transform()  # puts it in its place, which else the first tick does
        self.begun = True

    def _init_axis(self) -> None:
        self.xaxis = _XAxis(self, clear=False)
        self.yaxis = _YAxis(self, clear=False)
        for side, spine in self.spines.items():
            spine.register_axis(self.xaxis if side in ("top", "bottom") else self.yaxis)


class Words(Artist):
    """Words at places of the axes, all in one font and color.

    Parameters
    ----------
    words : iterable of str
        What to write.
    places : sequence of (x, y)
        Where, in the coordinates of `frame`.
    frame : matplotlib Transform
        From places to pixels.
    shift : (x, y)
        How far from its place each word is written, in points.
    **looks
        Of :class:`matplotlib.text.Text`: alignment, color, size.
    """

    zorder = 3

    def __init__(
        self,
        words: Iterable[str],
        places: Sequence[tuple[float, float]],
        frame: Transform,
        shift: tuple[float, float] = (0, 0),
        **looks: Any,
    ):
        super().__init__()
        self.words, self.places, self.shift = list(words), places, np.array(shift, np.float64)
        self.pen: Any = Text(**looks)
        self.set(transform=frame, clip_on=False)

    def _spots(self, renderer: Any) -> Iterable[tuple[str, Any]]:
        """Yield each word, and its place in pixels."""
        self.pen.set_figure(self.get_figure())
        if self.words:
            shift = self.shift * renderer.points_to_pixels(1.0)
            spots = self.get_transform().transform(np.asarray(self.places, np.float64)) + shift
            yield from zip(self.words, spots, strict=True)

    @allow_rasterization
    def draw(self, renderer: Any) -> None:
        """Write the words."""
        if self.get_visible():
            for word, spot in self._spots(renderer):
                write(renderer, self.pen, word, spot)
        self.stale = False

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Return the smallest box around all words."""
        renderer = renderer or _renderer(self)
        boxes = []
        for word, spot in self._spots(renderer):
            self.pen.set(text=word, position=spot)
            boxes.append(self.pen.get_window_extent(renderer))
        return Bbox.union(boxes) if boxes else Bbox.null()


def _renderer(artist: Artist) -> Any:
    """Return what an artist's figure is drawn with."""
    figure: Any = artist.get_figure(root=True)
    return figure._get_renderer()


def size(renderer: Any, pen: Any, word: str) -> Size:
    """Return how large a word is in the font of `pen`; each is measured once."""
    font = pen.get_fontproperties()
    dpi, how = pen.get_figure(root=True).dpi, renderer.get_text_width_height_descent
    key = word, findfont(font), font.get_size_in_points(), dpi, type(how.__self__)
    if key not in _sizes:
        aligned = pen.get_ha(), pen.get_va()
        pen.set(text=word, position=(0, 0), ha="left", va="baseline")
        box = pen.get_window_extent(renderer)
        pen.set(ha=aligned[0], va=aligned[1])
        _sizes[key] = box.width, box.height, -box.y0
    return _sizes[key]


def write(renderer: Any, pen: Any, word: str, spot: Sequence[float]) -> None:
    """Write a word at a spot given in pixels, as `pen` would, which is slower."""
    pen.set_text(word)
    pen.set_position(spot)
    if not word or "$" in word or "\n" in word or pen.get_usetex():
        pen.draw(renderer)
        return
    width, height, depth = size(renderer, pen, word)
    pen.set_text(word)
    pen.set_position(spot)
    across = {"left": 0.0, "center": width / 2, "right": width}[pen.get_ha()]
    up = {"bottom": 0.0, "baseline": depth, "center": height / 2, "top": height}[pen.get_va()]
    x, y = spot[0] - across, spot[1] - up + depth
    if renderer.flipy():
        y = renderer.get_canvas_width_height()[1] - y
    renderer.open_group("text")
    gc = renderer.new_gc()
    gc.set_foreground(to_rgba(pen.get_color()), isRGBA=True)
    renderer.draw_text(gc, x, y, word, pen.get_fontproperties(), 0.0, ismath=False, mtext=pen)
    gc.restore()
    renderer.close_group("text")


class Names(Artist):
    """Which curve is which: a legend in a row above the axes, or in a column beside them.

    Parameters
    ----------
    axes : Sheet
        Whose labelled curves and bars are named.
    corner : (x, y)
        A corner of the legend, in fractions of its size: (0, 0) is the lower left one.
    at : (x, y)
        Where that corner is, in fractions of the axes.
    columns : int
        How many names stand side by side.
    gap, margin : float
        In points: between a line and its name, and around the legend.
    """

    zorder = 5
    LENGTH, HEIGHT, PAD, BETWEEN, LEADING = 20.0, 7.0, 4.0, 9.0, 5.0  # points

    def __init__(
        self,
        axes: Axes,
        corner: tuple[float, float],
        at: tuple[float, float],
        columns: int,
        gap: float,
        margin: float,
    ):
        super().__init__()
        shown, names = axes.get_legend_handles_labels()
        self.corner, self.at, self.gap, self.margin = corner, at, gap, margin
        self.columns = [
            [(self._key(shown[n]), names[n]) for n in part]
            for part in np.array_split(np.arange(len(shown)), columns)
        ]
        self.pen: Any = Text()
        self.set(transform=axes.transAxes, clip_on=False)

    def _key(self, shown: Any) -> Line2D | Rectangle:
        """Return a short piece of a curve, or a small bar."""
        key: Line2D | Rectangle
        if isinstance(shown, Line2D):
            key = Line2D(
                [0, self.LENGTH / 2, self.LENGTH], [self.HEIGHT / 2] * 3, markevery=[1]
            )
            key.update_from(shown)
        else:
            key = Rectangle((0, 0), self.LENGTH, self.HEIGHT)
            key.update_from(shown.get_children()[0])
        key.set(clip_box=None, clip_path=None)
        return key

    def _lay_out(self, renderer: Any) -> tuple[Bbox, list[Any]]:
        """Return the box around all, and every key and name with the place of its baseline."""
        self.pen.set_figure(self.get_figure())
        point = renderer.points_to_pixels(1.0)
        items, x, top, bottom = [], 0.0, 0.0, 0.0
        for column in filter(len, self.columns):
            sizes = [size(renderer, self.pen, name) for _, name in column]
            ups = [max(self.HEIGHT * point, high - low) for _, high, low in sizes]
            y, depth = 0.0, 0.0  # of the first baseline, on which the columns stand
            for n, ((key, name), up) in enumerate(zip(column, ups, strict=True)):
                y -= 0.0 if n == 0 else depth + self.LEADING * point + up
                depth = sizes[n][2]
                items.append((key, name, x, y))
            top, bottom = max(top, ups[0]), min(bottom, y - depth)
            x += (self.LENGTH + self.gap + self.BETWEEN) * point + max(w for w, _, _ in sizes)
        wide, high = x - self.BETWEEN * point, top - bottom
        pad, margin = self.PAD * point, self.margin * point
        corner = self.get_transform().transform(self.at)
        across, up = (
            spot + (1 - 2 * share) * margin - share * (extent + 2 * pad)
            for spot, share, extent in zip(corner, self.corner, (wide, high), strict=True)
        )
        box = Bbox.from_bounds(across, up, wide + 2 * pad, high + 2 * pad)
        return box, [(k, n, across + pad + x, up + pad - bottom + y) for k, n, x, y in items]

    @allow_rasterization
    def draw(self, renderer: Any) -> None:
        """Draw keys and names."""
        if self.get_visible():
            renderer.open_group("legend")
            point = renderer.points_to_pixels(1.0)
            for key, name, x, y in self._lay_out(renderer)[1]:
                key.set_figure(self.get_figure())
                key.set_transform(Affine2D().scale(point).translate(x, y))
                key.draw(renderer)
                write(renderer, self.pen, name, (x + (self.LENGTH + self.gap) * point, y))
            renderer.close_group("legend")
        self.stale = False

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Return the box around the legend."""
        return self._lay_out(renderer or _renderer(self))[0]


class Trail(Line2D):
    """A curve drawn in pieces: when it grows, the pieces before the last stay as they are."""

    @allow_rasterization
    def draw(self, renderer: Any) -> None:
        """Draw the pieces."""
        if self.get_visible():
            gc: Any = renderer.new_gc()
            gc.set_clip_rectangle(self.get_clip_box())
            gc.set_clip_path(self.get_clip_path())
            gc.set_linewidth(self.get_linewidth())
            gc.set_foreground(to_rgba(self.get_color()), isRGBA=True)
            gc.set_joinstyle(self.get_solid_joinstyle())
            gc.set_capstyle(self.get_solid_capstyle())
            points, frame = np.asarray(self.get_xydata()), self.get_transform().frozen()
            for start in range(0, len(points), PIECE):
                renderer.open_group("line2d")
                renderer.draw_path(gc, Path(points[start : start + PIECE + 1]), frame)
                renderer.close_group("line2d")
            gc.restore()
        self.stale = False
