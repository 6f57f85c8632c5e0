"""Controls of explorables: numbers, choices, distributions and histories of a game.

A control has a list of `positions` for a page. For a kernel, it has an ipywidgets widget that
accepts any value in range.
"""

from __future__ import annotations

import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cfrlib.core.checks import whole_number
from cfrlib.core.tree import compile
from cfrlib.game import Action, Game, action_label

if TYPE_CHECKING:
    import ipywidgets

Changed = Callable[[], None]
STYLE = {"description_width": "9rem"}
WIDE = {"width": "28rem", "max_width": "100%"}


class Control(ABC):
    """One parameter of a drawing.

    Attributes
    ----------
    positions : list
        Values on a page, in order.
    start : int
        Index of the position shown first.
    label : str
        Name shown beside the control; by default the name of the parameter.
    """

    positions: list[Any]
    start: int
    label: str
    plays = False  # whether a play button can move it

    def _set_positions(self, positions: list[Any], start: Any, label: str) -> None:
        """Set the positions and the index of the first one shown."""
        if start not in positions:
            raise ValueError(
                f"start={start!r} is not one of the {len(positions)} positions on the page: "
                f"{', '.join(map(self.text, positions[:12]))}{', …' * (len(positions) > 12)}"
            )
        self.positions, self.start, self.label = positions, positions.index(start), label

    def labeled(self, name: str) -> Self:
        """Return a copy whose label, if it has none, is the name of a parameter."""
        copied = copy.copy(self)
        copied.label = self.label or name.replace("_", " ")
        return copied

    @abstractmethod
    def text(self, value: Any) -> str:
        """Return the text of a value, as shown beside the control."""

    @abstractmethod
    def check(self, value: Any) -> Any:
        """Return a valid value in its normal form; raise a ValueError for any other."""

    @abstractmethod
    def inputs(self) -> str:
        """Return the HTML inputs of a page, which its script connects."""

    @abstractmethod
    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], Any]]:
        """Return a widget that calls `changed`, and a function that reads its value."""

    def set(self, widget: ipywidgets.Widget, value: Any) -> None:
        """Move the widget to a value."""
        widget.value = value

    def page_data(self) -> dict[str, Any]:
        """Return the data that the page's script needs."""
        return {"kind": "range", "texts": [self.text(value) for value in self.positions]}


class _Range(Control):
    """A control with one slider."""

    plays = True

    def inputs(self) -> str:
        texts = [self.text(value) for value in self.positions]
        return _slider(self.label, len(texts) - 1, self.start, texts[self.start], texts)


def _slider(label: str, last: int, value: int, text: str, texts: Sequence[str]) -> str:
    """Return a range input with its label and the text of its value."""
    width = max(map(len, texts))
    return (
        f'<label class="cfr-slider"><span>{escape(label)}</span>'
        f'<input type="range" min="0" max="{last}" step="1" value="{value}" '
        f'aria-label="{escape(label)}" aria-valuetext="{escape(text)}" autocomplete="off">'
        f'<span class="cfr-value" style="min-width:{width}ch" aria-hidden="true">{escape(text)}'
        "</span></label>"
    )


class Linear(_Range):
    """A number on a linear scale.

    Parameters
    ----------
    low, high : float
        Ends of the range.
    step : float
        Distance between the positions on a page; a kernel accepts any value in the range.
    start : float, optional
        Position shown first; by default `low`.
    label : str, optional
        By default the name of the parameter.

    Raises
    ------
    ValueError
        If ``high - low`` is not a multiple of `step`, or `start` is not a position.

    Examples
    --------
    >>> Linear(0, 1, step=0.25).positions
    [0.0, 0.25, 0.5, 0.75, 1.0]
    """

    def __init__(
        self, low: float, high: float, step: float, start: float | None = None, label: str = ""
    ):
        count = round((high - low) / step) if step > 0 else 0
        if not (count >= 1 and abs(low + count * step - high) < 1e-9):
            raise ValueError(
                f"the distance from {low!r} to {high!r} is not a positive multiple of {step=!r}"
            )
        self.low, self.high, self.step = low, high, step
        self._digits = max(0, -int(np.floor(np.log10(step) + 1e-9)))
        positions = [round(low + k * step, 12) + 0.0 for k in range(count + 1)]
        self._set_positions(positions, round(low if start is None else start, 12) + 0.0, label)

    def text(self, value: float) -> str:
        """Return the number with the digits of the step, or with more if it needs them."""
        short = f"{value:.{self._digits}f}"
        return short if abs(float(short) - value) < 1e-9 else f"{value:g}"

    def check(self, value: Any) -> float:
        """Return the value as a float."""
        if not self.low <= value <= self.high:
            raise ValueError(f"{self.label} must lie between {self.low} and {self.high}")
        return float(value)

    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], float]]:
        """Return a slider with a tenth of the page's step."""
        import ipywidgets

        slider = ipywidgets.FloatSlider(
            value=self.positions[self.start], min=self.low, max=self.high,
            step=self.step / 10, readout_format=f".{self._digits + 1}f",
            description=self.label, style=STYLE, layout=WIDE,
        )  # fmt: skip
        slider.observe(lambda _: changed(), "value")
        return slider, lambda: float(slider.value)


