"""Play our Koi-Koi players against somebody else's program: open-hanafuda-ai, Normal and Hard.

    python experiments/open_hanafuda.py                        everything that is missing
    python experiments/open_hanafuda.py --only "monte carlo"   the results of one player
    python experiments/open_hanafuda.py --minutes 20           stop after this time
    python experiments/open_hanafuda.py --source PATH          use a copy of the program

Needs git, a C compiler (`cc`, or the one in the environment variable CC) and, unless there is a
copy, the network: it clones https://github.com/suzukiplan/open-hanafuda-ai (MIT license) at a
fixed commit into an ignored folder, and compiles its engine and its players together with
open_hanafuda.c, which lets us take a seat. A checksum makes sure that the sources are the ones
that we measured. Reads the players that koikoi_train.py wrote. Writes
open_hanafuda.json after each chunk of matches; a second run continues where the first one
stopped.

The other program is the referee: it deals, decides what is legal, and scores. Our simulator
mirrors every round, and the script stops with a `MirrorError` where any card, point, call or
payoff differs. The rules are those of `KoiKoi`, with these differences:

1. Koi-koi is called at most once per round, by both players together: ``koi_limit=1`` here.
   The networks were trained without a limit; see `NetworkPlayer.under`.
2. A deal is repeated if a hand has four cards of a month or four pairs, as by default here; but
   also if the field has three cards of a month, or four pairs.
3. So three cards on the field never match one card, and taking three never happens.
4. The first dealer of a match is random. Then the winner of a round deals, and after a round
   that pays nothing the other player, as in `play_matches`.

And the players differ in what they know: Normal and Hard read the score of the match and the
number of rounds left, and in the last round call koi-koi whenever stopping does not win. Ours
maximize the points of a round. Normal also depends on its seat: it compares its score with that
of seat 0, even if it sits there itself.

Every match is played twice with the same deals and first dealer's seat, and with seats
exchanged. The deals are the same for all pairs of players.

- `won`: share of the matches of 12 rounds that the first-named player wins, where a tie counts
  half, ± 95 %, over the independent pairs of matches; `tied`: share of the ties.
- `points`: points per round, ± 95 %.
- `rounds_won`, `rounds_drawn`: shares of the rounds.
- `sums`: over the pairs, what the next chunk starts from: the number of pairs, twice the
  matches won and its square, the points and their square; of ties, rounds won and rounds drawn.
"""

import argparse
import ctypes
import json
import os
import subprocess
import time
from hashlib import sha256
from pathlib import Path

import flat_json
import numpy as np
from koikoi_judge import digits, load

from cfrlib.core.rng import new_key
from koikoi import DECK, KoiKoi
from koikoi.cards import KINDS
from koikoi.players import GreedyPlayer
from koikoi.rules import Position
from koikoi.simulator import CALL, MATCH, NO_CARD, OVER, PLAY, STAGES, Simulator, members

REPOSITORY = "https://github.com/suzukiplan/open-hanafuda-ai"
COMMIT = "475728d6b9ab39060ba35737f6c23aa603e2d05d"
SOURCES = "9be7ccfef03f49be"  # checksum of its sources
SHIM = Path(__file__).with_suffix(".c")
RESULTS = Path(__file__).with_suffix(".json")
# not in the repository
FOLDER = Path(__file__).with_name("koikoi_players") / "runs" / "open_hanafuda"
PROGRAMS = ("main.c", "replay.c")  # of the sources, those that have a `main`
RENAMED = {
    "turn_player.c": ("ai_drop", "ai_select"),
    "turn_enemy.c": ("ai_drop", "ai_select"),
    "sim_result.c": ("ai_koikoi",),
    "game.c": ("reset_cards", "show_result"),
}  # calls that the compiler renames, by file
LEVELS = {"Normal": 0, "Hard": 1}
OUTSIDE, FAILED, NOTHING, NO_CHOICE = -1, -2, -1, -3  # as in open_hanafuda.c
DEALT, ASK_PLAY, ASK_MATCH, ASK_CALL, ENDED = range(5)
STAGE = {ASK_PLAY: PLAY, ASK_MATCH: MATCH, ASK_CALL: CALL, ENDED: OVER}
ROUNDS = 12
PAIRS, CHUNK = 656, 16  # pairs of matches, and those between two writes
SEED = 0
game = KoiKoi(koi_limit=1)


