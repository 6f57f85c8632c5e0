"""Docstrings name the parameters and attributes that exist."""

import ast
import inspect
import re
from functools import cache
from pathlib import Path

import public
import pytest

import cfrlib

ROOT = Path(cfrlib.__file__).parents[1]
FILES = [
    path
    for shelf in ("cfrlib", "cfrbook", "koikoi", "experiments/koikoi_learners")
    for path in sorted((ROOT / shelf).rglob("*.py"))
]
SECTION = r"^{}\n-+\n(.*?)(?=^[A-Z][A-Za-z ]+\n-+$|\Z)"
ENTRY = re.compile(r"^(\*{0,2}\w+(?:, \*{0,2}\w+)*)(?: : .*)?$", re.MULTILINE)


def documented(docstring, section):
    """Return the names that a section of a docstring describes, or None without a section."""
    found = re.search(SECTION.format(section), docstring, re.MULTILINE | re.DOTALL)
    if not found:
        return None
    entries = ENTRY.findall(found[1])
    return {name.strip("* ") for entry in entries for name in entry.split(",")}


def arguments(function):
    given = function.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    return {argument.arg for argument in every if argument} - {"self", "cls"}


@cache
def classes():
    """Return all classes of the shelves by their names."""
    trees = [ast.parse(path.read_text("utf-8")) for path in FILES]
    return {n.name: n for tree in trees for n in tree.body if isinstance(n, ast.ClassDef)}


def attributes(cls):
    """Return the fields and methods of a class and its bases, and what methods set."""
    bases = [classes()[name] for name in map(ast.unparse, cls.bases) if name in classes()]
    if bases:
        own = ast.ClassDef(**{**vars(cls), "bases": []})
        return set.union(attributes(own), *map(attributes, bases))
    nodes = list(ast.walk(cls))
    fields = {n.target.id for n in cls.body if isinstance(n, ast.AnnAssign)}
    fields |= {ast.unparse(t) for n in cls.body if isinstance(n, ast.Assign) for t in n.targets}
    methods = {n.name for n in cls.body if isinstance(n, ast.FunctionDef)}
    own = (n for n in nodes if isinstance(n, ast.Attribute) and ast.unparse(n.value) == "self")
    return fields | methods | {n.attr for n in own}


def mismatches(path):
    """Yield what docstrings of a file describe and code lacks, and the other way round."""
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if not isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            continue
        text = inspect.cleandoc(ast.get_docstring(node) or "")
        function = node
        if isinstance(node, ast.ClassDef):
            named = documented(text, "Attributes") or set()
            if unknown := named - attributes(node):
                yield f"{node.name} has no attributes {sorted(unknown)}"
            makers = [n for n in node.body if getattr(n, "name", "") == "__init__"]
            function = makers[0] if makers else None
        named = documented(text, "Parameters")
        if function and named is not None and named != arguments(function):
            yield f"{node.name}: {sorted(named ^ arguments(function))}"


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_docstring_names_what_exists(path):
    assert not list(mismatches(path))


WRONG = '''
class Tables:
    """Tables.

    Attributes
    ----------
    memory : array
    """

    progress: float


def act(a, *, b=0):
    """Act.

    Parameters
    ----------
    a, c
        Both.
    """
'''


def test_a_renamed_field_is_found(tmp_path):
    (tmp_path / "wrong.py").write_text(WRONG)
    found = list(mismatches(tmp_path / "wrong.py"))
    assert found == ["Tables has no attributes ['memory']", "act: ['b', 'c']"]


# The arguments in their signatures are of any number, or those of another class.
OPEN = {
    "cfrlib.subgames.ValueFunction",
    "cfrbook.explore.Choice",
    "cfrbook.explore.Explorable",
    "cfrbook.explore.Frame",
    "cfrbook.explore.Mix",
    "cfrbook.explore.Program",
}


def test_signatures_on_the_page_of_names_show_arguments_and_defaults():
    """Formerly a `__new__` hid those of five classes behind `**options`."""
    entry = re.compile(r"^\.\. autoclass:: ([\w.]+)(?:\((.*)\))?$", re.MULTILINE)
    hidden = set()
    for path, given in entry.findall("".join(p.read_text("utf-8") for p in public.PAGES)):
        cls = public.resolve(path)
        if given:  # the page repeats them, because a metaclass hides them
            _, *own = inspect.signature(cls.__init__).parameters.values()
            assert given == ", ".join(str(p.replace(annotation=p.empty)) for p in own), path
        elif any(p.kind in {p.VAR_POSITIONAL, p.VAR_KEYWORD} for p in signature(cls)):
            hidden.add(path)
    assert hidden == OPEN


@pytest.mark.parametrize(
    "name", ["cfrlib.deep.Responder", "koikoi.learners.ApproximateBestResponse"]
)
def test_a_responder_has_the_defaults_of_its_base(name):
    """Defaults that depend on the player are None."""
    cls = public.resolve(name)
    own, base = (inspect.signature(c).parameters for c in (cls, cls.__base__))
    shared = [n for n in own if n in base and own[n].default is not None]
    assert {n: own[n].default for n in shared} == {n: base[n].default for n in shared}
    assert len(shared) >= 3


def signature(cls):
    """Return the parameters that Sphinx shows; some classes of extensions have no signature."""
    try:
        return inspect.signature(cls).parameters.values()
    except ValueError:
        return ()
