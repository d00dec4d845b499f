--- The editor's last error.

io.stdout:write("<", vim.v.errmsg, ">")
