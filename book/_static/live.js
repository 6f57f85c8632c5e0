// The first screen of the start page: draws the program of cfr_kuhn.js while it runs, step by step
// or by itself, and breaks it in one of three lines.
(function () {
  "use strict";
  const node = typeof module !== "undefined";
  const kuhn = node ? require("./cfr_kuhn.js") : { CFR, DECISIONS, exploitability };
  const LAST = 10000; // iterations, where a run stops by itself
  const SLOW = 20; // iterations shown one at a time
  const BEAT = { first: 250, later: 50, calm: 1000 }; // milliseconds from picture to picture
  const DECADES = 4; // of either axis of the chart, from 1 to LAST and from 1 down
  const RANKS = ["J", "Q", "K"];

  // ---- three bugs of the museum, each in one line ----

  const BUGS = {
    "no reach": {
      line: "return others * (u - mean);",
      broken: "return u - mean;",
      words: (x) => `Exploitability stops at ${x}, however long it runs. Regrets have to be weighted by ` +
        "how likely the cards and the other player lead there.",
      program: class extends kuhn.CFR {
        regret(u, mean) { return u - mean; }
      },
    },
    "one payoff for both": {
      line: "return payoff(i, deal, moves);",
      broken: "return payoff(0, deal, moves);",
      words: (x) => `Exploitability rises to ${x}. Player 1 now learns from the payoffs of player 0, ` +
        "and folds the king to every bet.",
      program: class extends kuhn.CFR {
        utility(i, deal, moves) { return super.utility(0, deal, moves); }
      },
    },
    "current strategy returned": {
      line: "return mapped(this.sums, match);",
      broken: "return this.sigma;",
      words: (x) => `Exploitability jumps up and down and ends at ${x}. It is the average that ` +
        "converges; the current strategy keeps moving.",
      program: class extends kuhn.CFR {
        average() { return this.sigma; }
      },
    },
  };

  // ---- a run, and its curve ----

  // The iterations that have a point on the curve: each of the first, then 5% apart.
  const MARKS = [];
  for (let n = 1; n < LAST; n = Math.max(n + 1, Math.round(1.05 * n))) MARKS.push(n);
  MARKS.push(LAST);
  const ROUND = MARKS.filter((n) => /^[125]0*$/.test(n)); // where a calm run stops to be looked at

  function start(Program) {
    const program = new Program();
    return { program, points: [], now: kuhn.exploitability(program.average()) };
  }

  // Run up to a given number of iterations.
  function advance(run, iterations) {
    while (run.program.iterations < iterations) {
      run.program.iterate();
      const n = run.program.iterations, marked = MARKS.includes(n);
      if (marked || n === iterations) run.now = kuhn.exploitability(run.program.average());
      if (marked) run.points.push([n, run.now]);
    }
  }

  function following(n, marks) {
    return marks.find((mark) => mark > n) || LAST;
  }

  // ---- what the pictures show ----

  // Of each infoset the second action, a bet or a call: its probability in the average and in the
  // current strategy; and the largest regret per iteration.
  function rows({ program }) {
    const average = program.average(), t = Math.max(1, program.iterations);
    return Object.entries(kuhn.DECISIONS).flatMap(([moves, { actions }]) => RANKS.map((card) => {
      const I = `${card} ${moves}`.trim(), a = actions[1];
      const regret = Math.max(0, ...Object.values(program.regrets[I])) / t;
      return { I, card, moves, action: a, average: average[I][a], current: program.sigma[I][a], regret };
    }));
  }

  // How often the average strategy takes each path.
  function flows(found) {
    const p = (card, moves) => found.find((row) => row.card === card && row.moves === moves).average;
    const pairs = RANKS.flatMap((a) => RANKS.filter((b) => b !== a).map((b) => [a, b]));
    const mean = (share) => pairs.reduce((sum, [a, b]) => sum + share(a, b), 0) / pairs.length;
    return {
      "check": mean((a) => 1 - p(a, "")),
      "bet": mean((a) => p(a, "")),
      "check-bet": mean((a, b) => (1 - p(a, "")) * p(b, "check")),
    };
  }

  function small(x) {
    return x >= 0.01 ? x.toFixed(3) : x.toFixed(4);
  }

  function count(n) {
    return n.toLocaleString("en-US");
  }

  // ---- the frame ----

  const TITLES = {
    "": "Player 0 bets", "check": "Player 1 bets", "bet": "Player 1 calls", "check-bet": "Player 0 calls",
  };
  const AREAS = { "": "root", "check": "left", "bet": "right", "check-bet": "below" };
  // From a decision up to the one before it, in percent of the tree: the grid's rows have a quarter
  // of its height each, the gaps an eighth.
  const PATHS = { "check": "M26 37L47 26", "bet": "M74 37L53 26", "check-bet": "M26 74V63" };

  function treeFrame() {
    const path = (name) => `<path class="live-path" data-moves="${name}" d="${PATHS[name]}"/>` +
      `<path class="live-flow" d="${PATHS[name]}"/>`;
    const row = (card, moves) => `<div class="live-row" data-infoset="${`${card} ${moves}`.trim()}"><b>${card}</b>` +
      '<span class="live-bar"><i class="live-average"></i><i class="live-now"></i></span>' +
      '<span class="live-share"></span><span class="live-pull"><i></i></span></div>';
    const box = (moves) => `<div class="live-node" style="grid-area:${AREAS[moves]}"><p>${TITLES[moves]}</p>` +
      RANKS.map((card) => row(card, moves)).join("") + "</div>";
    return '<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true">' +
      Object.keys(PATHS).map(path).join("") + "</svg>" +
      '<span class="live-move" style="left:36.5%;top:31.5%">check</span>' +
      '<span class="live-move" style="left:63.5%;top:31.5%">bet</span>' +
      '<span class="live-move" style="left:26%;top:68.7%">bet</span>' +
      Object.keys(AREAS).map(box).join("") +
      '<ul class="live-key"><li><i class="live-average"></i>average strategy</li>' +
      '<li><i class="live-now"></i>current strategy</li><li><i class="live-regret"></i>average regret</li></ul>';
  }

  function chartFrame() {
    const ticks = Array.from({ length: DECADES + 1 }, (_, k) => k);
    const across = ticks.map((k) => `<span class="live-x" style="left:${(100 * k) / DECADES}%">${count(10 ** k)}</span>`);
    const up = ticks.map((k) => `<span class="live-y" style="top:${(100 * k) / DECADES}%">${Number((10 ** -k).toFixed(k))}</span>`);
    const rules = ticks.map((k) => `M0 ${(100 * k) / DECADES}H100`).join("");
    return '<p class="live-size"></p><p>what a perfect opponent wins per hand</p><div class="live-plot">' +
      `<svg viewBox="0 0 100 100" preserveAspectRatio="none" aria-hidden="true"><path class="live-rule" d="${rules}"/>` +
      '<polyline class="live-right"/><polyline class="live-wrong"/></svg><i class="live-dot"></i>' +
      `${across.join("")}${up.join("")}<ul class="live-key"></ul></div><p class="live-axis">iterations</p>`;
  }

  function frame() {
    const options = Object.keys(BUGS).map((name) => `<option>${name}</option>`).join("");
    return `<div class="live-buttons" role="group" aria-label="The run">
      <button type="button" class="live-run">Run</button>
      <button type="button" class="live-step">Step</button>
      <button type="button" class="live-restart">Start over</button>
      <select class="live-bug" aria-label="Break it"><option value="">Break it …</option>${options}</select>
      <p class="live-count"></p>
    </div>
    <div class="live-columns">
      <div class="live-tree" role="img">${treeFrame()}</div>
      <div class="live-chart" role="img">${chartFrame()}</div>
    </div>
    <div class="live-words"><p class="live-status" role="status"></p><p class="live-line"></p></div>`;
  }

  // ---- drawing into the frame ----

  function part(piece, name) {
    return piece.querySelector(`.live-${name}`);
  }

  // Write only what has changed, so that nothing is read out again.
  function put(element, text) {
    if (element.textContent !== text) element.textContent = text;
  }

  function drawTree(piece, run) {
    const found = rows(run);
    for (const { I, average, current, regret } of found) {
      const row = piece.querySelector(`[data-infoset="${I}"]`);
      part(row, "average").style.width = `${100 * average}%`;
      part(row, "now").style.left = `${100 * current}%`;
      part(row, "pull").firstChild.style.width = `${100 * Math.min(1, Math.sqrt(regret))}%`; // small ones show
      put(part(row, "share"), `${Math.round(100 * average)}%`);
    }
    for (const [moves, p] of Object.entries(flows(found))) {
      piece.querySelector(`[data-moves="${moves}"]`).style.strokeWidth = `${1 + 9 * p}px`;
    }
  }

  // Where iteration n with exploitability x is, in percent of the chart.
  function place([n, x]) {
    return [(100 * Math.log10(n)) / DECADES, (-100 * Math.log10(x)) / DECADES].map((c) => Math.min(100, c));
  }

  function drawCurve(line, run) {
    const n = run ? run.program.iterations : 0;
    const points = n ? [...run.points.filter((point) => point[0] < n), [n, run.now]] : [];
    line.setAttribute("points", points.map((point) => place(point).map((c) => c.toFixed(2)).join(",")).join(" "));
  }

  function drawChart(piece, right, wrong) {
    drawCurve(part(piece, "plot .live-right"), right);
    drawCurve(part(piece, "plot .live-wrong"), wrong);
    const { program: { iterations }, now } = wrong || right, dot = part(piece, "dot");
    const [x, y] = place([Math.max(1, iterations), now]);
    dot.style.left = `${x}%`;
    dot.style.top = `${y}%`;
    dot.hidden = !iterations;
    put(part(piece, "count"), `iteration ${count(iterations)}`);
    put(part(piece, "size"), `Exploitability ${small(now)}`);
  }

  // Say to screen readers what the pictures show.
  function describe(piece, run) {
    const n = count(run.program.iterations);
    const shares = rows(run).map(({ I, action, average }) => `${I}: ${action} ${Math.round(100 * average)}%`);
    part(piece, "tree").setAttribute("aria-label", `Average strategy after ${n} iterations. ${shares.join(", ")}.`);
    part(piece, "chart").setAttribute("aria-label", "Curve of the exploitability, on logarithmic axes: " +
      `${small(run.now)} chips per hand after ${n} iterations.`);
  }

  // ---- the page ----

  const READY = "Two players start with random play. From then on, they play every action in proportion " +
    "to how much they regret not having played it.";

  function openAt(root) {
    const piece = document.createElement("div");
    piece.className = "live-piece";
    piece.innerHTML = frame();
    root.prepend(piece);
    root.classList.add("live-ready");
    const find = (name) => part(piece, name);
    const button = find("run"), choice = find("bug"), status = find("status");
    const still = matchMedia("(prefers-reduced-motion: reduce)").matches;
    let right = start(kuhn.CFR), wrong = null; // the run without a bug stays as a comparison
    let timer = 0, due = 0, flow = [];

    const shown = () => wrong || right;
    const done = () => shown().program.iterations;
    const bug = () => BUGS[choice.value];

    function show() {
      drawTree(piece, shown());
      drawChart(piece, right, wrong);
      if (!timer) describe(piece, shown());
    }

    // ---- words: at each press of a button, and at the end ----

    function say(text) {
      put(status, text);
      find("line").innerHTML = bug() ? `<del>- ${bug().line}</del> <ins>+ ${bug().broken}</ins>` : "";
      find("plot .live-key").innerHTML = bug()
        ? '<li><i class="live-wrong"></i>with the bug</li><li><i class="live-right"></i>without</li>'
        : "";
    }

    function conclusion() {
      const x = small(shown().now);
      return bug()
        ? bug().words(x)
        : `After ${count(done())} iterations, a perfect opponent wins only ${x} chips per hand. Now break it: one wrong line is enough.`;
    }

    // ---- the run ----

    // Values rise through the tree: once, or as long as it runs.
    function rise(times) {
      flow.forEach((each) => each.cancel());
      flow = still || !times ? [] : [...piece.querySelectorAll(".live-flow")].map((path) => path.animate(
        [{ opacity: 1, strokeDashoffset: 24 }, { opacity: 1, strokeDashoffset: 0 }],
        { duration: 600, iterations: times }));
    }

    function pause() {
      clearTimeout(timer);
      timer = 0;
      put(button, "Run");
      rise(0);
      show();
    }

    function go(iterations) {
      for (const each of [shown(), right]) advance(each, iterations);
    }

    // Show what is due by now: a slow machine draws fewer pictures in the same time.
    function beat() {
      const marks = still ? ROUND : MARKS, now = performance.now();
      let n = done();
      while (due <= now && n < LAST) {
        n = following(n, marks);
        due += still ? BEAT.calm : n < SLOW ? BEAT.first : BEAT.later;
      }
      go(n);
      show();
      if (n < LAST) {
        timer = setTimeout(beat, Math.max(0, due - performance.now()));
        return;
      }
      pause();
      say(conclusion());
    }

    function run() {
      if (done() >= LAST) restart();
      put(button, "Pause");
      say(bug() ? "One line is wrong. Watch the curve." : READY);
      due = performance.now();
      timer = setTimeout(beat, 0);
      show();
      rise(Infinity);
    }

    function restart() {
      if (wrong) wrong = start(bug().program);
      else right = start(kuhn.CFR);
    }

    button.addEventListener("click", () => {
      if (!timer) return run();
      pause();
      say(`Paused after ${count(done())} iterations: exploitability ${small(shown().now)}.`);
    });
    find("step").addEventListener("click", () => {
      pause();
      go(done() + 1);
      rise(1);
      show();
      say(`Iteration ${count(done())}: exploitability ${small(shown().now)}.`);
    });
    find("restart").addEventListener("click", () => {
      restart();
      pause();
      say(READY);
    });
    choice.addEventListener("change", () => {
      pause();
      choice.options[0].textContent = bug() ? "Mend it" : "Break it …";
      wrong = null;
      if (bug()) wrong = start(bug().program);
      else restart();
      run();
    });

    // It starts by itself once it is in sight, unless the reader wants nothing to move.
    const sight = new IntersectionObserver(([seen]) => {
      if (!seen.isIntersecting) return;
      sight.disconnect();
      if (!still && !timer && !done()) run();
    }, { threshold: 0.4 });
    show();
    say(READY);
    sight.observe(piece);
  }

  if (node) module.exports = { BUGS, LAST, advance, flows, rows, start };
  else document.querySelectorAll(".live:not(.live-ready)").forEach(openAt);
})();
