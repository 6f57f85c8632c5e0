// A service worker: it keeps the site's files, and shows what it kept when the network is gone.
const KEPT = "FINGERPRINT", FILES = [];
addEventListener("install", (event) => {
  event.waitUntil(caches.open(KEPT).then((cache) => cache.addAll(FILES)).then(() => skipWaiting()));
});
addEventListener("activate", (event) => {
  const old = (names) => names.filter((name) => name !== KEPT);
  event.waitUntil(caches.keys().then((names) => Promise.all(old(names).map((n) => caches.delete(n)))));
});
addEventListener("fetch", (event) => {
  const { request } = event;
  if (request.method !== "GET" || new URL(request.url).origin !== location.origin) return;
  event.respondWith((async () => {
    try {
      const came = await fetch(request);
      if (came.ok && /_static\/(python|cells|editor)\//.test(request.url)) { // once loaded, it works offline
        const copy = came.clone();
        event.waitUntil(caches.open(KEPT).then((cache) => cache.put(request, copy)));
      }
      return came;
    } catch (gone) {
      const kept = await caches.match(request, { ignoreSearch: true });
      if (kept) return kept;
      throw gone;
    }
  })());
});
