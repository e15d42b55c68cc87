// Lets readers check an answer without Python where it is a number, or true or false for several things.
// What is said of each answer comes from the page's data, which Python's check wrote.
"use strict";

{
  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  // As Python reads a number: it may have underscores.
  function messageOfNumber(text, { messages, tolerance, other, no_number }) {
    const value = Number(text.trim().replace(/(?<=\d)_(?=\d)/g, ""));
    if (!text.trim() || !Number.isFinite(value)) return no_number;
    const isClose = ([known]) =>
      Math.abs(value - known) <= tolerance * Math.max(Math.abs(value), Math.abs(known));
    const found = messages.find(isClose);
    return found ? found[1] : other.replace("{}", Number(value.toPrecision(8)));
  }

  function choice(name) {
    const radios = [["True", "T"], ["False", "F"]].map(([text, value]) => {
      const input = element("input", { type: "radio", name, value, required: true });
      return element("label", {}, input, ` ${text}`);
    });
    return element("fieldset", {}, element("legend", {}, name), ...radios);
  }

  for (const box of document.querySelectorAll(".jaxcap-answer")) {
    const data = JSON.parse(box.querySelector("script").textContent);
    const status = element("p", { className: "jaxcap-check" });
    status.setAttribute("role", "status");
    const form = element("form", {});
    if (data.names) {
      form.append(...data.names.map(choice));
    } else {
      const input = element("input", { name: "number", inputMode: "decimal", size: 12, required: true });
      form.append(element("label", {}, "Your answer: ", input), " ");
    }
    form.append(element("button", {}, "Check"));
    form.onsubmit = (event) => {
      event.preventDefault();
      const chosen = new FormData(form);
      status.textContent = data.names
        ? data.messages[data.names.map((name) => chosen.get(name)).join("")]
        : messageOfNumber(chosen.get("number"), data);
    };
    box.append(form, status);
  }
}
