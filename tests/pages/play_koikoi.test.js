// Tests of book/_static/play_koikoi.js. The expected values come from cfrlib:
// tests/browser/test_play_koikoi.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { frequent, seeded } = require("./chance.js");
const pages = path.join(__dirname, "../../book/_static");
const { act, actions: legal, infoset } = require(path.join(pages, "koikoi_rules.js"));
const koikoi = require(path.join(pages, "play_koikoi.js"));
const { table, leaks } = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));
const player = koikoi.equilibrium(table);

function mean(numbers) {
  return numbers.reduce((a, b) => a + b, 0) / numbers.length;
}

// Play a round with the actions that `choose` returns.
function roundOf(seat, random, choose) {
  let round = koikoi.start(seat, player, random);
  while (!koikoi.over(round)) {
    assert.equal(round.at.player, seat, "the script stops only where the reader decides");
    const actions = legal(round.at, table.rules);
    round = koikoi.choose(round, choose(actions, round), player, random);
  }
  return round;
}

const anyAction = (random) => (actions) => actions[Math.floor(random() * actions.length)];

function bestAction(actions, round) {
  const { worth } = player.advice(round.at);
  return actions.reduce((a, b) => (!worth || worth[a] >= worth[b] ? a : b));
}

test("states keep all cards and are never changed in place", () => {
  const random = seeded(1), deck = [...table.rules.deck].sort();
  for (let k = 0; k < 500; k++) {
    roundOf(k % 2, random, (actions, { at }) => {
      const all = [...at.hands.flat(), ...at.piles.flat(), ...at.field, ...at.stock];
      assert.deepEqual([...all, ...(at.card ? [at.card] : [])].sort(), deck);
      const frozen = JSON.stringify(at);
      act(at, actions[0], table.rules);
      assert.equal(JSON.stringify(at), frozen);
      return anyAction(random)(actions);
    });
  }
});

test("the equilibrium plays its table in all positions", () => {
  const random = seeded(3), decisions = {}, taken = {};
  for (let k = 0; k < 20000; k++) {
    let round = koikoi.start(k % 2, player, random);
    while (!koikoi.over(round)) {
      const actions = legal(round.at, table.rules);
      const known = player.advice(round.at);
      if (actions.length > 1) assert.ok(known.worth, `no worth at ${infoset(round.at)}`);
      round = koikoi.choose(round, anyAction(random)(actions), player, random);
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
      const words = koikoi.sentence(event, seat, player.name);
      assert.ok(words.startsWith(event.who === seat ? "You" : "The equilibrium"), words);
      if (event.card) assert.ok(words.includes(event.card), words);
    }
  }
});

test("the winner of a round deals the next one, and matches begin in turns", () => {
  const round = (seat, paid) => ({ seat, at: { stage: "over", paid } });
  const deals = (after_void, ...rounds) => koikoi.seatAfter(rounds, { rounds: 3, after_void });
  assert.equal(deals("other"), 0);
  assert.equal(deals("other", round(0, 5)), 0); // you dealt, and won
  assert.equal(deals("other", round(0, -5)), 1);
  assert.equal(deals("other", round(1, -5)), 0);
  assert.equal(deals("other", round(1, 5)), 1);
  assert.equal(deals("other", round(0, 0)), 1);
  assert.equal(deals("same", round(0, 0)), 0);
  assert.equal(deals("other", round(0, 5), round(0, 1), round(0, 1)), 1);
});

test("the standing counts the rounds of one match", () => {
  const done = (paid) => ({ seat: 0, at: { stage: "over", paid } }), going = { seat: 0, at: { stage: "play" } };
  const rounds = [5, -1, 2, 7].map(done);
  const at = (n, hand) => koikoi.standing({ hands: rounds.slice(0, n), hand }, 3);
  assert.deepEqual(at(0, going), { played: 0, number: 1, score: 0 });
  assert.deepEqual(at(1, rounds[0]), { played: 1, number: 1, score: 5 });
  assert.deepEqual(at(2, going), { played: 2, number: 3, score: 4 });
  assert.deepEqual(at(3, rounds[2]), { played: 3, number: 3, score: 6 });
  assert.deepEqual(at(3, going), { played: 0, number: 1, score: 0 });
  assert.deepEqual(at(4, rounds[3]), { played: 1, number: 1, score: 7 });
});
