--- What functions of NumPy, segments and reductions want of the fuzzer: lengths
-- that fill a dimension, coordinates, modes, names of reductions.

local st = require "strided"

local M = {}

local MODES = {
  convolve = {"full", "same", "valid"}, correlate = {"full", "same", "valid"},
  ravel_multi_index = {"raise", "wrap", "clip"},
}

local REDUCTIONS = {
  segment_reduce = {"sum", "mean", "max", "min", "prod"},
  scatter = {"add", "multiply"}, scatter_ = {"add", "multiply"},
}

--- Makes the case fit such a function.
function M.prepare(c, name)
  c.modes, c.has_segments = MODES[name], name == "segment_reduce"
  c.reductions = REDUCTIONS[name]
  c.has_coordinates = name == "ravel_multi_index"
  c.gives_int32 = name == "_int_mm"
  if c.gives_int32 then c.dtype = "int8" end
end

--- The makers of arguments by type and name; fresh makes a tensor, others are
-- those that serve other operators.
function M.hints(fresh, others)
  local hints = {}

  local function hint(key, flag, make)
    local other = others[key]
    hints[key] = function(c)
      if not other or c[flag] then return make(c) end
      return other(c)
    end
  end

  hint("str mode", "modes", function(c) return c:pick(c.modes) end)
  hint("str reduce", "reductions", function(c) return c:pick(c.reductions) end)
  hint("ScalarType out_dtype", nil, function(c) return c.dtype end)
  hint("Tensor indices", "has_segments", function() return st.none end)
  hints["Tensor out"] = function(c)
    if not c.gives_int32 then return require "spec.fuzz.values".tensor(c) end
    return fresh(c, "int32", {c.square, c.square})
  end
  hint("Dim axis", "has_segments", function() return 1 end)
  hint("Tensor lengths", "has_segments", function(c)
    local size = c.square or 2
    local first = c:int(0, size)
    return st.tensor({first, 0, size - first}, {dtype = "int64"})
  end)
  hint("Tensor offsets", "has_segments", function(c)
    return c:chance(0.8) and st.none
           or st.tensor({1, (c.square or 2) + 1}, {dtype = "int64"})
  end)
  hint("Tensor[] multi_index", "has_coordinates", function(c)
    return c:list(2, fresh, "int64", {c:int(1, 3)}, 1, 3)
  end)
  hint("int[] dims", "has_coordinates", function(c)
    return c:list(2, c.int, 2, 4)
  end)
  return hints
end

return M
