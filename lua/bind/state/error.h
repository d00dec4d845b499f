/* Errors of the binding: where the script is, how they are raised, and checks
 * of arguments.
 */
#ifndef ST_LUA_STATE_ERROR_H
#define ST_LUA_STATE_ERROR_H

#include "state/state.h"

/* -- error_location.c ------------------------------------------------------ */

/* True for a Lua function outside our own files. */
bool st__is_user_frame(const st__state *h, const lua_Debug *ar);
/* Writes "file:line" of the innermost user frame to buf, or "" if there is
 * none; returns buf. */
char *st__where(const st__state *h, lua_State *L, char *buf, size_t size);
/* Remembers the names of the functions of a list, which stays where it is. */
void st__keep_names(st__state *h, lua_State *L, const luaL_Reg *fns);
/* Writes the name of the running function of the binding to buf, or ""; returns
 * buf. */
char *st__running_name(st__state *h, lua_State *L, char *buf, size_t size);

/* -- c_stack.c ------------------------------------------------------------- */

/* Bytes of the C stack that are left. */
size_t st__stack_left(const st__state *h);
/* lua_error, which handlers cannot repeat until the C stack is full. */
int st__throw(st__state *h, lua_State *L);

/* -- lost_pages.c ---------------------------------------------------------- */

/* Pages of a mapping were replaced, and no call has said so, or what is written
 * to them is lost: Note [Truncated files]. */
extern atomic_bool st__has_lost_pages;
/* What io/mapped_pages.c knows: whether there is a mapping that wrote to its
 * file until pages of it were replaced, and whether the elements of t are in
 * one. */
typedef struct st__lost_files {
  bool (*has_any)(void);
  bool (*has_tensor)(const st_tensor *t);
} st__lost_files;
void st__watch_lost_files(const st__lost_files *files);
/* In a signal handler: says that pages were replaced. */
void st__note_lost_pages(void);
/* The text that a failing call adds to its message where pages were lost and no
 * call has said so, which it then has; otherwise NULL. */
const char *st__lost_reason(void);
/* Forgets them, unless there are new ones or lost files. */
void st__clear_lost_pages(void);
/* True if the elements of t are in a file that is no longer written. */
bool st__is_lost(const st_tensor *t);

/* -- raise.c --------------------------------------------------------------- */

/* Raises the failure that the engine reported, at the caller's line; does
 * not return. All errors of the binding are raised by this function. */
int st__raise(st__state *h, lua_State *L, st_status status);
/* The same for a failure that the binding detects. */
__attribute__((format(printf, 4, 5)))
int st__error(st__state *h, lua_State *L, st_status code, const char *format,
              ...);
/* The same for a bad argument of the running C function, with its name in front
 * of the text. */
__attribute__((format(printf, 4, 5)))
int st__argument_error(st__state *h, lua_State *L, st_status code,
                       const char *format, ...);
/* Raises the error for an option that the function `name` does not have; names
 * are its options, ended by NULL. */
void st__unknown_option(st__state *h, lua_State *L, const char *name,
                        const char *option, const char *const *names);
/* True if the error at the top, with which lua_pcall returned this status, is
 * an interrupt, the time limit of a sandbox or a lack of memory: what called
 * the function then goes no other way. */
bool st__stops_call(lua_State *L, int failure);
/* Notes the error at idx, a text that is about to be raised: Note [Errors that
 * may be caught]. */
void st__note_refusal(st__state *h, lua_State *L, int idx);

/* -- userdata.c ------------------------------------------------------------ */

/* Raises unless the value at idx is a table; arg names it. */
void st__check_table(st__state *h, lua_State *L, int idx, const char *arg);
/* The string at idx; raises for anything else, numbers included. NULL for an
 * absent one of st__opt_string. */
const char *st__check_string(st__state *h, lua_State *L, int idx,
                             const char *arg);
const char *st__opt_string(st__state *h, lua_State *L, int idx,
                           const char *arg);
/* True for a function or a value with __call. */
bool st__is_callable(st__state *h, lua_State *L, int idx);
/* Raises otherwise, with the name of argument arg in the message. */
void st__check_callable(st__state *h, lua_State *L, int idx, const char *arg);

#endif
