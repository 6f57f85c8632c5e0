// CFR solves Kuhn poker: the whole program that runs on the start page of the book. Try it in the
// console of that page: const run = new CFR(); run.iterate(); exploitability(run.average())
"use strict";
const CARDS = ["J", "Q", "K"]; // low to high
const DEALS = CARDS.flatMap((a) => CARDS.filter((b) => b !== a).map((b) => [a, b]));
const DECISIONS = { // by the moves so far: who decides, and between what
  "": { player: 0, actions: ["check", "bet"] },
  "check": { player: 1, actions: ["check", "bet"] },
  "bet": { player: 1, actions: ["fold", "call"] },
  "check-bet": { player: 0, actions: ["fold", "call"] },
};
const next = (moves, a) => (moves ? `${moves}-${a}` : a);
const infoset = (deal, moves) => `${deal[DECISIONS[moves].player]} ${moves}`.trim(); // "Q check-bet"
const sum = (list, number) => list.reduce((total, x) => total + number(x), 0);
const mapped = (rows, f) => Object.fromEntries(Object.entries(rows).map(([key, x]) => [key, f(x)]));

function payoff(i, deal, moves) { // in chips; a call has put a second one of each player in the pot
  const higher = CARDS.indexOf(deal[0]) > CARDS.indexOf(deal[1]) ? 0 : 1;
  const winner = { "bet-fold": 0, "check-bet-fold": 1 }[moves] ?? higher;
  return (moves.endsWith("call") ? 2 : 1) * (winner === i ? 1 : -1);
}

function table(x) { // the same number for each action of each infoset
  return Object.fromEntries(Object.entries(DECISIONS).flatMap(([moves, { actions }]) =>
    DEALS.map((deal) => [infoset(deal, moves), Object.fromEntries(actions.map((a) => [a, x]))])));
}

function match(row) { // regret matching: in proportion to what is positive, else uniform
  const total = sum(Object.values(row), (x) => Math.max(x, 0));
  return mapped(row, (x) => (total > 0 ? Math.max(x, 0) / total : 1 / 2));
}

class CFR {
  iterations = 0;
  regrets = table(0); // R(I, a)
  sums = table(0); // S(I, a), of the strategies so far
  sigma = table(1 / 2); // σ(a|I), the current strategy

  iterate() {
    for (const i of [0, 1]) { // one player learns, then the other
      this.reach = {}; // by player i's own actions
      for (const deal of DEALS) this.walk(i, deal, "", 1, 1 / DEALS.length);
      for (const [I, own] of Object.entries(this.reach)) {
        for (const a in this.sums[I]) this.sums[I][a] += own * this.sigma[I][a];
        this.sigma[I] = match(this.regrets[I]);
      }
    }
    this.iterations += 1;
  }

  walk(i, deal, moves, own, others) { // returns what player i can expect from here on
    if (!DECISIONS[moves]) return this.utility(i, deal, moves);
    const { player, actions } = DECISIONS[moves], I = infoset(deal, moves);
    const p = this.sigma[I], u = {};
    for (const a of actions) {
      const reach = player === i ? [own * p[a], others] : [own, others * p[a]];
      u[a] = this.walk(i, deal, next(moves, a), ...reach);
    }
    const mean = sum(actions, (a) => p[a] * u[a]);
    if (player === i) {
      this.reach[I] = own;
      for (const a of actions) this.regrets[I][a] += this.regret(u[a], mean, others);
    }
    return mean;
  }

  regret(u, mean, others) { return others * (u - mean); }
  utility(i, deal, moves) { return payoff(i, deal, moves); }
  average() { return mapped(this.sums, match); }
}

function best(i, sigma, deals, moves) { // what i's best response wins, of deals that look alike
  if (!DECISIONS[moves]) return sum(deals, ([deal, p]) => p * payoff(i, deal, moves));
  const { player, actions } = DECISIONS[moves];
  const weighted = (a) => deals.map(([deal, p]) => [deal, p * sigma[infoset(deal, moves)][a]]);
  const below = (a) => best(i, sigma, player === i ? deals : weighted(a), next(moves, a));
  return player === i ? Math.max(...actions.map(below)) : sum(actions, below);
}

function exploitability(sigma) { // what best responses win of it, on average over the seats
  const alike = (i, card) => DEALS.filter((deal) => deal[i] === card).map((deal) => [deal, 1 / 6]);
  return sum([0, 1], (i) => sum(CARDS, (card) => best(i, sigma, alike(i, card), ""))) / 2;
}

if (typeof module !== "undefined") module.exports = { CFR, DECISIONS, exploitability };
