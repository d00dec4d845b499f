--- Cosine and sine transforms, against SciPy's and their definition.
-- axes: isa
-- sampled: 3

local cases = require "spec.op.fft.same_bits.cases"
local st = require "strided"
local tensors = require "spec.support.tensors"
local vectors = require "spec.op.fft.dct.vectors"

local ipairs, pi, sqrt = ipairs, math.pi, math.sqrt

local fft, raises = st.fft, tensors.raises

local NORMS = {"backward", "ortho", "forward"}
local LENGTHS = {1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 32, 37, 64, 101, 120,
                 243}
local TOLERANCES = {float32 = 2e-6, float64 = 4e-15}

--- {function, inverse, type, least length} of each transform.
local function each(fn)
  for _, names in ipairs {{"dct", "idct"}, {"dst", "idst"}} do
    for type = 1, 4 do
      fn(names[1], names[2], type, names[1] == "dct" and type == 1 and 2 or 1)
    end
  end
end

--- Indices from `first` on, times 2, by 1 more if shifted.
local function grid(n, first, is_shifted)
  return st.arange(n):add(first):mul(2):add(is_shifted and 1 or 0)
end

--- Products of indices as angles, of which `count` are half a turn.
local function angles(rows, columns, count)
  return rows:outer(columns):remainder(8 * count):to "float64"
           :mul(pi / (4 * count))
end

--- The matrix of a transform without norm: row k has the weights of result k.
local function matrix(name, type, n)
  local half_in, half_out = type == 2 or type == 4, type == 3 or type == 4
  if name == "dct" then
    local m = angles(grid(n, 0, half_out), grid(n, 0, half_in),
                     type == 1 and n - 1 or n):cos():mul(2)
    if not half_in then m:narrow(2, 1, 1):mul_(0.5) end
    if type == 1 then m:narrow(2, n, 1):mul_(0.5) end
    return m
  end
  local m = angles(grid(n, half_out and 0 or 1, half_out),
                   grid(n, half_in and 0 or 1, half_in),
                   type == 1 and n + 1 or n):sin():mul(2)
  if type == 3 then m:narrow(2, n, 1):mul_(0.5) end
  return m
end

local function norm_of(t) return t:to "float64":square():sum():item() ^ 0.5 end

local function close(want, got, ...)
  assert.same(want:size(), got:size())
  local tolerance = TOLERANCES[got.dtype]
  local off = norm_of(got:to "float64" - want:to "float64")
  if off > tolerance * norm_of(want) then
    error(table.concat({...}, ", ") .. ": off by " .. off / norm_of(want), 2)
  end
end

