--- What st.help says about functions in Lua is true, and so are its examples of
-- operators.
-- axes: lua unsanitized
-- sampled: 3

local core = require "strided.core"
local st = require "strided"
local functions = require "strided.help.functions"
local lapack = require "spec.support.lapack"

local compile = loadstring or load

describe("st.help", function()
  for name, f in pairs(functions) do
    it("gives an example that holds: " .. name, function()
      local run = assert(compile("local st, t = ...\nreturn " .. f.example))
      local t = st.tensor {{1, 2}, {3, 4}}
      assert.equal(f.result, tostring((run(st, t))))
    end)

    it("describes what is there: " .. name, function()
      local text = st.help(name)
      local function has(words)
        assert.truthy(text:gsub("%s+", " "):find(words:gsub("%s+", " "), 1,
                                                 true), text)
      end
      local first = name .. ": " .. f.line
      assert.equal(first, text:gsub("\n *", " "):sub(1, #first))
      has(f.example)
      if f.signature:find "^t%." then
        assert.truthy(f.signature:find("^t%." .. name .. ": "))
        assert.is_function(core.properties[name])
        return
      end
      assert.truthy(f.signature:find("^st%.([%w_.]*)" .. name .. "%(") or
                    f.signature:find("^t:" .. name .. "%("))
      local owner = f.signature:match "^st%." and st or st.ones(2)
      for part in name:gmatch "[^.]+" do owner = owner[part] end
      assert.is_true(type(owner) == "function" or name == "complex")
      assert.equal(text:match "^[^\n]*", st.help(owner):match "^[^\n]*")
    end)
  end

  it("gives examples of operators, which hold", function()
    local n = 0
    for name, row in pairs(require "strided.help.examples") do
      local run = assert(compile("local st, t = ...\nreturn " .. row.code))
      if not lapack.is_missing(name) then
        local results = {run(st, st.tensor {{1, 2}, {3, 4}})}
        for i, v in ipairs(results) do results[i] = tostring(v) end
        assert.equal(row.result, table.concat(results, "\n"), name)
      end
      local text = st.help(name)
      local short = name:gsub("^signal_windows_", ""):gsub("^%l+_", "")
      assert.truthy(text:find(short, 1, true), text)
      assert.truthy(text:gsub("%s+", " "):find(row.code, 1, true), text)
      n = n + 1
    end
    assert.is_true(n >= 580)
  end)

  lapack.note("gives examples of eigenvalues, which hold", pending)

  it("gives an example of every operator", function()
    local n, lacks = 0, {}
    for _, e in ipairs(require("strided.help.catalogue").all()) do
      if e.kind == "operator" then
        n = n + 1
        if not st.help(e.name):find "\nfor example[,\n]" then
          lacks[#lacks + 1] = e.name
        end
      end
    end
    assert.same({}, lacks)
    assert.is_true(n > 700)
  end)

  it("fits into 80 columns, whatever it is asked", function()
    local n = 0
    local function check(what, options)
      for line in (st.help(what, options) .. "\n"):gmatch "([^\n]*)\n" do
        local columns = #line:gsub("[\128-\191]", "")
        assert.is_true(columns <= 80, line)
      end
    end
    check(nil)
    check(nil, {all = true})
    for _, list in ipairs {require("strided.help.catalogue").all(),
                           require("strided.help.pages").entries(),
                           require("strided.help.topics").entries()} do
      for _, e in ipairs(list) do
        check(e.name, {all = e.kind == "operator"})
        n = n + 1
      end
    end
    assert.is_true(n > 1000)
  end)

  -- The line before a row of the table is not there in its help.
  it("names what an operator is the same as", function()
    for full in st.help(nil, {all = true}):gmatch "[%w_:]+" do
      local line = st.help(full):match "^.-%.\n" or ""
      if line:find ": The same%f[^%w]" then
        assert.truthy(line:find " The same as [%w_]+" or
                      line:find " The same view", line)
      end
    end
  end)

  it("says that indices count from 1", function()
    assert.truthy(st.help "argsort":find("{base: integer = 1", 1, true))
  end)

  it("says what t is", function()
    local with = "for example, t = st.tensor {{1, 2}, {3, 4}}\n"
                 .. "  st.amax(t, 2)\n  --> tensor([2, 4])\n"
    assert.truthy(st.help "amax":find(with, 1, true))
    assert.truthy(st.help "eye":find("for example\n  st.eye(2)\n", 1, true))
  end)

  it("lists them with the operators", function()
    local text = " " .. st.help(nil, {all = true}):gsub("\n", " ") .. " "
    for _, name in ipairs {"add", "asarray", "new_tensor"} do
      assert.truthy(text:find(" " .. name .. " ", 1, true), name)
    end
  end)
end)
