--- The lexer of expressions, and errors that show where in the text they are.
--
-- @module strided.expression.lexer

local raise = require "strided.argument.caller_error"

local tonumber = tonumber

local EXCERPT = 30 -- characters of the text shown on either side of an error

-- -- Errors ------------------------------------------------------------------

--- The location of an error, as 'at 5 in "x + )"'; an excerpt of a long text.
local function location(text, at)
  local first, last = at - EXCERPT, at + EXCERPT
  local head, tail = "", ""
  if first > 1 then head = "..." else first = 1 end
  if last < #text then tail = "..." end
  local near = text:sub(first, last):gsub("%c", " ")
  return ('at %d in "%s%s%s"'):format(at, head, near, tail)
end

local lexer = {}

--- Raises an error at an index of the text.
-- @tparam string text
-- @tparam integer at the index
-- @tparam string what the message, as for string.format
-- @param ... as for string.format
function lexer.fail(text, at, what, ...)
  raise("expression: %s (%s)", what:format(...), location(text, at))
end

--- Raises an error about an unexpected token.
-- @tparam string text
-- @tparam table token
function lexer.unexpected(text, token)
  local name = token.kind == "end" and "end"
    or token.text == "\n" and "end of line"
    or "'" .. token.text:gsub("%c", " ") .. "'"
  raise("expression: unexpected %s %s", name, location(text, token.at))
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
-- A newline separates two statements if a token of ENDS precedes it and a token
-- of STARTS follows it.
local ENDS = set "number string name true false )"
local STARTS = set "number string name true false ( - + ~ not local return"

--- The number at an index of the text, as a string, and the index after it.
-- Only syntax that all Lua versions accept is a number.
local function match_number(text, at)
  local stop = text:match("^0[xX]%x+()", at)
  if not stop then
    stop = text:match("^%d+%.?%d*()", at) or text:match("^%.%d+()", at)
    if not stop then return nil end
    stop = text:match("^[eE][+-]?%d+()", stop) or stop
  end
  return text:sub(at, stop - 1), stop
end

--- The next token, and the index after it.
local function read_token(text, at)
  local word, stop = text:match("^([%a_][%w_]*)()", at)
  if word then
    return {kind = RESERVED[word] and word or "name", text = word}, stop
  end
  word, stop = match_number(text, at)
  if word then
    if text:find("^[%w_.]", stop) then
      lexer.fail(text, at, "malformed number '%s'",
                 text:match("^[%w_.]+", at))
    end
    return {kind = "number", text = word, value = tonumber(word)}, stop
  end
  word, stop = text:match("^'([^'\\\n]*)'()", at)
  if not word then word, stop = text:match('^"([^"\\\n]*)"()', at) end
  if word then
    return {kind = "string", text = text:sub(at, stop - 1), value = word}, stop
  end
  if text:find("^['\"]", at) then lexer.fail(text, at, "malformed string") end
  word = text:sub(at, at + 1)
  if not PAIRS[word] then
    word = text:match("^.[\128-\191]*", at) -- a whole UTF-8 sequence
  end
  return {kind = SAME[word] or word, text = word}, at + #word
end

--- Appends a token, preceded by a newline token if a newline separates it from
-- the token before. Within parentheses newlines do not separate. line is the
-- index of the newline, or nil.
local function append(list, token, line, depth)
  local last = list[#list]
  if line and depth <= 0 and last and ENDS[last.kind] and
     STARTS[token.kind] then
    list[#list + 1] = {kind = "newline", text = "\n", at = line}
  end
  list[#list + 1] = token
end

--- The tokens of a text; the last one has the kind "end".
-- @tparam string text
-- @treturn {table,...} tokens with the fields `kind`, `text`, `at` (the index
-- in the text), and `value` for numbers and strings. The kind of an operator or
-- reserved word is its spelling in Lua.
function lexer.read(text)
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

return lexer
