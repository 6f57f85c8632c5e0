// Tests of the functions in cfrbook/explore/page.js that need no page.
const test = require("node:test");
const assert = require("node:assert/strict");
const { addressNames, format, frameNumber, positions, share, texts } = require("../../cfrbook/explore/page.js");

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

test("the names of controls differ on a page, and are bare where they can be", () => {
  const names = [["iterations", "update"], ["seed"], ["walks", "update"], ["seed"]];
  const found = names.map((_, n) => addressNames(names, n));
  assert.deepEqual(found, [["iterations", "update"], ["seed"], ["3.walks", "3.update"], ["4.seed"]]);
});

test("an address is easy to read", () => {
  assert.equal(format(["beta"], ["−1"]), "beta=-1");
  assert.equal(format(["iterations", "update"], ["1,468", "alternating"]), "iterations=1468&update=alternating");
  assert.equal(format(["a", "b", "c"], ["CFR+", "1,234,567", "J Q → check → bet"]), "a=CFR+&b=1234567&c=J-Q,check,bet");
  assert.equal(format(["mix"], [texts({ counts: [[2, 3, 5]], parts: 10 })[0]]), "mix=0.2,0.3,0.5");
});

const said = [["1", "10", "1,468"], ["simultaneous", "CFR+, 100 % & more = α"]];

test("an address that was written gives the positions back", () => {
  const names = ["iterations", "2.update"];
  for (let a = 0; a < 3; a++) {
    for (let b = 0; b < 2; b++) {
      const address = format(names, [said[0][a], said[1][b]]);
      assert.deepEqual(positions(address, names, said, [0, 0]), [a, b], address);
      assert.deepEqual(positions(`x=1&${address}`, names, said, [0, 0]), [a, b], address);
    }
  }
});

test("an address with a typographic minus, as pages once wrote it, is still understood", () => {
  for (const address of ["beta=-1", "beta=%E2%88%921", "beta=−1"]) {
    assert.deepEqual(positions(address, ["beta"], [["0", "−1"]], [0]), [1], address);
  }
});

test("unknown names, unknown values and broken addresses change nothing", () => {
  const names = ["iterations", "update"];
  for (const address of ["", "section-2", "iterations", "iterations=", "iterations=7", "=", "&&=&", "iterations=%", "iterations=%E0%A4%A", "toString=1", "2.iterations=10", "iterations==10"]) {
    assert.deepEqual(positions(address, names, said, [1, 0]), [1, 0], address);
  }
  assert.deepEqual(positions("iterations=%&update=CFR+,100-%25-%26-more-=-α", names, said, [1, 0]), [1, 1]);
});
