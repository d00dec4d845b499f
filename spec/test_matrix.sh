#!/bin/sh
# Runs the passes of the tests in parallel, for ./dev test, san, guard, tsan,
# hosts, grind and lint.
#
# A pass is one Lua with one build, over all specs or over those that depend
# on what the pass varies, which the line "-- axes:" of a spec lists. Each spec
# runs in a separate process. As many processes run in parallel as there are
# processors, at most four (LANES), and one more for the hosts, which mostly
# wait; the specs on the axis "alone" run at the end, one by one. Logs are in
# build/test/PASS/, results in build/test/results.
set -eu
cd "$(dirname "$0")/.."
. spec/support/build.sh
. spec/hosts/ready.sh

out=build/test
# These start first, because they take long.
slow='contributing conformance property nginx states saving overflow
      extreme_sizes fuzz embed move copy commute registration_order memory oom
      out_of_memory reproducible process neovim haproxy'
# timeout of a spec, in seconds; ten times as long under valgrind
LIMIT=900

# -- Passes --------------------------------------------------------------------

# Prints the instruction sets of core/os/isa.def that this machine has, the
# best one last.
isas() {
  [ -z "${ISAS:-}" ] || { printf '%s' "$ISAS"; return; } # for docs/tested.md
  list=core/os/isa.def words= found=
  [ ! -r /proc/cpuinfo ] ||
    words=$(sed -n -E '/^(flags|Features)/{p;q;}' /proc/cpuinfo)
  has() { for word; do case " $words " in *" $word "*) ;; *) return 1 ;; esac
          done; }
  sed -n 's/^ST_ISA(\([^,]*\), *\([^,]*\), *\([^)]*\)).*/\1 \2 \3/p' $list |
  while read -r isa processor below; do
    case $processor in any|$(uname -m)) ;; *) continue ;; esac
    case " $found $isa " in *" $below "*) ;; *) continue ;; esac
    has $(sed -n "s/^ST_ISA_FLAGS($isa, *\(.*\)).*/\1/p" $list) || continue
    printf '%s' "${found:+ }$isa"
    found="$found $isa"
  done
}

# rows COMMAND: prints its passes. Those of the sanitizers come last: the others
# run while their builds are made.
#     pass, build, Lua, STRIDED_ISA, STRIDED_NUM_THREADS, axis of its specs
rows() {
  best=$(isas); best=${best##* }
  case $1 in
    test)
      echo "luajit build luajit - - all"
      echo "hosts build luajit - - hosts"
      for isa in $(isas); do
        [ $isa = $best ] || echo "luajit-$isa build luajit $isa - isa"
      done
      echo "luajit-threads build luajit - 3 threads"
      # Lua 5.1 to 5.3 differ from the others in what few specs ask for: 5.2
      # has no integers, and 5.3 those of 5.4.
      echo "lua5.1 build lua5.1 - - lua5.1"
      echo "lua5.2 build lua5.2 - - lua5.2"
      echo "lua5.3 build lua5.3 - - lua5.2"
      echo "lua5.4 build lua5.4 - - lua5.4"
      echo "luacheck - - - - luacheck"
      rows tsan
      echo "san-lua5.1 build/san lua5.1 - - sanitized"
      echo "san-luajit build/san luajit - - ffi" ;;
    all)
      for lua in luajit lua5.1; do
        echo "$lua build $lua - - all"
        for isa in $(isas); do
          [ $isa = $best ] || echo "$lua-$isa build $lua $isa - all"
        done
      done
      echo "luajit-threads build luajit - 3 threads"
      for lua in lua5.2 lua5.3 lua5.4; do echo "$lua build $lua - - all"; done
      rows hosts; rows lint; rows guard; rows tsan; rows san ;;
    san)
      for lua in lua5.1 luajit; do
        echo "san-$lua build/san $lua - - all"
      done
      for isa in $(isas); do
        [ $isa = $best ] || echo "san-luajit-$isa build/san luajit $isa - isa"
      done ;;
    guard)
      for isa in $(isas); do
        for side in end start; do
          echo "guard-$side-$isa build/guard luajit $isa - isa"
        done
      done ;;
    tsan)  echo "tsan build/tsan luajit - - tsan" ;;
    hosts) echo "hosts build luajit - - hosts" ;;
    lint)  echo "luacheck - - - - luacheck" ;;
    grind) echo "grind build/grind lua5.1 - 2 all" ;;
    clang) echo "clang build/clang luajit - - all" ;;
    lines)
      echo "lines build/lines luajit - - all"
      for isa in $(isas); do
        [ $isa = $best ] || echo "lines-$isa build/lines luajit $isa - isa"
      done ;;
    *) die "no such tests: $1" ;;
  esac
}

