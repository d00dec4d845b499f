--- The annotations for language servers: they are in the grammar, every public
-- name is in them, and they allow what the examples and the README write.
-- axes: lua unsanitized
-- sampled: 3

local annotations = require "spec.support.source.annotations"
local build = require "spec.support.build"
local calls = require "spec.support.source.annotated_calls"
local core = require "strided.core"
local read = require("spec.support.files").read
local st = require "strided"
local types = require "strided.types"

local compile = loadstring or load
local ROOT = build.root
local files = types.files()
local model = annotations.read(files)

--- The class of a name in dots, "strided.nn", and whether it has a member.
local function has(class, name)
  local c = model.classes[class]
  return c and (c.functions[name] or c.fields[name]) ~= nil
end

-- -- Form ---------------------------------------------------------------------

describe("The annotations", function()
  it("are in the grammar, and Lua", function()
    local count = 0
    for name, text in pairs(files) do
      count = count + 1
      assert.truthy(compile(text, "@" .. name), name)
      assert.is_true(#text < 500 * 1024, name .. ": servers skip large files")
    end
    assert.is_true(count > 10)
  end)

  -- lines of a file, and what is wrong with them
  for lines, why in pairs {
    ["---@class A\n---@field a strided.B\n"] = "no type 'strided.B'",
    ["---@class A\n---@field a integer]\n"] = "']' follows a type",
    ["---@class A\n---@field a A\n---@field a string\n"] = "is twice",
    ["---@clas A\n"] = "unknown tag @clas",
    ["---@class A\n---@overload fun(a: integer\n"] = "'%)' is expected",
    ["---@class A\n---@overload fun(a integer)\n"] = "a type is expected",
    ["---@class A\n---@operator plus(A): A\n"] = "a bad operator",
    ["---@class A\nlocal a = {}\n\n---@param c A\nfunction a.b(d) end\n"] =
      "argument 'd' has no @param",
    ["---@class A\nlocal a = {}\n\n---@param c A\nfunction a.b() end\n"] =
      "'c' is no argument",
    ["---@alias A table<string>\n"] = "',' is expected",
    ["---@class A\nlocal a = {}\na.b()\n"] = "unknown Lua",
  } do
    it("would not pass with: " .. why, function()
      local ok, message = pcall(annotations.read, {
        a = "---@meta _\n\n" .. lines})
      assert.is_false(ok)
      assert.truthy(message:find(why), message)
    end)
  end

  it("are the same each time, and change no random number", function()
    st.manual_seed(3)
    local expected = st.rand(4)
    st.manual_seed(3)
    assert.same(files, types.files())
    assert.is_true(st.rand(4):equal(expected))
  end)
end)

-- -- Names --------------------------------------------------------------------

describe("The annotations have", function()
  it("every operator, as a function, a method and an object", function()
    local names, is_method = core.operators()
    assert.is_true(#names > 1500)
    for i, full in ipairs(names) do
      local ns, name = full:match "^(.-)::(.*)$"
      if ns == "aten" then
        assert.is_true(has("strided.ops.aten", name), full)
        if not name:find "^_" then
          assert.is_true(has("strided", name), full)
          if is_method[i] then
            assert.is_true(has("strided.Tensor", name), full)
          end
        end
      end
    end
  end)

  it("every name of the modules", function()
    local function check(path, module)
      for name, value in pairs(module) do
        if type(name) == "string" and not name:find "^_" then
          assert.is_true(has("strided" .. path, name), path .. "." .. name)
          if type(value) == "table" and model.classes["strided" .. path .. "."
                                                       .. name] and
            not name:find "^%u" and #path < 30 then
            check(path .. "." .. name, value)
          end
        end
      end
    end
    for _, name in ipairs {"nn", "optim", "data", "autograd", "amp", "masked",
                           "distributions"} do
      check("." .. name, st[name])
    end
    check("", getmetatable(st).names())
    for name, value in pairs(st) do
      if type(value) == "function" then check("", {[name] = value}) end
    end
  end)

  it("every property and method of tensors", function()
    for name in pairs(core.properties) do
      assert.is_true(has("strided.Tensor", name), name)
    end
    for name in pairs(core.methods) do
      -- aten's fill and zero are refused as methods
      if not name:find "^_" and name ~= "fill" and name ~= "zero" then
        assert.is_true(has("strided.Tensor", name), name)
      end
    end
  end)

  it("the methods of objects in C, and no others", function()
    local library = st.library "types_spec"
    for name, object in pairs {
      Generator = st.Generator(1), DispatchKeySet = st.keyset "CPU",
      Library = library, Operator = st.ops.aten.add, Size = st.Size {2},
    } do
      local class = model.classes["strided." .. name]
      for method in pairs(class.functions) do
        assert.equal("function", type(object[method]), name .. ":" .. method)
      end
      local methods = debug.getmetatable(object).__index
      for method in pairs(type(methods) == "table" and methods or {}) do
        assert.truthy(class.functions[method], name .. ":" .. method)
      end
    end
    library:close()
  end)

  it("synonyms, which work", function()
    local x = st.tensor {2}
    for _, name in ipairs {"multiply", "power", "less"} do
      assert.is_true(has("strided.Tensor", name), name)
      assert.is_true(has("strided", name), name)
      assert.equal(1, x[name](x, x):numel())
    end
  end)

  it("options, results and texts", function()
    local sum = model.classes["strided.options.sum"].fields
    assert.equal("boolean", sum.keepdim.type)
    assert.equal("strided.dtype", sum.dtype.type)
    assert.equal("strided.Tensor", sum.out.type)
    local max = model.classes["strided.Tensor"].functions.max
    local with_dim
    for _, form in ipairs(max) do
      if form.params[1].name == "dim" then with_dim = form end
    end
    assert.same({"strided.Tensor", "strided.Tensor"}, with_dim.returns)
    local linear = model.classes["strided.nn.Linear"]
    assert.same({"strided.nn.Module"}, linear.parents)
    assert.equal("strided.Tensor", linear.fields.weight.type)
    assert.equal("in_features", linear.overloads[1].params[1].name)
    assert.equal("number",
                 model.classes["strided.optim.SGD.options"].fields.lr.type)
    assert.truthy(files["strided/functions_1.lua"]:find(
      "--- " .. st.ops.aten.add:doc(), 1, true))
  end)
end)

-- -- Programs -----------------------------------------------------------------

-- Methods that the examples get from elsewhere: the rock strided-mpi, their
-- modules, and the table that the Array API describes itself by.
local OTHERS = {set_epoch = true, parts = true, encode = true,
                default_device = true,
                summ = true} -- the tour shows what its error says

local function problems(text)
  local own = calls.methods(text)
  for name in pairs(OTHERS) do own[name] = true end
  return calls.problems(model, text, own)
end

describe("The annotations allow", function()
  for _, folder in ipairs {"examples", "examples/support", "examples/nginx",
                           "examples/neovim/lua"} do
    for path in build.output("ls '" .. ROOT .. "/" .. folder .. "'/*.lua")
                     :gmatch "[^\n]+" do
      it(path:match "examples/.*$", function()
        assert.same({}, problems(read(path)))
      end)
    end
  end

  it("the README", function()
    local snippets = {}
    for snippet in read(ROOT .. "/README.md"):gmatch "```lua\n(.-)```" do
      snippets[#snippets + 1] = snippet
    end
    assert.is_true(#snippets > 10)
    assert.same({}, problems(table.concat(snippets, "\n")))
  end)

  it("the pages of the documentation", function()
    local count = 0
    for path in build.output("ls '" .. ROOT .. "/docs'/*.md")
                     :gmatch "[^\n]+" do
      for snippet in read(path):gmatch "```lua\n(.-)```" do
        count = count + 1
        assert.same({}, problems(snippet), path)
      end
    end
    assert.is_true(count > 20)
  end)

  it("the examples of operators and functions", function()
    local lines = {}
    for _, row in pairs(require "strided.help.examples") do
      lines[#lines + 1] = "local _ = " .. row.code
    end
    for _, row in pairs(require "strided.help.functions") do
      lines[#lines + 1] = "local _ = " .. row.example
    end
    assert.is_true(#lines > 400)
    assert.same({}, problems(table.concat(lines, "\n")))
  end)
end)

describe("The annotations do not allow", function()
  -- code, what is found
  for code, why in pairs {
    ["st.sun(x)"] = "st.sun is not there",
    ["local nn = st.nn nn.Lineer(2, 3)"] = "nn.Lineer is not there",
    ["local nn = require 'strided.nn' nn.Lineer()"] = "nn.Lineer is not there",
    ["x:sum {dimm = 1}"] = ":sum: option 'dimm'",
    ["x:topk(1, 2, true, true, {}, 3, 4, 5)"] = ":topk: 8 arguments, at most",
    ["x:lerp()"] = ":lerp: 0 arguments, at least",
    ["x:relo()"] = ":relo is not there",
    ["st.nn.Linear(2, 3, {biass = true})"] = "option 'biass'",
    ["st.optim.SGD(p, {lrr = 1})"] = "option 'lrr'",
    ["st.linalg.invv(x)"] = "st.linalg.invv is not there",
    ["st.zeros({2}, {dtyp = 'bool'})"] = "option 'dtyp'",
  } do
    it(code, function()
      local found = problems(code)
      assert.equal(1, #found)
      assert.truthy(found[1]:find(why, 1, true), found[1])
    end)
  end
end)

describe("strided.types.write", function()
  it("writes the files into a folder", function()
    local folder = os.tmpname()
    os.remove(folder)
    assert.is_true(types.write(folder .. "/it's here") > 10)
    for name, text in pairs(files) do
      assert.equal(text, read(folder .. "/it's here/" .. name))
    end
    os.execute("rm -rf '" .. folder .. "'")
  end)
end)
