--- The cases of ./dev bench: every row is complete, and runs on our side, with
-- few elements; so do the cases that are drawn.
-- axes: unsanitized

local st = require "strided"
local chance = require "bench.drawn.chance"
local draw = require "bench.drawn.draw"
local rows = require "bench.rows"
local families = require "bench.cases"

local tensors = require "spec.support.tensors"

local live, raises = tensors.live, tensors.raises

local unpack = unpack or table.unpack

local FEW = 12

-- -- Help --------------------------------------------------------------------

--- The rows, but with few elements where a row leaves it open.
local function small_cases()
  local list = {}
  for i, family in ipairs(families) do
    list[i] = {family = family.family}
    for j, row in ipairs(family) do
      local copy = {}
      for key, value in pairs(row) do copy[key] = value end
      copy.at = row.at and {FEW}
      list[i][j] = copy
    end
  end
  return rows.expand(list)
end

--- Sizes and ranges beyond the few become the few; 32 in f32 is neither.
local function shrunk(text)
  return (text:gsub("([%a=]*)(%d+)", function(before, digits)
    if before == "" or before == "x" or before == "expand=" then
      return before .. math.min(tonumber(digits), FEW)
    end
  end))
end

--- The inputs of a case with few elements. The layers of networks have fixed
-- sizes; only the batch is shrunk.
local function small_inputs(case)
  if case.family == "mlp" then return case.inputs end
  if case.family ~= "training" then return shrunk(case.inputs) end
  return (case.inputs:gsub("(: %w+ )%d+", "%11"))
end

--- "family: name (size)"
local function title(case)
  return ("%s: %s (%s)"):format(case.family, case.name, case.size)
end

-- -- Rows --------------------------------------------------------------------

local before

setup(function() before = live() end)