class MirrorError(Exception):
    """Raised if our simulator and the other engine disagree."""


class Table(ctypes.Structure):
    """The state of the other engine."""

    _fields_ = (
        ("hands", ctypes.c_uint64 * 2),
        ("piles", ctypes.c_uint64 * 2),
        ("field", ctypes.c_uint64),
        ("stock", ctypes.c_int32 * 48),
        ("left", ctypes.c_int32),
        ("points", ctypes.c_int32 * 2),
        ("called", ctypes.c_int32 * 2),
        ("won", ctypes.c_int32 * 2),
        ("total", ctypes.c_int32 * 2),
        ("dealer", ctypes.c_int32),
        ("round", ctypes.c_int32),
    )


WATCHER = ctypes.CFUNCTYPE(*[ctypes.c_int] * 5, ctypes.POINTER(Table))


# ---- the other program -----------------------------------------------------------------------


def checksum(source):
    """Return the checksum of the C files of a copy of the program."""
    found = sha256()
    for path in sorted((source / "src").rglob("*.[ch]")):
        found.update(path.relative_to(source).as_posix().encode() + b"\0" + path.read_bytes())
    return found.hexdigest()[:16]


def obtain():
    """Clone the program, unless it is there; return its folder."""
    source = FOLDER / "source"
    if not source.exists():
        FOLDER.mkdir(parents=True, exist_ok=True)
        subprocess.run(["git", "clone", "--quiet", REPOSITORY, source], check=True)
    subprocess.run(["git", "-C", source, "checkout", "--quiet", COMMIT], check=True)
    return source


def build(source):
    """Compile the program with our seat; return the library."""
    if checksum(source) != SOURCES:
        raise SystemExit(f"{source} does not hold the sources of commit {COMMIT}")
    mark = sha256(SHIM.read_bytes() + SOURCES.encode()).hexdigest()[:16]
    library = FOLDER / mark / "open_hanafuda.so"
    if not library.exists():
        library.parent.mkdir(parents=True, exist_ok=True)
        compiler = os.environ.get("CC", "cc")
        flags = ["-std=c11", "-O2", "-fPIC", "-w", f"-I{source}/src", f"-I{source}/src/include"]
        objects = []
        for path in [*sorted((source / "src").glob("*.c")), SHIM]:
            if path.name in PROGRAMS:
                continue
            names = [f"-D{name}=watched_{name}" for name in RENAMED.get(path.name, ())]
            objects.append(library.with_name(f"{path.stem}.o"))
            command = [compiler, *flags, *names, "-c", path, "-o", objects[-1]]
            subprocess.run(command, check=True)
        made = library.with_suffix(".new")
        subprocess.run([compiler, "-shared", *objects, "-lm", "-o", made], check=True)
        made.rename(library)
    return ctypes.CDLL(str(library))


# ---- a match ---------------------------------------------------------------------------------


def our_numbers(simulator):
    """Return our number of each card of the engine, which sorts a month by the cards' value."""
    cards = sorted(DECK, key=lambda card: (card.month, -KINDS.index(card.kind), card.name))
    return [simulator.names.index(card.name) for card in cards]


