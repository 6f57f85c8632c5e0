"""Turns of Koi-Koi, as a table: a position, the cards played, and what follows."""

import pytest
from toy_games import mini

from cfrlib import Decision
from koikoi import KoiKoi, Yaku

# name | position | actions | what follows
# In a position the dealer is to play, the other player holds a Swallow, and a Willow-1 is the
# only card of the stock, unless it says otherwise. Missing parts are empty. BUTTERFLIES stands
# for the two animals that a Boar completes to 5 points.
TURNS = """
# a turn
no match             | hand=Crane Deer; field=Moon                          | Crane Willow-1      | field=Crane Moon Willow-1; pile=; player=1
one match            | hand=Crane Deer; field=Pine-1 Moon                   | Crane               | field=Moon; pile=Crane Pine-1; stage=draw
two: a choice        | hand=Crane Deer; field=Pine-1 Pine-poem Moon         | Crane               | actions=Pine-poem Pine-1
two: the first       | hand=Crane Deer; field=Pine-1 Pine-poem Moon         | Crane Pine-1        | field=Pine-poem Moon; pile=Crane Pine-1
two: the second      | hand=Crane Deer; field=Pine-1 Pine-poem Moon         | Crane Pine-poem     | field=Pine-1 Moon; pile=Crane Pine-poem
three: all of them   | hand=Crane Deer; field=Pine-1 Pine-2 Pine-poem Moon  | Crane               | field=Moon; pile=Crane Pine-1 Pine-2 Pine-poem
drawn: a choice      | hand=Boar Deer; field=Pine-1 Pine-poem; draw=Crane   | Boar Crane          | to move=0; actions=Pine-poem Pine-1
drawn: chosen        | hand=Boar Deer; field=Pine-1 Pine-poem; draw=Crane   | Boar Crane Pine-poem | field=Boar Pine-1; pile=Crane Pine-poem; player=1
drawn: all three     | hand=Boar Deer; field=Pine-1 Pine-2 Pine-poem; draw=Crane | Boar Crane     | pile=Crane Pine-1 Pine-2 Pine-poem
drawn: the card just played | hand=Crane Deer; field=Moon; draw=Pine-1      | Crane Pine-1        | field=Moon; pile=Crane Pine-1
# payment
five points          | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES    | Boar Willow-1       | actions=stop koi-koi
... stop             | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES    | Boar Willow-1 stop  | pays=5
seven points         | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES Geese Bridge | Boar Willow-1 stop | pays=14
... after two calls of the other | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES Geese Bridge; calls=0 2 | Boar Willow-1 stop | pays=28
... after an own call | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES; calls=1 0 | Boar Willow-1 stop | pays=5
the other, after the dealer's call | hand=Crane; other=Boar Iris-1; field=Clover-1; theirs=BUTTERFLIES; player=1; calls=1 0 | Boar Willow-1 stop | pays=-10
a yaku of one's own  | game=boar; hand=Boar Crane; field=Clover-1           | Boar Willow-1 stop  | pays=3
# calls
a call               | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES    | Boar Willow-1 koi-koi | stage=play; player=1; calls=1 0
no new points        | hand=Boar Crane Iris-1; other=Swallow Peony-1; field=Clover-1 Cherry-1; pile=BUTTERFLIES | Boar Willow-1 koi-koi Swallow Crane | stage=play
a chaff more         | hand=Crane Iris-1; other=Peony-1; field=Pine-1; pile=Boar Clover-1 BUTTERFLIES; calls=1 0; points=5 0; draw= | Crane | stage=play
an animal more       | hand=Crane Iris-1; field=Pine-1; pile=Boar Clover-1 BUTTERFLIES Geese; calls=1 0; points=5 0; draw= | Crane | stage=call
... on the last card | hand=Crane; field=Pine-1; pile=Boar Clover-1 BUTTERFLIES Geese; calls=1 0; points=5 0; draw= | Crane | pays=6
the last card stops  | hand=Boar; field=Clover-1; pile=BUTTERFLIES          | Boar Willow-1       | pays=5
a limit of one call  | game=limit 1; hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES | Boar Willow-1 | stage=call
... was used         | game=limit 1; hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES; calls=1 0 | Boar Willow-1 | stage=over; pays=5
... by the other     | game=limit 1; hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES; calls=0 1 | Boar Willow-1 | stage=over; pays=10
no calls             | game=limit 0; hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES | Boar Willow-1 | pays=5
# void rounds
no points            | hand=Crane; other=Moon                               | Crane Willow-1 Moon | pays=0
a call in vain       | hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES    | Boar Willow-1 koi-koi Swallow Crane | pays=0
6 for the dealer     | game=void 6; hand=Crane; other=Moon                  | Crane Willow-1 Moon | pays=6
... the other plays last | game=void 6; hand=; other=Moon; player=1         | Moon Willow-1       | pays=6
... after a call     | game=void 6; hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES | Boar Willow-1 koi-koi Swallow Crane | pays=6
... not after points | game=void 6; hand=Boar Crane; field=Clover-1; pile=BUTTERFLIES | Boar Willow-1 stop | pays=5
# small games
three matches        | game=K12; hand=Moon; other=Sake; field=Pampas Pampas Pampas Mum; draw= | Moon | field=Mum; pile=Moon Pampas Pampas Pampas
two identical matches | game=K9; hand=Moon; other=Sake; field=Pampas Pampas; draw=Sake | Moon | field=Pampas; pile=Moon Pampas; stage=draw
"""  # noqa: E501
GAMES = {
    "full": KoiKoi(),
    "boar": KoiKoi(yaku=[Yaku("boar", ("Boar",), 1, 3)]),
    "limit 0": KoiKoi(koi_limit=0),
    "limit 1": KoiKoi(koi_limit=1),
    "void 6": KoiKoi(void_points=6),
    "K9": mini("K9"),
    "K12": mini("K12"),
}
USUAL = {"game": "full", "other": "Swallow", "draw": "Willow-1", "player": "0"}
USUAL |= {"calls": "0 0", "points": "0 0", "field": "", "pile": "", "theirs": ""}
ROWS = [[cell.strip() for cell in row.split("|")] for row in TURNS.splitlines() if "|" in row]


