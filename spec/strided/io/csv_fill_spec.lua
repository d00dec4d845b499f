--- What stands for missing values of a CSV file: the option `fill`.
-- axes: lua

local st = require "strided"

local raises_here = require("spec.support.tensors").raises_here

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
  end)

  -- the column, fill, its dtype, its elements
  for _, row in ipairs {
    {"true\nNA\nfalse", 0, "bool", {true, false, false}},
    {"NA\ntrue", 1, "bool", {true, true}},
    {"true\nNA", 7, "text", {"true", "NA"}},
    {"true\nNA", -1, "text", {"true", "NA"}},
    {"true\nNA", 0 / 0, "text", {"true", "NA"}},
    {"true\nNA", nil, "text", {"true", "NA"}},
    {"true\nNA\n2", 0, "text", {"true", "NA", "2"}},
    {"NA\n1\ntrue", 0, "text", {"NA", "1", "true"}},
    {("NA\n"):rep(300) .. "true", 0, "bool"},
    {("true\n"):rep(300) .. "NA", 0, "bool"},
    {("true\n"):rep(300) .. "NA", 7, "text"},
    {("true\n"):rep(300) .. "NA\nx", 0, "text"},
    {("true\n"):rep(300) .. "NA\n1", 0, "text"},
  } do
    local what = row[1]:gsub("\n", " "):sub(-20)
    it("of booleans, " .. what .. ", is " .. row[3] .. " with fill = " ..
       tostring(row[2]), function()
      local a = st.read_csv({text = "a,b\n" .. row[1]:gsub("\n", ",x\n")
                                    .. ",x\n"}, {fill = row[2]}).a
      local is_tensor = st.is_tensor(a)
      assert.equal(row[3], is_tensor and tostring(a.dtype) or "text")
      if row[4] then assert.same(row[4], is_tensor and a:totable() or a) end
    end)
  end

  it("is bool with a `dtype` and a `fill` of 0 or 1 alone", function()
    local function read(fill)
      return st.read_csv({text = "a,b\ntrue,x\n,y\n"},
                         {dtype = {a = "bool"}, fill = fill}).a:totable()
    end
    assert.same({true, false}, read(0))
    assert.same({true, true}, read(1))
    for _, fill in ipairs {2, -1, 0.5, 0 / 0} do
      raises_here("line 3, column 1 ('a'), bool: '' is missing, and option "
                  .. "'fill' does not fit", function() read(fill) end)
    end
  end)

  it("is bool in a tensor of such columns", function()
    local t = st.read_csv({text = "true,\n,false\n"},
                          {fill = 1, as = "tensor", header = false})
    assert.same({{true, true}, {true, false}}, t:totable())
  end)

  it("refuses another fill than a number", function()
    raises_here("read_csv: option 'fill' must be a number, got boolean; of "
                .. "bool columns it is 0 or 1", function()
      st.read_csv({text = "a\n1\n"}, {fill = false})
    end)
  end)
end)
