--- How ranks and parts divide n things: blocks of nearly the same size, one
-- after the other.
--
-- Part p of P, from 0 on, has the things from floor(p n / P) on. Rank r of N
-- has the parts from floor(r P / N) on. So what a part has does not depend on
-- the number of ranks.
--
-- @module strided.mpi.split

local floor = math.floor

local split = {}

--- The block of part p: the number of things before it, and in it.
-- @tparam integer n
-- @tparam integer nparts
-- @tparam integer p from 0 on
-- @treturn integer
-- @treturn integer
function split.block(n, nparts, p)
  local first = floor(p * n / nparts)
  return first, floor((p + 1) * n / nparts) - first
end

--- The things of a rank, that is of all its parts: how many are before them,
-- how many there are, and likewise of its parts.
-- @tparam integer n
-- @tparam integer nparts
-- @tparam integer size
-- @tparam integer rank from 0 on
-- @treturn integer
-- @treturn integer
-- @treturn integer
-- @treturn integer
function split.share(n, nparts, size, rank)
  local p, count = split.block(nparts, size, rank)
  local first = floor(p * n / nparts)
  return first, floor((p + count) * n / nparts) - first, p, count
end

return split
