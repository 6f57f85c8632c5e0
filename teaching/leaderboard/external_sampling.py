"""External sampling in plain Python, as in chapter 7."""

from cfrlib.plain import ExternalSamplingSolver


def learn(game):
    """Yield the average strategy after each hundred iterations."""
    run = ExternalSamplingSolver(game, seed=1)
    while True:
        yield run.run(100)
