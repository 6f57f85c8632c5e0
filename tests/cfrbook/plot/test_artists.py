"""Pictures are the same as with Matplotlib's own artists, and figures are independent."""

import io
import re
from itertools import product

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

import cfrlib as cfr
from cfrbook import explore, plot
from cfrbook.plot import artists

GAME = cfr.games.KuhnPoker()
NAMES = ("rock", "paper", "scissors")


def blank(kind, **size):
    figure = Figure(**size)
    return figure, figure.add_axes((0.2, 0.2, 0.6, 0.5), axes_class=kind)


def svg(figure, crop=True):
    return plot.inline_svg(figure, "", key="k", crop=crop)


def numbers(text):
    return np.array([float(x) for x in re.findall(r"-?\d+\.?\d*(?=[ \",)\n])", text)])


# ---- comparison with Matplotlib --------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("scale", ["linear", "log"])
def test_lazy_axes_draw_the_same_svg_as_axes(scale):
    """Ticks created on first use are drawn, and so are the spines."""
    drawn = []
    for kind in (Axes, artists.LazyAxes):
        with mpl.rc_context(plot.STYLE):
            figure, axes = blank(kind)
            axes.plot([1, 20, 300], [3, 1, 2], label="a")
            axes.set(xscale=scale, xlabel="x", ylabel="y", title="t")
            axes.grid(True)
            axes.minorticks_on()
            axes.tick_params(axis="y", rotation=30, labelcolor="red")
        drawn.append(svg(figure))
    assert drawn[0] == drawn[1]


def test_invisible_ticks_are_not_created():
    axes = plot.lines({"y": ([0, 1], [0, 1])}, xlabel="x", ylabel="y").axes[0]
    svg(axes.figure)
    axis = axes.xaxis
    assert not {"majorTicks", "minorTicks"} & (vars(axis).keys() | vars(axes.yaxis).keys())
    axis.set_visible(True)
    svg(axes.figure)
    assert len(vars(axis)["majorTicks"]) > 3


@pytest.mark.slow
@pytest.mark.parametrize("words", ["plain", "Größe, jq", "$x^2$", "two\nlines", ""])
def test_labels_draw_the_same_svg_as_annotations(words):
    for ha, va in product(("left", "center", "right"), ("bottom", "baseline", "center", "top")):
        looks = {"ha": ha, "va": va, "fontsize": 8, "color": "red"}
        with mpl.rc_context(plot.STYLE):
            figure, axes = blank(artists.LazyAxes)
            place, frame, shift = (0.3, 0.6), axes.transData, (5, -7)
            axes.add_artist(artists.Labels([words], [place], frame, shift, **looks))
            other, axes = blank(artists.LazyAxes)
            axes.annotate(words, place, shift, textcoords="offset points", **looks)
        one, two = svg(figure), svg(other)
        assert re.sub(r"[\d.]+", "#", one) == re.sub(r"[\d.]+", "#", two)
        assert np.allclose(numbers(one), numbers(two), atol=0.011), (ha, va)


def test_words_draw_the_texts_of_annotations():
    """Texts of equal style share an artist, and none takes the place or style of another."""
    looks = [((5, -7), {"color": "red"}), ((5, -7), {"ha": "right"}), ((0, 0), {})] * 2
    with mpl.rc_context(plot.STYLE):
        figure, axes = blank(artists.LazyAxes)
        words = artists.Words(axes, gid="halo", fontsize=8)
        other, annotated = blank(artists.LazyAxes)
        for n, (shift, style) in enumerate(looks):
            words.add(f"text {n}", (n / 6, 0.5), shift, **style)
            annotated.annotate(
                f"text {n}",
                (n / 6, 0.5),
                shift,
                textcoords="offset points",
                fontsize=8,
                **style,
            )
    assert len(axes.artists) == 3
    drawn = [sorted(re.findall(r"<text.*?</text>", svg(f, False))) for f in (figure, other)]
    assert len(drawn[0]) == 6 + len(re.findall("<text", svg(blank(artists.LazyAxes)[0], False)))
    for one, two in zip(*drawn, strict=True):
        assert re.sub(r"[\d.]+(?=[\",])", "#", one) == re.sub(r"[\d.]+(?=[\",])", "#", two)
        assert np.allclose(numbers(one), numbers(two), atol=0.011)
    assert svg(figure, False).count("paint-order") == 3


@pytest.mark.parametrize("count", [1, 2, 4, 5, 7])
@pytest.mark.parametrize("dpi", [72, 150])
def test_legend_draws_the_same_svg_as_matplotlibs(count, dpi):
    boxes, drawn = [], []
    for ours in (True, False):
        with mpl.rc_context(plot.STYLE):
            figure, axes = blank(artists.LazyAxes, dpi=dpi)
            for n in range(count):
                axes.plot([0, 1], [n, n], "o" if n == 1 else "-", label="name" * (n % 3 + 1))
            axes.barh([1, 2], [1, 1], label="bars")
            if ours:
                legend = artists.Legend(axes, (1, 0), (1, 1), columns=4, gap=4.4, margin=2.2)
                axes.add_artist(legend)
            else:
                legend = axes.legend(
                    loc="lower right", bbox_to_anchor=(1, 1), ncols=4, borderaxespad=0.2,
                    handlelength=2, handletextpad=0.4, columnspacing=0.9,
                )  # fmt: skip
        drawn.append(svg(figure, crop=False))
        boxes.append(legend.get_window_extent(FigureCanvasAgg(figure).get_renderer()).bounds)
    assert np.allclose(*boxes, atol=1)  # rasterized text is hinted
    assert re.sub(r"[\d.]+", "#", drawn[0]) == re.sub(r"[\d.]+", "#", drawn[1])
    assert np.allclose(numbers(drawn[0]), numbers(drawn[1]), atol=0.011)


