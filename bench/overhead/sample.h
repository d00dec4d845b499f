/* Timing for overhead.c and overhead.cpp: runs a loop in samples of at least
 * 20 ms of processor time, and prints the time of a pass as a line of JSON.
 *
 * It measures processor time, because a busy machine affects it less than wall
 * clock time.
 */
#ifndef BENCH_SAMPLE_H
#define BENCH_SAMPLE_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SAMPLE_SECONDS 0.02
enum { SAMPLES = 15 };

/* Does n times what is measured. */
typedef void (*sample_loop)(const void *ctx, int64_t n);

static double time_loop(sample_loop loop, const void *ctx, int64_t n) {
  const clock_t start = clock();
  loop(ctx, n);
  return (double)(clock() - start) / CLOCKS_PER_SEC;
}

static int ascending(const void *a, const void *b) {
  const double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Measures name if only, which may be NULL, is a part of it. */
static void sample(const char *only, const char *name, sample_loop loop,
                   const void *ctx) {
  double ns[SAMPLES];
  int64_t n = 1;
  if (only && !strstr(name, only)) return;
  while (time_loop(loop, ctx, n) < SAMPLE_SECONDS) n *= 2;
  for (int i = 0; i < SAMPLES; i++) {
    ns[i] = time_loop(loop, ctx, n) * 1e9 / (double)n;
  }
  qsort(ns, SAMPLES, sizeof *ns, ascending);
  printf("{\"case\": \"%s\", \"fastest\": %.2f, \"median\": %.2f, "
         "\"n\": %lld}\n", name, ns[0], ns[SAMPLES / 2], (long long)n);
  fflush(stdout);
}

#endif
