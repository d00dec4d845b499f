--- A thread of the editor's loop, with a Lua state of its own, and the main
-- state compute at the same time; the tensors go to and fro by tokens.

local st = require "strided"

local uv = vim.loop

local N = 1000000

--- Runs in the thread: halves a tensor in place, over and over, then says
-- the sum of what came of another.
local function in_thread(path, cpath, given, answer)
  package.path, package.cpath = path, cpath
  local engine = require "strided"
  local t = engine.attach(given)
  for _ = 1, 10 do t:mul_(0.5) end
  answer:send(engine.share((t + 1):sqrt()))
end

local answer, token
answer = uv.new_async(function(sent)
  token = sent
  answer:close()
end)

local t = st.full({N}, 3 * 1024, {dtype = "float64"})
local thread = uv.new_thread(in_thread, package.path, package.cpath,
                             st.share(t), answer)
local mine = 0
for k = 1, 10 do mine = mine + st.full({N}, k):sum():item() / N end
thread:join()
assert(vim.wait(30000, function() return token end, 5))

local roots = st.attach(token)
assert(t:eq(3):all():item() and roots:eq(2):all():item())
io.stdout:write(("here %d, there %d\n"):format(mine,
                                               roots:sum():item() / N))
