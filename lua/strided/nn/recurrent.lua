--- Recurrent layers: RNN, LSTM, GRU, and their cells for single steps.
--
--     local lstm = nn.LSTM(10, 20, {num_layers = 2, bidirectional = true})
--     local out, state = lstm(x)          -- x: {steps, N, 10}
--     out, state = lstm(more, state)      -- continues
--
-- Parameters have the names, the order and, after the same seed, the initial
-- values of PyTorch: `weight_ih_l0`, `weight_hh_l0`, `bias_ih_l0`,
-- `bias_hh_l0`, then the same with `_reverse`, then those of the next layer.
--
-- @module strided.nn.recurrent

local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local module = require "strided.nn.module"
local packed = require "strided.nn.packed"

local Module, Parameter = module.Module, module.Parameter

local concat, empty, floor, format, is_tensor, no_grad, sqrt, zeros =
  table.concat, st.empty, math.floor, string.format, st.is_tensor, st.no_grad,
  math.sqrt, st.zeros
local getmetatable, ipairs, pairs, tonumber, tostring, type =
  getmetatable, ipairs, pairs, tonumber, tostring, type

local recurrent = {}

local GATES = {RNN = 1, LSTM = 4, GRU = 3}

-- -- Arguments ---------------------------------------------------------------

local function name_of(layer) return getmetatable(layer).__name end

local function check_size(class, name, n, least)
  if type(n) ~= "number" or n < least or n ~= floor(n) then
    raise("%s: '%s' must be an integer from %d, got %s", class, name, least,
          type(n) == "number" and format("%g", n) or type(n))
  end
end

local function flag(class, o, name, default)
  local value = o[name]
  if value == nil then return default end
  if type(value) ~= "boolean" then
    raise("%s: option '%s' must be true or false, got %s", class, name,
          type(value))
  end
  return value
end

local function nonlinearity(class, o)
  local value = o.nonlinearity or "tanh"
  if value ~= "tanh" and value ~= "relu" then
    raise("%s: option 'nonlinearity' must be \"tanh\" or \"relu\", got %s",
          class, tostring(value))
  end
  return value
end

local function shape_text(t)
  return is_tensor(t) and "shape {" .. concat(t.shape, ", ") .. "}" or type(t)
end

--- Raises unless t is a Tensor of n dimensions or one less.
local function check_dims(layer, what, t, n, last)
  if not is_tensor(t) or t.ndim ~= n and t.ndim ~= n - 1 then
    raise("%s: %s must be a Tensor of %d or %d dimensions, got %s",
          name_of(layer), what, n - 1, n, shape_text(t))
  end
  if last and t.shape[t.ndim] ~= last then
    raise("%s: %s must have %d features, got %s", name_of(layer), what, last,
          shape_text(t))
  end
end

local function check_shape(layer, what, t, want)
  local same = is_tensor(t) and t.ndim == #want
  for d = 1, same and #want or 0 do same = same and t.shape[d] == want[d] end
  if not same then
    raise("%s: %s must have shape {%s}, got %s", name_of(layer), what,
          concat(want, ", "), shape_text(t))
  end
end

--- Uniform numbers, as in PyTorch.
local function reset(layer)
  no_grad(function()
    local bound = 1 / sqrt(layer.hidden_size)
    for _, p in ipairs(layer:parameters()) do p:uniform_(-bound, bound) end
  end)
end

-- -- Layers ------------------------------------------------------------------

local Layers = Module:extend "Layers"

local KNOWN = {}
for class in pairs(GATES) do
  KNOWN[class] = {num_layers = true, bias = true, batch_first = true,
                  dropout = true, bidirectional = true, dtype = true,
                  device = true}
end
KNOWN.LSTM.proj_size, KNOWN.RNN.nonlinearity = true, true

