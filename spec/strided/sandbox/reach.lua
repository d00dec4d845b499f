--- What a script in a sandbox must not reach, and how it looks for that.

local getmetatable, io, ipairs, next, pairs, pcall, type = getmetatable, io,
  ipairs, next, pairs, pcall, type

local reach = {modules = {}}

local secrets = {[_G] = "_G", [package.loaded] = "package.loaded"}
for name, module in pairs(package.loaded) do
  if type(module) == "table" and not name:find "^strided" then
    secrets[module] = name
  end
end
for _, name in ipairs {"os", "io", "debug", "package"} do
  for key, value in pairs(_G[name]) do
    if type(value) == "function" then secrets[value] = name .. "." .. key end
  end
end
for _, name in ipairs {"require", "dofile", "loadfile", "load"} do
  secrets[_G[name]] = name
end
for _, name in ipairs {"string", "table", "math", "coroutine", "bit", "utf8"} do
  if _G[name] then secrets[_G[name]] = nil end -- a host gives these
end

--- Adds the core table and what of it must not be reached.
function reach.add_core(core)
  secrets[core] = "strided.core"
  for key, value in pairs(core) do
    if key:find "^open_" or key == "set_home" or key == "set_index" then
      secrets[value] = "core." .. key
    end
  end
end

local PUBLIC = " strided strided.nn strided.optim strided.data "
               .. "strided.distributions "
local internal = {["strided.core"] = true}
local root = arg[0]:match "^(.*)/spec/" or "."
for path in io.popen("cd '" .. root .. "/lua' && find strided -name '*.lua'")
              :lines() do
  local name = path:gsub("%.lua$", ""):gsub("/init$", ""):gsub("/", ".")
  local file = io.open(root .. "/lua/" .. path)
  reach.modules[#reach.modules + 1] = name
  internal[name] = not PUBLIC:find(" " .. name .. " ", 1, true) and
                   file:read "*a":find "strided%.core" ~= nil
  file:close()
end
reach.modules[#reach.modules + 1] = "strided.core"

--- True for a module that is not public and has the binding.
function reach.is_internal(name) return internal[name] end

--- Looks for secrets in a value, as a script could: by fields, metatables and,
-- if getfenv is given, environments. Adds what it finds to a list.
function reach.look(value, place, seen, depth, found, getfenv)
  local kind = type(value)
  if kind ~= "table" and kind ~= "function" or seen[value] or depth > 6 then
    return
  end
  seen[value] = true
  if secrets[value] then
    found[#found + 1] = place .. ": " .. secrets[value]
    return
  end
  local function look(field, key)
    reach.look(field, place .. key, seen, depth + 1, found, getfenv)
  end
  if kind == "table" then
    for key, field in next, value do look(field, "." .. tostring(key)) end
  elseif getfenv then
    local ok, env = pcall(getfenv, value)
    if ok then look(env, " env") end
  end
  local ok, meta = pcall(getmetatable, value)
  if ok then look(meta, " meta") end
end

return reach
