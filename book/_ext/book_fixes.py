"""Small repairs to the pages that Jupyter Book 1 writes."""

from __future__ import annotations

import os
from typing import Any

from sphinx.application import Sphinx


def drop_repeated_scripts(
    app: Sphinx,
    page: str,
    template: str,
    context: dict[str, Any],
    doctree: object,
) -> None:
    """Emit every inline script once.

    sphinx-thebe adds ``const THEBE_JS_URL = ...`` twice, and a browser
    reports the second declaration as an error on every page.
    """
    seen: set[str] = set()
    kept = []
    for script in context.get("script_files", []):
        body = getattr(script, "attributes", {}).get("body")
        if body is None or body not in seen:
            kept.append(script)
        seen.add(body or "")
    context["script_files"] = kept


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the repairs with Sphinx."""
    os.environ["CFRLIB_PAGE"] = (
        "1"  # kernels started from here draw explorables for a page
    )
    app.connect("html-page-context", drop_repeated_scripts, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
