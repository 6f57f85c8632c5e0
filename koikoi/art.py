"""Pictures of the flower cards: our own small SVG drawings, one for each card of the deck.

Each drawing is self-contained: it has its own paper, and a frame that is visible on light and
on dark pages; it refers to nothing outside, and it has no ids, so a page can show many. Most
shapes are strokes: a dotted circle with round caps is a blossom, a dotted line is a spray of
flowers. This keeps most cards near one and a half kilobytes.

All coordinates are those of a card 60 wide and 96 high. Its upper left corner, 14 wide and 26
high, is reserved for the index: the number of the month, and a mark of the kind that differs
by shape, not by color alone.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from html import escape
from math import cos, pi, radians, sin
from typing import TypeAlias

from koikoi.cards import DECK, MONTHS, Card

Spot: TypeAlias = tuple[float, float]
Lens: TypeAlias = tuple[float, float, float, float]  # x, y, angle, length

CALENDAR = (
    "January", "February", "March", "April", "May", "June",
    "July", "August", "September", "October", "November", "December",
)  # fmt: skip

PAPER, FRAME, INK, WHITE = "#fdf6e6", "#865", "#223", "#fff"
RED, WINE, ORANGE, GOLD = "#c32", "#812", "#e82", "#fb3"
PINK, ROSE, LILAC, VIOLET = "#fab", "#d57", "#cbe", "#75a"
BLUE, SKY, BROWN, TAN = "#238", "#9cd", "#743", "#b85"
FOREST, GREEN, LEAF, CREAM = "#254", "#485", "#9b5", "#fec"

# backgrounds, by month
TINTS = (
    "#f5ead0", "#f8efdc", "#dcebf2", "#f7f0d9", "#e4efdf", "#fbefdf",
    "#f7e8c8", "#fbf3e0", "#dfeae8", "#fcedd3", "#e1e9eb", "#f3eaf5",
)  # fmt: skip

# Pieces of SVG ---------------------------------------------------------------------------


def _n(value: float) -> str:
    """Format a number in as few characters as possible."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{round(value, 1) + 0.0:g}")


def _tight(d: str) -> str:
    return d.replace(" -", "-")


def _fill(color: str, d: str, edge: str = "") -> str:
    stroke = f' stroke="{edge}"' if edge else ""
    return f'<path fill="{color}"{stroke} d="{_tight(d)}"/>'


def _line(color: str, width: float, d: str, dash: str = "", flat: bool = False) -> str:
    dashed = f' stroke-dasharray="{dash}"' if dash else ""
    cap = ' stroke-linecap="butt"' if flat else ""
    thick = f' stroke-width="{width:g}"' if width != 1 else ""
    return f'<path stroke="{color}"{thick}{dashed}{cap} d="{_tight(d)}"/>'


def _disc(color: str, x: float, y: float, r: float) -> str:
    return f'<circle fill="{color}" cx="{x:g}" cy="{y:g}" r="{r:g}"/>'


def _stamps(shape: str, *spots: Spot) -> str:
    """Return a path that repeats `shape` from each of the spots."""
    return "".join(f"M{_n(x)} {_n(y)}{shape}" for x, y in spots)


def _dots(color: str, size: float, *spots: Spot) -> str:
    return _line(color, size, _stamps("h0", *spots))


def _circles(r: float, *spots: Spot) -> str:
    """Return a path of circles, each of which starts and ends at its top."""
    around = f"a{r:g} {r:g} 0 1 1-.1 0"
    return _stamps(around, *((x, y - r) for x, y in spots))


def _rings(color: str, size: float, r: float, n: int, *spots: Spot) -> str:
    """Return circles of n dots each, the first at the top."""
    return _line(color, size, _circles(r, *spots), f"0 {2 * pi * r / n:.4g}")


def _lenses(color: str, fat: float, *lenses: Lens) -> str:
    """Return pointed ovals, such as leaves and feathers; `fat` is width over length."""
    d = ""
    for x, y, angle, length in lenses:
        u, v = length * cos(radians(angle)), length * sin(radians(angle))
        p, q = -v * fat, u * fat
        d += f"M{_n(x)} {_n(y)}q{_n(u / 2 + p)} {_n(v / 2 + q)} {_n(u)} {_n(v)}"
        d += f"q{_n(-u / 2 - p)} {_n(-v / 2 - q)} {_n(-u)} {_n(-v)}"
    return _fill(color, d)


def _at(x: float, y: float, shape: str, turn: float = 0, size: float = 1) -> str:
    turned = f"rotate({turn:g})" if turn else ""
    sized = f"scale({size:g})" if size != 1 else ""
    return f'<g transform="translate({x:g} {y:g}){turned}{sized}">{shape}</g>'


# Flowers of the months -------------------------------------------------------------------


