--- CSV files: records and fields as Python's csv module reads them, numbers as
-- strtod does, columns and their dtypes, errors with their places.
-- axes: lua
-- sampled: 3

local core = require "strided.core"
local st = require "strided"

local files = require "spec.support.files"
local interrupt = require "spec.support.interrupt"
local tensors = require "spec.support.tensors"

local live, raises, raises_here = tensors.live, tensors.raises,
                                  tensors.raises_here

local load = loadstring or load -- luacheck: ignore 113

local before

local function read(text, options)
  return st.read_csv({text = text}, options)
end

local function write(value, options)
  return st.write_csv({text = true}, value, options)
end

--- The columns as lists, and their dtypes.
local function plain(t)
  local lists, dtypes = {}, {}
  for i, column in ipairs(t) do
    local is_tensor = st.is_tensor(column)
    lists[i] = is_tensor and column:totable() or column
    dtypes[i] = is_tensor and tostring(column.dtype) or "text"
  end
  return lists, dtypes
end

-- -- Records -----------------------------------------------------------------

-- what it is, text, the fields of the records as Python's csv.reader gives
-- them (strict = True, empty lines left out)
local RECORDS = {
  {"fields", "a,b\nc,d\n", {{"a", "b"}, {"c", "d"}}},
  {"no line end at the end", "a,b\nc,d", {{"a", "b"}, {"c", "d"}}},
  {"CR LF", "a,b\r\nc,d\r\n", {{"a", "b"}, {"c", "d"}}},
  {"a CR at the end", "a,b\r\nc,d\r", {{"a", "b"}, {"c", "d"}}},
  {"empty fields", ",x\ny,\n", {{"", "x"}, {"y", ""}}},
  {"empty lines", "\n\na,b\n\r\n\nc,d\n\n", {{"a", "b"}, {"c", "d"}}},
  {"spaces", " a , b \n", {{" a ", " b "}}},
  {"quotes", '"a","b"\n', {{"a", "b"}}},
  {"empty quotes", '"",""\n', {{"", ""}}},
  {"a delimiter in quotes", '"a,b",c\n', {{"a,b", "c"}}},
  {"a line end in quotes", '"a\nb",c\n"\r\n",d', {{"a\nb", "c"},
                                                  {"\r\n", "d"}}},
  {"doubled quotes", '"say ""a""",""""\n', {{'say "a"', '"'}}},
  {"four quotes", '"""""",x', {{'""', "x"}}},
  {"a quote within a field", 'a"b,c""d\n', {{'a"b', 'c""d'}}},
  {"quotes behind a space", 'a, "b"\n', {{"a", ' "b"'}}},
  {"quotes before CR LF", '"a","b"\r\nc,d', {{"a", "b"}, {"c", "d"}}},
  {"bytes that are no UTF-8", "x\255\254,\128\n", {{"x\255\254", "\128"}}},
  {"NULs", "a\0b,\0\n\"\0\",c\n", {{"a\0b", "\0"}, {"\0", "c"}}},
  {"a CR within a field", "a\rb,c\n", {{"a\rb", "c"}}},
}

