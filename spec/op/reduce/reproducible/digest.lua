--- Prints a number for the bits of the results of every reduction, for the
-- kernels and threads that the environment asks for: digest.lua SEED DTYPE...

local cases = require "spec.op.reduce.reproducible.cases"
local st = require "strided"

st.manual_seed(tonumber(arg[1]))
for k = 2, #arg do
  local sums, names = {}, {}
  cases.each(arg[k], function(name, t, dims, operator)
    name = name:match "^(.-) of"
    if not sums[name] then names[#names + 1] = name end
    sums[name] = cases.digest(operator(t, dims)) + (sums[name] or 0) * 31
  end)
  for _, name in ipairs(names) do
    print(arg[k], name, tostring(sums[name]:item()))
  end
end
print(st.config().isa)
