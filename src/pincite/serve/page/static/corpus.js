// Files that are dropped become jobs, whose progress is asked for; the graph is walked in place.

import { problem, say, show } from "./swap.js";

const EVERY_MS = 700;
const STATES = {
  queued: "waiting",
  reading: "being read",
  embedding: "searchable by words; vectors are made",
  done: "in the index",
  rejected: "cannot be read",
  failed: "failed",
};
const ENDED = ["done", "rejected", "failed"];
const form = document.getElementById("drop");
const jobs = document.getElementById("jobs");

function make(name, text = "") {
  const made = document.createElement(name);
  made.textContent = text;
  return made;
}

function lineFor(name) {
  const line = make("li");
  const [title, bar, state] = [make("strong", name), make("progress"), make("span", "on its way")];
  bar.setAttribute("aria-label", `Progress of ${name}`);
  line.append(title, bar, state);
  jobs.append(line);
  jobs.hidden = false;
  return { line, bar, state };
}

function addressOf(document_) {
  const url = new URL("/corpus", location.href);
  const collection = new URL(location.href).searchParams.get("c");
  if (collection) url.searchParams.set("c", collection);
  url.searchParams.set("doc", document_);
  return url.href;
}

async function asked(url, options) {
  const response = await fetch(url, options);
  const told = await response.json();
  if (!response.ok) throw new Error([told.error.message, told.error.hint].filter(Boolean).join(": "));
  return told;
}

function tell({ line, bar, state }, job) {
  const words = [STATES[job.state] ?? job.state];
  if (job.reason) words.push([job.reason, job.hint].filter(Boolean).join("; "));
  if (job.state === "done") words.push(`${job.chunks} searched chunks, ${job.status}`);
  state.textContent = words.join(": ");
  if (job.total) [bar.max, bar.value] = [job.total, job.done];
  if (!ENDED.includes(job.state)) return;
  bar.remove();
  state.className = job.state === "done" ? "good" : "bad";
  if (job.state === "done") {
    const link = make("a", "its gap report");
    link.href = addressOf(job.document);
    line.append(link);
  }
  say(`${job.document}: ${state.textContent}`);
}

async function bring(file) {
  const row = lineFor(file.name);
  try {
    const body = new FormData();
    body.append("collection", form.elements.collection.value);
    body.append("file", file);
    let job = await asked("/v1/documents", { method: "POST", body });
    tell(row, job);
    while (!ENDED.includes(job.state)) {
      await new Promise((done) => setTimeout(done, EVERY_MS));
      job = await asked(`/v1/jobs/${job.id}?${new URLSearchParams({ collection: job.collection })}`);
      tell(row, job);
    }
    return job;
  } catch (error) {
    tell(row, { state: "failed", reason: error.message, document: file.name });
    return null;
  }
}

async function bringAll(files) {
  if (!files.length) return;
  const told = [];
  // One after the other: the index has one writer.
  for (const file of files) told.push(await bring(file));
  if (told.some((job) => job?.state === "done")) show(location.href, ["corpus"], { push: false });
}

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
  if (await show(url, ["corpus"])) document.getElementById("graph-title")?.focus();
  else problem("It did not come; try again.");
});
