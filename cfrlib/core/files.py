"""Files: NumPy's npz with plain arrays and one JSON header, never a pickle.

Whatever cfrlib saves has the same form. ``header`` is a string of JSON: the ``format`` (what
it is, and the version of its layout), the ``game`` as it prints itself, a ``fingerprint`` of
the game, and what else belongs to that format. All other entries are arrays of float64 (only
the networks of a player may be shorter floats); one with a number for each sequence lists
player 0's empty sequence, then player 0's pairs (infoset, action), then player 1's empty
sequence, …; the header's ``infosets`` name them.

What is read is checked first: the header by the rules of its format, then the shape and the
type of each array before there is memory for it, then the numbers.
"""

from __future__ import annotations

import contextlib
import json
import math
import os
import re
import sys
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol, TypeAlias

import numpy as np

from cfrlib.core.schema import Array, Schema, exactly, text
from cfrlib.core.tree import Floats
from cfrlib.game import GameError, action_label

if sys.platform != "win32":
    import fcntl

PathLike: TypeAlias = str | os.PathLike[str]
Header: TypeAlias = dict[str, Any]
Arrays: TypeAlias = dict[str, Floats]
SHOWN = 80  # characters of a file that a message quotes


class Kind(NamedTuple):
    """A format: what a file of it holds.

    Attributes
    ----------
    format : str
        Its name and version, as the header says it.
    noun, writer : str
        What to call the content, and the method that writes it, in messages.
    header : mapping from str to rule
        What else the header holds.
    arrays : mapping from str to Array
    dtypes : tuple of str
        What the numbers may be.
    """

    format: str
    noun: str
    writer: str
    header: Schema
    arrays: Mapping[str, Array]
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


class Foreign(ValueError):
    """A file that is complete, but not of this game, or not of these features."""


# ---- writing ---------------------------------------------------------------------------------


def write(
    path: PathLike, kind: Kind, form: Described, header: Header, arrays: Mapping[str, Floats]
) -> None:
    """Write one file; a file already there is replaced only once the new one is complete."""
    whole = {
        "format": kind.format,
        "game": repr(form.tree.game),
        "fingerprint": form.fingerprint(),
        **header,
        "infosets": _infosets(form),
    }
    everything = {"header": np.array(json.dumps(whole)), **arrays}
    with replacing(path) as file:
        np.savez(file, **everything)  # type: ignore[arg-type]  # it reads allow_pickle into it


def _infosets(form: Described) -> list[list[Any]]:
    """Return player, label and actions of each infoset."""
    tree = form.tree
    names = zip(tree.infoset_player, tree.infoset_label, tree.infoset_actions, strict=True)
    return [[int(i), label, [action_label(a) for a in A]] for i, label, A in names]


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a file for writing that takes the place of `path` only once it is complete.

    What earlier ones left behind that were killed is removed.
    """
    target = Path(path)
    scratch = target.with_name(f"{target.name}.{os.getpid()}.part")
    _sweep(target)
    try:
        with _claimed(scratch) as file:
            yield file
            file.flush()
            if sys.platform != "win32":  # while nobody else takes it for left behind
                scratch.replace(target)
        if sys.platform == "win32":  # where an open file keeps its name
            scratch.replace(target)
    finally:
        scratch.unlink(missing_ok=True)


def _claimed(scratch: Path) -> BinaryIO:
    """Open a file that no other process will take for left behind, as long as it is open."""
    while True:
        file = scratch.open("wb")
        if sys.platform == "win32":  # an open file cannot be removed
            return file
        with contextlib.suppress(OSError):  # a disk without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if scratch.exists() and os.path.samestat(os.fstat(file.fileno()), scratch.stat()):
            return file
        file.close()  # it was swept away before it was locked


def _sweep(target: Path) -> None:
    """Remove unfinished files of processes that are no more."""
    ours = re.compile(re.escape(target.name) + r"\.\d+\.part")
    if not target.parent.is_dir():
        return
    for left in [path for path in target.parent.iterdir() if ours.fullmatch(path.name)]:
        with contextlib.suppress(OSError):  # somebody holds it, or was faster
            if sys.platform == "win32":
                left.unlink()
            else:
                with left.open("r+b") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    left.unlink()


# ---- reading ---------------------------------------------------------------------------------


class Saved:
    """A file whose header is as it must be; its arrays are read when they are asked for."""

    def __init__(self, path: PathLike, archive: zipfile.ZipFile, kind: Kind, form: Described):
        self.path, self._archive, self.kind = path, archive, kind
        self._sizes = {"sequences": form.num_sequences, "players": form.tree.game.num_players}
        self.header = header = _header(archive)
        if header.get("format") != kind.format:
            raise ValueError(f"format {_short(header.get('format'))}")
        if not text(header.get("fingerprint")):
            raise ValueError("no fingerprint")
        if header["fingerprint"] != form.fingerprint():
            raise Foreign(
                f"{path} holds a {kind.noun} of {str(header.get('game'))[:SHOWN]}, not of "
                f"{form.tree.game!r} (or the rules have changed since); load it with the game "
                "it was saved from"
            )
        rules = {
            "format": text, "game": text, "fingerprint": text,
            "infosets": exactly(_infosets(form)), **kind.header,
        }  # fmt: skip
        if other := header.keys() ^ rules.keys():
            raise ValueError(f"the header must have {sorted(rules)}: see {_short(min(other))}")
        for name, rule in rules.items():
            if not rule(header[name]):
                raise ValueError(f"{name} is {_short(header[name])}")
        names = {f"{name}.npy" for name in ("header", *kind.arrays)}
        if sorted(archive.namelist()) != sorted(names):
            raise ValueError(f"the arrays must be {sorted(names)}")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array, which the file is large enough for."""
        return _shape(self._archive, name)[0]

    def arrays(self, **sizes: int) -> Arrays:
        """Read the arrays; each is as large as its format says, where names stand for `sizes`.

        Raises
        ------
        ValueError
            If one has another shape or type, or holds numbers that no `save` writes.
        """
        sizes = {**self._sizes, **sizes}
        for name, array in self.kind.arrays.items():
            shape, dtype = _shape(self._archive, name)
            if dtype.name not in self.kind.dtypes:
                raise ValueError(f"{name} holds {_short(dtype.name)}")
            if not array.fits(shape, sizes):
                raise ValueError(f"{name} has shape {_short(shape)}")
        found = {name: _read(self._archive, name) for name in self.kind.arrays}
        for name, array in self.kind.arrays.items():
            if not array.rule(found[name]):
                raise ValueError(f"{name} holds numbers that it cannot hold")
        return found