def _pine(*spots: Spot) -> str:
    """Return fans of needles."""
    return _fill(FOREST, _stamps("a14 13 0 0 1 28 0q-14 7-28 0", *spots)) + _line(
        LEAF,
        6,
        _stamps("a9 8.6 0 0 1 18 0", *((x + 5, y) for x, y in spots)),
        "1 3.2",
        flat=True,
    )


def _plum(*spots: Spot) -> str:
    """Return red blossoms."""
    return _rings(RED, 6, 3.7, 5, *spots) + _dots(WHITE, 4.8, *spots) + _dots(GOLD, 2.6, *spots)


def _cherry(*spots: Spot, back: str = TINTS[2]) -> str:
    """Return pink blossoms, their petals notched."""
    return (
        _rings(PINK, 6.4, 4, 5, *spots)
        + _rings(back, 1.5, 7.2, 5, *spots)
        + _dots(ROSE, 3.4, *spots)
    )


def _wisteria(*sprays: tuple[float, float, float]) -> str:
    """Return hanging sprays of flowers under leaves; a spray is (x, y, length)."""
    d = "".join(
        f"M{x:g} {y:g}v{length:g}m-4.4 {-length:g}v{length * 0.6:g}m8.8 0v{-length * 0.6:g}"
        for x, y, length in sprays
    )
    leaves = [(x, y - 1, angle, 13) for x, y, _ in sprays for angle in (20, 160)]
    return (
        _line(VIOLET, 5.8, d, "0 4.4")
        + _line(LILAC, 2.4, d, "0 4.4")
        + _lenses(GREEN, 0.4, *leaves)
    )


def _iris(*spots: Spot) -> str:
    """Return flowers of the iris."""
    up = "c-7-2-6-10-2-12q2 3 2 6q0-3 2-6c4 2 5 10-2 12"
    out = "c-9-4-11 6-7 10c4-2 6-6 7-10c9-4 11 6 7 10c-4-2-6-6-7-10"
    return (
        _fill(VIOLET, _stamps(up + out, *spots))
        + _fill(BLUE, _stamps("c-5 5-3 12 0 14c3-2 5-9 0-14", *spots))
        + _line(GOLD, 1.6, _stamps("m-3 2l-3 3m6-2v4m3-5l3 3", *spots))
    )


def _blades(*blades: Lens) -> str:
    return _lenses(GREEN, 0.07, *blades)


def _peony(r: float, color: str, *spots: Spot) -> str:
    """Return peonies with two rings of petals; r is that of the outer one."""
    return (
        _rings(color, r, r, 8, *spots)
        + _dots(color, 2 * r, *spots)
        + _rings(PINK, 0.7 * r, 0.62 * r, 6, *spots)
        + _dots(GOLD, 0.7 * r, *spots)
    )


def _clover(*stems: str) -> str:
    """Return arching stems with leaves on both sides and small flowers."""
    d = "".join(stems)
    leaves = _line(GREEN, 3.6, d, "2 8")
    return (
        _line(BROWN, 1, d)
        + _at(-3, 0, leaves)
        + _at(3, -2, leaves)
        + _line(ROSE, 3.6, d, "0 5")
    )


def _pampas(*plumes: Lens, color: str = TAN) -> str:
    """Return plumes of grass; a plume is (x, y, lean, height)."""
    stalks = heads = ""
    for x, y, lean, high in plumes:
        s = 1 if lean > 0 else -1
        stalks += f"M{x:g} {y:g}q0 {-high / 2:g} {lean:g} {-high:g}"
        heads += (
            f"M{x + lean - s:g} {y - high + 5:g}q{s} -9 {s * 5} -13m{s * -5} 13q{s * 3} -9 "
        )
        heads += (
            f"{s * 8} -11m{s * -8} 11q{s * 4} -8 {s * 11} -7m{s * -11} 7q{s * 4} -4 {s * 10} -1"
        )
    return _line(BROWN, 1, stalks) + _line(color, 2, heads)


def _hill(color: str, grass: str) -> str:
    return _fill(color, "M1 95V74C14 56 44 52 60 66V95Z") + _line(
        grass,
        1,
        "M10 82q0-6-3-9M12 82q1-6 5-8M28 74q0-6-3-9M30 74q1-6 5-8M46 80q0-6-3-9M48 80q1-6 5-8",
    )


def _mum(*spots: Spot, color: str = GOLD, dark: str = ORANGE) -> str:
    """Return chrysanthemums."""
    return (
        _rings(color, 4, 9, 14, *spots)
        + _dots(color, 18, *spots)
        + _line(dark, 5, _circles(6.4, *spots), "1 2.35", flat=True)
        + _dots(dark, 4.4, *spots)
    )


def _leaves(*leaves: Lens) -> str:
    return _lenses(FOREST, 0.5, *leaves)


