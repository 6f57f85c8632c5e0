"""The bugs, one line each, and the solvers that have them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import inf
from typing import Any

from cfrbook.museum.mutant import mutant, replaced, source
from cfrlib import plain
from cfrlib.game import Game
from cfrlib.plain import SOLVERS, Plain

# Settings of the solver `Family` by the name that they have in `cfrlib.VARIANTS`
SETTINGS: Mapping[str, Mapping[str, float]] = {
    "cfr": {},
    "cfr+": {"alpha": inf, "beta": -inf, "gamma": 1},
    "linear": {"alpha": 1, "beta": 1, "gamma": 1},
    "dcfr": {"alpha": 1.5, "beta": 0, "gamma": 2},
    "pcfr+": {"alpha": inf, "beta": -inf, "gamma": 2, "prediction": 1},
}


@dataclass(frozen=True)
class Bug:
    """One wrong line in a solver of `cfrlib.plain`.

    Attributes
    ----------
    name : str
        A name for the bug.
    place : str
        The part of the algorithm that it is in: ``"utility"``, ``"regret"``, ``"average"``,
        ``"matching"``, ``"update"``, ``"discount"`` or ``"sampling"``.
    solver, variant : str
        The solver's class; and for the class ``"Family"`` the variant it runs.
    line, broken : str
        The line as it should be, and as it is with the bug, without indentation.
    symptom : str
        What one sees.
    source : str
        Where the book has the bug from; "planted" if nobody published it as far as we know.
    smallest : str
        The first game of `cfrbook.museum.LADDER` whose curve shows the bug, or "" if none does:
        exploitability ends up more than 1.5 times that of the right solver, or is undefined
        (experiments/bugs.py).
    caught_by : str
        The first check of `cfrbook.museum.CHECKS` that finds the bug.

    Examples
    --------
    >>> import cfrlib as cfr
    >>> from cfrbook.museum import find
    >>> bug = find("sign lost")
    >>> print(bug.line, "->", bug.broken)
    return sign * mean -> return mean
    >>> kuhn = cfr.games.KuhnPoker()
    >>> right, wrong = bug.right(kuhn).run(300), bug.wrong(kuhn).run(300)
    >>> round(cfr.exploitability(kuhn, right), 2), round(cfr.exploitability(kuhn, wrong), 2)
    (0.01, 0.33)
    >>> "return sign * mean" in bug.source_code(), bug.compiled().__name__
    (False, 'Vanilla')
    """

    name: str
    place: str
    solver: str
    line: str
    broken: str
    symptom: str
    source: str
    smallest: str = ""
    caught_by: str = ""
    variant: str = "cfr"

    @property
    def sampled(self) -> bool:
        """Whether the solver is a Monte Carlo one."""
        return issubclass(SOLVERS[self.solver], plain.SamplingSolver)

    def right(self, game: Game, **settings: Any) -> Plain:
        """Return a new solver without the bug; `settings` are a sampler's."""
        return SOLVERS[self.solver](game, **self._settings(), **settings)

    def wrong(self, game: Game, **settings: Any) -> Plain:
        """Return a new solver with the bug; `settings` are a sampler's."""
        return self.compiled()(game, **self._settings(), **settings)

    def source_code(self) -> str:
        """Return the program with the bug: the solver's class and the classes it inherits."""
        return replaced(SOLVERS[self.solver], {self.line: self.broken})

    def compiled(self) -> type[Plain]:
        """Return the class with the bug."""
        try:
            return mutant(SOLVERS[self.solver], {self.line: self.broken})
        except ValueError as error:
            what = str(error).removeprefix("cannot replace")
            raise ValueError(f"{self.name!r} replaces{what}") from None

    def _settings(self) -> dict[str, float]:
        return dict(SETTINGS[self.variant]) if self.solver == "Family" else {}


def program(solver: str) -> str:
    """Return the source of a solver's class, after those of the classes that it inherits.

    Examples
    --------
    >>> program("Outcome").count("class ")
    3
    """
    return source(SOLVERS[solver])


