// The answer: fetched as a part, or written word by word by a language model and then replaced by it.

import { fetched, parsed, place } from "./swap.js";

let waiting = null;

// Events of a stream, as [name, values].
async function* events(response) {
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    const blocks = (rest + value).split("\n\n");
    rest = blocks.pop();
    for (const block of blocks) {
      const [, name, data] = /^event: (.*)\ndata: (.*)$/s.exec(block) ?? [];
      if (name) yield [name, JSON.parse(data)];
    }
  }
}

async function written(url, card, signal) {
  const response = await fetch(url, { signal });
  if (!response.ok) throw new Error(parsed(await response.text()).querySelector(".problem p")?.textContent);
  const words = card.querySelector("p");
  let isBegun = false;
  for await (const [name, values] of events(response)) {
    if (name === "part") return parsed(values.html);
    if (!isBegun) words.textContent = "";
    isBegun = true;
    words.append(values.text);
  }
  throw new Error("The answer broke off.");
}

// Asked for once the places are shown, so that they need not wait for it.
async function start() {
  const card = document.querySelector("#answer[data-answers]");
  if (!card || card === waiting?.card) return;
  waiting?.abort.abort(); // the server stops working on the one before
  const abort = new AbortController();
  waiting = { card, abort };
  const url = card.dataset.answers;
  const parts = ["answer", "reader", "contents"];
  try {
    const told = await ("streams" in card.dataset ? written(url, card, abort.signal) : fetched(url, parts, abort.signal));
    if (abort.signal.aborted || !card.isConnected) return;
    // The document follows the answer, if nothing else was opened meanwhile.
    place(told, document.querySelector("#reader[data-chosen]") ? ["answer"] : parts);
  } catch (error) {
    if (error.name === "AbortError" || !card.isConnected) return;
    card.removeAttribute("aria-busy");
    card.dataset.done = "1";
    card.querySelector("p").textContent = error.message;
  }
}

document.addEventListener("pincite:shown", start);
start();
