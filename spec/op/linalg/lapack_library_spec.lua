--- The LAPACK of the system: which one is taken, what a call says where there
-- is none, or none that fits, and what OpenBLAS is told of the processor. The
-- libraries are made here: their functions give a number. Their processes have
-- libraries preloaded, where that of AddressSanitizer would have to be.
-- axes: unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"

local folder

--- Compiles a library; returns its path.
local function compile(name, text)
  local path = ("%s/%s"):format(folder, name)
  files.write(path .. ".c", text)
  local said = build.run(("gcc -w -shared -fPIC -o '%s.so' '%s.c'"):format(
    path, path))
  assert.equal("", said)
  return path .. ".so"
end

--- Functions of which eigenvalues are `value`; isamax counts in `integer`.
local function lapack(value, integer)
  return ([[
#include <stdint.h>
#include <stdlib.h>
static double value(void) { return %s; }
#define REAL(name, T)                                                        \
  void name(char *l, char *r, int *n, T *a, int *lda, T *re, T *im, T *vl,   \
            int *ldvl, T *vr, int *ldvr, T *work, int *lwork, int *info) {   \
    for (int i = 0; i < *n; i++) re[i] = (T)value(), im[i] = 0;              \
    *info = 0;                                                               \
  }
#define COMPLEX(name, T)                                                     \
  void name(char *l, char *r, int *n, T *a, int *lda, T *w, T *vl,           \
            int *ldvl, T *vr, int *ldvr, T *work, int *lwork, T *rwork,      \
            int *info) {                                                     \
    for (int i = 0; i < *n; i++) w[2 * i] = (T)value(), w[2 * i + 1] = 0;    \
    *info = 0;                                                               \
  }
REAL(sgeev_, float) REAL(dgeev_, double)
COMPLEX(cgeev_, float) COMPLEX(zgeev_, double)
%s isamax_(%s *n, float *x, %s *step) { return *n > 0; }
]]):format(value, integer, integer, integer)
end

--- An OpenBLAS, which looks at the variable when it is loaded; eigenvalues are
-- 7 if it was set, else 5.
local OPENBLAS = lapack("is_set ? 7 : 5", "int"):gsub("static double", [[
static int is_set, threads = 4;
__attribute__((constructor)) static void begin(void) {
  is_set = getenv("OPENBLAS_CORETYPE") != NULL;
}
int openblas_get_num_threads(void) { return threads; }
void openblas_set_num_threads(int n) { threads = n; }
char *openblas_get_corename(void) {
  return is_set ? getenv("OPENBLAS_CORETYPE") : "Prescott";
}
char *openblas_get_config(void) { return "OpenBLAS 0.0.0 DYNAMIC_ARCH"; }
static double]], 1)

--- A second thread of the program from its start.
local THREAD = [[
#include <pthread.h>
#include <unistd.h>
static void *wait(void *x) { pause(); return x; }
__attribute__((constructor)) static void begin(void) {
  pthread_t t;
  pthread_create(&t, NULL, wait, NULL);
}
]]

--- What a script prints in a process with these variables.
local function run(environment, script)
  local path = folder .. "/script.lua"
  files.write(path, 'local st = require "strided"\n' .. script)
  return build.run(("env -u OPENBLAS_CORETYPE %s %s '%s'"):format(
    environment, build.lua, path))
end

local CALL = [[
  local function call(fn, ...)
    local ok, x = pcall(fn, ...)
    print(ok and st.real(x):sum():item() or x:gsub("^[^ ]*: ", "", 1))
  end
]]

local function values(library, environment)
  return run(("STRIDED_LAPACK='%s' %s"):format(library, environment or ""),
             CALL .. [[
    for _, d in ipairs {"float32", "float64", "complex64", "complex128"} do
      call(st.linalg.eigvals, st.zeros({2, 2}, {dtype = d}))
    end
    print(os.getenv "OPENBLAS_CORETYPE")
  ]])
end

local needs = [[needs a LAPACK library, and there is none%s: install the ]] ..
  [[package libopenblas0-openmp or liblapack3, or set STRIDED_LAPACK to the ]]
  .. "file name of another one"