def _maple(color: str, *leaves: Lens) -> str:
    """Return maple leaves; a leaf is (x, y, angle, length), with the stalk at (x, y)."""
    half = ((0, 1.1), (19, 0.5), (40, 1), (60, 0.45), (82, 0.85), (104, 0.34), (126, 0.52))
    outline = [*reversed(half), *((-angle, r) for angle, r in half[1:])]
    d = ""
    for x, y, angle, size in leaves:
        far = [(r * size, radians(angle + a)) for a, r in outline]
        d += "M" + "L".join(f"{x + r * cos(a):.0f} {y + r * sin(a):.0f}" for r, a in far) + "z"
        u, v = size * cos(radians(angle)), size * sin(radians(angle))
        d += f"M{x} {y}l{_n(-0.8 * u)} {_n(-0.8 * v)}"
    return _fill(color, d, color)


def _willow(*strands: str, color: str = GREEN) -> str:
    """Return hanging strands with narrow leaves."""
    d = "".join(strands)
    return (
        _line(color, 1, d)
        + _at(-1.6, 0, _line(color, 2.2, d, "4 6"))
        + _at(1.6, 5, _line(color, 2.2, d, "4 6"))
    )


def _paulownia(x: float, y: float, size: float) -> str:
    """Return three great leaves under three sprays of flowers."""
    middle = "M0 0c-6-9-13-3-10 4c1 5 7 6 10 12c3-6 9-7 10-12c3-7-4-13-10-4"
    left = "M-5 1c-7-9-16-5-16 1c2 4-1 6 1 11c5 0 10-2 13-7z"
    right = "M5 1c7-9 16-5 16 1c-2 4 1 6-1 11c-5 0-10-2-13-7z"
    flowers = _stamps(
        "h0", (0, -21), (0, -15), (0, -9), (-4, -17), (4, -17), (-4, -11), (4, -11),
        *((s * u, v) for s in (-1, 1) for u, v in ((12, -14), (11, -9), (16, -10))),
    )  # fmt: skip
    return _at(
        x,
        y,
        _line(GREEN, 1, "M0 0V-20M0 0Q-9-4-12-13M0 0Q9-4 12-13")
        + _line(VIOLET, 5, flowers)
        + _line(LILAC, 1.8, flowers)
        + _fill(FOREST, left + right + middle, TINTS[11])
        + _line(LEAF, 0.9, "M0 3v8m0-4l-4-3m4 3l4-3M-10 2l-7 6M10 2l7 6"),
        size=size,
    )


# Ribbons ---------------------------------------------------------------------------------


def _ribbon(color: str, edge: str) -> str:
    return _fill(color, "M24 16Q32 13 41 16Q36 48 42 81Q33 79 25 83Q19 50 24 16Z", edge)


_RED_RIBBON = _ribbon(RED, WINE)
_POEM = _ribbon(RED, WINE) + _line(
    WHITE,
    1.7,
    "M33 24q-4 2-1 4t-1 5q4-1 3 2t-3 3M32 46v4q-5 1-2 4t3 3q-4 1-2 5M33 67q-5 1-3 4t3 4",
)
_BLUE_RIBBON = _ribbon(BLUE, INK) + _line(
    SKY, 1.6, "M25 22q7-2 14 0M25 26q7-2 13 0M25 73q7-2 14 0M26 77q7-2 14 0"
)

# Pictures of the other cards -------------------------------------------------------------

