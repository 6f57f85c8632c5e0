// A service worker: it keeps the site's files, and shows what it kept when the network is gone or
// takes too long.
const OURS = "cfr-book ", KEPT = `${OURS}FINGERPRINT`, FILES = [];
const LATE = 5_000; // milliseconds, after which what was kept is shown
// Python and what cells need are kept once a reader has loaded them.
const ONCE_LOADED = /_static\/(python|cells|editor)\//;
addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()));
});
addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name.startsWith(OURS) && name !== KEPT);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((n) => caches.delete(n)))));
});
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    const address = request.url.replace(/\/(?=[?#]|$)/, "/index.html");
    const kept = await caches.match(address, { ignoreSearch: true });
    const late = new Promise((_, fail) => { if (kept) setTimeout(fail, LATE, new Error("late")); });
    try {
      const came = await Promise.race([fetch(request), late]);
      if (came.ok && ONCE_LOADED.test(request.url)) {
        const copy = came.clone();
        event.waitUntil(caches.open(KEPT).then((cache) => cache.put(request, copy)));
      }
      return came;
    } catch (gone) {
      if (kept) return kept;
      throw gone;
    }
  })());
});
