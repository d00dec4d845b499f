/* The per-thread error message, names of status codes, and warnings. */

#include "base/status.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024 };

_Thread_local int st__display_base;

/* This thread's message; NULL before its first. On the heap, since variables of
 * threads must be small: Note [Static TLS]. */
static _Thread_local char *message;
static pthread_once_t message_once = PTHREAD_ONCE_INIT;
static pthread_key_t message_key;
static bool has_message_key;

/* Runs when a thread exits. A later destructor may set another message. */
static void free_message(void *p) {
  message = NULL;
  free(p);
}

static void create_message_key(void) {
  has_message_key = pthread_key_create(&message_key, free_message) == 0;
}

static void new_message(void) {
  pthread_once(&message_once, create_message_key);
  message = calloc(1, MESSAGE_SIZE);
  if (message && has_message_key) pthread_setspecific(message_key, message);
}

st_status st__fail(st_status code, const char *format, ...) {
  /* The arguments may point into the old message. */
  char text[MESSAGE_SIZE];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!message) new_message();
  if (message) memcpy(message, text, sizeof text);
  return code;
}

void st__prefix_message(const char *prefix) {
  st__fail(ST_OK, "%s: %.*s", prefix, (int)(MESSAGE_SIZE - 128), st_message());
}

const char *st_message(void) { return message ? message : ""; }

const char *st_status_name(st_status code) {
  static const char *const names[] = {
#define NAME(id, name, text) name,
    ST_STATUS_MAP(NAME)
#undef NAME
  };
  return (unsigned)code < ST_STATUS_COUNT ? names[code] : "unknown";
}

const char *st_status_text(st_status code) {
  static const char *const texts[] = {
#define TEXT(id, name, text) text,
    ST_STATUS_MAP(TEXT)
#undef TEXT
  };
  return (unsigned)code < ST_STATUS_COUNT ? texts[code] : "unknown status";
}

/* -- Warnings ------------------------------------------------------------- */

static pthread_mutex_t warning_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct { st_warning_fn fn; void *ctx; } handler;

static void unlock_handler(void) { pthread_mutex_unlock(&warning_mutex); }
static void lock_handler(void) { pthread_mutex_lock(&warning_mutex); }
static void register_atfork(void) { pthread_atfork(lock_handler, unlock_handler,
                                                   unlock_handler); }

static void lock_handler_atfork(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, register_atfork);
  lock_handler();
}

void st_set_warning_handler(st_warning_fn fn, void *ctx) {
  lock_handler_atfork();
  handler.fn = fn;
  handler.ctx = ctx;
  unlock_handler();
}

static _Thread_local bool is_muted;
static _Thread_local unsigned nmuted;

bool st__is_muted(void) { return is_muted; }

unsigned st__count_muted(void) { return nmuted; }

bool st__mute(bool muted) {
  const bool old = is_muted;
  is_muted = muted;
  return old;
}

void st__warn(const char *format, ...) {
  char text[1024];
  va_list args;
  nmuted += is_muted;
  if (is_muted) return;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  lock_handler_atfork();
  const st_warning_fn fn = handler.fn;
  void *const ctx = handler.ctx;
  unlock_handler();
  if (fn) fn(ctx, text);
  else fprintf(stderr, "strided: warning: %s\n", text);
}
