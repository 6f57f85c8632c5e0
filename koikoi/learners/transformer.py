"""A small Transformer that reads the order of play, for Koi-Koi afterstates."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import jax
import jax.numpy as jnp
from flax import nnx

from cfrlib.deep.networks import MLP
from koikoi.afterstates import KINDS, PARTS

WIDTH, HEADS, LAYERS = 32, 2, 2  # of the Transformer; the widths of the MLP are an option


class Block(nnx.Module):
    """A layer of a Transformer: attention, then two linear layers, each added to its input.

    Parameters
    ----------
    width, heads : int
    rngs : flax.nnx.Rngs

    Notes
    -----
    Linear layers are applied to matrices: XLA's gradients of larger arrays are slow on a CPU.
    The inputs are normalized, not the sums, as in Xiong et al. (2020).
    """

    def __init__(self, width: int, heads: int, rngs: nnx.Rngs):
        self.heads = heads
        self.before, self.between = (nnx.LayerNorm(width, rngs=rngs) for _ in range(2))
        self.query, self.key, self.value, self.out = (
            nnx.Linear(width, width, rngs=rngs) for _ in range(4)
        )
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
        rows, _, width = x.shape
        seen = self.before(x)
        if only_first:
            x = x[:, :1]
        query = self._split(self.query, seen[:, : x.shape[1]])
        key, value = self._split(self.key, seen), self._split(self.value, seen)
        score = jnp.einsum("rhqd,rhkd->rhqk", query, key) * query.shape[-1] ** -0.5
        share = jax.nn.softmax(jnp.where(real[:, None, None], score, -1e9))
        mixed = jnp.einsum("rhqk,rhkd->rqhd", share, value)
        flat = x.reshape(-1, width) + self.out(mixed.reshape(-1, width))
        flat = flat + self.down(nnx.relu(self.up(self.between(flat))))
        return flat.reshape(rows, -1, width)

    def _split(self, layer: nnx.Linear, x: jax.Array) -> jax.Array:
        """Return the outputs of a layer by head, shape (rows, heads, positions, …)."""
        rows, positions, width = x.shape
        split = layer(x.reshape(-1, width)).reshape(rows, positions, self.heads, -1)
        return split.transpose(0, 2, 1, 3)


class Transformer(nnx.Module):
    """A Transformer over the turns played, whose summary joins the features of a table.

    Each token is a turn, the sum of six learned vectors: for its kind (whose turn, and whether
    koi-koi was called), the card played, the first card that it captured, the card drawn, the
    first that it captured, and the place of the turn. One more token, at the first place,
    collects the summary. An MLP receives the summary beside the features of a table; its last
    layer is initialized to 0.

    Parameters
    ----------
    columns : int
        Number of features of a table.
    faces, turns : int
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
        turns: int,
        hidden: Sequence[int],
        width: int,
        heads: int,
        layers: int,
        rngs: nnx.Rngs,
    ):
        init = nnx.initializers.normal(0.5)

        def embed(number: int) -> nnx.Embed:
            return nnx.Embed(number, width, embedding_init=init, rngs=rngs)

        self.kind, self.place = embed(KINDS), embed(turns + 1)
        self.cards = nnx.List([embed(faces + 1) for _ in range(PARTS)])
        self.blocks = nnx.List([Block(width, heads, rngs) for _ in range(layers)])
        self.norm = nnx.LayerNorm(width, rngs=rngs)
        self.table = MLP(columns + width, hidden, 1, rngs)

    def read(self, tokens: jax.Array) -> jax.Array:
        """Return the summary of an order of play, shape (rows, width).

        Parameters
        ----------
        tokens : uint8 array, shape (rows, positions, 5)
            As `Describer.tokens` returns them; kind 0 is padding.
        """
        kind, *cards = (part.astype(jnp.int32) for part in jnp.moveaxis(tokens, -1, 0))
        places = self.place.embedding[: tokens.shape[1] + 1]
        x = self.kind(kind) + places[1:]
        for embedding, card in zip(self.cards, cards, strict=True):
            x = x + embedding(card)
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
    turns: int

    def build(self, inputs: int, outputs: int, rngs: nnx.Rngs) -> Transformer:
        """Return a new network, which has one output."""
        return Transformer(
            inputs, self.faces, self.turns, self.hidden, WIDTH, HEADS, LAYERS, rngs
        )
