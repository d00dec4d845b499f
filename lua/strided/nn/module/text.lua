--- The text of modules: what `print(net)` shows.
--
-- A layer is shown as the call that creates it, a network as its layers by
-- name, each with the number of its parameters:
--
--     Sequential(
--       (1): Linear(64, 128) -- 8320 parameters
--       (2): ReLU()
--     ) -- 8320 parameters
--
-- @module strided.nn.module.text

local concat, debug, format, tostring = table.concat, debug, string.format,
  tostring

local SHOWN = {module = true, ["function"] = true}

--- A layer that is a function: where it is written, unless in C.
local function function_text(fn)
  local info = debug and debug.getinfo and debug.getinfo(fn, "S")
  if not info or info.what == "C" then return "function" end
  return format("function at %s:%d", info.short_src, info.linedefined)
end

return function(Module, tools)
  --- The text between the parentheses when a module without submodules is
  -- printed.
  -- @function Module:extra_repr
  -- @treturn string
  function Module.extra_repr() return "" end

  --- The module as text: `tostring(net)`.
  -- @function Module:describe
  -- @treturn string
  function Module:describe()
    local lines = {}
    tools.each_member(self, SHOWN, function(name, layer, kind)
      local text = kind == "module" and tostring(layer) or function_text(layer)
      lines[#lines + 1] = format("  (%s): %s", tostring(name),
                                 (text:gsub("\n", "\n  ")))
    end)
    local inner = lines[1] and "\n" .. concat(lines, "\n") .. "\n" or
                  self:extra_repr()
    local n = self:num_parameters()
    local count = n == 0 and "" or
                  format(" -- %d parameter%s", n, n == 1 and "" or "s")
    return tools.class_name(self) .. "(" .. inner .. ")" .. count
  end
end
