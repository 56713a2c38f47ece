// Before the first paint: the colours that were chosen. A plain script, so that nothing flashes.
(() => {
  let chosen = null;
  try {
    chosen = localStorage.getItem("pincite.theme");
  } catch {
    // Storage may be forbidden: the system's colours it is.
  }
  if (chosen === "light" || chosen === "dark") document.documentElement.dataset.theme = chosen;
})();
// The server need not wait for an answer where scripts can ask for it.
document.cookie = "pincite_scripts=1; path=/; SameSite=Strict";
