--- Prints a number for the bits of every transform, for the kernels and threads
-- that the environment asks for: digest.lua SEED DTYPE...

local cases = require "spec.op.fft.same_bits.cases"
local st = require "strided"

st.manual_seed(tonumber(arg[1]))
for k = 2, #arg do
  cases.each(arg[k], function(name, n, t, operator)
    print(arg[k], name, n, tostring(cases.digest(operator(t, 2)):item()))
  end)
end
print(st.config().isa)
