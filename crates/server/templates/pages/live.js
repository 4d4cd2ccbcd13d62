// New verdicts into the feed, as they come. Without this script the page shows what was there when it was loaded.
"use strict";
(() => {
  const feed = document.getElementById("feed");
  if (!feed || !window.EventSource) return;
  const state = document.getElementById("live");
  const tones = { deny: "bad", ask: "warn", advise: "warn", allow: "good" };
  const cell = (text, name) => {
    const td = document.createElement("td");
    td.textContent = text;
    if (name) td.className = name;
    return td;
  };
  const show = (one) => {
    const row = document.createElement("tr");
    row.className = "new";
    row.append(cell(one.time.slice(0, 19).replace("T", " "), "nowrap"));
    const verdict = document.createElement("td");
    const tag = document.createElement("span");
    tag.className = "tag " + (tones[one.verdict] || "");
    tag.textContent = one.verdict;
    verdict.append(tag);
    row.append(verdict, cell(one.agent), cell(one.tool), cell(one.text, "code wide"));
    row.append(cell([...one.actions, ...one.reasons].join(" · "), "wide small"));
    feed.prepend(row);
    while (feed.rows.length > 100) feed.lastElementChild.remove();
  };
  const stream = new EventSource("/api/events/stream");
  stream.addEventListener("open", () => { state.textContent = "live"; state.className = "tag good"; });
  stream.addEventListener("error", () => { state.textContent = "not connected"; state.className = "tag warn"; });
  stream.addEventListener("verdict", (event) => {
    const verdict = new URLSearchParams(location.search).get("verdict");
    const one = JSON.parse(event.data);
    if (!verdict || verdict === one.verdict) show(one);
  });
})();
