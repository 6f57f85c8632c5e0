"""Explorables: pages and kernels show the same frames at every position."""

import json
import re

import numpy as np
import pytest
from bs4 import BeautifulSoup
from decoding import decode
from hypothesis import given
from hypothesis import strategies as st

import cfrlib as cfr
from cfrbook import explore, plot
from cfrbook.explore import explorable as inside
from cfrbook.explore.controls import rounded, share

GAME = cfr.games.KuhnPoker()


def picture(height=1.0):
    return plot.lines({"y": ([0, 1], [0, height])}, xlabel="x", ylabel="y", ylim=(0, 2))


def line(a):
    return explore.Frame(picture(a), alt=f"rises to {a}", numbers={"y": a})


@pytest.fixture(scope="module")
def drawn():
    return explore.Explorable(line, caption="A line", a=explore.Linear(0, 2, step=0.5))


# ---- page and widget ------------------------------------------------------------------------


def test_control_of_two_parameters_has_two_labels():
    """An explorable labels copies: the control that it is given stays as it is."""

    def draw(first_card, b):
        return line(first_card + b)

    control = explore.Linear(0, 1, step=0.5)
    both = explore.Explorable(draw, caption="A line", first_card=control, b=control)
    assert [c.label for c in both.controls.values()] == ["first card", "b"]
    alone = explore.Explorable(line, caption="A line", a=control)
    assert 'aria-label="a"' in alone.page()
    assert control.label == ""


@pytest.mark.slow
def test_page_and_widget_show_the_same_frames(drawn):
    _, stage = decode(drawn.page())
    live = drawn.widget()
    for k, a in enumerate(drawn.controls["a"].positions):
        live.parts["a"].value = a
        assert live.stage.value == f'<div class="cfr-stage">{stage(k)}</div>'
        assert stage(k) == drawn.frame_html(a=a)
        assert f"<dd>{inside.number_text(float(a))}</dd>" in stage(k)


def test_page_starts_at_the_start_of_its_controls(drawn):
    html = drawn.page()
    first = html[html.index('<div class="cfr-stage">') : html.index("</dl>") + 5]
    _, stage = decode(html)
    assert first == f'<div class="cfr-stage">{stage(0)}'
    assert 'value="0" aria-label="a" aria-valuetext="0.0"' in html
    assert "hidden>" in html, "without scripts, no dead controls are shown"
    assert (
        html.count("<svg aria-hidden") >= 1 and 'role="img" aria-label="rises to 0.0"' in html
    )
    assert "http" not in re.sub(r'xmlns(:\w+)?=\\?"[^"]*"', "", html)


def test_mime_bundle_is_a_page_or_a_widget(drawn, monkeypatch):
    monkeypatch.delenv("CFRLIB_PAGE", raising=False)
    live = drawn._repr_mimebundle_()
    assert "application/vnd.jupyter.widget-view+json" in live
    assert "text/html" not in live
    monkeypatch.setenv("CFRLIB_PAGE", "1")
    page = drawn._repr_mimebundle_()
    assert set(page) == {"text/plain", "text/html"}
    assert page["text/plain"] == live["text/plain"] == repr(drawn)
    assert page["text/html"] == drawn.page()


@pytest.mark.slow
@given(st.lists(st.lists(st.sampled_from("abcdefg")), min_size=1, max_size=6))
def test_shared_pieces_reassemble_the_frames(frames):
    pieces, rows = inside.shared_pieces(frames)
    assert ["".join(pieces[n] for n in row) for row in rows] == ["".join(f) for f in frames]
    assert len(set(pieces)) == len(pieces)


def test_widget_shows_errors_of_draw():
    def draw(a):
        if a > 1:
            raise RuntimeError("no <ink>")
        return line(a)

    each = explore.Explorable(draw, caption="c", a=explore.Linear(0, 2, step=1))
    live = each.widget()
    live.parts["a"].value = 1.5
    assert live.stage.value == "<pre>RuntimeError: no &lt;ink&gt;</pre>"
    live.parts["a"].value = 0.5
    assert "<svg" in live.stage.value, "the widget still works afterwards"


def test_widget_accepts_any_value_in_range(drawn):
    live = drawn.widget()
    live.parts["a"].value = 0.123
    assert "<dd>0.1230</dd>" in live.stage.value
    with pytest.raises(ValueError, match="a must lie between 0 and 2"):
        drawn.frame_html(a=2.5)


def test_play_button_moves_its_control(drawn):
    live = drawn.widget()
    slider, *_, play = live.children[1].children
    play.value = 3
    assert slider.value == 1.5 and "<dd>1.5000</dd>" in live.stage.value


# ---- controls --------------------------------------------------------------------------------

