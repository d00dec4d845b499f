--- Saves tensors of one number each over a file, until it is killed or cannot.
--
--     saving.lua PATH ELEMENTS TIMES
--
-- A tensor whose elements all differ from those of the last one shows whether
-- a file is from one save. Prints the error, if one comes.

local st = require "strided"

local path, elements, times = arg[1], tonumber(arg[2]), tonumber(arg[3])

io.stdout:setvbuf "no"
for i = 1, times do
  local t = st.full({elements}, i)
  io.stdout:write "saving\n"
  local ok, why = pcall(st.save, path, t)
  if not ok then
    print(why)
    os.exit(3)
  end
  io.stdout:write "saved\n"
end
