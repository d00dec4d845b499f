--- Every operator of the registry in a function of st.fuse: the samples of the
-- gradient checks give what direct calls give, with other elements in the
-- second call and other sizes in the third.
-- axes: lua5.4

local recorded = require "spec.support.recorded.comparison"
local registry = require "spec.grad.gradcheck.registry"
local samples = require "spec.grad.gradcheck.samples"
local values = require "spec.grad.gradcheck.values"
local st = require "strided"
local tensors = require "spec.support.tensors"
local collect = require "spec.support.collect"

local unpack = unpack or table.unpack

-- One sample of STEP is called: all in LuaJIT, and with STRIDED_WHOLE.
local STEP = os.getenv "STRIDED_SANITIZED" and 16
  or not (rawget(_G, "jit") or os.getenv "STRIDED_WHOLE") and 4 or 1

local counters = recorded.counters()
local refused = {} -- by the names of operators

-- The operators of which some calls cannot be recorded, by the reason.
local CANNOT = {
  shape_depends_on_elements = [[ _unique2 argwhere flatnonzero index.Tensor
    index_put intersect1d isin.Scalar_Tensor masked_select narrow.Tensor
    nonzero_numpy one_hot polymul randint_like.Tensor repeat_interleave.Tensor
    repeat_interleave.self_Tensor roots setdiff1d setxor1d
    tensor_split.tensor_indices_or_sections union1d unique unique_all
    unique_consecutive unique_counts unique_dim unique_inverse unique_values
    where gru.data lstm.data rnn_relu.data rnn_tanh.data ]],
  takes_numbers_of_tensors = [[ linspace.Scalar_Tensor linspace.Tensor_Scalar
    linspace.Tensor_Tensor logspace.Scalar_Tensor logspace.Tensor_Scalar
    logspace.Tensor_Tensor ]],
  way_depends_on_elements = [[ linalg_lstsq scaled_dot_product_attention ]],
  result_is_lazy = [[ _conj _neg_view _linalg_lyapunov _linalg_matrix_sqrth
    adjoint cholesky cholesky_inverse conj linalg_cholesky linalg_cholesky_ex
    linalg_eigvalsh linalg_matrix_sqrth mH matrix_H ]],
}

--- The call as a function of the tensors in args: of these themselves, or of
-- results of an operator before it, so that they are no arguments.
local function function_of(operator, call, args, is_behind)
  local f = recorded.function_of(function(...)
    local after = call.after or function(...) return ... end
    return after(operator(unpack(values.prepared(call, {...}))))
  end, args, #args)
  if not is_behind then return f end
  return function(...)
    local given = {...}
    for i = 1, #given do
      given[i] = given[i].dtype == "bool" and given[i]:clone() or given[i] * 1
    end
    return f(unpack(given))
  end
end

--- The tensors of a call, without gradients.
local function tensors_of(call, layout, seed, size)
  local args = values.make(call, layout, seed, size)
  args = recorded.map(args, function(t) return t:detach() end)
  return args, recorded.tensors_of(args)
end

--- Sizes above 1 grow, if the call accepts that.
local function grown(operator, call, layout)
  local args, list = tensors_of(call, layout, 7, function(n)
    return n > 1 and n + 1 or n
  end)
  st.manual_seed(1)
  local ok = pcall(function_of(operator, call, args), unpack(list))
  return ok and #list > 0 and list or nil
end

--- Elements for which calls fail or look elsewhere: integers out of range and
-- zeros, floats that are negative, large, or NaN; the other truth values.
local HOSTILE = {
  function(t)
    if t.dtype == "bool" then return t:logical_not() end
    return t:is_floating_point() and t * -100 or t + 1000
  end,
  function(t) return t.dtype == "bool" and t or t * 0 end,
  function(t)
    if t.dtype == "bool" or t:is_complex() then return t end
    return t:is_floating_point() and t:masked_fill(t:gt(0), 0 / 0) or -t
  end,
}

local function with_layout(f, list)
  local out = {}
  for i, t in ipairs(list) do
    out[i] = t:clone():copy_(f(t))
  end
  return out
end

local function check(operator, call, layout, is_behind)
  local args, first = tensors_of(call, layout)
  local _, second = tensors_of(call, layout, 43)
  if #first == 0 then return nil end
  local lists = {first, second}
  for _, f in ipairs(HOSTILE) do lists[#lists + 1] = with_layout(f, first) end
  lists[#lists + 1] = grown(operator, call, layout)
  return recorded.compare(function_of(operator, call, args, is_behind), lists,
                          counters)
end

describe("A recorded function", function()
  local before
  setup(function() before = tensors.kinds() end)

  local count = 0
  for _, entry in ipairs(registry.all()) do
    for i, call in ipairs(samples[entry.name] or {}) do
      count = count + 1
      local case = count % STEP == 0 and it or function() end
      case(("calls %s, sample %d"):format(entry.name, i), function()
        for _, layout in ipairs {"dense", not call.dense and "spread" or nil} do
          for _, is_behind in ipairs {false, true} do
            local n = counters.refused
            local why = check(entry.call, call, layout, is_behind)
            refused[entry.name] = refused[entry.name] or counters.refused > n
            assert.is_nil(why and ("%s%s: %s"):format(
              layout, is_behind and ", behind another call" or "", why))
          end
        end
      end)
    end
  end

  it("is recorded, but for calls of a few operators", function()
    assert.is_true(counters.calls > 20000 / STEP)
    assert.is_true(counters.fused > counters.calls / 5)
    assert.is_true(counters.failed > 1000 / STEP)
    local known = {}
    for _, names in pairs(CANNOT) do
      for name in names:gmatch "%S+" do known[name] = true end
    end
    for name, is_refused in pairs(refused) do
      if is_refused then assert.is_true(known[name], name) end
      if STEP == 1 then assert.equal(known[name] or false, is_refused, name) end
    end
    if STEP == 1 then
      assert.is_true(counters.refused < counters.calls / 20) -- 1 of 25
    end
    if os.getenv "STRIDED_REPORT" then recorded.report(counters) end
  end)

  teardown(function()
    collect()
    assert.same(before, tensors.kinds())
  end)
end)
