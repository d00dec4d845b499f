#!/bin/sh
# ./dev lint c [FILE...]: clang-tidy and cppcheck over the C code, or over some
# files. .clang-tidy lists the checks and why others are off; cppcheck.txt lists
# findings of cppcheck that are none.
set -eu
cd "$(dirname "$0")/../.."
. spec/support/build.sh
need build image mpi tidy clang

folder=build/tidy
bad=0

# configure SOURCE FOLDER [OPTION...]: only that, for the command lines of
# clang-tidy, and for the public header.
configure() {
  source=$1 to=$2; shift 2
  [ -f "$to/compile_commands.json" ] && return
  mkdir -p "$to"
  cmake -S "$source" -B "$to" -G Ninja -DCMAKE_C_COMPILER=clang \
        -DCMAKE_EXPORT_COMPILE_COMMANDS=ON "$@" >"$to/configure.log"
}

# tidy FOLDER FILE...: with the command lines there.
tidy() {
  at=$1; shift
  say "lint: clang-tidy on $# files"
  printf '%s\n' "$@" |
    xargs -P "$CMAKE_BUILD_PARALLEL_LEVEL" -n 8 \
      clang-tidy -p "$at" --quiet 2>>$folder/tidy.log || bad=1
}

[ $# -gt 0 ] ||
  set -- $(find core lua/bind rocks/*/src -name '*.c' | sort)
files=$(printf '%s\n' "$@")

configure . $folder -DSTRIDED_KERNEL_ISAS=native
: >$folder/tidy.log
own=$(printf '%s\n' "$files" | grep -v '^rocks/' || true)
[ -z "$own" ] || tidy $folder $own
for rock in $(printf '%s\n' "$files" | sed -n 's,^\(rocks/[^/]*\)/.*,\1,p' |
              sort -u); do
  configure $rock $folder/$rock -DSTRIDED_LIBRARY=strided \
            -DSTRIDED_INCLUDE="$PWD/$folder/include"
  tidy $folder/$rock $(printf '%s\n' "$files" | grep "^$rock/")
done

# cppcheck does not expand the macros of the kernels.
plain=$(printf '%s\n' "$files" | grep -v '^core/kernel/' || true)
if [ -n "$plain" ]; then
  say "lint: cppcheck on $(printf '%s\n' $plain | wc -l) files"
  cppcheck --quiet --error-exitcode=1 --std=c11 --language=c \
    --enable=warning,portability,performance --inline-suppr \
    --suppressions-list=spec/lint/cppcheck.txt \
    -j "$CMAKE_BUILD_PARALLEL_LEVEL" -I core -I lua/bind -I $folder/include \
    -D_GNU_SOURCE=1 -DST_OPENMP=1 -DST_BLOCK_CACHE=1 -DST_INLINE_ELEMENTS=1 \
    $(sed -n 's/^ST_ISA(\([^,]*\),.*/-DST_KERNELS_\1=1/p' core/os/isa.def) \
    -DST_MULTIARCH='"x86_64-linux-gnu"' -DSTRIDED_VERSION='"0"' $plain || bad=1
fi
exit $bad
