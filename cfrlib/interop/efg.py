"""Read and write Gambit's extensive game files (.efg).

A file is a header followed by the nodes of the tree in prefix order: a node, then the subtree
of its first action, then the subtree of its second, and so on. A small example::

    EFG 2 R "matching pennies" { "Alice" "Bob" }
    p "" 1 1 "hide" { "heads" "tails" } 0
    p "" 2 1 "guess" { "heads" "tails" } 0
    t "" 1 "found" { -1, 1 }
    t "" 2 "not found" { 1, -1 }
    p "" 2 1 0
    t "" 2
    t "" 1

Format: The Gambit Project, *The extensive game (.efg) file format*, Gambit manual.
"""

from __future__ import annotations

import math
import operator
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import lru_cache
from typing import NoReturn, TypeAlias, overload

from cfrlib.core.files import PathLike
from cfrlib.core.tree import CHANCE, TERMINAL, Tree, compile
from cfrlib.game import (
    Action,
    Chance,
    Decision,
    Game,
    GameError,
    History,
    Node,
    Terminal,
    action_label,
)
from cfrlib.interop.savefile import (
    SavedGame,
    Tokens,
    exact_ratio,
    labels,
    listed,
    number_text,
    opening,
    quoted,
    ratio_text,
    saved,
    unique,
)

KINDS = ("c", "p", "t")  # chance, personal, terminal
TOLERANCE = 1e-9  # for the sum of probabilities, as in compile

Payoffs: TypeAlias = tuple[Fraction, ...]


class EfgError(GameError):
    """Raised if a file is not in Gambit's .efg format; the message gives line and column.

    Examples
    --------
    >>> read_efg("EFG 2 R")
    Traceback (most recent call last):
    ...
    cfrlib.interop.efg.EfgError: text, line 1, column 8: expected the title of the game in
    quotes, found the end of the file
    """


class GambitGame(SavedGame):
    """Game read from an .efg file by :func:`read_efg`.

    Actions are the labels in the file. A history is represented by the index of its node in
    the order of the file; `root` and `step` return these indices.

    Attributes
    ----------
    title, comment : str
        From the header.
    player_names : tuple of str
        From the header, in order, made unique.
    """

    def __init__(
        self,
        title: str,
        comment: str,
        player_names: Sequence[str],
        nodes: Sequence[Node],
        children: dict[tuple[int, Action], int],
    ):
        super().__init__(title, comment, player_names)
        self._nodes, self._children = nodes, children

    def root(self) -> History:
        """Return the index of the root."""
        return 0

    def step(self, h: History, a: Action) -> History:
        """Return the index of the node after action `a`."""
        child = self._children.get((h, a))
        if child is None:
            node = self.node(h)
            legal = () if isinstance(node, Terminal) else node.actions
            raise ValueError(
                f"{self!r} has no action {a!r} at node {h}; the legal actions are "
                + (listed(map(str, legal)) or "none, the game is over")
            )
        return child

    def node(self, h: History) -> Node:
        """Return the node with index `h`."""
        return self._nodes[h]


