// A seeded generator, and a test of frequencies, for the tests of the games.
"use strict";
const assert = require("node:assert/strict");

// mulberry32, a small seeded generator
function seeded(seed) {
  let s = seed;
  return () => {
    s = (s + 0x6d2b79f5) | 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// Assert a frequency within five standard errors, plus a rounding error for p = 0 or 1.
function frequent(n, times, p, why) {
  const gap = Math.abs(n - times * p), error = Math.sqrt(times * p * (1 - p));
  assert.ok(gap <= 5 * error + 1e-9, `${why}: ${n} of ${times}, expected ${p}`);
}

module.exports = { frequent, seeded };
