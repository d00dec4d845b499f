--- Mixed precision: `autocast` runs products and convolutions in lower
-- precision, `GradScaler` keeps small gradients of float16 from becoming zero.
--
--     local loss = st.autocast(function()
--       return nn.CrossEntropyLoss()(net(x), target)
--     end)
--     loss:backward()                        -- net's gradients are float32
--
-- Operators choose the dtype: products and convolutions run in bfloat16;
-- losses, Fourier transforms and decompositions in float32; `cat` and `stack`
-- in the widest dtype; all others in the dtype of their arguments. The lists
-- are those of PyTorch's autocast on the CPU. Parameters stay float32.
--
-- `st.autocast`, `st.is_autocast_enabled`, `st.get_autocast_dtype`,
-- `st.is_autocast_cache_enabled` and `st.clear_autocast_cache` are the state of
-- a thread.
--
-- @module strided.amp

local st = require "strided"
local core = require "strided.core"
local guard = require "strided.name.guard"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local aminmax, is_tensor, no_grad, scope, tensor, view_as_real = st.aminmax,
  st.is_tensor, st.no_grad, st.scope, st.tensor, st.view_as_real
local autocast, get_autocast_dtype, is_autocast_cache_enabled = core.autocast,
  core.get_autocast_dtype, core.is_autocast_cache_enabled
local floor, format, huge = math.floor, string.format, math.huge
local getmetatable, ipairs, next, pairs, setmetatable, tostring, type =
  debug.getmetatable, ipairs, next, pairs, setmetatable, tostring, type

local FLOAT32 = {dtype = "float32"}

local amp = {}

-- -- Autocast ----------------------------------------------------------------

local AUTOCAST = {dtype = true, enabled = true, cache_enabled = true}
local LOWER = {bfloat16 = true, float16 = true}

--- True for a table that is no body: a network is a table that can be called.
local function is_options(x)
  if type(x) ~= "table" then return false end
  local meta = getmetatable(x)
  return not (type(meta) == "table" and meta.__call)
end

local function flag(where, o, name, default)
  local value = o[name]
  if value == nil then return default end
  if type(value) ~= "boolean" then
    raise("%s: option '%s' must be true or false, got %s", where, name,
          type(value))
  end
  return value
end

--- Calls `body(...)` with autocast enabled in this thread: operators convert
-- their arguments of float32, float16 and bfloat16. Regions nest. `body` cannot
-- yield.
--
--     st.autocast({dtype = "float16"}, function() return net(x) end)
--     st.autocast(net, x)
--
-- Casts of parameters are kept until the outermost region ends, unless the
-- parameter is written. Writes through `p.data` or `p:data_ptr()` are not
-- noticed: call `st.clear_autocast_cache` after them. out= and in-place
-- operators do not convert, and a backward pass runs without autocast, in the
-- dtypes of the forward pass. Functions of st.fuse run unfused.
-- @function autocast
-- @tparam[opt] table options `dtype`: "bfloat16" (the default, or that of the
-- region around) or "float16"; `enabled` (true): false disables autocast inside
-- of a region; `cache_enabled` (true): keep casts of parameters
-- @tparam function body
-- @return the results of body
function amp.autocast(first, ...)
  if not is_options(first) then
    return autocast(true, get_autocast_dtype(), is_autocast_cache_enabled(),
                    first, ...)
  end
  local o = options("autocast", first, AUTOCAST)
  local dtype = o.dtype or get_autocast_dtype()
  if not LOWER[dtype] then
    raise("autocast: option 'dtype' must be \"bfloat16\" or \"float16\", " ..
          "got %s", tostring(dtype))
  end
  local caches = flag("autocast", o, "cache_enabled",
                      is_autocast_cache_enabled())
  return autocast(flag("autocast", o, "enabled", true), dtype, caches, ...)
end

-- -- GradScaler --------------------------------------------------------------

local GradScaler = {}
GradScaler.__index = GradScaler

local SCALER = {init_scale = true, growth_factor = true, backoff_factor = true,
                growth_interval = true, enabled = true}

--- The float32 number that is closest to x.
local function float32(x) return tensor(x, FLOAT32):item() end

--- Is it a scale? In float32, in which it is kept: 1e-50 is 0 there.
local function is_positive(x)
  if x ~= x then return false end
  x = float32(x)
  return x > 0 and x < huge
end

local RANGES = {
  init_scale = {65536, is_positive, "must be positive and finite in float32"},
  growth_factor = {2, function(x) return x > 1 end, "must be more than 1"},
  backoff_factor = {0.5, function(x) return x > 0 and x < 1 end,
                    "must be between 0 and 1"},
  growth_interval = {2000, function(x) return x >= 1 and x == floor(x) end,
                     "must be a positive integer"},
}

