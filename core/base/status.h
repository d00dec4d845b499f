/* Errors and warnings. A function that fails returns a status; the message of
 * the last failure is stored per thread.
 */
#ifndef ST_BASE_STATUS_H
#define ST_BASE_STATUS_H

#include <stdio.h>
#include <stdlib.h>

#include "abi/types.h"

/* Returns the status of e if it is not ST_OK. */
#define ST_TRY(e) do {                     \
    const st_status st_try_ = (e);         \
    if (st_try_ != ST_OK) return st_try_;  \
  } while (0)

/* Jumps to the label fail if e fails; needs a local `st_status status`. */
#define ST_TRY_FAIL(e) do {                 \
    status = (e);                           \
    if (status != ST_OK) goto fail;         \
  } while (0)

/* Aborts if cond is false, which is a bug of strided and never of its user. */
#define ST_ASSERT(cond) do {                                           \
    if (!(cond)) {                                                     \
      fprintf(stderr, "strided: %s:%d: assertion failed: %s\n",        \
              __FILE__, __LINE__, #cond);                              \
      abort();                                                         \
    }                                                                  \
  } while (0)

/* Sets this thread's message and returns code. The text says what is wrong
 * with which argument; the dispatcher prepends the operator's name. The
 * arguments may point into the previous message. */
__attribute__((format(printf, 2, 3)))
st_status st__fail(st_status code, const char *format, ...);

/* Note [Index base in messages]
 * Dimensions and indices are 0-based in C and 1-based in Lua, and a message
 * must show the numbers that the user wrote. The binding sets
 * st__display_base to 1 while it calls the engine; messages format every
 * dimension and index with st__display_index, which does not change negative
 * ones: they count from the end. */
extern _Thread_local int st__display_base;

static inline int64_t st__display_index(int64_t position) {
  return position < 0 ? position : position + st__display_base;
}

/* Prepends "prefix: " to this thread's message. */
void st__prefix_message(const char *prefix);

/* Passes a warning to the handler, or prints it on stderr if there is none. */
__attribute__((format(printf, 1, 2)))
void st__warn(const char *format, ...);
/* Turns this thread's warnings off or on; returns the previous setting. */
bool st__mute(bool muted);
bool st__is_muted(void);
/* How many warnings this thread has not given so far. */
unsigned st__count_muted(void);
/* The handler is process-wide; NULL restores printing on stderr. */
typedef void (*st_warning_fn)(void *ctx, const char *text);
ST_API void st_set_warning_handler(st_warning_fn fn, void *ctx);

/* This thread's last message; valid until its next failure. */
ST_API const char *st_message(void);
ST_API const char *st_status_name(st_status code);
ST_API const char *st_status_text(st_status code);

#endif
