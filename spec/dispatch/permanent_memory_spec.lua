--- Names, schemas and documentation of operators are permanent, but bounded.
-- axes: lua

local build = require "spec.support.build"
local raises = require("spec.support.tensors").raises
local st = require "strided"

local function registry()
  collectgarbage()
  collectgarbage()
  return st.memory().registry.bytes
end

--- What a Lua script prints, one value per line.
local function lines_of(script)
  return require "spec.support.files".lines_of(build.script(script))
end

describe("The registry of operators", function()
  local function define(name, from, to)
    local lib = st.library("permanent", "DEF")
    for n = from, to do
      lib:def((name .. "(Tensor x) -> Tensor"):format(n), function(x)
        return x
      end)
    end
    lib:close()
  end

  it("keeps less than 900 bytes of a name", function()
    define("some%d", 1, 100)
    local start = registry()
    define("more%d", 1, 1000)
    assert.is_true(registry() - start < 900 * 1000)
  end)

  it("keeps nothing of a name that comes again", function()
    define("again%d", 1, 100)
    local start = registry()
    for _ = 1, 10 do define("again%d", 1, 100) end
    assert.equal(start, registry())
  end)

  it("keeps nothing of names that are looked up", function()
    local start
    for n = 0, 1000 do
      assert.is_nil(st.ops["lookup" .. n].op)
      assert.is_nil(st.ops.aten["lookup" .. n])
      raises("explain: there is no operator 'lookup" .. n .. "'",
             st.explain, "lookup" .. n, st.ones(1))
      start = start or registry()
    end
    assert.equal(start, registry())
  end)

  it("drops the tables of namespaces that nobody holds", function()
    local function heap()
      registry()
      return collectgarbage "count" * 1024
    end
    assert.equal(st.ops.held, st.ops.held)
    for n = 1, 100 do assert.is_nil(st.ops["a" .. n].op) end
    local start = heap()
    for n = 1, 10000 do assert.is_nil(st.ops["namespace" .. n].op) end
    assert.is_true(heap() - start < 100 * 10000)
  end)

  it("ends at a limit, and what was defined works on", function()
    local lines = lines_of [[
      local st = require "strided"
      local lib = st.library("full", "DEF")
      lib:def("twice(Tensor x) -> Tensor", function(x) return x + x end)
      local doc, n, ok, why = ("x"):rep(1e6), 0, nil, nil
      repeat
        n = n + 1
        ok, why = pcall(lib.def, lib, ("f%d(Tensor x) -> Tensor"):format(n),
                        {doc = n .. doc})
      until not ok or n == 1000
      print(n)
      print(why)
      print(st.ops.full["f" .. n])
      print(st.ops.full.twice(st.ones(2)):sum():item())
      print(pcall(lib.def, lib, "g() -> int"))
      print((pcall(lib.impl, lib, "twice", "CPU", function(x) return x end)))
      lib:close()
      print(st.ops.full.twice)
      print(st.library("full", "DEF"):close())
    ]]
    assert.is_true(tonumber(lines[1]) > 60 and tonumber(lines[1]) < 70)
    assert.truthy(lines[2]:find("limit of 64 MB: use the same names", 1, true))
    assert.same({"nil", "4"}, {lines[3], (lines[4]:gsub("%.0$", ""))})
    assert.truthy(lines[5]:find "false.*limit of 64 MB")
    assert.same({"true", "nil"}, {lines[6], lines[7]})
    assert.equal(7, #lines)
  end)
end)
