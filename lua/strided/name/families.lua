--- Operators by family, as PyTorch and the Array API keep them in modules:
-- `st.linalg.multi_dot` is the operator `linalg_multi_dot`, and
-- `st.special.expit` is `special_expit`. Some have no prefix: `st.linalg.outer`
-- is `outer`; `st.linalg.trace` is the standard's, of batches.
-- `st.signal.windows.hann` is `signal_windows_hann`.
--
-- @module strided.name.families

local core = require "strided.core"

local error, ipairs, next, setmetatable, type = error, ipairs, next,
  setmetatable, type

local require = require "strided.core".require

-- Operators of a family whose names have no prefix.
local PLAIN = {
  linalg = {outer = "outer", tensordot = "tensordot",
            trace = "linalg_trace", matrix_transpose = "mT"},
}

local function names_of(prefix, plain)
  local set = {}
  for _, full in ipairs((core.operators())) do
    local name = full:match("^aten::" .. prefix .. "(.*)$")
    if name then set[name] = true end
  end
  for name in next, plain do set[name] = true end
  return set
end

local st -- strided, which loads this module

local function family(label)
  local prefix, plain = label:gsub("%.", "_") .. "_", PLAIN[label] or {}
  local permanent = {} -- operators that were found and stay, by their names
  return setmetatable({}, {
    names = function() return names_of(prefix, plain) end, -- for completion
    __index = function(_, name)
      local full = permanent[name]
      if full then return st[full] end
      if type(name) ~= "string" then return nil end
      full = plain[name] or prefix .. name
      if full == "linalg_trace" then
        return require "strided.array_api".linalg_trace
      end
      local value, keep = core.named(full, false)
      if value ~= nil then
        st = require "strided"
        if keep then permanent[name] = full end
        return st[full]
      end
      return require "strided.name.unknown_name".missing(
        "st." .. label, name, names_of(prefix, plain))
    end,
    __newindex = function(_, name)
      error(("st.%s is read-only: cannot set '%s'"):format(label, name), 2)
    end,
  })
end

return {
  linalg = family "linalg", fft = family "fft", special = family "special",
  signal = {windows = family "signal.windows"},
}
