-- What luacheck holds the Lua code to: Lua 5.1 and LuaJIT, no globals.
std = "luajit"
max_line_length = 80
exclude_files = {"build*", "*.rockspec"}
files["spec"] = {std = "+busted"}
