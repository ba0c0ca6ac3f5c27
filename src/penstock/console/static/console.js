// What pages do beyond plain HTML: stay up to date, copy, and go with the keyboard.
"use strict";

const stateLine = document.getElementById("live-state");
const faultLine = document.getElementById("live-fault");

// Where somebody reads further up in a log, it stands still until he is back at its end.
const held = new Map();
const isAtEnd = (log) => log.scrollTop + log.clientHeight >= log.scrollHeight - 4;
const toEnd = (place) => place.querySelectorAll("pre.log").forEach((log) => { log.scrollTop = log.scrollHeight; });

function markOf(element) {
  if (element.id) return `#${CSS.escape(element.id)}`;
  const name = ["href", "aria-label"].find((item) => element.hasAttribute(item));
  return name ? `[${name}="${CSS.escape(element.getAttribute(name))}"]` : null;
}

function replacePart(place, html) {
  const log = place.querySelector("pre.log");
  if (log && !isAtEnd(log)) { held.set(place, html); return; }
  const focused = place.contains(document.activeElement) && place !== document.activeElement ? document.activeElement : null;
  const mark = focused && markOf(focused);
  const open = new Set([...place.querySelectorAll("details[open][id]")].map((item) => item.id));
  const scrolled = [...place.querySelectorAll(".scroll")].map((item) => [item.scrollLeft, item.scrollTop]);
  // The server has escaped what it shows; scripts in it would not run either way.
  place.innerHTML = html;
  for (const id of open) place.querySelector(`#${CSS.escape(id)}`)?.setAttribute("open", "");
  place.querySelectorAll(".scroll").forEach((item, number) => {
    [item.scrollLeft, item.scrollTop] = scrolled[number] ?? [0, 0];
  });
  toEnd(place);
  if (mark) place.querySelector(mark)?.focus({ preventScroll: true });
}

document.addEventListener("scroll", (event) => {
  const place = event.target.closest?.("[data-live]");
  if (!held.has(place) || !isAtEnd(event.target)) return;
  const html = held.get(place);
  held.delete(place);
  replacePart(place, html);
}, true);

let events = null;

function follow() {
  if (events || document.hidden || !document.body.hasAttribute("data-live-page")) return;
  const here = encodeURIComponent(location.pathname + location.search);
  const opened = events = new EventSource(`/live?url=${here}`);
  opened.addEventListener("parts", (event) => {
    for (const [name, html] of Object.entries(JSON.parse(event.data))) {
      for (const place of document.querySelectorAll(`[data-live="${CSS.escape(name)}"]`)) replacePart(place, html);
    }
    if (faultLine) faultLine.hidden = true;
  });
  opened.addEventListener("fault", (event) => {
    const told = JSON.parse(event.data);
    if (faultLine) { faultLine.textContent = told.message; faultLine.hidden = false; }
  });
  opened.onerror = () => {
    if (stateLine) stateLine.textContent = "not live: the console does not answer";
    if (opened.readyState === EventSource.CLOSED) leave();
  };
}

function leave() {
  events?.close();
  events = null;
}

// A browser has about six connections to a console for all of its tabs: those that nobody sees need none.
document.addEventListener("visibilitychange", () => (document.hidden ? leave() : follow()));
addEventListener("pagehide", leave);
addEventListener("pageshow", follow);
toEnd(document);

async function copied(source) {
  try {
    await navigator.clipboard.writeText(source.textContent);
    return true;
  } catch {
    // Browsers have no clipboard for plain HTTP from another machine.
    getSelection().selectAllChildren(source);
    return document.execCommand("copy");
  }
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("[data-copy]");
  if (!button) return;
  button.dataset.label ??= button.textContent;
  button.ariaLive = "polite";
  const isCopied = await copied(document.getElementById(button.dataset.copy));
  button.textContent = isCopied ? "Copied" : "Selected: copy it with the keyboard";
  setTimeout(() => { button.textContent = button.dataset.label; }, 1500);
});

document.addEventListener("keydown", (event) => {
  const typing = event.target.matches("input, textarea, select");
  if (event.key === "/" && !typing) {
    const search = document.querySelector("[data-search]");
    if (search) { event.preventDefault(); search.focus(); search.select(); }
  }
  if (event.key === "Escape") {
    const away = document.querySelector("[data-escape]");
    if (away) away.click();
    else if (typing) event.target.blur();
  }
});
