// Tests of book/_static/play_yours.js. The expected values come from cfrlib and SciPy:
// tests/browser/test_play_yours.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const yours = require(path.join(__dirname, "../../book/_static/play_yours.js"));
const right = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));

function close(found, wanted, why, tolerance = 1e-9) {
  assert.ok(Math.abs(found - wanted) <= tolerance, `${why}: ${found}, not ${wanted}`);
}

test("exploitability equals cfrlib's", () => {
  assert.ok(right.strategies.length > 100);
  right.strategies.forEach(({ strategy, exploitability }, k) => {
    close(yours.exploitability(strategy), exploitability, `strategy ${k}`);
  });
});

test("the family equals cfrlib's", () => {
  for (const { alpha, strategy } of right.family) {
    const found = yours.member(alpha);
    assert.deepEqual(Object.keys(found).sort(), Object.keys(strategy).sort());
    for (const [name, row] of Object.entries(strategy)) {
      for (const [action, p] of Object.entries(row)) close(found[name][action], p, `${alpha}, ${name}`);
    }
  }
});

test("intervals equal SciPy's", () => {
  for (const { n, times, low, high } of right.intervals) {
    const found = yours.wilson(n, times);
    close(found[0], low, `low, ${n} of ${times}`, 1e-4); // 1.96 stands for 1.95996
    close(found[1], high, `high, ${n} of ${times}`, 1e-4);
  }
  assert.deepEqual(yours.wilson(0, 0), [0, 1]);
});

test("the study of hands equals cfrlib's", () => {
  for (const { hands, exploitability, times } of right.sessions) {
    const found = yours.study(hands);
    close(found.exploitability, exploitability, `${hands.length} hands`);
    for (const row of found.rows) {
      assert.equal(row.times, times[row.name]);
      if (!row.times) assert.ok(!row.outside && row.saved === 0, "nothing is claimed of the unseen");
    }
    assert.ok(found.near <= found.exploitability + 1e-9 || hands.length < 50);
  }
});

test("three hands prove no leak, and a hundred folded kings do", () => {
  const fold = { cards: ["Q", "K"], seat: 1, moves: ["bet", "fold"] };
  const few = yours.study(Array(3).fill(fold)).rows.filter((row) => row.outside);
  assert.deepEqual(few.map((row) => row.name), []);
  const [row, ...more] = yours.study(Array(100).fill(fold)).rows.filter((found) => found.outside);
  assert.equal(row.name, "K bet");
  assert.equal(more.length, 0);
  assert.ok(row.saved > 0.05);
});

test("hands of all opponents are taken together", () => {
  const sitting = (n) => ({ hands: Array(n).fill({}) });
  const stored = { sitting: sitting(2), own: { sittings: [sitting(3), null, sitting(1)] } };
  assert.equal(yours.kept(stored).length, 6);
  assert.equal(yours.kept(null).length, 0);
});
