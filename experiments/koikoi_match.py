"""What the score of a match changes about calling koi-koi.

    python experiments/koikoi_match.py [--only won]

Reads the player of deep Monte Carlo that koikoi_train.py wrote, and writes koikoi_match.json
after each result. A match has twelve rounds; the winner of a round deals the next one, and
after a tie the other player does. A full run takes ten minutes on one core.

- `worth`: probability of winning the match if both play for points, a tie as half, by the
  rounds that are left and the lead, for the dealer of the next round and for the other player;
  from the payoffs of self-play.
- `called`: share of the chances of self-play at which a player who plays for the match calls,
  by the rounds left after this one and the lead; `usual` is that of the network.
- `won`: share of matches won against the network, by ways to call; all play the network's
  cards. "last round" calls as the network does, but in the last round it stops if that wins the
  match and calls if stopping loses it. "deal" maximizes points with the next deal counted,
  "match" the probability of winning the match. `gain` is over the network in its place on the
  same deals; `points` are points a match. Each mean is followed by half of its 95 % interval
  over matches.

The outcome of a call is estimated from chances with nearly the same prediction of the network,
at each of which a call was forced in self-play (`Log` of koikoi_questions.py).
"""

from functools import cache
from pathlib import Path

import koikoi_questions
import numpy as np
from koikoi_judge import Results, digits, load
from koikoi_questions import deals_next, game, interval, logged, simulator

from koikoi.learners.network_player import payoff_scale, values_of
from koikoi.simulator import CALL, CALLING, STOPPING

RESULTS = Path(__file__).with_suffix(".json")
NAME = "monte carlo"
ROUNDS, MATCHES = 12, 40_000
MOST = 400  # of a lead; larger ones share a place
BINS = 100  # of predictions
LEFT, LEADS = (0, 1, 2, 5, 11), (-30, -20, -10, -5, 0, 5, 10, 20, 30)  # shown
SEED = 0


def place(lead):
    """Return the place of leads in a table of worths."""
    return np.clip(lead, -MOST, MOST).astype(int) + MOST


def worth_of_match(paid):
    """Return the probability of winning, by rounds left, lead + `MOST`, and dealing next.

    `paid` are payoffs to the dealer.
    """
    payoffs, number = np.unique(paid, return_counts=True)
    lead = np.arange(-MOST, MOST + 1)
    worth = np.empty((ROUNDS + 1, len(lead), 2))
    worth[0] = ((np.sign(lead) + 1) / 2)[:, None]
    for left in range(1, ROUNDS + 1):
        for deals in (0, 1):
            mine = payoffs if deals else -payoffs
            after, next_deals = place(lead[:, None] + mine), deals_next(mine, 1 - deals)
            worth[left, :, deals] = worth[left - 1][after, next_deals.astype(int)] @ (
                number / len(paid)
            )
    return worth


class Outcomes:
    """Payoffs of forced calls, in bins of equally many, by the network's prediction."""

    def __init__(self, predicted, paid):
        order = np.argsort(predicted, kind="stable")
        parts = np.array_split(order, BINS)
        self.edges = np.array([predicted[part[0]] for part in parts[1:]])
        self.payoffs = np.unique(paid)
        place = np.searchsorted(self.payoffs, paid)
        counts = [np.bincount(place[part], minlength=len(self.payoffs)) for part in parts]
        self.share = np.array([count / count.sum() for count in counts])

    def expected(self, worth, predicted, lead, seat):
        """Return the expected worth after a call; `worth` is by lead and dealing next."""
        after = place(lead[:, None] + self.payoffs)
        next_deals = deals_next(self.payoffs, seat[:, None]).astype(int)
        share = self.share[np.searchsorted(self.edges, predicted, side="right")]
        return (share * worth[after, next_deals]).sum(axis=1)