describe("The LAPACK of the system", function()
  setup(function()
    folder = os.tmpname()
    os.remove(folder)
    assert(os.execute("mkdir '" .. folder .. "'"))
  end)

  teardown(function() os.execute("rm -rf '" .. folder .. "'") end)

  it("is the one that STRIDED_LAPACK names", function()
    local library = compile("short", lapack("3", "int"))
    assert.equal("6\n6\n6\n6\nnil\n", values(library))
  end)

  it("is missing: a call says what to install", function()
    local said = run("STRIDED_LAPACK=none", CALL .. [[
      call(st.linalg.eigvals, st.ones(3, 3))
      call(st.linalg.eig, st.ones(3, 3):to "complex64")
      call(st.roots, st.tensor {1, 2, 3}:float())
    ]])
    local why = needs:format(" (none: cannot open shared object file: No such "
                             .. "file or directory)")
    assert.equal(("linalg_eigvals: %s\nlinalg_eig: %s\nroots: %s\n"):format(
      why, why, why), said)
  end)

  it("is missing: other decompositions need none", function()
    local said = run("STRIDED_LAPACK=none", [[
      local l, eye = st.linalg, st.eye(70) * 2
      local b = st.ones(70, 1)
      local LD, pivots = l.ldl_factor(eye)
      local LU, at = l.lu_factor(eye)
      for _, x in ipairs {
        l.solve(eye, b), l.inv(eye), l.pinv(eye), l.cholesky(eye),
        l.ldl_solve(LD, pivots, b), l.lu_solve(LU, at, b), (l.lstsq(eye, b)),
        (l.lstsq(eye, b, {driver = "gelsd"})), (l.qr(eye)), (l.eigh(eye)),
        l.eigvalsh(eye), (l.svd(eye)), l.svdvals(eye), l.matrix_exp(eye),
        l.matrix_norm(eye, "nuc"), l.cond(eye), l.matrix_rank(eye)} do
        assert(x:isfinite():all():item())
      end
      print(io.open("/proc/self/maps"):read "*a":find "blas")
    ]])
    assert.equal("nil\n", said)
  end)

  it("lacks a function", function()
    local said = run("STRIDED_LAPACK=libm.so.6",
                     CALL .. "call(st.linalg.eigvals, st.ones(3, 3))")
    assert.equal("linalg_eigvals: " ..
                 needs:format " (libm.so.6: it has no sgeev_)" .. "\n", said)
  end)

  it("has integers of 64 bits", function()
    local library = compile("long", lapack("3", "int64_t"))
    local said = run(("STRIDED_LAPACK='%s'"):format(library),
                     CALL .. "call(st.linalg.eigvals, st.ones(3, 3))")
    assert.equal("linalg_eigvals: " .. needs:format(
      (" (%s: its integers have 64 bits)"):format(library)) .. "\n", said)
  end)

  -- Of x86 with AVX2, or better, whatever kernels run.
  local isa = build.run("env -u STRIDED_ISA " .. build.lua ..
    [[ -e 'io.write(require "strided".config().isa)']])
  local core = ({avx2 = "Haswell", avx512 = "SkylakeX"})[isa]
  if core then
    it("is told of the processor, and the variable does not stay", function()
      local library = compile("openblas", OPENBLAS)
      assert.equal("14\n14\n14\n14\nnil\n", values(library))
      -- after a loop on a team of threads, too
      local said = run(("STRIDED_LAPACK='%s'"):format(library), CALL .. [[
        st.set_num_threads(3)
        st.randn(1e6):sum()
        call(st.linalg.eigvals, st.ones(2, 2))
        print(st.ones(1e6):sum():item())
      ]])
      assert.equal("14\n1000000\n", said)
    end)

    it("takes the processor for another: a warning says so once", function()
      local library = compile("openblas", OPENBLAS)
      local thread = compile("thread", THREAD)
      local said = values(library, ("LD_PRELOAD='%s'"):format(thread))
      assert.equal(([[
strided: warning: OpenBLAS takes this processor for a Prescott, and is slow: ]]
.. [[set the environment variable OPENBLAS_CORETYPE=%s before the program starts
10
10
10
10
nil
]]):format(core), said)
    end)

    it("is told by the program: nothing is said", function()
      local library = compile("openblas", OPENBLAS)
      assert.equal("14\n14\n14\n14\nPrescott\n",
                   values(library, "OPENBLAS_CORETYPE=Prescott"))
    end)
  end
end)
