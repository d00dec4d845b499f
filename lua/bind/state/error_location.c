/* Raises failures as Lua errors: the engine's message with the user's source
 * line in front.
 */

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "bind.h"

/* Frames of C functions and of strided's own Lua files are skipped: the user's
 * mistake is in neither. */
bool st__is_user_frame(const st__state *h, const lua_Debug *ar) {
  return ar->currentline > 0 &&
         (!h->home[0] || strncmp(ar->source, h->home, strlen(h->home)) != 0);
}

char *st__where(const st__state *h, lua_State *L, char *buf, size_t size) {
  lua_Debug ar;
  *buf = '\0';
  for (; L && !*buf; L = st__sandbox_host(h, L)) {
    for (int level = 0; lua_getstack(L, level, &ar); level++) {
      lua_getinfo(L, "Sl", &ar);
      if (!st__is_user_frame(h, &ar)) continue;
      snprintf(buf, size, "%s:%d", ar.short_src, ar.currentline);
      break;
    }
  }
  return buf;
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

char *st__running_name(st__state *h, lua_State *L, char *buf, size_t size) {
  lua_Debug ar;
  *buf = '\0';
  luaL_checkstack(L, 2, NULL);
  if (!lua_getstack(L, 0, &ar)) return buf;
  lua_getinfo(L, "f", &ar);                        /* [+1] */
  const char *name = st__function_name(h, L);
  if (name) snprintf(buf, size, "%s", name);
  lua_pop(L, 1);                                   /* [-1] */
  return buf;
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

void st__check_table(st__state *h, lua_State *L, int idx, const char *arg) {
  if (lua_istable(L, idx)) return;
  st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a table, got %s",
                     arg, st__type_name(h, L, idx));
}

const char *st__check_string(st__state *h, lua_State *L, int idx,
                             const char *arg) {
  if (lua_type(L, idx) != LUA_TSTRING) {
    st__argument_error(h, L, ST_BAD_TYPE, "argument '%s' must be a string, got "
                       "%s", arg, st__type_name(h, L, idx));
  }
  return lua_tostring(L, idx);
}

const char *st__opt_string(st__state *h, lua_State *L, int idx,
                           const char *arg) {
  return lua_isnoneornil(L, idx) ? NULL : st__check_string(h, L, idx, arg);
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
