/* st.explain: how a call would run and why, without running it.
 */

#include <stdio.h>
#include <string.h>

#include "trace/trace.h"

/* Writes "add.Tensor" to buf; omits the namespace "aten". */
static void name_of(const st_op *op, char *buf, size_t size) {
  const char *overload = st_op_overload_name(op);
  snprintf(buf, size, "%s%s%s", st__short_name(st_op_name(op)),
           *overload ? "." : "", overload);
}

/* Adds a line for each overload that was rejected before the chosen one, with
 * the reason. */
static void add_rejected(luaL_Buffer *b, const st__frame *f,
                         const st__packet *p) {
  char line[600], name[200];
  st__reason why;
  st__frame other = *f;
  lua_State *L = f->L;
  for (int k = 0; k < p->n && p->ops[k] != f->op; k++) {
    if (!st_op_schema(p->ops[k])) continue;
    const int top = lua_gettop(L);
    other.why = &why;
    why.text[0] = '\0';
    const bool fits = st__match_overload(&other, p->ops[k]);
    lua_settop(L, top);
    if (fits) continue;
    name_of(p->ops[k], name, sizeof name);
    snprintf(line, sizeof line, "  not %s: %s\n", name, why.text);
    luaL_addstring(b, line);
  }
}

/* explain(op, ...): returns the explanation as a string */
static int explain(lua_State *L) {
  char name[200];
  st__frame f;
  st__state *h = st__state_of(L);
  lua_settop(L, lua_gettop(L) ? lua_gettop(L) : 1);
  st__packet *p = st__push_operator(h, L, 1, &f.is_method); /* [+1] */
  lua_replace(L, 1);                                        /* [-1] */
  f.is_complete = false;
  st__resolve_frame(h, L, p, 2, &f);
  char **text = st__newudata(h, L, ST_UD_TEXT, sizeof *text); /* [+1] */
  st__request req = {.kind = ST_REQUEST_EXPLAIN, .text = text};
  const st_status status = st__run_frame(&f, &req);
  if (status != ST_OK) return st__raise(h, L, status);
  luaL_Buffer b;
  luaL_buffinit(L, &b);
  name_of(f.op, name, sizeof name);
  lua_pushfstring(L, "%s%s\n", name,
                  f.nwraps ? ", with numbers as 0-dim tensors" : "");
  luaL_addvalue(&b);                                        /* [+n] */
  add_rejected(&b, &f, p);
  st__push_lines(L, *text);                                 /* [+1] */
  luaL_addvalue(&b);                                        /* [-1] */
  luaL_pushresult(&b);                                      /* [+1] */
  st_text_release(text);
  return 1;
}

void st__open_explain(st__state *h, lua_State *L) {
  static const luaL_Reg functions[] = {{"explain", explain}, {NULL, NULL}};
  st__set_functions(h, L, functions);
}
