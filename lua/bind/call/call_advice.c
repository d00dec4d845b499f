/* Advice for calls that no overload takes, and that NumPy, torch7 or old
 * PyTorch take: what to write instead; and for those that a dtype of int64
 * fails.
 *
 * A row is an operator, the kinds of its positional arguments, and the advice.
 * Kinds: t a tensor, n a number, s a string, l a table. A "*" at the end is for
 * any further ones, elsewhere for more of the kind before it. The first row
 * that fits is used.
 */

#include <stdio.h>
#include <string.h>

#include "call/call.h"

#define RESULT_FIRST(op) \
  {op, "ttt*", "torch7's result comes first; write st." op "(a, b), or " \
   "st." op "(a, b, {out = t})"}, \
  {op, "ttn*", "torch7's result comes first; write st." op "(a, number), or " \
   "st." op "(a, number, {out = t})"}
#define FACTORS(op) \
  {op, "tnntt*", "torch7's factors are keywords; write t:" op "(a, b, {beta " \
   "= number, alpha = number})"}, \
  {op, "tntt*", "torch7's factors are keywords; write t:" op "(a, b, {alpha " \
   "= number})"}, \
  {op, "ntntt*", "torch7's factors are keywords; write st." op "(t, a, b, " \
   "{beta = number, alpha = number})"}
#define SIZES(op) \
  {op, "n*s", "a dtype is a keyword; write st." op "(2, 3, {dtype = name})"}, \
  {op, "ls", "a dtype is a keyword; write st." op "({2, 3}, {dtype = name})"}

static const struct { const char *op, *kinds, *text; } rows[] = {
  {"sub", "tnn*", "several numbers are ambiguous; to narrow, as torch7 does, "
   "write t:narrow(dim, start, length) or t[\"2:3\"]; for t - 3 * 2 write "
   "t:sub(2, {alpha = 3})"},
  {"add", "tnn*", "several numbers are ambiguous; for t + 3 * 2 write t:add(2, "
   "{alpha = 3})"},
  {"add", "tnt", "torch7's factor is a keyword; write t:add(other, {alpha = "
   "number})"},
  {"sub", "tnt", "torch7's factor is a keyword; write t:sub(other, {alpha = "
   "number})"},
  {"add", "ttnt", "torch7's result comes first and its factor is a keyword; "
   "write st.add(a, b, {alpha = number, out = t})"},
  RESULT_FIRST("add"), RESULT_FIRST("sub"), RESULT_FIRST("mul"),
  RESULT_FIRST("div"), RESULT_FIRST("pow"), RESULT_FIRST("fmod"),
  RESULT_FIRST("remainder"), RESULT_FIRST("mm"), RESULT_FIRST("mv"),
  RESULT_FIRST("bmm"),
  {"addcmul", "tntt", "torch7's factor is a keyword; write t:addcmul(a, b, "
   "{value = number})"},
  {"addcdiv", "tntt", "torch7's factor is a keyword; write t:addcdiv(a, b, "
   "{value = number})"},
  FACTORS("addmm"), FACTORS("addmv"), FACTORS("addr"), FACTORS("addbmm"),
  FACTORS("baddbmm"),
  {"index", "tnt", "write t:index_select(dim, index), or t[index] for the "
   "first dimension"},
  {"normal", "tn*", "t:normal_(mean, std) fills t; st.randn(2, 3) makes a "
   "tensor"},
  {"normal", "nn", "the sizes are missing; write st.normal(mean, std, {2, 3})"},
  {"bernoulli", "tn", "t:bernoulli_(p) fills t"},
  {"bernoulli", "n", "write st.empty(2, 3):bernoulli_(p)"},
  {"full", "nnn*", "the sizes are a list; write st.full({2, 3}, value)"},
  {"round", "tn", "write t:round({decimals = number})"},
  {"meshgrid", "ls", "write st.meshgrid(list, {indexing = name})"},
  {"transpose", "t", "name two dimensions, t:transpose(1, 2), or write t:t()"},
  {"flip", "t", "name the dimensions: t:flip(1), t:flip {1, 2}"},
  SIZES("zeros"), SIZES("ones"), SIZES("empty"), SIZES("rand"), SIZES("randn"),
  {"arange", "n*s", "a dtype is a keyword; write st.arange(n, {dtype = name})"},
};

static char kind_of(st__state *h, lua_State *L, int idx) {
  switch (lua_type(L, idx)) {
    case LUA_TNUMBER: return 'n';
    case LUA_TSTRING: return 's';
    case LUA_TTABLE: return 'l';
    default: return st__to_tensor(h, L, idx) ? 't' : 'o';
  }
}

/* True if the kinds fit the pattern: a letter, repeated before "*". */
static bool fits(const char *pattern, const char *kinds) {
  for (; *pattern; pattern++) {
    if (pattern[1] == '*' && pattern[2]) {
      if (*kinds != *pattern) return false;
      while (*kinds == *pattern) kinds++;
      pattern++;
    } else if (*pattern == '*') {
      return true;
    } else if (*kinds++ != *pattern) {
      return false;
    }
  }
  return *kinds == '\0';
}

void st__advise(const st__frame *f, const st__packet *p) {
  char kinds[16];
  int n = 0;
  if (strncmp(p->name, "aten::", 6) != 0 || f->keywords) return;
  for (; n < f->npos && n < (int)sizeof kinds - 1; n++) {
    kinds[n] = kind_of(f->h, f->L, f->first + n);
  }
  kinds[n] = '\0';
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    if (strcmp(p->name + 6, rows[i].op) == 0 && fits(rows[i].kinds, kinds)) {
      st__error(f->h, f->L, ST_BAD_TYPE, "%s: %s", rows[i].op, rows[i].text);
    }
  }
}

static bool has_int64(const st__frame *f) {
  for (int i = 0; i < f->nargs; i++) {
    const st_value *v = &f->args[i];
    if (v->tag == ST_TAG_TENSOR && v->u.tensor &&
        st_tensor_dtype(v->u.tensor) == ST_INT64) {
      return true;
    }
  }
  return false;
}

/* True for a message that wants a floating point dtype in place of int64, and
 * does not say what to write. */
static bool wants_floats(const char *text) {
  if (strstr(text, "make int64") || strstr(text, ":to(")) return false;
  return strstr(text, "not implemented for dtype int64") ||
         (strstr(text, "not int64") && strstr(text, "float")) ||
         (strstr(text, "is int64") && strstr(text, "is float"));
}

void st__advise_dtype(const st__frame *f) {
  char text[1024];
  if (!wants_floats(st_message()) || !has_int64(f)) return;
  snprintf(text, sizeof text, "%s", st_message());
  st_fail(ST_BAD_DTYPE, "%s: numbers without a fraction make int64, write "
          "{dtype = \"float32\"}", text);
}
