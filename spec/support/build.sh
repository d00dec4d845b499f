# The builds of ./dev, each in a separate folder. Sourced in the root of the
# source tree.

. spec/support/packages.sh

root=$(pwd)
CMAKE_BUILD_PARALLEL_LEVEL=${CMAKE_BUILD_PARALLEL_LEVEL:-$(nproc)}
export CMAKE_BUILD_PARALLEL_LEVEL

say() { printf '%s\n' "$*" >&2; }
die() { say "dev: $*"; exit 1; }

# build_in FOLDER OPTION...: configures once, then compiles what changed, or
# TARGETS of it. Prints nothing if QUIET is set. Uses ccache if it is
# installed.
build_in() {
  folder=$1; shift
  home=$(sed -n 's/^CMAKE_HOME_DIRECTORY:INTERNAL=//p' \
         "$folder/CMakeCache.txt" 2>/dev/null || true)
  if [ -n "$home" ] && [ "$home" != "$root" ]; then rm -rf "$folder"; fi
  [ -f "$folder/build.ninja" ] || rm -f "$folder/CMakeCache.txt"
  mkdir -p "$folder"
  launcher=
  ! command -v ccache >/dev/null 2>&1 || launcher=ccache
  set -- "$@" -DCMAKE_C_COMPILER_LAUNCHER="$launcher"
  if [ "$(cat "$folder/options" 2>/dev/null)" != "$*" ] ||
     [ ! -f "$folder/build.ninja" ]; then
    say "dev: configuring $folder"
    cmake -S . -B "$folder" -G Ninja "$@" >"$folder/configure.log" 2>&1 ||
      { cat "$folder/configure.log" >&2; die "configuring failed"; }
    printf '%s' "$*" >"$folder/options"
  fi
  if [ -n "${QUIET:-}" ] && [ -e "$folder/lib" ]; then
    cmake --build "$folder" --target ${TARGETS:-all} \
      >"$folder/build.log" 2>&1 ||
      { cat "$folder/build.log" >&2; die "building failed"; }
  else
    say "dev: building $folder"
    cmake --build "$folder" --target ${TARGETS:-all} >&2
  fi
}

# Prints the Lua versions, besides those with the 5.1 ABI, whose headers are
# installed: 5.2;5.3;5.4.
further_luas() {
  versions=
  for version in 5.2 5.3 5.4; do
    [ ! -e /usr/include/lua$version/lua.h ] ||
      versions=${versions:+$versions;}$version
  done
  echo "$versions"
}

# build_release WHAT: builds into build/, at least
#   run   the kernels for this machine, LuaJIT's binding
#   spec  these, those of base, the bindings of all Lua versions, the C programs
#         of the specs
#   all   these, and the kernels of every instruction set
# Parts that were built earlier are kept up to date too. Kernels that are not
# the best for this machine, and the bindings of further Luas, are made with -O1
# in half of the time that those of an installed library take; as there, if
# OTHER is set and empty.
build_release() {
  need build
  asked=$1
  was=$(cat build/holds 2>/dev/null || true)
  case $was-$asked in all-*|spec-run) asked=$was ;; esac
  isas=best luas= programs=OFF
  [ "$asked" = run ] || { isas=native luas=$(further_luas) programs=ON; }
  case $asked in
    all) isas=-USTRIDED_KERNEL_ISAS ;;
    *) isas=-DSTRIDED_KERNEL_ISAS=$isas ;;
  esac
  build_in build -DCMAKE_BUILD_TYPE=Release \
           -DSTRIDED_WERROR="${STRIDED_WERROR:-OFF}" \
           -DSTRIDED_OTHER_OPTIMIZE="${OTHER--O1}" \
           "$isas" -DSTRIDED_LUAS="$luas" -DSTRIDED_SPEC_PROGRAMS="$programs"
  echo "$asked" >build/holds
}

# Prints the option of a build that takes the kernels of base from build/, which
# is made if it was not just now.
base_kernels() {
  [ -n "${HAS_RELEASE:-}" ] || build_release spec
  echo "-DSTRIDED_BASE_KERNELS=$root/build/spec/libkernels_base.a"
}

# Prints the option of a build whose headers are precompiled, which ccache does
# not keep.
precompiled() {
  command -v ccache >/dev/null 2>&1 || echo -DSTRIDED_PRECOMPILE=ON
}

