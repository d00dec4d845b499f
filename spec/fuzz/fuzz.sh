#!/bin/sh
# Runs the fuzzers, for ./dev fuzz and ./dev keep.
#
#     spec/fuzz/fuzz.sh run [N [TARGET...]] | keep [TARGET...]
set -eu
cd "$(dirname "$0")/../.."
. spec/support/build.sh

passed=0
failed=0

count() {
  passed=$((passed + $2)); failed=$((failed + $3))
  say "dev: $1: $2 passed, $3 failed"
}

# target | program | inputs per process | bytes per input
# An operator keeps every schema that it had, so fuzzing schemas needs many
# processes.
fuzz_targets='
schema      | schema | 50000   | 400
slices      | lua    | 5000000 | 80
npy         | lua    | 5000000 | 300
npz         | lua    | 5000000 | 600
safetensors | lua    | 5000000 | 400
dlpack      | dlpack | 5000000 | 100
pt          | lua    | 5000000 | 1500
pickle      | lua    | 5000000 | 300
t7          | lua    | 5000000 | 400
tree        | lua    | 5000000 | 200
csv         | lua    | 5000000 | 200
png         | image  | 5000000 | 1500
jpeg        | image  | 5000000 | 1500
webp        | image  | 5000000 | 1500
'

# fuzz_inputs N TARGET PROGRAM RUNS LENGTH: runs libFuzzer with the corpus in
# the repository and the larger one of earlier runs in build/fuzz.
fuzz_inputs() {
  say; say "dev: $1 inputs, $2"
  mkdir -p "build/fuzz/corpus/$2"
  left=$1 done=0 bad=0 log=build/fuzz/$2.log
  dict=spec/fuzz/targets/$2.dict
  [ -e "$dict" ] && dict=-dict=$dict || dict=
  while [ "$left" -gt 0 ]; do
    runs=$4
    [ "$left" -gt "$runs" ] || runs=$left
    left=$((left - runs))
    env FUZZ_TARGET="$2" UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS="\
allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=1" \
      "build/fuzz/fuzz_$3" -runs="$runs" $dict -max_len="$5" \
      -detect_leaks=0 -artifact_prefix="build/fuzz/$2-" \
      "build/fuzz/corpus/$2" "spec/fuzz/corpus/$2" >"$log" 2>&1 </dev/null ||
      { bad=1; tail -n 100 "$log" >&2; break; }
    done=$((done + $(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")))
  done
  count "$2, libFuzzer" "$done" "$bad"
}

# fuzz_script LUA WHAT N ARGUMENT...: runs N rounds of spec/fuzz/fuzz.lua. The
# allocation of huge tensors fails.
fuzz_script() {
  lua=$1 what=$2 n=$3; shift 3
  say; say "dev: $n $what, $lua"
  asan=$(gcc -print-file-name=libasan.so)
  log=build/fuzz/$what.$lua
  code=0
  env LD_PRELOAD="$asan" UBSAN_OPTIONS=print_stacktrace=1 ASAN_OPTIONS="\
allocator_may_return_null=1:max_allocation_size_mb=64:detect_leaks=0" \
    "$lua" spec/fuzz/fuzz.lua "$@" "${SEED:-1}" "$n" \
    >"$log" 2>&1 </dev/null || code=$?
  grep -v 'WARNING: AddressSanitizer failed to allocate' "$log" >&2 || true
  if [ "$code" = 0 ]; then count "$what, $lua" "$n" 0
  else count "$what, $lua" 0 1; fi
}

# Fuzzes calls of operators, and the other public functions with a tenth as
# many rounds.
fuzz_calls() {
  build_san
  use build/san
  for each in lua5.1 luajit; do
    fuzz_script "$each" calls "$1" trampoline
    fuzz_script "$each" rounds "$(($1 / 10))"
  done
}

# Fuzzes kernels, fallbacks and modes in Lua.
fuzz_scripted() {
  build_san
  mkdir -p build/fuzz
  use build/san
  fuzz_script luajit scripted "$1" scripted
}

# build_targets [TARGET...]: builds what these targets, or all, need. The
# decoders of rocks/strided-image need no engine.
build_targets() {
  need build test fuzz
  mkdir -p build/fuzz
  engine=$# images=$#
  for name; do
    case $name in png|jpeg|webp) images=0 ;; *) engine=0 ;; esac
  done
  [ $engine != 0 ] || build_fuzz
  [ $images != 0 ] || {
    need image
    rocks/strided-image/fuzz/build.sh build/fuzz/fuzz_image
  }
}

# fuzz N [TARGET...]: runs N inputs for these targets, or for all.
fuzz() {
  case $1 in *[!0-9]*|'') die "not a number of inputs: $1" ;; esac
  inputs=$1; shift
  [ "${*:-}" = scripted ] || build_targets "$@"
  use build/fuzz
  rows=$(echo "$fuzz_targets" | tr -d ' ' | grep .)
  for row in $rows; do
    name=${row%%|*}
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    fuzz_inputs "$inputs" $(echo "$row" | tr '|' ' ')
  done
  case " ${*:-calls} " in *" calls "*) fuzz_calls "$inputs" ;; esac
  case " ${*:-scripted} " in *" scripted "*) fuzz_scripted "$inputs" ;; esac
}

# keep [TARGET...]: adds a minimal set of inputs with new coverage from the
# corpora of build/fuzz to those of the repository.
keep() {
  use build/fuzz
  for folder in build/fuzz/corpus/*/; do
    name=$(basename "$folder")
    case " ${*:-$name} " in *" $name "*) ;; *) continue ;; esac
    program=$(echo "$fuzz_targets" | tr -d ' ' | grep "^$name|" | cut -d'|' -f2)
    mkdir -p "spec/fuzz/corpus/$name"
    env FUZZ_TARGET="$name" ASAN_OPTIONS=allocator_may_return_null=1 \
      "build/fuzz/fuzz_$program" -merge=1 -detect_leaks=0 \
      "spec/fuzz/corpus/$name" "$folder" 2>&1 | tail -n 1 >&2
  done
}

command=$1; shift
case $command in
  run)
    [ $# -gt 0 ] || set -- 1250000
    fuzz "$@"
    say
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ] ;;
  keep) keep "$@" ;;
esac
