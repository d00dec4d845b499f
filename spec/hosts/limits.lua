--- Takes memory until there is no more, again and again: each time a clean
-- error, and after it everything works, operators with a team of threads too;
-- products of matrices work, or say that they find no room. Returns what runs
-- once the limit is there.

local st = require "strided"

local SIZE = 4 * 1024 * 1024 -- bytes of a tensor

local small = st.arange(0, 6):view(2, 3):to "float32"

local function is_memory(why)
  return tostring(why):find "out of memory" or
         tostring(why):find "not enough memory"
end

--- Calls fn until it goes through: other threads may have all memory.
local function eventually(fn)
  for _ = 1, 1e5 do
    local ok, why = pcall(fn)
    if ok then return end
    assert(is_memory(why), why)
    collectgarbage()
  end
  error "no memory comes back"
end

--- The error that comes when tensors are kept.
local function exhaust(make)
  local kept
  while true do
    local ok, t = pcall(make)
    if not ok then return tostring(t), kept end
    kept = {t, kept}
  end
end

local function check()
  assert(small:sum():item() == 15)
  assert(small:matmul(small:t()):sum():item() == 83)
  assert(tostring(small):find "5")
  assert((st.ones(512, 1024) + 1):sum():item() == 2 ^ 20)
end

local function multiply()
  local a = st.ones(256, 256)
  local ok, product = pcall(a.matmul, a, a)
  if ok then assert(product:sum():item() == 256 ^ 3)
  else assert(is_memory(product), product) end
end

local MAKERS = {
  function() return st.empty({SIZE}, {dtype = "uint8"}) end,
  function() return st.zeros({SIZE}, {dtype = "uint8"}) end,
  function() return st.ones({SIZE / 4}) + 1 end,
}

return function()
  local message
  for i = 1, 6 do
    local why
    eventually(function() why = (exhaust(MAKERS[i % #MAKERS + 1])) end)
    assert(is_memory(why), why)
    if why:find "%d+ bytes requested.-%d+ are live.-%d+ were cached" then
      message = why
    end
    collectgarbage()
    collectgarbage()
    eventually(check)
    eventually(multiply)
  end
  assert(message, "no error said how much was asked, live and cached")
  return (message:gsub("\n.*", ""):gsub("^.-%d: ", ""))
end
