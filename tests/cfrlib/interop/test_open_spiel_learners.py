"""Policies of OpenSpiel's learners, in several precisions, have the NashConv OpenSpiel gives.

Its learners in PyTorch need torch; double oracle, PSRO, JPSRO, and its linear programs need
cvxpy; the tabular multiagent Q-learner needs nashpy; its policy gradients in JAX need haiku.
"""

import importlib

import numpy as np
import pytest

import cfrlib as cfr

pyspiel = pytest.importorskip("pyspiel", reason="pip install open-spiel")
from open_spiel.python import policy as policies  # noqa: E402
from open_spiel.python import rl_agent_policy, rl_environment  # noqa: E402
from open_spiel.python.algorithms import exploitability  # noqa: E402

KUHN = cfr.from_open_spiel("kuhn_poker")
THEIRS = KUHN.pyspiel_game
UNIFORM = policies.UniformRandomPolicy(THEIRS)


def algorithm(name):
    """Import a module of learners."""
    return importlib.import_module(f"open_spiel.python.algorithms.{name}")


def after(solver, steps, method="evaluate_and_update_policy"):
    """Run a solver."""
    for _ in range(steps):
        getattr(solver, method)()
    return solver


def mmd(method):
    solver = algorithm("mmd_dilated").MMDDilatedEnt(THEIRS, 0.05)
    return getattr(after(solver, 20, "update_sequences"), method)()


def sampler(module, name):
    np.random.seed(0)  # noqa: NPY002, which OpenSpiel's samplers use
    solver = getattr(algorithm(module), name)(THEIRS)
    return after(solver, 50, "iteration").average_policy()


def agents(create):
    """Train agents that act in OpenSpiel's environment, and return their joint policy."""
    np.random.seed(0)  # noqa: NPY002
    env = rl_environment.Environment(THEIRS)
    size, n = env.observation_spec()["info_state"][0], env.action_spec()["num_actions"]
    pair = [create(player, size, n) for player in (0, 1)]
    for _ in range(20):
        time = env.reset()
        while not time.last():
            time = env.step([pair[time.observations["current_player"]].step(time).action])
        for agent in pair:
            agent.step(time)
    return rl_agent_policy.JointRLAgentPolicy(THEIRS, dict(enumerate(pair)), False)


def tabular_agents(module, name):
    return agents(lambda player, _, n: getattr(algorithm(module), name)(player, n))


def aggregate(joint):
    first = policies.FirstActionPolicy(THEIRS)
    if joint:
        kind = algorithm("policy_aggregator_joint").JointPolicyAggregator(THEIRS)
        return kind.aggregate([0, 1], [[UNIFORM, UNIFORM], [first, first]], [0.3, 0.7])
    kind = algorithm("policy_aggregator").PolicyAggregator(THEIRS)
    return kind.aggregate([0, 1], [[UNIFORM, first]] * 2, [[0.25, 0.75]] * 2)


def seat_of_best_response(kind):
    """Return a best response of player 0 and the policy it responds to, one for each seat."""
    module = algorithm("best_response")
    return [getattr(module, kind)(THEIRS, 0, UNIFORM), UNIFORM]


LEARNERS = {
    "CFR": lambda: after(algorithm("cfr").CFRSolver(THEIRS), 10).average_policy(),
    "CFR, current": lambda: after(algorithm("cfr").CFRSolver(THEIRS), 10).current_policy(),
    "CFR-BR": lambda: after(algorithm("cfr_br").CFRBRSolver(THEIRS), 10).average_policy(),
    "DCFR": lambda: after(algorithm("discounted_cfr").DCFRSolver(THEIRS), 9).average_policy(),
    "EFR": lambda: after(
        algorithm("efr").EFRSolver(THEIRS, deviations_name="blind cf"), 9
    ).average_policy(),
    "MCCFR, external": lambda: sampler("external_sampling_mccfr", "ExternalSamplingSolver"),
    "MCCFR, outcome": lambda: sampler("outcome_sampling_mccfr", "OutcomeSamplingSolver"),
    "XFP": lambda: after(
        algorithm("fictitious_play").XFPSolver(THEIRS), 5, "iteration"
    ).average_policy(),
    "MMD": lambda: mmd("get_policies"),
    "MMD, average": lambda: mmd("get_avg_policies"),
    "best response": lambda: seat_of_best_response("BestResponsePolicy"),
    "best response, C++": lambda: seat_of_best_response("CPPBestResponsePolicy"),
    "noisy": lambda: algorithm("noisy_policy").NoisyPolicy(UNIFORM, 0, 0.1, 0.2),
    "first action": lambda: policies.FirstActionPolicy(THEIRS),
    "aggregate (PSRO)": lambda: aggregate(joint=False),
    "joint aggregate (PSRO)": lambda: aggregate(joint=True),
    "Q-learning": lambda: tabular_agents("tabular_qlearner", "QLearner"),
    "WoLF-PHC": lambda: tabular_agents("wolf_phc", "WoLFPHC"),
    "function": lambda: aggregate(joint=True).action_probabilities,
    "to_dict": lambda: policies.TabularPolicy(THEIRS).to_dict(),
}


def deep_cfr():
    module = importlib.import_module("open_spiel.python.jax.deep_cfr")
    layers = {"policy_network_layers": (8,), "advantage_network_layers": (8,)}
    sizes = {"batch_size_advantage": 4, "batch_size_strategy": 4, "memory_capacity": 100}
    steps = {"policy_network_train_steps": 1, "advantage_network_train_steps": 1}
    solver = module.DeepCFRSolver(
        THEIRS, num_iterations=1, num_traversals=2, seed=1, **layers, **sizes, **steps
    )
    solver.solve()
    return solver


