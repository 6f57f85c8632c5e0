"""Runs of all solvers: resumed, copied, interrupted, killed, saved; and rejection of bad files.

Every test here is the same for all solvers. Two runs are compared by the content of their
files, their traces and their best strategies, to the last bit; only times may differ.
"""

import hashlib
import json
import math
import os
import signal
import subprocess
import sys
import textwrap
import tracemalloc
import zipfile
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from every_path import uneven

import cfrlib as cfr
from cfrlib import CFR, MCCFR, RobustSampling, Variant
from cfrlib.core import files
from cfrlib.deep import DeepCFR, DoubleNeural, Training
from cfrlib.games import KuhnPoker, LeducPoker, RockPaperScissors
from cfrlib.last_iterate import Iterates, MirrorDescent, RegretMatching
from cfrlib.montecarlo import mccfr
from cfrlib.run import Run, deferred_interrupt
from koikoi import MiniKoiKoi
from koikoi.learners import DeepMonteCarlo
from koikoi_learners import ESCHER, DeepDiscountedCFR, MMDPolicyGradient, RobustDeepCFR

KUHN, THREE, LEDUC = KuhnPoker(), KuhnPoker(players=3), LeducPoker(merge_suits=True)
RPS, KOI, UNEVEN = RockPaperScissors(3), MiniKoiKoi.K8(), uneven()
DEAL = dict(zip(KUHN.node(()).actions, (0.3, 0.25, 0.2, 0.1, 0.1, 0.05), strict=True))
N = 7  # iterations; all but the fifth are checkpoints


def hedge(R, sigma, r, memory, t):
    R += r
    memory[0] += np.abs(r).sum()
    sigma[:] = np.exp(9 * (R - R.max()) / (1 + memory[0]))
    sigma /= sigma.sum()


class Solver(NamedTuple):
    """The class, game and options of a run."""

    kind: type
    game: cfr.Game
    options: dict

    def run(self, iterations=0):
        run = self.kind(self.game, **self.options)
        return run.run(iterations, progress=False) if iterations else run

    def load(self, path):
        more = {"jobs": 2} if "jobs" in self.options else {}
        if isinstance(self.options.get("variant"), cfr.RegretMinimizer):
            more = {"minimizer": self.options["variant"]}
        return self.kind.load(path, self.game, **more)


