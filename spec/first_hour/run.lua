--- Types the sessions of spec/first_hour/README.md: lines that begin with "> "
-- and what they print, in the blocks of code below a heading "N. task".
--
-- To write the page anew after a change of what is typed:
--
--     ./dev lua -e 'require("spec.first_hour.run").rewrite \
--       "spec/first_hour/README.md"'

local files = require "spec.support.files"
local advice = require "strided.session.advice"
local failure = require "strided.session.traceback"
local locals = require "strided.session.locals"
local session = require "strided.session"
local show = require "strided.session.show"
local st = require "strided"

local unpack = unpack or table.unpack

local run = {}

-- -- The files of the sessions ------------------------------------------------

--- A file of NumPy: the header as NumPy writes it, and the elements.
local function npy(descr, shape, bytes)
  local header = "{'descr': " .. descr .. ", 'fortran_order': False, 'shape': "
                 .. shape .. ", }"
  header = header .. (" "):rep(63 - (10 + #header) % 64) .. "\n"
  return "\147NUMPY\1\0" .. string.char(#header % 256, #header / 256) .. header
         .. bytes
end

--- Writes the files into a folder, which is made.
function run.prepare(folder)
  os.execute("mkdir -p '" .. folder .. "'")
  files.write(folder .. "/plain.csv", "1.0,2.0,3.0\n4.0,5.5,6.0\n7.0,8.0,9.5\n")
  files.write(folder .. "/people.csv", "height,weight\n1.70,65\n1.80,80\n1.60,"
              .. "\n")
  files.write(folder .. "/u16.npy", npy("'<u2'", "(3,)", "\1\0\2\0\255\255"))
  files.write(folder .. "/names.npy", npy("'<U3'", "(2,)",
              ("a\0\0\0n\0\0\0n\0\0\0b\0\0\0o\0\0\0b\0\0\0")))
  files.write(folder .. "/names.csv", "ann\nbob\n")
  st.save(folder .. "/fields.npz", {id = st.tensor {1, 3}})
  files.write(folder .. "/rec.npy", npy("[('id', '<i4'), ('x', '<f8')]",
                                        "(1,)", ("\0"):rep(12)))
end

-- -- Typing -------------------------------------------------------------------

--- What the prompt prints for a text, and true after an error.
local function typed(text, variables)
  local chunk, is_silent, unfinished = session.compile(text, "=input",
                                                       variables)
  if not chunk then
    if unfinished and not advice.is_python(text) then return nil end
    return show.fold(advice.add(is_silent, advice.syntax(is_silent, text))),
           true
  end
  local results = {}
  local function keep(...) results = {n = select("#", ...), ...} end
  local written = {}
  rawset(_G, "print", function(...)
    written[#written + 1] = show.values(false, ...)
  end)
  local real = rawget(_G, "print_of_lua")
  local ok, n = xpcall(function()
    local values = {chunk(function(...) keep(...) return ... end)}
    return #values
  end, failure.text)
  rawset(_G, "print", real)
  local text_of = table.concat(written, "\n")
  if not ok then return n:gsub("\nstack traceback:.*", ""), true end
  if not is_silent and results.n and results.n > 0 then
    rawset(_G, "_", results[1])
    text_of = text_of .. (written[1] and "\n" or "")
              .. show.values(false, unpack(results, 1, results.n))
  end
  return text_of, false
end

--- Runs the lines of a block; calls seen(code, output, has_failed) for each
-- chunk.
-- @tparam string folder stands before names of files
function run.block(block, folder, seen)
  local before = {}
  for key in next, _G do before[key] = true end
  rawset(_G, "print_of_lua", print)
  rawset(_G, "st", st)
  local code
  local variables = locals.new()
  for line in (block .. "\n"):gmatch "(.-)\n" do
    local more = line:match "^> (.*)$" or code and line:match "^>> (.*)$"
    if more then
      code = code and code .. "\n" .. more or more
      local text = code:gsub('"([%w_]+%.%l%l%l?)"', '"' .. folder .. '/%1"')
      local output, has_failed = typed(text, variables)
      if output then
        output = output:gsub(folder:gsub("%p", "%%%0") .. "/", "")
        seen(code, has_failed and show.fold(output) or output, has_failed)
        code = nil
      end
    end
  end
  for key in next, _G do
    if not before[key] then rawset(_G, key, nil) end
  end
end

-- -- The page -----------------------------------------------------------------

local function cell(code)
  return "`" .. code:gsub("\n.*", ""):gsub("|", "\\|") .. "`"
end

--- The lines of the table.
function run.table(sections)
  local rows = {}
  for _, section in ipairs(sections) do
    local first, second
    for i, call in ipairs(section.calls) do
      if call.failed and not first then
        first, second = call, section.calls[i + 1]
      end
    end
    local letter = first and "L" or "G"
    if not first then
      for _, call in ipairs(section.calls) do
        if call.output ~= "" and not first then first = call end
      end
    end
    rows[#rows + 1] = ("| %d | %s | %s | %s | %s |"):format(
      section.number, section.title, letter, cell(first.code),
      second and cell(second.code) or first.failed and "the same, with the rock"
      or "")
  end
  return table.concat(rows, "\n")
end

--- The page as it is if what is typed in it prints what it prints: the blocks
-- without a name, and the table.
-- @tparam string page
-- @treturn string the page
-- @treturn table a list of {number =, title =, calls = {{code =, failed =}}}
function run.fill(page)
  local folder = os.tmpname()
  os.remove(folder)
  run.prepare(folder)
  local sections, section, block = {}, nil, nil
  local lines = {}
  for line in (page .. "\n"):gmatch "(.-)\n" do
    local number, title = line:match "^## (%d+)%. (.*)$"
    if number then
      section = {number = tonumber(number), title = title, calls = {}}
      sections[#sections + 1] = section
    end
    if line == "```" and block then
      run.block(table.concat(block, "\n"), folder,
                function(code, output, failed)
        section.calls[#section.calls + 1] = {code = code, failed = failed,
                                             output = output}
        lines[#lines + 1] = "> " .. code:gsub("\n", "\n>> ")
        if output ~= "" then lines[#lines + 1] = output end
      end)
      lines[#lines + 1], block = line, nil
    elseif line == "```" and section and not section.is_named then
      lines[#lines + 1], block = line, {}
    elseif block then
      block[#block + 1] = line
    else
      if section and line:find "^```" then
        section.is_named = line ~= "```"
      end
      lines[#lines + 1] = line
    end
  end
  os.execute("rm -rf '" .. folder .. "'")
  local text = table.concat(lines, "\n"):gsub("%s*$", "\n")
  return text:gsub("(|%-%-%-|[%-|]*\n).-\n\n", function(rule)
    return rule .. run.table(sections) .. "\n\n"
  end, 1), sections
end

--- Writes the page with what is printed now.
function run.rewrite(path)
  files.write(path, (run.fill(files.read(path))))
end

return run