def read_efg(source: PathLike) -> GambitGame:
    """Read a game from a file in Gambit's extensive-form format.

    As in Gambit, the payoffs along a path are added up. The arithmetic is exact and rounds
    once at the end, so a payoff is the float nearest to the value in the file. Labels are made
    unique: a repeated action becomes ``"a (2)"``, an unnamed action is labeled by its position;
    the label of an infoset is its name, or ``"player: name"`` if several infosets share the
    name, or ``"player: number"`` if it has none. Names may be left out, as OpenSpiel allows.

    Parameters
    ----------
    source : str or path
        A path, or the text itself: a string that starts with ``EFG`` (or the first word of
        another Gambit format) or has several lines.

    Returns
    -------
    GambitGame

    Raises
    ------
    EfgError
        If the text is not in the format; the message gives line and column, counted from 1,
        and what was expected there.
    OSError
        If the file cannot be read.

    Notes
    -----
    Format: Gambit manual, *The extensive game (.efg) file format*. As the manual requires, an
    infoset or outcome that is described again must be described in the same way. Unlike in
    Gambit, text after the tree is an error, and the probabilities of a chance event may sum
    to 1 ± 1e-9, as in every game of cfrlib.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> game = cfr.read_efg('''
    ... EFG 2 R "matching pennies" { "Alice" "Bob" }
    ... p "" 1 1 "hide" { "heads" "tails" } 0
    ... p "" 2 1 "guess" { "heads" "tails" } 0
    ... t "" 1 "found" { -1, 1 }
    ... t "" 2 "not found" { 1, -1 }
    ... p "" 2 1 0
    ... t "" 2
    ... t "" 1
    ... ''')
    >>> cfr.compile(game)
    GambitGame('matching pennies'): 2 players, zero-sum, 7 histories (4 terminal), 2 infosets
    >>> cfr.solve_lp(game).strategy["guess"]
    {'heads': 0.5, 'tails': 0.5}
    """
    return _EfgReader(source).game()


@dataclass(slots=True)
class _InfosetInFile:
    """Infoset or chance event as described in the file."""

    player: int  # or CHANCE
    number: int
    name: str
    labels: list[str]
    probabilities: list[Fraction]  # empty for a player
    actions: list[str] = field(init=False, compare=False)  # labels made unique

    def __post_init__(self) -> None:
        self.actions = unique(self.labels, [str(n + 1) for n in range(len(self.labels))])


@dataclass(slots=True)
class _OpenNode:
    """Node whose children have not all been read."""

    index: int
    at: int  # position in the text
    actions: list[str]
    total: Payoffs  # sum of the payoffs from the root to the node
    children: int = 0  # number of children read so far, including one in progress


