"""Matplotlib artists that draw the same picture in half the time.

An explorable draws hundreds of figures, one for every position of its sliders. Curves take a
small part of the time; most of it goes into invisible ticks and into measuring the same few
words over and over. So these axes create ticks on first use, text sizes are measured once per
process, and the legend is laid out without nested boxes. Only text sizes are shared between
figures, no other state.
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

CHUNK = 50  # points per chunk of a ChunkedLine
Size = tuple[float, float, float]  # of a text in pixels: width, height, depth

_sizes: dict[tuple[Any, ...], Size] = {}


class _Ticks:
    """Descriptor for the ticks of an axis, which creates the first one on first use."""

    def __init__(self, name: str):
        self._name = name

    def __get__(self, axis: Any, owner: type[Axis]) -> list[Any]:
        if not axis.axes.initialized:
            return []
        ticks: list[Any] = vars(Axis)[self._name].__get__(axis, owner)
        for tick in ticks:
            tick.set_clip_path(axis.axes.patch)
        return ticks


class _XAxis(XAxis):
    """X axis without ticks created in advance."""

    majorTicks, minorTicks = _Ticks("majorTicks"), _Ticks("minorTicks")


class _YAxis(YAxis):
    """Y axis without ticks created in advance."""

    majorTicks, minorTicks = _Ticks("majorTicks"), _Ticks("minorTicks")


class LazyAxes(Axes):
    """Axes that create their ticks on first use."""

    initialized = False

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        for spine in self.spines.values():
            spine.get_spine_transform()  # positions the spine, as the first tick would
        self.initialized = True

    def _init_axis(self) -> None:
        self.xaxis = _XAxis(self, clear=False)
        self.yaxis = _YAxis(self, clear=False)
        for side, spine in self.spines.items():
            spine.register_axis(self.xaxis if side in ("top", "bottom") else self.yaxis)


class Labels(Artist):
    """Texts at given positions, all in the same style.

    Parameters
    ----------
    texts : iterable of str
        The texts.
    positions : iterable of (x, y)
        Their positions, in the coordinates of `transform`.
    transform : matplotlib Transform
        From positions to pixels.
    offset : (x, y)
        Offset of each text from its position, in points.
    **style
        Properties of :class:`matplotlib.text.Text`: alignment, color, size.
    """

    zorder = 3

    def __init__(
        self,
        texts: Iterable[str],
        positions: Iterable[tuple[float, float]],
        transform: Transform,
        offset: tuple[float, float] = (0, 0),
        **style: Any,
    ):
        super().__init__()
        self.texts, self.positions = list(texts), list(positions)
        self.offset = np.array(offset, np.float64)
        self.template: Any = Text(**style)
        self.set(transform=transform, clip_on=False)

    def _pixels(self, renderer: Any) -> Iterable[tuple[str, Any]]:
        """Yield each text and its position in pixels."""
        self.template.set_figure(self.get_figure())
        if self.texts:
            offset = self.offset * renderer.points_to_pixels(1.0)
            positions = np.asarray(self.positions, np.float64)
            pixels = self.get_transform().transform(positions) + offset
            yield from zip(self.texts, pixels, strict=True)

    @allow_rasterization
    def draw(self, renderer: Any) -> None:
        """Draw the texts, in a group of their own if the artist has an id."""
        if self.get_visible():
            if self.get_gid():
                renderer.open_group("labels", self.get_gid())
            for text, position in self._pixels(renderer):
                draw_text(renderer, self.template, text, position)
            if self.get_gid():
                renderer.close_group("labels")
        self.stale = False

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Return the bounding box of all texts."""
        renderer = renderer or _renderer(self)
        boxes = []
        for text, position in self._pixels(renderer):
            self.template.set(text=text, position=position)
            boxes.append(self.template.get_window_extent(renderer))
        return Bbox.union(boxes) if boxes else Bbox.null()


