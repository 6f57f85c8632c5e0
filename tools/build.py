"""Build the HTML book: run the pages whose code has changed, then let Jupyter Book write them.

    python tools/build.py

The build runs as many pages at a time as there are processors, in the order of the book, which
ends with short pages, and prints a line for each finished page. Outputs go into the book's
cache of executed notebooks, where Jupyter Book finds them. A build that is stopped, or that
fails, keeps the pages that have run.

Only changed pages are rewritten, unless a change shows on other pages: a title, a label, the
glossary, the bibliography or the configuration. Then all pages are.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any

import yaml

# Jupyter's packages are imported inside functions: a build with nothing to do finishes sooner
# than the imports would.
if TYPE_CHECKING:
    from jupyter_cache.base import JupyterCacheAbstract


ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "book" / "_ext"))
from repository import git  # noqa: E402
from unsolved import KEPT, key_of  # noqa: E402

OUT = ROOT / "_build"
CACHE, DOCTREES = OUT / ".jupyter_cache", OUT / ".doctrees"
RUN_WITH, WRITTEN_FROM = OUT / ".run-with", OUT / ".written-from"  # digests
# Files a notebook may import or load: a change here runs all notebooks again.
LOADED = ("requirements.txt", "cfrlib", "cfrbook", "koikoi", "experiments", "benchmarks")
# The lines of a page that other pages may show: headings, labels and numbered blocks
SEEN_ELSEWHERE = re.compile(r"^(?:#+ .*|\([\w-]+\)=|[`:]{3,}\{.*)$", re.MULTILINE)
SHARED = ("_config.yml", "_toc.yml", "book/glossary.md", "book/references.bib")
SHARED += ("book/_ext", "book/_static", "book/_vendor")
SETTINGS = ("CFR_BOOK_REPOSITORY", "CFR_BOOK_BRANCH", "CFR_BOOK_URL")
SETTINGS += ("CFR_BOOK_PYTHON",)
# A page draws for a reader without a kernel, and no progress bars: whether a run takes so long
# that it shows one depends on the machine.
AS_PAGE = {"CFRLIB_PAGE": "1", "TQDM_DISABLE": "1"}


class Failed(Exception):
    """An error whose message is shown to the user without a traceback."""


# ---- code -----------------------------------------------------------------------------------


def pages() -> Iterator[Path]:
    """Yield the files of the table of contents."""

    def names(part: dict[str, Any]) -> Iterator[str]:
        yield from (part[key] for key in ("root", "file") if key in part)
        for key in ("parts", "chapters", "sections"):
            for below in part.get(key, ()):
                yield from names(below)

    for name in names(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))):
        found = (ROOT / f"{name}{ending}" for ending in (".ipynb", ".md"))
        yield from (path for path in found if path.exists())  # Jupyter Book names the others


def digest(*names: str) -> str:
    """Return a digest of files, and of all files in folders."""
    found = hashlib.sha256()
    for name in names:
        below = sorted((ROOT / name).rglob("*")) or [ROOT / name]
        for path in below:
            if path.is_file() and "__pycache__" not in path.parts:
                found.update(str(path.relative_to(ROOT)).encode() + path.read_bytes())
    return found.hexdigest()


def cache() -> JupyterCacheAbstract:
    """Return the book's cache of executed notebooks."""
    from jupyter_cache import get_cache

    return get_cache(CACHE)


def forget_outdated() -> None:
    """Empty the cache if the files in LOADED have changed since its notebooks ran."""
    now = digest(*LOADED)
    if not RUN_WITH.exists() or RUN_WITH.read_text() != now:
        shutil.rmtree(CACHE, ignore_errors=True)
        OUT.mkdir(exist_ok=True)
        RUN_WITH.write_text(now)


def read(path: Path) -> Any:
    """Return a page as the notebook that Jupyter Book runs; None if it has no code."""
    import nbformat
    from myst_nb.core.read import is_myst_markdown_notebook, read_myst_markdown_notebook

    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    text = path.read_text("utf-8")
    return read_myst_markdown_notebook(text) if is_myst_markdown_notebook(text) else None


def waiting(paths: Iterable[Path]) -> list[Path]:
    """Return the pages whose code is not in the cache."""

    def known(nb: Any) -> bool:
        try:
            return bool(cache().match_cache_notebook(nb))
        except KeyError:
            return False

    found = ((path, read(path)) for path in paths)
    return [path for path, nb in found if nb and not known(nb)]


def prepare() -> None:
    """Move a worker into a session of its own, out of reach of Ctrl-C.

    Ignoring the signal would not help: nbclient installs its own handlers.
    """
    if hasattr(os, "setsid"):
        os.setsid()


def run(path: Path) -> tuple[Any, float]:
    """Run the code of a page; return the notebook and the seconds it took."""
    import notebooks

    nb, began = read(path), time.monotonic()
    notebooks.execute(nb, path.parent)
    return nb, time.monotonic() - began


