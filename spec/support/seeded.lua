--- What busted runs before the specs: random numbers are the same in every run.
-- A spec may seed again; a process that a spec starts has to. The build with
-- ThreadSanitizer has no binding.

local busted = require "busted"

if not os.getenv "STRIDED_TSAN" then
  require("strided").manual_seed(67280421310721)
end

-- After a file busted forgets the modules that it has loaded. Those of strided
-- stay: one that is loaded again has other classes and tables than st has.
local kept = {}

busted.subscribe({"file", "end"}, function()
  for name, module in pairs(package.loaded) do
    if name:find "^strided%f[%z.]" then kept[name] = module end
  end
  return nil, true
end)

busted.subscribe({"file", "start"}, function()
  for name, module in pairs(kept) do package.loaded[name] = module end
  return nil, true
end)
