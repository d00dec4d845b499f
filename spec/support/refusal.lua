--- Asserts that loading an invalid file fails with an error that names the file
-- and the reason, and allocates no memory for the sizes that it claims.

local assert = require "luassert"
local st = require "strided"

--- @param why part of the reason, or a pattern if is_pattern is true
return function(path, why, is_pattern)
  local data = st.memory().data
  local ok, message = pcall(st.load, path)
  assert.is_false(ok)
  assert.truthy(message:find(why, 1, not is_pattern), message)
  assert.truthy(message:find("load: cannot load '" .. path, 1, true), message)
  assert.is_true(st.memory().data.peak <= math.max(data.peak,
                                                   data.bytes + 4096))
end
