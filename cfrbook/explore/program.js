// Programs with holes: choose fillings, run the program they make, and step through its lines.
(function () {
  "use strict";
  const MOST_STEPS = 1200, REST_MS = 500;

  // ---- the part of Python that javascript.py translates to ----

  const key = (x) => (typeof x === "string" ? x : JSON.stringify(x));
  const equal = (x, y) => key(x) === key(y);

  class Dict {
    constructor(pairs = [], make = null) {
      this.map = new Map();
      this.make = make;
      for (const [k, v] of pairs) this.put(k, v);
    }
    at(k) {
      const entry = this.map.get(key(k));
      if (entry) return entry[1];
      if (!this.make) throw new Error(`KeyError: ${shown(k)}`);
      return this.put(k, this.make());
    }
    put(k, v) {
      const entry = this.map.get(key(k));
      if (entry) entry[1] = v;
      else this.map.set(key(k), [k, v]);
      return v;
    }
    get(k, other = null) { return this.map.has(key(k)) ? this.at(k) : other; }
    setdefault(k, v) { return this.map.has(key(k)) ? this.at(k) : this.put(k, v); }
    update(other) { for (const [k, v] of other.items()) this.put(k, v); }
    clear() { this.map.clear(); }
    items() { return [...this.map.values()].map(([k, v]) => [k, v]); }
    keys() { return [...this.map.values()].map(([k]) => k); }
    values() { return [...this.map.values()].map(([, v]) => v); }
  }
  class List extends Array {
    append(x) { this.push(x); }
  }

  const iter = (x) => (x instanceof Dict ? x.keys() : x);
  const at = (x, k) => (x instanceof Dict ? x.at(k) : x[k]);
  const put = (x, k, v) => (x instanceof Dict ? x.put(k, v) : (x[k] = v));
  const attribute = (x, name) => (typeof x[name] === "function" ? x[name].bind(x) : x[name]);
  function div(x, y) {
    if (y === 0) throw new Error("ZeroDivisionError: division by zero");
    return x / y;
  }
  const max$ = (...all) => (all.length > 1 ? all : iter(all[0])).reduce((x, y) => (y > x ? y : x));
  max$.by = (all, value) => iter(all).reduce((x, y) => (value(y) > value(x) ? y : x));
  const dict$ = (x) => new Dict(x instanceof Dict ? x.items() : x);
  dict$.fromkeys = (keys, value = null) => new Dict(iter(keys).map((k) => [k, value]));
  const words = {
    equal, iter, at, put, attribute, div, max$, dict$,
    abs$: Math.abs,
    defaultdict$: (make) => new Dict([], make),
    float$: (x = 0) => x,
    int$: Number,
    isinstance$: (node, kind) => node.kind === kind,
    len$: (x) => iter(x).length,
    list$: (x) => List.from(iter(x)),
    range$: (n) => [...Array(n).keys()],
    reversed$: (x) => [...iter(x)].reverse(),
    sum$: (x) => iter(x).reduce((total, y) => total + y, 0),
    zip$: (x, y) => iter(x).slice(0, iter(y).length).map((each, n) => [each, iter(y)[n]]),
  };

  function decoded(x) {
    if (Array.isArray(x)) return x.map(decoded);
    if (x === null || typeof x !== "object") return x;
    if (x.dict) return new Dict(x.dict.map(([k, v]) => [k, decoded(v)]));
    if (!x.game) return Object.fromEntries(Object.entries(x).map(([k, v]) => [k, decoded(v)]));
    const nodes = new Dict(x.game.map(([h, node]) => [h, decoded(node)]));
    return { node: (h) => nodes.at(h) };
  }

  // The program with these fillings: `run(iterations)` returns an object of numbers.
  function build(data, choice, trace = null) {
    const script = data.script.map((piece) => (typeof piece === "string" ? piece : piece[1][choice[piece[0]]]));
    const given = Object.fromEntries(Object.entries(data.given).map(([name, x]) => [`${name}$`, decoded(x)]));
    const names = { ...words, ...given, trace };
    const { run, tables } = new Function(...Object.keys(names), script.join("\n"))(...Object.values(names));
    return { run: (iterations) => Object.fromEntries(run(iterations).items()), tables };
  }

  // The lines of the first steps, each with the values of its variables, as texts
  function steps(data, choice) {
    const found = [], enough = {};
    let built = null;
    const trace = (line, local) => {
      if (found.length === MOST_STEPS) throw enough;
      found.push([line, values(local, built ? built.tables() : {})]);
    };
    try {
      built = build(data, choice, trace);
      built.run(2);
    } catch (error) {
      if (error !== enough) found.push([null, [["stops", error.message]]]);
    }
    return found;
  }

  // Variables and their values; of tables, what concerns the infoset I where there is one
  function values(local, tables) {
    const found = Object.entries(local).filter(([, x]) => x !== undefined).map(([k, x]) => [k, shown(x)]);
    for (const [name, table] of Object.entries(tables)) {
      if (table instanceof Dict && local.I !== undefined) {
        const row = table.items().filter(([k]) => k[0] === local.I && Array.isArray(k)).map(([[, a], x]) => [a, x]);
        if (row.length) found.push([`${name}[${local.I}]`, shown(new Dict(row))]);
        else if (table.map.has(local.I)) found.push([`${name}[${local.I}]`, shown(table.at(local.I))]);
      } else if (table !== undefined && iter(table).length <= 4) found.push([name, shown(table)]);
    }
    return found.filter(([, text]) => text);
  }

  function shown(x) {
    if (typeof x === "number") return Number.isFinite(x) ? String(+x.toFixed(4)).replace("-", "−") : "not a number";
    if (x instanceof Dict) return x.map.size ? x.items().map(([k, v]) => `${shown(k)} ${shown(v)}`).join(", ") : "{}";
    if (Array.isArray(x)) return `(${x.map(shown).join(", ")})`;
    if (x === null || typeof x === "boolean") return { null: "None", true: "True", false: "False" }[x];
    if (typeof x === "object") return `${x.kind || ""} ${x.utilities ? shown(x.utilities) : ""}`.trim();
    return typeof x === "function" ? "" : x;
  }

  function number(x) {
    if (!Number.isFinite(x)) return "not a number";
    if (Number.isInteger(x)) return x.toLocaleString("en").replace("-", "−");
    if (Math.abs(x) < 1e-12) return "0";
    if (Math.abs(x) >= 1e-3) return x.toFixed(4).replace("-", "−");
    const [digits, power] = x.toExponential(2).split("e");
    return `${digits} × 10^${power}`.replace(/-/g, "−");
  }

  if (typeof document === "undefined") {
    module.exports = { build, steps };
    return;
  }

  // ---- on a page ----

  function element(name, attributes = {}, ...inside) {
    const made = document.createElement(name);
    for (const [k, v] of Object.entries(attributes)) made.setAttribute(k, v);
    made.append(...inside);
    return made;
  }

  const pairs = (all) => all.map(([name, text]) => element("div", {}, element("dt", {}, name), element("dd", {}, text)));

  // Two curves on logarithmic axes: that of the right program, and the reader's
  function curve(data, mine, name) {
    const W = 340, H = 180, left = 44, right = 20, bottom = 22, all = [...data.right, ...mine].filter((y) => y > 0 && y < 1e6);
    const low = Math.floor(Math.log10(Math.min(...all))), high = Math.ceil(Math.log10(Math.max(...all)));
    const x = (k) => left + (W - left - right) * Math.log10(data.curve[k]) / Math.log10(data.curve.at(-1));
    const y = (v) => 8 + (H - bottom - 8) * (high - Math.log10(v)) / (high - low);
    const path = (ys, kind) => `<polyline class="${kind}" points="${ys.map((v, k) => (v > 0 && v < 1e6 ? `${x(k)},${y(v)}` : "")).join(" ")}"/>`;
    const text = (px, py, words, anchor) => `<text x="${px}" y="${py}" text-anchor="${anchor}">${words}</text>`;
    const rows = [...Array(high - low + 1).keys()].map((k) => low + k);
    return `<svg viewBox="0 0 ${W} ${H}" aria-hidden="true">` +
      rows.map((p) => `<path d="M${left} ${y(10 ** p)}H${W - right}"/>${text(left - 4, y(10 ** p) + 4, +(10 ** p).toFixed(6), "end")}`).join("") +
      data.curve.map((t, k) => (/^10*$/.test(t) ? text(x(k), H - bottom + 16, t.toLocaleString("en"), "middle") : "")).join("") +
      `${path(data.right, "")}${path(mine, "cfr-yours")}</svg><p>${name} after 1 to ${data.curve.at(-1).toLocaleString("en")} iterations; dashed: the right program</p>`;
  }

  function start(figure) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    // fillings and their numbers, in alphabetical order, which gives nothing away
    const orders = data.holes.map((hole) => hole.map(([text], number) => [text, number]).sort());
    const choice = orders.map((order) => order.at(-1)[1]);
    const listing = element("div", { class: "cfr-listing", role: "group", "aria-label": "Program with holes" });
    const verdict = element("p", { class: "cfr-verdict" }), plot = element("div", { class: "cfr-curve" });
    const numbers = element("dl", { class: "cfr-numbers" }), local = element("dl", { class: "cfr-values" });
    const announce = element("p", { class: "cfr-announce", "aria-live": "polite" });
    const slider = element("input", { type: "range", min: 0, value: 0 }), value = element("span", { class: "cfr-value" });
    const button = (text, label, by) => {
      const made = element("button", { type: "button", "aria-label": label }, text);
      made.addEventListener("click", () => go(+slider.value + by));
      return made;
    };
    const motion = element("div", { class: "cfr-controls", role: "group", "aria-label": "Slow motion" },
      element("div", { class: "cfr-steps" }, element("label", { class: "cfr-slider" }, element("span", {}, "slow motion"), slider, value),
        button("◀", "one step back", -1), button("▶", "one step on", 1)), local);
    let film = null, timer = 0, running = 0;

    const lines = data.lines.map((parts, n) => {
      const indent = /^ */.exec(parts[0])[0].length;
      const line = element("div", { style: `--indent: ${indent}` });
      parts.forEach((part, k) => {
        if (typeof part === "number") line.append(select(part, n));
        else line.append(...coloured(k ? part : part.slice(indent)));
      });
      return line;
    });
    listing.append(...lines);

    function coloured(text) {
      const [, code, comment] = /^([^#]*)(#.*)?$/.exec(text);
      return comment ? [code, element("span", { class: "cfr-comment" }, comment)] : [code];
    }
    function select(k, n) {
      const made = element("select", { "aria-label": `Hole ${k + 1} of ${data.holes.length}, line ${n + 1}` },
        ...orders[k].map(([text]) => element("option", {}, text)));
      made.selectedIndex = orders[k].length - 1;
      made.addEventListener("change", () => { choice[k] = orders[k][made.selectedIndex][1]; changed(true); });
      return made;
    }

    function judge(error) {
      const wrong = choice.map((n, k) => [n, k]).filter(([n]) => n), [n, k] = wrong[0] || [];
      const bug = wrong.length === 1 && data.holes[k][n][1];
      if (error) return [`The program stops: ${error}.`];
      if (!wrong.length) return ["✓ All holes are filled right: this is the program."];
      if (!bug) return [`Not yet: ${wrong.length} of ${choice.length} holes ${wrong.length > 1 ? "differ" : "differs"} from the right program.`];
      const page = /\.html$/.test(location.pathname);
      return ["In the ", page ? element("a", { href: "museum.html" }, "museum") : "museum", ` this bug is called “${bug}”. ${data.symptoms[bug]}`];
    }

    // Run what was built, a point of the curve at a time; a change starts anew.
    function changed(heard) {
      const mine = [], turn = (running += 1);
      let built;
      film = null;
      mark(null);
      slider.value = 0;
      value.textContent = local.textContent = "";
      function next() {
        if (turn !== running) return;
        let found = {}, error = "";
        try {
          built = built || build(data, choice);
          found = built.run(data.curve[mine.length]);
        } catch (raised) {
          error = raised.message;
        }
        const [name, first] = Object.entries(found)[0] || ["", NaN];
        mine.push(first);
        const over = error || mine.length >= data.curve.length;
        verdict.replaceChildren(...(over ? judge(error) : ["Running …"]));
        verdict.classList.toggle("cfr-done", Boolean(over) && choice.every((n) => !n));
        numbers.replaceChildren(...pairs(Object.entries(found).map(([k, x]) => [k, number(x)])));
        if (data.curve.length && !error) plot.innerHTML = curve(data, mine, name);
        if (!over) setTimeout(next);
        else if (heard) say(`${verdict.textContent} ${numbers.innerText}`);
      }
      next();
    }

    function mark(line) {
      for (const lit of listing.querySelectorAll("[aria-current]")) lit.removeAttribute("aria-current");
      if (line === null) return;
      const lit = lines[line - 1];
      lit.setAttribute("aria-current", "step");
      const outside = lit.offsetTop < listing.scrollTop || lit.offsetTop + lit.offsetHeight > listing.scrollTop + listing.clientHeight;
      if (outside) listing.scrollTop = lit.offsetTop - listing.clientHeight / 3;
    }
    function go(to) {
      film = film || steps(data, choice);
      slider.max = film.length;
      slider.value = Math.max(1, Math.min(to, film.length));
      const [line, found] = film[slider.value - 1];
      value.textContent = `${slider.value} of ${film.length}`;
      slider.setAttribute("aria-valuetext", `step ${value.textContent}${line ? `, line ${line}` : ""}`);
      mark(line);
      const before = new Map(film[Math.max(0, slider.value - 2)][1]);
      local.replaceChildren(...pairs(found));
      found.forEach(([name, text], n) => { local.children[n].className = `${before.get(name) === text ? "" : "cfr-new"} ${text.length > 20 ? "cfr-long" : ""}`; });
      say(`${line ? `Line ${line}: ${said(lines[line - 1])}. ` : ""}${found.map((pair) => pair.join(" = ")).join(", ")}`);
    }
    const said = (line) => [...line.childNodes].map((part) =>
      (part.nodeName === "SELECT" ? part.selectedOptions[0].text : part.textContent)).join("");
    function say(text) {
      clearTimeout(timer);
      timer = setTimeout(() => { announce.textContent = text; }, REST_MS);
    }

    slider.max = MOST_STEPS;
    slider.addEventListener("input", () => go(+slider.value));
    const built = element("div", { class: "cfr-built" }, listing, verdict, motion, numbers, plot, announce);
    figure.querySelector(".cfr-explore").append(built);
    figure.setAttribute("data-ready", "");
    const seen = new IntersectionObserver(([{ isIntersecting }]) => {
      if (!isIntersecting) return;
      seen.disconnect();
      if (!running) changed(false);
    });
    seen.observe(figure);
  }

  for (const figure of document.querySelectorAll("figure.cfr-program:not([data-ready])")) start(figure);
})();
