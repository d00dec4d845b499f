--- Vectors: one JSON value per line, plain or gzipped.

local cjson = require "cjson"

local reader = {}

reader.null = cjson.null

local function open(path)
  local probe, why = io.open(path, "rb")
  if not probe then return nil, why end
  local magic = probe:read(2)
  probe:close()
  if magic ~= "\31\139" then return io.open(path, "rb") end
  return io.popen("gzip -dc '" .. path:gsub("'", "'\\''") .. "'", "r")
end

--- An iterator over the decoded lines of a file, or over every step-th one: the
-- case, its text, its number.
function reader.cases(path, step)
  local file, why = open(path)
  if not file then error("cannot read " .. path .. ": " .. why, 2) end
  local number = 0
  return function()
    for line in function() return file:read "*l" end do
      number = number + 1
      if number % (step or 1) == 0 then
        return cjson.decode(line), line, number
      end
    end
    file:close()
  end
end

function reader.decode(text) return cjson.decode(text) end

function reader.encode(value) return cjson.encode(value) end

--- A number without a fraction as an integer, where Lua tells the two apart:
-- cjson does not.
function reader.integer(x)
  return math.tointeger and math.tointeger(x) or x
end

--- "ops/layouts.jsonl.gz" -> "layouts"
function reader.name(path)
  return (path:match "([^/]+)$":gsub("%.gz$", ""):gsub("%.jsonl?$", ""))
end

return reader
