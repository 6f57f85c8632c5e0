"""Tell a user at a terminal why the first call takes so long: Numba is compiling.

Compiled kernels are kept in a cache, so each of them is compiled only once on a machine. A
notebook shows that a cell is running, so nothing is printed there, nor where standard error is
not a terminal.
"""

from __future__ import annotations

import sys

from numba.core import event as events

NOTICE = (
    "cfrlib: compiling kernels for this processor; the result is kept, so this happens only "
    "once and takes up to a minute."
)


class Notice(events.Listener):
    """Prints one line when the first kernel of this package has to be compiled."""

    def __init__(self) -> None:
        self.printed = False

    def on_start(self, event: events.Event) -> None:
        """Print the line, unless it was printed before."""
        module = event.data["dispatcher"].py_func.__module__
        terminal = sys.stderr is not None and sys.stderr.isatty()
        if terminal and not self.printed and module.split(".")[0] == "cfrlib":
            self.printed = True
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, event: events.Event) -> None:
        """Print nothing."""


def announce() -> None:
    """From now on, announce the first compilation of this process."""
    events.register("numba:compile", Notice())  # type: ignore[no-untyped-call]
