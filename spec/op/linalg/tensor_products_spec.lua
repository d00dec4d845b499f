--- Products of tensors against a sum over every label, number by number:
-- einsum, tensordot, kron, vdot, chains and powers of matrices. The elements
-- are small integers, so that every order of the sum gives the same floats.
-- axes: isa

local st = require "strided"
local tensors = require "spec.support.tensors"

local ipairs, pairs = ipairs, pairs
local unpack = table.unpack or unpack

local f64, live = tensors.f64, tensors.live

local function integers(...)
  local t = st.randint(-4, 5, {...})
  return t:to "float64"
end

-- -- A reference -------------------------------------------------------------

--- The labels of one subscript as a list.
local function labels(text)
  local list = {}
  for label in text:gmatch "%a" do list[#list + 1] = label end
  return list
end

local function element(t, list, at)
  local index = {}
  for i, label in ipairs(list) do index[i] = at[label] end
  return #index == 0 and t:item() or t[index]:item()
end

--- Adds the products of the factors to out, for every value of every label.
local function add_products(out, result, inputs, factors, sizes)
  local order, at = {}, {}
  for label in pairs(sizes) do order[#order + 1] = label end
  local function walk(i)
    if i <= #order then
      for value = 1, sizes[order[i]] do
        at[order[i]] = value
        walk(i + 1)
      end
      return
    end
    local product, key = 1, {}
    for k, t in ipairs(factors) do
      product = product * element(t, inputs[k], at)
    end
    for k, label in ipairs(result) do key[k] = at[label] end
    local name = table.concat(key, " ")
    out[name] = (out[name] or 0) + product
  end
  walk(1)
end

--- The value of an equation with an arrow and no ellipsis, by position.
local function reference(equation, factors)
  local left, right = equation:match "^(.*)%->(.*)$"
  local inputs, sizes, out = {}, {}, {}
  for part in (left .. ","):gmatch "([^,]*)," do
    inputs[#inputs + 1] = labels(part)
  end
  for k, t in ipairs(factors) do
    for d, label in ipairs(inputs[k]) do sizes[label] = t:size(d) end
  end
  local result = labels(right)
  add_products(out, result, inputs, factors, sizes)
  return out, result
end

local function check(equation, factors, got)
  local want, result = reference(equation, factors)
  local count = 0
  for name, value in pairs(want) do
    local index = {}
    for n in name:gmatch "%d+" do index[#index + 1] = tonumber(n) end
    local own = #index == 0 and got:item() or got[index]:item()
    assert.equal(value, own, equation .. " at " .. name)
    count = count + 1
  end
  assert.equal(#result, got:dim())
  assert.equal(got:numel(), count)
end

-- -- einsum ------------------------------------------------------------------

local EQUATIONS = {
  {"i->i", {3}}, {"ij->ji", {2, 3}}, {"ij->", {2, 3}}, {"ij->j", {2, 3}},
  {"ii->i", {3, 3}}, {"ii->", {3, 3}}, {"iji->j", {2, 3, 2}},
  {"iijj->ij", {2, 2, 3, 3}}, {"i,i->", {4}, {4}}, {"i,j->ij", {2}, {3}},
  {"i,j->ji", {2}, {3}}, {"ij,jk->ik", {2, 3}, {3, 4}},
  {"ij,kj->ik", {2, 3}, {4, 3}}, {"ji,jk->ki", {3, 2}, {3, 4}},
  {"ij,jk->", {2, 3}, {3, 4}}, {"ij,kl->ikjl", {2, 2}, {3, 2}},
  {"bij,bjk->bik", {2, 3, 2}, {2, 2, 4}}, {"bij,bkj->kb", {2, 3, 2}, {2, 4, 2}},
  {"ijk,kjl->il", {2, 3, 2}, {2, 3, 4}}, {"ij,ij->ij", {2, 3}, {2, 3}},
  {"ij,ij->i", {2, 3}, {2, 3}}, {"ii,ij->j", {3, 3}, {3, 2}},
  {"i,ij,j->", {2}, {2, 3}, {3}}, {"ij,jk,kl->il", {2, 3}, {3, 2}, {2, 4}},
  {"ij,jk,ki->", {2, 3}, {3, 2}, {2, 2}}, {"i,i,i->i", {3}, {3}, {3}},
  {"i,j,k,l->lkji", {2}, {2}, {2}, {3}}, {"Aa,ab->bA", {2, 3}, {3, 2}},
  {",ij->ji", {}, {2, 3}}, {"ij,->i", {2, 3}, {}},
  {"a,ab,bc,cd,de,ef,fg,gh,h->", {2}, {2, 2}, {2, 2}, {2, 2}, {2, 2}, {2, 2},
   {2, 2}, {2, 2}, {2}},
}

describe("einsum", function()
  local before
  setup(function()
    before = live()
    st.manual_seed(11)
  end)
  teardown(function() assert.same(before, live()) end)

  for _, row in ipairs(EQUATIONS) do
    it("sums the products of " .. row[1], function()
      local factors = {}
      for k = 2, #row do
        factors[k - 1] = #row[k] == 0 and f64(3) or integers(unpack(row[k]))
      end
      check(row[1], factors, st.einsum(row[1], factors))
      local turned = {} -- columns of the last dimension first
      for k, t in ipairs(factors) do
        local n = t:dim()
        turned[k] = n < 2 and t
          or t:transpose(1, n):contiguous():transpose(1, n)
      end
      check(row[1], factors, st.einsum(row[1], turned))
    end)
  end

  it("without an arrow keeps the labels that occur once, in their order",
     function()
    local a, b = integers(2, 3), integers(3, 4)
    assert.is_true(st.einsum("ij,jk", a, b):equal(a:mm(b)))
    assert.is_true(st.einsum("ba", a):equal(a:t()))
    assert.is_true(st.einsum("aB", a):equal(a:t()))
    assert.equal(a:sum():item(), st.einsum("ij->", a):item())
    local square = integers(3, 3)
    assert.equal(square:trace():item(), st.einsum("ii", square):item())
  end)

  it("has an ellipsis for dimensions that broadcast", function()
    local a, b = integers(5, 1, 2, 3), integers(4, 3, 2)
    assert.is_true(st.einsum("...ij,...jk->...ik", a, b):equal(a:matmul(b)))
    assert.is_true(st.einsum("...ij,...jk", a, b):equal(a:matmul(b)))
    assert.is_true(st.einsum("...i->...", a):equal(a:sum {4}))
    assert.is_true(st.einsum("i...->i", a):equal(a:sum {2, 3, 4}))
    assert.is_true(st.einsum("...,...", a, b:mT()):equal(a * b:mT()))
    assert.is_true(st.einsum("i...j->j...i", a):equal(a:transpose(1, 4)))
  end)

  it("takes 64 operands, and up to 28 repeated subscripts", function()
    local ones, i = {}, {}
    for k = 1, 64 do ones[k], i[k] = f64 {1, 2}, "i" end
    local got = st.einsum(table.concat(i, ",") .. "->i", ones)
    assert.same({1, 2 ^ 64}, got:totable())
    local sizes = {}
    for k = 1, 40 do sizes[k] = 1 end
    local ok, why = pcall(st.einsum, ("a"):rep(40), st.ones(sizes))
    assert.is_false(ok)
    assert.truthy(tostring(why):find "more than 28 subscripts")
    sizes = {unpack(sizes, 1, 29)}
    assert.equal(1, st.einsum(("a"):rep(29), st.ones(sizes)):item())
  end)

  it("broadcasts labels of size 1", function()
    local a, b = integers(2, 1), integers(3, 4)
    local want = (a:sum {2, keepdim = true} * b:sum {1, keepdim = true})
    assert.is_true(st.einsum("ij,jk->ik", a, b):equal(want))
  end)

  it("takes empty tensors", function()
    local got = st.einsum("ij,jk->ik", st.ones(2, 0), st.ones(0, 3))
    assert.is_true(got:equal(st.zeros(2, 3)))
    got = st.einsum("ij,jk->ik", st.ones(0, 2), st.ones(2, 3))
    assert.is_true(got:equal(st.ones(0, 3)))
  end)

  --- The multiplications of the products that body() calls.
  local function multiplications(body)
    local total = 0
    st.observe({values = true, before = function(op, a, b)
      if op:name():find "bmm" then
        total = total + a:numel() * b:size(3)
      end
    end}, body)
    return total
  end

  it("multiplies in the order with the fewest multiplications", function()
    local a, b, c = st.ones(50, 2), st.ones(2, 50), st.ones(50, 3)
    local few = multiplications(function()
      st.einsum("ij,jk,kl->il", a, b, c)
    end)
    assert.equal(2 * 50 * 3 + 50 * 2 * 3, few)
    local given = multiplications(function()
      st.einsum("ij,jk,kl->il", {a, b, c}, {path = {1, 2, 1, 2}})
    end)
    assert.equal(50 * 2 * 50 + 50 * 50 * 3, given)
    local other = st.einsum("ij,jk,kl->il", {a, b, c}, {path = {3, 2, 2, 1}})
    assert.is_true(other:equal(a:mm(b):mm(c)))
  end)

  local a, b = st.ones(2, 3), st.ones(3, 4)
  for _, row in ipairs {
    {"i1", {a}, "equation \"i1\" has '1' at character 2"},
    {"i..j", {a}, "has '.' at character 2"},
    {"...i...", {a}, "has '.' at character 5"},
    {"ij-", {a}, "has '-' at character 3, where it should have \"->\""},
    {"ij->i->j", {a}, "has '-' at character 6, where it should end"},
    {"ij->k", {a}, "subscript k of the result is none of a tensor"},
    {"ij->ii", {a}, "subscript i of the result occurs twice there"},
    {"ij,jk", {a}, "the equation has subscripts for 2 tensors, but 1 is given"},
    {"ij", {a, b},
     "the equation has subscripts for 1 tensor, but 2 are given"},
    {"ijk", {a}, "tensor 1 has 3 subscripts, but its shape is [2, 3]"},
    {"...ijk", {a}, "tensor 1 has 3 subscripts, but its shape is [2, 3]"},
    {"ii", {a}, "the dimensions with subscript i of tensor 1 have sizes 2 and"},
    {"ij,ij->", {a, b}, "a dimension of tensor 2 has size 3, but the same"},
    {"ij,jk", {a, b, path = {1, 1}}, "path names tensor 1 where there are 2"},
    {"ij,jk", {a, b, path = {1, 3}}, "path names tensor 3 where there are 2"},
    {"ij,jk", {a, b, path = {1}}, "path must have 2 positions for 2 tensors"},
    {"", {}, "1 to 64 tensors can be multiplied, not 0"},
  } do
    it("refuses " .. row[1] .. ": " .. row[3], function()
      local list = row[2]
      local path = list.path and {path = list.path}
      local ok, message = pcall(function()
        return st.einsum(row[1], {list[1], list[2]}, path)
      end)
      assert.is_false(ok)
      assert.truthy(tostring(message):find("einsum: ", 1, true), message)
      assert.truthy(tostring(message):find(row[3], 1, true), message)
    end)
  end
end)

-- -- The others --------------------------------------------------------------

describe("A product of tensors", function()
  it("tensordot sums over pairs of dimensions", function()
    local a, b = integers(2, 3, 4), integers(4, 5, 3)
    check("ijk,klj->il", {a, b}, st.tensordot(a, b, {2, 3}, {3, 1}))
    check("ijk,klj->il", {a, b}, st.tensordot(a, b, {-1, -2}, {1, -1}))
    check("ijk,klm->ijlm", {a, b}, st.tensordot(a, b, 1))
    check("ij,kl->ijkl", {a[1], b[1]}, st.tensordot(a[1], b[1], 0))
    local c = integers(3, 4, 2)
    check("ijk,jkl->il", {a, c}, st.tensordot(a, c))
    local out = st.empty(2, 2, {dtype = "float64"})
    st.tensordot(a, c, {2, 3}, {1, 2}, {out = out})
    check("ijk,jkl->il", {a, c}, out)
  end)

  it("kron has a block for each element of self", function()
    local a, b = integers(2, 3), integers(2, 2)
    local got = st.kron(a, b)
    for i = 1, 2 do
      for j = 1, 3 do
        local block = got:narrow(1, 2 * i - 1, 2):narrow(2, 2 * j - 1, 2)
        assert.is_true(block:equal(b * a[{i, j}]))
      end
    end
    local column, row = integers(3, 1), integers(4)
    assert.is_true(st.kron(column, row):equal(column * row))
    assert.is_true(st.kron(row, column):equal(st.kron(row:view(1, 4),
                                                      column)))
  end)

  it("vdot conjugates self", function()
    local a = st.tensor({st.complex(1, 2), st.complex(0, -1)})
    local b = st.tensor({st.complex(3, 0), st.complex(2, 5)})
    -- (1 - 2i) 3 + i (2 + 5i)
    local got = st.vdot(a, b):item()
    assert.equal(-2, got.re)
    assert.equal(-4, got.im)
    assert.equal(11, st.vdot(f64 {1, 2}, f64 {3, 4}):item())
  end)

  it("multi_dot multiplies a chain, with a vector at an end", function()
    local a, b, c = integers(2, 3), integers(3, 4), integers(4, 5)
    local u, v = integers(2), integers(5)
    assert.is_true(st.linalg.multi_dot(a, b, c):equal(a:mm(b):mm(c)))
    assert.is_true(st.linalg.multi_dot {u, a, b, c}
                   :equal(u:matmul(a):matmul(b):matmul(c)))
    assert.equal(u:matmul(a):matmul(b):matmul(c):dot(v):item(),
                 st.linalg.multi_dot(u, a, b, c, v):item())
    assert.is_true(st.chain_matmul(a, b):equal(a:mm(b)))
  end)

  it("matrix_power multiplies n times", function()
    local a = integers(2, 3, 3)
    local want = st.eye(3, {dtype = "float64"}):expand(2, 3, 3)
    for n = 0, 9 do
      assert.is_true(st.linalg.matrix_power(a, n):equal(want), tostring(n))
      want = want:matmul(a)
    end
    local well = a + 10 * st.eye(3, {dtype = "float64"})
    for n = 1, 3 do
      local product = st.linalg.matrix_power(well, n)
        :matmul(st.linalg.matrix_power(well, -n))
      assert.is_true((product - st.eye(3)):abs():max():item() < 1e-12)
    end
    local big = st.linalg.matrix_power(st.tensor {{1, 1}, {0, 1}}, 1000000)
    assert.same({{1, 1000000}, {0, 1}}, big:totable())
  end)
end)

local function f(...) return st.ones {...} end

local REFUSALS = {
  {"tensordot", function() return f(), f(), {1}, {1} end,
   "1 dimensions of a tensor of shape [] cannot be contracted"},
  {"linalg_matrix_power", function() return f(2, 2), -1 end,
   "A is singular: U(2, 2) is zero"},
  {"tensordot", function() return f(2, 3), f(3, 2), {1}, {1, 2} end,
   "dims_self lists 1 dimensions, but dims_other 2"},
  {"tensordot", function() return f(2, 3), f(4, 2), {2}, {1} end,
   "dimension 2 of self and 1 of other are contracted, but have sizes 3 and 4"},
  {"tensordot", function() return f(2, 3), f(3, 2), {2, 2}, {1, 2} end,
   "dimension 2 appears more than once"},
  {"tensordot", function() return f(2), f(2), 2 end,
   "dims must be from 0 to the number of dimensions of self and other"},
  {"vdot", function() return f(2, 2), f(2) end, "self must have 1 dimension"},
  {"linalg_multi_dot", function() return {f(2, 2)} end,
   "2 to 32 tensors can be multiplied, not 1"},
  {"linalg_multi_dot", function() return {f(2, 2), f(2), f(2, 2)} end,
   "tensor 2 must have 2 dimensions, its shape is [2]"},
  {"linalg_multi_dot", function() return {f(2, 2), f(3, 2)} end,
   "tensors 1 and 2, of shapes [2, 2] and [3, 2], cannot be multiplied"},
  {"linalg_matrix_power", function() return f(2, 3), 2 end,
   "self must have square matrices in its last 2 dimensions, its shape is"},
}

describe("A product of tensors refuses", function()
  for _, row in ipairs(REFUSALS) do
    it(row[1] .. ": " .. row[3], function() tensors.refuses(row) end)
  end
end)

describe("A family of operators", function()
  it("has the operators of its prefix", function()
    assert.equal(st.linalg_multi_dot, st.linalg.multi_dot)
    assert.equal(st.special_expit, st.special.expit)
    assert.equal(st.fft_fftshift, st.fft.fftshift)
    assert.equal(st.outer, st.linalg.outer)
    assert.equal(st.mT, st.linalg.matrix_transpose)
  end)

  it("names what it lacks, and takes no fields", function()
    assert.has_error(function() return st.linalg.mutli_dot end,
                     "st.linalg has no 'mutli_dot': did you mean multi_dot?")
    assert.has_error(function() st.linalg.norm = 1 end,
                     "st.linalg is read-only: cannot set 'norm'")
  end)
end)
