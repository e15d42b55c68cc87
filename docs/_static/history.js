// Shows what earlier builds of this site measured, by the files that they left beside all versions.
// What these hold only ever becomes text and numbers.
"use strict";

{
  const root = new URL("history/", document.currentScript.dataset.versions).href;
  const SHOWN = 100; // builds
  const WIDTH = 144, HEIGHT = 32, PADDING = 3; // of a line, in CSS pixels
  const SVG = "http://www.w3.org/2000/svg";

  async function read(name) {
    const answer = await fetch(root + name);
    return answer.json();
  }

  // Oldest first; without those that can't be read.
  async function readBuilds() {
    const names = (await read("index.json")).filter((name) => /^[\w.-]+\.json$/.test(name));
    const files = await Promise.allSettled(names.slice(-SHOWN).map(read));
    return files.map((file) => file.value).filter((build) => build?.findings?.every?.(Boolean));
  }

  function element(name, ...children) {
    const made = document.createElement(name);
    made.append(...children);
    return made;
  }

  function table(caption, headers, rows) {
    const head = element("tr", ...headers.map((header) => element("th", header)));
    for (const cell of head.children) cell.scope = "col";
    const body = element("tbody", ...rows);
    const made = element("table", element("caption", caption), element("thead", head), body);
    const box = element("div", made);
    box.className = "jaxcap-table";
    box.tabIndex = 0; // so that it can be scrolled from the keyboard
    box.setAttribute("role", "group");
    box.setAttribute("aria-label", caption);
    return box;
  }

  function row(header, ...cells) {
    const head = element("th", header);
    head.scope = "row";
    return element("tr", head, ...cells.map((cell) => element("td", cell)));
  }

  function tableOfBuilds(builds) {
    const count = (build, outcome) =>
      String(build.findings.filter((finding) => finding.outcome === outcome).length);
    const rows = builds.toReversed().map((build) =>
      row(
        day(build),
        String(build.commit ?? "unknown"),
        String(build.machine),
        String(build.jax ?? "unknown"),
        count(build, "holds"),
        count(build, "fails"),
        count(build, "undecided"),
      ),
    );
    const headers = ["Built", "Commit", "Machine", "JAX"];
    const outcomes = ["Claims that hold", "that do not", "undecided"];
    return table("Builds, newest first", [...headers, ...outcomes], rows);
  }

  // By finding, and then by machine. A build that reused a measurement does not add it again.
  function measurements(builds) {
    const all = new Map();
    for (const { findings, machine, ...build } of builds)
      for (const { page, text, interval } of findings) {
        const numbers = [interval?.low, interval?.value, interval?.high];
        if (!numbers.every((number) => number > 0 && Number.isFinite(number))) continue;
        const machines = entry(all, `${page} ${text}`, () => new Map());
        const { points } = entry(machines, machine, () => ({ text, machine, points: [] }));
        if (String(points.at(-1)?.numbers) !== String(numbers))
          points.push({ numbers, day: day(build) });
      }
    return [...all.values()].flatMap((machines) => [...machines.values()]);
  }

  function entry(map, key, made) {
    if (!map.has(key)) map.set(key, made());
    return map.get(key);
  }

  function tableOfMeasurements(builds) {
    const rows = measurements(builds).map(({ text, machine, points }) => {
      const [low, value, high] = points.at(-1).numbers.map(short);
      return row(
        String(text),
        String(machine),
        line(points),
        `${value} (${low} to ${high})`,
        String(points.length),
        points[0].day,
      );
    });
    const headers = ["Measured", "Machine", "Over builds", "Last", "Times", "Since"];
    return table("Ratios over builds", headers, rows);
  }

  const day = (build) => String(build.built_at).slice(0, 10);
  const short = (number) => String(+number.toPrecision(3));

  // A line of the ratios, in a band of their intervals; dashed where both sides are as fast. Equal
  // heights are equal factors, and all of the height is a factor of two or more.
  function line(points) {
    const logs = points.flatMap(({ numbers }) => numbers.map(Math.log));
    const [least, most] = [Math.min(...logs), Math.max(...logs)];
    const range = Math.max(most - least, Math.LN2);
    const top = (least + most + range) / 2;
    const y = (log) => PADDING + ((top - log) / range) * (HEIGHT - 2 * PADDING);
    const x = (index) => PADDING + ((index + 0.5) / points.length) * (WIDTH - 2 * PADDING);
    const along = (which) => points.map(({ numbers }, i) => [x(i), y(Math.log(numbers[which]))]);
    const parts = [
      ["polygon", { points: [...along(0), ...along(2).reverse()].join(" ") }],
      ["polyline", { points: along(1).join(" ") }],
      ...along(1).map(([cx, cy]) => ["circle", { cx, cy, r: 1.5 }]),
    ];
    const one = y(0);
    if (one >= 0 && one <= HEIGHT)
      parts.unshift(["line", { x1: 0, x2: WIDTH, y1: one, y2: one }]);
    const values = points.map(({ numbers }) => numbers[1]);
    const drawing = drawn("svg", {
      class: "jaxcap-line",
      width: WIDTH,
      height: HEIGHT,
      role: "img",
      "aria-label": `From ${short(Math.min(...values))} to ${short(Math.max(...values))}`,
    });
    drawing.append(...parts.map((part) => drawn(...part)));
    return drawing;
  }

  function drawn(name, attributes) {
    const made = document.createElementNS(SVG, name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    return made;
  }

  async function show() {
    const builds = await readBuilds();
    if (builds.length === 0) return;
    document
      .getElementById("jaxcap-history")
      .replaceChildren(tableOfMeasurements(builds), tableOfBuilds(builds));
  }

  // Offline, or before a build has left such files, the page says that there are none.
  if (location.href.startsWith(new URL("..", root).href)) show().catch(() => {});
}
