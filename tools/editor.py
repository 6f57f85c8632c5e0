"""Put the editor of code cells into the built book.

    python tools/editor.py

CodeMirror, the editor, and its grammar of Python come from npm, once; they are kept in
`_build/npm`. Where there is no npm or no network, pages edit code in a plain field.
"""

from __future__ import annotations

import re
import sys
import tarfile
from pathlib import Path

from fetching import from_npm

OUT = Path(__file__).resolve().parents[1] / "_build"
NPM, PLACE = OUT / "npm", OUT / "html" / "_static" / "editor"
MODULE = "dist/index.js"
# package -> version, SHA-512 and the module in it
PACKAGES = {
    "@codemirror/state": (
        "6.7.6",
        "kAz+AncRtKuIknedxT1bq4XwXv4UowhbkHU1myPrtVb/"
        "jZtImWuV5BXzv5vK6i3kYACsdiZiQKFQQ5Mq7elW8w==",
        MODULE,
    ),
    "@codemirror/view": (
        "6.43.15",
        "HHsfpqFeHyXLs983pSRe38Xajs0vFWZQ2BuX0m7Ki8w3"
        "jZ5iD8cuR3lBz2/5/X53Dhf32SBHKh6rtSTB6tKeGw==",
        MODULE,
    ),
    "@codemirror/commands": (
        "6.11.1",
        "O/4hG3SC1YwcmQ0d2UVNDs+AsaNWd1iHVxbTeEBuqH+6"
        "bExAiPK3iS/BvpY6rZGURALv4ZD3sIgcCmRvw3ehBg==",
        MODULE,
    ),
    "@codemirror/language": (
        "6.13.1",
        "zfvU2r3TyylQLMj/te+5CnQ0rSqZi8B1oTCBbQkagcLW"
        "4Xc6imab6qN+pEJhsuNOLaJqiRyBXp9UhWA1DhVvDw==",
        MODULE,
    ),
    "@codemirror/streamparser": (
        "6.0.0",
        "JTFPF6xrfjt0mnfGPgzcLiMwYmvIyNaoizp8BYzv8FE8"
        "KrT6GBGDZ190rtt+O7Wke3gG/MFHyiY9YGNeimof4w==",
        MODULE,
    ),
    "@lezer/common": (
        "1.5.5",
        "Pw7PVCndruF1pb3ebCxpSVpkMHSDjwRCLcTRw+RizUKc"
        "o5QbWylwq2g4lnG/RYN7yTTQDXE9F77MwtkAyphrjg==",
        MODULE,
    ),
    "@lezer/highlight": (
        "1.2.5",
        "O1GMVKgtf5YspFaRzpmqkVgMtIk2HG9uMAbH6wdAIdNh"
        "3TVzCsch/+cRi+6l2//UGDKe6NB9BW3cvuR5ezMQ0w==",
        MODULE,
    ),
    "@lezer/lr": (
        "1.4.12",
        "On9HU4oMMiHPMkQDgoTnGahjgG5n/MkN38CgG77sMraK"
        "LL+3JBbeQNi1FcCXV9QRqwF9/BUXP3caHyJC1fBOTQ==",
        MODULE,
    ),
    "@lezer/python": (
        "1.1.19",
        "MhQIURHRytsNzP/YXnqpYKW6la6voAH3kyplTOOiCdjy"
        "FY6cWWGFVmYVdHIPrElqSDf4iCDktQCockB9FxuhzQ==",
        MODULE,
    ),
    "style-mod": (
        "4.1.5",
        "WQ2llCZa9sZSkJA+aOwpg5DkfbAXFKGh//t3MRTBeruF"
        "iSBC+GXUmbBzrw3bXyboCWAbtCW9InDfBsXrRD/rAg==",
        "src/style-mod.js",
    ),
    "w3c-keyname": (
        "2.2.8",
        "dpojBhNsCNN7T82Tm7k26A6G9ML3NkhDsnw9n/eoxSRl"
        "VBB4CEtIQ/KTCLI2Fwf3ataSXRhYFkQi3SlnFwPvPQ==",
        "index.js",
    ),
    "crelt": (
        "1.0.7",
        "aK6BbWfhf4U/wCcLHKPJl/xa6VkVstRaPywWtMKGwuOL"
        "c/wZTyQYuoxgvZnNsBvv7Kg3YTBQYYBCggcviQczuA==",
        "index.js",
    ),
    "@marijn/find-cluster-break": (
        "1.0.4",
        "Wy0V7+SGUjnF9/TkiM1hKVDPj7jKXduPNboMVtHTA8dy"
        "SMURWqfg/JZ9E2Sq8JgSJmkl7k7Qe9FLeMSrSraWmQ==",
        "src/index.js",
    ),
}
IMPORT = re.compile(r"""((?:^|\n)(?:import|export)[^;'"]*?from )['"]([^.'"][^'"]*)['"]""")
COMMENT = re.compile(r"\n\s*/\*\*.*?\*/", re.DOTALL)  # half of CodeMirror


def main() -> int:
    """Run the command line."""
    if not PLACE.parent.exists():
        print("There is no book yet; `make book` builds it.", file=sys.stderr)
        return 1
    try:
        modules = {file_of(name): module(name) for name in PACKAGES}
    except OSError as error:
        print(
            "The pages have no editor with colors: npm could not fetch CodeMirror "
            f"({error}). Install npm and run `make book` again to add it."
        )
        return 0
    PLACE.mkdir(exist_ok=True)
    for name, text in modules.items():
        (PLACE / name).write_text(text, "utf-8")
    return 0


def file_of(name: str) -> str:
    """Return the file of a package's module: `state.js`, `lezer-common.js`."""
    return f"{name.removeprefix('@codemirror/').replace('@', '').replace('/', '-')}.js"


def module(name: str) -> str:
    """Return the module of a package, whose imports are files beside it."""
    version, known, path = PACKAGES[name]
    with tarfile.open(from_npm(name, version, known, NPM)) as package:
        member = package.extractfile(f"package/{path}")
        assert member, f"{name} {version} has no {path}"
        text = COMMENT.sub("", member.read().decode())
    return IMPORT.sub(lambda found: f'{found[1]}"./{file_of(found[2])}"', text)


if __name__ == "__main__":
    sys.exit(main())