class Log(_Range):
    """A whole number on a logarithmic scale, such as iterations.

    Parameters
    ----------
    low, high : int
        Ends of the range; `low` is at least 1.
    per_decade : int
        Number of positions on a page per factor of ten.
    start : int, optional
        Position shown first; by default `low`.
    label : str, optional
        By default the name of the parameter.

    Raises
    ------
    ValueError
        If the range is empty or begins below 1, or `start` is not a position.

    Examples
    --------
    >>> Log(1, 100, per_decade=4).positions
    [1, 2, 3, 6, 10, 18, 32, 56, 100]
    """

    def __init__(
        self,
        low: int,
        high: int,
        per_decade: int = 4,
        start: int | None = None,
        label: str = "",
    ):
        if not (1 <= low < high and per_decade >= 1):
            raise ValueError(f"expected 1 ≤ low < high, got {low!r} and {high!r}")
        self.low, self.high = low, high
        decades = np.log10(high / low)
        steps = np.arange(0, round(decades * per_decade) + 1) / per_decade
        grid = {round(low * 10**step) for step in steps} | {high}
        positions = sorted(t for t in grid if t <= high)
        self._set_positions(positions, low if start is None else start, label)

    def text(self, value: int) -> str:
        """Return the number with commas."""
        return f"{value:,}"

    def check(self, value: Any) -> int:
        """Return the value as an int."""
        if not self.low <= value <= self.high or value != round(value):
            raise ValueError(
                f"{self.label} must be a whole number from {self.low:,} to {self.high:,}"
            )
        return int(value)

    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], int]]:
        """Return a logarithmic slider, whose number can also be typed."""
        import ipywidgets

        slider = ipywidgets.FloatLogSlider(
            value=self.positions[self.start], base=10, min=np.log10(self.low),
            max=np.log10(self.high), step=0.02, readout_format=",.0f",
            description=self.label, style=STYLE, layout=WIDE,
        )  # fmt: skip
        slider.observe(lambda _: changed(), "value")
        return slider, lambda: min(max(round(slider.value), self.low), self.high)


class Seed(_Range):
    """A random seed: one of a few on a page, any with a kernel.

    Parameters
    ----------
    count : int
        Number of seeds on a page: 0, 1, …, count - 1.
    label : str
        Name shown beside the control.

    Examples
    --------
    >>> Seed(3).positions
    [0, 1, 2]
    """

    plays = False

    def __init__(self, count: int = 5, label: str = "seed"):
        self._set_positions(list(range(count)), 0, label)

    def text(self, value: int) -> str:
        """Return the number."""
        return str(value)

    def check(self, value: Any) -> int:
        """Return the value as an int."""
        if value != int(value) or value < 0:
            raise ValueError(f"{self.label} must be a whole number, at least 0")
        return int(value)

    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], int]]:
        """Return a number field."""
        import ipywidgets

        field = ipywidgets.BoundedIntText(
            value=0, min=0, max=2**31 - 1, description=self.label, style=STYLE,
            layout={"width": "12rem"},
        )  # fmt: skip
        field.observe(lambda _: changed(), "value")
        return field, lambda: int(field.value)


class Choice(Control):
    """One of several words.

    Parameters
    ----------
    *options : str
        The words; the first is shown first.
    label : str
        By default the name of the parameter.

    Raises
    ------
    ValueError
        If there are fewer than two options.

    Examples
    --------
    >>> Choice("cfr", "cfr+").positions
    ['cfr', 'cfr+']
    """

    def __init__(self, *options: str, label: str = ""):
        if len(options) < 2:
            raise ValueError("a choice needs at least two options")
        self._set_positions(list(options), options[0], label)

    def text(self, value: str) -> str:
        """Return the word."""
        return value

    def check(self, value: Any) -> str:
        """Return the value."""
        if value not in self.positions:
            raise ValueError(f"{self.label} must be one of {', '.join(self.positions)}")
        return str(value)

    def inputs(self) -> str:
        """Return a drop-down list."""
        options = "".join(f"<option>{escape(option)}</option>" for option in self.positions)
        return (
            f'<label class="cfr-choice"><span>{escape(self.label)}</span>'
            f'<select autocomplete="off">{options}</select></label>'
        )

    def page_data(self) -> dict[str, Any]:
        """Return the data that the page's script needs."""
        return {"kind": "choice", "texts": self.positions}

    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], str]]:
        """Return a drop-down list."""
        import ipywidgets

        menu = ipywidgets.Dropdown(
            options=self.positions, description=self.label, style=STYLE,
            layout={"width": "max-content"},
        )  # fmt: skip
        menu.observe(lambda _: changed(), "value")
        return menu, lambda: str(menu.value)


