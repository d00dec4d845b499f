--- Numbers of a profile as short texts.
--
-- @module strided.profile.units

local abs, format, ipairs = math.abs, string.format, ipairs

local units = {}

--- Three digits.
local function digits(x)
  local size = abs(x)
  return format(size < 9.995 and "%.2f" or size < 99.95 and "%.1f" or "%.0f", x)
end

--- A text with the first unit in which x is below 1000.
local function scaled(x, names, least)
  for i, name in ipairs(names) do
    if abs(x) < 999.5 or not names[i + 1] then
      return (i == 1 and least or digits)(x) .. " " .. name
    end
    x = x / 1000
  end
end

--- "1.23 ms" of seconds.
function units.seconds(x) return scaled(x * 1e9, {"ns", "us", "ms", "s"},
                                        function(n)
    return format("%.0f", n)
  end)
end

--- "1.23 MB" of bytes; "" for none.
function units.bytes(x)
  if x == 0 then return "0" end
  return scaled(x, {"B", "KB", "MB", "GB", "TB"}, function(n)
    return format("%.0f", n)
  end)
end

--- "12345", and "1.23 M" from ten millions on.
function units.count(n)
  return n < 1e7 and format("%.0f", n) or digits(n / 1e6) .. " M"
end

return units
