--- What a script in a sandbox may have is a list: it names what there is.
-- axes: lua

local build = require "spec.support.build"
local core = require "strided.core"
local modules = require "strided.sandbox.modules"
local public = require "strided.sandbox.public"
local st = require "strided"
local tensor_methods = require "strided.tensor.tensor_methods"
local unknown_name = require "strided.name.unknown_name"

--- The modules of the library, by their files.
local function all_modules()
  local names = {}
  for path in build.output("cd '" .. build.root .. "/lua' && find strided "
                           .. "-name '*.lua'"):gmatch "[^\n]+" do
    local name = path:gsub("%.lua$", ""):gsub("/", ".")
    if name ~= "strided.init" then names[#names + 1] = name end
  end
  return names
end

-- What is not loaded in a sandbox: modules that begin so.
local NOT_LOADED = {"sandbox", "types", "repl", "data.worker", "session"}

-- But these, which help and printing need.
local LOADED = {"session.help", "session.show"}

local function begins(name, list)
  for _, start in ipairs(list) do
    if name:sub(1, #start + 8) == "strided." .. start then return true end
  end
  return false
end

--- Is it a name of PyTorch or NumPy, which is kept when it was looked up?
local function is_synonym(name)
  return (unknown_name.synonyms[name] or unknown_name.functions[name] or
          unknown_name.casts[name]) ~= nil
end

describe("The list of a sandbox", function()
  it("loads all modules that a script may need", function()
    local missing = {}
    for name in modules:gmatch "%S+" do require("strided." .. name) end
    for _, name in ipairs(all_modules()) do
      if package.loaded[name] == nil and
         (begins(name, LOADED) or not begins(name, NOT_LOADED)) then
        missing[#missing + 1] = name
      end
    end
    assert.same({}, missing)
  end)

  it("names what there is", function()
    for name in pairs(public.set(public.names)) do
      assert.is_not_nil(st[name], name)
    end
    for name in pairs(public.set(public.methods)) do
      assert.is_true(core.methods[name] ~= nil or core.properties[name] ~= nil
                     or tensor_methods[name] ~= nil, name)
    end
    for _, place in ipairs(public.tables) do
      local t = st
      for part in place:gmatch "[^.]+" do t = t[part] end
      assert.equal("table", type(t), place)
    end
  end)

  it("has every function of st, every method and property", function()
    local names, missing = public.set(public.names), {}
    for name in pairs(debug.getmetatable(st).names()) do local _ = st[name] end
    for name in next, st do
      if not names[name] and core.named(name, false) == nil and
         not is_synonym(name) then
        missing[#missing + 1] = name
      end
    end
    local methods = public.set(public.methods)
    for _, set in ipairs {core.methods, core.properties, tensor_methods} do
      for name in next, set do
        if not methods[name] and core.named(name, true) == nil and
           not is_synonym(name) then
          missing[#missing + 1] = name
        end
      end
    end
    assert.same({}, missing)
  end)

  it("has every table of functions that st has", function()
    local listed, missing = {ops = true, ["ops.aten"] = true}, {}
    for _, place in ipairs(public.tables) do listed[place] = true end
    local function look(t, prefix)
      for name, value in next, t do
        local place = prefix .. tostring(name)
        local is_class = type(value) == "table" and
                         (rawequal(value, t) or rawget(value, "__index") or
                          rawget(debug.getmetatable(value) or {}, "__call"))
        if type(value) == "table" and not is_class then
          if not listed[place] then
            missing[#missing + 1] = place
          else
            look(value, place .. ".")
          end
        end
      end
    end
    for name in pairs(debug.getmetatable(st).names()) do local _ = st[name] end
    look(st, "")
    for i = #missing, 1, -1 do -- single constraints
      if missing[i]:find "^distributions%.constraints%." or
         missing[i]:find "^distributions%.transforms%." then
        table.remove(missing, i)
      end
    end
    assert.same({}, missing)
  end)
end)
