// Words of a document as elements: headings, bold, tables. Everything goes in as text, never markup.

// Signs of our own around words that are lit; a document's own are shown as unknown characters.
const LIT = "\ue000";
const UNLIT = "\ue001";

// A text with some of its stretches lit, by offsets in characters; each line and cell by itself.
export function litWords(text, stretches) {
  const letters = Array.from(text.replace(/[\ue000\ue001]/g, "\ufffd"));
  let words = "";
  let done = 0;
  for (const [start, end] of stretches) {
    const inside = letters.slice(start, end).join("").replace(/[\n|]+/g, (edge) => UNLIT + edge + LIT);
    words += letters.slice(done, start).join("") + LIT + inside + UNLIT;
    done = end;
  }
  return words + letters.slice(done).join("");
}

function styled(text) {
  const parts = text.split(/(\*\*|[\ue000\ue001])/);
  const isPaired = parts.filter((part) => part === "**").length % 2 === 0;
  let isBold = false;
  let isLit = false;
  const made = [];
  for (const part of parts) {
    if (part === "**" && isPaired) isBold = !isBold;
    else if (part === LIT || part === UNLIT) isLit = part === LIT;
    else if (part) {
      let words = document.createTextNode(part);
      for (const name of [isBold && "strong", isLit && "mark"]) {
        if (!name) continue;
        const around = document.createElement(name);
        around.append(words);
        words = around;
      }
      made.push(words);
    }
  }
  return made;
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
      made.append(...styled(cell));
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
      paragraph.append(...styled(lines.join(" ")));
      made.push(paragraph);
    }
    lines = [];
  };
  for (const line of text.split("\n")) {
    const bare = line.replace(/^[\ue000\ue001]+/, "");
    const isRow = bare.startsWith("|");
    const heading = /^#{1,6} +(.*)/.exec(line);
    if (isRow !== isTable || !line.trim() || heading || /^(?:[-•*–] |\([0-9A-Za-z]{1,5}\) )/.test(bare)) end();
    isTable = isRow;
    if (heading) {
      const strong = document.createElement("p");
      strong.className = "answer-heading";
      strong.append(...styled(heading[1]));
      made.push(strong);
    } else if (line.trim()) lines.push(line.trim());
  }
  end();
  return made;
}
