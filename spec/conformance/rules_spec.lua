--- The rules by which the replay accepts what differs from PyTorch: each takes
-- the cases that it is for, with the right answer, and no others.
-- axes: isa

local api = require "spec.conformance.api"
local changes = require "spec.conformance.changes"
local deviations = require "spec.conformance.deviations"
local given = require "spec.conformance.arguments"
local live = require("spec.support.tensors").live
local overlap = require "spec.conformance.overlap"
local reader = require "spec.conformance.reader"
local replay = require "spec.conformance.replay"
local st = require "strided"

local OVERLAP = [=[{"id":"y-1","op":"aten::copy_","args":[{"dtype":"int32",
"shape":[3],"strides":[1],"offset":1,"storage_id":1,"storage":[1,2,3,4]},
{"dtype":"int32","shape":[3],"strides":[1],"offset":0,"storage_id":1}],
"kwargs":{},"error":"partial_overlap","message":"unsupported operation"}]=]

local function case(text, change)
  local c = reader.decode(text)
  if change then change(c) end
  return c
end

local function verdict(c)
  local ok, why, by_design = replay.check(c)
  return ok == nil and by_design and "by design" or ok, why
end

describe("The rule for overlap", function()
  local before

  setup(function() before = live() end)

  it("takes what PyTorch refuses and is right on copies", function()
    assert.equal("by design", verdict(case(OVERLAP)))
  end)

  it("does not take another error", function()
    local ok, why = verdict(case(OVERLAP, function(c) c.error = "dtype" end))
    assert.is_false(ok)
    assert.equal("should have raised dtype", why)
  end)

  it("does not take tensors that share nothing", function()
    local ok, why = verdict(case(OVERLAP, function(c)
      c.args[2].storage_id, c.args[2].storage = 2, {1, 2, 3}
    end))
    assert.is_false(ok)
    assert.equal("should have raised partial_overlap", why)
  end)

  it("does not take an answer where PyTorch would have seen it", function()
    local ok, why = verdict(case(OVERLAP, function(c)
      c.error, c.expect = nil, {out = {{
        dtype = "int32", shape = {3}, strides = {1}, offset = 0,
        storage = {1, 1, 1}}}}
    end))
    assert.is_false(ok)
    assert.equal("result 1: element 1 is 2, should be 1", why)
  end)

  it("takes PyTorch's wrong answer for tensors with gaps", function()
    assert.equal("by design", verdict(case(OVERLAP, function(c)
      for i = 1, 2 do c.args[i].shape, c.args[i].strides = {2}, {2} end
      c.args[1].shape, c.args[1].strides, c.args[1].offset = {2}, {2}, 0
      c.args[2].strides = {0}
      c.args[1].storage = {7, 2, 3, 4}
      c.args[2].offset = 2
      c.error, c.expect = nil, {out = {{
        dtype = "int32", shape = {2}, strides = {2}, offset = 0,
        storage = {3, 0, 9}}}}
    end)))
  end)

  -- An operator that copies in order, so that it reads what it has written.
  local function with_naive_copy(body)
    local lib = st.library("naive", "DEF")
    lib:def "copy(Tensor(a!) self, Tensor src) -> Tensor(a!)"
    lib:impl("copy", "CPU", function(self, src)
      for i = 1, tonumber(self:numel()) do
        self:select(1, i):copy_(src:select(1, i):clone())
      end
      return self
    end)
    local ok, why = pcall(body)
    lib:close()
    assert(ok, why)
  end

  it("sees an operator that reads what it has written", function()
    with_naive_copy(function()
      local c, op = case(OVERLAP), api.operator "naive::copy"
      local ok, why = overlap.as_on_copies(function(apart)
        local seen = given.new(nil, apart)
        local args = given.of_call(seen, op, c.args, {})
        return seen, function() return api.call("naive::copy", args) end,
               overlap.operands(op, args)
      end)
      assert.is_false(ok)
      assert.equal("result 1 is not what it is on copies", why)
    end)
  end)

  it("sees memory beside the output that changed", function()
    local function make(apart)
      local base = st.tensor {1, 2, 3, 4}
      local out = base:narrow(1, 1, 2)
      local seen = {tensors = {{tensor = out, storage = {
        tensor = base, n = 4, dtype = "int64",
        bytes = require("strided.core").get_bytes(base, 0, 32)}}}}
      return seen, function()
        out:fill_(9)
        if not apart then base:select(1, 4):fill_(0) end
        return out
      end, {out}, {}
    end
    local ok, why = overlap.as_on_copies(make)
    assert.is_false(ok)
    assert.equal("memory is not what it is on copies", why)
  end)

  local RELATIONS = { -- two views of six elements, what they share
    {{{6}, {1}, 0}, {{6}, {1}, 0}, "same"},
    {{{2, 3}, {3, 1}, 0}, {{6}, {1}, 0}, "same"},
    {{{2, 3}, {3, 1}, 0}, {{3, 2}, {1, 3}, 0}, "part"},
    {{{3}, {2}, 0}, {{3}, {2}, 1}, false},
    {{{3}, {1}, 0}, {{3}, {1}, 3}, false},
    {{{3}, {1}, 0}, {{3}, {1}, 2}, "part"},
    {{{0}, {1}, 0}, {{3}, {1}, 0}, false},
  }
  for i, row in ipairs(RELATIONS) do
    it("knows what two views share: " .. i, function()
      local base = st.zeros {6}
      local a, b = base:as_strided(row[1][1], row[1][2], row[1][3] + 0),
                   base:as_strided(row[2][1], row[2][2], row[2][3] + 0)
      assert.equal(row[3], overlap.between(a, b) or false)
    end)
  end

  it("leaves no tensor behind", function()
    assert.is_true(live() <= before)
  end)
end)

