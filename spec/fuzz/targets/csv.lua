--- Any bytes as a CSV file: read, written and read again. The first byte
-- chooses the options.

local csv_read = require "strided.io.csv.read"
local csv_write = require "strided.io.csv.write"
local failure = require "strided.io.failure"
local reading = require "spec.fuzz.targets.reading"
local st = require "strided"

local OPTIONS = {
  {}, {as = "tensor", header = false}, {as = "auto"},
  {header = false, dtype = "text", quote = "'"},
  {delimiter = ";", decimal = ",", comment = "#"},
  {header = true, dtype = "float32", missing = {"-1", "x"}},
  {header = false, dtype = "int16", fill = 3, skip_rows = 1},
  {dtype = "category", max_rows = 2, delimiter = "\t"},
  {delimiter = "whitespace", comment = "#", fill = 1},
}

for _, o in ipairs(OPTIONS) do o.missing = o.missing or {"", "NA"} end

local function read(source, options)
  return failure.catch(csv_read.read, source, options)
end

--- Ends the run unless the columns are the same.
local function compare(a, b)
  if st.is_tensor(a) then return reading.compare(a, b) end
  if a.codes then
    a, b = {a.codes, a.categories}, {b.codes, b.categories}
  end
  for i = 1, #a do
    if st.is_tensor(a[i]) or type(a[i]) == "table" then
      compare(a[i], b[i])
    elseif a[i] ~= b[i] then
      broken("a text changes: " .. a[i])
    end
  end
end

return function(bytes)
  local options = OPTIONS[(bytes:byte() or 0) % #OPTIONS + 1]
  local value = reading.try(read, bytes:sub(2), options)
  if not value then return end
  if not st.is_tensor(value) and #value == 0 then broken "no columns" end
  local text = csv_write.format(value, {})
  local names = not st.is_tensor(value) and value.names
  local again = {header = names and true or false, missing = options.missing,
                 dtype = {}, as = options.as}
  local columns = st.is_tensor(value) and {} or value
  if st.is_tensor(value) then
    if value.shape[1] == 0 then return end
    again.dtype = tostring(value.dtype)
  end
  for i, column in ipairs(columns) do
    again.dtype[i] = st.is_tensor(column) and tostring(column.dtype) or
                     column.codes and "category" or "text"
  end
  if not names and #columns > 0 and not st.is_tensor(columns[1]) and
     #(columns[1].categories or columns[1]) == 0 then
    return -- no records
  end
  local same = reading.try(read, text, again)
  if same == nil then broken("what was written cannot be read: " .. text) end
  compare(value, same)
end
