--- Shortcuts (Note [Shortcuts]) are taken only where the dispatcher would take
-- the same way: kernels that scripts bring, modes, observers and gradients see
-- every call.
-- axes: lua

local st = require "strided"

local unpack = rawget(_G, "unpack") or table.unpack

local m, x = st.arange(6):view(2, 3), st.tensor {1, 2}
local one = st.tensor {7}
local half = st.tensor {{0.5}}

--- Calls fn often enough for its shortcut to be known.
local function often(fn)
  local result
  for _ = 1, 4 do result = fn() end
  return result
end

--- Overrides a kernel while body runs; returns how often it was called.
local function override(name, key, kernel, body)
  local calls = 0
  local lib = st.library("aten", "IMPL")
  lib:impl(name, key, function(...)
    calls = calls + 1
    return kernel(...)
  end)
  local ok, why = pcall(body)
  lib:close()
  assert.is_true(ok, tostring(why))
  return calls
end

--- A kernel, a call that reaches it, and what the call returns then.
local CASES = {
  {"add.Tensor", function(a) return a:mul(10) end,
   function() return (x + x):totable() end, {10, 20}, {2, 4}},
  {"t", function(a) return a:view(3, 2) end,
   function() return m:t():totable() end, {{0, 1}, {2, 3}, {4, 5}},
   {{0, 3}, {1, 4}, {2, 5}}},
  {"select.int", function(a) return a:as_strided({3}, {1}, 3) end,
   function() return m[1]:totable() end, {3, 4, 5}, {0, 1, 2}},
  {"slice.Tensor", function(a) return a:as_strided({1, 3}, {3, 1}, 3) end,
   function() return m:narrow(1, 1, 1):totable() end, {{3, 4, 5}},
   {{0, 1, 2}}},
  {"_local_scalar_dense", function() return 5 end,
   function() return one:item() end, 5, 7},
  {"select.int", function(a) return a:as_strided({3}, {1}, 0) end,
   function() return m[{2, {1, 2}}]:totable() end, {0, 1}, {3, 4}},
  {"sum", function() return one:add(1) end,
   function() return x:sum():item() end, 8, 3},
  {"fill_.Scalar", function(a) return a:copy_(x) end,
   function() return st.zeros(2):fill_(5):totable() end, {1, 2}, {5, 5}},
  {"fill_.Scalar", function(a) return a end,
   function()
     local z = st.zeros(2, 2)
     z[{1, 2}] = 3
     return z:totable()
   end, {{0, 0}, {0, 0}}, {{0, 3}, {0, 0}}},
  {"view", function(a) return a:neg_():as_strided({3, 2}, {2, 1}) end,
   function() return m:clone():reshape(3, 2):totable() end,
   {{0, -1}, {-2, -3}, {-4, -5}}, {{0, 1}, {2, 3}, {4, 5}}},
  {"view", function(a) return a:neg_():as_strided({6}, {1}) end,
   function() return m:clone():flatten():totable() end,
   {0, -1, -2, -3, -4, -5}, {0, 1, 2, 3, 4, 5}},
  {"permute", function(a) return a:neg_():t() end,
   function() return m:clone():movedim(1, 2):totable() end,
   {{0, -3}, {-1, -4}, {-2, -5}}, {{0, 3}, {1, 4}, {2, 5}}},
  {"transpose.int", function(a) return a:neg_():permute(2, 1) end,
   function() return m:clone():swapaxes(1, 2):totable() end,
   {{0, -3}, {-1, -4}, {-2, -5}}, {{0, 3}, {1, 4}, {2, 5}}},
  {"clone", function(a)
    return st.empty({3, 2}, {dtype = "int64"}):copy_(a):mul_(2)
  end,
   function() return m:t():contiguous():totable() end,
   {{0, 6}, {2, 8}, {4, 10}}, {{0, 3}, {1, 4}, {2, 5}}},
  {"_to_copy", function(a) return a:mul(2.5) end,
   function() return x:to("float32"):totable() end, {2.5, 5}, {1, 2}},
  {"empty.memory_format", function() return st.ones_like(x) end,
   function() return st.empty(2):size() end, {2}, {2}},
  {"max.dim", function(a) return a:select(2, 1), x end,
   function()
     local values, indices = m:max(2)
     return {values:totable(), indices:totable()}
   end, {{0, 3}, {1, 2}}, {{2, 5}, {3, 3}}},
  {"linalg_qr", function(a) return a, a end,
   function()
     local Q, R = st.linalg.qr(half)
     return {Q:totable(), R:totable()}
   end, {{{0.5}}, {{0.5}}}, {{{1}}, {{0.5}}}},
  {"_linalg_solve_ex", function(_, b)
    return b:clone(), st.empty(0), st.empty({0}, {dtype = "int32"}),
           st.zeros({}, {dtype = "int32"})
  end, function() return st.linalg.solve(half, half):totable() end, {{0.5}},
   {{1}}}
}

