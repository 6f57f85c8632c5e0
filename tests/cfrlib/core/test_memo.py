"""What is remembered on an object is computed once for each combination of arguments."""

from cfrlib.core.memo import remembered
from cfrlib.games import KuhnPoker


def test_argument_left_out_counts_as_its_default():
    calls = []

    @remembered
    def double(owner, number, times=2, plus=0, /):
        calls.append((number, times, plus))
        return times * number + plus

    game = KuhnPoker()
    assert double(game, 3) == double(game, 3, 2) == double(game, 3, 2, 0) == 6
    assert calls == [(3, 2, 0)]
    assert double(game, 3, 3) == 9
    assert double(game, 3, 3, 1) == 10
    assert len(calls) == 3