class Caller:
    """Plays a network's cards, and decides on calls with the score of the match in view.

    `decide` gets, for each chance to call: the number of rounds after this one, the lead before
    the round, the seat, the payoff of stopping, and the network's prediction for a call.
    """

    def __init__(self, player, decide):
        self.player, self.decide = player, decide
        self.left, self.lead = 0, None  # by round

    def __call__(self, simulator, rounds, rows, key):
        """Return an action for each of these rounds."""
        actions = self.player(simulator, rounds, rows, key)
        at = np.flatnonzero(rounds.stage[rows] == CALL)
        if len(at):
            asked, scale = rows[at], payoff_scale(game)
            after = self.player.network.describer.after(rounds, asked)
            values = values_of(self.player.network, self.player.networks[0], after, scale)
            first = after.start[:-1]
            told = self.lead[asked], rounds.player[asked], after.paid[first]
            called = self.decide(self.left, *told, scale * values[first + CALLING])
            actions[at] = np.where(called, CALLING, STOPPING)
        return actions


def by_points(left, lead, seat, stop, predicted):
    """Decide as the network does."""
    return predicted > stop


def in_last_round(left, lead, seat, stop, predicted):
    """In the last round, stop if that wins the match, and call if stopping loses it."""
    usual, final = predicted > stop, lead + stop
    return np.where((left > 0) | (final == 0), usual, final < 0)


def by_worth(worth, outcomes):
    """Return a decision by what the score is worth."""

    def decide(left, lead, seat, stop, predicted):
        here, stopped = worth[left], place(lead + stop)
        stopping = here[stopped, deals_next(stop, seat).astype(int)]
        return outcomes.expected(here, predicted, lead, seat) > stopping

    return decide


@cache
def matches(decide, player, number):
    """Return the final leads of the network with these calls over it with its own calls."""
    caller = Caller(player, decide)
    lead, dealer = np.zeros(number, np.int64), np.arange(number) % 2
    for n, source in enumerate(np.random.SeedSequence([SEED, 11]).spawn(ROUNDS)):
        caller.left, caller.lead = ROUNDS - 1 - n, lead
        paid = simulator.play_rounds((caller, player), number, source, dealer)[:, 0]
        lead, dealer = lead + paid, np.where(deals_next(paid, dealer), 0, 1)
    return lead


def gain(decide, player, number=MATCHES):
    """Return the matches won by a decision, and what it gains over the network's own."""
    own, other = (matches(one, player, number) for one in (decide, by_points))
    won, usual = ((np.sign(lead) + 1) / 2 for lead in (own, other))
    found = {"won": interval(won), "gain": interval(won - usual), "points": interval(own)}
    return found | {"matches": number}


def shown(worth):
    """Return the probability of winning by rounds left and lead, if one deals and if not."""
    at = place(np.array(LEADS))
    found = {
        str(left): [[digits(x) for x in worth[left, at, deals]] for deals in (1, 0)]
        for left in (1, 2, 3, 6, 12)
    }
    return {"leads": LEADS, "left": found}


def called(log, decide):
    """Return the share of chances at which a decision calls, by rounds left and lead."""
    told = log.who, log.stop, log.predicted

    def share(left, lead):
        return digits(decide(left, np.full(len(log.who), lead), *told).mean())

    found = {str(left): [share(left, lead) for lead in LEADS] for left in LEFT}
    usual = digits(log.called.mean())
    return {"leads": LEADS, "left": found, "usual": usual, "chances": len(log.who)}


def main():
    """Compute what is missing."""
    results = Results.asked_for(__doc__, RESULTS)
    players, sums = load(game)
    player, mark = players[NAME], sums[NAME]
    log = logged(NAME)
    worth, outcomes = worth_of_match(log.paid), Outcomes(log.predicted, log.call)
    deal = koikoi_questions.deal(log.paid)["value"][0]
    points = np.broadcast_to(np.arange(-MOST, MOST + 1.0)[:, None], worth.shape)
    ways = {
        "last round": in_last_round,
        "deal": by_worth(points + deal * np.arange(2), outcomes),
        "match": by_worth(worth, outcomes),
    }
    results.once("worth", NAME, mark, shown, worth)
    results.once("called", NAME, mark, called, log, ways["match"])
    for name, decide in ways.items():
        results.once("won", name, mark, gain, decide, player)


if __name__ == "__main__":
    main()
