--- Leaves the editor as $LEAVE says: after a thread has ended, while one still
-- computes, or with a job of the pool under way.

local st = require "strided"

local uv = vim.loop

--- Takes the token back when it is at work.
local function compute(path, cpath, token, rounds)
  package.path, package.cpath = path, cpath
  local engine = require "strided"
  local a = engine.full({128, 128}, 0.5)
  for _ = 1, rounds do
    assert(engine.full({300000}, 2):sum():item() == 600000)
    a:matmul(a)
    engine.unshare(token)
  end
end

local how = os.getenv "LEAVE"
local token = st.share(st.ones(1), {times = math.huge})
local function is_at_work() return not pcall(st.attach, token) end

if how == "work" then
  uv.new_work(compute, function() end):queue(package.path, package.cpath,
                                             token, 20)
else
  local thread = uv.new_thread(compute, package.path, package.cpath, token,
                               how == "thread" and 1e9 or 3)
  if how == "joined" then thread:join() end
end
assert(vim.wait(30000, is_at_work, 1))
assert(st.full({300000}, 2):sum():item() == 600000) -- the team sleeps
