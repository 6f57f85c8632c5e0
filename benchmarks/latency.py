"""Time every explorable of the book under a kernel: from a slider event to the new figure.

Each control of each explorable gets random events through `set_state`, the method that a
browser's message calls. The time ends when the callback has put the new picture into the
widget. Prints a table and writes benchmarks/latency.json. `make bench` runs it after run.py.
"""

import json
import sys
from pathlib import Path
from time import perf_counter

import numpy as np
from run import ROOT, machine, show

sys.path.insert(0, str(ROOT / "tests" / "support"))
from explorables import PAGES, explorables

from cfrbook import explore

EVENTS = 60  # for each control
REACH = 150  # milliseconds, for 95 % of events
RESULTS = Path(__file__).with_name("latency.json")


def random_move(control, widget, rng):
    """Move a widget as a reader might, to any value, not only to those drawn for the page."""
    if isinstance(control, explore.Linear | explore.Log):
        low, high = widget.min, widget.max
        value = rng.uniform(low, high)
        widget.set_state({"value": 10**value if isinstance(control, explore.Log) else value})
    elif isinstance(control, explore.Mix):
        slider = widget.children[1 + rng.integers(len(control.names))]
        slider.set_state({"value": rng.uniform()})
    elif isinstance(control, explore.Seed):
        widget.set_state({"value": int(rng.integers(1_000_000))})
    elif isinstance(control, explore.Choice):
        widget.set_state({"index": (widget.index + 1) % len(control.positions)})
    else:
        control.set(widget, control.positions[rng.integers(len(control.positions))])


def latencies(each, rng):
    """Return the milliseconds of each control's events, including the first after display."""
    live, taken = each.widget(), {}
    for name, control in each.controls.items():
        taken[name] = []
        for _ in range(EVENTS):
            before = live.stage.value
            began = perf_counter()
            random_move(control, live.parts[name], rng)
            took = perf_counter() - began
            if live.stage.value != before:  # an event may leave a mix unchanged
                taken[name].append(took * 1e3)
        assert "<svg" in live.stage.value
    return taken


def main():
    where, rng, rows, samples = machine(), np.random.default_rng(0), [], {}
    for page in PAGES:
        for n, each in enumerate(explorables(page)):
            taken = latencies(each, rng)
            samples[f"{page.stem} {n}"] = taken
            every = np.concatenate(list(taken.values()))
            p50, p95 = np.percentile(every, [50, 95])
            reached = "yes" if p95 <= REACH else "NO"
            times = (f"{p50:.0f} ms", f"{p95:.0f} ms", f"{len(every)}", f"<= {REACH} ms")
            rows.append((f"{page.stem}: {', '.join(taken)}", *times, reached))
    show(rows, ("explorable: controls", "median", "95 of 100", "events", "reach", "reached"))
    result = {"machine": where, "table": rows, "milliseconds": samples}
    RESULTS.write_text(json.dumps(result, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
