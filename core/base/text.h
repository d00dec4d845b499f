/* A string builder. After a failed allocation further calls do nothing, and
 * st__text_finish returns the error.
 */
#ifndef ST_BASE_TEXT_H
#define ST_BASE_TEXT_H

#include "base/memory.h"

typedef struct st_text {
  char *s;
  size_t n, capacity;
  st_status status;
} st_text; /* initialize with {0} */

void st__text_add(st_text *t, const char *s, size_t n);
void st__text_puts(st_text *t, const char *s);
void st__text_fill(st_text *t, char c, int64_t n);
__attribute__((format(printf, 2, 3)))
void st__text_format(st_text *t, const char *format, ...);

/* Moves the text into *out, a NUL-terminated string that the caller releases
 * with st__text_free, or returns the first error. t is empty afterwards. */
st_status st__text_finish(st_text *t, char **out);
void st__text_free(char **s);

#endif
