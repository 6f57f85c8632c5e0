"""Rows of features that store only what is not zero: few numbers if they are one-hot words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpy.typing as npt

WIDTH = (
    16  # stored columns are rounded up to a multiple, as training is compiled for each width
)


class Form(NamedTuple):
    """How a row is stored.

    Attributes
    ----------
    width : int
        The most columns that may be nonzero; 0 if all numbers of a row are stored.
    valued : bool
        Whether numbers are stored; otherwise the nonzero ones are all 1.
    """

    width: int
    valued: bool


@partial(
    jax.tree_util.register_dataclass, data_fields=["columns", "values"], meta_fields=["inputs"]
)
@dataclass(frozen=True)
class FeatureRows:
    """Rows of features, read like the array of shape (rows, inputs) that they stand for.

    Attributes
    ----------
    columns : int array, shape (rows, width)
        The nonzero columns of each row, counted from 1; 0 fills the rest of a row.
    values : float32 array
        The numbers in these columns, shape (rows, width). Shape (rows, 0) if all of them are 1;
        shape (rows, inputs) if `width` is 0, because storing all numbers takes less memory.
    inputs : int
        Number of features.

    Examples
    --------
    >>> rows = FeatureRows.of(np.eye(3, 40))
    >>> rows.columns[:, :2].tolist(), rows.columns.nbytes
    ([[1, 0], [2, 0], [3, 0]], 96)
    >>> bool((rows[np.array([2, 0])] == np.eye(3, 40)[[2, 0]]).all())
    True
    """

    columns: Any
    values: Any
    inputs: int

    @classmethod
    def empty(cls, rows: int, inputs: int, form: Form) -> FeatureRows:
        """Return rows of zeros."""
        dtype = np.int16 if inputs < 1 << 15 else np.int32
        stored = (form.width or inputs) if form.valued else 0
        columns, values = np.zeros((rows, form.width), dtype), (rows, stored)
        return cls(columns, np.zeros(values, np.float32), inputs)

    @classmethod
    def of(cls, features: npt.ArrayLike) -> FeatureRows:
        """Return the rows of an array in the form that takes the least memory."""
        dense = np.asarray(features, np.float32)
        rows, inputs = dense.shape
        row, column = np.nonzero(dense)
        numbers, count = dense[row, column], np.bincount(row, minlength=rows)
        width = min(-(-int(count.max(initial=1)) // WIDTH) * WIDTH, inputs)
        form = _smallest(inputs, width, bool((numbers != 1).any()))
        packed = cls.empty(rows, inputs, form)
        if not form.width:
            packed.values[:] = dense
            return packed
        place = np.arange(len(row)) - (np.cumsum(count) - count)[row]
        packed.columns[row, place] = column + 1
        if form.valued:
            packed.values[row, place] = numbers
        return packed

    @property
    def shape(self) -> tuple[int, int]:
        """The shape of the array that the rows stand for."""
        return len(self.columns), self.inputs

    @property
    def form(self) -> Form:
        """How the rows are stored."""
        return Form(self.columns.shape[1], self.values.shape[1] > 0)

    def __getitem__(self, rows: Any) -> jax.Array:
        """Return some rows as an array, shape (rows, inputs)."""
        columns, values = self.columns[rows], self.values[rows]
        if not columns.shape[1]:
            return jnp.asarray(values)
        dense = jnp.zeros((len(columns), 1 + self.inputs))  # column 0 is that of the filling
        dense = dense.at[jnp.arange(len(columns))[:, None], columns].set(
            values if values.shape[1] else 1.0
        )
        return dense[:, 1:]

    def into(self, form: Form, filled: int | None = None) -> FeatureRows:
        """Return the rows in another form, which must have room for them.

        If only the first `filled` rows are not 0, only they are copied. So the others take no
        memory until they are written.
        """
        if form == self.form:
            return self
        other, width = FeatureRows.empty(len(self.columns), self.inputs, form), self.form.width
        first = slice(filled)
        if form.width:
            columns = self.columns[first]
            other.columns[first, :width] = columns
            if form.valued:
                other.values[first, :width] = (
                    self.values[first] if self.form.valued else columns > 0
                )
        else:
            other.values[first] = self[first]
        return other


def common_form(parts: Sequence[FeatureRows]) -> Form:
    """Return the form that has room for all rows of all parts."""
    forms = [rows.form for rows in parts]
    width = max(form.width for form in forms) if all(form.width for form in forms) else 0
    return _smallest(parts[0].inputs, width, any(form.valued for form in forms))


def concatenate(parts: Sequence[FeatureRows]) -> FeatureRows:
    """Return the rows of all parts."""
    form = common_form(parts)
    same = [rows.into(form) for rows in parts]
    columns = np.concatenate([rows.columns for rows in same])
    values = np.concatenate([rows.values for rows in same])
    return FeatureRows(columns, values, parts[0].inputs)


def _smallest(inputs: int, width: int, valued: bool) -> Form:
    """Return a form with this room, or that of all numbers, if it takes less memory."""
    if not width or (valued and (2 + 4) * width >= 4 * inputs):  # bytes
        return Form(0, True)
    return Form(width, valued)