MEAN = "mean = sum(p * u[a] for a, p in row.items())"
BELOW = "return sum(f * self.walk((*h, a), pi0, pi1, pic * f) for a, f in outcomes)"
VANILLA_REGRET = "self.R[I, a] += others * (u[a] - mean)"
FAMILY_REGRET = "self.r[I, a] += others * (u[a] - mean)"
SAMPLED_REGRET = "self.R[node.infoset, a] += (u[a] - mean) / q"
STORED = "self.R[I, a] = total * self.factor(self.alpha if total > 0 else self.beta)"
AVERAGE = "return {I: shares({a: self.S[I, a] for a in A}) for I, A in self.actions.items()}"
MATCHED = "return shares({a: max(self.R[I, a], 0) for a in self.actions[I]})"
GUESS = "guess = {a: self.R[I, a] + self.prediction * self.r[I, a] for a in self.actions[I]}"
VALUE = "u[drawn] = self.walk((*h, drawn), i, q * p[drawn]) / p[drawn]"

BUGS = (
    # ---- utility ---------------------------------------------------------------------------
    Bug(
        name="sign lost",
        place="utility",
        solver="Vanilla",
        line="return sign * mean",
        broken="return mean",
        symptom=(
            "Exploitability stops far above 0 and the value is absurd: player 1's nodes return "
            "player 1's payoff."
        ),
        source="chapter 4; errata B9",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="one payoff for both",
        place="utility",
        solver="Family",
        line="return node.utilities[i]",
        broken="return node.utilities[0]",
        symptom="Player 1 works for player 0. The value is too good to be true.",
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="chance not weighted",
        place="utility",
        solver="Vanilla",
        line=BELOW,
        broken="return sum(self.walk((*h, a), pi0, pi1, pic * f) for a, f in outcomes)",
        symptom=(
            "None, as long as chance moves only once, at the beginning. With a public card, "
            "values before it are too large."
        ),
        source="planted",
        smallest="a late coin",
        caught_by="digits after a late coin",
    ),
    Bug(
        name="mean without the strategy",
        place="utility",
        solver="Vanilla",
        line=MEAN,
        broken="mean = sum(u.values()) / len(u)",
        symptom=("A plateau: actions are compared with uniform play instead of the strategy."),
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    # ---- regret ----------------------------------------------------------------------------
    Bug(
        name="own reach for the others'",
        place="regret",
        solver="Vanilla",
        line=VANILLA_REGRET,
        broken="self.R[I, a] += own * (u[a] - mean)",
        symptom="A plateau, at 1/6 on Kuhn poker: all hidden cards count the same.",
        source="chapter 4, exercise 4.3",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="no reach",
        place="regret",
        solver="Vanilla",
        line=VANILLA_REGRET,
        broken="self.R[I, a] += u[a] - mean",
        symptom="The same plateau.",
        source="chapter 4; errata B7, C6",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="full reach",
        place="regret",
        solver="Vanilla",
        line=VANILLA_REGRET,
        broken="self.R[I, a] += own * others * (u[a] - mean)",
        symptom=(
            "None on small games. On Leduc poker a plateau: players stop learning at infosets "
            "that they no longer reach."
        ),
        source="chapter 4, exercise 4.3",
        smallest="Leduc, 2 ranks",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="reach without chance",
        place="regret",
        solver="Vanilla",
        line=BELOW,
        broken="return sum(f * self.walk((*h, a), pi0, pi1, pic) for a, f in outcomes)",
        symptom=(
            "None where all deals are equally likely, as on Kuhn poker: all regrets have the "
            "same wrong factor."
        ),
        source="errata C5",
        smallest="a late coin",
        caught_by="digits after a late coin",
    ),
    Bug(
        name="others' reach not passed on",
        place="regret",
        solver="Family",
        line=("return sum(p * self.walk((*h, a), i, own, p * others) for a, p in row.items())"),
        broken="return sum(p * self.walk((*h, a), i, own, others) for a, p in row.items())",
        symptom="The plateau of “no reach”: the reach is always 1.",
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="regret overwritten",
        place="regret",
        solver="Vanilla",
        line=VANILLA_REGRET,
        broken="self.R[I, a] = others * (u[a] - mean)",
        symptom=(
            "Exploitability hardly falls: only the last history of the last iteration counts."
        ),
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="regrets not cleared",
        place="regret",
        solver="Family",
        line="self.r.clear()",
        broken="pass",
        symptom=("A plateau: the regrets of each iteration are added again in all later ones."),
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    # ---- average ---------------------------------------------------------------------------
    Bug(
        name="average without reach",
        place="average",
        solver="Vanilla",
        line="self.S[I, a] += own * p",
        broken="self.S[I, a] += p",
        symptom="None on games smaller than Leduc poker; there it looks like a slow method.",
        source="published code; chapters 4 and 5",
        smallest="Leduc poker",
        caught_by="digits on Kuhn poker",
    ),
    Bug(
        name="average by the others' reach",
        place="average",
        solver="Vanilla",
        line="self.S[I, a] += own * p",
        broken="self.S[I, a] += others * p",
        symptom="Exploitability falls on Kuhn poker and stops on Leduc poker.",
        source="published code; chapter 4, exercise 4.3; errata B22",
        smallest="dice, 2 faces",
        caught_by="digits on Kuhn poker",
    ),
    Bug(
        name="current strategy returned",
        place="average",
        solver="Vanilla",
        line=AVERAGE,
        broken="return {I: self.match(I) for I in self.actions}",
        symptom=(
            "The curve jumps up and down instead of falling. On dice it is lower than that of "
            "the average."
        ),
        source="chapters 1 and 3; errata B8",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="regrets returned",
        place="average",
        solver="Vanilla",
        line=AVERAGE,
        broken=(
            "return {I: shares({a: self.R[I, a] for a in A}) for I, A in self.actions.items()}"
        ),
        symptom=("Negative probabilities, or else a strategy that does not improve."),
        source="chapter 1; errata C3",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="average after the update",
        place="average",
        solver="Family",
        line="for a, p in self.sigma[I].items():",
        broken="for a, p in new.items():",
        symptom=(
            "None: the average starts one strategy later, and is better on every game "
            "of the museum."
        ),
        source="errata B14c",
        caught_by="digits on Kuhn poker",
    ),
    Bug(
        name="one weight for all",
        place="average",
        solver="Family",
        variant="dcfr",
        line="weight = self.t**self.gamma",
        broken="weight = (self.t / (self.t + 1)) ** self.gamma",
        symptom=(
            "Converges several times more slowly: the weights 1/4, 4/9, 9/16, … soon are all "
            "close to 1."
        ),
        source="published code; chapter 6",
        smallest="rock-paper-scissors",
        caught_by="digits on Kuhn poker",
    ),
    # ---- matching --------------------------------------------------------------------------
    Bug(
        name="no positive part",
        place="matching",
        solver="Vanilla",
        line=MATCHED,
        broken="return shares({a: self.R[I, a] for a in self.actions[I]})",
        symptom="Negative probabilities: the average is not a strategy.",
        source="errata C4",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="absolute regrets",
        place="matching",
        solver="Vanilla",
        line=MATCHED,
        broken="return shares({a: abs(self.R[I, a]) for a in self.actions[I]})",
        symptom="Does not converge at all: actions with very negative regrets are played as "
        "well.",
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="strategy read too early",
        place="matching",
        solver="Vanilla",
        line="row = self.sigma[I]",
        broken="row = self.match(I)",
        symptom=("Converges, sometimes faster, but the order of the deals changes the result."),
        source="chapter 4, exercise 4.4; errata D1",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="guess without news",
        place="matching",
        solver="Family",
        variant="pcfr+",
        line=GUESS,
        broken=(
            "guess = {a: self.R[I, a] + self.prediction * self.R[I, a] for a in "
            "self.actions[I]}"
        ),
        symptom=(
            "Predictive CFR+ becomes CFR+ with quadratic weights: far slower on the small "
            "games, but convincingly good on Leduc poker."
        ),
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="digits on Kuhn poker",
    ),
    # ---- update ----------------------------------------------------------------------------
    Bug(
        name="updates from a copy",
        place="update",
        solver="Family",
        variant="cfr+",
        line="self.seen = self.sigma",
        broken="self.seen = dict(self.sigma)",
        symptom="Converges slowly: simultaneous updates at the cost of alternating ones.",
        source="chapter 5; errata B13",
        smallest="rock-paper-scissors",
        caught_by="digits on Kuhn poker",
    ),
    Bug(
        name="players counted from 1",
        place="update",
        solver="Family",
        line="for i in range(self.game.num_players):",
        broken="for i in range(1, self.game.num_players):",
        symptom="Stops at once: player 0 never learns.",
        source="errata B24",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="unreached infosets skipped",
        place="update",
        solver="Family",
        line="new = self.match(I)",
        broken="new = self.match(I) if self.own[I] else self.sigma[I]",
        symptom=(
            "None on the small games. On Leduc poker a plateau: the strategy is frozen at "
            "infosets that the player no longer reaches."
        ),
        source="planted",
        smallest="Leduc, 2 ranks",
        caught_by="digits on Leduc poker",
    ),
    Bug(
        name="clock stands still",
        place="update",
        solver="Family",
        variant="dcfr",
        line="self.t += 1",
        broken="self.t = 1",
        symptom=(
            "A plateau: every iteration discounts like the first one, so the past is halved "
            "each time."
        ),
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="floor left out",
        place="update",
        solver="Family",
        variant="cfr+",
        line=STORED,
        broken="self.R[I, a] = total",
        symptom="Linear weights without RM+: far slower on poker, no slower on dice.",
        source="chapter 6; errata C8",
        smallest="rock-paper-scissors",
        caught_by="digits on Kuhn poker",
    ),
    Bug(
        name="floor where none belongs",
        place="update",
        solver="Family",
        line=STORED,
        broken="self.R[I, a] = max(total, 0)",
        symptom="Converges, and faster: this is RM+ under the name of regret matching.",
        source="errata A6",
        caught_by="digits on Kuhn poker",
    ),
    # ---- discount --------------------------------------------------------------------------
    Bug(
        name="clip per history",
        place="discount",
        solver="Family",
        variant="cfr+",
        line=FAMILY_REGRET,
        broken="self.store(I, a, others * (u[a] - mean))",
        symptom=(
            "Converges. On larger games it is slower, and the order of the deals "
            "changes the result."
        ),
        source="published code; chapter 5",
        smallest="Leduc, 2 ranks",
        caught_by="deals in reverse",
    ),
    Bug(
        name="discount per history",
        place="discount",
        solver="Family",
        variant="dcfr",
        line=FAMILY_REGRET,
        broken="self.store(I, a, others * (u[a] - mean))",
        symptom=(
            "Converges, and on the smallest games faster. The order of the deals "
            "changes the result."
        ),
        source="published code; chapter 6, exercise 6.6",
        smallest="Leduc, 2 ranks",
        caught_by="deals in reverse",
    ),
    Bug(
        name="sign of today",
        place="discount",
        solver="Family",
        variant="dcfr",
        line=STORED,
        broken="self.R[I, a] = total * self.factor(self.alpha if x > 0 else self.beta)",
        symptom="A plateau, low enough on Kuhn poker to pass for slow convergence.",
        source="published code; chapter 6",
        smallest="rock-paper-scissors",
        caught_by="value of Kuhn poker",
    ),
    Bug(
        name="only the new is discounted",
        place="discount",
        solver="Family",
        variant="dcfr",
        line=STORED,
        broken="self.R[I, a] += x * self.factor(self.alpha if total > 0 else self.beta)",
        symptom="Slow on Leduc poker: early regrets never fade.",
        source="planted",
        smallest="a late coin",
        caught_by="digits on Kuhn poker",
    ),
    Bug(
        name="both tables discounted",
        place="discount",
        solver="Family",
        variant="dcfr",
        line="for (I, a), x in self.r.items():",
        broken="for (I, a), x in (dict.fromkeys(self.R, 0.0) | self.r).items():",
        symptom="Converges, mostly faster: each regret is discounted twice an iteration.",
        source="chapter 6, exercise 6.6",
        smallest="Leduc poker",
        caught_by="digits on Kuhn poker",
    ),
    # ---- sampling --------------------------------------------------------------------------
    Bug(
        name="chance weighted again",
        place="sampling",
        solver="External",
        line="return self.walk((*h, card), i)",
        broken="return node.probabilities[card] * self.walk((*h, card), i)",
        symptom=(
            "None where all deals are equally likely. Elsewhere likely cards count too much: "
            "sampling has weighted them already."
        ),
        source="planted",
        smallest="a late coin",
        caught_by="expected regrets after a late coin",
    ),
    Bug(
        name="opponent weighted again",
        place="sampling",
        solver="External",
        line="return self.walk((*h, a), i)",
        broken="return row[a] * self.walk((*h, a), i)",
        symptom="A plateau: the opponent's likely actions count too much.",
        source="errata C7",
        smallest="rock-paper-scissors",
        caught_by="expected regrets on Kuhn poker",
    ),
    Bug(
        name="opponent sampled evenly",
        place="sampling",
        solver="External",
        line="a = self.draw(row)",
        broken="a = self.draw(dict.fromkeys(row, 1.0))",
        symptom="Players learn to beat an opponent who plays uniformly.",
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="threshold on Kuhn poker",
    ),
    Bug(
        name="regret of one action",
        place="sampling",
        solver="External",
        line="self.R[node.infoset, a] += u[a] - mean",
        broken="self.R[node.infoset, a] += (1 - row[a]) * u[a]",
        symptom="A plateau far above 0: each action is valued as if it were the only one.",
        source="chapter 7; errata B17",
        smallest="rock-paper-scissors",
        caught_by="threshold on Kuhn poker",
    ),
    Bug(
        name="average at one's own nodes",
        place="sampling",
        solver="External",
        line="if theirs:  # the average",
        broken="if not theirs:  # the average",
        symptom="None on Kuhn poker; too high on larger games.",
        source="chapter 7; errata B22",
        smallest="dice, 2 faces",
        caught_by="expected average on Kuhn poker",
    ),
    Bug(
        name="the same sample every time",
        place="sampling",
        solver="External",
        line="return self.rng.choices(list(row), list(row.values()))[0]",
        broken="return Random(0).choices(list(row), list(row.values()))[0]",
        symptom=(
            "Stops at once: each sample comes from a new generator with the same seed. No test "
            "of expectations can see it."
        ),
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="threshold on Kuhn poker",
    ),
    Bug(
        name="tail not divided",
        place="sampling",
        solver="Outcome",
        line=VALUE,
        broken="u[drawn] = self.walk((*h, drawn), i, q * p[drawn])",
        symptom="Too high: actions that are sampled often look better.",
        source="chapter 7",
        smallest="a late coin",
        caught_by="expected regrets on Kuhn poker",
    ),
    Bug(
        name="head not divided",
        place="sampling",
        solver="Outcome",
        line=SAMPLED_REGRET,
        broken="self.R[node.infoset, a] += u[a] - mean",
        symptom="None in any curve. Only an exact expectation shows the bias.",
        source="chapter 7",
        caught_by="expected regrets on Kuhn poker",
    ),
    Bug(
        name="only the sampled action",
        place="sampling",
        solver="Outcome",
        line="for a in row:",
        broken="for a in (drawn,):",
        symptom="Far too high: actions that are not sampled get no regret.",
        source="chapter 7; errata B18",
        smallest="rock-paper-scissors",
        caught_by="published threshold",
    ),
    Bug(
        name="each action its own share",
        place="sampling",
        solver="Outcome",
        line=SAMPLED_REGRET,
        broken="self.R[node.infoset, a] += ((a == drawn) - row[a]) * u[drawn] / q",
        symptom="Far too high: the regret of an action that is not sampled is weighted by its "
        "own probability.",
        source="chapter 7; errata B18",
        smallest="rock-paper-scissors",
        caught_by="published threshold",
    ),
    Bug(
        name="mean of the samples",
        place="sampling",
        solver="Outcome",
        line="mean = sum(x * u[a] for a, x in row.items())",
        broken="mean = sum(p[a] * u[a] for a in row)",
        symptom="Too high: actions are compared with the sampling policy instead of the "
        "strategy.",
        source="chapter 7",
        smallest="Kuhn poker",
        caught_by="published threshold",
    ),
    Bug(
        name="exploration in the average",
        place="sampling",
        solver="Outcome",
        line="self.collect(node, row, q)",
        broken="self.collect(node, p, q)",
        symptom="Stops at an equilibrium mixed with uniform play.",
        source="chapter 7",
        smallest="rock-paper-scissors",
        caught_by="published threshold",
    ),
    Bug(
        name="the opponent explores",
        place="sampling",
        solver="Outcome",
        line="return self.walk((*h, self.draw(row)), i, q)",
        broken="return self.walk((*h, self.draw(p)), i, q)",
        symptom="Too high: players learn to play against an opponent who explores.",
        source="planted",
        smallest="rock-paper-scissors",
        caught_by="published threshold",
    ),
    Bug(
        name="no exploration",
        place="sampling",
        solver="Outcome",
        line="p = {a: even + (1 - self.epsilon) * x for a, x in row.items()}",
        broken="p = row",
        symptom="An action that is no longer played is never sampled again.",
        source="chapter 7",
        smallest="rock-paper-scissors",
        caught_by="expected regrets on Kuhn poker",
    ),
    Bug(
        name="average not divided",
        place="sampling",
        solver="Outcome",
        line="self.collect(node, row, q)",
        broken="self.collect(node, row)",
        symptom="None in any curve. Only an exact expectation shows it.",
        source="chapter 7",
        caught_by="expected average on Kuhn poker",
    ),
    Bug(
        name="one draw for k",
        place="sampling",
        solver="Robust",
        line="share = len(tried) / len(row)",
        broken="share = 1 / len(row)",
        symptom="Too high on Kuhn poker, not on rock–paper–scissors.",
        source="chapter 8",
        smallest="Kuhn poker",
        caught_by="published threshold",
    ),
    Bug(
        name="head not divided, k actions",
        place="sampling",
        solver="Robust",
        line=SAMPLED_REGRET,
        broken="self.R[node.infoset, a] += u[a] - mean",
        symptom=("None on games in which no player chooses twice among more than k actions."),
        source="chapter 8",
        caught_by="expected regrets on dice",
    ),
    Bug(
        name="the total to each",
        place="sampling",
        solver="Robust",
        line=SAMPLED_REGRET,
        broken=(
            "self.R[node.infoset, a] += (mean / row[a] - mean if row[a] and a in "
            "tried else -mean) / q"
        ),
        symptom="Does not converge: bad actions are credited with the good ones sampled beside "
        "them.",
        source="errata B19, B20",
        smallest="rock-paper-scissors",
        caught_by="published threshold",
    ),
)
# ---- end of the list -------------------------------------------------------------------------


def find(name: str) -> Bug:
    """Return a bug by its name.

    Parameters
    ----------
    name : str
        The name, as `BUGS` has it.

    Raises
    ------
    ValueError
        If no bug has that name; the message lists the names.

    Examples
    --------
    >>> find("sign of today").variant
    'dcfr'
    """
    for bug in BUGS:
        if bug.name == name:
            return bug
    names = ", ".join(repr(bug.name) for bug in BUGS)
    raise ValueError(f"there is no bug {name!r}; the museum has {names}")