local function read_options(self, class, o)
  if type(o) == "number" then
    raise("%s: options are given by name: write {num_layers = %s}", class,
          tostring(o))
  end
  o = options(class, o, KNOWN[class])
  self.num_layers, self.dropout = o.num_layers or 1, o.dropout or 0
  self.bias = flag(class, o, "bias", true)
  self.batch_first = flag(class, o, "batch_first", false)
  self.bidirectional = flag(class, o, "bidirectional", false)
  self.proj_size = o.proj_size or 0
  check_size(class, "num_layers", self.num_layers, 1)
  check_size(class, "proj_size", self.proj_size, 0)
  if self.proj_size >= self.hidden_size then
    raise("%s: option 'proj_size' must be smaller than hidden_size, %d", class,
          self.hidden_size)
  end
  local p = self.dropout
  if type(p) ~= "number" or not (p >= 0 and p <= 1) then
    raise("%s: option 'dropout' must be a number from 0 to 1", class)
  end
  return o
end

--- Creates the parameters of a layer in one direction.
local function add_direction(self, inputs, suffix, new)
  local names, rows = self.parameter_names, self.gates * self.hidden_size
  local function add(name, ...)
    name = name .. suffix
    self[name] = new(...)
    names[#names + 1] = name
  end
  add("weight_ih_l", rows, inputs)
  add("weight_hh_l", rows, self.outputs)
  if self.bias then
    add("bias_ih_l", rows)
    add("bias_hh_l", rows)
  end
  if self.proj_size > 0 then add("weight_hr_l", self.outputs, self.hidden_size)
  end
end

function Layers:init(input_size, hidden_size, given)
  local class = self.kind
  check_size(class, "input_size", input_size, 1)
  check_size(class, "hidden_size", hidden_size, 1)
  self.input_size, self.hidden_size = input_size, hidden_size
  local o = read_options(self, class, given)
  self.gates = GATES[class]
  self.outputs = self.proj_size > 0 and self.proj_size or hidden_size
  self.directions = self.bidirectional and 2 or 1
  self.parameter_names = {}
  self.operator = class == "RNN" and
                  "rnn_" .. nonlinearity(class, o) or class:lower()
  if class == "RNN" then self.nonlinearity = self.operator:sub(5) end
  local factory = {dtype = o.dtype or st.get_default_dtype(),
                   device = o.device}
  local function new(...) return Parameter(empty({...}, factory)) end
  for i = 0, self.num_layers - 1 do
    local inputs = i == 0 and input_size or self.outputs * self.directions
    add_direction(self, inputs, tostring(i), new)
    if self.bidirectional then add_direction(self, inputs, i .. "_reverse", new)
    end
  end
  self:reset_parameters()
end

--- Draws the parameters from -1 / sqrt(hidden_size) to 1 / sqrt(hidden_size).
function Layers:reset_parameters() reset(self) end

--- Does nothing: the parameters need not be next to each other.
function Layers.flatten_parameters() end

local function reorder(t, indices)
  return indices and t:index_select(2, indices) or t
end

--- The initial states as a list: those given, of n dimensions, or zeros.
local function initial(self, input, given, batch, is_batched)
  local count, sizes = self.num_layers * self.directions, {self.outputs}
  local is_lstm = self.operator == "lstm"
  if is_lstm then sizes[2] = self.hidden_size end
  if is_lstm and given ~= nil and (type(given) ~= "table" or #given ~= 2) then
    raise("LSTM: the initial state must be {h, c}, got %s",
          type(given) == "table" and "a list of " .. #given or
          shape_text(given))
  end
  local states = {}
  for i, units in ipairs(sizes) do
    local t = given
    if is_lstm and given then t = given[i] end
    if t ~= nil then
      local what = not is_lstm and "the initial state" or
                   i == 1 and "the initial h" or "the initial c"
      check_shape(self, what, t, is_batched and {count, batch, units} or
                                 {count, units})
      states[i] = is_batched and t or t:unsqueeze(2)
    else
      states[i] = zeros({count, batch, units},
                        {dtype = input.dtype, device = input.device})
    end
  end
  return states
end

local function weights(self)
  local list = {}
  for i, name in ipairs(self.parameter_names) do list[i] = self[name] end
  return list
end

--- The state, or {h, c} of LSTM, that a call returns.
local function final(self, out, change)
  if self.operator ~= "lstm" then return change(out[2]) end
  return {change(out[2]), change(out[3])}
end

local function forward_packed(self, input, given)
  local data, sizes = input.data, input.batch_sizes
  check_dims(self, "the data of a packed sequence", data, 2, self.input_size)
  local states = initial(self, data, given,
                         tonumber(sizes:select(1, 1):item()), true)
  for i, t in ipairs(states) do
    states[i] = given and reorder(t, input.sorted_indices) or t
  end
  local out = {st[self.operator](
    data, sizes, states[2] and states or states[1], weights(self), self.bias,
    self.num_layers, self.dropout, self.training, self.bidirectional)}
  local unsorted = input.unsorted_indices
  return packed.PackedSequence(out[1], sizes, input.sorted_indices, unsorted),
         final(self, out, function(t) return reorder(t, unsorted) end)
end

function Layers:forward(input, given)
  if packed.is_packed_sequence(input) then
    return forward_packed(self, input, given)
  end
  check_dims(self, "the input", input, 3, self.input_size)
  local is_batched = input.ndim == 3
  local first = self.batch_first and is_batched
  if not is_batched then input = input:unsqueeze(2) end
  local states = initial(self, input, given, input.shape[first and 1 or 2],
                         is_batched)
  local out = {st[self.operator](
    input, states[2] and states or states[1], weights(self), self.bias,
    self.num_layers, self.dropout, self.training, self.bidirectional, first)}
  local function change(t) return is_batched and t or t:squeeze(2) end
  return change(out[1]), final(self, out, change)
end

function Layers:extra_repr()
  local parts = {format("%d, %d", self.input_size, self.hidden_size)}
  local function add(name, default)
    if self[name] ~= nil and self[name] ~= default then
      local value = self[name]
      value = type(value) == "string" and format("%q", value) or
              tostring(value)
      parts[#parts + 1] = name .. " = " .. value
    end
  end
  add("proj_size", 0)
  add("num_layers", 1)
  add("bias", true)
  add("batch_first", false)
  add("dropout", 0)
  add("bidirectional", false)
  add("nonlinearity", "tanh")
  return concat(parts, ", ")
end

--- Layers of Elman's network, h = tanh(W_ih x + b_ih + W_hh h + b_hh). Called
-- with the input and, optionally, the initial state, it returns the output of
-- all steps and the last state. The input has shape {steps, N, input_size}, or
-- {steps, input_size}, or is a packed sequence (nn.utils.rnn); a state has
-- shape {layers times directions, N, hidden_size}, or without N.
-- @function RNN
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `num_layers` (1), `nonlinearity` ("tanh" or
-- "relu"), `bias` (true), `batch_first` (false): the batch is the first
-- dimension of input and output; `dropout` (0), the probability of dropout
-- between layers in training; `bidirectional` (false), `dtype`, `device`
recurrent.RNN = Layers:extend "RNN"

--- Layers of long short-term memory. Used like RNN, but a state is the list
-- {h, c}, and with the option `proj_size` h has so many units in place of
-- hidden_size.
-- @function LSTM
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options those of RNN but `nonlinearity`, and `proj_size`
-- (0)
recurrent.LSTM = Layers:extend "LSTM"

--- Layers of gated recurrent units. Used like RNN.
-- @function GRU
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options those of RNN but `nonlinearity`
recurrent.GRU = Layers:extend "GRU"

for kind in pairs(GATES) do recurrent[kind].kind = kind end

-- -- Cells -------------------------------------------------------------------

local Cell = Module:extend "Cell"

local CELL = {bias = true, dtype = true, device = true}
local RNN_CELL = {bias = true, nonlinearity = true, dtype = true, device = true}

function Cell:init(input_size, hidden_size, given)
  local kind = self.kind
  local class = kind .. "Cell"
  check_size(class, "input_size", input_size, 1)
  check_size(class, "hidden_size", hidden_size, 1)
  local o = options(class, given, kind == "RNN" and RNN_CELL or CELL)
  self.input_size, self.hidden_size = input_size, hidden_size
  self.bias = flag(class, o, "bias", true)
  self.operator = kind:lower() .. "_cell"
  if kind == "RNN" then
    self.nonlinearity = nonlinearity(class, o)
    self.operator = "rnn_" .. self.nonlinearity .. "_cell"
  end
  local factory = {dtype = o.dtype or st.get_default_dtype(),
                   device = o.device}
  local rows = GATES[kind] * hidden_size
  local function new(...) return Parameter(empty({...}, factory)) end
  self.weight_ih = new(rows, input_size)
  self.weight_hh = new(rows, hidden_size)
  if self.bias then
    self.bias_ih = new(rows)
    self.bias_hh = new(rows)
  end
  self:reset_parameters()
end

--- Draws the parameters from -1 / sqrt(hidden_size) to 1 / sqrt(hidden_size).
function Cell:reset_parameters() reset(self) end

local function cell_states(self, input, given, is_batched)
  local is_lstm = self.operator == "lstm_cell"
  local shape = {input.shape[1], self.hidden_size}
  if given == nil then
    local h = zeros(shape, {dtype = input.dtype, device = input.device})
    return is_lstm and {h, h} or h
  end
  if is_lstm and (type(given) ~= "table" or #given ~= 2) then
    raise("LSTMCell: the state must be {h, c}, got %s",
          type(given) == "table" and "a list of " .. #given or
          shape_text(given))
  end
  local states = is_lstm and given or {given}
  local list = {}
  for i, t in ipairs(states) do
    check_shape(self, "the state", t, is_batched and shape or {shape[2]})
    list[i] = is_batched and t or t:unsqueeze(1)
  end
  return is_lstm and list or list[1]
end

function Cell:forward(input, given)
  check_dims(self, "the input", input, 2, self.input_size)
  local is_batched = input.ndim == 2
  if not is_batched then input = input:unsqueeze(1) end
  local h, c = st[self.operator](
    input, cell_states(self, input, given, is_batched), self.weight_ih,
    self.weight_hh, self.bias_ih, self.bias_hh)
  if not is_batched then h, c = h:squeeze(1), c and c:squeeze(1) end
  if c then return h, c end
  return h
end

function Cell:extra_repr()
  return format("%d, %d%s%s", self.input_size, self.hidden_size,
                self.bias and "" or ", bias = false",
                self.nonlinearity == "relu" and ', nonlinearity = "relu"' or "")
end

--- One step of RNN: called with the input, {N, input_size} or {input_size}, and
-- optionally a state, it returns the next state, {N, hidden_size} or
-- {hidden_size}.
-- @function RNNCell
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `bias` (true), `nonlinearity` ("tanh" or "relu"),
-- `dtype`, `device`
recurrent.RNNCell = Cell:extend "RNNCell"

--- One step of LSTM: called with the input and optionally the list {h, c}, it
-- returns the next h and c.
-- @function LSTMCell
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `bias` (true), `dtype`, `device`
recurrent.LSTMCell = Cell:extend "LSTMCell"

--- One step of GRU, used like RNNCell.
-- @function GRUCell
-- @tparam integer input_size
-- @tparam integer hidden_size
-- @tparam[opt] table options `bias` (true), `dtype`, `device`
recurrent.GRUCell = Cell:extend "GRUCell"

for kind in pairs(GATES) do recurrent[kind .. "Cell"].kind = kind end

return recurrent