def run_all(paths: list[Path]) -> None:
    """Run pages in parallel, cache their outputs, and print a line for each finished page."""
    import psutil
    from jupyter_cache.base import CacheBundleIn
    from nbclient.exceptions import CellExecutionError

    workers = min(os.cpu_count() or 1, len(paths))
    print(f"Running the code of pages: {len(paths)}, {workers} at a time.", flush=True)
    pool, failures = ProcessPoolExecutor(workers, initializer=prepare), []
    try:
        jobs = {pool.submit(run, path): path for path in paths}
        for done, job in enumerate(as_completed(jobs), start=1):
            path = jobs[job]
            try:
                nb, took = job.result()
            except CellExecutionError as error:
                failures.append(f"{path.relative_to(ROOT)}: a cell failed\n{error}")
                outcome = "failed"
            else:
                bundle = CacheBundleIn(nb, str(path), data={"execution_seconds": took})
                cache().cache_notebook_bundle(bundle, check_validity=False, overwrite=True)
                (DOCTREES / path.relative_to(ROOT).with_suffix(".doctree")).unlink(
                    missing_ok=True
                )
                outcome = f"{took:4.0f} s"
            left = len(paths) - done
            print(f"  {path.stem:32} {outcome:>8}  {left:2} left", flush=True)
    except KeyboardInterrupt:
        for process in psutil.Process().children(recursive=True):  # workers and kernels
            process.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
    if failures:
        raise Failed("\n".join(failures))


# ---- pages -----------------------------------------------------------------------------------


def shared(paths: Iterable[Path]) -> str:
    """Return a digest of all content that shows on pages other than its own."""
    found = hashlib.sha256(digest(*SHARED).encode())
    for path in paths:
        text = path.read_text("utf-8")
        if path.suffix == ".ipynb":
            cells = json.loads(text)["cells"]
            words = ["".join(c["source"]) for c in cells if c["cell_type"] == "markdown"]
            text = "\n".join(words)
        found.update("\n".join([path.name, *SEEN_ELSEWHERE.findall(text)]).encode())
    settings = [os.environ.get(name) for name in SETTINGS]
    settings += [
        key_of(OUT),
        git(ROOT, "remote", "get-url", "origin"),
        git(ROOT, "branch", "--show-current"),
    ]
    found.update(repr(settings).encode())
    return found.hexdigest()


def inputs(paths: Iterable[Path]) -> list[str]:
    """Return two digests of the pages' sources: of the shared parts, and of everything."""
    return [shared(paths), digest(*LOADED, "book")]


def write(now: list[str]) -> None:
    """Let Jupyter Book write the changed pages, or all pages if a shared part has changed."""
    then = WRITTEN_FROM.read_text().split() if WRITTEN_FROM.exists() else []
    if now[:1] != then[:1]:
        for folder in (DOCTREES, OUT / "html"):
            shutil.rmtree(folder, ignore_errors=True)
    WRITTEN_FROM.unlink(missing_ok=True)
    print("Writing the pages.", flush=True)
    tool = Path(sys.executable).with_name("jupyter-book")
    command = [tool, "build", ROOT, "--quiet", "-W", "--keep-going"]
    process = subprocess.Popen(command, start_new_session=True)
    try:
        code = process.wait()
    except KeyboardInterrupt:
        process.kill()
        process.wait()
        raise
    if code:  # no digest is kept, so the next build reads every page and repeats all warnings
        raise Failed("Jupyter Book could not write the pages; see above.")
    WRITTEN_FROM.write_text("\n".join(now))


def main() -> int:
    """Run the command line."""
    form = argparse.RawDescriptionHelpFormatter
    argparse.ArgumentParser(description=__doc__, formatter_class=form).parse_args()
    try:
        hidden = bool(key_of(OUT))
    except ValueError as wrong:
        print(wrong, file=sys.stderr)
        return 1
    began, paths = time.monotonic(), list(pages())
    for stop in (signal.SIGINT, signal.SIGTERM):
        signal.signal(stop, signal.default_int_handler)
    os.environ |= {**AS_PAGE, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    try:
        forget_outdated()
        now = inputs(paths)
        if not WRITTEN_FROM.exists() or WRITTEN_FROM.read_text().split() != now:
            if stale := waiting(paths):
                run_all(stale)
            write(now)
    except Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nStopped. Pages that have run are kept; the next build continues from here.")
        return 130
    if hidden:
        print(
            "The solutions are hidden until `CFR_BOOK_SOLUTIONS=open make book`; "
            f"the key is in {OUT / KEPT}."
        )
    took = time.monotonic() - began
    print(f"The book is ready after {took:.0f} s: {(OUT / 'html/index.html').as_uri()}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