# build_san [KERNELS]: with the kernels for this machine, or with all of them
# after "all".
build_san() {
  need build
  if [ "${1:-}" = all ]; then
    isas=-USTRIDED_KERNEL_ISAS base=-USTRIDED_BASE_KERNELS
  else
    isas=-DSTRIDED_KERNEL_ISAS=native base=$(base_kernels)
  fi
  build_in build/san -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O1 \
           "$isas" "$base" -DSTRIDED_KERNEL_OPTIMIZE=-O1 $(precompiled) \
           -DSTRIDED_SANITIZE=address,undefined -DSTRIDED_SPEC_PROGRAMS=ON
}

# Without OpenMP, whose runtime is not built for ThreadSanitizer, and without
# Lua, which is not needed; nor are other programs than those with threads.
# Kernels share nothing: they are not sanitized.
build_tsan() {
  need build
  base=$(base_kernels)
  (TARGETS=spec_threads_threads
   for name in interrupt limits share; do
     TARGETS="$TARGETS spec_embed_$name"
   done
   build_in build/tsan -DCMAKE_BUILD_TYPE=None -DCMAKE_C_FLAGS=-O0 \
            "$base" -DSTRIDED_KERNEL_ISAS=base $(precompiled) \
            -DSTRIDED_SANITIZE=thread -DSTRIDED_OPENMP=OFF \
            -DSTRIDED_LUA=OFF -DSTRIDED_SPEC_PROGRAMS=ON)
}

# For valgrind, which does not support AVX-512. Without the block cache, freed
# blocks are returned at once, so that valgrind detects uses after free.
build_grind() {
  need build grind
  build_in build/grind -DCMAKE_BUILD_TYPE=RelWithDebInfo \
           -DSTRIDED_KERNEL_ISAS="base;avx2" -DSTRIDED_BLOCK_CACHE=OFF \
           -DSTRIDED_SPEC_PROGRAMS=ON
}

# Counts the runs of each line, for gcov. Threads count with atomic additions:
# gcov computes some counts from others, and a lost one makes them negative.
build_lines() {
  need build
  build_in build/lines -DCMAKE_BUILD_TYPE=None -DSTRIDED_SPEC_PROGRAMS=ON \
           "-DCMAKE_C_FLAGS=-O1 --coverage -fprofile-update=atomic" \
           -DSTRIDED_KERNEL_OPTIMIZE=-O1
}

# With Clang and LLVM's OpenMP: clang -fopenmp=libgomp ignores the directives.
# OpenBLAS brings libgomp, so the process has the threads of both.
build_clang() {
  need build clang
  build_in build/clang -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Release \
           -DSTRIDED_WERROR="${STRIDED_WERROR:-OFF}" \
           -DSTRIDED_KERNEL_ISAS=native -DSTRIDED_SPEC_PROGRAMS=ON
}

# The build for libFuzzer. Warnings are disabled; gcc's builds report them.
build_fuzz() {
  need build fuzz
  build_in build/fuzz -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=None \
           "-DCMAKE_C_FLAGS=-O1 -w" -DSTRIDED_KERNEL_OPTIMIZE=-O0 \
           -DSTRIDED_KERNEL_ISAS=native \
           -DSTRIDED_SANITIZE=address,undefined -DSTRIDED_OPENMP=OFF \
           -DLUA_INCDIR=/usr/include/lua5.1 -DSTRIDED_FUZZ=ON
}

# use FOLDER: sets the module paths of every Lua to this source tree and to the
# bindings in the folder.
use() {
  case $1 in /*) folder=$1 ;; *) folder=$root/$1 ;; esac
  LUA_PATH="$root/lua/?.lua;$root/lua/?/init.lua;$root/?.lua;;"
  LUA_CPATH="$folder/lua/?.so;;"
  LUA_CPATH_5_2="$folder/lua5.2/?.so;;"
  LUA_CPATH_5_3="$folder/lua5.3/?.so;;"
  LUA_CPATH_5_4="$folder/lua5.4/?.so;;"
  export LUA_PATH LUA_CPATH LUA_CPATH_5_2 LUA_CPATH_5_3 LUA_CPATH_5_4
}

# find_spec NAME: prints the file of a spec, whose folder and suffix are
# optional, or a folder of specs.
find_spec() {
  if [ -f "$1" ]; then echo "$1"; return; fi
  name=${1%.lua}
  for file in "${name}_spec" "${name}_host" "$name"; do
    found=$(find spec -path "*/$file.lua" -name '*_*')
    case $found in
      '') ;;
      *"
"*) die "the name is ambiguous:" $found ;;
      *) echo "$found"; return ;;
    esac
  done
  [ -d "$1" ] || die "no such spec: $1"
  echo "$1"
}
