--- Plans of the tensor iterator: how it would walk given operands.
--
-- @module strided.iterator

local core = require "strided.core"

local error, format, pairs, setmetatable, type =
  error, string.format, pairs, setmetatable, type
local unpack = unpack or table.unpack -- luacheck: ignore 143

-- ATen's defaults.
local DEFAULTS = {
  check_mem_overlap = true, allow_cpu_scalars = false, is_reduction = false,
  resize_outputs = true, check_all_same_dtype = true,
  check_all_same_device = true, enforce_safe_casting_to_output = false,
  enforce_linear_iteration = false, promote_inputs_to_common_dtype = false,
  promote_integer_inputs_to_float = false,
  cast_common_dtype_to_outputs = false,
}

local OTHER = {outputs = true, inputs = true, dtype = true}

local function read_flags(options)
  for name in pairs(options) do
    if DEFAULTS[name] == nil and not OTHER[name] then
      error(format("iterator: there is no option '%s'", tostring(name)), 3)
    end
  end
  local flags = {}
  for name, default in pairs(DEFAULTS) do
    local value = options[name]
    if value == nil then value = default end
    flags[name] = value
  end
  if flags.promote_inputs_to_common_dtype or
     flags.cast_common_dtype_to_outputs then
    flags.check_all_same_dtype = false
  end
  return flags
end

-- A step is a list; size and offsets are views of it by name.
local Step = {}

function Step.__index(step, name)
  if name == "size" then return {step[1], step[2]} end
  if name == "offsets" then return {unpack(step, 3)} end
end

--- Builds an iterator and returns its plan, a table:
--
-- `shape` and `strides` (bytes, per operand; both fastest dimension first),
-- `perm` (which dimension each one is, from 1; absent after a fast set-up),
-- `fast` ("none", "contiguous", "channels_last", "non_overlapping_dense"),
-- `inner` (what loops meet along the first dimension: "vector", every operand
-- is contiguous; "scalar", all but one input, which has stride 0; "strided",
-- anything else), `is_tiled_copy` (whether a copy goes tile by tile because
-- the two sides disagree about the fastest dimension), `coalesced`, `numel`,
-- `common_shape`, `common_dtype`, `is_contiguous`,
-- `has_contiguous_first_dim`, `can_use_32bit_indexing`, `outputs`, and
-- `steps(first, last)`, which lists the two-dimensional loops over the
-- elements [first, last), counted from 0, as {n0, n1, byte offset of each
-- operand ...} (also by name: `size`, `offsets`).
--
-- @tparam table options outputs (false where one shall be made), inputs,
-- dtype of outputs to be made, and the flags of ATen's TensorIteratorConfig
local function iterator(options)
  if type(options) ~= "table" then
    error("iterator: options must be a table", 2)
  end
  local box = core.plan(read_flags(options), options.outputs or {},
                        options.inputs or {}, options.dtype)
  local plan = core.plan_info(box)
  function plan.steps(first, last, method_last)
    if first == plan then first, last = last, method_last end
    local steps = core.plan_steps(box, first, last)
    for i = 1, #steps do setmetatable(steps[i], Step) end
    return steps
  end
  return plan
end

return {iterator = iterator}
