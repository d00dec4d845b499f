--- Replays golden/ops: operators case by case. A checker gets a case and
-- returns true, or false and why, or nil and what is not supported.

local api = require "spec.conformance.api"
local autograd = require "spec.conformance.autograd"
local changes = require "spec.conformance.changes"
local compare = require "spec.conformance.compare"
local deviations = require "spec.conformance.deviations"
local functional = require "spec.conformance.functional"
local given = require "spec.conformance.arguments"
local overlap = require "spec.conformance.overlap"
local reader = require "spec.conformance.reader"
local schema = require "spec.conformance.schema"
local values = require "spec.conformance.values"

local unpack = unpack or table.unpack

local st, null = api.st, reader.null
local decode, new_arguments = given.decode, given.new
local is_tensor_value = given.is_tensor
local show, same = values.show_list, values.same_list
local format = string.format

local ops = {}

--- The tensors of a case, and its arguments. With `apart` no two of the tensors
-- share memory.
local function decode_all(case, apart)
  local seen = given.new(nil, apart)
  return seen, given.of_call(seen, api.operator(case.op), case.args,
                             case.kwargs)
end

-- -- Outcomes ----------------------------------------------------------------

--- Is x the number w, or as close to it as the case asks?
local function near(x, w, case)
  local tol = case.tol or {0, 0}
  return x ~= nil and (x == w or (x ~= x and w ~= w) or
                       math.abs(x - w) <= tol[2] + tol[1] * math.abs(w))
end

local function compare_complex(got, want, case)
  local re, im = given.number(want[1]), given.number(want[2])
  local ok = type(got) == "userdata" and near(got.re, re, case) and
             near(got.im, im, case)
  return ok, format("is %s, should be %s%+gi", tostring(got), tostring(re), im)
end

local function compare_scalar(got, want, case)
  if want == null then return got == nil, "should be nothing" end
  if type(want) == "boolean" then
    return got == want, format("is %s, should be %s", tostring(got),
                               tostring(want))
  end
  if type(want) == "table" and want.complex then
    return compare_complex(got, want.complex, case)
  end
  if type(want) == "table" and want.int then -- beyond 2^53
    local text = tostring(got):gsub("LL$", "")
    return text == want.int, format("is %s, should be %s", text, want.int)
  end
  local w = given.number(type(want) == "table" and want.float or want)
  return near(tonumber(got), w, case),
         format("is %s, should be %s", tostring(got), tostring(w))
end

