--- What recurrent networks and losses of sequences want of the fuzzer: three
-- steps of two sequences, features and units, with weights that fit them.

local st = require "strided"

local M = {}

local GATES = {gru = 3, lstm = 4, rnn = 1}
local MODES = {[3] = 0, [4] = 1, [1] = 2}
local CLASSES = 3

--- Makes the case fit an operator over sequences: the kind of the network is
-- the number of its gates.
function M.prepare(c, name)
  local kind = name:match "^_?(%a+)"
  local gates = name:find "^_rnn_layer" and c:pick {1, 3, 4} or GATES[kind]
  local is_loss = name:find "^_?ctc_loss" or name == "linear_cross_entropy"
  c.sequence = (gates or is_loss) and {
    gates = gates, is_cell = name:find "_cell$" ~= nil,
    is_step = name:find "^_rnn_layer" ~= nil,
    is_ctc = name:find "^_?ctc_loss" ~= nil,
    is_linear = name == "linear_cross_entropy",
  } or nil
  if c.sequence then c.dtype = c:pick {"float32", "float64"} end
end

local function lengths(...)
  return st.tensor({...}, {dtype = "int64"})
end

--- The makers of arguments by type and name; fresh makes a tensor, others are
-- those that serve other operators.
function M.hints(fresh, others)
  local hints = {}

  local function hint(key, make)
    local other = others[key]
    hints[key] = function(c)
      if c.sequence then return make(c, c.sequence) end
      return other(c)
    end
  end
  local function tensor(key, shape)
    hint(key, function(c, o) return fresh(c, c.dtype, shape(o)) end)
  end

  -- Networks: packed rows of a layer's steps are two, two and one.
  tensor("Tensor input", function(o)
    return (o.is_cell or o.is_linear) and {2, 2} or {3, 2, 2}
  end)
  tensor("Tensor data", function() return {5, 2} end)
  tensor("Tensor gates", function(o) return {5, 2 * o.gates} end)
  tensor("Tensor w_ih", function(o) return {2 * o.gates, 2} end)
  tensor("Tensor w_hh", function(o) return {2 * o.gates, 2} end)
  tensor("Tensor b_ih", function(o) return {2 * o.gates} end)
  tensor("Tensor b_hh", function(o) return {2 * o.gates} end)
  tensor("Tensor cx", function() return {2, 2} end)
  tensor("Tensor weight", function(o)
    return o.gates and {2 * o.gates, 2} or {CLASSES}
  end)
  tensor("Tensor bias", function(o) return {2 * o.gates} end)
  tensor("Tensor grad_output", function() return {5, 2} end)
  tensor("Tensor grad_hy", function() return {2, 2} end)
  tensor("Tensor grad_cy", function() return {2, 2} end)
  local function state(c, o)
    return fresh(c, c.dtype, (o.is_cell or o.is_step) and {2, 2} or {1, 2, 2})
  end
  hint("Tensor hx", state)
  hint("Tensor[] hx", function(c, o) return {state(c, o), state(c, o)} end)
  hint("Tensor[] params", function(c, o)
    local rows = 2 * o.gates
    return {fresh(c, c.dtype, {rows, 2}), fresh(c, c.dtype, {rows, 2}),
            fresh(c, c.dtype, {rows}), fresh(c, c.dtype, {rows})}
  end)
  hint("Tensor saved", function(c, o)
    local _, _, _, saved = st.ops.aten._rnn_layer(
      fresh(c, c.dtype, {5, 2 * o.gates}), state(c, o),
      o.gates == 4 and fresh(c, c.dtype, {2, 2}) or nil,
      fresh(c, c.dtype, {2 * o.gates, 2}), fresh(c, c.dtype, {2 * o.gates}),
      MODES[o.gates], {2, 2, 1}, false, true)
    return saved
  end)
  hint("Tensor batch_sizes", function() return lengths(2, 2, 1) end)
  hint("int[] batch_sizes", function() return {2, 2, 1} end)
  hint("int mode", function(_, o) return MODES[o.gates] end)
  hint("int num_layers", function() return 1 end)
  hint("bool has_biases", function() return true end)
  hint("bool bidirectional", function() return false end)
  hint("bool batch_first", function() return false end)
  hint("float dropout", function() return 0 end)

  -- Losses.
  tensor("Tensor log_probs", function() return {3, 2, CLASSES} end)
  tensor("Tensor grad", function(o) return o.is_ctc and {2} or {} end)
  tensor("Tensor neg_log_likelihood", function() return {2} end)
  tensor("Tensor log_alpha", function() return {2, 3, 5} end)
  tensor("Tensor linear_weight", function() return {CLASSES, 2} end)
  tensor("Tensor linear_bias", function() return {CLASSES} end)
  hint("Tensor targets", function(c) return fresh(c, "int64", {2, 2}, 1, 2) end)
  hint("Tensor target", function(c) return fresh(c, "int64", {2}, 0, 2) end)
  hint("int[] input_lengths", function() return {3, 3} end)
  hint("int[] target_lengths", function() return {2, 1} end)
  hint("Tensor input_lengths", function() return lengths(3, 3) end)
  hint("Tensor target_lengths", function() return lengths(2, 1) end)
  hint("Index blank", function() return 0 end)
  hint("int base", function() return 0 end)
  hint("int reduction", function(c) return c:int(0, 2) end)
  return hints
end

return M
