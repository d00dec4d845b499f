/* Parses subscripts into lists of items. A table and a string are equivalent:
 *
 *   t[{1, {3, 5}, {}, -1}]    t["1, 3:5, :, -1"]
 *
 * Indices are 1-based, or count from the end when negative; ranges are
 * inclusive: {a, b}, {a, b, step}; {} is the whole dimension; {a} is one
 * index and keeps the dimension.
 */

#include <inttypes.h>
#include <ctype.h>
#include <string.h>

#include "tensor/tensor.h"

static const st__item all_items = {
  .kind = ST_ITEM_RANGE, .a = 0, .b = INT64_MAX, .step = 1};

/* -- Ranges --------------------------------------------------------------- */

/* Sets item to the 1-based inclusive range [a, b] by step. */
static void set_range(st__state *h, lua_State *L, st__item *item, int64_t a,
                      int64_t b, int64_t step) {
  *item = (st__item){.kind = ST_ITEM_RANGE, .a = a, .b = b, .step = step};
  if (!st__index_to_c(ST_TYPE_INDEX, &item->a)) {
    st__error(h, L, ST_BAD_INDEX, "index: a range starts at 0, but indices "
              "count from 1");
  }
  if (step < 1) {
    st__error(h, L, ST_BAD_VALUE, "index: the step of a range is %" PRId64
              ", but must be at least 1%s", step, step < 0
              ? "; t:flip(dim) gives a copy in reverse order" : "");
  }
  st__index_to_c(ST_TYPE_END, &item->b);
}

static void set_index(st__state *h, lua_State *L, st__item *item,
                      int64_t i) {
  *item = (st__item){.kind = ST_ITEM_INDEX, .a = i};
  if (!st__index_to_c(ST_TYPE_INDEX, &item->a)) {
    st__error(h, L, ST_BAD_INDEX, "index: index 0 is out of range, since "
              "indices count from 1");
  }
}

/* Raises unless the table at idx is a list: no hole and no names. */
static void check_list(st__state *h, lua_State *L, int idx) {
  const unsigned parts = st__table_parts(L, idx);
  if (parts & ST_PART_OTHER) {
    st__error(h, L, ST_BAD_TYPE, "index: item %d of the list is nil; write {} "
              "for a whole dimension", (int)lua_objlen(L, idx) + 1);
  }
  if (parts & ST_PART_NAMES) {
    st__error(h, L, ST_BAD_TYPE, "index: a list of items has no names; write "
              "t[{{}, 2}], t:select(dim, index) or t:narrow(dim, start, "
              "length)");
  }
}

/* Reads the range in the table at the top, the item of that number. */
static void read_range(st__state *h, lua_State *L, st__item *item, int number) {
  int64_t v[3] = {1, -1, 1};
  const size_t n = lua_objlen(L, -1);
  check_list(h, L, lua_gettop(L));
  if (n > 3) {
    st__error(h, L, ST_BAD_VALUE, "index: item %d is a table of %d values, "
              "but a range has at most 3 numbers (to select a list of "
              "indices, use a tensor)", number, (int)n);
  }
  for (size_t k = 0; k < n; k++) {
    lua_rawgeti(L, -1, (int)k + 1); /* [+1] */
    if (!st__to_int(h, L, -1, &v[k])) {
      st__error(h, L, ST_BAD_TYPE, "index: item %d is a range that contains "
                "a %s", number, st__type_name(h, L, -1));
    }
    lua_pop(L, 1);                  /* [-1] */
  }
  set_range(h, L, item, v[0], n == 1 ? v[0] : v[1], v[2]);
  item->is_exact = n == 1;
}

/* -- Tables --------------------------------------------------------------- */

