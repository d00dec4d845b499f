--- Functions of torch and of torch.nn.functional that are no operators of ATen,
-- as calls of ours: by name, each takes the arguments and the keywords of a
-- vector and returns the results. Dimensions and positions count from 0.

local api = require "spec.conformance.api"

local unpack = unpack or table.unpack

local st = api.st

local functional = {}

local function call(name, ...)
  return api.call("aten::" .. name, {n = select("#", ...), ...})
end

--- The arguments of these names, positional or keywords; none are nil.
local function take(args, kwargs, names)
  local out = {}
  for i, name in ipairs(names) do
    local x = args[i]
    if x == nil then x = kwargs[name] end
    if x ~= st.none then out[name] = x end
  end
  return out
end

-- -- Of the same arguments ---------------------------------------------------

for name in ([[gaussian_nll_loss multilabel_soft_margin_loss normalize softmin
               softsign tanhshrink]]):gmatch "%S+" do
  functional["torch.nn.functional." .. name] = function(args, kwargs)
    return api.call("aten::" .. name, args, kwargs)
  end
end

-- -- torch -------------------------------------------------------------------

functional["torch.__rdiv__"] = function(args)
  return call("div.Tensor", args[2], args[1])
end

functional["torch.__rmatmul__"] = function(args)
  return call("matmul", args[2], args[1])
end

functional["torch.broadcast_tensors"] = function(args)
  return unpack(call("broadcast_tensors", args))
end

functional["torch.cfloat"] = function(args, kwargs)
  return api.call("aten::to.dtype", {args[1], "complex64"}, kwargs)
end

functional["torch.tensordot"] = function(args, kwargs)
  local dims = kwargs.dims
  if type(dims) ~= "table" then
    return call("tensordot.int", args[1], args[2], dims)
  end
  return call("tensordot", args[1], args[2], dims[1], dims[2])
end

local MODES = {use_mm_for_euclid_dist = 1, donot_use_mm_for_euclid_dist = 2}

functional["torch.cdist"] = function(args)
  return call("cdist", args[1], args[2], args[3], MODES[args[4]])
end

functional["torch.nonzero"] = function(args)
  return unpack(call("nonzero_numpy", args[1]))
end

--- The values and, where asked for, the positions and the counts.
local function asked(options, values, inverse, counts)
  local out = {values}
  if options.return_inverse then out[#out + 1] = inverse end
  if options.return_counts then out[#out + 1] = counts end
  return unpack(out)
end

functional["torch.unique"] = function(args, kwargs)
  local a = take(args, kwargs, {"input", "sorted", "return_inverse",
                                "return_counts", "dim"})
  if a.dim == nil then
    return asked(a, call("_unique2", a.input, a.sorted, a.return_inverse,
                         a.return_counts))
  end
  return asked(a, call("unique_dim", a.input, a.dim, a.sorted,
                       a.return_inverse, a.return_counts))
end

functional["torch.unique_consecutive"] = function(args, kwargs)
  local a = take(args, kwargs, {"input", "return_inverse", "return_counts",
                                "dim"})
  return asked(a, call("unique_consecutive", a.input, a.return_inverse,
                       a.return_counts, a.dim))
end

-- -- Normalization and losses ------------------------------------------------

local function copied(t) return t and t:clone() end

--- The vectors say nothing about the running statistics, which change.
functional["torch.nn.functional.batch_norm"] = function(args, kwargs)
  local a = take(args, kwargs, {"input", "running_mean", "running_var",
                                "weight", "bias", "training", "momentum",
                                "eps"})
  return call("batch_norm", a.input, a.weight, a.bias, copied(a.running_mean),
              copied(a.running_var), a.training or false, a.momentum or 0.1,
              a.eps or 1e-5)
end

functional["torch.nn.functional.instance_norm"] = function(args, kwargs)
  local a = take(args, kwargs, {"input", "running_mean", "running_var",
                                "weight", "bias", "use_input_stats",
                                "momentum", "eps"})
  return call("instance_norm", a.input, a.weight, a.bias,
              copied(a.running_mean), copied(a.running_var),
              a.use_input_stats ~= false, a.momentum or 0.1, a.eps or 1e-5)
end

functional["torch.nn.functional.kl_div"] = function(args, kwargs)
  local a = take(args, kwargs, {"input", "target", "reduction", "log_target"})
  local is_per_sample = a.reduction == "batchmean"
  local loss = api.call("aten::kl_div", {
    a.input, a.target, is_per_sample and "sum" or a.reduction,
  }, {log_target = a.log_target})
  return is_per_sample and loss / a.input.shape[1] or loss
end

-- -- Pooling -----------------------------------------------------------------

local WINDOWS = {"input", "kernel_size", "stride", "padding", "dilation",
                 "ceil_mode", "return_indices"}

--- The name and the arguments of a call of max_pool.
local function max_pool(d, a)
  local name = ("max_pool%dd%s"):format(d, a.return_indices and "_with_indices"
                                           or "")
  return name, a.input, a.kernel_size, a.stride or {}, a.padding or 0,
         a.dilation or 1, a.ceil_mode or false
end

for d = 1, 3 do
  local name = ("torch.nn.functional.max_pool%dd"):format(d)
  functional[name] = function(args, kwargs)
    return call(max_pool(d, take(args, kwargs, WINDOWS)))
  end
end

--- The gradient of the sum.
functional["torch.max_pool2d_with_indices_backward"] = function(args, kwargs)
  local a = take(args, kwargs, WINDOWS)
  a.input = a.input:clone():requires_grad_()
  local y = call(max_pool(2, a))
  return st.grad(y, a.input, {grad_outputs = st.ones_like(y)})
end

for d = 1, 2 do
  local op = ("adaptive_max_pool%dd"):format(d)
  functional["torch.nn.functional." .. op] = function(args, kwargs)
    local a = take(args, kwargs, {"input", "output_size", "return_indices"})
    local size, shape = a.output_size, a.input.shape
    if type(size) == "table" then
      local whole = {}
      for i = 1, d do
        whole[i] = size[i] == st.none and shape[#shape - d + i] or size[i]
      end
      size = whole
    end
    local values, indices = call(op, a.input, size)
    if a.return_indices then return values, indices end
    return values
  end
end

functional["torch.nn.functional.max_unpool1d"] = function(args, kwargs)
  local a = take(args, kwargs, {"input", "indices", "kernel_size", "stride",
                                "padding", "output_size"})
  local size = a.output_size
  return call("max_unpool2d", a.input:unsqueeze(-1), a.indices:unsqueeze(-1),
              {size[#size], 1}):squeeze(-1)
end

return functional
