--- Formulas of derivatives after a kernel in Lua that takes and returns tensors
-- of any rank and lists of any length: what a formula cannot use is an error,
-- and nothing is read behind sizes and lists.
-- axes: none

local st = require "strided"
local tensors = require "spec.support.tensors"

local live = tensors.live
local unpack = unpack or table.unpack

local FOLDER = "core/grad/"

local function text_of(path)
  local file = assert(io.open(FOLDER .. path))
  local text = file:read "*a"
  file:close()
  return text
end

--- The names of the helpers, as keys.
local function helpers()
  local out = {inverted = true, negated = true, count = true}
  for name in text_of("formula/helpers.def"):gmatch '\nST_HELPER%(([%w_]+)' do
    out[name] = true
  end
  return out
end

--- The operators whose formulas call a helper: {name =, calls = {helper ...}}.
local function operators()
  local known, out = helpers(), {}
  local text = text_of "derivatives.def"
  for rest in text:gmatch "\nST_DERIVE(%b())" do
    local name, formulas = rest:match '^%("([%w_.]+)",(.*)$'
    local row = {name = name, calls = {}}
    if name:find "_$" then formulas = "" end -- it records its first argument
    for word in formulas:gmatch "([%w_]+)%(" do
      if known[word] then row.calls[#row.calls + 1] = word end
    end
    if #row.calls > 0 then out[#out + 1] = row end
  end
  return out
end

-- -- Calls -------------------------------------------------------------------

local function long()
  local list = {}
  for i = 1, 100 do list[i] = i end
  return list
end

local LISTS = {{1}, {2, 1}, {-7, 9, 1}, long()}

--- A value for an argument of this type. c: the rank of tensors, the list, and
-- the leaves, which this adds to.
local function value(c, kind)
  if kind:find "^Tensor%[" then
    return {value(c, "Tensor"), value(c, "Tensor")}
  elseif kind:find "^Tensor" then
    local sizes = {}
    for i = 1, c.rank do sizes[i] = 2 end
    local t = st.ones(sizes, {dtype = "float64"}):requires_grad_()
    c.leaves[#c.leaves + 1] = t
    return t
  elseif kind:find "%[" then
    return c.list
  end
  return kind:find "^bool" and true or kind:find "^str" and "none" or 1
end

--- The arguments of a call without those that have defaults, and how many
-- results it has.
local function arguments(c, schema)
  local inside, results = schema:match "^[^%(]*(%b())%s*%->%s*(.*)$"
  local args, options = {}, nil
  for text in (inside:sub(2, -2) .. ", "):gmatch "(.-), " do
    if text == "*" then options = {} end
    local name = text:match "(%w+)$"
    if options and name and not text:find "=" then
      options[name] = value(c, text)
    elseif text ~= "*" and not text:find "=" then
      args[#args + 1] = value(c, text)
    end
  end
  local _, n = results:gsub("Tensor", "")
  args[#args + 1] = options
  return args, n
end

--- Calls an operator whose kernel returns tensors of rank `out`, and
-- differentiates what it returns; true, or false and why it fails. Adds to
-- c.graphs when there was something to differentiate.
local function try(c, row, out, create_graph)
  local base, overload = row.name:match "^([^.]+)%.?(.*)$"
  local packet = st.ops.aten[base]
  local op = packet[overload == "" and "default" or overload]
  local args, n = arguments(c, op:schema())
  local lib = st.library("aten", "IMPL")
  lib:impl(row.name, "CPU", function()
    local sizes, results = {}, {}
    for i = 1, out do sizes[i] = 2 end
    for i = 1, n do results[i] = st.ones(sizes, {dtype = "float64"}) end
    return unpack(results)
  end)
  local got = {pcall(op, unpack(args))}
  lib:close()
  local outputs, coming = {}, {}
  for _, t in ipairs(got) do
    if st.is_tensor(t) and t.requires_grad then
      outputs[#outputs + 1], coming[#coming + 1] = t, st.ones_like(t)
    end
  end
  if #outputs == 0 then return false, tostring(got[2]) end
  c.graphs = c.graphs + 1
  return pcall(st.grad, outputs, c.leaves,
               {grad_outputs = coming, allow_unused = true,
                create_graph = create_graph})
end

--- Every call of an operator; visit gets why one failed.
local function each(row, visit)
  local graphs = 0
  for rank = 0, 3 do
    for out = 0, 2 do
      for _, list in ipairs(LISTS) do
        for _, create_graph in ipairs {false, true} do
          local c = {rank = rank, list = list, leaves = {}, graphs = graphs}
          local ok, why = try(c, row, out, create_graph)
          if not ok then visit(tostring(why)) end
          graphs = c.graphs
        end
      end
    end
  end
  return graphs
end

describe("A formula of a derivative", function()
  local before
  setup(function() before = live() end)
  teardown(function() assert.same(before, live()) end)

  it("fails where a saved tensor or a list is none that it can use", function()
    local refused, called, without = {}, {}, {}
    for _, row in ipairs(operators()) do
      local graphs = each(row, function(why)
        local helper = why:match "argument %d+ of ([%w_]+)%) needs"
        if helper then refused[helper] = true end
      end)
      for _, name in ipairs(row.calls) do
        called[name] = called[name] or graphs > 0
      end
      if graphs == 0 then without[#without + 1] = row.name end
    end
    for name in pairs(helpers()) do assert.is_truthy(called[name], name) end
    for name in ([[qr_back svd_back lu_back polar_back det_back slogdet_back
                   as_strided_back repeat_back fft_r2c_back fft_c2r_back
                   inverted]]):gmatch "%S+" do
      assert.is_true(refused[name], name)
    end
    assert.same({}, without)
  end)

  it("names the operator, the rank it needs and the shape", function()
    local c = {rank = 2, list = {1}, leaves = {}, graphs = 0}
    local row = {name = "linalg_qr"}
    local _, why = try(c, row, 1)
    assert.matches("LinalgQrBackward0: the derivative " ..
                   "%(argument 4 of qr_back%) needs a tensor of at least 2 " ..
                   "dimensions, got shape %[2%]",
                   why)
  end)
end)
