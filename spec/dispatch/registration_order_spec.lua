--- What is registered is a set: in whatever order registrations come and go,
-- the dispatcher is as if those in force had come in one fixed order
-- (R6). Among equals, such as two kernels of one operator and key,
-- their order counts and nothing else.
-- axes: none
-- sampled: 3

local places = require "spec.conformance.places"
local st = require "strided"
local raises = require("spec.support.tensors").raises

local unpack = unpack or table.unpack

local NS = "commute"

-- Orders of closing per order of opening, where every call takes its time.
local SAMPLE = os.getenv "STRIDED_SANITIZED" and 4 or nil

local ran -- places of the kernels that the last call ran

--- A kernel that says where it was registered.
local function at(place)
  return function() ran[#ran + 1] = place end
end

-- -- Registrations -----------------------------------------------------------

-- One step of a scenario: a library that is opened and filled, or closed.
-- `rank` names what it competes for; steps of one rank do not commute.

local function library(kind, steps)
  return {open = function()
    local lib = st.library(NS, kind)
    for _, step in ipairs(steps) do places.at(step[1], lib, unpack(step, 2)) end
    return lib
  end}
end

local function def(schema, place)
  local step = library("FRAGMENT", {{place or "def", "def", schema}})
  step.rank = "def " .. schema:match "^[^%(]*"
  return step
end

local function impl(name, key, place, kernel)
  place = place or name .. "_" .. key
  kernel = kernel or at(place)
  local step = library("IMPL", {{place, "impl", name, key, kernel}})
  step.rank = "impl " .. name .. " " .. key
  return step
end

local function through(name, key, place)
  return impl(name, key, place, "fallthrough")
end

--- rank: "Autograd" and "AutogradCPU" compete for the same slots.
local function fallback(key, place, rank, kernel)
  place = place or "fallback_" .. key
  return {rank = "fallback " .. (rank or key), open = function()
    local lib = st.library("_", "IMPL")
    places.at(place, lib, "fallback", key, kernel or at(place))
    return lib
  end}
end

-- -- Scenarios ---------------------------------------------------------------

local F = "f(Tensor x) -> ()"
local IMPLICIT = "CompositeImplicitAutograd"
local EXPLICIT = "CompositeExplicitAutograd"

local ALL = {"f", "f.two", "g"}

-- name, steps; names: the operators to watch, or f; strict: also when nothing
-- may be replaced
local SCENARIOS = {
  {"a definition and runtime keys", strict = true,
   def(F), impl("f", "CPU"), impl("f", "CUDA"), impl("f", "AutogradCPU")},
  {"an Autograd kernel beside backends",
   def(F), impl("f", "Autograd"), impl("f", "CPU"), impl("f", "AutogradCPU")},
  {"implicit beside a backend and its Autograd key",
   def(F), impl("f", IMPLICIT), impl("f", "CPU"), impl("f", "AutogradCPU")},
  {"implicit beside explicit and a backend of AutogradOther",
   def(F), impl("f", IMPLICIT), impl("f", EXPLICIT), impl("f", "FPGA")},
  {"AutogradOther, ambiguous unless it has a kernel",
   def(F), impl("f", IMPLICIT), impl("f", "SparseCPU"),
   impl("f", "AutogradOther")},
  {"both explicit keys beside a backend",
   def(F), impl("f", EXPLICIT), impl("f", "XLA"),
   impl("f", "CompositeExplicitAutogradNonFunctional")},
  {"nested tensors",
   def(F), impl("f", IMPLICIT), impl("f", "NestedTensorCPU"),
   impl("f", "CompositeImplicitAutogradNestedTensor")},
  {"kernels of one key, the newest of which runs",
   def(F), impl("f", "CPU", "one"), impl("f", "CPU", "two"),
   impl("f", "CPU", "three")},
  {"kernels of one alias key",
   def(F), impl("f", IMPLICIT, "one"), impl("f", IMPLICIT, "two"),
   impl("f", "CPU")},
  {"fallthroughs", strict = true,
   def(F), impl("f", "CPU"), through("f", "AutogradCPU"),
   impl("f", "AutogradCUDA")},
  {"a fallthrough over a kernel",
   def(F), impl("f", "CPU", "below"), through("f", "CPU", "above"),
   fallback("CPU")},
  {"keys that fall through by default",
   def(F), impl("f", "ADInplaceOrView"), impl("f", "BackendSelect"),
   impl("f", "CPU")},
  {"a fallback of a runtime key", strict = true,
   def(F), impl("f", "Negative"), fallback("Negative"), impl("f", "CPU")},
  {"a fallback of an alias key", strict = true,
   def(F), fallback("Autograd"), impl("f", "CPU"), impl("f", "AutogradCPU")},
  {"a fallthrough fallback of an alias key",
   def(F), fallback(EXPLICIT, nil, nil, "fallthrough"), impl("f", "CPU"),
   impl("f", IMPLICIT)},
  {"fallbacks of one key",
   def(F), fallback("Tracer", "one"), fallback("Tracer", "two"),
   impl("f", "CPU")},
  {"fallbacks whose keys overlap",
   def(F), fallback("Autograd", "all", "autograd"),
   fallback("AutogradCPU", "one", "autograd"), impl("f", IMPLICIT)},
  {"definitions of one operator, the newest of which counts",
   def(F, "one"), def("f(Tensor x, *, int n=1) -> ()", "two"),
   impl("f", "CPU"), impl("f", IMPLICIT)},
  {"overloads", names = ALL,
   def(F), def "f.two(Tensor x, int n=2) -> ()", impl("f.two", "CPU"),
   impl("f", "CPU")},
  {"libraries of several registrations", strict = true, names = ALL,
   library("DEF", {{"all", "def", F},
                   {"all", "impl", "f", "CPU", at "all"}}),
   library("FRAGMENT", {
     {"two", "def", "f.two(Tensor x, int n=2) -> ()"},
     {"two", "impl", "f.two", at "two"}, {"three", "def", "g(Tensor x) -> ()"},
   }),
   library("IMPL", {{"more", "impl", "f", "CUDA", at "more"},
                    {"more", "impl", "f.two", "CPU", at "more"},
                    {"more", "impl", "g", EXPLICIT, at "more"}})},
  {"five at a time", sample = 3,
   def(F), impl("f", "CPU"), impl("f", IMPLICIT), impl("f", "Autograd"),
   impl("f", "CUDA")},
  {"two of a kind", strict = true, def(F), impl("f", IMPLICIT)},
}

-- -- Orders ------------------------------------------------------------------

--- All orders of 1 .. n, in lexical order.
local function permutations(n)
  local out = {}
  local function extend(list, used)
    if #list == n then out[#out + 1] = {unpack(list)} end
    for i = 1, n do
      if not used[i] then
        used[i], list[#list + 1] = true, i
        extend(list, used)
        used[i], list[#list] = nil, nil
      end
    end
  end
  extend({}, {})
  return out
end

--- count of them, evenly spread; all without a count.
local function spread(list, count)
  if not count or count >= #list then return list end
  local out = {}
  for k = 1, count do
    out[k] = list[1 + math.floor((k - 1) * (#list - 1) / (count - 1))]
  end
  return out
end

--- The steps in force in a fixed order that keeps that of equals: places of
-- a rank are taken by its steps in the order in which they came.
local function canonical(steps, in_force)
  local sorted, queues, taken = {unpack(in_force)}, {}, {}
  table.sort(sorted)
  for _, i in ipairs(in_force) do
    local rank = steps[i].rank or i
    queues[rank] = queues[rank] or {}
    table.insert(queues[rank], i)
  end
  for k, i in ipairs(sorted) do
    local rank = steps[i].rank or i
    taken[rank] = (taken[rank] or 0) + 1
    sorted[k] = queues[rank][taken[rank]]
  end
  return sorted
end

-- -- What can be seen --------------------------------------------------------

local operators = {} -- of these names, defined or not
local tensor

local function learn()
  local lib = st.library(NS, "FRAGMENT")
  for _, name in ipairs(ALL) do
    lib:def(name .. "() -> ()")
    local base, overload = name:match "^(%w+)%.?(%w*)$"
    operators[name] = st.ops[NS][base][overload == "" and "default" or overload]
  end
  lib:close()
  tensor = st.zeros(1)
end

--- What a call does. It computes the table that the next one would use, were
-- it not dropped.
local function call(name)
  ran = {}
  local ok, why = pcall(operators[name], tensor)
  return table.concat(ran, ", ") .. (ok and "" or tostring(why):match "^[^\n]*")
end

--- Everything about the operators as one text.
local function look(names)
  local parts = {}
  for _, name in ipairs(names or ALL) do
    parts[#parts + 1] = call(name)
    parts[#parts + 1] = st.dump(NS .. "::" .. name)
    parts[#parts + 1] = operators[name]:table()
  end
  parts[#parts + 1] = table.concat(st.dangling_impls(), "\n")
  return table.concat(parts, "\n")
end

local function registry()
  require "spec.support.collect" ()
  return st.memory().registry.count
end

-- -- The harness -------------------------------------------------------------

local function close(libraries)
  for _, lib in pairs(libraries) do lib:close() end
end

--- What there is to see when these steps are in force, in this order.
local function expected(scenario, order, known)
  local key = table.concat(order, " ")
  if not known[key] then
    local libraries = {}
    for _, i in ipairs(order) do libraries[i] = scenario.steps[i].open() end
    known[key] = look(scenario.names)
    close(libraries)
  end
  return known[key]
end

local function remove(list, value)
  for k, v in ipairs(list) do
    if v == value then return table.remove(list, k) end
  end
end

--- Opens in one order and closes in another. `seen` are beginnings that were
-- looked at before: from there on the operators are only called, so that the
-- next step meets tables that are computed.
local function run(scenario, up, down, known, seen)
  local steps = scenario.steps
  local libraries, in_force, history = {}, {}, ""
  local function check()
    if seen[history] then
      for _, name in ipairs(scenario.names) do call(name) end
      return
    end
    seen[history] = true
    local want = known[table.concat(canonical(steps, in_force), " ")]
    assert.equal(want, look(scenario.names), history)
  end
  for _, i in ipairs(up) do
    libraries[i] = steps[i].open()
    in_force[#in_force + 1], history = i, history .. " +" .. i
    check()
  end
  if up == down then st.check_registry() end
  for _, i in ipairs(down) do
    libraries[i]:close()
    remove(in_force, i)
    history = history .. " -" .. i
    check()
  end
end

--- Every state that the steps can reach, by its canonical order.
local function states(scenario, orders)
  local known, steps = {}, scenario.steps
  for _, order in ipairs(orders) do
    for mask = 0, 2 ^ #steps - 1 do
      local in_force = {}
      for _, i in ipairs(order) do
        if math.floor(mask / 2 ^ (i - 1)) % 2 == 1 then
          in_force[#in_force + 1] = i
        end
      end
      expected(scenario, canonical(steps, in_force), known)
    end
  end
  return known
end

local function commute(scenario)
  scenario.steps = {unpack(scenario, 2)}
  scenario.names = scenario.names or {"f"}
  local orders, seen = permutations(#scenario.steps), {}
  local known = states(scenario, orders)
  for _, up in ipairs(orders) do
    for _, down in ipairs(spread(orders, scenario.sample or SAMPLE)) do
      run(scenario, up, down, known, seen)
    end
  end
end

describe("Registrations commute:", function()
  local nothing

  setup(function()
    learn()
    nothing = look()
  end)

  after_each(function()
    st.strict_registration(false)
    require "spec.support.collect" () -- what a failure left open
  end)

  for _, scenario in ipairs(SCENARIOS) do
    for _, strict in ipairs {false, scenario.strict} do
      it(scenario[1] .. (strict and ", strictly" or ""), function()
        st.strict_registration(strict)
        commute(scenario)
        assert.equal(nothing, look())
      end)
    end
  end

  it("nothing remains of them", function()
    local before = registry()
    commute(SCENARIOS[1])
    assert.equal(before, registry())
    assert.equal(nothing, look())
  end)
end)

-- -- Equals ------------------------------------------------------------------

-- what is registered three times, as one, two and three; the key to look at
local EQUALS = {
  {"kernels of a key (R5)", "CPU", function(n) return impl("f", "CPU", n) end},
  {"kernels of an alias key", "XLA", function(n)
    return impl("f", IMPLICIT, n)
  end},
  {"a fallthrough over kernels", "CPU", function(n)
    return impl("f", "CPU", n, n == "two" and "fallthrough" or nil)
  end},
  {"fallbacks of a key", "Tracer", function(n)
    return fallback("Tracer", n)
  end},
  {"fallbacks of keys that overlap", "AutogradCPU", function(n)
    return fallback(n == "two" and "AutogradCPU" or "Autograd", n)
  end},
}

describe("Of equals the newest counts:", function()
  local lib

  before_each(function()
    learn()
    lib = st.library(NS, "FRAGMENT")
    lib:def(F)
  end)

  after_each(function()
    lib:close()
    require "spec.support.collect" ()
  end)

  for _, row in ipairs(EQUALS) do
    it(row[1], function()
      local function kernel() return (operators.f:kernel(row[2])) end
      local default = kernel()
      local one = row[3]("one").open()
      assert.equal("one:1", kernel())
      local two = row[3]("two").open()
      assert.equal("two:1", kernel())
      local three = row[3]("three").open()
      assert.equal("three:1", kernel())
      three:close()
      assert.equal("two:1", kernel())
      one:close()
      assert.equal("two:1", kernel())
      one = row[3]("one").open()
      assert.equal("one:1", kernel())
      two:close()
      one:close()
      assert.equal(default, kernel())
    end)
  end

  it("definitions", function()
    local f = operators.f
    local newer = def("f(Tensor x, *, int n=1) -> ()", "newer").open()
    assert.equal("commute::f(Tensor x, *, int n=1) -> ()", f:schema())
    assert.matches("\nschema: commute::f%(Tensor x%) %-> %(%), of .-inactive",
                   st.dump "commute::f")
    newer:close()
    assert.equal("commute::f(Tensor x) -> ()", f:schema())
  end)

  it("and dumps show the others as inactive", function()
    local one, two = impl("f", "CPU", "one").open(),
                     impl("f", "CPU", "two").open()
    assert.matches("\nCPU: two:1 :: [^\n]*%]\nCPU: one:1 :: [^\n]*%]" ..
                   " %(inactive%)", st.dump "commute::f")
    two:close()
    assert.matches("\nCPU: one:1 :: [^\n]*%]$", st.dump "commute::f")
    one:close()
  end)
end)

-- -- Failures ----------------------------------------------------------------

-- what fails, libraries to open, what is done with the last, what it says;
-- only strictly, or only when things may be replaced
local FAILURES = {
  {"a malformed schema", {"DEF"}, {"def", "h(Tensr x) -> ()"}, "unknown type"},
  {"a malformed schema with a kernel", {"DEF"},
   {"def", "h(Tensr x) -> ()", at "h"}, "unknown type"},
  {"a name that is none", {"IMPL"}, {"impl", "h h", "CPU", at "h"},
   "not the name of an operator"},
  {"an overload that is none", {"IMPL"}, {"impl", "f.", "CPU", at "h"},
   "not the name of an operator"},
  {"a key that is none", {"IMPL"}, {"impl", "f", "Abacus", at "h"},
   "no dispatch key 'Abacus'"},
  {"a kernel for Undefined", {"IMPL"}, {"impl", "f", "Undefined", at "h"},
   "nothing can be registered"},
  {"a fallback for a key that is none", {"_"}, {"fallback", "Abacus", at "h"},
   "no dispatch key 'Abacus'"},
  {"another namespace", {"DEF"}, {"def", "other::h() -> ()"},
   "another namespace"},
  {"a kernel of another namespace", {"IMPL"},
   {"impl", "other::h", "CPU", at "h"}, "not in the namespace"},
  {"a kernel for another key than the library's", {"IMPL CUDA"},
   {"impl", "f", "CPU", at "h"}, "for the key CUDA"},
  {"a definition in an IMPL library", {"IMPL"}, {"def", "h() -> ()"},
   "cannot define"},
  {"a fallback in a namespace", {"IMPL"}, {"fallback", "CPU", at "h"},
   "it needs an IMPL library"},
  {"a second definition", {"FRAGMENT"}, {"def", F}, "already defined",
   strict = true},
  {"a second definition in the same library", {"FRAGMENT"},
   {"def", "f.two(Tensor x) -> ()"}, "already defined", strict = true},
  {"a second fallback", {"_"}, {"fallback", "Tracer", at "h"},
   "already has the fallback", strict = true},
  {"a fallback of an alias key beside one of a runtime key", {"_"},
   {"fallback", "Autograd", at "h"}, "already has the fallback",
   strict = true},
}

local function open(kind)
  if kind == "_" then return st.library("_", "IMPL") end
  return st.library(NS, kind:match "^%w+", kind:match "^%w+ (%w+)$")
end

describe("A failed registration changes nothing:", function()
  local base, more -- what is registered meanwhile

  before_each(function()
    st.strict_registration(true)
    learn()
    base, more = st.library(NS, "FRAGMENT"), st.library("_", "IMPL")
    base:def(F):impl("f", "CPU", at "f"):def "f.two(Tensor x, int n=1) -> ()"
    base:impl("g", "CPU", at "g")
    more:fallback("Tracer", at "tracer")
    more:fallback("AutogradCPU", at "autograd")
  end)

  after_each(function()
    base:close()
    more:close()
    base, more = nil, nil
    st.strict_registration(false)
  end)

  for _, row in ipairs(FAILURES) do
    for _, strict in ipairs(row.strict and {true} or {true, false}) do
      it(row[1] .. (strict and "" or ", not strict"), function()
        st.strict_registration(strict)
        local lib = open(row[2][1])
        local before, count
        for _ = 1, 2 do -- the first one keeps names for good
          before, count = look(), registry()
          raises(row[4], places.at, "failing", lib, unpack(row[3]))
        end
        assert.equal(before, look())
        assert.equal(count, registry())
        lib:close()
        assert.equal(before, look())
      end)
    end
  end

  it("a second owner of the namespace", function()
    local owner = st.library(NS, "DEF")
    owner:def "g(Tensor x) -> ()"
    local before = look()
    raises({"the namespace 'commute'", "FRAGMENT"}, st.library, NS, "DEF")
    assert.equal(before, look())
    owner:impl("g", "CUDA", at "owner") -- is still open
    owner:close()
  end)

  it("a library that is closed", function()
    local lib = st.library(NS, "FRAGMENT")
    lib:close()
    local before = look()
    raises("'commute' is closed", lib.def, lib, "h() -> ()")
    raises("'commute' is closed", lib.impl, lib, "f", "CPU", at "h")
    assert.equal(before, look())
  end)

  it("a body that raises half way", function()
    local before = look()
    local ok, why = pcall(st.library, NS, "FRAGMENT", function(lib)
      lib:def "g(Tensor x) -> ()"
      lib:impl("f", "CPU", at "body")
      error "enough"
    end)
    assert.is_false(ok)
    assert.matches("enough", why)
    assert.equal(before, look())
    raises("commute::f is already defined", st.library, NS, "FRAGMENT",
           function(lib)
      lib:impl("f", "CPU", at "body")
      lib:def(F) -- is defined
    end)
    assert.equal(before, look())
  end)

  -- method and arguments, library
  local allocating = {
    {"FRAGMENT", "def", "g(Tensor x) -> ()"},
    {"IMPL", "impl", "f", "CUDA", at "cuda"},
    {"IMPL", "impl", "g", IMPLICIT, "fallthrough"},
    {"_", "fallback", "Conjugate", at "conjugate"},
  }
  for _, row in ipairs(allocating) do
    it(("no memory for %s %s"):format(row[2], row[3]), function()
      local k, before = 0, look()
      local ok, lib
      repeat
        k = k + 1
        lib = open(row[1])
        st.memory_fail_at(k)
        local why
        ok, why = pcall(lib[row[2]], lib, unpack(row, 3))
        st.memory_fail_at(0)
        if not ok then
          assert.matches("memory", tostring(why))
          assert.equal(before, look())
          lib:close()
        end
        assert.is_true(k < 50)
      until ok
      assert.is_true(k > 2)
      assert.not_equal(before, look())
      lib:close()
      assert.equal(before, look())
    end)
  end
end)