ROBUST = RobustSampling(2, 0.5)
SMALL, MINIBATCH = Training((8,), 20), Training((8,), 20, 32)
DEEP = {"traversals": 50, "memory": 300, "seed": 1, "advantage": SMALL, "strategy": SMALL}
KOIKOI = {"hidden": (16,), "rounds": 60, "steps": 4, "batch": 32}
SOLVERS = {
    "cfr": Solver(CFR, RPS, {"variant": "cfr+", "update": "simultaneous", "delay": 2}),
    "cfr-br": Solver(
        CFR, THREE,
        {"variant": Variant("mine", alpha=2, beta=-1.5, gamma=3), "update": "best response"},
    ),
    "rule": Solver(CFR, THREE, {"variant": cfr.RegretMinimizer("Hedge", hedge, 1), "delay": 2}),
    "matching": Solver(
        Iterates, KUHN,
        {"method": RegretMatching(True, 0.5, 0.1, False, "extragradient", 0.1, 2, 0.01)},
    ),
    "mirror": Solver(
        Iterates, RPS,
        {"method": MirrorDescent(0.7, 0.2, "optimistic", 3, True), "weight": 2},
    ),
    "mccfr": Solver(
        MCCFR, KUHN, {"variant": "cfr+", "sampling": "outcome", "baseline": 0.5, "seed": 5}
    ),
    "threads": Solver(
        MCCFR, LEDUC,
        {"sampling": ROBUST, "averaging": "lazy", "batch": 9, "threads": 2, "seed": 5},
    ),
    "jobs on demand": Solver(
        MCCFR, KUHN, {"variant": "linear", "batch": 9, "jobs": 2, "on_demand": True, "seed": 5}
    ),
    "on demand": Solver(
        MCCFR, LEDUC,
        {
            "variant": "dcfr", "sampling": "outcome", "averaging": "lazy", "on_demand": True,
            "seed": 5,
        },
    ),
    "on demand, three players": Solver(
        MCCFR, THREE,
        {"sampling": "external", "batch": 2, "baseline": 0.2, "on_demand": True, "seed": 5},
    ),
    "deep": Solver(DeepCFR, KUHN, DEEP),
    "deep mixture": Solver(
        DeepCFR, KUHN, {**DEEP, "sampling": "outcome", "baseline": 0.3, "average": "mixture"}
    ),
    "deep on demand": Solver(
        DeepCFR, KUHN,
        {**DEEP, "on_demand": True, "advantage": MINIBATCH, "strategy": MINIBATCH},
    ),
    "double": Solver(
        DoubleNeural, KUHN, {"batch": 50, "regret": SMALL, "strategy": SMALL, "seed": 1}
    ),
}  # fmt: skip
LEARNERS = {
    "values": Solver(DeepMonteCarlo, KOI, KOIKOI),
    "policies": Solver(MMDPolicyGradient, KOI, KOIKOI),
    "regrets": Solver(ESCHER, KOI, {**KOIKOI, "memory": 400}),
    "traversals": Solver(RobustDeepCFR, KOI, {**KOIKOI, "memory": 400}),
    "cumulative": Solver(DeepDiscountedCFR, KOI, KOIKOI),
}
ALL_SOLVERS = SOLVERS | LEARNERS
FALLIBLE = ("threads", "jobs on demand", "deep", "deep mixture", "deep on demand", "double")
BASELINE = {"sampling": "outcome", "baseline": 0.5, "batch": 4, "seed": 5}
RECURRENT = Training((8, 8), 20, rate=1e-2, cell="gru", attention=True)
# Further options, which matter only for what files store
OPTIONS = {
    "delay": Solver(MCCFR, LEDUC, {"variant": "dcfr", "batch": 3, "delay": 9, "seed": 5}),
    "discounts": Solver(
        MCCFR, LEDUC,
        {"variant": "linear", "sampling": ROBUST, "averaging": "lazy", "seed": 5},
    ),
    "baseline": Solver(MCCFR, UNEVEN, {**BASELINE, "threads": 2}),
    "baseline on demand": Solver(MCCFR, UNEVEN, {**BASELINE, "on_demand": True}),
    "proposal": Solver(MCCFR, KUHN, {"proposal": DEAL, "on_demand": True, "seed": 5}),
    "three": Solver(MCCFR, THREE, {"sampling": "outcome", "on_demand": True, "seed": 5}),
    "optimistic": Solver(MCCFR, THREE, {"averaging": "optimistic", "seed": 5}),
    "double outcome": Solver(
        DoubleNeural, KUHN,
        {"batch": 50, "regret": SMALL, "strategy": SMALL, "sampling": "outcome",
         "rehearse": 0.5, "seed": 1},
    ),
    "double recurrent": Solver(
        DoubleNeural, KUHN, {"batch": 50, "regret": SMALL, "strategy": RECURRENT, "seed": 1}
    ),
}  # fmt: skip
# Exploitability needs a compiled game.
COMPILED = {name: s for name, s in SOLVERS.items() if "on demand" not in name}


def each(solvers):
    return pytest.mark.parametrize("solver", solvers.values(), ids=list(solvers))


def without(solvers, *names):
    return {name: solver for name, solver in solvers.items() if name not in names}


@pytest.fixture(autouse=True)
def share_small_batches(monkeypatch):
    monkeypatch.setattr(mccfr, "WORTH_SHARING", 0)


