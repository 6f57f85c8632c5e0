// Tests of book/_static/play_koikoi.js. The expected values come from cfrlib:
// tests/browser/test_play_koikoi.py writes them to the file in KOIKOI_FIXTURE.
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

// Play a round with the actions that `choose` returns.
function roundOf(seat, random, choose) {
  let round = koikoi.start(seat, table, random);
  while (!koikoi.over(round)) {
    assert.equal(round.at.player, seat, "the script stops only where the reader decides");
    const actions = koikoi.actions(round.at, table.rules);
    round = koikoi.choose(round, choose(actions, round), table, random);
  }
  return round;
}

const anyAction = (random) => (actions) => actions[Math.floor(random() * actions.length)];

function bestAction(actions, round) {
  const { worth } = koikoi.advice(round.at, table);
  return actions.reduce((a, b) => (!worth || worth[a] >= worth[b] ? a : b));
}

for (const { name, rules, rounds } of games) {
  test(`${name} has the labels, actions, cards, points and payoffs of cfrlib`, () => {
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

test("states keep all cards and are never changed in place", () => {
  const random = seeded(1), deck = [...table.rules.deck].sort();
  for (let k = 0; k < 500; k++) {
    roundOf(k % 2, random, (actions, { at }) => {
      const all = [...at.hands.flat(), ...at.piles.flat(), ...at.field, ...at.stock];
      assert.deepEqual([...all, ...(at.card ? [at.card] : [])].sort(), deck);
      const frozen = JSON.stringify(at);
      koikoi.act(at, actions[0], table.rules);
      assert.equal(JSON.stringify(at), frozen);
      return anyAction(random)(actions);
    });
  }
});

test("every card is equally likely in every place", () => {
  const random = seeded(2), times = 20000, held = {}, last = {};
  for (let k = 0; k < times; k++) {
    const { at } = koikoi.start(0, table, random);
    held[at.hands[0][0] === at.hands[0][1]] = (held[at.hands[0][0] === at.hands[0][1]] || 0) + 1;
    last[at.stock[3]] = (last[at.stock[3]] || 0) + 1;
  }
  frequent(held.true, times, 1 / 9, "a pair in the dealer's hand");
  for (const [card, n] of Object.entries(last)) frequent(n, times, 1 / 5, `${card} last in the stock`);
});

test("the equilibrium plays its table in all positions", () => {
  const random = seeded(3), decisions = {}, taken = {};
  for (let k = 0; k < 20000; k++) {
    let round = koikoi.start(k % 2, table, random);
    while (!koikoi.over(round)) {
      const actions = koikoi.actions(round.at, table.rules);
      const known = koikoi.advice(round.at, table);
      if (actions.length > 1) assert.ok(known.worth, `no worth at ${koikoi.infoset(round.at)}`);
      round = koikoi.choose(round, anyAction(random)(actions), table, random);
    }
    // the equilibrium's first choice as dealer, by its information
    if (round.seat === 1) {
      const [label] = [round.at.first[0]], event = round.at.events[0];
      decisions[label] = (decisions[label] || 0) + 1;
      taken[label] = taken[label] || {};
      taken[label][event.card] = (taken[label][event.card] || 0) + 1;
    }
  }
  for (const [label, times] of Object.entries(decisions)) {
    const row = table.rows[koikoi.key(`dealer ${label} | `, table.rules)];
    const [first, second] = label.split(" | ")[0].split(" ");
    const p = row ? row[0] / 1000 : 1;
    assert.ok(row || first === second);
    if (times * p * (1 - p) > 5) frequent(taken[label][first] || 0, times, p, label);
    else assert.ok(p > 0 || !taken[label][first], label);
  }
});

test("mean cost of choices equals the gain of a best response", () => {
  for (const { name, loss } of leaks) {
    const random = seeded(4), choose = { random: anyAction(random), best: bestAction }[name];
    const costs = [];
    for (let k = 0; k < 20000; k++) costs.push(koikoi.cost(roundOf(k % 2, random, choose)));
    assert.ok(Math.min(...costs) >= 0);
    const m = mean(costs), error = Math.sqrt(mean(costs.map((c) => (c - m) ** 2)) / costs.length);
    assert.ok(Math.abs(m - loss) <= 5 * error + 1e-4, `${name}: ${m}, not ${loss}`);
  }
});

test("result plus cost has mean 0", () => {
  const random = seeded(5), rest = [];
  for (let k = 0; k < 20000; k++) {
    const round = roundOf(k % 2, random, anyAction(random));
    rest.push(koikoi.result(round) + koikoi.cost(round));
  }
  const error = Math.sqrt(mean(rest.map((x) => (x - mean(rest)) ** 2)) / rest.length);
  assert.ok(Math.abs(mean(rest)) <= 5 * error, `${mean(rest)} is left, ± ${error}`);
});

test("the review lists exactly the reader's decisions with a choice", () => {
  const random = seeded(6);
  for (let k = 0; k < 500; k++) {
    let choices = 0;
    const round = roundOf(k % 2, random, (actions) => {
      choices += actions.length > 1 ? 1 : 0;
      return anyAction(random)(actions);
    });
    const rows = koikoi.review(round);
    assert.equal(rows.length, choices);
    for (const row of rows) assert.deepEqual(Object.keys(row.worth), row.actions);
  }
});

test("the log names every card that moved in public", () => {
  const random = seeded(7);
  for (let k = 0; k < 200; k++) {
    const { at, seat } = roundOf(k % 2, random, anyAction(random));
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