describe("The rule for Bessel and Airy functions", function()
  local function of(op, steps)
    return {op = op, args = {}, kwargs = {steps = steps}, tol = {1e-9, 1e-9}}
  end

  for _, op in ipairs {"special_bessel_j0", "special_bessel_y1",
                       "special_airy_ai"} do
    it("allows " .. op .. " PyTorch's error", function()
      local c = of("aten::" .. op)
      local reason, new = deviations.of_bessel(c)
      assert.is_string(reason)
      assert.same({1e-5, 1e-6}, new.tol)
      assert.same({1e-9, 1e-9}, c.tol)
      new.tol = c.tol
      assert.same(c, new)
    end)
  end

  it("looks at every step of a program", function()
    assert.is_string((deviations.of_bessel(of("program", {
      {op = "aten::sum"}, {op = "aten::special_bessel_j1"}}))))
    assert.is_nil((deviations.of_bessel(of("program", {
      {op = "aten::sum"}}))))
  end)

  it("is for no other function", function()
    for _, op in ipairs {"special_modified_bessel_i0", "special_bessel_j0_out",
                         "special_spherical_bessel_j0", "special_i0"} do
      assert.is_nil((deviations.of_bessel(of("aten::" .. op))))
    end
  end)
end)

describe("The rule for schemas", function()
  local refused = {
    ["foo(Tensor x, *, *, int y) -> Tensor"] = "there is one '*'",
    ["foo(Tensor x, *) -> Tensor"] = "'*' without an argument behind it",
    ["foo(int[2] x=[1,2,3]) -> Tensor"] = "a default of another length",
    ["foo(bool[2] x=[True]) -> Tensor"] = "a default of another length",
    ["foo(int x=1.0) -> int"] = "a default of another type",
    ["foo(int x=True) -> int"] = "a default of another type",
    ["foo(bool x=1) -> bool"] = "a default of another type",
    ["foo(str s=1) -> str"] = "a default of another type",
    ["foo(Tensor x, Tensor x) -> Tensor"] = "two arguments of one name",
    ["foo(int x=None) -> Tensor"] = "None for what is not optional",
  }
  for text, reason in pairs(refused) do
    it("takes " .. text, function()
      assert.equal(reason, (deviations.of_schema(text)))
      local ok, why, by_design = replay.check {input = text, str = text}
      assert.is_nil(ok)
      assert.equal(("%s  (%s)"):format(text, reason), why)
      assert.is_true(by_design)
    end)
  end

  for _, text in ipairs {
    "foo(Tensor x, *, int y) -> Tensor", "foo(int[2] x=[1, 2]) -> Tensor",
    "foo(int[2] x=7) -> Tensor", "foo(float x=1) -> float",
    "foo(int? x=None) -> int", "foo(int[] x=[]) -> int[]",
    "foo(bool x=True) -> bool", "foo(str s=\"a\") -> str",
    "foo(Tensor(a!) x, Tensor(b!) y) -> ()",
  } do
    it("does not take " .. text, function()
      assert.is_nil((deviations.of_schema(text)))
    end)
  end
end)

