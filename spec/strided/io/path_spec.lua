--- How messages show a path: what a terminal would obey is escaped.
-- axes: lua

local st = require "strided"

local failure = require "strided.io.failure"
local tensors = require "spec.support.tensors"

local raises_here = tensors.raises_here

describe("A path in a message", function()
  -- the path, how it is shown
  for _, row in ipairs {
    {"plain file.csv", "'plain file.csv'"},
    {"\27[31mred\7\127\n", "'\\27[31mred\\7\\127\\10'"},
    {"caf\195\169.npy", "'caf\195\169.npy'"},
    {"one\194\155byte", "'one\\194\\155byte'"},
    {"no utf-8 \155\233", "'no utf-8 \\155\\233'"},
  } do
    it("is shown as " .. row[2], function()
      assert.equal(row[2], failure.quote(row[1]))
    end)
  end

  local red = "/nowhere/\27[31m"
  local shown = "'/nowhere/\\27[31m"
  -- the beginning of what is said, the call
  for _, row in ipairs {
    {"read_csv: cannot read ", function() st.read_csv(red) end},
    {"write_csv: cannot write ", function() st.write_csv(red, {{1}}) end},
    {"load: cannot load ", function() st.load(red) end},
    {"save: cannot save ", function() st.save(red, st.ones(1)) end},
    {"create: cannot create ", function() st.create(red, {1}) end},
    {"create: the file is a .npy file, and ", function()
       st.create(red .. ".npz", {1})
     end},
    {"fromfile: cannot read ", function() st.fromfile(red) end},
    {"tofile: cannot write ", function() st.ones(1):tofile(red) end},
    {"save: cannot write ", function()
       st.plot(st.ones(2)):save(red .. ".svg")
     end},
    {"save: ", function() st.plot(st.ones(2)):save(red) end},
    {"save: cannot write ", function()
       st.profile(function() end):save(red)
     end},
  } do
    it("is escaped after '" .. row[1] .. "'", function()
      raises_here(row[1] .. shown, row[2])
    end)
  end
end)
