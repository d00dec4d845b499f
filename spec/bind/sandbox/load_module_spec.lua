--- Parts of the library load on first use, whole or not at all: an interrupt
-- at any instruction of the loading passes, and the next use works.
-- axes: lua
-- sampled: 3

local core = require "strided.core"
local st = require "strided"

local debug, error, next, os, package, pcall, rawset, tostring, type = debug,
  error, next, os, package, pcall, rawset, tostring, type

local jit = rawget(_G, "jit")
if jit then jit.off() end -- compiled code calls no hooks

local IS_WHOLE = os.getenv "STRIDED_WHOLE" == "1"
local STEPS = IS_WHOLE and 4000 or 25 -- interrupts of an action

local path = os.tmpname()

-- Uses of parts, and the fields of st that keep them.
local ACTIONS = {
  {"a method that loads late", function() return st.ones(2):type() end},
  {"the names of methods", function()
    return #debug.getmetatable(st.ones(2)).__name
  end},
  {"astype", function() return type(st.ones(2).astype) end},
  {"save and load", function()
    st.save(path .. ".npy", st.arange(4))
    return st.load(path .. ".npy"):sum():item()
  end, {"save", "load"}},
  {"a .pt file", function()
    st.save(path .. ".pt", {a = st.ones(2)})
    return st.load(path .. ".pt").a:sum():item()
  end, {"save", "load"}},
  {"safetensors", function()
    st.save(path .. ".safetensors", {a = st.ones(2)})
    return st.load(path .. ".safetensors").a:sum():item()
  end, {"save", "load"}},
  {"CSV", function()
    return st.read_csv({text = "a,b\n1,2\n"}, {as = "tensor"}):sum():item()
  end, {"read_csv"}},
  {"nn", function()
    return st.nn.Sequential(st.nn.Linear(2, 1)):forward(st.ones(1, 2)):dim()
  end, {"nn"}},
  {"optim", function()
    return #st.optim.SGD({st.ones(1, {requires_grad = true})}, {lr = 1})
      .param_groups
  end, {"optim", "nn"}},
  {"data", function()
    return st.data.DataLoader(st.data.TensorDataset(st.ones(4, 1)),
                              {batch_size = 2}):size()
  end, {"data"}},
  {"distributions", function()
    return st.distributions.Normal(0, 1):log_prob(st.zeros(1)):dim()
  end, {"distributions"}},
  {"help", function() return type(st.help) end, {"help"}},
  {"layout", function() return type(st.layout) end, {"layout"}},
  {"printing", function() return st.get_printoptions().precision end,
   {"get_printoptions"}},
  {"fuse", function()
    local f = st.fuse(function(a) return a + 1 end)
    return f(st.ones(1)):item()
  end, {"fuse"}},
  {"explain", function() return #st.explain("add", st.ones(1), 1) > 0 end,
   {"explain"}},
}

local function snapshot()
  local names = {}
  for name in next, package.loaded do names[name] = true end
  return names
end

--- The modules that an action loads.
local function modules_of(action)
  local before, list = snapshot(), {}
  action[2]()
  for name in next, package.loaded do
    if type(name) == "string" and name:find "^strided%." and
       not before[name] then
      list[#list + 1] = name
    end
  end
  return list
end

local function forget(names, fields)
  for _, name in ipairs(names) do package.loaded[name] = nil end
  for _, name in ipairs(fields or {}) do rawset(st, name, nil) end
end

local STOP = {}

--- Runs fn and raises STOP in it after n instructions, once. True if fn ended.
local function interrupted(fn, n)
  local function stop()
    debug.sethook()
    error(STOP, 0)
  end
  local function run()
    debug.sethook(stop, "", n)
    fn()
    debug.sethook()
  end
  local ok, why = pcall(run)
  debug.sethook()
  return ok, why
end

describe("A part of the library", function()
  local count = 0

  for _, action in ipairs(ACTIONS) do
    it("loads whole or not at all: " .. action[1], function()
      local names, fields = action.modules, action[3]
      local want = tostring(action[2]())
      local n, step = 1, 1
      for _ = 1, STEPS do
        forget(names, fields)
        local ok, why = interrupted(action[2], n)
        count = count + 1
        if not ok and why ~= STOP then
          error(("after %d instructions: %s"):format(n, tostring(why)), 0)
        end
        local again, got = pcall(action[2])
        if not again then
          error(("after an interrupt at %d: %s"):format(n, tostring(got)), 0)
        end
        assert.equal(want, tostring(got))
        if ok then break end
        n = n + step
        if not IS_WHOLE then step = math.ceil(n / 3) end
      end
    end)
  end

  local loaded, fields = {}, {} -- before: modules know each other

  setup(function()
    for _, action in ipairs(ACTIONS) do
      action.modules = modules_of(action)
      for _, name in ipairs(action[3] or {}) do
        fields[name] = rawget(st, name)
      end
    end
    for name, module in next, package.loaded do loaded[name] = module end
  end)

  teardown(function()
    for name in next, package.loaded do package.loaded[name] = loaded[name] end
    for name, module in next, loaded do package.loaded[name] = module end
    for name, value in next, fields do rawset(st, name, value) end
    for _, suffix in ipairs {"", ".npy", ".pt", ".safetensors"} do
      os.remove(path .. suffix)
    end
    if jit then jit.on() end
    if IS_WHOLE then print(count .. " interrupts") end
  end)

  it("that fails leaves no mark", function()
    package.preload["strided.spec_broken"] = function()
      core.require "strided.spec_inner"
    end
    package.preload["strided.spec_inner"] = function() error("inner", 0) end
    for _ = 1, 3 do
      local ok, why = pcall(core.require, "strided.spec_broken")
      assert.is_false(ok)
      assert.matches("^inner", tostring(why))
      assert.is_nil(package.loaded["strided.spec_broken"])
      assert.is_nil(package.loaded["strided.spec_inner"])
    end
    package.preload["strided.spec_inner"] = function() return {7} end
    package.preload["strided.spec_broken"] = nil
    assert.same({7}, core.require "strided.spec_inner")
    package.preload["strided.spec_inner"] = nil
    package.loaded["strided.spec_inner"] = nil
  end)
end)
