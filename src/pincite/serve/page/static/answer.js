// <pincite-answer>: asks, and shows the answer as it comes. All words go in as text.

import { blocks, litWords } from "./words.js";

const STAGES = [
  ["search", "Search"],
  ["context", "Read"],
  ["generation", "Write"],
  ["complete", "Checked"],
];

const STATES = {
  found: "Found",
  candidates: "Candidates: places only",
  not_found: "Not in these documents",
};

function make(name, className = "", text = "") {
  const element = document.createElement(name);
  if (className) element.className = className;
  if (text) element.textContent = text;
  return element;
}

// Events of a stream, as [name, values].
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    rest += value;
    const parts = rest.split("\n\n");
    rest = parts.pop();
    for (const part of parts) {
      const lines = part.split("\n");
      const name = lines.find((line) => line.startsWith("event: "))?.slice(7);
      const data = lines.filter((line) => line.startsWith("data: ")).map((line) => line.slice(6));
      if (name) yield [name, JSON.parse(data.join("\n"))];
    }
  }
}

// The short answer is marked inside the place, if it stands there.
export function placeAddress(doc, span, short = []) {
  const url = new URL("/", location.href);
  for (const [name, value] of new URL(location.href).searchParams) {
    if (!["view", "page", "from", "with", "all", "hits", "doc", "at", "short"].includes(name)) {
      url.searchParams.append(name, value);
    }
  }
  url.searchParams.set("doc", doc);
  url.searchParams.set("at", `${span[0]}-${span[1]}`);
  const inside = short.filter((each) => each.document === doc && each.span[0] < span[1] && span[0] < each.span[1]);
  if (inside.length) url.searchParams.set("short", inside.map((each) => each.span.join("-")).join(","));
  return url.href;
}

// A place as one would write it: the cited row or clause, not the whole that was read.
function named(citation, source) {
  const label = citation.page_label ? `${citation.page_label} (PDF ${citation.page})` : citation.page;
  const page = citation.page === null || citation.page === undefined ? "" : `, p. ${label}`;
  const title = source?.title ?? "";
  return title && title !== citation.locator ? `${title}, ${citation.locator}${page}` : citation.locator + page;
}

function citeLink(citation, source, short = []) {
  const link = make("a", "cite", `${citation.source}`);
  const doc = citation.document ?? source?.document;
  const span = citation.span ?? source?.span;
  link.href = placeAddress(doc, span, short);
  link.dataset.parts = "reader";
  const where = named(citation, source);
  link.title = citation.quote ? `${where}: “${citation.quote.slice(0, 200)}”` : where;
  link.setAttribute("aria-label", `Source ${citation.source}: ${where}`);
  return link;
}

class PinciteAnswer extends HTMLElement {
  connectedCallback() {
    if (this.abort) return;
    this.abort = new AbortController();
    this.sources = new Map();
    this.setAttribute("role", "region");
    this.setAttribute("aria-label", "Answer");
    this.stages = make("ol", "stages");
    for (const [name, title] of STAGES) {
      const stage = make("li", "", title);
      stage.dataset.stage = name;
      this.stages.append(stage);
    }
    this.short = make("p", "answer-short");
    this.words = make("div", "answer-text");
    for (const live of [this.short, this.words]) live.setAttribute("aria-live", "polite");
    this.notes = make("div", "answer-notes");
    this.replaceChildren(this.stages, this.short, this.words, this.notes);
    this.run();
  }

  disconnectedCallback() {
    this.abort?.abort(); // the server stops working on it
  }

  async run() {
    try {
      const response = await fetch("/v1/ask", {
        method: "POST",
        body: this.dataset.body,
        headers: { "content-type": "application/json", accept: "text/event-stream" },
        signal: this.abort.signal,
      });
      if (!response.ok) {
        const told = await response.json();
        this.fail(told.error.message, told.error.hint);
        return;
      }
      for await (const [name, values] of events(response)) this[`on_${name}`]?.(values);
    } catch (error) {
      if (error.name !== "AbortError") this.fail("The answer broke off.", error.message);
    }
  }

  done(stage, detail = "") {
    const line = this.stages.querySelector(`[data-stage="${stage}"]`);
    line.classList.add("done");
    if (detail) line.textContent = `${STAGES.find(([name]) => name === stage)[1]}: ${detail}`;
  }

