"""Files: NumPy npz archives of plain arrays and one JSON header, without pickles.

Everything that cfrlib saves has this form. ``header`` is a JSON string: the ``format`` (a name
and a version), the ``repr`` of the ``game``, a ``fingerprint`` of its rules, the ``infosets``
(player, label and actions of each), and the fields of that format. All other entries are
arrays of float64; only the networks of a player may be stored as shorter floats. A vector over
sequences lists player 0's empty sequence, then player 0's pairs (infoset, action) in the order
of ``infosets``, then player 1's empty sequence, and so on.

Files are untrusted. Before an array is allocated, the header must satisfy the schema of its
format, and the shape and dtype of the array must match it; the numbers are checked last.
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
MAX_QUOTED = 80  # characters that an error message quotes from a file


class Format(NamedTuple):
    """The schema of a file.

    Attributes
    ----------
    format : str
        Name and version, as in the header.
    noun, writer : str
        The content, and the method that writes it, as error messages call them.
    header : mapping from str to rule
        The fields of the header besides those of all formats.
    arrays : mapping from str to Array
        The schema of each array.
    dtypes : tuple of str
        The permitted dtypes of all arrays.
    added : mapping from str to value
        Fields that older files lack, with the values they had.
    """

    format: str
    noun: str
    writer: str
    header: Schema
    arrays: Mapping[str, Array]
    dtypes: tuple[str, ...] = ("float64",)
    added: Mapping[str, Any] = {}


class Described(Protocol):
    """The part of a sequence form that a file's header describes."""

    @property
    def tree(self) -> Any:
        """An object with a game, and with those attributes of Tree that describe infosets."""

    @property
    def num_sequences(self) -> int:
        """The length of a vector over sequences."""

    def fingerprint(self) -> str:
        """Return a digest of the rules, as far as they are known."""


class Mismatch(ValueError):
    """A complete file that belongs to another game, or to other features."""


# ---- writing ---------------------------------------------------------------------------------


def write(
    path: PathLike, kind: Format, form: Described, header: Header, arrays: Mapping[str, Floats]
) -> None:
    """Write a file; an existing one is replaced only once the new one is complete."""
    full_header = {
        "format": kind.format,
        "game": repr(form.tree.game),
        "fingerprint": form.fingerprint(),
        **header,
        "infosets": _infosets(form),
    }
    entries = {"header": np.array(json.dumps(full_header)), **arrays}
    with replacing(path) as file:
        np.savez(file, **entries)  # type: ignore[arg-type]  # mypy: might hold `allow_pickle`


def _infosets(form: Described) -> list[list[Any]]:
    """Return the player, the label and the actions of each infoset."""
    tree = form.tree
    infosets = zip(tree.infoset_player, tree.infoset_label, tree.infoset_actions, strict=True)
    return [[int(i), label, [action_label(a) for a in A]] for i, label, A in infosets]


@contextmanager
def replacing(path: PathLike) -> Iterator[BinaryIO]:
    """Open a temporary file that replaces `path` once the block is complete.

    Temporary files that killed processes left behind are removed.
    """
    target = Path(path)
    temporary = target.with_name(f"{target.name}.{os.getpid()}.part")
    _remove_abandoned(target)
    try:
        with _open_locked(temporary) as file:
            yield file
            file.flush()
            if sys.platform != "win32":  # while the lock keeps it from being removed
                temporary.replace(target)
        if sys.platform == "win32":  # an open file cannot be renamed
            temporary.replace(target)
    finally:
        temporary.unlink(missing_ok=True)


def _open_locked(temporary: Path) -> BinaryIO:
    """Open a file with a lock, so that no other process removes it as abandoned."""
    while True:
        file = temporary.open("wb")
        if sys.platform == "win32":  # an open file cannot be removed
            return file
        with contextlib.suppress(OSError):  # the file system has no locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if temporary.exists() and os.path.samestat(os.fstat(file.fileno()), temporary.stat()):
            return file
        file.close()  # another process removed it before it was locked


def _remove_abandoned(target: Path) -> None:
    """Remove the temporary files of processes that have ended."""
    pattern = re.compile(re.escape(target.name) + r"\.\d+\.part")
    if not target.parent.is_dir():
        return
    for path in [path for path in target.parent.iterdir() if pattern.fullmatch(path.name)]:
        with contextlib.suppress(OSError):  # a running process holds it, or removed it first
            if sys.platform == "win32":
                path.unlink()
            else:
                with path.open("r+b") as file:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    path.unlink()


# ---- reading ---------------------------------------------------------------------------------


