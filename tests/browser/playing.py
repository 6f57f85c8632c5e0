"""A page on which a reader plays, in a browser: buttons, keys, score."""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

import numpy as np
from playwright.sync_api import Browser, Locator, Page, Route
from reader import HTML, text_of, tool

BOOK = HTML / "book"

# Math.random with a seed, so that the same cards are dealt in every run (mulberry32)
SEEDED = """(() => {
  let s = 1;
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

    PAGE: ClassVar[str]
    HANDS: ClassVar[tuple[int, int]]  # that the fixture `played` clicks, and types
    UNIT: ClassVar[str] = "hands"  # as the score calls them
    PLAIN: ClassVar[tuple[str, int]]  # what is shown without scripts, and how often

    def __init__(self, page: Page):
        self.page = page
        self.faults: list[str] = []  # errors, and requests to other hosts
        self.results: list[int] = []

    @classmethod
    def open(cls, browser: Browser, page: str = "", **options: Any) -> Self:
        """Open the game, or another page, in a fresh context that reaches nothing but files.

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
        table.page.add_init_script(SEEDED)
        table.page.clock.install()
        table.turn_to(page or cls.PAGE)
        return table

    def turn_to(self, page: str) -> None:
        self.page.goto((BOOK / f"{page}.html").as_uri())

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

    def key(self, action: str) -> str:
        """Return the key of a button: its letter."""
        return action[0]

    def press(self, action: str) -> None:
        """Do the same by keyboard: from the focused button, or by its key."""
        focused = self.page.evaluate("document.activeElement.dataset.action || ''")
        assert focused, "after a move the focus is on what can be done next"
        self.pause()
        self.page.keyboard.press("Enter" if focused == action else self.key(action))

    def play(self, hands: int, choose: Choose, keys: bool = False) -> None:
        do = self.press if keys else self.click
        for _ in range(hands):
            while (actions := self.actions()) != ["next"]:
                do(choose(actions))
            self.results.append(self.said())
            do("next")

    def finish(self, seed: int = 1) -> None:
        """Play the hand to its end."""
        choose = at_random(seed)
        while (actions := self.actions()) != ["next"]:
            self.click(choose(actions))

    def score(self) -> str:
        return self.text("numbers") + self.text("status")

    def hands(self) -> float:
        return float(text_of(self.find("numbers dd").first))

    def kept(self) -> Any:
        """Return what the tab keeps of the game."""
        kept = "Object.values({...sessionStorage}).filter(t => t.includes('sitting'))"
        (text,) = self.page.evaluate(kept)
        return json.loads(text)

    @abstractmethod
    def said(self) -> int:
        """Return the result of the hand as the page tells it."""

    def number(self, name: str) -> float:
        """Return a number of the score: hands, score, mean."""
        entry = self.find("numbers > div").filter(has_text=name).locator("dd")
        return float(text_of(entry).split()[0].replace("−", "-"))


class KuhnTable(Table):
    """Kuhn poker, and what its page knows of the reader."""

    PAGE, HANDS, PLAIN = "play_kuhn", (30, 30), ("tbody tr", 12)

    def said(self) -> int:
        """Return the result of the hand as its last sentence tells it."""
        words = self.find("log li").last.inner_text()
        won, chips = re.findall(r"ou (win|lose) (\d)", words)[-1]
        return int(chips) if won == "win" else -int(chips)

    def counts(self) -> dict[str, dict[str, int]]:
        """Return the counts behind the reader's strategy."""
        rows = self.find("leak tr[data-infoset]").all()
        pairs = {
            str(row.get_attribute("data-infoset")): str(row.get_attribute("data-counts"))
            for row in rows
        }
        return {
            infoset: {a: int(n) for a, n in (pair.split(":") for pair in text.split())}
            for infoset, text in pairs.items()
        }

    def cost(self, infoset: str) -> float:
        row = self.find(f"leak tr[data-infoset='{infoset}']")
        return float(str(row.get_attribute("data-cost")))

    def leak(self) -> float:
        return float(str(self.find("leak table").get_attribute("data-leak")))


class CoyoteTable(Table):
    PAGE, HANDS, PLAIN = "12_coyote", (20, 20), ("tbody tr", 15)

    def said(self) -> int:
        """Return the result of the hand as its last sentence tells it."""
        return 1 if self.text("status").endswith("You win.") else -1

    def cost(self) -> float:
        """Return what the choices of this hand cost, as the words below it say."""
        strong = self.find("leak strong")
        return float(text_of(strong)) if strong.count() else 0.0


class KoiKoiTable(Table):
    """A table of cards: its keys are their places."""

    PAGE, HANDS, PLAIN = "13_koi_koi", (15, 15), ("tbody tr", 20)
    UNIT = "rounds"

    def key(self, action: str) -> str:
        """Return the key that a button names."""
        button = self.find(f"actions [data-action='{action}']")
        return str(button.get_attribute("aria-keyshortcuts")).lower()

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


class MatchTable(KoiKoiTable):
    """A match of twelve rounds; `played` begins a second one."""

    PAGE, HANDS, PLAIN = "play_koikoi", (6, 7), ("svg", 50)


def at_random(seed: int) -> Choose:
    rng = np.random.default_rng(seed)
    return lambda actions: actions[rng.integers(len(actions))]
