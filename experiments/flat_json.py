"""Readable JSON: innermost lists, and optionally objects, on one line."""

import fcntl
import json
import re


def write(path, data, objects=False):
    """Write indented JSON with each innermost list (and, if `objects`, object) on one line."""
    left, right = (r"[\[{]", r"[\]}]") if objects else (r"\[", r"\]")
    innermost = rf"({left})\s+([^][{{}}]*?)\s+({right})"
    text = json.dumps(data, indent=1)
    flat = re.sub(innermost, lambda m: f"{m[1]}{' '.join(m[2].split())}{m[3]}", text)
    path.write_text(flat + "\n")


def find(path, place):
    """Return what the file holds under these keys, one inside the other, or None."""
    found = json.loads(path.read_text()) if path.exists() else {}
    for key in place:
        found = found.get(key) if found else None
    return found


def record(path, place, value, objects=False):
    """Write a value under these keys of the file, which several processes may share."""
    with path.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        known = found = json.loads(path.read_text()) if path.exists() else {}
        for key in place[:-1]:
            found = found.setdefault(key, {})
        found[place[-1]] = value
        write(path, known, objects)
