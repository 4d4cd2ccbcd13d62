// New verdicts into the feed, as they come. Without this script the page shows what was there when it was loaded.
"use strict";
(() => {
  const feed = document.getElementById("feed");
  // An older page of the feed does not change.
  if (!feed || !window.EventSource || new URLSearchParams(location.search).has("after")) return;
  const state = document.getElementById("live");
  const says = (text, tone) => { state.textContent = text; state.className = "tag " + tone; };
  let waits = false;
  // The rows as the server renders them, with the deciding parts marked.
  const renew = async () => {
    waits = false;
    const known = new Set([...feed.rows].map((row) => row.textContent));
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      const fresh = page.getElementById("feed");
      if (!fresh) return;
      for (const row of fresh.rows) if (!known.has(row.textContent)) row.className = "new";
      feed.replaceChildren(...fresh.children);
    } catch { says("not connected", "warn"); }
  };
  const stream = new EventSource("/api/events/stream");
  stream.addEventListener("open", () => says("live", "good"));
  stream.addEventListener("error", () => says("not connected", "warn"));
  stream.addEventListener("verdict", () => {
    // Many at once are one change.
    if (!waits) setTimeout(renew, 150);
    waits = true;
  });
})();
