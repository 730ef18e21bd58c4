// What a page does once it is there: draw its charts; open what is folded before it is printed.
"use strict";
Palpate.drawAll(JSON.parse(document.getElementById("charts").textContent));
// What is too wide to be seen whole is scrolled with the keyboard too.
const focusable = () => { for (const one of document.querySelectorAll(".wide, .equation")) if (one.scrollWidth > one.clientWidth + 1) one.tabIndex = 0; };
addEventListener("resize", focusable);
focusable();
addEventListener("beforeprint", () => {
  for (const fold of document.querySelectorAll("details.print")) fold.open = true;
});
const whole = document.getElementById("whole-time");
if (whole) {
  whole.addEventListener("click", () => Palpate.setZoom(null));
  Palpate.follow({ showTime() {}, zoomed: () => { whole.hidden = false; } });
}
