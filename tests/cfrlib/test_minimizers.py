"""Rules of one's own: the numbers of the variants, Hedge in plain Python, files, and errors."""

import math
import pickle
from functools import partial

import numpy as np
import pytest

import cfrlib as cfr
from cfrlib.last_iterate import RegretMatching, lift
from cfrlib.plain import Family
from cfrlib.regret import discount
from cfrlib.solution import UPDATES

KUHN, THREE = cfr.games.KuhnPoker(), cfr.games.KuhnPoker(players=3)
LEDUC, RPS = cfr.games.LeducPoker(), cfr.games.RockPaperScissors(3)


def matching(alpha, beta, prediction=0.0):
    """Return regret matching with the discounts of `Variant`, as a rule."""

    def rule(R, sigma, r, memory, t):
        total, positive, other = 0.0, discount(t, alpha), discount(t, beta)
        for a in range(len(R)):
            R[a] += r[a]
            R[a] *= positive if R[a] > 0.0 else other
            sigma[a] = max(R[a] + prediction * r[a], 0.0)
            total += sigma[a]
        for a in range(len(R)):
            sigma[a] = sigma[a] / total if total > 0.0 else 1.0 / len(R)

    return rule


def hedge(R, sigma, r, memory, t):
    R += r
    sigma[:] = np.exp(0.8 * (R - R.max()))
    sigma /= sigma.sum()


def slowing(R, sigma, r, memory, t):
    """Hedge with a step size for each infoset, from the regrets so far."""
    top = R[0]
    for a in range(len(R)):
        R[a] += r[a]
        memory[0] += r[a] * r[a]
        top = max(top, R[a])
    total, eta = 0.0, 1.0 / math.sqrt(1.0 + memory[0])
    for a in range(len(R)):
        sigma[a] = math.exp(eta * (R[a] - top))
        total += sigma[a]
    for a in range(len(R)):
        sigma[a] /= total


HEDGE = cfr.RegretMinimizer("Hedge", hedge)
SLOWING = cfr.RegretMinimizer("Hedge, 1/√Σr²", slowing, gamma=1)
MATCHING = {
    name: cfr.RegretMinimizer(name, matching(v.alpha, v.beta, v.prediction), v.gamma)
    for name, v in cfr.VARIANTS.items()
    if name in ("cfr", "cfr+", "dcfr", "pcfr+")
}


@pytest.mark.slow
@pytest.mark.parametrize("update", UPDATES)
@pytest.mark.parametrize("game", [LEDUC, THREE], ids=["Leduc", "three"])
@pytest.mark.parametrize("name", MATCHING)
def test_a_rule_has_the_numbers_of_the_variant(name, game, update):
    mine, ours = (
        cfr.CFR(game, method, update=update, delay=3).run(40)
        for method in (MATCHING[name], name)
    )
    for table in ("regrets", "current", "average"):
        a, b = (getattr(run, table).values_by_sequence for run in (mine, ours))
        np.testing.assert_array_equal(a, b)


