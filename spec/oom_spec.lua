--- Every allocation of an operator may fail: the error is the one of memory,
-- nothing leaks and no input changes.

local st = require "strided"
local core = require "strided.core"

st.warnings(false) -- an out= tensor of another shape is on purpose here

local function live()
  require "spec.collect" ()
  local out = {}
  for kind, m in pairs(st.memory()) do out[kind] = m.count end
  out.registry = nil -- an operator may keep what its first call worked out
  return out
end

local function inputs()
  local a = st.arange(0, 12):to("float32"):view(3, 4)
  local b = st.arange(12, 24):to("float32"):view(4, 3):t()
  return {
    a = a, b = b, small = st.arange(0, 4):to "int32", mask = a:gt(5),
    positions = st.tensor({{1, 2, 1, 3}}, {dtype = "int64"}),
    square = st.ones(3, 3),
    double = st.zeros({3, 3}, {dtype = "float64"}),
  }
end

-- name, call, allocates = false for one that does not
local OPERATORS = {
  {"add", function(x) return x.a:add(x.b) end},
  {"add with promotion", function(x) return x.a:add(x.small) end},
  {"add with a number", function(x) return x.a + 2 end},
  {"add_", function(x) return x.a:add_(x.b) end, allocates = false},
  {"mul to out=", function(x)
    return st.mul(x.a, x.b, {out = x.square})
  end},
  {"exp", function(x) return x.a:exp() end},
  {"clamp", function(x) return x.a:clamp(2, 5) end},
  {"where", function(x) return st.where(x.mask, x.a, x.b) end},
  {"sum", function(x) return x.a:sum() end},
  {"mean of dimensions", function(x) return x.b:mean {dim = {1}} end},
  {"argmax", function(x) return x.a:argmax {dim = 2} end},
  {"matmul", function(x) return x.a:matmul(x.b:t()) end},
  {"cat", function(x) return st.cat({x.a, x.b}, 1) end},
  {"stack", function(x) return st.stack {x.a, x.b} end},
  {"sort", function(x) return x.b:sort() end},
  {"topk", function(x) return x.a:topk(2) end},
  {"cumsum", function(x) return x.b:cumsum(1) end},
  {"gather", function(x) return x.a:gather(1, x.positions) end},
  {"masked_select", function(x) return x.a:masked_select(x.mask) end},
  {"nonzero", function(x) return x.mask:nonzero() end},
  {"isclose", function(x) return x.a:isclose(x.b, {equal_nan = true}) end},
  {"isin", function(x) return st.isin(x.a, x.b) end},
  {"float_power to out=", function(x)
    return st.float_power(x.square, 2, {out = x.double})
  end},
  {"diff", function(x) return x.b:diff {n = 2} end},
  {"trapezoid", function(x) return st.trapezoid(x.a, x.b) end},
  {"quantile", function(x) return x.b:quantile(0.5, {dim = 1}) end},
  {"mode", function(x) return x.b:mode(1) end},
  {"nanmedian", function(x) return x.b:nanmedian() end},
  {"histc", function(x) return x.b:histc(3) end},
  {"bincount", function(x) return x.small:bincount() end},
  {"unique_consecutive", function(x)
    return x.small:unique_consecutive(true, true)
  end},
  {"contiguous", function(x) return x.b:contiguous() end},
  {"to", function(x) return x.b:to "int64" end},
  {"reshape", function(x) return x.b:reshape(12) end},
  {"split", function(x) return x.a:split(1, 2) end},
  {"subscript", function(x) return x.a["2:3, 1"] end},
  {"subscript by mask", function(x) return x.a[{x.mask}] end},
  {"assignment", function(x) x.a["2:3, 1"] = x.b["2:3, 2"] end},
  {"iterator", function(x)
    return st.iterator {outputs = {false}, inputs = {x.a, x.b}}
  end},
}

local MOST = 200 -- allocations a call may take before this looks endless

--- What inputs hold, as bytes.
local function contents(x)
  local out = {}
  for name, t in pairs(x) do
    local c = t:contiguous()
    out[name] = core.get_bytes(c, 0, c:numel() * c:element_size())
  end
  return out
end

--- Lets each allocation of a call fail; returns how many there are.
local function fail_each(call)
  for k = 1, MOST do
    local x = inputs()
    local holding = contents(x)
    st.memory_fail_at(k)
    local ok, message = pcall(call, x)
    local left = st.memory_fail_at(0)
    if ok then
      -- it went through: this call makes fewer than k allocations
      assert.is_true(left > 0, "a failure was swallowed")
      return k - 1
    end
    assert.truthy(tostring(message):find "out of memory", message)
    assert.same(holding, contents(x))
  end
  error "never succeeds"
end

describe("When memory runs out", function()
  local before

  setup(function() before = live() end)

  for _, row in ipairs(OPERATORS) do
    it(row[1] .. " fails cleanly at every allocation", function()
      row[2](inputs()) -- what is made once and kept is made here
      local kinds = live()
      local failures = fail_each(row[2])
      assert.equal(row.allocates ~= false, failures > 0)
      assert.same(kinds, live())
    end)
  end

  it("leaves nothing behind", function() assert.same(before, live()) end)
end)
