--- Prints the bits of custom reductions, for a comparison of instruction
-- sets.

local library = require "spec.fuse.reduce.custom_reduction.library"
local st = require "strided"

local lib = st.library "spec_custom"
local ops = library.define(lib)
st.manual_seed(3)
for _, shape in ipairs(library.SHAPES) do
  local t = st.randn(shape)
  for _, name in ipairs(library.NAMES) do
    for d = 1, #shape do
      local r = library.CALLS[name](ops, t, {dim = {d}})
      local sum = r:view "int32":to "int64":sum():item()
      print(name, table.concat(shape, "x"), d, tostring(sum))
    end
  end
end
