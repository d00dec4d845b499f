--- What operators there are and how they are called.
--
-- @module strided.help

local core = require "strided.core"

local concat, sort = table.concat, table.sort
local error, pcall, tostring, type = error, pcall, tostring, type

local WIDTH = 78

--- Names of all operators, aten's without their namespace.
local function all_names()
  local seen, list = {}, {}
  for _, full in ipairs((core.operators())) do
    local name = full:gsub("^aten::", "")
    if not seen[name] and name:sub(1, 1) ~= "_" then
      seen[name] = true
      list[#list + 1] = name
    end
  end
  sort(list)
  return list
end

local function wrap(words)
  local lines, line = {}, ""
  for _, word in ipairs(words) do
    if #line + #word + 1 > WIDTH then
      lines[#lines + 1] = line
      line = ""
    end
    line = line == "" and word or line .. " " .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

--- Schemas and documentation of an operator; without a name, all names.
-- @tparam[opt] string|operator name `"add"`, `"geo::hypot2"` or an object of
-- `st.ops`
-- @treturn string
local function help(name)
  if name == nil then return wrap(all_names()) end
  local full = name
  if type(name) == "string" and not name:find("::", 1, true) then
    full = "aten::" .. name
  end
  local ok, packet = pcall(core.packet, full)
  if not ok then
    error("help: the operator must be its name or an object of st.ops", 2)
  end
  if not packet then return "there is no operator '" .. name .. "'" end
  local doc = packet:doc()
  return tostring(packet:schema()) .. (doc and "\n  " .. doc or "")
end

return {help = help}
