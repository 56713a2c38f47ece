// Forms that change something: data-post="a b" shows those parts of the page that comes after.

import { parsed, place, problem, say } from "./swap.js";

async function send(form, submitter) {
  const parts = form.dataset.post.split(" ");
  const body = new URLSearchParams(new FormData(form, submitter));
  form.setAttribute("aria-busy", "true");
  try {
    const headers = { "x-parts": parts.join(" ") };
    const response = await fetch(form.action, { method: "POST", headers, body });
    const told = parsed(await response.text());
    if (!response.ok) {
      const words = [...told.querySelectorAll(".problem p")].slice(0, -1);
      throw new Error(words.map((each) => each.textContent).join(": ") || response.statusText);
    }
    document.getElementById("problem")?.setAttribute("hidden", "");
    place(told, parts, { isBack: false });
    say(form.dataset.says ?? "Kept");
    document.dispatchEvent(new CustomEvent("pincite:posted", { detail: { parts } }));
  } catch (error) {
    form.removeAttribute("aria-busy");
    problem(error.message);
  }
}

document.addEventListener("submit", (event) => {
  const form = event.target.closest("form[data-post]");
  if (!form || event.defaultPrevented) return;
  event.preventDefault();
  if (form.getAttribute("aria-busy") !== "true") send(form, event.submitter);
});
