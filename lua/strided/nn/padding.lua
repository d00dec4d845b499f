--- Padding of one to three dimensions.
--
-- `nn.ReflectionPad2d(2)` pads all sides, `nn.ReflectionPad2d {1, 1, 2, 0}` the
-- left, the right, the top and the bottom: the last dimension first. Negative
-- numbers cut, where the mode allows it.
--
-- @module strided.nn.padding

local st = require "strided"
local declare = require "strided.nn.module.declare"

local type = type

local padding = {}

--- Pads with the elements from the other side.
-- @function CircularPad1d
-- @param padding an integer, or a list of two for each dimension

--- @function CircularPad2d
--- @function CircularPad3d

--- Pads with a number.
-- @function ConstantPad1d
-- @param padding
-- @tparam number value

--- @function ConstantPad2d
--- @function ConstantPad3d

--- Pads with a mirror image, without the outermost element.
-- @function ReflectionPad1d
-- @param padding

--- @function ReflectionPad2d
--- @function ReflectionPad3d

--- Pads with the outermost element.
-- @function ReplicationPad1d
-- @param padding

--- @function ReplicationPad2d
--- @function ReplicationPad3d

--- Pads with zeros.
-- @function ZeroPad1d
-- @param padding

--- @function ZeroPad2d
--- @function ZeroPad3d
local function declare_pad(kind, mode, n)
  local is_constant = kind == "Constant"
  declare(padding, kind .. "Pad" .. n .. "d",
          is_constant and "padding:pads value:number" or "padding:pads",
          function(self, x)
    local list = self.padding
    if type(list) == "number" then
      list = {}
      for i = 1, 2 * n do list[i] = self.padding end
    end
    if mode ~= "constant" then return st.pad(x, list, mode) end
    return st.pad(x, list, mode, self.value or 0)
  end, {n = n})
end

for n = 1, 3 do
  declare_pad("Circular", "circular", n)
  declare_pad("Constant", "constant", n)
  declare_pad("Reflection", "reflect", n)
  declare_pad("Replication", "replicate", n)
  declare_pad("Zero", "constant", n)
end

return padding