class Words:
    """Writes texts into axes, at data coordinates; texts of equal style share an artist.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes.
    gid : str, optional
        The id of the groups of texts.
    **style
        What all texts have in common; see :class:`Labels`.
    """

    def __init__(self, axes: Axes, gid: str | None = None, **style: Any):
        self.axes, self.gid, self.style = axes, gid, style
        self.labels: dict[tuple[Any, ...], Labels] = {}

    def add(
        self,
        text: str,
        position: tuple[float, float],
        offset: tuple[float, float] = (0, 0),
        **style: Any,
    ) -> None:
        """Write a text at a position, moved by an offset in points."""
        key = offset, *sorted(style.items())
        if key not in self.labels:
            labels = Labels([], [], self.axes.transData, offset, **self.style, **style)
            labels.set_gid(self.gid)
            self.labels[key] = labels
            self.axes.add_artist(labels)
        self.labels[key].texts.append(text)
        self.labels[key].positions.append(position)


def _renderer(artist: Artist) -> Any:
    """Return the renderer of an artist's figure."""
    figure: Any = artist.get_figure()
    return figure.figure._get_renderer()


def text_size(renderer: Any, template: Any, text: str) -> Size:
    """Return the size of a text in the font of `template`; the result is cached."""
    font = template.get_fontproperties()
    dpi, measure = template.get_figure().figure.dpi, renderer.get_text_width_height_descent
    key = text, findfont(font), font.get_size_in_points(), dpi, type(measure.__self__)
    if key not in _sizes:
        aligned = template.get_ha(), template.get_va()
        template.set(text=text, position=(0, 0), ha="left", va="baseline")
        box = template.get_window_extent(renderer)
        template.set(ha=aligned[0], va=aligned[1])
        _sizes[key] = box.width, box.height, -box.y0
    return _sizes[key]


def draw_text(renderer: Any, template: Any, text: str, position: Sequence[float]) -> None:
    """Draw a text at a position in pixels like `template.draw`, but faster."""
    template.set_text(text)
    template.set_position(position)
    if not text or "\n" in text or template.get_usetex():
        template.draw(renderer)
        return
    width, height, depth = text_size(renderer, template, text)
    template.set_text(text)
    template.set_position(position)
    across = {"left": 0.0, "center": width / 2, "right": width}[template.get_ha()]
    up = {"bottom": 0.0, "baseline": depth, "center": height / 2, "top": height}
    x, y = position[0] - across, position[1] - up[template.get_va()] + depth
    if renderer.flipy():
        y = renderer.get_canvas_width_height()[1] - y
    renderer.open_group("text")
    gc = renderer.new_gc()
    gc.set_foreground(to_rgba(template.get_color()), isRGBA=True)
    font = template.get_fontproperties()
    renderer.draw_text(gc, x, y, text, font, 0.0, ismath=False, mtext=template)
    gc.restore()
    renderer.close_group("text")