class _EfgReader(Tokens):
    """Parser with an explicit stack of open nodes."""

    ERROR, FORMAT = EfgError, "EFG"

    def game(self) -> GambitGame:
        """Read the whole file."""
        title = self.header("2", "an extensive game file")
        self.players = self.player_names()
        self.zero: Payoffs = (Fraction(0),) * len(self.players)
        comment = self.comment()
        self.infosets: dict[tuple[int, int], _InfosetInFile] = {}
        self.outcomes: dict[int, tuple[str, Payoffs]] = {}
        self.nodes: list[_InfosetInFile | Terminal] = []
        self.children: dict[tuple[int, Action], int] = {}
        self.tree()
        if self.kind != "end":
            self.expected("the end of the file after the last node of the tree")
        made = self.infoset_nodes()
        nodes = [n if isinstance(n, Terminal) else made[n.player, n.number] for n in self.nodes]
        return GambitGame(title, comment, self.players, nodes, self.children)

    # ---- nodes ----

    def tree(self) -> None:
        """Read all nodes; the stack holds those with missing children, the deepest last."""
        stack: list[_OpenNode] = []
        while True:
            node = self.one_node(stack[-1] if stack else None)
            if node is not None:
                stack.append(node)
            while stack and stack[-1].children == len(stack[-1].actions):
                stack.pop()
            if not stack:
                return

    def one_node(self, parent: _OpenNode | None) -> _OpenNode | None:
        """Read one node; return it if it has children."""
        index, at, total = len(self.nodes), self.at, self.zero
        if self.kind != "word" or self.value not in KINDS:
            self.missing_node(parent)
        kind = self.value
        self.advance()
        if parent is not None:
            total = parent.total
            self.children[parent.index, parent.actions[parent.children]] = index
            parent.children += 1
        self.string("the name of the node in quotes (it may be empty)")
        infoset = None if kind == "t" else self.infoset(chance=kind == "c")
        outcome_at = self.at
        payoffs = self.outcome()
        try:
            if payoffs is not None:
                total = _add(total, payoffs)
            if infoset is None:
                self.nodes.append(Terminal(tuple(map(float, total))))
                return None
        except OverflowError:
            self.fail("the payoffs on this path sum to more than a float can hold", outcome_at)
        self.nodes.append(infoset)
        return _OpenNode(index, at, infoset.actions, total)

    def missing_node(self, parent: _OpenNode | None) -> NoReturn:
        """Raise an EfgError that describes the node expected here."""
        what = "a node: 'c', 'p' or 't'"
        if parent is not None:
            line = self.text.count("\n", 0, parent.at) + 1
            action = quoted(parent.actions[parent.children])
            what += f" (the node after {action} at the node of line {line})"
        self.expected(what)

    # ---- infosets ----

    def infoset(self, chance: bool) -> _InfosetInFile:
        """Read the infoset or chance event of a node and its description, if any."""
        player, whose = CHANCE, "the chance event"
        if not chance:
            at, whose = self.at, "the infoset"
            player = self.whole("the number of the player who moves (1, 2, …)") - 1
            if player not in range(len(self.players)):
                self.fail(f"there is no player {player + 1}, only 1 to {len(self.players)}", at)
        at = self.at
        number = self.whole(f"the number of {whose}")
        known = self.infosets.get((player, number))
        if self.kind == "text" or self.at_mark("{"):
            described = self.description(player, number, whose, known)
            if known is None:
                known = self.infosets[player, number] = described
            elif described != known:
                self.fail(
                    f"{whose} {number} was described differently before, with name "
                    f"{quoted(known.name)} and actions {listed(known.labels)}; leave the "
                    "description out or repeat it exactly",
                    at,
                )
        elif known is None:
            self.fail(
                f"{whose} {number} appears here for the first time, so its name and actions "
                f"must follow the number; found {self.found()}",
                at,
            )
        return known

    def description(
        self, player: int, number: int, whose: str, known: _InfosetInFile | None
    ) -> _InfosetInFile:
        """Read the name and actions of an infoset, for a chance event with probabilities."""
        name = known.name if known else ""  # OpenSpiel's files may leave the name out
        if self.kind == "text":
            name = self.string(f"the name of {whose}")
        brace = self.mark("{", f"'{{' and the actions after the name of {whose}")
        labels: list[str] = []
        probabilities: list[Fraction] = []
        while not labels or not self.at_mark("}"):
            more = " or '}'" if labels else ""
            labels.append(self.string(f"an action in quotes{more}"))
            if player == CHANCE:
                at = self.at
                p = self.number(f"a number, the probability of {quoted(labels[-1])}")
                if not 0 <= p <= 1:
                    self.fail(
                        f"the probability of {quoted(labels[-1])} is not between 0 and 1", at
                    )
                probabilities.append(p)
        self.advance()
        if player == CHANCE:
            total = math.fsum(map(float, probabilities))
            if abs(total - 1) > TOLERANCE:
                self.fail(f"the probabilities sum to {total:.10g}, expected 1", brace)
        return _InfosetInFile(player, number, name, labels, probabilities)

    def infoset_nodes(self) -> dict[tuple[int, int], Node]:
        """Return one node per infoset or chance event, with unique labels."""
        infosets = list(self.infosets.values())
        personal = [I for I in infosets if I.player != CHANCE]
        count = Counter(I.name for I in personal)
        labels = unique(
            [I.name if count[I.name] == 1 else "" for I in personal],
            [f"{self.players[I.player]}: {I.name or I.number}" for I in personal],
        )
        nodes: dict[tuple[int, int], Node] = {
            (I.player, I.number): Decision(I.player, label, tuple(I.actions))
            for I, label in zip(personal, labels, strict=True)
        }
        for I in infosets:
            if I.player == CHANCE:
                odds = map(float, I.probabilities)
                nodes[I.player, I.number] = Chance(dict(zip(I.actions, odds, strict=True)))
        return nodes

    # ---- outcomes ----

    def outcome(self) -> Payoffs | None:
        """Read an outcome number and its description, if any; return None for outcome 0."""
        at = self.at
        number = self.whole("the number of the outcome (0 for none)")
        known = self.outcomes.get(number)
        if self.kind == "text" or self.at_mark("{"):
            if number == 0:
                self.fail("outcome 0 is the empty one and has no name or payoffs", at)
            name = known[0] if known else ""  # OpenSpiel's files may leave the name out
            if self.kind == "text":
                name = self.string("the name of the outcome")
            self.mark("{", "'{' and the payoffs after the name of the outcome")
            described = name, self.payoffs(self.players)
            if known is None:
                known = self.outcomes[number] = described
            elif described != known:
                self.fail(
                    f"outcome {number} was described differently before, with name "
                    f"{quoted(known[0])} and payoffs {listed(map(str, known[1]))}; leave the "
                    "description out or repeat it exactly",
                    at,
                )
        elif number == 0:
            return None
        elif known is None:
            self.fail(
                f"outcome {number} appears here for the first time, so its name and payoffs "
                f"must follow the number; found {self.found()}",
                at,
            )
        return known[1]