/* Reads the value at the top, the item of that number. [-1, +0|1] */
static void read_item(st__state *h, lua_State *L, st__item *item, int number) {
  st_scalar s;
  st_tensor *t = st__to_tensor(h, L, -1);
  *item = all_items;
  if (t) {
    *item = (st__item){.kind = ST_ITEM_TENSOR, .tensor = t};
    st__push_tensor(h, L, t); /* [+1] */
    lua_remove(L, -2);      /* [-1] */
    return;
  }
  if (lua_istable(L, -1)) {
    read_range(h, L, item, number);
  } else if (st__is_sentinel(h, L, -1, ST_SENTINEL_NEWAXIS)) {
    item->kind = ST_ITEM_NEWAXIS;
  } else if (st__is_sentinel(h, L, -1, ST_SENTINEL_ELLIPSIS)) {
    item->kind = ST_ITEM_ELLIPSIS;
  } else if (st__to_scalar(h, L, -1, &s) && s.kind == ST_SCALAR_BOOL) {
    *item = (st__item){.kind = ST_ITEM_BOOL, .a = s.u.i};
  } else if (st__to_int(h, L, -1, &s.u.i)) {
    set_index(h, L, item, s.u.i);
  } else {
    st__error(h, L, ST_BAD_TYPE, "index: item %d is a %s, not an index, a "
              "range {first, last, step}, a tensor, st.newaxis or "
              "st.ellipsis", number, st__type_name(h, L, -1));
  }
  lua_pop(L, 1);            /* [-1] */
}

static int read_table(st__state *h, lua_State *L, int idx, st__item *items) {
  const size_t n = lua_objlen(L, idx);
  check_list(h, L, idx);
  if (n > ST_MAX_ITEMS) {
    st__error(h, L, ST_BAD_VALUE, "index: too many items (%d)", (int)n);
  }
  for (size_t k = 0; k < n; k++) {
    lua_rawgeti(L, idx, (int)k + 1); /* [+1] */
    read_item(h, L, &items[k], (int)k + 1); /* [-1, +0|1] */
  }
  return (int)n;
}

/* -- Strings -------------------------------------------------------------- */

typedef struct text { const char *start, *at; } text;

static void skip_blanks(text *t) {
  while (*t->at == ' ' || *t->at == '\t') t->at++;
}

static void bad_text(st__state *h, lua_State *L, const text *t,
                     const char *want) {
  st__error(h, L, ST_BAD_VALUE, "index \"%.60s\": %s expected at character "
            "%d", t->start, want, (int)(t->at - t->start) + 1);
}

static bool take_char(text *t, char c) {
  if (*t->at != c) return false;
  t->at++;
  skip_blanks(t);
  return true;
}

static bool take_word(text *t, const char *word) {
  const size_t n = strlen(word);
  if (strncmp(t->at, word, n) != 0) return false;
  if (isalpha((unsigned char)*word) && isalnum((unsigned char)t->at[n])) {
    return false;
  }
  t->at += n;
  skip_blanks(t);
  return true;
}

static bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

/* Parses an integer such as "-12"; false when there is none here. */
static bool take_number(st__state *h, lua_State *L, text *t, int64_t *out) {
  const char *p = t->at;
  const bool is_negative = *p == '-';
  int64_t n = 0;
  p += is_negative;
  if (!is_digit(*p)) return false;
  for (; is_digit(*p); p++) {
    if (n > (INT64_MAX - 9) / 10) bad_text(h, L, t, "a smaller number");
    n = n * 10 + (*p - '0');
  }
  *out = is_negative ? -n : n;
  t->at = p;
  skip_blanks(t);
  return true;
}

/* Parses "3", "3:5", ":", "1:9:2", "..." or "newaxis". */
static void read_text_item(st__state *h, lua_State *L, text *t,
                           st__item *item) {
  int64_t a = 1, b = -1, step = 1;
  const bool has_first = take_number(h, L, t, &a);
  if (!take_char(t, ':')) {
    if (has_first) {
      set_index(h, L, item, a);
    } else if (take_word(t, "...")) {
      *item = (st__item){.kind = ST_ITEM_ELLIPSIS};
    } else if (take_word(t, "newaxis") || take_word(t, "None")) {
      *item = (st__item){.kind = ST_ITEM_NEWAXIS};
    } else {
      bad_text(h, L, t, "an index or a range");
    }
    return;
  }
  take_number(h, L, t, &b);
  if (take_char(t, ':') && !take_number(h, L, t, &step)) {
    bad_text(h, L, t, "a step");
  }
  set_range(h, L, item, a, b, step);
}

