/* Raises failures as Lua errors: the engine's message with the user's source
 * line in front.
 *
 * Note [Errors that may be caught]
 * Some functions of the library try something and do another thing, or say it
 * in other words, if that is refused. An interrupt, a time limit of the host, a
 * lack of memory and an error of a user's function are no refusals, and their
 * meaning must not change. They can be any value, so it is the refusals that
 * are known: the binding (st__raise) and the library
 * (strided.argument.caller_error) note the text of each that they raise, and
 * `try` catches the last one only.
 *
 * In a function that st.fuse records, a refusal ends the recording, though the
 * function may catch it: it may be one of fake tensors.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "state/error.h"

/* The text without the source line in front. */
static const char *without_line(const st__state *h, lua_State *L,
                                const char *text) {
  char where[LUA_IDSIZE + 16];
  const size_t n = strlen(st__where(h, L, where, sizeof where));
  return n && strncmp(text, where, n) == 0 && text[n] == ':' ? text + n + 2
                                                             : text;
}

void st__note_refusal(st__state *h, lua_State *L, int idx) {
  if (h->recorder && lua_type(L, idx) == LUA_TSTRING) {
    st_recorder_refuse(h->recorder, without_line(h, L, lua_tostring(L, idx)));
  }
  lua_pushvalue(L, idx);                            /* [+1] */
  lua_rawseti(L, LUA_REGISTRYINDEX, h->refusal_ref); /* [-1] */
}

/* True for a failure of the call itself: others pass unchanged. */
static bool is_of_call(st_status status) {
  return status != ST_NO_MEMORY && status != ST_INTERRUPTED &&
         status != ST_HOST;
}

/* Note [Errors that may be caught]. Once the time of a limit is over, no error
 * may be caught. Its text has been read before this. */
static bool is_refusal(st_status status) {
  return is_of_call(status) && st_limits_check() == ST_OK;
}

bool st__stops_call(lua_State *L, int failure) {
  static const char interrupted[] = "interrupted";
  if (failure == LUA_ERRMEM) return true;
  if (lua_type(L, -1) != LUA_TSTRING) return false;
  const char *text = lua_tostring(L, -1);
  const size_t n = strlen(text), end = strlen(interrupted);
  return strstr(text, "the time limit of ") ||
         (n >= end && strcmp(text + n - end, interrupted) == 0);
}

int st__raise(st__state *h, lua_State *L, st_status status) {
  luaL_checkstack(L, 4, NULL);
  if ((status == ST_HOST || status == ST_INTERRUPTED) && h->has_error) {
    h->has_error = false;
    lua_rawgeti(L, LUA_REGISTRYINDEX, h->error_ref); /* [+1] */
    lua_pushboolean(L, 0);                           /* [+1] */
    lua_rawseti(L, LUA_REGISTRYINDEX, h->error_ref); /* [-1] */
    return st__throw(h, L);
  }
  char where[LUA_IDSIZE + 16];
  const char *lost = is_of_call(status) ? st__lost_reason() : NULL;
  lua_pushfstring(L, *st__where(h, L, where, sizeof where) ? "%s: %s%s%s"
                     : "%s%s%s%s", where, st_message(), lost ? "; " : "",
                  lost ? lost : ""); /* [+1] */
  if (is_refusal(status)) st__note_refusal(h, L, lua_gettop(L));
  return st__throw(h, L);
}

int st__error(st__state *h, lua_State *L, st_status code, const char *format,
              ...) {
  char text[1024];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  return st__raise(h, L, st_fail(code, "%s", text));
}

int st__argument_error(st__state *h, lua_State *L, st_status code,
                       const char *format, ...) {
  char text[1024], name[80];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  st__running_name(h, L, name, sizeof name);
  return st__raise(h, L, st_fail(code, "%s%s%s", name, *name ? ": " : "",
                                 text));
}

void st__unknown_option(st__state *h, lua_State *L, const char *name,
                        const char *option, const char *const *names) {
  char list[400] = "it has";
  for (int i = 0; names[i]; i++) {
    const size_t n = strlen(list);
    snprintf(list + n, sizeof list - n, "%s %s", i ? "," : "", names[i]);
  }
  st__error(h, L, ST_BAD_VALUE, "%s: there is no option '%.40s': %s", name,
            option, list);
}