class Mix(Control):
    """Probabilities of several actions: linked sliders whose values sum to 1.

    Parameters
    ----------
    *names : str
        The actions.
    parts : int
        On a page, every probability is a multiple of 1/parts.
    start : tuple of float, optional
        Position shown first; by default, the first action has probability 1.
    label : str
        By default the name of the parameter.

    Raises
    ------
    ValueError
        If `start` is not a position.

    Examples
    --------
    >>> Mix("rock", "paper", parts=2).positions
    [(0.0, 1.0), (0.5, 0.5), (1.0, 0.0)]
    """

    def __init__(
        self,
        *names: str,
        parts: int = 10,
        start: Sequence[float] | None = None,
        label: str = "",
    ):
        if not names:
            raise ValueError('give the names of the actions, e.g. Mix("rock", "paper")')
        self.names, self.parts = names, whole_number("parts", parts, 1)
        self._counts = list(_compositions(parts, len(names)))
        first = self._counts[-1] if start is None else tuple(round(p * parts) for p in start)
        positions = [tuple(k / parts for k in counts) for counts in self._counts]
        self._set_positions(positions, tuple(k / parts for k in first), label)

    def text(self, value: Sequence[float]) -> str:
        """Return the probabilities in brackets."""
        return f"({', '.join(f'{p:.3g}' for p in value)})"

    def check(self, value: Any) -> tuple[float, ...]:
        """Return the value as a tuple of floats."""
        p = np.array(value, np.float64)
        if p.shape != (len(self.names),) or (p < 0).any() or abs(p.sum() - 1) > 1e-9:
            raise ValueError(
                f"{self.label} must be {len(self.names)} probabilities that sum to 1"
            )
        return tuple(p.tolist())

    def inputs(self) -> str:
        """Return a slider for each action."""
        texts = [f"{k / self.parts:g}" for k in range(self.parts + 1)]
        sliders = "".join(
            _slider(name, self.parts, k, texts[k], texts)
            for name, k in zip(self.names, self._counts[self.start], strict=True)
        )
        label = escape(self.label)
        return f'<fieldset class="cfr-mix"><legend>{label}</legend>{sliders}</fieldset>'

    def page_data(self) -> dict[str, Any]:
        """Return the data that the page's script needs."""
        return {"kind": "mix", "counts": self._counts, "parts": self.parts}

    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], Any]]:
        """Return a slider for each action; moving one rescales the others.

        All values are multiples of the sliders' step: a browser would round any other and send
        it back, which would count as a move of that slider. The others keep the proportion
        that they have before rounding.
        """
        import ipywidgets

        start, units = self.positions[self.start], 10 * self.parts
        sliders = [
            ipywidgets.FloatSlider(
                value=p, max=1, step=1 / units, description=name, style=STYLE, layout=WIDE
            )
            for name, p in zip(self.names, start, strict=True)
        ]
        state: dict[str, Any] = {"exact": start, "value": start, "busy": False}

        def show(exact: tuple[float, ...], n: int = 0) -> None:
            state["exact"], state["value"] = exact, rounded(exact, n, units)
            state["busy"] = True
            for slider, p in zip(sliders, state["value"], strict=True):
                slider.value = p
            state["busy"] = False
            changed()

        def moved(n: int, p: float) -> None:
            if not state["busy"]:
                show(share(state["exact"], n, p), n)

        for n, slider in enumerate(sliders):
            slider.observe(lambda change, n=n: moved(n, change["new"]), "value")
        box = ipywidgets.VBox([ipywidgets.Label(self.label), *sliders])
        box.show = show
        return box, lambda: state["value"]

    def set(self, widget: ipywidgets.Widget, value: Any) -> None:
        """Move all sliders at once."""
        widget.show(self.check(value))


