"""JSON that people can read too: what holds no list and no object stands on one line."""

import json
import re


def write(path, data, objects=False):
    """Write `data` indented, but the innermost lists on a line each; objects too if wanted."""
    left, right = (r"[\[{]", r"[\]}]") if objects else (r"\[", r"\]")
    innermost = rf"({left})\s+([^][{{}}]*?)\s+({right})"
    text = json.dumps(data, indent=1)
    flat = re.sub(innermost, lambda m: f"{m[1]}{' '.join(m[2].split())}{m[3]}", text)
    path.write_text(flat + "\n")