local function check_range(where, name, value, like)
  local rule = RANGES[like or name]
  if type(value) ~= "number" or not rule[2](value) then
    raise("%s: '%s' %s, got %s", where, name, rule[3],
          type(value) == "number" and format("%g", value) or type(value))
  end
  return value
end

local function is_finite(x) return x == x and x ~= huge and x ~= -huge end

local function create(_, given)
  local o = options("GradScaler", given, SCALER)
  local self = setmetatable({has_scaled = false, tracker = 0, stages = {}},
                            GradScaler)
  for name, rule in pairs(RANGES) do
    local value = o[name]
    if value == nil then value = rule[1] end
    self[name] = check_range("GradScaler", name, value)
  end
  self.factor = float32(self.init_scale)
  self.enabled = flag("GradScaler", o, "enabled", true)
  return self
end

local function scaled(x, factor)
  if is_tensor(x) then return x * factor end
  if type(x) ~= "table" then
    raise("scale: the outputs must be a Tensor or a list of Tensors, got %s",
          type(x))
  end
  local out = {}
  for key, value in pairs(x) do out[key] = scaled(value, factor) end
  return out
end

--- Multiplies a loss, or the tensors of a table, by the scale.
-- @param outputs
-- @return the products, of float32 or the wider dtype
function GradScaler:scale(outputs)
  if not self.enabled then return outputs end
  self.has_scaled = true
  return scaled(outputs, tensor(self.factor, FLOAT32))
end

local function check_scaled(self, name)
  if self.has_scaled then return end
  raise("%s: scale was not called before; write scaler:scale(loss):backward()",
        name)
end

--- What this iteration knows of an optimizer: `stage`, and `found`, whether a
-- gradient was infinite or NaN, nil without gradients.
local function stage_of(self, name, optimizer)
  if type(optimizer) ~= "table" or type(optimizer.param_groups) ~= "table" then
    raise("%s: argument 'optimizer' must be an optimizer, got %s", name,
          type(optimizer))
  end
  local stage = self.stages[optimizer]
  if not stage then
    stage = {stage = "ready"}
    self.stages[optimizer] = stage
  end
  return stage
end

local function has_non_finite(g)
  if g:numel() == 0 then return false end
  local least, most = aminmax(g)
  return not (is_finite(least:item()) and is_finite(most:item()))
end

--- Divides the gradients by the scale; returns whether one was not finite, nil
-- if there are none.
local function unscale(optimizer, inverse)
  local found
  for _, group in ipairs(optimizer.param_groups) do
    for _, p in ipairs(group.params) do
      local g = p.grad
      if g then
        if g:is_complex() then g = view_as_real(g) end
        found = has_non_finite(g) or found or false
        g:mul_(inverse)
      end
    end
  end
  return found
end

local function check_gradients(optimizer)
  for _, group in ipairs(optimizer.param_groups) do
    for _, p in ipairs(group.params) do
      if p.grad and p.grad.device == "meta" then
        raise("unscale_: a gradient is on the meta device: it has no elements")
      elseif p.grad and p.grad.dtype == "float16" then
        raise("unscale_: a gradient is float16: keep parameters float32, so "
              .. "that their gradients are")
      end
    end
  end
end

--- Divides the gradients of an optimizer's parameters by the scale, to clip
-- them before `step`, which otherwise does it.
-- @param optimizer
function GradScaler:unscale_(optimizer)
  if not self.enabled then return end
  check_scaled(self, "unscale_")
  local stage = stage_of(self, "unscale_", optimizer)
  if stage.stage ~= "ready" then
    raise(stage.stage == "unscaled" and
          "unscale_: it was called for this optimizer since the last update" or
          "unscale_: it must be called before step")
  end
  check_gradients(optimizer)
  stage.found = no_grad(scope, unscale, optimizer,
                        tensor(1 / self.factor, FLOAT32))
  stage.stage = "unscaled"
end

--- Calls `optimizer:step()`, with gradients divided by the scale, unless one of
-- them is infinite or NaN.
-- @param optimizer
-- @return what the optimizer returns; nil if the step was skipped
function GradScaler:step(optimizer, closure, ...)
  if not self.enabled then return optimizer:step(closure, ...) end
  if closure ~= nil then
    raise("step: a scaler takes no closure: call it before, and pass the " ..
          "optimizer only")
  end
  check_scaled(self, "step")
  local stage = stage_of(self, "step", optimizer)
  if stage.stage == "stepped" then
    raise("step: it was called for this optimizer since the last update")
  end
  if stage.stage == "ready" then self:unscale_(optimizer) end
  if stage.found == nil then
    raise("step: no parameter of the optimizer has a gradient")
  end
  local result
  if not stage.found then result = optimizer:step() end
  stage.stage = "stepped"
  return result
end

