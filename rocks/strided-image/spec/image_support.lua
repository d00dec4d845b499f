--- Helpers of the specs: pictures on disk, comparisons, failures.

local st = require "strided"

local M = {}

local HERE = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"

function M.path(name) return HERE .. "/data/" .. name end

function M.read(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read "*a"
  file:close()
  return text
end

function M.write(path, text)
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
end

function M.bytes(name) return M.read(M.path(name)) end

--- What Pillow reads in a picture, as (C, H, W) of int64.
function M.expected(name)
  local text = M.read(M.path(name:gsub("%.%w+$", ".txt")))
  local width, height, rest = text:match "^%S+ (%d+) (%d+)\n(.*)$"
  local list = {}
  for n in rest:gmatch "%d+" do list[#list + 1] = tonumber(n) end
  return st.tensor(list, {dtype = "int64"})
    :view(tonumber(height), tonumber(width), -1):permute(3, 1, 2)
end

--- The greatest distance of two tensors of one shape.
function M.distance(a, b)
  assert(a.shape == b.shape, tostring(a.shape) .. " " .. tostring(b.shape))
  return (a:to "float64" - b:to "float64"):abs():max():item()
end

function M.shape(t) return table.concat(t.shape, " ") end
function M.strides(t) return table.concat(t:stride(), " ") end

--- Bytes that look random: a linear congruential generator.
function M.noise(...)
  local n = 1
  for _, size in ipairs {...} do n = n * size end
  local list, x = {}, 7
  for i = 1, n do
    x = (x * 1103 + 12345) % 65536
    list[i] = math.floor(x / 256)
  end
  return st.tensor(list, {dtype = "uint8"}):view(...)
end

--- A picture (C, H, W) of bytes over memory of H x W x C.
function M.picture(channels, height, width)
  return M.noise(height, width, channels):permute(3, 1, 2)
end

function M.fails(text, fn, ...)
  local ok, why = pcall(fn, ...)
  assert(not ok, "it does not fail")
  why = tostring(why)
  assert(why:find(text, 1, true),
         ("expected a failure with '%s', got %s"):format(text, why))
end

local function live()
  if rawget(_G, "jit") then _G.jit.flush() end
  for _ = 1, 3 do collectgarbage() end
  local m = st.memory()
  return m.tensors.count .. " tensors, " .. m.storages.count .. " storages"
end

--- fn leaves no tensor, also when its k-th allocation fails, for k = 1, 2 ...
function M.leaks_nothing(fn)
  fn()
  local before = live()
  for k = 1, 300 do
    st.memory_fail_at(k)
    local ok, why = pcall(fn)
    local left = st.memory_fail_at(0)
    why = tostring(why)
    assert(ok or why:find("memory", 1, true), why)
    local after = live()
    assert(before == after, before .. " became " .. after)
    if ok and left > 0 then return k end
  end
  error "this looks endless"
end

return M