@pytest.fixture(autouse=True)
def interruptible():
    """Install Python's SIGINT handler, even if the parent ignores SIGINT (a shell's &)."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    signal.signal(signal.SIGINT, before)


def content(path):
    """Return the header and the arrays of a file, without their digests."""
    with np.load(path, allow_pickle=False) as file:
        arrays = {name: array for name, array in file.items() if name != "digest"}
    header = json.loads(str(arrays.pop("header")))
    return {name: value for name, value in header.items() if name != "arrays"}, arrays


def rewrite(path, header, arrays):
    """Write a file whose digests match its content."""
    listed = {
        name: [array.dtype.str, list(array.shape), hashlib.sha256(array.tobytes()).hexdigest()]
        for name, array in arrays.items()
    }
    text = json.dumps({**header, "arrays": listed})
    digest = hashlib.sha256(text.encode()).hexdigest()
    np.savez(path, header=np.array(text), digest=np.array(digest), **arrays)


def rows(trace):
    """Return the rows of a trace without the times."""
    return np.delete(trace, 2, axis=1).tobytes()


def state(run, folder):
    """Return the state of a run, to the last bit, without times."""
    run.save(folder / "state.npz")
    header, arrays = content(folder / "state.npz")
    header.pop("seconds", None)
    found = {"repr": repr(run)}
    if "trace" in arrays:
        arrays["trace"] = np.delete(arrays["trace"], 2, axis=1)
        found["trace"] = rows(run.trace.rows)
        found["best"] = (
            run._best.exploitability,
            run._best.value,
            run._best.sigma.tobytes(),
        )
    found |= {name: (array.shape, array.tobytes()) for name, array in arrays.items()}
    return found | {name: repr(value) for name, value in header.items()}


def assert_same(one, other, folder):
    mine, theirs = state(one, folder), state(other, folder)
    assert [name for name in theirs if mine.get(name) != theirs[name]] == []
    assert mine.keys() == theirs.keys()


# ---- resuming, saving, copying ---------------------------------------------------------------


@each(ALL_SOLVERS | OPTIONS)
def test_split_run_equals_single_run(solver, tmp_path):
    pieces = solver.run(1).run(4, progress=False).run(N - 5, progress=False)
    assert_same(pieces, solver.run(N), tmp_path)


@each(ALL_SOLVERS | OPTIONS)
@pytest.mark.parametrize("before", [0, 5])
def test_loaded_run_continues_identically(solver, before, tmp_path):
    run, path = solver.run(before), tmp_path / "run.npz"
    run.save(str(path))
    assert list(tmp_path.iterdir()) == [path]
    loaded = solver.load(path)
    assert_same(loaded, run, tmp_path)
    assert getattr(loaded, "seconds", 0.0) == getattr(run, "seconds", 0.0)
    more = N - before
    assert_same(loaded.run(more, progress=False), run.run(more, progress=False), tmp_path)


@each({name: solver for name, solver in SOLVERS.items() if hasattr(solver.kind, "copy")})
def test_copy_is_independent(solver, tmp_path):
    run = solver.run(3)
    before, copied = state(run, tmp_path), run.copy()
    copied.run(N - 3, progress=False)
    assert state(run, tmp_path) == before
    assert_same(copied, run.run(N - 3, progress=False), tmp_path)


@each(COMPILED)
def test_best_strategy_from_an_earlier_iteration_is_saved(solver, tmp_path):
    run, strategy = solver.run(1), cfr.Strategy.values_by_sequence.fget
    for _ in range(60):
        solution = run.run(1, progress=False).solution()
        if solution.best_exploitability < solution.trace.rows[-1, [3, 5]].min():
            break
    best = strategy(solution.best)
    assert not np.array_equal(best, strategy(solution.strategy))
    assert not np.array_equal(best, strategy(solution.current))
    run.save(tmp_path / "run.npz")
    loaded = solver.load(tmp_path / "run.npz").solution()
    assert np.array_equal(strategy(loaded.best), best)
    assert loaded.best_exploitability == solution.best_exploitability
    assert cfr.exploitability(run.game, loaded.best) == loaded.best_exploitability


@each({name: SOLVERS[name] for name in FALLIBLE})
@pytest.mark.parametrize("player", [0, 1])
def test_failed_traversal_is_repeated(solver, player, tmp_path):
    """The second player's traversal may fail after the update from the first player's."""
    run = solver.run(2)
    owner, name = (run._walks, "sample") if isinstance(run, MCCFR) else (run, "_walk")
    whole = getattr(owner, name)

    def failing(t, i, *others):
        if (t, i) == (3, player):
            raise OSError("a worker is lost")
        return whole(t, i, *others)

    setattr(owner, name, failing)
    with pytest.raises(OSError, match="lost"):
        run.run(N - 2, progress=False)
    assert run.iterations == 2
    delattr(owner, name)
    run.save(tmp_path / "run.npz")
    loaded, whole = solver.load(tmp_path / "run.npz"), solver.run(N)
    for again in (run, loaded):
        assert_same(again.run(N - 2, progress=False), whole, tmp_path)


# ---- interrupts ------------------------------------------------------------------------------


def press_ctrl_c():
    signal.raise_signal(signal.SIGINT)


def interrupted(run, moment, heard):
    """Make a run receive Ctrl-C once per iteration, at the given moment."""
    name = {"at a checkpoint": "_row"}.get(moment, "_advance")
    if not isinstance(run, Run):
        name = "_iterate"
    done = getattr(run, name)

    def interrupting(*arguments):
        t, late = run.iterations, moment == "at the end"
        found = done(*arguments) if late else None
        if t not in heard:
            heard.add(t)
            press_ctrl_c()
        return found if late else done(*arguments)

    setattr(run, name, interrupting)
    return run


@each(ALL_SOLVERS)
@pytest.mark.parametrize("moment", ["at the start", "at the end", "at a checkpoint"])
@pytest.mark.parametrize("through_a_file", [False, True])
def test_run_interrupted_in_every_iteration_is_unchanged(
    solver, moment, through_a_file, tmp_path
):
    heard, presses = set(), 0
    run = interrupted(solver.run(), moment, heard)
    while run.iterations < N:
        try:
            run.run(N - run.iterations, progress=False)
        except KeyboardInterrupt:
            presses += 1
            if through_a_file:
                for name in ("_advance", "_iterate", "_row"):
                    vars(run).pop(name, None)
                run.save(tmp_path / "run.npz")
                run = interrupted(solver.load(tmp_path / "run.npz"), moment, heard)
    assert presses == len(heard) >= N - 1
    for name in ("_advance", "_iterate", "_row"):
        vars(run).pop(name, None)
    run.run(1, progress=False)
    assert_same(run, solver.run(N + 1), tmp_path)


@pytest.mark.slow
def test_interrupt_waits_for_compiled_code(tmp_path):
    """A long run calls kernels for growing chunks; an interrupt never splits an iteration."""
    run = SOLVERS["cfr"].run(1)
    row = run._row

    def late(*arguments):
        if run.iterations > 1_000:
            press_ctrl_c()
        return row(*arguments)

    run._row = late
    with pytest.raises(KeyboardInterrupt):
        run.run(10**9, progress=False)
    del run._row
    done = run.iterations
    assert 1_000 < done < 10**9
    assert_same(run.run(1), SOLVERS["cfr"].run(done + 1), tmp_path)


@pytest.mark.slow
def test_error_after_ctrl_c_becomes_cause_of_keyboard_interrupt():
    with pytest.raises(KeyboardInterrupt) as raised, deferred_interrupt() as heard:
        press_ctrl_c()
        assert heard
        raise OSError("a worker was interrupted as well")
    assert isinstance(raised.value.__cause__, OSError)
    with pytest.raises(OSError, match="disk"), deferred_interrupt():
        raise OSError("disk")


@pytest.mark.slow
def test_ctrl_c_during_handler_installation_is_kept(monkeypatch):
    real = signal.signal

    def slowly(number, handler):
        before = real(number, handler)
        monkeypatch.setattr(signal, "signal", real)
        press_ctrl_c()
        return before

    monkeypatch.setattr(signal, "signal", slowly)
    with pytest.raises(KeyboardInterrupt), deferred_interrupt() as heard:
        assert heard
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.slow
def test_ignored_ctrl_c_stays_ignored():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with deferred_interrupt() as heard:
            press_ctrl_c()
        assert not heard
        assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


HERE = Path(__file__).parent
FOLDERS = [str(HERE / above) for above in (".", "../support", "../../experiments", "../..")]
HEAD = f"""
    import sys
    sys.path[:0] = {FOLDERS!r}
    import cfrlib as cfr
