--- What steps of optimizers want of the fuzzer: lists of as many tensors, of
-- the same shapes and dtypes.

local M = {}

local RULES = {"nadam", "radam", "rmsprop", "adadelta", "adamax", "asgd",
               "rprop"}
local STATES = {nadam = 2, radam = 2, rmsprop = 1, adadelta = 2, adamax = 2,
                asgd = 1, rprop = 2}

--- Makes the case fit an operator of optimizers.
function M.prepare(c, name)
  c.optimizer = nil
  if not name:find "^_fused_" then return end
  c.dtype = c:pick {"float32", "float64", "bfloat16", "float16"}
  c.optimizer = {count = c:int(1, 3), rule = c:pick(RULES)}
end

--- The makers of arguments by type and name; fresh makes a tensor, others are
-- those that serve other operators.
function M.hints(fresh, others)
  local hints = {}

  local function hint(key, make)
    local other = others[key]
    hints[key] = function(c)
      if c.optimizer then return make(c, c.optimizer) end
      return other(c)
    end
  end

  local function list(c, n)
    local tensors = {}
    for i = 1, n do tensors[i] = fresh(c, c.dtype, {2, 1 + (i - 1) % 2}) end
    return tensors
  end
  for name in ([[self grads momentum_buffer_list exp_avgs exp_avg_sqs
                 max_exp_avg_sqs state_sums]]):gmatch "%S+" do
    hint("Tensor[] " .. name, function(c, o) return list(c, 2 * o.count) end)
  end
  hint("Tensor[] states", function(c, o)
    return list(c, 2 * o.count * STATES[o.rule])
  end)
  hint("Tensor[] state_steps", function(c, o)
    local steps = {}
    for i = 1, 2 * o.count do steps[i] = fresh(c, "float32", {}, 1, 9) end
    return steps
  end)
  for _, name in ipairs {"grad_scale", "found_inf"} do
    hint("Tensor " .. name, function(c)
      return fresh(c, "float32", {}, 1, 9)
    end)
  end
  hint("str rule", function(_, o) return o.rule end)
  hint("float[] numbers", function()
    return {1, 0.1, 1, 0.1, 0.9, 0.9, 1e-8, 1, 0.1, 0}
  end)
  return hints
end

return M