class PlainHedge(Family):
    """Hedge at every infoset, in plain Python."""

    def match(self, I):
        weights = [math.exp(0.8 * self.R[I, a]) for a in self.actions[I]]
        return {a: w / sum(weights) for a, w in zip(self.actions[I], weights, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("game", [KUHN, LEDUC], ids=["Kuhn", "Leduc"])
def test_hedge_equals_plain_python(game):
    run, plain = cfr.CFR(game, HEDGE).run(15), PlainHedge(game)
    average = plain.run(15)
    assert run.average.max_difference(average) < 1e-12
    assert run.current.max_difference(plain.sigma) < 1e-12
    assert run.current.max_difference(cfr.Strategy.uniform(game)) > 0.1
    assert pickle.loads(pickle.dumps(HEDGE)) == HEDGE  # after it ran


@pytest.mark.slow
@pytest.mark.parametrize("method", [HEDGE, SLOWING], ids=["Hedge", "slowing"])
def test_a_rule_solves_leduc_poker(method):
    solution = cfr.solve(LEDUC, method, until=0.1)
    assert solution.exploitability <= 0.1 < solution.trace.exploitability[0]
    assert solution.variant is method and solution.iterations < 5_000
    assert solution.guarantee.endswith("if the regret of this rule grows slower than t")


def keeping(R, sigma, r, memory, t):
    """Predictive RM+ whose regrets keep their norm."""
    norm = 0.0
    for a in range(len(R)):
        norm += R[a] * R[a]
        R[a] += r[a]
    lift(R, math.sqrt(norm), 2)
    total = 0.0
    for a in range(len(R)):
        sigma[a] = max(R[a] + r[a], 0.0)
        total += sigma[a]
    for a in range(len(R)):
        sigma[a] = sigma[a] / total if total > 0.0 else 1.0 / len(R)


@pytest.mark.slow
@pytest.mark.parametrize("alternating", [False, True])
def test_a_rule_that_lifts_equals_the_last_iterate_method(alternating):
    method = RegretMatching(prediction=1, keep_norm=True, alternating=alternating)
    theirs = cfr.solve(LEDUC, method, 30)
    mine = cfr.RegretMinimizer("norm-keeping PRM+", keeping, gamma=1)
    ours = cfr.solve(LEDUC, mine, 30, update=theirs.update)
    assert ours.current.max_difference(theirs.current) < 1e-9
    assert ours.strategy.max_difference(theirs.strategy) < 1e-9


# ---- the code that runs is the present code --------------------------------------------------

eta = 0.5
steps = np.array([0.5])


def global_step(R, sigma, r, memory, t):
    R += r
    sigma[:] = np.exp(eta * R)
    sigma /= sigma.sum()


def array_step(R, sigma, r, memory, t):
    R += r
    sigma[:] = np.exp(steps[0] * R)
    sigma /= sigma.sum()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("rule", "change"),
    [(global_step, lambda x: globals().update(eta=x)), (array_step, lambda x: steps.fill(x))],
)
def test_a_new_run_uses_the_present_numbers(rule, change):
    method = cfr.RegretMinimizer("of outer numbers", rule)

    def after_two():
        return cfr.CFR(RPS, method).run(2)

    first, code = after_two(), method.compiled
    assert method.compiled is code  # nothing changed
    change(3.0)
    second = after_two()
    assert first.current.max_difference(second.current) > 0.1
    first.run(1), second.run(1)  # each run keeps its numbers
    change(0.5)
    assert after_two().run(1).current == first.current


# ---- files -----------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_saved_run_needs_its_rule(tmp_path):
    run = cfr.CFR(KUHN, SLOWING).run(20)
    run.save(tmp_path / "run.npz")
    again = cfr.CFR.load(tmp_path / "run.npz", KUHN, SLOWING).run(20)
    assert again.average == run.run(20).average and again.current == run.current
    with pytest.raises(ValueError, match=r"files hold no functions; pass the cfrlib.RegretMin"):
        cfr.CFR.load(tmp_path / "run.npz", KUHN)
    with pytest.raises(ValueError, match=r"holds a run of .*Σr²'.*, not of .*'Hedge'"):
        cfr.CFR.load(tmp_path / "run.npz", KUHN, HEDGE)


@pytest.mark.slow
def test_a_saved_solution_has_name_and_weight(tmp_path):
    solution = cfr.solve(KUHN, SLOWING, 20)
    solution.save(tmp_path / "solution.npz")
    again = cfr.Solution.load(tmp_path / "solution.npz", KUHN)
    assert again.strategy == solution.strategy
    assert again.variant == cfr.RegretMinimizer(SLOWING.name, None, SLOWING.gamma)
    with pytest.raises(ValueError, match="files hold no functions"):
        cfr.CFR(KUHN, again.variant)


# ---- errors ----------------------------------------------------------------------------------


def wrong(value):
    """Return a rule that writes a value from iteration 3 on, where there are two actions."""

    def rule(R, sigma, r, memory, t):
        sigma[:] = 1.0 / len(R)
        if t >= 3 and len(R) == 2:
            sigma[0] = value

    return cfr.RegretMinimizer("wrong", rule)


@pytest.mark.slow
@pytest.mark.parametrize("value", [math.nan, -0.5, 0.5 + 1e-8, math.inf])
def test_a_row_that_is_no_distribution_is_an_error(value):
    last = cfr.compile(KUHN).infoset_label[5]  # player 0's last infoset is updated first
    message = rf"rule of 'wrong' wrote no .* at infoset .{last}. in iteration 3: \[.*sum to 1"
    run = cfr.CFR(KUHN, wrong(value)).run(2)
    with pytest.raises(ValueError, match=message):
        run.run(10)
    assert run.iterations == 2


def undefined(R, sigma, r, memory, t):
    sigma[:] = nothing  # noqa: F821


def returning(R, sigma, r, memory, t):
    R += r
    return np.exp(R) / np.exp(R).sum()


slowly = partial(pytest.param, marks=pytest.mark.slow)


@pytest.mark.parametrize(
    ("call", "match"),
    [
        slowly(lambda: cfr.CFR(KUHN, cfr.RegretMinimizer("x", returning)), (
            "'x' returns something; write the next strategy into sigma")),
        slowly(lambda: cfr.CFR(KUHN, cfr.RegretMinimizer("x", undefined)), "of 'x'.*'nothing"),
        (lambda: cfr.RegretMinimizer("x", lambda R: None), "function of five arguments, rule"),
        (lambda: cfr.RegretMinimizer("x", "hedge"), "function of five arguments.*'hedge'"),
        (lambda: cfr.RegretMinimizer("x", hedge, gamma=-1), "gamma must be .* at least 0"),
        (lambda: cfr.solve(KUHN, HEDGE, sampling="external"), "'Hedge' updates whole trees"),
    ],
)  # fmt: skip
def test_errors_say_what_to_do(call, match):
    with pytest.raises(ValueError, match=f"(?s){match}"):
        call()
