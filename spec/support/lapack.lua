--- The LAPACK of the system, which few operators need: where there is none, the
-- specs of these are pending, with what to install as the reason.

local st = require "strided"

local lapack = {}

local NEEDED = {linalg_eig = true, linalg_eigvals = true, roots = true}

local ok, why = pcall(st.linalg_eigvals, st.ones(1, 1))
if not ok then
  assert(tostring(why):find("needs a LAPACK library", 1, true), why)
end

--- Why operators that need it cannot run; nil where there is one.
lapack.lacks = not ok and
               "no LAPACK library: apt-get install libopenblas0-openmp" or nil

--- True if an operator, with or without its overload, needs a library that is
-- not there.
function lapack.is_missing(operator)
  local name = operator:gsub("^aten::", ""):match "^[%w_]+"
  return lapack.lacks ~= nil and NEEDED[name] ~= nil
end

--- busted's `it`; where the library is missing that the operator needs, what
-- declares a test as pending.
function lapack.it_of(operator, it, pending)
  if not lapack.is_missing(operator) then return it end
  return function(name)
    return pending(name .. " (" .. lapack.lacks .. ")", function() end)
  end
end

--- Declares a pending test of what a loop over operators leaves out, if it
-- leaves out something.
function lapack.note(what, pending)
  if lapack.lacks then
    pending(what .. " (" .. lapack.lacks .. ")", function() end)
  end
end

return lapack
