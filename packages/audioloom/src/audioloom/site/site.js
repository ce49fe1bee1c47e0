// Sort, filter and pick runs on the first page; overlay the curves of picked runs on the second.
// All texts are set as text: nothing that a run says is ever read as HTML.
"use strict";
const find = (id) => document.getElementById(id);
const SVG = new Set(["svg", "line", "polyline", "circle", "text"]);

function make(name, attributes = {}, ...children) {
  const made = SVG.has(name)
    ? document.createElementNS("http://www.w3.org/2000/svg", name)
    : document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

function choose(table) {
  const body = table.tBodies[0];
  const rows = [...body.rows];
  const texts = new Map(rows.map((row) => [row, row.textContent.toLowerCase()]));
  const key = (row, column) => row.cells[column].dataset.sort ?? row.cells[column].textContent;
  const order = new Intl.Collator("en", { numeric: true }).compare;

  function sort(head) {
    const first = head.dataset.first ?? "ascending";
    const other = first === "ascending" ? "descending" : "ascending";
    const now = head.getAttribute("aria-sort") === first ? other : first;
    for (const each of table.tHead.rows[0].cells) each.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", now);
    const sign = now === "ascending" ? 1 : -1;
    const keys = new Map(rows.map((row) => [row, key(row, head.cellIndex)]));
    rows.sort((one, two) => {
      const [a, b] = [keys.get(one), keys.get(two)];
      if (a === "" || b === "") return (a === "") - (b === ""); // what is not known comes last
      return sign * (isNaN(a) || isNaN(b) ? order(a, b) : a - b);
    });
    body.append(...rows);
  }

  function filter() {
    const words = find("filter").value.toLowerCase().split(/\s+/);
    let shown = 0;
    for (const row of rows) {
      row.hidden = !words.every((word) => texts.get(row).includes(word));
      shown += !row.hidden;
    }
    find("shown").textContent = `${shown} of ${rows.length} runs`;
  }

  function pick() {
    const picked = [...body.querySelectorAll("input:checked")].map((box) => box.value);
    const link = find("compare");
    link.href = `compare.html#${picked.map(encodeURIComponent).join(",")}`;
    link.textContent = `Compare ${picked.length} runs`;
    link.hidden = picked.length < 2;
    find("hint").hidden = !link.hidden;
  }

  for (const head of table.tHead.rows[0].cells) {
    head.querySelector("button")?.addEventListener("click", () => sort(head));
  }
  find("filter").addEventListener("input", filter);
  body.addEventListener("change", pick);
  filter();
  pick();
}

function axis(values, start, end, whole) {
  let [low, high] = [Math.min(...values), Math.max(...values)];
  if (high - low < 1e-9 * Math.max(1, Math.abs(high))) {
    // In proportion to large values: to a double, 1e17 and one more are the same.
    const pad = whole ? Math.max(Math.abs(high) * 1e-9, 0.5) : Math.max(Math.abs(high) * 0.1, 0.05);
    [low, high] = [low - pad, high + pad];
  }
  const power = 10 ** Math.floor(Math.log10((high - low) / 5));
  let step = power * [1, 2, 5, 10].find((each) => each * power >= ((high - low) / 5) * 0.999);
  if (whole) step = Math.max(1, step);
  else [low, high] = [Math.floor(low / step) * step, Math.ceil(high / step) * step];
  const ticks = [];
  for (let n = Math.ceil(low / step - 1e-9); n * step <= high + 1e-9 * step; n++) ticks.push(n * step);
  const places = Math.min(6, Math.max(0, -Math.floor(Math.log10(step) + 1e-9)));
  const at = (value) => start + ((value - low) / (high - low)) * (end - start);
  return { at, ticks, label: (tick) => tick.toFixed(places) };
}

function chart(metric, lines) {
  const [left, right, top, bottom] = [58, 426, 12, 210];
  const points = lines.flatMap((line) => line.points);
  const across = axis(points.map((point) => point[0]), left, right, true);
  const up = axis(points.map((point) => point[1]), bottom, top, false);
  const picture = make("svg", { viewBox: "0 0 440 250", role: "img", "aria-label": `${metric} over epoch` });
  for (const tick of up.ticks) {
    const y = up.at(tick);
    picture.append(make("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }));
    picture.append(make("text", { x: left - 6, y: y + 3.5, "text-anchor": "end" }, up.label(tick)));
  }
  for (const tick of across.ticks) {
    picture.append(make("text", { x: across.at(tick), y: bottom + 15, "text-anchor": "middle" }, across.label(tick)));
  }
  picture.append(make("line", { x1: left, x2: right, y1: bottom, y2: bottom, class: "axis" }));
  picture.append(make("text", { x: (left + right) / 2, y: 244, "text-anchor": "middle", class: "name" }, "epoch"));
  for (const { points, colour, dashes } of lines) {
    const corners = points.map(([x, y]) => `${across.at(x).toFixed(1)},${up.at(y).toFixed(1)}`).join(" ");
    const drawn = { points: corners, fill: "none", stroke: colour, "stroke-width": 2, "stroke-dasharray": dashes };
    picture.append(make("polyline", drawn));
    if (points.length === 1) {
      const [x, y] = points[0];
      picture.append(make("circle", { cx: across.at(x), cy: up.at(y), r: 3, fill: colour }));
    }
  }
  return make("figure", {}, make("h3", {}, metric), picture);
}

function compare(target) {
  const { runs, colours, most } = JSON.parse(find("runs").textContent);
  const known = new Map(runs.map((run) => [run.id, run]));

  function key(number) {
    const line = { x1: 0, x2: 22, y1: 5, y2: 5, stroke: colours[number % colours.length], "stroke-width": 3 };
    const dashes = { "stroke-dasharray": number < colours.length ? "none" : "5 3" };
    return make("svg", { viewBox: "0 0 22 10", class: "key", "aria-hidden": "true" }, make("line", { ...line, ...dashes }));
  }

  function differences(picked) {
    const names = [...new Set(picked.flatMap((run) => Object.keys(run.facts)))];
    const differ = names.filter((name) => picked.some((run) => run.facts[name] !== picked[0].facts[name]));
    const link = (run, number) =>
      make("th", { scope: "col" }, key(number), make("a", { href: `${encodeURI(run.id)}.html` }, run.name));
    const cells = (name) => picked.map((run) => make("td", {}, run.facts[name] ?? ""));
    const rows = differ.map((name) => make("tr", {}, make("th", { scope: "row" }, name), ...cells(name)));
    const head = make("thead", {}, make("tr", {}, make("th", { scope: "col" }, ""), ...picked.map(link)));
    const table = make("table", { class: "differences" }, head, make("tbody", {}, ...rows));
    const equal = `${names.length - differ.length} of ${names.length} facts are equal in all of them.`;
    return [make("div", { class: "wide", tabindex: "0" }, table), make("p", { class: "quiet" }, equal)];
  }

  function curves(picked) {
    const metrics = [...new Set(picked.flatMap((run) => Object.keys(run.curves)))];
    const charts = metrics.map((metric) => chart(metric, picked.flatMap((run, number) => {
      const points = run.curves[metric] ?? [];
      const colour = colours[number % colours.length];
      return points.length ? [{ points, colour, dashes: number < colours.length ? "none" : "5 3" }] : [];
    })));
    return charts.length ? [make("h2", {}, "Curves"), make("div", { class: "charts" }, ...charts)] : [];
  }

  function draw() {
    const ids = location.hash.slice(1).split(",").filter(Boolean).map((id) => {
      try { return decodeURIComponent(id); } catch { return id; }
    });
    const picked = ids.filter((id) => known.has(id)).map((id) => known.get(id)).slice(0, most);
    if (picked.length < 2) {
      const all = make("a", { href: "index.html" }, "all runs");
      target.replaceChildren(make("p", {}, "Pick two or more runs on the page of ", all, "."));
      return;
    }
    const cut = ids.length > most ? [make("p", { class: "quiet" }, `The first ${most} of ${ids.length} runs.`)] : [];
    target.replaceChildren(...cut, make("h2", {}, "Differences"), ...differences(picked), ...curves(picked));
  }

  addEventListener("hashchange", draw);
  draw();
}

if (find("all")) choose(find("all"));
if (find("comparison")) compare(find("comparison"));