def share(mix: Sequence[float], n: int, p: float) -> tuple[float, ...]:
    """Return `mix` with its n-th part set to p and the others rescaled in proportion.

    Examples
    --------
    >>> share((0.2, 0.4, 0.4), 0, 0.5)
    (0.5, 0.25, 0.25)
    """
    rest = np.array([q for k, q in enumerate(mix) if k != n])
    rest = np.full(len(rest), 1.0) if rest.sum() <= 0 else rest
    rest = (1 - p) * rest / rest.sum()
    values = [float(q) for q in rest]
    return (*values[:n], float(p), *values[n:])


def rounded(mix: Sequence[float], n: int, units: int) -> tuple[float, ...]:
    """Return `mix` in multiples of 1/units that sum to 1; its n-th part is rounded first.

    Examples
    --------
    >>> rounded((0.41, 0.295, 0.295), 0, 100)
    (0.41, 0.3, 0.29)
    """
    exact = units * np.array(mix, np.float64)
    counts = np.floor(exact + 1e-9)
    counts[n] = np.round(exact[n])
    order = [k for k in np.argsort(counts - exact, kind="stable") if k != n]
    counts[order[: round(units - counts.sum())]] += 1
    return tuple((counts / units).tolist())


def _compositions(total: int, parts: int) -> list[tuple[int, ...]]:
    """Return all ways to write `total` as an ordered sum of `parts` numbers ≥ 0."""
    if parts == 1:
        return [(total,)]
    return [
        (k, *rest) for k in range(total + 1) for rest in _compositions(total - k, parts - 1)
    ]


class Walk(Control):
    """A history of a game, chosen action by action.

    Parameters
    ----------
    game : Game
        A small game; every history is a position on the page.
    start : tuple of actions
        The history shown first.
    label : str
        Name shown beside the control.

    Raises
    ------
    GameError
        If the game does not compile.
    ValueError
        If `start` is not a history of the game.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> walk = Walk(cfr.games.RockPaperScissors(), start=("rock",))
    >>> len(walk.positions), walk.text(("rock", "paper"))
    (13, 'rock → paper')
    """

    def __init__(self, game: Game, start: tuple[Action, ...] = (), label: str = "so far"):
        self._tree = compile(game)
        histories = [self._tree.history(k) for k in range(self._tree.num_histories)]
        self._set_positions(histories, tuple(start), label)

    def text(self, value: tuple[Action, ...]) -> str:
        """Return the actions with arrows between them."""
        return " → ".join(map(action_label, value)) or "nothing yet"

    def check(self, value: Any) -> tuple[Action, ...]:
        """Return the value as a tuple."""
        self._tree.find(tuple(value))
        return tuple(value)

    def _next(self, k: int) -> list[tuple[str, int]]:
        """Return the actions at history number k, each with the number of its child."""
        first, count = int(self._tree.first_child[k]), int(self._tree.num_children[k])
        return [(action_label(self._tree.action[c]), c) for c in range(first, first + count)]

    def inputs(self) -> str:
        """Return the container that the page's script fills with buttons."""
        text = self.text(self.positions[self.start])
        return (
            f'<div class="cfr-walk" role="group" aria-label="{escape(self.label)}">'
            f'<p>{escape(self.label)}: <span class="cfr-value">{escape(text)}</span></p>'
            "<div></div></div>"
        )

    def page_data(self) -> dict[str, Any]:
        """Return the data that the page's script needs."""
        return {
            "kind": "walk",
            "texts": [self.text(value) for value in self.positions],
            "next": [self._next(k) for k in range(len(self.positions))],
            "parent": [max(int(k), 0) for k in self._tree.parent],
        }

    def widget(self, changed: Changed) -> tuple[ipywidgets.Widget, Callable[[], Any]]:
        """Return a button for each action, one to go back, and one to start over."""
        import ipywidgets

        heading, buttons = ipywidgets.HTML(), ipywidgets.HBox()
        box = ipywidgets.VBox([heading, buttons])
        state = {"k": self.start}

        def show(k: int) -> None:
            state["k"] = k
            heading.value = escape(f"{self.label}: {self.text(self.positions[k])}")
            back = [("start over", 0), ("back", max(int(self._tree.parent[k]), 0))]
            row = []
            for name, target in (back if k else []) + self._next(k):
                button = ipywidgets.Button(description=name)
                button.on_click(lambda _, target=target: pressed(target))
                row.append(button)
            buttons.children = row

        def pressed(k: int) -> None:
            show(k)
            changed()

        show(self.start)
        box.show = pressed
        return box, lambda: self.positions[state["k"]]

    def set(self, widget: ipywidgets.Widget, value: Any) -> None:
        """Show a history."""
        widget.show(self.positions.index(tuple(value)))
