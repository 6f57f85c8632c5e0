"""Compare numbers in prose with the numbers that a page's cells compute or assert.

The comparison covers decimals, percentages, simple fractions (1/3, ⅓, ²⁄₉, \\frac{1}{3}),
powers of ten and whole numbers from 100 on that are not years. Signs are ignored. A decimal
is proved by a number that rounds to it, a fraction by a number equal to it (to 1e-9, or
printed with at least four decimals).

Numbers in the text of an `{exercise}` are given, so they need no proof; solutions are checked.
"""

from __future__ import annotations

import ast
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass, field
from fractions import Fraction
from html import unescape
from math import isfinite
from typing import Any

from prose import visible_text

ESCAPE = re.compile(r"<!--\s*not-computed:\s*(\S+)\s+(\S.*?)\s*-->", re.DOTALL)
EXACT = 99  # decimals of a number in code
UP, DOWN = "⁰¹²³⁴⁵⁶⁷⁸⁹⁻", "₀₁₂₃₄₅₆₇₈₉"
PLAIN = str.maketrans(UP + DOWN, "0123456789-0123456789")
POWER = rf"10(?:\^\{{?(-?\d+)\}}?|([{UP}]+))"  # 10^{-4}, 10^5, 10⁻⁴
TIMES = r"\s*(?:×|·|\\times|\\cdot)\s*"
THIN = "\u2009\u202f\u00a0"
PERCENT = r"(\s?\\?%)?"
FRACTION = re.compile(
    r"\\[td]?frac\s*(?:\{\s*(\d+)\s*\}|(\d))\s*(?:\{\s*(\d+)\s*\}|(\d))"
    rf"|([{UP}]+)⁄([{DOWN}]+)"
    r"|(?<![\w.^/])(\d+)\s?[/⁄]\s?(\d+)(?![\w/]|\.\d)"
)
VULGAR = re.compile("[¼-¾⅐-⅞]")
DECIMAL = re.compile(
    rf"(?<![\w.])(?P<digits>\d*\.\d+)(?!\.?\d)(?:e([+-]?\d+)|{TIMES}{POWER})?{PERCENT}"
)
ROUND = re.compile(rf"(?<![\w.]){POWER}")
WHOLE = re.compile(
    rf"(?<![\w.^{{])(?P<digits>\d{{1,3}}(?:(?:,|\{{,\}}|\\,|[{THIN}])\d{{3}})+|\d+)(?!\w|\.\d)"
    rf"(?:(?!)()|{TIMES}{POWER})?{PERCENT}"
)
PRINTED = re.compile(
    r"(\d{1,3}(?:,\d{3})+(?!\d)(?:\.\d+)?|\d[\d_]*(?:\.\d*)?|\.\d+)(?:e([+-]?\d+))?"
)
# references: section 2.18, §3.2, Figures 1.2 and 1.3, Python 3.11
PLACE = re.compile(
    r"(?:§+|\b(?:sections?|chapters?|figures?|fig\.|tables?|equations?|eq\.|algorithms?"
    r"|theorems?|lemmas?|pages?|version|python)\b)[\s~]*\d+(?:\.\d+)*"
    r"(?:(?:\s*[–,-]\s*|\s+(?:and|to|or)\s+)\d+(?:\.\d+)*)*",
    re.IGNORECASE,
)
# Japanese has no space between a number and a word.
JAPANESE = "[\u3000-\u30ff\u4e00-\u9fff\uff00-\uffef]"
GLUED = re.compile(rf"(?<={JAPANESE})(?=[-+−.\d])|(?<=[\d%])(?={JAPANESE})")
# parts of a formula that are not numbers
INVISIBLE = re.compile(
    r"\\(?:color|label|tag|eqref|ref|hspace|vspace|begin|end)\*?\{[^{}]*\}"
    r"|\\\\\[[^\]]*\]|#[0-9A-Fa-f]{6}\b"
)


@dataclass(frozen=True)
class Number:
    """A number in prose."""

    text: str
    value: Fraction
    unit: Fraction | None  # of its last digit; None for a fraction, which is exact
    context: str
    percent: bool = False

    def agrees(self, value: Fraction, decimals: int) -> bool:
        """Return whether a value shown with this number of decimals proves the number."""
        gap = abs(value - self.value)
        if self.unit is not None:  # the prose rounds; a tie may go either way
            return gap <= self.unit / 2
        if gap <= Fraction(1, 10**9):
            return True
        return 4 <= decimals < EXACT and gap <= Fraction(1, 10**decimals) / 2