class Referee:
    """Plays matches in the other engine, mirrored by our simulator."""

    def __init__(self, library):
        self.library, self.simulator = library, Simulator(game)
        self.ours = our_numbers(self.simulator)
        self.theirs = {c: n for n, c in enumerate(self.ours)}
        self.watcher = WATCHER(self._watch)

    def match(self, players, pair, turn):
        """Play match number `turn` of a pair; return points, rounds won and drawn of seat 0.

        A player is one of our players, or the name of a level.
        """
        self.players, self.failure = players, None
        self.keys = np.random.SeedSequence((SEED, pair, turn)).spawn(ROUNDS)
        self.paid = []
        deals = np.random.SeedSequence((SEED, pair)).generate_state(1 + ROUNDS)
        levels = [LEVELS[p] if isinstance(p, str) else OUTSIDE for p in players]
        done = self.library.play_match(
            *levels, ROUNDS, (ctypes.c_uint32 * len(deals))(*deals.tolist()), self.watcher
        )
        if self.failure:
            raise self.failure
        if not done or len(self.paid) != ROUNDS:
            raise MirrorError(f"a match ended after {len(self.paid)} rounds")
        return np.array(self.paid)

    def _watch(self, event, player, card, choice, table):
        """Mirror an event of the engine; return what the player to move does."""
        try:
            if event == DEALT:
                self._deal(table.contents)
                return NOTHING
            self._compare(event, player, card, table.contents)
            if event == ENDED:
                return NOTHING
            return self._act(event, player, choice)
        except BaseException as failure:  # must not pass through the C code
            self.failure = failure
            return FAILED

    def _deal(self, table):
        """Start the mirror of a round."""
        self.dealer = table.dealer
        order = (self.dealer, 1 - self.dealer)
        at = Position(
            stage="play",
            player=0,
            hands=tuple(self._names(table.hands[seat]) for seat in order),
            field=self._names(table.field),
            piles=((), ()),
            stock=(),
        )
        if game._begin(at).stage != "play":
            raise MirrorError(f"we would not play this deal: {at}")
        self.rounds = self.simulator.place([at])
        left = [self.ours[n] for n in table.stock[: table.left]]
        self.rounds.order[0, self.rounds.turned[0] :] = left
        self.key = new_key(self.keys[table.round])

    def _compare(self, event, player, card, table):
        """Raise an error if the engine and the mirror differ."""
        rounds, seats = self.rounds, (self.dealer, 1 - self.dealer)
        i = seats.index(player)
        stage, open_card = int(rounds.stage[0]), int(rounds.card[0])
        hands = [table.hands[seat] for seat in seats]
        if event == ASK_MATCH:
            hands[i] &= ~(1 << card)  # the engine may still hold the open card in the hand
        pairs = {
            "stage": (STAGE[event], stage),
            "card": (NO_CARD if card == NOTHING else self.ours[card], open_card),
            "field": (self._mask(table.field), int(rounds.field[0])),
            "hands": ([self._mask(hand) for hand in hands], rounds.hands[0].tolist()),
            "piles": (
                [self._mask(table.piles[seat]) for seat in seats], rounds.piles[0].tolist()
            ),
            "stock": (
                [self.ours[n] for n in table.stock[: table.left]],
                rounds.order[0, rounds.turned[0] :].tolist(),
            ),
        }  # fmt: skip
        if event == ENDED:
            won = table.won[self.dealer] - table.won[1 - self.dealer]
            pairs["paid"] = (won, int(rounds.paid[0]))
            self.paid.append(won if self.dealer == 0 else -won)
            total = table.total[0] - table.total[1]
            pairs["total"] = (total, sum(self.paid))
        else:
            pairs["player"] = (i, int(rounds.player[0]))
            called = [table.called[seat] for seat in seats]
            pairs["calls"] = (called, rounds.calls[0].tolist())
        if event in (ASK_PLAY, ASK_CALL):  # the engine also counts in the middle of a turn
            points = [table.points[seat] for seat in seats]
            pairs["points"] = (points, rounds.points[0].tolist())
        different = {what: pair for what, pair in pairs.items() if pair[0] != pair[1]}
        if different:
            raise MirrorError(f"at {STAGES[stage]}, theirs and ours: {different}")

    def _act(self, event, player, choice):
        """Apply an action in the mirror, asking our player for it if it is theirs."""
        ours = self.players[player]
        if choice == NO_CHOICE:
            raise MirrorError(f"{ours} chose no card, at {STAGES[self.rounds.stage[0]]}")
        if isinstance(ours, str):
            action = choice if event == ASK_CALL else self.ours[choice]
        else:
            row = np.zeros(1, np.int64)
            action = int(ours(self.simulator, self.rounds, row, self.key)[0])
        self.simulator.act(self.rounds, [0], [action])
        return action if event == ASK_CALL else self.theirs[action]

    def _mask(self, cards):
        return sum(1 << self.ours[n] for n in members(cards))

    def _names(self, cards):
        return tuple(self.simulator.names[self.ours[n]] for n in members(cards))


