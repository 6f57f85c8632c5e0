"""Figures: their SVG on a page, and what they draw."""

import itertools
import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from copy import copy
from html import escape

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.text import Text

import cfrlib as cfr
from cfrbook import plot
from cfrbook.plot.artists import Labels, Legend

GAME = cfr.games.KuhnPoker()


def picture(figure):
    return plot.show(figure, alt="a <b> c", caption="look & see")


@pytest.fixture(scope="module")
def figures():
    path = cfr.play(cfr.games.RockPaperScissors(3), 200, seed=1)
    solution = cfr.solve(GAME, "cfr", 100)
    names = ("rock", "paper", "scissors")
    return {
        "lines": plot.lines({"a": ([1, 2], [3, 4])}, xlabel="x", ylabel="y", levels={"l": 3.5}),
        "convergence": plot.convergence({"cfr": solution.trace}, bound=True),
        "bars": plot.strategy_bars({"cfr": solution.strategy}, {"J": "bet"}, xlabel="p"),
        "simplex": plot.simplex({"now": path.current[0]}, names, points={"x": (0.2, 0.6, 0.2)}),
        "tree": plot.tree(GAME, (("J", "Q"),)),
        "infoset_numbers": plot.infoset_numbers(
            {"R": "regret"}, {"Q": {"check": ["0"], "bet": ["1/8"]}}
        ),
    }


def test_svg_is_labelled_and_follows_the_theme(figures):
    for name, figure in figures.items():
        html = picture(figure)._repr_html_()
        svg = ET.fromstring(html[html.index("<svg") : html.rindex("</svg>") + 6])
        assert svg.get("role") == "img" and svg.get("aria-label") == "a <b> c", name
        assert "width" not in svg.attrib and "viewBox" in svg.attrib, name
        assert "look &amp; see</figcaption>" in html, name
        lower = html.lower()
        assert "currentcolor" in lower, name
        assert plot.INK.lower() not in lower and plot.PAPER.lower() not in lower, name
        for color in plot.COLORS.values():  # each is a CSS variable with a fallback
            assert not re.search(rf"(?<!, ){color.lower()}", lower), (name, color)


def test_ids_are_unique_on_a_page(figures):
    ids = [set(re.findall(r'\bid="([^"]+)"', picture(f).svg)) for f in figures.values()]
    assert sum(map(len, ids)) == len(set().union(*ids))
    for figure in figures.values():
        svg = picture(figure).svg
        assert set(re.findall(r"url\(#([^)]+)\)", svg)) <= set(
            re.findall(r'\bid="([^"]+)"', svg)
        )


def test_svg_is_reproducible():
    first, second = (picture(plot.tree(GAME, (("J", "Q"),))).svg for _ in range(2))
    assert first == second


def test_tree_shows_every_action_payoff_and_infoset(figures):
    svg = picture(figures["tree"]).svg
    shown = re.findall(r">([^<>\s][^<>]*)</text>", svg)
    assert sorted(t for t in shown if t[0] in "+−") == ["+1", "−1", "−1", "−2", "−2"]
    assert {"J", "Q check", "Q bet", "J check-bet"} <= set(shown)
    assert shown.count("check") == 2 and shown.count("fold") == 2


def texts(figure):
    """Each text of a tree or a table with its place in pixels."""
    FigureCanvasAgg(figure).draw()
    found = []
    for labels in filter(lambda artist: isinstance(artist, Labels), figure.axes[0].artists):
        for text, position in zip(labels.texts, labels.positions, strict=True):
            one = copy(labels)
            one.texts, one.positions = [text], [position]
            found.append((text, one.get_window_extent()))
    return [(text, box) for text, box in found if text]


def overlapping(boxes):
    pairs = itertools.combinations(boxes, 2)
    return [(a, b) for (a, one), (b, other) in pairs if one.overlaps(other)]