describe("A case of the benchmark", function()
  it("has a title of its own", function()
    local seen, twice = {}, {}
    for _, case in ipairs(rows.expand(families)) do
      if seen[title(case)] then twice[#twice + 1] = title(case) end
      seen[title(case)] = true
    end
    assert.same({}, twice)
  end)

  it("leaves no placeholder in what an engine evaluates", function()
    local left = {}
    for _, case in ipairs(rows.expand(families)) do
      for _, engine in ipairs(rows.engines) do
        local code = case[engine] or ""
        if code:find "[@]" or code:find("->", 1, true) or
           code:find "%f[%w]N%f[%Wx]" or case.inputs:find "%f[%w]N%f[%Wx]" then
          left[#left + 1] = title(case) .. ": " .. code
        end
      end
    end
    assert.same({}, left)
  end)

  it("has no Lua in what Python evaluates", function()
    local wrong = {}
    for _, case in ipairs(rows.expand(families)) do
      for _, engine in ipairs {"torch", "compile", "numpy", "numexpr"} do
        local code = case[engine] or ""
        if code:find "[%w)]:%l" or code:find "[{}]" then
          wrong[#wrong + 1] = title(case) .. ": " .. code
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("knows how it compares, wherever it has a goal", function()
    local wrong = {}
    for _, case in ipairs(rows.expand(families)) do
      for engine, goal in pairs(case.goal) do
        if not case[engine] or goal <= 0 or goal > 2 then
          wrong[#wrong + 1] = title(case) .. ": " .. engine
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("runs", function()
    if not rawget(_G, "jit") then return end -- inputs are made with the FFI
    local inputs = require "bench.inputs"
    local networks = require "bench.cases.networks"
    local fused = require "bench.cases.fused".fused
    local broken = {}
    for _, case in ipairs(small_cases()) do
      if not case.is_value and case.family ~= "startup" then
        local code = assert(loadstring("return " .. case.strided))
        local ok, failure = pcall(function()
          local scope = inputs.make(inputs.parse(small_inputs(case)))
          scope.st, scope.networks, scope.fused = st, networks, fused
          scope.philox = st.Generator {algorithm = "philox"}
          return setfenv(code, scope)()
        end)
        if not ok then
          broken[#broken + 1] = title(case) .. ": " .. tostring(failure)
        elseif type(failure) ~= "number" and not st.is_tensor(failure) then
          broken[#broken + 1] = title(case) .. " gives no tensor"
        end
      end
    end
    networks.reset()
    assert.same({}, broken)
  end)
end)

-- -- Draws -------------------------------------------------------------------

local DRAWN, THREADS = 300, {1, 2}

--- What a case measures.
local function content(case)
  return table.concat({case.family, case.name, case.size, case.threads,
                       case.inputs, case.strided, tostring(case.torch),
                       tostring(case.numpy)}, " | ")
end

local function contents(seed, count, limit)
  local list = draw.cases(seed, count, THREADS, limit)
  for i, case in ipairs(list) do list[i] = content(case) end
  return list
end

describe("A draw", function()
  it("is named by its seed", function()
    assert.same(contents(7, 50), contents(7, 50))
    local apart, other = 0, contents(8, 50)
    for i, text in ipairs(contents(7, 50)) do
      if text ~= other[i] then apart = apart + 1 end
    end
    assert.is_true(apart > 40)
  end)

  it("begins like a longer one", function()
    assert.same(content(draw.case(7, 20, THREADS)), contents(7, 50)[20])
  end)

  it("has numbers that are the same on every machine", function()
    local g, numbers = chance.new(7, 1), {}
    for i = 1, 6 do numbers[i] = g:int(1, 1000) end
    assert.same({235, 289, 987, 627, 564, 465}, numbers)
  end)

  it("of 300 cases has every family, dtype and layout", function()
    local seen, missing = {}, {}
    for _, case in ipairs(draw.cases(1, DRAWN, THREADS)) do
      seen[case.family] = true
      for word in case.name:gmatch "[%w_]+" do seen[word] = true end
      seen[case.threads] = true
    end
    local function want(names)
      for _, name in ipairs(names) do
        if not seen[name] then missing[#missing + 1] = name end
      end
    end
    want(draw.families())
    want {"float16", "bfloat16", "float32", "float64", "uint8", "int8",
          "int16", "int32", "int64", "bool", "transposed", "permuted",
          "sliced", "stepped", "expanded", "channels_last", "out", 1, 2}
    assert.same({}, missing)
  end)

  it("leaves no placeholder, and no Lua in what Python evaluates", function()
    local wrong = {}
    for _, case in ipairs(draw.cases(2, DRAWN, THREADS)) do
      for _, engine in ipairs(rows.engines) do
        local code = case[engine] or ""
        if code:find "[@$]" or code:find("->", 1, true) or
           engine ~= "strided" and code:find "[{}]" then
          wrong[#wrong + 1] = title(case) .. ": " .. code
        end
      end
    end
    assert.same({}, wrong)
  end)

  it("has cases of bounded size", function()
    local wrong = {}
    for _, case in ipairs(draw.cases(3, DRAWN, THREADS)) do
      if case.elements > 16e6 then wrong[#wrong + 1] = title(case) end
    end
    assert.same({}, wrong)
  end)

  it("has cases that run", function()
    if not rawget(_G, "jit") then return end
    local inputs, broken = require "bench.inputs", {}
    for _, case in ipairs(draw.cases(4, DRAWN, THREADS, 300)) do
      local ok, failure = pcall(function()
        local scope = inputs.make(inputs.parse(case.inputs))
        scope.st, scope.F = st, st
        return setfenv(assert(loadstring("return " .. case.strided)), scope)()
      end)
      if not ok then
        broken[#broken + 1] = title(case) .. ": " .. tostring(failure)
      end
    end
    assert.same({}, broken)
  end)
end)

-- -- Inputs ------------------------------------------------------------------

describe("The inputs of a case", function()
  if not rawget(_G, "jit") then return end
  local inputs = require "bench.inputs"

  it("are tensors of the dtype and sizes said", function()
    local made = inputs.make(inputs.parse "a, b_2: bf16 3x4; c: bool 5")
    assert.same({st.bfloat16, 3, 4},
                {made.a.dtype, made.a:size(1), made.a:size(2)})
    assert.same({st.bfloat16, st.bool, 5},
                {made.b_2.dtype, made.c.dtype, made.c:size(1)})
    assert.is_false(made.a:equal(made.b_2))
  end)

  it("are in the range said, integers below its end", function()
    local made = inputs.make(inputs.parse "a: f32 1000 -3:2; i: i16 1000 5:7")
    assert.is_true(made.a:min():item() < -2.9 and made.a:min():item() >= -3)
    assert.is_true(made.a:max():item() > 1.9 and made.a:max():item() < 2)
    assert.same({5, 6}, {made.i:min():item(), made.i:max():item()})
  end)

  it("are sorted where a word says so", function()
    local a = inputs.make(inputs.parse "a: f32 3x9 sorted").a
    assert.is_true(a:equal((a:sort())))
    assert.is_false(a:equal(inputs.make(inputs.parse "a: f32 3x9").a))
  end)

  it("are positions from 1 where Python's are from 0", function()
    local made = inputs.make(inputs.parse "i: pos 1000 0:4")
    assert.same({1, 4}, {made.i:min():item(), made.i:max():item()})
  end)

  it("are views where a word says so", function()
    local function strides(text)
      return {unpack(inputs.make(inputs.parse(text)).a:stride())}
    end
    assert.same({1, 12, 4}, strides "a: f32 2x3x4 perm=201")
    assert.same({6, 2}, strides "a: f32 3x6 step=2")
    assert.same({6, 1}, strides "a: f32 3x6 cut=2")
    assert.same({1, 0}, strides "a: f32 3x1 expand=3x5")
  end)

  it("require a gradient where a word says so", function()
    local made = inputs.make(inputs.parse "a: f32 2x3 perm=10 grad; b: f32 2")
    assert.is_true(made.a.requires_grad)
    assert.is_false(made.b.requires_grad)
  end)

  it("are refused with what was not understood", function()
    raises("inputs are not understood: a: f31 2", inputs.parse, "a: f31 2")
    raises("an input's word is not understood: warp=9",
           inputs.parse, "a: f32 2 warp=9")
  end)
end)

describe("The benchmark's table", function()
  it("leaves no tensor behind", function() assert.equal(before, live()) end)
end)
