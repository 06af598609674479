"use strict";
// Everything that came from the user is written as textContent, never as HTML.
const byId = (id) => document.getElementById(id);

function startTheme() {
  const isDark = () => {
    const chosen = document.documentElement.dataset.theme;
    return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  };
  const name = () => {
    byId("theme").textContent = isDark() ? "Light" : "Dark";
    byId("theme").setAttribute("aria-label", `Switch to ${isDark() ? "light" : "dark"} colours`);
  };
  byId("theme").addEventListener("click", () => {
    document.documentElement.dataset.theme = isDark() ? "light" : "dark";
    name();
  });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", name);
  name();
  byId("theme").hidden = false;
}

function startTable() {
  const table = JSON.parse(byId("rows-data").textContent);
  const columns = table.columns;
  const rows = table.data;
  const state = { column: 0, descending: false, page: 0 };
  const PROBABILITY = 2;
  const SCORE = 3;
  const collator = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" });
  // What a row is searched by: its id and values, not its rank and scores.
  const texts = rows.map((row) =>
    row.filter((_, j) => j === 1 || j > SCORE).join("\n").toLowerCase());
  let shown = rows.map((_, i) => i);

  function compare(a, b) {
    const x = rows[a][state.column];
    const y = rows[b][state.column];
    // What is missing comes last either way.
    if (x === null || y === null) return x === y ? a - b : x === null ? 1 : -1;
    const order = columns[state.column].kind === "number" ? x - y : collator.compare(x, y);
    return (state.descending ? -order : order) || a - b;
  }

  function cell(value, j) {
    if (value === null) return "–";
    if (j === PROBABILITY) return value.toFixed(3);
    return j === SCORE ? value.toFixed(2) : String(value);
  }

  function select() {
    const query = byId("search").value.trim().toLowerCase();
    const least = Number(byId("least").value);
    byId("least-value").textContent = least.toFixed(2);
    shown = [];
    for (let i = 0; i < rows.length; i++) {
      if (rows[i][PROBABILITY] >= least && (!query || texts[i].includes(query))) shown.push(i);
    }
    shown.sort(compare);
    state.page = 0;
    show();
  }

  function show() {
    const size = Number(byId("size").value);
    const pages = Math.max(1, Math.ceil(shown.length / size));
    state.page = Math.min(Math.max(state.page, 0), pages - 1);
    const start = state.page * size;
    const body = document.createElement("tbody");
    for (const i of shown.slice(start, start + size)) {
      const line = body.insertRow();
      rows[i].forEach((value, j) => {
        const box = line.insertCell();
        box.className = columns[j].kind;
        box.textContent = cell(value, j);
        if (columns[j].kind === "text" && value) box.title = value; // a long one is cut
      });
    }
    byId("ranked").tBodies[0].replaceWith(body);
    const many = (n) => n.toLocaleString("en");
    byId("status").textContent = shown.length
      ? `Rows ${many(start + 1)} to ${many(Math.min(start + size, shown.length))} of ` +
        `${many(shown.length)}, by ${columns[state.column].name}` +
        `${state.descending ? ", descending" : ""}`
      : "No row matches";
    byId("first").disabled = byId("previous").disabled = state.page === 0;
    byId("next").disabled = byId("last").disabled = state.page === pages - 1;
  }

  function sortBy(j) {
    state.descending = state.column === j ? !state.descending : j === PROBABILITY || j === SCORE;
    state.column = j;
    byId("ranked").querySelectorAll("thead th").forEach((head, k) => {
      const way = state.descending ? "descending" : "ascending";
      head.setAttribute("aria-sort", k === j ? way : "none");
    });
    select();
  }

  // Spreadsheets run a text that begins like a formula; a leading quote keeps it a text.
  function csvCell(value) {
    if (value === null) return "";
    if (typeof value === "number") return String(value);
    const safe = /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
    return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
  }

  function csv() {
    const lines = [columns.map((column) => csvCell(column.name))];
    for (const i of shown) lines.push(rows[i].map(csvCell));
    return "\ufeff" + lines.map((line) => line.join(",")).join("\r\n") + "\r\n";
  }

  function exportRows() {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv()], { type: "text/csv;charset=utf-8" }));
    link.download = "ranked-rows.csv";
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  byId("ranked").querySelectorAll("thead th").forEach((head, j) => {
    const button = document.createElement("button");
    button.type = "button";
    const name = document.createElement("span");
    name.textContent = button.title = columns[j].name; // a long one is cut
    button.append(name);
    button.addEventListener("click", () => sortBy(j));
    head.replaceChildren(button);
  });
  byId("tools").addEventListener("submit", (event) => event.preventDefault());
  byId("search").addEventListener("input", select);
  byId("least").addEventListener("input", select);
  byId("size").addEventListener("change", show);
  byId("export").addEventListener("click", exportRows);
  const turn = { first: () => 0, previous: (p) => p - 1, next: (p) => p + 1, last: () => Infinity };
  for (const [id, to] of Object.entries(turn)) {
    byId(id).addEventListener("click", () => {
      state.page = to(state.page);
      show();
    });
  }
  byId("tools").hidden = byId("pager").hidden = false;
  show();
}

startTheme();
if (byId("rows-data")) startTable();
