"""A minimal chapter that satisfies every rule of anatomy.py."""

from __future__ import annotations

from textwrap import dedent
from typing import Any

import nbformat
from nbformat import v4
from notebooks import HOSTED

CELLS: list[tuple[str, str, list[str]]] = [
    (
        "markdown",
        """
        (regret-matching)=
        # Regret matching

        After this chapter you can turn regret into a strategy with ten lines of Python.

        | | |
        |---|---|
        | **You will be able to** | compute a regret, match it, average a strategy |
        | **You need** | Python, first-year probability |
        | **Time** | 25 minutes to read, 5 seconds to run |
        """,
        [],
    ),
    (
        "code",
        """
        import cfrlib as cfr
        from cfrbook.plot import show
        """,
        [],
    ),
    (
        "markdown",
        """
        ## A question

        You played paper and lost 1. [Regret]{.regret} for rock is 2, says {cite:t}`hart2000`,
        so the shares are 2/3 and ⅓, about 0.667 and $\\color{#B8440A}{0.333}$.

        ```{prf:algorithm} Regret matching
        :label: algorithm-regret-matching

        1. Keep the positive part of every regret.
        2. Divide by their sum; if it is 0, play every action with 1/|A|.
        ```
        """,
        [],
    ),
    ("code", "regrets = [2, 0, 1]\n[regret / sum(regrets) for regret in regrets]", []),
    (
        "code",
        """
        show(
            None,
            alt="Three bars of different height.",
            caption="Look at the first bar.",
        )
        """,
        ["nbval-ignore-output"],
    ),
    (
        "markdown",
        """
        The first bar is the tallest.

        ::::{admonition} What do you expect?
        :class: predict

        Which bar grows if rock wins more often?

        :::{dropdown} The first
        Right: the first bar is the regret for rock.
        :::

        :::{dropdown} The third
        It belongs to scissors, which rock beats.
        :::
        ::::

        ::::{admonition} What do you expect?
        :class: predict

        Will the bars ever be equally long?

        :::{dropdown} Yes
        The regrets would have to be equal, and rock won more often.
        :::

        :::{dropdown} No
        Right: rock stays ahead of the others.
        :::
        ::::

        ::::{admonition} What do you expect?
        :class: predict

        Which action is played most?

        :::{dropdown} Rock
        Right: it has the largest regret.
        :::

        :::{dropdown} Paper
        Paper wins against rock, but nobody here plays rock.
        :::
        ::::

        Move it:
        """,
        [],
    ),
    (
        "code",
        """
        explore.Explorable(draw, caption="Bars that move.", rounds=explore.Log(1, 10))
        """,
        ["hide-input"],
    ),
    (
        "markdown",
        """
        And the others follow.

        ## What goes wrong

        A cumulative regret is not a strategy.

        The post {cite}`xingzhe2021` divides by the number of rounds.

        ## Where this is used

        Everywhere below.

        ## Summary

        - Regret is what you missed.

        ## Exercises

        A number found by hand is right with three significant digits, or within 0.002. A count must be exact. An exercise that wants more digits says how many, and why.
        """,  # noqa: E501
        [],
    ),
    (
        "markdown",
        """
        ````{exercise} Warm-up
        :label: ex-01-1
        Start from the regrets (0.125, 0).

        :::{hint}
        :class: dropdown
        Only one of them is positive.
        :::
        ````
        """,
        [],
    ),
    ("code", 'answer = ...\nexercises.check("1.1", answer)', ["answer"]),
    (
        "markdown",
        """
        ```{solution} ex-01-1
        :class: dropdown
        The first action, always.
        ```
        """,
        [],
    ),
    ("code", 'answer = [1, 0]\nexercises.check("1.1", answer)', ["hide-cell", "solution"]),
    (
        "markdown",
        """
        ````{exercise} Find the planted bug
        :label: ex-01-2
        And if every regret is negative?

        :::{hint}
        :class: dropdown
        What is the sum?
        :::
        ````
        """,
        [],
    ),
    (
        "code",
        """
        def match(regret):
            return regret / sum(regret)


        exercises.check("1.2", match)
        """,
        ["answer"],
    ),
    (
        "markdown",
        """
        ```{solution} ex-01-2
        :class: dropdown
        Uniform.
        ```
        """,
        [],
    ),
    (
        "code",
        'match = cfr.regret_matching\nexercises.check("1.2", match)',
        ["hide-cell", "solution"],
    ),
    (
        "markdown",
        """
        ````{exercise} Open
        :label: ex-01-3
        Does the last strategy converge?

        :::{hint}
        :class: dropdown
        Draw it.
        :::
        ````
        """,
        [],
    ),
    ("code", 'answer = ...\nexercises.check("1.3", answer)', ["answer"]),
    (
        "markdown",
        """
        ```{solution} ex-01-3
        :class: dropdown
        It need not.
        ```
        """,
        [],
    ),
    ("code", 'answer = "no"\nexercises.check("1.3", answer)', ["hide-cell", "solution"]),
    (
        "markdown",
        """
        ## Further reading

        - {cite:t}`hart2000` prove it, and their proof is short.
        """,
        [],
    ),
]


def feedback(source: str, tags: list[str]) -> list[Any]:
    """Return the output of `exercises.check`, or no output if a cell does not call it."""
    if not {"answer", "solution"} & set(tags):
        return []
    mark = "✓" if "solution" in tags else "✗" if "def " in source else "○"
    return [v4.new_output("execute_result", {"text/plain": mark}, execution_count=1)]


def chapter(words: int = 1_200) -> Any:
    """Return the skeleton with about the given number of words of prose."""
    cells, count = [], 0
    every = [CELLS[0], ("code", HOSTED, ["remove-cell"]), *CELLS[1:]]
    for kind, text, tags in every:
        source = dedent(text).strip()
        if kind == "code":
            count += 1
            cell = v4.new_code_cell(source, execution_count=count)
            cell.outputs = feedback(source, tags)
        else:
            cell = v4.new_markdown_cell(source)
        if tags:
            cell.metadata["tags"] = tags
        cells.append(cell)
    cells[4].outputs = [
        v4.new_output(
            "execute_result",
            {"text/plain": "[0.6666666666666666, 0.0, 0.3333333333333333]"},
            execution_count=2,
        )
    ]
    cells.insert(4, v4.new_markdown_cell("Regret looks back at what you did. " * (words // 7)))
    return nbformat.from_dict(v4.new_notebook(cells=cells))
