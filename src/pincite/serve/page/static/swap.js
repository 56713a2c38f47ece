// Going from one address to another without loading the whole page again.
//
// A link or form with data-parts="a b" shows the parts of those names of the page that it leads to;
// each is the element of that id. The address always says everything, so that going back works.
// This is the one place where text becomes markup: it comes from our own server, which has escaped
// whatever documents say, and the page's policy lets no other module do it.

const policy = window.trustedTypes
  ? window.trustedTypes.createPolicy("pincite", { createHTML: (text) => text })
  : { createHTML: (text) => text };

let running = null;

export function say(text) {
  document.getElementById("status").textContent = text;
}

export function parsed(text) {
  return new DOMParser().parseFromString(policy.createHTML(text), "text/html");
}

// Fetch a page of ours; null if something else was asked for meanwhile.
export async function fetched(url, parts, signal) {
  const response = await fetch(url, { headers: { "x-parts": parts.join(" ") }, signal });
  if (response.status === 401) location.assign(location.href);
  const told = parsed(await response.text());
  if (!response.ok) {
    const words = told.querySelector(".problem p")?.textContent ?? response.statusText;
    throw new Error(words);
  }
  return told;
}

// Put fresh parts in the place of those that are shown; the title follows what is shown.
export function place(told, parts, detail = {}) {
  for (const part of parts) {
    const fresh = told.getElementById(part);
    if (fresh) document.getElementById(part)?.replaceWith(document.adoptNode(fresh));
  }
  document.dispatchEvent(new CustomEvent("pincite:shown", { detail: { parts, ...detail } }));
}

export async function show(url, parts, { push = true, replace = false } = {}) {
  running?.abort();
  const mine = (running = new AbortController());
  const shown = parts.map((part) => document.getElementById(part)).filter(Boolean);
  shown.forEach((each) => each.setAttribute("aria-busy", "true"));
  try {
    const told = await fetched(url, parts, mine.signal);
    if (mine.signal.aborted) return false;
    if (push) history[replace ? "replaceState" : "pushState"](null, "", url);
    document.getElementById("problem")?.setAttribute("hidden", "");
    place(told, parts, { url, isBack: !push });
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    shown.forEach((each) => each.removeAttribute("aria-busy"));
    problem(error.message);
    return false;
  }
}

export function problem(words) {
  say(words);
  const note = document.getElementById("problem");
  if (note) {
    note.textContent = words;
    note.hidden = false;
  }
}

// The address that a form means.
export function addressOf(form, submitter = null) {
  const url = new URL(form.getAttribute("action"), location.href);
  const fields = new FormData(form, submitter);
  for (const [name, value] of [...fields]) if (!value) fields.delete(name);
  url.search = new URLSearchParams(fields).toString();
  return url.href;
}

const partsOf = (element) => element.dataset.parts.split(" ");

function isPlain(event) {
  return event.button === 0 && !(event.metaKey || event.ctrlKey || event.shiftKey || event.altKey);
}

export function start() {
  document.addEventListener("click", (event) => {
    const link = event.target.closest("a[data-parts]");
    if (!link || event.defaultPrevented || !isPlain(event)) return;
    event.preventDefault();
    const close = link.closest("details.menu");
    if (close) close.open = false;
    show(link.href, partsOf(link));
  });
  document.addEventListener("submit", (event) => {
    const form = event.target.closest("form[data-parts]");
    if (!form || event.defaultPrevented) return;
    event.preventDefault();
    show(addressOf(form, event.submitter), partsOf(form));
  });
  window.addEventListener("popstate", () => {
    const parts = [...document.querySelectorAll("[data-part]")].map((each) => each.id);
    show(location.href, parts, { push: false });
  });
}
