/* A string builder. */

#include "base/text.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static void reserve(st_text *t, size_t more) {
  if (t->status != ST_OK || t->n + more <= t->capacity) return;
  const size_t capacity = 2 * (t->n + more);
  char *s = st__alloc(ST_MEM_SCRATCH, capacity);
  if (!s) {
    t->status = ST_NO_MEMORY;
    return;
  }
  if (t->n) memcpy(s, t->s, t->n);
  st__free(ST_MEM_SCRATCH, t->s, t->capacity);
  t->s = s;
  t->capacity = capacity;
}

void st__text_add(st_text *t, const char *s, size_t n) {
  reserve(t, n);
  if (t->status != ST_OK) return;
  memcpy(t->s + t->n, s, n);
  t->n += n;
}

void st__text_puts(st_text *t, const char *s) { st__text_add(t, s, strlen(s)); }

void st__text_fill(st_text *t, char c, int64_t n) {
  if (n <= 0) return;
  reserve(t, (size_t)n);
  if (t->status != ST_OK) return;
  memset(t->s + t->n, c, (size_t)n);
  t->n += (size_t)n;
}

void st__text_format(st_text *t, const char *format, ...) {
  va_list args, again;
  va_start(args, format);
  va_copy(again, args);
  const int n = vsnprintf(NULL, 0, format, again);
  va_end(again);
  reserve(t, (size_t)n + 1);
  if (t->status == ST_OK) {
    vsnprintf(t->s + t->n, (size_t)n + 1, format, args);
    t->n += (size_t)n;
  }
  va_end(args);
}

st_status st__text_finish(st_text *t, char **out) {
  st_status status = t->status;
  char *s = NULL;
  if (status == ST_OK) {
    s = st__strndup(ST_MEM_VALUE, t->s ? t->s : "", t->n);
    if (!s) status = ST_NO_MEMORY;
  }
  st__free(ST_MEM_SCRATCH, t->s, t->capacity);
  *t = (st_text){0};
  if (status == ST_OK) *out = s;
  return status;
}

void st__text_free(char **s) {
  if (*s) st__free(ST_MEM_VALUE, *s, strlen(*s) + 1);
  *s = NULL;
}