def neural_agents(module, name, **options):
    kind = getattr(importlib.import_module(f"open_spiel.python.jax.{module}"), name)
    options["hidden_layers_sizes"] = [8]
    return agents(lambda player, size, n: kind(player, size, n, **options))


def nfsp():
    options = {"reservoir_buffer_capacity": 50, "anticipatory_param": 0.5}
    return neural_agents("nfsp", "NFSP", allow_checkpointing=False, **options)


def jax_cfr():
    solver = importlib.import_module("open_spiel.python.jax.cfr.jax_cfr").JaxCFR(THEIRS)
    solver.multiple_steps(10)
    return solver.average_policy()


def rcfr():
    module = importlib.import_module("open_spiel.python.jax.rcfr")
    options = {"num_hidden_layers": 1, "num_hidden_units": 4, "num_hidden_factors": 1}
    models = [
        module.DeepRcfrModel(THEIRS, use_skip_connections=True, **options) for _ in (0, 1)
    ]
    solver = module.RcfrSolver(THEIRS, models)
    key = importlib.import_module("jax").random.key(0)
    solver.evaluate_and_update_policy(lambda model, data: None, key)
    return solver.average_policy()


NEURAL = {
    "Deep CFR": deep_cfr,
    "NFSP": nfsp,
    "RCFR": rcfr,
    "CFR in JAX": jax_cfr,
    "DQN": lambda: neural_agents("dqn", "DQN", replay_buffer_capacity=50, batch_size=4),
}


def every_row(policy):
    """Return the rows of a policy by information state string, as OpenSpiel gives them."""
    rows, stack = {}, [THEIRS.new_initial_state()]
    while stack:
        state = stack.pop()
        if not state.is_terminal() and not state.is_chance_node():
            text, player = state.information_state_string(), state.current_player()
            own = policy[player] if isinstance(policy, list) else policy
            ask = getattr(own, "action_probabilities", own)
            row = dict(own[text]) if isinstance(own, dict) else dict(ask(state))
            rows[text] = {a: float(row.get(a, 0)) for a in state.legal_actions()}
        stack.extend(state.child(a) for a in state.legal_actions())
    return rows


def nash_conv_in_open_spiel(rows):
    scaled = {
        text: [(a, p / sum(row.values())) for a, p in row.items()] for text, row in rows.items()
    }
    return pyspiel.nash_conv(THEIRS, pyspiel.TabularPolicy(scaled))


def agrees(policy):
    """Assert that a policy, and its numbers in any precision, have OpenSpiel's NashConv."""
    rows = every_row(policy)
    found = cfr.nash_conv(KUHN, cfr.from_open_spiel_policy(KUHN, policy))
    assert found == pytest.approx(nash_conv_in_open_spiel(rows), abs=1e-9)
    if isinstance(policy, policies.Policy):  # as it is, with sums of single precision
        theirs = float(exploitability.nash_conv(THEIRS, policy))
        assert found == pytest.approx(theirs, abs=1e-5)
    for dtype in (np.float64, np.float32, np.float16):
        exact = {
            text: {a: float(dtype(p)) for a, p in row.items()} for text, row in rows.items()
        }
        rounded = {t: [(a, dtype(p)) for a, p in row.items()] for t, row in rows.items()}
        found = cfr.nash_conv(KUHN, cfr.from_open_spiel_policy(KUHN, rounded))
        assert found == pytest.approx(nash_conv_in_open_spiel(exact), abs=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_tabular_learners(name):
    agrees(LEARNERS[name]())


@pytest.mark.slow
@pytest.mark.parametrize("name", NEURAL)
def test_neural_learners(name):
    agrees(NEURAL[name]())


CPP = {
    "CFR": lambda: pyspiel.CFRSolver(THEIRS),
    "CFR-BR": lambda: pyspiel.CFRBRSolver(THEIRS),
    "MCCFR, external": lambda: pyspiel.ExternalSamplingMCCFRSolver(THEIRS, 1),
    "MCCFR, outcome": lambda: pyspiel.OutcomeSamplingMCCFRSolver(THEIRS, 0.6, 1),
}


@pytest.mark.parametrize("name", CPP)
def test_solvers_in_cpp(name):
    step = "run_iteration" if "MCCFR" in name else "evaluate_and_update_policy"
    solver = after(CPP[name](), 20, step)  # owns its policies
    agrees(solver.average_policy())
    if name.startswith("CFR") and name != "CFR-BR":
        agrees(solver.tabular_average_policy())


@pytest.mark.parametrize(
    "kind",
    ["GetRandomPolicy", "GetFlatDirichletPolicy", "GetRandomDeterministicPolicy"],
)
def test_random_policies_in_cpp(kind):
    policy = getattr(pyspiel, kind)(THEIRS, 1)
    agrees(policy)
    agrees(pyspiel.PartialTabularPolicy(policy.policy_table()))
    best = pyspiel.TabularBestResponse(THEIRS, 1, policy)  # owns its policy
    agrees([policy, best.get_best_response_policy()])


def test_a_policy_of_one_seat_needs_another_for_the_other_seat():
    response, _ = seat_of_best_response("BestResponsePolicy")
    for given in (response, [response], [UNIFORM, response], [response] * 3):
        with pytest.raises(ValueError, match="one policy per player"):
            cfr.from_open_spiel_policy(KUHN, given)