def test_chunked_line_draws_all_points():
    points = np.random.default_rng(0).random((173, 2))
    with mpl.rc_context(plot.STYLE):
        figure, axes = blank(artists.LazyAxes)
        axes.add_line(artists.ChunkedLine(*points.T, color="red"))
        axes.axis("off")
    pieces = [
        numbers(d) for d in re.findall(r'<path d="([^"]*)" clip', svg(figure, crop=False))
    ]
    assert [len(piece) // 2 for piece in pieces] == [51, 51, 51, 23]
    joined = np.concatenate([piece.reshape(-1, 2)[k > 0 :] for k, piece in enumerate(pieces)])
    pixels = axes.transData.transform(points) * 72 / figure.dpi
    assert np.allclose(joined, [0, figure.get_figheight() * 72] + pixels * [1, -1], atol=0.011)


# ---- independence of figures -----------------------------------------------------------------


def figure_makers():
    """Return functions that draw figures with the same texts in different sizes and places."""
    path = cfr.play(cfr.games.RockPaperScissors(3), 120, seed=1).current[0]
    solution = cfr.solve(GAME, "cfr", 20)
    lines = {"a": ([1, 2], [3, 4]), "0.5": ([1, 9], [0.1, 0.9])}
    return {
        "levels": lambda: plot.lines(lines, xlabel="a", ylabel="0.5", levels={"0.5": 0.5}),
        "log": lambda: plot.lines(lines, xlabel="a", ylabel="b", xscale="log", size=(3.3, 2)),
        "mark": lambda: plot.lines(lines, xlabel="a", ylabel="b", mark=1.5, ylim=(0, 1)),
        "one": lambda: plot.lines({"a": ([1], [2])}, xlabel="0.5", ylabel=""),
        "bars": lambda: plot.strategy_bars(
            {"a": solution.strategy, "0.5": solution.current}, {"J": "bet"}, xlabel="p"
        ),
        "simplex": lambda: plot.simplex({"a": path}, NAMES, points={"0.5": (1, 0, 0)}),
        "tree": lambda: plot.tree(GAME, (("J", "Q"),), highlight=["J check-bet"]),
    }


@pytest.mark.slow
def test_figures_do_not_depend_on_earlier_figures():
    makers = figure_makers()
    alone = {}
    for name, make in makers.items():
        for crop in (True, False):
            artists._sizes.clear()
            alone[name, crop] = svg(make(), crop)
    for order in (list(alone), list(alone)[::-1]):
        for name, crop in order:
            figure = makers[name]()
            figure.savefig(io.BytesIO(), format="png", dpi=133)  # another resolution
            assert svg(makers[name](), crop) == alone[name, crop] == svg(figure, crop), name


def test_text_size_cache_distinguishes_fonts_and_resolutions():
    looks = product((72, 150), ("sans-serif", "monospace"), (8, 12), ("center", "top"))
    for dpi, family, points, va in [*looks] * 2:
        figure = Figure(dpi=dpi)
        renderer = FigureCanvasAgg(figure).get_renderer()
        pen = figure.text(0, 0, "jig", family=family, fontsize=points, va=va)
        box = pen.get_window_extent(renderer)
        width, height, _ = artists.text_size(renderer, pen, "jig")
        assert (width, height) == pytest.approx((box.width, box.height))
        assert (pen.get_text(), pen.get_va()) == ("jig", va)


@pytest.mark.slow
def test_frames_do_not_depend_on_order_or_nesting():
    def small(a):
        figure = plot.lines({"y": ([0, 1], [0, a])}, xlabel="x", ylabel="y", size=(3, 2))
        return explore.Frame(figure, alt="small", numbers={"a": a})

    inner = explore.Explorable(small, caption="s", a=explore.Linear(0, 2, step=1))

    def large(a, b):
        curves = {"y": ([0, 1], [0, a])} | ({"z": ([0, 1], [a, 0])} if b == "two" else {})
        figure = plot.lines(curves, xlabel="x", ylabel="y", mark=a / 2)
        inner.frame_html(a=2 - a)  # while the outer figure is not drawn yet
        return explore.Frame(
            figure, plot.simplex({"p": [[1, 0, 0], [0, a / 2, 1 - a / 2]]}, NAMES),
            alt="large", numbers={"a": a},
        )  # fmt: skip

    outer = explore.Explorable(
        large, caption="l", a=explore.Linear(0, 2, step=1), b=explore.Choice("one", "two")
    )
    grid = list(product((0, 1, 2), ("one", "two")))
    forth = {at: outer.frame_html(a=at[0], b=at[1]) for at in grid}
    small_ones = {a: inner.frame_html(a=a) for a in (0, 1, 2)}
    back = {at: outer.frame_html(a=at[0], b=at[1]) for at in grid[::-1]}
    assert forth == back and len(set(forth.values())) == 6
    assert small_ones == {a: inner.frame_html(a=a) for a in (2, 0, 1)}
    assert all(
        "z</text>" not in forth[a, "one"] and "z</text>" in forth[a, "two"] for a in (0, 2)
    )
