--- nn.summary: shapes, parameters, work and memory of a network, by Meta
-- tensors, so that no element is computed.
--
--     print(nn.summary(net, st.empty {1, 3, 224, 224}))
--
-- @module strided.nn.summary

local st = require "strided"
local module = require "strided.nn.module"
local raise = require "strided.argument.caller_error"

local concat, format, getmetatable, ipairs, is_tensor, max, pairs, rep, select,
  setmetatable, tostring, type = table.concat, string.format, getmetatable,
  ipairs, st.is_tensor, math.max, pairs, string.rep, select, setmetatable,
  tostring, type
local unpack = unpack or table.unpack

-- -- Work --------------------------------------------------------------------

local function product(t, from)
  local n = 1
  for d = from or 1, t.ndim do n = n * t.shape[d] end
  return n
end

--- Multiply-adds by operator: functions of the arguments. Other operators that
-- multiply are composed of these.
local WORK = {
  ["aten::mm"] = function(a, b) return product(a) * b.shape[2] end,
  ["aten::addmm"] = function(_, a, b) return product(a) * b.shape[2] end,
  ["aten::bmm"] = function(a, b) return product(a) * b.shape[3] end,
  ["aten::baddbmm"] = function(_, a, b) return product(a) * b.shape[3] end,
  ["aten::mv"] = function(a) return product(a) end,
  ["aten::addmv"] = function(_, a) return product(a) end,
  ["aten::dot"] = function(a) return product(a) end,
  ["aten::_rnn_layer"] = function(gates, _, _, weight)
    return product(gates) * weight.shape[weight.ndim]
  end,
}

--- Multiply-adds of a convolution: each element of the output, or of the input
-- if it is transposed, meets one filter.
local function convolution(output, input, weight, transposed)
  return product(transposed and input or output) * product(weight, 2)
end

--- Calls body and gives the work of operators to add(n).
local function observe(add, body)
  local pending -- the arguments of a convolution
  st.observe({
    values = true,
    before = function(op, ...)
      local name = op:name()
      local work = WORK[name]
      if work then add(work(...)) end
      if name == "aten::convolution" then
        pending = {(...), (select(2, ...)), (select(7, ...))}
      end
    end,
    after = function(op, ok, output)
      if pending and op:name() == "aten::convolution" then
        if ok then
          add(convolution(output, pending[1], pending[2], pending[3]))
        end
        pending = nil
      end
    end,
  }, body)
end

-- -- Rows --------------------------------------------------------------------

