/* What scrolls sideways can be reached by the Tab key, and then scrolled. */
(function () {
  "use strict";
  function mark() {
    document.querySelectorAll("pre, .table-wrapper").forEach(function (e) {
      if (e.scrollWidth > e.clientWidth) e.tabIndex = 0;
      else e.removeAttribute("tabindex");
    });
  }
  window.addEventListener("load", mark);
  window.addEventListener("resize", mark);
})();
