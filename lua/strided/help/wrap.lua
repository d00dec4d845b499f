--- Wraps texts for the terminal.
--
-- @module strided.help.wrap

local concat, gmatch = table.concat, string.gmatch

local WIDTH = 78

--- Wraps a text.
-- @tparam string text
-- @tparam[opt] string first what its first line begins with
-- @tparam[opt] string further what other lines begin with, by default two
-- spaces
local function wrap(text, first, further)
  local lines, line = {}, nil
  for word in gmatch(text, "%S+") do
    if line and #line + 1 + #word > WIDTH then
      lines[#lines + 1] = line
      line = nil
    end
    line = line and line .. " " .. word
           or (lines[1] and (further or "  ") or first or "") .. word
  end
  lines[#lines + 1] = line
  return concat(lines, "\n")
end

return wrap