_CRANE = (
    _disc(RED, 41, 22, 14)
    + _pine((33, 91), (-4, 94))
    + _line(INK, 1.3, "M30 66l1 22h-4M36 66l2 22h-4")
    + _lenses(INK, 0.26, (40, 56, 8, 18), (38, 60, 24, 19), (36, 62, 42, 17))
    + _fill(WHITE, "M20 56C22 46 36 44 48 58C40 68 24 72 20 56Z", INK)
    + _line(INK, 4.2, "M23 56C15 48 30 42 22 34")
    + _dots(WHITE, 6.4, (21.5, 33.5))
    + _line(RED, 2.6, "M20.5 31h2.5")
    + _line(BROWN, 1.5, "M18.5 34.5l-7 3")
    + _dots(INK, 1.4, (20.5, 33.6))
)
_WARBLER = _at(
    31,
    51,
    _lenses(FOREST, 0.2, (-5, 2, 155, 15), (-5, 3, 168, 14))
    + _fill("#793", "M-9 4C-8-5 2-11 8-7C12-4 10 4 4 7C-2 9-8 8-9 4Z")
    + _fill(CREAM, "M10-3C11 3 6 7 0 8C5 5 7 1 10-3Z")
    + _lenses(FOREST, 0.3, (4, -2, 150, 13))
    + _line(BROWN, 1.3, "M10-5l4 1M1 8v4M4 7v5")
    + _dots(INK, 2.4, (6.5, -4.5)),
    size=1.25,
)
_CURTAIN = (
    _fill(WHITE, "M1 59Q16 70 30 62Q44 70 59 59V95H1Z")
    + _line(RED, 9, "M11 66V95M30 67V95M49 66V95", flat=True)
    + _line(VIOLET, 5, "M1 59Q16 70 30 62Q44 70 59 59")
    + _line(GOLD, 1.4, "M1 63.5Q16 74 30 66Q44 74 59 63.5M1 90H59")
)
_CUCKOO = _at(
    30,
    64,
    _lenses(INK, 0.22, (-4, 0, 158, 20), (-4, 1, 174, 19))
    + _lenses(BROWN, 0.3, (5, -1, -122, 29), (3, 1, 124, 25))
    + _lenses(INK, 0.2, (3, -1, -114, 22), (1, 1, 116, 19))
    + _fill(BROWN, "M-8 0C-4-6 8-8 13-4C16-1 14 3 9 4C2 6-5 4-8 0Z")
    + _fill(CREAM, "M13 0C11 5 3 6-3 3C3 3 8 2 13 0Z")
    + _line(GOLD, 1.6, "M14-3l4 1")
    + _dots(INK, 2, (11, -3)),
    turn=-18,
)
_BRIDGE = (
    _line(SKY, 1.6, "M4 91q5-3 10 0t10 0t10 0t10 0t10 0M10 85q5-3 10 0t10 0")
    + _line(BROWN, 2.4, "M17 78v10M43 66v14M24 60v8M52 48v12")
    + _fill(TAN, "M1 72L40 60L46 66L6 80H1ZM18 52L50 42L59 44V50L24 60Z", BROWN)
    + _line(BROWN, 1, "M1 76L43 63M21 56L55 46")
)


def _butterfly(x: float, y: float, turn: float, color: str, spot: str) -> str:
    wings = "M0 0c-3-9-13-11-13-3c0 5 8 6 13 3c-7 2-9 8-5 10c4 1 5-5 5-10"
    other = "c3-9 13-11 13-3c0 5-8 6-13 3c7 2 9 8 5 10c-4 1-5-5-5-10"
    return _at(
        x,
        y,
        _fill(color, wings + other, INK)
        + _dots(spot, 3.4, (-9, -4), (9, -4), (-4, 6), (4, 6))
        + _line(INK, 1.4, "M0 7V-3q-1-5-5-6M0-3q1-5 5-6"),
        turn,
    )


_BOAR = (
    _line(INK, 3.4, "M17 82v8M24 82v8M41 82v8M47 80v8")
    + _fill(INK, "M6 72l-1-8l5 2v-7l6 1l2-6l5 2l4-5l5 4l5-3l3 5l6 0z")
    + _fill(
        BROWN,
        "M8 74C6 60 22 55 36 57C47 58 53 64 58 71L57 77L51 78C49 82 44 85 38 85H16"
        "C11 85 8 80 8 74Z",
    )
    + _fill(INK, "M37 61q-1-8 3-11q6 3 5 10z")
    + _line(WHITE, 1.8, "M49 77q4 0 4-6")
    + _dots(WHITE, 2.6, (48, 66))
    + _dots(INK, 1.4, (48.3, 66))
    + _line(TAN, 1.2, "M16 68q4 4 9 2M20 76q5 2 10-1M8 72q-4-2-4-6")
)
_RED_SKY = _fill(RED, "M1 1H59V95H1Z")


def _goose(x: float, y: float) -> str:
    wings = ((x, y, -150, 14), (x + 1, y, -38, 14))
    body = "c4-4 12-6 16-3q2-4 4-2l3 1l-3 1c-4 6-15 8-20 3"
    return _lenses(BROWN, 0.28, *wings) + _fill(INK, _stamps(body, (x - 9, y + 4)))


