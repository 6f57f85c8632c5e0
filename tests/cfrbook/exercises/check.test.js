// Tests of book/_static/check.js. The expected replies come from cfrbook.exercises.grading:
// tests/cfrbook/exercises/test_check_script.py writes them to the file in CHECK_FIXTURE.
"use strict";
const assert = require("node:assert/strict");
const fs = require("node:fs");
const path = require("node:path");
const test = require("node:test");

const checking = require(path.join(__dirname, "../../../book/_static/check.js"));
const right = JSON.parse(fs.readFileSync(process.env.CHECK_FIXTURE, "utf8"));

test("replies equal those of exercises.check", () => {
  let count = 0;
  const other = [];
  for (const { exercise, answers } of right) {
    const loaded = checking.load(exercise);
    for (const [answer, verdict, text] of answers) {
      const found = checking.check(loaded, checking.decode(answer));
      count += 1;
      if (found.verdict !== verdict || found.text !== text) {
        other.push(`${exercise.number} ${JSON.stringify(answer)}\n  Python: ${verdict} ${text}\n  script: ${found.verdict} ${found.text}`);
      }
    }
  }
  console.log(`${right.length} exercises, ${count} answers, ${other.length} differ`);
  assert.ok(count > 50);
  assert.deepEqual(other.slice(0, 20), []);
});
