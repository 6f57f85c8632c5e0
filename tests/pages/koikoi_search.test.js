// Tests of book/_static/koikoi_search.js: decisions with imagined deals, the values that cfrlib's
// search finds in them, the greedy player's action, and the playouts of a decision.
// tests/browser/test_play_match.py writes them to the file in FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const { seeded } = require("./chance.js");
const pages = path.join(__dirname, "../../book/_static");
const { actions, replaced } = require(path.join(pages, "koikoi_rules.js"));
const { network } = require(path.join(pages, "koikoi_network.js"));
const { greedy, halve, imagine, lookAhead, searcher } = require(path.join(pages, "koikoi_search.js"));
const { table, searches, playouts } = JSON.parse(fs.readFileSync(process.env.FIXTURE, "utf8"));
const { rules } = table, values = network(table.network, rules);

function position(at) {
  return { ...at, first: ["", ""], heard: "", events: [] };
}

test("values of a search are those of cfrlib in the same deals", () => {
  let widest = 0, stages = {};
  for (const { at, deals, worth } of searches) {
    const imagined = deals.map(({ hand, stock }) =>
      ({ ...position(at), hands: replaced(at.hands, 1 - at.player, hand), stock }));
    const found = lookAhead(imagined, Object.keys(worth), values, rules);
    assert.deepEqual(Object.keys(found), Object.keys(worth));
    for (const [action, points] of Object.entries(worth)) widest = Math.max(widest, Math.abs(found[action] - points));
    stages[at.stage] = (stages[at.stage] || 0) + 1;
  }
  console.log(`${searches.length} decisions: values differ by at most ${widest} points`);
  assert.ok(searches.length >= 100 && stages.play && stages.match && stages.call, JSON.stringify(stages));
  assert.ok(widest < 1e-4, `${widest}`);
});

test("a search tries all actions equally often, then the better half", () => {
  const asked = [], means = [3, 1, 4, 1.5, 5, 0, 2, 6];
  const evaluate = (left, n) => {
    asked.push([left.length, n]);
    return Object.fromEntries(left.map((action) => [action, n < 85 ? means[action] : 9 - means[action]]));
  };
  const eight = [0, 1, 2, 3, 4, 5, 6, 7];
  assert.equal(halve(eight, evaluate), 4); // 7 leads before the last 85 deals: 6 · 63 + 3 · 85 < 5 · 63 + 4 · 85
  assert.deepEqual(asked, [8, 4, 2].map((left) => [left, Math.floor(playouts / 3 / left)]));
  assert.equal(halve(["only"], () => assert.fail("nothing to choose")), "only");
  assert.equal(halve([0, 1], evaluate), 1);
  assert.deepEqual(asked[3], [2, 256]);
});

test("the greedy player is that of cfrlib", () => {
  for (const { at, greedy: action } of searches) assert.equal(greedy(position(at), table), action);
});

test("imagined deals have the same cards, and a search plays a legal one", () => {
  const random = seeded(1), search = searcher(table, random);
  for (const { at } of searches.slice(0, 20)) {
    const here = position(at), other = 1 - at.player, all = [...at.hands[other], ...at.stock].sort();
    const imagined = imagine(here, 5, rules, random);
    for (const deal of imagined) {
      assert.equal(deal.hands[other].length, at.hands[other].length);
      assert.deepEqual([...deal.hands[other], ...deal.stock].sort(), all);
      assert.deepEqual(deal.hands[at.player], at.hands[at.player]);
    }
    assert.ok(new Set(imagined.map(({ hands }) => hands[other].join())).size > 1 || all.length < 5);
    assert.ok(actions(here, rules).includes(search(here)));
  }
});
