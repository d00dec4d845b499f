/* Single lines: tables, and their transform.
 */

#include "op/fourier/line.h"

#include <string.h>

#include "base/memory.h"
#include "base/status.h"
#include "kernel/fft/fft.h"
#include "kernel/kernel.h"
#include "op/fourier/long_lines.h"

enum { BEHIND = 16 /* parts behind a table, which a vector may read */ };

static st_dtype part_of(bool is_double) {
  return is_double ? ST_FLOAT64 : ST_FLOAT32;
}

/* Lines of one pass need no roots. */
static size_t first_bytes(const st_fft_passes *p) {
  if (p->count < 2) return 0;
  const int64_t radix = p->radix[0];
  return (size_t)(2 * (radix - 1) * (p->length / radix) + BEHIND) *
         sizeof(double);
}

static void put_part(void *to, bool is_double, int64_t i, double x) {
  if (is_double) ((double *)to)[i] = x;
  else ((float *)to)[i] = (float)x;
}

/* ORDER fft_line: for each k, cosines and sines of p k. */
static void put_first(void *to, bool is_double, const st_fft_passes *p) {
  const int64_t blocks = p->length / p->radix[0];
  int64_t at = 0;
  for (int64_t k = 1; k < p->radix[0]; k++, at += 2 * blocks) {
    for (int64_t i = 0; i < blocks; i++) {
      double w[2];
      st__fft_root(i * k, p->length, w);
      put_part(to, is_double, at + i, w[0]);
      put_part(to, is_double, at + blocks + i, w[1]);
    }
  }
  for (int i = 0; i < BEHIND; i++) put_part(to, is_double, at + i, 0);
}

st_status st__fft_line_init(bool backward, bool is_double, int64_t n,
                            st_fft_line *out) {
  *out = (st_fft_line){.length = n};
  if (st__fft_is_long(n)) {
    out->matrix = st__fft_matrix(backward, is_double, n);
    return out->matrix ? ST_OK : ST_NO_MEMORY;
  }
  ST_TRY(st__fft_passes_init(&out->passes, backward, is_double, n,
                             ST_FFT_OF_LINES));
  const size_t bytes = first_bytes(&out->passes);
  if (bytes == 0) return ST_OK;
  out->first = st__alloc_block(bytes);
  if (!out->first) return ST_NO_MEMORY;
  put_first(out->first, is_double, &out->passes);
  return ST_OK;
}

void st__fft_line_free(st_fft_line *l) {
  if (l->first) st__free_block(l->first, first_bytes(&l->passes));
  st__fft_passes_free(&l->passes);
  st__fft_matrix_free(l->matrix);
  *l = (st_fft_line){.length = 0};
}

int st__fft_line_shares(const st_fft_line *l) {
  return l->matrix ? st__fft_matrix_shares(l->matrix) : 1;
}

int64_t st__fft_line_bytes(const st_fft_line *l, bool is_double, int shares) {
  if (l->matrix) return st__fft_matrix_bytes(l->matrix, is_double, shares);
  return ST_FFT_LINE_SCRATCH(l->length) * (is_double ? 16 : 8);
}

st_status st__fft_execute(const st_fft_call *c, const char *in, char *out) {
  const st_fft_line *const l = c->line;
  const st_fft_passes *const p = &l->passes;
  if (l->matrix) return st__fft_run_matrix(c, in, out);
  const st_fft_line_of ctx = {.n = l->length, .are_swapped = p->backward,
                              .factor = c->scale, .count = p->count,
                              .radix = p->radix, .at = p->at};
  char *data[] = {out, (char *)(uintptr_t)in, l->first, p->roots, c->scratch};
  st__task(ST_K_fft_line, part_of(c->is_double))(data, &ctx);
  return ST_OK;
}

void st__fft_widen(bool is_double, bool from_real, int64_t n, const char *in,
                   char *out) {
  const int64_t part = is_double ? 8 : 4;
  if (from_real) {
    for (int64_t i = 0; i < n; i++) {
      memcpy(out + 2 * i * part, in + i * part, (size_t)part);
      memset(out + (2 * i + 1) * part, 0, (size_t)part);
    }
    return;
  }
  const st_fft_mirror mirror = {n};
  memcpy(out, in, (size_t)((n / 2 + 1) * 2 * part));
  memset(out + part, 0, (size_t)part);
  st__task(ST_K_fft_mirror, part_of(is_double))(&out, &mirror);
}

void st__fft_real_parts(bool is_double, int64_t n, const char *in, char *out) {
  const int64_t part = is_double ? 8 : 4;
  for (int64_t i = 0; i < n; i++) {
    memcpy(out + i * part, in + 2 * i * part, (size_t)part);
  }
}
