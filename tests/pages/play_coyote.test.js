// Tests of book/_static/play_coyote.js. The expected values come from cfrlib:
// tests/browser/test_play_coyote.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { frequent, seeded } = require("./chance.js");
const coyote = require(path.join(__dirname, "../../book/_static/play_coyote.js"));
const { table, ends, leaks } = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));

// Play a hand, calling with a fixed probability that ignores the cards.
function handOf(call, seat, random) {
  let hand = coyote.start(seat, table, random);
  while (!coyote.over(hand)) {
    assert.equal(coyote.turn(hand), seat, "the script stops only where the reader decides");
    const raise = coyote.actions(hand, table).includes("raise") && random() >= call;
    hand = coyote.act(hand, raise ? "raise" : "call", table, random);
  }
  return hand;
}

test("every terminal payoff equals cfrlib's", () => {
  assert.ok(ends.length > 1000);
  for (const { cards, shown, declaration, total, utilities } of ends) {
    assert.equal(coyote.total(shown), total);
    for (const seat of [0, 1]) {
      const hand = { cards, shown, seat, declaration, caller: declaration % 2, total };
      assert.equal(coyote.result(hand), utilities[seat]);
    }
  }
});

test("cards are drawn in proportion to the remaining deck", () => {
  const random = seeded(1), times = 40000, seen = {};
  for (let k = 0; k < times; k++) {
    const card = coyote.draw(table.deck, ["5", "?"], random);
    seen[card] = (seen[card] || 0) + 1;
  }
  assert.equal(seen["?"], undefined);
  for (const [card, n] of Object.entries(seen)) {
    frequent(n, times, (table.deck[card] - (card === "5")) / 34, card);
  }
});

test("the equilibrium plays its table, and a '?' is replaced", () => {
  const random = seeded(2), decisions = {}, called = {};
  for (let k = 0; k < 20000; k++) {
    const hand = handOf(0.1, k % 2, random);
    if (hand.cards.includes("?")) {
      assert.ok(!hand.shown.includes("?"));
      assert.equal(hand.total, coyote.total(hand.shown));
    } else assert.deepEqual(hand.shown, hand.cards);
    const seen = hand.cards[hand.seat];
    for (let d = 1 - hand.seat; d <= hand.declaration; d += 2) {
      const end = d === hand.declaration;
      if (end && hand.caller === hand.seat) break;
      const key = `${seen}:${d}`;
      decisions[key] = (decisions[key] || 0) + 1;
      if (end) called[key] = (called[key] || 0) + 1;
    }
  }
  for (const [key, times] of Object.entries(decisions)) {
    const [seen, d] = key.split(":"), p = table.calls[seen][d];
    if (times * p * (1 - p) > 10) frequent(called[key] || 0, times, p, key);
  }
});

test("mean cost of choices equals the gain of a best response", () => {
  for (const { call, leak } of leaks) {
    const random = seeded(3), costs = [];
    for (let k = 0; k < 20000; k++) costs.push(coyote.cost(handOf(call, k % 2, random), table));
    assert.ok(Math.min(...costs) >= 0);
    const mean = costs.reduce((a, b) => a + b) / costs.length;
    const error = Math.sqrt(costs.reduce((a, b) => a + (b - mean) ** 2, 0)) / costs.length;
    assert.ok(Math.abs(mean - leak) <= 5 * error + 1e-4, `${call}: ${mean}, not ${leak}`);
  }
});

test("the review lists exactly the reader's decisions", () => {
  const random = seeded(4);
  for (let k = 0; k < 500; k++) {
    const hand = handOf(0.2, k % 2, random), rows = coyote.review(hand, table);
    const own = hand.caller === hand.seat;
    const raised = Array.from({ length: hand.declaration }, (_, d) => d % 2 === hand.seat);
    assert.equal(rows.length, raised.filter(Boolean).length + (own ? 1 : 0));
    assert.ok(rows.every((row) => row.declaration % 2 === hand.seat));
    assert.equal(rows.filter((row) => row.action === "call").length, own ? 1 : 0);
  }
});
