--- Calls that torch7, NumPy or old PyTorch take: they work, or say what to
-- write.
-- axes: lua

local st = require "strided"
local raises = require("spec.support.tensors").raises

local x = st.tensor {{1, 2, 3}, {4, 5, 6}}
local v = st.tensor {1, 2, 3}
local m = st.ones(3, 3)

describe("A call is refused with what to write:", function()
  -- name, arguments, what the error says
  local rows = {
    {"sub", {x, 2, 3}, "write t:narrow(dim, start, length) or t[\"2:3\"]"},
    {"sub", {x, 1, 2, 2, 3}, "write t:narrow(dim, start, length)"},
    {"add", {x, 2, 3}, "for t + 3 * 2 write t:add(2, {alpha = 3})"},
    {"add", {x, 2, x}, "write t:add(other, {alpha = number})"},
    {"sub", {x, 2, x}, "write t:sub(other, {alpha = number})"},
    {"add", {x, x, 2, x}, "write st.add(a, b, {alpha = number, out = t})"},
    {"add", {x, x, x}, "torch7's result comes first; write st.add(a, b)"},
    {"mul", {x, x, 2}, "write st.mul(a, number)"},
    {"pow", {x, x, 2}, "write st.pow(a, number)"},
    {"mm", {m, m, m}, "write st.mm(a, b), or st.mm(a, b, {out = t})"},
    {"addcmul", {x, 2, x, x}, "write t:addcmul(a, b, {value = number})"},
    {"addcdiv", {x, 2, x, x}, "write t:addcdiv(a, b, {value = number})"},
    {"addmm", {m, 2, m, m}, "write t:addmm(a, b, {alpha = number})"},
    {"addmm", {m, 1, 2, m, m}, "{beta = number, alpha = number}"},
    {"addmm", {1, m, 2, m, m}, "write st.addmm(t, a, b, {beta = number"},
    {"index", {x, 1, v}, "write t:index_select(dim, index)"},
    {"normal", {x, 0, 1}, "t:normal_(mean, std) fills t"},
    {"normal", {0, 1}, "write st.normal(mean, std, {2, 3})"},
    {"bernoulli", {x, 0.5}, "t:bernoulli_(p) fills t"},
    {"bernoulli", {0.5}, "write st.empty(2, 3):bernoulli_(p)"},
    {"full", {2, 2, 7}, "write st.full({2, 3}, value)"},
    {"round", {x, 2}, "write t:round({decimals = number})"},
    {"meshgrid", {{v, v}, "ij"}, "{indexing = name}"},
    {"transpose", {x}, "t:transpose(1, 2), or write t:t()"},
    {"flip", {x}, "name the dimensions: t:flip(1), t:flip {1, 2}"},
    {"zeros", {3, 4, "int64"}, "write st.zeros(2, 3, {dtype = name})"},
    {"ones", {{3, 4}, "int64"}, "write st.ones({2, 3}, {dtype = name})"},
    {"arange", {0, 3, "int64"}, "write st.arange(n, {dtype = name})"},
  }
  for _, row in ipairs(rows) do
    it(("%s with %d arguments: %s"):format(row[1], #row[2], row[3]),
       function()
      raises({row[1] .. ": ", row[3]}, st[row[1]],
             (table.unpack or unpack)(row[2]))
    end)
  end

  it("also by position or method, at the caller's line", function()
    local function f() x:sub(2, 3) end
    raises({"call_advice_spec.lua:" .. debug.getinfo(f, "S").linedefined
            .. ": sub: "}, f)
    assert.is_true(x:sub(2, {alpha = 3}):equal(x - 6))
    assert.is_true(x:add(2, {alpha = 3}):equal(x + 6))
    assert.is_true(st.ops.aten.sub.Scalar(x, 2, {alpha = 3}):equal(x - 6))
    assert.is_true(st.ops.aten.sub.Scalar(x, 2, 3):equal(x - 6))
  end)
end)

describe("A tensor where a number is wanted", function()
  for what, call in pairs {
    full = function() st.full({2}, v[{1}]) end,
    arange = function() st.arange(v[{1}]) end,
    ["alpha of add"] = function() st.add(v, v, {alpha = v[{1}]}) end,
    leaky_relu = function() st.leaky_relu(m, v[{1}]) end,
    ["value of pad"] = function() st.pad(m, {1, 1}, {value = v[{1}]}) end,
  } do
    it("is told how its number is written: " .. what, function()
      raises({"got Tensor; the number of a tensor of one element is t:item()"},
             call)
    end)
  end
end)

describe("Several tensors", function()
  it("are a list that is the first argument", function()
    assert.same({1, 2, 3, 1, 2, 3}, st.cat(v, v):totable())
    assert.same({2, 6}, {(table.unpack or unpack)(st.cat(x, x, 2).shape)})
    assert.is_true(st.cat(x, x, {dim = 2}):equal(st.cat({x, x}, 2)))
    assert.is_true(st.cat(x, x, x, {axis = 1}):equal(st.cat({x, x, x}, 1)))
    assert.is_true(st.stack(v, v, 2):equal(st.stack({v, v}, 2)))
    assert.is_true(st.hstack(v, v):equal(st.cat {v, v}))
    assert.equal(2, #st.meshgrid(v, v))
    local out = st.empty(0, {dtype = "int64"})
    st.cat(v, v, {out = out})
    assert.is_true(out:equal(st.cat {v, v}))
  end)

  it("are not given twice", function()
    raises({"cat: argument 'tensors' is given twice"}, st.cat, v, v,
           {tensors = {v}})
  end)

  it("are two at least", function()
    raises({"cat: argument 'tensors' must be"}, st.cat, v)
    raises({"cat: argument 'tensors' must be"}, st.cat, v, 1)
  end)

  it("pass gradients on", function()
    local a = st.ones(2):requires_grad_()
    local b = st.ones(2):requires_grad_()
    local y = (st.cat(a, b * 2) * st.tensor {1, 2, 3, 4}):sum()
    y:backward()
    assert.same({1, 2}, a.grad:totable())
    assert.same({6, 8}, b.grad:totable())
  end)
end)

describe("A keyword", function()
  it("that is a list of dimensions takes one of them", function()
    assert.same({3, 2, 1}, st.flip(v, {axis = 1}):totable())
    assert.same({3, 2, 1}, v:flip({dims = 1}):totable())
    assert.equal(2, #st.zeros({size = 2}))
  end)
end)

describe("NumPy's ddof", function()
  it("is correction", function()
    -- deviations -1, 0, 1: their squares sum to 2
    local t = st.tensor({1, 2, 3}, {dtype = "float64"})
    assert.equal(1, t:var({axis = 1, ddof = 1}):item())
    assert.equal(2 / 3, t:var({axis = 1, ddof = 0}):item())
    assert.equal(2, t:var({axis = 1, ddof = 2}):item())
  end)
end)

describe("An operator that wants floating point numbers", function()
  local t = st.tensor {1.0, 2.0}
  local square = st.tensor {{1.0, 2.0}, {3.0, 5.0}}
  local WHY = "numbers without a fraction make int64, write {dtype = "
              .. "\"float32\"}"

  for name, call in pairs {
    std = function() return t:std() end,
    var = function() return t:var() end,
    norm = function() return t:norm() end,
    linalg_norm = function() return st.linalg.norm(t) end,
    linalg_vector_norm = function() return st.linalg.vector_norm(t) end,
    softmax = function() return t:softmax(1) end,
    log_softmax = function() return t:log_softmax(1) end,
    linalg_inv = function() return st.linalg.inv(square) end,
    linalg_qr = function() return st.linalg.qr(square) end,
    gelu = function() return st.gelu(t) end,
    multinomial = function() return st.multinomial(t, 1) end,
    normal_ = function() return t:normal_() end,
    linear = function() return st.nn.Linear(2, 2)(t) end,
    layer_norm = function() return st.layer_norm(t, {2}) end,
    cdist = function() return st.cdist(square, square) end,
    mm = function() return st.mm(st.ones(2, 2), square) end,
    lerp = function() return st.lerp(t, t, 0.5) end,
  } do
    it("says why numbers are int64: " .. name, function()
      raises({name, "int64", WHY}, call)
    end)
  end

  it("says so once", function()
    local _, why = pcall(t.mean, t)
    local _, count = why:gsub("make int64", "")
    assert.equal(1, count)
  end)

  it("says nothing of it for other dtypes and reasons", function()
    local b = st.tensor({1, 2}, {dtype = "int32"})
    for _, call in ipairs {
      function() return b:std() end,
      function() return st.ones(2):masked_select(t) end,
      function() return st.gather(st.ones(2), 1, b:to "int16") end,
      function() return st.ones(2):view(3) end,
    } do
      local ok, why = pcall(call)
      assert.is_false(ok)
      assert.is_nil(why:find("make int64", 1, true), why)
    end
  end)
end)
