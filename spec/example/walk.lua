--- What spec/project/example_rock_spec.lua runs in a process of its own: every
-- operator on the device "example", or on another one. The samples of the
-- gradient checks give what they give on the CPU, forward and backward. Prints
-- counts, and which kernels of the device ran, as often as they did.
--
--     luajit walk.lua [STEP [DEVICE [MODULE [DTYPE]]]]
--
-- takes every STEP-th sample, on the device of the module, which is
-- strided_DEVICE if it has no other name. Numbers are float64 and complex128,
-- or of DTYPE and its complex dtype.

local st = require "strided"

local recorded = require "spec.support.recorded.comparison"
local registry = require "spec.grad.gradcheck.registry"
local samples = require "spec.grad.gradcheck.samples"
local values = require "spec.grad.gradcheck.values"

local unpack = unpack or table.unpack

st.warnings(false)

local STEP = tonumber(arg[1]) or 1
local DEVICE, DTYPE = arg[2] or "example", arg[4] or "float64"

require(arg[3] or "strided_" .. DEVICE)

local counts = {calls = 0, results = 0, gradients = 0, failed = 0,
                different = 0, own = 0}

local function there(t) return t:to(DEVICE) end
local function here(t) return t:to "cpu" end

-- -- Dtypes ------------------------------------------------------------------

local OTHER = {float64 = DTYPE, complex128 = st.promote_types(DTYPE,
                                                              "complex32")}

--- The tensor of a sample, in the dtype that is asked for.
local function converted(t)
  local dtype = OTHER[t.dtype] or t.dtype
  if dtype == t.dtype then return t end
  return t:detach():to(dtype):requires_grad_(t.requires_grad)
end

-- What results may differ by, relative and absolute.
local TOLERANCES = {
  float64 = {1e-9, 1e-12}, float32 = {1e-4, 1e-5}, float16 = {4e-3, 4e-3},
  bfloat16 = {3e-2, 3e-2},
}
TOLERANCES.complex128, TOLERANCES.complex64, TOLERANCES.complex32 =
  TOLERANCES.float64, TOLERANCES.float32, TOLERANCES.float16

--- True for the same values: sums may be added in another order, as composite
-- operators choose other formulas for other devices.
local function are_equal(a, b)
  if a.device == DEVICE then return false end
  a, b = here(a):detach(), here(b):detach()
  if a.dtype ~= b.dtype or a.shape ~= b.shape then return false end
  if not a:is_floating_point() and not a:is_complex() then return a:equal(b) end
  local near = TOLERANCES[a.dtype] or TOLERANCES.float32
  return a:allclose(b, {rtol = near[1], atol = near[2], equal_nan = true})
end

-- -- Kernels of the device ---------------------------------------------------

local ran = {} -- how often, by operator

--- True for an event of a kernel that is neither the engine's for devices, nor
-- for all keys.
local function is_own(event)
  if not event.key:find "^PrivateUse%d$" or event.kernel == "backend" then
    return false
  end
  local ns, name, overload = event.op:match "^(.-)::([^.]*)%.?(.*)$"
  local op = st.ops[ns][name][overload ~= "" and overload or "default"]
  return select(2, op:kernel(event.key)) == "kernel"
end

--- True if the kernel of an event left the call to the CPU.
local function is_left(event, following)
  return following and following.op == event.op and following.key == "CPU" and
         following.kind:find "^redispatch" ~= nil
end

local function count_kernels(events)
  local has_own = false
  for i, event in ipairs(events) do
    if is_own(event) and not is_left(event, events[i + 1]) then
      ran[event.op] = (ran[event.op] or 0) + 1
      has_own = true
    end
  end
  if has_own then counts.own = counts.own + 1 end
end

local function list_of_kernels()
  local list = {}
  for name, n in pairs(ran) do list[#list + 1] = name .. " " .. n end
  table.sort(list)
  return list[1] and ": " .. table.concat(list, ", ") or ""
end

-- -- Calls -------------------------------------------------------------------

--- The tensors that the call gives, and the gradients of their sum by its
-- arguments; nil and the message if it fails.
local function run(operator, call, args, move)
  local inputs = recorded.tensors_of(args)
  st.manual_seed(1)
  local after = call.after or function(...) return ... end
  local out = {pcall(function()
    local given = recorded.map(values.prepared(call, args), move)
    return after(operator(unpack(given)))
  end)}
  if not out[1] then return nil, tostring(out[2]) end
  local results, wanted, total = recorded.tensors_of {unpack(out, 2)}, {}, nil
  for _, t in ipairs(inputs) do
    if t.requires_grad then wanted[#wanted + 1] = t end
  end
  for _, y in ipairs(results) do
    if y.requires_grad then
      local sum = y:is_complex() and (y * y:conj()):real():sum() or y:sum()
      total = total and total + sum:to(total) or sum
    end
  end
  if not total or #wanted == 0 then return results, {} end
  st.manual_seed(1)
  local got = {pcall(st.grad, total, wanted, {allow_unused = true})}
  if not got[1] then return results, {tostring(got[2])} end
  return results, type(got[2]) == "table" and not st.is_tensor(got[2])
                  and got[2] or {unpack(got, 2, #wanted + 1)}
end

local function report(name, what, a, b)
  counts.different = counts.different + 1
  print(("%s: %s: %s, on the device %s"):format(name, what, tostring(a),
                                                tostring(b)))
end

local function compare(name, what, list, other)
  for i = 1, math.max(#list, #other) do
    local a, b = list[i], other[i]
    if not (st.is_tensor(a) and st.is_tensor(b)) then
      if st.is_tensor(a) ~= st.is_tensor(b) then report(name, what, a, b) end
    elseif not are_equal(a, b) then
      report(name, what, a, b)
    end
  end
  counts[what] = counts[what] + #list
end

local function check(name, operator, call)
  local args = recorded.map((values.make(call, "dense")), converted)
  local results, gradients = run(operator, call, args, here)
  local events, others, more = st.trace(run, operator, call, args, there)
  count_kernels(events)
  counts.calls = counts.calls + 1
  if not results or not others then
    counts.failed = counts.failed + 1
    if results or others then
      report(name, "fails", results and "works" or gradients,
             others and "works" or more)
    end
    return
  end
  compare(name, "results", results, others)
  compare(name, "gradients", gradients, more)
end

local count = 0
for _, entry in ipairs(registry.all()) do
  for i, call in ipairs(samples[entry.name] or {}) do
    count = count + 1
    if count % STEP == 0 then
      if os.getenv "WALK_SHOW" then io.stderr:write(entry.name, "\n") end
      check(("%s, sample %d"):format(entry.name, i), entry.call, call)
    end
  end
end

print(("%d calls, %d failed, %d results, %d gradients, %d different"):format(
  counts.calls, counts.failed, counts.results, counts.gradients,
  counts.different))
print(("%d calls ran a kernel of the device%s"):format(counts.own,
                                                       list_of_kernels()))
if DEVICE == "example" then
  print(("%d loops on the device"):format(st.ops.example.loops()))
end
