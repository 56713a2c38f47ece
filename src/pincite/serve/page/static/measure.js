// Live figures: asked for again while somebody looks; a chosen question comes into view.

import { fetched } from "./swap.js";

const EVERY_MS = 5000;

async function refresh() {
  const shown = document.getElementById("live");
  if (!shown || document.hidden || shown.contains(document.activeElement)) return;
  try {
    const told = await fetched(location.href, ["live"]);
    const fresh = told.getElementById("live");
    if (fresh) shown.replaceWith(document.adoptNode(fresh));
  } catch {
    // The service may be away for a moment; the next time tells.
  }
}

if (document.getElementById("live")) setInterval(refresh, EVERY_MS);
document.addEventListener("pincite:shown", (event) => {
  if (!event.detail.parts.includes("pair")) return;
  const title = document.getElementById("pair-title");
  title?.focus({ preventScroll: true });
  title?.scrollIntoView({ block: "nearest" });
});
