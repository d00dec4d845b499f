--- What a script in a sandbox changes for the time of its run: settings, and
-- what the library keeps for all of the Lua state.
--
-- @module strided.sandbox.settings

local ipairs, next = ipairs, next

-- A script may ask for the environment of the functions of this file, too.
if rawget(_G, "setfenv") then setfenv(1, {}) end

local settings = {}

local shells, modules, printing, options

--- Remembers the modules that have settings.
-- @tparam table tables strided.sandbox.shells
-- @tparam table loaded modules by their names
function settings.keep(tables, loaded)
  shells, modules, printing = tables, loaded, loaded["strided.printing"]
  shells.keep(loaded["strided.help.documents"].texts)
end

--- Keeps what st.distributions has, once a script or the host uses it: its
-- objects tell their classes.
function settings.keep_distributions()
  for _, name in ipairs {"", ".kl", ".base", ".constraint_registry"} do
    for _, value in next, modules["strided.distributions" .. name] do
      shells.keep(value)
    end
  end
  shells.keep(modules["strided.distributions.base"])
end

--- Before a run.
function settings.enter() options = printing.current() end

--- After it.
function settings.leave()
  if printing.current() ~= options then printing.restore(options) end
  shells.restore()
end

return settings
