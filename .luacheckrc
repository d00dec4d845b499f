-- What luacheck holds the Lua code to: no globals but those of Lua 5.1 to 5.4
-- and LuaJIT; what one of them lacks is asked for (unpack or table.unpack).
std = "max"
max_line_length = 80
exclude_files = {"build*", "*.rockspec"}
files["spec"] = {std = "+busted"}
files["spec/hosts/neovim"] = {read_globals = {"vim"}}
files["examples/neovim"] = {read_globals = {"vim"}}
files["examples/nginx"] = {globals = {"ngx"}}
files["spec/hosts/love"] = {globals = {"love"}}
files["spec/fuzz/targets"] = {read_globals = {"broken"}}