describe("Cosine and sine transforms", function()
  before_each(function() st.manual_seed(1) end)

  it("are SciPy's", function()
    for _, row in ipairs(vectors.rows) do
      local name, type, norm, orthogonalize, of, results =
        row[1], row[2], row[3], row[4], row[5], row[6]
      local x = st.tensor(vectors.inputs[of], {dtype = "float64"})
      local got = fft[name](x, {type = type, norm = norm,
                                orthogonalize = orthogonalize})
      tensors.near(st.tensor(results, {dtype = "float64"}), got, 1e-11)
    end
  end)

  it("are SciPy's along several dimensions", function()
    local x = st.tensor(vectors.matrix, {dtype = "float64"})
    for _, row in ipairs(vectors.several) do
      local args = {type = row[2], norm = row[3]}
      local got = fft[row[1]](x, args)
      local want = st.tensor(row[4], {dtype = "float64"}):view(3, 4)
      tensors.near(want, got, 1e-11)
      local one = fft[row[1]:sub(1, -2)]
      local columns = one(x, {type = row[2], dim = 1, norm = row[3]})
      tensors.near(want, one(columns, args), 1e-11)
      local rows = fft[row[1]](x, {type = row[2], dim = {2}, norm = row[3]})
      assert.is_true(st.equal(one(x, args), rows))
    end
  end)

  for dtype in pairs(TOLERANCES) do
    it("are what their definitions say: " .. dtype, function()
      each(function(name, _, type, least)
        for _, n in ipairs(LENGTHS) do
          if n >= least then
            local x = st.randn({3, n}, {dtype = dtype})
            close(x:to "float64":matmul(matrix(name, type, n):t()),
                  fft[name](x, type), name, type, n)
          end
        end
      end)
    end)

    it("are undone by their inverses: " .. dtype, function()
      each(function(name, inverse, type, least)
        for _, n in ipairs(LENGTHS) do
          for _, norm in ipairs(NORMS) do
            if n >= least then
              local x = st.randn({n}, {dtype = dtype})
              local args = {type = type, norm = norm}
              close(x, fft[inverse](fft[name](x, args), args), name, type, n,
                    norm)
            end
          end
        end
      end)
    end)

    it("have the bits of each line alone, in every layout: " .. dtype,
       function()
      local threads = st.get_num_threads()
      local function same(want, got, ...)
        if cases.bits(want):equal(cases.bits(got)) then return end
        error(table.concat({...}, ", "), 2)
      end
      each(function(name, _, type)
        for _, n in ipairs {2, 5, 16, 24, 1000} do
          local x = st.randn({150, n}, {dtype = dtype})
          local all = fft[name](x, type)
          same(all[150], fft[name](x[150], type), name, type, n)
          local columns = x:t():contiguous()
          same(all, fft[name](columns, type, {dim = 1}):t(), name, n, "columns")
          same(all, fft[name](columns:t(), type), name, type, n, "transposed")
          for count = 1, 3 do
            st.set_num_threads(count)
            same(all, fft[name](x, type), name, type, n, count .. " threads")
          end
          st.set_num_threads(threads)
        end
      end)
    end)
  end

  it("with norm 'ortho' keep lengths of vectors", function()
    each(function(name, _, type, least)
      if name == "dst" or type ~= 1 or least == 2 then
        local x = st.randn({6}, {dtype = "float64"})
        assert.near(norm_of(x), norm_of(fft[name](x, {type = type,
                                                      norm = "ortho"})), 1e-12)
      end
    end)
    local x = st.ones({4}, {dtype = "float64"})
    assert.near(2 * sqrt(1), fft.dct(x, {norm = "ortho"})[1], 1e-12)
  end)

  it("of complex numbers are those of their parts", function()
    local x, y = st.randn(3, 5), st.randn(3, 5)
    local z = st.complex(x, y)
    for _, name in ipairs {"dct", "idst"} do
      local got = fft[name](z, 2, {dim = 1})
      assert.is_true(st.equal(fft[name](x, 2, {dim = 1}), got:real()))
      assert.is_true(st.equal(fft[name](y, 2, {dim = 1}), got:imag()))
      assert.is_true(st.equal(fft[name](y, 2):neg(),
                              fft[name](z:conj(), 2):imag()))
    end
  end)

  it("cut or pad their lines", function()
    local x = st.randn(2, 6)
    assert.is_true(st.equal(fft.dct(x:narrow(2, 1, 4)), fft.dct(x, 2, 4)))
    assert.is_true(st.equal(fft.dst(st.cat({x, st.zeros(2, 3)}, 2), 3),
                            fft.dst(x, 3, 9)))
    assert.is_true(st.equal(fft.dctn(x:narrow(1, 1, 1):narrow(2, 1, 5)),
                            fft.dctn(x, 2, {1, 5})))
    assert.same({2, 4}, fft.dctn(x, 2, {4}):size())
  end)

  it("take integers and write into a tensor", function()
    local x = st.arange(6)
    assert.equal("float32", fft.dct(x).dtype)
    local out = st.empty(0)
    fft.idct(x, {out = out})
    assert.is_true(st.equal(fft.idct(x), out))
    assert.same({0, 4}, fft.dct(st.zeros(0, 4)):size())
    assert.same({4, 6}, fft.dstn(st.empty({4, 6}, {device = "meta"})):size())
  end)

  it("refuse what has no transform", function()
    local x = st.randn(2, 3)
    raises("type must be 1, 2, 3 or 4, not 5", fft.dct, x, 5)
    raises("type must be 1, 2, 3 or 4, not 0", fft.idstn, x, 0)
    raises("norm must be 'backward', 'forward' or 'ortho', not 'half'",
           fft.dct, x, {norm = "half"})
    raises("a cosine transform of type 1 needs at least 2 numbers, not 1",
           fft.dct, st.randn(1), 1)
    raises("0 numbers cannot be transformed", fft.dst, x, 2, 0)
    raises("self has no dimensions to transform", fft.dct, st.tensor(1))
    raises("there are no transforms of float16", fft.dct, x:to "float16")
    raises("s has 3 sizes, but self has shape [2, 3]", fft.dctn, x, 2,
           {1, 2, 3})
    raises("self must be float32 or float64, not int64", st._fft_r2r,
           st.arange(3), 1, false, true, false)
    raises("this transform needs at least 2 numbers, but self has shape [1]",
           st._fft_r2r, st.ones(1), 1, false, false, false)
  end)
end)
