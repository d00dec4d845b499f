--- Reads handwritten digits in requests of HTTP: see README.md.
--
-- A picture has 8 rows of 8 pixels. It is sent as JSON, a list of 64 numbers
-- from 0 to 16 or a list of rows, or as text, a line per row, where a space and
-- a dot are white and all else is black. A text of fewer or shorter lines is
-- filled up with white.

local st = require "strided"
local cnn = require "examples.support.cnn"

local SIDE, BLACK = cnn.SIDE, cnn.BLACK

local service = {}

-- -- Pictures ----------------------------------------------------------------

--- The 64 numbers of a JSON list, or nil and why not.
local function parse_json(text)
  local values = {}
  for word in text:gsub("[%[%]]", " "):gmatch "[^,%s]+" do
    local x = tonumber(word)
    if not x or not (x >= 0 and x <= BLACK) then
      return nil, ("a pixel is a number from 0 to %d"):format(BLACK)
    end
    if #values == SIDE * SIDE then return nil, "more than 64 pixels" end
    values[#values + 1] = x
  end
  if #values < SIDE * SIDE then
    return nil, ("64 pixels are expected, not %d"):format(#values)
  end
  return values
end

--- The 64 numbers of a picture in text, or nil and why not.
local function parse_text(text)
  local values, rows = {}, 0
  for line in text:gmatch "([^\n]*)\n?" do
    line = line:gsub("\r$", "")
    rows = rows + 1
    if #line > SIDE or rows > SIDE and line ~= "" then
      return nil, "a picture has 8 rows of 8 pixels"
    end
    for i = 1, rows <= SIDE and SIDE or 0 do
      local is_white = i > #line or line:find("^[ .]", i)
      values[#values + 1] = is_white and 0 or BLACK
    end
  end
  for i = #values + 1, SIDE * SIDE do values[i] = 0 end
  return values
end

--- The picture in a text: a tensor {8, 8} from 0 to 1; or nil and why not.
-- @tparam string text
function service.parse(text)
  local parse = text:find "^%s*%[" and parse_json or parse_text
  local values, why = parse(text)
  if not values then return nil, why end
  if not text:find "[^%s.]" then return nil, "the picture is empty" end
  return st.tensor(values, {dtype = "float32"}):view(SIDE, SIDE) / BLACK
end

-- -- Requests ----------------------------------------------------------------

local net

--- Loads the network, before the workers are forked.
-- @tparam string path a file of examples/cnn.lua
function service.load(path) net = cnn.load(path) end

--- Answers the picture in a text: a status of HTTP and a text of JSON.
-- @tparam string text
function service.answer(text)
  local picture, why = service.parse(text)
  if not picture then return 400, ('{"error": "%s"}\n'):format(why) end
  local digit, probabilities = cnn.recognize(net, picture)
  for i, p in ipairs(probabilities) do probabilities[i] = ("%.4f"):format(p) end
  return 200, ('{"digit": %d, "probabilities": [%s]}\n'):format(
              digit, table.concat(probabilities, ", "))
end

--- Answers the request that nginx is at.
function service.serve()
  local ngx = ngx
  if ngx.req.get_method() ~= "POST" then
    ngx.header.Allow = "POST"
    return ngx.exit(405)
  end
  ngx.req.read_body()
  ngx.status, ngx.header.Content_Type = 200, "application/json"
  local text
  ngx.status, text = service.answer(ngx.req.get_body_data() or "")
  ngx.print(text)
end

return service
