#!/bin/sh
# Builds the fuzz target of the decoders with Clang.
#
#     rocks/strided-image/fuzz/build.sh PROGRAM
set -eu
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
clang -std=c11 -g1 -O1 -w -fsanitize=fuzzer,address,undefined \
  -fno-sanitize-recover=all -DFUZZING_BUILD_MODE_UNSAFE_FOR_PRODUCTION \
  "$here/fuzz.c" "$here"/../src/codec*.c -o "$1" -lpng -ljpeg -lwebp
