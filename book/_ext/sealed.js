// Opens encrypted solutions with the reader's key, which is kept until the tab is closed.
(() => {
  const KEPT = "cfr-solutions-key";
  const ciphers = new Map(); // of a key, by salt: stretching takes a while
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

  async function stretch(key, { salt, rounds }) {
    const typed = new TextEncoder().encode(key);
    const raw = await crypto.subtle.importKey("raw", typed, "PBKDF2", false, ["deriveKey"]);
    const how = { name: "PBKDF2", hash: "SHA-256", salt: bytes(salt), iterations: +rounds };
    return crypto.subtle.deriveKey(how, raw, { name: "AES-GCM", length: 256 }, false, [
      "decrypt",
    ]);
  }

  async function decrypt(key, data) {
    const name = `${data.salt} ${key}`;
    if (!ciphers.has(name)) ciphers.set(name, stretch(key, data));
    const text = bytes(data.sealed);
    const how = { name: "AES-GCM", iv: text.slice(0, 12) };
    const html = await crypto.subtle.decrypt(how, await ciphers.get(name), text.slice(12));
    return new TextDecoder().decode(html);
  }

  // Opens all solutions of the page, or none: a wrong key fails at the first one.
  async function openAll(key) {
    for (const box of document.querySelectorAll(".cfr-sealed[data-sealed]")) {
      const html = await decrypt(key, box.dataset);
      const content = box.querySelector("details > div");
      content.innerHTML = html;
      delete box.dataset.sealed;
      await window.MathJax?.startup?.promise;
      await window.MathJax?.typesetPromise?.([content]);
    }
  }

  function ask(box) {
    const [form, status] = [box.querySelector("form"), box.querySelector("[role=status]")];
    if (!window.crypto?.subtle) {
      status.textContent =
        "The solution is encrypted. Browsers decrypt only on pages with an https address, on " +
        "this machine, or, most of them, in a folder. Open the page in one of these ways.";
      return;
    }
    form.hidden = false;
    status.textContent =
      "Your teacher may have the key. It opens all solutions until you close this tab.";
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      const key = form.querySelector("input").value.trim();
      status.textContent = "Opening …";
      try {
        await openAll(key);
        sessionStorage.setItem(KEPT, key);
        box.querySelector("summary").focus(); // the button is gone
      } catch {
        status.textContent = "That is not the key.";
      }
    });
  }

  document.addEventListener("DOMContentLoaded", () => {
    document.querySelectorAll(".cfr-sealed").forEach(ask);
    const key = sessionStorage.getItem(KEPT);
    if (key && window.crypto?.subtle) openAll(key).catch(() => {}); // of another book
  });
})();
