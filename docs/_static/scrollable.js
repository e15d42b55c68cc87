// What is larger than its box takes the focus, so that it can be scrolled from the keyboard.
"use strict";

function settle() {
  for (const box of document.querySelectorAll("pre, .math-wrapper, .jaxcap-wide, .table-wrapper"))
    if (box.scrollWidth > box.clientWidth || box.scrollHeight > box.clientHeight) box.tabIndex = 0;
    else box.removeAttribute("tabindex");
}

settle();
addEventListener("resize", settle);
document.addEventListener("toggle", settle, true); // what was folded away had no size
