--- What stands for missing values of a CSV file: the option `fill`.
-- axes: lua

local st = require "strided"

describe("A column of a CSV file with missing values", function()
  it("has the dtype of the elements and of `fill`", function()
    local big = "18446744073709551615"
    for _, row in ipairs {
      {"4", math.huge, "float64", {4, math.huge}},
      {"4", 1e30, "float64", {4, 1e30}},
      {"4", 0.5, "float64", {4, 0.5}},
      {"4", -2 ^ 63, "int64"},
      {"4", 2 ^ 63, "uint64"},
      {big, 7, "uint64"},
      {big, -1, "float64", {2 ^ 64, -1}},
      {"-4", 2 ^ 63, "float64", {-4, 2 ^ 63}},
    } do
      local t = st.read_csv({text = "a,b\n" .. row[1] .. ",1\n,1\n"},
                            {fill = row[2]})
      assert.equal(row[3], tostring(t.a.dtype))
      if row[4] then assert.same(row[4], t.a:totable()) end
    end
    local t = st.read_csv({text = "a,b\ntrue,1\n,2\n"}, {fill = 0})
    assert.same({"true", ""}, t.a)
  end)
end)