  on_search(values) {
    this.done("search", `${values.hits} places in ${(1000 * values.seconds).toFixed(0)} ms`);
  }

  on_context(values) {
    for (const source of values.sources) this.sources.set(source.number, source);
    this.done("context", `${values.passages} passages`);
  }

  on_generation(values) {
    this.done("generation", values.model);
  }

  on_short(values) {
    this.state("found", values);
  }

  state(name, values) {
    const state = make("span", `state ${name}`, STATES[name]);
    this.short.replaceChildren(state);
    if (!values.short) return;
    const [first] = values.short_spans;
    const words = make(first ? "a" : "strong", "short", values.short);
    if (first) {
      words.href = placeAddress(first.document, first.span, values.short_spans);
      words.dataset.parts = "reader";
    }
    this.short.append(" ", words);
  }

  on_token(values) {
    this.words.append(values.text);
  }

  on_citation(values) {
    this.words.append(citeLink(values, this.sources.get(values.source)));
  }

  on_citation_rejected(values) {
    this.notes.append(make("p", "rejected", `A citation was left out: ${values.reason || values.locator}`));
  }

  on_abstain(values) {
    this.classList.add("abstains");
    this.notes.append(make("p", "reason", `Why there is no answer: ${values.reason.replaceAll("_", " ")}.`));
    if (!values.nearest?.length) return;
    const list = make("ul");
    for (const place of values.nearest) {
      const line = make("li");
      const link = make("a", "", `${place.title || place.document}, ${place.locator}`);
      const url = new URL("/read", location.href);
      url.search = new URLSearchParams({ doc: place.document, place: place.locator });
      link.href = url.href;
      line.append(link);
      list.append(line);
    }
    this.notes.append(make("p", "", "Nearest places:"), list);
  }

  // The whole answer: sentence by sentence, each with what stands behind it.
  on_complete(values) {
    if (!values.model) this.stages.querySelector('[data-stage="generation"]').remove();
    const cited = values.sentences.flatMap((sentence) => sentence.citations);
    const sure = `${Math.round(100 * values.confidence)} % sure`;
    this.done("complete", `${cited.length} ${cited.length === 1 ? "citation" : "citations"}, ${sure}`);
    this.state(values.state, values);
    if (!values.abstention && values.sentences.length) this.words.replaceChildren(...this.sentences(values));
    if (cited.length) this.notes.append(this.list(cited, values.short_spans));
    for (const note of values.notes) this.notes.append(make("p", "soft", note));
    this.dataset.done = "1";
  }

  sentences(values) {
    return values.sentences.map((sentence) => {
      const line = make("div", `sentence ${sentence.verdict}`);
      const words = litWords(sentence.text, sentence.lit);
      line.append(...blocks(words.replace(/(\s*\[\d+\])+\s*$/, "").trim()));
      const last = line.lastElementChild?.tagName === "P" ? line.lastElementChild : line;
      const seen = new Set();
      for (const citation of sentence.citations) {
        if (seen.has(citation.source)) continue;
        seen.add(citation.source);
        last.append(" ", citeLink(citation, this.sources.get(citation.source), values.short_spans));
      }
      if (sentence.verdict === "unsupported") {
        const problems = sentence.problems.join("; ") || "no source says so";
        line.append(make("span", "flag", `not supported: ${problems}`));
      }
      return line;
    });
  }

  list(cited, short) {
    const list = make("ol", "sources");
    const seen = new Set();
    for (const citation of cited) {
      const source = this.sources.get(citation.source);
      const where = named(citation, source);
      if (seen.has(where)) continue;
      seen.add(where);
      const line = make("li");
      line.value = citation.source;
      const link = make("a", "", where);
      link.href = placeAddress(citation.document ?? source.document, citation.span ?? source.span, short);
      link.dataset.parts = "reader";
      line.append(link);
      list.append(line);
    }
    return list;
  }

  on_error(values) {
    this.fail(values.message, values.hint);
  }

  fail(message, hint = "") {
    this.dataset.done = "1";
    const note = make("p", "note", hint ? `${message} (${hint})` : message);
    note.setAttribute("role", "alert");
    this.notes.append(note);
  }
}

customElements.define("pincite-answer", PinciteAnswer);
