// Tests of the functions in cfrlib/explore/page.js that need no page.
const test = require("node:test");
const assert = require("node:assert/strict");
const { frameNumber, share } = require("../../cfrlib/explore/page.js");

test("frame numbers count positions like digits, the last control fastest", () => {
  const seen = [];
  for (let a = 0; a < 2; a++) for (let b = 0; b < 3; b++) for (let c = 0; c < 4; c++) seen.push(frameNumber([2, 3, 4], [a, b, c]));
  assert.deepEqual(seen, [...Array(24).keys()]);
});

test("a shared mix has whole parts, the same total and the moved part as set", () => {
  for (let a = 0; a <= 10; a++) {
    for (let b = 0; a + b <= 10; b++) {
      for (let n = 0; n < 3; n++) {
        for (let value = 0; value <= 10; value++) {
          const mixed = share([a, b, 10 - a - b], n, value, 10);
          assert.equal(mixed[n], value);
          assert.equal(mixed.reduce((x, y) => x + y), 10);
          assert.ok(mixed.every((count) => Number.isInteger(count) && count >= 0));
        }
      }
    }
  }
});

test("the other parts keep their proportion up to rounding", () => {
  assert.deepEqual(share([4, 3, 3], 0, 10, 10), [10, 0, 0]);
  assert.deepEqual(share([2, 4, 4], 0, 6, 10), [6, 2, 2]);
  assert.deepEqual(share([4, 4, 2], 0, 4, 10), [4, 4, 2]);
  assert.deepEqual(share([10, 0, 0], 0, 4, 10), [4, 3, 3]);
});