# files AXIS: prints the specs that a pass runs, out of $chosen (all specs, if
# it is empty), the slow ones first. Specs on the axis unsanitized test Lua code
# and texts rather than the engine. All others run in Lua 5.1 with sanitizers,
# so the pass without them runs only those.
files() {
  case $1 in
    luacheck) [ -n "$chosen" ] || echo -; return ;;
    hosts) end=_host ;;
    tsan) end=threads_spec ;;
    *) end=_spec ;;
  esac
  all=${chosen:-$(find spec -name "*$end.lua" | sort)}
  first=$(for name in $slow; do
            for file in $all; do
              case $file in */${name}_*.lua) echo "$file" ;; esac
            done
          done)
  for file in $first $all; do
    case " $listed " in *" $file "*) continue ;; esac
    listed="$listed $file"
    case $file in *"$end.lua") ;; *) continue ;; esac
    case $1 in
      all|hosts|tsan) echo "$file" ;;
      lua5.1) if has_axis lua && has_axis unsanitized; then echo "$file"; fi ;;
      sanitized) has_axis unsanitized || echo "$file" ;;
      lua5.4) if has_axis lua || has_axis lua5.4; then echo "$file"; fi ;;
      *) ! has_axis $1 || echo "$file" ;;
    esac
  done
}

has_axis() { case " $(axes "$file") " in *" $1 "*) ;; *) return 1 ;; esac; }

axes() { [ "$1" = - ] || sed -n '/^-- axes: /{s///p;q;}' "$1"; }

# -- A job ---------------------------------------------------------------------

# asan LUA: prints the environment for a run with the sanitized build.
asan() {
  # libasan's guess of where glibc keeps the thread-local data of a dlopened
  # library is sometimes wrong, and then the leak checker crashes. LuaJIT maps
  # its own memory, so leaks are checked under plain Lua only.
  leaks=1
  [ "$1" != luajit ] || leaks=0
  echo "LD_PRELOAD=$(gcc -print-file-name=libasan.so) STRIDED_SANITIZED=1"
  echo "UBSAN_OPTIONS=print_stacktrace=1"
  options=allocator_may_return_null=1:intercept_tls_get_addr=0
  echo "ASAN_OPTIONS=$options:detect_leaks=$leaks"
}

# ThreadSanitizer fails with too much address space randomization.
tame() { if setarch -R true 2>/dev/null; then echo "setarch -R"; fi; }

# Reports uses of uninitialized values, except in the fuzzer's output.
valgrind_for() {
  values=yes
  case $1 in */fuzz_spec.lua) values=no ;; esac
  echo "valgrind -q --error-exitcode=99 --undef-value-errors=$values
    --leak-check=full --show-leak-kinds=definite
    --errors-for-leak-kinds=definite"
}

# Prints the environment for a run with guard pages at the end of every block or
# at its start, as the name of the pass says.
guard() {
  side=${1#guard-}
  echo "LD_LIBRARY_PATH=$root/build/guard STRIDED_GUARD=${side%%-*}"
  echo "STRIDED_SANITIZED=1 GUARD_STEP=${GUARD_STEP:-1}"
}

# part FILE: prints one of how many tests of a spec the pass runs. Where a whole
# ./dev test runs a spec again for another Lua, instruction set or number of
# threads, or with sanitizers, the line "-- sampled: N" makes it one of N.
part() {
  every=
  case $pass-${SAMPLED:-} in
    luajit-yes|hosts-yes|tsan-yes) ;;
    *-yes) every=$(sed -n '/^-- sampled: /{s///p;q;}' "$1") ;;
  esac
  echo ${every:-1}
}

