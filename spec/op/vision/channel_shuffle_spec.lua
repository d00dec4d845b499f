--- channel_shuffle: channels of groups in turn.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local near, raises = tensors.near, tensors.raises

describe("channel_shuffle", function()
  it("takes a channel of each group in turn", function()
    local x = st.arange(12):reshape(1, 6, 2)
    local want = {{{0, 1}, {4, 5}, {8, 9}, {2, 3}, {6, 7}, {10, 11}}}
    near(want, st.channel_shuffle(x, 3))
    near(want, st.native_channel_shuffle(x, 3))
    near(x, st.channel_shuffle(st.channel_shuffle(x, 3), 2))
  end)

  it("keeps the layout of images", function()
    local x = st.rand(2, 4, 3, 2):contiguous {memory_format = "channels_last"}
    local y = st.channel_shuffle(x, 2)
    assert.same(x:stride(), y:stride())
    near(x:select(2, 3), y:select(2, 2))
    assert.same({0, 4, 2}, st.channel_shuffle(st.empty(0, 4, 2), 2):size())
  end)

  it("refuses groups that do not divide the channels", function()
    raises("groups must be positive and divide the channels of self, 6, but "
           .. "is 4", st.channel_shuffle, st.ones(1, 6, 2), 4)
    raises("self must have 3 dimensions or more", st.channel_shuffle,
           st.ones(6, 2), 2)
  end)
end)
