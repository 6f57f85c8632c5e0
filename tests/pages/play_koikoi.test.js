// Tests of book/_static/play_koikoi.js. What is right comes from cfrlib: pytest
// (tests/browser/test_play_koikoi.py) writes it into the file that KOIKOI_FIXTURE names.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { frequent, seeded } = require("./chance.js");
const koikoi = require(path.join(__dirname, "../../book/_static/play_koikoi.js"));
const { table, games, leaks } = JSON.parse(fs.readFileSync(process.env.KOIKOI_FIXTURE, "utf8"));

function mean(numbers) {
  return numbers.reduce((a, b) => a + b, 0) / numbers.length;
}

// Play a round as somebody who draws lots, or takes what this function says.
function roundOf(seat, random, choose) {
  let round = koikoi.start(seat, table, random);
  while (!koikoi.over(round)) {
    assert.equal(round.at.player, seat, "the script stops only where the reader decides");
    const actions = koikoi.actions(round.at, table.rules);
    round = koikoi.choose(round, choose(actions, round), table, random);
  }
  return round;
}

const anything = (random) => (actions) => actions[Math.floor(random() * actions.length)];

function dearest(actions, round) {
  const { worth } = koikoi.advice(round.at, table);
  return actions.reduce((a, b) => (!worth || worth[a] >= worth[b] ? a : b));
}

for (const { name, rules, rounds } of games) {
  test(`${name} is played as cfrlib plays it: labels, actions, cards, points, payoffs`, () => {
    assert.ok(rounds.length >= 400);
    for (const { hands, field, stock, steps, end } of rounds) {
      let at = koikoi.begin(hands, field, stock);
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

test("every card is somewhere, all through a round, and nothing is changed in place", () => {
  const random = seeded(1), deck = [...table.rules.deck].sort();
  for (let k = 0; k < 500; k++) {
    roundOf(k % 2, random, (actions, { at }) => {
      const all = [...at.hands.flat(), ...at.piles.flat(), ...at.field, ...at.stock];
      assert.deepEqual([...all, ...(at.card ? [at.card] : [])].sort(), deck);
      const frozen = JSON.stringify(at);
      koikoi.act(at, actions[0], table.rules);
      assert.equal(JSON.stringify(at), frozen);
      return anything(random)(actions);
    });
  }
});

test("every card comes to every place equally often", () => {
  const random = seeded(2), times = 20000, held = {}, last = {};
  for (let k = 0; k < times; k++) {
    const { at } = koikoi.start(0, table, random);
    held[at.hands[0][0] === at.hands[0][1]] = (held[at.hands[0][0] === at.hands[0][1]] || 0) + 1;
    last[at.stock[3]] = (last[at.stock[3]] || 0) + 1;
  }
  frequent(held.true, times, 1 / 9, "a pair in the dealer's hand");
  for (const [card, n] of Object.entries(last)) frequent(n, times, 1 / 5, `${card} last in the stock`);
});

test("wherever the reader goes, the equilibrium plays its table", () => {
  const random = seeded(3), asked = {}, taken = {};
  for (let k = 0; k < 20000; k++) {
    let round = koikoi.start(k % 2, table, random);
    while (!koikoi.over(round)) {
      // what the equilibrium did since the reader's last choice is read off the events
      const actions = koikoi.actions(round.at, table.rules);
      const known = koikoi.advice(round.at, table);
      if (actions.length > 1) assert.ok(known.worth, `no worth at ${koikoi.infoset(round.at)}`);
      round = koikoi.choose(round, anything(random)(actions), table, random);
    }
    // the equilibrium's first choice as dealer, by what it holds and sees
    if (round.seat === 1) {
      const [label] = [round.at.first[0]], event = round.at.events[0];
      asked[label] = (asked[label] || 0) + 1;
      taken[label] = taken[label] || {};
      taken[label][event.card] = (taken[label][event.card] || 0) + 1;
    }
  }
  for (const [label, times] of Object.entries(asked)) {
    const row = table.rows[koikoi.key(`dealer ${label} | `, table.rules)];
    const [first, second] = label.split(" | ")[0].split(" ");
    const p = row ? row[0] / 1000 : 1;
    assert.ok(row || first === second);
    if (times * p * (1 - p) > 5) frequent(taken[label][first] || 0, times, p, label);
    else assert.ok(p > 0 || !taken[label][first], label);
  }
});

test("what choices give away adds up to what a best response would gain", () => {
  for (const { name, loss } of leaks) {
    const random = seeded(4), choose = { random: anything(random), best: dearest }[name];
    const costs = [];
    for (let k = 0; k < 20000; k++) costs.push(koikoi.cost(roundOf(k % 2, random, choose)));
    assert.ok(Math.min(...costs) >= 0);
    const m = mean(costs), error = Math.sqrt(mean(costs.map((c) => (c - m) ** 2)) / costs.length);
    assert.ok(Math.abs(m - loss) <= 5 * error + 1e-4, `${name}: ${m}, not ${loss}`);
  }
});

test("results and costs go together: without luck, the score is what was given away", () => {
  const random = seeded(5), rest = [];
  for (let k = 0; k < 20000; k++) {
    const round = roundOf(k % 2, random, anything(random));
    rest.push(koikoi.result(round) + koikoi.cost(round));
  }
  const error = Math.sqrt(mean(rest.map((x) => (x - mean(rest)) ** 2)) / rest.length);
  assert.ok(Math.abs(mean(rest)) <= 5 * error, `${mean(rest)} is left, ± ${error}`);
});

test("the review tells every decision of the reader that had a choice, and no other", () => {
  const random = seeded(6);
  for (let k = 0; k < 500; k++) {
    let choices = 0;
    const round = roundOf(k % 2, random, (actions) => {
      choices += actions.length > 1 ? 1 : 0;
      return anything(random)(actions);
    });
    const rows = koikoi.review(round);
    assert.equal(rows.length, choices);
    for (const row of rows) assert.deepEqual(Object.keys(row.worth), row.actions);
  }
});

test("the log names every card that moved in the open", () => {
  const random = seeded(7);
  for (let k = 0; k < 200; k++) {
    const { at, seat } = roundOf(k % 2, random, anything(random));
    const moved = at.events.filter((event) => event.card);
    const heard = at.heard.replace(/ \([^)]*\)/g, "").split(/, | \+/).map((word) => word.replace(" koi", ""));
    assert.deepEqual(moved.map((event) => event.card), heard);
    assert.equal(at.events.filter((event) => event.what === "koi-koi").length, at.calls[0] + at.calls[1]);
    for (const event of at.events) {
      const words = koikoi.sentence(event, seat);
      assert.ok(words.startsWith(event.who === seat ? "You" : "The equilibrium"), words);
      if (event.card) assert.ok(words.includes(event.card), words);
    }
  }
});
