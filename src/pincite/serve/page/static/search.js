// The search area: hits as you pause, asking, the keyboard, what was asked lately.

import "./answer.js";
import { load, save } from "./store.js";
import { fetched, say, show } from "./swap.js";

const PAUSE_MS = 300;
const KEPT = 30;
const box = document.getElementById("q");
const form = document.getElementById("ask-form");

// The address for a question: filters and the open document stay, the rest begins anew.
function address(question, { ask = false } = {}) {
  const url = new URL(location.href);
  for (const name of ["ask", "k", "hits", "from"]) url.searchParams.delete(name);
  url.searchParams.set("q", question);
  if (!question) url.searchParams.delete("q");
  if (ask) url.searchParams.set("ask", "1");
  return url.href;
}

let shown = box.value.trim();
let isTyping = false;
let timer = 0;

async function find(question, { ask = false, isPause = false } = {}) {
  clearTimeout(timer);
  if (isPause && question === shown) return;
  shown = question;
  // While one types, the address follows without filling the history.
  const done = await show(address(question, { ask }), ["results"], { replace: isPause && isTyping });
  isTyping = isPause;
  if (done && question && !isPause) remember(question);
}

box.addEventListener("input", () => {
  clearTimeout(timer);
  const question = box.value.trim();
  timer = setTimeout(() => find(question, { isPause: true }), PAUSE_MS);
});
box.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) {
    event.preventDefault();
    form.requestSubmit(form.elements.ask);
  }
});
form.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = box.value.trim();
  if (question) find(question, { ask: event.submitter?.name === "ask" });
});

// What was asked lately stays in this browser.
function remember(question) {
  const past = load("past", []).filter((each) => each !== question);
  save("past", [question, ...past].slice(0, KEPT));
  tellPast();
}

function tellPast() {
  const past = load("past", []);
  const list = document.getElementById("lately");
  list.replaceChildren(...past.map((each) => Object.assign(new Option(), { value: each })));
  const section = document.getElementById("past");
  if (!section) return;
  section.hidden = past.length === 0;
  section.querySelector("ul").replaceChildren(
    ...past.slice(0, 10).map((each) => {
      const line = document.createElement("li");
      const link = document.createElement("a");
      link.href = `/?${new URLSearchParams({ q: each })}`;
      link.textContent = each;
      line.append(link);
      return line;
    }),
  );
}
document.addEventListener("click", (event) => {
  if (event.target.closest("[data-forget]")) {
    save("past", []);
    tellPast();
  }
  const copy = event.target.closest("[data-copy]");
  if (copy) copyCitation(copy);
});

async function copyCitation(button) {
  try {
    await navigator.clipboard.writeText(button.dataset.copy);
    say("Copied");
    button.textContent = "Copied";
  } catch {
    say("Copying is not allowed here");
  }
}

// More hits as one scrolls: a slice at a time, so that no step is long.
async function more(link) {
  if (link.dataset.busy) return;
  link.dataset.busy = "1";
  try {
    const told = await fetched(link.href, ["hits"]);
    const list = document.querySelector("#hits .hits");
    list.append(...[...told.querySelectorAll(".hits > li")].map((each) => document.adoptNode(each)));
    const next = told.querySelector("[data-more]") ?? told.querySelector("#hits > p > a.button");
    const place = link.parentElement;
    if (next) place.replaceChildren(document.adoptNode(next));
    else place.remove();
    watchMore();
  } catch {
    delete link.dataset.busy;
  }
}
const seen = new IntersectionObserver(
  (entries) => entries.forEach((each) => each.isIntersecting && more(each.target)),
  { rootMargin: "600px" },
);
function watchMore() {
  seen.disconnect();
  document.querySelectorAll("[data-more]").forEach((each) => seen.observe(each));
}

// Keyboard: focus itself moves, so that readers of the screen follow.
const hits = () => [...document.querySelectorAll("a[data-hit]")];
function move(step) {
  const all = hits();
  const at = all.indexOf(document.activeElement?.closest?.(".hit")?.querySelector("[data-hit]"));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}
function isWriting(target) {
  return target.matches("input, textarea, select, [contenteditable]");
}
document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape" && event.target === box) return box.blur();
  if (isWriting(event.target) || document.querySelector("dialog[open]")) return;
  const actions = { j: () => move(1), k: () => move(-1), "/": () => box.select() || box.focus() };
  if (event.key in actions) {
    event.preventDefault();
    actions[event.key]();
  }
});

document.addEventListener("pincite:shown", (event) => {
  const says = document.querySelector("#hits [data-says]");
  if (says) say(says.dataset.says);
  tellPast();
  watchMore();
  markOpen();
  const now = new URL(location.href).searchParams.get("q") ?? "";
  if (document.activeElement !== box || event.detail.isBack) box.value = shown = now;
});

function markOpen() {
  const now = new URL(location.href).searchParams;
  for (const link of hits()) {
    const there = new URL(link.href).searchParams;
    const isOpen = there.get("doc") === now.get("doc") && there.get("at") === now.get("at");
    link.closest(".hit").toggleAttribute("aria-current", isOpen);
    if (isOpen) link.closest(".hit").setAttribute("aria-current", "true");
  }
}

tellPast();
watchMore();
if (shown) remember(shown);