_SAKE = (
    _fill(WINE, "M25 50h16l3 7H22Z")
    + _fill(RED, "M12 28C12 44 22 53 33 53S54 44 54 28Z")
    + f'<ellipse fill="{CREAM}" stroke="{WINE}" stroke-width="3" cx="33" cy="28" rx="20.5" '
    'ry="5"/>' + _line(GOLD, 1.8, "M28 38h10M33 35v11M27 42h12M29 46h8")
)
_DEER = (
    _line(BROWN, 1.6, "M25 44Q22 36 26 29M24 38l-5-4M29 44Q32 36 38 34M32 38l1-7")
    + _fill(
        TAN,
        "M22 58C23 54 22 50 22 46C26 43 30 44 33 48V58C40 60 48 60 52 65L53 72L49 77L50 93H46"
        "L43 78C38 80 34 80 31 77L29 93H25V74C22 70 21 64 22 58Z",
    )
    + _lenses(TAN, 0.4, (28, 47, 172, 18), (31, 45, -25, 10))
    + _dots(INK, 2.5, (11.5, 49.5), (20, 46.5))
    + _dots(WHITE, 2.6, (32, 64), (38, 65), (35, 70), (42, 71), (45, 66), (53, 67))
)
_RAIN_MAN = (
    _line(SKY, 1, "M24 6l-4 12M50 8l-4 12M58 50l-5 16M12 50l-4 14M20 68l-4 12M56 72l-3 10")
    + _fill(SKY, "M1 84Q20 76 36 86T59 84V95H1Z")
    + _fill(BLUE, "M26 90L28 60Q34 52 42 58L47 90Z")
    + _fill(GOLD, "M28 60Q34 52 42 58L44 70Q34 68 24 70Z")
    + _disc(CREAM, 36, 51, 5)
    + _fill(INK, "M31 49Q36 42 41 49V46Q41 43 38 43V38H34V43Q31 43 31 46Z")
    + _line(INK, 2.4, "M29 93h6M40 93h6")
    + _line(INK, 1.4, "M33 40L27 70")
    + _dots(CREAM, 3.6, (28, 66))
    + _fill(
        RED,
        "M8 42Q14 20 36 21Q54 23 58 44Q52 38 47 42Q40 36 33 41Q26 35 19 40Q12 37 8 42Z",
        WINE,
    )
    + _line(WINE, 1, "M35 21Q22 27 19 40M35 17L33 41M35 21Q46 27 47 42")
    + _fill(GREEN, "M5 92q-1-8 5-9q4-4 6 1q3 4 1 8z")
    + _dots(INK, 2, (13.5, 83.5))
)
_SWALLOW = _at(
    32,
    52,
    _lenses(BLUE, 0.12, (-4, 1, 168, 24), (-4, 2, 148, 22))
    + _lenses(INK, 0.26, (4, 0, -118, 27), (3, 1, 118, 24))
    + _fill(BLUE, "M-8 1C-3-6 6-8 12-4C15-2 14 2 10 3C4 6-4 5-8 1Z")
    + _fill(WHITE, "M11 2C6 6-2 6-7 2C0 4 5 3 9 1Z")
    + _fill(RED, "M14-3C14 1 12 3 8 2C9-1 11-3 14-3Z")
    + _line(GOLD, 1.5, "M14-3l4 1")
    + _dots(WHITE, 2, (10, -3.5)),
    turn=-24,
)
_STORM = (
    _fill(INK, "M1 1H59V95H1Z")
    + _fill(RED, "M1 62C14 54 22 70 36 60S52 58 59 52V95H1Z")
    + _fill(GOLD, "M36 4L18 46H29L20 88L46 36H34L46 4Z")
)
_TAILS = "M26 44C8 46 6 62 15 72M28 45C18 56 24 66 31 74M32 42C36 54 44 56 49 68"
_PHOENIX = (
    _line(RED, 4.4, _TAILS)
    + _line(GOLD, 1.4, _TAILS)
    + _dots(GREEN, 8, (15, 72), (31, 74), (49, 68))
    + _dots(GOLD, 4, (15, 72), (31, 74), (49, 68))
    + _lenses(ORANGE, 0.2, (36, 38, -174, 28), (36, 38, -148, 27), (36, 38, -122, 24))
    + _fill(
        GOLD,
        "M22 46C24 35 34 35 38 28C41 23 38 19 40 15C42 11 48 12 48 16C46 18 45 19 45 21"
        "C47 28 46 38 38 43C32 48 24 50 22 46Z",
    )
    + _lenses(RED, 0.2, (38, 38, -186, 24), (38, 38, -161, 28), (38, 38, -135, 26))
    + _line(RED, 1.6, "M42 12q-2-4 0-7M44 12q0-4 4-6M41 14q-4-2-5-6")
    + _fill(ORANGE, "M48 14l6 2l-6 2Z")
    + _dots(INK, 1.8, (44.5, 15.5))
)

# The cards -------------------------------------------------------------------------------