describe("The rule for fallbacks", function()
  it("is for the keys of autograd alone", function()
    for _, key in ipairs {"AutogradOther", "AutogradCPU", "AutogradXLA"} do
      assert.is_string(deviations.of_fallback(key))
      assert.is_nil(deviations.of_fallback(key, true))
    end
    for _, key in ipairs {"BackendSelect", "Named", "Tracer"} do
      assert.is_nil(deviations.of_fallback(key))
      assert.is_nil(deviations.of_fallback(key, true))
    end
  end)

  it("is for AutogradMeta, where PyTorch has nothing", function()
    assert.is_string(deviations.of_fallback("AutogradMeta", true))
    assert.is_nil(deviations.of_fallback "AutogradMeta")
  end)
end)

describe("A tensor of one element", function()
  local PINV = [=[{"id":"t-1","op":"aten::linalg_pinv.atol_rtol_float","args":[
  {"dtype":"float32","shape":[2,2],"strides":[2,1],"offset":0,"storage":
  [4,0,0,0.5]}],"kwargs":{"atol":{"dtype":"float32","shape":[],"strides":[],
  "offset":0,"storage":[1]}},"expect":{"out":[{"dtype":"float32","shape":[2,2],
  "strides":[2,1],"offset":0,"storage":[0.25,0,0,0]}]}}]=]

  it("is a float where one is asked for", function()
    assert.is_true(verdict(case(PINV)))
    assert.is_false(verdict(case(PINV, function(c)
      c.expect.out[1].storage[4] = 2
    end)))
  end)
end)

local POLES = [=[{"id":"p-1","op":"aten::polygamma","args":[1,
{"dtype":"float32","shape":[3],"strides":[1],"offset":0,"storage":[-1,1,-2]}],
"kwargs":{},
"expect":{"out":[{"dtype":"float32","shape":[3],"strides":[1],"offset":0,
"storage":[1291369695936512,1.644934,322842423984128]}]},
"tol":[0.0001,1e-05]}]=]

describe("The rule for poles", function()
  it("takes a large number where the result is infinite", function()
    assert.equal("by design", verdict(case(POLES)))
  end)

  it("does not take another number, or another place", function()
    for _, change in ipairs {
      function(c) c.expect.out[1].storage[1] = 0.5 end,
      function(c) c.expect.out[1].storage[2] = 1e15 end,
      function(c) c.expect.out[1].storage[2] = 1.5 end,
      function(c) c.args[2].storage[1] = -1.5 end,
      function(c) c.args[1] = 2 end,
    } do
      assert.is_false(verdict(case(POLES, change)))
    end
  end)
end)

