// The record browser beyond plain HTML: local times, and searches that tell how far they are.
"use strict";

function showLocal(root) {
  for (const time of root.querySelectorAll("time[data-local]")) {
    const local = document.createElement("small");
    local.textContent = new Date(time.dateTime).toLocaleString();
    local.title = "your local time";
    time.after(" ", local);
    time.removeAttribute("data-local");
  }
}

function searchOn(box) {
  const on = document.getElementById("search-on");
  const cancel = document.getElementById("search-cancel");
  const progress = document.getElementById("progress");
  const rows = document.getElementById("records");
  const url = new URL(box.dataset.searchFrom, location.href);
  url.pathname += "/search";
  url.searchParams.set("size", box.dataset.searchLeft);
  const events = new EventSource(url);
  const end = () => { events.close(); cancel.hidden = true; on.hidden = false; };
  on.hidden = true;
  cancel.hidden = false;
  cancel.onclick = () => { end(); progress.textContent += " Cancelled."; };
  events.addEventListener("records", (event) => {
    const found = document.createElement("template");
    // The server has escaped what it shows; scripts in it would not run either way.
    found.innerHTML = JSON.parse(event.data);
    showLocal(found.content);
    rows.append(found.content);
    document.querySelector(".nothing")?.remove();
  });
  events.addEventListener("progress", (event) => {
    const told = JSON.parse(event.data);
    progress.textContent = told.sentence;
    on.href = told.onwards;
  });
  events.addEventListener("ended", (event) => {
    const told = JSON.parse(event.data);
    progress.textContent = told.sentence;
    on.href = told.onwards;
    end();
    if (told.is_complete) box.hidden = true;
  });
  events.addEventListener("fault", (event) => {
    progress.textContent = JSON.parse(event.data).message;
    end();
  });
  // A search is not begun again from where the page stood: that would show records twice.
  events.onerror = () => { end(); progress.textContent += " The console does not answer any more."; };
  addEventListener("pagehide", () => events.close());
}

showLocal(document);
const box = document.getElementById("search");
if (box && Number(box.dataset.searchLeft) > 0) searchOn(box);
