--- Plans of the tensor iterator: they describe how it iterates over operands,
-- and can be run with a loop body in Lua.
--
--     local plan = st.iterator {outputs = {false}, inputs = {a:t(), b}}
--     print(plan)
--     plan:run(function(at, stride, n0, n1)
--       for j = 0, n1 - 1 do
--         for i = 0, n0 - 1 do
--           local x = plan:get(2, at[2] + i * stride[2] + j * stride[5])
--           local y = plan:get(3, at[3] + i * stride[3] + j * stride[6])
--           plan:set(1, at[1] + i * stride[1] + j * stride[4], x * y)
--         end
--       end
--     end)
--     print(plan.outputs[1])
--
-- @module strided.iterator

local core = require "strided.core"
local raise = require "strided.argument.caller_error"
local unknown_option = require "strided.option.unknown_option"

local concat = table.concat
local error, find, format, ipairs, max, pairs, pcall, require, setmetatable,
  tostring, type = error, string.find, string.format, ipairs, math.max, pairs,
  pcall, require, setmetatable, tostring, type
local unpack = unpack or table.unpack

local GRAIN = 32768 -- least elements per thread

-- -- Options -----------------------------------------------------------------

-- The options that are not flags of ATen's TensorIteratorConfig.
local OTHER = {outputs = true, inputs = true, dtype = true, preset = true,
               static_dtype = true, static_device = true, static_shape = true,
               squash_dims = true, threads = true, grain = true}

--- The flags of a preset and its static dtype.
local function preset_of(name)
  local flags, dtype
  if type(name) == "string" then flags, dtype = core.plan_preset(name) end
  if not flags then
    raise("iterator: there is no preset '%s', only %s", tostring(name),
          concat(core.plan_preset(), ", "))
  end
  return flags, dtype
end

--- Applies the options to the flags. As in ATen, promotion and casting to
-- outputs disable the check for equal dtypes.
local function read_flags(options, flags)
  for name in pairs(options) do
    if flags[name] == nil and not OTHER[name] then
      local known = {}
      for key in pairs(flags) do known[key] = true end
      for key in pairs(OTHER) do known[key] = true end
      unknown_option("iterator", name, known)
    end
  end
  for name in pairs(flags) do
    if options[name] ~= nil then flags[name] = options[name] end
  end
  if options.promote_inputs_to_common_dtype or
     options.cast_common_dtype_to_outputs then
    flags.check_all_same_dtype = false
  end
  return flags
end

local function copy_list(list, name)
  if list == nil then return {} end
  if type(list) ~= "table" then
    raise("iterator: '%s' must be a list", name)
  end
  local copy = {}
  for i = 1, #list do copy[i] = list[i] end
  return copy
end

--- The static shape, with size 1 for the dimensions in squash_dims.
local function static_shape(options)
  local shape, dims = options.static_shape, options.squash_dims
  if shape == nil then
    if dims then raise("iterator: squash_dims needs static_shape") end
    return nil
  end
  shape = copy_list(shape, "static_shape")
  if type(dims) == "number" then dims = {dims} end
  for _, d in ipairs(copy_list(dims, "squash_dims")) do
    local at = type(d) == "number" and d < 0 and d + #shape + 1 or d
    if shape[at] == nil then
      raise("iterator: there is no dimension %s to squash", tostring(d))
    end
    shape[at] = 1
  end
  return shape
end

-- -- Steps -------------------------------------------------------------------

-- A step is a list; the fields size and offsets are computed from it.
local Step = {}

function Step.__index(step, name)
  if name == "size" then return {step[1], step[2]} end
  if name == "offsets" then return {unpack(step, 3)} end
end

-- -- Plans -------------------------------------------------------------------

local Plan = {}
Plan.__index = Plan

-- Each plan's userdata, in a weak table.
local userdata = setmetatable({}, {__mode = "k"})

local function userdata_of(plan)
  local ud = userdata[plan]
  if ud then return ud end
  raise("iterator: the first argument must be a plan, as in plan:run(...)")
end