describe("The rules for what changed", function()
  local function of(op, args, more)
    local c = {id = "z", op = "aten::" .. op, args = args, kwargs = {}}
    for k, v in pairs(more) do c[k] = v end
    return c
  end
  local function vector(dtype, list)
    return {dtype = dtype, shape = {#list}, strides = {1}, offset = 0,
            storage = list}
  end
  local function out(...) return {expect = {out = {vector(...)}}} end

  local cases = {
    {"clamp with NaN", of("clamp_min", {vector("float32", {1, 2}),
                                        {float = "nan"}},
                          out("float32", {1, 2}))},
    {"padding to size 0", of("constant_pad_nd", {vector("float32", {1, 2}),
                                                 {-1, -1}},
                             {error = "shape"})},
    {"a dot product", of("dot", {vector("complex64", {{1, 2}}),
                                 vector("complex64", {{3, 1}})},
                         {expect = {out = {{
                           dtype = "complex64", shape = {}, strides = {},
                           offset = 0, storage = {{0, 0}}}}}})},
  }
  for _, row in ipairs(cases) do
    it("say what 2.15 answers: " .. row[1], function()
      local reason, new = changes.of_call(row[2])
      assert.is_truthy(reason:find("changed since 1.13", 1, true))
      assert.is_table(new.expect.out[1].shape)
    end)
  end

  it("give the product of complex vectors", function()
    local _, new = changes.of_call(cases[3][2])
    assert.same({{1, 7}}, new.expect.out[1].storage)
    assert.equal("by design", (verdict(cases[3][2])))
  end)

  local others = {
    of("clamp_min", {vector("float32", {1, 2}), {float = 1}},
       out("float32", {1, 2})),
    of("constant_pad_nd", {vector("float32", {1, 2}), {-1, -2}},
       {error = "shape"}),
    of("constant_pad_nd", {vector("float32", {1, 2}), {-1, 0}},
       {error = "dtype"}),
    of("add.Tensor", {vector("float32", {1}), vector("float32", {1})},
       out("float32", {3})),
    of("add.Tensor", {vector("bfloat16", {1}), vector("complex64", {{1, 0}})},
       out("complex64", {{3, 0}})),
  }
  for i, c in ipairs(others) do
    it("are not for other cases: " .. i, function()
      assert.is_nil((changes.of_call(c)))
    end)
  end

  it("know what is bcomplex32 now", function()
    for _, row in ipairs {
      {"d:bf", "w:pc", true}, {"z:bf", "w:pc", true}, {"d:bf", "z:c4", true},
      {"d:bf", "d:c4", false}, {"z:bf", "z:c8", false}, {"d:f4", "w:pc", false},
      {"d:i4", "w:pc", false},
    } do
      assert.equal(row[3], changes.is_bcomplex(row[1], row[2]) ~= nil,
                   row[1] .. " " .. row[2])
    end
  end)

  -- A program whose gradient 1.13 gave to self alone.
  local TIE = [=[{"id":"z-2","op":"autograd","args":[{"dtype":"float64","shape":
  [2],"strides":[1],"offset":0,"storage":[1,2]},{"dtype":"float64","shape":[2],
  "strides":[1],"offset":0,"storage":[1,3]}],"kwargs":{"requires_grad":
  [true,true],"steps":[{"op":"aten::fmax","args":[{"v":0},{"v":1}]},{"op":
  "grad","outputs":[2],"inputs":[0,1],"grad_outputs":[{"dtype":"float64",
  "shape":[2],"strides":[1],"offset":0,"storage":[1,1]}]}],"report":[3]},
  "expect":{"values":[{"dtype":"float64","shape":[2],"strides":[1],"offset":0,
  "storage":[1,0]}],"wants_grad":[true,true,true,false,false]}}]=]

  it("take gradients that are halved now", function()
    assert.equal("by design", (verdict(reader.decode(TIE))))
  end)

  it("see gradients that the rule does not give", function()
    local kept = changes.SUBSTITUTES["aten::fmax"]
    changes.SUBSTITUTES["aten::fmax"] = function(x, y) return x + y * 0 end
    local ok, why = verdict(reader.decode(TIE))
    changes.SUBSTITUTES["aten::fmax"] = kept
    assert.is_false(ok)
    assert.equal("value 2 is not 2.15's", why)
  end)
end)
