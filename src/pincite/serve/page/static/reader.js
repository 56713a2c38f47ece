// The reader: the lit place in sight, previews, pages as one scrolls, citing, the tree of contents.

import { load, save } from "./store.js";
import { fetched, say, show } from "./swap.js";

const POINT_MS = 250;
const reader = () => document.getElementById("reader");

// Only the reader moves where it scrolls by itself: the hits beside it stay where they are.
function bring() {
  const open = reader();
  if (!open || "empty" in open.dataset) return;
  const lit = open.querySelector("[data-lit], .clauses .lit, .lit-row");
  const sheets = open.querySelector(".sheets");
  const sheet = sheets && open.querySelector(`#page-${sheets.dataset.page}`);
  const box = sheet?.querySelector("rect.cited");
  let top = null;
  if (lit) top = lit.getBoundingClientRect().top;
  else if (sheet) {
    const page = sheet.querySelector("img").getBoundingClientRect();
    top = box ? page.top + (parseFloat(box.getAttribute("y")) / 100) * page.height : page.top;
    if (box) sheets.scrollLeft = (parseFloat(box.getAttribute("x")) / 100) * page.width - 20;
  }
  if (getComputedStyle(open).overflowY === "auto") {
    const above = open.querySelector(".reader-head").offsetHeight + 40;
    open.scrollTop = top === null ? 0 : open.scrollTop + top - open.getBoundingClientRect().top - above;
  } else if ("chosen" in open.dataset) {
    window.scrollTo(0, top === null ? 0 : window.scrollY + top - innerHeight / 3);
  }
  for (const here of document.querySelectorAll("#contents [aria-current], #scope .documents [aria-current]")) here.scrollIntoView({ block: "nearest" });
}

// Previews: by pointing or by the focus, and gone with Escape.
const tip = document.createElement("div");
tip.id = "tip";
tip.setAttribute("role", "tooltip");
tip.hidden = true;
document.body.append(tip);
const known = new Map();
let waiting = 0;
let link = null;

function hide() {
  clearTimeout(waiting);
  tip.hidden = true;
  link?.removeAttribute("aria-describedby");
  link = null;
}

async function preview(target) {
  const address = target.dataset.preview;
  if (!known.has(address)) {
    if (known.size > 100) known.clear();
    known.set(address, fetched(address, []).then((told) => told.getElementById("preview")));
  }
  try {
    const shown = await known.get(address);
    if (link !== target || !shown) return;
    tip.replaceChildren(document.importNode(shown, true));
    tip.hidden = false;
    const at = target.getBoundingClientRect();
    const height = tip.offsetHeight;
    const below = at.bottom + 6 + height < innerHeight;
    tip.style.top = `${window.scrollY + (below ? at.bottom + 6 : Math.max(4, at.top - height - 6))}px`;
    tip.style.left = `${Math.max(8, Math.min(at.left, innerWidth - tip.offsetWidth - 12))}px`;
    target.setAttribute("aria-describedby", "tip");
  } catch {
    known.delete(address);
  }
}

function point(event) {
  const target = event.target.closest?.("[data-preview]");
  if (!target || target === link) return;
  hide();
  link = target;
  waiting = setTimeout(() => preview(target), POINT_MS);
}
function leave(event) {
  if (link && !event.relatedTarget?.closest?.("#tip") && event.target.closest?.("[data-preview]")) hide();
}
document.addEventListener("mouseover", point);
document.addEventListener("focusin", point);
document.addEventListener("mouseout", leave);
document.addEventListener("focusout", leave);
tip.addEventListener("mouseleave", hide);

// Pages: fit the width, or as printed; more are fetched where one scrolls to.
function zoom(name = load("zoom", "fit")) {
  const sheets = document.querySelector(".sheets");
  if (!sheets) return;
  for (const button of document.querySelectorAll("[data-zoom]")) {
    button.setAttribute("aria-pressed", String(button.dataset.zoom === name));
  }
  for (const sheet of sheets.querySelectorAll(".sheet")) {
    const width = (Number(sheet.dataset.points) * 96 * Number(name)) / 7200;
    sheet.style.width = name === "fit" ? "" : `${Math.round(width)}px`;
    sheet.querySelector("img").sizes = name === "fit" ? `${sheets.clientWidth}px` : `${Math.round(width)}px`;
  }
}