--- The two-dimensional loops over the elements [first, last), counted from 0,
-- by default all: a list of {n0, n1, byte offset of each operand ...}. The
-- fields `size` and `offsets` give the same numbers by name.
-- @tparam[opt=0] number first
-- @tparam[opt] number last
-- @treturn {table,...}
function Plan:steps(first, last)
  local steps = core.plan_steps(userdata_of(self), first or 0,
                                last or self.numel)
  for i = 1, #steps do setmetatable(steps[i], Step) end
  return steps
end

--- The ranges {first, last} that a team of threads would get: contiguous, of
-- equal size except the last, and of at least `grain` elements. A single range
-- runs on the calling thread.
-- @tparam[opt] number threads by default the plan's, else the process's
-- @tparam[opt] number grain by default the plan's, else 32768
-- @treturn {table,...}
function Plan:chunks(threads, grain)
  userdata_of(self)
  return core.chunks(self.numel, grain or self.grain or GRAIN,
                     threads or self.threads or core.get_num_threads())
end

--- The element of an operand at a byte offset from its first element, as a
-- number, a boolean or a scalar, depending on the dtype. Raises an error
-- outside of the operand's storage.
-- @tparam number operand from 1, outputs first
-- @tparam number offset
function Plan:get(operand, offset)
  return core.plan_get(userdata_of(self), operand, offset)
end

--- Writes an element of an output. Raises an error outside of its storage, and
-- if the dtype cannot represent the value.
-- @tparam number operand from 1
-- @tparam number offset
-- @param value
function Plan:set(operand, offset, value)
  core.plan_set(userdata_of(self), operand, offset, value)
end

--- Casts temporary outputs of another dtype into the caller's tensors. A run
-- over all elements does this at its end.
function Plan:cast_outputs() core.plan_cast_outputs(userdata_of(self)) end

--- True if the operand has a single element.
-- @tparam number operand from 1
function Plan:is_scalar(operand)
  local op = self.operands[operand]
  if op then return op.numel == 1 end
  raise("iterator: there is no operand %s", tostring(operand))
end

--- True if the dimension is reduced: several of its elements accumulate into
-- the same element of an output.
-- @tparam number dim of the plan, from 1
function Plan:is_dim_reduced(dim)
  if self.shape[dim] == nil then
    raise("iterator: there is no dimension %s", tostring(dim))
  end
  for i = 1, #self.outputs do
    if self.strides[i][dim] == 0 and self.shape[dim] > 1 then return true end
  end
  return false
end

--- The strides that a loop body gets: one per operand along the first dimension
-- of the plan, then one per operand along the second.
local function loop_strides(plan)
  local n, list = #plan.operands, {}
  for i = 1, n do
    list[i] = plan.strides[i][1] or 0
    list[n + i] = plan.strides[i][2] or 0
  end
  return list
end

local function check_body(body)
  local kind = type(body)
  if kind == "function" or kind == "cdata" then return end
  raise("iterator: the loop body must be a function, got %s", kind)
end

local function finish(plan, first, last)
  if (first or 0) == 0 and (last or plan.numel) == plan.numel then
    core.plan_cast_outputs(userdata_of(plan))
  end
end

--- Calls body(offsets, strides, n0, n1) for each two-dimensional step, over the
-- elements [first, last), counted from 0, by default all.
--
-- `offsets` holds the byte offset of each operand's first element in the step;
-- the same table is reused for each step. `strides` holds byte strides: for n
-- operands, strides[i] along the n0 elements and strides[n + i] along the n1
-- rows. plan:get and plan:set read and write at byte offsets, with bounds
-- checks. An error in body ends the run and propagates to the caller. A run
-- over all elements ends with plan:cast_outputs().
-- @tparam function body
-- @tparam[opt=0] number first
-- @tparam[opt] number last
function Plan:run(body, first, last)
  local ud, strides = userdata_of(self), loop_strides(self)
  local step, offsets, k = {}, {}, 0
  check_body(body)
  while core.plan_step(ud, first or 0, last or self.numel, k, step) do
    for i = 3, #step do offsets[i - 2] = step[i] end
    body(offsets, strides, step[1], step[2])
    k = k + 1
  end
  finish(self, first, last)
end

