--- Jobs in the threads of the editor's pool, each of which keeps a Lua state:
-- every job squares a row of a matrix where it is.

local st = require "strided"

local uv = vim.loop

local JOBS = 12

local function square(path, cpath, token, row)
  package.path, package.cpath = path, cpath
  local t = require "strided".attach(token)
  t[row]:mul_(t[row])
  return row
end

local done = 0
local work = uv.new_work(square, function(row) done = done + row end)

local t = st.arange(JOBS):view(JOBS, 1):expand(JOBS, 50000):clone()
local token = st.share(t, {times = JOBS})
for row = 1, JOBS do work:queue(package.path, package.cpath, token, row) end
assert(vim.wait(60000, function() return done == JOBS * (JOBS + 1) / 2 end, 5))
assert(not st.unshare(token))
for row = 1, JOBS do assert(t[row]:eq((row - 1) ^ 2):all():item()) end
io.stdout:write(("%d rows squared\n"):format(JOBS))
