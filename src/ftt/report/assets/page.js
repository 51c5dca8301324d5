"use strict";
(() => {
  const root = document.documentElement;

  // The theme: what the system says until the button is used; remembered where the browser allows it.
  const button = document.getElementById("theme");
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  const dark = () => (root.dataset.theme ? root.dataset.theme === "dark" : system.matches);
  const label = () => { button.textContent = dark() ? "Light theme" : "Dark theme"; };
  const remember = (value) => { try { localStorage.setItem("ftt-theme", value); } catch { /* A page from disk may have no storage. */ } };
  try { const kept = localStorage.getItem("ftt-theme"); if (kept === "dark" || kept === "light") root.dataset.theme = kept; } catch { /* As above. */ }
  button.hidden = false;
  button.addEventListener("click", () => { root.dataset.theme = dark() ? "light" : "dark"; remember(root.dataset.theme); label(); });
  system.addEventListener("change", label);
  label();

  // Tables: sorted by a click on a column, filtered by what is typed.
  const number = (text) => { const found = text.replace(/−/g, "-").replace(/,(?=\d{3})/g, "").match(/[-+]?\d+(\.\d+)?(e[-+]?\d+)?/i); return found ? Number(found[0]) : NaN; };
  const compare = (numeric) => (a, b) => {
    if (!numeric) return a.localeCompare(b, undefined, { numeric: true });
    return number(a) - number(b);
  };
  for (const box of document.querySelectorAll("[data-table]")) {
    const body = box.querySelector("tbody"), heads = [...box.querySelectorAll("thead th")], rows = [...body.rows];
    const shown = rows.filter((row) => !row.classList.contains("more")).length;
    const limit = () => [...body.rows].forEach((row, place) => row.classList.toggle("more", place >= shown));
    heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
      const numeric = !head.classList.contains("word");
      const down = head.getAttribute("aria-sort") === "none" ? numeric : head.getAttribute("aria-sort") === "ascending";
      heads.forEach((other) => other.setAttribute("aria-sort", "none"));
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const text = (row) => row.cells[column].textContent.trim(), order = compare(numeric);
      const missing = (row) => (numeric ? Number.isNaN(number(text(row))) : text(row) === "");
      // Cells without a value stay at the end in both directions.
      rows.slice().sort((a, b) => missing(a) - missing(b) || (down ? -1 : 1) * order(text(a), text(b))).forEach((row) => body.append(row));
      box.classList.add("sorted");
      limit();
    }));
    const all = box.querySelector("button.all");
    const open = (wanted) => { box.classList.toggle("open", wanted); if (all) { all.setAttribute("aria-expanded", wanted); all.textContent = wanted ? `Show ${shown} rows` : `Show all ${rows.length} rows`; } };
    if (all) all.addEventListener("click", () => open(!box.classList.contains("open")));
    const input = box.querySelector("input[type=search]");
    if (input) input.addEventListener("input", () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let count = 0;
      for (const row of rows) {
        const text = row.textContent.toLowerCase();
        row.hidden = !words.every((word) => text.includes(word));
        count += !row.hidden;
      }
      if (words.length) open(true);
      box.querySelector(".count").textContent = words.length ? `${count} of ${rows.length} rows` : "";
    });
  }

  // What scrolls can be reached with the keyboard.
  for (const box of document.querySelectorAll(".scroll")) if (box.scrollWidth > box.clientWidth) { box.tabIndex = 0; box.setAttribute("role", "region"); box.setAttribute("aria-label", "A wide table"); }

  // Charts: side by side where there is room, one below the other elsewhere.
  const NARROW = 640, SMALLEST = 150;
  const children = (spec) => [...(spec.layer || []), ...(spec.vconcat || []), ...(spec.hconcat || []), ...(spec.concat || []), ...(spec.spec ? [spec.spec] : [])];
  const stacked = (given) => {
    const spec = { ...given };
    if (spec.hconcat) { spec.vconcat = spec.hconcat; delete spec.hconcat; }
    if (spec.columns) spec.columns = 1;
    for (const key of ["vconcat", "concat"]) if (spec[key]) spec[key] = spec[key].map(stacked);
    if (spec.spec) spec.spec = stacked(spec.spec);
    if (spec.config) spec.config = { ...spec.config, legend: { ...spec.config.legend, orient: "bottom", direction: "vertical", gradientDirection: "horizontal", labelLimit: 260 } };
    return spec;
  };
  const narrowed = (given, by) => {
    const spec = { ...given };
    if (typeof spec.width === "number") spec.width = Math.max(SMALLEST, spec.width - by);
    for (const key of ["vconcat", "hconcat", "concat"]) if (spec[key]) spec[key] = spec[key].map((one) => narrowed(one, by));
    if (spec.spec) spec.spec = narrowed(spec.spec, by);
    if (spec.config) { const view = spec.config.view || {}; spec.config = { ...spec.config, view: { ...view, continuousWidth: Math.max(SMALLEST, (view.continuousWidth || 300) - by) } }; }
    return spec;
  };
  const SUBSCRIPT = /(η|ℓ|err\*|λ|v|c)_(core|spu|test|te|tr|t|k|0)(?![\w])/g;
  const typeset = (svg) => {
    for (const text of svg.querySelectorAll("text")) {
      if (text.children.length || !text.textContent.match(SUBSCRIPT)) continue;
      const parts = text.textContent.split(SUBSCRIPT);
      text.textContent = "";
      const add = (content, shift, size) => { if (!content && !shift) return; const span = document.createElementNS(svg.namespaceURI, "tspan"); span.textContent = content; if (shift) span.setAttribute("dy", shift); if (size) span.setAttribute("font-size", size); text.append(span); };
      let lowered = false;
      for (let i = 0; i < parts.length; i += 3) {
        const plain = (parts[i] || "") + (parts[i + 1] || "");
        if (plain) { add(plain, lowered ? "-3" : null); lowered = false; }
        if (parts[i + 2]) { add(parts[i + 2], "3", "80%"); lowered = true; }
      }
    }
  };
  const draw = async (plot) => {
    const given = JSON.parse(document.getElementById(plot.dataset.chart).textContent);
    const room = plot.clientWidth, options = { actions: false, renderer: "svg", ast: true };
    // Vega describes the element that it draws into, so it gets one of its own: the description is on the outer one.
    const inner = plot.firstElementChild || plot.appendChild(document.createElement("div"));
    const drawn = async (spec) => { const old = plot.view; plot.view = (await vegaEmbed(inner, spec, options)).view; if (old) old.finalize(); return Number(plot.querySelector("svg").getAttribute("width")) - room; };
    let spec = room < NARROW ? stacked(given) : given, over = await drawn(spec);
    for (let columns = (given.columns || 1) - 1; over > 0 && room >= NARROW && columns > 1; columns -= 1) { spec = { ...given, columns }; over = await drawn(spec); }
    if (over > 0 && room >= NARROW) { spec = stacked(given); over = await drawn(spec); }
    if (over > 0) over = await drawn(narrowed(spec, over));
    const svg = plot.querySelector("svg");
    typeset(svg);
    inner.setAttribute("aria-hidden", "true");
    plot.dataset.room = room;
    plot.dataset.drawn = "yes";
  };
  const plots = [...document.querySelectorAll(".plot")];
  const drawAll = async () => { for (const plot of plots) if (plot.dataset.room !== String(plot.clientWidth)) await draw(plot); root.dataset.charts = "drawn"; };
  if (window.vegaEmbed) {
    drawAll();
    let waiting;
    window.addEventListener("resize", () => { clearTimeout(waiting); waiting = setTimeout(drawAll, 200); });
  } else root.dataset.charts = "drawn";

  // Charts as files: dark ink on white, whatever the theme.
  const asFile = (plot) => {
    const svg = plot.querySelector("svg").cloneNode(true), ground = document.createElementNS(svg.namespaceURI, "rect");
    svg.setAttribute("xmlns", svg.namespaceURI);
    svg.setAttribute("style", "color: #222222");
    svg.setAttribute("aria-label", plot.getAttribute("aria-label"));
    for (const [name, value] of [["width", "100%"], ["height", "100%"], ["fill", "white"]]) ground.setAttribute(name, value);
    svg.prepend(ground);
    return new XMLSerializer().serializeToString(svg);
  };
  const save = (content, name) => {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(content);
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  };
  for (const chart of document.querySelectorAll(".chart")) {
    const plot = chart.querySelector(".plot");
    chart.querySelector(".svg").addEventListener("click", () => save(new Blob([asFile(plot)], { type: "image/svg+xml" }), `${plot.dataset.name}.svg`));
    chart.querySelector(".png").addEventListener("click", () => {
      const image = new Image(), svg = plot.querySelector("svg"), canvas = document.createElement("canvas");
      canvas.width = 2 * Number(svg.getAttribute("width"));
      canvas.height = 2 * Number(svg.getAttribute("height"));
      image.onload = () => { canvas.getContext("2d").drawImage(image, 0, 0, canvas.width, canvas.height); canvas.toBlob((made) => save(made, `${plot.dataset.name}.png`)); };
      image.src = `data:image/svg+xml;charset=utf-8,${encodeURIComponent(asFile(plot))}`;
    });
  }
})();