def test_notes_of_a_tree_cover_nothing():
    deal = ("Q", "J")
    lines = {"reach": "π₀ = 1/2\nπ₋₀ = 1/12", "value": "u₀ = −1/2"}
    ways = ((), ("check",), ("check", "bet"), ("bet",))
    notes = {(deal, *way): lines for way in ways}
    figure = plot.tree(GAME, (deal,), notes=notes, size=(3.3, 3.8))
    found = texts(figure)
    shown = [text for text, _ in found]
    assert {shown.count(line) for text in lines.values() for line in text.split("\n")} == {4}
    assert {"Q", "J check", "Q check-bet", "J bet", "fold", "+2"} <= set(shown)
    assert not overlapping(found)
    whole = figure.bbox
    assert all(whole.containsx(box.x0) and whole.containsx(box.x1) for _, box in found)
    assert all(whole.containsy(box.y0) and whole.containsy(box.y1) for _, box in found)


class Told(cfr.Game):
    """Two moves, at infosets whose labels say all that happened."""

    def node(self, h):
        if len(h) == 2:
            return cfr.Terminal((1, -1) if h[0] == h[1] else (-1, 1))
        label = f"[Observer: {len(h)}][Private: none][Round {len(h) + 1}][Player: {len(h)}]"
        label += f"[Pot: 2][Sequence: {' then '.join(h):>25}]"
        return cfr.Decision(len(h), label, ("check", "bet or raise"))


@pytest.mark.parametrize("notes", [None, {(): {"reach": "1/2"}}], ids=repr)
def test_labels_of_ninety_letters_have_room(notes):
    figure = plot.tree(Told(), notes=notes)
    found = texts(figure)
    if notes:  # actions have room in a figure with notes if its caller makes it high enough
        found = [(text, box) for text, box in found if len(text) > 20]
    assert max(len(text) for text, _ in found) >= 90
    assert not overlapping(found)
    assert all(figure.bbox.containsx(x) for _, box in found for x in (box.x0, box.x1))


def test_annotations_point_at_their_places_and_follow_the_theme():
    figure = plot.lines({"y": ([0, 4], [0, 4])}, xlabel="x", ylabel="y", size=(4, 4))
    notes = {
        "right": ((1, 1), (40, 0)),
        "left": ((3, 3), (-40, 9)),
        "high": ((2, 2), (5, 40)),
        "two\nlines": ((4, 4), (9, -40)),
        "beside": ((1, 3), (9, 0)),
    }
    assert plot.annotate(figure, notes) is figure
    FigureCanvasAgg(figure).draw()
    found = {text.get_text(): text for text in figure.axes[0].texts}
    box = {name: Text.get_window_extent(text) for name, text in found.items()}
    at = {n: figure.axes[0].transData.transform(place) for n, (place, _) in notes.items()}
    assert box["right"].x0 > at["right"][0] and box["beside"].x0 > at["beside"][0]
    assert box["left"].x1 < at["left"][0]
    assert box["high"].y0 > at["high"][1]
    assert box["two\nlines"].y1 < at["two\nlines"][1]
    assert [n for n, text in found.items() if text.arrow_patch is None] == ["beside"]
    for name in notes.keys() - {"beside"}:
        arrow = found[name].arrow_patch
        outline = arrow.get_transform().transform(arrow.get_path().vertices)
        assert np.hypot(*(outline - at[name]).T).min() < 5 * figure.dpi / 72, name
    svg = picture(figure).svg
    assert svg.count("paint-order:stroke") == len(notes)
    assert {"two", "lines", "beside"} <= set(re.findall(r">([^<>\s][^<>]*)</text>", svg))
    assert plot.INK.lower() not in svg.lower()


def test_shade_covers_the_subtree_and_nothing_else():
    deal = ("Q", "J")
    figure = plot.tree(GAME, (deal,), shade=[(deal, "check", "bet"), (deal, "bet", "fold")])
    whole, one = (patch.get_bbox() for patch in figure.axes[0].patches)
    places = {(x, y) for line in figure.axes[0].lines[1:] for x, y in line.get_xydata()}
    assert len(places) == 9
    inside = [sum(box.contains(*place) for place in places) for box in (whole, one)]
    assert inside == [3, 1]
    svg = picture(figure).svg
    assert len(re.findall(r"fill: var\(--cfr-muted, #767676\); opacity: 0.12", svg)) == 2


