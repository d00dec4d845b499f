/* Frames of calls: which arguments are positional, which overload they fit.
 */

#include "call/call.h"

/* Classifies the last argument. A table with names holds keywords; if it has
 * a list, too, that is the last positional argument: x:sum {1, keepdim = true}.
 */
static void split_keywords(st__frame *f, const st__packet *p, int top) {
  lua_State *L = f->L;
  const unsigned parts = top >= f->first && lua_istable(L, top)
                         ? st__count_names(L, top, &f->nkeywords) : 0;
  const bool has_list = parts & ST_PART_LIST;
  if (parts & ST_PART_OTHER && (has_list || !(parts & ST_PART_NAMES))) {
    st__error(f->h, L, ST_BAD_TYPE, "%s: a list must have no nil and no other "
              "keys, but element %d is nil", st__short_name(p->name),
              (int)lua_objlen(L, top) + 1);
  }
  if (parts & ST_PART_OTHER) f->nkeywords++; /* which no argument uses */
  f->keywords = parts & ST_PART_NAMES ? top : 0;
  f->npos = top - f->first + 1 - (f->keywords && !has_list);
}

/* Resolves again without the last argument if that is an empty table, which
 * may be a table of keywords whose values are all nil. */
static bool resolve_without_empty(st__frame *f, const st__packet *p, int top) {
  if (top < f->first || !lua_istable(f->L, top)) return false;
  if (f->keywords || st__table_parts(f->L, top)) return false;
  f->npos--;
  if (st__resolve_overload(f, p)) return true;
  f->npos++;
  return false;
}

void st__resolve_frame(st__state *h, lua_State *L, st__packet *p, int first,
                       st__frame *f) {
  const int top = lua_gettop(L);
  st__check_room(L);
  f->h = h;
  f->L = L;
  f->first = first;
  split_keywords(f, p, top);
  if (st__resolve_overload(f, p)) return;
  st__refresh(h, L, p);
  if (st__resolve_overload(f, p)) return;
  if (resolve_without_empty(f, p, top)) return;
  st__advise(f, p);
  st__raise_mismatch(f, p);
}