"""


def child(program, **options):
    """Start a Python program that reports on its standard output."""
    program = textwrap.dedent(HEAD) + textwrap.dedent(program)
    return subprocess.Popen(
        [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, **options
    )


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "killpg"), reason="this system has no process groups")
def test_ctrl_c_to_the_process_group_raises_keyboard_interrupt():
    """A terminal interrupts the workers as well, and joblib then reports a crashed worker."""
    program = """
        import signal
        signal.signal(signal.SIGINT, signal.default_int_handler)
        game = cfr.games.LiarsDice(4)
        options = {"batch": 40_000, "on_demand": True, "seed": 0}
        run = cfr.MCCFR(game, jobs=2, **options).run(1, progress=False)
        for _ in range(3):
            try:
                print("running", flush=True)
                run.run(10**6, progress=False)
            except KeyboardInterrupt:
                print("interrupted", flush=True)
        run.run(2, progress=False)
        alone = cfr.MCCFR(game, threads=1, **options).run(run.iterations, progress=False)
        print(run.average == alone.average and run.nodes == alone.nodes, flush=True)
    """
    with child(program, start_new_session=True) as process:
        lines = []
        for line in process.stdout:
            lines.append(line.strip())
            if lines[-1] == "running":
                os.killpg(process.pid, signal.SIGINT)
    assert lines == ["running", "interrupted"] * 3 + ["True"]
    assert process.returncode == 0


# ---- until -----------------------------------------------------------------------------------


@pytest.mark.slow
@each(COMPILED)
def test_until_is_exact(solver):
    """A run stops at an exploitability that it reaches, and not at the next smaller float."""
    column = "current" if solver.kind is Iterates else "exploitability"
    run, found = solver.run(), []
    for _ in range(N):
        found.append(float(getattr(run.run(1, progress=False).trace, column)[-1]))
    least = min(found)
    after = found.index(least) + 1
    reached = solver.run().run(20, until=least, progress=False)
    assert reached.iterations == after
    assert getattr(reached.trace, column)[-1] == least
    below = math.nextafter(least, 0)
    with pytest.warns(RuntimeWarning, match=f"not reached in {after} iterations"):
        missed = solver.run().run(after, until=below, progress=False)
    assert missed.iterations == after


@pytest.mark.slow
@each(without(SOLVERS, *COMPILED))
def test_until_needs_exploitability(solver):
    with pytest.raises(ValueError, match=r"until=0\.1 asks for exploitability"):
        solver.run().run(until=0.1)


# ---- interrupted saves -----------------------------------------------------------------------


@pytest.mark.slow
def test_save_removes_leftovers_of_killed_saves(tmp_path):
    path, run = tmp_path / "run.npz", SOLVERS["cfr"].run(1)
    program = f"""
        from cfrlib.core.files import replacing
        with replacing({str(path)!r}) as file:
            file.write(b"half a file")
            file.flush()
            print("writing", flush=True)
            input()
    """
    for name in ("run.npz.notes.part", "other.npz.1.part", "run.npz.1.part.txt"):
        (tmp_path / name).write_text("not ours")
    with child(program, stdin=subprocess.PIPE) as process:
        process.stdout.readline()
        part = tmp_path / f"run.npz.{process.pid}.part"
        run.save(path)
        assert part.exists()  # its process is still alive
        process.kill()
        process.wait()
        assert part.exists()
        run.save(path)
        assert not part.exists()
    assert len(list(tmp_path.iterdir())) == 4
    solver = SOLVERS["cfr"]
    assert_same(solver.load(path), run, tmp_path)


@pytest.mark.slow
@pytest.mark.skipif(os.name == "nt", reason="Windows cannot replace a file that is open")
def test_concurrent_saves_to_one_path_are_atomic(tmp_path):
    path = tmp_path / "run.npz"
    program = f"""
        from test_runs import SOLVERS
        run = SOLVERS["cfr"].run(3)
        for _ in range(300):
            run.save({str(path)!r})
        print("saved", flush=True)
    """
    children = [child(program) for _ in range(2)]
    for process in children:
        assert process.communicate()[0] == "saved\n"
    assert list(tmp_path.iterdir()) == [path]
    assert SOLVERS["cfr"].load(path).iterations == 3


@pytest.mark.slow
@each(ALL_SOLVERS)
def test_save_on_full_disk_keeps_the_previous_file(solver, tmp_path, monkeypatch):
    run, path = solver.run(1), tmp_path / "run.npz"
    run.save(path)
    before = path.read_bytes()

    def full(file, **arrays):
        file.write(b"half of it")
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "savez", full)
    with pytest.raises(OSError, match="No space"):
        run.run(1, progress=False).save(path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["on demand", "deep"])
def test_killed_run_resumes_identically(name, tmp_path):
    """Kill the process during an iteration or a save, after the second save."""
    path = tmp_path / "run.npz"
    program = f"""
        from test_runs import SOLVERS
        run = SOLVERS[{name!r}].run()
        while True:
            run.run(1, progress=False)
            run.save({str(path)!r})
            print(run.iterations, flush=True)
    """
    with child(program) as process:
        for line in process.stdout:
            if int(line) == 2:
                break
        process.kill()
    run = SOLVERS[name].load(path)
    done = run.iterations
    assert done >= 2
    assert_same(run.run(1, progress=False), SOLVERS[name].run(done + 1), tmp_path)


# ---- invalid files ---------------------------------------------------------------------------

NOT_OURS = r"is not a complete file written by \w+\.save \("


def rejection(solver, path):
    """Load an invalid file; return "" if the error is a proper one, else what went wrong."""
    try:
        solver.load(path)
    except ValueError as error:
        text = str(error).replace(str(path), "")
        return "" if type(error) in (ValueError, files.Mismatch) and len(text) < 800 else text
    except Exception as error:
        return repr(error)
    return "accepted"


def places(value, at=()):
    """Yield the paths of a header's fields; of lists, only the first two items."""
    if at:
        yield at
    if isinstance(value, dict):
        for name in value:
            yield from places(value[name], (*at, name))
    elif isinstance(value, list):
        for n in range(min(len(value), 2)):
            yield from places(value[n], (*at, n))


