--- Lua functions that look on: modes, observers (C14), listeners
-- (R16).
-- axes: lua ffi lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local failure, live, raises = tensors.failure, tensors.live, tensors.raises

describe("The dispatcher", function()
  local before, lib, x
  setup(function() before = live() end)
  before_each(function()
    lib = st.library "specdispatch"
    x = st.tensor({1, -2}, {dtype = "float32"})
  end)
  after_each(function()
    lib:close()
    x = nil
    assert.is_false(st.included_keys():has "Lua")
  end)

  -- -- Modes -----------------------------------------------------------------

  describe("has modes", function()
    --- Names of the operators that a mode saw during a body.
    local function spy(list)
      return function(op, keys, ...)
        list[#list + 1] = op:name()
        return op:redispatch(keys, ...)
      end
    end

    it("that see every call with its arguments", function()
      local seen = {}
      local y, two = st.dispatch_mode(function(op, keys, ...)
        seen[#seen + 1] = {op, select("#", ...), ...}
        assert.is_true(keys:has "CPU")
        assert.is_false(keys:has "Lua")
        return op:redispatch(keys, ...)
      end, function(a) return a:add(a, {alpha = 2}), 2 end, x)
      assert.same({3, -6}, y:totable())
      assert.equal(2, two)
      assert.equal(1, #seen)
      assert.equal(st.ops.aten.add.Tensor, seen[1][1])
      assert.same({3, 2}, {seen[1][2], seen[1][5]})
      assert.equal(x, seen[1][3])
    end)

    it("that are off while they run, and over when the body is", function()
      local n = 0
      st.dispatch_mode(function(op, keys, ...)
        n = n + 1
        local _ = x + 1
        return op:redispatch(keys, ...)
      end, function() return x:neg() end)
      assert.equal(1, n)
      local _ = x + 1
      assert.equal(1, n)
    end)

    it("that change the call", function()
      local y = st.dispatch_mode(function(op, keys, a, ...)
        return op:redispatch(keys, a * 10, ...)
      end, function() return x:abs() end)
      assert.same({10, 20}, y:totable())
    end)

    it("that replace the result", function()
      local y = st.dispatch_mode(function() return x end,
                        function() return st.ones(3):abs() end)
      assert.is_true(y:is_alias_of(x))
      assert.matches("abs: result 1 .- must be a Tensor, got string 'no'",
                     failure(st.dispatch_mode, function() return "no" end,
                             function() return x:abs() end))
    end)

    it("that see what Lua calls, not what that is made of", function()
      local seen = {}
      lib:def("twice(Tensor x) -> Tensor", function(t) return t + t end)
      st.dispatch_mode(spy(seen), function() st.ops.specdispatch.twice(x) end)
      assert.same({"specdispatch::twice"}, seen)
      seen = {}
      st.dispatch_mode(spy(seen), function() st.zeros(2) end)
      assert.same({"aten::zeros"}, seen)
    end)

    it("that nest: the outer one sees what the inner one calls", function()
      local inner, outer = {}, {}
      st.dispatch_mode(spy(outer), function()
        st.dispatch_mode(function(op, keys, ...)
          inner[#inner + 1] = op:name()
          local y = op:redispatch(keys, ...)
          return y + 1
        end, function() return x:abs() end)
      end)
      assert.same({"aten::abs"}, inner)
      assert.equal("aten::add.Scalar", outer[#outer])
    end)

    it("that pass errors on, with their place", function()
      local object = {}
      assert.equal(object, failure(st.dispatch_mode,
                                   function() error(object) end,
                                   function() return x:abs() end))
      assert.equal(object, failure(st.dispatch_mode, spy {},
                                   function() error(object) end))
      assert.matches("mode_spec.lua:%d+: why\nstack traceback:",
                     failure(st.dispatch_mode, function() error "why" end,
                             function() return x:abs() end))
      raises({"dispatch_mode: ", "'fn' must be a function"},
             st.dispatch_mode, 7, print)
      raises({"dispatch_mode: ", "'body' must be a function"},
             st.dispatch_mode, print, 7)
    end)

    it("for any schema", function()
      lib:def("h(Tensor? t, Tensor?[] ts, Dim d, int[2]? l=None, "
              .. "*, ScalarType? dtype=None) -> (Tensor?, Dim, ScalarType?)",
              function(t, _, d, _, dtype) return t, d, dtype end)
      local h = st.ops.specdispatch.h
      local t, d, dtype = st.dispatch_mode(spy {}, function()
        return h(st.none, {x, st.none}, -1, {dtype = "int8"})
      end)
      assert.same({nil, -1, st.int8}, {t, d, dtype})
      t, d, dtype = st.dispatch_mode(spy {}, h, x, {}, 2, {3, 4})
      assert.is_true(t:is_alias_of(x))
      assert.same({2, nil}, {d, dtype})
    end)
  end)

  -- -- Observers -------------------------------------------------------------

  describe("has observers (C14)", function()
    it("that pass on what composites call, with its texts", function()
      local function pass(op, keys, ...) return op:redispatch(keys, ...) end
      local t = st.tensor({3, 1, 3}, {dtype = "float64"}):requires_grad_()
      local values, first = st.dispatch_mode(pass, function()
        return st.unique_all(t)
      end)
      assert.same({1, 3}, values:totable())
      assert.same({2, 1}, first:totable())
    end)

    it("that see calls, not redispatches", function()
      local seen = {}
      local y = st.observe({
        before = function(op, ...)
          seen[#seen + 1] = "+" .. op:name() .. select("#", ...)
        end,
        after = function(op, ok, ...)
          seen[#seen + 1] = "-" .. op:name() .. tostring(ok)
                            .. select("#", ...)
        end,
      }, function(t)
        local abs = st.ops.aten.abs
        abs:redispatch("CPU", t)
        return abs(t)
      end, x)
      assert.same({1, 2}, y:totable())
      assert.same({"+aten::abs0", "-aten::abstrue0"}, seen)
    end)

    it("that see values when they ask", function()
      local args, rets
      st.observe({
        values = true,
        before = function(_, ...) args = {...} end,
        after = function(_, _, ...) rets = {...} end,
      }, st.add, x, x, {alpha = 3})
      assert.is_true(args[1]:is_alias_of(x))
      assert.equal(3, args[3])
      assert.same({4, -8}, rets[1]:totable())
    end)

    it("that see failures, which stay what they were", function()
      local oks = {}
      local function multiply()
        local y = x:matmul(st.ones(3))
        return y
      end
      local plain = failure(multiply)
      local e = failure(st.observe, {
        after = function(_, ok)
          oks[#oks + 1] = ok
          pcall(st.add, st.ones(2), st.ones(3)) -- another message
          pcall(st.ops.specdispatch.bad)
        end,
      }, function()
        lib:def("bad() -> ()", function() error({}) end)
        multiply()
      end)
      assert.is_false(oks[#oks])
      assert.equal(plain, e)
      local object = {}
      lib:def("worse() -> ()", function() error(object) end)
      assert.equal(object, failure(st.observe, {
        after = function() pcall(st.ops.specdispatch.bad) end,
      }, st.ops.specdispatch.worse))
    end)

    it("whose own failure comes out in the end", function()
      local done, n = false, 0
      local e = failure(st.observe, {
        before = function()
          n = n + 1
          error "mine"
        end,
      }, function()
        done = x + 1 ~= x + 1
      end)
      assert.matches("mine", e)
      assert.is_true(done)
      assert.equal(1, n)
      raises({"observe: ", "'before' must be a function"},
             st.observe, {before = 7}, print)
      raises({"observe: ", "'body' must be a function"}, st.observe, {}, 7)
      raises({"observe: ", "must be a table, got function"},
             st.observe, print, print)
    end)

    it("that are told nothing wrong about an operator that changed",
       function()
      local got
      lib:def("r(Tensor x) -> int", function()
        lib:def "r(Tensor x) -> (Tensor, Tensor, Tensor)"
        return 1
      end)
      local r = st.ops.specdispatch.r
      st.observe({
        values = true,
        after = function(op, ok, ...)
          if op:name() == "specdispatch::r" then
            got = {ok, select("#", ...)}
          end
        end,
      }, function() assert.equal(1, r(x)) end)
      assert.same({true, 0}, got)
    end)
  end)

  -- -- Listeners -------------------------------------------------------------

  describe("has listeners (R16)", function()
    it("that hear what is there, then what changes", function()
      lib:def "here() -> int"
      local n, changes = 0, {}
      local handle = st.listen(function(name, is_defined)
        n = n + 1
        if name:find "^specdispatch" then
          changes[#changes + 1] = (is_defined and "+" or "-") .. name
        end
      end)
      assert.is_true(n > 300)
      lib:def "there.out() -> int"
      assert.same({"+specdispatch::here", "+specdispatch::there.out"},
                  changes)
      lib:close()
      assert.same({"-specdispatch::there.out", "-specdispatch::here"},
                  {changes[3], changes[4]})
      handle:close()
      handle:close()
      lib = st.library "specdispatch"
      lib:def "silent() -> int"
      assert.equal(4, #changes)
    end)

    it("that may register and close, and hear of it in order", function()
      local seen, inside, handle, other = {}, false
      handle = st.listen(function(name, is_defined)
        assert(not inside, "one at a time")
        if not name:find "^specdispatch" then return end
        inside = true
        seen[#seen + 1] = name .. tostring(is_defined)
        if name == "specdispatch::a" and is_defined then
          other = st.library("specdispatch2", function(l)
            l:def "c() -> int"
          end)
        elseif name == "specdispatch2::c" then
          handle:close()
        end
        inside = false
      end)
      local both = st.library("specdispatch", "FRAGMENT", function(l)
        l:def "a() -> int"
        l:def "b() -> int"
      end)
      other:close()
      both:close()
      assert.same({"specdispatch::atrue", "specdispatch::btrue",
                   "specdispatch2::ctrue"}, seen)
    end)

    it("whose errors are warnings: what was registered stands", function()
      local heard = 0
      local function count(name)
        if name == "specdispatch::loud" then heard = heard + 1 end
      end
      local first = st.listen(count)
      local handle = st.listen(function(name)
        if name == "specdispatch::loud" then error "a listener's own" end
      end)
      local last = st.listen(count)
      assert.equal(lib, lib:def "loud() -> int")
      for _, h in ipairs {first, handle, last} do h:close() end
      assert.equal(2, heard)
      assert.equal("specdispatch::loud() -> int",
                   st.ops.specdispatch.loud:schema())
      local n = 0
      assert.matches("at once", failure(st.listen, function()
        n = n + 1
        error "at once"
      end))
      lib:def "later() -> int" -- nobody listens
      assert.equal(1, n)
    end)
  end)

  it("leaves no tensor behind", function()
    lib:close()
    x = nil
    assert.equal(before, live())
  end)
end)
