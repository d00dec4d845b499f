--- States of modules: saving, loading, conversion and copies. It adds methods
-- to nn.Module.
--
-- @module strided.nn.module.state

local core = require "strided.core"
local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local try = core.try

local concat, getmetatable, ipairs, is_tensor, next, no_grad, pairs, rawequal,
  rawset, setmetatable, sort, tostring, type = table.concat, getmetatable,
  ipairs, st.is_tensor, next, st.no_grad, pairs, rawequal, rawset, setmetatable,
  table.sort, tostring, type

local BASE = {base = true}
local DEVICE = {device = true}
local LOAD = {strict = true, base = true}
local TO = {dtype = true, device = true, memory_format = true}

local FORMATS = {channels_last = true, channels_last_3d = true,
                 contiguous_format = true, preserve_format = true}

-- dimensions of the tensors that a memory format is for; others are for all
local RANK = {channels_last = 4, channels_last_3d = 5}
local STATE = {parameter = true, saved = true}
local TENSORS = {parameter = true, saved = true, ["not saved"] = true}

--- What a dtype is, for `to`.
local function info_of(dtype)
  local ok, info = try(st.dtype_info, dtype)
  if not ok then raise("to: %s", (info:gsub("^.-dtype_info: ", ""))) end
  return info
end

-- -- Differences -------------------------------------------------------------

local function shape_text(t) return "{" .. concat(t.shape, ", ") .. "}" end

