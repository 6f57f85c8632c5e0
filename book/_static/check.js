// Checks an answer on the page: cfrbook/exercises/grading.py in JavaScript, function by function and
// with the same reply, to the letter. tests/cfrbook/exercises/test_check_script.py compares the two on thousands of answers.
//
// A list is an Array, a tuple a Tuple, a dictionary a Map, a set a Set; an int is a BigInt, which
// prints without a point, and a float a number. `...` is MISSING. The fields of a page give an
// answer its form, so replies to another form are Python's alone.
(() => {
  "use strict";
  const LONGEST = 60, COMPUTED = 1e-3;
  const SIGNS = { right: "✓", wrong: "✗", unreadable: "?", open: "○" };
  const NUMBER = /^[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?$/i;
  const POWER = /^(\d{1,3})(?:\*\*|\^)(\d{1,2})$/;
  const AROUND = /^[≈~=×x] ?(?=\S*\d)|(?<=\d) ?[×x]$| (?:times|points?|chips?)$/g;
  const PLACE = /^(?:the )?(?:(?:line|step) ?([\p{L}\p{N}_]+)|([\p{L}\p{N}_]+) (?:line|step))$/u;
  const CARDINALS = "zero one two three four five six seven eight nine ten".split(" ");
  const ORDINALS = "zeroth first second third fourth fifth sixth seventh eighth".split(" ");
  const EVEN = ["uniform", "uniformly", "even", "evenly", "even play", "uniform play"];
  const MISSING = Symbol("...");

  class Tuple extends Array {}
  class Unreadable extends Error {}
  class Unanswered extends Error {}
  class NoNumber extends Error {}

  function check(exercise, answer) {
    let verdict, text;
    try {
      require_complete(answer);
      const given = plain(exercise.see ? SEES[exercise.see](answer, exercise) : answer);
      [verdict, text] = by_value(exercise, given);
    } catch (trouble) {
      if (trouble instanceof Unanswered) {
        [verdict, text] = ["open", `Not answered yet${trouble.message}: the answer is ${exercise.asks}.`];
      } else if (trouble instanceof Unreadable) {
        [verdict, text] = ["unreadable", `The answer is ${exercise.asks}, but ${trouble.message}.`];
      } else throw trouble;
    }
    return { verdict, text: squeezed(text) };
  }

  function by_value(exercise, given) {
    const { wanted, tolerance, words } = exercise, known = [];
    const apart = (a, b) => differences(a, b, tolerance, words);
    const wrong = apart(given, wanted);
    if (!wrong.length) return ["right", `Right. ${exercise.takeaway}`];
    for (const [value, says] of exercise.known) {
      if (!differences(given, value, tolerance || COMPUTED, words).length) return ["wrong", `Not yet. ${says}`];
      known.push([value, says]);
    }
    for (const [value, says] of known) { // of two that are near, the one that is meant comes first
      if (!apart(given, value).length) return ["wrong", `Not yet. ${says}`];
    }
    const found = one_of_several(given, wanted, wrong, known, apart) || common_error(given, wanted, wrong);
    return ["wrong", `Not yet. ${wrong_parts(wrong, wanted)} ${found} ${exercise.advice}`];
  }

  function one_of_several(given, wanted, wrong, known, apart) {
    const numbers = new Set([...parts(wanted, wanted)].filter(([, , x]) => is_number(x)).map(([at]) => repr(at)));
    const all = wrong.map(repr), left = new Set(all), found = [];
    for (const [value, says] of known) {
      const at = new Set(apart(value, wanted).map(repr));
      const within = [...at].every((place) => left.has(place)) && at.size < new Set(all).size;
      if (!within) continue;
      const counts = [...at].some((place) => numbers.has(place)) || !all.some((place) => numbers.has(place));
      if (counts && !apart(given, value).some((place) => at.has(repr(place)))) {
        found.push(`On ${listed(wrong.filter((place) => at.has(repr(place))))}: ${alone(says)}`);
        at.forEach((place) => left.delete(place));
      }
    }
    return found.join(" ");
  }

  // ---- reading -----------------------------------------------------------------------------------

  function require_complete(answer, place = "") {
    if (answer === MISSING) throw new Unanswered(place);
    if (answer instanceof Map) {
      for (const [key, value] of answer) require_complete(value, `, ${shortened(key)} is missing`);
    } else if (Array.isArray(answer)) {
      answer.forEach((value, n) => require_complete(value, `, number ${n + 1} is missing`));
    }
  }

  function plain(value) {
    if (typeof value === "boolean") return value;
    if (typeof value === "string") {
      try {
        return number_in(value);
      } catch (trouble) {
        if (trouble instanceof NoNumber) return value;
        throw trouble;
      }
    }
    if (value instanceof Map) return new Map([...value].map(([key, x]) => [key, plain(x)]));
    if (Array.isArray(value)) return Array.from(value, plain);
    return as_number(value);
  }

  function as_number(value) {
    if (typeof value === "number" || typeof value === "bigint") return Number(value);
    if (typeof value === "string") {
      try {
        return number_in(in_digits(value));
      } catch (trouble) {
        if (!(trouble instanceof NoNumber)) throw trouble;
      }
    }
    throw new Unreadable(`${shortened(value)} is not a number`);
  }

  function typed(text) {
    text = text.replace(/[¼-¾⅐-⅞₀-₉]/g, " $&").replace(/[⁰¹²³⁴-⁹⁻]+/g, "^$&");
    return text.normalize("NFKC").replace(/[−–ー]/g, "-").replace(/[⁄∕]/g, "/").replaceAll("、", ",").trim();
  }

  function in_digits(text) {
    let bare = squeezed(casefold(typed(text))).replace(/^["'`]+|["'`]+$/g, "").replace(/[.;:!?]+$/, "");
    bare = bare.replace(AROUND, "").replace(/ ?per ?cent$/, " %");
    const power = POWER.exec(bare);
    if (power) return String(BigInt(power[1]) ** BigInt(power[2]));
    return CARDINALS.includes(bare) ? String(CARDINALS.indexOf(bare)) : bare;
  }

  function number_in(text) {
    const bare = typed(text).replace(/^\((.*)\)$/, "$1").replace(/\s*([-+/%])\s*/g, "$1");
    const parts = bare.replaceAll(",", "").replace(/%$/, "").split("/");
    if (parts.length > 2 || !parts.every((part) => NUMBER.test(part))) throw new NoNumber(text);
    if (bare.includes(",")) {
      throw new Unreadable(
        `${shortened(text)} has a comma: write a decimal point, and nothing between thousands`);
    }
    const over = Number(parts[0]), under = Number(parts[1] ?? "1");
    if (!(under && Number.isFinite(over) && Number.isFinite(under))) {
      throw new Unreadable(`${shortened(text)} is ${under ? "too large" : "not a number"}`);
    }
    return over / under / (bare.endsWith("%") ? 100 : 1);
  }

  function shortened(value) {
    const text = [...squeezed(repr(value))];
    return text.length <= LONGEST ? text.join("") : `${text.slice(0, LONGEST - 2).join("")} …`;
  }

  // ---- comparing ---------------------------------------------------------------------------------

  function differences(given, wanted, tolerance = null, words = new Map()) {
    const found = [];
    for (const [place, a, b] of parts(given, wanted)) if (!equal(a, b, tolerance, words)) found.push(place);
    return found;
  }

  function* parts(given, wanted, place = Tuple.of()) {
    if (Array.isArray(wanted)) {
      const items = as_list(given, wanted.length);
      for (let n = 0; n < wanted.length; n++) {
        yield* parts(items[n], wanted[n], Tuple.of(...place, BigInt(n + 1)));
      }
    } else if (wanted instanceof Map) {
      for (const [key, a, b] of pair_values(given, wanted)) yield* parts(a, b, Tuple.of(...place, key));
    } else yield [place, given, wanted];
  }

  function equal(given, wanted, tolerance, words) {
    if (typeof wanted === "string") return same(chosen(given, words)) === same(chosen(wanted, words));
    if (typeof wanted === "boolean") return given === wanted;
    if (wanted instanceof Set) {
      const known = given instanceof Set; // of a mistake
      if (!known && typeof given !== "string") throw new Unreadable(`${shortened(given)} is not a set`);
      const names = known ? given : members(given, [...wanted].every((name) => [...name].length === 1));
      return same(new Set([...names].map(normalized))) === same(new Set([...wanted].map(normalized)));
    }
    return near(as_number(given), as_number(wanted), tolerance);
  }

  function near(given, wanted, tolerance = null) {
    if (!Number.isFinite(wanted)) return given === wanted;
    return Math.abs(given - wanted) <= slack(wanted, tolerance) || isclose(given, wanted, 1e-6);
  }

  function slack(wanted, tolerance = null) {
    if (tolerance) return tolerance * Math.max(1, Math.abs(wanted));
    const most = Number.isInteger(Number(wanted.toFixed(9))) ? 0.49 : Infinity;
    return Math.min(most, Math.max(0.002, 0.005 * Math.abs(wanted)));
  }

  function members(text, letters = false) {
    const names = typed(text).split(/[\][(){},;&+]|\band\b/).map((x) => x.trim()).filter(Boolean);
    return letters ? [...names.join("").replace(/\s+/g, "")] : names;
  }

  function normalized(value) {
    if (Array.isArray(value)) {
      const items = Tuple.from(value, normalized);
      return items.length === 1 ? items[0] : items;
    }
    let text = typeof value === "string" ? value : shortened(value);
    text = squeezed(casefold(typed(text)).replaceAll("_", " "));
    text = text.replace(/^["'`]+|["'`]+$/g, "").replace(/[.,;:!?]+$/, "");
    const place = PLACE.exec(text);
    if (place) text = numeral(place[1] ?? place[2]) || text;
    return NUMBER.test(text) ? general(Number(text), 12) : text;
  }

  function numeral(word) {
    for (const names of [CARDINALS, ORDINALS]) if (names.includes(word)) return String(names.indexOf(word));
    return /^(\d+)(?:st|nd|rd|th)?$/.exec(word)?.[1] ?? "";
  }

  function chosen(value, words) {
    const name = normalized(value);
    const bare = typeof name === "string" ? name.replace(/^the /, "") : "";
    for (const one of [name, bare, numeral(bare)]) {
      for (const [word, synonyms] of words) {
        if ([word, ...synonyms].some((each) => same(normalized(each)) === same(one))) return word;
      }
    }
    return name;
  }

  function as_list(given, length) {
    if (Array.isArray(given)) return given;
    const even = EVEN.includes(normalized(given)) && Array(length).fill(1 / length);
    const items = even || (typeof given === "string" ? members(given) : []);
    if (items.length !== length) throw new Unreadable(`${shortened(given)} is not a list of ${length} values`);
    return items;
  }

  function* pair_values(given, wanted) {
    const own = new Map([...given].map(([key, value]) => [same(normalized(key)), value]));
    for (const [key, value] of wanted) yield [key, own.get(same(normalized(key))), value];
  }

  // ---- explaining --------------------------------------------------------------------------------

  function is_number(value) {
    return typeof value === "number" || typeof value === "bigint";
  }

  function common_error(given, wanted, wrong) {
    const numbers = new Map(); // place -> its name, and the numbers there
    for (const [place, a, b] of parts(given, wanted)) {
      if (is_number(b)) numbers.set(repr(place), [place, as_number(a), as_number(b)]);
    }
    const wrongPlaces = new Set(wrong.map(repr)), all = [...numbers.values()], sums = [], shared = [];
    const bad = all.filter(([place]) => wrongPlaces.has(repr(place)));
    const above = new Map(bad.map(([place]) => [repr(place.slice(0, -1)), place.slice(0, -1)]));
    for (const [name, group] of above) {
      const pairs = all.filter(([place]) => repr(place.slice(0, -1)) === name);
      sums.push(wrong_sum(pairs.map(([, a]) => a), pairs.map(([, , b]) => b), group));
    }
    for (const places of bad.length ? [all, bad] : []) {
      const found = shared_error(places.map(([, a]) => a), places.map(([, , b]) => b));
      const partly = places.length < all.length;
      shared.push(partly ? found.replaceAll("All numbers are", "They are all") : found);
    }
    const percent = shared.filter((says) => says.includes("in percent"));
    return [...percent, ...sums, ...shared].find(Boolean) ?? "";
  }

  function shared_error(a, b) {
    b = b.map((x) => rint(x * 1e9) / 1e9); // a computed 0 is 0
    if (!b.some(Boolean)) return "";
    const one = b.length === 1, whole = (x) => x === rint(x), counts = [...a, ...b].every(whole);
    const ratio = a.map((x, n) => x / b[n]).filter((_, n) => b[n]);
    const apart = !allclose(a, b, 1e-3, 1e-6);
    const alike = allclose(ratio, ratio.map(() => ratio[0]), 1e-3) && !a.some((x, n) => x && !b[n]) && ratio[0] > 0;
    const scaled = alike && apart;
    const twice = isclose(ratio[0], 2, 1e-3) || isclose(ratio[0], 0.5, 1e-3);
    const off_by_one = counts && a.every((x, n) => Math.abs(x - b[n]) === 1) && Math.min(...b) >= 10;
    const sizes = one ? "size is right, the sign is" : "sizes are right, the signs are";
    const increasing = (x) => [...x].sort((p, q) => p - q);
    const errors = [
      ["Close, but not close enough: was it rounded too early, or a run too short?",
        allclose(a, b, 0.02, 1e-9) && !counts],
      [`The ${sizes} not: whose payoff is it, and what is subtracted from what?`,
        allclose(a, b.map((x) => -x), 1e-3, 1e-6)],
      ["Is this in percent? Write 0.25 or '25 %', not 25.", allclose(a, b.map((x) => 100 * x), 1e-3)],
      ["All numbers are there, but in the wrong order.",
        allclose(increasing(a), increasing(b), 1e-3, 1e-6) && apart],
      ["All numbers are off by one and the same factor: is a weight missing?", scaled && ratio.length > 1],
      ["You are off by a factor of two: is it a sum, or a mean, or one of a pair?", scaled && twice && !counts],
      ["You are off by one: did you leave something out, or count it twice?", off_by_one],
      ["Is this the probability of the opposite?",
        Math.min(...a, ...b) > 0 && allclose(a, b.map((x) => 1 - x), 1e-3)],
      ["Is this upside down? A quotient has two sides.",
        a.every(Boolean) && b.every(Boolean) && allclose(a, b.map((x) => 1 / x), 1e-3)],
    ];
    return errors.find(([, holds]) => holds)?.[0] ?? "";
  }

  function wrong_sum(a, b, above) {
    const total = (x) => x.reduce((sum, y) => sum + y, 0);
    const shares = b.length > 1 && Math.min(...b) >= 0 && isclose(total(b), 1, 1e-9, 1e-6);
    if (!shares || Math.abs(total(a) - 1) <= 1e-2) return "";
    const under = above.length ? ` under ${repr(above.at(-1))}` : "";
    return `Probabilities add up to 1, and yours${under} to ${general(total(a), 4)}.`;
  }

  function alone(says) {
    const rest = says.replace(/^[^.:]*\b(is|are) (right|fine)\b[^.:]*[.:] (But )?/, "");
    return rest.slice(0, 1).toUpperCase() + rest.slice(1);
  }

  function listed(places) {
    let names = [...new Set(places.map((place) => Array.from(place, repr).reverse().join(" of ")))];
    if (names.length > 4) names = [...names.slice(0, 3), `${names.length - 3} others`];
    return names.join(", ");
  }

  function wrong_parts(wrong, wanted) {
    if (!(wanted instanceof Map || Array.isArray(wanted))) return "";
    const kinds = [...parts(wanted, wanted)], numbers = kinds.filter(([, , value]) => is_number(value));
    const names = new Set(numbers.map(([place]) => repr(place)));
    let kind = "values";
    if (numbers.length < kinds.length && wrong.some((place) => names.has(repr(place)))) {
      wrong = wrong.filter((place) => names.has(repr(place)));
      kind = "numbers";
    }
    const heads = (places) => same(new Set(places.map((place) => repr(place[0]))));
    const among = kind === "numbers" ? numbers : kinds;
    if (heads(wrong) === heads(among.map(([place]) => place))) return "";
    const is_are = new Set(wrong.map(repr)).size === 1 ? "is" : "are";
    return `Of your ${kind}, ${listed(wrong)} ${is_are} not right; all others are.`;
  }

  // ---- what Python and NumPy have ----------------------------------------------------------------

  function squeezed(text) {
    return text.trim().split(/\s+/).join(" ");
  }

  function casefold(text) {
    return text.toLowerCase().replaceAll("ß", "ss").replaceAll("ς", "σ");
  }

  function rint(x) { // a half goes to the even neighbor
    const low = Math.floor(x), off = x - low;
    return off < 0.5 || (off === 0.5 && low % 2 === 0) ? low : low + 1;
  }

  function isclose(a, b, relative, absolute = 0) {
    if (a === b) return true;
    if (!Number.isFinite(a) || !Number.isFinite(b)) return false;
    return Math.abs(a - b) <= Math.max(relative * Math.max(Math.abs(a), Math.abs(b)), absolute);
  }

  function allclose(a, b, relative, absolute = 1e-8) {
    return a.every((x, n) => x === b[n] ||
      (Number.isFinite(b[n]) && Math.abs(x - b[n]) <= absolute + relative * Math.abs(b[n])));
  }

  // Format a number as "%.{digits}g" does.
  function general(x, digits) {
    if (!Number.isFinite(x)) return repr(x);
    let [figures, exponent] = rounded(x, digits);
    figures = figures.replace(/0+$/, "") || "0";
    const sign = x < 0 || Object.is(x, -0) ? "-" : "";
    return sign + placed(figures, exponent, exponent < -4 || exponent >= digits);
  }

  // The leading decimal figures of a number, the last of them rounded, a half to even; its exponent.
  function rounded(x, digits) {
    const [mantissa, power] = Math.abs(x).toExponential(digits - 1).split("e");
    const exact = Math.abs(x).toExponential(60).replace(".", "").split("e")[0];
    let figures = mantissa.replace(".", "");
    if (/^50*$/.test(exact.slice(digits)) && "13579".includes(figures.at(-1))) { // half was rounded up
      figures = exact.slice(0, digits);
      return [figures, Number(Math.abs(x).toExponential(60).split("e")[1])];
    }
    return [figures, Number(power)];
  }

  function placed(figures, exponent, scientific) {
    if (scientific) {
      const size = String(Math.abs(exponent)).padStart(2, "0");
      return `${figures[0]}${figures.length > 1 ? `.${figures.slice(1)}` : ""}e${exponent < 0 ? "-" : "+"}${size}`;
    }
    if (exponent < 0) return `0.${"0".repeat(-exponent - 1)}${figures}`;
    const whole = figures.padEnd(exponent + 1, "0"), rest = whole.slice(exponent + 1);
    return whole.slice(0, exponent + 1) + (rest && `.${rest}`);
  }

  function repr(value) {
    if (typeof value === "boolean") return value ? "True" : "False";
    if (typeof value === "bigint") return String(value);
    if (typeof value === "number") return repr_float(value);
    if (typeof value === "string") return repr_text(value);
    const items = Array.from(value, repr).join(", ");
    return value instanceof Tuple ? `(${items}${value.length === 1 ? "," : ""})` : `[${items}]`;
  }

  function repr_float(x) {
    if (!Number.isFinite(x)) return Number.isNaN(x) ? "nan" : x > 0 ? "inf" : "-inf";
    const [mantissa, power] = Math.abs(x).toExponential().split("e"), exponent = Number(power);
    const scientific = exponent < -4 || exponent >= 16;
    const text = placed(mantissa.replace(".", ""), exponent, scientific);
    return (x < 0 || Object.is(x, -0) ? "-" : "") + (scientific || text.includes(".") ? text : `${text}.0`);
  }

  function repr_text(text) {
    const quote = text.includes("'") && !text.includes('"') ? '"' : "'";
    const escapes = { "\\": "\\\\", "\n": "\\n", "\r": "\\r", "\t": "\\t", [quote]: `\\${quote}` };
    const escaped = [...text].map((c) => {
      if (c in escapes) return escapes[c];
      if (c === " " || !/[\p{C}\p{Z}]/u.test(c)) return c;
      const code = c.codePointAt(0).toString(16), width = code.length <= 2 ? 2 : code.length <= 4 ? 4 : 8;
      return `\\${{ 2: "x", 4: "u", 8: "U" }[width]}${code.padStart(width, "0")}`;
    });
    return quote + escaped.join("") + quote;
  }

  // Return a text that is the same for what Python calls equal: words, tuples and sets of them.
  function same(value) {
    if (typeof value === "string") return JSON.stringify(value);
    return value instanceof Set ? `{${[...value].map(same).sort()}}` : `(${Array.from(value, same)})`;
  }

  // ---- exercises that read an answer in their own way: the functions of their modules ---------------

  const keyed = (...names) => new Map(names.map((name) => [name, null]));

  const SEES = {
    check_best_response(answer, { wanted, words }) { // 1.2
      const given = new Map([...pair_values(answer, wanted)].map(([key, value]) => [key, value]));
      return chosen(given.get("best"), words) === wanted.get("best") ? given : given.set("earns", 0);
    },

    both_gains(answer) { // 3.2
      const u = [[0, -1, 1], [1, 0, -1], [-1, 1, 0]], found = new Map(); // rock, paper, scissors
      const dot = (a, b) => a.reduce((sum, x, n) => sum + x * b[n], 0);
      for (const [name, profile] of pair_values(answer, keyed("sum", "mean"))) {
        const [x, y] = as_list(profile, 2).map(as_strategy);
        const rows = u.map((row) => dot(row, y)), columns = [0, 1, 2].map((n) => dot(x, u.map((row) => row[n])));
        const value = dot(x, rows);
        const [low, high] = [Math.max(...rows) - value, value - Math.min(...columns)].sort((a, b) => a - b);
        const alike = near(low, high) ? "both alike" : "both, not alike";
        found.set(name, near(high, 0) ? "none" : near(low, 0) ? "one" : alike);
      }
      return found;
    },

    letters_of(answer, { wanted }) { // 4.6
      const found = new Map();
      for (const [key, value] of pair_values(answer, wanted)) {
        const text = Array.isArray(value) ? value.map(str).join(" ") : str(value);
        const letters = text.toUpperCase().match(/\b[A-G]{1,2}\b/g) ?? [];
        found.set(key, [...letters.join("")].sort().join(""));
        if (!found.get(key)) {
          throw new Unreadable(`${shortened(value)} under ${repr(key)} is not a letter from A to G`);
        }
      }
      return found;
    },

    log_ratios(answer, { wanted }) { // 6.4
      const found = new Map();
      for (const [name, row, inner] of pair_values(answer, wanted)) {
        const ratios = [...pair_values(row, inner)].map(([, x]) => as_number(x));
        if (Math.min(...ratios) <= 0) throw new Unreadable("ratios must be positive");
        found.set(name, new Map([...inner.keys()].map((key, n) => [key, Math.log10(ratios[n])])));
      }
      return found;
    },

    two_numbers(answer, { wanted }) { // 16.3
      return new Map([...pair_values(answer, wanted)].map(([key, x]) => [key, as_number(x)]));
    },

    check_biases(answer) { // errata.2
      const given = new Map([...pair_values(answer, keyed("k = 2", "k = 3", "hides"))].map(([key, x]) => [key, x]));
      const u = as_list(given.get("hides"), 3).map(as_number);
      given.delete("hides");
      for (const [key, x] of given) given.set(key, as_number(x));
      return given.set("hides", Math.max(bias(u, [[0, 1], [0, 2], [1, 2]]), bias(u, [[0, 1, 2]])));
    },

    numbers(answer) { // museum.1
      return [...pair_values(answer, keyed("left", "right", "hides left"))].map(([, x]) => as_number(x));
    },
  };

  function as_strategy(answer) {
    const names = ["rock", "paper", "scissors"], name = normalized(answer);
    if (names.includes(name)) return names.map((each) => Number(each === name));
    const p = as_list(answer, 3).map(as_number), total = p.reduce((sum, x) => sum + x, 0);
    if (Math.min(...p) < 0 || !near(total, 1)) {
      throw new Unreadable(`${repr(p)} are not three probabilities that add up to 1`);
    }
    return p.map((x) => x / total);
  }

  function bias(u, sets) { // of the update as printed; each set has k of the three actions
    const total = (x) => x.reduce((sum, y) => sum + y, 0), mean = [0, 0, 0];
    for (const A of sets) {
      const each = total(A.map((a) => u[a] / 3 / (A.length / 3)));
      for (const a of [0, 1, 2]) mean[a] += (A.includes(a) ? 2 * each : -each) / sets.length;
    }
    return Math.max(...mean.map((x, a) => Math.abs(x - (u[a] - total(u) / 3))));
  }

  function str(value) {
    return typeof value === "string" ? value : repr(value);
  }

  // Return what export.py has written as Python's values.
  function decode(x) {
    if (Array.isArray(x)) return x.map(decode);
    if (x === null || typeof x !== "object") return x;
    const [[kind, content]] = Object.entries(x);
    return {
      dict: () => new Map(content.map(([key, value]) => [decode(key), decode(value)])),
      tuple: () => Tuple.from(content, decode),
      set: () => new Set(content.map(decode)),
      int: () => BigInt(content),
      float: () => ({ inf: Infinity, "-inf": -Infinity, nan: NaN })[content],
      missing: () => MISSING,
    }[kind]();
  }

  // Return an exercise that export.py has written.
  function load(data) {
    const known = data.known.map(([value, says]) => [decode(value), says]);
    return { ...data, known, wanted: decode(data.wanted), words: decode(data.words) };
  }

  const checking = { MISSING, SIGNS, check, decode, load };
  if (typeof module === "undefined") window.cfrCheck = checking;
  else module.exports = checking;
})();
