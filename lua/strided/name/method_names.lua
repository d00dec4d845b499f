--- Lists all methods of tensors, including those that are not created yet.
--
-- @module strided.name.method_names

local core = require "strided.core"

local ipairs, next = ipairs, next

local require = require "strided.core".require

--- The names of all methods.
-- @treturn table a set
local function names()
  local set = {}
  for name in next, core.methods do set[name] = true end
  for name in next, (require "strided.tensor.tensor_methods") do
    set[name] = true
  end
  local list, is_method = core.operators()
  for i, full in ipairs(list) do
    local name = is_method[i] and full:match "^aten::(%a[%w_]*)$"
    if name then set[name] = true end
  end
  return set
end

--- All methods; creates those that do not exist yet.
-- @tparam table shown the table that `getmetatable(t)` returns
-- @treturn table functions by name
local function all(shown)
  local set = names()
  for name in next, set do set[name] = shown[name] end
  return set
end

return {names = names, all = all}
