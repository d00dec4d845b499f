"""Opens every page of the documentation in a headless browser.

    check.py FOLDER [--all] [PAGE]...

Checks, for each page from disk: no error in the console and no file that is
missing; each link, and the anchor in it; at the width of a phone no scrolling
sideways; contrast and other rules of WCAG 2 AA, in light and dark colours; that
what the Tab key reaches shows that it has the focus. Then that the search finds
names. The rules look at the pages written by hand and at one of each kind of
the others; at every page with --all, which takes half an hour. Prints what is
wrong; the exit status is 1 then.
"""

import pathlib
import shutil
import sys
import urllib.parse

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import sync_playwright

PHONE = {"width": 390, "height": 844}
DESK = {"width": 1280, "height": 900}
TABS = 25
SEARCHES = {"softmax": "reference/nn.html", "strides": "layouts.html",
            "Linear": "modules/nn.html", "st_call_op": "headers/strided.html"}

IDS = "[...document.querySelectorAll('[id]')].map(e => e.id)"
LINKS = """[...document.querySelectorAll('a[href]')]
  .map(e => e.getAttribute('href'))"""
# The widest element that sticks out, or null.
WIDE = """(() => {
  const most = document.documentElement.clientWidth;
  if (document.documentElement.scrollWidth <= most) return null;
  for (const e of document.querySelectorAll('article *')) {
    const r = e.getBoundingClientRect();
    if (r.width && r.right > most + 1 && !e.closest('pre, .table-wrapper'))
      return e.tagName + ' ' + e.textContent.slice(0, 60);
  }
  return 'something';
})()"""
FOCUS = """(() => {
  const e = document.activeElement;
  if (!e || e === document.body) return null;
  const s = getComputedStyle(e);
  const box = e.getBoundingClientRect();
  const seen = s.outlineStyle !== 'none' && parseFloat(s.outlineWidth) > 0
    || s.boxShadow !== 'none';
  return {name: e.tagName + ' ' + (e.textContent || e.name || '').trim()
            .slice(0, 40),
          seen: seen, there: box.width > 0 && box.height > 0};
})()"""


class Checker:
    def __init__(self, browser, folder, rules_for_all):
        self.browser, self.folder = browser, folder
        self.rules_for_all = rules_for_all
        self.wrong, self.ids, self.links = [], {}, []
        self.seen_kinds = set()
        self.external = set()
        self.axe = Axe()
        self.counts = {"pages": 0, "links": 0, "axe": 0}

    def say(self, page, text):
        self.wrong.append(f"{page}: {text}")
        print(self.wrong[-1], flush=True)

    def open(self, name, scheme, size, query=""):
        context = self.browser.new_context(viewport=size, color_scheme=scheme)
        page = context.new_page()
        page.on("console", lambda m: m.type == "error" and
                self.say(name, "console: " + m.text))
        page.on("pageerror", lambda e: self.say(name, f"script: {e}"))
        page.on("requestfailed", lambda r: self.say(name, "no " + r.url))
        page.goto((self.folder / name).as_uri() + query)
        return context, page

    def rules(self, name, page, scheme):
        """The rules of WCAG 2 AA."""
        self.counts["axe"] += 1
        found = self.axe.run(page, options={
            "preload": False,  # of styles, which needs a server
            "runOnly": ["wcag2a", "wcag2aa", "wcag21aa"]})
        for v in found.response["violations"]:
            node = v["nodes"][0]
            self.say(name, f"{scheme}: {v['id']}: {len(v['nodes'])} times, "
                     f"{node['html'][:90]}: {node['failureSummary'][-120:]}")

    def keyboard(self, name, page):
        for _ in range(TABS):
            page.keyboard.press("Tab")
            now = page.evaluate(FOCUS)
            if now and not (now["seen"] and now["there"]):
                self.say(name, f"the focus is not seen: {now['name']}")

    def page(self, name):
        self.counts["pages"] += 1
        kind = name.split("/")[0]
        wants_rules = self.rules_for_all or kind not in self.seen_kinds
        self.seen_kinds.add(kind)
        context, page = self.open(name, "light", DESK)
        self.ids[name] = set(page.evaluate(IDS))
        self.links += [(name, to) for to in page.evaluate(LINKS)]
        if wants_rules:
            self.rules(name, page, "light")
        self.keyboard(name, page)
        page.set_viewport_size(PHONE)
        wide = page.evaluate(WIDE)
        if wide:
            self.say(name, f"scrolls sideways on a phone: {wide}")
        if wants_rules:
            page.set_viewport_size(DESK)
            page.emulate_media(color_scheme="dark")
            self.rules(name, page, "dark")
        context.close()

    def follow(self):
        for name, to in self.links:
            url = urllib.parse.urlsplit(to)
            if url.scheme:
                self.external.add(to)
                continue
            self.counts["links"] += 1
            path = urllib.parse.unquote(url.path)
            target = (self.folder / name).parent / path if path else \
                self.folder / name
            target = target.resolve()
            if not target.is_file():
                self.say(name, f"a link to nothing: {to}")
                continue
            inner = target.relative_to(self.folder).as_posix()
            anchor = urllib.parse.unquote(url.fragment)
            if not anchor or anchor.startswith(":~:"):
                continue
            if inner in self.ids and anchor not in self.ids[inner]:
                self.say(name, f"no such anchor: {to}")

    def search(self):
        for word, expected in SEARCHES.items():
            context, page = self.open("search.html", "light", DESK,
                                      "?q=" + word)
            try:
                page.wait_for_selector("#search-results li a", timeout=20000)
                page.wait_for_timeout(1500)
                found = page.evaluate(
                    "[...document.querySelectorAll('#search-results li a')]"
                    ".map(e => e.getAttribute('href'))")
                if not any(expected in to for to in found):
                    self.say("search", f"{word} does not find {expected}")
            except Exception as why:
                self.say("search", f"{word}: {str(why)[:80]}")
            context.close()


def main():
    folder = pathlib.Path(sys.argv[1]).resolve()
    words = [word for word in sys.argv[2:] if word != "--all"]
    names = words or sorted(
        p.relative_to(folder).as_posix() for p in folder.rglob("*.html"))
    with sync_playwright() as p:
        browser = p.chromium.launch(executable_path=shutil.which("chromium"),
                                    args=["--no-sandbox"])
        checker = Checker(browser, folder, "--all" in sys.argv)
        for i, name in enumerate(names):
            checker.page(name)
            if sys.stderr.isatty():
                print(f"\r{i + 1} of {len(names)}", end="\r", file=sys.stderr)
        if not words:
            checker.follow()
            checker.search()
        browser.close()
    counts = checker.counts
    print(f"{counts['pages']} pages, {counts['links']} links followed, "
          f"{counts['axe']} times the rules of WCAG, "
          f"{len(checker.external)} links to other sites, "
          f"{len(checker.wrong)} faults")
    sys.exit(1 if checker.wrong else 0)


main()
