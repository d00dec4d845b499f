--- Makes short lists of points out of long tensors.
--
-- Points are in units of the axes: from 0 to 1 where they are visible. A line
-- of many points is drawn by the first, the least, the greatest and the last
-- point of each column of pixels, which gives the same pixels; points in one
-- cell of a grid are one point. So a picture has a size that does not depend
-- on the number of points.
--
-- @module strided.plot.path

local abs, floor, huge, max, min, require = math.abs, math.floor, math.huge,
  math.max, math.min, require

local THINNED = 20000 -- points of a line that goes back and forth

local path = {}

local function st() return require "strided" end

-- -- Lines -------------------------------------------------------------------

--- For columns 1 .. n of the column of each point, which do not decrease: the
-- index of the first point, and of the first one of the next column.
local function bounds(column, n)
  local keys = st().arange(1, n + 2)
  local from = st().searchsorted(column, keys)
  return from:narrow(1, 1, n):totable(), from:narrow(1, 2, n):totable()
end

--- The points of a long line from left to right, in n columns.
local function by_columns(u, v, n)
  local column = u:mul(n):floor():clamp(-1, n):to("int64"):add(2)
  local bad = v:isfinite():logical_not()
  local function extreme(value, how)
    return st().full({n + 2}, value, {dtype = "float64"}):scatter_reduce(
      1, column, v:masked_fill(bad, value), how):totable()
  end
  local low, high = extreme(huge, "amin"), extreme(-huge, "amax")
  local first, after = bounds(column, n + 2)
  local us, vs, k = {}, {}, 0
  local function put(x, y)
    k = k + 1
    us[k], vs[k] = x, y
  end
  for c = 1, n + 2 do
    local i, j = first[c], after[c] - 1
    if i <= j and low[c] == huge then
      put(us[k] or 0, 0 / 0)
    elseif i <= j then
      local middle = min(max((c - 1.5) / n, u[i]), u[j])
      if v[i] == v[i] then put(u[i], v[i]) end
      if low[c] < high[c] then
        put(middle, low[c])
        put(middle, high[c])
      end
      if j > i and v[j] == v[j] then put(u[j], v[j]) end
    end
  end
  return us, vs
end

--- Two lists, the points of a line; NaN where it has a gap.
-- @param u a tensor
-- @param v a tensor
-- @tparam integer n columns of pixels
-- @tparam boolean is_sorted u is known to increase
function path.line(u, v, n, is_sorted)
  local size = u:numel()
  if size <= 4 * n then return u:totable(), v:totable() end
  if not is_sorted then
    local fine = u:isfinite()
    if not fine:all():item() then
      u, v = u:masked_select(fine), v:masked_select(fine)
      size = u:numel()
    end
    is_sorted = size < 2 or
      u:narrow(1, 2, size - 1):ge(u:narrow(1, 1, size - 1)):all():item()
  end
  if is_sorted and size > 0 then return by_columns(u, v, n) end
  local step = floor((size + THINNED - 1) / THINNED)
  if step > 1 then
    local kept = floor((size + step - 1) / step)
    u, v = u:as_strided({kept}, {step * u:stride(1)}, u:storage_offset()),
           v:as_strided({kept}, {step * v:stride(1)}, v:storage_offset())
  end
  return u:totable(), v:totable()
end

--- The part of a segment inside of the square from 0 to 1, or nothing (Liang
-- and Barsky).
local function clip(x0, y0, x1, y1)
  local from, to = 0, 1
  local dx, dy = x1 - x0, y1 - y0
  local function cut(step, room)
    if step == 0 then return room >= 0 end
    local t = room / step
    if step < 0 then from = max(from, t) else to = min(to, t) end
    return from <= to
  end
  if cut(-dx, x0) and cut(dx, 1 - x0) and cut(-dy, y0) and cut(dy, 1 - y0) then
    local a, b, c, d = x0, y0, x1, y1 -- exactly, so that runs are found
    if from > 0 then a, b = x0 + from * dx, y0 + from * dy end
    if to < 1 then c, d = x0 + to * dx, y0 + to * dy end
    return a, b, c, d
  end
end

--- The visible runs of a line: lists {u1, v1, u2, v2, ...}. A point between
-- two gaps is a run of one.
function path.runs(us, vs)
  local runs, run = {}, nil
  local x, y -- the point before, if it is no gap
  local is_alone = false
  local function finish()
    if is_alone and x >= 0 and x <= 1 and y >= 0 and y <= 1 then
      runs[#runs + 1] = {x, y}
    end
    run, x, y, is_alone = nil, nil, nil, false
  end
  for i = 1, #us do
    local u, v = us[i], vs[i]
    if u ~= u or v ~= v or abs(u) == huge or abs(v) == huge then
      finish()
    elseif not x then
      x, y, is_alone = u, v, true
    else
      is_alone = false
      local a, b, c, d = clip(x, y, u, v)
      if a then
        if not run or a ~= x or b ~= y then
          run = {a, b}
          runs[#runs + 1] = run
        end
        run[#run + 1], run[#run + 2] = c, d
        if c ~= u or d ~= v then run = nil end
      else
        run = nil
      end
      x, y = u, v
    end
  end
  finish()
  return runs
end

-- -- Points ------------------------------------------------------------------

--- The visible points, as two lists; many ones as the cells of a grid of n
-- columns and m rows that they are in.
function path.points(u, v, n, m)
  local seen = u:ge(0):logical_and(u:le(1)):logical_and(v:ge(0))
    :logical_and(v:le(1))
  u, v = u:masked_select(seen), v:masked_select(seen)
  if u:numel() <= n * m / 8 then return u:totable(), v:totable() end
  local function place(t, k)
    return t:mul(k):floor():clamp(0, k - 1):to("int64")
  end
  local cell = place(v, m):mul(n):add(place(u, n)):add(1)
  local grid = st().zeros({n * m}, {dtype = "bool"})
  grid:index_fill_(1, cell, true)
  local found = grid:nonzero():reshape(-1):sub(1)
  local row = found:div(n, {rounding_mode = "floor"})
  return found:sub(row:mul(n)):to("float64"):add(0.5):div(n):totable(),
         row:to("float64"):add(0.5):div(m):totable()
end

return path
