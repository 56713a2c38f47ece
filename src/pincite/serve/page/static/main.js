// Starts what every area has: colours, going about, help. Areas load modules of their own.

import { start } from "./swap.js";

const THEMES = { system: "as the system", light: "light", dark: "dark" };

function chooseTheme(name) {
  if (name === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = name;
  try {
    localStorage.setItem("pincite.theme", name);
  } catch {
    // Forbidden: it holds for this page.
  }
}

function startTheme() {
  const button = document.querySelector("[data-theme-switch]");
  const names = Object.keys(THEMES);
  let now = document.documentElement.dataset.theme ?? "system";
  const tell = () => {
    button.setAttribute("aria-label", `Colours: ${THEMES[now]}`);
    button.title = `Colours: ${THEMES[now]}`;
    button.textContent = { system: "◐", light: "☀", dark: "☾" }[now];
  };
  button.addEventListener("click", () => {
    now = names[(names.indexOf(now) + 1) % names.length];
    chooseTheme(now);
    tell();
  });
  tell();
}

document.addEventListener("click", (event) => {
  const opener = event.target.closest("[data-opens]");
  if (opener) document.getElementById(opener.dataset.opens).showModal();
});
document.addEventListener("keydown", (event) => {
  if (event.key === "?" && !event.target.matches("input, textarea, select")) {
    document.getElementById("help").showModal();
  }
});
document.addEventListener("change", (event) => {
  if (event.target.matches("[data-submits]")) event.target.form.requestSubmit();
});

startTheme();
start();
