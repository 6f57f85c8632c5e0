"""The text of Gambit's savefiles: tokens, labels and numbers, read and written.

The formats .efg and .nfg share them. OpenSpiel reads both formats as well, but it knows no
escaped quotes, and no ratios of numbers beyond 32 bits; what is written here, Gambit 16,
Gambit 17 and OpenSpiel read alike, but Gambit 16 refuses labels with letters beyond ASCII.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import lru_cache
from pathlib import Path
from typing import ClassVar, NoReturn

from cfrlib.core.files import PathLike, replacing
from cfrlib.game import Game, GameError

MAX_PLAYERS = 127  # a compiled tree stores players as int8
MAX_EXPONENT = 999  # far beyond the range of floats, but cheap as an exact number
SMALL = 10**6  # a float that is a ratio with at most this denominator is written as the ratio
INT32 = 2**31  # OpenSpiel reads no larger numerators
FORMATS = {  # first words of Gambit's file formats, and how cfrlib reads them
    "EFG": "an extensive game: read it with cfrlib.read_efg",
    "NFG": "a normal-form game: read it with cfrlib.read_nfg",
    "#AGG": "an action-graph game, which cfrlib cannot read",
    "#BAGG": "a Bayesian action-graph game, which cfrlib cannot read",
}
SHORT = 40  # characters of a name quoted in an error message

TOKEN = re.compile(
    r"""
    \s*+ (?: "(?P<text> [^"\\]*+ (?: \\. [^"\\]*+ )*+ )"
           | (?P<mark> [{},])
           | (?P<word> [^\s{},"]++)
           | (?P<end> \Z)
           | (?P<open> ") )
    """,
    re.VERBOSE | re.DOTALL,
)
NUMBER = re.compile(
    r"[+-]?([0-9]+/[0-9]+|([0-9]+\.?[0-9]*|\.[0-9]+)([eE](?P<exponent>[+-]?[0-9]+))?)"
)
WHOLE = re.compile(r"[0-9]{1,18}")

CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]")


class SavedGame(Game):
    """Game read from a file.

    Attributes
    ----------
    title, comment : str
        From the header.
    player_names : tuple of str
        From the header, in order, made unique.
    """

    def __init__(self, title: str, comment: str, player_names: Sequence[str]):
        self.title, self.comment = title, comment
        self.player_names = tuple(player_names)
        self.num_players = len(self.player_names)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({quoted(self.title, 2 * SHORT)})"


class Tokens:
    """A text with one token of lookahead; a format adds its grammar.

    Parameters
    ----------
    source : str or path
        A path, or the text itself: a string that begins with the first word of a format, or
        has several lines.
    """

    ERROR: ClassVar[type[GameError]]
    FORMAT: ClassVar[str]  # the first word

    def __init__(self, source: PathLike):
        if isinstance(source, str) and re.match(
            rf"\ufeff?\s*({'|'.join(FORMATS)})(\s|\Z)|.*\n|\Z", source
        ):
            self.text, self.name = source, "text"
        else:
            path = Path(source)
            self.name = path.name
            if len(self.name) > SHORT:
                self.name = f"…{self.name[-SHORT // 2 :]}"
            self.text = self.decoded(path.read_bytes())
        self.text = self.text.removeprefix("\ufeff")
        self.stop = 0
        self.advance()

    def decoded(self, raw: bytes) -> str:
        """Decode a file as UTF-8; raise an error that gives the place of an invalid byte."""
        try:
            return raw.decode("utf-8")
        except UnicodeDecodeError as error:
            before = raw[: error.start].decode("utf-8")
            raise self.ERROR(
                f"{_place(self.name, before, len(before))}: byte {raw[error.start]:#04x} is "
                "not UTF-8; save the file as UTF-8"
            ) from None

    def advance(self) -> None:
        """Scan the next token; set its kind, value, start and stop."""
        found = TOKEN.match(self.text, self.stop)
        assert found is not None and found.lastgroup is not None  # TOKEN matches any character
        self.kind, self.value = found.lastgroup, found[found.lastgroup]
        self.stop = found.end()
        self.at = found.start(found.lastgroup) - (self.kind == "text")
        if self.kind == "open":
            self.fail('expected a closing " for this string, found the end of the file')

    def found(self) -> str:
        """Describe the current token, for an error message."""
        if self.kind == "end":
            return "the end of the file"
        return quoted(self.text[self.at : self.stop])

    def expected(self, what: str) -> NoReturn:
        """Raise an error that describes the token expected here."""
        self.fail(f"expected {what}, found {self.found()}")

    def fail(self, why: str, at: int | None = None) -> NoReturn:
        """Raise an error at a position, by default that of the current token."""
        where = _place(self.name, self.text, self.at if at is None else at)
        raise self.ERROR(f"{where}: {why}")

    def word(self, words: Iterable[str], what: str) -> str:
        """Read one of several unquoted words."""
        if self.kind != "word" or self.value not in words:
            self.expected(what)
        value = self.value
        self.advance()
        return value

    def string(self, what: str) -> str:
        """Read a quoted string, in which a backslash escapes a quote or a backslash."""
        if self.kind != "text":
            self.expected(what)
        value = self.value
        self.advance()
        return re.sub(r'\\(["\\])', r"\1", value) if "\\" in value else value

    def mark(self, mark: str, what: str) -> int:
        """Read a brace and return its position."""
        if self.kind != "mark" or self.value != mark:
            self.expected(what)
        at = self.at
        self.advance()
        return at

    def at_mark(self, mark: str) -> bool:
        """Return whether the current token is this brace or comma."""
        return self.kind == "mark" and self.value == mark

    def whole(self, what: str) -> int:
        """Read a nonnegative integer."""
        if self.kind != "word" or not WHOLE.fullmatch(self.value):
            self.expected(what)
        value = int(self.value)
        self.advance()
        return value

    def number(self, what: str) -> Fraction:
        """Read a number exactly: an integer, a ratio, or a decimal with or without exponent."""
        match = NUMBER.fullmatch(self.value) if self.kind == "word" else None
        if match is None:
            self.expected(what)
        try:
            if abs(int(match["exponent"] or 0)) > MAX_EXPONENT:
                raise OverflowError
            value = Fraction(self.value)
            float(value)
        except ZeroDivisionError:
            self.fail(f"{self.found()} divides by zero")
        except (OverflowError, ValueError):  # ValueError: more digits than Python parses
            self.fail(f"the number {self.found()} is out of range; a float must hold it")
        self.advance()
        return value

    # ---- what the formats share ----

    def header(self, version: str, what: str) -> str:
        """Read the first words and the title."""
        if self.kind == "word" and self.value in FORMATS and self.value != self.FORMAT:
            why = f"expected '{self.FORMAT}'; {self.value!r} begins {FORMATS[self.value]}"
            self.fail(why)
        self.word((self.FORMAT,), f"'{self.FORMAT}', the first word of {what}")
        self.word((version,), f"version {version} of the format")
        self.word(("R", "D"), "'R' (or the older 'D') after the version")
        return self.string("the title of the game in quotes")

    def player_names(self) -> list[str]:
        """Read the names of the players in braces, and make them unique."""
        self.mark("{", "'{' and the names of the players after the title")
        names = [self.string("the name of the first player in quotes")]
        while not self.at_mark("}"):
            names.append(self.string("another player's name in quotes or '}'"))
            if len(names) > MAX_PLAYERS:
                self.fail(f"cfrlib takes games of at most {MAX_PLAYERS} players")
        self.advance()
        return unique(names, [f"player {i}" for i in range(len(names))])

    def comment(self) -> str:
        """Read a comment, if there is one."""
        return self.string("a comment") if self.kind == "text" else ""

    def payoffs(self, players: Sequence[str]) -> tuple[Fraction, ...]:
        """Read one number per player, separated by commas or spaces, and a closing brace."""
        payoffs = []
        for player in players:
            payoffs.append(self.number(f"a number, the payoff of {quoted(player)}"))
            if self.at_mark(","):
                self.advance()
        self.mark("}", f"'}}' after {len(payoffs)} payoffs, one for each player")
        return tuple(payoffs)


def _place(name: str, text: str, at: int) -> str:
    """Return the file name, line and column of a character, for an error message."""
    line = text.count("\n", 0, at) + 1
    return f"{name}, line {line}, column {at - text.rfind(chr(10), 0, at)}"


def quoted(word: str, most: int = SHORT) -> str:
    """Quote a word, truncated to fit in an error message."""
    text = word[:most]
    while len(repr(text)) > most + 2:  # an unprintable character is escaped by up to ten
        text = text[:-1]
    return repr(text if text == word else text + "…")


def listed(words: Iterable[str]) -> str:
    """Quote the first three of several words."""
    listed = [quoted(word, SHORT // 2) for word in words]
    return ", ".join(listed[:3]) + (", …" if len(listed) > 3 else "")


def unique(given: Sequence[str], defaults: Sequence[str]) -> list[str]:
    """Make words unique and nonempty; the first occurrence keeps the word.

    Examples
    --------
    >>> unique(["a", "a", "", "a (2)"], ["1", "2", "3", "4"])
    ['a', 'a (3)', '3', 'a (2)']
    """
    taken, kept, last = set(given), set[str](), Counter[str]()
    words = []
    for word, default in zip(given, defaults, strict=True):
        if word == "" or word in kept:
            word = base = word or default
            while word in taken:
                last[base] = max(last[base], 1) + 1
                word = f"{base} ({last[base]})"
            taken.add(word)
        kept.add(word)
        words.append(word)
    return words


def quote(text: str) -> str:
    r"""Put a text in quotes so that every reader finds its end.

    OpenSpiel ends a text at the first quote; Gambit takes a backslash before a quote for an
    escape, and mishandles double ones. So a double quote is written as a single one, and a
    backslash as a slash if it comes last or before another one.

    Examples
    --------
    >>> print(quote(r'a "b" \c'), quote("x\\"))
    "a 'b' \c" "x/"
    """
    return '"' + re.sub(r"\\(?=\\|\Z)", "/", text.replace('"', "'")) + '"'


def labels(given: Iterable[str], defaults: Sequence[str]) -> list[str]:
    """Put labels in quotes, each different from the others, none of them empty.

    Gambit 17 takes no control characters, and no spaces but single ones between words.

    Examples
    --------
    >>> labels(["to  bet ", "to bet", ""], ["1", "2", "3"])
    ['"to bet"', '"to bet (2)"', '"3"']
    """
    words = [" ".join(CONTROL.sub(" ", label).split()) for label in given]
    return [f'"{word}"' for word in unique([quote(word)[1:-1] for word in words], defaults)]


def opening(
    first: str, game: Game, title: str | None, names: Sequence[str]
) -> tuple[str, list[str]]:
    """Return the header of a game's file, and the line of its comment if it has one.

    A game that was read from a file has its own title, comment and names of players; others
    have `names`, in which an empty one becomes the player's number.
    """
    given, comment = repr(game), ""
    if isinstance(game, SavedGame):
        given, comment, names = game.title, game.comment, game.player_names
    players = " ".join(labels(names, [f"player {i}" for i in range(game.num_players)]))
    header = f"{first} {quote(given if title is None else title)} {{ {players} }}"
    return header, [quote(comment)] if comment else []


def saved(text: str, path: PathLike | None) -> str | None:
    """Write a text to a file, or return it if there is no path."""
    if path is None:
        return text
    with replacing(path) as file:
        file.write(text.encode())
    return None


@lru_cache(maxsize=100_000)
def exact_ratio(x: float) -> Fraction:
    """Return the ratio to write for a float: one with a small denominator, else a decimal.

    Examples
    --------
    >>> exact_ratio(1 / 3), exact_ratio(0.123456789)
    (Fraction(1, 3), Fraction(123456789, 1000000000))
    """
    near = Fraction(x).limit_denominator(SMALL)
    return near if float(near) == x and abs(near.numerator) < INT32 else Fraction(repr(x))


def ratio_text(ratio: Fraction) -> str:
    """Write a ratio so that it reads back exactly; large ones must have a finite decimal.

    Examples
    --------
    >>> [ratio_text(Fraction(*pair)) for pair in ((-3, 2), (10**22, 1), (1, 10**7))]
    ['-3/2', '1e22', '1e-07']
    >>> ratio_text(Fraction(2**60 + 1, 2**61))
    '0.5000000000000000004336808689942017736029811203479766845703125'
    """
    if ratio.denominator <= SMALL and abs(ratio.numerator) < INT32:
        return str(ratio)
    decimal = repr(float(ratio)).replace("e+", "e")  # Gambit reads no plus
    if Fraction(decimal) == ratio:
        return decimal
    places = ratio.denominator.bit_length() - 1
    digits = str(abs(ratio.numerator) * 5**places).zfill(places + 1)
    return f"{'-' * (ratio < 0)}{digits[:-places]}.{digits[-places:]}"


def number_text(x: float) -> str:
    """Write a float so that it reads back as the same float."""
    return ratio_text(exact_ratio(x))
