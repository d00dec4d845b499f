--- Replays what concerns the dispatcher: schemas and dispatch tables. A
-- checker returns true; false and why; nil and what is not supported; or nil,
-- what is different on purpose, and true.

local api = require "spec.conformance.api"
local deviations = require "spec.conformance.deviations"
local places = require "spec.conformance.places"
local reader = require "spec.conformance.reader"

local st, null = api.st, reader.null

local registry = {}

local function differ(what, got, want)
  return false, ("%s is %s, should be %s"):format(what, tostring(got),
                                                  tostring(want))
end

--- The first of {what, got, want} that differs, if any.
local function all(checks)
  for _, c in ipairs(checks) do
    if c[2] ~= c[3] then return differ(c[1], c[2], c[3]) end
  end
  return true
end

-- -- Types -------------------------------------------------------------------

-- Kinds that PyTorch's type objects spell another way.
local SPELLINGS = {
  Scalar = "number", ScalarType = "int", Layout = "int", MemoryFormat = "int",
}

--- "Optional[List[int]]"
local function annotation(a)
  local text = SPELLINGS[a.kind] or a.kind
  if a.elem_optional then text = ("Optional[%s]"):format(text) end
  if a.list then text = ("List[%s]"):format(text) end
  if a.optional then text = ("Optional[%s]"):format(text) end
  return text
end

