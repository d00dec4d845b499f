--- Fuzzing of what is no operator: subscripts, tables, methods, files,
-- libraries and iterators. Each function makes a round from a case.

local st = require "strided"
local core = require "strided.core"
local operators = require "spec.fuzz.operators"
local values = require "spec.fuzz.values"

local concat = table.concat

local M = {}

-- -- Subscripts --------------------------------------------------------------

local function item(c)
  local k = c:int(1, 9)
  if k <= 2 then return values.integer(c) end
  if k <= 4 then return c:list(c:int(0, 3), values.integer) end
  if k == 5 then return c:pick {st.newaxis, st.ellipsis, true, false} end
  if k <= 7 then return values.tensor(c) end
  if k == 8 then
    local t = values.tensor(c)
    local mask = pcall(t.gt, t, 1) and t:gt(1) or t
    return mask
  end
  return values.odd(c)
end

local PIECES = {
  "1", "2", "-1", "3", "0", ":", "1:2", "2:", ":2", "::2", "1:9:3", "-2:-1",
  "...", "newaxis", "None", " ", ",", "99999999999999999999", "x", "1:", "-",
  "9223372036854775807", "-9223372036854775808", "\0", "1.5", "::0",
}

local function subscript(c)
  local k = c:int(1, 4)
  if k == 1 then return item(c) end
  if k <= 3 then return c:list(c:int(0, c:chance(0.02) and 200 or 4), item) end
  return concat(c:list(c:int(0, 4), c.pick, PIECES), c:pick {", ", ",", ""})
end

local function assigned(c)
  local k = c:int(1, 5)
  if k <= 2 then return values.integer(c) end
  if k <= 4 then return values.tensor(c) end
  return c:chance(0.5) and c:list(c:int(0, 3), values.integer) or
         values.odd(c)
end

function M.subscript(c)
  local t, key = values.tensor(c), subscript(c)
  if c:chance(0.3) then key = item(c) end
  local writes = c:chance(0.5)
  local value = writes and assigned(c) or nil
  local text = values.show(t) .. "[" .. values.show(key) .. "]"
  if writes then text = text .. " = " .. values.show(value) end
  return {
    text = text, writes = writes,
    tensors = operators.tensors_of({t, key, value}, {}),
    run = function()
      if writes then t[key] = value
      else operators.look_at(c, {t[key]}) end
    end,
  }
end

-- -- Tables ------------------------------------------------------------------

local function nested(c, depth)
  if depth == 0 or c:chance(0.03) then
    if c:chance(0.05) then return values.odd(c) end
    return c:chance(0.3) and values.argument(c, "Scalar") or values.integer(c)
  end
  local n = c:int(0, 3)
  local out = {}
  for i = 1, n do
    out[i] = c:chance(0.1) and out[1] or nested(c, depth - 1)
    local o = out[i]
    if type(o) == "table" and i > 1 and c:chance(0.7) then
      out[i] = out[1]
    end
  end
  if c:chance(0.02) then out[1] = out end
  if c:chance(0.02) then out[n + 5] = 1 end
  return out
end

function M.table(c)
  local v = nested(c, c:int(0, 5))
  local options = c:chance(0.7) and {
    dtype = c:chance(0.8) and c:pick(values.DTYPES) or nil,
    device = c:chance(0.1) and c:pick {"cpu", "meta", "x"} or nil,
  } or nil
  if c:chance(0.05) then options = values.odd(c) end
  return {
    text = "tensor(a nested table, " .. values.show(options) .. ")",
    tensors = {},
    run = function()
      local t = st.tensor(v, options)
      operators.look_at(c, {t})
      if t.device == "cpu" then t:totable() end
    end,
  }
end

-- -- Methods that are no operators -------------------------------------------

local METHODS = {
  "size", "stride", "dim", "numel", "element_size", "storage_offset",
  "data_ptr", "storage", "is_alias_of", "is_contiguous", "is_dense",
  "suggest_memory_format", "keys", "totable", "tostring_bytes", "free",
}

local TOUCHES = {
  function(c, t) return core.get_bytes(t, values.integer(c), 3) end,
  function(c, t) return core.get_bytes(t, 0, values.integer(c)) end,
  function(c, t) return core.set_bytes(t, values.integer(c), "abc") end,
  function(_, t) return tostring(t) end,
  function(_, t) return #t end,
  function(_, t) return -t end,
  function(c, t) return t + values.odd(c) end,
  function(c, t) return st.complex(1, 2) * t / values.argument(c, "Scalar") end,
  function(c, t) return t % values.integer(c) end,
  function(c, t) return t ^ values.argument(c, "Scalar") end,
  function(c, t) return t[c:pick {"shape", "dtype", "nothing", "add", "ndim"}]
  end,
  function(c) return core.keyset(values.odd(c), values.odd(c)) end,
  function(c)
    return st.trace(c:pick {st.add, type, st.neg}, values.odd(c))
  end,
  function(c, t) return st.trace(st.add, t, values.integer(c)) end,
  function(c) return st.Generator(values.odd(c)) end,
  function(c) return st.int(values.odd(c)) end,
  function(c) return st.complex(values.odd(c), values.odd(c)) end,
  function(c) return st.help(values.odd(c)) end,
  function(c) return core.packet(values.odd(c)) end,
}

