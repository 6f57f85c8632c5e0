// Tests of book/_static/play_kuhn.js. The expected values come from cfrlib and NumPy:
// tests/browser/test_play_kuhn.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { frequent, seeded } = require("./chance.js");
const kuhn = require(path.join(__dirname, "../../book/_static/play_kuhn.js"));
const right = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));
const { members } = right.table;

function close(found, wanted, why) {
  assert.ok(Math.abs(found - wanted) <= 1e-12, `${why}: ${found}, not ${wanted}`);
}

// Play `n` hands with uniformly random actions.
function session(n, strategy, random) {
  return Array.from({ length: n }, (_, k) => {
    let hand = kuhn.start(k % 2, strategy, random);
    while (!kuhn.over(hand)) {
      const { player, actions } = kuhn.turn(hand.moves);
      assert.equal(player, hand.seat, "the script stops only where the reader decides");
      hand = kuhn.act(hand, actions[Math.floor(random() * 2)], strategy, random);
    }
    return hand;
  });
}

// ---- the rules ----

test("every terminal payoff equals cfrlib's", () => {
  assert.equal(right.ends.length, 30);
  for (const { cards, moves, utilities } of right.ends) {
    assert.equal(kuhn.turn(moves), null);
    assert.equal(kuhn.payoff(cards, moves), utilities[0]);
    for (const seat of [0, 1]) assert.equal(kuhn.result({ cards, seat, moves }), utilities[seat]);
  }
});

test("every decision equals cfrlib's", () => {
  assert.equal(right.decisions.length, 24);
  for (const { cards, moves, player, infoset, actions } of right.decisions) {
    assert.deepEqual(kuhn.turn(moves), { player, actions });
    assert.equal(kuhn.infoset(cards[player], moves), infoset);
  }
});

// ---- chance ----

test("the six deals are equally likely", () => {
  const random = seeded(1), times = 60000, seen = {};
  for (let k = 0; k < times; k++) {
    const cards = kuhn.deal(random).join("");
    seen[cards] = (seen[cards] || 0) + 1;
  }
  assert.deepEqual(Object.keys(seen).sort(), ["JK", "JQ", "KJ", "KQ", "QJ", "QK"]);
  for (const [cards, n] of Object.entries(seen)) frequent(n, times, 1 / 6, cards);
});

test("deals stay in range at the ends of [0, 1)", () => {
  assert.deepEqual(kuhn.deal(() => 0), ["J", "Q"]);
  assert.deepEqual(kuhn.deal(() => 1 - 2 ** -53), ["K", "Q"]);
});

test("rounding never samples an action of probability 0", () => {
  for (const u of [0, 0.3, 1 - 2 ** -53]) {
    assert.equal(kuhn.sample({ fold: 0, call: 1 }, () => u), "call");
    assert.equal(kuhn.sample({ fold: 1, call: 0 }, () => u), "fold");
    assert.equal(kuhn.sample({ fold: 0.2, call: 0.1, raise: 0 }, () => u === 0 ? 0 : 0.999), u ? "call" : "fold");
  }
});

test("the opponent plays the table", () => {
  for (const k of [0, 12, 20]) {
    const { strategy } = members[k];
    const hands = session(40000, strategy, seeded(k));
    const theirs = kuhn.count(hands.map((hand) => ({ ...hand, seat: 1 - hand.seat })), strategy);
    for (const [infoset, row] of Object.entries(theirs)) {
      const times = row.check + row.bet || row.fold + row.call || 0;
      for (const [action, n] of Object.entries(row)) {
        frequent(n, times, strategy[infoset][action], `member ${k}, ${infoset}, ${action}`);
      }
    }
  }
});

// ---- the score ----

test("mean, standard deviation and confidence interval equal NumPy's and SciPy's", () => {
  assert.ok(right.scores.length);
  for (const { results, half, ...wanted } of right.scores) {
    const found = kuhn.score(results);
    assert.ok(Math.abs(found.half / half - 1) < 3e-4, "half");
    for (const [name, value] of Object.entries(wanted)) close(found[name], value, name);
  }
});

