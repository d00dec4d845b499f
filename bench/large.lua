--- Runs operators on tensors of more than 2^31 elements and compares values
-- with what is known. It takes up to 7 GiB of memory. The times are those of
-- the processors together, and include that of the system for new memory.
--
--     ./dev bench large [N]
--
-- N is the number of elements (2^31 + 1021).

local format, ipairs, print = string.format, ipairs, print

local large = {}

local PERIOD = 7

--- Checks of t, n bytes that count from 0 to 6 again and again: what it is,
-- what is computed, what is expected.
local function checks(n, t)
  local last = (n - 1) % PERIOD
  local whole, rest = (n - n % PERIOD) / PERIOD, n % PERIOD
  local total = whole * 21 + rest * (rest - 1) / 2
  local function ends(u) -- the first element and the last two
    return format("%d %d %d", u[1], u[n - 1], u[n])
  end
  local function counted(k)
    return format("%d %d %d", k, (n - 2) % PERIOD + k, last + k)
  end
  return {
    {"numel", function() return t:numel() end, n},
    {"elements", function() return ends(t) end, counted(0)},
    {"sum", function() return t:sum():item() end, total},
    {"add_", function() return ends(t:add_(3)) end, counted(3)},
    {"sum after add_", function() return t:sum():item() end, total + 3 * n},
    {"sub_", function() return ends(t:sub_(3)) end, counted(0)},
    {"max", function() return t:max():item() end, PERIOD - 1},
    {"copy of a slice", function()
      local part = t:slice(1, n - 9, n):clone()
      return part:numel() * 100 + part[10]
    end, 1000 + last},
    {"copy of all but one", function()
      local copy = t:slice(1, 2, n):clone()
      return format("%d %d", copy[1], copy[n - 1])
    end, format("1 %d", last)},
    {"copy of every second", function()
      local copy = t:slice(1, 1, n, 2):clone()
      local size = math.ceil(n / 2)
      return format("%d %d", copy:numel(), copy[size])
    end, format("%d %d", math.ceil(n / 2),
                (math.ceil(n / 2) * 2 - 2) % PERIOD)},
    {"eq, count", function() return t:eq(6):sum():item() end,
     rest > 6 and whole + 1 or whole},
    {"fill_ of the last", function()
      t:slice(1, n, n):fill_(99)
      return format("%d %d", t[n], t:argmax():item())
    end, format("99 %d", n)},
  }
end

function large.main(words)
  local st = require "strided"
  local n = tonumber(words[1] or 2 ^ 31 + 1021)
  if not n or n < PERIOD then
    error(format("not a number of elements, at least %d: %s", PERIOD,
                 words[1]), 0)
  end
  local t = st.empty(n, {dtype = "uint8"})
  local block = st.arange(0, PERIOD, {dtype = "uint8"})
  t:slice(1, 1, n - n % PERIOD):view(-1, PERIOD):copy_(block)
  if n % PERIOD > 0 then
    t:slice(1, n - n % PERIOD + 1, n):copy_(block:slice(1, 1, n % PERIOD))
  end
  local wrong = 0
  print(format("uint8, %.0f elements", n))
  for _, check in ipairs(checks(n, t)) do
    local start = os.clock()
    local ok, value = pcall(check[2])
    local ns = (os.clock() - start) / n * 1e9
    local is_right = ok and tostring(value) == tostring(check[3])
    if not is_right then wrong = wrong + 1 end
    print(format("  %-22s %8.4f ns each  %s", check[1], ns, is_right and "right"
                 or format("WRONG %s, not %s", tostring(value),
                           tostring(check[3]))))
    collectgarbage()
  end
  print(format("%d wrong", wrong))
  if wrong > 0 then error("wrong values beyond 2^31 elements", 0) end
end

return large