--- "a|b" -> "a|b", its parts in order
local function sorted(sets)
  local parts = {}
  for part in sets:gmatch "[^|]+" do parts[#parts + 1] = part end
  table.sort(parts)
  return table.concat(parts, "|")
end

--- "(b|a! -> c)" -> "a|b", "c", true
local function alias_parts(alias)
  local inner = alias:sub(2, -2)
  local before, after = inner:match "^(.-) %-> (.*)$"
  before, after = before or inner, after or inner
  return sorted((before:gsub("!", ""))), sorted((after:gsub("!", ""))),
         before:find("!", 1, true) ~= nil
end

local function check_alias(what, a, want)
  if want == null then
    return all {{what .. ": alias", a.alias, nil},
                {what .. ": is_write", a.is_write, false}}
  end
  if not a.alias then return differ(what .. ": alias", nil, "there") end
  local before, after, write = alias_parts(a.alias)
  local checks = {{what .. ": written", write, want.write},
                  {what .. ": is_write", a.is_write, want.write}}
  if #want.before > 0 then -- else it is that of the elements
    checks[3] = {what .. ": before", before,
                 sorted(table.concat(want.before, "|"))}
    checks[4] = {what .. ": after", after,
                 sorted(table.concat(want.after, "|"))}
  end
  return all(checks)
end

-- -- Defaults ----------------------------------------------------------------

local ESCAPES = {n = "\n", t = "\t", r = "\r"}

--- What Python writes between quotes.
local function unquote(text)
  return (text:gsub("\\(.)(%x?%x?)", function(c, hex)
    if c == "x" then return string.char(tonumber(hex, 16)) end
    return (ESCAPES[c] or c) .. hex
  end))
end

local WORDS = {None = "nil", True = "true", False = "false"}

--- A value that Python printed, as literal() prints ours.
local function python_literal(text)
  local quoted = text:match "^(['\"]).*%1$"
  if quoted then return ("%q"):format(unquote(text:sub(2, -2))) end
  local inner = text:match "^%[(.*)%]$"
  if not inner then
    return WORDS[text] or ("%.17g"):format(tonumber(text))
  end
  local parts = {}
  for part in inner:gmatch "[^,%s]+" do
    parts[#parts + 1] = python_literal(part)
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function literal(value)
  if type(value) == "number" then return ("%.17g"):format(value) end
  if type(value) == "string" then return ("%q"):format(value) end
  if type(value) ~= "table" then return tostring(value) end
  local parts = {}
  for i = 1, #value do parts[i] = literal(value[i]) end
  return "{" .. table.concat(parts, ",") .. "}"
end

-- Enumerations, which PyTorch prints as numbers.
local ENUMERATIONS = {
  ScalarType = {[0] = '"uint8"', '"int8"', '"int16"', '"int32"', '"int64"',
                '"float16"', '"float32"', '"float64"'},
  Layout = {[0] = '"strided"'},
  MemoryFormat = {[0] = '"contiguous_format"'},
}

local function check_default(what, a, want)
  if want == null then return true end
  local number = tonumber(want)
  local names = number and ENUMERATIONS[a.kind]
  return all {{what .. ": default", literal(a.default),
               names and names[number] or python_literal(want)}}
end

-- -- schemas -----------------------------------------------------------------

local function check_type(what, a, want)
  if a.kind == "other" then return true end
  local n = want.N
  if n == null then n = nil end
  return all {{what .. ": type", annotation(a), want.type},
              {what .. ": list size", a.n, n}}
end

local function check_argument(i, a, want)
  local what = "argument " .. i
  local ok, why = all {
    {what .. ": name", a.name, want.name},
    {what .. ": kwarg_only", a.kwarg_only, want.kwarg},
    {what .. ": has_default", a.has_default, want.has_default},
  }
  if ok then ok, why = check_type(what, a, want) end
  if ok then ok, why = check_default(what, a, want.default) end
  if ok then ok, why = check_alias(what, a, want.alias) end
  return ok, why
end

local function check_result(i, r, want)
  local what = "result " .. i
  local ok, why = all {{what .. ": name", r.name, want.name}}
  if ok then ok, why = check_type(what, r, want) end
  if ok then ok, why = check_alias(what, r, want.alias) end
  return ok, why
end

--- The name of a type that no operator of strided takes, or nil.
local function foreign_type(list)
  for _, a in ipairs(list) do
    if a.kind == "other" then
      return "type " .. (a.type:match "^[%w_.]+" or "tuple")
    end
  end
end

function registry.schemas(case)
  local s = st.schema(case.str)
  local ok, why = all {
    {"text", s.text, case.str}, {"name", s.name, case.name},
    {"overload", s.overload, case.overload},
    {"is_mutable", s.is_mutable, case.mutable},
    {"number of arguments", #s.args, #case.args},
    {"number of results", #s.returns, #case.rets},
  }
  for i = 1, ok and #s.args or 0 do
    ok, why = check_argument(i, s.args[i], case.args[i])
    if not ok then return ok, why end
  end
  for i = 1, ok and #s.returns or 0 do
    ok, why = check_result(i, s.returns[i], case.rets[i])
    if not ok then return ok, why end
  end
  if not ok then return ok, why end
  local foreign = foreign_type(s.args) or foreign_type(s.returns)
  if foreign then return nil, foreign end
  return true
end

-- -- schema_parse ------------------------------------------------------------

local SCRATCH = "vectors" -- the namespace of what is only tried

--- As PyTorch has it, without a namespace where the input has none.
local function parse(input)
  local has_namespace = input:match "^[^(]*" :find("::", 1, true)
  local ok, s = pcall(st.schema, input, not has_namespace and SCRATCH or nil)
  if not ok then return nil, s end
  return (s.text:gsub("^" .. SCRATCH .. "::", ""))
end

--- A name alone is no schema, but one may register kernels for it.
local function check_name(input)
  local name = input:find("::", 1, true) and input or SCRATCH .. "::" .. input
  local lib = st.library(name:match "^(.-)::", "IMPL")
  local ok, why = pcall(lib.impl, lib, name, "CPU", function() end)
  lib:close()
  return ok, "refused as a name: " .. tostring(why)
end

--- Is it taken and refused as in PyTorch?
local function agrees(case)
  local text, why = parse(case.input)
  if not text and not tostring(why):find "at position %d+ of" then
    return false, "refused without a position: " .. tostring(why)
  end
  if case.str then return all {{"text", text or why, case.str}} end
  if text then return differ("text", text, case.error or "refused") end
  if case.name_only then return check_name(case.input) end
  return true
end

function registry.schema_parse(case)
  local ok, why = agrees(case)
  if ok or not case.str then return ok, why end
  local reason, words = deviations.of_schema(case.input)
  local text, message = parse(case.input)
  if not reason or text or not tostring(message):find(words, 1, true) then
    return false, why
  end
  return nil, case.input .. "  (" .. reason .. ")", true
end

-- -- dispatch_tables ---------------------------------------------------------

local KEYS = {
  "Undefined", "CPU", "CUDA", "XLA", "Meta", "FPGA", "QuantizedCPU",
  "SparseCPU", "MkldnnCPU", "BackendSelect", "Python", "Functionalize",
  "Named", "Conjugate", "Negative", "ZeroTensor", "ADInplaceOrView",
  "AutogradOther", "AutogradCPU", "AutogradCUDA", "AutogradXLA",
  "AutogradMeta", "Tracer", "AutocastCPU",
}
local OURS = {Python = "Lua"}
-- Where PyTorch has a fallback that does something, and so has strided or it
-- has none.
local WORKING = {"Python", "Conjugate", "Negative", "ZeroTensor"}
local STAND_INS = {"Functionalize", "Named", "Tracer"}

--- The kernel, without the line of its place, and why it is there.
local function slot(op, key)
  local kernel, provenance = op:kernel(OURS[key] or key)
  return (kernel:gsub(":%d+$", "")), provenance
end

--- An operator foo with a kernel fn_<key> per key; the caller closes the
-- library.
local function scratch(keys)
  local lib = st.library(SCRATCH, "FRAGMENT")
  local ok, why = pcall(function()
    lib:def "foo(Tensor x) -> Tensor"
    for _, key in ipairs(keys) do
      places.at("fn_" .. key, lib, "impl", "foo", key,
                function(x) return x end)
    end
  end)
  if ok then return lib, st.ops[SCRATCH].foo end
  lib:close()
  error(why, 0)
end

local in_tree -- what stands in for the fallbacks of PyTorch's process
local own     -- key -> the engine's own fallback, before that
local working -- key -> the fallback where PyTorch has a working one

--- The engine's fallbacks by key.
local function fallbacks()
  local lib, foo = scratch {}
  local found = {}
  for _, key in ipairs(KEYS) do
    local kernel, provenance = slot(foo, key)
    found[key] = provenance == "backend fallback" and kernel or nil
  end
  lib:close()
  return found
end

local function enter()
  if in_tree then return end
  own, working = fallbacks(), {}
  in_tree = st.library("_", "IMPL")
  for _, key in ipairs(WORKING) do
    assert(own[key] and not own[key]:find "^fallthrough",
           key .. " has no fallback that works")
    working[key] = own[key]
  end
  for _, key in ipairs(STAND_INS) do
    assert(not own[key], key .. " has a fallback of its own")
    working[key] = "in-tree"
    places.at("in-tree", in_tree, "fallback", key, function() end)
  end
end

--- Takes back what the checks of dispatch tables had registered.
function registry.leave()
  if in_tree then in_tree:close() end
  in_tree, own, working = nil, nil, nil
end

local function is_fallthrough(kernel)
  return kernel:find "^fallthrough" ~= nil
end

local MISSING = {"missing", "missing"}

--- Is it the engine's own fallback, a fallthrough unless a rule says more?
local function check_own(key, kernel, deviation)
  if kernel ~= own[key] then return differ(key, kernel, own[key]) end
  if is_fallthrough(kernel) == not deviation then return true end
  return differ(key, kernel, deviation or "a fallthrough")
end

local function check_slot(foo, key, want)
  local kernel, provenance = slot(foo, key)
  local name, why = want[1], want[2]
  local more = want == MISSING and deviations.of_fallback(key, true)
  if more then why = "backend fallback" end
  if provenance ~= why then return differ(key, provenance, why) end
  if more then return check_own(key, kernel, more) end
  if name == "fallthrough in-tree" then
    return check_own(key, kernel, deviations.of_fallback(key))
  end
  if name == "in-tree" then name = working[key] end
  if kernel ~= name then return differ(key, kernel, name) end
  return true
end

function registry.dispatch_tables(case)
  enter()
  local lib, foo = scratch(case.reg)
  local ok, why = true, nil
  for _, key in ipairs(KEYS) do
    ok, why = check_slot(foo, key, case.table[key] or MISSING)
    if not ok then break end
  end
  lib:close()
  return ok, why
end

return registry
