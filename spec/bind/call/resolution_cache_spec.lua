--- Cached overload resolutions: a call with the same types of arguments selects
-- the same overload, until operators are redefined.
-- axes: lua

local st = require "strided"
local raises = require("spec.support.tensors").raises

local x = st.tensor {1, 2}

--- A library whose operator has overloads that return their names' lengths.
local function define(schemas)
  local lib = st.library "cachespec"
  for _, schema in ipairs(schemas) do
    local overload = schema:match "^%w%.(%w+)"
    lib:def(schema .. " -> int", function() return #overload end)
  end
  return lib
end

describe("A cached resolution", function()
  local lib

  after_each(function() if lib then lib:close() end end)

  it("tells integral numbers, other numbers and booleans apart", function()
    lib = define {"f.i(Tensor x, int n)", "f.bb(Tensor x, bool n)",
                  "f.sss(Tensor x, float n)", "f.tttt(Tensor x, Tensor n)"}
    local f = st.ops.cachespec.f
    for _ = 1, 3 do
      assert.same({1, 2, 3, 4}, {f(x, 1), f(x, true), f(x, 1.5), f(x, x)})
      assert.same({1, 3}, {f(x, -0.0), f(x, st.float(2))})
    end
  end)

  it("tells 0 from the numbers of dimensions", function()
    for _ = 1, 3 do
      assert.equal(2, x:max(1):item())
      assert.same({1, 2}, x:max(0):totable())
      assert.equal(2, x:max(-1):item())
    end
  end)

  it("counts the arguments", function()
    lib = define {"f.a(Tensor x)", "f.bb(Tensor x, int n)",
                  "f.ccc(Tensor x, int n, int m)"}
    local f = st.ops.cachespec.f
    for _ = 1, 3 do
      assert.same({1, 2, 3}, {f(x), f(x, 1), f(x, 1, 2)})
      assert.same({1, 2}, {f(x, nil), f(x, {n = 5})})
      raises({"f: ", "at most 3"}, function() f(x, 1, 2, 3) end)
    end
  end)

  it("ends with the definition that it selected", function()
    lib = define {"f.a(Tensor x, int n)"}
    local f = st.ops.cachespec.f
    assert.same({1, 1}, {f(x, 1), f(x, 2)})
    lib:close()
    raises({"there is no such operator"}, function() f(x, 1) end)
    lib = define {"f.a(Tensor x, int n, int m=3)"}
    assert.same({1, 1}, {f(x, 1), f(x, 1, 2)})
    lib:close()
    lib = define {"f.a(Tensor x, Scalar n)"}
    assert.equal(1, f(x, 2.5))
  end)

  it("ends when an overload before it is defined again", function()
    -- names of their own, whose order no other row has set
    lib = define {"f.q(Tensor x, int n)", "f.rr(Tensor x, Scalar n)"}
    local first = st.ops.cachespec.f
    assert.equal(1, first(x, 1))
    lib:close()
    lib = st.library "cachespec"
    lib:def("f.rr(Tensor x, Scalar n) -> int", function() return 2 end)
    assert.same({2, 2}, {first(x, 1), first(x, 1)})
    lib:def("f.q(Tensor x, int n) -> int", function() return 1 end)
    assert.same({1, 1}, {first(x, 1), first(x, 1)})
  end)

  it("with a number as a tensor ends when any is defined again", function()
    lib = define {"f.a(Tensor x, Tensor y)"}
    local other = st.library("cachespec", "FRAGMENT")
    other:def("f.bb(Tensor x, Scalar n) -> int", function() return 2 end)
    local f = st.ops.cachespec.f
    assert.same({2, 2}, {f(x, 2), f(x, 2)})
    other:close()
    assert.same({1, 1}, {f(x, 2), f(x, 2)})
    other = st.library("cachespec", "FRAGMENT")
    other:def("f.bb(Tensor x, Scalar n) -> int", function() return 2 end)
    assert.same({2, 2}, {f(x, 2), f(x, 2)})
    other:close()
  end)

  it("ends when the packet looks for overloads again", function()
    lib = define {"f.a(Tensor x, Tensor y)"}
    local f = st.ops.cachespec.f
    assert.same({1, 1}, {f(x, 2), f(x, 2)}) -- 2 is wrapped
    lib:def("f.bb(Tensor x, Scalar n) -> int", function() return 2 end)
    raises({"f: argument 2"}, function() f(x, "s") end)
    assert.same({2, 2}, {f(x, 2), f(x, 2)})
  end)

  it("keeps out= and other keywords apart", function()
    local r, s = st.zeros(2), st.zeros(2)
    for _ = 1, 3 do
      assert.equal(r, st.add(x, x, {out = r}))
      assert.equal(s, st.add(x, x, {out = s, alpha = 2}))
      assert.same({2, 4}, r:totable())
      assert.same({3, 6}, s:totable())
      raises({"has no argument 'no'"},
             function() st.add(x, x, {out = r, no = 1}) end)
      raises({"has no argument 'no'"}, function() st.add(x, x, {no = r}) end)
      raises({"out"}, function() st.add(x, x, {out = 1}) end)
    end
  end)

  it("converts lists of numbers and indices", function()
    local m = st.arange(6):view(2, 3)
    for _ = 1, 3 do
      assert.same({3, 2}, m:permute(2, 1).shape)
      assert.same({3, 2}, m:transpose(1, -1).shape)
      assert.same({2, 3}, st.zeros(2, 3).shape)
      assert.same({4}, st.zeros(4).shape)
      assert.equal(6, st.ones(1, 6):numel())
      raises({"dimensions count from 1"}, function() m:transpose(0, 1) end)
      raises({"dim", "count from 1"}, function() m:permute(0, 1) end)
    end
  end)

  it("is not one of the method where the function has another order", function()
    local rows = {{st.where, x:gt(1), x, -x}}
    for _ = 1, 3 do
      assert.same({-1, 2}, rows[1][1](rows[1][2], x, -x):totable())
      assert.same({-1, 2}, x:where(x:gt(1), -x):totable())
      assert.same({1, -2}, (-x):where(x:gt(1), x):totable())
    end
  end)

  it("tells keywords apart by name, in any number and order", function()
    lib = define {"h.a(Tensor x, *, int n)", "h.bb(Tensor x, *, int m)",
                  "h.ccc(Tensor x, *, int n, int m)",
                  "h.dddd(Tensor x, int n, *, bool m)"}
    local f = st.ops.cachespec.h
    for i = 1, 5 do
      assert.same({1, 2, 3, 4},
                  {f(x, {n = i}), f(x, {m = i}), f(x, {n = i, m = i}),
                   f(x, {n = i, m = true})})
      assert.same({3, 4, 4}, {f(x, {m = i, n = 2}), f(x, {m = false, n = i}),
                              f(x, i, {m = true})})
      raises({"h: "}, function() f(x, {k = i}) end)
      raises({"h: "}, function() f(x, {n = i, m = i, k = 1, l = 2}) end)
    end
  end)

  it("gives keywords to their arguments, synonyms too", function()
    local m = st.arange(6):view(2, 3)
    for _ = 1, 4 do
      assert.same({{3}, {12}}, m:sum(2, {keepdim = true}):totable())
      assert.same({3, 12}, m:sum(2, {keepdim = false}):totable())
      assert.same({{3, 5, 7}}, m:sum({dim = 1, keepdim = true}):totable())
      assert.same({{3}, {12}}, m:sum({axis = 2, keepdims = true}):totable())
      assert.same({1, 2}, x:add(x, {alpha = 0}):totable())
      assert.same({5, 6}, st.add(x, 2, {alpha = 2}):totable())
      raises({"count from 1"}, function() m:sum({dim = 0}) end)
      raises({"given twice"}, function() m:sum(1, {dim = 1}) end)
    end
  end)

  it("tells lists of integers from other lists and from numbers", function()
    lib = define {"l.a(Tensor x, int[] n)", "l.bb(Tensor x, float[] n)",
                  "l.ccc(Tensor x, Tensor[] n)", "l.dddd(Tensor x, bool n)"}
    local f = st.ops.cachespec.l
    for i = 1, 4 do
      assert.same({1, 2, 3, 4}, {f(x, {i, 0}), f(x, {i, .5}), f(x, {x, x}),
                                 f(x, true)})
      assert.same({1, 1, 1, 2}, {f(x, {n = {i}}), f(x, {}), f(x, {1, 2, 3, i}),
                                 f(x, {n = {1, .5}})})
      raises({"l: "}, function() f(x, {1, "a"}) end)
      assert.equal(1, f(x, {1, 2}))
      raises({"l: "}, function() f(x, {1, k = 2}) end)
      assert.equal(1, f(x, {1, 2}))
      raises({"l: "}, function() f(x, {1, [3] = 2}) end)
    end
  end)

  it("converts the indices of a list", function()
    local m = st.arange(6):view(1, 2, 3)
    local long = {}
    for i = 1, 20 do long[i] = 1 end
    for _ = 1, 4 do
      assert.same({3, 1, 2}, m:permute({3, 1, 2}).shape)
      assert.same({2, 3, 1}, m:permute({2, 3, 1}).shape)
      assert.same({2, 3, 1}, m:permute {-2, -1, 1}.shape)
      assert.same({1, 2, 3}, m:view(m.shape).shape)
      assert.same({{{15}}}, m:sum({2, 3}, {keepdim = true}):totable())
      assert.same({{{15}}}, m:sum {2, 3, keepdim = true}:totable())
      assert.same({3, 12}, m:sum {dim = {1, 3}}:totable())
      assert.equal(20, #st.zeros(long).shape)
      assert.equal(3, #st.zeros({1, 1, 1}).shape)
      raises({"count from 1"}, function() m:permute({0, 1, 2}) end)
      raises({"permute"}, function() m:permute({1, 2}) end)
    end
  end)

  it("converts a string anew for each call", function()
    for _ = 1, 4 do
      assert.equal("int64", st.zeros(2, {dtype = "int64"}).dtype)
      assert.equal("bool", st.zeros(2, {dtype = "bool"}).dtype)
      assert.equal("meta", st.zeros(2, {device = "meta"}).device)
      assert.equal("float64", x:to("float64").dtype)
      assert.equal("meta", x:to("meta").device)
      assert.same({0, 1}, x:div(2, {rounding_mode = "floor"}):totable())
      assert.same({-1, -1},
                  (-x):div(2, {rounding_mode = "floor"}):totable())
      assert.same({0, -1},
                  (-x):div(2, {rounding_mode = "trunc"}):totable())
      raises({"dtype", "float33"}, function()
        st.zeros(2, {dtype = "float33"})
      end)
      raises({"float33"}, function() x:to("float33") end)
      raises({"up"}, function() x:div(2, {rounding_mode = "up"}) end)
    end
  end)

  it("lets a string choose where overloads take any or a dtype", function()
    lib = define {"g.a(Tensor x, ScalarType n)", "g.bb(Tensor x, str n)"}
    local f = st.ops.cachespec.g
    for _ = 1, 3 do
      assert.same({2, 1, 2}, {f(x, "some"), f(x, "int8"), f(x, {n = "none"})})
      assert.same({1, 2}, {f(x, {n = "int8"}), f(x, {n = "int9"})})
    end
  end)

  it("needs every keyword for an argument", function()
    for _ = 1, 3 do
      assert.is_false(st.zeros(2, {requires_grad = false}).requires_grad)
      assert.is_true(st.zeros(2, {requires_grad = true}).requires_grad)
    end
  end)

  it("keeps no name that no argument has, and survives collections", function()
    for i = 1, 40 do
      assert.same({3}, x:sum(1, {["keep" .. "dim"] = true}):totable())
      raises({"no" .. i}, function() x:sum(1, {["no" .. i] = true}) end)
      collectgarbage()
    end
  end)

  it("holds no tensor", function()
    local weak = setmetatable({st.ones(3)}, {__mode = "v"})
    st.add(weak[1], weak[1])
    st.add(weak[1], 2)
    collectgarbage()
    collectgarbage()
    assert.is_nil(weak[1])
  end)
end)