# run_spec FILE: runs busted, in the pass that the variables of `job` describe.
run_spec() {
  case $build in */guard) use build ;; *) use "$build" ;; esac
  every=$(part "$1")
  set -- "$(command -v busted)" -o plainTerminal "$1"
  [ "$every" = 1 ] || set -- "$@" --helper=spec/support/sampled.lua
  case $build in
    */san) set -- $(asan $lua) $lua "$@" ;;
    */guard) set -- $(guard $pass) $lua "$@" ;;
    */tsan) set -- STRIDED_TSAN="$root/build/tsan" $(tame) $lua "$@" ;;
    */grind)
      LIMIT=$((LIMIT * 10))
      set -- $(valgrind_for "$4") $lua "$@" ;;
    *) set -- $lua "$@" ;;
  esac
  [ $isa = - ] || set -- STRIDED_ISA=$isa "$@"
  [ $threads = - ] || set -- STRIDED_NUM_THREADS=$threads "$@"
  # Threads of parallel processes must not spin while they wait.
  set -- OMP_WAIT_POLICY="${OMP_WAIT_POLICY:-passive}" "$@"
  number=$(grep -n "^$pass " $out/passes | cut -d: -f1)
  set -- STRIDED_SAMPLED="$every $number" "$@"
  timeout --foreground $LIMIT \
    env -u STRIDED_ISA -u STRIDED_NUM_THREADS "$@" </dev/null
}

