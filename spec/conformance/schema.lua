--- What a schema string says about arguments, and arguments of the vectors
-- (0-based, ends exclusive) as the ones Lua takes (1-based, inclusive).

local schema = {}

-- -- Parsing -----------------------------------------------------------------

--- Splits at top-level commas.
local function split(text)
  local parts, depth, from = {}, 0, 1
  for i = 1, #text do
    local c = text:sub(i, i)
    if c:find "[%(%[]" then depth = depth + 1 end
    if c:find "[%)%]]" then depth = depth - 1 end
    if c == "," and depth == 0 then
      parts[#parts + 1] = text:sub(from, i - 1)
      from = i + 1
    end
  end
  parts[#parts + 1] = text:sub(from)
  return parts
end

local function parse_argument(text)
  local kind, rest = text:match "^%s*(%a+)(.*)$"
  if not kind then return nil end
  local suffix
  local written = (rest:match "^%b()" or ""):find("!", 1, true) ~= nil
  rest = rest:gsub("^%b()", "")
  suffix, rest = rest:match "^([%[%]%d%?!]*)(.*)$"
  rest = rest:gsub("^%b()", "")
  local name = rest:match "([%a_][%w_]*)"
  return {
    kind = kind, name = name, written = written,
    list = suffix:find("[", 1, true) ~= nil,
    optional = suffix:sub(-1) == "?", default = rest:match "=(.*)$",
  }
end

local cache = {}

--- "aten::add.Tensor(Tensor self, ...) -> Tensor": the arguments in order,
-- also by name; a keyword-only one has keyword = true, one that the operator
-- writes to written = true.
function schema.arguments(text)
  local known = cache[text]
  if known then return known end
  local inner = text:match "^[^%(]*(%b())":sub(2, -2)
  local list, keyword = {}, false
  for _, part in ipairs(inner:find "%S" and split(inner) or {}) do
    if part:find "^%s*%*%s*$" then
      keyword = true
    else
      local a = parse_argument(part)
      a.keyword = keyword
      list[#list + 1] = a
      list[a.name] = a
    end
  end
  cache[text] = list
  return list
end

-- -- Positions ---------------------------------------------------------------

local function from_zero(i) return i >= 0 and i + 1 or i end

local function inclusive_end(e)
  if e >= 2 ^ 53 then return -1 end -- "to the end"
  return e > 0 and e or e == 0 and 0 or e - 1
end

local CONVERT = {Dim = from_zero, Index = from_zero, End = inclusive_end}

--- An integer, or a list of them, as the argument takes it.
function schema.position(argument, value)
  local convert = CONVERT[argument.kind]
  if not convert then return value end
  if type(value) == "number" then return convert(value) end
  if type(value) ~= "table" then
    -- an int64 beyond 2^53: only an end that means "to the end" is one
    return argument.kind == "End" and value ~= nil and -1 or value
  end
  local out = {}
  for i = 1, #value do out[i] = convert(value[i]) end
  return out
end

schema.from_zero, schema.inclusive_end = from_zero, inclusive_end
schema.split = split

return schema