class Saved:
    """An open file with a valid header; its arrays are read on demand."""

    def __init__(self, path: PathLike, archive: zipfile.ZipFile, kind: Format, form: Described):
        self.path, self._archive, self.kind = path, archive, kind
        self._sizes = {"sequences": form.num_sequences, "players": form.tree.game.num_players}
        self.header = header = {**kind.added, **_header(archive)}
        if header.get("format") != kind.format:
            raise ValueError(f"format {_short(header.get('format'))}")
        if not text(header.get("fingerprint")):
            raise ValueError("no fingerprint")
        if header["fingerprint"] != form.fingerprint():
            raise Mismatch(
                f"{path} holds a {kind.noun} of {str(header.get('game'))[:MAX_QUOTED]}, not of "
                f"{form.tree.game!r} (or the rules have changed since); load it with the game "
                "it was saved from"
            )
        rules = {
            "format": text, "game": text, "fingerprint": text,
            "infosets": exactly(_infosets(form)), **kind.header,
        }  # fmt: skip
        if mismatch := header.keys() ^ rules.keys():
            raise ValueError(
                f"expected the header fields {sorted(rules)}: see {_short(min(mismatch))}"
            )
        for name, rule in rules.items():
            if not rule(header[name]):
                raise ValueError(f"invalid {name}: {_short(header[name])}")
        names = {f"{name}.npy" for name in ("header", *kind.arrays)}
        if sorted(archive.namelist()) != sorted(names):
            raise ValueError(f"expected the arrays {sorted(names)}")

    def shape(self, name: str) -> tuple[int, ...]:
        """Return the shape of an array, checked against the size of the file."""
        return _shape(self._archive, name)[0]

    def arrays(self, **sizes: int) -> Arrays:
        """Read and check all arrays; `sizes` are the named sizes of their schemas.

        Raises
        ------
        ValueError
            If an array has a wrong shape or dtype, or holds numbers that no `save` writes.
        """
        sizes = {**self._sizes, **sizes}
        for name, array in self.kind.arrays.items():
            shape, dtype = _shape(self._archive, name)
            if dtype.name not in self.kind.dtypes:
                raise ValueError(f"{name} has dtype {_short(dtype.name)}")
            if not array.fits(shape, sizes):
                raise ValueError(f"{name} has shape {_short(shape)}")
        arrays = {name: _read(self._archive, name) for name in self.kind.arrays}
        for name, array in self.kind.arrays.items():
            if not array.rule(arrays[name]):
                raise ValueError(f"{name} holds invalid numbers")
        return arrays


@contextmanager
def reading(path: PathLike, kind: Format, form: Described) -> Iterator[Saved]:
    """Open a file of one format and one game; any error in the block means a damaged file.

    Raises
    ------
    ValueError
        If the file is damaged, of another format, or of another game.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            yield Saved(path, archive, kind, form)
    except (FileNotFoundError, Mismatch, GameError):
        raise
    except Exception as error:  # NumPy and zipfile raise many types of error on damaged files
        raise _damaged(path, kind, error) from error


def format_of(path: PathLike, *kinds: Format) -> Format:
    """Return the format of a file, one of `kinds`.

    Raises
    ------
    ValueError
        If the file is damaged, or of another format.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            name = _header(archive).get("format")
        for kind in kinds:
            if name == kind.format:
                return kind
        raise ValueError(f"format {_short(name)}")
    except FileNotFoundError:
        raise
    except Exception as error:
        raise _damaged(path, kinds[0], error) from error


def require(valid: bool, name: str) -> None:
    """Raise a ValueError that names a part of a file, unless that part is valid."""
    if not valid:
        raise ValueError(f"invalid {name}")


def _damaged(path: PathLike, kind: Format, error: Exception) -> ValueError:
    reason = str(error) or type(error).__name__
    if len(reason) > 3 * MAX_QUOTED:
        reason = f"{reason[: 3 * MAX_QUOTED]}…"
    return ValueError(
        f"{path} is not a complete file written by {kind.writer} ({reason}); save the "
        f"{kind.noun} again"
    )


def _short(value: object) -> str:
    """Return the repr of a value, truncated for an error message."""
    shown = repr(value)
    return shown if len(shown) <= MAX_QUOTED else f"{shown[:MAX_QUOTED]}…"


def _shape(archive: zipfile.ZipFile, name: str) -> tuple[tuple[int, ...], np.dtype[Any]]:
    """Return the shape and dtype of an array without reading it, checked against its size."""
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
            raise ValueError(f"the size of {name} contradicts its shape")
    return shape, dtype


def _read(archive: zipfile.ZipFile, name: str) -> Any:
    with archive.open(f"{name}.npy") as member:
        return np.lib.format.read_array(member, allow_pickle=False)


def _header(archive: zipfile.ZipFile) -> Header:
    """Return the parsed header."""
    shape, dtype = _shape(archive, "header")
    if shape or dtype.kind != "U":
        raise ValueError("no header")
    header = json.loads(str(_read(archive, "header")))
    if not isinstance(header, dict):
        raise ValueError("no header")
    return header
