// Tests of book/_static/cfr_kuhn.js, and of the runs that live.js draws. The expected values come
// from cfrlib: tests/pages/test_scripts.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const scripts = path.join(__dirname, "../../book/_static");
const { CFR, exploitability } = require(path.join(scripts, "cfr_kuhn.js"));
const { BUGS, LAST, advance, flows, rows, start } = require(path.join(scripts, "live.js"));
const right = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));

function close(found, wanted, why) {
  assert.ok(Math.abs(found - wanted) <= 1e-12, `${why}: ${found}, not ${wanted}`);
}

function sameTable(found, wanted, why) {
  assert.deepEqual(Object.keys(found).sort(), Object.keys(wanted).sort());
  for (const [I, row] of Object.entries(wanted)) {
    assert.deepEqual(Object.keys(found[I]).sort(), Object.keys(row).sort());
    for (const [a, x] of Object.entries(row)) close(found[I][a], x, `${why}, ${I}, ${a}`);
  }
}

// Compare each of the first iterations.
function sameRun(program, wanted) {
  assert.equal(wanted.length, 20);
  for (const { regrets, sums, average, exploitability: size } of wanted) {
    program.iterate();
    const t = program.iterations;
    sameTable(program.regrets, regrets, `regrets at ${t}`);
    sameTable(program.sums, sums, `sums at ${t}`);
    sameTable(program.average(), average, `average at ${t}`);
    close(exploitability(program.average()), size, `exploitability at ${t}`);
  }
}

test("exploitability equals cfrlib's", () => {
  assert.ok(right.strategies.length > 100);
  right.strategies.forEach(({ strategy, exploitability: size }, k) => {
    close(exploitability(strategy), size, `strategy ${k}`);
  });
});

test("twenty iterations equal cfrlib's", () => sameRun(new CFR(), right.cfr));

test("the museum has each bug", () => {
  assert.deepEqual(Object.keys(BUGS).sort(), Object.keys(right.bugs).sort());
});

for (const [name, { program: Program, line, broken }] of Object.entries(BUGS)) {
  test(`twenty iterations with a bug equal those of the museum's: ${name}`, () => {
    sameRun(new Program(), right.bugs[name]);
  });

  test(`the line shown is the line that differs: ${name}`, () => {
    const source = fs.readFileSync(path.join(scripts, "cfr_kuhn.js"), "utf8");
    assert.equal(source.split(line).length, 2, "once in the program");
    const edited = { exports: {} };
    new Function("module", source.replace(line, broken))(edited);
    sameRun(new edited.exports.CFR(), right.bugs[name]);
  });
}

// ---- after many iterations, where the last bits of the current strategy differ ----

const runs = Object.fromEntries(Object.entries({ cfr: { program: CFR }, ...BUGS })
  .map(([name, { program }]) => [name, start(program)]));
for (const run of Object.values(runs)) advance(run, LAST);

test("CFR solves the game", () => {
  const { points, now, program } = runs.cfr;
  for (const [n, x] of points.filter((point) => point[0] >= 100)) {
    assert.ok(x < 1 / Math.sqrt(n) / 5, `${x} after ${n} iterations`);
  }
  assert.ok(now < 1e-3);
  const average = program.average();
  for (const [I, a, p] of [["Q", "bet", 0], ["J check", "bet", 1 / 3], ["Q bet", "call", 1 / 3], ["K bet", "call", 1]]) {
    assert.ok(Math.abs(average[I][a] - p) < 0.02, `${I}: ${average[I][a]}`);
  }
  assert.ok(Math.abs(average.K.bet - 3 * average.J.bet) < 0.02, "the king bets three times as often as the jack");
});

test("a program with a bug does not", () => {
  assert.ok(Math.abs(runs["no reach"].now - 1 / 6) < 1e-3, "it stops at 1/6");
  assert.ok(runs["one payoff for both"].now > 0.8);
  assert.ok(runs["one payoff for both"].program.average()["K bet"].call < 0.01, "player 1 folds the king");
  const tail = runs["current strategy returned"].points.filter((point) => point[0] >= 1000);
  const sizes = tail.map((point) => point[1]), rises = sizes.filter((x, k) => k && x > sizes[k - 1]);
  assert.ok(Math.max(...sizes) > 0.02 && rises.length > 10, "it jumps up and down");
});

test("a curve has the same points however it is drawn", () => {
  const steps = start(CFR);
  for (let n = 1; n <= 200; n++) advance(steps, n);
  assert.deepEqual(steps.points, runs.cfr.points.filter((point) => point[0] <= 200));
  advance(steps, 100);
  assert.equal(steps.program.iterations, 200, "it never goes back");
  assert.deepEqual(runs.cfr.points.at(-1), [LAST, runs.cfr.now]);
});

test("the tree shows the average strategy and how often it takes each path", () => {
  const found = rows(runs.cfr), average = runs.cfr.program.average();
  assert.equal(found.length, 12);
  for (const row of found) assert.equal(row.average, average[row.I][row.action]);
  assert.ok(rows(start(CFR)).every((row) => row.average === 0.5 && row.regret === 0));
  assert.deepEqual(flows(rows(start(CFR))), { "check": 0.5, "bet": 0.5, "check-bet": 0.25 });
  const flowing = flows(found);
  close(flowing.check + flowing.bet, 1, "first moves");
});

test("the program is about as long as the page says", () => {
  const source = fs.readFileSync(path.join(scripts, "cfr_kuhn.js"), "utf8");
  const [program, measure] = source.split(/^(?=function best)/m).map((part) =>
    part.split("\n").filter((text) => text.trim() && !text.startsWith("//")).length);
  assert.ok(program >= 55 && program <= 65, `${program} lines`);
  assert.ok(measure >= 10 && measure <= 14, `${measure} lines`);
});
