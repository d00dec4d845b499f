--- What st.write_csv makes of lists, and of texts that have to be quoted.
-- axes: lua

local st = require "strided"

local files = require "spec.support.files"
local tensors = require "spec.support.tensors"

local raises_here = tensors.raises_here

local function write(value, options)
  return st.write_csv({text = true}, value, options)
end

local function read(text, options)
  return st.read_csv({text = text}, options)
end

--- A list whose second entry is missing, whatever # says.
local function with_hole(a, c)
  local list = {a}
  list[3] = c
  return list
end

describe("A list that st.write_csv writes", function()
  it("has numbers, booleans, strings or integers of st.int", function()
    local big = st.int "9007199254740993"
    assert.equal("b,i,n,s\ntrue,9007199254740993,1,x\nfalse,2,2,y\n", write {
      b = {true, false}, i = {big, 2}, n = {1, 2}, s = {"x", "y"}})
    assert.equal("1\n9007199254740993\n", write {{1, big}})
    assert.equal("1.0\n9007199254740994.0\n0.5\n",
                 write {{1, 2 ^ 53 + 2, 0.5}})
  end)

  local nothing = setmetatable({}, {__len = function() return 1 end})
  -- the value, what is said
  for _, row in ipairs {
    {{a = {1, true}}, "entry 2 of column 'a' is a boolean, and the first is " ..
     "a number"},
    {{{true, 1}}, "entry 2 of column 1 is a number, and the first is a bool"},
    {{{1, "x"}}, "entry 2 of column 1 is a string, and the first is a number"},
    {{names = {"b"}, {"x", 1}}, "entry 2 of column 'b' is a number, and the "},
    {{a = {1, st.none}}, "entry 2 of column 'a' must be a number, a string or "
     .. "a boolean, got "},
    {{a = with_hole(1, 3)}, "entry 2 of column 'a' is nil: write NaN, or \"\" "
     .. "in a list of strings"},
    {{a = with_hole("x", "y")}, "entry 2 of column 'a' is nil"},
    {{a = with_hole(nil, "y")}, "entry 1 of column 'a' is nil"},
    {{{1, 2}, {x = 1}}, "column 2 must be a list, and it has the key 'x'"},
    {{{1, 2}, {[0.5] = 1}}, "column 2 must be a list, and it has the key '0.5"},
    {{a = {1}, b = nothing}, "column 'b' has 0 rows, and the first has 1"},
    {{a = {codes = st.tensor({1, 3}, {dtype = "int64"}),
           categories = {"x", "y"}}},
     "column 'a': code 3 has no category"},
    {{names = {"a"}, {1}, {2}}, "there are 1 names and 2 columns"},
    {{1, 2, 3}, "column 1 must be a Tensor or a list, got number: write {list} "
     .. "for one column"},
    {{{1, "a"}, {2, "b"}}, "entry 2 of column 1 is a string, and the first is "
     .. "a number; a list of lists is one of columns"},
  } do
    it("is refused: " .. row[2], function()
      raises_here({"write_csv: cannot write the text: " .. row[2]}, function()
        write(row[1])
      end)
    end)
  end

  it("is refused in st.save with its own prefix alone", function()
    local path = os.tmpname() .. ".csv"
    raises_here({"save: cannot save '" .. path .. "': entry 2 of column 'a' "},
                function() st.save(path, {a = {"x", {}}}) end)
    assert.is_nil(files.read(path))
  end)
end)

describe("A text with a character that has a meaning", function()
  it("is quoted, also one with the character of comments", function()
    local texts = {"#x", "y #", " # z", "plain"}
    assert.equal('"a#"\n"#x"\n"y #"\n" # z"\nplain\n',
                 write({["a#"] = texts}, {comment = "#"}))
    local back = read(write({a = texts}, {comment = "#"}), {comment = "#"})
    assert.same(texts, back.a)
    assert.equal("#x\n", write {{"#x"}})
    raises_here({"write_csv: options 'delimiter' and 'comment' are the same"},
                function() write({{1}}, {delimiter = "#", comment = "#"}) end)
  end)

  it("is an error without quotes", function()
    local bare = {quote = false}
    assert.equal('a"\n"x"\n', write({['a"'] = {'"x"'}}, bare))
    assert.same({'"x"'}, read(write({['a"'] = {'"x"'}}, bare), bare)[1])
    for _, text in ipairs {"x,y", "x\ny", "", "\255\254"} do
      raises_here({"entry 2 of column 'a' needs quotes, and option 'quote' is "
                   .. "false"},
                  function() write({a = {"x", text}}, bare) end)
    end
    raises_here({"the name 'a,b' needs quotes, and option 'quote' is false"},
                function() write({["a,b"] = {1}}, bare) end)
  end)
end)