# counted LOG: prints how many tests passed, failed and were skipped. A run that
# crashes before its summary counts as one failure.
counted() {
  line=$(grep -E '^[0-9]+ success' "$1" | tail -n 1)
  set -- "$1" $(echo "$line" | sed 's/[^0-9 ]//g')
  if [ $# -lt 5 ]; then echo 0 1 0; return; fi
  bad=$(($3 + $4))
  [ $bad != 0 ] || tail -n 1 "$1" | grep -q '^exit code 0$' || bad=1
  echo $2 $bad $5
}

counted_luacheck() {
  set -- $(sed -n 's/^Total: //p' "$1" | sed 's/[^0-9 ]//g')
  if [ $# -lt 3 ]; then echo 0 1 0
  elif [ $(($1 + $2)) = 0 ]; then echo $3 0 0
  else echo 0 $(($1 + $2)) 0; fi
}

# Makes a build that other jobs wait for, on half of the processors.
make_build() {
  CMAKE_BUILD_PARALLEL_LEVEL=$((($(nproc) + 1) / 2))
  kernels=native
  ! awk -v folder="build/$1" '$2 == folder && $4 != "-" && $4 != "base" {
        found = 1 } END { exit !found }' $out/passes || kernels=all
  (HAS_RELEASE=$(grep '^build - ' $out/results || true); build_$1 $kernels)
}

# job PASS FILE: runs a job, writes its log, and appends its result.
job() {
  pass=$1 file=$2
  read -r build lua isa threads rest <<END
$(sed -n "s/^$pass //p" $out/passes)
END
  log=$out/$pass/$(basename "$file" .lua).log
  mkdir -p $out/$pass
  begin=$(date +%s%N)
  case $build in build/*)
    while [ ! -e $out/$(basename $build).made ]; do sleep 0.5; done
    grep -q yes $out/$(basename $build).made || return 0
    begin=$(date +%s%N) ;;
  esac
  code=0
  case $pass in
    build-*) make_build ${pass#build-} >"$log" 2>&1 || code=$? ;;
    luacheck) luacheck -q --no-color . >"$log" 2>&1 || code=$? ;;
    *) run_spec "$file" >"$log" 2>&1 || code=$? ;;
  esac
  echo "exit code $code" >>"$log"
  time=$((($(date +%s%N) - begin) / 1000000))
  case $pass in
    build-*)
      made=yes result='0 0 0'
      [ $code = 0 ] || made=no result='0 1 0'
      echo $made >$out/${pass#build-}.made ;;
    luacheck) result=$(counted_luacheck "$log") ;;
    *) result=$(counted "$log") ;;
  esac
  set -- $result
  echo "$pass $file $time $result" >>$out/results
  printf '%-14s %-44s %5d passed, %d failed, %d ms\n' \
    "$pass" "$file" "$1" "$2" "$time" >&2
  [ "$2" = 0 ] || cat "$log" >&2
}

# -- All of them ---------------------------------------------------------------

# plan SPECS <ROWS: appends a line "PASS FILE" per job to queue, beside or
# alone.
plan() {
  chosen=$1
  while read -r pass build lua isa threads axis; do
    listed=
    found=$(files $axis)
    [ -n "$found" ] || continue
    if [ $lua != - ] && ! $lua -e 'require "busted"' >/dev/null 2>&1; then
      echo "$pass: busted is not packaged for $lua here" >>$out/left_out
      continue
    fi
    echo "$pass $build $lua $isa $threads $axis" >>$out/passes
    for file in $found; do
      to=queue
      [ $pass != hosts ] || to=beside
      case " $(axes "$file") " in *" alone "*) to=alone ;; esac
      echo "$pass $file" >>$out/$to
    done
  done
}

# Makes the builds that the passes need: build/ now, the others as first jobs.
build_all() {
  ! grep -q '^luacheck' $out/passes || need lint
  ! grep -q '^hosts' $out/passes || ready_hosts
  if grep -q -E '^[^ ]* build(/guard)? ' $out/passes; then
    begin=$(date +%s%N)
    build_release all
    echo "build - $((($(date +%s%N) - begin) / 1000000)) 0 0 0" >>$out/results
    echo yes >$out/guard.made
  fi
  : >$out/builds
  for folder in tsan san grind lines clang; do
    grep -q "^[^ ]* build/$folder " $out/passes || continue
    echo "build-$folder - - - - -" >>$out/passes
    echo "build-$folder -" >>$out/builds
  done
}

# Prints the passes in order with their sums, the slowest specs, and the output
# of the hosts.
report() {
  awk -v wall=$1 '
    { if (!($1 in specs)) { order[++n] = $1 }
      specs[$1]++; ms[$1] += $3; good[$1] += $4; bad[$1] += $5 }
    END {
      printf "\n%-16s %6s %8s %8s %9s\n", "pass", "specs", "passed",
             "failed", "seconds"
      for (i = 1; i <= n; i++) {
        p = order[i]
        printf "%-16s %6d %8d %8d %9.1f\n", p, specs[p], good[p], bad[p],
               ms[p] / 1000
        all += ms[p]
      }
      printf "%-16s %6s %8s %8s %9.1f in %d s\n", "together", "", "", "",
             all / 1000, wall
    }' $out/results
  printf '\nthe slowest\n'
  grep -v '^build' $out/results | sort -k 3 -n -r | head -n 10 |
    awk '{ printf "%9.1f  %-14s %s\n", $3 / 1000, $1, $2 }'
  for log in $out/hosts/*.log; do
    [ -e "$log" ] || continue
    sed -n 's/^host: /host: /p' "$log"
    sed -n '/^Pending -> /{n;n;s/^[^ ]*: /left out: /p;}' "$log"
  done
  [ ! -e $out/left_out ] || sed 's/^/left out: /' $out/left_out
  awk '$5 > 0 { print "failed: " $1 " " $2 }' $out/results
}

# main COMMAND [SPEC...]: runs all passes of a command.
main() {
  what=$1; shift
  if [ $what = test ]; then
    case ${1:-} in all|clang) what=$1; shift ;; esac
  fi
  # Specs that run a sample of their cases run all of them.
  case $what-$# in
    all-*) export STRIDED_WHOLE=1 OTHER= ;;
    hosts-*) export STRIDED_WHOLE=1 ;;
    test-0) export SAMPLED=yes ;;
  esac
  began=$(date +%s)
  chosen=
  for name; do chosen="$chosen $(find_spec "$name")"; done
  rm -rf $out
  mkdir -p $out
  : >$out/passes; : >$out/results
  : >$out/queue; : >$out/beside; : >$out/alone
  rows $what >$out/rows
  need build test image mpi
  want plot eig
  luajit -e 'require "busted"' || die "busted does not run under luajit"
  plan "$chosen" <$out/rows
  build_all
  lanes=${LANES:-$(nproc)}
  [ $lanes -le 4 ] || lanes=4
  job='sh spec/test_matrix.sh job'
  # A job in the background does not hear Ctrl-C.
  [ ! -s $out/beside ] || xargs -n 2 $job <$out/beside &
  trap "kill $! 2>/dev/null; exit 130" INT TERM
  cat $out/builds $out/queue | xargs -P $lanes -n 2 $job || true
  wait
  trap - INT TERM
  [ ! -s $out/alone ] || xargs -n 2 $job <$out/alone || true
  lost=$(($(cd $out; cat builds queue beside alone | wc -l) -
          $(grep -v -c '^build - ' $out/results || true)))
  [ $lost = 0 ] || echo "not-run - 0 0 $lost 0" >>$out/results
  report $(($(date +%s) - began)) >&2
  say
  awk '{ good += $4; bad += $5 }
       END { printf "%d passed, %d failed\n", good, bad; exit bad > 0 }' \
    $out/results
}

case $1 in
  job) shift; job "$@" ;;
  rows) shift; rows "$@" ;;
  *) main "$@" ;;
esac
