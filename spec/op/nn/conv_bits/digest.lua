--- Prints numbers for the bits of convolutions and of their gradients.

local cases = require "spec.op.nn.conv_bits.cases"
local st = require "strided"

st.manual_seed(5)
cases.print()
print(st.config().isa)