function M.method(c)
  local t = values.tensor(c)
  local touch, text = c:pick(TOUCHES), "an odd use of "
  if c:chance(0.5) then
    local name = c:pick(METHODS)
    local arg = c:chance(0.5) and values.odd(c) or values.integer(c)
    text = name .. " of "
    touch = function() return t[name](t, arg) end
  end
  return {text = text .. values.show(t), tensors = {t}, writes = true,
          run = function() operators.look_at(c, {touch(c, t)}) end}
end

-- -- Files -------------------------------------------------------------------

local TOKENS = {
  "(99999999999,)", "(4503599627370496, 2)", "(3,", "()", "(2,3)", "(0, 9)",
  "'<f8'", "'>c16'", "'|b1'", "'|O'", "True", "False", "{", "}", "'shape'",
  "'descr': ", ("1, "):rep(70), ("("):rep(200), "\0", "-1", "1e9",
}

local function mutate(c, s)
  for _ = 1, c:int(0, 3) do
    local at = c:int(1, math.max(#s, 1))
    local k = c:int(1, 6)
    if k == 1 then s = s:sub(1, at)
    elseif k == 2 then s = s:sub(1, at) .. s:sub(c:int(1, #s + 1))
    elseif k == 3 then
      s = s:sub(1, at - 1) .. c:pick(TOKENS) .. s:sub(at + c:int(0, 8))
    else
      if c:chance(0.7) then at = c:int(1, math.min(128, math.max(#s, 1))) end
      s = s:sub(1, at - 1) .. string.char(c:int(0, 255)) .. s:sub(at + 1)
    end
  end
  return s
end

local path

function M.file(c)
  path = path or os.tmpname()
  local t = values.tensor(c)
  return {
    text = "a broken file of " .. values.show(t), tensors = {t},
    run = function()
      st.save(path, t)
      local file = assert(io.open(path, "rb"))
      local bytes = mutate(c, file:read "*a")
      file:close()
      file = assert(io.open(path, "wb"))
      file:write(bytes)
      file:close()
      operators.look_at(c, {st.load(path)})
    end,
  }
end

--- Removes the file that the rounds share.
function M.close()
  if path then os.remove(path) end
  path = nil
end

-- -- Iterators ---------------------------------------------------------------

local FLAGS = {
  "check_mem_overlap", "allow_cpu_scalars", "is_reduction", "resize_outputs",
  "check_all_same_dtype", "check_all_same_device",
  "enforce_safe_casting_to_output", "enforce_linear_iteration",
  "promote_inputs_to_common_dtype", "promote_integer_inputs_to_float",
  "cast_common_dtype_to_outputs",
}

local PRESETS = {"unary", "unary_float", "force_boolean", "binary",
                 "binary_float", "comparison", "ternary", "nullary", "reduce",
                 "copy"}
local ODD = {"inputs", "outputs", "dtype", "preset", "static_dtype",
             "static_shape", "squash_dims"}

--- Elements in and out of reach, and loops, one of which resizes.
local function run_by_hand(c, plan)
  local n = #plan.operands
  for _ = 1, 4 do
    local k, at = c:int(0, n + 1), c:int(-64, 256)
    pcall(plan.get, plan, k, at)
    pcall(plan.set, plan, k, at, values.integer(c))
  end
  pcall(plan.get, plan, values.odd(c), values.integer(c))
  pcall(plan.set, plan, c:int(1, n), values.integer(c), values.odd(c))
  pcall(plan.chunks, plan, values.integer(c), values.integer(c))
  pcall(plan.run, plan, function(at, stride, n0, n1)
    for k = 1, n do
      plan:get(k, at[k])
      plan:get(k, at[k] + (n0 - 1) * stride[k] + (n1 - 1) * stride[n + k])
    end
    local out = plan.outputs[1]
    if out and c:chance(0.1) then out:resize_({c:int(0, 40)}) end
  end)
  return tostring(plan)
end

function M.iterator(c)
  local options = {}
  for _, name in ipairs(FLAGS) do
    if c:chance(0.4) then options[name] = c:chance(0.5) end
  end
  options.outputs = c:list(c:int(0, c:chance(0.05) and 20 or 2), function()
    return c:chance(0.5) and values.tensor(c)
  end)
  options.inputs = c:list(c:int(0, 3), values.tensor)
  if c:chance(0.5) then options.dtype = c:pick(values.DTYPES) end
  if c:chance(0.3) then options.preset = c:pick(PRESETS) end
  if c:chance(0.2) then
    options.static_shape = c:list(c:int(0, 4), c.int, 0, 3)
    if c:chance(0.3) then options.squash_dims = {c:int(-4, 4)} end
  end
  if c:chance(0.2) then options.static_dtype = c:pick(values.DTYPES) end
  if c:chance(0.1) then options[c:pick(ODD)] = values.odd(c) end
  return {
    text = "iterator " .. values.show(options), writes = true,
    tensors = operators.tensors_of(options, {}),
    run = function()
      local plan = st.iterator(options)
      operators.look_at(c, plan.outputs)
      local n = tonumber(plan.numel)
      if n < 5000 then
        local first = c:int(0, n)
        plan:steps(first, c:int(first, n))
        pcall(plan.steps, plan, values.integer(c), values.integer(c))
        run_by_hand(c, plan)
      end
    end,
  }
end

return M
