--- Collects all garbage, for leak checks. It flushes LuaJIT's traces first,
-- because they refer to the objects that they are specialized to.

return function()
  if rawget(_G, "jit") then _G.jit.flush() end
  collectgarbage()
  collectgarbage()
end
