--- Replays golden/engine: memory formats, views, type promotion, the iterator,
-- samples of operators and the dispatcher. Each checker gets a case and
-- returns true, or false and why, or nil and what is not supported.

local api = require "spec.conformance.api"
local changes = require "spec.conformance.changes"
local deviations = require "spec.conformance.deviations"
local opinfo = require "spec.conformance.opinfo"
local overlap = require "spec.conformance.overlap"
local reader = require "spec.conformance.reader"
local registry = require "spec.conformance.registry"
local values = require "spec.conformance.values"

local st, null = api.st, reader.null
local show, same = values.show_list, values.same_list

local engine = {}

--- Runs f; what it raises is a mismatch with that text.
local function attempt(f, ...)
  local ok, result, why, by_design = pcall(f, ...)
  if not ok then return false, "raised: " .. tostring(result) end
  return result, why, by_design
end

local function expect_list(what, got, want)
  if same(got, want) then return true end
  return false, ("%s is %s, should be %s"):format(what, show(got), show(want))
end

local function expect(what, got, want)
  if got == want then return true end
  return false, ("%s is %s, should be %s"):format(what, tostring(got),
                                                  tostring(want))
end

--- All of a list of {checker, what, got, want}.
local function all(checks)
  for _, c in ipairs(checks) do
    local ok, why = c[1](c[2], c[3], c[4])
    if not ok then return false, why end
  end
  return true
end

local function strided_tensor(dtype, size, stride, offset)
  local storage = api.storage(dtype, values.extent(size, stride, offset))
  return api.view(storage, size, stride, offset or 0)
end

-- -- memory_format -----------------------------------------------------------

