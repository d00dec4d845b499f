--- Measures the errors of st.special in units of the last place, ours and
-- PyTorch's, against mpmath at drawn arguments: the table in core/README.md.
--
--     ./dev lua bench/accuracy/special.lua [N [NAME...]] (N = 1000: 10 minutes)
--
-- A row is a function and a region of its arguments. Where it crosses zero, an
-- error is counted in units of the row's size instead, if that is larger.

local HERE = arg[0]:match "^(.*)/[^/]*$" or "."
package.path = HERE .. "/../../?.lua;" .. package.path

local peers = require "bench.peers"
local st = require "strided"

local N = tonumber(arg[1]) or 1000

-- -- Regions -----------------------------------------------------------------

local function even(lo, hi)
  return function()
    return st.rand({N}, {dtype = "float64"}) * (hi - lo) + lo
  end
end

--- Of both signs if lo is negative.
local function log_even(lo, hi)
  local a, b = math.log(math.abs(lo)), math.log(hi)
  return function()
    local x = (st.rand({N}, {dtype = "float64"}) * (b - a) + a):exp()
    return lo < 0 and x * (st.rand {N} - 0.5):sign():to "float64" or x
  end
end

local function whole(lo, hi)
  return function()
    return st.randint(lo, hi + 1, {N}):to "float64"
  end
end

--- The second argument is close to the first one.
local function about(share)
  return function(first)
    return first * (1 + (st.rand({N}, {dtype = "float64"}) - 0.5) * 2 * share)
  end
end

-- -- Rows --------------------------------------------------------------------

