--- Memory formats: which layouts have one, who keeps it, and who asks for it
-- (M1 to M7). The vectors of conformance_spec have many more layouts.
-- axes: lua

local failure = require("spec.support.tensors").failure
local st = require "strided"

local CL, CL3 = "channels_last", "channels_last_3d"

local function strided(size, stride) return st.empty_strided(size, stride) end

describe("A memory format", function()
  it("lays out a new tensor (M1)", function()
    assert.same({60, 1, 15, 3},
                st.empty({2, 3, 4, 5}, {memory_format = CL}):stride())
    assert.same({360, 1, 90, 18, 3},
                st.empty({2, 3, 4, 5, 6}, {memory_format = CL3}):stride())
  end)

  -- format, a shape that cannot have it, what the error says
  for _, row in ipairs {
    {CL, {2, 3}, "channels_last needs 4 dimensions"},
    {CL, {1, 2, 3, 4, 5}, "channels_last needs 4 dimensions"},
    {CL3, {2, 3, 4, 5}, "channels_last_3d needs 5 dimensions"},
  } do
    it(("%s is for its number of dimensions, not %d (M1)"):format(
       row[1], #row[2]), function()
      assert.matches(row[3], failure(st.empty, row[2],
                                     {memory_format = row[1]}))
    end)
  end

  it("to be contiguous in is not that of self (M2)", function()
    assert.matches("must not be preserve_format", failure(function()
      st.ones(2, 3):contiguous {memory_format = "preserve_format"}
    end))
  end)

  it("is told by strides, not by contiguity alone (M4)", function()
    local x = st.empty({1, 3, 32, 32}, {memory_format = CL})
    local row = x[{1}]:unsqueeze(1)
    assert.same({3, 1, 96, 3}, row:stride())
    assert.is_true(row:is_contiguous {memory_format = CL})
    assert.equal("contiguous_format", tostring(row:suggest_memory_format()))
    assert.equal(CL, tostring(x:suggest_memory_format()))
  end)

  it("of an ambiguous tensor is kept by clone alone (M6)", function()
    local x = strided({2, 3, 1, 1}, {3, 1, 3, 3})
    assert.same({3, 1, 1, 1}, x:relu():stride())
    assert.same({3, 1, 3, 3}, x:clone():stride())
  end)

  it("may be given to resize_, which keeps the elements (M7)", function()
    local x = st.arange(6)
    local address = x:data_ptr()
    assert.same({0, 1}, x:resize_(2):totable())
    assert.equal(address, x:data_ptr())
    assert.same({0, 1, 2, 3, 4, 5}, x:resize_(2, 4):view(8)["1:6"]:totable())
    x = st.empty(2, 3, 4, 5):resize_({2, 3, 4, 4}, {memory_format = CL})
    assert.same({48, 1, 12, 3}, x:stride())
    assert.matches("must not be preserve_format", failure(function()
      x:resize_({2}, {memory_format = "preserve_format"})
    end))
  end)
end)