--- The shapes of the tensors among values, those in lists too, and their bytes.
local function describe(values, list)
  local bytes = 0
  for _, value in pairs(values) do
    if is_tensor(value) then
      list[#list + 1] = tostring(value.shape)
      bytes = bytes + value.nbytes
    elseif type(value) == "table" and getmetatable(value) == nil then
      bytes = bytes + describe(value, list)
    end
  end
  return bytes
end

local function size_of(list)
  local bytes = 0
  for _, t in ipairs(list) do
    bytes = bytes + t.nbytes
  end
  return bytes
end

local function row_of(name, layer)
  local _, depth = name:gsub("%.", "")
  return {
    name = name, class = getmetatable(layer).__name,
    depth = name == "" and 0 or depth + 1,
    parameters = layer:num_parameters(), multiply_adds = 0, memory = 0,
    calls = 0, input = "", output = "", is_leaf = #layer:children() == 0,
  }
end

--- Hooks that fill the row of each module while a network runs. Work belongs to
-- all modules that are running.
local function watch(net)
  local rows, running = {}, {}
  for name, layer in net:named_modules() do
    local row = row_of(name, layer)
    rows[#rows + 1] = row
    layer:register_forward_pre_hook(function(_, inputs)
      running[#running + 1] = row
      local shapes = {}
      describe({unpack(inputs, 1, inputs.n)}, shapes)
      row.input, row.calls = concat(shapes, " "), row.calls + 1
    end)
    layer:register_forward_hook(function(_, _, ...)
      running[#running] = nil
      local shapes = {}
      row.memory = row.memory + describe({...}, shapes)
      row.output = concat(shapes, " ")
    end)
  end
  return rows, function(n)
    for _, row in ipairs(running) do
      row.multiply_adds = row.multiply_adds + n
    end
  end
end

-- -- Text --------------------------------------------------------------------

--- 1234567 as "1,234,567".
local function grouped(n)
  local text = format("%.0f", n)
  local k
  repeat text, k = text:gsub("^(%d+)(%d%d%d)", "%1,%2") until k == 0
  return text
end

local function bytes_text(n)
  if n < 1024 then return format("%d B", n) end
  if n < 1024 ^ 2 then return format("%.1f KiB", n / 1024) end
  if n < 1024 ^ 3 then return format("%.1f MiB", n / 1024 ^ 2) end
  return format("%.1f GiB", n / 1024 ^ 3)
end

local HEAD = {"layer", "output", "parameters", "multiply-adds", "memory"}

local function cells_of(row)
  local last = row.name:match "[^.]*$"
  return {rep("  ", row.depth) .. (last == "" and "" or last .. ": ") ..
          row.class, row.output, grouped(row.parameters),
          grouped(row.multiply_adds), bytes_text(row.memory)}
end

local Summary = {}
Summary.__index = Summary

--- The table as text, a line for each layer.
function Summary:__tostring()
  local lines, widths = {HEAD}, {}
  for _, row in ipairs(self.rows) do lines[#lines + 1] = cells_of(row) end
  for _, cells in ipairs(lines) do
    for i, cell in ipairs(cells) do
      widths[i] = max(widths[i] or 0, #cell)
    end
  end
  local out = {}
  for k, cells in ipairs(lines) do
    local list = {}
    for i, cell in ipairs(cells) do
      local space = rep(" ", widths[i] - #cell)
      list[i] = i <= 2 and cell .. space or space .. cell
    end
    out[k] = concat(list, "  ")
  end
  out[#out + 1] = format("parameters: %s, %s of them trainable, %s",
                         grouped(self.parameters), grouped(self.trainable),
                         bytes_text(self.parameter_memory))
  out[#out + 1] = format("multiply-adds: %s; outputs of layers: %s",
                         grouped(self.multiply_adds), bytes_text(self.memory))
  return concat(out, "\n")
end

-- -- The function ------------------------------------------------------------

--- A tensor on Meta of the same shape and dtype; nil for what is none.
local function to_meta(value)
  if is_tensor(value) then return st.empty_like(value, {device = "meta"}) end
  if type(value) == "table" and getmetatable(value) == nil then
    local copy = {}
    for key, element in pairs(value) do copy[key] = to_meta(element) end
    return copy
  end
  return value
end

--- Shapes, parameters, multiply-adds and memory of each layer for an input, and
-- in all. Nothing is computed: a copy of the network runs on Meta tensors, in
-- its mode, training or evaluation, and with its hooks.
-- @function summary
-- @tparam table net a module
-- @param ... what the network is called with: tensors, of which shape and dtype
-- count, and others
-- @treturn table `rows`, a list by layer: `name`, `class`, `depth`, `input`,
-- `output` (shapes as texts), `parameters` (with those of the layers within),
-- `multiply_adds`, `memory` (the bytes of its outputs), `calls`; and in all
-- `parameters`, `trainable`, `parameter_memory` (bytes of parameters and
-- buffers), `multiply_adds`, `memory` (the bytes of the outputs of the layers
-- that have no layers within). It prints as a table
return function(net, ...)
  if not module.is_module(net) then
    raise("summary: argument 'net' must be a module, got %s",
          is_tensor(net) and "Tensor" or type(net))
  end
  local n = select("#", ...)
  if n == 0 then raise "summary: an input is expected" end
  local inputs, copy = {...}, net:clone {device = "meta"}
  for i = 1, n do inputs[i] = to_meta(inputs[i]) end
  local rows, add = watch(copy)
  observe(add, function()
    st.no_grad(function() copy(unpack(inputs, 1, n)) end)
  end)
  local memory = 0
  for _, row in ipairs(rows) do
    if row.is_leaf then memory = memory + row.memory end
  end
  return setmetatable({
    rows = rows, parameters = net:num_parameters(),
    trainable = net:num_parameters {trainable = true},
    parameter_memory = size_of(net:parameters()) + size_of(net:buffers()),
    multiply_adds = rows[1].multiply_adds, memory = memory,
  }, Summary)
end