--- Like plan:run, but with pointers of LuaJIT's FFI: calls body(data, strides,
-- n0, n1), where data is a `char *[n]` and strides an `int64_t[2 * n]`, both
-- indexed from 0, and n0 and n1 are numbers. body may be a C function
-- `void (char **, const int64_t *, int64_t, int64_t)`.
--
-- The pointers are valid for the elements of the step, until body returns or
-- does anything to the tensors other than read and write elements. Accesses are
-- not bounds-checked.
-- @param body a function or a C function
-- @tparam[opt=0] number first
-- @tparam[opt] number last
function Plan:run_ffi(body, first, last)
  local ud = userdata_of(self)
  local has_ffi, ffi = pcall(require, "ffi")
  if not has_ffi then
    if not find(tostring(ffi), "module 'ffi' not found", 1, true) then
      error(ffi, 0)
    end
    raise("iterator: this Lua has no FFI; use plan:run")
  end
  check_body(body)
  local n, list, step, k = #self.operands, loop_strides(self), {}, 0
  local data = ffi.new("char *[?]", n)
  local strides = ffi.new("int64_t[?]", 2 * n, list)
  while core.plan_data(ud, first or 0, last or self.numel, k, step) do
    for i = 1, n do data[i - 1] = ffi.cast("char *", step[i + 2]) end
    body(data, strides, step[1], step[2])
    k = k + 1
  end
  finish(self, first, last)
end

-- -- Splitting ---------------------------------------------------------------

--- Refreshes the fields of a plan.
local function refresh(plan, ud)
  plan.dim_to_split = nil
  for name, value in pairs(core.plan_info(ud)) do plan[name] = value end
  return plan
end

local function new_plan(ud, threads, grain)
  local plan = setmetatable({threads = threads, grain = grain}, Plan)
  userdata[plan] = ud
  return refresh(plan, ud)
end

--- Restricts a dimension of the plan to `length` indices from `start` on. Adds
-- the skipped indices to `view_offsets`. A dimension of size 1 is removed,
-- except in a reduction.
-- @tparam number dim of the plan, from 1
-- @tparam number start from 1
-- @tparam number length
function Plan:narrow(dim, start, length)
  local ud = userdata_of(self)
  core.plan_narrow(ud, dim, start, length)
  refresh(self, ud)
end

--- Splits a dimension: the plan becomes the second half; the first half is
-- returned. Halves of a reduced dimension write the same outputs: the first
-- must not finalize them (`final_output` is false), the second continues from
-- their values (`accumulate` is true).
-- @tparam[opt] number dim of the plan, from 1; by default the dimension with
-- the largest extent in memory
-- @treturn table the plan of the first half
function Plan:split(dim)
  local ud = userdata_of(self)
  local first = core.plan_split(ud, dim or self.dim_to_split or 1)
  refresh(self, ud)
  return new_plan(first, self.threads, self.grain)
end

