"use strict";
// The table of questions: every text goes in as text, never as markup.
const PAGE = 100;

function element(name, className, text) {
  const made = document.createElement(name);
  if (className) made.className = className;
  if (text !== undefined) made.textContent = text;
  return made;
}

function rankText(answer) {
  return answer.last === null ? "MISS" : "#" + answer.last;
}

function rankCell(row, answer) {
  const cell = element("td", "rank");
  if (row.state === "unanswerable") {
    cell.append(element("span", "soft", "n/a"));
    return cell;
  }
  if (answer.stages > 1) cell.append(element("span", "soft", (answer.first === null ? "MISS" : "#" + answer.first) + " → "));
  cell.append(element(answer.last === null ? "span" : "b", answer.last === null ? "miss" : "", rankText(answer)));
  return cell;
}

function changeOf(row) {
  if (row.answers.length < 2 || row.state === "unanswerable") return 0;
  const value = (answer) => (answer.last === null ? 0 : 1 / answer.last);
  return value(row.answers[1]) - value(row.answers[0]);
}

function detailsOf(data, row, width) {
  const line = element("tr", "more");
  const cell = element("td");
  cell.colSpan = width;
  const box = element("div", "hits");
  row.answers.forEach((answer, at) => {
    const part = element("div");
    part.append(element("div", "key s" + (at % 8), data.pipelines[at] + (answer.lost ? ": lost at " + answer.lost : "")));
    const list = element("ol");
    for (const [place, isGold] of answer.hits) list.append(element("li", isGold ? "is-gold" : "", place));
    part.append(list);
    box.append(part);
  });
  cell.append(box);
  line.append(cell);
  return line;
}

const KEEP = {
  all: () => true,
  missed: (row, k) => row.state !== "unanswerable" && row.answers.some((a) => a.last === null || a.last > k),
  better: (row) => changeOf(row) > 0,
  worse: (row) => changeOf(row) < 0,
  unanswerable: (row) => row.state === "unanswerable",
};

function start(section) {
  const data = JSON.parse(section.querySelector("script[type='application/json']").textContent);
  const body = section.querySelector("tbody");
  const count = section.querySelector(".count");
  const more = section.querySelector(".show-more");
  const search = section.querySelector("input[type='search']");
  const keep = section.querySelector("select.keep");
  const label = section.querySelector("select.label");
  const width = section.querySelectorAll("thead th").length;
  let order = { by: "none", up: true };
  let shown = PAGE;

  const keys = {
    id: (row) => row.id,
    text: (row) => row.text,
    gold: (row) => row.gold.join(" "),
    change: (row) => changeOf(row),
  };
  data.pipelines.forEach((_, at) => {
    keys["p" + at] = (row) => (row.state === "unanswerable" ? Infinity : row.answers[at].last ?? 1e9);
  });

  function chosen() {
    const words = search.value.toLowerCase();
    const rows = data.rows.filter(
      (row) =>
        KEEP[keep.value](row, data.k) &&
        (!label || !label.value || Object.entries(row.labels).some(([k, v]) => k + "=" + v === label.value)) &&
        (!words || (row.id + " " + row.text + " " + row.gold.join(" ")).toLowerCase().includes(words))
    );
    if (order.by === "none") return rows;
    const key = keys[order.by];
    const sign = order.up ? 1 : -1;
    return rows.sort((a, b) => {
      const x = key(a), y = key(b);
      return sign * (x < y ? -1 : x > y ? 1 : 0);
    });
  }

  function draw() {
    const rows = chosen();
    body.replaceChildren();
    for (const row of rows.slice(0, shown)) {
      const line = element("tr", "row");
      line.tabIndex = 0;
      line.append(element("td", "", row.id), element("td", "text", row.text), element("td", "gold", row.gold.join("; ")));
      row.answers.forEach((answer) => line.append(rankCell(row, answer)));
      if (row.answers.length > 1) {
        const change = changeOf(row);
        const name = change > 0 ? "better" : change < 0 ? "worse" : "soft";
        line.append(element("td", name, change > 0 ? "▲" : change < 0 ? "▼" : "="));
      }
      const toggle = () => {
        if (line.nextSibling && line.nextSibling.className === "more") line.nextSibling.remove();
        else line.after(detailsOf(data, row, width));
      };
      line.addEventListener("click", toggle);
      line.addEventListener("keydown", (event) => {
        if (event.key === "Enter" || event.key === " ") { event.preventDefault(); toggle(); }
      });
      body.append(line);
    }
    count.textContent = rows.length + " of " + data.rows.length + " questions";
    more.hidden = rows.length <= shown;
  }

  section.querySelectorAll("thead button").forEach((button) => {
    button.addEventListener("click", () => {
      order = { by: button.dataset.key, up: order.by === button.dataset.key ? !order.up : true };
      section.querySelectorAll("thead th").forEach((th) => th.removeAttribute("aria-sort"));
      button.parentElement.setAttribute("aria-sort", order.up ? "ascending" : "descending");
      draw();
    });
  });
  for (const each of [search, keep, label]) {
    if (each) each.addEventListener("input", () => { shown = PAGE; draw(); });
  }
  more.addEventListener("click", () => { shown += 5 * PAGE; draw(); });
  draw();
}

document.querySelectorAll(".questions").forEach(start);
document.querySelector("#theme").addEventListener("click", () => {
  const root = document.documentElement;
  const isDark = root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = isDark ? "light" : "dark";
});
