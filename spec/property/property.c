/* Random calls of elementwise operators and copies against the naive loop.
 *
 *   property SEED COUNT          cases 0 .. COUNT - 1 of a seed
 *   property SEED CASE alone     one of them
 *   property SEED COUNT damage   a byte of each result is changed: does the
 *                                comparison see it?
 *
 * A failure prints what was called and the line that does so alone.
 */

#include "property.h"

#include <inttypes.h>

enum { ENOUGH = 10 }; /* failures */

/* Complex numbers that lose a part, an out= that is resized. */
static void ignore(void *ctx, const char *text) { (void)ctx, (void)text; }

static int64_t live(void) {
  st_memory m;
  for (int k = 0; st_memory_stats(k, &m); k++) {
    if (strcmp(m.name, "tensors") == 0) return m.count;
  }
  return -1;
}

static bool run(uint64_t seed, int64_t index, dice *spoil, tally *sum) {
  static test t; /* too large for the stack of a sanitized build */
  make_case(seed, (uint64_t)index, &t);
  const bool good = run_case(&t, spoil, sum);
  free_case(&t);
  if (good) return true;
  fprintf(reports, "  property %" PRIu64 " %" PRId64 " alone\n", seed, index);
  return false;
}

/* -- What it does --------------------------------------------------------- */

static void summary(const tally *sum, uint64_t seed, int64_t n) {
  int64_t pairs = 0, operators = 0;
  for (int i = 0; i < DTYPES * DTYPES; i++) {
    pairs += sum->copied[i / DTYPES][i % DTYPES] > 0;
  }
  for (int k = 0; k < count_rows(); k++) operators += sum->row[k] > 0;
  printf("seed %" PRIu64 ": %" PRId64 " cases, %" PRId64 " results, %" PRId64
         " refusals\n", seed, n, sum->results, sum->refusals);
  printf("%" PRId64 " of %d operators, copies of %" PRId64 " of %d pairs of "
         "dtypes\n", operators, count_rows(), pairs,
         DTYPES * DTYPES);
  printf("%" PRId64 " outputs in the memory of an input, %" PRId64
         " elements\n", sum->sharing, sum->elements);
}

static int run_all(uint64_t seed, int64_t n) {
  static tally sum;
  const int64_t before = live();
  int failures = 0;
  for (int64_t k = 0; k < n && failures < ENOUGH; k++) {
    failures += !run(seed, k, NULL, &sum);
  }
  CHECK(live() == before);
  if (failures == 0) summary(&sum, seed, n);
  return failures > 0;
}

static int run_damaged(uint64_t seed, int64_t n) {
  static tally sum;
  dice spoil = {seed};
  int64_t seen = 0;
  reports = fopen("/dev/null", "w");
  CHECK(reports);
  for (int64_t k = 0; k < n; k++) seen += !run(seed, k, &spoil, &sum);
  fclose(reports);
  printf("%" PRId64 " of %" PRId64 " changed bytes were noticed\n", seen,
         sum.damaged);
  return 0;
}

int main(int argc, char **argv) {
  static tally sum;
  if (argc < 3) {
    fprintf(stderr, "property SEED COUNT\n");
    return 2;
  }
  const uint64_t seed = strtoull(argv[1], NULL, 10);
  const int64_t n = strtoll(argv[2], NULL, 10);
  reports = stdout;
  CHECK(st_init() == ST_OK);
  st_set_warning_handler(ignore, NULL);
  if (argc == 3) return run_all(seed, n);
  if (strcmp(argv[3], "damage") == 0) return run_damaged(seed, n);
  return !run(seed, n, NULL, &sum);
}
