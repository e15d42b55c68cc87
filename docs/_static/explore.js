// Puts a chart in place of an experiment's plots when a reader asks for it. It compares all variants
// at one size after another, on one device or another, by their times, ratios or throughput. The
// library that draws is loaded only then. Names come from files: they only ever become text.
"use strict";

{
  const VENDOR = new URL("vendor/", document.currentScript.src);
  const PREFIXES = ["n", "µ", "m", "", "k", "M", "G", "T"];
  const STROKES = [["solid", []], ["dashed", [6, 3]], ["dotted", [2, 2]]]; // by device
  const HEIGHT = 340, LABEL = 54; // of the chart, and the room for a label of the x axis, in CSS pixels
  const DOT = 3.5, CAP = 4.5; // half of the width of a dot, and of the end of a whisker
  const SPREAD = 16; // between the first and the last line, at most
  const OTHER = "#8b949e"; // a variant that only a reader's files have
  const OPEN = "Explore the numbers", CLOSE = "Back to the plots", ALL = "all devices";
  const NOTE =
    "Point at a size, tap it, or move the slider. Ranges, drawn as whiskers, reach from the fastest " +
    "process to the slowest. For a single process, they are its 95% interval.";

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  function load(name, properties) {
    return new Promise((onload, onerror) => {
      document.head.append(element(name, { onload, onerror, ...properties }));
    });
  }

  function digits(value, least, options) {
    const limits = { minimumSignificantDigits: least, maximumSignificantDigits: 3 };
    return value.toLocaleString("en", { ...limits, ...options });
  }

  function briefly(size) {
    const look = size < 10_000 ? { maximumSignificantDigits: 4 } : { notation: "compact" };
    return digits(size, 1, look).replace("K", "k"); // as in figures
  }

  function withUnit(value, unit, least) {
    if (!unit) return `${digits(value, least)}×`;
    const power = Math.min(Math.max(Math.floor(Math.log10(value) / 3), -3), 4);
    return `${digits(value / 1000 ** power, least)} ${PREFIXES[power + 3]}${unit}`;
  }

  // What can be drawn of lines: each value comes with the ends of its range.
  function quantities(lines) {
    const points = lines.flatMap((line) => line.points);
    const compared = new Set(points.flatMap((point) => Object.keys(point.ratios)));
    const baselines = new Set(lines.map((line) => line.variant).filter((name) => compared.has(name)));
    const time = { name: "time of a call", unit: "s", of: (point) => point.time };
    const ratios = [...baselines].map((baseline) => ({
      name: `times as fast as ${baseline}`,
      unit: "",
      of: (point, { variant }) => (variant === baseline ? [1, 1, 1] : point.ratios[baseline]),
    }));
    const throughput = {
      name: "data in and out per second",
      unit: "B/s",
      of: ({ bytes, time: [value, low, high] }) => [bytes / value, bytes / high, bytes / low],
    };
    return [time, ...ratios, ...(points.some((point) => point.bytes) ? [throughput] : [])];
  }

  const isDrawable = (value) => value > 0 && Number.isFinite(value);

  // The values of each line by size, without those that a log axis can't show: a coarse clock may see
  // no time.
  function tabulate(lines, quantity) {
    const sizes = [...new Set(lines.flatMap((line) => line.points.map(({ size }) => size)))];
    sizes.sort((a, b) => a - b);
    const columns = lines.map((line) => {
      const bySize = new Map(line.points.map((point) => [point.size, quantity.of(point, line)]));
      return sizes.map((size) => bySize.get(size)?.every(isDrawable) ? bySize.get(size) : null);
    });
    return { sizes, columns };
  }

  // Logarithms of the ends of an axis: at least a factor of five apart, with a margin.
  function logRange(values) {
    const [low, high] = [Math.min(...values), Math.max(...values)].map(Math.log10);
    const margin = Math.max(0.05 * (high - low), (Math.log10(5) - (high - low)) / 2);
    return [low - margin, high + margin];
  }

  // Logarithms of 1, 2 and 5 times each power of ten, or of fewer where there are many.
  function logTicks(low, high) {
    const marks = high - low < 2.5 ? [1, 2, 5] : [1];
    const step = Math.ceil((high - low) / 8);
    const ticks = [];
    for (let power = Math.floor(low); power <= high; power += step)
      ticks.push(...marks.map((mark) => power + Math.log10(mark)));
    return ticks.filter((tick) => tick >= low && tick <= high);
  }

  // The last position, and those before it whose labels have room.
  function spaced(positions, room) {
    const kept = [];
    for (const position of positions.toReversed())
      if (!(kept[0] - position < room)) kept.unshift(position);
    return kept;
  }

  // Lines lie a little beside one another, so that none hides the dots and whiskers of another.
  function drawLines({ ctx, data, valToPos }, lines, columns) {
    const pixel = uPlot.pxRatio;
    ctx.save();
    ctx.lineWidth = 1.75 * pixel;
    lines.forEach(({ colour, stroke: [, dash] }, number) => {
      const shift = (SPREAD * (number - (lines.length - 1) / 2)) / lines.length;
      const points = columns[number].flatMap((numbers, index) => {
        const x = valToPos(data[0][index], "x", true) + shift * pixel;
        return numbers ? [[x, ...numbers.map((y) => valToPos(Math.log10(y), "y", true))]] : [];
      });
      const line = new Path2D(), dots = new Path2D(), whiskers = new Path2D();
      for (const [x, y, low, high] of points) {
        line.lineTo(x, y);
        dots.moveTo(x, y);
        dots.arc(x, y, DOT * pixel, 0, 2 * Math.PI);
        whiskers.rect(x, high, 0, low - high);
        for (const end of [low, high]) whiskers.rect(x - CAP * pixel, end, 2 * CAP * pixel, 0);
      }
      ctx.strokeStyle = ctx.fillStyle = colour;
      ctx.fill(dots);
      ctx.stroke(whiskers);
      ctx.setLineDash(dash.map((length) => length * pixel));
      ctx.stroke(line);
      ctx.setLineDash([]);
    });
    ctx.restore();
  }

  // Draw `lines`, with the axes that `all` need: those of all devices, so that none moves them.
  function draw(frame, x, quantity, lines, all, onDraw, onCursor) {
    const { sizes, columns } = tabulate(lines, quantity);
    const everywhere = tabulate(all, quantity);
    const place = everywhere.sizes[0] > 0 ? Math.log10 : (size) => size;
    const xs = sizes.map(place);
    const ends = [everywhere.sizes[0], everywhere.sizes.at(-1)].map(place);
    const margin = 0.05 * (ends[1] - ends[0]) || 1;
    const style = getComputedStyle(frame);
    const axis = {
      stroke: () => style.color, // as it is whenever the chart is drawn, in the theme of that time
      font: `12px ${style.fontFamily}`,
      labelFont: `12px ${style.fontFamily}`,
      labelSize: 20,
      grid: { stroke: "#8b949e55", width: 1 },
      ticks: { show: false },
    };
    const options = {
      width: frame.clientWidth,
      height: HEIGHT,
      legend: { show: false },
      cursor: {
        y: false,
        points: { show: false },
        drag: { x: false, y: false },
        bind: { mouseleave: () => null }, // what was pointed at stays
        move: (plot, left, top) => [plot.valToPos(xs[plot.posToIdx(left)], "x"), top],
      },
      scales: {
        x: { time: false, range: [ends[0] - margin, ends[1] + margin] },
        y: { range: logRange(everywhere.columns.flat(2).filter(Boolean)) },
      },
      axes: [
        {
          ...axis,
          label: x,
          size: 30,
          splits: (plot, _, low, high) => spaced(xs, (LABEL * (high - low)) / (plot.width - 2 * LABEL)),
          values: (_, ticks) => ticks.map((tick) => briefly(sizes[xs.indexOf(tick)])),
        },
        {
          ...axis,
          label: quantity.name,
          size: 64,
          splits: (_, __, low, high) => logTicks(low, high),
          values: (_, ticks) => ticks.map((tick) => withUnit(10 ** tick, quantity.unit, 1)),
        },
      ],
      series: [{}, ...lines.map(() => ({ paths: () => null, points: { show: false } }))],
      hooks: {
        draw: [(plot) => drawLines(plot, lines, columns), onDraw],
        setCursor: [onCursor],
      },
    };
    const ys = columns.map((column) => column.map((numbers) => numbers && Math.log10(numbers[0])));
    return { plot: new uPlot(options, [xs, ...ys], frame), quantity, lines, sizes, columns };
  }

  function row(line, numbers, unit) {
    const swatch = element("span", { className: "jaxcap-swatch" });
    swatch.style.borderTopColor = line.colour;
    [swatch.style.borderTopStyle] = line.stroke;
    const [value, low, high] = numbers.map((number) => withUnit(number, unit, 3));
    return element(
      "tr",
      {},
      element("th", { scope: "row" }, swatch, line.name),
      element("td", {}, value),
      element("td", {}, `${low} to ${high}`),
    );
  }

  function table(caption, heads, rows) {
    const cells = heads.map((text) => element("th", { scope: "col" }, text));
    return element(
      "table",
      {},
      element("caption", {}, caption),
      element("thead", {}, element("tr", {}, ...cells)),
      element("tbody", {}, ...rows),
    );
  }

  // A list that keeps the chosen name when it gets others, and is hidden where it has only one. Beside
  // several it has the name of all, if there is one.
  function choice(text, onchange, { first, all = [] } = {}) {
    const select = element("select", { onchange });
    const label = element("label", {}, `${text} `, select);
    const offer = (names) => {
      const distinct = [...new Set(names)];
      const offered = distinct.length > 1 ? [...distinct, ...all] : distinct;
      const chosen = select.value || first;
      select.replaceChildren(...offered.map((name) => new Option(name)));
      if (offered.includes(chosen)) select.value = chosen;
      label.hidden = offered.length === 1;
      return select.value;
    };
    return [label, offer];
  }

  async function explore(box) {
    const data = JSON.parse(box.querySelector("script").textContent);
    const style = { rel: "stylesheet", href: new URL("uplot.css", VENDOR) };
    await Promise.all([load("script", { src: new URL("uplot.js", VENDOR) }), load("link", style)]);
    const [part, offerParts] = choice("Part", redraw, { first: data.part });
    const [device, offerDevices] = choice("Device", redraw, { all: [ALL] });
    const [shown, offerQuantities] = choice("Show", redraw);
    const frame = element("div", {});
    const slider = element("input", { type: "range", min: 0, oninput: moveCursor });
    const status = element("div", { className: "jaxcap-table", tabIndex: 0 });
    frame.setAttribute("role", "img");
    status.setAttribute("role", "status");
    let chart;

    function redraw() {
      const everything = [...data.lines, ...(box.yours ?? [])]; // with those of the reader's files
      const devices = [...new Set(everything.map((line) => line.device))];
      const partName = offerParts(everything.map((line) => line.part));
      const all = everything.filter((line) => line.part === partName);
      const deviceName = offerDevices(all.map((line) => line.device));
      const lines = all
        .filter((line) => [line.device, ALL].includes(deviceName))
        .map((line) => ({
          ...line,
          name: deviceName === ALL ? `${line.variant}, ${line.device}` : line.variant,
          colour: Object.hasOwn(data.colours, line.variant) ? data.colours[line.variant] : OTHER,
          stroke: STROKES[devices.indexOf(line.device) % STROKES.length],
        }));
      const offered = quantities(lines);
      const name = offerQuantities(offered.map((quantity) => quantity.name));
      const quantity = offered.find((other) => other.name === name);
      const size = chart?.sizes[slider.value];
      chart?.plot.destroy();
      const ofThis = (act) => (plot) => plot === chart.plot && act(plot); // not of one that was replaced
      chart = draw(frame, data.x, quantity, lines, all, ofThis(moveCursor), ofThis(show));
      slider.max = chart.sizes.length - 1;
      slider.value = chart.sizes.includes(size) ? chart.sizes.indexOf(size) : slider.max;
      frame.setAttribute("aria-label", `${name} by ${data.x}, as in the table below`);
    }

    // Called when the chart was drawn, too.
    function moveCursor() {
      const { plot } = chart;
      plot.setCursor({ left: plot.valToPos(plot.data[0][slider.value], "x"), top: 0 });
    }

    function show({ cursor: { idx: index } }) {
      if (index === null || index === chart.index) return;
      const { lines, quantity, sizes, columns } = Object.assign(chart, { index });
      const size = sizes[index].toLocaleString("en");
      const measured = lines.flatMap((line, number) => {
        const numbers = columns[number][index];
        return numbers ? [row(line, numbers, quantity.unit)] : [];
      });
      slider.value = index;
      slider.setAttribute("aria-valuetext", size);
      status.replaceChildren(
        table(`${data.x} ${size}`, ["variant", quantity.name, "range"], measured),
      );
    }

    const view = element(
      "div",
      {},
      element("p", {}, part, device, shown, ...box.querySelector(".jaxcap-explore-more").childNodes),
      frame,
      element("label", {}, `${data.x} `, slider),
      status,
      element("p", { className: "jaxcap-note" }, NOTE),
    );
    box.append(view);
    redraw();
    box.addEventListener("jaxcap-yours", redraw);
    const fit = () => chart.plot.setSize({ width: frame.clientWidth, height: HEIGHT });
    new ResizeObserver(fit).observe(frame);
    const recolour = () => chart.plot.redraw(false);
    new MutationObserver(recolour).observe(document.body, { attributeFilter: ["data-theme"] });
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", recolour);
    return view;
  }

  for (const box of document.querySelectorAll(".jaxcap-explore")) {
    const button = box.querySelector("button");
    const plots = box.querySelector(".jaxcap-explore-plots");
    let view;
    button.onclick = async () => {
      view ??= explore(box);
      const chart = await view;
      plots.hidden = !plots.hidden;
      chart.hidden = !plots.hidden;
      button.textContent = plots.hidden ? CLOSE : OPEN;
    };
  }
}
