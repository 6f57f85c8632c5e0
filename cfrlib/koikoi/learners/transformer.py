"""A small Transformer that reads the order of play, for Koi-Koi afterstates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from cfrlib.deep.networks import MLP
from cfrlib.koikoi.afterstates import KINDS

WIDTH, HEADS, LAYERS = 32, 2, 2  # of the Transformer; the widths of the MLP are an option


class Block(nnx.Module):
    """A layer of a Transformer: attention, then two linear layers, each added to its input.

    Parameters
    ----------
    width, heads : int
    rngs : flax.nnx.Rngs

    Notes
    -----
    The inputs are normalized, not the sums, as in Xiong et al. (2020).
    """

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.before, self.between = (nnx.LayerNorm(width, rngs=rngs) for _ in range(2))
        self.query = nnx.Linear(width, width, rngs=rngs)
        self.key_value = nnx.Linear(width, 2 * width, rngs=rngs)
        self.out = nnx.Linear(width, width, rngs=rngs)
        self.up = nnx.Linear(width, 2 * width, rngs=rngs)
        self.down = nnx.Linear(2 * width, width, rngs=rngs)

    def __call__(self, x: jax.Array, real: jax.Array, only_first: bool) -> jax.Array:
        """Return the states after the layer, of all positions or only the first.

        Parameters
        ----------
        x : array, shape (rows, positions, width)
        real : bool array, shape (rows, positions)
            Which positions may be attended to.
        only_first : bool
        """
        seen = self.before(x)
        if only_first:
            x = x[:, :1]
        query = self._split(self.query(seen[:, : x.shape[1]]))
        key, value = jnp.split(self.key_value(seen), 2, axis=-1)
        score = jnp.einsum("rqhd,rkhd->rhqk", query, self._split(key))
        score = jnp.where(real[:, None, None], score * query.shape[-1] ** -0.5, -1e9)
        mixed = jnp.einsum("rhqk,rkhd->rqhd", jax.nn.softmax(score), self._split(value))
        x = x + self.out(mixed.reshape(x.shape))
        return x + self.down(nnx.relu(self.up(self.between(x))))

    def _split(self, x: jax.Array) -> jax.Array:
        """Split vectors by head, shape (rows, positions, heads, width / heads)."""
        return x.reshape(*x.shape[:2], self.heads, -1)


class Transformer(nnx.Module):
    """A Transformer over the cards played and drawn, whose summary joins the table's features.

    Each token is the sum of four learned vectors: for its kind (whose card, played or drawn,
    and whether koi-koi was called), the card, the card it captured, and its place in the order.
    One more token, at the first place, collects the summary. An MLP receives the summary
    beside the features of a table; its last layer is initialized to 0.

    Parameters
    ----------
    columns : int
        Number of features of a table.
    faces, slots : int
        Number of cards that differ, and of tokens.
    hidden : sequence of int
        Widths of the MLP's ReLU layers.
    width, heads, layers : int
        Of the Transformer.
    rngs : flax.nnx.Rngs

    Notes
    -----
    Vaswani et al. (2017); the token for the summary as in Devlin et al., *BERT* (2019).
    """

    def __init__(
        self,
        columns: int,
        faces: int,
        slots: int,
        hidden: Sequence[int],
        width: int,
        heads: int,
        layers: int,
        rngs: nnx.Rngs,
    ):
        init = nnx.initializers.normal(0.5)
        self.kind, self.card, self.captured, self.place = (
            nnx.Embed(number, width, embedding_init=init, rngs=rngs)
            for number in (KINDS, faces + 1, faces + 1, slots + 1)
        )
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(layers)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.table = MLP(columns + width, hidden, 1, rngs)

    def read(self, tokens: jax.Array) -> jax.Array:
        """Return the summary of an order of play, shape (rows, width).

        Parameters
        ----------
        tokens : uint8 array, shape (rows, positions, 3)
            Kind, card and captured card of each token; kind 0 is padding.
        """
        kind, card, captured = (tokens[..., n].astype(jnp.int32) for n in range(3))
        places = self.place.embedding[: tokens.shape[1] + 1]
        x = self.kind(kind) + self.card(card) + self.captured(captured) + places[1:]
        first = jnp.broadcast_to(places[:1], (len(x), 1, x.shape[-1]))
        x = jnp.concatenate([first, x], axis=1)
        real = jnp.concatenate([jnp.ones((len(x), 1), bool), kind > 0], axis=1)
        for n, block in enumerate(self.blocks, 1):
            x = block(x, real, n == len(self.blocks))
        summary: jax.Array = self.norm(x[:, 0])
        return summary

    def judge(self, table: jax.Array, summary: jax.Array) -> jax.Array:
        """Return the outputs for tables and the summaries that belong to them."""
        return self.table(jnp.concatenate([table, summary], axis=-1))

    def __call__(self, inputs: tuple[jax.Array, jax.Array]) -> jax.Array:
        """Return the outputs for tables, shape (rows, …, 1), and tokens per row."""
        table, tokens = inputs
        summary = self.read(tokens)
        between = (1,) * (table.ndim - 2)
        summary = summary.reshape(len(summary), *between, -1)
        return self.judge(table, jnp.broadcast_to(summary, (*table.shape[:-1], WIDTH)))


class TransformerArchitecture(NamedTuple):
    """The layers of a `Transformer`, apart from the features of a table."""

    hidden: tuple[int, ...]
    faces: int
    slots: int

    def build(self, inputs: int, outputs: int, rngs: nnx.Rngs) -> Transformer:
        """Return a new network, which has one output."""
        return Transformer(
            inputs, self.faces, self.slots, self.hidden, WIDTH, HEADS, LAYERS, rngs
        )
