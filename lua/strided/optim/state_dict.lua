--- The state of an optimizer as a flat table of tensors, and back.
--
-- @module strided.optim.state_dict

local st = require "strided"
local check = require "strided.optim.check"
local raise = require "strided.argument.caller_error"

local is_tensor, no_grad, tensor = st.is_tensor, st.no_grad, st.tensor
local byte, char, unpack = string.byte, string.char, table.unpack or unpack
local ipairs, pairs, tonumber, tostring, type =
  ipairs, pairs, tonumber, tostring, type

local keep = require "strided.core".keep_from_all

local FLOAT64, INT64 = {dtype = "float64"}, {dtype = "int64"}
local UINT8 = {dtype = "uint8"}

local state_dict = {}

-- -- Values ------------------------------------------------------------------

--- Strings become their bytes.
local function to_tensor(value)
  if is_tensor(value) then return value end
  if type(value) == "string" then return tensor({byte(value, 1, -1)}, UINT8) end
  return tensor(value, type(value) ~= "boolean" and FLOAT64 or nil)
end

--- Converts a tensor to a value of this type, or nil if it has the wrong shape.
local function from_tensor(t, kind, default)
  if kind == "table" then
    return t:dim() == 1 and t:numel() == #default and t:totable() or nil
  elseif kind == "string" then
    return t:dim() == 1 and char(unpack(t:totable())) or nil
  end
  if t:numel() == 1 then return t:item() end
end

-- -- Saving ------------------------------------------------------------------

--- See Optimizer:state_dict.
function state_dict.save(self)
  local saved, n = {}, 0
  for g, group in ipairs(self.param_groups) do
    local prefix, positions = "param_groups." .. g .. ".", {}
    for i, p in ipairs(group.params) do
      n = n + 1
      positions[i] = n
      local flatten = self.flatten
      local state = self.state[p]
      for key, value in pairs(flatten and flatten(state) or state) do
        saved["state." .. n .. "." .. key] = to_tensor(value)
      end
    end
    saved[prefix .. "params"] = tensor(positions, INT64)
    for key in pairs(self.defaults) do
      if group[key] ~= nil then saved[prefix .. key] = to_tensor(group[key]) end
    end
  end
  return saved
end

-- -- Loading -----------------------------------------------------------------

--- The saved options of a group.
local function load_group(self, g, saved)
  local group, loaded = self.param_groups[g], {params = {}}
  local prefix = "param_groups." .. g .. "."
  local positions = saved[prefix .. "params"]
  if not positions or positions:numel() ~= #group.params then
    raise("load_state_dict: group %d has %d parameters here, and %s in the "
          .. "state", g, #group.params,
          positions and tostring(positions:numel()) or "none")
  end
  for key, default in pairs(self.defaults) do
    local t = saved[prefix .. key]
    local is_optional = default == check.OPTIONAL
    if not is_optional then loaded[key] = group[key] end
    if t then
      local kind = is_optional and self.types[key] or type(default)
      loaded[key] = from_tensor(t, kind, default)
    end
  end
  check.group(self, loaded)
  return loaded
end

--- Raises an error if the saved state of parameter n, in a group with these
-- options, is incomplete or has wrong shapes.
local function check_kept(self, n, p, group, saved)
  for key, kind in pairs(self.kept) do
    local name = "state." .. n .. "." .. key
    local t = saved[name]
    if not t and kind ~= "any" and kind ~= "factor" and
       self.needs(group, key) then
      raise("load_state_dict: the state lacks '%s'", name)
    end
    local is_alike = kind == "tensor" or key == "master"
    if t and (kind == "number" and t:numel() ~= 1 or
              is_alike and not t:is_same_size(p)) then
      raise("load_state_dict: '%s' does not have the shape of its parameter",
            name)
    end
  end
end

--- Loads the saved state of parameter n. The tensors get the dtype of new ones,
-- whatever they were saved as, and the device of the parameter.
local function load_kept(self, n, p, group, saved)
  local state = self.state[p]
  local function copy(t, dtype)
    return keep(t:to {dtype = dtype, device = p.device, copy = true})
  end
  for key, kind in pairs(self.kept) do
    local t = saved["state." .. n .. "." .. key]
    if t and kind == "tensor" then
      self.room(self, state, key, p, group):copy_(t)
    elseif key == "master" then
      local is_used = t and self.has_master(p, group)
      state.master = is_used and copy(t, "float32") or nil
    elseif t and kind == "factor" then
      local dtype = self.has_master(p, group) and "float32" or p.dtype
      state[key] = copy(t, dtype)
    elseif t and kind == "any" then
      state[key] = copy(t, t.dtype)
    else
      state[key] = t and t:item()
    end
  end
  if self.unflatten then self.unflatten(state, group) end
end

--- Raises an error if the saved state has names that this optimizer does not
-- have, or values that are not tensors.
local function check_names(self, saved, count)
  for name, t in pairs(saved) do
    local g, option = tostring(name):match "^param_groups%.(%d+)%.([%w_]+)$"
    local n, key = tostring(name):match "^state%.(%d+)%.([%w_]+)$"
    if not (g and self.param_groups[tonumber(g)] and self.known[option] or
            n and tonumber(n) <= count and self.kept[key]) then
      raise("load_state_dict: %s has no '%s'", self.name, tostring(name))
    elseif not is_tensor(t) then
      raise("load_state_dict: '%s' must be a Tensor, got %s", name, type(t))
    end
  end
end

--- See Optimizer:load_state_dict.
function state_dict.load(self, saved)
  if type(saved) ~= "table" then
    raise("load_state_dict: argument 'saved' must be a table, got %s",
          is_tensor(saved) and "Tensor" or type(saved))
  end
  local list, groups, loaded = {}, {}, {}
  for g, group in ipairs(self.param_groups) do
    for _, p in ipairs(group.params) do
      list[#list + 1], groups[#groups + 1] = p, g
    end
  end
  check_names(self, saved, #list)
  for g in ipairs(self.param_groups) do
    loaded[g] = load_group(self, g, saved)
  end
  for n, p in ipairs(list) do
    check_kept(self, n, p, loaded[groups[n]], saved)
  end
  for g, group in ipairs(self.param_groups) do
    for key in pairs(self.defaults) do group[key] = loaded[g][key] end
  end
  no_grad(function()
    for n, p in ipairs(list) do
      load_kept(self, n, p, self.param_groups[groups[n]], saved)
    end
  end)
end

return state_dict
