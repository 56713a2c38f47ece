// The library: uploads are jobs of the server, which go on wherever one looks; the graph is walked.

import "./post.js";
import { fetched, parsed, place, problem, say, show } from "./swap.js";

const EVERY_MS = 700;
const AT_ONCE = 3;
const form = document.getElementById("drop");

async function bring(file) {
  const body = new FormData();
  body.append("c", form.elements.c.value);
  body.append("file", file);
  const response = await fetch("/upload", { method: "POST", body, redirect: "manual" });
  if (response.type === "opaqueredirect" || response.ok) return;
  const told = parsed(await response.text());
  const words = told.querySelector(".problem p")?.textContent ?? told.body.textContent;
  problem(`${file.name}: ${words}`);
}

async function bringAll(files) {
  const waiting = [...files];
  if (!waiting.length) return;
  say(`${waiting.length} on the way`);
  const one = async () => {
    for (let file = waiting.shift(); file; file = waiting.shift()) {
      await bring(file);
      await follow();
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  if (!document.getElementById("jobs")) location.assign("/library");
}

let timer = 0;
// What becomes of the uploads is asked as long as one of them is under way.
async function follow() {
  clearTimeout(timer);
  if (!document.getElementById("jobs")) return;
  const wasWaiting = Boolean(document.querySelector("[data-waits]"));
  try {
    place(await fetched(location.href, ["jobs"]), ["jobs"]);
  } catch {
    // The service may be away for a moment; the next time tells.
  }
  if (document.querySelector("[data-waits]")) timer = setTimeout(follow, EVERY_MS);
  else if (wasWaiting) {
    say([...document.querySelectorAll("#jobs li")].map((each) => each.textContent).at(0) ?? "");
    show(location.href, ["library"], { push: false });
  }
}
if (document.querySelector("[data-waits]")) follow();

if (form) {
  form.elements.file.addEventListener("change", (event) => {
    bringAll([...event.target.files]);
    event.target.value = "";
  });
  for (const name of ["dragover", "dragleave", "drop"]) {
    form.addEventListener(name, (event) => {
      event.preventDefault();
      form.classList.toggle("over", name === "dragover");
      if (name === "drop") bringAll([...event.dataTransfer.files]);
    });
  }
  form.addEventListener("submit", (event) => event.preventDefault());
}

document.addEventListener("click", async (event) => {
  const link = event.target.closest("a[data-walk]");
  if (!link || event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
  event.preventDefault();
  const url = new URL(link.getAttribute("href"), location.href).href;
  if (await show(url, ["library"])) document.getElementById("graph-title")?.focus();
  else problem("It did not come; try again.");
});
