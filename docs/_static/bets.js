// Lets readers bet what a tutorial's main comparison will show, and scores the bet from the page's data.
// Bets and settings stay in the browser. Names come from files: they only ever become text.
"use strict";

{
  const KEY = "jaxcap-bets";
  const FACTORS = [1.5, 3, 10, 30, 100, 300];
  const NEAR = 2; // the factor by which a bet may be off

  function element(name, properties, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }

  let unsaved = {}; // for browsers that keep nothing

  // `mode` is "offer", "first" (bet before reading) or "off"; `bets` has what was bet, by page.
  function load() {
    try {
      unsaved = JSON.parse(localStorage.getItem(KEY)) ?? unsaved;
    } catch {}
    return { mode: "offer", bets: {}, ...unsaved };
  }

  function save(changes) {
    unsaved = { ...load(), ...changes };
    try {
      localStorage.setItem(KEY, JSON.stringify(unsaved));
    } catch {}
  }

  const times = (count) => ["never", "once", "twice"][count] ?? `${count} times`;

  function tally() {
    const scored = Object.values(load().bets).filter((bet) => bet.isScored);
    const count = (property) => times(scored.filter((bet) => bet[property]).length);
    return scored.length
      ? `So far you bet ${times(scored.length)}: your direction was right ${count("isRight")}, ` +
          `and your factor within a factor of two ${count("isNear")}.`
      : "So far none of your bets has been scored.";
  }

  function score({ direction, factor }, { right, factor: measured }) {
    const isRight = right.includes(direction);
    const off = Math.max(factor / measured, measured / factor);
    const isNear = isRight && (direction === "same" || off <= NEAR);
    return { direction, factor, isScored: right.length > 0, isRight, isNear };
  }

  function verdict({ direction, factor, isScored, isRight, isNear }, { measured, factor: found }) {
    if (!isScored) return `${measured} That decides nothing, so your bet isn't scored.`;
    if (!isRight) return `${measured} Your direction is wrong.`;
    if (direction === "same") return `${measured} Your bet is right.`;
    const off = Math.max(factor / found, found / factor).toLocaleString("en", {
      maximumSignificantDigits: 2,
    });
    const distance = isNear
      ? "within a factor of two of what was measured"
      : `${off} times too ${factor > found ? "large" : "small"}`;
    return `${measured} Your direction is right, and your factor of ${factor} is ${distance}.`;
  }

  function radios(legend, name, options) {
    const labels = options.map(([value, text]) =>
      element("label", {}, element("input", { type: "radio", name, value, required: true }), ` ${text}`),
    );
    return element("fieldset", {}, element("legend", {}, legend), ...labels);
  }

  // Ask for a direction, and for a factor unless there is no difference.
  function question({ claim, variant, over }, onBet) {
    const direction = radios(`Compared with “${over}”, “${variant}” is`, "direction", [
      ["faster", "faster"],
      ["same", "about the same, within a quarter"],
      ["slower", "slower"],
    ]);
    const factors = FACTORS.map((factor) => [factor, `${factor} times`]);
    const factor = radios("By what factor, roughly?", "factor", factors);
    const form = element(
      "form",
      {},
      element("p", {}, `This page checks the claim that ${claim}. What do you expect?`),
      direction,
      factor,
      element("button", {}, "Bet"),
    );
    form.onchange = () => (factor.disabled = form.elements.direction.value === "same");
    form.onsubmit = (event) => {
      event.preventDefault();
      const chosen = new FormData(form);
      onBet({ direction: chosen.get("direction"), factor: Number(chosen.get("factor") ?? 1) });
    };
    return form;
  }

  function settings(onChange) {
    const { mode } = load();
    const select = element("select", {});
    select.append(
      new Option("offer bets", "offer"),
      new Option("fold results away until I bet", "first"),
      new Option("no bets", "off"),
    );
    select.value = mode;
    select.onchange = () => {
      save({ mode: select.value });
      onChange(select.value);
    };
    const clear = element("button", { type: "button" }, "Clear my bets");
    clear.onclick = () => {
      save({ bets: {} });
      onChange(select.value);
    };
    const note = "Your bets stay in this browser: nothing is sent.";
    return element(
      "div",
      { className: "jaxcap-bet-settings" },
      element("label", {}, "On all pages: ", select),
      clear,
      element("p", { className: "jaxcap-note" }, note),
    );
  }

  function folded(parts, what) {
    const summary = element("summary", {}, `${what}: folded away until you bet. Open it to read on.`);
    const details = element("details", { className: "jaxcap-code" }, summary);
    parts[0].before(details);
    details.append(...parts);
    return details;
  }

  // Return a function that folds an answer away, or unfolds it: the takeaway, or what stands in the section
  // of the claim. The page stays as it is until one is folded for the first time.
  function answersOf(box, anchor) {
    const takeaway = document.querySelectorAll(".jaxcap-takeaway > :not(.admonition-title, .jaxcap-bet)");
    const section = document.getElementById(anchor)?.closest("section");
    const parts = { takeaway: [[...takeaway], "Takeaway"] };
    if (section && !section.contains(box)) {
      const [heading, ...rest] = section.children;
      parts.section = [rest, heading.firstChild.textContent];
    }
    const details = {};
    return (name, isFolded) => {
      const [part, what] = parts[name] ?? [];
      if (part?.length && isFolded) details[name] ??= folded(part, what);
      if (details[name]) details[name].open = !isFolded;
    };
  }

  function offer(box, data) {
    const status = element("p", {});
    status.setAttribute("role", "status");
    const place = element("div", {});
    const summary = element("summary", {});
    const details = element("details", {}, summary, place, status);
    const fold = answersOf(box, data.anchor);

    function onBet(bet) {
      const scored = score(bet, data);
      save({ bets: { ...load().bets, [data.page]: scored } });
      show();
      summary.focus(); // the button is gone
    }

    function show() {
      const { mode, bets } = load();
      const bet = bets[data.page];
      const asked = bet ? "Your bet" : "Bet first";
      summary.textContent = `${asked}: is “${data.variant}” faster than “${data.over}”?`;
      place.replaceChildren(...(bet || mode === "off" ? [] : [question(data, onBet)]));
      status.textContent = bet ? `${verdict(score(bet, data), data)} ${tally()}` : "";
      if (mode === "off") {
        const link = element("a", { href: data.settings }, "How we measure");
        status.replaceChildren("Bets are off on all pages. Switch them on again in ", link, ".");
      }
      foldUntilBet();
    }

    // Whoever opens the box is about to bet, and shouldn't see the answer right below it.
    function foldUntilBet() {
      const { mode, bets } = load();
      const waits = mode !== "off" && !bets[data.page];
      fold("takeaway", waits && (mode === "first" || details.open));
      fold("section", waits && mode === "first");
    }

    details.append(settings(show));
    box.append(details);
    show();
    details.ontoggle = foldUntilBet;
    details.open = load().mode === "first" && !load().bets[data.page];
  }

  // The settings by themselves, and the tally.
  function summarise(box) {
    const status = element("p", {}, tally());
    status.setAttribute("role", "status");
    box.append(settings(() => (status.textContent = tally())), status);
  }

  for (const box of document.querySelectorAll(".jaxcap-bet")) {
    const script = box.querySelector("script");
    if (!script) summarise(box);
    else if (load().mode === "off") box.hidden = true;
    else offer(box, JSON.parse(script.textContent));
  }
}
