// Lets readers pick one of the series that a plot and tables show: others fade, or lose their rows.
// Names come from files: they only ever become text.
"use strict";

for (const box of document.querySelectorAll(".jaxcap-pick")) {
  const series = JSON.parse(box.querySelector("script").textContent);
  const select = document.createElement("select");
  const label = document.createElement("label");
  const status = document.createElement("output");
  select.append(...["all", ...Object.keys(series)].map((name) => new Option(name)));
  label.append(`${box.dataset.label} `, select);
  box.append(label, status);

  function isPicked(row) {
    const heads = row.closest("table").tHead.rows[0].cells;
    const column = [...heads].findIndex((head) => head.textContent === box.dataset.column);
    const text = row.cells[column].textContent;
    return text.startsWith(select.value) && /^([.:]|$)/.test(text.slice(select.value.length));
  }

  select.onchange = () => {
    const fragment = series[select.value] ? `#${series[select.value]}` : "";
    for (const image of box.parentElement.querySelectorAll("img, source")) {
      const address = image.localName === "img" ? "src" : "srcset";
      image.setAttribute(address, image.getAttribute(address).replace(/#.*|$/, fragment));
    }
    for (const fold of box.parentElement.querySelectorAll("details")) fold.open = true;
    const rows = [...box.parentElement.querySelectorAll("tbody tr")];
    for (const row of rows) row.hidden = select.selectedIndex > 0 && !isPicked(row);
    const shown = rows.filter((row) => !row.hidden);
    status.textContent = rows.length ? ` ${shown.length} of ${rows.length} rows` : "";
  };
}