@pytest.mark.slow
@each(ALL_SOLVERS)
def test_load_refuses_a_file_that_was_edited(solver, tmp_path):
    """Every field of the header and every array is covered by a digest."""
    path, found = tmp_path / "run.npz", []
    solver.run(3).save(path)
    with np.load(path) as file:
        members = dict(file)
    header = json.loads(str(members["header"]))

    def attempt(what, members):
        np.savez(path, **members)
        if wrong := rejection(solver, path):
            found.append((what, wrong))

    for *above, name in places(header):
        edited = json.loads(str(members["header"]))
        inner = edited
        for step in above:
            inner = inner[step]
        inner[name] = "edited"
        attempt((*above, name), {**members, "header": np.array(json.dumps(edited))})
    for name, array in members.items():
        attempt(("without", name), {n: a for n, a in members.items() if n != name})
        if array.size and array.dtype.kind != "U":
            edited = bytearray(array.tobytes())
            edited[-1] ^= 1
            other = np.frombuffer(bytes(edited), array.dtype).reshape(array.shape)
            attempt(("edited", name), {**members, name: other})
    assert not found, "\n".join(map(str, found))


OF_ANY_LENGTH = {"recent_target", "recent_weight", "lengths"}  # of Koi-Koi's learners


@pytest.mark.slow
@each(ALL_SOLVERS)
def test_load_refuses_arrays_that_no_such_run_has(solver, tmp_path):
    """Compiled code indexes without checks, so dtypes and shapes must be those of the run."""
    path, found = tmp_path / "run.npz", []
    solver.run(3).save(path)
    header, arrays = content(path)

    def attempt(what, arrays):
        rewrite(path, header, arrays)
        if wrong := rejection(solver, path):
            found.append((what, wrong))

    for name, array in arrays.items():
        attempt((name, "missing"), {n: a for n, a in arrays.items() if n != name})
        attempt((name, "text"), {**arrays, name: np.full(array.shape, "x")})
        if name not in OF_ANY_LENGTH:
            attempt((name, "flat"), {**arrays, name: np.zeros(array.size + 1, array.dtype)})
        attempt((name, "a number"), {**arrays, name: np.array(0, array.dtype)})
        attempt((name, "complex"), {**arrays, name: array.astype(np.complex128)})
    attempt("another", {**arrays, "another": np.zeros(3)})
    rewrite(path, header, arrays)
    assert solver.load(path).iterations == 3
    assert not found, "\n".join(map(str, found))


