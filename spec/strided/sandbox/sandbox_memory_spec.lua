--- What a script keeps is charged to the memory limit of its sandbox: the
-- process grows by little more than the limit, whatever it is.
-- axes: unsanitized

local build = require "spec.support.build"

local WAYS = {
  "tensors", "elements", "views", "gradients", "graphs", "contexts", "fused",
  "capsules", "operators", "elementwise", "derivatives", "kernels", "profiles",
  "plans", "generators", "philox", "layers", "optimizers", "bytes", "csv",
  "scopes",
}

-- With STRIDED_WHOLE: 32 MB.
local LIMIT = os.getenv "STRIDED_WHOLE" and 2 ^ 25 or 2 ^ 23

describe("The memory of a script that keeps", function()
  for _, way in ipairs(WAYS) do
    it(way .. " is limited", function()
      local text = build.output(("LUA_PATH='%s' LUA_CPATH='%s' %s "
        .. "'%s/spec/strided/sandbox/kept.lua' %s %d"):format(
          package.path, package.cpath, build.lua, build.root, way, LIMIT))
      local n, used, grown, _, ok, why =
        text:match "^(%d+) (%d+) (%d+) (%d+) (%a+) (.*)\n$"
      assert.equal("false", ok, text)
      assert.truthy(why:find(("the limit here is %d"):format(LIMIT)), text)
      assert.is_true(tonumber(n) > 50, text)
      assert.is_true(tonumber(used) <= LIMIT, text)
      -- Lua's own objects are not charged: four times the limit is for these,
      -- and 16 MB for what the process uses at all.
      assert.is_true(tonumber(grown) < 5 * LIMIT + 2 ^ 24, text)
    end)
  end
end)
