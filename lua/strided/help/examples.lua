--- Examples of operators, which st.help shows and a spec runs; `t` is the
-- tensor {{1, 2}, {3, 4}}.
--
-- A row of strided.help.examples.elements and the others is an operator's
-- name, its call in the same line or in the next ones, and the results after
-- `-->`, each in lines of its own:
--
--     amax:  st.amax(t, 2)
--       --> tensor([2, 4])
--
-- @module strided.help.examples

local ipairs = ipairs

local require = require "strided.core".require

local examples = {}

--- Adds the rows of a text: examples[name] = {code =, result =}.
local function add(text)
  local name
  for line in text:gmatch "[^\n]+" do
    local key, code = line:match "^([%w_.]+):%s*(.*)$"
    local row = examples[name]
    if line:find "^%-%-" then
      name = nil -- a title
    elseif key then
      name, examples[key] = key, {code = code}
    elseif line:find "^  %-%->" then
      row.result = line:sub(7)
    elseif not row.result then
      local more = line:match "%S.*"
      local is_tight = row.code == "" or row.code:find "%($" or
                       more:find "^:"
      row.code = row.code .. (is_tight and "" or " ") .. more
    else
      row.result = row.result .. "\n" .. line:sub(7)
    end
  end
end

for _, name in ipairs {"elements", "shapes", "fields", "functions", "gradients",
                       "more", "networks", "numbers", "rare"} do
  add(require("strided.help.examples." .. name))
end

return examples
