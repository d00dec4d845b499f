--- What busted runs before the specs: random numbers are the same in every run.
-- A spec may seed again; a process that a spec starts has to. The build with
-- ThreadSanitizer has no binding.

if not os.getenv "STRIDED_TSAN" then
  require("strided").manual_seed(67280421310721)
end