@pytest.mark.slow
@each(without(ALL_SOLVERS, *LEARNERS))
def test_load_refuses_options_that_no_run_has(solver, tmp_path):
    """The class checks them, as it checks those of a caller."""
    path = tmp_path / "run.npz"
    solver.run(1).save(path)
    header, arrays = content(path)
    for name, value in {"delay": -1, "batch": 0, "sampling": ["x", {}], "another": 1}.items():
        if name in header["options"] or name == "another":
            rewrite(path, {**header, "options": {**header["options"], name: value}}, arrays)
            assert rejection(solver, path) == "", name


@pytest.mark.slow
def test_load_refuses_invalid_parents_of_infosets(tmp_path):
    """Compiled code would index outside the arrays and crash the interpreter."""
    solver, path = SOLVERS["on demand"], tmp_path / "run.npz"
    solver.run(3).save(path)
    header, arrays = content(path)
    parents = arrays["parents"]
    sequences = len(arrays["table.regret"])
    for n, parent in [(0, 10**9), (1, -1), (0, sequences - 1), (2, sequences)]:
        changed = parents.copy()
        changed[n] = parent
        rewrite(path, header, {**arrays, "parents": changed})
        assert rejection(solver, path) == "", parent
    owners = zip(parents, header["infosets"], strict=True)
    other = np.array([1 - player if p < 2 else p for p, (player, *_) in owners], np.int32)
    rewrite(path, header, {**arrays, "parents": other})
    assert rejection(solver, path) == ""  # the sequences of the other player
    infosets = [header["infosets"][0], *header["infosets"][:1], *header["infosets"][2:]]
    rewrite(path, {**header, "infosets": infosets}, arrays)
    assert rejection(solver, path) == ""


