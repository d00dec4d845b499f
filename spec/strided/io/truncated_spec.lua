--- Mapped files that are truncated: whatever reads the missing part says so
-- itself, and leaves nothing to the next call.
-- axes: lua

local build = require "spec.support.build"
local core = require "strided.core"
local files = require "spec.support.files"
local st = require "strided"
local tensors = require "spec.support.tensors"

local raises = tensors.raises

local FLOATS, KEPT = 2 ^ 13, 4096 -- elements, bytes that are left
local NEW = "a mapped file, maybe that of another tensor, was truncated"

local path, other

--- A tensor over a file that was truncated after it was mapped.
local function lost(dtype, n, prepare)
  st.save(path, st.ones({n or FLOATS}, {dtype = dtype or "float32"}))
  local x = st.load(path, {mmap = true})
  if prepare then x = prepare(x) end
  local bytes = files.read(path):sub(1, KEPT)
  files.write(path, bytes)
  return x
end

--- No call before it has left its error to this one.
local function check_next() assert.equal(3, st.ones(3):sum():item()) end

describe("The missing part of a mapped file", function()
  setup(function()
    path = os.tmpname()
    other = path .. ".other"
  end)

  teardown(function()
    os.remove(path)
    os.remove(other)
  end)

  local function saved(suffix, value, options)
    local name = other .. suffix
    os.remove(name)
    local ok, why = pcall(st.save, name, value, options)
    local bytes = files.read(name)
    os.remove(name)
    assert.is_nil(bytes and "a file of zeros")
    if not ok then error(why, 0) end
  end

  -- name, what reads, the dtype of the elements
  local READERS = {
    {"totable", function(x) return x:totable() end},
    {"tostring_bytes", function(x) return x:tostring_bytes() end},
    {"tostring_bytes of a view", function(x)
      return x:view(2, -1):t():tostring_bytes()
    end},
    {"get_bytes", function(x) return core.get_bytes(x, KEPT * 4, 100) end},
    {"set_bytes", function(x) return core.set_bytes(x, KEPT * 4, "abc") end},
    {"mend", function(x) return core.mend(x, 4) end},
    {"mend of bools", function(x) return core.mend(x, 1) end, "bool"},
    {"are_bools", function(x) return core.are_bools(x) end, "bool"},
    {"crc32", function(x) return core.crc32(x) end},
    {"tostring", tostring}, {"print", function(x) return tostring(x:t()) end},
    {"index", function(x) return x[FLOATS] end},
    {"index, assigned", function(x) x[FLOATS] = 2 end},
    {"slice, assigned", function(x) x["-3:"] = 2 end},
    {"iter", function(x) for _ in x:iter() do end end},
    {"item", function(x) return x["-1:"]:item() end},
    {"save .csv", function(x) saved(".csv", x) end},
    {"save .tsv", function(x) saved(".tsv", {a = x, b = x}) end},
    {"write_csv", function(x) return st.write_csv({text = true}, x) end},
    {"save .npz", function(x) saved(".npz", {x = x}) end},
    {"save .npz, compressed", function(x)
      saved(".npz", {x = x}, {compress = true})
    end},
    {"save .npy", function(x) saved(".npy", x) end},
    {"save .safetensors", function(x) saved(".safetensors", {x = x}) end},
    {"save .pt", function(x) saved(".pt", {x = x}) end},
    {"tofile", function(x) x:tofile(other) end},
    {"a copy by st.tensor", function(x) return st.tensor(x) end},
    {"an index that is 0 now", function(x)
      return st.embedding(st.ones(2, 2), x)
    end, "int64"},
    {"a position that is 0 now", function(x)
      return x:narrow(1, x["-1:"]:view {}, 1)
    end, "int64"},
    {"elements by such indices", function(x) return st.ones(2)[x] end, "int64"},
    {"workers of a DataLoader", function(x)
      local loader = st.data.DataLoader(st.data.TensorDataset(x), {
        batch_size = FLOATS / 2, num_workers = 1})
      for _ in loader:iter() do end
    end},
    {"to_dlpack and back", function(x)
      return st.from_dlpack(x:to_dlpack()):sum()
    end},
    {"Generator", function(x)
      return st.Generator(1):set_state(x["-5000:"])
    end, "uint8"},
    {"set_rng_state", function(x)
      return st.set_rng_state(x["-5000:"])
    end, "uint8"},
    {"a plan's element", function(x)
      local plan = st.iterator {outputs = {false}, inputs = {x}}
      return plan:get(2, 4 * (FLOATS - 1))
    end},
  }

  if pcall(function() return "" .. st.ones(1) end) then -- not in Lua 5.4
    READERS[#READERS + 1] = {"..", function(x)
      return "" .. x["-1:"]:view {}
    end}
    READERS[#READERS + 1] = {".. of elements", function(x) return "" .. x end}
  end

  for _, row in ipairs(READERS) do
    it("is an error of " .. row[1], function()
      local size = row[3] and 4 * FLOATS or FLOATS
      raises({"mapped file", "was truncated"}, row[2], lost(row[3], size))
      check_next()
    end)
  end

  it("is said behind the error of a call that has found zeros", function()
    assert.matches("^[^\n]*embedding: index 0 is out of range for dimension 1 "
      .. "with size 2; [^;]*; a mapped file, maybe that of another tensor, "
      .. "was truncated, or cannot be read or written; the rest of it is "
      .. "zeros now$",
      tensors.failure(st.embedding, st.ones(2, 2), lost "int64"))
  end)

  it("is an error of a backward pass", function()
    local w = st.ones({FLOATS}, {requires_grad = true})
    local y = lost(nil, nil, function(x) return (w * x):sum() end)
    raises({"backward: " .. NEW}, y.backward, y)
    check_next()
    y = lost(nil, nil, function(x) return (w * x):sum() end)
    raises({"grad: " .. NEW}, st.grad, {y}, {w})
    check_next()
  end)

  it("is an error of a fused function", function()
    local f = st.fuse(function(x) return x * 2 + 1 end)
    f(st.ones(FLOATS))
    f(st.ones(FLOATS))
    raises({NEW}, f, lost())
    check_next()
  end)

  it("is an error of each method that reads it", function()
    local called, said = 0, 0
    for name in pairs(core.methods) do
      if name ~= "free" then
        local x = lost()
        local ok, why = pcall(function() return x[name](x) end)
        said = said + (not ok and tostring(why):find(NEW, 1, true) and 1 or 0)
        called = called + 1
        local fine, late = pcall(check_next)
        assert.is_true(fine, name .. " leaves to the next call: " ..
                       tostring(late))
      end
    end
    assert.is_true(called > 5 and said > 1)
  end)
end)

-- What takes the address of elements, or an element, beside st__check_memory,
-- which serves only functions that ask for lost pages when they return.
local TAKES = {
  ["io/arrow_array.c"] = "registered as functions that access elements",
  ["value/foreign_memory.c"] = "writes to a new tensor",
  ["io/mapped_pages.c"] = "addresses alone",
  ["state/gc_pacing.c"] = "asks whether there is an address",
  ["process/threads_random.c"] = "asks behind its copy; writes to a new tensor",
  ["tensor/from_table.c"] = "is st__check_memory, and totable; writes to a new "
    .. "tensor",
  ["value/shape.c"] = "asks itself; sizes in tensors, of operator calls",
  ["tensor/subscript.c"] = "asks itself",
  ["value/tensor_methods.c"] = "an address for the caller",
}

it("No function of the binding takes elements without a reason", function()
  local found = {}
  local list = build.output("cd " .. build.root .. "/lua/bind && grep -lr "
                            .. "'st_tensor_data(\\|st_tensor_get(' .")
  for name in list:gmatch "%./(%S+)" do found[name] = TAKES[name] or "none" end
  assert.same(TAKES, found)
end)
