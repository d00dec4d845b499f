--- Arrow's C data interface: arrays shared in both directions.
-- axes: lua ffi

local st = require "strided"

local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local has_ffi, ffi = pcall(require, "ffi")

local before

describe("An Arrow array", function()
  setup(function() before = live() end)

  it("needs addresses", function()
    local t = st.ones(2)
    raises("to_arrow: argument 'schema' must be an address, got string",
           t.to_arrow, t, "x", "y")
    raises("from_arrow: argument 'schema' must be an address, got nil",
           st.from_arrow)
    raises("from_arrow: there is no option 'masks'", st.from_arrow, nil, nil,
           {masks = true})
  end)

  if not has_ffi then return end

  ffi.cdef [[
  struct ArrowSchema {
    const char *format, *name, *metadata;
    int64_t flags, n_children;
    struct ArrowSchema **children, *dictionary;
    void (*release)(struct ArrowSchema *);
    void *private_data;
  };
  struct ArrowArray {
    int64_t length, null_count, offset, n_buffers, n_children;
    const void **buffers;
    struct ArrowArray **children, *dictionary;
    void (*release)(struct ArrowArray *);
    void *private_data;
  };
  ]]

  local function export(t)
    local schema, array = ffi.new "struct ArrowSchema",
                          ffi.new "struct ArrowArray"
    t:to_arrow(schema, array)
    return schema, array
  end

  local function release(...)
    for _, structure in ipairs {...} do
      structure.release(structure)
      assert.is_true(structure.release == nil)
    end
  end

  -- the formats of the specification, dtypes
  for _, row in ipairs {
    {"c", "int8"}, {"C", "uint8"}, {"s", "int16"}, {"S", "uint16"},
    {"i", "int32"}, {"I", "uint32"}, {"l", "int64"}, {"L", "uint64"},
    {"e", "float16"}, {"f", "float32"}, {"g", "float64"}, {"b", "bool"},
  } do
    it("has the format " .. row[1] .. " for " .. row[2], function()
      local t = st.tensor({1, 0, 1}, {dtype = row[2]})
      local schema, array = export(t)
      assert.equal(row[1], ffi.string(schema.format))
      assert.equal(3, tonumber(array.length))
      assert.equal(0, tonumber(array.null_count))
      assert.equal(2, tonumber(array.n_buffers))
      local u = st.from_arrow(schema, array)
      assert.is_true(schema.release == nil and array.release == nil)
      assert.equal(row[2], tostring(u.dtype))
      assert.is_true(u:equal(t))
      if row[2] ~= "bool" then
        t[2] = 1
        assert.is_true(u:equal(t)) -- the same memory
      end
    end)
  end

  it("is its elements as C sees them", function()
    local t = st.tensor({1, 2, 3, 4}, {dtype = "int32"}):slice(1, 2, 4)
    local schema, array = export(t)
    local p = ffi.cast("const int32_t *", array.buffers[1])
    assert.same({2, 3, 4}, {p[0], p[1], p[2]})
    assert.is_true(array.buffers[0] == nil)
    release(schema, array)
    local bools = st.tensor {true, false, false, true, true, false, false,
                             false, true}
    schema, array = export(bools)
    p = ffi.cast("const uint8_t *", array.buffers[1])
    assert.same({1 + 8 + 16, 1}, {p[0], p[1]}) -- the lowest bit first
    release(schema, array)
  end)

  it("outlives the tensor that it was made of", function()
    local schema, array = export(st.tensor({5, 6}, {dtype = "float64"}))
    collectgarbage()
    collectgarbage()
    assert.equal(6, ffi.cast("const double *", array.buffers[1])[1])
    release(schema, array)
  end)

  it("has an offset and nulls", function()
    local schema, array = export(st.tensor({1, 2, 3, 4}, {dtype = "int64"}))
    local bits = ffi.new("uint8_t[1]", 0xb) -- all but the third
    array.offset, array.length, array.null_count = 1, 3, -1
    array.buffers[0] = bits
    raises("the array has nulls, which a tensor has not", st.from_arrow,
           schema, array)
    local t, mask = st.from_arrow(schema, array, {mask = true})
    assert.same({2, 3, 4}, t:totable())
    assert.same({true, false, true}, mask:totable())
    schema, array = export(st.tensor {true, true, false, true})
    array.offset, array.length = 1, 3
    t, mask = st.from_arrow(schema, array, {mask = true})
    assert.same({true, false, true}, t:totable())
    assert.same({true, true, true}, mask:totable())
  end)

  it("may be empty", function()
    local schema, array = export(st.ones(0))
    assert.same({}, st.from_arrow(schema, array):totable())
  end)

  it("is refused where it is none of numbers", function()
    local schema, array = export(st.ones(2))
    schema.format = "u"
    raises("the format 'u' is none of numbers", st.from_arrow, schema, array)
    schema.format = "g"
    array.n_buffers = 1
    raises("the array is malformed", st.from_arrow, schema, array)
    array.n_buffers, array.length = 2, -1
    raises("the array is malformed", st.from_arrow, schema, array)
    array.length, array.offset = 1, 0
    schema.format = "f"
    release(array)
    raises("the array has been released", st.from_arrow, schema, array)
    release(schema)
    raises("the schema has been released", st.from_arrow, schema, array)
    raises("'schema' has 8 bytes, not 72", st.from_arrow,
           ffi.new "char *[1]", array)
  end)

  it("is refused where pointers are NULL", function()
    local schema, array = export(st.ones(2))
    local letter, buffers = schema.format, array.buffers
    schema.format = nil
    raises("the schema has no format", st.from_arrow, schema, array)
    schema.format, array.buffers = letter, nil
    raises("the array is malformed", st.from_arrow, schema, array)
    array.length = 0
    raises("the array is malformed", st.from_arrow, schema, array)
    array.buffers = buffers
    raises("'schema' is NULL", st.from_arrow,
           ffi.cast("struct ArrowSchema *", 0), array)
    release(schema, array)
  end)

  it("is not made of other tensors", function()
    for _, row in ipairs {
      {st.ones(2, 2), "an array has one dimension, the tensor has 2"},
      {st.ones(4):slice(1, 1, 4, 2), "the elements are not next to each other"},
      {st.ones({2}, {dtype = "complex64"}), "Arrow has no complex64"},
      {st.ones({2}, {requires_grad = true}), "to_arrow: "},
    } do
      raises(row[2], export, row[1])
    end
  end)

  it("leaves nothing behind", function()
    assert.equal(before, live())
  end)
end)