local function compare_result(got, want, case)
  if is_tensor_value(want) then return compare(got, want, case) end
  if type(want) == "table" and not (want.float or want.int or want.complex)
  then
    if type(got) ~= "table" or #got ~= #want then
      return false, format("a list of %d, should have %d",
                           type(got) == "table" and #got or -1, #want)
    end
    for i = 1, #want do
      local ok, why = compare_result(got[i], want[i], case)
      if not ok then return false, format("member %d: %s", i, why) end
    end
    return true
  end
  return compare_scalar(got, want, case)
end

--- Outputs share the storages that expect.alias says and no others.
local function check_alias(results, case, arguments)
  local alias = case.expect.alias or {}
  for i, want in ipairs(case.expect.out) do
    local t = results[i]
    if is_tensor_value(want) and values.numel(want.shape) > 0 then
      local index = alias[tostring(i - 1)]
      for k, a in ipairs(arguments.tensors) do
        local expected = index ~= nil and
                         arguments.tensors[index + 1].storage == a.storage
        if t:is_alias_of(a.tensor) ~= expected then
          return false, format("result %d and tensor %d %s storage", i, k,
                               expected and "should share" or
                               "should not share")
        end
      end
    end
  end
  return true
end

local function compare_storage(got, dtype, want, case)
  local n = values.size(dtype)
  for i = 1, #want / n do
    local element = want:sub((i - 1) * n + 1, i * n)
    if not values.equal(dtype, got, (i - 1) * n + 1, element, case) then
      return false, format("storage element %d is %s, should be %s", i - 1,
                           values.show(dtype, got, (i - 1) * n + 1),
                           values.show(dtype, element, 1))
    end
  end
  return true
end

--- Every storage holds what it should: mutated ones the new elements, seen
-- through a tensor of that shape and those strides, all others what they held
-- before.
local function check_storages(arguments, mutated, case)
  local changed = {}
  for index, want in pairs(mutated) do
    local a = arguments.tensors[tonumber(index) + 1]
    if not same(api.shape(a.tensor), want.shape) then
      return false, format("tensor %s has shape %s, should have %s", index,
                           show(api.shape(a.tensor)), show(want.shape))
    end
    if not case.logical and want.strides and
       not same(api.strides(a.tensor), want.strides) then
      return false, format("tensor %s has strides %s, should have %s", index,
                           show(api.strides(a.tensor)), show(want.strides))
    end
    local bytes = values.pack_list(a.storage.dtype, want.storage)
    local ok, why = compare_storage(api.bytes(a.storage.tensor),
                                    a.storage.dtype, bytes, case)
    if not ok then return false, format("tensor %s: %s", index, why) end
    changed[a.storage] = true
  end
  for k, s in ipairs(arguments.storages) do
    if not changed[s] and s.n > 0 and api.bytes(s.tensor) ~= s.bytes then
      return false, format("storage %d changed", k)
    end
  end
  return true
end

-- -- Operators ---------------------------------------------------------------

local function check_error(case, arguments, ok, message)
  if ok then
    if case.soft then return true end
    return false, "should have raised " .. case.error
  end
  if api.is_defect(message) then return false, tostring(message) end
  return check_storages(arguments, {}, case)
end

--- Layout cases say nothing about elements, not even which were written.
local function has_elements(expect)
  if expect.mutated then return true end
  for _, want in ipairs(expect.out or {}) do
    if is_tensor_value(want) and not want.storage then return false end
  end
  return true
end

local function check_results(case, arguments, results)
  local expect = case.expect
  for i, want in ipairs(expect.out or {}) do
    local ok, why = compare_result(results[i], want, case)
    if not ok then return false, format("result %d: %s", i, why) end
  end
  if expect.out then
    local ok, why = check_alias(results, case, arguments)
    if not ok then return false, why end
  end
  if not has_elements(expect) then return true end
  return check_storages(arguments, expect.mutated or {}, case)
end

local function finish(case, arguments, ok, ...)
  if case.error then return check_error(case, arguments, ok, ...) end
  if not ok then return false, "raised: " .. tostring((...)) end
  return check_results(case, arguments, {...})
end

local function by_design(case, reason)
  return nil, ("%s %s  (%s)"):format(case.id, case.op, reason), true
end

--- What an output that shares memory with an input explains, if it does. make:
-- as overlap.as_on_copies takes it, with the tensors that are only read.
local function explain(case, why, make)
  local reason, wrong = deviations.of_overlap(case, make)
  if not reason or wrong then return false, wrong or why end
  return by_design(case, reason)
end

--- Calls an operator: the tensors, and what pcall returns.
local function call_of(case)
  local arguments, args, kwargs = decode_all(case)
  return arguments, pcall(api.call, case.op, args, kwargs)
end

--- Do two cases give the same?
local function check_same(case, other)
  local results = {select(2, call_of(case))}
  local wanted = {select(2, call_of(other))}
  if not (results[1] and wanted[1]) then
    return false, "raised: " .. tostring(results[1] and wanted[2] or
                                         results[2])
  end
  return overlap.same_result({unpack(results, 2)}, {unpack(wanted, 2)})
end

--- What PyTorch 2.15 answers otherwise, or strided does: nil where nothing
-- differs.
local function check_change(case, why)
  local reason, new, is_same = changes.of_call(case)
  if not reason then reason, new = deviations.of_poles(case) end
  if not reason then reason, new = deviations.of_bessel(case) end
  if not reason then return nil end
  local ok, how
  if type(new) == "string" then -- the dtype without arithmetic
    ok, how = why:find("^raised: .*" .. new) ~= nil, why
  elseif is_same then
    ok, how = check_same(case, new)
  else
    ok, how = finish(new, call_of(new))
  end
  if not ok then return false, how end
  return by_design(case, reason)
end

local function operator(case)
  local op = api.operator(case.op)
  if not op then return nil, case.op end
  local ok, why = finish(case, call_of(case))
  if ok ~= false then return ok, why end
  local changed, how, yes = check_change(case, why)
  if changed == false or yes then return changed, how, yes end
  return explain(case, why, function(apart)
    local seen, list, keywords = decode_all(case, apart)
    local written, read = overlap.operands(op, list, keywords)
    return seen, function() return api.call(case.op, list, keywords) end,
           written, read
  end)
end

--- A function of torch that is no operator.
local function of_torch(case)
  local arguments, args, kwargs = decode_all(case)
  arguments.tensors = {} -- the vectors do not say what shares memory
  return finish(case, arguments, pcall(functional[case.op], args, kwargs))
end

-- -- Subscripts --------------------------------------------------------------

--- A subscript item, one-based; tensors of positions too.
local function decode_item(arguments, v)
  if type(v) == "number" then return schema.from_zero(v) end
  if v == null then return {} end
  if v.ellipsis then return st.ellipsis end
  if v.newaxis then return st.newaxis end
  if v.slice then
    local a, b, step = v.slice[1], v.slice[2], v.slice[3]
    local range = {
      a == null and 1 or schema.from_zero(a),
      b == null and -1 or schema.inclusive_end(b),
    }
    if step ~= null then range[3] = step end
    return range
  end
  if is_tensor_value(v) and v.dtype ~= "bool" and v.dtype ~= "uint8" then
    local moved = {}
    for k, x in pairs(v) do moved[k] = x end
    moved.storage = {}
    for i, x in ipairs(v.storage) do moved.storage[i] = schema.from_zero(x) end
    return decode(arguments, moved)
  end
  return decode(arguments, v)
end

local function subscripts(arguments, items)
  local out = {}
  for i, v in ipairs(items) do out[i] = decode_item(arguments, v) end
  return out
end

function ops.getitem(case)
  local arguments = new_arguments()
  local t = decode(arguments, case.args[1])
  local items = subscripts(arguments, case.args[2])
  local ok, result = pcall(function() return t[items] end)
  if ok and case.expect and #case.expect.out > 0 then
    local view = values.numel(case.expect.out[1].shape) > 0 and
                 result:is_alias_of(t)
    if view ~= case.expect.view then
      return false, case.expect.view and "should be a view"
             or "should not be a view"
    end
    case.expect.alias = case.expect.alias or view and {["0"] = 0} or nil
  end
  return finish(case, arguments, ok, result)
end

--- What was written to keeps its shape and strides.
local function check_layout(t, want)
  if not same(api.shape(t), want.shape) then
    return false, format("now has shape %s, should have %s",
                         show(api.shape(t)), show(want.shape))
  end
  return same(api.strides(t), want.strides),
         format("now has strides %s, should have %s", show(api.strides(t)),
                show(want.strides))
end

function ops.setitem(case)
  local function make(apart)
    local arguments = new_arguments(nil, apart)
    local t = decode(arguments, case.args[1])
    local items = subscripts(arguments, case.args[2])
    local value = decode(arguments, case.args[3])
    local written, read = {t}, {}
    overlap.add_tensors(read, {items, value})
    return arguments, function() t[items] = value end, written, read
  end
  local arguments, call, written = make(false)
  local ok, why = finish(case, arguments, pcall(call))
  if ok then return check_layout(written[1], case.args[1]) end
  return explain(case, why, make)
end

-- -- Layout flags ------------------------------------------------------------

function ops.layout_flags(case)
  local t = decode(new_arguments(), case.args[1])
  local want = case.expect
  for name, flag in pairs(want.is_contiguous) do
    if t:is_contiguous {memory_format = name} ~= flag then
      return false, format("is_contiguous(%s) should be %s", name,
                           tostring(flag))
    end
  end
  if t:is_non_overlapping_and_dense() ~= want.is_non_overlapping_and_dense then
    return false, "is_non_overlapping_and_dense should be " ..
           tostring(want.is_non_overlapping_and_dense)
  end
  local got = tostring(t:suggest_memory_format())
  return got == want.suggest_memory_format,
         format("suggests %s, should suggest %s", got,
                want.suggest_memory_format)
end

-- -- The iterator ------------------------------------------------------------

--- Operands of one byte each, so that byte strides are element strides.
local function byte_operand(v)
  if v == null then return false end
  local n = values.extent(v.shape, v.strides)
  return api.view(api.storage("uint8", n), v.shape, v.strides, 0)
end

local function check_calls(plan, case)
  local range = case.kwargs.range
  local steps = plan:steps(range[1], range[2])
  local calls = case.expect.calls
  if #steps ~= #calls then
    return false, format("%d calls, should be %d", #steps, #calls)
  end
  for k, call in ipairs(calls) do
    local want = {call.size[1], call.size[2], unpack(call.offsets)}
    if not same(steps[k], want) then
      return false, format("call %d is %s, should be %s", k, show(steps[k]),
                           show(want))
    end
    for level = 1, 2 do
      for i, stride in ipairs(call.strides[level]) do
        if (plan.strides[i][level] or 0) ~= stride then
          return false, format("call %d has wrong strides", k)
        end
      end
    end
  end
  return true
end

local function check_lists(pairs_of_lists)
  for _, p in ipairs(pairs_of_lists) do
    if not same(p[2], p[3]) then
      return false, format("%s is %s, should be %s", p[1], show(p[2]),
                           show(p[3]))
    end
  end
  return true
end

local function check_plan(plan, case)
  local want = case.expect
  if plan.fast ~= want.fast_setup then
    return false, format("fast set-up is %s, should be %s", plan.fast,
                         want.fast_setup)
  end
  local lists = {
    {"common shape", plan.common_shape, want.common_shape},
    {"shape", plan.shape, want.iter_shape},
  }
  if want.perm ~= null then
    local perm = {}
    for i, p in ipairs(plan.perm or {}) do perm[i] = p - 1 end
    lists[#lists + 1] = {"permutation", perm, want.perm}
  end
  for i, strides in ipairs(want.iter_strides) do
    lists[#lists + 1] = {"strides of " .. i, plan.strides[i], strides}
  end
  for i, out in ipairs(want.outputs) do
    local t = plan.outputs[i]
    lists[#lists + 1] = {"output shape", api.shape(t), out.shape}
    lists[#lists + 1] = {"output strides", api.strides(t), out.strides}
  end
  local ok, why = check_lists(lists)
  if not ok then return ok, why end
  return check_calls(plan, case)
end

function ops.tensor_iterator(case)
  local outputs, inputs = {}, {}
  local nout = case.kwargs.noutputs
  for i, v in ipairs(case.args) do
    local t = byte_operand(v)
    if i <= nout then outputs[i] = t else inputs[i - nout] = t end
  end
  local plan = st.iterator {
    outputs = outputs, inputs = inputs, check_mem_overlap = false,
    is_reduction = case.kwargs.is_reduction,
    resize_outputs = case.kwargs.resize_outputs,
    enforce_linear_iteration = case.kwargs.enforce_linear_iteration,
  }
  return check_plan(plan, case)
end

-- -- Chains of views ---------------------------------------------------------

local function pick(result, step, want)
  if type(result) ~= "table" then return result end
  if want.count and #result ~= want.count then
    return nil, format("%d results, should be %d", #result, want.count)
  end
  return result[math.min((step.pick or 0) + 1, #result)]
end

local function check_step(t, before, want, state)
  local ok, why = check_lists {
    {"shape", api.shape(t), want.shape},
    {"strides", api.strides(t), want.strides},
    {"offset", {api.offset(t)}, {want.offset}},
  }
  if not ok then return ok, why end
  if values.numel(want.shape) == 0 then return true end
  local distance = api.address(t) - api.address(before)
  local shared = distance == (api.offset(t) - state.offset) * 4
  return shared == want.shares_storage,
         format("shares its storage: %s, should be %s", tostring(shared),
                tostring(want.shares_storage))
end

function ops.view_chain(case)
  local steps = case.kwargs.steps
  for _, step in ipairs(steps) do
    if not api.operator(step.op) then return nil, step.op end
  end
  local arguments = new_arguments()
  local t = decode(arguments, case.args[1])
  for i, step in ipairs(steps) do
    local args = {t}
    for k, v in ipairs(step.args) do
      args[k + 1] = decode(arguments, v)
      args.n = k + 1
    end
    local ok, result = pcall(api.call, step.op, args)
    if case.error and case.error_step == i - 1 then
      return not ok and not api.is_defect(result),
             format("step %d should have raised %s", i, case.error)
    end
    if not ok then return false, "raised: " .. tostring(result) end
    local want, why = case.expect.steps[i]
    local state = {offset = api.offset(t)}
    result, why = pick(result, step, want)
    if not result then return false, why end
    ok, why = check_step(result, t, want, state)
    if not ok then return false, format("step %d: %s", i, why) end
    t = result
  end
  return true
end

-- -- Type promotion ----------------------------------------------------------

function ops.result_type(case)
  local _, args = decode_all(case)
  local got = tostring(st.result_type(unpack(args, 1, args.n)))
  if got == case.expect.dtype then return true end
  if got == changes.of_result_type(case) then
    return by_design(case, "changed since 1.13: " .. got)
  end
  return false, format("is %s, should be %s", got, case.expect.dtype)
end

function ops.promote_types(case)
  local got = st.promote_types(case.args[1].dtype, case.args[2].dtype)
  return tostring(got) == case.expect.dtype,
         format("is %s, should be %s", tostring(got), case.expect.dtype)
end

function ops.can_cast(case)
  local got = st.can_cast(case.args[1].dtype, case.args[2].dtype)
  return got == case.expect.value,
         format("is %s, should be %s", tostring(got),
                tostring(case.expect.value))
end

-- -- Gradients ---------------------------------------------------------------

ops.autograd = autograd.check

-- ----------------------------------------------------------------------------

--- Checks one case; what raises is a mismatch with that text.
function ops.check(case)
  local checker = case.op:find "^aten::" and operator or
                  functional[case.op] and of_torch or ops[case.op]
  if not checker or case.op == "check" then return nil, case.op end
  local ok, result, why, is_meant = pcall(checker, case)
  if not ok then return false, "raised: " .. tostring(result) end
  return result, why, is_meant
end

return ops
