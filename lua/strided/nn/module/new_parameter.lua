--- Uninitialized parameters of layers.
--
-- @module strided.nn.module.new_parameter

local st = require "strided"
local Parameter = require "strided.nn.module".Parameter

local empty, get_default_dtype = st.empty, st.get_default_dtype

--- An uninitialized parameter of a layer that has the options `dtype` and
-- `device` as fields.
-- @tparam table self the layer
-- @tparam table sizes
-- @treturn Tensor
return function(self, sizes)
  return Parameter(empty(sizes, {dtype = self.dtype or get_default_dtype(),
                                 device = self.device}))
end
