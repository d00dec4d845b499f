--- The iterator's plan for a call of an operator: what st.explain says about
-- elementwise operators, copies and reductions.
--
-- An operator's CPU kernel says in a dump which preset or which meta function
-- it has; that and the schema are enough to give the iterator the operands
-- that the call would give it. Nothing is run, and no tensor of the caller's
-- is changed. A reduction folds its input in tiles of its own; the plan says
-- in which order it finds the elements.
--
-- @module strided.plan_text

local core = require "strided.core"
local iterator = require "strided.iterator".iterator

local concat = table.concat
local getmetatable, ipairs, next, pcall, require, select, tostring, type =
  getmetatable, ipairs, next, pcall, require, select, tostring, type

-- -- The call ----------------------------------------------------------------

--- The keywords of a call, if its last argument has any.
local function keywords_of(value)
  if type(value) == "table" and getmetatable(value) == nil and
     type(next(value)) == "string" then
    return value
  end
end

--- Values by the names of the schema's arguments.
local function bind(schema, ...)
  local n, values = select("#", ...), {}
  local keywords = n > 0 and keywords_of((select(n, ...))) or nil
  for i, arg in ipairs(schema.args) do
    local value
    if i <= n and not (keywords and i == n) then value = select(i, ...) end
    if value == nil and keywords then value = keywords[arg.name] end
    values[arg.name] = value
  end
  return values
end

--- "pointwise" and a preset, or "meta" and a name, or what else runs on the
-- CPU; nil when nothing does.
local function kernel_of(schema)
  local full = schema.name .. (schema.overload ~= ""
                               and "." .. schema.overload or "")
  local what = core.dump(full):match "\nCPU: ([^\n]-) ::"
  if not what then return nil end
  local preset = what:match "^pointwise, iterator preset ([%u_]+)"
  if preset then return "pointwise", preset:lower() end
  local meta = what:match "^structured, meta st__([%w_]+)_meta"
  if meta then return "meta", meta end
  return what, nil
end

-- -- Elementwise -------------------------------------------------------------

-- The preset that a meta function of an elementwise operator builds with.
local PRESETS = {
  compare = "comparison", add = "binary", rsub = "binary", binary = "binary",
  lerp = "binary", clamp_tensor = "binary", unary = "unary",
  like_self = "unary", contiguous = "unary", neg = "unary",
  div_mode = "binary", binary_float = "binary_float",
}

-- Plain numbers that stand for a tensor.
local STANDS = {other = true, self = true, exponent = true}

--- Inputs in the order of the schema, and the outputs that are given.
local function operands_of(schema, values)
  local inputs, outputs = {}, {}
  for _, arg in ipairs(schema.args) do
    local value = values[arg.name]
    if arg.kind == "Tensor" and arg.is_write then
      outputs[#outputs + 1] = value
    end
    if value ~= nil and not (arg.is_write and arg.kwarg_only) and
       (arg.kind == "Tensor" or arg.kind == "Scalar" and STANDS[arg.name]) then
      inputs[#inputs + 1] = value
    end
  end
  return inputs, outputs
end

local function same_shape(a, b)
  if #a ~= #b then return false end
  for d = 1, #a do
    if a[d] ~= b[d] then return false end
  end
  return true
end

--- A given output that would have to be resized is left alone: the plan is
-- that of a new one.
local function plan_elementwise(preset, schema, values)
  local inputs, outputs = operands_of(schema, values)
  if #inputs == 0 then return nil end
  if schema.name:find "^aten::rsub_?$" then
    inputs[1], inputs[2] = inputs[2], inputs[1]
  end
  local given = outputs[1]
  if given and given ~= values.self then
    local fresh = iterator {preset = preset, outputs = {false},
                            inputs = inputs}
    if not same_shape(fresh.common_shape, given.shape) then return fresh end
  end
  return iterator {preset = preset, outputs = {given or false},
                   inputs = inputs}
end

-- -- Copies ------------------------------------------------------------------

local COPIES = {}

COPIES["aten::copy_"] = function(values)
  return iterator {preset = "copy", outputs = {values.self},
                   inputs = {values.src}}
end

local function plan_clone(values)
  local st = require "strided"
  local format = values.memory_format or st.preserve_format
  local copy = st.empty_like(values.self, {memory_format = format})
  return iterator {preset = "copy", outputs = {copy}, inputs = {values.self}}
end

COPIES["aten::clone"] = plan_clone

COPIES["aten::contiguous"] = function(values)
  local format = values.memory_format or "contiguous_format"
  if values.self:is_contiguous {memory_format = format} then
    return "none: it is contiguous already, nothing moves"
  end
  return plan_clone {self = values.self, memory_format = format}
end

-- -- Reductions --------------------------------------------------------------

-- Meta functions of operators that fold dimensions.
local FOLDS = {}
for name in ([[sum mean amax aminmax any count var var_mean norm logsumexp
  argmax max_dim]]):gmatch "%S+" do
  FOLDS[name] = true
end

--- The dimensions named, as a set; all without a name.
local function reduced_dims(values, ndim)
  local dims, set = values.dim, {}
  if type(dims) == "number" then dims = {dims} end
  if type(dims) ~= "table" or #dims == 0 then
    for d = 1, ndim do set[d] = true end
    return set
  end
  for _, d in ipairs(dims) do set[d < 0 and d + ndim + 1 or d] = true end
  return set
end

--- The result as the iterator sees it: with dimensions of size 1 for what is
-- folded, so that its strides are 0 there.
local function plan_fold(values)
  local st = require "strided"
  local self = values.self
  local set, shape = reduced_dims(values, self.ndim), {}
  for d = 1, self.ndim do shape[d] = set[d] and 1 or self.shape[d] end
  local out = st.empty(shape, {dtype = self.dtype, device = self.device})
  return iterator {preset = "reduce", outputs = {out}, inputs = {self}}
end

-- -- What others call --------------------------------------------------------

local function plan_for(schema, values)
  local copy = COPIES[schema.name]
  if copy then return copy(values) end
  local kind, name = kernel_of(schema)
  if name == "div_mode" and values.rounding_mode == nil then
    name = "binary_float"
  end
  if kind == "meta" and FOLDS[name] then return plan_fold(values) end
  local preset = PRESETS[name]
  if kind == "pointwise" then preset = preset or name end
  return preset and plan_elementwise(preset, schema, values)
end

--- The plan that a call would walk by, as text; why there can be none; or nil
-- for operators that are neither elementwise nor copies nor reductions.
-- @tparam string explained what core.explain says about the call
-- @param ... the arguments of the call
-- @treturn string
local function plan_text(explained, ...)
  local text = explained:match "\n([%w_]+::[^\n]*)"
  if not text then return nil end
  local schema = core.schema(text)
  local ok, plan = pcall(plan_for, schema, bind(schema, ...))
  if ok then return plan and tostring(plan) end
  return "none: " .. tostring(plan):gsub("^.-iterator: ", "")
end

--- How a call would run and why, without running it: the overload that is
-- chosen and why not another, the keys, the kernel, and for elementwise
-- operators, copies and reductions the iterator's plan.
-- @param op an operator: an object of `st.ops`, a name, `st.add`
-- @param ... the arguments of the call
-- @treturn string
local function explain(op, ...)
  local text = core.explain(op, ...)
  local plan = plan_text(text, ...)
  if not plan then return text end
  plan = plan:gsub("^plan of ", ""):gsub("\n", "\n  ")
  return concat {text, "\n  plan           ", plan}
end

return {explain = explain, plan_text = plan_text}
