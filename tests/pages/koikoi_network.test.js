// Tests of book/_static/koikoi_network.js: rounds of cfrlib's simulator, with the features and the
// values of its network. tests/browser/test_play_match.py writes them to the file in
// FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const pages = path.join(__dirname, "../../book/_static");
const koikoi = require(path.join(pages, "koikoi_rules.js"));
const { features, network } = require(path.join(pages, "koikoi_network.js"));
const { table, rounds } = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));
const { rules } = table, values = network(table.network, rules);

// Replay all rounds; `look` sees each position, and what was recorded there.
function replay(look) {
  for (const { hands, field, stock, steps, paid } of rounds) {
    let at = koikoi.dealt(hands, field, stock, rules);
    for (const step of steps) {
      look(at, step);
      at = koikoi.act(at, step.action, rules);
    }
    assert.equal(at.stage, "over");
    assert.equal(at.paid, paid);
  }
}

test("rounds of the simulator have the same legal actions and pay the same", () => {
  assert.ok(rounds.length >= 300);
  const stages = { play: 0, match: 0, call: 0 };
  replay((at, { player, worth }) => {
    assert.equal(at.player, player);
    assert.deepEqual(koikoi.actions(at, rules), Object.keys(worth));
    stages[at.stage] += 1;
  });
  assert.ok(Math.min(...Object.values(stages)) >= 200, JSON.stringify(stages));
});

test("features are those of cfrlib, to the last bit", () => {
  let checked = 0;
  replay((at, { seen }) => {
    for (const [action, row] of Object.entries(seen || {})) {
      assert.deepEqual(features(at, action, rules), Float32Array.from(row), `${action} at ${koikoi.infoset(at)}`);
      checked += 1;
    }
  });
  assert.ok(checked >= 1000, `${checked} rows`);
});

test("values are those of cfrlib, and so is the choice", () => {
  let decisions = 0, widest = 0, differ = 0, span = 0;
  const first = (row) => Object.keys(row).reduce((a, b) => (row[b] > row[a] ? b : a));
  replay((at, { worth }) => {
    const found = values(at);
    for (const [action, points] of Object.entries(worth)) {
      widest = Math.max(widest, Math.abs(found[action] - points));
      span = Math.max(span, Math.abs(points));
    }
    decisions += 1;
    differ += first(found) !== first(worth);
  });
  console.log(`${decisions} decisions: values differ by at most ${widest} points; ${differ} choices differ`);
  assert.ok(decisions >= 2000 && span > 5);
  assert.ok(widest < 1e-4, `${widest}`);
  assert.ok(differ <= decisions / 1000); // two actions with all but the same value
});
