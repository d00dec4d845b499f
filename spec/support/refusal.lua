--- A file that is no good: it is refused by its name and with a reason, and
-- nothing is allocated for what it claims to have.

local assert = require "luassert"
local st = require "strided"

--- @param why a text of the reason; a pattern where is_pattern says so
return function(path, why, is_pattern)
  local data = st.memory().data
  local ok, message = pcall(st.load, path)
  assert.is_false(ok)
  assert.truthy(message:find(why, 1, not is_pattern), message)
  assert.truthy(message:find("load: cannot load '" .. path, 1, true), message)
  assert.is_true(st.memory().data.peak <= math.max(data.peak,
                                                   data.bytes + 4096))
end