class Legend(Artist):
    """Legend without a frame, placed by one of its corners.

    Parameters
    ----------
    axes : matplotlib Axes
        The axes whose labelled curves and bars are listed.
    corner : (x, y)
        The anchor, in fractions of the size of the legend; (0, 0) is the lower left corner.
    at : (x, y)
        Position of the anchor, in fractions of the axes.
    columns : int
        Number of columns.
    gap, margin : float
        Space between a handle and its label, and around the legend, in points.
    """

    zorder = 5
    LENGTH, HEIGHT, PAD, BETWEEN, LEADING = 22.0, 7.7, 4.4, 9.9, 5.5  # points; letters: 11

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
        artists, labels = axes.get_legend_handles_labels()
        self.corner, self.at, self.gap, self.margin = corner, at, gap, margin
        self.columns = [
            [(self._handle(artists[n]), labels[n]) for n in part]
            for part in np.array_split(np.arange(len(artists)), columns)
        ]
        self.template: Any = Text()
        self.set(transform=axes.transAxes, clip_on=False)

    def _handle(self, artist: Any) -> Line2D | Rectangle:
        """Return a short line for a curve, or a small rectangle for bars."""
        handle: Line2D | Rectangle
        if isinstance(artist, Line2D):
            handle = Line2D(
                [0, self.LENGTH / 2, self.LENGTH], [self.HEIGHT / 2] * 3, markevery=[1]
            )
            handle.update_from(artist)
        else:
            handle = Rectangle((0, 0), self.LENGTH, self.HEIGHT)
            handle.update_from(artist.get_children()[0])
        handle.set(clip_box=None, clip_path=None)
        return handle

    def _lay_out(self, renderer: Any) -> tuple[Bbox, list[Any]]:
        """Return the bounding box, and each handle and label with its baseline position."""
        self.template.set_figure(self.get_figure())
        point = renderer.points_to_pixels(1.0)
        items, x, top, bottom = [], 0.0, 0.0, 0.0
        for column in filter(len, self.columns):
            sizes = [text_size(renderer, self.template, label) for _, label in column]
            ups = [max(self.HEIGHT * point, high - low) for _, high, low in sizes]
            y, depth = 0.0, 0.0  # of the first row, whose baseline all columns share
            for n, ((handle, label), up) in enumerate(zip(column, ups, strict=True)):
                y -= 0.0 if n == 0 else depth + self.LEADING * point + up
                depth = sizes[n][2]
                items.append((handle, label, x, y))
            top, bottom = max(top, ups[0]), min(bottom, y - depth)
            x += (self.LENGTH + self.gap + self.BETWEEN) * point + max(w for w, _, _ in sizes)
        wide, high = x - self.BETWEEN * point, top - bottom
        pad, margin = self.PAD * point, self.margin * point
        corner = self.get_transform().transform(self.at)
        across, up = (
            position + (1 - 2 * share) * margin - share * (extent + 2 * pad)
            for position, share, extent in zip(corner, self.corner, (wide, high), strict=True)
        )
        box = Bbox.from_bounds(across, up, wide + 2 * pad, high + 2 * pad)
        return box, [(*key, across + pad + x, up + pad - bottom + y) for *key, x, y in items]

    @allow_rasterization
    def draw(self, renderer: Any) -> None:
        """Draw handles and labels."""
        if self.get_visible():
            renderer.open_group("legend")
            point = renderer.points_to_pixels(1.0)
            for handle, label, x, y in self._lay_out(renderer)[1]:
                handle.set_figure(self.get_figure())
                handle.set_transform(Affine2D().scale(point).translate(x, y))
                handle.draw(renderer)
                position = x + (self.LENGTH + self.gap) * point, y
                draw_text(renderer, self.template, label, position)
            renderer.close_group("legend")
        self.stale = False

    def get_window_extent(self, renderer: Any = None) -> Bbox:
        """Return the bounding box of the legend."""
        return self._lay_out(renderer or _renderer(self))[0]


class ChunkedLine(Line2D):
    """Curve drawn in chunks; frames of a growing curve share all chunks but the last."""

    @allow_rasterization
    def draw(self, renderer: Any) -> None:
        """Draw the chunks."""
        if self.get_visible():
            gc: Any = renderer.new_gc()
            gc.set_clip_rectangle(self.get_clip_box())
            gc.set_clip_path(self.get_clip_path())
            gc.set_linewidth(self.get_linewidth())
            gc.set_foreground(to_rgba(self.get_color()), isRGBA=True)
            gc.set_joinstyle(self.get_solid_joinstyle())
            gc.set_capstyle(self.get_solid_capstyle())
            points, frame = np.asarray(self.get_xydata()), self.get_transform().frozen()
            for start in range(0, len(points), CHUNK):
                renderer.open_group("line2d")
                renderer.draw_path(gc, Path(points[start : start + CHUNK + 1]), frame)
                renderer.close_group("line2d")
            gc.restore()
        self.stale = False
