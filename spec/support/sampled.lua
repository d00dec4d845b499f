--- A helper of busted that leaves tests out: of each N tests of a file, one
-- runs. STRIDED_SAMPLED is N and the number of the pass: passes run different
-- ones.

local busted = require "busted"

local every, place = os.getenv("STRIDED_SAMPLED"):match "^(%d+) (%d+)$"
every, place = tonumber(every), tonumber(place)

busted.subscribe({"register", "it"}, function() return nil, false end, {
  priority = 1,
  predicate = function()
    place = place + 1
    return place % every ~= 0
  end,
})
