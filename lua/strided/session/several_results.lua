--- Calls of several results whose first one is indexed, as st.linalg.qr(a)[1]:
-- PyTorch returns one tuple, this library several values, so that [1] is a part
-- of the first one. The session warns of it, once for each function.
--
-- @module strided.session.several_results

local core = require "strided.core"
core.check_taken("session", "strided.session.several_results")
local KEYWORDS = require("strided.session.show").KEYWORDS
local tokens = require "strided.session.tokens"

local concat, find, format, ipairs, select, sort, sub = table.concat,
  string.find, string.format, ipairs, select, table.sort, string.sub

local NAME = tokens.NAME

local several = {}

local OPENS = {[")"] = "(", ["]"] = "[", ["}"] = "{"}

--- The place of the bracket that is closed at a place; nil if there is none.
local function opening(list, at)
  local depth = 0
  for i = at, 1, -1 do
    local token = list[i]
    if OPENS[token] then
      depth = depth + 1
    elseif token == "(" or token == "[" or token == "{" then
      depth = depth - 1
      if depth == 0 then return i end
    end
  end
end

local function is_name(token)
  return token and find(token, NAME) and not KEYWORDS[token]
end

--- Where the expression begins whose last name is at a place: a of a.b[c]:d.
local function beginning(list, at)
  while true do
    local before = list[at - 1]
    if before ~= "." and before ~= ":" then return at end
    at = at - 2
    -- what is before the dot: a name, or calls and subscripts of one
    while OPENS[list[at]] do
      local open = opening(list, at)
      if not open then return nil end
      at = open
      local callee = list[at - 1]
      if not (is_name(callee) or OPENS[callee]) then return at end
      at = at - 1
    end
    if not is_name(list[at]) then return nil end
  end
end

--- The name of a call and where it begins, if the first of its results is
-- indexed by a number: the call ends at a parenthesis.
local function indexed_call(list, at)
  if list[at] ~= ")" or list[at + 1] ~= "[" then return nil end
  local number = list[at + 2] == "-" and at + 3 or at + 2
  if not find(list[number] or "", "^%d") or list[number + 1] ~= "]" then
    return nil
  end
  local open = opening(list, at)
  local name = open and list[open - 1]
  if not is_name(name) or list[open - 2] == "function" then return nil end
  return name, beginning(list, open - 1)
end

--- A text in which such calls are arguments of a function.
-- @tparam string text
-- @tparam string check the name of the function
-- @treturn string
function several.mark(text, check)
  if not find(text, "%)%s*%[") then return text end
  local list, starts = tokens.list(text)
  local inserts = {}
  for i = 1, #list do
    local name, from = indexed_call(list, i)
    if from then
      inserts[#inserts + 1] = {starts[from], format("%s(%q, ", check, name)}
      inserts[#inserts + 1] = {starts[i], ")"}
    end
  end
  -- Calls within calls: the outer ones begin first and end last.
  for i, insert in ipairs(inserts) do insert[3] = i end
  sort(inserts, function(a, b)
    if a[1] ~= b[1] then return a[1] < b[1] end
    return a[3] > b[3]
  end)
  local parts, at = {}, 1
  for _, insert in ipairs(inserts) do
    parts[#parts + 1] = sub(text, at, insert[1] - 1)
    parts[#parts + 1], at = insert[2], insert[1]
  end
  return concat(parts) .. sub(text, at)
end

local warned = {}

--- The first result of a call; warns if there are more, and it is a tensor.
-- @tparam string name of the called function
-- @param first
-- @param ...
-- @return first
function several.first_of(name, first, ...)
  local n = 1 + select("#", ...)
  if n > 1 and core.is_tensor(first) and core.is_tensor((...))
    and not warned[name] then
    warned[name] = true
    core.warn(format("%s gives %d values, and a number in brackets behind the "
                     .. "call is an index of the first: write local a, b = "
                     .. "...%s(...)", name, n, name))
  end
  return first
end

return several