def _add(total: Payoffs, payoffs: Payoffs) -> Payoffs:
    """Add payoffs exactly, but round when denominators, which may multiply, grow too large."""
    sums = map(operator.add, total, payoffs)
    return tuple(s if s.denominator < 2**64 else Fraction(float(s)) for s in sums)


@overload
def write_efg(game: Game, path: None = None, *, title: str | None = None) -> str: ...


@overload
def write_efg(game: Game, path: PathLike, *, title: str | None = None) -> None: ...


def write_efg(
    game: Game, path: PathLike | None = None, *, title: str | None = None
) -> str | None:
    """Write a game in Gambit's extensive-form format.

    Every number is written so that it reads back as the same float: as a ratio if one with a
    denominator up to a million rounds to the float (1/3 for 0.333…), otherwise as the shortest
    decimal. Gambit requires the probabilities at a chance node to sum to one exactly. If they
    do not, the exact values of the floats are written, the largest of them changed so little
    that they still round to the same floats. If no such change makes the sum one, the largest
    probability is changed by the whole difference (usually in the last digit, at most by
    1e-9), and only this one reads back as a different float.

    Parameters
    ----------
    game : Game
        Any game that compiles.
    path : str or path, optional
        The file to write. An existing file is replaced only when the new one is complete. By
        default the text is returned.
    title : str, optional
        Title in the header; by default that of the file the game was read from, or its repr.

    Returns
    -------
    str or None
        The text if `path` is None.

    Raises
    ------
    GameError
        If the game does not compile.

    Notes
    -----
    Format: Gambit manual, *The extensive game (.efg) file format*. :func:`read_efg` restores
    the game with equal infosets, actions (as strings), payoffs (−0 as 0) and probabilities.
    Gambit 16, Gambit 17 and OpenSpiel read the text as well, each with its own rules for
    labels. Therefore spaces are written only between words, one at a time; a double quote
    becomes a single one; a last or doubled backslash becomes a slash; and a label that is then
    empty or repeated is numbered. Letters beyond ASCII stay as they are. Gambit 17 reads them,
    Gambit 16.7 does not: for it, save the bytes ``text.encode("ascii", "backslashreplace")``.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> print(cfr.write_efg(cfr.games.MatrixGame([[1 / 3, 0]]), title="choose"))
    EFG 2 R "choose" { "player 0" "player 1" }
    p "" 1 1 "player 0" { "row 0" } 0
    p "" 2 1 "player 1" { "column 0" "column 1" } 0
    t "" 1 "" { 1/3, -1/3 }
    t "" 2 "" { 0, 0 }
    <BLANKLINE>
    """
    return saved(_Writer(compile(game)).text(title), path)


