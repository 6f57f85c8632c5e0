"""Docstring examples run, and every public name has one."""

import doctest
import importlib
import inspect
import pkgutil

import public
import pytest

import cfrbook
import cfrlib
import koikoi

MODULES = [
    name
    for shelf in (cfrlib, cfrbook, koikoi)
    for name in (
        shelf.__name__,
        *(m.name for m in pkgutil.walk_packages(shelf.__path__, f"{shelf.__name__}.")),
    )
]


SLOW = [n for n in MODULES if n.startswith(("cfrlib.deep", "koikoi", "cfrlib.montecarlo"))]


@pytest.mark.parametrize(
    "name",
    [pytest.param(n, marks=[pytest.mark.slow] if n in SLOW else []) for n in MODULES],
)
def test_examples(name):
    module = importlib.import_module(name)
    result = doctest.testmod(module, optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.failed == 0


def test_doctest_finds_the_examples():
    finder = doctest.DocTestFinder()
    counts = {
        name: sum(len(t.examples) for t in finder.find(importlib.import_module(name)))
        for name in MODULES
    }
    assert sum(counts.values()) >= 50
    for name in ("game", "core.tree", "strategy", "evaluate", "regret", "cfr", "games.kuhn"):
        assert counts[f"cfrlib.{name}"] > 0


# ---- public names ----------------------------------------------------------------------------


def examples(*things):
    """Return the code of the examples in these docstrings."""
    parse = doctest.DocTestParser().get_examples
    docs = [inspect.cleandoc(thing.__doc__ or "") for thing in things]
    return [example.source for doc in docs for example in parse(doc)]


@pytest.mark.parametrize("name", public.names())
def test_public_name_has_an_example(name):
    thing = public.resolve(name)
    assert examples(thing) or not callable(thing)  # data have no docstring of their own


@pytest.mark.parametrize(("owner", "method"), public.methods())
def test_documented_method_is_called_in_an_example(owner, method):
    cls = public.resolve(owner)
    things = [thing for base in cls.__mro__[:-1] for thing in (base, *vars(base).values())]
    documented = [t for t in things if isinstance(getattr(t, "__doc__", None), str)]
    assert any(f".{method}(" in source for source in examples(*documented))
