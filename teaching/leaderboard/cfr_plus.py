"""CFR+ in plain Python, as in chapter 5."""

from math import inf

from cfrlib.plain import Family


def learn(game):
    """Yield the average strategy after each iteration."""
    run = Family(game, inf, -inf, 1)
    while True:
        yield run.run(1)
