--- Draws cases of products of matrices and vectors.

local elementwise = require "bench.drawn.elementwise"

local described = elementwise.described
local floor, max = math.floor, math.max

local products = {}

-- the multiplications of a case, by kind
local MOST = {f32 = 1.5e8, f64 = 1e8, i32 = 2e6, i64 = 2e6, f16 = 2e6,
              bf16 = 2e6}
local KINDS = {"f32", "f32", "f32", "f32", "f64", "f64", "i64", "f16", "bf16"}

-- The inputs by their sizes in m, k, n and b; the sizes of the result;
-- expression, PyTorch's, NumPy's. Only the first dtypes have out=.
local PRODUCTS = {
  {"matmul", {"a mk", "b kn"}, "mn", "@.matmul(a, b)", out = true},
  {"mm", {"a mk", "b kn"}, "mn", "@.mm(a, b)", nil, "@.matmul(a, b)",
   out = true},
  {"mm", {"a mk", "b kn"}, "mn", "@.mm(a, b)", nil, "@.matmul(a, b)",
   out = true},
  {"bmm", {"a bmk", "b bkn"}, "bmn", "@.bmm(a, b)", nil, "@.matmul(a, b)",
   out = true},
  {"matmul, batch and matrix", {"a bmk", "b kn"}, "bmn", "@.matmul(a, b)"},
  {"matmul, a vector", {"a mk", "b k"}, "m", "@.matmul(a, b)"},
  {"mv", {"a mk", "b k"}, "m", "@.mv(a, b)", nil, "@.matmul(a, b)"},
  {"vector times matrix", {"a k", "b kn"}, "n", "@.matmul(a, b)"},
  {"dot", {"a k", "b k"}, "", "@.dot(a, b)"},
  {"outer", {"a m", "b n"}, "mn", "@.outer(a, b)"},
  {"addmm", {"c mn", "a mk", "b kn"}, "mn", "@.addmm(c, a, b)", nil,
   "c + @.matmul(a, b)"},
  {"addmm, a row", {"c n", "a mk", "b kn"}, "mn",
   "@.addmm(c, a, b, {beta = 0.5, alpha = 2})", nil,
   "0.5 * c + 2 * @.matmul(a, b)", is_float = true},
  {"addmv", {"c m", "a mk", "b k"}, "m", "@.addmv(c, a, b)", nil,
   "c + @.matmul(a, b)"},
  {"baddbmm", {"c bmn", "a bmk", "b bkn"}, "bmn", "@.baddbmm(c, a, b)", nil,
   "c + @.matmul(a, b)"},
  {"linear", {"a mk", "w nk", "c n"}, "mn", "F.linear(a, w, c)", nil,
   "@.matmul(a, w.T) + c", is_float = true},
  {"inner", {"a mk", "b nk"}, "mn", "@.inner(a, b)"},
  {"cdist", {"a mk", "b nk"}, "mn", "@.cdist(a, b)", nil, false,
   is_exact = true},
}

--- Sizes whose product is at most n, and no dimension of which is much less
-- likely to be large than another.
local function extents(g, letters, n)
  local sizes = {}
  for letter in ("mknb"):gmatch "." do
    sizes[letter] = letters:find(letter) and
                    g:size(1, letter == "b" and 64 or #letters == 1 and 2e6
                                  or #letters == 2 and 3000 or 700) or 1
  end
  while sizes.m * sizes.k * sizes.n * sizes.b > n do
    local largest = "m"
    for letter, size in pairs(sizes) do
      if size > sizes[largest] or
         size == sizes[largest] and letter > largest then
        largest = letter
      end
    end
    sizes[largest] = max(1, floor(sizes[largest] * 0.6))
  end
  return sizes
end

function products.matmul(g)
  local row = g:pick(PRODUCTS)
  local kind = g:pick(KINDS)
  if row.is_exact then kind = g:pick {"f32", "f64"}
  elseif row.is_float and kind == "i64" then kind = "f32" end
  local letters = ""
  for letter in ("mknb"):gmatch "." do
    if table.concat(row[2], ";"):find("%s%l*" .. letter) then
      letters = letters .. letter
    end
  end
  local extent = extents(g, letters, MOST[kind] / (row.is_exact and 30 or 1))
  local inputs, shown, first = {}, {}, "contiguous"
  local function sizes_of(names)
    local sizes = {}
    for letter in names:gmatch "." do sizes[#sizes + 1] = extent[letter] end
    return sizes
  end
  for i, text in ipairs(row[2]) do
    local name, of = text:match "^(%l) (%l+)$"
    local sizes, layout = sizes_of(of), "contiguous"
    if g:happens(0.35) then
      layout = #sizes >= 2 and g:happens(0.7) and "transposed" or
               g:layout(#sizes)
    end
    if layout ~= "contiguous" then
      first = first == "contiguous" and name .. " " .. layout or
              first .. ", " .. name .. " " .. layout
    end
    local integers = kind == "i64" and {-9, 9} or {-1, 1}
    inputs[i] = g:input(name, kind, sizes, layout, integers)
  end
  for letter in letters:gmatch "." do
    shown[#shown + 1] = letter .. extent[letter]
  end
  local into = ""
  if row.out and g:happens(0.35) then
    inputs[#inputs + 1] = g:input("r", kind, sizes_of(row[3]))
    into = " -> r"
  end
  local function call(text) return text and text .. into end
  local numpy = row[6]
  if numpy == nil then numpy = row[5] or row[4] end
  return {
    name = described(row[1], kind, first, into ~= "" and ", out=" or ""),
    size = table.concat(shown, " "), kind = kind,
    inputs = table.concat(inputs, "; "), strided = call(row[4]),
    torch = call(row[5]), numpy = kind ~= "f16" and call(numpy),
  }
end

return products