test("a confidence interval needs ten hands", () => {
  assert.deepEqual({ ...kuhn.score([]), sd: 0, half: 0 }, { hands: 0, total: 0, mean: 0, sd: 0, half: 0 });
  for (let n = 0; n < 10; n++) {
    const results = Array.from({ length: n }, (_, k) => (k % 2 ? 1 : -2));
    assert.ok(Number.isNaN(kuhn.score(results).half));
    assert.doesNotMatch(kuhn.chart(results, 300, "hand"), /play-band|95%/);
  }
  assert.match(kuhn.chart(Array(10).fill(1), 300, "hand"), /play-band.*95%|95%.*play-band/);
});

test("handsToSee returns the fewest hands with a half-width below the leak", () => {
  const n = kuhn.handsToSee(1.2, 0.05);
  assert.ok((1.96 * 1.2) / Math.sqrt(n) <= 0.05);
  assert.ok((1.96 * 1.2) / Math.sqrt(n - 1) > 0.05);
});

test("the chart has the given width for any results", () => {
  for (const results of [[], [1], [1, 1], [-2, 1, 1, 2], Array(300).fill(2)]) {
    const svg = kuhn.chart(results, 300, "hand");
    assert.match(svg, /viewBox="0 0 300 \d+" role="img" aria-label="[^"]+"/);
    assert.doesNotMatch(svg, /NaN|Infinity|undefined/);
  }
});

// ---- the reader's strategy ----

test("only the reader's actions are counted", () => {
  for (const { hands, counts } of right.leaks) {
    assert.deepEqual(kuhn.count(hands, members[0].loss), counts);
  }
});

test("estimates are frequencies, or null without data", () => {
  const counts = { "K bet": { fold: 1, call: 3 }, "J": { check: 0, bet: 0 } };
  assert.deepEqual(kuhn.estimate(counts), { "K bet": { fold: 0.25, call: 0.75 }, "J": null });
});

test("the leak equals the gain of cfrlib's best response", () => {
  assert.ok(right.leaks.length);
  for (const { member, counts, leak } of right.leaks) {
    const found = kuhn.leak(counts, members[member].loss);
    close(found.total, leak, `member ${member}`);
    close(found.rows.reduce((sum, row) => sum + row.cost, 0), leak, "sum of the rows");
  }
});

test("folding kings is reported as the worst mistake", () => {
  const { loss } = members[12], counts = kuhn.count([], loss);
  counts["K bet"] = { fold: 3, call: 0 };
  const { worst, total } = kuhn.leak(counts, loss);
  assert.deepEqual([worst.name, worst.mistake], ["K bet", "fold"]);
  close(total, 0.5 * loss["K bet"].fold, "half of the hands");
});

test("no mistake is reported for equilibrium actions", () => {
  const counts = kuhn.count([], members[12].loss);
  counts["K bet"].call = counts["J"].check = counts["J"].bet = 5;
  assert.equal(kuhn.leak(counts, members[12].loss).worst, null);
});

// ---- words ----

test("the narration follows the hand", () => {
  const hand = { cards: ["Q", "K"], seat: 0, moves: ["check", "bet", "call"] };
  assert.deepEqual(kuhn.narrate(hand, 0), ["You check.", "The equilibrium bets.", "You call."]);
  assert.deepEqual(kuhn.narrate(hand, 1), ["The equilibrium bets.", "You call."]);
  assert.equal(kuhn.outcome(hand), "Your queen loses to the king: you lose 2 chips.");
  assert.equal(kuhn.outcome({ ...hand, moves: ["bet", "fold"] }), "You win 1 chip.");
  assert.equal(kuhn.outcome({ ...hand, seat: 1, moves: ["bet", "fold"] }), "You lose 1 chip.");
  assert.equal(kuhn.outcome({ ...hand, moves: ["bet", "fold"] }, true), "You win 1 chip. They held the king.");
});

test("numbers are formatted for readers", () => {
  assert.deepEqual([0, 1, -2].map((x) => kuhn.signed(x)), ["0", "+1", "−2"]);
  assert.deepEqual([-0.004, 0.126].map((x) => kuhn.signed(x, 2)), ["0.00", "+0.13"]);
  assert.deepEqual([0, 1, 12, 20].map(kuhn.alphaText), ["0", "1/60 ≈ 0.017", "1/5 = 0.20", "1/3 ≈ 0.333"]);
  assert.equal(kuhn.range(members, "Q check-bet"), "0.33–0.67");
  assert.equal(kuhn.range(members, "K bet"), "1.00");
});
