/* How the engine fails: a status is returned, its message is kept per
 * thread. The newest message counts.
 */
#ifndef ST_BASE_STATUS_H
#define ST_BASE_STATUS_H

#include <stdio.h>
#include <stdlib.h>

#include "base/types.h"

/* Forwards a failure of e to the caller. */
#define ST_TRY(e) do {                     \
    const st_status st_try_ = (e);         \
    if (st_try_ != ST_OK) return st_try_;  \
  } while (0)

/* Forwards a failure of e to the function's exit at label fail, which
 * expects a local `st_status status`. */
#define ST_TRY_FAIL(e) do {                 \
    status = (e);                           \
    if (status != ST_OK) goto fail;         \
  } while (0)

/* What must hold unless strided itself is wrong. */
#define ST_ASSERT(cond) do {                                           \
    if (!(cond)) {                                                     \
      fprintf(stderr, "strided: %s:%d: assertion failed: %s\n",        \
              __FILE__, __LINE__, #cond);                              \
      abort();                                                         \
    }                                                                  \
  } while (0)

/* Sets this thread's message and returns code. The text says what is wrong
 * with which argument; the dispatcher puts the operator's name in front. */
__attribute__((format(printf, 2, 3)))
st_status st__fail(st_status code, const char *format, ...);

/* Note [Index base in messages]
 * Dimensions and positions are 0-based in C and 1-based in Lua, and a message
 * must name the ones that its reader wrote. The binding says where counting
 * starts while it calls the engine; texts pass every dimension and position
 * through st__display_index, which leaves negative ones, counted from the
 * end. */
extern _Thread_local int st__display_base;

static inline int64_t st__display_index(int64_t position) {
  return position < 0 ? position : position + st__display_base;
}

/* Puts "prefix: " in front of this thread's message. */
void st__prefix_message(const char *prefix);

/* What is allowed but seldom meant: to the handler, or to stderr. */
__attribute__((format(printf, 1, 2)))
void st__warn(const char *format, ...);
/* Has this thread's warnings go nowhere, or not; returns what it was. */
bool st__mute(bool muted);
typedef void (*st_warning_fn)(void *ctx, const char *text);
void st__set_warning_handler(st_warning_fn fn, void *ctx);

const char *st__message(void);
const char *st__status_name(st_status code);
const char *st__status_text(st_status code);

#endif
