--- Kernels, modes and hooks in Lua while other operators run: operands of
-- running calls keep their geometry (C18), and what a kernel returns for the
-- engine is what the operator returns (C19).
-- axes: lua
-- sampled: 3

local calls = require "spec.fuzz.calls"
local scripted = require "spec.fuzz.scripted"
local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises

--- Overrides kernels of aten while body runs: name, key, function, ...
local function with(list, body)
  local lib = st.library("aten", "IMPL")
  for i = 1, #list, 3 do lib:impl(list[i], list[i + 1], list[i + 2]) end
  local ok, why = pcall(body)
  lib:close()
  if not ok then error(why, 0) end
end

local function product(a, b) return st.zeros(a:size(1), b:size(2)) end

describe("A function of a script", function()
  local before, x
  setup(function() before = live() end)
  before_each(function() x = st.rand(3, 4) end)
  after_each(function() x = nil end)
  teardown(function() assert.same(before, live()) end)

  -- -- Operands --------------------------------------------------------------

  describe("does not change an operand of a running call", function()
    local CHANGES = {
      resize_ = function(t) t:resize_ {100, 100} end,
      ["resize_ to less"] = function(t) t:resize_ {1} end,
      resize_as_ = function(t) t:resize_as_(st.ones(9, 9)) end,
      as_strided_ = function(t) t:as_strided_({1}, {1}) end,
      t_ = function(t) t:t_() end,
      transpose_ = function(t) t:transpose_(1, 2) end,
      swapaxes_ = function(t) t:swapaxes_(1, 2) end,
      squeeze_ = function(t) t:squeeze_() end,
      unsqueeze_ = function(t) t:unsqueeze_(1) end,
      ["add, out="] = function(t) st.add(st.ones(9, 9), 1, {out = t}) end,
      ["matmul, out="] = function(t)
        st.matmul(st.ones(9, 2), st.ones(2, 9), {out = t})
      end,
      ["resize_ of a view"] = function(t) t:alias():resize_ {100, 100} end,
      ["resize_ in a mode"] = function(t)
        st.dispatch_mode(function(op, keys, ...)
          return op:redispatch(keys, ...)
        end, function() t:resize_ {100, 100} end)
      end,
    }
    for what, change in pairs(CHANGES) do
      it("by " .. what, function()
        local why
        with({"mm", "CPU", function(a, b)
          why = failure(change, x)
          return product(a, b)
        end}, function() st.linalg.multi_dot {x, st.rand(4, 3), x} end)
        assert.matches("the tensor is an operand of [%w_]+, which is running",
                       why)
        assert.same({3, 4}, x:size())
        change(x)
      end)
    end

    local function multiply() -- (a b) (c d)
      st.linalg.multi_dot {st.rand(3, 30), st.rand(30, 2), st.rand(2, 30),
                           st.rand(30, 3)}
    end

    it("that an earlier call got, while the one around it runs", function()
      local seen, why
      with({"mm", "CPU", function(a, b)
        if seen then why = why or failure(seen.resize_, seen, {50, 50}) end
        seen = product(a, b)
        return seen
      end}, multiply)
      assert.matches("may be in use by linalg_multi_dot", why)
      assert.same({50, 50}, seen:resize_ {50, 50}:size())
    end)

    it("by an operator of its own that writes it", function()
      local lib = st.library "specgrow"
      lib:def("grow(Tensor(a!) x) -> Tensor(a!)", function(t)
        return t:resize_ {50, 50}
      end)
      local seen, why
      with({"mm", "CPU", function(a, b)
        if seen then why = why or failure(st.ops.specgrow.grow, seen) end
        seen = product(a, b)
        return seen
      end}, multiply)
      assert.matches("may be in use by linalg_multi_dot", why)
      assert.same({50, 50}, st.ops.specgrow.grow(seen):size())
      lib:close()
    end)

    it("that an observer was shown in a list", function()
      local keys, why
      st.observe({values = true, after = function(_, _, first)
        if type(first) == "table" then keys = first end
      end, before = function()
        if keys then why = why or failure(keys[2].resize_, keys[2], {50}) end
      end}, st.lexsort, st.tensor {{1, 2, 3}, {3, 1, 2}, {2, 2, 1}})
      assert.matches("may be in use by lexsort", why)
    end)

    it("from a hook of a backward pass", function()
      local kept, why
      local a = st.ones(3, {requires_grad = true})
      local b = a * 2
      b:register_hook(function(g) kept = g end)
      local c = b * 3
      c:register_hook(function(g)
        if kept then why = failure(kept.resize_, kept, {9}) end
        kept = g
        why = failure(g.resize_, g, {9})
      end)
      c:sum():backward()
      assert.matches("a backward pass, which is running", why)
      assert.same({6, 6, 6}, a.grad:totable())
    end)

    it("by freeing it: that waits", function()
      with({"mm", "CPU", function(a, b)
        x:free()
        return product(a, b)
      end}, function()
        assert.same({3, 3}, x:matmul(st.rand(4, 3)):size())
        raises("freed", x.size, x)
      end)
    end)
  end)

  it("changes other tensors, its own results and out=", function()
    local buffer = st.empty(1)
    local out = st.empty(0)
    with({"mm", "CPU", function(a, b)
      buffer:resize_ {5, 5}:t_()
      st.add(a, 1, {out = buffer})
      return product(a, b):unsqueeze_(1):squeeze_()
    end}, function()
      st.linalg.multi_dot {x, st.rand(4, 3), x}
      st.dispatch_mode(function(op, keys, ...)
        return op:redispatch(keys, ...)
      end, function()
        st.add(x, 1, {out = out})
        x:resize_ {2, 2}:unsqueeze_(1)
      end)
    end)
    assert.same({3, 4}, out:size())
    assert.same({1, 2, 2}, x:size())
  end)

  it("changes what an earlier call within its own has had", function()
    local lib = st.library "specouter"
    local size
    lib:def("f(Tensor x) -> Tensor", function(t)
      local kept
      with({"mm", "CPU", function(a, b)
        kept = product(a, b)
        return kept
      end}, function() st.linalg.multi_dot {t, st.rand(4, 3), t} end)
      local other = kept:alias()
      size = kept:resize_ {50, 50}:size()
      return other:clone()
    end)
    st.ops.specouter.f(x)
    assert.same({50, 50}, size)
    lib:close()
  end)

  it("resizes what the operator of its own library writes", function()
    local lib = st.library "specscripted"
    lib:def("f(Tensor a, *, Tensor(a!) out) -> Tensor(a!)", function(a, out)
      return out:resize_(a:size()):copy_(a)
    end)
    local out = st.empty(0)
    assert.equal(out, st.ops.specscripted.f(x, {out = out}))
    assert.is_true(out:equal(x))
    lib:close()
  end)

  -- -- Results ---------------------------------------------------------------

  describe("returns to the engine what the operator returns:", function()
    -- what is wrong, the operator and its kernel, a call that uses it
    local CASES = {
      {"its shape must be %[3, 3%], got %[2, 2%]", "mm",
       function() return st.ones(2, 2) end},
      {"its dtype must be float32, got float64", "mm",
       function(a, b) return product(a, b):to "float64" end},
      {"its strides must be %[3, 1%], got %[1, 3%]", "mm",
       function(a, b) return product(a, b):t() end},
      {"its strides must be %[3, 1%], got %[0, 0%]", "mm",
       function() return st.ones(1):expand(3, 3) end},
      {"must be on device 'cpu', got 'meta'", "mm",
       function(a, b) return product(a, b):to "meta" end},
      {"must not be a conjugate, negative or zero tensor", "mm",
       function(a, b) return product(a, b):_neg_view() end},
      {"must not share memory with an argument", "mm",
       function(a) return a:as_strided({3, 3}, {3, 1}) end},
    }
    for _, case in ipairs(CASES) do
      local text, name, kernel = case[1], case[2], case[3]
      it(text:gsub("%%", ""), function()
        with({name, "CPU", kernel}, function()
          local why = failure(st.linalg.multi_dot,
                              {x, st.rand(4, 3), st.rand(3, 3)})
          assert.matches("mm: the function from [^ ]*scripted_kernels_spec"
                         .. "%.lua:%d+ is its kernel, but another operator "
                         .. "uses what it returns: .*" .. text, why)
        end)
      end)
    end

    it("also under autocast, which casts to one dtype", function()
      local function wide(op, keys, ...)
        local t = st.dispatch_mode(wide, function(...)
          return op:redispatch(keys, ...)
        end, ...)
        return op:name():find "mul" and t:to "float64" or t
      end
      raises("its dtype must be float32, got float64", st.autocast,
             st.dispatch_mode, wide, st.cosine_similarity, x, x)
      local function pass(op, keys, ...)
        return st.dispatch_mode(pass, function(...)
          return op:redispatch(keys, ...)
        end, ...)
      end
      local m = st.rand(4, 4)
      for _, f in ipairs {
        function() return st.cosine_similarity(m, m) end,
        function() return st.linalg.multi_dot {m, m, m} end,
        function() return st.tensordot(m, m) end,
        function() return st.einsum("ij,jk->ik", {m, m}) end,
      } do
        assert.equal(st.autocast(f).dtype,
                     st.autocast(st.dispatch_mode, pass, f).dtype)
      end
    end)

    it("in a dtype that the engine does not know", function()
      local b = x:gt(0)
      local function any(p, q)
        return p:unsqueeze(3):logical_and(q:unsqueeze(1)):any(2)
      end
      raises("not implemented for dtype bool", st.linalg.multi_dot,
             {b, b:t(), b})
      with({"mm", "CPU", any}, function()
        assert.same({{true, true, true, true}, {true, true, true, true},
                     {true, true, true, true}},
                    st.linalg.multi_dot {b, b:t(), b}:totable())
      end)
      for text, kernel in pairs {
        ["its dtype must be bool, got float32"] = product,
        ["its shape must be %[%d, %d%], got %[7%]"] =
          function() return st.ones(7):gt(0) end,
      } do
        with({"mm", "CPU", kernel}, function()
          assert.matches(text, failure(st.linalg.multi_dot, {b, b:t(), b}))
        end)
      end
    end)

    it("or says that memory has run out, whatever the dtype", function()
      local b = x:gt(0)
      local list = {b, b:t(), b}
      local function zeros() return st.zeros(3, 3):gt(0) end
      with({"mm", "CPU", zeros}, function()
        local failures, why = -1
        repeat
          failures = failures + 1
          st.memory_fail_at(failures + 1)
          why = failure(st.linalg.multi_dot, list)
          st.memory_fail_at(0)
        until not why:find "out of memory"
        assert.matches("its shape must be %[3, 4%]", why)
        assert.is_true(failures > 10, failures)
      end)
    end)

    it("however deep the call is", function()
      local lib = st.library "specdeep"
      lib:def("f(Tensor x, int n) -> Tensor", function(t, n)
        if n > 0 then return st.ops.specdeep.f(t, n - 1) end
        return st.linalg.multi_dot {t, t:t(), t}
      end)
      with({"mm", "CPU", function() return st.ones(7, 7) end}, function()
        for n = 100, 200 do
          local why = failure(st.ops.specdeep.f, x, n)
          assert.is_truthy(why:find "its shape must be %[3, 3%], got %[7, 7%]"
                           or why:find "more than 200 deep"
                           or why:find "C stack overflow", why)
        end
      end)
      lib:close()
    end)

    it("where its sizes depend on elements", function()
      local m = st.tensor {{1, 2}, {3, 4}}
      local key = "CompositeImplicitAutograd"
      for _, case in ipairs {
        {"result 2: its dtype must be int64, got float32", "_unique2", key,
         function(t) return t:flatten() * 1, st.ones(2, 2), t:flatten() * 1 end,
         function() return st.unique_dim(m, 1) end},
        {"it must have 2 dimensions, got shape %[2%]", "nonzero", "CPU",
         function() return st.tensor {1, 2} end,
         function() return st.flatnonzero(m) end},
        {"its dtype must be int64, got float32", "nonzero", "CPU",
         function() return st.ones(1, 1) end,
         function() return st.flatnonzero(m) end},
        {"it must have 1 dimension, got shape %[1, 1%]", "masked_select",
         "CPU", function() return st.tensor {{1}} end,
         function() return st.unique(m) end},
        {"it must be on device 'cpu', got 'meta'", "bincount", "CPU",
         function() return st.tensor {1}:to "meta" end,
         function()
           return st.bincount(st.tensor {1}, {out = st.tensor {1}})
         end},
      } do
        with({case[2], case[3], case[4]}, function()
          assert.matches(case[1], failure(case[5]))
        end)
      end
      with({"nonzero", "CPU", function() return st.tensor {{2}, {3}} end},
           function() assert.same({2, 3}, st.flatnonzero(m):totable()) end)
    end)

    it("views and copies", function()
      local m = st.rand(4, 6)
      local function itself(t) return t end
      for _, key in ipairs {"CPU", "CompositeImplicitAutograd"} do
        with({"contiguous", key, itself, "clone", "CPU", itself}, function()
          raises("its strides must be [4, 1], got [1, 6]",
                 m.ravel, m:t())
        end)
      end
    end)
  end)

  it("returns to a script what it likes", function()
    with({"mm", "CPU", function() return st.ones(7) end}, function()
      assert.same({7}, st.mm(x, x:t()):size())
      local r = x:clone():requires_grad_()
      assert.same({7}, st.mm(r, x:t()):size())
    end)
  end)

  it("that passes every call on changes nothing", function()
    local n = 0
    st.warnings(false)
    local function pass(op, keys, ...)
      return op:redispatch(keys, ...)
    end
    for _, one in ipairs(calls.all()) do
      if one.make and one.name ~= "aten::_householder_backward" then
        local call = one.make()
        local ok, why = pcall(st.dispatch_mode, pass, call.run)
        if not ok then error(one.name .. ": " .. tostring(why), 0) end
        n = n + 1
      end
    end
    st.warnings(true)
    assert.is_true(n > 1500)
  end)

  it("may do anything at random", function()
    st.warnings(false)
    scripted.run(11, 1, 0)
    local broken, passed = scripted.run(11, 1, 2000)
    st.warnings(true)
    assert.same({}, broken)
    assert.is_true(passed > 300)
  end)
end)