def test_shades_of_neighbors_touch_and_cover_their_payoffs():
    deal = ("J", "Q")
    shade = [(deal, "check", "bet"), (deal, "check", "check")]
    figure = plot.tree(GAME, (deal,), shade=shade)
    shown = texts(figure)
    blocks = [patch.get_window_extent() for patch in figure.axes[0].patches]
    assert blocks[0].y1 == pytest.approx(blocks[1].y0)
    inside = [
        sorted(text for text, box in shown if block.overlaps(box) and text[0] in "+−")
        for block in blocks
    ]
    assert inside == [["−1", "−2"], ["−1"]]


def test_traced_branches_of_a_tree_begin_at_its_root():
    deal = ("J", "Q")
    for start in (), (deal,):
        figure = plot.tree(GAME, start, trace=[(deal, "check", "bet"), (deal, "check")])
        whole, thick = (line for line in figure.axes[0].lines if line.get_linestyle() == "-")
        assert thick.get_linewidth() > 2 * whole.get_linewidth()
        x = thick.get_xdata().reshape(-1, 3)[:, :2].tolist()
        assert x == [[n, n + 1] for n in range(3 - len(start))]


def test_infoset_numbers_have_a_row_for_each_action_and_frames():
    columns = {"σ": "strategy", "R": "regret"}
    groups = {
        "Q": {"check": ("1/2", "−1/8"), "bet": ("1/2", "1/8")},
        "J bet": {"fold": ("1", ""), "call": ("0", "")},
    }
    figure = plot.infoset_numbers(
        columns, groups, title=("Line 6", "R += 1/8"), framed=[("Q", "R")]
    )
    found = texts(figure)
    places = dict(found)
    assert not overlapping(found)
    (frame,) = (patch.get_window_extent() for patch in figure.axes[0].patches)
    inside = {text for text, box in found if frame.overlaps(box)}
    assert inside == {"−1/8", "1/8"}
    assert places["Line 6"].y0 > places["R += 1/8"].y0 > places["Q"].y0 > places["J bet"].y0
    assert places["−1/8"].x1 == pytest.approx(places["R"].x1, abs=1)
    with pytest.raises(ValueError, match="argument"):
        plot.infoset_numbers(columns, {"Q": {"check": ("1/2",)}})


def test_table_aligns_numbers_and_names_its_rows():
    rows = [["a < b", 1000, 0.25, "0.1 ± 0.02"], ["c", np.int64(7), -np.inf, ""]]
    table = plot.Table(["", "n", "x", "interval"], rows, floats=".1f")
    assert repr(table).splitlines() == [
        "           n     x    interval",
        "a < b  1,000   0.2  0.1 ± 0.02",
        "c          7  -inf",
    ]
    named = plot.Table(["T"], [["3 cards"], ["10 cards"], ["2 ms"]])
    assert repr(named).splitlines() == ["T", "3 cards", "10 cards", "2 ms"]
    html = table._repr_html_()
    assert "<th scope=row>a &lt; b</th><td class=cfr-right>1,000</td>" in html
    assert html.count("scope=col") == 4
    assert ">0.1 ±&nbsp;0.02</td>" in html
    (time,) = re.findall(
        "<td.*?>(.*)</td>", plot.Table(["", "t"], [["", "2 ms"]])._repr_html_()
    )
    assert time == "2&nbsp;ms"
    small = plot.Table(["rule", "gap"], [["RM", "< 1e-12, 2.5e-08"]])._repr_html_()
    assert re.findall("<span class=cfr-joined>(.*?)</span>", small) == ["1e-12", "2.5e-08"]
    (long,) = plot.Table(["exploitability"], [])._repr_html_().splitlines()[1:2]
    assert "exploit&shy;ability" in long, "it may break on a phone"
    with pytest.raises(ValueError, match="2 values; there are 1 columns: n"):
        plot.Table(["n"], [[1, 2]])


