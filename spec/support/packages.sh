# The packages that ./dev needs, as a table, and their installation with apt.
# Sourced. A command installs only the packages that it needs and that are
# missing.

# group | Debian package | why
#       | a file that shows its presence, or a command and what its output has:
#       | another program may have the name
packages='
build | gcc                    | compiles the engine (C11 with OpenMP)
      | gcc --version: Free Software Foundation
build | libc6-dev              | headers of the C library
      | /usr/include/stdio.h
build | cmake                  | configures the build
      | cmake --version: cmake version
build | ninja-build            | runs the build on all cores
      | ninja --version: ^1[.]
build | zlib1g-dev             | inflates, deflates and checks .npz files
      | /usr/include/zlib.h
build | luajit                 | the Lua that ./dev runs
      | luajit -v: LuaJIT
build | libluajit-5.1-dev      | lua.h for the binding
      | /usr/include/luajit-2.*/lua.h
test  | lua5.1                 | the other Lua of the same ABI
      | lua5.1 -v: Lua 5.1
test  | liblua5.1-0-dev        | its lua.h, for building the rock with it
      | /usr/include/lua5.1/lua.h
test  | lua5.2                 | a Lua with yields across C and __pairs
      | lua5.2 -v: Lua 5.2
test  | liblua5.2-dev          | lua.h for the binding to it
      | /usr/include/lua5.2/lua.h
test  | lua5.3                 | a Lua with integers
      | lua5.3 -v: Lua 5.3
test  | liblua5.3-dev          | lua.h for the binding to it
      | /usr/include/lua5.3/lua.h
test  | lua5.4                 | a Lua with integers and to-be-closed variables
      | lua5.4 -v: Lua 5.4
test  | liblua5.4-dev          | lua.h for the binding to it
      | /usr/include/lua5.4/lua.h
test  | luarocks               | builds and installs the rock
      | luarocks --version: LuaRocks
test  | make                   | runs the build of the rock
      | make --version: GNU Make
test  | lua-busted             | runs the specs
      | busted --version: ^[0-9.]*$
test  | lua-cjson              | reads the conformance vectors (specs only)
      | /usr/lib/*/lua/5.1/cjson.so
test  | lua-readline           | line editing and completion in the session
      | /usr/share/lua/5.1/readline.lua
test  | valgrind               | counts instructions; checks memory accesses
      | valgrind --version: ^valgrind-
test  | g++                    | compiles the public header as C++
      | g++ --version: Free Software Foundation
test  | gdb                    | runs the printers of core/gdb, in specs
      | gdb --version: GNU gdb
mpi   | openmpi-bin            | starts the ranks of rocks/strided-mpi
      | mpirun --version: Open MPI\|HYDRA
mpi   | libopenmpi-dev         | mpi.h and the compiler for the rock
      | mpicc --version: Free Software\|clang
lint  | lua-check              | checks the Lua code
      | luacheck --version: Luacheck
tidy  | clang-tidy             | looks for mistakes in the C code
      | clang-tidy --version: LLVM version
tidy  | clang-format           | shows how changed lines could be set
      | git-clang-format -h: git clang-format
tidy  | cppcheck               | looks for other mistakes in the C code
      | cppcheck --version: ^Cppcheck
clang | clang                  | a second compiler, for ./dev test clang
      | clang --version: clang version
clang | libomp-dev             | its OpenMP
      | /usr/lib/llvm-*/lib/libomp.so
fuzz  | clang                  | compiles the fuzz targets
      | clang --version: clang version
fuzz  | libclang-rt-dev        | libFuzzer and the sanitizers of clang
      | /usr/lib/llvm-*/lib/clang/*/lib/linux/libclang_rt.fuzzer-*.a
hosts | nginx                  | a host: workers that fork and reload
      | nginx -v: ^nginx version
hosts | tarantool              | a host: fibers
      | tarantool --version: ^Tarantool
hosts | haproxy                | a host: Lua 5.3 or 5.4, threads, a daemon
      | haproxy -v: ^HAProxy version
hosts | neovim                 | a host: an editor with threads
      | nvim --version: ^NVIM
hosts | love                   | a host: games with threads
      | love --version: ^LOVE
hosts | wrk                    | sends thousands of requests to servers
      | wrk -v: ^wrk .*epoll
hosts | lua-socket             | sends requests to servers from specs
      | /usr/share/lua/5.1/socket.lua
hosts | python3-numpy          | a host: exchanges arrays by DLPack
      | /usr/lib/python3/dist-packages/numpy/__init__.py
hosts | python3-lupa           | a LuaJIT in Python, which exchanges them
      | /usr/lib/python3/dist-packages/lupa/__init__.py
image | libpng-dev             | PNG files, for rocks/strided-image
      | /usr/include/libpng16/png.h
image | libjpeg62-turbo-dev    | JPEG files
      | /usr/include/jpeglib.h
image | libwebp-dev            | WebP files
      | /usr/include/webp/decode.h
test  | imagemagick            | reads the pictures that were written, in specs
      | convert -version: ^Version: ImageMagick
docs  | python3-sphinx         | builds the documentation: HTML and man pages
      | sphinx-build --version: ^sphinx-build [0-9]
docs  | python3-myst-parser    | reads its sources, which are Markdown
      | /usr/lib/python3/dist-packages/myst_parser/__init__.py
docs  | furo                   | its theme: light, dark, and for phones
      | /usr/lib/python3/dist-packages/furo/__init__.py
browser | chromium             | opens the documentation, for ./dev docs check
      | chromium --version: ^Chromium
browser | python3-venv         | an environment for what drives it
      | /usr/lib/python3*/ensurepip/__init__.py