# ---- results ---------------------------------------------------------------------------------


def play_pair(referee, one, other, pair):
    """Play a match twice, with the seats exchanged; return the sums of this pair."""
    ahead = referee.match((one, other), pair, 0)
    behind = -referee.match((other, one), pair, 1)
    paid = np.stack([ahead, behind])
    ends = paid.sum(axis=1)
    twice, points = int((np.sign(ends) + 1).sum()), int(ends.sum())
    counts = [int(n) for n in ((ends == 0).sum(), (paid > 0).sum(), (paid == 0).sum())]
    return np.array([1, twice, twice**2, points, points**2, *counts])


def summary(sums):
    """Return the shares, the points a round, and their errors."""
    n, twice, twice_squared, points, points_squared, tied, rounds_won, rounds_drawn = sums

    def mean(total, squared, unit):
        spread = max(squared / n - (total / n) ** 2, 0) * n / (n - 1)
        return [digits(total / n / unit), digits(1.96 * (spread / n) ** 0.5 / unit)]

    rounds = 2 * ROUNDS * n
    return {
        "matches": 2 * n,
        "won": mean(twice, twice_squared, 4),
        "tied": digits(tied / (2 * n)),
        "points": mean(points, points_squared, 2 * ROUNDS),
        "rounds": rounds,
        "rounds_won": digits(rounds_won / rounds),
        "rounds_drawn": digits(rounds_drawn / rounds),
        "sums": sums,
    }


def pairings():
    """Return the players and the checksum of networks of each result, by name."""
    players = {"greedy, stops": (GreedyPlayer("stop"), "")}
    players["greedy, by rule"] = (GreedyPlayer("rule"), "")
    loaded, sums = load(KoiKoi())
    for name, player in loaded.items():
        players[name] = (player.under(game), sums[name])
    found = {"Hard - Normal": ("Hard", "Normal", "")}
    for level in LEVELS:
        for name, (player, mark) in players.items():
            found[f"{name} - {level}"] = (player, level, mark)
    return found


def load_results():
    """Return the results so far, or none if they have other settings."""
    settings = {
        "repository": REPOSITORY,
        "commit": COMMIT,
        "sources": SOURCES,
        "rules": repr(game),
        "rounds": ROUNDS,
        "seed": SEED,
    }
    known = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    if known.get("settings") != settings:
        known = {"settings": settings, "matches": {}}
    return known


def main():
    """Play all matches that are missing."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--only", default="", help="results whose names start like this")
    parser.add_argument("--minutes", type=float, default=np.inf, help="stop after this time")
    parser.add_argument("--source", type=Path, help="a copy of the program at the fixed commit")
    options = parser.parse_args()
    stop = time.monotonic() + 60 * options.minutes
    referee = Referee(build(options.source or obtain()))
    results = load_results()
    for name, (one, other, mark) in pairings().items():
        if not name.startswith(options.only):
            continue
        known = results["matches"].get(name, {})
        if known.get("networks") != mark:
            known = {"sums": [0] * 8, "seconds": 0}
        sums, seconds = np.array(known["sums"]), known["seconds"]
        while sums[0] < PAIRS and time.monotonic() < stop:
            began = time.process_time()
            for pair in range(sums[0], sums[0] + CHUNK):
                sums += play_pair(referee, one, other, pair)
            seconds = round(seconds + time.process_time() - began, 1)
            found = {"networks": mark, **summary(sums.tolist()), "seconds": seconds}
            results["matches"][name] = found
            flat_json.write(RESULTS, results, objects=True)
            print(name, found["matches"], "won", found["won"], found["points"], flush=True)


if __name__ == "__main__":
    main()
