// Words of a document as elements: headings, bold, tables. Everything goes in as text, never markup.

function bold(text) {
  const parts = text.split("**");
  if (parts.length % 2 === 0) return [text];
  return parts.map((part, at) => {
    if (at % 2 === 0) return part;
    const strong = document.createElement("strong");
    strong.textContent = part;
    return strong;
  });
}

const cells = (line) =>
  line.trim().replace(/^\|/, "").replace(/\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

function table(lines) {
  const rows = lines.filter((line) => !/^[\s|:]*--[\s|:-]*$/.test(line)).map(cells);
  const made = document.createElement("table");
  rows.forEach((row, at) => {
    const line = made.insertRow();
    for (const cell of row) {
      const made = document.createElement(at === 0 && rows.length > 1 ? "th" : "td");
      if (made.tagName === "TH") made.scope = "col";
      made.append(...bold(cell));
      line.append(made);
    }
  });
  const around = document.createElement("div");
  around.className = "scrolls";
  around.append(made);
  return around;
}

// One element for each paragraph, heading and table.
export function blocks(text) {
  const made = [];
  let lines = [];
  let isTable = false;
  const end = () => {
    if (lines.length && isTable) made.push(table(lines));
    else if (lines.length) {
      const paragraph = document.createElement("p");
      paragraph.append(...bold(lines.join(" ")));
      made.push(paragraph);
    }
    lines = [];
  };
  for (const line of text.split("\n")) {
    const isRow = line.startsWith("|");
    const heading = /^#{1,6} +(.*)/.exec(line);
    if (isRow !== isTable || !line.trim() || heading || /^(?:[-•*–] |\([0-9A-Za-z]{1,5}\) )/.test(line)) end();
    isTable = isRow;
    if (heading) {
      const strong = document.createElement("p");
      strong.className = "answer-heading";
      strong.append(...bold(heading[1]));
      made.push(strong);
    } else if (line.trim()) lines.push(line.trim());
  }
  end();
  return made;
}
