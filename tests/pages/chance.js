// Chance in the tests of the games, with a seed, and how closely it has to be met.
"use strict";
const assert = require("node:assert/strict");

// mulberry32: a small generator with a seed
function seeded(seed) {
  let s = seed;
  return () => {
    s = (s + 0x6d2b79f5) | 0;
    let t = Math.imul(s ^ (s >>> 15), 1 | s);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// within five standard errors, and a rounding error where p leaves no other
function frequent(n, times, p, why) {
  const gap = Math.abs(n - times * p), error = Math.sqrt(times * p * (1 - p));
  assert.ok(gap <= 5 * error + 1e-9, `${why}: ${n} of ${times}, expected ${p}`);
}

module.exports = { frequent, seeded };
