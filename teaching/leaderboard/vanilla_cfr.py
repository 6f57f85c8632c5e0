"""Vanilla CFR in plain Python, as in chapter 4."""

from cfrlib.plain import Vanilla


def learn(game):
    """Yield the average strategy after each iteration."""
    run = Vanilla(game)
    while True:
        yield run.run(1)
