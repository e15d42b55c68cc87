// Turns the map of the releases into a table to walk through, by the pointer or by the arrow keys, when
// a reader asks for it: thousands of cells take long to lay out. On a phone, which has no room for the
// picture, that happens by itself as soon as the map comes into sight. Names come from files: they only
// ever become text.
"use strict";

{
  const MAX = Math.log(4); // of a ratio, for the strongest colour
  const OPEN = "Explore the map", CLOSE = "Back to the picture";

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  const short = (number) => String(+number.toPrecision(3));

  function withUnit(value, quantity) {
    const units =
      quantity === "temporary memory"
        ? [[1e6, "MB"], [1e3, "kB"], [0, "bytes"]]
        : [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [0, "ns"]];
    const [scale, unit] = units.find(([least]) => value >= least);
    return `${short(value / (scale || (unit === "ns" ? 1e-9 : 1)))} ${unit}`;
  }

  // From blue by way of grey to orange, as in the picture.
  function colour(ratio) {
    const strength = Math.min(Math.abs(Math.log(ratio)) / MAX, 1);
    const end = ratio < 1 ? "#0072b2" : "#d55e00";
    return `color-mix(in srgb, ${end} ${Math.round(100 * strength)}%, #c9ccd1)`;
  }

  function describe(data, series, place) {
    const name = `${series.benchmark}, JAX ${data.releases[place]}`;
    const numbers = series.values[place];
    if (!numbers) return `${name}: not measured`;
    const now = series.values[data.releases.indexOf(data.newest)];
    const [value, low, high] = numbers.map((number) => withUnit(number, series.quantity));
    const range = low ? ` (${low} to ${high} in its processes)` : "";
    const ratio = now ? `, ${short(numbers[0] / now[0])} times as much as in ${data.newest}` : "";
    return `${name}: ${value}${range}${ratio}`;
  }

  function row(data, series) {
    const now = series.values[data.releases.indexOf(data.newest)];
    const cells = series.values.map((numbers, place) => {
      const cell = element("td", { tabIndex: -1 });
      cell.setAttribute("aria-label", describe(data, series, place));
      if (numbers && now) cell.style.background = colour(numbers[0] / now[0]);
      return cell;
    });
    const link = element("a", { href: series.href, tabIndex: -1 }, series.benchmark);
    return element("tr", {}, element("th", { scope: "row" }, link), ...cells);
  }

  function legend(data) {
    const scale = element("span", { className: "jaxcap-releases-scale" });
    const text = "of the time or memory";
    return element("p", {}, `¼ ${text} under ${data.newest}, or less `, scale, " 4 times as much, or more");
  }

  function grid(data, chosen) {
    const heads = data.releases.map((name) => element("th", { scope: "col" }, name));
    const head = element("tr", {}, element("td", {}), ...heads);
    const rows = chosen.map((series, number) => {
      const made = row(data, series);
      made.classList.toggle("jaxcap-first", number > 0 && series.topic !== chosen[number - 1].topic);
      return made;
    });
    const body = element("tbody", {}, ...rows);
    const table = element("table", {}, element("thead", {}, head), body);
    table.setAttribute("role", "grid");
    table.setAttribute("aria-label", "Benchmarks by release");
    return table;
  }

  // One cell takes the focus with the Tab key; from there the arrow keys lead to the others.
  function walk(table, show) {
    const rows = [...table.tBodies[0].rows].map((line) => [...line.cells].slice(1));
    let current = rows[0]?.at(-1);
    if (!current) return;
    current.tabIndex = 0;
    const go = (cell) => {
      if (!cell) return;
      current.tabIndex = -1;
      current = cell;
      cell.tabIndex = 0;
      cell.focus();
    };
    const open = (cell) => cell.parentElement.querySelector("a").click();
    let tapped; // a finger can't point without a click, so its first one shows the value
    table.addEventListener("focusin", ({ target }) => show(target.ariaLabel ?? ""));
    table.addEventListener("mouseover", ({ target }) => target.ariaLabel && show(target.ariaLabel));
    table.addEventListener("click", ({ target, pointerType }) => {
      if (!target.matches("tbody td")) return;
      if (pointerType !== "touch" || tapped === target) return open(target);
      tapped = target;
      show(target.ariaLabel ?? "");
    });
    table.addEventListener("keydown", (event) => {
      if (!event.target.matches("tbody td")) return;
      const y = rows.findIndex((line) => line.includes(event.target));
      const x = rows[y].indexOf(event.target);
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      if (event.key === "Enter") open(event.target);
      else if (event.key === "Home") go(rows[y][0]);
      else if (event.key === "End") go(rows[y].at(-1));
      else if (event.key in steps) {
        const [down, right] = steps[event.key];
        go(rows[y + down]?.[x + right]);
      } else return;
      event.preventDefault();
    });
  }

  function choice(label, names, onchange) {
    const select = element("select", { onchange });
    for (const [value, text] of names) select.add(new Option(text, value));
    return [element("label", {}, `${label} `, select), select];
  }

  function load(src) {
    return new Promise((onload, onerror) => {
      document.head.append(element("script", { onload, onerror, src }));
    });
  }

  async function explore(box, source) {
    await load(source);
    const data = globalThis.jaxcapReleases;
    const topics = [...new Set(data.series.map((series) => series.topic))];
    const quantities = [...new Set(data.series.map((series) => series.quantity))];
    const status = element("p", { className: "jaxcap-releases-status" });
    status.setAttribute("role", "status");
    const frame = element("div", { className: "jaxcap-releases-frame" });
    const draw = () => {
      const chosen = data.series.filter(
        (series) =>
          (!topic.value || series.topic === topic.value) &&
          (quantity.value ? series.quantity === quantity.value : series.own),
      );
      const table = grid(data, chosen);
      walk(table, (text) => (status.textContent = text));
      frame.replaceChildren(table);
      frame.scrollLeft = frame.scrollWidth; // the newest releases
      status.textContent = matchMedia("(pointer: coarse)").matches
        ? "Tap a cell for its value, and again for its plot. Older releases are on the left."
        : "Point at a cell, or use the arrow keys; a click leads to the plot.";
    };
    const [topicLabel, topic] = choice(
      "Topic",
      [["", "all"], ...topics.map((name) => [name, name])],
      draw,
    );
    const [quantityLabel, quantity] = choice(
      "Quantity",
      [["", "what each is about"], ...quantities.map((name) => [name, name])],
      draw,
    );
    const controls = element("p", {}, topicLabel, quantityLabel);
    controls.className = "jaxcap-releases-controls";
    const key = legend(data);
    key.className = "jaxcap-releases-key";
    const view = element("div", {}, controls, key, status, frame);
    box.append(view);
    draw();
    return view;
  }

  for (const box of document.querySelectorAll(".jaxcap-releases")) {
    const button = box.querySelector("button");
    const picture = box.querySelector(".jaxcap-releases-static");
    let view;
    button.onclick = async () => {
      view ??= explore(box, button.dataset.source);
      const map = await view;
      picture.hidden = !picture.hidden;
      map.hidden = !picture.hidden;
      button.textContent = picture.hidden ? CLOSE : OPEN;
    };
    if (matchMedia("(max-width: 46em)").matches)
      new IntersectionObserver((entries, observer) => {
        if (!entries.some((entry) => entry.isIntersecting)) return;
        observer.disconnect();
        if (!view) button.click();
      }).observe(box);
  }
}
