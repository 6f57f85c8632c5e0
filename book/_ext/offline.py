"""Let a site that is served over https be read without a network later.

A first visit registers a service worker, which fetches the other pages, about
6 MB as servers compress them. It asks the network first, so no page is stale.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from sphinx.application import Sphinx

NAME = "offline.js"
# What pages need: no sources of the notebooks, and Python only where it runs
KINDS = {".html", ".css", ".js", ".svg", ".woff", ".woff2", ".json", ".txt"}
REGISTER = f"""addEventListener("load", () => {{
  if (location.protocol !== "https:") return;
  const root = document.documentElement.dataset.content_root;
  navigator.serviceWorker?.register(`${{root}}{NAME}`);
}});"""


def write_worker(app: Sphinx, exception: Exception | None) -> None:
    """Write the worker into the site's root, with the list of its files."""
    if exception or app.builder.format != "html":
        return
    out, files, found = Path(app.outdir), [], hashlib.sha256()
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        folder = name.partition("/")[0]
        later = folder == "_sources" or "_static/cells" in name
        if path.suffix in KINDS and not later and name != NAME:
            files.append(name)
            found.update(name.encode() + path.read_bytes())
    text = Path(__file__).with_suffix(".js").read_text("utf-8")
    text = text.replace("FINGERPRINT", found.hexdigest()[:16])
    text = text.replace("FILES = []", f"FILES = {json.dumps(files)}")
    (out / NAME).write_text(text, "utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx; other extensions have written their files."""
    app.add_js_file(None, body=REGISTER)
    app.connect("build-finished", write_worker, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
