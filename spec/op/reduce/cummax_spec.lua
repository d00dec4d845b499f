--- cummax and cummin are those of a loop over the elements, whatever the length
-- and the layout of the lines: of equal elements the last one counts, also of
-- zeros of both signs, and a NaN stays.
-- axes: isa

local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"

local DTYPES = {"bool", "uint8", "int8", "int16", "int32", "int64", "uint16",
                "uint32", "uint64", "float16", "bfloat16", "float32",
                "float64"}

--- The indices of the extrema of a list.
local function indices_of(row, is_least)
  local best, at = row[1], {}
  local k = 1
  for i, x in ipairs(row) do
    local wins = x ~= x or (is_least and x <= best or not is_least
                            and x >= best)
    if wins then best, k = x, i end
    at[i] = k
  end
  return at
end

--- Lines that rise, fall, and do neither, some with zeros and NaN.
local function lines(dtype, length, count)
  -- numbers of the loop, which are float64
  local signs = dtype == "uint64" and st.abs or function(t) return t end
  local all = signs(st.randn(count, length):mul(20)):to(dtype)
  local rise = st.arange(length, {dtype = "float64"})
  all[1]:copy_(rise:div(3):floor():remainder(100))
  all[2]:copy_(rise:neg():div(2):floor():remainder(100))
  all[3]:copy_(signs(st.randn(length):sign()))
  if dtype:find "float" then
    all[3] = all[3]:mul(0)
    all[4]:narrow(1, math.ceil(length / 3), 1):fill_(0 / 0)
    all[4]:narrow(1, math.ceil(length / 2), 1):fill_(0 / 0)
    all[5]:fill_(-math.huge)
  end
  return all
end

describe("A running extremum", function()
  local function check(dtype, length, count)
    local all = lines(dtype, length, count)
    local rows = all:to("float64"):totable()
    local across = all:t():contiguous()
    for _, name in ipairs {"cummax", "cummin"} do
      local expected = {}
      for r, row in ipairs(rows) do
        expected[r] = indices_of(row, name == "cummin")
      end
      local where = st.tensor(expected, {dtype = "int64"})
      local bits = cases.bits(all:gather(2, where))
      for _, result in ipairs {{st[name](all, 2)}, {st[name](across:t(), 2)},
                               {st[name](all:t(), 1)},
                               {st[name](across, 1)}} do
        local values, indices = result[1], result[2]
        if values:size(1) ~= count then
          values, indices = values:t(), indices:t()
        end
        assert(indices:equal(where), ("%s of %s, %d"):format(name, dtype,
                                                             length))
        assert(cases.bits(values):equal(bits), name .. " of " .. dtype)
      end
    end
  end

  for _, dtype in ipairs(DTYPES) do
    it("is that of a loop: " .. dtype, function()
      for _, length in ipairs {1, 2, 15, 16, 17, 50, 129} do
        check(dtype, length, length == 50 and 261 or 9)
      end
    end)
  end
end)