class _Writer:
    """Writer of a compiled game in prefix order."""

    def __init__(self, tree: Tree):
        self.tree = tree
        self.events = 0  # chance nodes written so far
        self.outcomes: dict[tuple[float, ...], int] = {}
        defaults = [f"infoset {I}" for I in range(tree.num_infosets)]
        names = labels(tree.infoset_label, defaults)
        self.infosets = [self.infoset(I, name) for I, name in enumerate(names)]

    def text(self, title: str | None) -> str:
        """Return the whole file."""
        game = self.tree.game
        header, comment = opening("EFG 2 R", game, title, [""] * game.num_players)
        lines, stack = [header, *comment], [0]
        while stack:
            k = stack.pop()
            children = self.children(k)
            lines.append(self.node(k, children))
            stack.extend(reversed(children))
        return "\n".join([*lines, ""])

    def children(self, k: int) -> range:
        """Return the indices of the children of history `k`."""
        first = int(self.tree.first_child[k])
        return range(first, first + int(self.tree.num_children[k]))

    def node(self, k: int, children: range) -> str:
        """Write history `k`, always in full, since some readers do not support references."""
        player = int(self.tree.player[k])
        if player == TERMINAL:
            return self.terminal(tuple(self.tree.utility[k].tolist()))
        if player != CHANCE:
            return self.infosets[int(self.tree.infoset[k])]
        self.events += 1
        texts = _distribution_texts(tuple(self.tree.probability[list(children)].tolist()))
        actions = _action_labels(self.tree.action[c] for c in children)
        outcomes = " ".join(f"{a} {p}" for a, p in zip(actions, texts, strict=True))
        return f'c "" {self.events} "" {{ {outcomes} }} 0'

    def infoset(self, I: int, label: str) -> str:
        """Write a node of infoset `I`."""
        player = int(self.tree.infoset_player[I])
        number = I - int(self.tree.player_infosets[player]) + 1
        actions = " ".join(_action_labels(self.tree.infoset_actions[I]))
        return f'p "" {player + 1} {number} {label} {{ {actions} }} 0'

    def terminal(self, payoffs: tuple[float, ...]) -> str:
        """Write a terminal node; equal payoffs share an outcome.

        If all are 0, Gambit would do without an outcome, but OpenSpiel would not.
        """
        number = self.outcomes.setdefault(payoffs, len(self.outcomes) + 1)
        return f't "" {number} "" {{ {", ".join(map(number_text, payoffs))} }}'


def _action_labels(actions: Iterable[Action]) -> list[str]:
    """Put the labels of a node's actions in quotes; an empty one becomes its position."""
    words = [action_label(a) for a in actions]
    return labels(words, [str(n + 1) for n in range(len(words))])


@lru_cache(maxsize=10_000)
def _distribution_texts(probabilities: tuple[float, ...]) -> tuple[str, ...]:
    """Write a distribution so that it sums to one exactly and reads back as the same floats."""
    exact = [exact_ratio(p) for p in probabilities]
    if sum(exact) != 1:
        exact = _normalized_text(probabilities)
    return tuple(ratio_text(p) for p in exact)


def _normalized_text(probabilities: Sequence[float]) -> list[Fraction]:
    """Return ratios that sum to one and, if possible, round to the given floats.

    Examples
    --------
    >>> sum(map(Fraction, (0.1, 0.9))), sum(_normalized_text((0.1, 0.9)))
    (Fraction(36028797018963969, 36028797018963968), Fraction(1, 1))
    """
    exact = [Fraction(p) for p in probabilities]
    missing = Fraction(1) - sum(exact)
    # a change of less than half the spacing to the next float is rounded away; the spacing
    # towards zero is the smaller one
    room = [Fraction(p - math.nextafter(p, 0)) * Fraction(511, 1024) for p in probabilities]
    largest_first = sorted(range(len(exact)), key=exact.__getitem__, reverse=True)
    if abs(missing) > sum(room):
        exact[largest_first[0]] += missing
        return exact
    for n in largest_first:
        change = max(-room[n], min(room[n], missing))
        exact[n] += change
        missing -= change
    return exact
