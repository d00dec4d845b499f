#!/bin/sh
# ./dev lint c [FILE...]: clang-tidy and cppcheck over the C code, or over some
# files. .clang-tidy lists the checks and why others are off; cppcheck.txt lists
# findings of cppcheck that are none.
set -eu
cd "$(dirname "$0")/../.."
. spec/support/build.sh
need build tidy clang

# Only configured: clang-tidy needs the command lines, and the public header.
folder=build/tidy
mkdir -p $folder
[ -f $folder/compile_commands.json ] ||
  cmake -S . -B $folder -G Ninja -DCMAKE_C_COMPILER=clang \
        -DSTRIDED_KERNEL_ISAS=native >$folder/configure.log

[ $# -gt 0 ] || set -- $(find core lua/bind -name '*.c' | sort)
bad=0

say "lint: clang-tidy on $# files"
printf '%s\n' "$@" |
  xargs -P "$CMAKE_BUILD_PARALLEL_LEVEL" -n 8 \
    clang-tidy -p $folder --quiet 2>$folder/tidy.log || bad=1

# cppcheck does not expand the macros of the kernels.
plain=$(printf '%s\n' "$@" | grep -v '^core/kernel/' || true)
if [ -n "$plain" ]; then
  say "lint: cppcheck on $(printf '%s\n' $plain | wc -l) files"
  cppcheck --quiet --error-exitcode=1 --std=c11 --language=c \
    --enable=warning,portability,performance --inline-suppr \
    --suppressions-list=spec/lint/cppcheck.txt \
    -j "$CMAKE_BUILD_PARALLEL_LEVEL" -I core -I lua/bind -I $folder/include \
    -D_GNU_SOURCE=1 -DST_OPENMP=1 -DST_BLOCK_CACHE=1 -DST_INLINE_ELEMENTS=1 \
    -DST_HAS_AVX2=1 -DST_HAS_AVX512=1 -DST_OPENBLAS='"openblas"' \
    -DST_OPENBLAS_FOLDER='"/usr/lib"' -DSTRIDED_VERSION='"0"' $plain || bad=1
fi
exit $bad
