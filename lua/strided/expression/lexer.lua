--- The words and signs of expressions, and errors that show where one is.
--
-- @module strided.expression.lexer

local raise = require "strided.caller_error"

local tonumber = tonumber

local EXCERPT = 30 -- characters of the text on either side of a mistake

-- -- Errors ------------------------------------------------------------------

--- 'at 5 in "x + )"'; of a long text what is near.
local function place(text, at)
  local first, last = at - EXCERPT, at + EXCERPT
  local head, tail = "", ""
  if first > 1 then head = "..." else first = 1 end
  if last < #text then tail = "..." end
  local near = text:sub(first, last):gsub("%c", " ")
  return ('at %d in "%s%s%s"'):format(at, head, near, tail)
end

local tokens = {}

--- Raises an error that says what is wrong at a place of the text.
-- @tparam string text
-- @tparam integer at
-- @tparam string what as for string.format
-- @param ...
function tokens.fail(text, at, what, ...)
  raise("expression: %s (%s)", what:format(...), place(text, at))
end

--- Raises the error about a token that cannot be where it is.
-- @tparam string text
-- @tparam table token
function tokens.unexpected(text, token)
  local name = token.kind == "end" and "end"
    or token.text == "\n" and "end of line"
    or "'" .. token.text:gsub("%c", " ") .. "'"
  raise("expression: unexpected %s %s", name, place(text, token.at))
end

-- -- Tokens ------------------------------------------------------------------

local function set(words)
  local out = {}
  for word in words:gmatch "%S+" do out[word] = true end
  return out
end

local RESERVED = set "and or not true false local return"
local PAIRS = set "<= >= == ~= != << >> // ** && || :: --"
local SAME = {["||"] = "or", ["&&"] = "and", ["!"] = "not", ["!="] = "~=",
              ["**"] = "^", [";"] = "newline"}
-- What a newline separates: the end of a statement and the start of another.
local ENDS = set "number string name true false )"
local STARTS = set "number string name true false ( - + ~ not local return"

--- The number at a place as text, and where it ends. What Lua's number scanners
-- take beyond this differs between them.
local function match_number(text, at)
  local stop = text:match("^0[xX]%x+()", at)
  if not stop then
    stop = text:match("^%d+%.?%d*()", at) or text:match("^%.%d+()", at)
    if not stop then return nil end
    stop = text:match("^[eE][+-]?%d+()", stop) or stop
  end
  return text:sub(at, stop - 1), stop
end

--- The next token, and where it ends.
local function read_token(text, at)
  local word, stop = text:match("^([%a_][%w_]*)()", at)
  if word then
    return {kind = RESERVED[word] and word or "name", text = word}, stop
  end
  word, stop = match_number(text, at)
  if word then
    if text:find("^[%w_.]", stop) then
      tokens.fail(text, at, "malformed number '%s'",
                  text:match("^[%w_.]+", at))
    end
    return {kind = "number", text = word, value = tonumber(word)}, stop
  end
  word, stop = text:match("^'([^'\\\n]*)'()", at)
  if not word then word, stop = text:match('^"([^"\\\n]*)"()', at) end
  if word then
    return {kind = "string", text = text:sub(at, stop - 1), value = word}, stop
  end
  if text:find("^['\"]", at) then tokens.fail(text, at, "malformed string") end
  word = text:sub(at, at + 1)
  if not PAIRS[word] then
    word = text:match("^.[\128-\191]*", at) -- UTF-8 is shown in one piece
  end
  return {kind = SAME[word] or word, text = word}, at + #word
end

--- Appends a token, after a newline if there was one that separates it from
-- what is before. Within parentheses none does.
local function append(list, token, line, depth)
  local last = list[#list]
  if line and depth <= 0 and last and ENDS[last.kind] and
     STARTS[token.kind] then
    list[#list + 1] = {kind = "newline", text = "\n", at = line}
  end
  list[#list + 1] = token
end

--- The tokens of a text, the last of them of the kind "end".
-- @tparam string text
-- @treturn {table,...} each with its `kind`, its `text`, where it is `at`, and
-- the `value` of numbers and strings. The kind of a sign or reserved word is
-- what Lua writes for it.
function tokens.read(text)
  local list, depth, line, at = {}, 0, nil, 1
  while true do
    local newline
    newline, at = text:match("^[ \t\r]*(\n?)()", at)
    if newline ~= "" then
      line = line or at - 1
    elseif at > #text then
      append(list, {kind = "end", text = "", at = at}, line, depth)
      return list
    else
      local token, stop = read_token(text, at)
      token.at = at
      append(list, token, line, depth)
      if token.kind == "(" then depth = depth + 1 end
      if token.kind == ")" then depth = depth - 1 end
      line, at = nil, stop
    end
  end
end

return tokens
