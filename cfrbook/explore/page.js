// Gives life to explorables on a page: inputs choose one of the frames drawn in advance.
(function () {
  "use strict";
  const CALM_MS = 1000, REST_MS = 500;

  // Where the frame with these positions stands: controls count like digits, the last fastest.
  function frameNumber(sizes, at) {
    return at.reduce((number, position, k) => number * sizes[k] + position, 0);
  }

  // Set part n of a mix to `value`; the others share the rest in their old proportion.
  function share(counts, n, value, parts) {
    const others = counts.map((count, k) => (k === n ? 0 : count));
    const sum = others.reduce((a, b) => a + b, 0);
    const weights = counts.map((_, k) => (k === n ? 0 : sum > 0 ? others[k] / sum : 1 / (counts.length - 1)));
    const exact = weights.map((weight) => weight * (parts - value));
    const mixed = exact.map(Math.floor);
    mixed[n] = value;
    let left = parts - mixed.reduce((a, b) => a + b, 0);
    const order = exact.map((x, k) => [x - Math.floor(x), k]).filter(([, k]) => k !== n);
    order.sort((a, b) => b[0] - a[0]);
    for (let i = 0; left > 0; i++, left--) mixed[order[i % order.length][1]] += 1;
    return mixed;
  }

  const portion = (control, count) => String(+(count / control.parts).toFixed(6));

  // What a control says at each of its positions
  function texts(control) {
    return control.texts || control.counts.map((counts) => counts.map((n) => portion(control, n)).join(", "));
  }

  // ---- the address: #iterations=1468&update=alternating ----

  // A text in the signs of a keyboard, without commas in numbers, arrows and spaces: 1468 for 1,468,
  // -1 for −1; J-Q,check for J Q → check
  function plain(text) {
    return text.replace(/(\d),(?=\d{3})/g, "$1").replace(/ → |, /g, ",").replace(/[ −]/g, "-");
  }

  // Names of the controls of figure n in an address: a figure's number comes first if an earlier
  // figure has a control of the same name. `names` are those of each figure.
  function addressNames(names, n) {
    const taken = names.slice(0, n).flat();
    return names[n].map((name) => (names[n].some((each) => taken.includes(each)) ? `${n + 1}.${name}` : name));
  }

  function format(names, values) {
    const encode = (text) => encodeURIComponent(plain(text)).replace(/%(2C|2B|2F|3A)/g, decodeURIComponent);
    return names.map((name, k) => `${name}=${encode(values[k])}`).join("&");
  }

  // The names and values in an address; the name of a section alone is none.
  function parse(address) {
    const found = new Map();
    for (const pair of address.split("&")) {
      const [name, text] = pair.split(/=(.*)/s);
      try {
        if (text !== undefined) found.set(name, decodeURIComponent(text));
      } catch { /* a percent sign that encodes nothing */ }
    }
    return found;
  }

  // Positions that an address gives to controls with these texts; those of `start` where it gives none
  function positions(address, names, said, start) {
    const given = parse(address);
    return said.map((each, k) => {
      const wanted = given.get(names[k]);
      const at = wanted === undefined ? -1 : each.findIndex((text) => plain(text) === plain(wanted));
      return at < 0 ? start[k] : at;
    });
  }

  // ---- the history ----

  const figures = () => [...document.querySelectorAll("figure.cfr-explore")];
  const here = () => location.href.split("#")[0];

  // What an entry of the history holds: in its address, or beside the name of a section there
  function held() {
    return location.hash.includes("=") ? location.hash.slice(1) : history.state && history.state.explore;
  }

  // Let the entry hold what each figure has noted, `moved` first, for it is the one that a copied
  // address opens at; the entry of a section keeps its address.
  function hold(section, moved) {
    const order = figures().sort((one, other) => (other === moved) - (one === moved));
    const noted = order.map((figure) => figure.dataset.address).filter(Boolean).join("&");
    const bare = section || (!noted && !location.hash.includes("="));
    const url = bare ? location.href : here() + (noted && `#${noted}`);
    history.replaceState({ ...history.state, explore: noted }, "", url);
  }

  // Connect the positions of a figure's controls, `at`, with the address; `go(to, quietly)` moves them.
  function connect(figure, said, at, go) {
    const first = [...at], every = figures();
    const controls = (each) => [...each.querySelectorAll(".cfr-control")].map((box) => box.dataset.name);
    const names = addressNames(every.map(controls), every.indexOf(figure));
    const own = () => format(names, at.map((k, n) => said[n][k]));

    function note() {
      figure.dataset.address = at.some((k, n) => k !== first[n]) ? own() : "";
    }
    function read(quietly) {
      const to = positions(held() || "", names, said, first);
      if (to.some((k, n) => k !== at[n])) go(to, quietly);
      note();
    }
    window.addEventListener("hashchange", () => {
      if (typeof held() === "string") read(false);
      else hold(true); // do not animate while jumping to a section
    });
    read(true);
    const [visit] = performance.getEntriesByType("navigation"), [named] = parse(location.hash.slice(1)).keys();
    if (names.includes(named) && visit && visit.type === "navigate") {
      for (let fold = figure.closest("details"); fold; fold = fold.parentElement.closest("details")) fold.open = true;
      window.addEventListener("load", () => figure.scrollIntoView());
    }
    return { write: () => { note(); hold(false, figure); }, url: () => `${here()}#${own()}` };
  }

  // Copy a link, or show it where copying is not allowed; tell whether it was copied.
  async function copied(url) {
    try {
      await navigator.clipboard.writeText(url);
      return true;
    } catch {
      window.prompt("Link to this figure", url);
      return false;
    }
  }

  // ---- controls ----

  function describe(input, text) {
    input.setAttribute("aria-valuetext", text);
    input.parentElement.querySelector(".cfr-value").textContent = text;
  }

  // Each kind of control: find its inputs in `box`, call `moved(position)`; return how to set it.
  const kinds = {
    range(box, control, moved) {
      const input = box.querySelector("input");
      const show = (k) => { input.value = k; describe(input, control.texts[k]); };
      input.addEventListener("input", () => { show(+input.value); moved(+input.value); });
      return { start: +input.getAttribute("value"), show };
    },
    choice(box, control, moved) {
      const select = box.querySelector("select");
      select.addEventListener("change", () => moved(select.selectedIndex));
      return { start: 0, show: (k) => { select.selectedIndex = k; } };
    },
    mix(box, control, moved) {
      const inputs = [...box.querySelectorAll("input")];
      const find = (counts) => control.counts.findIndex((c) => c.every((n, k) => n === counts[k]));
      let counts = inputs.map((input) => +input.getAttribute("value"));
      const start = find(counts);
      const show = (position) => {
        counts = control.counts[position];
        inputs.forEach((input, k) => {
          input.value = counts[k];
          describe(input, portion(control, counts[k]));
        });
      };
      inputs.forEach((input, n) => input.addEventListener("input", () => {
        const position = find(share(counts, n, +input.value, control.parts));
        show(position);
        moved(position);
      }));
      return { start, show };
    },
    walk(box, control, moved) {
      const row = box.querySelector(".cfr-walk > div"), value = box.querySelector(".cfr-value");
      const start = control.texts.indexOf(value.textContent);
      const button = (text, target, disabled) => {
        const made = document.createElement("button");
        made.type = "button";
        made.textContent = text;
        made.disabled = disabled;
        made.addEventListener("click", () => {
          show(target);
          moved(target);
          // the pressed button is gone: go on with the first action, or at an end with `back`
          (row.querySelectorAll("button:not(:disabled)")[target ? 2 : 0] || row.children[1]).focus();
        });
        return made;
      };
      const show = (k) => {
        value.textContent = control.texts[k];
        row.replaceChildren(
          button("start over", 0, k === 0),
          button("back", control.parent[k], k === 0),
          ...control.next[k].map(([text, target]) => button(text, target, false)),
        );
      };
      return { start, show, heard: () => value.textContent };
    },
  };

  // Sentences for a screen reader: where a walk is, the picture and the numbers. The value of a
  // slider or a list is heard as it is moved.
  function words(stage, faces) {
    const numbers = [...stage.querySelectorAll(".cfr-numbers > div")];
    return [
      ...faces.filter((face) => face.heard).map((face) => face.heard()),
      stage.querySelector(".cfr-panels").getAttribute("aria-label"),
      ...numbers.map((pair) => [...pair.children].map((e) => e.textContent).join(" ")),
    ].map((text) => text.replace(/\.$/, "") + ".").join(" ");
  }

  function start(figure) {
    const data = JSON.parse(figure.querySelector('script[type="application/json"]').textContent);
    const stage = figure.querySelector(".cfr-stage"), announce = figure.querySelector(".cfr-announce");
    const boxes = figure.querySelectorAll(".cfr-control");
    const said = data.controls.map(texts), sizes = said.map((each) => each.length);
    const button = figure.querySelector(".cfr-play"), link = figure.querySelector(".cfr-link");
    let rest = 0, timer = 0;

    function draw(quietly) {
      stage.style.minHeight = `${stage.offsetHeight}px`; // what follows moves down once, if ever
      const drawn = document.createElement("template");
      drawn.innerHTML = data.frames[frameNumber(sizes, at)].map((n) => data.pieces[n]).join("");
      const [panels, fresh] = [stage, drawn.content].map((each) => each.querySelector(".cfr-panels"));
      panels.setAttribute("aria-label", fresh.getAttribute("aria-label"));
      panels.replaceChildren(...fresh.childNodes); // the container keeps its place, if it was scrolled
      stage.querySelector(".cfr-numbers").replaceChildren(...drawn.content.querySelector(".cfr-numbers").childNodes);
      link.classList.remove("cfr-copied");
      clearTimeout(rest);
      if (quietly) return;
      rest = setTimeout(() => { // once the reader has stopped moving
        announce.textContent = words(stage, faces);
        address.write();
      }, REST_MS);
    }

    const faces = data.controls.map((control, k) =>
      kinds[control.kind](boxes[k], control, (position) => { stop(); at[k] = position; draw(); }));
    const at = faces.map((face) => face.start);

    function go(to, quietly) {
      stop();
      to.forEach((position, k) => { at[k] = position; });
      faces.forEach((face, k) => face.show(at[k]));
      draw(quietly);
    }
    function stop() {
      if (!timer) return;
      clearInterval(timer);
      timer = 0;
      button.textContent = "▶ play";
      button.setAttribute("aria-pressed", "false");
      draw();
    }
    function play() {
      const k = data.play;
      const calm = window.matchMedia("(prefers-reduced-motion: reduce)").matches;
      button.textContent = "❚❚ pause";
      button.setAttribute("aria-pressed", "true");
      timer = setInterval(() => {
        at[k] = (at[k] + 1) % sizes[k];
        faces[k].show(at[k]);
        draw(true);
        if (at[k] === sizes[k] - 1) stop();
      }, calm ? Math.max(CALM_MS, data.interval) : data.interval);
    }
    function step(by) {
      const k = data.play;
      go(at.map((position, n) => (n === k ? Math.min(Math.max(position + by, 0), sizes[k] - 1) : position)));
    }

    faces.forEach((face, k) => face.show(at[k]));
    const address = connect(figure, said, at, go);
    window.addEventListener("resize", () => { stage.style.minHeight = ""; });
    if (button) {
      button.addEventListener("click", () => (timer ? stop() : play()));
      figure.querySelectorAll(".cfr-step").forEach((each, n) => each.addEventListener("click", () => step(n ? 1 : -1)));
    }
    link.addEventListener("click", async () => {
      if (!(await copied(address.url()))) return;
      link.classList.add("cfr-copied");
      announce.textContent = "Link copied.";
    });
    figure.querySelector(".cfr-controls").hidden = link.hidden = false;
  }

  if (typeof document === "undefined") {
    module.exports = { addressNames, format, frameNumber, plain, positions, share, texts };
    return;
  }
  for (const figure of document.querySelectorAll("figure.cfr-explore:not([data-ready])")) {
    if (!figure.querySelector('script[type="application/json"]')) continue;
    figure.setAttribute("data-ready", "");
    start(figure);
  }
})();
