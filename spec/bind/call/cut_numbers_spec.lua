--- A number that loses its fraction in a tensor of integers is said, once per
-- place; the value stays PyTorch's.
-- axes: lua lua5.2

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

--- The warnings of body(...), which is called three times.
local function said_by(body, ...)
  local texts = {}
  local before = st.warnings(function(text) texts[#texts + 1] = text end)
  local ok, why
  for _ = 1, 3 do ok, why = pcall(body, ...) end
  st.warnings(before)
  assert(ok, why)
  return texts
end

local t

-- What, the calls, the value there. The parentheses make these no tail calls,
-- which have no place of their own.
local ROWS = {
  {"t[i] = v", function() t[1] = 0.5 return t["1:1"] end, 0},
  {"t[{i}] = v", function() t[{2}] = -1.5 return t["2:2"] end, -1},
  {"t[{}] = v", function() t[{}] = 2.5 return t end, 2},
  {"t['...'] = v", function() t["1:2"] = 3.5 return t end, 3},
  {"t[mask] = v", function() t[t:ge(0)] = 4.5 return t end, 4},
  {"fill_", function() return (t:fill_(0.7)) end, 0},
  {"full", function() return (st.full({2}, 1.5, {dtype = "int32"})) end, 1},
  {"full by name", function()
    return (st.full({2}, {fill_value = 1.5, dtype = "int32"}))
  end, 1},
  {"full to out", function()
    return (st.full({2}, 1.5, {out = st.zeros({2}, {dtype = "uint8"})}))
  end, 1},
  {"full_like", function() return (st.full_like(t, 1.5)) end, 1},
  {"new_full", function() return (t:new_full({2}, 1.5)) end, 1},
  {"full_like of another dtype", function()
    return (st.full_like(st.ones(2), 1.5, {dtype = "uint8"}))
  end, 1},
  {"masked_fill", function() return (t:masked_fill(t:ge(-9), 5.5)) end, 5},
  {"masked_fill_", function() return (t:masked_fill_(t:ge(-9), 5.5)) end, 5},
  {"index_fill", function()
    return (t:index_fill(1, st.tensor {1, 2}, 6.5))
  end, 6},
  {"scatter", function() return (t:scatter(1, st.tensor {1, 2}, 7.5)) end, 7},
  {"constant_pad_nd", function()
    return st.constant_pad_nd(t, {0, 1}, 8.5)["3:3"]
  end, 8},
  {"a bool tensor", function()
    return st.zeros({2}, {dtype = "bool"}):fill_(0.5):to "int64"
  end, 1},
}

describe("A number that is cut", function()
  before_each(function() t = st.tensor {1, 2} end)

  for _, row in ipairs(ROWS) do
    it("is said once per place: " .. row[1], function()
      local got
      local texts = said_by(function() got = row[2]() end)
      assert.equal(1, #texts, table.concat(texts, "\n"))
      assert.matches("^[^\n]*cut_numbers_spec%.lua:%d+: ", texts[1])
      assert.matches("{dtype = \"float32\"}", texts[1], 1, true)
      assert.is_true(got:eq(row[3]):all():item(), tostring(got))
    end)
  end

  it("is said again at another place", function()
    local texts = said_by(function()
      t:fill_(0.25)
      t:fill_(0.25)
    end)
    assert.equal(2, #texts)
  end)

  for what, body in pairs {
    ["a whole number"] = function() t:fill_(2) t[1] = 3 t[{}] = -0.0 end,
    ["a floating tensor"] = function()
      local x = st.zeros(2)
      x:fill_(0.5)
      x[1] = 0.5
      x:masked_fill_(x:gt(0), 1 / 0)
      st.full_like(t, 0.5, {dtype = "float32"})
      st.full({2}, 0.5)
    end,
    ["a promoted result"] = function()
      local _, _ = t + 0.5, t:where(t:gt(1), 0.5)
    end,
  } do
    it("is not said of " .. what, function()
      assert.same({}, said_by(body))
    end)
  end

  it("is said by a handler that may change what was given", function()
    local options = {fill_value = 1.5, dtype = "int32"}
    local before = st.warnings(function()
      options.dtype, options.fill_value = nil, nil
      options["dty" .. "pe"], options["fill" .. "_value"] = "int16", 7
      collectgarbage()
    end)
    local made = st.full({2}, options)
    local target = st.tensor {1, 2}
    st.warnings(function() target:free() end)
    target[1] = 0.5
    target = st.tensor {1, 2}
    target["1:2"] = 0.5
    st.warnings(before)
    assert.equal("int16", made.dtype)
    assert.same({7, 7}, made:totable())
    raises("freed", target.size, target)
  end)

  it("is an error if it is no number or infinite, and nothing else", function()
    for _, value in ipairs {0 / 0, -(0 / 0), 1 / 0} do
      for _, body in ipairs {
        function() t[1] = value end, function() t["1:1"] = value end,
        function() t:fill_(value) end,
        function() t:masked_fill_(t:gt(0), value) end,
      } do
        local texts = {}
        local before = st.warnings(function(text) texts[#texts + 1] = text end)
        local why = tensors.failure(body)
        st.warnings(before)
        assert.matches("value " .. (value == value and "inf" or "nan") ..
                       " does not fit in int64", why)
        assert.same({}, texts)
      end
    end
  end)

  it("is not said with warnings off", function()
    local before = st.warnings(false)
    t:fill_(0.5)
    st.warnings(before)
    assert.same({0, 0}, t:totable())
  end)
end)

describe("An error of integers from a table says why", function()
  for what, body in pairs {
    ["requires_grad"] = function()
      st.tensor({1.0, 2.0}, {requires_grad = true})
    end,
    ["requires_grad_"] = function() st.tensor({1.0, 2.0}):requires_grad_() end,
    ["mean"] = function() st.tensor({1.0, 2.0}):mean() end,
    ["add_ of a fraction"] = function() st.tensor({1.0, 2.0}):add_(0.5) end,
  } do
    it(what, function()
      raises({"{dtype = \"float32\"}", "numbers without a fraction make int64"},
             body)
    end)
  end
end)
