--- Every operator of the registry in a function of st.fuse: the samples of the
-- gradient checks give what direct calls give, with other elements in the
-- second call and other sizes in the third.
-- axes: lua5.4

local recorded = require "spec.support.recorded"
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
            local why = check(entry.call, call, layout, is_behind)
            assert.is_nil(why and ("%s%s: %s"):format(
              layout, is_behind and ", behind another call" or "", why))
          end
        end
      end)
    end
  end

  -- What is refused depends on elements: shapes, and lazy results.
  it("is recorded, but for few calls", function()
    assert.is_true(counters.calls > 20000 / STEP)
    assert.is_true(counters.fused > counters.calls / 5)
    assert.is_true(counters.refused < -- 1 of 25; a part of them may have more
                   counters.calls / (STEP > 1 and 15 or 20))
    assert.is_true(counters.failed > 1000 / STEP)
    if os.getenv "STRIDED_REPORT" then recorded.report(counters) end
  end)

  teardown(function()
    collect()
    assert.same(before, tensors.kinds())
  end)
end)