-- name, region, arguments, the value for mpmath, size where it crosses zero
local ROWS = {
  {"gammaln", "1e-3 to 1e3", {log_even(1e-3, 1e3)}, "loggamma(x)", 0.1},
  {"gammaln", "-20 to 0", {even(-20, 0)}, "log(abs(gamma(x)))", 1},
  {"digamma", "1e-3 to 1e6", {log_even(1e-3, 1e6)}, "digamma(x)", 0.1},
  {"digamma", "-20 to 0", {even(-20, 0)}, "digamma(x)", 1},
  {"polygamma", "n 1 to 5, x 1e-3 to 1e6",
   {whole(1, 5), log_even(1e-3, 1e6)}, "polygamma(int(x), y)"},
  {"polygamma", "n 1 to 5, x -10 to 0", {whole(1, 5), even(-10, 0)},
   "polygamma(int(x), y)", 1},
  {"polygamma", "n 6 to 60, x 0.1 to 50", {whole(6, 60), log_even(0.1, 50)},
   "polygamma(int(x), y)"},
  {"zeta", "s 1.01 to 50, q 0.01 to 1e3",
   {even(1.01, 50), log_even(0.01, 1e3)}, "zeta(x, y)"},
  {"zeta", "whole s, q -10 to 0", {whole(2, 12), even(-10, 0)},
   "polygamma(int(x) - 1, y) * (-1) ** int(x) / factorial(int(x) - 1)", 10},
  {"multigammaln", "p = 3, a 1.01 to 1e3", {log_even(1.01, 1e3)},
   "log(pi) * 1.5 + loggamma(x) + loggamma(x - 0.5) + loggamma(x - 1)", 1,
   function(x) return st.special.multigammaln(x, 3) end,
   "multigammaln(x, 3)"},
  {"gammainc", "1e-2 to 1e2, each", {log_even(0.01, 100), log_even(0.01, 100)},
   "gammainc(x, 0, y, regularized=True)"},
  {"gammaincc", "1e-2 to 1e2, each", {log_even(0.01, 100), log_even(0.01, 100)},
   "gammainc(x, y, inf, regularized=True)"},
  {"gammainc", "a 1e2 to 1e5, x near", {log_even(100, 1e5), about(0.01)},
   "gammainc(x, 0, y, regularized=True)"},
  {"gammaincc", "a 1e2 to 1e5, x near", {log_even(100, 1e5), about(0.01)},
   "gammainc(x, y, inf, regularized=True)"},
  {"erf", "all", {log_even(-1e-3, 6)}, "erf(x)"},
  {"erfc", "-6 to 26", {even(-6, 26)}, "erfc(x)"},
  {"erfcx", "-26 to 50", {even(-26, 50)}, "erfc(x) * exp(mpf(x) ** 2)"},
  {"erfcx", "50 to 1e9", {log_even(50, 1e9)},
   "(1 - 1 / (2 * mpf(x) ** 2) + 3 / (4 * mpf(x) ** 4)"
   .. " - 15 / (8 * mpf(x) ** 6) + 105 / (16 * mpf(x) ** 8))"
   .. " / (sqrt(pi) * x)"},
  {"erfinv", "-1 to 1", {even(-1, 1)}, "erfinv(x)"},
  {"erfinv", "1e-9 to 1 - 1e-9 from 1",
   {function() return 1 - log_even(1e-9, 0.1)() end}, "erfinv(x)"},
  {"ndtr", "-37 to 8", {even(-37, 8)}, "ncdf(x)"},
  {"log_ndtr", "-1e3 to 1", {even(-1000, 1)}, "log(ncdf(x))"},
  {"log_ndtr", "-6 to 6", {even(-6, 6)}, "log(ncdf(x))"},
  {"ndtri", "1e-30 to 1e-3", {log_even(1e-30, 1e-3)},
   "-sqrt(2) * erfcinv(2 * mpf(x))"},
  {"ndtri", "1e-3 to 1 - 1e-3", {even(1e-3, 0.999)},
   "sqrt(2) * erfinv(2 * mpf(x) - 1)"},
  {"entr", "1e-9 to 1e3", {log_even(1e-9, 1e3)}, "-x * log(x)", 0.01},
  {"xlogy", "1e-3 to 1e3, each", {log_even(1e-3, 1e3), log_even(1e-3, 1e3)},
   "x * log(y)"},
  {"xlog1py", "1e-3 to 1e3, each", {log_even(1e-3, 1e3), log_even(1e-3, 1e3)},
   "x * log1p(y)"},
  {"sinc", "-10 to 10", {even(-10, 10)}, "sincpi(x)", 0.03},
  {"logit", "1e-9 to 1", {log_even(1e-9, 0.999)},
   "log(mpf(x)) - log1p(-mpf(x))", 0.1},
  {"expit", "-700 to 40", {even(-700, 40)}, "1 / (1 + exp(-mpf(x)))"},
  {"i0", "-700 to 700", {log_even(-1e-3, 700)}, "besseli(0, x)"},
  {"i1", "-700 to 700", {log_even(-1e-3, 700)}, "besseli(1, x)"},
  {"i0e", "-1e6 to 1e6", {log_even(-1e-3, 1e6)},
   "besseli(0, x) * exp(-abs(mpf(x)))"},
  {"i1e", "-1e6 to 1e6", {log_even(-1e-3, 1e6)},
   "besseli(1, x) * exp(-abs(mpf(x)))"},
  {"modified_bessel_k0", "1e-3 to 700", {log_even(1e-3, 700)},
   "besselk(0, x)"},
  {"modified_bessel_k1", "1e-3 to 700", {log_even(1e-3, 700)},
   "besselk(1, x)"},
  {"scaled_modified_bessel_k0", "1e-3 to 1e6", {log_even(1e-3, 1e6)},
   "besselk(0, x) * exp(mpf(x))"},
  {"scaled_modified_bessel_k1", "1e-3 to 1e6", {log_even(1e-3, 1e6)},
   "besselk(1, x) * exp(mpf(x))"},
  {"bessel_j0", "0 to 100", {even(0, 100)}, "besselj(0, x)", 0.1},
  {"bessel_j1", "0 to 100", {even(0, 100)}, "besselj(1, x)", 0.1},
  {"bessel_y0", "0 to 100", {even(0, 100)}, "bessely(0, x)", 0.1},
  {"bessel_y1", "0 to 100", {even(0, 100)}, "bessely(1, x)", 0.1},
  {"spherical_bessel_j0", "0 to 100", {even(0, 100)}, "sinc(x)", 0.01},
  {"airy_ai", "-30 to 0", {even(-30, 0)}, "airyai(x)", 0.1},
  {"airy_ai", "0 to 100", {even(0, 100)}, "airyai(x)"},
}

