--- Measures the cost of calls against PyTorch: from C and C++, Lua and Python.
--
--     ./dev bench overhead
--
-- Compiles overhead/overhead.c and .cpp, then lets the four programs of
-- overhead/ take turns for some rounds, on one thread, and prints a table; the
-- measurements themselves go to build/bench/overhead.jsonl.
--
-- peers.lua says where PyTorch is installed. An environment variable:
--
--     STRIDED_BENCH_ROUNDS  the number of rounds (3)
--
-- Compare numbers of one run only: machines differ, and the speed of one
-- machine varies with time. The fastest sample is the least disturbed one.

local peers = require "bench.peers"

local line, output, quote, run, say =
  peers.line, peers.output, peers.quote, peers.run, peers.say

local ROUNDS = tonumber(os.getenv "STRIDED_BENCH_ROUNDS") or 3

-- -- The rows of the table ---------------------------------------------------

-- A row has a title, which is also the name of its case unless `case` says
-- otherwise, or for our side alone `ours`. With `minus` it shows how much
-- longer the case takes than that one.
local SECTIONS = {
  {"The dispatcher, from C", ours = "C", theirs = "C++",
    {"boxed call, boxed kernel"},
    {"boxed call, unboxed kernel"},
    {"unboxed call, boxed kernel"},
    {"unboxed call, unboxed kernel"},
    {"a hop to the next key, boxed", case = "boxed call and hop",
     minus = "boxed call, boxed kernel"},
    {"a hop to the next key, unboxed", case = "unboxed call and hop",
     minus = "unboxed call, unboxed kernel"},
  },
  {"One element, from C", ours = "C", theirs = "C++",
    {"empty(1)"},
    {"add(a, b)"},
    {"add(a, b), boxed"},
    {"add_(a, b)"},
    {"add_out(out, a, b)"},
    {"alias(a)"},
    {"view(a, {1, 1})"},
    {"add(a, b), in inference mode", ours = "add(a, b)"},
    {"add_(a, b), in inference mode", ours = "add_(a, b)"},
    {"alias(a), in inference mode", ours = "alias(a)"},
    {"view(a, {1, 1}), in inference mode", ours = "view(a, {1, 1})"},
  },
  {"One element, from Lua", ours = "Lua", theirs = "Python",
    {"a + b"},
    {"a + 1"},
    {"a:add_(b)"},
    {"st.add(a, b, {out =})"},
    {"st.ops.aten.add.Tensor(a, b)"},
    {"a kernel in the script"},
    {"a:sum()"},
    {"st.empty(1)"},
    {"a:view(1, 1)"},
    {"m:t()"},
    {"m[i], a view"},
    {"v[i], a number"},
    {"a:item()"},
    {"a + b, in inference mode", ours = "a + b"},
    {"a:add_(b), in inference mode", ours = "a:add_(b)"},
    {"a:view(1, 1), in inference mode", ours = "a:view(1, 1)"},
  },
  {"A million elements, from Lua", ours = "Lua", theirs = "Python",
    {"add"},
    {"exp"},
    {"add of a transpose"},
    {"copy of a transpose"},
    {"sum"},
    {"sum over rows"},
    {"sort in rows"},
  },
}

-- -- Programs ----------------------------------------------------------------

local BUILD = peers.build()
local OUT = BUILD .. "/bench"
local HERE = arg[0]:match "^(.*)%.lua$"

--- One processor for everything, if the system lets us choose.
local function pin()
  local last = tonumber(output "nproc 2>/dev/null")
  local prefix = last and "taskset -c " .. last - 1 .. " "
  if prefix and run(prefix .. "true 2>/dev/null") then return prefix end
  say "not pinned to a processor: no taskset"
  return ""
end

local COMPILER_LOG = "2>" .. quote(OUT .. "/compiler.log")

local function compile_c()
  return run(line({os.getenv "CC" or "cc", "-std=c11", "-O2", "-Wall",
                   "-Wextra", "-I" .. BUILD .. "/include",
                   HERE .. "/overhead.c", "-o", OUT .. "/overhead-c",
                   "-L" .. BUILD .. "/lib", "-lstrided",
                   "-Wl,-rpath," .. BUILD .. "/lib"}, COMPILER_LOG))
end

--- Against the libraries of the package. Those of other devices that they
-- name need not be there to link.
local function compile_cpp(python)
  local folder, abi = output(line({python, "-c", [[
import os, torch
print(os.path.dirname(torch.__file__), int(torch.compiled_with_cxx11_abi()))
]]})):match "^(.*) (%d)$"
  if not folder then return false end
  return run(line({os.getenv "CXX" or "c++", "-std=c++20", "-O2", "-Wall",
                   "-Wextra", "-D_GLIBCXX_USE_CXX11_ABI=" .. abi,
                   "-isystem", folder .. "/include", "-isystem",
                   folder .. "/include/torch/csrc/api/include",
                   HERE .. "/overhead.cpp", "-o", OUT .. "/overhead-cpp",
                   "-L" .. folder .. "/lib", "-Wl,--no-as-needed", "-ltorch",
                   "-ltorch_cpu", "-lc10", "-Wl,--allow-shlib-undefined",
                   "-Wl,-rpath," .. folder .. "/lib"}, COMPILER_LOG))