describe("A shortcut", function()
  for _, case in ipairs(CASES) do
    local name, kernel, call, mine, usual = unpack(case, 1, 5)

    it("gives way to a kernel of a script: " .. name, function()
      for _ = 1, 2 do
        assert.same(usual, often(call))
        local calls = override(name, "CPU", kernel, function()
          assert.same(mine, call())
          assert.same(mine, often(call))
        end)
        assert.equal(5, calls)
        assert.same(usual, often(call))
      end
    end)

    it("gives way to a mode and a trace: " .. name, function()
      local seen = 0
      often(call)
      local function count(op, keys, ...)
        seen = seen + 1
        return op:redispatch(keys, ...)
      end
      st.dispatch_mode(count, function() often(call) end)
      assert.is_true(seen >= 4)
      assert.is_true(#st.trace(function() often(call) end) >= 4)
      assert.same(usual, often(call))
    end)
  end

  it("gives way to a kernel for ADInplaceOrView", function()
    local y = st.zeros(2)
    local function call() return y:add_(x) end
    often(call)
    local calls = override("add_.Tensor", "ADInplaceOrView",
                           function(a) return a end,
                           function() often(call) end)
    assert.equal(4, calls)
    assert.same({4, 8}, y:totable())
  end)

  it("gives way to gradients", function()
    local w = st.ones(2, 3):requires_grad_()
    local function call(t) return t:t() + t:t() end
    often(function() return call(m:to "float32") end)
    local y = call(w)
    assert.is_true(y.requires_grad)
    y:sum():backward()
    assert.same({{2, 2, 2}, {2, 2, 2}}, w.grad:totable())
    st.no_grad(function() assert.is_false(call(w).requires_grad) end)
  end)

  it("records the base of a view that requires a gradient later", function()
    local base = st.zeros(2, 3)
    local views = {often(function() return base[1] end),
                   often(function() return base:flatten() end),
                   often(function() return base:movedim(1, 2) end),
                   often(function() return base:swapaxes(1, 2) end)}
    base:mul_(st.ones(2, 3):requires_grad_())
    for _, view in ipairs(views) do assert.is_true(view.requires_grad) end
  end)

  it("records no base of a copy", function()
    local base = st.zeros(2, 3)
    local copies = {often(function() return base:t():reshape(6) end),
                    often(function() return base:t():flatten() end),
                    often(function() return base:t():contiguous() end),
                    often(function() return base:to "float64" end)}
    base:mul_(st.ones(2, 3):requires_grad_())
    for _, copy in ipairs(copies) do assert.is_false(copy.requires_grad) end
  end)

  it("returns the tensor itself if there is nothing to flatten", function()
    local y = st.arange(6)
    often(function() return m:flatten() end)
    assert.equal(y, often(function() return y:flatten() end))
  end)

  it("counts the versions of what it writes", function()
    local y = st.zeros(2)
    local before = y.version
    local row = y:view(1, 2)[1]
    often(function() return row:add_(x) end)
    assert.equal(before + 4, y.version)
    often(function() return st.add(x, x, {out = y}) end)
    assert.equal(before + 8, row.version)
  end)

  it("refuses what inference mode made", function()
    local function call(t) return t:add_(x) end
    local y = st.zeros(2)
    often(function() return call(y) end)
    local frozen = st.inference_mode(function()
      often(function() return call(y) end)
      return st.zeros(2)
    end)
    assert.is_true(frozen:is_inference())
    local ok, why = pcall(call, frozen)
    assert.is_false(ok)
    assert.truthy(tostring(why):find("inference tensor", 1, true))
  end)

  it("releases its results with the scope", function()
    local kept, pair
    st.scope(function()
      often(function() kept = x + x return kept end)
      often(function() pair = {m:max(2)} return pair end)
      return nil
    end)
    for _, t in ipairs {kept, pair[1], pair[2]} do
      assert.has_error(function() return t:sum() end)
    end
  end)

  it("names the operator and the caller's line in errors", function()
    often(function() return m[1] end)
    local ok, why = pcall(function() return m:narrow(1, 2, 2) end)
    assert.is_false(ok)
    assert.truthy(tostring(why):find("shortcut_spec.lua:%d+: narrow: "), why)
    ok, why = pcall(function() return m:item() end)
    assert.is_false(ok)
    assert.truthy(tostring(why):find("shortcut_spec.lua:%d+: item: "), why)
    often(function() return st.linalg.solve(half, half) end)
    ok, why = pcall(function() return st.linalg.solve(half * 0, half) end)
    assert.is_false(ok)
    assert.truthy(tostring(why):find("A is singular: U(1, 1) is zero", 1, true))
  end)

  it("refuses an empty view that the usual path refuses", function()
    local wide = st.zeros(1):to("uint8"):as_strided({1}, {2 ^ 62})
    often(function() return wide:narrow(1, 1, 1) end)
    for _ = 1, 3 do
      local ok, why = pcall(wide.narrow, wide, 1, 2, 0)
      assert.is_false(ok)
      assert.truthy(tostring(why):find("address space", 1, true))
    end
  end)

  it("refuses a view whose strides overflow", function()
    local wide = st.zeros(1):to("uint8"):as_strided({1}, {2 ^ 62})
    for _, view in ipairs {
      function(t) return t:view(1, 1) end,
      function(t) return t:unsqueeze(1) end,
      function(t) return t:unfold(1, 1, 1) end
    } do
      often(function() return view(x:narrow(1, 1, 1)) end)
      assert.is_false(pcall(view, wide))
    end
    local k = 2 ^ 31
    assert.is_false(pcall(function() return one:expand {k, k, k} end))
  end)

  it("is known once the first call of what it calls has failed", function()
    assert.is_false(pcall(m.narrow, m, 1, 9, 1))
    local calls = override("slice.Tensor", "CPU",
                           function(a) return a:as_strided({1, 3}, {3, 1}) end,
                           function()
      often(function() return m:narrow(1, 1, 1) end)
    end)
    assert.equal(4, calls)
    assert.same({{0, 1, 2}}, often(function()
      return m:narrow(1, 1, 1):totable()
    end))
  end)

  it("refuses a number again where a matrix belongs", function()
    local a = st.eye(4)
    for _, args in ipairs {{a, 3}, {3, a}, {a, st.ones(5)}} do
      for _ = 1, 4 do
        assert.is_false(pcall(st.linalg.solve, args[1], args[2]))
      end
    end
    assert.is_true(st.linalg.solve(a, a):equal(a))
  end)

  it("leaves nothing behind", function()
    local collect = require "spec.support.collect"
    local function count()
      collect()
      local memory = st.memory()
      return {memory.tensors.count, memory.data.count, memory.storages.count}
    end
    local before = count()
    for _ = 1, 200 do
      local _ = {m:t(), m[1], x + x, st.zeros(3), pcall(m.select, m, 1, 9),
                 m:max(2), {st.linalg.qr(half)}, st.linalg.solve(half, half),
                 pcall(st.linalg.solve, half * 0, half)}
    end
    assert.same(before, count())
  end)
end)
