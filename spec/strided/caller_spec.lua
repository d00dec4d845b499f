--- Every public function reports a wrong argument with its name, at the line
-- that called it.
-- axes: lua
-- sampled: 3

local st = require "strided"
local tensors = require "spec.support.tensors"

local raises, raises_here = tensors.raises, tensors.raises_here
local unpack = unpack or table.unpack

-- Functions that accept much of this, print, or change settings of the process.
local SKIPPED = {is_tensor = true, keep = true, dump = true, help = true,
                 sandbox = true, trace = true, listen = true, warnings = true,
                 strict_registration = true, set_jit_enabled = true,
                 check_registry = true, dangling_impls = true}

local function nothing() end

local function can_call(f)
  local meta = debug.getmetatable(f)
  return type(f) == "function" or
         type(f) == "table" and type(meta) == "table" and meta.__call
end

local WRONG = {
  {nothing, n = 1}, {{}, n = 1}, {{zzz = 1}, n = 1}, {"zzz", n = 1},
  {1.5, n = 1}, {n = 1}, {n = 0}, {true, n = 1}, {io.stdout, n = 1},
  {st.ones(2), nothing, n = 2}, {st.ones(2), {zzz = 1}, n = 2},
  {nothing, 7, n = 2}, {"zzz", {zzz = 1}, n = 2},
}

-- The first line of the error of f(...), or nil, and the line of the call.
local function failure(f, args)
  local line
  local ok, why = pcall(function()
    line = debug.getinfo(1, "l").currentline + 1
    f(unpack(args, 1, args.n))
  end)
  if ok then return nil end
  return tostring(why):match "^[^\n]*", line
end

local function check(label, f)
  local name = label:match "[%w_]+$"
  local failed = 0
  for i, args in ipairs(WRONG) do
    local why, line = failure(f, args)
    if why then
      failed = failed + 1
      local here = "caller_spec.lua:" .. line .. ": "
      local context = label .. ", arguments " .. i .. ": " .. why
      assert.truthy(why:find(here, 1, true), context)
      assert.truthy(why:find(here .. name .. ": ", 1, true), context)
      assert.is_nil(why:find("bad argument", 1, true), context)
      -- without a frame in between
      local _, direct = pcall(f, unpack(args, 1, args.n))
      direct = tostring(direct)
      assert.truthy(direct:find("caller_spec.lua:%d+: "), direct)
      assert.truthy(direct:find(name .. ": ", 1, true), direct)
    end
  end
  return failed
end

local function functions(module)
  local list = {}
  for name, f in pairs(module) do
    if type(name) == "string" and can_call(f) and not SKIPPED[name] then
      list[#list + 1] = name
    end
  end
  table.sort(list)
  return list
end

describe("A wrong argument is reported by name and line, of", function()
  local before, cached

  setup(function()
    before, cached = st.warnings(false), st.memory.stats().cache_limit
    for name in pairs(getmetatable(st).names()) do local _ = st[name] end
  end)
  teardown(function()
    st.warnings(before)
    st.memory.set_cache_limit(cached)
  end)

  for _, label in ipairs {"st", "nn", "nn.init", "nn.utils", "optim",
                          "autograd", "memory"} do
    it(label, function()
      local module = st
      for name in label:gmatch "%w+" do
        if name ~= "st" then module = module[name] end
      end
      local failed = 0
      for _, name in ipairs(functions(module)) do
        failed = failed + check(label .. "." .. name, module[name])
      end
      assert.is_true(failed > 0)
    end)
  end

  it("a library", function()
    local lib = st.library "speccaller"
    for _, name in ipairs {"def", "impl", "fallback", "derivative",
                           "elementwise", "reduction"} do
      for _, arg in ipairs {{}, 7, true, print} do
        local why = failure(lib[name], {lib, arg, n = 2})
        assert.matches("caller_spec.lua:%d+: " .. name .. ": ", why)
        assert.is_nil(why:find("bad argument", 1, true), why)
      end
    end
    lib:close()
  end)

  it("st.ops", function()
    local add = st.ops.aten.add
    for _, name in ipairs {"kernel", "call_for_key", "redispatch"} do
      assert.matches("caller_spec.lua:%d+: " .. name .. ": ",
                     (failure(add[name], {add, {}, n = 2})))
    end
  end)
end)

describe("An unknown option is reported in one phrase, by", function()
  local x = st.ones(2, 2, {requires_grad = true})
  -- call, what is said
  local rows = {
    {function() st.nn.Linear(1, 2, {bais = false}) end,
     "Linear: there is no option 'bais': did you mean bias?"},
    {function() st.nn.MSELoss {weight = 1} end,
     "MSELoss: there is no option 'weight': it has reduction"},
    {function() st.optim.SGD({x}, {rate = 1}) end,
     "SGD: there is no option 'rate': it has "},
    {function() st.set_printoptions {precison = 1} end,
     "set_printoptions: there is no option 'precison': did you mean " ..
     "precision?"},
    {function() st.layout(x, {colour = "red"}) end,
     "layout: there is no option 'colour': it has format, max, notes, " ..
     "width"},
    {function() st.iterator {inputz = {x}} end,
     "iterator: there is no option 'inputz': did you mean inputs"},
    {function() st.frombuffer("abcd", {dtyp = "int8"}) end,
     "frombuffer: there is no option 'dtyp': did you mean dtype?"},
    {function() x:detach():to_dlpack {version = 1} end,
     "to_dlpack: there is no option 'version': did you mean versioned?"},
    {function() st.save("x.npz", {a = x}, {compres = true}) end,
     "save: a .npz file: there is no option 'compres': did you mean " ..
     "compress?"},
    {function() st.save("x.npy", x, {compress = true}) end,
     "save: a .npy file: there is no option 'compress': it has none"},
    {function() st.backward(x:sum(), {retain = true}) end,
     "backward: there is no option 'retain': it has "},
    {function() st.fuse({nam = "f"}, function(a) return a end) end,
     "fuse: "},
  }
  for i, row in ipairs(rows) do
    it("row " .. i, function()
      raises_here(row[2], row[1])
    end)
  end
end)

describe("An optimizer", function()
  it("says what to pass of a module or a tensor", function()
    raises("SGD: a list of parameters is expected, got a module: pass " ..
           "module:parameters()", st.optim.SGD, st.nn.Linear(1, 2))
    raises("AdamW: a list of parameters is expected, got a Tensor: pass {t}",
           st.optim.AdamW, st.ones(2))
  end)
end)
