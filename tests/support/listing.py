"""Programs of the book's pages, for tests that run them."""

import json
from pathlib import Path
from typing import Any

BOOK = Path(__file__).parents[2] / "book"


def listing(page: str, *functions: str, **names: Any) -> dict[str, Any]:
    """Return the names of a page's cells that define functions, run in this order.

    The cells find `names` defined.
    """
    cells = json.loads((BOOK / f"{page}.ipynb").read_text("utf-8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    for function in functions:
        exec(next(s for s in sources if f"def {function}(" in s), names)
    return names