end

--- The programs that can run, in the order of their turns.
local function programs()
  local list = {}
  local function add(name, command)
    list[#list + 1] = {name = name, command = command}
  end
  if compile_c() then add("C", line {OUT .. "/overhead-c"})
  else say("no figures from C: see ", OUT, "/compiler.log") end
  local python, reason = peers.python()
  if not python then
    say("no figures of PyTorch: ", reason)
  elseif not run "command -v \"${CXX:-c++}\" >/dev/null" then
    say "no figures from C++: no compiler"
  elseif compile_cpp(python) then add("C++", line {OUT .. "/overhead-cpp"})
  else say("no figures from C++: see ", OUT, "/compiler.log") end
  add("Lua", line {"luajit", HERE .. "/overhead.lua"})
  if python then add("Python", line {python, HERE .. "/overhead.py"}) end
  return list
end

-- -- Measuring ---------------------------------------------------------------

--- Runs a program once: its measurements into program.cases, as
-- {fastest = {...}, median = {...}}, and its lines into the file.
local function take_turn(program, prefix, round, file)
  local name = OUT .. "/turn.jsonl"
  if not run(prefix .. program.command .. " >" .. quote(name)) then
    program.broken = true
    os.remove(name)
    say("no figures from ", program.name, ": its program failed")
    return
  end
  for text in io.lines(name) do
    file:write((text:gsub("^{", ('{"program": "%s", "round": %d, ')
                                  :format(program.name, round))), "\n")
    program.about = text:match '"about": "(.-)"' or program.about
    local case = text:match '"case": "(.-)"'
    if case then
      local entry = program.cases[case] or {fastest = {}, median = {}}
      program.cases[case] = entry
      for key, list in pairs(entry) do
        list[#list + 1] = tonumber(text:match('"' .. key .. '": ([%d.]+)'))
      end
    end
  end
  os.remove(name)
end

--- The fastest sample of all rounds, and the median of the rounds' medians.
local function summarize(cases)
  for _, entry in pairs(cases) do
    table.sort(entry.fastest)
    table.sort(entry.median)
    entry.fastest = entry.fastest[1]
    entry.median = entry.median[math.ceil(#entry.median / 2)]
  end
end

--- {C = {cases = {name = {fastest =, median =}}, about =}, Lua = ...}
local function measure(list, prefix, file)
  local by_name = {}
  for _, program in ipairs(list) do
    program.cases = {}
    by_name[program.name] = program
  end
  for round = 1, ROUNDS do
    for _, program in ipairs(list) do
      if not program.broken then
        say(("round %d of %d: %s"):format(round, ROUNDS, program.name))
        take_turn(program, prefix, round, file)
      end
    end
  end
  for _, program in ipairs(list) do summarize(program.cases) end
  return by_name
end

-- -- Printing ----------------------------------------------------------------

local FORMAT = "%-34s %9s %9s %9s %9s %5s"

--- The fastest and the median; nil when the case was not measured.
local function figures(program, case, minus)
  local entry = program and program.cases[case]
  if not entry then return nil end
  if not minus then return entry.fastest, entry.median end
  local fastest, median = figures(program, minus)
  if not fastest then return nil end
  return entry.fastest - fastest, entry.median - median
end

local function shown(ns)
  return ns and (ns < 100 and "%.1f" or "%.0f"):format(ns) or "-"
end

local function print_section(section, by_name)
  local ours, theirs = by_name[section.ours], by_name[section.theirs]
  print()
  print(FORMAT:format(section[1], section.ours, "median", section.theirs,
                      "median", "ratio"))
  for i = 2, #section do
    local row = section[i]
    local title, case = row[1], row.case or row[1]
    local a, a_median = figures(ours, row.ours or case, row.minus)
    local b, b_median = figures(theirs, case, row.minus)
    -- A second look at a figure of ours needs one of theirs.
    if b or not row.ours then
      print(FORMAT:format(title, shown(a), shown(a_median), shown(b),
                          shown(b_median),
                          a and b and ("%.2f"):format(b / a) or "-"))
    end
  end
end

local function print_all(list, by_name)
  local about = {}
  for _, program in ipairs(list) do about[#about + 1] = program.about end
  print(peers.processor())
  print(table.concat(about, "; "))
  print("ns of processor time, fastest and median; ratio: theirs to ours")
  for _, section in ipairs(SECTIONS) do print_section(section, by_name) end
end

-- -- The run -----------------------------------------------------------------

assert(run(line {"mkdir", "-p", OUT}))
local prefix = "OMP_NUM_THREADS=1 MKL_NUM_THREADS=1 " .. pin()
local list = programs()
local file = assert(io.open(OUT .. "/overhead.jsonl", "w"))
local by_name = measure(list, prefix, file)
file:close()
print_all(list, by_name)
