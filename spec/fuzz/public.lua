--- Fuzzing of all that is no operator: every function of the module and every
-- method of every kind of object, one after the other, with any arguments.

local st = require "strided"
local core = require "strided.core"
local operators = require "spec.fuzz.operators"
local values = require "spec.fuzz.values"

local ipairs, pairs, pcall, tostring, type =
  ipairs, pairs, pcall, tostring, type
local unpack = unpack or table.unpack -- luacheck: ignore 143

local M = {}

-- Functions that are left out, with the reason.
local LEFT_OUT = {
  set_home = "once, for init.lua", set_index = "once, for init.lua",
  set_metamethod = "once, for comparison.lua",
  set_compiler = "keeps its argument, once, for expression.lua",
  wait_input = "waits for input",
  catch_interrupts = "takes signals", interruptible = "takes signals",
  memory_fail_at = "what the fuzzer itself makes fail with",
  sandbox = "for good", seal = "for good", close_sandbox = "for good",
  run_program = "starts programs", make_folder = "writes anywhere",
  make_private = "writes anywhere",
  append = "writes anywhere", open_aside = "writes files anywhere",
  save = "writes files anywhere",
  create = "writes files anywhere",
  write_csv = "writes files anywhere", tofile = "writes files anywhere",
  ["core.from_dlpack"] = "takes any pointer",
  ["core.frombuffer"] = "takes any pointer",
  from_arrow = "takes any pointer", to_arrow = "takes any pointer",
}

-- -- Objects -----------------------------------------------------------------

local function nothing() end

local function open_library(c)
  c.nlibs = (c.nlibs or 0) + 1
  local lib = st.library("public" .. c.nlibs)
  lib:def "f(Tensor a) -> Tensor"
  return lib
end

local function new_plan(c)
  local t = values.tensor(c)
  local ok, plan = pcall(st.iterator, {outputs = {false}, inputs = {t}})
  return ok and plan or st.iterator {outputs = {false}, inputs = {st.ones(2)}}
end

-- what makes one, names of its methods where its metatable does not show them
local OBJECTS = {
  {"tensor", values.tensor, core.methods},
  {"keyset", function() return st.keyset("CPU", "AutogradCPU") end},
  {"generator", function() return st.Generator(7) end},
  {"operator", function() return st.ops.aten.add.Tensor end},
  {"packet", function() return st.ops.aten.add end},
  {"library", open_library},
  {"dtype", function() return st.float32 end},
  {"schema", function() return st.schema "x::f(Tensor a) -> Tensor" end},
  {"listener", function() return st.listen(nothing) end},
  {"capsule", function() return st.ones(2):to_dlpack() end},
  {"source", function() return core.open_bytes "some bytes" end},
  {"plan", new_plan, {
    steps = true, chunks = true, get = true, set = true, cast_outputs = true,
    is_scalar = true, is_dim_reduced = true, run = true, narrow = true,
    split = true, split_32bit = true, remove_operand = true,
    replace_operand = true}},
}

-- -- The list ----------------------------------------------------------------

local function is_operator(name)
  return pcall(function() return core.packet("aten::" .. name):overloads() end)
end

