--- Long loops over Lua data, strings and files: they stop at an error of the
-- count hook, like long calls of operators.
-- axes: lua
-- sampled: 3

local interrupt = require "spec.support.interrupt"
local st = require "strided"

local N = 2 ^ 20
local FAILURE = {} -- an error need not be a string

local numbers, rows, text, floats, swapped
local folder = os.tmpname()

local function path(name) return folder .. "." .. name end

local function write(name, head, bytes)
  local file = assert(io.open(path(name), "wb"))
  file:write(head, bytes)
  file:close()
end

--- The header of a .npy file of n elements of a type.
local function npy(code, n)
  local fields = ("{'descr': '%s', 'fortran_order': False, 'shape': (%d,), }")
    :format(code, n)
  return "\147NUMPY\1\0\118\0" .. fields
         .. (" "):rep(117 - #fields) .. "\n"
end

local CALLS = {
  {"a table of numbers", function() return st.tensor(numbers) end},
  {"a table of rows", function() return st.tensor(rows) end},
  {"a tensor to a table", function() return floats:totable() end},
  {"rows to tables", function() return floats:view(2 ^ 23, 2):totable() end},
  {"the bytes of a string", function()
    return st.frombuffer(text, {dtype = "int16"})
  end},
  {"truth values from a string", function()
    return st.frombuffer(text, {dtype = "bool"})
  end},
  {"reading", function() return st.load(path "npy") end},
  {"the other byte order", function()
    return st.load(path "swapped.npy")
  end},
  {"reading tensors by name", function()
    return st.load(path "safetensors", {mmap = false})
  end},
  {"inflating", function() return st.load(path "npz") end},
}

local SAVES = {
  {"npy", function(name) st.save(name, floats) end},
  {"safetensors", function(name) st.save(name, {x = floats}) end},
  {"npz", function(name) st.save(name, {x = floats}) end},
  {"deflated.npz", function(name)
    st.save(name, {x = floats}, {compress = true})
  end},
}

local function make_inputs()
  numbers, rows = {}, {}
  for i = 1, N do numbers[i] = i end
  for i = 1, N / 4 do rows[i] = {i, i} end
  text = ("\1\0"):rep(2 ^ 25)
  floats = st.zeros(2 ^ 24)
  swapped = ("\0"):rep(2 ^ 25)
  write("swapped.npy", npy(">i2", 2 ^ 24), swapped)
  st.save(path "npy", floats)
  st.save(path "safetensors", {x = floats})
  st.save(path "npz", {x = floats}, {compress = true})
end

describe("A long loop over data", function()
  setup(make_inputs)
  teardown(function()
    numbers, rows, text, floats, swapped = nil, nil, nil, nil, nil
    os.execute("rm -f '" .. folder .. "' '" .. folder .. "'.*")
  end)
  after_each(function() debug.sethook() end)

  for _, case in ipairs(CALLS) do
    it("stops at an error of the count hook: " .. case[1], function()
      local ok, message = interrupt.stopped(case[2], FAILURE)
      assert.is_false(ok)
      assert.equal(FAILURE, message)
    end)
  end

  for _, case in ipairs(SAVES) do
    it("stops while it saves, and leaves the old file: " .. case[1], function()
      local name = path("old." .. case[1])
      write("old." .. case[1], "", "as it was")
      local ok, message = interrupt.stopped(function() case[2](name) end,
                                            FAILURE)
      assert.is_false(ok)
      assert.equal(FAILURE, message)
      local file = assert(io.open(name, "rb"))
      assert.equal("as it was", file:read "*a")
      file:close()
      local found = io.popen("ls " .. name .. ".*tmp 2>&1"):read "*a"
      assert.truthy(found:find "No such file", found)
    end)
  end

  it("keeps the hook's error as it is where that is a text", function()
    local ok, message = interrupt.stopped(function()
      return st.load(path "npy")
    end, "enough")
    assert.is_false(ok)
    assert.equal("enough", message)
  end)

  it("gives the data when nothing stops it", function()
    local runs = 0
    debug.sethook(function() runs = runs + 1 end, "", 1000000)
    local t = st.tensor(numbers)
    local u = st.frombuffer(text, {dtype = "int16"})
    local list = t:narrow(1, N - 1, 2):totable()
    debug.sethook()
    assert.is_true(runs > 1)
    assert.equal(N * (N + 1) / 2, t:sum():item())
    assert.equal(2 ^ 25, u:sum():item())
    assert.same({N - 1, N}, list)
    assert.equal(0, st.load(path "swapped.npy"):abs():sum():item())
  end)
end)
