// The desk: hits as you pause, asking, the scope, the keyboard, what was asked lately.

import "./answer.js";
import { load, save } from "./store.js";
import { addressOf, fetched, say, show } from "./swap.js";

const PAUSE_MS = 150;
const KEPT = 30;
const ALL = ["scope", "results", "reader", "contents"];
const box = document.getElementById("q");
const form = document.getElementById("ask-form");

// The address for a question: the scope stays; the open document goes, for it was another one's.
function address(question, { ask = false } = {}) {
  const now = new URL(location.href);
  const url = new URL("/", location.href);
  const kept = ["c", "in", "kind", "tag", "as_of"];
  for (const [name, value] of now.searchParams) if (kept.includes(name)) url.searchParams.append(name, value);
  if (question) url.searchParams.set("q", question);
  if (ask) {
    url.searchParams.set("ask", "1");
    // A question that goes on is understood with the one before it.
    const before = now.searchParams.get("q");
    if (now.searchParams.get("ask") && before !== question) url.searchParams.set("before", before);
  }
  return url.href;
}

let shown = box?.value.trim() ?? "";
let isTyping = false;
let timer = 0;

async function find(question, { ask = false, isPause = false } = {}) {
  clearTimeout(timer);
  if (isPause && question === shown) return;
  shown = question;
  // While one types, the address follows without filling the history.
  const done = await show(address(question, { ask }), ALL, { replace: isPause && isTyping });
  isTyping = isPause;
  if (done && question && !isPause) remember(question);
}

box?.addEventListener("input", () => {
  clearTimeout(timer);
  const question = box.value.trim();
  timer = setTimeout(() => find(question, { isPause: true }), PAUSE_MS);
});
box?.addEventListener("keydown", (event) => {
  if (event.key === "Enter" && event.shiftKey) {
    event.preventDefault();
    form.requestSubmit(form.elements.ask);
  }
});
form?.addEventListener("submit", (event) => {
  event.preventDefault();
  const question = box.value.trim();
  if (question) find(question, { ask: event.submitter?.name === "ask" });
});

// What is ticked is the scope of what is searched and asked.
document.addEventListener("change", (event) => {
  const scope = event.target.closest("[data-scope]");
  if (scope) show(addressOf(scope), ALL);
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
  list?.replaceChildren(...past.map((each) => Object.assign(new Option(), { value: each })));
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

// A thumb is a judgement of the place, as on the page Judge.
async function judge(thumb) {
  const { doc, at, c, thumb: grade } = thumb.dataset;
  const isPressed = thumb.getAttribute("aria-pressed") === "true";
  const body = new URLSearchParams({ question: shown, doc, at, c, grade: isPressed ? "-1" : grade, by: load("by", "") });
  const response = await fetch("/judge", { method: "POST", body, redirect: "manual" });
  if (response.type !== "opaqueredirect" && !response.ok) return say("This could not be kept.");
  for (const each of thumb.parentElement.querySelectorAll("[data-thumb]")) each.setAttribute("aria-pressed", "false");
  thumb.setAttribute("aria-pressed", String(!isPressed));
  say(isPressed ? "Taken back" : "Kept: it counts in Quality");
}

document.addEventListener("click", (event) => {
  if (event.target.closest("[data-forget]")) {
    save("past", []);
    tellPast();
  }
  const thumb = event.target.closest("[data-thumb]");
  if (thumb) judge(thumb);
  const toggle = event.target.closest("[data-toggles]");
  if (toggle) {
    const isOpen = document.getElementById(toggle.dataset.toggles).classList.toggle("open");
    toggle.setAttribute("aria-expanded", String(isOpen));
  }
});

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

// Keyboard: focus itself moves, so that readers of the screen follow; so does the document.
const hits = () => [...document.querySelectorAll("a[data-hit]")];
let following = 0;
function move(step) {
  const all = hits();
  const open = document.activeElement?.closest?.(".hit") ?? null;
  const at = all.indexOf(open?.querySelector("[data-hit]"));
  const next = all[at < 0 ? (step > 0 ? 0 : all.length - 1) : Math.min(Math.max(at + step, 0), all.length - 1)];
  if (!next) return;
  next.focus();
  next.scrollIntoView({ block: "nearest" });
  clearTimeout(following);
  if (isWide()) following = setTimeout(() => show(next.href, ["reader", "contents"], { replace: true }), 120);
}
const isWide = () => matchMedia("(min-width: 62rem)").matches;
function isWriting(target) {
  return target.matches("input:not([type=checkbox]), textarea, select, [contenteditable]");
}
document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey) return;
  if (event.key === "Escape" && event.target === box) return box.blur();
  if (isWriting(event.target) || document.querySelector("dialog[open]")) return;
  const actions = { j: () => move(1), k: () => move(-1), "/": () => box?.select() || box?.focus() };
  if (event.key in actions) {
    event.preventDefault();
    actions[event.key]();
  }
});

document.addEventListener("pincite:shown", (event) => {
  const says = document.querySelector("#hits [data-says]");
  if (says && event.detail.parts.includes("results")) say(says.dataset.says);
  tellPast();
  watchMore();
  markOpen();
  const now = new URL(location.href).searchParams.get("q") ?? "";
  if (box && (document.activeElement !== box || event.detail.isBack)) box.value = shown = now;
  document.querySelector(".desk")?.classList.toggle("reading", !now);
  const title = document.querySelector("#reader[data-chosen] .crumbs [aria-current], #reader[data-chosen] .doc-title");
  const words = title?.textContent.trim() || now || "Search";
  document.title = `${words} · Pincite`;
});

// Which hit is open, and where the hits stand in the contents.
function markOpen() {
  const { openDoc: doc, openAt: at } = document.querySelector("#reader [data-open-doc]")?.dataset ?? {};
  const there = [];
  for (const link of hits()) {
    const asked = new URL(link.href).searchParams;
    const isOpen = asked.get("doc") === doc && asked.get("at") === at;
    if (isOpen) link.closest(".hit").setAttribute("aria-current", "true");
    else link.closest(".hit").removeAttribute("aria-current");
    if (asked.get("doc") === doc) there.push(Number(asked.get("at").split("-")[0]));
  }
  for (const line of document.querySelectorAll("#contents li[data-at]")) {
    const [start, end] = line.dataset.at.split("-").map(Number);
    const isFolded = !line.querySelector("ul");
    line.classList.toggle("has-hit", isFolded && there.some((each) => start <= each && each < end));
  }
}

tellPast();
watchMore();
markOpen();
if (shown) remember(shown);