describe("st.read_csv", function()
  setup(function() before = live() end)

  for _, row in ipairs(RECORDS) do
    it("reads " .. row[1], function()
      local t = read(row[2], {header = false, dtype = "text"})
      for r, fields in ipairs(row[3]) do
        for c, field in ipairs(fields) do assert.equal(field, t[c][r]) end
        assert.equal(#fields, #t)
      end
      assert.equal(#row[3], #t[1])
    end)
  end

  it("reads records that cross the end of its buffer", function()
    local long = ("x"):rep(2 ^ 20 - 7)
    local lines, texts, numbers = {}, {}, {}
    for i = 1, 30000 do
      texts[i] = i % 7 == 0 and ('%d,\n"'):format(i) or "t" .. i
      numbers[i] = i
      lines[i] = ('%d,"%s",%d.5'):format(i, texts[i]:gsub('"', '""'), i)
    end
    texts[15000], lines[15000] = long, '15000,"' .. long .. '",15000.5'
    texts[20000], lines[20000] = long, "20000," .. long .. ",20000.5"
    for _, ending in ipairs {"\n", "\r\n"} do
      local t = read(table.concat(lines, ending))
      assert.same(numbers, t[1]:totable())
      assert.same(texts, t[2])
      assert.equal(30000.5, t[3][30000])
    end
  end)

  it("reads records that its buffer cuts anywhere", function()
    local line = '12,"a""b",x\r\n'
    local n = math.ceil(2 ^ 20 / #line) + 2
    for skew = 2, #line + 1 do
      local first = '12,"a""b",' .. ("x"):rep(skew) .. "\n"
      local t = read(first .. line:rep(n), {header = false, dtype = {
        "int8", "category", "category"}})
      assert.equal(n + 1, t[1]:eq(12):sum():item())
      assert.same({'a"b'}, t[2].categories)
      assert.same({("x"):rep(skew), "x"}, t[3].categories)
    end
  end)

  it("skips the mark of UTF-8 and refuses UTF-16", function()
    assert.same({"a"}, read("\239\187\191a\n1\n").names)
    raises("it is UTF-16", read, "\255\254a\0\n\0")
  end)
end)

-- -- Columns -----------------------------------------------------------------

-- what it is, fields of one column, dtype, values
local COLUMNS = {
  {"integers", {"1", "-2", "+3"}, "int64", {1, -2, 3}},
  {"numbers in spaces", {" 1", "2 ", "\t3"}, "int64", {1, 2, 3}},
  {"numbers in quotes", {'"1"', '"2.5"'}, "float64", {1, 2.5}},
  {"fractions", {"1", ".5", "2.", "1e3", "-1E-2"}, "float64",
   {1, 0.5, 2, 1000, -0.01}},
  {"infinities", {"inf", "-Infinity", "1e999"}, "float64",
   {math.huge, -math.huge, math.huge}},
  {"truths", {"true", "False", "TRUE"}, "bool", {true, false, true}},
  {"truths and numbers", {"true", "1"}, "text", {"true", "1"}},
  {"truths and nothing", {"true", "NA"}, "text", {"true", "NA"}},
  {"texts", {"1", "x", "NA"}, "text", {"1", "x", "NA"}},
  {"hexadecimals", {"0x10"}, "text", {"0x10"}},
  {"a lone sign", {"1", "-"}, "text", {"1", "-"}},
  {"a lone point", {"1", "."}, "text", {"1", "."}},
  {"an empty exponent", {"1", "1e"}, "text", {"1", "1e"}},
  {"two points", {"1", "1.2.3"}, "text", {"1", "1.2.3"}},
}

describe("A column", function()
  for _, row in ipairs(COLUMNS) do
    it("of " .. row[1] .. " is " .. row[3], function()
      local t = read(table.concat(row[2], "\n"), {header = false})
      local lists, dtypes = plain(t)
      assert.same({row[4]}, lists)
      assert.same({row[3]}, dtypes)
    end)
  end

  it("changes its dtype behind the records that are looked at", function()
    -- after 1000 integers
    for _, row in ipairs {
      {"7", "int64"}, {"7.5", "float64"}, {"", "float64"}, {"x", "text"},
      {"true", "text"}, {"18446744073709551615", "uint64"},
      {"18446744073709551616", "float64"}, {"9223372036854775807", "int64"},
    } do
      local lines = {}
      for i = 1, 1000 do lines[i] = ("%d,1,true"):format(i) end
      lines[1001] = row[1] .. ",2,false"
      local t = read(table.concat(lines, "\n"), {header = false})
      local lists, dtypes = plain(t)
      assert.same({row[2], "int64", "bool"}, dtypes)
      assert.equal(row[2] == "text" and "999" or 999, lists[1][999])
      assert.equal(2, lists[2][1001])
      if row[2] == "text" then assert.equal(row[1], lists[1][1001]) end
    end
  end)

  it("keeps integers of 64 bits exact", function()
    local t = read("a,b\n9223372036854775807,18446744073709551615\n" ..
                   "-9223372036854775808,0\n" ..
                   "9007199254740993,9223372036854775808\n")
    local _, dtypes = plain(t)
    assert.same({"int64", "uint64"}, dtypes)
    assert.equal("\255\255\255\255\255\255\255\127\0\0\0\0\0\0\0\128" ..
                 "\1\0\0\0\0\0\32\0", t.a:tostring_bytes())
    assert.equal("\255\255\255\255\255\255\255\255\0\0\0\0\0\0\0\0" ..
                 "\0\0\0\0\0\0\0\128", t.b:tostring_bytes())
  end)

  it("has NaN for missing values, or the value of `fill`", function()
    local text = "a,b\n1,x\n,y\nNA,\nnull,z\n"
    local t = read(text)
    assert.equal("float64", tostring(t.a.dtype))
    assert.same({false, true, true, true}, t.a:isnan():totable())
    assert.same({"x", "y", "", "z"}, t.b)
    t = read(text, {fill = -1})
    assert.equal("int64", tostring(t.a.dtype))
    assert.same({1, -1, -1, -1}, t.a:totable())
    t = read("a\n1\n-9\n", {missing = {"-9"}})
    assert.same({false, true}, t.a:isnan():totable())
  end)

  it("has the dtype it is given", function()
    local text = "a,b,c,d\n1,2,0,x\n3,4,1,y\n5,6,true,x\n"
    local t = read(text, {dtype = {a = "int8", b = "float16", c = "bool",
                                   [4] = "category"}})
    local _, dtypes = plain(t)
    assert.equal("int8", dtypes[1])
    assert.equal("float16", dtypes[2])
    assert.same({false, true, true}, t.c:totable())
    assert.same({1, 2, 1}, t.d.codes:totable())
    assert.same({"x", "y"}, t.d.categories)
    assert.same({"1", "3", "5"}, read(text, {dtype = {a = "text"}}).a)
    assert.equal("float32", tostring(read("1\n2", {dtype = "float32"})[1]
                                     .dtype))
  end)
end)

-- -- Options -----------------------------------------------------------------

describe("An option of st.read_csv", function()
  it("tells the header, which is found without it", function()
    assert.same({"a", "b"}, read("a,b\n1,2\n").names)
    assert.is_nil(read("1,2\n3,4\n").names)
    assert.same({"name", "2019"}, read("name,2019\nx,y\n", {header = true})
                                  .names)
    assert.is_nil(read("name,2019\nx,1\n").names)
    assert.same({"a", "b"}, read("a,b\nx,y\n").names)
    assert.same({"", "v"}, read(",v\n1,x\n2,y\n").names)
    assert.same({"a", "b"}, read("a,b\n").names)
    assert.same({0}, {#read("a,b\n").a:totable()})
    assert.is_nil(read("a,b\nx,y\n", {header = false}).names)
  end)

  it("names columns, and chooses them", function()
    local t = read("1,2,3\n4,5,6\n", {names = {"x", "y", "z"}})
    assert.same({1, 4}, t.x:totable())
    t = read("a,b,c\n1,x,3\n", {columns = {"c", 1}})
    assert.same({"c", "a"}, t.names)
    assert.same({{3}, {1}}, (plain(t)))
    assert.is_nil(t.b)
    assert.same({1}, read("a,a\n1,2\n").a:totable())
    assert.same({2}, read("a,names\n1,2\n")[2]:totable())
  end)

  it("reads other formats", function()
    local t = read("a\tb\n1\t2\n", {delimiter = "\t"})
    assert.same({2}, t.b:totable())
    t = read("a;b\n1,5;-2,25\n", {decimal = ","})
    assert.same({1.5}, t.a:totable())
    assert.same({-2.25}, t.b:totable())
    t = read("# x\na,b # y\n1,2# z,\n  # w\n3,4\n", {comment = "#"})
    assert.same({"a", "b "}, t.names)
    assert.same({2, 4}, t[2]:totable())
    assert.same({"it's", "'"}, {read("a,b\n'it''s',''''\n", {quote = "'"}).a[1],
                                read("a,b\n'it''s',''''\n", {quote = "'"})
                                .b[1]})
    assert.equal('"x', read('a\n"x\n', {quote = false}).a[1])
    t = read("junk \"\nmore\n1,2\n3,4\n5,6\n", {skip_rows = 2, max_rows = 2})
    assert.same({{1, 3}, {2, 4}}, (plain(t)))
    assert.same({1}, read("a\n1\n2\n", {max_rows = 1}).a:totable())
    assert.same({}, read("a\n1\n2\n", {max_rows = 0}).a:totable())
  end)

  it("makes one tensor", function()
    local t, names = read("a,b\n1,2\n3,4\n", {as = "tensor"})
    assert.same({{1, 2}, {3, 4}}, t:totable())
    assert.equal("int64", tostring(t.dtype))
    assert.same({"a", "b"}, names)
    t = read("1,2\n3,4.5\n", {as = "tensor", dtype = "float32"})
    assert.equal("float32", tostring(t.dtype))
    assert.same({{1, 2}, {3, 4.5}}, t:totable())
    t = read("1,\n3,true\n", {as = "auto"})
    assert.same({"", "true"}, t[2])
    raises("column 2 ('b') is text, and a tensor has numbers", read,
           "a,b\n1,x\n", {as = "tensor"})
    local lines = {}
    for i = 1, 1000 do lines[i] = "1,2" end
    lines[1001] = "1,2.5"
    t = read(table.concat(lines, "\n"), {as = "tensor"})
    assert.equal("float64", tostring(t.dtype))
    assert.same({1, 2.5}, t[1001]:totable())
  end)
end)

-- -- Numbers -----------------------------------------------------------------

local SPECIAL = {
  "0", "-0.0", "1", "9007199254740993", "9007199254740992.5", "1e22", "1e23",
  "123456789012345678", "1234567890123456789", "12345678901234567890.5",
  "0.1", "0.30000000000000004", "2.2250738585072014e-308", "5e-324",
  "2.4703282292062327e-324", "2.4703282292062328e-324",
  "1.7976931348623157e308", "1.7976931348623158e308", "1e-400",
  "9007199254740993e-22", "1.00000000000000011102230246251565404236316680908",
  "1.00000000000000011102230246251565404236316680909",
  "0.000000000000000000000000000000000000000000012345",
  "179769313486231570000000000000000000000", "4503599627370496.5",
  "4503599627370497.5",
  -- less than 2^-63 of itself above halfway between two doubles
  "1661351230101676083e-14", "797654673159845771e-26",
  "3797569500953648333e-26", "464274302557004801e5",
  "4090840106980065688e23", "1342164096896927840e12",
}

--- Digits with a point and an exponent, from a generator of its own.
local function random_numbers(n)
  local state, list = 12345, {}
  local function below(k)
    state = (state * 16807) % 2147483647
    return state % k
  end
  for i = 1, n do
    local digits = {}
    for d = 1, 1 + below(21) do digits[d] = below(10) end
    table.insert(digits, 1 + below(#digits), ".")
    local text = table.concat(digits)
    if below(3) == 0 then text = text .. "e" .. below(70) - 35 end
    list[i] = text
  end
  return list
end

local function bits(x)
  return st.tensor({x}, {dtype = "float64"}):tostring_bytes()
end

describe("A number in a CSV file", function()
  it("is the nearest double, as strtod's", function()
    local list = random_numbers(4000)
    for _, text in ipairs(SPECIAL) do list[#list + 1] = text end
    local t = read(table.concat(list, "\n"), {header = false,
                                              dtype = "float64"})[1]
    local all = t:tostring_bytes()
    for i, text in ipairs(list) do
      assert.equal(bits(tonumber(text)), all:sub(8 * i - 7, 8 * i), text)
    end
  end)

  it("is rounded once to float32", function()
    -- halfway between 1 and its neighbour, a little more, a little less: the
    -- nearest double of all three is halfway
    local t = read("1.000000059604644775390625\n" ..
                   "1.00000005960464477539062500001\n" ..
                   "1.00000005960464477539062499999\n" ..
                   -- below 1 + 3 * 2^-24, in 19 digits
                   "1.000000178813934326\n3.4028235677973366e38\n" ..
                   "1e-46\n",
                   {header = false, dtype = "float32"})[1]
    assert.equal("\0\0\128\63\1\0\128\63\0\0\128\63\1\0\128\63" ..
                 "\255\255\127\127\0\0\0\0",
                 t:tostring_bytes())
  end)

  it("is written with the fewest digits that read back", function()
    local list = {0.1, 1 / 3, 2 / 3, 1e22, 1e23, 5e-324, 1e-5, 123456.789,
                  2 ^ -1074, 2 ^ 53, 2 ^ 63, 1.7976931348623157e308, 2 ^ -1022}
    for i = -300, 300, 13 do list[#list + 1] = 2 ^ i end
    for _, text in ipairs(random_numbers(1500)) do
      list[#list + 1] = tonumber(text) * 1.1
    end
    local t = st.tensor(list, {dtype = "float64"})
    local i = 0
    for text in write(t):gmatch "[^\n]+" do
      i = i + 1
      local x = list[i]
      assert.equal(bits(x), bits(tonumber(text)), text)
      local n = #text:gsub("e.*", ""):gsub("%D", ""):gsub("^0+", "")
                :gsub("0+$", "")
      if n > 1 then
        local shorter = ("%%.%de"):format(n - 2):format(x)
        assert.is_true(tonumber(shorter) ~= x, text)
      end
    end
    assert.equal(#list, i)
  end)

  it("is written as Python's repr writes it", function()
    local t = st.tensor({0.1, 100, 1e15, 1e16, 1.5e-4, 1.5e-5, -0.0, 5e-324,
                         123456789.25, 7.120236347223045e-307, 2 ^ -24},
                        {dtype = "float64"})
    assert.equal("0.1\n100.0\n1000000000000000.0\n1e+16\n0.00015\n1.5e-05\n" ..
                 "-0.0\n5e-324\n123456789.25\n7.120236347223045e-307\n" ..
                 "5.960464477539063e-08\n", write(t))
    assert.equal("0.1\n16777216.0\n3.4028235e+38\n1e-45\n",
                 write(st.tensor {0.1, 2 ^ 24, 3.4028234663852886e38,
                                  2 ^ -149}))
  end)
end)

-- -- Writing -----------------------------------------------------------------

describe("st.write_csv", function()
  it("writes tensors and tables", function()
    assert.equal("1,2\n3,4\n", write(st.tensor({{1, 2}, {3, 4}},
                                               {dtype = "int8"})))
    assert.equal("1,3\n2,4\n", write(st.tensor({{1, 2}, {3, 4}},
                                               {dtype = "int64"}):t()))
    assert.equal("x\ntrue\nfalse\n", write(st.tensor {true, false},
                                           {names = {"x"}}))
    assert.equal("a,b\n1,x\n2,y\n", write {b = {"x", "y"}, a = {1, 2}})
    assert.equal("b;a\nx;1,5\n", write({names = {"b", "a"}, b = {"x"},
                                        a = {1.5}}, {decimal = ","}))
    assert.equal("1\tx\n", write({{1}, {"x"}}, {delimiter = "\t"}))
    assert.equal("nan,inf\n", write(st.tensor {{0 / 0, math.huge}}))
    assert.equal('"a,b","say ""c""","d\ne",f g,"\r"\n',
                 write {{"a,b"}, {'say "c"'}, {"d\ne"}, {"f g"}, {"\r"}})
    assert.equal('""\n', write {{""}})
    assert.equal('"\239\187\191x"\n', write {{"\239\187\191x"}})
    assert.equal('"\128\4"\n', write {{"\128\4"}}) -- as pickles begin
    assert.equal("-9223372036854775808\n",
                 write(st.tensor({st.int "-9223372036854775808"},
                                 {dtype = "int64"})))
    assert.equal("1.5\n", write(st.tensor({1.5}, {dtype = "bfloat16"})))
    assert.equal("x\ny\nx\n", write {st.read_csv({text = "x\ny\nx"},
                                  {header = false, dtype = "category"})[1]})
    assert.equal("", write(st.ones(0, 3)))
  end)

  it("writes what st.read_csv reads back", function()
    local texts = {"", "\239\187\191", "\255\254", "a", '"', ",", "\n", "\r\n",
                   "\0", "#", " x ", '""'}
    local state = 7
    local function below(k)
      state = (state * 16807) % 2147483647
      return state % k
    end
    for round = 1, 20 do
      local t = {names = {"i", "f", "s", "b"}}
      local n = below(50)
      t.i = st.randint(-2 ^ 31, 2 ^ 31, {n}, {dtype = "int64"})
      t.f = st.randn({n}, {dtype = "float64"}):exp():pow(below(9) - 4)
      t.b = st.randn(n):gt(0)
      t.s = {}
      for i = 1, n do
        t.s[i] = texts[1 + below(#texts)] .. texts[1 + below(#texts)]
      end
      local back = read(write(t), {header = true, dtype = {
        i = "int64", f = "float64", s = "text", b = "bool"}})
      assert.is_true(back.i:equal(t.i), round)
      assert.equal(t.f:tostring_bytes(), back.f:tostring_bytes())
      assert.is_true(back.b:equal(t.b))
      assert.same(t.s, back.s)
    end
  end)

  it("is what st.save does, and st.load reads", function()
    local base = os.tmpname()
    local t = st.randn(5, 3, {dtype = "float64"})
    st.save(base .. ".csv", t)
    assert.is_true(st.load(base .. ".csv"):equal(t))
    st.save(base .. ".tsv", {a = t:select(2, 1), b = {"x", "y", "z", "\t", ""}})
    assert.equal("a\tb\n", files.read(base .. ".tsv"):match "^[^\n]*\n")
    local u = st.load(base .. ".tsv")
    assert.is_true(u.a:equal(t:select(2, 1)))
    assert.same({"x", "y", "z", "\t", ""}, u.b)
    assert.same({"x"}, st.load(base .. ".tsv", {max_rows = 1}).b)
    st.write_csv(base, t, {header = false})
    assert.is_true(st.read_csv(base, {as = "tensor"}):equal(t))
    assert.is_true(st.load(base, {format = "csv"}):equal(t))
    for _, suffix in ipairs {"", ".csv", ".tsv"} do
      os.remove(base .. suffix)
    end
  end)
end)

-- -- Errors ------------------------------------------------------------------

-- call, what is said
local READING = {
  {{"a,b\n1,2\n3\n"}, "line 3 has 1 field, where the first has 2"},
  {{"a,b\n1,2\n3,4,5\n"}, "line 3 has at least 3 fields, where the first has"},
  {{'a,b\n"1\n2",2\n3\n'}, "line 4 has 1 field"},
  {{"a,b\n1,x\n", {dtype = {b = "int32"}}},
   "line 2, column 2 ('b'), int32: 'x' is no number"},
  {{'a,b\n"\n\n",300\n', {dtype = {b = "int8"}}},
   "line 4, column 2 ('b'), int8: '300' does not fit"},
  {{"1.5\n", {header = false, dtype = "int64"}},
   "line 1, column 1, int64: '1.5' is no integer"},
  {{"-1\n", {header = false, dtype = "uint64"}}, "'-1' does not fit"},
  {{"18446744073709551616\n", {header = false, dtype = "uint64"}},
   "does not fit into 64 bits"},
  {{"2\n", {header = false, dtype = "bool"}}, "'2' is neither true nor false"},
  {{"a\n\"\"\n", {dtype = "int64"}}, "'' is missing, which only floating"},
  {{"a\n\"\"\n", {dtype = "int8", fill = 500}}, "'fill' does not fit"},
  {{'a,b\n1,"2\n3,4\n'}, "line 2, column 2: '\"2 3,4 ' has a quote that is"},
  {{'a,b\n1,"2"x\n'}, "line 2, column 2: '\"2\"x' has text after the closing"},
  {{("1\n"):rep(9) .. ("x"):rep(99), {header = false, dtype = "int8"}},
   "line 10, column 1, int8: '" .. ("x"):rep(40) .. "...' is no number"},
  {{""}, "it has no records"}, {{"\n\n"}, "it has no records"},
  {{"1\n", {skip_rows = 1}}, "it has no records"},
  {{"1,2\n", {names = {"a"}}}, "'names' has 1 names, and there are 2 columns"},
  {{"a\n1\n", {columns = {"b"}}}, "'columns' names column 'b', which is not"},
  {{"a\n1\n", {columns = {2}}}, "'columns' names column 2, which is not"},
  {{"a\n1\n", {columns = {}}}, "option 'columns' is empty"},
  {{"a\n1\n", {dtype = {c = "int8"}}}, "'dtype' names column 'c'"},
  {{"a\n1\n", {dtype = {"int8"}, as = "tensor"}}, "a tensor has one dtype"},
  {{"a\n1\n", {dtype = "int3"}}, "there is no dtype 'int3'"},
  {{"a\n1\n", {dtype = "complex64"}}, "a column cannot be complex64"},
}

-- options, what is said
local WRONG = {
  {{delimiter = ""}, "option 'delimiter' must be one character that is no"},
  {{delimiter = "ab"}, "option 'delimiter' must be one character"},
  {{delimiter = "e"}, "option 'delimiter' must be one character that is no"},
  {{delimiter = '"'}, "'delimiter' and 'quote' are the same character"},
  {{decimal = ",", delimiter = ","}, "'delimiter' and 'decimal' are the same"},
  {{decimal = "x"}, "option 'decimal' must be \".\" or \",\", got x"},
  {{header = 1}, "option 'header' must be true or false or \"auto\", got 1"},
  {{names = "a"}, "option 'names' must be a list, got string"},
  {{columns = {true}}, "entry 1 of option 'columns' must be a string or a"},
  {{missing = {"a\0"}}, "entry 1 of option 'missing' has a NUL in it"},
  {{max_rows = -1}, "option 'max_rows' must be a number from 0 on, got -1"},
  {{fill = "x"}, "option 'fill' must be a number, got string"},
  {{as = "list"}, "option 'as' must be \"table\" or \"tensor\" or \"auto\""},
  {{delimeter = ","}, "no option 'delimeter': did you mean delimiter"},
}

describe("An error of st.read_csv", function()
  for _, row in ipairs(READING) do
    it("says: " .. row[2], function()
      raises_here({"read_csv: cannot read the text: ", row[2]}, function()
        read(row[1][1], row[1][2])
      end)
    end)
  end

  for _, row in ipairs(WRONG) do
    it("says: " .. row[2], function()
      raises_here({"read_csv: ", row[2]}, function() read("1\n", row[1]) end)
    end)
  end

  it("names the file", function()
    local path = os.tmpname()
    files.write(path, "a,b\n1\n")
    raises("read_csv: cannot read '" .. path .. "': line 2 has 1 field",
           st.read_csv, path)
    raises("load: cannot load '" .. path .. "': line 2 has 1 field", st.load,
           path, {format = "csv"})
    os.remove(path)
    raises("read_csv: cannot read '" .. path .. "': No such file",
           st.read_csv, path)
    raises("the first argument must be a path or {text = ...}, got number",
           st.read_csv, 7)
    raises("a Tensor; the path comes first", st.write_csv, st.ones(2), path)
  end)
end)

describe("An error of st.write_csv", function()
  for _, row in ipairs {
    {"st.ones(2, 2, 2)", "a tensor must have one dimension or two, got 3"},
    {"st.ones(2, 0)", "a tensor without columns cannot be written"},
    {"st.ones({2}, {dtype = 'complex64'})",
     "complex64 cannot be written as text"},
    {"{}", "there are no columns"},
    {"{a = st.ones(2), b = st.ones(3)}",
     "column 'b' has 3 rows, and the first"},
    {"{a = 1}", "column 'a' must be a Tensor or a list, got number"},
    {"{a = st.ones(2, 2)}", "column 'a' must have one dimension, got 2"},
    {"{names = {'x'}}", "column 'x' is not in the table"},
    {"{{'a', {}}}", "entry 2 of column 1 must be a number, a string or"},
    {"st.ones({2}, {device = 'meta'})", "meta device has no data"},
  } do
    it("says: " .. row[2], function()
      raises_here({"write_csv: ", row[2]}, function()
        write(assert(load("local st = ... return " .. row[1]))(st))
      end)
    end)
  end

  it("leaves the file as it was", function()
    local path = os.tmpname()
    files.write(path, "before")
    raises("entry 2 of column 1", st.write_csv, path, {{"a", 2}})
    assert.equal("before", files.read(path))
    os.remove(path)
  end)
end)

describe("Reading and writing CSV", function()
  it("stops for an interrupt", function()
    local text = ("1,2,3,4,5,6,7,8\n"):rep(2 ^ 18)
    local source = core.open_bytes(text)
    local ok, message = interrupt.stopped(function()
      read(text, {as = "tensor", header = false})
    end, "enough")
    source:close()
    assert.is_false(ok)
    assert.truthy(tostring(message):find "enough")
  end)

  it("survives every allocation that fails", function()
    local alive = live()
    local text = "a,b,c\n1,x,1.5\n2,y," .. ("0"):rep(200) .. "1.5\n"
    local k = 0
    repeat
      k = k + 1
      st.memory_fail_at(k)
      local ok = pcall(read, text, {dtype = {a = "float16"}})
      local left = st.memory_fail_at(0)
      assert.equal(alive, live())
    until ok and left > 0 or k > 100
    assert.is_true(k > 1 and k < 100)
  end)

  it("leaves nothing behind", function()
    assert.equal(before, live())
  end)
end)
