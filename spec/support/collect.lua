--- Collects all garbage, before what is alive is counted. What LuaJIT has
-- compiled holds the objects that it was specialised to.

return function()
  if rawget(_G, "jit") then _G.jit.flush() end
  collectgarbage()
  collectgarbage()
end
