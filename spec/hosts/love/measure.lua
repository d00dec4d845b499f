--- A thread of the game, with a Lua state of its own: takes places from one
-- channel, sorts them, and leaves them in another.

local is_endless = ...

local st = require "strided"

local tasks = love.thread.getChannel "tasks"
local answers = love.thread.getChannel "answers"

for task in function() return tasks:demand() end do
  if task == "stop" then break end
  local place = st.attach(task.token)
  place:copy_((place:sort {dim = 2}))
  answers:push {token = st.share(place), mean = task.mean}
  while is_endless do
    assert(st.full({300000}, 2):sum():item() == 600000)
  end
end
