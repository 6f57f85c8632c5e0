"""Tests of the ablation atlas: the script agrees with the solver, the file with the script."""

import csv
from itertools import product
from math import inf

import pytest
from atlas import atlas

import cfrlib as cfr

KUHN = cfr.games.KuhnPoker()
POINTS = [
    (inf, -inf, 1, "alternating"),
    (1.5, 0, 1 / 3, "simultaneous"),
    (1, 1, 0, "alternating"),
]


@pytest.mark.parametrize("point", POINTS, ids=str)
def test_each_weight_and_delay_equals_a_run_of_the_solver(point):
    *exponents, prediction, order = point
    found = atlas.measure(
        cfr.games.KuhnPoker(), *map(float, exponents), prediction, order, (10, 40)
    )
    for gamma, (delay, share) in product(atlas.GAMMA, zip(atlas.DELAYED, (0, 2), strict=True)):
        variant = cfr.Variant("", *exponents, gamma, prediction)
        for T, e in zip((10, 40), found[gamma, delay], strict=True):
            d = T // share if share else 0
            run = cfr.CFR(KUHN, variant, update=order, delay=d).run(T)
            assert e == pytest.approx(run.solution().exploitability, abs=1e-12)
            assert found["last", ""][(10, 40).index(T)] == pytest.approx(
                run.solution().current_exploitability, abs=1e-12
            )


def test_file_holds_the_whole_grid():
    with atlas.RESULTS.open() as file:
        header, *rows = csv.reader(file)
    assert tuple(header) == tuple(map(str, atlas.HEADER))
    runs = len(atlas.GAMES) * 4 * 4 * 3 * 2
    assert len({tuple(row[:7]) for row in rows}) == len(rows) == runs * 9
    assert all(float(e) >= atlas.FLOOR for row in rows for e in row[7:])


@pytest.mark.parametrize("point", POINTS, ids=str)
@pytest.mark.parametrize("name", atlas.GAMES)
def test_file_agrees_with_the_script_up_to_a_hundred_iterations(name, point):
    with atlas.RESULTS.open() as file:
        filed = {tuple(row[:7]): row[7:9] for row in csv.reader(file)}
    *exponents, prediction, order = point
    table = atlas.measure(atlas.GAMES[name](), *map(float, point[:3]), order, (10, 100))
    for key, found in table.items():
        label = (name, *map(str, exponents), str(round(prediction, 3)), order, *map(str, key))
        wanted = [float(e) for e in filed[label]]
        assert wanted == pytest.approx(found, rel=0.01, abs=1e-9)
