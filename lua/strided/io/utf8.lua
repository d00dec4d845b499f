--- Validates UTF-8, the encoding of names in .npz and .safetensors files.
--
-- @module strided.io.utf8

-- well-formed UTF-8, by the first byte
local SEQUENCES = {
  "^[%z\1-\127]+()", "^[\194-\223][\128-\191]()",
  "^\224[\160-\191][\128-\191]()", "^[\225-\236][\128-\191][\128-\191]()",
  "^\237[\128-\159][\128-\191]()", "^[\238\239][\128-\191][\128-\191]()",
  "^\240[\144-\191][\128-\191][\128-\191]()",
  "^[\241-\243][\128-\191][\128-\191][\128-\191]()",
  "^\244[\128-\143][\128-\191][\128-\191]()",
}

local utf8 = {}

--- True if s is well-formed UTF-8. Overlong forms and surrogates are not.
-- @tparam string s
-- @treturn boolean
function utf8.is_valid(s)
  local at = 1
  while at <= #s do
    local stop
    for i = 1, #SEQUENCES do
      stop = stop or s:match(SEQUENCES[i], at)
    end
    if not stop then return false end
    at = stop
  end
  return true
end

return utf8
