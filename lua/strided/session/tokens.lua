--- The names and symbols of a text of Lua.
--
-- @module strided.session.tokens

require("strided.core").check_taken("session", "strided.session.tokens")

local find, sub = string.find, string.sub

local tokens = {}

-- What a name looks like; LuaJIT takes bytes above 127 in it.
tokens.NAME = "^[%a_\128-\255][%w_\128-\255]*"
local NAME = tokens.NAME

-- The words that begin and end a block, and brackets. The block of while and
-- for begins at do.
tokens.DEPTH = {
  ["do"] = 1, ["function"] = 1, ["if"] = 1, ["repeat"] = 1, ["end"] = -1,
  ["until"] = -1, ["("] = 1, ["["] = 1, ["{"] = 1, [")"] = -1, ["]"] = -1,
  ["}"] = -1,
}

--- The end of a string in quotes that begins at a place.
local function quoted_end(text, from)
  local quote, at = sub(text, from, from), from + 1
  while true do
    local c = sub(text, at, at)
    if c == quote or c == "" then return at end
    at = at + (c == "\\" and 2 or 1)
  end
end

--- The end of a long string or of the text.
local function long_end(text, from)
  local _, open, level = find(text, "^%[(=*)%[", from)
  if not open then return nil end
  local _, to = find(text, "]" .. level .. "]", open + 1, true)
  return to or #text
end

--- Iterates over names and symbols and where they begin. A string is a symbol,
-- a comment is none.
-- @tparam string text
-- @treturn function
function tokens.each(text)
  local at = 1
  return function()
    while true do
      at = find(text, "%S", at)
      if not at then return nil end
      if not find(text, "^%-%-", at) then break end
      at = (long_end(text, at + 2) or find(text, "\n", at, true) or #text) + 1
    end
    local from, c = at, sub(text, at, at)
    local _, to = find(text, NAME, at)
    if c == '"' or c == "'" then to = quoted_end(text, at) end
    if c == "[" then to = long_end(text, at) end
    if not to then _, to = find(text, "^%d[%w.]*", at) end
    at = (to or at) + 1
    return sub(text, from, at - 1), from
  end
end

--- The names and symbols as a list, and the list of where they begin.
-- @tparam string text
-- @treturn {string,...}
-- @treturn {number,...}
function tokens.list(text)
  local list, starts, n = {}, {}, 0
  for token, from in tokens.each(text) do
    n = n + 1
    list[n], starts[n] = token, from
  end
  return list, starts
end

return tokens