def parts(cell):
    """Return the named parts of a cell."""
    named = (
        part.split("=") for part in cell.replace("BUTTERFLIES", "Deer Butterflies").split(";")
    )
    return {name.strip(): text.strip() for name, text in named}


def position(game, part):
    """Return the position that a row describes."""

    def cards(name):
        return game.add_cards((), *part[name].split())

    calls, points = (tuple(map(int, part[name].split())) for name in ("calls", "points"))
    return game.root()._replace(
        stage="play", player=int(part["player"]), calls=calls, points=points,
        hands=(cards("hand"), cards("other")), field=cards("field"),
        piles=(cards("pile"), cards("theirs")), stock=tuple(part["draw"].split()),
    )  # fmt: skip


def shown(game, at, name):
    """Return a property of a position, as a row writes it."""
    if name == "pays":
        mine, theirs = game.node(at).utilities
        assert mine == -theirs
        return f"{mine:g}"
    if name in ("field", "pile"):
        return set(at.field if name == "field" else at.piles[0])
    if name == "actions":
        return " ".join(game.node(at).actions)
    if name == "calls":
        return " ".join(map(str, at.calls))
    return str(game.node(at).player if name == "to move" else getattr(at, name))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_turn(row):
    part, follows = USUAL | parts(row[1]), parts(row[3])
    game = GAMES[part["game"]]
    at = position(game, part)
    for action in row[2].split():
        node = game.node(at)
        assert action in (node.actions if isinstance(node, Decision) else node.probabilities)
        at = game.step(at, action)
    for name, text in follows.items():
        expected = set(text.split()) if name in ("field", "pile") else text
        assert shown(game, at, name) == expected, name
    if "pile" in follows:
        assert len(at.piles[0]) == len(follows["pile"].split())
