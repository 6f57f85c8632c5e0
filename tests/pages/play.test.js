// The games of the pages on tiny cases, for `make test`. The tests of each script on its own
// compare thousands of positions. tests/pages/test_scripts.py writes the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { seeded } = require("./chance.js");
const script = (name) => require(path.join(__dirname, "../../book/_static", `${name}.js`));
const kuhn = script("play_kuhn"), yours = script("play_yours"), coyote = script("play_coyote");
const koikoi = script("koikoi_rules"), play = script("play_koikoi");
const { decode, network } = script("koikoi_network");
const { rules, rounds } = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));

test("Kuhn poker: three payoffs, and hands that end", () => {
  assert.equal(kuhn.payoff(["K", "Q"], ["bet", "call"]), 2);
  assert.equal(kuhn.payoff(["J", "Q"], ["check", "check"]), -1);
  assert.equal(kuhn.payoff(["J", "Q"], ["bet", "fold"]), 1);
  const random = seeded(1), strategy = yours.member(1 / 5);
  for (let k = 0; k < 40; k++) {
    let hand = kuhn.start(k % 2, strategy, random);
    while (!kuhn.over(hand)) {
      const { player, actions } = kuhn.turn(hand.moves);
      assert.equal(player, hand.seat);
      hand = kuhn.act(hand, actions[Math.floor(random() * 2)], strategy, random);
    }
    assert.ok([1, 2].includes(Math.abs(kuhn.result(hand))));
  }
});

test("a member of the family is an equilibrium, and its double bluff is none", () => {
  const strategy = yours.member(1 / 5);
  assert.ok(Math.abs(yours.exploitability(strategy)) < 1e-12);
  const wrong = { ...strategy, J: { check: 0, bet: 1 } };
  assert.ok(yours.exploitability(wrong) > 0.01);
});

test("Coyote: sums of cards, and whoever calls too early loses", () => {
  assert.equal(coyote.total(["5", "x2"]), 10);
  assert.equal(coyote.total(["5", "max0"]), 0);
  const table = { deck: { 3: 2 }, cap: 9, calls: { 3: Array(10).fill(0) } };
  let hand = coyote.start(0, table, seeded(1));
  hand = coyote.act(hand, "raise", table, seeded(1)); // and the other raises to 2
  assert.equal(hand.declaration, 2);
  assert.equal(coyote.result(coyote.act(hand, "call", table, seeded(1))), -1);
  for (let k = 0; k < 3; k++) hand = coyote.act(hand, "raise", table, seeded(1));
  assert.equal(coyote.result(coyote.act(hand, "call", table, seeded(1))), 1); // 8 is above 6
});

test("Koi-Koi: rounds have the labels, actions and payoffs of the package", () => {
  for (const { hands, field, stock, steps, end } of rounds) {
    let at = koikoi.dealt(hands, field, stock, rules);
    for (const { label, actions, action } of steps) {
      assert.equal(koikoi.infoset(at), label);
      assert.deepEqual(koikoi.actions(at, rules), actions);
      at = koikoi.act(at, action, rules);
    }
    assert.ok(play.over({ at }));
    assert.equal(at.paid, end.paid);
  }
});

test("a network of one weight reads half precision and adds its bias", () => {
  assert.deepEqual([...decode("ADwAwAA4")], [1, -2, 0.5]); // 0x3c00, 0xc000, 0x3800
  const [{ hands, field, stock }] = rounds, at = koikoi.dealt(hands, field, stock, rules);
  const size = rules.deck.length * 5 + 2 * rules.yaku.length + 12;
  const bias = Buffer.alloc(2 * (size + 1)); // all weights are 0, but the bias, which comes first
  bias.writeUInt16LE(0x3c00, 0);
  const values = network({ sizes: [size, 1], weights: bias.toString("base64"), scale: 3 }, rules)(at);
  assert.deepEqual(values, Object.fromEntries(koikoi.actions(at, rules).map((a) => [a, 3])));
});
