"""Measure the resources of one student: time and memory of pages, assignments and JupyterLab.

Runs every notebook of the book in a kernel of its own, as "Run all cells" does, then the
assignment made of its exercises, with solutions, which is the work of grading one submission.
Memory is the peak resident size (`VmHWM`) of the kernel and its child processes. JupyterLab's
own memory is measured after it has served its page and one notebook. Prints a table and writes
benchmarks/teaching.json, from which the page "For teachers" is made. Linux only.

    python benchmarks/teaching.py [05_cfr_plus ...]    measure only these, keep the others
"""

import json
import os
import re
import subprocess
import sys
from pathlib import Path
from time import monotonic, sleep
from urllib.request import urlopen

import nbformat
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
RESULTS = Path(__file__).with_name("teaching.json")
TIMEOUT = 900  # seconds per cell
PORT, TOKEN = 18_765, "for-measuring-only"
TICK = os.sysconf("SC_CLK_TCK")

sys.path.insert(0, str(ROOT / "tools"))
from assignments import assignment, pages  # noqa: E402
from run import machine  # noqa: E402


def family(pid):
    """Return a process and its descendants."""
    children = []
    for task in Path(f"/proc/{pid}/task").iterdir():
        children += map(int, (task / "children").read_text().split())
    return [pid, *(p for child in children for p in family(child))]


def resident(pid):
    """Return the peak resident memory of a process, in MB."""
    status = Path(f"/proc/{pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+)", status)[1]) * 1024 / 1e6


def processor(pid):
    """Return the CPU seconds of a process."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICK


def run(nb, folder):
    """Run a notebook; return its seconds, CPU seconds and memory in MB."""
    where = {"metadata": {"path": str(folder)}}
    client = NotebookClient(nb, timeout=TIMEOUT, kernel_name="python3", resources=where)
    began = monotonic()
    with client.setup_kernel():
        for index, cell in enumerate(nb.cells):
            client.execute_cell(cell, index)
        took, processes = monotonic() - began, family(client.km.provisioner.process.pid)
        memory, computing = sum(map(resident, processes)), sum(map(processor, processes))
    return {"seconds": took, "cpu_seconds": computing, "megabytes": memory}


def server():
    """Return the memory of JupyterLab's server, in MB."""
    command = (sys.executable, "-m", "jupyterlab", "--no-browser", "--allow-root")
    options = (f"--ServerApp.port={PORT}", f"--IdentityProvider.token={TOKEN}")
    with subprocess.Popen(
        (*command, *options, f"--notebook-dir={ROOT / 'book'}"), stderr=subprocess.DEVNULL
    ) as process:
        try:
            for path in ("lab", "api/contents/04_vanilla_cfr.ipynb", "lab/api/settings"):
                fetch(f"http://localhost:{PORT}/{path}?token={TOKEN}")
            return sum(map(resident, family(process.pid)))
        finally:
            process.terminate()


def fetch(address, tries=120):
    """Fetch an address, retrying until the server is up."""
    for _ in range(tries):
        try:
            with urlopen(address) as response:
                return response.read()
        except OSError:
            sleep(0.5)
    raise TimeoutError(address)


def main(names):
    subprocess.run((sys.executable, ROOT / "tools" / "warm.py"), check=True, cwd=ROOT)
    results = json.loads(RESULTS.read_text("utf-8")) if RESULTS.exists() else {"pages": {}}
    results |= {"machine": machine(), "load": os.getloadavg()[0], "server_megabytes": server()}
    graded = {path.stem for path in pages()}
    for path in sorted((ROOT / "book").glob("*.ipynb")):
        if names and path.stem not in names:
            continue
        row = {"page": run(nbformat.read(path, as_version=4), path.parent)}
        if path.stem in graded:
            row["assignment"] = run(assignment(path), path.parent)
        results["pages"][path.stem] = row
        for what, found in row.items():
            figures = ", ".join(f"{key} {value:.1f}" for key, value in found.items())
            print(f"{path.stem:30} {what:10} {figures}", flush=True)
        RESULTS.write_text(json.dumps(results, indent=1) + "\n", "utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
