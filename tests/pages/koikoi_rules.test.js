// Tests of book/_static/koikoi_rules.js against rounds that cfrlib's readable game has played.
// tests/browser/test_play_koikoi.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { frequent, seeded } = require("./chance.js");
const koikoi = require(path.join(__dirname, "../../book/_static/koikoi_rules.js"));
const { full, games, repeats } = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));

for (const { name, rules, rounds } of games) {
  test(`${name} has the labels, actions, cards, points and payoffs of cfrlib`, () => {
    assert.ok(rounds.length >= 400);
    for (const { hands, field, stock, steps, end } of rounds) {
      let at = koikoi.dealt(hands, field, stock, rules);
      for (const { label, actions, action, position } of steps) {
        assert.equal(koikoi.infoset(at), label);
        assert.deepEqual(koikoi.actions(at, rules), actions);
        for (const [what, value] of Object.entries(position)) {
          assert.deepEqual(what === "stock" ? at.stock.length : at[what], value, `${what} at ${label}`);
        }
        at = koikoi.act(at, action, rules);
      }
      assert.equal(at.stage, "over");
      assert.deepEqual(koikoi.actions(at, rules), []);
      assert.equal(at.paid, end.paid);
      assert.deepEqual(at.piles, end.piles);
      assert.deepEqual(at.hands, end.hands);
    }
  });
}

test("a deal is repeated where cfrlib repeats it", () => {
  let again = 0;
  for (const { hands, field, repeated } of repeats) {
    assert.equal(koikoi.dealt(hands, field, [], full) === null, repeated);
    again += repeated;
  }
  assert.ok(again >= 20 && again < repeats.length);
});

test("every card is equally likely in every place", () => {
  const random = seeded(2), times = 10000, plain = { ...full, special: "none" };
  const seen = { hand: {}, field: {}, next: {} };
  for (let k = 0; k < times; k++) {
    const at = koikoi.deal(plain, random);
    const cards = [...at.hands.flat(), ...at.field, ...at.stock];
    assert.deepEqual(koikoi.sorted(cards, full), full.deck);
    for (const card of at.hands[1]) seen.hand[card] = (seen.hand[card] || 0) + 1;
    for (const card of at.field) seen.field[card] = (seen.field[card] || 0) + 1;
    seen.next[at.stock[0]] = (seen.next[at.stock[0]] || 0) + 1;
  }
  for (const card of full.deck) {
    frequent(seen.hand[card], times, 1 / 6, `${card} in a hand`);
    frequent(seen.field[card], times, 1 / 6, `${card} on the field`);
    frequent(seen.next[card], times, 1 / 48, `${card} on top of the stock`);
  }
});