@dataclass
class Pool:
    """The numbers that the code of a page has or prints."""

    values: set[tuple[Fraction, int]] = field(default_factory=set)  # value, decimals shown

    def add(self, value: Fraction, decimals: int = EXACT) -> None:
        self.values.add((abs(value), decimals))

    def add_code(self, module: ast.Module) -> None:
        """Add the constants and quotients of constants, but not strings or comments."""
        for node in ast.walk(module):
            value = constant(node)
            if value is not None:
                self.add(value)

    def add_outputs(self, cell: Any) -> None:
        """Add the numbers in a cell's text outputs."""
        for output in cell.outputs:
            for text in (output.get("text", ""), *output.get("data", {}).values()):
                self.add_text(unescape(re.sub(r"</?[a-z][^>]*>", " ", text)))

    def add_text(self, text: str) -> None:
        """Add the fractions and numbers in a text."""
        for found in re.findall(r"(\d+)\s?/\s?(\d+)|Fraction\((\d+), (\d+)\)", text):
            top, bottom = (int(digits) for digits in found if digits)
            if bottom:
                self.add(Fraction(top, bottom))
        for digits, exponent in PRINTED.findall(text):
            digits, power = re.sub("[,_]", "", digits), int(exponent or 0)
            decimals = len(digits.partition(".")[2]) - power
            self.add(Fraction(digits.rstrip(".")) * Fraction(10) ** power, decimals)

    def proves(self, number: Number) -> bool:
        """Return whether some value of the page equals the number or rounds to it."""
        shares = (1, 100) if number.percent else (1,)
        return any(
            number.agrees(value * share, decimals - (2 if share == 100 else 0))
            for value, decimals in self.values
            for share in shares
        )


def constant(node: ast.AST) -> Fraction | None:
    """Return the value of a number, of `1 / 3`, of `10**6`, of `Fraction(1, 3)`."""
    match node:
        case ast.Constant(value=bool()):
            return None
        case ast.Constant(value=int() | float() as value):
            return Fraction(str(value)) if isfinite(value) else None
        case ast.UnaryOp(op=ast.USub(), operand=inner):
            value = constant(inner)
            return None if value is None else -value
        case ast.BinOp(left=left, op=op, right=right):
            a, b = constant(left), constant(right)
        case ast.Call(func=ast.Name("Fraction") | ast.Attribute(attr="Fraction"), args=[p, q]):
            a, b, op = constant(p), constant(q), ast.Div()
        case ast.Call(
            func=ast.Name("Fraction") | ast.Attribute(attr="Fraction"),
            args=[ast.Constant(value=str() as text)],
        ):
            return Fraction(text)
        case _:
            return None
    if a is None or b is None:
        return None
    if isinstance(op, ast.Div) and b:
        return a / b
    if isinstance(op, ast.Pow) and b.denominator == 1 and abs(b) <= EXACT and (a or b > 0):
        return a ** int(b)
    return None


def in_prose(text: str) -> list[Number]:
    """Return the numbers in a Markdown text that need a proof, in order."""
    text = visible_text(text, without=("exercise", "exercise-start"))
    text = GLUED.sub(" ", INVISIBLE.sub(" ", PLACE.sub(" ", text)))
    found: list[tuple[int, Number]] = []

    def take(pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
        """Yield the matches, then blank them out so that none is read twice."""
        nonlocal text
        matches = list(pattern.finditer(text))
        yield from matches
        for match in matches:
            text = text[: match.start()] + "_" * len(match[0]) + text[match.end() :]

    def note(match: re.Match[str], value: Fraction, unit: Fraction | None = None) -> None:
        context = original[max(0, match.start() - 30) : match.end() + 20]
        percent = unit is not None and bool(match[match.re.groups])
        shown = " ".join(match[0].split())
        number = Number(shown, value, unit, " ".join(context.split()), percent)
        found.append((match.start(), number))

    original = text
    for match in take(FRACTION):
        top, bottom = (int(part.translate(PLAIN)) for part in match.groups() if part)
        if bottom:
            note(match, Fraction(top, bottom))
    for match in take(VULGAR):
        note(match, Fraction(unicodedata.normalize("NFKC", match[0]).replace("⁄", "/")))
    for pattern in (DECIMAL, WHOLE):
        for match in take(pattern):
            *_, e, plain, raised, percent = match.groups()
            scale = Fraction(10) ** int((e or plain or raised or "0").translate(PLAIN))
            digits = re.sub(r"[^\d.]", "", match["digits"])
            value, unit = Fraction(digits) * scale, scale / 10 ** len(digits.partition(".")[2])
            if pattern is WHOLE and scale == 1 and not percent:
                year = digits == match["digits"] and 1900 <= int(digits) <= 2099
                if value < 100 or year:
                    continue
            note(match, value, unit)
        if pattern is DECIMAL:
            for match in take(ROUND):
                note(match, Fraction(10) ** int((match[1] or match[2]).translate(PLAIN)))
    return [number for _, number in sorted(found, key=lambda item: item[0])]


def unproved(text: str, pool: Pool) -> list[Number]:
    """Return the numbers in a text that are neither proved by the pool nor excused."""
    excused = {number for number, _ in ESCAPE.findall(text)}
    return [
        number
        for number in in_prose(text)
        if re.sub(r"\s", "", number.text) not in excused and not pool.proves(number)
    ]
