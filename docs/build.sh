#!/bin/sh
# Builds the documentation, in the root of the source tree: ./dev docs [check].
set -eu

out=build/docs
source=$out/source
STRIDED_VERSION=$(luajit -e 'io.write(require "strided".config().version)')
export STRIDED_VERSION

mkdir -p "$source/pictures"
luajit docs/generate.lua "$source"
# The pages show pictures that their snippets write.
(root=$PWD; cd "$source/pictures"; luajit "$root/docs/snippets.lua" "$root")

for kind in html man; do
  sphinx-build -q -W --keep-going -b $kind -d "$out/doctrees" "$source" \
    "$out/$kind"
done
# Furo of Debian 12 is packaged in parts: its script imports another, which a
# page from disk may not do, and its style a file of a server.
static=$out/html/_static
if grep -q '^import ' "$static/scripts/furo.js"; then
  sed '/^import /d' "$static/scripts/furo.js" |
    cat "$static/scripts/gumshoe-patched.js" - >"$out/furo.js"
  mv "$out/furo.js" "$static/scripts/furo.js"
fi
sed -i '/^@import url(\/javascript/d' "$static/styles/furo.css"
echo "$out/html/index.html"
[ "${1:-}" = check ] || exit 0
shift
exec sh docs/check.sh "$@"
