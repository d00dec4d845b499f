--- Prints a number for the bits that each operator gives, in float32 or in
-- float64, complex numbers included: what operator_bits_spec.lua compares.
--
--     luajit walk.lua [layout] DTYPE...
--
-- The samples of the gradient checks, as they are and in larger sizes, with
-- their gradients; and those of others.lua. With "layout" also prints the
-- operators whose bits differ for strided tensors.

local bit = require "bit"

local core = require "strided.core"
local others = require "spec.op.operator_bits.others"
local recorded = require "spec.support.recorded.comparison"
local registry = require "spec.grad.gradcheck.registry"
local samples = require "spec.grad.gradcheck.samples"
local st = require "strided"
local values = require "spec.grad.gradcheck.values"

local bxor, lshift, rshift = bit.bxor, bit.lshift, bit.rshift
local ipairs, pairs, pcall, type = ipairs, pairs, pcall, type
local unpack = table.unpack or unpack

local SIZES = {1, 9} -- times those of the samples

st.warnings(false)

-- -- Digests -----------------------------------------------------------------

local function hash(h, text)
  for i = 1, #text do
    h = bxor(lshift(h, 5) + rshift(h, 2) + text:byte(i), h)
  end
  return h
end

--- Of t's elements, without the signs and the payloads of NaN.
local function add_tensor(h, t)
  t = t:detach()
  if t:is_complex() then t = st.view_as_real(t:resolve_conj()) end
  t = t:resolve_neg():contiguous()
  if t:is_floating_point() then
    local nan = t:isnan()
    h = hash(h, core.get_bytes(nan, 0, nan:numel()))
    t = t:masked_fill(nan, 0)
  end
  h = hash(h, t.dtype .. table.concat(t.shape, ","))
  return hash(h, core.get_bytes(t, 0, t:numel() * t.itemsize))
end

local function add(h, x)
  if st.is_tensor(x) then return add_tensor(h, x) end
  if type(x) ~= "table" then return hash(h, tostring(x)) end
  for _, y in ipairs(x) do h = add(h, y) end
  return h
end

-- -- Calls -------------------------------------------------------------------

--- x with tensors and names of dtypes in half of the precision.
local HALF = {float64 = "float32", complex128 = "complex64"}
local function halved(x)
  if HALF[x] then return HALF[x] end
  if st.is_tensor(x) then
    local y = x:detach():to(HALF[x.dtype] or x.dtype)
    return x.requires_grad and y:requires_grad_() or y
  end
  if type(x) ~= "table" or getmetatable(x) then return x end
  local out = {}
  for k, v in pairs(x) do out[k] = halved(v) end
  return out
end

--- The results of a sample, and the gradients of their sum.
local function run(entry, call, dtype, layout, n)
  local args = values.make(call, layout, nil, n > 1 and function(size)
    return size > 1 and size * n or size
  end or nil)
  if dtype == "float32" then args = halved(args) end
  st.manual_seed(1)
  local after = call.after or function(...) return ... end
  local out = {after(entry.call(unpack(values.prepared(call, args))))}
  local wanted, total = {}, nil
  for _, t in ipairs(recorded.tensors_of(args)) do
    if t.requires_grad then wanted[#wanted + 1] = t end
  end
  for _, y in ipairs(recorded.tensors_of(out)) do
    if y.requires_grad then
      local sum = y:is_complex() and (y * y:conj()):real():sum() or y:sum()
      total = total and total + sum:to(total) or sum
    end
  end
  if not total or #wanted == 0 then return out, {} end
  st.manual_seed(1)
  local got = {pcall(st.grad, total, wanted, {allow_unused = true})}
  return out, {unpack(got, 2, #wanted + 1)}
end

local digests, laid, failed, calls = {}, {}, {}, 0

local function digest_of(...)
  local ok, out, gradients = pcall(...)
  if not ok then return nil end
  return add(add(5381, out), gradients)
end

local function count(name, dtype, digest)
  local key = name .. " " .. dtype
  calls = calls + 1
  failed[name] = (failed[name] == nil or failed[name]) and not digest
  digests[key] = hash(digests[key] or 5381, tostring(digest))
end

local with_layouts = arg[1] == "layout"
for k = with_layouts and 2 or 1, #arg do
  local dtype = arg[k]
  for _, n in ipairs(SIZES) do
    for _, entry in ipairs(registry.all()) do
      local name = entry.name:match "^[^.]*"
      for _, call in ipairs(samples[entry.name] or {}) do
        local digest = digest_of(run, entry, call, dtype, "dense", n)
        count(name, dtype, digest)
        if with_layouts and not call.dense and digest ~=
           digest_of(run, entry, call, dtype, "spread", n) then
          laid[name] = true
        end
      end
    end
    for name, call in pairs(others) do
      if type(call) == "function" then
        st.manual_seed(1)
        count(name, dtype, digest_of(function()
          return {call(dtype, n)}
        end))
      end
    end
  end
end

local names = {}
for key, h in pairs(digests) do
  names[#names + 1] = ("%s %s\n"):format(key, bit.tohex(h))
end
table.sort(names)
io.write(table.concat(names))
for name, never in pairs(failed) do
  if never then io.write(name, " fails\n") end
end
for name in pairs(laid) do io.write(name, " layout\n") end
io.write(("%d calls on %s, %d threads\n"):format(
  calls, st.config().isa, st.get_num_threads()))