CONTROLS = [
    (explore.Linear(-0.1, 0.45, step=0.01, start=0.2), 56, "0.20"),
    (explore.Log(1, 1_000_000, per_decade=6, start=1_000), 36, "1,000"),
    (explore.Log(10, 50, per_decade=3), 4, "10"),
    (explore.Seed(4), 4, "0"),
    (explore.Choice("here", "there"), 2, "here"),
    (explore.Mix("a", "b", "c", parts=5, start=(0.4, 0.4, 0.2)), 21, "(0.4, 0.4, 0.2)"),
    (explore.Walk(GAME, (("J", "K"), "bet")), 55, "JK → bet"),
]


@pytest.mark.parametrize(
    ("control", "count", "first"), CONTROLS, ids=lambda c: type(c).__name__
)
def test_control_reads_back_its_positions(control, count, first):
    control.label = "it"
    assert len(control.positions) == count == len(set(map(repr, control.positions)))
    assert control.text(control.positions[control.start]) == first
    calls = []
    widget, read = control.widget(lambda: calls.append(read()))
    assert read() == control.positions[control.start]
    for value in (control.positions[-1], control.positions[0]):
        control.set(widget, value)
        assert read() == value == control.check(value) and calls[-1] == value
    data = control.page_data()
    assert len(data.get("counts") or data["texts"]) == count
    assert "it" in control.inputs()


def test_log_positions_include_ends_and_have_constant_ratio():
    positions = explore.Log(1, 1_000_000, per_decade=4).positions
    assert positions[0] == 1 and positions[-1] == 1_000_000
    ratios = np.diff(np.log10(positions[8:]))
    assert np.allclose(ratios, 0.25, atol=0.005)


def test_walk_data_describes_the_tree():
    data = explore.Walk(GAME).page_data()
    for k, children in enumerate(data["next"]):
        for text, target in children:
            assert data["parent"][target] == k
            before = data["texts"][k] if k else ""
            assert data["texts"][target] == " → ".join(filter(None, [before, text]))