def test_tree_without_labels_draws_all_histories():
    figure = plot.tree(GAME, labels=False, highlight=["Q check-bet"])
    (axes,) = figure.axes
    marks = [line for line in axes.lines if line.get_marker() in "Dso"]
    ring, *kinds = marks
    assert [len(line.get_xdata()) for line in kinds] == [1, 30, 12, 12]
    assert len(ring.get_xdata()) == 2
    with pytest.raises(ValueError, match="too many to draw"):
        plot.tree(cfr.games.KuhnPoker(cards=9))


def test_figure_without_alt_or_caption_raises(figures):
    for alt, caption in (("", "c"), ("a", " ")):
        with pytest.raises(ValueError, match="alt text and a caption"):
            plot.show(figures["tree"], alt=alt, caption=caption)


def test_simplex_coordinates():
    corners = plot.to_simplex(np.eye(3))
    assert np.allclose(np.linalg.norm(corners - np.roll(corners, 1, 0), axis=1), 1)
    assert np.allclose(plot.to_simplex([1 / 3] * 3), corners.mean(axis=0))


def test_svg_has_no_stylesheet():
    """Matplotlib's rule for all elements would also restyle the drawn cards on the page."""
    svg = plot.inline_svg(plot.lines({"a": ([1, 2], [1, 2])}, xlabel="x", ylabel="y"), "")
    assert "<style" not in svg
    root = svg[: svg.index(">")]
    assert "stroke-linecap:butt" in root
    assert "stroke-linejoin:round" in root


