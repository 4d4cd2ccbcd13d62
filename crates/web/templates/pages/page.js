// Times in the reader's zone, names of columns beside cells on narrow screens, and parts of a page that renew themselves.
// Without this script the pages show UTC, and what was there when they were loaded.
"use strict";
(() => {
  const two = (number) => String(number).padStart(2, "0");
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "local time";
  const ago = (time) => {
    const minutes = Math.round((Date.now() - time) / 60000);
    if (minutes < 1) return "just now";
    if (minutes < 60) return minutes + " min ago";
    if (minutes < 2880) return Math.round(minutes / 60) + " h ago";
    return Math.round(minutes / 1440) + " days ago";
  };
  const localise = (root) => {
    for (const element of root.querySelectorAll("time[datetime]")) {
      const time = new Date(element.getAttribute("datetime"));
      if (Number.isNaN(time.getTime())) continue;
      element.title = element.textContent + " · " + ago(time) + " · shown in " + zone;
      element.textContent = time.getFullYear() + "-" + two(time.getMonth() + 1) + "-" + two(time.getDate()) + " " +
        two(time.getHours()) + ":" + two(time.getMinutes()) + ":" + two(time.getSeconds());
    }
  };
  // On a narrow screen a row is a note without its head, so each cell keeps the name of its column.
  const name = (root) => {
    for (const table of root.querySelectorAll("table.feed")) {
      const columns = [...table.querySelectorAll("thead th")].map((head) => (head.querySelector("a.sort") || head.firstChild)?.textContent.trim());
      for (const cell of table.querySelectorAll("tbody td:not([colspan])")) {
        const column = columns[cell.cellIndex];
        if (column && cell.textContent.trim() && !cell.querySelector("time, .tag, form, button")) cell.dataset.column = column;
      }
    }
  };
  localise(document);
  name(document);
  const footer = document.getElementById("zone");
  if (footer) footer.textContent = "Times in " + zone;

  // A file that is chosen is put into the text field that takes it as base64.
  for (const chooser of document.querySelectorAll("input[type=file][data-into]")) {
    chooser.closest("[hidden]")?.removeAttribute("hidden");
    chooser.addEventListener("change", async () => {
      const file = chooser.files[0];
      if (!file) return;
      const bytes = new Uint8Array(await file.arrayBuffer());
      let text = "";
      for (const byte of bytes) text += String.fromCharCode(byte);
      document.getElementById(chooser.dataset.into).value = btoa(text);
    });
  }

  // An input for a role goes the way of every request, and its receipt is shown.
  const tried = document.getElementById("try");
  if (tried) {
    tried.hidden = false;
    tried.querySelector("form").addEventListener("submit", async (event) => {
      event.preventDefault();
      const shown = document.createElement("pre");
      shown.className = "box";
      let input = tried.querySelector("textarea").value;
      try { input = JSON.parse(input); } catch { /* a text */ }
      try {
        const body = JSON.stringify({ role: tried.dataset.role, input });
        const answer = await fetch("/v1/dispatch", { method: "POST", headers: { "content-type": "application/json" }, body });
        shown.textContent = JSON.stringify(await answer.json(), null, 2);
      } catch (error) { shown.textContent = String(error); }
      tried.querySelector("[role=status]").replaceChildren(shown);
    });
  }

  const live = () => [...document.querySelectorAll("[data-live][id]")];
  // A later page of a list does not change.
  if (!live().length || !window.EventSource || new URLSearchParams(location.search).has("after")) return;
  const state = document.getElementById("live");
  const say = (text, tone) => { if (state) { state.textContent = text; state.className = "tag " + tone; } };
  let waits = false;
  // The parts as the server renders them.
  const renew = async () => {
    waits = false;
    try {
      const answer = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!answer.ok) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      localise(page);
      name(page);
      for (const old of live()) {
        const fresh = page.getElementById(old.id);
        // Nothing is taken away under somebody's hands.
        if (!fresh || old.contains(document.activeElement) || fresh.innerHTML === old.innerHTML) continue;
        const known = new Set([...old.querySelectorAll("tr")].map((row) => row.textContent));
        for (const row of fresh.querySelectorAll("tr")) if (!known.has(row.textContent)) row.className = "new";
        const open = new Set([...old.querySelectorAll("details[open] > summary")].map((one) => one.textContent));
        for (const one of fresh.querySelectorAll("details > summary")) {
          if (open.has(one.textContent)) one.parentElement.open = true;
        }
        old.replaceChildren(...fresh.childNodes);
        if (fresh.dataset.count) old.dataset.count = fresh.dataset.count;
      }
      count(true);
    } catch { say("not connected", "warn"); }
  };
  // How many acts wait is in the title, and in a notice of the browser if the reader wants one.
  const notify = document.getElementById("notify");
  const title = document.title;
  let waiting = 0;
  const count = (isNew) => {
    const box = document.querySelector("[data-count]");
    if (!box) return;
    const now = Number(box.dataset.count);
    document.title = now ? "(" + now + ") " + title : title;
    if (isNew && now > waiting && document.hidden && window.Notification?.permission === "granted") {
      new Notification(now + (now === 1 ? " act waits" : " acts wait") + " for a person", { tag: "waiting" });
    }
    waiting = now;
  };
  if (notify && window.Notification?.permission === "default") {
    notify.hidden = false;
    notify.addEventListener("click", async () => { await Notification.requestPermission(); notify.hidden = true; });
  }
  count(false);
  const stream = new EventSource((document.documentElement.dataset.base || "") + "/api/events/stream");
  stream.addEventListener("open", () => say("live", "good"));
  stream.addEventListener("error", () => say("not connected", "warn"));
  const soon = () => {
    // Many at once are one change.
    if (!waits) setTimeout(renew, 150);
    waits = true;
  };
  for (const kind of ["verdict", "change", "missed"]) stream.addEventListener(kind, soon);
})();
