--- Replaces a file by what a function writes, when all of it is on the disk.
--
-- @module strided.io.replace

local core = require "strided.core"

local pcall = pcall

local text_of = require "strided.io.failure".refusal

--- Calls write(file); the file at the path is the old one until that returns
-- true.
-- @tparam string path
-- @tparam function write returns true, or nil and an error message
-- @return true, or nil and an error message
return function(path, write)
  local file, why = core.open_aside(path)
  if not file then return nil, why end
  local ok, done, reason = pcall(write, file)
  if ok and done then done, reason = file:commit() end
  file:abort()
  if not ok then return nil, text_of(done) end
  return done, reason
end