@pytest.mark.slow
def test_missing_matplotlib_is_reported_with_the_command_to_install_it():
    program = """
import sys
sys.modules["matplotlib"] = None  # simulates its absence
import cfrlib
print(cfrlib.__name__, flush=True)
import cfrbook.plot
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout == "cfrlib\n" and done.returncode == 1
    assert "ModuleNotFoundError: cfrbook.plot needs matplotlib, which is not" in done.stderr
    assert 'pip install "cfrlib[plot]"' in done.stderr


@pytest.mark.parametrize("names", [["yours", "CFR", "CFR+"], ["a rule with a long name"] * 4])
def test_legend_and_y_label_do_not_overlap(names):
    """Long legends move above the label of the y axis."""
    curves = {f"{name}{' ' * n}": ([1, 2], [n, 1]) for n, name in enumerate(names)}
    figure = plot.lines(curves, xlabel="iterations", ylabel="exploitability", size=(4.1, 3.2))
    renderer = FigureCanvasAgg(figure).get_renderer()
    artists = figure.axes[0].get_children()
    legend = next(a for a in artists if isinstance(a, Legend)).get_window_extent(renderer)
    label = next(a for a in artists if isinstance(a, Labels) and a.texts == ["exploitability"])
    assert not legend.overlaps(label.get_window_extent(renderer))
    assert legend.y1 <= figure.bbox.y1 and legend.x0 >= 0


@pytest.mark.parametrize(
    ("limits", "labels"),
    [
        ((0.01, 20), ["0.01", "0.1", "1", "10"]),
        ((0.15, 0.6), ["0.2", "0.5"]),
        ((1.5e-5, 6e-5), ["2·10⁻⁵", "5·10⁻⁵"]),
        # limits that a processor which rounds powers otherwise leaves just outside
        ((np.nextafter(1e-3, 1), np.nextafter(1e-1, 0)), ["0.001", "0.01", "0.1"]),
    ],
)
def test_log_axis_has_several_ticks(limits, labels):
    curve = {"y": ([1, 2], list(limits))}
    figure = plot.lines(curve, xlabel="x", ylabel="y", yscale="log", ylim=limits)
    shown = re.findall(r">([^<>\s][^<>]*)</text>", picture(figure).svg)
    assert [text for text in shown if text in labels] == labels
    assert "10⁻⁵" not in shown


def test_convergence_takes_one_trace():
    trace = cfr.solve(GAME, "cfr", 20).trace
    drawn, wanted = plot.convergence(trace), plot.convergence({"cfr": trace})
    for figure in (drawn, wanted):
        line = figure.axes[0].get_lines()[0]
        assert np.array_equal(line.get_ydata(), trace.exploitability)
    for wrong in (cfr.solve(GAME, iterations=1), {"cfr": 3}, "cfr"):
        with pytest.raises(ValueError, match=r"expected a trace, solution\.trace, .*; got "):
            plot.convergence(wrong)
    assert "player-gradients" in picture(plot.convergence(trace, x="gradients")).svg
    sampled = cfr.solve(GAME, iterations=20, sampling="external", seed=0).trace
    plot.convergence(sampled, x="nodes")
    for x, unit in (("nodes", "gradients"), ("gradients", "nodes")):
        with pytest.raises(ValueError, match=f"has its work in {unit}, not in {x}"):
            plot.convergence({"cfr": trace, "mccfr": sampled}, x=x)


@pytest.mark.filterwarnings("error")
def test_exploitability_of_zero_is_drawn():
    """Uniform play is the answer from the start: a line at 0, on an axis that has a 0."""
    trace = cfr.solve(cfr.games.RockPaperScissors(), "cfr", 20).trace
    assert not trace.exploitability.any()
    figure = plot.convergence(trace, bound=True)
    axes = figure.axes[0]
    assert (axes.get_xscale(), axes.get_yscale()) == ("log", "linear")
    assert axes.get_ylim()[0] < 0 < axes.get_ylim()[1]
    assert "<path" in picture(figure).svg
    mixed = {"zero": trace, "cfr": cfr.solve(GAME, "cfr", 20).trace}
    assert plot.convergence(mixed).axes[0].get_yscale() == "log"
    picture(plot.convergence(mixed))


class Named(cfr.Game):
    """A game of one decision with an infoset and actions of given names."""

    def __init__(self, infoset, actions):
        self.infoset, self.actions = infoset, actions

    def node(self, h):
        if not h:
            return cfr.Decision(0, self.infoset, self.actions)
        return cfr.Terminal((0, 0))


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize(
    ("infoset", "actions"),
    [
        ("pot $5, stack $10", ("raise $5 to $10", "fold")),
        (r"$\x{$", (r"$\frac{$", r"\$ $^$ _")),
        ("[Observer: 0]" * 7, ("call", "fold")),
        ("手札 松に鶴", ("こいこい", "あがり")),
    ],
)
def test_labels_are_drawn_as_they_are(infoset, actions):
    """Not as formulas; and labels as long as OpenSpiel's leave room for the bars."""
    game = Named(infoset, actions)
    uniform = cfr.Strategy.uniform(game)
    bars = plot.strategy_bars(
        {"a": uniform, infoset: uniform}, {infoset: actions[0]}, xlabel=infoset
    )
    curves = {"a": ([1, 2], [1, 2]), infoset: ([1, 2], [2, 1])}
    lines = plot.lines(curves, xlabel=infoset, ylabel=actions[0], levels={actions[1]: 1.5})
    figures = {
        infoset: [
            bars,
            lines,
            plot.tree(game),
            plot.tree(game, notes={(): {"reach": infoset}}),
        ],
        actions[0]: [
            lines,
            plot.tree(game),
            plot.annotate(lines, {actions[0]: ((1, 1), (0, 40))}),
        ],
    }
    figures[infoset] += [
        plot.infoset_numbers({infoset: "regret"}, {"I": {"a": ["0"]}}, title=[infoset])
    ]
    figures[infoset] += [
        plot.simplex({"now": np.eye(3)}, [infoset, "b", "c"], points={"x": [0, 0, 1]})
    ]
    for text, some in figures.items():
        for figure in some:
            assert escape(text, quote=False) in unescape_quotes(picture(figure).svg)
    (axes,) = bars.axes
    assert axes.get_window_extent().width >= 0.9 * bars.dpi


def unescape_quotes(svg):
    return svg.replace("&quot;", '"')


def test_bars_of_nothing_are_refused():
    uniform = cfr.Strategy.uniform(GAME)
    for strategies, actions in (({}, {"J": "bet"}), ({"a": uniform}, {})):
        with pytest.raises(ValueError, match="at least one strategy and one infoset"):
            plot.strategy_bars(strategies, actions, xlabel="p")
