--- Prints numbers for the bits of products: digest.lua fused|rounded.

local cases = require "spec.op.linalg.product_bits.cases"
local st = require "strided"

st.manual_seed(5)
cases.print(cases[arg[1]])
print(st.config().isa)
