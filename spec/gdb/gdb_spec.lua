--- The debugger's printers, core/gdb/strided.py: gdb runs spec/gdb/values.c up
-- to a breakpoint and prints its variables.
-- axes: none

local build = require "spec.support.build"
local files = require "spec.support.files"

local SCRIPT = build.root .. "/core/gdb/strided.py"

-- the debugger cannot run beside the leak checker
local _it = build.is_sanitized and pending or it

local PLAIN = "{CPU, ADInplaceOrView, AutocastCPU}"

-- expression, what gdb prints
local ROWS = {
  {"*matrix", "Tensor float32 2x3 strides (3, 1) refs 2 " .. PLAIN ..
              " = {{0.5, 1.5, 2.5}, {3.5, 4.5, 5.5}}"},
  {"*part", "Tensor float32 2 strides (3) offset 1 refs 3 " .. PLAIN ..
            " = {1.5, 4.5}"},
  {"*line", "Tensor int16 9 strides (1) refs 1 " .. PLAIN ..
            " = {0, -1, -2, -3, -4, -5, ...}"},
  {"*half", "Tensor float16 2 strides (1) refs 1 " .. PLAIN .. " = {0, 1}"},
  {"*brain", "Tensor bfloat16 2 strides (1) refs 1 " .. PLAIN .. " = {0, 1}"},
  {"*pairs", "Tensor complex64 2 strides (1) refs 1 " .. PLAIN ..
             " = {0-1i, 1-1i}"},
  {"*truths", "Tensor bool 2 strides (1) refs 1 " .. PLAIN ..
              " = {false, true}"},
  {"*one", "Tensor float64 scalar refs 1 " .. PLAIN .. " = 3.5"},
  {"*shape_only", "Tensor int64 2x3 strides (3, 1) refs 1 "
                  .. "{Meta, ADInplaceOrView}"},
  {"keys", "{CPU, Conjugate, AutogradCPU}"},
  {"dtype", "bfloat16"},
  {"whole", "int -7"},
  {"pi", "float 3.5"},
  {"ints", "ints {4, 5}"},
  {"name", 'string "abc"'},
  {"given[1]", "int 1"},
  {"*it", "Iterator (2) of 3 operands (1 outputs) common dtype float32 "
          .. "same_shape = {[0] = output float32 strides (4), "
          .. "[1] = input float32 strides (12), "
          .. "[2] = input float32 strides (12)}"},
}

-- Prints the expressions at the breakpoint, a line each.
local function print_all()
  local script, name = {}, os.tmpname()
  local function add(...) script[#script + 1] = table.concat({...}) end
  add "set debuginfod enabled off"
  add "set width 0"
  add("source ", SCRIPT)
  add "break stop"
  add "run"
  add "up"
  for _, row in ipairs(ROWS) do add("print ", row[1]) end
  add "print *matrix->storage"
  files.write(name, table.concat(script, "\n") .. "\n")
  local text = build.run("gdb -nx -q -batch -x " .. name .. " " ..
                         build.program "gdb/values")
  os.remove(name)
  return text
end

--- The names of a map of a header, "ST_..._MAP(X)", with a star before those
-- whose second column is 1.
local function names_of(header, map, pattern)
  local text = files.read(build.root .. "/core/" .. header)
  local body = text:match("#define " .. map .. "%(X%)(.-)\n\n")
  local names = {}
  for name, column in body:gmatch(pattern) do
    names[#names + 1] = (column == ", 1" and "*" or "") .. name
  end
  return table.concat(names, " ")
end

describe("The debugger's printers", function()
  local text

  setup(function() if not build.is_sanitized then text = print_all() end end)

  for _, row in ipairs(ROWS) do
    _it("print " .. row[1], function()
      assert.matches(" = " .. row[2] .. "\n", text, 1, true)
    end)
  end

  _it("print a storage", function()
    -- six elements were set
    assert.matches(
      "Storage 24 bytes at 0x%x+ on cpu refs %d+ version 6\n", text)
  end)

  it("know the names of the headers", function()
    local python = files.read(SCRIPT)
    local function listed(name)
      local body = python:match("\n" .. name .. ' = "*([^"\']-)"*%.split')
      return (body:gsub("%s+", " "))
    end
    local keys = "base/dispatch_key_priority.h"
    assert.equal(names_of(keys, "ST_BACKEND_MAP", "X%((%w+)()%)"),
                 listed "BACKENDS")
    assert.equal(names_of(keys, "ST_FUNCTIONALITY_MAP", "X%(([%w_]+)(, %d)%)"),
                 listed "FUNCTIONALITIES")
    assert.equal(names_of("abi/dtypes.h", "ST_DTYPE_MAP",
                          'X%([%w_]+, +"([%w_]+)"()'), listed "DTYPES")
  end)
end)
