--- Options that a function does not have: what to write instead of the names
-- of pandas, NumPy and tqdm.
-- axes: lua

local st = require "strided"

local names = require "strided.name.unknown_name"
local raises_here = require("spec.support.tensors").raises_here

local function read(options) st.read_csv({text = "a\n1\n"}, options) end
local function write(options) st.write_csv({text = true}, {{1}}, options) end

describe("An option that is not there", function()
  -- what is said, the call, the options
  for _, row in ipairs {
    {"read_csv: there is no option 'sep': write delimiter", read, {sep = ";"}},
    {"read_csv: there is no option 'nrows': write max_rows", read, {nrows = 2}},
    {"'usecols': write columns", read, {usecols = {1}}},
    {"'skiprows': write skip_rows", read, {skiprows = 1}},
    {"'na_values': write missing", read, {na_values = {"-"}}},
    {"'filling_values': write fill", read, {filling_values = 0}},
    {"'quotechar': write quote", read, {quotechar = "'"}},
    {"write_csv: there is no option 'sep': write delimiter", write,
     {sep = ";"}},
    -- write_csv has no max_rows
    {"write_csv: there is no option 'nrows': it has comment, decimal, ", write,
     {nrows = 2}},
    {"progress: there is no option 'desc': write label", function(options)
       st.progress(3, options)
     end, {desc = "x"}},
  } do
    it("says: " .. row[1], function()
      raises_here(row[1], function() row[2](row[3]) end)
    end)
  end

  it("has advice for st.load and st.save, too", function()
    local path = os.tmpname() .. ".csv"
    st.save(path, st.ones(2, 2))
    raises_here("a .csv file: there is no option 'sep': write delimiter",
                function() st.load(path, {sep = ";"}) end)
    raises_here("save: a .csv file: there is no option 'sep': write delimiter",
                function() st.save(path, st.ones(2, 2), {sep = ";"}) end)
    os.remove(path)
  end)

  it("is one that its advice is not", function()
    for other, name in pairs(names.options) do
      assert.is_nil(names.options[name], other)
    end
  end)
end)