--- Iterates over consecutive parts of the plan whose offsets fit into 32 bits.
-- The plan itself becomes the last part.
-- @treturn function returns the next part, nil at the end
function Plan:split_32bit()
  userdata_of(self)
  local parts = {self}
  return function()
    local part = parts[#parts]
    if not part then return nil end
    while not part.can_use_32bit_indexing do
      part = part:split()
      parts[#parts + 1] = part
    end
    parts[#parts] = nil
    return part
  end
end

--- Removes an operand; the indices of later operands decrease by 1.
-- @tparam number operand from 1, outputs first
function Plan:remove_operand(operand)
  local ud = userdata_of(self)
  core.plan_remove_operand(ud, operand)
  refresh(self, ud)
end

--- Moves an operand to the first element of another tensor of its dtype. The
-- operand keeps its strides; its bounds become those of the tensor's storage.
-- @tparam number operand from 1, outputs first
-- @tparam Tensor tensor
function Plan:replace_operand(operand, tensor)
  local ud = userdata_of(self)
  core.plan_replace_operand(ud, operand, tensor)
  refresh(self, ud)
end

-- -- As text -----------------------------------------------------------------

local function list_text(list) return "{" .. concat(list, ", ") .. "}" end

local function plural(n, what)
  return format("%.14g %s%s", n, what, n == 1 and "" or "s")
end

local INNER = {
  vector = "vector: every operand is contiguous",
  scalar = "vector: one input, of stride 0, is spread over it",
  strided = "strided: element by element",
}

local FAST = {
  contiguous = "all operands are contiguous",
  channels_last = "all operands are channels_last",
  non_overlapping_dense = "all operands are dense, with equal strides",
}

local function operand_name(plan, i)
  local n = #plan.outputs
  return i <= n and "output " .. i or "input " .. i - n
end

local function remarks(op)
  local text = op.is_temporary and ", in a temporary" or ""
  if op.seen_as ~= op.dtype then
    text = text .. (op.is_output and ", written as " or ", read as ")
      .. tostring(op.seen_as)
  end
  if op.is_resized then text = text .. ", resized" end
  if op.is_read_write then text = text .. ", read and written" end
  return text
end

--- The operands in aligned columns.
local function operand_lines(plan, lines)
  local names, dtypes, w, v = {}, {}, 0, 0
  for i, op in ipairs(plan.operands) do
    names[i], dtypes[i] = operand_name(plan, i), tostring(op.dtype)
    w, v = max(w, #names[i]), max(v, #dtypes[i])
  end
  for i, op in ipairs(plan.operands) do
    lines[#lines + 1] = format("  %-11s %-" .. v .. "s  byte strides %s%s",
                               names[i], dtypes[i], list_text(plan.strides[i]),
                               remarks(op))
  end
end

local function order_text(plan)
  if plan.fast ~= "none" then
    return "fast set-up, " .. FAST[plan.fast]
  elseif plan.ndim == 0 then
    return "one element, no dimension"
  end
  return format("dimensions %s of %s, fastest first", list_text(plan.perm),
                list_text(plan.common_shape))
end

--- The sizes of the first three steps.
local function steps_text(plan)
  local ud, step, texts, k = userdata[plan], {}, {}, 0
  while k < 3 and core.plan_step(ud, 0, plan.numel, k, step) do
    k = k + 1
    texts[k] = format("%.14g x %.14g", step[1], step[2])
  end
  if k == 3 and core.plan_step(ud, 0, plan.numel, k, step) then
    texts[k + 1] = "..."
  end
  return k == 0 and "none" or concat(texts, ", ")
end

local function chunks_text(plan)
  local chunks = plan:chunks()
  if #chunks < 2 then return "one, for the caller alone" end
  return format("%d of %.14g elements, for a team of %d", #chunks,
                chunks[1][2] - chunks[1][1], core.get_num_threads())
end

local function casts(plan)
  for _, op in ipairs(plan.operands) do
    if op.seen_as ~= op.dtype then return true end
  end
  return false
end

local function loop_text(plan)
  local inner = INNER[plan.inner]
  if plan.kind == "own" then
    return inner .. (plan.is_tiled_copy and "; a copy goes tile by tile" or "")
  elseif plan.kind == "copy" then
    return plan.is_tiled_copy and "tile by tile" or inner
  elseif plan.kind == "reduction" then
    return "folded in tiles, the same for any number of threads"
  end
  return inner .. (plan.is_tiled and "; tile by tile" or "")
    .. (plan.is_buffered and (casts(plan) and "; converted block by block"
                              or "; short rows are gathered in blocks") or "")
end

local function dtype_text(plan)
  if plan.kind == "copy" or not plan.common_dtype then return "" end
  return ", computed in " .. tostring(plan.common_dtype)
end

function Plan:__tostring()
  local lines = {
    format("plan of %s%s", plural(self.numel, "element"), dtype_text(self)),
    "  order       " .. order_text(self),
    format("  shape       %s%s", list_text(self.shape),
           self.ndim < #self.common_shape and self.ndim > 0 and
           ", coalesced" or ""),
  }
  operand_lines(self, lines)
  lines[#lines + 1] = "  inner loop  " .. loop_text(self)
  if #self.outputs > 0 and self.num_output_elements < self.numel then
    lines[#lines + 1] = format("  reduces     to %s, along %s",
                               plural(self.num_output_elements, "element"),
                               plural(self.num_reduce_dims, "dimension"))
  end
  if self.kind == "own" or self.kind == "elementwise" then
    lines[#lines + 1] = "  steps       " .. steps_text(self)
    lines[#lines + 1] = "  chunks      " .. chunks_text(self)
  end
  return concat(lines, "\n")
end

-- -- Public functions --------------------------------------------------------

--- Builds an iterator and returns its plan.
--
-- Fields: `shape` and `strides` (in bytes, a list per operand; both with the
-- fastest dimension first), `ndim`, `numel`, `perm` (the original dimension of
-- each dimension, from 1; absent after a fast set-up), `common_shape` (before
-- reordering), `fast` ("none", "contiguous", "channels_last",
-- "non_overlapping_dense"), `common_dtype`, `is_coalesced`, `inner` (the
-- strides along the first dimension: "vector", every operand is contiguous;
-- "scalar", all but one input, which has stride 0; "strided", anything else),
-- `is_tiled_copy` (true for a copy that runs tile by tile because source and
-- destination have different fastest dimensions), `is_trivial_1d`,
-- `is_contiguous`, `has_contiguous_first_dim`, `can_use_32bit_indexing`,
-- `num_output_elements`, `num_reduce_dims`, `outputs` (tensors), and
-- `operands`: a table for each operand with `dtype`, `numel`, `low` and `high`
-- (the byte range of its storage, relative to its first element), `is_output`,
-- `is_read_write`, `is_resized`, `is_temporary`. For splitting: `dim_to_split`
-- (absent if no dimension has size 2 or more), `view_offsets`, `accumulate`,
-- `final_output`.
--
-- Methods: `steps`, `chunks`, `run`, `run_ffi`, `get`, `set`, `is_scalar`,
-- `is_dim_reduced`, `cast_outputs`, `narrow`, `split`, `split_32bit`,
-- `remove_operand`, `replace_operand`. `tostring(plan)` describes the plan.
--
-- The options are the flags of ATen's TensorIteratorConfig, and
--
-- * `outputs`: tensors, or false for an output to be allocated
-- * `inputs`: tensors or numbers, which take part in promotion as numbers
-- * `preset`: the initial flags, those of a kind of operator: "unary",
--   "unary_float", "force_boolean", "binary", "binary_float", "comparison",
--   "ternary", "nullary", "reduce", "copy"; by default ATen's defaults
-- * `dtype`: the dtype of allocated outputs
-- * `static_dtype`: the dtype that loops write, by default the common dtype
-- * `static_device`: the device of allocated outputs, by default the inputs'
-- * `static_shape`: the shape to iterate over instead of the operands' common
--   shape; it must fit into the operands
-- * `squash_dims`: dimensions of the static shape (from 1) that count as 1
-- * `threads`, `grain`: defaults of `chunks`: by default the threads of the
--   process, and 32768
-- @function iterator
-- @tparam table options
-- @treturn table the plan
local function iterator(options)
  if type(options) ~= "table" then
    raise("iterator: the options must be a table, got %s", type(options))
  end
  local flags, static = preset_of(options.preset or "default")
  local ud = core.plan(read_flags(options, flags),
                       copy_list(options.outputs, "outputs"),
                       copy_list(options.inputs, "inputs"), options.dtype,
                       options.static_dtype or static, static_shape(options),
                       options.static_device)
  local plan = new_plan(ud, options.threads, options.grain)
  plan:chunks()
  return plan
end

--- The plans of the iterators, copies and reductions that a call would run, in
-- order. A dry run finds them; the call is not made.
-- @param op an operator: an object of `st.ops`, a name, or `st.add`
-- @param ... the arguments of the call
-- @treturn[1] {table,...} the first eight plans; their field `kind` is
-- "elementwise", "copy" or "reduction"
-- @treturn[1] number the number of all plans
-- @treturn[2] nil if there are no plans
-- @treturn[2] string the error, if the call would fail
local function plans_of(op, ...)
  local found, count = core.plan_call(op, ...)
  if not found then return nil, count end
  for k = #found, 1, -1 do
    found[k] = k <= count and new_plan(found[k]) or nil
  end
  return found, count
end

return {iterator = iterator, plans_of = plans_of}
