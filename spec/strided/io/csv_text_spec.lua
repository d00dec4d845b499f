--- What the bytes of a CSV file look like: spaces as a delimiter, what is no
-- text, and what an error advises.
-- axes: lua

local st = require "strided"

local files = require "spec.support.files"
local raises_here = require("spec.support.tensors").raises_here

local function read(text, options)
  return st.read_csv({text = text}, options)
end

describe("Spaces between the fields of a file", function()
  local blank = {delimiter = "whitespace", as = "tensor"}

  it("are one delimiter, as for numpy.loadtxt", function()
    local t = read("   1.5     2\n  -1e3\t 4  \n\n\t5 6\r\n 7 8 ", blank)
    assert.same({{1.5, 2}, {-1000, 4}, {5, 6}, {7, 8}}, t:totable())
    local names
    t, names = read("  a   b\n1 2", blank)
    assert.same({{1, 2}}, t:totable())
    assert.same({"a", "b"}, names)
  end)

  it("are kept between quotes", function()
    local t = read('x  y\n"a  b"   1\n  "c ""  "   2 \n',
                   {delimiter = "whitespace"})
    assert.same({"a  b", 'c "  '}, t.x)
    assert.same({1, 2}, t.y:totable())
    t = read("x  y\n'a  b'  1\n", {delimiter = "whitespace", quote = "'"})
    assert.same({"a  b"}, t.x)
    t = read('x  y\n"a  1\n', {delimiter = "whitespace", quote = false})
    assert.same({'"a'}, t.x)
  end)

  it("leave the lines as they are", function()
    raises_here("line 5 has 1 field, where the first has 2: '3'", function()
      read("#  x\n1 2\n\n1   2\n 3\n", {delimiter = "whitespace",
                                        skip_rows = 1})
    end)
    local t = read("# x\n 1  2 # y \"\n 3  4\n  # z\n", {
      delimiter = "whitespace", comment = "#", as = "tensor"})
    assert.same({{1, 2}, {3, 4}}, t:totable())
    t = read('a  b\n1  "# "\n2  x"y  # "', {delimiter = "whitespace",
                                         comment = "#"})
    assert.same({"# ", 'x"y'}, t.b)
  end)

  it("are no delimiter to write", function()
    raises_here("write_csv: option 'delimiter' must be one character",
                function()
      st.write_csv({text = true}, {{1}}, {delimiter = "whitespace"})
    end)
  end)
end)

describe("What is no table of text", function()
  local path

  before_each(function() path = os.tmpname() end)
  after_each(function() os.remove(path) end)

  -- the bytes, what is said
  for _, row in ipairs {
    {"\31\139\8\0\0\0", "it looks like a gzip archive"},
    {"PK\3\4\20\0\0\0", "it looks like a zip"},
    {"\137PNG\r\n\26\n", "it looks like a PNG image"},
    {"\255\254a\0,\0", "it is UTF-16: convert it to UTF-8"},
    {"a,b\r1,2\r", "its lines end in CR alone: write them with LF or CR LF"},
    {'"a","b"\r"1\r","2"\r', "its lines end in CR alone"},
  } do
    it("is an error: " .. row[2], function()
      files.write(path, row[1])
      raises_here({"read_csv: cannot read '" .. path .. "': " .. row[2]},
                  function() st.read_csv(path) end)
    end)
  end

  it("is not what only looks so", function()
    assert.same({"{\0"}, read("{\0,1\n")[1])
    assert.same({"x\ry"}, read('"x\ry",1', {header = false})[1])
    assert.same({"a"}, read("a\r", {header = false})[1])
    assert.same({"b"}, read("MATLAB,x\nb,1\n").MATLAB)
  end)

  it("is advised to st.read_csv by st.load", function()
    files.write(path, "1 2\n")
    raises_here("it looks like text, which st.read_csv reads if it is a table",
                function() st.load(path) end)
  end)
end)

describe("The first argument of st.read_csv", function()
  for _, row in ipairs {
    {{text = "a\n1\n", sep = ","}, "the first argument has the key 'sep' "
     .. "beside 'text': options are a table of their own"},
    {{"a.csv"}, "must be a path or {text = ...}, got a table without 'text'"},
  } do
    it("is refused: " .. row[2], function()
      raises_here({"read_csv: ", row[2]}, function() st.read_csv(row[1]) end)
    end)
  end
end)

describe("An error of st.read_csv shows the record and advises", function()
  -- text, options, what is said
  for _, row in ipairs {
    {"a,b\n## x ##\n1,2\n", nil, "line 2 has 1 field, where the first has 2: "
     .. "'## x ##'; with comment = \"#\" lines that begin so are skipped"},
    {"# by x\na,b\n", nil, "line 2 has at least 2 fields, where the first has "
     .. "1: 'a,b'; with comment = \"#\""},
    {"# by x\na,b\n", {comment = "%"}, "has 1: 'a,b'"},
    {"a;b\n1,5;2\n", nil, "'1,5;2'; should option 'delimiter' be \";\"?"},
    {"a\tb,c\n1,2,3\n", {delimiter = ";"}, "a tensor has numbers; should " ..
     "option 'delimiter' be \"\\t\"?"},
    {"a,b\n1,2\n", {delimiter = ";"}, "should option 'delimiter' be \",\"?"},
    {"1 2\n3 4\n", {}, "column 1 ('1 2') is text, and a tensor has numbers; " ..
     "with delimiter = \"whitespace\" spaces in a row are one"},
    {"1 2\n3  4\n", {delimiter = " "}, "'3  4'; with delimiter = \"whitespace"},
    {"a,b\n1,x\n", {}, "column 2 ('b') is text, and a tensor has numbers: " ..
     "write option 'columns', or as = \"table\""},
    {"name,age\n1,2\n", {columns = {"agee"}}, "option 'columns' names column "
     .. "'agee', which is not there: did you mean 'age'?"},
    {"name,age\n1,2\n", {columns = {"x"}}, "names column 'x', which is not " ..
     "there; there are 'name', 'age'"},
    {"1,2\n", {columns = {"x"}}, "column 'x', which is not there; the columns "
     .. "have no names"},
    {"1,2\n", {columns = {3}}, "column 3, which is not there; there are 2"},
    {"a, b\n1,2\n", {dtype = {b = "int8"}, as = "table"},
     "option 'dtype' names column 'b', which is not there: did you mean ' b'"},
  } do
    it("with: " .. row[3], function()
      local options = row[2]
      if options and not options.as then options.as = "tensor" end
      raises_here(row[3], function() read(row[1], options) end)
    end)
  end
end)