eig   | libopenblas0-openmp    | a LAPACK, for eigenvalues of any matrices
      | /usr/lib/*/liblapack.so.3
plot  | librsvg2-bin           | converts plots to PNG and PDF
      | rsvg-convert --version: ^rsvg-convert version
plot  | libxml2-utils          | checks SVG in specs
      | xmllint --version: libxml
bench | python3-venv           | an environment for PyTorch, to compare with
      | /usr/lib/python3*/ensurepip/__init__.py
'

# find_program 'NAME OPTION: TEXT': prints the path of the first program of this
# name that prints the text, a basic regular expression, for the option.
find_program() (
  name=${1%% *} option=${1#* } text=${1#*: }
  IFS=:
  for folder in $PATH /usr/sbin; do
    file=$folder/$name
    [ -f "$file" ] && [ -x "$file" ] || continue
    said=$(timeout 10 "$file" "${option%%:*}" 2>&1 </dev/null || true)
    if printf '%s\n' "$said" | grep -q -e "$text"; then
      echo "$file"
      return
    fi
  done
  return 1
)

# present SIGN: succeeds if the program or file exists. A program that another
# one of its name hides in PATH gets a link in build/programs. Word-splitting
# expands a pattern; without a match it remains as it is.
present() {
  case $1 in
    /*) for found in $1; do [ -e "$found" ] && return; done; return 1 ;;
    *': '*)
      found=$(find_program "$1") || return
      [ "$found" != "$(command -v "${1%% *}")" ] || return 0
      mkdir -p build/programs
      ln -sf "$found" build/programs/ ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

# missing GROUP...: prints a line "package: why" for each missing package.
missing() {
  printf '%s' "$packages" | sed '/^[a-z]/{N;s/\n *//;}' |
  while IFS='|' read -r group package why sign; do
    group=$(echo $group) package=$(echo $package)
    case " $* " in *" $group "*) ;; *) continue ;; esac
    present "${sign# }" || echo "$package:$why"
  done
}

# Lets the programs that others hide be found first.
prefer_programs() {
  case $PATH in "$root/build/programs:"*) return ;; esac
  [ ! -d build/programs ] || PATH=$root/build/programs:$PATH
}

# find_apt NAME...: sets $apt to the installing command, which waits for others,
# and $as_root to the command that gets root privileges for it.
find_apt() {
  command -v apt-get >/dev/null 2>&1 ||
    die "apt-get is missing: install the equivalents of these packages"
  as_root=
  if [ "$(id -u)" != 0 ]; then
    command -v sudo >/dev/null 2>&1 || die "as root: apt-get install" "$@"
    as_root=sudo
    [ -t 0 ] || as_root='sudo -n'
  fi
  apt="$as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y"
  apt="$apt -o DPkg::Lock::Timeout=300"
}

# need GROUP...: installs the missing packages of the groups with apt.
need() {
  lacking=$(missing "$@")
  prefer_programs
  [ -n "$lacking" ] || return 0
  say "dev: missing packages, and their purpose:"
  echo "$lacking" | sed 's/^/  /' >&2
  names=$(echo "$lacking" | sed 's/:.*//')
  find_apt $names
  say "dev: installing them with apt-get"
  $apt update </dev/null >&2
  $apt install --no-install-recommends $names </dev/null >&2
  lacking=$(missing "$@")
  prefer_programs
  [ -z "$lacking" ] || die "still missing: $lacking"
}

# install_quietly NAME...: installs the packages one by one and skips those that
# apt does not have. A policy-rc.d that exits with 101 prevents apt from
# starting the servers.
install_quietly() (
  find_apt "$@"
  policy=/usr/sbin/policy-rc.d
  if [ ! -e $policy ]; then
    trap '$as_root rm -f $policy' EXIT
    trap 'exit 1' INT TERM
    printf '#!/bin/sh\nexit 101\n' | $as_root tee $policy >/dev/null
    $as_root chmod 755 $policy
  fi
  present '/var/lib/apt/lists/*Packages*' || $apt update </dev/null >&2
  for name; do
    apt-cache show "$name" >/dev/null 2>&1 || continue
    say "dev: installing $name"
    $apt install --no-install-recommends "$name" </dev/null >&2 || true
  done
)

# want GROUP...: like need, for optional packages.
want() {
  lacking=$(missing "$@")
  prefer_programs
  [ -n "$lacking" ] || return 0
  say "dev: missing packages, and their purpose:"
  echo "$lacking" | sed 's/^/  /' >&2
  install_quietly $(echo "$lacking" | sed 's/:.*//') || true
  lacking=$(missing "$@")
  prefer_programs
  [ -z "$lacking" ] ||
    say "dev: continuing without" $(echo "$lacking" | sed 's/:.*//')
}