-- -- Exact values ------------------------------------------------------------

local EXACT = [[
import sys, math, numpy, torch
import mpmath as m
from mpmath import *

def erfcinv(y):
    """By Newton's method on log(erfc)."""
    x = sqrt(-log(y * sqrt(-log(y) * pi)))
    for _ in range(8):
        e = erfc(x)
        x += (log(e) - log(y)) * e * sqrt(pi) / 2 * exp(x * x)
    return x

def unit(value, real, size):
    v = max(abs(value), mpf(size))
    bits, least = (53, -1074) if real == "float64" else (24, -149)
    if v == 0: return mpf(2) ** least
    return mpf(2) ** max(int(floor(log(v, 2))) - bits + 1, least)

def largest(got, exact, real, size):
    worst = 0
    where = 0
    top = 1.7976931348623157e308 if real == "float64" else 3.4028234e38
    for i, (g, e) in enumerate(zip(got, exact)):
        if abs(e) > top: continue
        error = abs(mpf(g) - e) / unit(e, real, size) \
            if math.isfinite(g) else inf
        if error > worst: worst, where = error, i
    return worst, where

mp.prec = 700
for line in open(sys.argv[1]):
    name, region, real, formula, size, peer, columns = line.split("\t")
    columns = [[float(t) for t in c.split()] for c in columns.split("|")]
    args, got = columns[:-1], columns[-1]
    exact = [eval(formula, globals(), dict(zip("xy", map(mpf, a))))
             for a in zip(*args)]
    exact = [e.real for e in exact]
    tensors = [torch.tensor(a, dtype=getattr(torch, real)) for a in args]
    try:
        theirs = eval("torch.special." + peer, {"torch": torch},
                      dict(zip("xy", tensors))).double().tolist()
        their, _ = largest(theirs, exact, real, float(size))
        their = "%.3g" % their
    except Exception as e:
        their = "-"
    ours, at = largest(got, exact, real, float(size))
    print("%-26s%-26s%-9s%10.3g%12s   %s" % (name, region, real, ours, their,
          ", ".join(repr(a[at]) for a in args)), flush=True)
]]

-- -- Ours --------------------------------------------------------------------

local function texts(t)
  local out = t:to "float64":totable()
  for i, x in ipairs(out) do
    out[i] = x ~= x and "nan" or ("%.17g"):format(x)
  end
  return table.concat(out, " ")
end

--- polygamma's order is one number per call.
local function call(row, args)
  local f = row[6] or st.special[row[1]]
  if row[1] ~= "polygamma" then return f((unpack or table.unpack)(args)) end
  local out = st.empty_like(args[2])
  for i = 1, N do
    out[i] = f(args[1]:to "float64"[i], args[2]:slice(1, i, i))[1]
  end
  return out
end

local function write(file, row, dtype)
  local args, columns = {}, {}
  for i, draw in ipairs(row[3]) do
    args[i] = draw(args[1] and args[1]:to "float64"):to(dtype)
    columns[i] = texts(args[i])
  end
  columns[#columns + 1] = texts(call(row, args))
  local peer = row[7] or #args == 1 and row[1] .. "(x)" or row[1] .. "(x, y)"
  file:write(table.concat({row[1], row[2], dtype, row[4],
                           tostring(row[5] or 0), peer,
                           table.concat(columns, "|")}, "\t"), "\n")
end

local wanted
for i = 2, #arg do
  wanted = wanted or {}
  wanted[arg[i]] = true
end

local python, reason = peers.python()
if not python then peers.say("no exact values: ", reason); os.exit(1) end
st.manual_seed(0)
local path = os.tmpname()
local file = assert(io.open(path, "w"))
for _, row in ipairs(ROWS) do
  if not wanted or wanted[row[1]] then
    write(file, row, "float64")
    write(file, row, "float32")
  end
end
file:close()
print(("%-26s%-26s%-9s%10s%12s   %s"):format("function", "region", "dtype",
                                             "error", "PyTorch", "at"))
peers.run(peers.line {python, "-c", EXACT, path})
os.remove(path)