_PLUM_TREE = "M30 95L24 74L34 58L22 44L30 30L28 16M24 74L10 62M34 58L50 50L53 38M30 30L46 20"
_SCENES: dict[str, str] = {
    "Crane": _CRANE,
    "Pine-poem": _pine((2, 54), (33, 42), (32, 74), (2, 86)) + _POEM,
    "Pine-1": _line(BROWN, 3, "M34 95Q22 74 34 60T40 30")
    + _pine((24, 30), (4, 52), (30, 64), (5, 86)),
    "Pine-2": _line(BROWN, 3, "M26 95Q40 78 28 64T30 34")
    + _pine((15, 34), (30, 52), (3, 62), (26, 84)),
    "Warbler": _line(BROWN, 3, "M59 90Q40 84 34 70T10 56M34 70L50 60L54 46M59 8L45 20L29 16")
    + _plum((13, 74), (54, 45), (45, 20), (30, 15), (27, 86), (46, 83))
    + _WARBLER,
    "Plum-poem": _line(BROWN, 3, _PLUM_TREE)
    + _plum((12, 60), (50, 42), (49, 70), (17, 82), (48, 20))
    + _POEM,
    "Plum-1": _line(BROWN, 3, _PLUM_TREE)
    + _plum((11, 60), (28, 17), (50, 46), (47, 20), (21, 44), (35, 64), (24, 82)),
    "Plum-2": _line(BROWN, 3, "M12 95L20 70L38 56L34 36L46 18M38 56L52 62M20 70L10 50L14 36")
    + _plum((46, 19), (34, 38), (14, 40), (50, 64), (22, 66), (37, 54)),
    "Curtain": _cherry(
        (22, 11),
        (38, 13),
        (53, 20),
        (30, 27),
        (46, 33),
        (13, 38),
        (29, 44),
        (54, 48),
        (42, 51),
        (14, 53),
    )
    + _CURTAIN,
    "Cherry-poem": _line(BROWN, 2.4, "M59 14Q36 22 8 60M44 20Q52 50 48 78")
    + _cherry((49, 15), (13, 46), (49, 42), (13, 66), (50, 62), (17, 86), (48, 84))
    + _POEM,
    "Cherry-1": _line(
        BROWN,
        2.4,
        "M59 40Q30 46 14 90M40 45Q30 30 32 10M40 44L50 22M35 38L23 32M42 43L50 60M20 72L16 56"
        "M24 63L32 62",
    )
    + _lenses(GREEN, 0.4, (30, 60, 30, 14), (20, 76, 20, 13))
    + _cherry((32, 14), (49, 22), (23, 32), (40, 42), (16, 56), (32, 62), (14, 82), (50, 60)),
    "Cherry-2": _line(
        BROWN, 2.4, "M4 90Q30 70 56 74M26 78Q32 50 48 30M31 60L16 46M41 40L28 20M30 77L34 86"
    )
    + _lenses(GREEN, 0.4, (36, 50, 180, 14), (44, 74, 40, 13))
    + _cherry((47, 26), (28, 20), (41, 45), (16, 46), (28, 66), (49, 70), (11, 82), (34, 86)),
    "Cuckoo": _wisteria((22, 8, 26), (40, 6, 40), (53, 8, 22)) + _CUCKOO,
    "Wisteria-ribbon": _wisteria((12, 34, 44), (50, 10, 57)) + _RED_RIBBON,
    "Wisteria-1": _wisteria((21, 9, 48), (36, 8, 75), (51, 10, 44), (9, 44, 35)),
    "Wisteria-2": _wisteria((21, 8, 70), (36, 10, 40), (51, 8, 62), (36, 60, 26)),
    "Bridge": _blades((36, 95, -102, 66), (46, 95, -90, 70), (54, 95, -80, 34))
    + _iris((26, 32), (46, 25))
    + _BRIDGE,
    "Iris-ribbon": _blades(
        (14, 95, -96, 52), (20, 95, -90, 42), (50, 95, -90, 58), (45, 95, -98, 40)
    )
    + _iris((13, 46), (49, 36))
    + _RED_RIBBON,
    "Iris-1": _blades(
        (30, 95, -108, 60), (33, 95, -91, 74), (38, 95, -76, 56), (42, 95, -64, 40)
    )
    + _iris((32, 26), (15, 50), (48, 54)),
    "Iris-2": _blades(
        (18, 95, -94, 62), (26, 95, -84, 50), (40, 95, -96, 52), (44, 95, -86, 66)
    )
    + _iris((18, 42), (44, 30)),
    "Butterflies": _leaves((30, 76, 170, 26), (30, 72, -20, 24))
    + _peony(8, ROSE, (19, 81), (45, 79))
    + _butterfly(39, 21, 14, GOLD, RED)
    + _butterfly(21, 47, -16, SKY, BLUE),
    "Peony-blue": _leaves((30, 40, 0, 26), (30, 78, 180, 26), (30, 88, -10, 26))
    + _peony(8, ROSE, (46, 26), (14, 62), (46, 76))
    + _BLUE_RIBBON,
    "Peony-1": _leaves((34, 42, 150, 28), (34, 42, 20, 24), (24, 84, 0, 30))
    + _peony(11, ROSE, (35, 28))
    + _peony(10, RED, (23, 72)),
    "Peony-2": _leaves((30, 50, -30, 30), (30, 62, 195, 28), (30, 84, 15, 26))
    + _peony(12, RED, (29, 56))
    + _peony(7, ROSE, (44, 20), (46, 84)),
    "Boar": _clover("M59 8Q30 12 18 46", "M59 26Q44 28 38 48", "M59 4Q40 6 26 14") + _BOAR,
    "Clover-ribbon": _clover("M54 95Q58 40 42 8", "M12 95Q6 60 18 32") + _RED_RIBBON,
    "Clover-1": _clover("M34 95Q30 40 52 12", "M31 95Q26 50 12 36", "M36 95Q42 60 54 50"),
    "Clover-2": _clover("M20 95Q20 40 40 10", "M24 95Q34 56 54 42", "M16 95Q10 60 14 36"),
    "Moon": _RED_SKY
    + _disc(PAPER, 36, 32, 20)
    + _pampas((6, 78, 2, 28), (11, 75, 2, 16), (46, 70, 1, 12), (50, 72, 2, 26), color=CREAM)
    + _hill(INK, TAN),
    "Geese": _goose(42, 18) + _goose(26, 34) + _goose(44, 48) + _hill(WINE, ORANGE),
    "Pampas-1": _pampas(
        (14, 72, -3, 22), (25, 66, -3, 28), (33, 65, 3, 44), (43, 67, 4, 26), (28, 66, 1, 14)
    )
    + _hill(INK, TAN),
    "Pampas-2": _pampas(
        (16, 72, 3, 26), (26, 66, 5, 40), (40, 66, 3, 36), (34, 66, -4, 16), (48, 68, 3, 16)
    )
    + _hill(FOREST, LEAF),
    "Sake": _leaves((30, 74, 150, 22), (32, 84, 10, 24)) + _mum((16, 76), (44, 75)) + _SAKE,
    "Mum-blue": _leaves((30, 36, 0, 26), (30, 62, 180, 26), (30, 90, -10, 24))
    + _mum((47, 24), (13, 50), (47, 76))
    + _BLUE_RIBBON,
    "Mum-1": _leaves((22, 34, 40, 26), (30, 56, 190, 26), (30, 76, 20, 26), (28, 80, 170, 24))
    + _mum((38, 22), (19, 47), (45, 58), (24, 80)),
    "Mum-2": _leaves((24, 50, -30, 30), (26, 52, 120, 26), (30, 66, 20, 26))
    + _mum((45, 21), (20, 44), (46, 52))
    + _mum((23, 77), color=WHITE, dark=ROSE),
    "Deer": _maple(RED, (46, 30, -60, 13), (26, 18, -120, 10))
    + _maple(ORANGE, (48, 52, 10, 10), (10, 80, 60, 10))
    + _DEER,
    "Maple-blue": _maple(RED, (48, 30, -50, 13), (13, 52, -120, 12), (49, 82, -30, 12))
    + _maple(ORANGE, (13, 84, 100, 11), (52, 56, 0, 10))
    + _BLUE_RIBBON,
    "Maple-1": _maple(RED, (35, 34, -70, 18), (44, 72, 30, 15))
    + _maple(ORANGE, (16, 56, -120, 14), (20, 82, 100, 12)),
    "Maple-2": _maple(ORANGE, (27, 36, -100, 15), (44, 84, 60, 13))
    + _maple(RED, (46, 52, -40, 15), (17, 72, 140, 16), (48, 20, -30, 11)),
    "Rain-man": _willow("M50 2Q55 10 54 22M56 2V34") + _RAIN_MAN,
    "Swallow": _willow("M22 2Q14 30 18 66M34 2Q38 16 34 30M50 2Q56 30 50 66M43 2Q44 60 36 90")
    + _SWALLOW,
    "Willow-ribbon": _willow("M18 2Q12 50 16 90M50 2Q56 50 50 92M44 2Q46 30 46 60")
    + _RED_RIBBON,
    "Willow-1": _STORM + _willow("M18 2Q12 40 14 70M50 2Q56 40 52 78", color=LEAF),
    "Phoenix": _paulownia(31, 84, 0.75) + _PHOENIX,
    "Paulownia-1": _paulownia(31, 54, 1.3),
    "Paulownia-2": _paulownia(35, 66, 1.45),
    "Paulownia-3": _fill(GOLD, "M1 74H59V95H1Z") + _paulownia(31, 58, 1.2),
}

