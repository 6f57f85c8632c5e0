"""Decode an explorable's HTML without a browser."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import numpy as np


def decode(html: str) -> tuple[list[dict[str, Any]], Callable[..., str]]:
    """Decode an explorable's HTML as its script does.

    Returns the data of the controls, and a function from their positions to the drawing.
    """
    raw = re.search(r'<script type="application/json">(.*?)</script>', html, re.S)
    assert raw
    data = json.loads(raw.group(1))
    sizes = [len(c.get("counts") or c["texts"]) for c in data["controls"]]

    def stage(*at: int) -> str:
        row = data["frames"][int(np.ravel_multi_index(at, sizes))]
        return "".join(data["pieces"][n] for n in row)

    return data["controls"], stage