--- The names that are missing from the state, and the names in the state that
-- the module does not have.
local function compare(own, state)
  local known, missing, unexpected = {}, {}, {}
  for _, entry in ipairs(own) do
    known[entry[1]] = true
    if state[entry[1]] == nil then missing[#missing + 1] = entry[1] end
  end
  for name in pairs(state) do
    if not known[name] then unexpected[#unexpected + 1] = tostring(name) end
  end
  sort(unexpected)
  return missing, unexpected
end

--- What does not fit of one tensor, or nil.
local function misfit(name, t, value, is_strict)
  if value == nil then return nil end
  if not is_tensor(value) then
    return ("'%s' must be a Tensor, got %s"):format(name, type(value))
  elseif not value:is_same_size(t) then
    return ("'%s' has shape %s here, but %s in the state"):format(
      name, shape_text(t), shape_text(value))
  elseif is_strict and value.dtype ~= t.dtype then
    return ("'%s' is %s here, but %s in the state"):format(name, t.dtype,
                                                           value.dtype)
  end
end

-- What to write where the names fit better with the elements of lists named
-- from here.
local OTHER_BASE = {
  [0] = "the state names the elements of lists from 0, as PyTorch does: write "
        .. "net:load_state_dict(state, {base = 0})",
  [1] = "the state names the elements of lists from 1: write "
        .. "net:load_state_dict(state)",
}

--- Raises an error that names every difference, a line each, below a first one.
local function check(class, own, state, missing, unexpected, is_strict, first)
  local lines = {first}
  local function add(line) lines[#lines + 1] = line end
  if is_strict and missing[1] then
    add("the state lacks " .. concat(missing, ", "))
  end
  if is_strict and unexpected[1] then
    add(class .. " has no " .. concat(unexpected, ", "))
  end
  for _, entry in ipairs(own) do
    add(misfit(entry[1], entry[2], state[entry[1]], is_strict))
  end
  if first then
    raise("load_state_dict: %s", concat(lines, "\n  "))
  elseif lines[2] then
    raise("load_state_dict: the state does not fit:\n  %s",
          concat(lines, "\n  "))
  elseif lines[1] then
    raise("load_state_dict: %s", lines[1])
  end
end

-- -- Methods -----------------------------------------------------------------

return function(Module, tools)
  local collect = tools.collect

  local function base_of(method, given, known)
    local o = options(method, given, known)
    local base = o.base
    if base ~= nil and base ~= 0 and base ~= 1 then
      raise("%s: option 'base' must be 0 or 1, got %s", method, tostring(base))
    end
    return base, o
  end

  --- The parameters and buffers by name, for st.save: detached tensors that
  -- share the elements.
  -- @function Module:state_dict
  -- @tparam[opt] table options `base = 0`: the elements of lists are named from
  -- 0, as PyTorch names those of Sequential and ModuleList
  -- @treturn table
  function Module:state_dict(given)
    local base = base_of("state_dict", given, BASE)
    local state = {}
    for _, entry in ipairs(collect(self, STATE, false, base)) do
      state[entry[1]] = entry[2]:detach()
    end
    return state
  end

  --- Iterates over the names and tensors of state_dict, in PyTorch's order:
  -- `for name, t in net:named_state() do`.
  -- @function Module:named_state
  -- @tparam[opt] table options `base = 0`, as for state_dict
  -- @treturn function
  function Module:named_state(given)
    local base = base_of("named_state", given, BASE)
    local list, i = collect(self, STATE, false, base), 0
    return function()
      i = i + 1
      if list[i] then return list[i][1], list[i][2]:detach() end
    end
  end

  --- True if one of the names has an element 0, as those from 0 have.
  local function has_element_0(list)
    for _, name in ipairs(list) do
      if ("." .. name .. "."):find(".0.", 1, true) then return true end
    end
    return false
  end

  --- The entries of self with the names that fit a state better, the names
  -- that the state lacks, those that self lacks, and what to write if that is
  -- not by the given base. Without a base, names from 0 are taken if they fit
  -- and those from 1 do not.
  local function fit(self, state, base, is_strict)
    local own = collect(self, STATE, false, base)
    local missing, unexpected = compare(own, state)
    local is_from_0 = base ~= 0 and has_element_0(unexpected)
    if not (missing[1] and unexpected[1] or is_from_0) then
      return own, missing, unexpected
    end
    local other = base == 0 and 1 or 0
    local others = collect(self, STATE, false, other)
    local lacking, extra = compare(others, state)
    local fits = is_strict and not (lacking[1] or extra[1])
                 or not is_strict and not (lacking[1] and extra[1])
    if fits and not base then return others, lacking, extra end
    if is_from_0 or #lacking + #extra < #missing + #unexpected then
      return others, lacking, extra, OTHER_BASE[other]
    end
    return own, missing, unexpected
  end

  --- Copies a state, from state_dict or st.load, into the parameters and
  -- buffers. Raises an error that names all differences, before anything is
  -- changed, if names, shapes or dtypes do not match.
  -- @function Module:load_state_dict
  -- @tparam table state
  -- @tparam[opt] table options `strict = false` ignores names that only the
  -- module or only the state has, and converts dtypes; `base`, 0 or 1: where
  -- the state names the elements of lists from, PyTorch's from 0; without it
  -- the one that fits
  -- @treturn table the names missing from the state, in order
  -- @treturn table the names that the module does not have
  function Module:load_state_dict(state, given)
    if type(state) ~= "table" then
      raise("load_state_dict: argument 'state' must be a table, got %s",
            is_tensor(state) and "Tensor" or type(state))
    end
    local base, o = base_of("load_state_dict", given, LOAD)
    local is_strict = o.strict ~= false
    local own, missing, unexpected, first = fit(self, state, base, is_strict)
    check(tools.class_name(self), own, state, missing, unexpected, is_strict,
          first)
    no_grad(function()
      for _, entry in ipairs(own) do
        local value = state[entry[1]]
        if value ~= nil then entry[2]:copy_(value) end
      end
    end)
    return missing, unexpected
  end

  -- -- Conversion ------------------------------------------------------------

  --- Replaces the tensors of a module by fn of each. What was shared still is.
  local function replace(self, fn)
    local made = {}
    no_grad(function()
      for _, entry in ipairs(collect(self, TENSORS)) do
        local old, kind, owner, key = entry[2], entry[3], entry[4], entry[5]
        local new = made[old]
        if not new then
          new = fn(old)
          if not rawequal(new, old) and kind == "parameter" then
            local gradient = old.grad
            new = tools.parameter(new:detach())
            new:requires_grad_(old.requires_grad)
            if gradient then new.grad = fn(gradient) end
          end
          made[old] = new
        end
        rawset(owner, key, new)
      end
    end)
    return self
  end

  --- Converts the floating-point and complex parameters and buffers to a dtype,
  -- all of them to a device, and those of 4 dimensions to the memory format
  -- `channels_last`, of 5 to `channels_last_3d`. The parameters that change are
  -- new tensors: create the optimizer afterwards.
  -- @function Module:to
  -- @param what the name of a dtype or of a device, or a table of options:
  -- `dtype`, `device`, `memory_format`
  -- @treturn table the module
  function Module:to(what)
    local o = what
    if type(what) == "string" then
      if FORMATS[what] then
        raise("to: '%s' is a memory format; write to {memory_format = \"%s\"}",
              what, what)
      end
      local is_device = what:find "^[%l_]+%d?:%d+$" ~= nil
      for _, name in ipairs(core.devices()) do
        is_device = is_device or name == what
      end
      o = {[is_device and "device" or "dtype"] = what}
    end
    o = options("to", o, TO)
    local info = o.dtype and info_of(o.dtype)
    if info and not (info.is_floating_point or info.is_complex) then
      raise("to: a module has floating-point or complex numbers, not %s",
            tostring(o.dtype))
    end
    return replace(self, function(t)
      if o.device and o.device ~= t.device then t = t:to(o.device) end
      local is_real = t:is_floating_point()
      if o.dtype and (is_real or t:is_complex()) then t = t:to(o.dtype) end
      if o.memory_format and t:dim() == (RANK[o.memory_format] or t:dim()) then
        t = t:to(t.dtype, {memory_format = o.memory_format})
      end
      return t
    end)
  end

  for name, dtype in pairs {float = "float32", double = "float64",
                            half = "float16", bfloat16 = "bfloat16"} do
    Module[name] = function(self) return self:to(dtype) end
  end

  --- Converts the floating-point parameters and buffers to float32: `to
  -- "float32"`. `double`, `half` and `bfloat16` are alike.
  -- @function Module:float
  -- @treturn table the module

  -- -- Copies ----------------------------------------------------------------

  --- Copies a field: modules, tensors and plain tables in depth.
  local function copy(value, made, copy_tensor)
    if made[value] then return made[value] end
    if is_tensor(value) then
      local new = copy_tensor(value:detach())
      if tools.parameters[value] then
        new = tools.parameter(new)
        new:requires_grad_(value.requires_grad)
      end
      made[value] = new
      return new
    end
    if type(value) ~= "table" then return value end
    local meta = getmetatable(value)
    if meta ~= nil and not tools.is_module(value) then return value end
    local new = setmetatable({}, meta)
    made[value] = new
    for key, field in next, value do
      rawset(new, key, copy(field, made, copy_tensor))
    end
    return new
  end

  local COPIES = {
    cpu = function(t) return t:clone() end,
    meta = function(t) return st.empty_like(t, {device = "meta"}) end,
  }

  --- A copy of the module with tensors of its own, as copy.deepcopy makes one
  -- in Python.
  -- @function Module:clone
  -- @tparam[opt] table options `device = "meta"`: a copy without elements, to
  -- compute shapes with
  -- @treturn table
  function Module:clone(given)
    local device = options("clone", given, DEVICE).device or "cpu"
    if not COPIES[device] then
      raise("clone: option 'device' must be \"cpu\" or \"meta\", got %s",
            tostring(device))
    end
    return copy(self, {}, COPIES[device])
  end
end
