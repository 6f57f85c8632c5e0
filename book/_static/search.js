// The search in the dialog (Ctrl+K) and on the page "Search". The index, made by
// book/_ext/search.py, is loaded when somebody searches.
(() => {
  "use strict";
  const ROOT = document.documentElement.dataset.content_root, FOLDER = `${ROOT}_static/search/`;
  const SHOWN = { dialog: 6, page: 12 }; // results
  // What readers type, and what the book says: the same thing, or something near
  const SAME = [
    [/\bdcfr\b(?!\+)/g, "discounted cfr"], [/\blcfr\b/g, "linear cfr"],
    [/\bgto\b/g, "nash equilibrium"], [/\bkoikoi\b/g, "koi-koi"],
    [/\bcfr\.(?=\w)/g, "cfrlib."],
  ];
  const NEAR = {
    mccfr: "monte carlo cfr", nashconv: "nash_conv exploitability", install: "setup", setup: "install", download: "install", pytorch: "jax networks",
    tensorflow: "jax networks", torch: "jax networks", gpu: "jax", neural: "network", optimal: "nash equilibrium",
    bug: "errata", deepstack: "subgame value network", rebel: "subgame value network",
    libratus: "subgame", pluribus: "depth-limited", cite: "bibtex", minimax: "zero-sum", 花札: "koi-koi",
  };
  // Words that say little beside others
  const WEAK = new Set(["formula", "equation", "definition", "meaning", "explain", "algorithm", "python", "code", "tutorial"]);

  // ---- words, as in search.py ---------------------------------------------------------------------

  const WORD = /[぀-ヿ㐀-鿿]+|(?:(?![぀-ヿ㐀-鿿_])[\p{L}\p{N}])+\+?/gu;
  const ENDINGS = [[/ies$/, "y"], [/([^s])s$/, "$1"], [/(...)(?:ing|ed)$/, "$1"], [/ibria$/, "ibrium"],
    [/bility$/, "bl"], [/(...)e$/, "$1"], [/([bdgmnprt])\1$/, "$1"]];

  function stem(word) {
    if (word.length < 4 || !/^[a-z]+$/.test(word)) return word;
    return ENDINGS.reduce((rest, [ending, by]) => rest.replace(ending, by), word);
  }

  function words(text, common) {
    return (text.normalize("NFKC").toLowerCase().match(WORD) ?? []).flatMap((word) => {
      if (/^[぀-鿿]/.test(word)) {
        return Array.from({ length: Math.max(1, word.length - 1) }, (_, n) => word.slice(n, n + 2));
      }
      return common.has(word) ? [] : [stem(word)];
    });
  }

  // ---- files -----------------------------------------------------------------------------------

  const files = {}, arrived = {};
  window.cfrSearch = (name, data) => arrived[name](data);

  function load(name) {
    return files[name] ??= new Promise((resolve, reject) => {
      arrived[name] = resolve;
      const script = document.createElement("script");
      script.src = `${FOLDER}${name}.js`;
      script.onerror = () => {
        delete files[name];
        reject(Error(`${name} cannot be loaded`));
      };
      document.head.append(script);
    });
  }

  async function textOf(index, number) {
    let chunk = 0, first = 0;
    while (first + index.chunks[chunk] <= number) first += index.chunks[chunk++];
    return (await load(chunk))[number - first];
  }

  // ---- ranking ----------------------------------------------------------------------------------

  // The places of a stem, as [section, weight]
  function places(index, word) {
    let at = 0;
    return Array.from((index.words[word] ?? "").matchAll(/([0-9a-z]+)([A-Z])/g), ([, step, level]) =>
      [at += parseInt(step, 36), level.charCodeAt(0) - 64]);
  }

  // The words of a query, each with the stems that count for it, and how much
  function forms(index, typed, common) {
    let text = typed.normalize("NFKC").toLowerCase();
    for (const [before, after] of SAME) text = text.replace(before, after);
    const asked = words(text, common), found = new Map();
    for (const word of asked) found.set(word, new Map([[word, asked.length > 1 && WEAK.has(word) ? .3 : 1]]));
    const last = asked.at(-1); // perhaps still being typed
    if (last?.length > 2 && !/\s$/.test(typed)) {
      for (const word of Object.keys(index.words)) {
        if (word !== last && word.startsWith(last)) found.get(last).set(word, .5 * last.length / word.length);
      }
    }
    for (const word of text.match(WORD) ?? []) {
      for (const other of words(NEAR[word] ?? "", common)) {
        if (!found.has(other)) found.set(other, new Map([[other, .4]]));
      }
    }
    return found;
  }

  function rank(index, typed) {
    const common = new Set(index.common), asked = forms(index, typed, common);
    const scores = new Map(), all = index.sections.length;
    for (const stems of asked.values()) {
      const best = new Map();
      for (const [word, part] of stems) {
        const where = places(index, word), rarity = Math.log(1 + all / (where.length + 1));
        for (const [section, weight] of where) {
          best.set(section, Math.max(best.get(section) ?? 0, part * weight * rarity));
        }
      }
      for (const [section, score] of best) {
        const [sum, count] = scores.get(section) ?? [0, 0];
        scores.set(section, [sum + score, count + 1]);
      }
    }
    const strong = [...asked.keys()].filter((word) => !WEAK.has(word) && asked.get(word).get(word) === 1);
    const found = [...scores].map(([section, [sum, count]]) => {
      const [, anchor, kind, title = anchor, topics = ""] = index.sections[section];
      const names = `${title.replace(/^[\d.]+ /, "")} · ${topics}`.split(" · ").map((name) => words(name, common));
      const meant = names.filter((name) => strong.every((word) => name.includes(word)));
      const whole = !meant.length ? 1 : meant.some((name) => name.length === strong.length) ? 1.6 : 1.2;
      const named = kind === "n" && /\w[._]\w/.test(typed) ? 2 : 1;
      return [section, named * whole * sum * (.3 + count / asked.size)];
    });
    return { found: found.sort((a, b) => b[1] - a[1]).map(([section]) => section), asked: [...asked.keys()] };
  }

  // ---- quotes -----------------------------------------------------------------------------------

  // The sentence with the most of the words, and what follows it
  function excerpt(text, asked, common) {
    const known = new Set(asked);
    const sentences = text.match(/.+?(?:[.?!:](?= [A-Z“])|$)/g) ?? [];
    const count = (sentence) => new Set(words(sentence, common).filter((word) => known.has(word))).size;
    const counts = sentences.map(count);
    const from = counts.indexOf(Math.max(...counts));
    const quote = sentences.slice(from).join("").trim();
    return quote.length > 190 ? `${quote.slice(0, 190).replace(/\s+\S*$/, "")} …` : quote;
  }

  function marked(text, asked, common) {
    return text.split(/([\p{L}\p{N}]+\+?)/u).map((piece) => {
      const [word, ...more] = words(piece, common);
      if (!word || !(asked.includes(word) || more.some((each) => asked.includes(each)))) return piece;
      return make("mark", {}, piece);
    });
  }

  // ---- what a reader sees ------------------------------------------------------------------------

  function make(tag, attributes, ...children) {
    const made = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
    made.append(...children);
    return made;
  }

  function result(index, number, asked, common) {
    const [page, anchor, kind, title = anchor] = index.sections[number], [name, above] = index.pages[page];
    const link = make("a", { href: `${ROOT}${name}.html${kind === "p" ? "" : `#${anchor}`}` }, ...marked(title, asked, common));
    const quote = make("p", {});
    textOf(index, number).then((text) => quote.append(...marked(excerpt(text, asked, common), asked, common)), () => {});
    const where = kind === "p" ? [] : [make("span", {}, above)];
    return make("li", {}, link, ...where, quote);
  }

  function attach(form, most) {
    const input = form.querySelector("input");
    const told = make("p", { role: "status", class: "cfr-found" }), list = make("ol", { class: "cfr-results" });
    form.after(make("div", { class: "cfr-search" }, told, list));
    let latest = "", waiting;

    async function search() {
      const typed = latest = input.value;
      if (!typed.trim()) {
        told.textContent = "";
        list.replaceChildren();
        return;
      }
      try {
        const index = await load("index");
        if (typed !== latest) return;
        const { found, asked } = rank(index, typed), common = new Set(index.common);
        const shown = Math.min(most, found.length);
        told.textContent = found.length
          ? `${shown} of ${found.length} ${found.length === 1 ? "place" : "places"}, best first`
          : "Nothing was found. Try fewer words, or other ones.";
        list.replaceChildren(...found.slice(0, most).map((number) => result(index, number, asked, common)));
      } catch {
        told.textContent = "The index of this book could not be loaded.";
      }
    }

    input.addEventListener("input", () => {
      clearTimeout(waiting);
      waiting = setTimeout(search, 150);
    });
    form.parentElement.addEventListener("keydown", (event) => {
      const step = { ArrowDown: 1, ArrowUp: -1 }[event.key], links = [input, ...list.querySelectorAll("a")];
      const to = links.indexOf(document.activeElement) + step;
      if (!links[to]) return;
      links[to].focus();
      event.preventDefault();
    });
    return { input, search };
  }

  const dialog = document.querySelector("#pst-search-dialog form");
  if (dialog) attach(dialog, SHOWN.dialog);
  const own = document.querySelector(".bd-search-container form");
  if (own) {
    const { input, search } = attach(own, SHOWN.page);
    input.value = new URLSearchParams(location.search).get("q") ?? "";
    search();
  }
})();
