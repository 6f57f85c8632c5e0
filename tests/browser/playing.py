"""A page on which a reader plays, in a browser: buttons, keys, score."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from pathlib import Path
from typing import Any, Self

import numpy as np
from playwright.sync_api import Browser, Locator, Page, Route
from reader import text_of, tool

# Math.random with a seed, so that the same cards are dealt in every run (mulberry32)
SEEDED = """(() => {
  let s = %d;
  Math.random = () => {
    s = (s + 0x6D2B79F5) | 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
})();"""

PAUSE = 300  # milliseconds, as in play.js

Choose = Callable[[list[str]], str]


class Table(ABC):
    """The game in a browser, and what was seen of it."""

    def __init__(self, page: Page):
        self.page = page
        self.faults: list[str] = []  # errors, and requests to other hosts
        self.results: list[int] = []

    @classmethod
    def open(cls, browser: Browser, built: Path, seed: int = 1, **options: Any) -> Self:
        """Open a page in a fresh context that reaches files and nothing else.

        Moves are shown at once, unless the options ask for motion.
        """
        context = tool.context(browser, **{"reduced_motion": "reduce"} | options)
        table = cls(context.new_page())

        def files_only(route: Route) -> None:
            url = route.request.url
            if url.startswith(("file:", "data:", "blob:")):
                route.continue_()
            else:
                table.faults.append(url)
                route.abort()

        context.route("**/*", files_only)
        table.page.on("pageerror", lambda error: table.faults.append(str(error)))
        table.page.on("console", lambda m: m.type == "error" and table.faults.append(m.text))
        table.page.add_init_script(SEEDED % seed)
        table.page.clock.install()
        table.page.goto(built.as_uri())
        return table

    def pause(self) -> None:
        """Let the time pass in which a second click counts as part of the first."""
        self.page.clock.fast_forward(PAUSE)

    def again(self) -> Self:
        """Open the page once more, as somebody who was never there before."""
        address = self.page.url
        self.page.evaluate("localStorage.clear(), sessionStorage.clear()")
        self.page.goto("about:blank")
        self.page.goto(address)
        self.faults.clear()
        self.results.clear()
        return self

    def find(self, name: str) -> Locator:
        return self.page.locator(f".play-{name}")

    def text(self, name: str) -> str:
        return text_of(self.find(name))

    def actions(self) -> list[str]:
        buttons = self.find("actions button")
        return list(buttons.evaluate_all("buttons => buttons.map(b => b.dataset.action)"))

    def click(self, action: str) -> None:
        self.pause()
        self.find(f"actions [data-action={action}]").click()

    def press(self, action: str) -> None:
        """Do the same by keyboard: from the focused button, or by its letter."""
        focused = self.page.evaluate("document.activeElement.dataset.action || ''")
        assert focused, "after a move the focus is on what can be done next"
        self.pause()
        self.page.keyboard.press("Enter" if focused == action else action[0])

    def play(self, hands: int, choose: Choose, keys: bool = False) -> None:
        do = self.press if keys else self.click
        for _ in range(hands):
            while (actions := self.actions()) != ["next"]:
                do(choose(actions))
            self.results.append(self.said())
            do("next")

    @abstractmethod
    def said(self) -> int:
        """Return the result of the hand as the page tells it."""

    def number(self, name: str) -> float:
        """Return a number of the score: hands, score, mean."""
        entry = self.find("numbers > div").filter(has_text=name).locator("dd")
        return float(text_of(entry).split()[0].replace("−", "-"))


class KoiKoiTable(Table):
    """A table of cards: its keys are their places."""

    def press(self, action: str) -> None:
        """Do the same by keyboard: from the focused button, or by the key it names."""
        focused = self.page.evaluate("document.activeElement.dataset.action || ''")
        assert focused, "after a move the focus is on what can be done next"
        button = self.find(f"actions [data-action='{action}']")
        self.pause()
        key = str(button.get_attribute("aria-keyshortcuts"))
        self.page.keyboard.press("Enter" if focused == action else key.lower())

    def said(self) -> int:
        """Return the result of the round as the page tells it."""
        said = self.text("status")
        paid = re.search(r"(get|gets) (\d+) point", said)
        if not paid:
            assert "no points" in said
            return 0
        return int(paid[2]) if paid[1] == "get" else -int(paid[2])

    def given_away(self) -> float:
        """Return what the choices of this round cost, as the words below it say."""
        strong = self.find("leak strong")
        return float(text_of(strong)) if strong.count() else 0.0


def at_random(seed: int) -> Choose:
    rng = np.random.default_rng(seed)
    return lambda actions: actions[rng.integers(len(actions))]
