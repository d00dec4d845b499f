--- Annotations of the types that schemas and comments name: dtypes and other
-- strings, shapes, tensors and objects in C.
--
-- @module strided.types.values

local core = require "strided.core"

local concat, format, ipairs = table.concat, string.format, ipairs

local values = {}

--- The type of the strings of a list.
local function alias(name, list)
  local lines = {"---@alias strided." .. name}
  for i, value in ipairs(list) do lines[i + 1] = format('---| "%s"', value) end
  return concat(lines, "\n") .. "\n"
end

local constant = [[
---@alias strided.memory_format
---| "contiguous_format"
---| "preserve_format"
---| "channels_last"
---| "channels_last_3d"

---@alias strided.layout
---| "strided"

---@alias strided.reduction
---| "mean"
---| "sum"
---| "none"

--- A number of Lua, a boolean, or st.complex(re, im).
---@alias strided.scalar number|boolean|strided.complex

--- A list of sizes: {2, 3}, or a shape.
---@class strided.sizes
---@field [integer] integer

--- A shape: a list of sizes. #shape is the number of dimensions.
---@class strided.Size: strided.sizes
local Size = {}

--- The product of the sizes.
---@return integer
function Size:numel() end

--- A complex number.
---@class strided.complex
---@field real number
---@field imag number
---@operator add(strided.scalar): strided.complex
---@operator sub(strided.scalar): strided.complex
---@operator mul(strided.scalar): strided.complex
---@operator div(strided.scalar): strided.complex
---@operator unm: strided.complex

--- st.none: the absent element of a list.
---@class strided.none

--- What registers a hook or a listener returns.
---@class strided.Handle
local Handle = {}

--- Undoes a hook.
function Handle:remove() end

--- Ends a listener.
function Handle:close() end

--- A set of dispatch keys.
---@class strided.DispatchKeySet
---@operator add(strided.DispatchKeySet): strided.DispatchKeySet
---@operator sub(strided.DispatchKeySet): strided.DispatchKeySet
---@operator mul(strided.DispatchKeySet): strided.DispatchKeySet
---@operator len: integer
local DispatchKeySet = {}

--- The set with a key.
---@param key string
---@return strided.DispatchKeySet
function DispatchKeySet:add(key) end

--- The set without a key.
---@param key string
---@return strided.DispatchKeySet
function DispatchKeySet:remove(key) end

--- Is the key in the set?
---@param key string
---@return boolean
function DispatchKeySet:has(key) end

---@return boolean
function DispatchKeySet:is_empty() end

--- The set without a backend.
---@param key string
---@return strided.DispatchKeySet
function DispatchKeySet:remove_backend(key) end

--- The keys that are in one of two sets.
---@param other strided.DispatchKeySet
---@return strided.DispatchKeySet
function DispatchKeySet:xor(other) end

--- For loops over the keys.
---@return function
function DispatchKeySet:each() end

--- The key of the highest priority.
---@return string
function DispatchKeySet:highest() end

--- A random generator.
---@class strided.Generator
local Generator = {}

---@param seed integer
---@return strided.Generator
function Generator:manual_seed(seed) end

---@return integer
function Generator:initial_seed() end

---@return string
function Generator:algorithm() end

---@return strided.Generator
function Generator:clone() end

---@return strided.Tensor
function Generator:get_state() end

---@param state strided.Tensor
---@return strided.Generator
function Generator:set_state(state) end

--- Of Philox: n generators that are independent of this one and of each other.
---@param n? integer
---@return strided.Generator ...
function Generator:split(n) end

--- Of Philox: skips n words of 32 bits.
---@param n integer
function Generator:jump(n) end

--- An operator as an object: it is called like a function. Its overloads are
-- fields: st.ops.aten.add.Tensor.
---@class strided.Operator
---@field [string] strided.Operator
---@overload fun(...: any): any
local Operator = {}

---@return string
function Operator:schema() end

---@return string?
function Operator:doc() end

---@return string
function Operator:name() end

---@return string[]
function Operator:overloads() end

---@return string[]
function Operator:tags() end

---@return string
function Operator:signature() end

--- The dispatch table as a text.
---@return string
function Operator:table() end

--- The registrations as a text.
---@return string
function Operator:dump() end

---@return string?
function Operator:derivative() end

---@param key string
---@return any
function Operator:kernel(key) end

---@param keys strided.DispatchKeySet
---@param ... any
---@return any
function Operator:redispatch(keys, ...) end

---@param key string
---@param ... any
---@return any
function Operator:call_for_key(key, ...) end

--- What st.library opens: a namespace with operators of one's own.
---@class strided.Library
local Library = {}

--- Declares an operator; with a function, its kernel for all keys.
---@param schema string
---@param doc? string|table|function a sentence, or a table of `doc` and `tags`
---@param kernel? function
---@return self
function Library:def(schema, doc, kernel) end

--- Registers a kernel.
---@param name string
---@param key string|function
---@param fn? function|table
---@param options? table `with_keys`
---@return self
function Library:impl(name, key, fn, options) end

--- fn(op, keys, ...) runs for every operator without a kernel for the key.
---@param key string
---@param fn function
---@return self
function Library:fallback(key, fn) end

--- Registers a derivative: formulas, or fn(ctx, grad, ...).
---@param name string
---@param formulas any
---@return self
function Library:derivative(name, formulas) end

--- Defines an operator of elements by an expression or a function.
---@param schema string
---@param body string|function
---@param doc? string
---@return self
function Library:elementwise(schema, body, doc) end

--- Defines a reduction.
---@param schema string
---@param options table
---@return self
function Library:reduction(schema, options) end

--- Ends the registrations.
function Library:close() end
]]

