"""Files: NumPy's npz with plain arrays and one JSON header, never a pickle.

Whatever cfrlib saves has the same form. ``header`` is a string of JSON: the ``format`` (what
it is, and the version of its layout), the ``game`` as it prints itself, a ``fingerprint`` of
the game, and what else belongs to that format. All other entries are arrays of float64 (only
the networks of a player may be shorter floats); one with a number for each sequence lists
player 0's empty sequence, then player 0's pairs (infoset, action), then player 1's empty
sequence, …; the header's ``infosets`` name them.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

import numpy as np

from cfrlib.game import action_label
from cfrlib.tree import Floats

PathLike: TypeAlias = str | os.PathLike[str]
Header: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Floats]


class Kind(NamedTuple):
    """A format: what a file of it holds.

    Attributes
    ----------
    format : str
        Its name and version, as the header says it.
    noun, writer : str
        What to call the content, and the method that writes it, in messages.
    vectors, tables : tuple of str
        Names of the arrays: with a number for each sequence, and of any other shape.
    dtypes : tuple of str
        What the numbers may be.
    """

    format: str
    noun: str
    writer: str
    vectors: tuple[str, ...]
    tables: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ("float64",)


class Described(Protocol):
    """A game as its files describe it."""

    @property
    def tree(self) -> Any:
        """Something with a game, and with the attributes of a Tree that describe infosets."""

    @property
    def num_sequences(self) -> int:
        """The length of a vector by sequence."""

    def fingerprint(self) -> str:
        """Return a digest of the rules, as far as they are known."""


def write(
    path: PathLike, kind: Kind, form: Described, header: Header, arrays: Mapping[str, Floats]
) -> None:
    """Write one file; a file already there is replaced only once the new one is complete."""
    tree = form.tree
    names = zip(tree.infoset_player, tree.infoset_label, tree.infoset_actions, strict=True)
    whole = {
        "format": kind.format,
        "game": repr(tree.game),
        "fingerprint": form.fingerprint(),
        **header,
        "infosets": [[int(i), label, [action_label(a) for a in A]] for i, label, A in names],
    }
    everything = {"header": np.array(json.dumps(whole)), **arrays}
    with replacing(path) as file:
        np.savez(file, **everything)  # type: ignore[arg-type]  # it reads allow_pickle into it


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` only once it is complete."""
    target = Path(path)
    scratch = target.with_name(f"{target.name}.{os.getpid()}.part")
    try:
        with scratch.open("wb") as file:
            yield file
        scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def format_of(path: PathLike) -> str:
    """Return what a file says it is; empty if it does not."""
    try:
        with np.load(path, allow_pickle=False) as file:
            return str(json.loads(str(file["header"]))["format"])
    except FileNotFoundError:
        raise
    except Exception:  # what NumPy and zipfile raise on damage is no closed list
        return ""


def read(
    path: PathLike,
    kind: Kind,
    form: Described,
    check: Callable[[Header, Arrays], None],
) -> tuple[Header, Arrays]:
    """Read one file of that kind, of that game.

    Parameters
    ----------
    check : function
        Raises an error if the content breaks a rule of the format.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or of another game.
    """
    try:
        with np.load(path, allow_pickle=False) as file:
            header: Header = json.loads(str(file["header"]))
            arrays: Arrays = {name: file[name] for name in kind.vectors + kind.tables}
        if header["format"] != kind.format:
            raise ValueError(f"format {header['format']!r}")
        if any(array.dtype.name not in kind.dtypes for array in arrays.values()):
            raise ValueError("not numbers")
        mine = str(header["fingerprint"]) == form.fingerprint()
        if mine:
            if any(arrays[name].shape != (form.num_sequences,) for name in kind.vectors):
                raise ValueError("arrays of another size")
            check(header, arrays)
    except FileNotFoundError:
        raise
    except Exception as error:  # what NumPy and zipfile raise on damage is no closed list
        raise ValueError(
            f"{path} is not a complete file written by {kind.writer} ({error}); save the "
            f"{kind.noun} again"
        ) from error
    if not mine:
        raise ValueError(
            f"{path} holds a {kind.noun} of {header['game']}, not of {form.tree.game!r} "
            "(or the rules have changed since); load it with the game it was saved from"
        )
    return header, arrays