let isFetching = false;
async function morePages(sheets, first) {
  if (isFetching || first < 1 || first > Number(sheets.dataset.count)) return;
  isFetching = true;
  try {
    const url = new URL(sheets.dataset.morePages, location.href);
    url.searchParams.set("page", first);
    const told = await fetched(url.href, []);
    const scroller = getComputedStyle(reader()).overflowY === "auto" ? reader() : document.scrollingElement;
    const there = (number) => sheets.querySelector(`#page-${number}`);
    for (const each of told.querySelectorAll(".sheet")) {
      const number = Number(each.dataset.number);
      if (there(number)) continue;
      const behind = [...sheets.children].find((other) => Number(other.dataset.number) > number) ?? null;
      const before = behind?.getBoundingClientRect().top;
      sheets.insertBefore(document.adoptNode(each), behind);
      zoom();
      // What one reads stays where it is, while pages come before it.
      if (behind && before < innerHeight) scroller.scrollTop += behind.getBoundingClientRect().top - before;
    }
  } catch {
    // The next time one scrolls there.
  } finally {
    isFetching = false;
    watchPages();
  }
}
const near = new IntersectionObserver(
  (entries) => {
    for (const entry of entries) {
      const sheet = entry.target;
      const sheets = sheet.parentElement;
      if (!entry.isIntersecting || !sheets) continue;
      const number = Number(sheet.dataset.number);
      if (sheet === sheets.lastElementChild) morePages(sheets, number + 1);
      else if (sheet === sheets.firstElementChild && number > 1) morePages(sheets, Math.max(1, number - 3));
    }
  },
  { rootMargin: "200px" },
);
const shownPages = new IntersectionObserver(
  (entries) => {
    const box = document.querySelector(".pager input[name=page]");
    const seen = entries.filter((each) => each.isIntersecting).at(-1);
    if (box && seen && document.activeElement !== box) box.value = seen.target.dataset.number;
  },
  { threshold: 0.5 },
);
function watchPages() {
  near.disconnect();
  shownPages.disconnect();
  const sheets = document.querySelector(".sheets");
  if (!sheets) return;
  for (const edge of [sheets.firstElementChild, sheets.lastElementChild]) if (edge) near.observe(edge);
  for (const each of sheets.children) shownPages.observe(each);
}

// Citing: in the style that was chosen last.
async function copied(text, button) {
  try {
    await navigator.clipboard.writeText(text);
    say(`Copied: ${text}`);
    if (!button) return;
    const before = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => (button.textContent = before), 1500);
  } catch {
    say(`Copying is not allowed here: ${text}`);
  }
}
async function citation(address, style = load("style", "plain")) {
  const url = new URL(address, location.href);
  url.searchParams.set("style", style);
  const response = await fetch(url);
  if (!response.ok) throw new Error("no citation");
  return response.text();
}
async function cite(address, style, button) {
  try {
    copied(await citation(address, style), button);
  } catch {
    say("This place cannot be cited.");
  }
}

// What is selected in the reader: its words, a line each on a page, and where it stands.
function selected() {
  const selection = getSelection();
  const open = reader();
  if (!open || !selection.rangeCount || selection.isCollapsed) return null;
  const range = selection.getRangeAt(0);
  const body = open.querySelector(".sheets, .clauses");
  if (!body || !range.intersectsNode(body)) return null;
  const lines = [...body.querySelectorAll("svg text")].filter((each) => range.intersectsNode(each));
  const words = lines.map((line) => {
    const all = line.firstChild.data;
    const from = line.contains(range.startContainer) ? range.startOffset : 0;
    const to = line.contains(range.endContainer) ? range.endOffset : all.length;
    return all.slice(from, to);
  });
  const first = lines[0] ?? range.startContainer.parentElement?.closest("[data-start]");
  const text = lines.length ? words.filter(Boolean).join("\n") : String(selection);
  return { text, start: first?.dataset.start, isPage: lines.length > 0, end: range.getBoundingClientRect() };
}
document.addEventListener("copy", (event) => {
  const found = selected();
  if (!found?.isPage) return;
  event.clipboardData.setData("text/plain", found.text);
  event.preventDefault();
});
const withCitation = document.createElement("button");
withCitation.id = "copy-cited";
withCitation.type = "button";
withCitation.textContent = "Copy with citation";
withCitation.hidden = true;
document.body.append(withCitation);
let chosen = null;
document.addEventListener("selectionchange", () => {
  const found = selected();
  withCitation.hidden = !found?.start;
  if (withCitation.hidden) return;
  chosen = found;
  withCitation.style.top = `${window.scrollY + found.end.bottom + 6}px`;
  withCitation.style.left = `${Math.max(8, Math.min(found.end.left, innerWidth - 180))}px`;
});
withCitation.addEventListener("pointerdown", (event) => event.preventDefault()); // the selection stays
withCitation.addEventListener("click", async () => {
  const url = new URL(document.querySelector("#reader [data-cite]").dataset.cite, location.href);
  url.searchParams.set("at", `${chosen.start}-${Number(chosen.start) + 1}`);
  try {
    copied(`“${chosen.text.replaceAll("\n", " ")}” (${await citation(url)})`, withCitation);
  } catch {
    say("This place cannot be cited.");
  }
});

