"""Every example in a docstring gives what it says."""

import doctest
import importlib
import pkgutil

import pytest

import cfrlib

MODULES = ["cfrlib", *(m.name for m in pkgutil.walk_packages(cfrlib.__path__, "cfrlib."))]


@pytest.mark.parametrize("name", MODULES)
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_the_examples_are_found():
    finder = doctest.DocTestFinder()
    counts = {
        name: sum(len(t.examples) for t in finder.find(importlib.import_module(name)))
        for name in MODULES
    }
    assert sum(counts.values()) >= 50
    for name in ("game", "tree", "strategy", "equilibrium", "regret", "cfr", "games.kuhn"):
        assert counts[f"cfrlib.{name}"] > 0