local function add(list, name, call)
  list[#list + 1] = {name = name, call = call}
end

local function add_functions(list, prefix, from)
  for name in pairs(from) do
    local is_ours = from == core or prefix == "lazy." or
                    core[name] == nil and not is_operator(name)
    if type(from[name]) == "function" and is_ours and
       not LEFT_OUT[name] and not LEFT_OUT[prefix .. name] then
      add(list, prefix .. name, function(_, ...) return from[name](...) end)
    end
  end
end

local function methods_of(object)
  local meta = debug.getmetatable(object)
  local index = meta and meta.__index
  return type(index) == "table" and index or {}
end

local function add_methods(list, kind, make, methods)
  for name in pairs(methods) do
    if type(name) == "string" and not LEFT_OUT[name] and
       not is_operator(name) then
      add(list, kind .. ":" .. name, function(c, ...)
        local object = c:chance(0.95) and make(c) or values.odd(c)
        return object[name](object, ...)
      end)
    end
  end
end

--- What the module loads when it is used.
local function lazy()
  local out = {}
  for name in pairs(debug.getmetatable(st).names()) do out[name] = st[name] end
  return out
end

--- Every public function: {{name =, call = function(case, ...)}, ...}.
function M.functions()
  local c = values.case(1, 1)
  local list = {}
  add_functions(list, "core.", core)
  add_functions(list, "st.", st)
  add_functions(list, "lazy.", lazy())
  if type(core.memory) == "table" then
    add_functions(list, "memory.", core.memory)
  end
  for _, row in ipairs(OBJECTS) do
    local kind, make, methods = unpack(row)
    add_methods(list, kind, make, methods or methods_of(make(c)))
  end
  table.sort(list, function(a, b) return a.name < b.name end)
  return list
end

-- -- Arguments ---------------------------------------------------------------

local TEXTS = {
  "CPU", "aten::add", "aten::add.Tensor", "add", "float32", "x", "", "\0",
  "f(Tensor a) -> Tensor", "geo", "_", "DEF", "IMPL", "r", "cpu", "meta",
  "r+", ("x"):rep(300), "%s%n", "1, 2:3",
}

--- Anything but what would print.
local function odd(c)
  local v = values.odd(c)
  return v == print and nothing or v
end

local ARGUMENTS = {
  values.tensor, values.tensor, odd, values.integer, values.integer,
  function(c) return c:pick(TEXTS) end,
  function(c) return c:pick(TEXTS) end,
  function() return nothing end,
  function(c) return function() return odd(c) end end,
  function() return function() error("a callback", 0) end end,
  function() return function(...) return ... end end,
  function(c) return c:list(c:int(0, 3), values.tensor) end,
  function(c) return c:list(c:int(0, 4), values.integer) end,
  function(c) return {[c:pick(TEXTS)] = odd(c)} end,
  function(c) return {dtype = c:pick(values.DTYPES), shape = {2}} end,
  function(c) return {outputs = {false}, inputs = {values.tensor(c)}} end,
  function(c)
    return {before = nothing, after = nothing, values = c:chance(0.5)}
  end,
  function(c) return c:pick(OBJECTS)[2](c) end,
  function() return nil end,
}

-- -- Rounds ------------------------------------------------------------------

-- What is the process's or the state's is put back after a round.
local function remember()
  local threads, dtype = st.get_num_threads(), st.get_default_dtype()
  local print_options = st.get_printoptions()
  local strict = st.strict_registration(false)
  local warns = st.warnings(false)
  return function()
    st.set_num_threads(threads)
    st.set_default_dtype(dtype)
    st.set_printoptions(print_options)
    st.strict_registration(strict and true or false)
    st.warnings(warns)
    if type(st.memory) == "table" then
      st.memory.set_limit()
      if M.cache_limit == nil then
        M.cache_limit = st.memory.stats().cache_limit
      end
      st.memory.set_cache_limit(M.cache_limit)
    end
  end
end

--- What a call may have handed out for good.
local function take_back(result)
  if type(result) == "string" then pcall(st.unshare, result) end
end

--- One of the functions, or this one, with anything.
function M.round(c, _, f)
  M.list = M.list or M.functions()
  f = f or c:pick(M.list)
  local n = c:int(0, 4)
  local args = {}
  for i = 1, n do args[i] = c:pick(ARGUMENTS)(c) end
  return {
    text = f.name .. " with " .. n .. " arguments", writes = true,
    tensors = operators.tensors_of(args, {}),
    run = function()
      local put_back = remember()
      local results = {pcall(f.call, c, unpack(args, 1, n))}
      put_back()
      take_back(results[2])
      if not results[1] then error(results[2], 0) end
      for i = 2, #results do
        if not st.is_tensor(results[i]) then pcall(tostring, results[i]) end
      end
    end,
  }
end

return M
