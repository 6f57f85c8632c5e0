"""A notice for users at a terminal: the first call is slow because Numba is compiling.

Numba caches compiled kernels on disk, so each kernel is compiled only once per machine. The
notice is printed only if standard error is a terminal; a notebook shows by itself that a cell
is running.
"""

from __future__ import annotations

import sys

from numba.core import event as events

from cfrlib.core.jit import PACKAGES

NOTICE = (
    "cfrlib: compiling kernels for this processor; the result is kept, so this happens only "
    "once and takes up to a minute."
)


class Notice(events.Listener):
    """Prints one line when the first kernel of this package is compiled."""

    def __init__(self) -> None:
        self.printed = False

    def on_start(self, event: events.Event) -> None:
        """Print the notice once."""
        dispatcher = event.data["dispatcher"]
        module = dispatcher.py_func.__module__
        terminal = sys.stderr is not None and sys.stderr.isatty()
        kept = dispatcher._cache.cache_path  # None if no folder can be written to
        if terminal and kept and not self.printed and module.partition(".")[0] in PACKAGES:
            self.printed = True
            print(NOTICE, file=sys.stderr, flush=True)

    def on_end(self, event: events.Event) -> None:
        """Do nothing; Numba requires the method."""


def announce() -> None:
    """Print the notice at the first compilation in this process."""
    events.register("numba:compile", Notice())  # type: ignore[no-untyped-call]
