// A network that has learned Koi-Koi: its input, the table after an action, and its output, the
// expected points. The page contains its weights. Tests compare both with cfrlib's numbers.
(function koikoiNetwork() {
  "use strict";
  const koikoi = typeof module === "undefined" ? globalThis.cfrKoikoi : require("./koikoi_rules.js");
  const { STOP, act, actions, held, payment, stopping, worth } = koikoi;
  const POINTS = 10; // points per unit of a feature

  // ---- its input ----

  // The features of the table after an action and before the next draw, as seen by the player in
  // turn. With the stock removed, the rules stop there.
  function features(at, action, rules) {
    const i = at.player, { drawn } = at, calling = at.stage === "call";
    const next = act({ ...at, stock: [] }, action, rules);
    const hand = next.hands[i], pile = next.piles[i], theirs = next.piles[1 - i];
    const pending = next.stage === "match" ? [next.card] : [];
    const points = worth(pile, rules), other = at.points[1 - i];
    const calls = next.calls[i], called = next.calls[1 - i];
    const facts = [
      points / POINTS, other / POINTS, calls, called, i,
      points > at.points[i], // they have just risen
      calling || drawn, // the turn ends
      at.stock.length && !drawn, // a card is drawn next
      calling && action === STOP,
      payment(points, called > 0, rules) / POINTS, payment(other, calls > 0, rules) / POINTS,
      hand.length / rules.hand,
    ];
    const { deck, yaku } = rules, columns = 5 * deck.length;
    const x = new Float32Array(columns + 2 * yaku.length + facts.length);
    [hand, next.field, pile, theirs, pending].forEach((cards, place) =>
      cards.forEach((card) => { x[place * deck.length + deck.indexOf(card)] = 1; }));
    x.set([pile, theirs].flatMap((cards) => yaku.map((y) => held(y.cards, cards) / y.need)), columns);
    x.set(facts, columns + 2 * yaku.length);
    return x;
  }

  // ---- its output ----

  // A number in half precision: sign, five bits of exponent, ten of mantissa.
  function half(bits) {
    const exponent = (bits >> 10) & 31, mantissa = bits & 1023;
    const size = exponent ? (1024 + mantissa) * 2 ** (exponent - 25) : mantissa * 2 ** -24;
    return bits & 0x8000 ? -size : size;
  }

  // Decode the weights: half-precision numbers, little-endian, in base64.
  function decode(text) {
    const bytes = Uint8Array.from(atob(text), (letter) => letter.charCodeAt(0));
    return Float32Array.from({ length: bytes.length / 2 }, (_, n) => half(bytes[2 * n] | (bytes[2 * n + 1] << 8)));
  }

  // The layers, each {bias, kernel}. JAX orders them by name, so the last layer comes first.
  function layersOf({ sizes, weights }) {
    const numbers = decode(weights), last = sizes.length - 2;
    let place = 0;
    const cut = (length) => numbers.subarray(place, (place += length));
    const layer = (n) => ({ bias: cut(sizes[n + 1]), kernel: cut(sizes[n] * sizes[n + 1]) });
    const output = layer(last);
    return [...sizes.slice(0, last).map((_, n) => layer(n)), output];
  }

  // bias + x · kernel. Most features are 0, and so are many outputs of ReLU layers.
  function dense(x, { bias, kernel }) {
    const y = Float64Array.from(bias), width = y.length;
    x.forEach((value, row) => {
      if (!value) return;
      for (let k = 0; k < width; k++) y[k] += value * kernel[row * width + k];
    });
    return y;
  }

  function forward(x, layers) {
    return layers.reduce((y, layer, n) => dense(n ? y.map((v) => Math.max(0, v)) : y, layer), x)[0];
  }

  // Return a function from positions to {action: expected points of the player in turn}. The
  // payment for stopping is known.
  function network(data, rules) {
    const layers = layersOf(data);
    const expected = (at, action) => data.scale * forward(features(at, action, rules), layers);
    return (at) => Object.fromEntries(actions(at, rules)
      .map((action) => [action, action === STOP ? stopping(at, rules) : expected(at, action)]));
  }

  if (typeof module === "undefined") {
    koikoi.network = network;
    koikoi.scripts.push(koikoiNetwork);
  } else {
    module.exports = { decode, features, network };
  }
})();
