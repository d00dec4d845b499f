--- Particles fall for so many frames; a thread measures them meanwhile, and
-- where they end is compared with the closed form. With an argument the game
-- is left in the middle, while threads compute.

local st = require "strided"

local N, FRAMES, STEP = 20000, 120, 1 / 60
local GRAVITY = 9.81

local frame = 0
local start, place, speed   -- rows of x and y
local bytes, seen           -- love's memory and the tensor over it
local tasks = love.thread.getChannel "tasks"
local answers = love.thread.getChannel "answers"
local threads = {}
local leaves_early

function love.errorhandler(message)
  io.stdout:write(message, "\n")
  os.exit(1)
end

function love.threaderror(_, message) error(message, 0) end

function love.load(arguments)
  leaves_early = arguments[1] ~= nil
  st.manual_seed(1)
  local options = {dtype = "float64"}
  start = {place = st.rand({2, N}, options), speed = st.randn({2, N}, options)}
  place, speed = start.place:clone(), start.speed:clone()
  bytes = love.data.newByteData(N * 4)
  seen = st.frombuffer(bytes:getPointer(),
                       {shape = {N}, dtype = "float32", owner = bytes})
  for i = 1, 2 do
    threads[i] = love.thread.newThread "measure.lua"
    threads[i]:start(leaves_early)
  end
end

--- One step: speed first, so the sum has a closed form.
local function fall()
  speed[2]:sub_(GRAVITY * STEP)
  place:add_(speed, {alpha = STEP})
  seen:copy_(place[2])
end

local function check()
  local n = FRAMES
  local expected = start.place + start.speed * (n * STEP)
  expected[2]:sub_(GRAVITY * STEP * STEP * n * (n + 1) / 2)
  assert(st.allclose(place, expected, {rtol = 1e-9, atol = 1e-9}))
  for i = 1, N, 997 do
    local height = love.data.unpack("<f", bytes, (i - 1) * 4 + 1)
    assert(math.abs(height - expected[{2, i}]:item()) < 1e-4)
  end
end

local asked, right = 0, 0

--- Threads get the places as they are now, and answer what they measured.
local function ask()
  local now = place:clone()
  asked = asked + 1
  tasks:push {token = st.share(now), mean = now:mean():item()}
end

local function listen()
  local answer = answers:pop()
  if not answer then return end
  assert(math.abs(st.attach(answer.token):mean():item() - answer.mean) < 1e-9)
  right = right + 1
end

function love.update()
  if frame < FRAMES then
    frame = frame + 1
    fall()
    if frame % 10 == 0 then ask() end
  end
  listen()
  if leaves_early and right > 0 then love.event.quit(0) end
  if frame == FRAMES and right == asked and not leaves_early then
    check()
    for _ = 1, #threads do tasks:push "stop" end
    for _, thread in ipairs(threads) do
      thread:wait()
      assert(not thread:getError())
    end
    io.stdout:write(("%d frames, %d measurements, %s\n"):format(
                    frame, right, _VERSION))
    love.event.quit(0)
  end
end