--- Types of strings and of objects in C; devices are those of the moment.
function values.aliases()
  return concat({alias("dtype", core.dtype_names()),
                 alias("device", core.devices()), constant}, "\n")
end

local OPERATORS = {"add", "sub", "mul", "div", "mod", "pow", "idiv", "band",
                   "bor", "bxor", "shl", "shr"}

--- The annotations of the operators of Lua on tensors.
function values.operators()
  local lines = {}
  for _, name in ipairs(OPERATORS) do
    lines[#lines + 1] = "operator " .. name ..
                        "(strided.Tensor|strided.scalar): strided.Tensor"
  end
  for _, name in ipairs {"unm", "bnot"} do
    lines[#lines + 1] = "operator " .. name .. ": strided.Tensor"
  end
  lines[#lines + 1] = "operator len: integer"
  lines[#lines + 1] = "operator concat(string): string"
  return lines
end

-- What no signature says: name, type, text.
values.properties = {
  {"shape", "strided.Size", "The sizes."},
  {"dtype", "strided.dtype", "The name of the dtype."},
  {"device", "strided.device", "The name of the device."},
  {"layout", "strided.layout", "\"strided\", or a library's name for another."},
  {"grad", "strided.Tensor?", "The gradient, once backward has computed it."},
  {"data", "strided.Tensor", "The tensor without its gradients."},
}

-- Methods in C without a row in strided.help.functions: name, signature,
-- text.
values.methods = {
  {"size", "t:size(dim: dim? = nil) -> integer or Size",
   "The sizes, or the one of a dimension."},
  {"backward", "t:backward(gradient: Tensor? = nil, {create_graph: boolean = "
   .. "false, retain_graph: boolean? = nil, inputs: {Tensor}? = nil})",
   "Adds the gradients with respect to the leaves to their grad."},
  {"requires_grad_", "t:requires_grad_(flag: boolean = true) -> Tensor",
   "Says whether gradients are recorded for the tensor."},
  {"iter", "t:iter(dim: dim? = nil) -> function",
   "For loops: for row, i in t:iter() do."},
  {"keys", "t:keys() -> DispatchKeySet",
   "The dispatch keys of the tensor."},
  {"to_dlpack", "t:to_dlpack({stream: any = nil}) -> any",
   "Exports the tensor by DLPack."},
  {"to_arrow", "t:to_arrow(schema: any, array: any)",
   "Exports the tensor by Arrow's C data interface."},
  {"tofile", "t:tofile(path: string)",
   "Writes the bytes of the elements into a file."},
}

return values
