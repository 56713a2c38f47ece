// Judging: keys for the buttons, focus that goes on to the next, a name that is remembered.

import "./post.js";
import { load, save } from "./store.js";
import { show } from "./swap.js";

let last = ""; // the hit that was judged: focus comes back to it

function move(step) {
  const all = [...document.querySelectorAll("a[data-hit]")];
  const at = all.indexOf(document.activeElement?.closest?.(".hit")?.querySelector("[data-hit]"));
  const next = all[at < 0 ? 0 : Math.min(Math.max(at + step, 0), all.length - 1)];
  next?.focus();
  next?.scrollIntoView({ block: "nearest" });
}

// Where a key belongs: what has the focus, or the one thing of the queue.
function judged() {
  const here = document.activeElement?.closest?.("[data-judged]");
  return here ?? document.querySelector(".candidate[data-judged]");
}

document.addEventListener("keydown", (event) => {
  if (event.metaKey || event.ctrlKey || event.altKey || event.repeat) return;
  if (event.target.matches("input, textarea, select") || document.querySelector("dialog[open]")) return;
  if (event.key === "j" || event.key === "k") return move(event.key === "j" ? 1 : -1);
  const button = judged()?.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (!button) return;
  event.preventDefault();
  button.click();
});
document.addEventListener("submit", (event) => {
  last = event.target.closest("[data-judged]")?.querySelector("[data-hit]")?.id ?? "";
});

function goOn() {
  const next = last ? document.getElementById(last) : document.getElementById("candidate");
  next?.focus({ preventScroll: Boolean(last) });
}
document.addEventListener("pincite:posted", goOn);
document.addEventListener("pincite:shown", goOn);

const name = document.getElementById("by");
if (name) {
  const url = new URL(location.href);
  const known = load("judge.by", "");
  if (name.value) save("judge.by", name.value);
  else if (known) {
    url.searchParams.set("by", known);
    name.value = known;
    show(url.href, ["judging", "agreement"], { replace: true });
  }
}
