"""Readable JSON: innermost lists, and optionally objects, on one line."""

import json
import re


def write(path, data, objects=False):
    """Write indented JSON with each innermost list (and, if `objects`, object) on one line."""
    left, right = (r"[\[{]", r"[\]}]") if objects else (r"\[", r"\]")
    innermost = rf"({left})\s+([^][{{}}]*?)\s+({right})"
    text = json.dumps(data, indent=1)
    flat = re.sub(innermost, lambda m: f"{m[1]}{' '.join(m[2].split())}{m[3]}", text)
    path.write_text(flat + "\n")