document.addEventListener("click", async (event) => {
  const target = event.target;
  const style = target.closest("[data-style]");
  const gutter = target.closest("[data-gutter]");
  const named = target.closest("[data-link]");
  const copy = target.closest("[data-copy]");
  const size = target.closest("[data-zoom]");
  const unfold = target.closest("[data-unfolds]");
  if (event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (style) {
    event.preventDefault();
    save("style", style.dataset.style);
    const menu = style.closest("details");
    menu.open = false;
    cite(menu.dataset.cite, style.dataset.style, menu.querySelector("summary"));
  } else if (gutter) {
    event.preventDefault();
    cite(gutter.href, undefined, gutter);
  } else if (named) {
    event.preventDefault();
    copied(named.href, named);
  } else if (copy) {
    const hit = copy.closest(".hit")?.querySelector("[data-hit]");
    const asked = hit && new URL(hit.href).searchParams;
    if (!asked || load("style", "plain") === "plain") return copied(copy.dataset.copy, copy);
    const wanted = new URLSearchParams({ doc: asked.get("doc"), at: asked.get("at"), c: asked.get("dc") ?? asked.get("c") ?? "" });
    cite(`/cite?${wanted}`, undefined, copy);
  } else if (size) {
    save("zoom", size.dataset.zoom);
    zoom();
    bring();
  } else if (unfold) {
    const line = unfold.parentElement;
    const inside = line.querySelector(":scope > ul");
    if (inside) {
      inside.hidden = !inside.hidden;
      unfold.setAttribute("aria-expanded", String(!inside.hidden));
      return;
    }
    const told = await fetched(unfold.dataset.unfolds, []);
    line.append(document.adoptNode(told.querySelector("ul")));
    unfold.setAttribute("aria-expanded", "true");
  }
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (!tip.hidden) return hide();
    if (document.querySelector("dialog[open]") || event.target.matches("input")) return;
    const hit = document.querySelector(".hit[aria-current] [data-hit]");
    if (hit && matchMedia("(min-width: 62rem)").matches) return hit.focus();
    reader()?.querySelector("[data-closes]")?.click();
  }
  if (event.target.matches("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
  const step = { "[": "before", "]": "after" }[event.key];
  const page = step && document.querySelector(`#reader [data-page="${step}"]`);
  if (step) (page ?? document.querySelector(`#reader [data-beside="${step}"]`))?.click();
  if (event.key === "c") {
    const menu = document.querySelector("#reader [data-cite]");
    if (menu) cite(menu.dataset.cite, undefined, menu.querySelector("summary"));
  }
});

// On a narrow screen a page is unreadable: its text is shown, unless the page was asked for.
function preferText() {
  const text = document.querySelector('#reader[data-chosen] .tabs a[href*="view=text"]:not([aria-current])');
  const isAsked = new URL(location.href).searchParams.has("view");
  if (text && !isAsked && matchMedia("(max-width: 48rem)").matches) show(text.href, ["reader"], { replace: true });
}

let opener = false; // the focus goes into a document that was opened by a click or by Enter
document.addEventListener("click", (event) => {
  opener = Boolean(event.target.closest("[data-hit], .cite, .sources a, .short, .answer a"));
});
document.addEventListener("pincite:shown", (event) => {
  hide();
  if (!event.detail.parts.includes("reader")) return;
  zoom();
  bring();
  watchPages();
  preferText();
  const title = document.querySelector("#reader .crumbs [aria-current], #reader .doc-title");
  if (title && !event.detail.parts.includes("results")) say(`Open: ${title.textContent.trim()}`);
  if (opener) document.querySelector("#reader .doc-title")?.focus({ preventScroll: true });
  opener = false;
});
zoom();
bring();
watchPages();
preferText();
