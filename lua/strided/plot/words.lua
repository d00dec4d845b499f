--- Texts of plots: their widths, and what fits.
--
-- @module strided.plot.words

local byte, concat, find, gmatch, gsub, sub = string.byte, table.concat,
  string.find, string.gmatch, string.gsub, string.sub

local words = {}

--- A text without what XML forbids: control characters, and bytes that are no
-- UTF-8.
function words.clean(text)
  text = gsub(text, "%c", " ")
  if not find(text, "[\128-\255]") then return text end
  local out, i = {}, 1
  while i <= #text do
    local b = byte(text, i)
    local n = b < 128 and 1 or b >= 240 and b < 245 and 4 or
              b >= 224 and b < 240 and 3 or b >= 194 and b < 224 and 2 or 0
    local part = sub(text, i, i + n - 1)
    if n == 1 or n > 1 and #part == n and
       find(part, "^[\194-\244][\128-\191]+$") and
       not find(part, "^\224[\128-\159]") and
       not find(part, "^\237[\160-\191]") and
       not find(part, "^\240[\128-\143]") and
       not find(part, "^\244[\144-\191]") and
       not find(part, "^\239\191[\190\191]") then
      out[#out + 1] = part
      i = i + n
    else
      out[#out + 1] = "?"
      i = i + 1
    end
  end
  return concat(out)
end

--- The number of characters.
function words.length(text) return #gsub(text, "[\128-\191]", "") end

--- About the width of a text in pixels.
function words.width(text, em)
  local narrow = #gsub(text, "[^%.,:;'|il!%s]", "")
  local wide = #gsub(text, "[^mwMW@%%]", "")
  return (0.6 * words.length(text) - 0.25 * narrow + 0.3 * wide) * em
end

--- A text of at most n characters: a longer one ends with an ellipsis.
function words.shorten(text, n)
  if words.length(text) <= n then return text end
  local out = {}
  for character in gmatch(words.clean(text), "[%z\1-\127\194-\244][\128-\191]*")
  do
    if #out >= n - 1 then break end
    out[#out + 1] = character
  end
  return concat(out) .. "…"
end

--- Lines of at most n characters, at most `most` of them.
function words.wrap(text, n, most)
  local lines, line = {}, nil
  for word in gmatch(text or "", "%S+") do
    if line and words.length(line) + 1 + words.length(word) > n then
      lines[#lines + 1], line = line, nil
    end
    line = line and line .. " " .. word or word
  end
  lines[#lines + 1] = line
  if #lines > most then
    lines[most] = words.shorten(concat(lines, " ", most), n)
    for i = most + 1, #lines do lines[i] = nil end
  end
  for i = 1, #lines do lines[i] = words.shorten(lines[i], n) end
  return lines
end

return words