function engine.memory_format(case)
  local t = strided_tensor("float32", case.size, case.stride)
  local checks = {}
  local function flag(what, got)
    if case[what] ~= nil then
      checks[#checks + 1] = {expect, what, got, case[what]}
    end
  end
  local function strides(what, f)
    if case[what] == nil then return end
    local u = f()
    checks[#checks + 1] = {expect_list, what, api.strides(u), case[what]}
    if case[what .. "_alias"] ~= nil then
      flag(what .. "_alias", api.address(u) == api.address(t))
    end
  end
  local function format(name) return {memory_format = name} end
  local last, last3 = format "channels_last", format "channels_last_3d"
  local plain = format "contiguous_format"
  flag("contig", t:is_contiguous())
  flag("cl", t:is_contiguous(last))
  flag("cl3", t:is_contiguous(last3))
  flag("nod", t:is_non_overlapping_and_dense())
  flag("strides_like_cl",
       tostring(t:suggest_memory_format()) == "channels_last")
  strides("empty_like", function() return st.empty_like(t) end)
  strides("clone", function() return t:clone() end)
  strides("contiguous", function() return t:contiguous() end)
  strides("neg", function() return t:neg() end)
  strides("clone_cl", function() return t:clone(last) end)
  strides("contiguous_cl", function() return t:contiguous(last) end)
  strides("to_cl", function() return t:to(last) end)
  strides("to_ct", function() return t:to(plain) end)
  strides("to_cl3", function() return t:to(last3) end)
  return all(checks)
end

-- -- views -------------------------------------------------------------------

local VIEWS = {
  unsqueeze = {"aten::unsqueeze"}, squeeze = {"aten::squeeze.dim"},
  squeeze_all = {"aten::squeeze"}, transpose = {"aten::transpose.int"},
  unfold = {"aten::unfold"}, flatten = {"aten::flatten.using_ints"},
  select = {"aten::select.int"}, slice = {"aten::slice.Tensor"},
  narrow = {"aten::narrow"}, diagonal = {"aten::diagonal"},
  movedim = {"aten::movedim.int"},
  -- args are one list
  view = {"aten::view", true}, reshape = {"aten::reshape", true},
  permute = {"aten::permute", true}, expand = {"aten::expand", true},
}

local function check_view(case, t, u)
  local out = case.out
  local checks = {
    {expect_list, "shape", api.shape(u), out.size},
    {expect_list, "strides", api.strides(u), out.stride},
    {expect, "offset", api.offset(u), out.offset},
  }
  if values.numel(out.size) > 0 then
    local distance = (api.address(u) - api.address(t)) / 4
    if out.alias == null then
      local extent = values.extent(case.size, case.stride)
      checks[#checks + 1] = {expect, "shares storage",
                             distance >= -case.offset and distance < extent,
                             false}
    else
      checks[#checks + 1] = {expect, "distance", distance, out.alias}
    end
  end
  return all(checks)
end

function engine.views(case)
  local view = VIEWS[case.op]
  if not view or not api.operator(view[1]) then return nil, case.op end
  local t = strided_tensor("float32", case.size, case.stride, case.offset)
  local args = {t}
  if view[2] then
    args[2] = case.args
  else
    for i, v in ipairs(case.args) do args[i + 1] = v end
  end
  local ok, u = pcall(api.call, view[1], args)
  if case.error then
    return not ok, "should have raised: " .. case.error
  end
  if not ok then return false, "raised: " .. tostring(u) end
  return check_view(case, t, u)
end

-- -- result_type -------------------------------------------------------------

local NUMBERS = {
  pb = true, pi = 3, pf = 2.5, pc = st.complex(1, 2),
}

local function operand(text)
  local kind, code = text:match "^(.):(.+)$"
  if kind == "w" then return NUMBERS[code] end
  return st.zeros(kind == "d" and {2} or {}, {dtype = values.codes[code]})
end

local function dtype_name(d)
  return d == "c2" and "complex32" or values.codes[d]
end

function engine.result_type(case)
  local got
  if case[1] == "can_cast" then
    got = st.can_cast(values.codes[case[2]], values.codes[case[3]])
    return expect("can_cast", got, case[4])
  end
  if case[1] == "promote_types" then
    got = st.promote_types(values.codes[case[2]], values.codes[case[3]])
    return expect("promote_types", tostring(got), dtype_name(case[4]))
  end
  got = st.result_type(operand(case[1]), operand(case[2]))
  local change = tostring(got) == "bcomplex32" and
                 changes.is_bcomplex(case[1], case[2])
  if change then
    return nil, ("%s %s  (changed since 1.13: %s)"):format(case[1], case[2],
                                                           change), true
  end
  return expect("result_type", tostring(got), dtype_name(case[3]))
end

-- -- tensor_iterator ---------------------------------------------------------

local STORAGE = 4096 -- elements of a storage that operands share

local function fill(t, first)
  local n = tonumber(t:numel())
  t:copy_(st.arange(n):add(first):remainder(
    tostring(t.dtype) == "bool" and 2 or 100))
end

--- The operands of a case; with `apart` no two share memory. Elements count up,
-- the same ones in both, and `seen` lists the tensors with their storages.
local function iterator_operands(case, apart)
  local shared, outputs, inputs, seen = {}, {}, {}, {tensors = {}}
  for i, o in ipairs(case.ops) do
    local t = false
    if o ~= null then
      local dtype = values.codes[o.dtype]
      local s = o.storage >= 0 and not apart and shared[o.storage]
      if not s then
        local n = o.storage >= 0 and STORAGE or
                  values.extent(o.size, o.stride, o.offset)
        local first = shared[o.storage] or {dtype = dtype}
        s = {dtype = first.dtype, n = n}
        s.tensor = api.storage(s.dtype, n)
        fill(s.tensor, o.storage >= 0 and o.storage or i)
        s.bytes = api.bytes(s.tensor)
        if o.storage >= 0 then shared[o.storage] = s end
      end
      local base = s.tensor
      if s.dtype ~= dtype then base = base:view(dtype) end
      t = api.view(base, o.size, o.stride, o.offset)
      seen.tensors[#seen.tensors + 1] = {tensor = t, storage = s}
    end
    if i <= case.nout then outputs[i] = t else inputs[i - case.nout] = t end
  end
  return outputs, inputs, seen
end

local function truth(x) return x == true or x == 1 end

local function iterator_options(case, apart)
  local outputs, inputs, seen = iterator_operands(case, apart)
  local promote = truth(case.promote)
  return {
    outputs = outputs, inputs = inputs,
    resize_outputs = truth(case.resize),
    check_mem_overlap = truth(case.memoverlap),
    is_reduction = truth(case.reduction),
    enforce_linear_iteration = truth(case.linear),
    check_all_same_dtype = not promote,
    promote_inputs_to_common_dtype = promote,
    cast_common_dtype_to_outputs = promote,
    enforce_safe_casting_to_output = promote,
  }, seen
end

local function check_steps(steps, want)
  local ok, why = expect("number of steps", #steps, #want)
  for k = 1, ok and #want or 0 do
    ok, why = expect_list("step " .. k, steps[k], want[k])
    if not ok then break end
  end
  return ok, why
end

local function check_loops(plan, loops)
  for _, loop in ipairs(loops) do
    local first, last = loop.range[1], loop.range[2]
    -- what was recorded for element 0 of none is not a range of the plan
    if last <= plan.numel then
      local ok, why = check_steps(plan:steps(first, last), loop.steps)
      if not ok then return ok, why end
    end
  end
  return true
end

local function check_plan(case, plan)
  local want = case.expect
  local perm = plan.perm or {}
  local checks = {
    {expect_list, "shape", plan.shape, want.shape},
    -- these vectors tell it by the permutation, which no 0-dim plan has
    {expect, "fast", plan.fast ~= "none" and #plan.shape > 0, want.fast},
    {expect, "coalesced", plan.is_coalesced, want.coalesced},
    {expect, "numel", plan.numel, want.numel},
    {expect, "contig1", plan.has_contiguous_first_dim, want.contig1},
    {expect, "b32", plan.can_use_32bit_indexing, want.b32},
  }
  local zero_based = {}
  for i = 1, #perm do zero_based[i] = perm[i] - 1 end
  checks[#checks + 1] = {expect_list, "perm", zero_based, want.perm}
  for i, strides in ipairs(want.sb) do
    checks[#checks + 1] = {expect_list, "byte strides of " .. i,
                           plan.strides[i], strides}
  end
  for i, out in ipairs(want.out) do
    local t = plan.outputs[i]
    checks[#checks + 1] = {expect_list, "output size", api.shape(t), out.size}
    checks[#checks + 1] = {expect_list, "output stride", api.strides(t),
                           out.stride}
  end
  local ok, why = all(checks)
  if not ok then return ok, why end
  return check_loops(plan, want.loops)
end

local function order(x)
  if type(x) == "boolean" then return x and 1 or 0 end
  return type(x) == "number" and x or 0
end

--- Writes the greatest input into every output.
local function write_greatest(plan, nout)
  local n = #plan.operands
  plan:run(function(at, stride, n0, n1)
    for k = 0, n0 * n1 - 1 do
      local i, j, most = k % n0, (k - k % n0) / n0, nil
      local function place(op)
        return at[op] + i * stride[op] + j * stride[n + op]
      end
      for op = nout + 1, n do
        local x = plan:get(op, place(op))
        if most == nil or order(x) > order(most) then most = x end
      end
      for op = 1, nout do plan:set(op, place(op), most) end
    end
  end)
end

local function tensors(list)
  local out = {}
  overlap.add_tensors(out, list)
  return out
end

--- For overlap.as_on_copies: builds the plan, and runs it.
local function made(case)
  return function(apart)
    local options, seen = iterator_options(case, apart)
    local written = tensors(options.outputs)
    return seen, function()
      local plan = st.iterator(options)
      if case.nout < #case.ops then write_greatest(plan, case.nout) end
      return plan.outputs
    end, written, tensors(options.inputs)
  end
end

function engine.tensor_iterator(case)
  local ok, plan = pcall(st.iterator, (iterator_options(case)))
  local why
  if case.expect.error then
    ok, why = not ok, "should have raised: " .. case.expect.error
  elseif ok then
    ok, why = check_plan(case, plan)
  else
    why = "raised: " .. tostring(plan)
  end
  if ok then return true end
  local reason, wrong = deviations.of_overlap(case, made(case))
  if reason and not wrong then
    return nil, ("%s  (%s)"):format(case.id, reason), true
  end
  return false, wrong or why
end

-- -- Kinds -------------------------------------------------------------------

engine.dispatch_tables = registry.dispatch_tables
engine.schemas = registry.schemas
engine.schema_parse = registry.schema_parse
engine.leave = registry.leave
engine.opinfo = opinfo.check

--- Which kind of case this is, or nil.
function engine.kind(case)
  if case[1] then return "result_type" end
  if case.reg then return "dispatch_tables" end
  if case.contig ~= nil then return "memory_format" end
  if case.ops and case.nout then return "tensor_iterator" end
  if case.input and type(case.input) == "string" then return "schema_parse" end
  if case.str and case.rets then return "schemas" end
  if case.variant then return "opinfo" end
  if case.size and case.op and case.args then return "views" end
end

function engine.check(case)
  return attempt(engine[engine.kind(case)], case)
end

return engine
