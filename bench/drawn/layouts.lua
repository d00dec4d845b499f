--- Draws cases of operators that move elements: copies of other layouts, joined
-- and repeated tensors, and views of small tensors.

local elementwise = require "bench.drawn.elementwise"
local tensors = require "bench.drawn.tensors"

local described, joined = elementwise.described, tensors.joined
local format = string.format

local layouts = {}

local CLASSES = "fib"

-- -- Layouts -----------------------------------------------------------------

function layouts.contiguous(g)
  local kind, sizes = g:kind(CLASSES), g:sizes(4e6, 2)
  local layout = g:layout(#sizes)
  while layout == "contiguous" do layout = g:layout(#sizes) end
  local case = {sizes = sizes, kind = kind,
                inputs = g:input("a", kind, sizes, layout)}
  local choice = g:uniform()
  if choice < 0.3 then
    local out = g:layout(#sizes, true)
    case.inputs = case.inputs .. "; " .. g:input("r", kind, sizes, out)
    case.name = described("copy_ to " .. out, kind, layout)
    case.strided, case.numpy = "r:copy_(a)", "@.copyto(r, a)"
  elseif choice < 0.4 and #sizes == 4 then
    case.name = described("to channels_last", kind, layout)
    case.strided = "a:contiguous {memory_format = 'channels_last'}"
    case.torch = "a.contiguous(memory_format=torch.channels_last)"
    case.numpy = "@.ascontiguousarray(a.transpose(0, 2, 3, 1))"
                 .. ".transpose(0, 3, 1, 2)"
  elseif choice < 0.5 then
    case.name = described("clone", kind, layout)
    case.strided, case.numpy = "a:clone()", "a.copy('K')"
  else
    case.name = described("contiguous", kind, layout)
    case.strided, case.numpy = "a:contiguous()", "@.ascontiguousarray(a)"
  end
  return case
end

-- -- Rearranged, joined, repeated --------------------------------------------

-- Each is given the generator, the sizes, a dimension, and two small numbers;
-- returns a name, the expression, PyTorch's, NumPy's, further tensors like a.
local MOVES = {
  flip = function(_, _, d)
    return "flip", format("a:flip($%d)", d), nil,
           format("@.flip(a, $%d).copy()", d)
  end,
  flip_all = function(_, sizes)
    local dims = {}
    for i = 1, #sizes do dims[i] = "$" .. i end
    dims = table.concat(dims, ", ")
    return "flip of all", format("a:flip({%s})", dims), nil,
           "@.flip(a).copy()"
  end,
  roll = function(_, _, d, k)
    return "roll", format("@.roll(a, %d, $%d)", k, d)
  end,
  cat = function(_, _, d)
    return "cat of 2", format("@.cat({a, b}, $%d)", d), nil,
           format("@.concatenate({a, b}, $%d)", d), "b"
  end,
  cat_four = function(_, _, d)
    return "cat of 4", format("@.cat({a, b, c, e}, $%d)", d), nil,
           format("@.concatenate({a, b, c, e}, $%d)", d), "b, c, e"
  end,
  stack = function(_, _, d)
    return "stack of 3", format("@.stack({a, b, c}, $%d)", d), nil, nil, "b, c"
  end,
  hstack = function() return "hstack", "@.hstack({a, b})", nil, nil, "b" end,
  vstack = function() return "vstack", "@.vstack({a, b})", nil, nil, "b" end,
  tile = function(g, sizes)
    local times = {}
    for i = 1, #sizes do times[i] = g:int(1, 3) end
    times = joined(times, ", ")
    return format("tile (%s)", times), format("@.tile(a, {%s})", times)
  end,
  repeat_interleave = function(_, _, d, k)
    return "repeat_interleave", format("@.repeat_interleave(a, %d, $%d)", k, d),
           nil, format("@.repeat(a, %d, $%d)", k, d)
  end,
  expand = function(_, sizes, _, k)
    local to = k .. ", " .. joined(sizes, ", ")
    return "expand, then contiguous", format("a:expand({%s}):contiguous()", to),
           nil, format("@.ascontiguousarray(@.broadcast_to(a, {%s}))", to)
  end,
  tril = function(_, _, _, k)
    return "tril", format("@.tril(a, %d)", k - 1)
  end,
  triu = function(_, _, _, k)
    return "triu", format("@.triu(a, %d)", k - 1)
  end,
  rot90 = function()
    return "rot90", "@.rot90(a, 1, {$1, $2})", nil,
           "@.rot90(a, 1, {$1, $2}).copy()"
  end,
  diag_embed = function()
    return "diag_embed", "@.diag_embed(a)", nil, false
  end,
  pad = function(_, sizes, _, k)
    local widths = ("(0, 0), "):rep(#sizes - 1) .. format("(%d, 2)", k)
    return "pad", format("F.pad(a, {%d, 2})", k), nil,
           format("@.pad(a, (%s,))", widths)
  end,
  movedim = function(_, sizes)
    return "movedim, then contiguous",
           format("@.movedim(a, $1, $%d):contiguous()", #sizes), nil,
           format("@.ascontiguousarray(@.moveaxis(a, 0, %d))", #sizes - 1)
  end,
}
local MOVE_NAMES = {}
for name in pairs(MOVES) do MOVE_NAMES[#MOVE_NAMES + 1] = name end
table.sort(MOVE_NAMES) -- the same order everywhere

function layouts.move(g)
  local move = g:pick(MOVE_NAMES)
  local kind = g:kind(CLASSES)
  local sizes = g:sizes(move == "diag_embed" and 2e3 or 5e5, 2)
  local d, k = g:int(1, #sizes), g:int(2, 4)
  local name, strided, torch, numpy, more = MOVES[move](g, sizes, d, k)
  local layout = g:layout(#sizes)
  if strided:find("$" .. d, 1, true) and #sizes > 1 then
    name = ("%s, dimension %d of %d"):format(name, d, #sizes)
  end
  local inputs = g:input("a", kind, sizes, layout)
  if more then
    inputs = inputs .. "; " .. g:input(more, kind, sizes, g:happens(0.7) and
                                       layout or "contiguous")
  end
  return {name = described(name, kind, layout), sizes = sizes, kind = kind,
          inputs = inputs, strided = strided, torch = torch, numpy = numpy}
end

-- -- Views -------------------------------------------------------------------

-- of a tensor of 6x4x10; expression, PyTorch's, NumPy's
local VIEWS = {
  {"reshape", "a:reshape(24, 10)"},
  {"view", "a:view(6, 40)", nil, "a.reshape(6, 40)"},
  {"view with -1", "a:view(6, -1)", nil, "a.reshape(6, -1)"},
  {"flatten", "a:flatten()", nil, "a.reshape(-1)"},
  {"transpose", "a:transpose($1, $2)", nil, "a.swapaxes(0, 1)"},
  {"permute", "a:permute($3, $1, $2)", nil, "a.transpose(2, 0, 1)"},
  {"movedim", "a:movedim($1, $3)", nil, "@.moveaxis(a, 0, 2)"},
  {"select", "a:select($2, $3)", nil, "a[:, 2]"},
  {"narrow", "a:narrow($3, $2, 5)", nil, "a[:, :, 1:6]"},
  {"a row", "a[$3]", "a[2]"},
  {"an element, a view", "a[{$3, $2, $1}]", "a[2, 1, 0]", false},
  {"unsqueeze", "a:unsqueeze($2)", nil, "@.expand_dims(a, 1)"},
  {"squeeze", "a:squeeze()"},
  {"expand", "a:expand({3, 6, 4, 10})", nil,
   "@.broadcast_to(a, (3, 6, 4, 10))"},
  {"t()", "a[$1]:t()", "a[0].t()", "a[0].T"},
  {"diagonal", "a:diagonal(0, $1, $2)"},
  {"split", "a:split(2, $1)", nil, "@.split(a, 3)"},
  {"chunk", "a:chunk(2, $3)", nil, "@.split(a, 2, 2)"},
  {"unbind", "a:unbind($1)", nil, false},
  {"unfold", "a:unfold($3, 3, 2)", nil, false},
  {"detach", "a:detach()", nil, "a.view()"},
  {"slice", "a['2:4']", "a[1:4]"},
  {"slices", "a['2:4, :, ::2']", "a[1:4, :, ::2]"},
  {"item of a sum", "a:sum():item()"},
}

function layouts.view(g)
  local row, kind = g:pick(VIEWS), g:kind(CLASSES)
  local layout = g:happens(0.7) and "contiguous" or "transposed"
  if row[1]:find "view" and layout ~= "contiguous" then layout = "sliced" end
  if row[1] == "view with -1" or row[1] == "view" then layout = "contiguous" end
  local sizes = {6, 4, 10}
  return {name = described(row[1], kind, layout), sizes = sizes, kind = kind,
          inputs = g:input("a", kind, sizes, layout), strided = row[2],
          torch = row[3], numpy = row[4]}
end

return layouts
