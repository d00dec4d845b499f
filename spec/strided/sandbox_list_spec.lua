--- What a script in a sandbox may have is a list: it names what there is.
-- axes: lua

local build = require "spec.support.build"
local core = require "strided.core"
local modules = require "strided.sandbox.modules"
local public = require "strided.sandbox.public"
local st = require "strided"

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
local NOT_LOADED = {
  "strided%.sandbox", "strided%.types", "strided%.repl$",
  "strided%.data%.worker$", "strided%.session$",
  "strided%.session%.advice$", "strided%.session%.command$",
  "strided%.session%.complete", "strided%.session%.history$",
  "strided%.session%.input$", "strided%.session%.line_commands$",
  "strided%.session%.pager$", "strided%.session%.trace_text$",
  "strided%.session%.traceback$",
}

describe("The list of a sandbox", function()
  it("has all modules, or knows why not", function()
    local listed, expected = {}, {}
    for name in modules:gmatch "%S+" do
      listed[#listed + 1] = "strided." .. name
    end
    for _, name in ipairs(all_modules()) do
      local is_loaded = true
      for _, pattern in ipairs(NOT_LOADED) do
        if name:find("^" .. pattern) then is_loaded = false end
      end
      if is_loaded then expected[#expected + 1] = name end
    end
    table.sort(listed)
    table.sort(expected)
    assert.equal(table.concat(expected, "\n"), table.concat(listed, "\n"))
  end)

  it("names what there is", function()
    for name in pairs(public.set(public.names)) do
      assert.is_not_nil(st[name], name)
    end
    for name in pairs(public.set(public.methods)) do
      assert.is_true(core.methods[name] ~= nil or core.properties[name] ~= nil
                     or require "strided.tensor_methods"[name] ~= nil, name)
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
      if not names[name] and core.named(name, false) == nil then
        missing[#missing + 1] = name
      end
    end
    local methods = public.set(public.methods)
    for _, set in ipairs {core.methods, core.properties,
                          require "strided.tensor_methods"} do
      for name in next, set do
        if not methods[name] and core.named(name, true) == nil then
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
