"""A minimal parser of MyST Markdown that separates prose from everything else."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import citations

FENCE = re.compile(r"^\s*(`{3,}|~{3,}|:{3,})\s*(?:\{([\w:.-]+)\}\s*(.*)|(.*))$")
OPTION = re.compile(r"^\s*:([\w-]+):\s*(.*)$")
NOT_PROSE = {
    "bibliography",
    "code",
    "code-block",
    "code-cell",
    "image",
    "literalinclude",
    "prf:algorithm",
    "raw",
    "tableofcontents",
}


@dataclass
class Block:
    """A directive or code fence: kind, title, options and lines."""

    kind: str  # "" for a plain code fence
    title: str
    options: dict[str, str] = field(default_factory=dict)
    body: list[str] = field(default_factory=list)


def parse(text: str) -> tuple[list[tuple[str, tuple[str, ...]]], list[Block]]:
    """Return all lines but fence marks, each with its enclosing kinds, and all blocks."""
    lines: list[tuple[str, tuple[str, ...]]] = []
    blocks: list[Block] = []
    open_blocks: list[tuple[str, Block]] = []
    for line in text.split("\n"):
        mark = FENCE.match(line)
        literal = bool(open_blocks) and open_blocks[-1][1].kind in ("", *NOT_PROSE)
        if mark and open_blocks and not mark[2] and not (mark[4] or "").strip():
            fence = open_blocks[-1][0]
            if mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
                open_blocks.pop()
                continue
        if mark and not literal:
            block = Block(mark[2] or "", (mark[3] if mark[2] else mark[4]).strip())
            blocks.append(block)
            open_blocks.append((mark[1], block))
            if block.kind:
                lines.append((block.title, tuple(b.kind for _, b in open_blocks)))
            continue
        if open_blocks:
            block = open_blocks[-1][1]
            option = OPTION.match(line)
            if option and not "".join(block.body).strip():
                block.options[option[1]] = option[2].strip()
                continue
            block.body.append(line)
        lines.append((line, tuple(b.kind or "code" for _, b in open_blocks)))
    return lines, blocks


def directives(text: str) -> list[Block]:
    """Return the directives of a text, in order."""
    return [block for block in parse(text)[1] if block.kind]


def strip_fences(text: str, *, without: tuple[str, ...] = ()) -> str:
    """Drop code, pseudocode and fence marks; keep the prose inside directives."""
    drop = {*NOT_PROSE, *without}
    return "\n".join(line for line, around in parse(text)[0] if not drop & set(around))


def visible_text(text: str, *, math: bool = True, without: tuple[str, ...] = ()) -> str:
    """Return the visible prose (and formulas), without code, roles and links."""
    text = re.sub(r"<!--.*?-->", " ", text, flags=re.DOTALL)
    text = strip_fences(text, without=without)
    text = re.sub(r"^\([\w-]+\)=\s*$", " ", text, flags=re.MULTILINE)  # labels
    text = citations.as_roles(text)
    text = re.sub(r"\{[\w:]+\}`[^`]*`", " ", text)  # roles: cite, ref, numref, doc ...
    text = re.sub(r"(`+)(?!`).+?(?<!`)\1(?!`)", " ", text)  # code spans
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)  # links and pictures
    text = re.sub(r"https?://\S+", " ", text)
    text = re.sub(r"(?<=\])\{[^{}]*\}", " ", text)  # attributes of [words]{.regret}
    text = re.sub(r"</?[A-Za-z][^<>]*>", " ", text)  # HTML tags
    if not math:
        text = re.sub(r"\$\$.+?\$\$|\$[^$]+\$", " ", text, flags=re.DOTALL)
    return text
