--- Options for printing tensors.
--
-- @module strided.printing

local core = require "strided.core"
local raise = require "strided.argument.caller_error"
local unknown_option = require "strided.option.unknown_option"

local pairs, tostring, type = pairs, tostring, type

-- as in PyTorch
local DEFAULTS = {precision = 4, threshold = 1000, edgeitems = 3,
                  linewidth = 80}
local KNOWN = {sci_mode = true, profile = true}
for name in pairs(DEFAULTS) do KNOWN[name] = true end
local PROFILES = {
  default = {},
  short = {precision = 2, edgeitems = 2},
  full = {threshold = 2 ^ 31 - 1},
}

local options = {}
for name, value in pairs(DEFAULTS) do options[name] = value end

local function apply()
  local sci = options.sci_mode
  core.set_print(options.precision, options.threshold, options.edgeitems,
                 options.linewidth, sci == nil and -1 or sci and 1 or 0)
end

local printing = {}

--- Sets the options for printing tensors.
-- @tparam table changes precision (digits), threshold (the number of elements
-- above which a tensor is abbreviated), edgeitems, linewidth, sci_mode (true,
-- false or "auto"), or profile ("default", "short", "full")
function printing.set_printoptions(changes)
  if type(changes) ~= "table" then
    raise("set_printoptions: the options must be a table, got %s",
          type(changes))
  end
  local new = {}
  for name, value in pairs(options) do new[name] = value end
  if changes.profile then
    local profile = PROFILES[changes.profile]
    if not profile then
      raise("set_printoptions: there is no profile '%s': they are default, "
            .. "full, short", tostring(changes.profile))
    end
    for name, value in pairs(DEFAULTS) do new[name] = profile[name] or value end
  end
  for name, value in pairs(changes) do
    if DEFAULTS[name] then
      if type(value) ~= "number" or value < 0 or value >= 2 ^ 31 then
        raise("set_printoptions: '%s' must be a number", name)
      end
      new[name] = value
    elseif name == "sci_mode" then
      new.sci_mode = nil
      if value ~= "auto" then new.sci_mode = not not value end
    elseif name ~= "profile" then
      unknown_option("set_printoptions", name, KNOWN)
    end
  end
  options = new
  apply()
end

--- The current options.
-- @treturn table
function printing.get_printoptions()
  local copy = {}
  for name, value in pairs(options) do copy[name] = value end
  return copy
end

--- The current options themselves, for `restore`; they are never changed.
function printing.current() return options end

--- Sets the options that `current` returned.
function printing.restore(before)
  options = before
  apply()
end

return printing
