// A text file that is dropped on the box becomes its text; everything else works without scripts.

import { problem, say } from "./swap.js";

const box = document.getElementById("text");

async function take(file) {
  if (file.size > 4 * box.maxLength) return problem(`${file.name} is too large for this box`);
  const text = await file.text();
  if (text.includes("\0")) {
    return problem(`${file.name} is no text: pincite check ${file.name} reads it`);
  }
  box.value = text.slice(0, box.maxLength);
  say(`${file.name} is in the box`);
  box.form.requestSubmit();
}

for (const name of ["dragover", "dragleave", "drop"]) {
  box.addEventListener(name, (event) => {
    const file = event.dataTransfer?.files?.[0];
    const isFile = [...(event.dataTransfer?.types ?? [])].includes("Files");
    if (!isFile) return;
    event.preventDefault();
    box.toggleAttribute("data-over", name === "dragover");
    if (name === "drop" && file) take(file);
  });
}
document.addEventListener("pincite:posted", () => {
  document.querySelector("#check-form")?.removeAttribute("aria-busy");
  document.querySelector("#checked h2")?.scrollIntoView({ block: "nearest" });
});
