// Remembers, in this browser only, which pages were read to their end and which section was on the
// screen last. The start page offers to go on there; lists of pages mark those that were read.
(() => {
  "use strict";
  const KEY = "cfr-progress", name = (link) => new URL(link.href).pathname.split("/").pop();
  const here = name(location), nav = document.querySelector("nav.bd-links");
  const sections = [...document.querySelectorAll("article section[id]")];

  function kept() {
    try {
      return { read: [], ...JSON.parse(localStorage.getItem(KEY)) };
    } catch {
      return { read: [] }; // not ours
    }
  }
  const keep = (progress) => localStorage.setItem(KEY, JSON.stringify(progress));

  function mark() {
    const { read } = kept();
    document.querySelectorAll(".cfr-chapters a, nav.bd-links a").forEach((link) => {
      link.classList.toggle("cfr-read", read.includes(name(link)));
    });
  }

  function note() {
    const seen = sections.filter((each) => each.getBoundingClientRect().top < innerHeight / 2);
    const progress = kept();
    if (seen.length > 1) { // below the first screen
      const title = document.querySelector("article h1").cloneNode(true);
      title.querySelector(".headerlink")?.remove();
      progress.last = { page: here, section: seen.at(-1).id, title: title.textContent.trim() };
    }
    if (sections[0].getBoundingClientRect().bottom < innerHeight * 1.5 && !progress.read.includes(here)) {
      progress.read.push(here);
    }
    keep(progress);
    mark();
  }

  function offer() {
    const { last, read } = kept(), start = document.querySelector(".cfr-go a");
    if (!last && !read.length) return;
    if (last) {
      start.href = `${last.page}#${last.section}`;
      start.textContent = `Go on: ${last.title}`;
    }
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "Forget what I have read";
    button.addEventListener("click", () => {
      localStorage.removeItem(KEY);
      location.reload();
    });
    document.querySelector(".cfr-chapters").after(button);
  }

  mark();
  // another tab may have been read to its end, or this page comes back as it was left
  for (const changed of ["storage", "pageshow"]) addEventListener(changed, mark);
  if (document.querySelector(".cfr-go")) offer();
  else if (sections.length > 1 && nav?.querySelector(".current")) {
    let waiting = 0;
    addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(note, 1000); // once the reader rests
    }, { passive: true });
  }
})();