_MARKS = {
    "light": _rings(RED, 1.9, 4.2, 8, (7.5, 19)) + _dots(RED, 5, (7.5, 19)),
    "animal": _dots(INK, 2.2, (3.9, 18.6), (6.2, 16.2), (8.8, 16.2), (11.1, 18.6))
    + _dots(INK, 4.4, (7.5, 21)),
    "ribbon": f'<path stroke="{INK}" d="M5 14.5h5V24l-2.5-2L5 24Z"/>',
    "plain": f'<circle stroke="{INK}" cx="7.5" cy="19" r="2.6"/>',
}


def _card_svg(title: str, ground: str, picture: str) -> str:
    """Return the SVG of a card: paper, frame, and a picture clipped at the frame."""
    name = escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 60 96" width="60" role="img" '
        f'aria-label="{name}" fill="none" stroke-linecap="round"><title>{name}</title>'
        f'<rect fill="{ground}" stroke="{FRAME}" stroke-width="1.6" x=".8" y=".8" width="58.4" '
        f'height="94.4" rx="3.6"/><svg x="1.6" y="1.6" width="56.8" height="92.8" '
        f'viewBox="1.6 1.6 56.8 92.8">{picture}</svg></svg>'
    )


def _find_card(name: str) -> Card:
    """Return the card with this name; a copy or a plain card keeps the name of its face."""
    face = re.sub("[- ][a-z]$", "", str(name))
    for card in DECK:
        if card.name in (face, f"{face}-1"):
            return card._replace(name=face)
    known = {word.lower(): word for word in (*MONTHS, *(card.name for card in DECK))}
    close = difflib.get_close_matches(str(name).lower(), known, n=4, cutoff=0.5)
    near = ", ".join(known[word] for word in close)
    hint = f"near to it: {near}" if near else "DECK lists the cards, and MONTHS their flowers"
    raise ValueError(f"no flower card is called {name!r}; {hint}")


