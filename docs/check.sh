#!/bin/sh
# Opens the documentation that ./dev docs has built in a headless browser:
# ./dev docs check [--all]. Needs Debian's chromium, and from PyPI playwright, which
# drives it, and axe-playwright-python, which has the rules of accessibility;
# they are installed into ~/.cache/strided/docs-venv.
set -eu

. spec/support/build.sh
need browser
venv=${XDG_CACHE_HOME:-$HOME/.cache}/strided/docs-venv
if ! "$venv/bin/python" -c 'import playwright, axe_playwright_python' \
     2>/dev/null; then
  say "dev: installing playwright and axe into $venv"
  python3 -m venv "$venv"
  "$venv/bin/pip" -q install playwright axe-playwright-python
fi
exec "$venv/bin/python" docs/check.py build/docs/html "$@"
