--- The operators whose gradients are to be checked.

local core = require "strided.core"

local registry = {}

--- Operators whose arguments belong together: they are checked with those that
-- call them.
registry.INNER = {
  _layer_norm = "native_layer_norm",
  native_layer_norm_backward = "native_layer_norm",
  _layer_norm_double_backward = "native_layer_norm",
  _batch_norm = "native_batch_norm", _batch_norm_backward = "native_batch_norm",
  _batch_norm_double_backward = "native_batch_norm",
  _scaled_dot_product_attention = "scaled_dot_product_attention",
  _scaled_dot_product_attention_backward = "scaled_dot_product_attention",
  _scaled_dot_product_attention_double_backward =
    "scaled_dot_product_attention",
  _max_pool_indices = "max_pool2d_with_indices",
  _max_pool_back = "max_pool2d_with_indices",
  _max_pool_take = "max_pool2d_with_indices",
  _householder_backward = "linalg_householder_product",
  _linalg_lstsq = "linalg_lstsq", _linalg_lstsq_backward = "linalg_lstsq",
  _linalg_lu_solve_backward = "linalg_lu_solve",
  _linalg_solve_ex = "linalg_solve", _linalg_solve_backward = "linalg_solve",
  _solve_triangular_backward = "linalg_solve_triangular",
  _rnn_layer = "gru.input",
}

--- Composite operators whose results have no gradient.
registry.WITHOUT = {}
for name in ([[isclose isin.Tensor_Tensor isin.Tensor_Scalar isin.Scalar_Tensor
               argwhere nonzero_numpy where one_hot
               detach_copy view_copy.dtype multinomial linalg_matrix_rank
               nanargmax nanargmin nonzero_static flatnonzero unravel_index
               ravel_multi_index digitize lexsort lexsort.Tensor
               repeat_interleave.Tensor randint_like.Tensor
               linspace.Tensor_Tensor linspace.Tensor_Scalar
               linspace.Scalar_Tensor logspace.Tensor_Tensor
               logspace.Tensor_Scalar logspace.Scalar_Tensor
               linalg_matrix_rank.atol_rtol_tensor
               linalg_matrix_rank.tol_tensor
               linalg_matrix_rank.atol_rtol_float]]):gmatch "%S+" do
  registry.WITHOUT[name] = "not differentiable"
end

-- A sampler at fixed random numbers has other derivatives than its
-- distribution: gamma_spec.lua compares these. The gradient of ctc_loss is that
-- of the input of log_softmax: ctc_loss_spec.lua.
registry.IMPLICIT = {
  _standard_gamma = true, _standard_gamma_grad = true, _sample_dirichlet = true,
  _dirichlet_grad = true, _ctc_loss = true, ["ctc_loss.IntList"] = true,
  ["ctc_loss.Tensor"] = true,
}

-- -- Schemas -----------------------------------------------------------------

--- The text of the arguments and of the results.
local function parts(schema)
  return schema:match "^[^%(]*(%b())%s*%->%s*(.*)$"
end

--- Takes tensors, writes to none, and gives some.
local function is_function(schema)
  local args, results = parts(schema)
  return args:find "[%(%s]Tensor" ~= nil and not args:find "!" and
         results:find "Tensor" ~= nil
end

--- How it is differentiated: "composite", its formulas, "not differentiable",
-- or nil.
local function derivative(name, operator)
  if registry.WITHOUT[name] then return registry.WITHOUT[name] end
  local _, provenance = operator:kernel "AutogradCPU"
  return provenance == "math kernel" and "composite" or operator:derivative()
end

-- -- Operators ---------------------------------------------------------------

--- Calls visit with every overload: its name, that of the operator, what comes
-- behind the dot, and the object.
function registry.each(visit)
  local seen = {}
  for _, name in ipairs((core.operators())) do
    if name:find "^aten::" and not seen[name] then
      seen[name] = true
      local packet = core.packet(name)
      for _, full in ipairs(packet:overloads()) do
        local overload = full:sub(#name + 2)
        visit(full:sub(7), name:sub(7), overload,
              packet[overload == "" and "default" or overload])
      end
    end
  end
end

--- The variant of an operator that writes to its first argument, if any.
local function inplace(base, overload, schema)
  local ok, packet = pcall(core.packet, "aten::" .. base .. "_")
  if not ok or not packet then return nil end
  local found, variant = pcall(function()
    return packet[overload == "" and "default" or overload]
  end)
  if not found or not variant then return nil end
  local function types(text)
    return (parts(text):gsub("%(a!%)", ""))
  end
  return types(variant:schema()) == types(schema) and variant or nil
end

local all

--- Every overload that is a function of tensors: {name =, call =, inplace =,
-- derivative =}.
function registry.all()
  if all then return all end
  all = {}
  registry.each(function(name, base, overload, operator)
    local schema = operator:schema()
    if is_function(schema) then
      all[#all + 1] = {
        name = name, call = operator, derivative = derivative(name, operator),
        inplace = inplace(base, overload, schema),
      }
    end
  end)
  return all
end

--- Those that have a gradient.
function registry.differentiable()
  local out = {}
  for _, entry in ipairs(registry.all()) do
    local d = entry.derivative
    if d and d ~= "not differentiable" and not d:find "^refuses" and
       not registry.INNER[entry.name] and
       not registry.IMPLICIT[entry.name] then
      out[#out + 1] = entry
    end
  end
  return out
end

return registry