--- The scale after an iteration, and the number of steps since it changed.
local function next_scale(self, found)
  if found then return float32(self.factor * self.backoff_factor), 0 end
  local steps = self.tracker + 1
  if steps ~= self.growth_interval then return self.factor, steps end
  local grown = float32(self.factor * self.growth_factor)
  return is_finite(grown) and grown or self.factor, 0
end

--- Whether an optimizer of this iteration has a gradient that is not finite.
local function found_in(stages)
  local found, is_known = false, false
  for _, stage in pairs(stages) do
    found = found or stage.found or false
    is_known = is_known or stage.found ~= nil
  end
  if not is_known then
    raise("update: unscale_ or step must be called before")
  end
  return found
end

local function given_scale(x)
  if is_tensor(x) then
    if x:numel() ~= 1 or x.requires_grad or x.device == "meta" then
      raise("update: argument 'new_scale' must be a number or a Tensor of " ..
            "one element on the CPU, without gradient")
    end
    x = x:item()
  end
  return float32(check_range("update", "new_scale", x, "init_scale"))
end

--- Ends an iteration. The scale is multiplied by `backoff_factor` if a step was
-- skipped, by `growth_factor` after `growth_interval` steps in a row.
-- @param[opt] new_scale a scale to use instead
function GradScaler:update(new_scale)
  if not self.enabled then return end
  check_scaled(self, "update")
  if new_scale ~= nil then
    self.factor = given_scale(new_scale)
  else
    self.factor, self.tracker = next_scale(self, found_in(self.stages))
  end
  self.stages = {}
end

--- @treturn number the scale; 1 if the scaler is disabled
function GradScaler:get_scale() return self.enabled and self.factor or 1 end

--- @treturn boolean
function GradScaler:is_enabled() return self.enabled end

for _, name in ipairs {"growth_factor", "backoff_factor", "growth_interval"} do
  GradScaler["get_" .. name] = function(self) return self[name] end
  GradScaler["set_" .. name] = function(self, value)
    self[name] = check_range("set_" .. name, name, value)
  end
end

--- The state as a table of numbers, for st.save; empty if disabled.
-- @treturn table
function GradScaler:state_dict()
  if not self.enabled then return {} end
  return {scale = self.factor, growth_factor = self.growth_factor,
          backoff_factor = self.backoff_factor,
          growth_interval = self.growth_interval,
          _growth_tracker = self.tracker}
end

local STATE = {scale = "init_scale", growth_factor = "growth_factor",
               backoff_factor = "backoff_factor",
               growth_interval = "growth_interval"}

--- Loads a state, from state_dict or st.load.
-- @tparam table saved
function GradScaler:load_state_dict(saved)
  if not self.enabled then return end
  if type(saved) ~= "table" or next(saved) == nil then
    raise("load_state_dict: the state is empty, or no table: was the scaler " ..
          "disabled that it is from?")
  end
  for key, like in pairs(STATE) do
    -- A scale becomes 0, as PyTorch's, when it was halved often enough.
    if key ~= "scale" or saved[key] ~= 0 then
      check_range("load_state_dict", key, saved[key], like)
    end
  end
  local tracker = saved._growth_tracker
  if type(tracker) ~= "number" or tracker < 0 or tracker ~= floor(tracker) then
    raise("load_state_dict: '_growth_tracker' must be an integer from 0")
  end
  self.factor, self.tracker = float32(saved.scale), tracker
  self.growth_factor, self.backoff_factor = saved.growth_factor,
    saved.backoff_factor
  self.growth_interval = saved.growth_interval
end

guard.methods(GradScaler, "scaler", function(value)
  return getmetatable(value) == GradScaler
end, {"scale", "unscale_", "step", "update", "get_scale", "is_enabled",
      "get_growth_factor", "set_growth_factor", "get_backoff_factor",
      "set_backoff_factor", "get_growth_interval", "set_growth_interval",
      "state_dict", "load_state_dict"})

--- Scales a loss so that small gradients are not rounded to zero in float16,
-- and skips the steps whose gradients overflow.
--
--     local scaler = st.amp.GradScaler()
--     scaler:scale(loss):backward()
--     scaler:unscale_(optimizer)            -- optional, here to clip
--     nn.utils.clip_grad_norm_(net, 1)
--     scaler:step(optimizer)
--     scaler:update()
--
-- Methods: `scale`, `unscale_`, `step`, `update`, `get_scale`, `is_enabled`,
-- `state_dict`, `load_state_dict`, and `get_` and `set_growth_factor`,
-- `_backoff_factor` and `_growth_interval`.
-- @function GradScaler
-- @tparam[opt] table options `init_scale` (65536), `growth_factor` (2),
-- `backoff_factor` (0.5), `growth_interval` (2000), `enabled` (true)
amp.GradScaler = setmetatable(GradScaler, {__call = create})

return guard.names(amp, "st.amp")
