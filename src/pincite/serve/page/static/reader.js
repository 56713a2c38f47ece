// The reader: the lit place in sight, previews of references, pages by the keyboard.

import { fetched } from "./swap.js";

const POINT_MS = 250;

// Only the reader moves where it scrolls by itself: the hits beside it stay where they are.
function bring() {
  const reader = document.getElementById("reader");
  if (!reader || reader.hidden) return;
  const lit = reader.querySelector("[data-lit], .lit, .lit-row");
  const sheet = reader.querySelector(".sheet");
  const box = sheet?.querySelector("rect");
  let top = null;
  if (lit) top = lit.getBoundingClientRect().top;
  else if (box) {
    const page = sheet.getBoundingClientRect();
    top = page.top + (parseFloat(box.getAttribute("y")) / 100) * page.height;
    sheet.parentElement.scrollLeft = (parseFloat(box.getAttribute("x")) / 100) * page.width - 20;
  }
  if (getComputedStyle(reader).overflowY === "auto") {
    const above = reader.querySelector(".reader-head").offsetHeight + 40;
    reader.scrollTop = top === null ? 0 : reader.scrollTop + top - reader.getBoundingClientRect().top - above;
  } else if (top !== null) {
    window.scrollTo(0, window.scrollY + top - innerHeight / 3);
  } else {
    window.scrollTo(0, 0);
  }
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

// A page can be made larger; it stays so while one turns pages.
let isLarge = false;
function zoom() {
  const button = document.querySelector("[data-zoom]");
  button?.setAttribute("aria-pressed", String(isLarge));
  document.querySelector(".sheet")?.classList.toggle("zoomed", isLarge);
}
document.addEventListener("click", (event) => {
  if (!event.target.closest("[data-zoom]")) return;
  isLarge = !isLarge;
  zoom();
  bring();
});

document.addEventListener("keydown", (event) => {
  if (event.key === "Escape") {
    if (!tip.hidden) return hide();
    if (document.querySelector("dialog[open]") || event.target.matches("input")) return;
    document.querySelector("#reader [data-closes]")?.click();
  }
  if (event.target.matches("input, textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
  const step = { "[": "before", "]": "after" }[event.key];
  if (step) document.querySelector(`#reader [data-page="${step}"]`)?.click();
});

document.addEventListener("pincite:shown", (event) => {
  hide();
  if (event.detail.parts.includes("reader")) {
    zoom();
    bring();
    const title = document.querySelector("#reader .crumbs [aria-current], #reader .doc-title");
    if (title) document.getElementById("status").textContent = `Open: ${title.textContent}`;
  }
});
bring();
