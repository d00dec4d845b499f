--- Calls of other specs, made again in functions of st.fuse: ./dev recorded, of
-- which these specs are a sample.
-- axes: unsanitized

local build = require "spec.support.build"

local SAMPLE = {
  "op/elementwise/fmod", "op/nn/loss", "op/nn/ctc_loss",
  "op/nn/functional_layers", "op/reduce/nan_functions", "op/numeric/sets",
  "op/numeric/statistics", "op/shape/shape", "op/shape/view_copy",
  "op/index/unravel_segments", "op/index/scatter_reduce",
  "op/index/masked_index",
}

describe("The calls of other specs", function()
  it("do the same in recorded functions", function()
    local files = {}
    for i, name in ipairs(SAMPLE) do
      files[i] = ("spec/%s_spec.lua"):format(name)
    end
    local text = build.output("cd '" .. build.root .. "' && " ..
                              "STRIDED_RECORDED_ALIKE=1000 luajit " ..
                              "spec/support/recorded/run.lua " ..
                              table.concat(files, " "))
    local calls, recorded = text:match "(%d+) calls, (%d+) recorded"
    assert.matches(", 0 different\n", text)
    assert.is_true(tonumber(calls) > 6500, text)
    assert.is_true(tonumber(recorded) > 6000, text)
    assert.is_nil(text:find("not finished", 1, true), text)
  end)
end)