# Public functions ------------------------------------------------------------------------


def draw(card: str) -> str:
    """Return the picture of a card.

    Parameters
    ----------
    card : str
        The name of a card of the deck or of `MiniKoiKoi`: ``"Pine"`` is a plain card of the
        month, ``"Sake-a"`` a copy of the sake cup.

    Returns
    -------
    str
        An SVG, 60 wide and 96 high by default. Its title contains the name, the month, the
        flower and the kind of the card.

    Raises
    ------
    ValueError
        If there is no such card. The message lists similar names.

    Examples
    --------
    >>> svg = draw("Moon")
    >>> svg[svg.index("<title>") : svg.index("</title>")]
    '<title>Moon: August, Pampas, light'
    """
    name, month, kind = _find_card(card)
    scene = _SCENES[name if name in _SCENES else f"{name}-1"]
    index = (
        _fill(PAPER, "M1 1H14V23q0 3-3 3H1Z")
        + f'<text x="7.5" y="11.5" fill="{INK}" text-anchor="middle" '
        f'style="font:700 11px sans-serif">{month}</text>' + _MARKS[kind]
    )
    title = f"{name}: {CALENDAR[month - 1]}, {MONTHS[month - 1]}, {kind}"
    return _card_svg(title, TINTS[month - 1], scene + index)


def back() -> str:
    """Return the picture of a card face down, as an SVG.

    Examples
    --------
    >>> "<title>A card face down</title>" in back()
    True
    """
    # circles that overlap by a quarter: shippo, the seven treasures
    grid = [(x, y) for y in range(0, 97, 12) for x in range(6, 55, 12)]
    net = _line(GOLD, 0.8, _circles(8.5, *grid)) + _dots(GOLD, 1.8, *grid)
    crest = _dots(WINE, 29, (30, 48)) + _rings(PAPER, 9.6, 6, 5, (30, 48))
    heart = _dots(WINE, 6, (30, 48)) + _dots(GOLD, 3.4, (30, 48))
    return _card_svg("A card face down", WINE, net + crest + heart)


class Hand:
    """A row of cards: pictures on a page, names in a terminal; made by `show`."""

    def __init__(self, cards: Iterable[str], label: str = ""):
        self.cards, self.label = tuple(cards), label
        for card in self.cards:
            _find_card(card)

    def __repr__(self) -> str:
        names = ", ".join(self.cards) or "no cards"
        return f"{self.label}: {names}" if self.label else names

    def _repr_html_(self) -> str:
        caption = f"<figcaption>{escape(self.label)}</figcaption>" if self.label else ""
        pictures = "".join(draw(card) for card in self.cards) or "no cards"
        return (
            f'<figure class="cfr-cards" style="margin:.4em 0;text-align:left">{caption}'
            f'<div style="display:flex;flex-wrap:wrap;gap:6px">{pictures}</div></figure>'
        )


def show(cards: Iterable[str], label: str = "") -> Hand:
    """Return cards in a row, which a notebook draws.

    Parameters
    ----------
    cards : iterable of str
        Their names, as for `draw`.
    label : str
        The caption above them.

    Raises
    ------
    ValueError
        If there is no such card.

    Examples
    --------
    >>> show(["Moon", "Sake"], "Moon viewing")
    Moon viewing: Moon, Sake
    """
    return Hand(cards, label)