@given(st.integers(0, 3), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_shares_sum_to_one(n, p, weights):
    mix = np.array(weights) + 1e-9
    shares = share(tuple(mix / mix.sum()), n, p)
    assert shares[n] == p and min(shares) >= 0 and abs(sum(shares) - 1) < 1e-9


@given(st.integers(0, 3), st.floats(0, 1), st.lists(st.floats(0, 1), min_size=4, max_size=4))
def test_rounded_shares_are_multiples_of_the_step_and_sum_to_one(n, p, weights):
    mix = np.array(weights) + 1e-9
    exact = share(tuple(mix / mix.sum()), n, p)
    found = 100 * np.array(rounded(exact, n, 100))
    assert found == pytest.approx(np.round(found), abs=1e-9) and round(found.sum()) == 100
    assert min(found) >= 0 and (abs(found - 100 * np.array(exact)) <= 1 + 1e-6).all()


def test_linked_sliders_keep_multiples_of_their_step_and_the_others_proportion():
    mix = explore.Mix("a", "b", "c", start=(0.2, 0.4, 0.4))
    widget, read = mix.widget(lambda: None)
    _, *sliders = widget.children
    for p in (0.21, 0.37, 0.98, 1.0, 0.5):  # as a browser would send them, rounded to the step
        sliders[0].value = p
        values = [slider.value for slider in sliders]
        assert tuple(values) == read() == tuple(round(q, 2) for q in values)
        assert sum(values) == pytest.approx(1) and abs(values[1] - values[2]) < 0.011
    assert read() == (0.5, 0.25, 0.25)


def test_step_buttons_move_a_widget_by_one_position():
    explorable = explore.Explorable(
        line, caption="c", interval=700, a=explore.Linear(0, 2, step=0.5)
    )
    (row,) = (part for part in explorable.widget().children if hasattr(part, "children"))
    slider, back, on, play = row.children
    slider.value = 0.65  # between two positions
    found = []
    for button in (on, on, on, on, back):
        button.click()
        found.append(slider.value)
    assert found == [1, 1.5, 2, 2, 1.5]
    assert play.interval == 700 and '"interval":700' in explorable.page()


# ---- errors ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: explore.Explorable(line, caption="c"), "draw takes a, the controls are none"),
        (lambda: explore.Explorable(line, caption="c", b=explore.Seed()), "the controls are b"),
        (lambda: explore.Explorable(line, caption=" ", a=explore.Seed()), "caption"),
        (
            lambda: explore.Explorable(line, caption="c", play="b", a=explore.Seed()),
            "not a slider",
        ),
        (
            lambda: explore.Explorable(line, caption="c", a=explore.Linear(0, 1, step=0.001)),
            r"1,001 frames are too many for a page \(a 1001 positions\)",
        ),
        (lambda: explore.Linear(0, 1, step=0.3), "not a positive multiple of step=0.3"),
        (lambda: explore.Linear(0, 1, 0), "not a positive multiple of step=0"),
        (lambda: explore.Mix(), "give the names of the actions"),
        (lambda: explore.Mix("a", "b", parts=0), "parts must be a whole number, at least 1"),
        (lambda: explore.Linear(0, 1, step=0.5, start=0.2), "start=0.2 is not one of the 3"),
        (lambda: explore.Log(0, 10), "1 ≤ low < high"),
        (lambda: explore.Log(1, 100, start=17), "start=17 is not one of the 9 positions"),
        (lambda: explore.Choice("one"), "at least two"),
        (lambda: explore.Mix("a", "b", start=(0.5, 0.4)), "not one of the 11"),
        (lambda: explore.Seed().check(-1), "at least 0"),
        (lambda: explore.Choice("a", "b").check("c"), "one of a, b"),
        (lambda: explore.Mix("a", "b").check((0.5, 0.6)), "2 probabilities that sum to 1"),
        (lambda: explore.Walk(GAME, ("no", "way")), "start="),
        (lambda: explore.Frame(alt="a", numbers={"n": 1}), "at least one figure"),
        (lambda: explore.Frame(picture(), alt="", numbers={"n": 1}), "alt text"),
        (lambda: explore.Frame(picture(), alt="a", numbers={}), "numbers"),
        (lambda: explore.Rewind(cfr.CFR(GAME).run(5)).at(3), "3 lies before"),
    ],
)
def test_invalid_arguments_raise(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_frames_of_different_sizes_raise():
    def draw(a):
        figure = plot.lines({"y": ([0, 1], [0, 1])}, xlabel="x", ylabel="y", size=(3 + a, 3))
        return explore.Frame(figure, alt="a", numbers={"a": a})

    with pytest.raises(ValueError, match="same sizes"):
        explore.Explorable(draw, caption="c", a=explore.Linear(0, 1, step=1)).page()


def test_draw_without_frame_raises():
    each = explore.Explorable(lambda a: "text", caption="c", a=explore.Seed(2))
    with pytest.raises(ValueError, match=r"must return an explore\.Frame"):
        each.page()


# ---- rewinding -------------------------------------------------------------------------------


def test_rewind_equals_a_direct_run():
    film = explore.Rewind(cfr.CFR(GAME, "cfr+"))
    for t in (1_000, 17, 400, 0, 1_000):
        direct = cfr.CFR(GAME, "cfr+")
        if t:
            direct.run(t)
        rewound = film.at(t)
        assert rewound.iterations == t
        assert (rewound.average.values_by_sequence == direct.average.values_by_sequence).all()
        assert (rewound.current.values_by_sequence == direct.current.values_by_sequence).all()


def test_rewind_returns_copies():
    film = explore.Rewind(cfr.CFR(GAME))
    film.at(100).run(50)
    assert film.at(100).iterations == 100
    assert film.at(100).solution().exploitability == cfr.solve(GAME, "cfr", 100).exploitability


def test_an_earlier_state_costs_an_eighth_of_its_iterations_at_most(monkeypatch, capsys):
    film, costs = explore.Rewind(cfr.CFR(GAME)), []
    film.at(600)
    run = cfr.CFR.run
    monkeypatch.setattr(
        cfr.CFR, "run", lambda self, n, **how: costs.append(n) or run(self, n, **how)
    )
    for t in (*range(60), 599):
        costs.clear()
        assert film.at(t).iterations == t
        assert sum(costs) <= t / 8
    assert capsys.readouterr() == ("", "")  # no progress bar


@pytest.mark.parametrize("label", ["</script>", "<!--<script>", "<!--"])
def test_no_label_swallows_the_rest_of_the_page(label):
    """Within `<!--<script>`, a browser takes the end of the data for a part of it."""
    choice = explore.Choice(label, "b")
    html = explore.Explorable(
        lambda c: explore.Frame(picture(), alt=c, numbers={"n": c}), caption="c", c=choice
    ).page()
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert "<!" not in data and "</" not in data
    assert json.loads(data)["controls"][0]["texts"] == [label, "b"]


HOSTILE = "<img src=x>\"'&</p></script><script>alert(2)</script>"


@pytest.mark.slow
def test_no_text_of_a_drawing_becomes_an_element():
    """Names of numbers, labels, choices, captions and descriptions, on a page and live."""

    def draw(a, kind):
        numbers = {HOSTILE: a, "kind": HOSTILE}
        return explore.Frame(picture(), alt=HOSTILE, numbers=numbers)

    axes = {"a": explore.Linear(0, 1, step=1), "kind": explore.Choice(HOSTILE, "plain")}
    shown = explore.Explorable(draw, caption=HOSTILE, **axes)
    page = BeautifulSoup(shown.page(), "html.parser")
    kinds = {tag.name for tag in page.find_all(True)}
    assert "img" not in kinds and "p" in kinds
    scripts = page.find_all("script")
    assert [script.get("type") for script in scripts] == ["application/json", None]
    json.loads(scripts[0].string)
    assert page.find("figcaption").string == page.find("option").string == HOSTILE
    assert page.find("dt").string == HOSTILE and page.find_all("dd")[1].string == HOSTILE
    assert page.find(class_="cfr-panels")["aria-label"] == HOSTILE
    live = BeautifulSoup(shown.widget().stage.value, "html.parser")
    assert live.find("dt").string == HOSTILE and not live.find("img")