static int read_text(st__state *h, lua_State *L, int idx, st__item *items) {
  size_t size;
  text t;
  t.start = t.at = lua_tolstring(L, idx, &size);
  int n = 0;
  skip_blanks(&t);
  while (true) {
    if (n == ST_MAX_ITEMS) bad_text(h, L, &t, "the end (too many items)");
    read_text_item(h, L, &t, &items[n++]);
    if (t.at == t.start + size) return n;
    if (!take_char(&t, ',')) bad_text(h, L, &t, "',' or the end");
  }
}

/* -- Numbers and ranges --------------------------------------------------- */

/* Reads the list of up to `most` integers at the top; returns their number, or
 * -1 if it has other parts. Raises nothing. */
static int read_integers(lua_State *L, int most, int64_t *out) {
  const int idx = lua_gettop(L), n = (int)lua_objlen(L, idx);
  int seen = 0;
  if (n > most) return -1;
  lua_pushnil(L);                                     /* [+1] */
  while (lua_next(L, idx)) {                          /* [-1, +0|2] */
    const double key = lua_tonumber(L, -2), value = lua_tonumber(L, -1);
    if (lua_type(L, -2) != LUA_TNUMBER || lua_type(L, -1) != LUA_TNUMBER ||
        !(key >= 1 && key <= n) || key != (int)key ||
        !(value > -0x1p53 && value < 0x1p53) || value != (int64_t)value) {
      lua_settop(L, idx);                             /* [-2] */
      return -1;
    }
    out[(int)key - 1] = (int64_t)value;
    seen++;
    lua_pop(L, 1);                                    /* [-1] */
  }
  return seen == n ? n : -1;
}

static bool is_in_range(int64_t i, int64_t size) {
  return i < size && i >= -size;
}

/* Reads the value at the top, for a dimension of that size. */
static bool read_item_in_range(lua_State *L, int64_t size, st__item *item) {
  int64_t v[3] = {1, -1, 1};
  if (lua_type(L, -1) == LUA_TNUMBER) {
    const double i = lua_tonumber(L, -1);
    if (!(i >= -size && i <= size) || i != (int64_t)i) return false;
    *item = (st__item){.kind = ST_ITEM_INDEX, .a = (int64_t)i};
    return st__index_to_c(ST_TYPE_INDEX, &item->a);
  }
  if (!lua_istable(L, -1)) return false;
  const int n = read_integers(L, 3, v);
  if (n < 0 || v[2] < 1 || !st__index_to_c(ST_TYPE_INDEX, &v[0])) return false;
  if (n == 1 && !is_in_range(v[0], size)) return false;
  if (n == 1) v[1] = v[0] < 0 ? v[0] : v[0] + 1;
  st__index_to_c(ST_TYPE_END, &v[1]);
  *item = (st__item){.kind = ST_ITEM_RANGE, .a = v[0], .b = v[1],
                     .step = v[2]};
  return true;
}

int st__parse_in_range(lua_State *L, int idx, const st_tensor *t,
                       st__item *items) {
  const int top = lua_gettop(L), n = (int)lua_objlen(L, idx);
  int seen = 0;
  if (n > st_tensor_ndim(t)) return 0;
  lua_pushnil(L);                                     /* [+1] */
  while (lua_next(L, idx)) {                          /* [-1, +0|2] */
    const double key = lua_tonumber(L, -2);
    if (lua_type(L, -2) != LUA_TNUMBER || !(key >= 1 && key <= n) ||
        key != (int)key ||
        !read_item_in_range(L, st_tensor_sizes(t)[(int)key - 1],
                            &items[(int)key - 1])) {
      lua_settop(L, top);                             /* [-2] */
      return 0;
    }
    seen++;
    lua_pop(L, 1);                                    /* [-1] */
  }
  return seen == n ? n : 0;
}

/* -- Any subscript -------------------------------------------------------- */

int st__parse_subscript(st__state *h, lua_State *L, int idx, st__item *items) {
  if (lua_type(L, idx) == LUA_TTABLE) return read_table(h, L, idx, items);
  if (lua_type(L, idx) == LUA_TSTRING) return read_text(h, L, idx, items);
  lua_pushvalue(L, idx);          /* [+1] */
  read_item(h, L, &items[0], 1);  /* [-1, +0|1] */
  return 1;
}
