// What the browser remembers; without storage it remembers nothing, and nothing breaks.

export function load(name, otherwise) {
  try {
    return JSON.parse(localStorage.getItem(`pincite.${name}`)) ?? otherwise;
  } catch {
    return otherwise;
  }
}

export function save(name, value) {
  try {
    localStorage.setItem(`pincite.${name}`, JSON.stringify(value));
  } catch {
    // Full or forbidden.
  }
}
