"""Explorables: figures with controls, interactive in notebooks and on static pages.

Pass a function that draws, and a control for each of its parameters::

    def draw(iterations):
        run = film.at(iterations)
        return explore.Frame(figure, alt="...", numbers={"exploitability": ...})

    explore.Explorable(draw, caption="...", iterations=explore.Log(1, 1_000_000))

With a kernel, this shows ipywidgets and redraws on every change, at any value. On a page of
the book, the same controls are plain HTML inputs, and the frames at their `positions` were
drawn when the book was built. Both display what `Explorable.frame_html` returns.

`Program` is a program with holes that readers fill, and that runs on the page. `Rounds` is a
matrix game that readers play there.
"""

from cfrlib.core.extras import require

require("cfrbook.explore", "plot", "matplotlib")

from cfrbook.explore.controls import Choice, Linear, Log, Mix, Seed, Walk
from cfrbook.explore.explorable import Explorable, Frame, about
from cfrbook.explore.program import Program
from cfrbook.explore.rewind import Rewind
from cfrbook.explore.rounds import Rounds

__all__ = [
    "Choice",
    "Explorable",
    "Frame",
    "Linear",
    "Log",
    "Mix",
    "Program",
    "Rewind",
    "Rounds",
    "Seed",
    "Walk",
    "about",
]
