"""Explorables: a drawing with controls, alive in a notebook and on a page without a kernel.

You give one function that draws and a control for each of its parameters::

    def draw(iterations):
        run = film.at(iterations)
        return explore.Frame(figure, alt="...", numbers={"exploitability": ...})

    explore.Explorable(draw, caption="...", iterations=explore.Log(1, 1_000_000))

Under a kernel this shows ipywidgets, and every movement draws anew, at any value. In a page of
the book it shows the same controls as plain HTML inputs over frames drawn when the book was
built, at the controls' `positions`. Both show what `Explorable.frame_html` returns.
"""

from cfrlib.explore.controls import Choice, Linear, Log, Mix, Seed, Walk
from cfrlib.explore.explorable import Explorable, Frame
from cfrlib.explore.rewind import Rewind

__all__ = ["Choice", "Explorable", "Frame", "Linear", "Log", "Mix", "Rewind", "Seed", "Walk"]