def assert_rejected_unread(solver, path):
    """Check that a file is rejected, using less memory than its content would take."""
    tracemalloc.start()
    wrong = rejection(solver, path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert wrong == ""
    assert peak < 8_000_000


@pytest.mark.slow
@each(without(ALL_SOLVERS, "threads", "policies", "traversals"))
def test_load_checks_sizes_before_reading_arrays(solver, tmp_path):
    path = tmp_path / "run.npz"
    solver.run(1).save(path)
    header, arrays = content(path)
    name = min(name for name, array in arrays.items() if name != "trace")
    rewrite(path, header, {**arrays, name: np.zeros(4_000_000, arrays[name].dtype)})
    assert_rejected_unread(solver, path)
    with np.load(path) as file:
        members = dict(file)
    np.savez_compressed(path, **members)
    assert_rejected_unread(solver, path)


@pytest.mark.slow
def test_load_refuses_array_longer_than_its_file(tmp_path):
    solver, path = SOLVERS["cfr"], tmp_path / "run.npz"
    solver.run(1).save(path)
    with zipfile.ZipFile(path) as file:
        members = {name: file.read(name) for name in file.namelist()}
    claim = (
        members["trace.npy"]
        .replace(b"(1, 6), }      ", b"(10**9, 6), }  ")
        .replace(b"(1, 6), }          ", b"(1000000000, 6), } ")
    )
    assert claim != members["trace.npy"]
    with zipfile.ZipFile(path, "w") as file:
        for name, data in (members | {"trace.npy": claim}).items():
            file.writestr(name, data)
    assert rejection(solver, path) == ""


@pytest.mark.slow
@each(ALL_SOLVERS)
def test_load_refuses_files_of_other_games_and_solvers(solver, tmp_path):
    path = tmp_path / "run.npz"
    solver.run(1).save(path)
    other = MiniKoiKoi.K9() if solver.game is KOI else KuhnPoker(4)
    with pytest.raises(ValueError, match=r"was saved for .*, not for .* load it with"):
        solver.kind.load(path, other)
    for one in {s.kind: s for s in ALL_SOLVERS.values()}.values():
        if one.kind is not solver.kind and (one.game is KOI) == (solver.game is KOI):
            with pytest.raises(ValueError, match=NOT_OURS + "format"):
                one.kind.load(path, solver.game)
    whole = path.read_bytes()
    every = max(97, len(whole) // 40)
    for length in {0, 1, 4, 100, *range(0, len(whole), every), len(whole) - 1}:
        path.write_bytes(whole[:length])
        with pytest.raises(ValueError, match=NOT_OURS):
            solver.load(path)
    path.unlink()
    with pytest.raises(FileNotFoundError):
        solver.load(path)
    with pytest.raises(FileNotFoundError):
        solver.run().save(tmp_path / "nowhere" / "run.npz")
