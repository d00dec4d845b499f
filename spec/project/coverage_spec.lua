--- spec/COVERAGE.md is up to date, and what it says is so.
-- axes: unsanitized

local build = require "spec.support.build"
local st = require "strided"
local core = require "strided.core"
local coverage = require "spec.coverage.table"
local spellings = require "spec.coverage.spellings"

local compile = loadstring or load

local names = coverage.names()

-- These take a quarter of a minute under the sanitizers, for nothing.
local SANITIZED = build.is_sanitized

--- Each pair of a family and of its names in spellings.written or .meaning.
local function each_spelling(visit)
  for _, kind in ipairs {"written", "meaning"} do
    for family, list in pairs(spellings[kind]) do
      for name, code in pairs(list) do visit(family, name, code, kind) end
    end
  end
end

describe("The table of coverage", function()
  it("is what ./dev coverage writes", function()
    if SANITIZED then return end
    assert.equal(coverage.text(), coverage.read())
  end)

  it("has each family of names", function()
    local listed = {}
    for _, family in ipairs(coverage.families) do
      listed[family[1]] = true
      assert.is_true(#names[family[1]] > 0, family[1])
    end
    for family in pairs(names) do assert.is_true(listed[family], family) end
  end)

  for _, family in ipairs(coverage.families) do
    it("says one thing of each name: " .. family[1], function()
      if SANITIZED then return end
      assert.same({}, coverage.sort(family, names[family[1]]).twice)
    end)
  end

  it("misses no name", function()
    if SANITIZED then return end
    for _, family in ipairs(coverage.families) do
      assert.same({}, coverage.sort(family, names[family[1]]).missing,
                  family[1])
    end
  end)
end)

describe("A spelling", function()
  it("is of a name that is listed, and that exists or does not", function()
    if SANITIZED then return end
    local known, exists = {}, {}
    for _, family in ipairs(coverage.families) do
      for _, name in ipairs(names[family[1]]) do
        known[family[1] .. " " .. name] = true
        exists[family[1] .. " " .. name] = family[3](name)
      end
    end
    each_spelling(function(family, name, _, kind)
      local key = family .. " " .. name
      assert.is_true(known[key], key)
      assert.equal(kind == "meaning", exists[key], key)
    end)
  end)

  it("compiles, and its names exist", function()
    local sample = st.ones(2, 2)
    each_spelling(function(family, name, code)
      local where = family .. " " .. name
      local opening = "local st, t, u, v, capsule = ...\n"
      assert(compile(opening .. "return " .. code) or
             compile(opening .. code) or compile(opening .. code .. " = 0"),
             where .. ": " .. code)
      for path in code:gmatch "%f[%w]st%.([%w_.]+)" do
        local value = st
        for part in path:gmatch "[^.]+" do value = value[part] end
        assert.is_not_nil(value, where)
      end
      for method in code:gmatch "%f[%w][tuv][:.]([%w_]+)" do
        assert.is_true(core.properties[method] ~= nil or
                       sample[method] ~= nil, where)
      end
    end)
  end)
end)
