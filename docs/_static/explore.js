// Lets readers hover over the times of an experiment, and choose what is drawn. The library that
// draws is loaded when somebody asks for it. Names come from files: they only ever become text.
"use strict";

const HERE = new URL(".", document.currentScript.src);
const MARKS = ["circle", "rect", "triangle", "rectRot", "star", "crossRot"];
const DASHES = [[], [6, 3], [2, 2], [8, 3, 2, 3]];

function load(source) {
  return new Promise((resolve, reject) => {
    const script = document.createElement("script");
    Object.assign(script, { src: new URL(source, HERE), onload: resolve, onerror: reject });
    document.head.append(script);
  });
}

function seconds(value) {
  const units = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [0, "ns"]];
  const [scale, unit] = units.find(([least]) => value >= least);
  return `${+(value / (scale || 1e-9)).toPrecision(3)} ${unit}`;
}

function labelled(text, control) {
  const label = document.createElement("label");
  label.append(control, ` ${text}`);
  return label;
}

function datasets(data, facet, devices) {
  return data.series
    .filter((one) => one.facet === facet && devices.has(one.device))
    .map((one) => {
      const colour = data.colours[one.variant];
      const number = data.devices.indexOf(one.device);
      return {
        label: `${one.variant}, ${one.device}`,
        data: one.points,
        borderColor: colour,
        backgroundColor: colour,
        borderDash: DASHES[number % DASHES.length],
        pointStyle: MARKS[number % MARKS.length],
        pointRadius: 5,
      };
    });
}

function options(data, ink) {
  const axis = (text, more) => ({
    type: "logarithmic",
    title: { display: true, text, color: ink },
    ticks: { color: ink, ...more },
    grid: { color: "#8b949e55" },
  });
  return {
    animation: false,
    maintainAspectRatio: false,
    scales: {
      x: axis(data.x, { callback: (value) => value.toLocaleString("en") }),
      y: axis("time of a call", { callback: seconds }),
    },
    plugins: {
      legend: { position: "bottom", labels: { color: ink, usePointStyle: true } },
      tooltip: { callbacks: { label: (item) => `${item.dataset.label}: ${item.raw.text}` } },
    },
  };
}

async function explore(box) {
  const data = JSON.parse(box.querySelector("script").textContent);
  await load("vendor/chart.js");
  const ink = getComputedStyle(box).color;
  const canvas = document.createElement("canvas");
  const frame = document.createElement("div");
  const facets = document.createElement("select");
  const devices = new Set(data.devices);
  const controls = document.createElement("p");
  frame.append(canvas);
  canvas.setAttribute("role", "img");
  canvas.setAttribute("aria-label", "The times of the tables below, as lines");

  for (const name of new Set(data.series.map((one) => one.facet))) facets.add(new Option(name));
  const chart = new Chart(canvas, {
    type: "line",
    data: { datasets: datasets(data, facets.value, devices) },
    options: options(data, ink),
  });
  const draw = () => {
    chart.data.datasets = datasets(data, facets.value, devices);
    chart.update();
  };
  facets.onchange = draw;
  facets.setAttribute("aria-label", "Which part");
  if (facets.options.length > 1) controls.append(facets);
  for (const device of data.devices) {
    const choice = document.createElement("input");
    Object.assign(choice, { type: "checkbox", checked: true });
    choice.onchange = () => {
      devices[choice.checked ? "add" : "delete"](device);
      draw();
    };
    controls.append(labelled(device, choice));
  }
  box.append(controls, frame);
}

for (const box of document.querySelectorAll(".jaxcap-explore")) {
  const button = box.querySelector("button");
  button.hidden = false;
  button.onclick = () => {
    button.remove();
    explore(box);
  };
}