@contextmanager
def reading(path: PathLike, kind: Kind, form: Described) -> Iterator[Saved]:
    """Open a file of that kind, of that game.

    Whatever goes wrong in the block is taken for damage to the file.

    Raises
    ------
    ValueError
        If the file is damaged, of another kind, or of another game.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield Saved(path, archive, kind, form)
    except (FileNotFoundError, Foreign, GameError):
        raise
    except Exception as error:  # what NumPy and zipfile raise on damage is no closed list
        raise _damaged(path, kind, error) from error


def kind_of(path: PathLike, *kinds: Kind) -> Kind:
    """Return which of these kinds a file is.

    Raises
    ------
    ValueError
        If it is none of them.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            found = _header(archive).get("format")
        for kind in kinds:
            if found == kind.format:
                return kind
        raise ValueError(f"format {_short(found)}")
    except FileNotFoundError:
        raise
    except Exception as error:
        raise _damaged(path, kinds[0], error) from error


def demand(possible: bool, what: str) -> None:
    """Raise a ValueError about a part of a file unless it is possible."""
    if not possible:
        raise ValueError(f"{what} cannot be")


def _damaged(path: PathLike, kind: Kind, error: Exception) -> ValueError:
    said = str(error) or type(error).__name__
    if len(said) > 3 * SHOWN:
        said = f"{said[: 3 * SHOWN]}…"
    return ValueError(
        f"{path} is not a complete file written by {kind.writer} ({said}); save the "
        f"{kind.noun} again"
    )


def _short(value: object) -> str:
    """Return a value as a message shows it."""
    shown = repr(value)
    return shown if len(shown) <= SHOWN else f"{shown[:SHOWN]}…"


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return shape and type of an array, without reading it; the file is as long as that."""
    info = archive.getinfo(f"{name}.npy")
    assert archive.filename is not None
    if not info.compress_size == info.file_size <= Path(archive.filename).stat().st_size:
        raise ValueError(f"{name} is compressed")
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        if version == (1, 0):
            shape, _, dtype = np.lib.format.read_array_header_1_0(member)
        else:
            shape, _, dtype = np.lib.format.read_array_header_2_0(member)
        size = math.prod(shape) * dtype.itemsize
        if (
            dtype.hasobject
            or min(shape, default=0) < 0
            or info.file_size - member.tell() != size
        ):
            raise ValueError(f"{name} is not as long as it says")
    return shape, dtype


def _read(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _header(archive: zipfile.ZipFile) -> Header:
    """Return what a header says."""
    shape, dtype = _shape(archive, "header")
    if shape or dtype.kind != "U":
        raise ValueError("no header")
    header = json.loads(str(_read(archive, "header")))
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header
