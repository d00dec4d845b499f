--- A mistake, for the editor to show.

local st = require "strided"

st.ones(2, 3):matmul(st.ones(2, 3))
