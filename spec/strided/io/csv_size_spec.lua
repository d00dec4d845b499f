--- CSV files that would take much more memory than their size allows.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

local function refuses(text, options, ...)
  local data = st.memory().data
  raises({"read_csv: cannot read the text: ", ...}, st.read_csv, {text = text},
         options)
  assert.is_true(st.memory().data.peak <= math.max(data.peak,
                                                   data.bytes + 2 ^ 20))
end

describe("A CSV file", function()
  it("with short records behind long ones names the first of them", function()
    local long = ("1,"):rep(2000) .. "1\n"
    local text = long:rep(300) .. ("1\n"):rep(50000) -- 400 MB as a tensor
    for _, options in ipairs {{header = false}, {as = "table"},
                              {header = false, dtype = "text"}} do
      refuses(text, options, "line 301 has 1 field, where the first has 2001")
    end
  end)

  it("of empty columns makes no tensor of each", function()
    local text = ","
    refuses((text):rep(200000) .. "\n" .. (","):rep(200000) .. "\n",
            {header = true}, "it has 200001 columns, too many for a tensor of "
            .. "each: as = \"tensor\"")
    local t = st.read_csv({text = ("1,"):rep(20000) .. "1\n"},
                          {header = false, as = "tensor"})
    assert.same({1, 20001}, t.shape)
    t = st.read_csv({text = ("1,"):rep(20000) .. "1\n"},
                    {header = false, as = "table"})
    assert.equal(20001, #t)
  end)
end)

describe("A quote in a CSV file", function()
  -- text, what is said
  for _, row in ipairs {
    {'a,b\n1,"2"x\n', "line 2, column 2: '\"2\"x' has text after the closing "
     .. "quote; with quote = false quotes are text"},
    {'a\n"2" pipe\n', "with quote = false quotes are text"},
    {'a,b\n1,"2x\n', "has a quote that is not closed; with quote = false "
     .. "quotes are text"},
    {'"a" b,c\n1,2\n', "with quote = false quotes are text"},
  } do
    it("that ends no field names the option: " .. row[1]:gsub("\n", " "),
       function()
      raises({"read_csv: cannot read the text: ", row[2]}, st.read_csv,
             {text = row[1]})
    end)
  end

  it("is text with that option", function()
    local t = st.read_csv({text = 'a,b\n1,"2"x\n'}, {quote = false})
    assert.equal('"2"x', t.b[1])
  end)
end)
