/* _fused_sgd_, _fused_adam_, _fused_adamw_, _fused_adagrad_, and _fused_step_
 * for the other optimizers.
 */

#include <math.h>
#include <string.h>

#include "dispatch/args.h"
#include "kernel/numbers.h"
#include "op/optim/step.h"

/* -- Arguments ------------------------------------------------------------ */

static void add_list(st_optim_call *c, st_tensors list, const char *name) {
  c->list[c->nlists] = list;
  c->name[c->nlists++] = name;
}

static void begin_call(st_optim_call *c, st_kernel_id kernel, st_tensors self) {
  *c = (st_optim_call){.kernel = kernel};
  c->numbers[ST_OPTIM_SIGN] = c->numbers[ST_OPTIM_SHRINK] = 1;
  add_list(c, self, "self");
}

/* Reads grad_scale and found_inf. *skips: the gradients are not finite. */
static st_status read_scale(const st_value **args, st_optim_call *c,
                            bool *skips) {
  const st_tensor *scale = st__next_tensor(args);
  const st_tensor *found = st__next_tensor(args);
  double x = 0;
  *skips = false;
  if (scale) {
    ST_TRY(st__optim_number(scale, "grad_scale", &c->scale));
    if (c->scale == 0 && st__has_elements(scale)) {
      return st__fail(ST_BAD_VALUE, "argument 'grad_scale' must not be 0");
    }
  }
  if (found) ST_TRY(st__optim_number(found, "found_inf", &x));
  *skips = x == 1 || (scale && !st__has_elements(scale)) ||
           (found && !st__has_elements(found));
  return ST_OK;
}

/* -- SGD ------------------------------------------------------------------ */

ST_BOXED(st__box_fused_sgd_) {
  (void)rets;
  st_optim_call c;
  bool skips;
  begin_call(&c, ST_K_sgd_step, st__next_tensors(&args));
  ST_ARGS(TENSORS(grads), TENSORS(buffers));
  double *x = c.numbers;
  x[ST_OPTIM_DECAY] = st__next_float(&args);
  x[ST_OPTIM_BETA1] = st__next_float(&args);
  x[ST_OPTIM_LR] = st__next_float(&args);
  x[ST_OPTIM_BETA2] = st__next_float(&args);
  int mode = st__next_bool(&args) ? ST_OPTIM_EXTRA : 0;
  if (st__next_bool(&args)) x[ST_OPTIM_SIGN] = -1;
  if (st__next_bool(&args)) mode |= ST_OPTIM_FIRST;
  ST_TRY(read_scale(&args, &c, &skips));
  if (x[ST_OPTIM_BETA1] != 0) {
    x[ST_OPTIM_MODE] = mode | ST_OPTIM_MOMENTUM;
    add_list(&c, buffers, "momentum_buffer_list");
  }
  add_list(&c, grads, "grads");
  return skips ? ST_OK : st__optim_step(&c);
}

/* -- Adam ----------------------------------------------------------------- */

static void correct_adam(const st_optim_call *c, double step, double *x) {
  x[ST_OPTIM_LR] = c->lr / (1 - st__map_two(ST_K_pow, c->beta1, step));
  x[ST_OPTIM_A] = sqrt(1 - st__map_two(ST_K_pow, c->beta2, step));
}

static st_status run_adam(const st_value *args, bool is_decoupled) {
  st_optim_call c;
  bool skips;
  begin_call(&c, ST_K_adam_step, st__next_tensors(&args));
  ST_ARGS(TENSORS(grads));
  add_list(&c, st__next_tensors(&args), "exp_avgs");
  add_list(&c, st__next_tensors(&args), "exp_avg_sqs");
  ST_ARGS(TENSORS(tops));
  c.steps = st__next_tensors(&args);
  c.numbers_of = correct_adam;
  c.lr = st__next_float(&args);
  double *x = c.numbers;
  x[ST_OPTIM_BETA1] = c.beta1 = st__next_float(&args);
  x[ST_OPTIM_BETA2] = c.beta2 = st__next_float(&args);
  ST_ARGS(FLOAT(decay));
  if (is_decoupled) x[ST_OPTIM_SHRINK] = 1 - c.lr * decay;
  else x[ST_OPTIM_DECAY] = decay;
  x[ST_OPTIM_EPS] = st__next_float(&args);
  if (st__next_bool(&args)) {
    x[ST_OPTIM_MODE] = ST_OPTIM_EXTRA;
    add_list(&c, tops, "max_exp_avg_sqs");
  }
  if (st__next_bool(&args)) x[ST_OPTIM_SIGN] = -1;
  ST_TRY(read_scale(&args, &c, &skips));
  add_list(&c, grads, "grads");
  return skips ? ST_OK : st__optim_step(&c);
}

ST_BOXED(st__box_fused_adam_) {
  (void)rets;
  return run_adam(args, false);
}

ST_BOXED(st__box_fused_adamw_) {
  (void)rets;
  return run_adam(args, true);
}

/* -- Adagrad -------------------------------------------------------------- */

/* beta1: lr_decay. */
static void correct_adagrad(const st_optim_call *c, double step, double *x) {
  x[ST_OPTIM_LR] = c->lr / (1 + (step - 1) * c->beta1);
}

ST_BOXED(st__box_fused_adagrad_) {
  (void)rets;
  st_optim_call c;
  bool skips;
  begin_call(&c, ST_K_adagrad_step, st__next_tensors(&args));
  ST_ARGS(TENSORS(grads));
  add_list(&c, st__next_tensors(&args), "state_sums");
  add_list(&c, grads, "grads");
  c.steps = st__next_tensors(&args);
  c.numbers_of = correct_adagrad;
  ST_ARGS_TO(c, FLOAT(lr), FLOAT(beta1));
  c.numbers[ST_OPTIM_DECAY] = st__next_float(&args);
  c.numbers[ST_OPTIM_EPS] = st__next_float(&args);
  if (st__next_bool(&args)) c.numbers[ST_OPTIM_SIGN] = -1;
  ST_TRY(read_scale(&args, &c, &skips));
  return skips ? ST_OK : st__optim_step(&c);
}

/* -- The other ones ------------------------------------------------------- */

typedef struct step_rule {
  const char *name;
  st_kernel_id kernel;
  int states;               /* without those of the mode */
  int extra, momentum;      /* 1: that flag of the mode adds a state */
} step_rule;

static const step_rule RULES[] = {
  {"nadam",    ST_K_nadam_step,    2, 0, 0},
  {"radam",    ST_K_radam_step,    2, 0, 0},
  {"rmsprop",  ST_K_rmsprop_step,  1, 1, 1},
  {"adadelta", ST_K_adadelta_step, 2, 0, 0},
  {"adamax",   ST_K_adamax_step,   2, 0, 0},
  {"asgd",     ST_K_asgd_step,     1, 0, 0},
  {"rprop",    ST_K_rprop_step,    2, 0, 0},
};

static const step_rule *find_rule(const char *name) {
  for (size_t i = 0; i < sizeof RULES / sizeof *RULES; i++) {
    if (strcmp(RULES[i].name, name) == 0) return &RULES[i];
  }
  return NULL;
}

/* Copies the numbers; those of the mode are flags. */
static st_status read_numbers(const st_value *v, double *x) {
  if (v->len != ST_OPTIM_NUMBERS) {
    return st__fail(ST_BAD_VALUE, "argument 'numbers' must have %d numbers, "
                    "got %u", (int)ST_OPTIM_NUMBERS, v->len);
  }
  memcpy(x, v->u.floats, ST_OPTIM_NUMBERS * sizeof *x);
  const double mode = x[ST_OPTIM_MODE];
  if (mode >= 0 && mode <= 7 && mode == floor(mode)) return ST_OK;
  return st__fail(ST_BAD_VALUE, "the mode in argument 'numbers' must be an "
                  "integer from 0 to 7, got %g", mode);
}

ST_BOXED(st__box_fused_step_) {
  (void)rets;
  st_optim_call c;
  ST_ARGS(TENSORS(self), TENSORS(grads), TENSORS(states));
  const char *name = st__next(&args)->u.string;
  const step_rule *rule = find_rule(name);
  if (!rule) {
    return st__fail(ST_BAD_VALUE, "there is no rule '%s': it is nadam, radam, "
                    "rmsprop, adadelta, adamax, asgd or rprop", name);
  }
  begin_call(&c, rule->kernel, self);
  ST_TRY(read_numbers(st__next(&args), c.numbers));
  const int mode = (int)c.numbers[ST_OPTIM_MODE];
  const int n = rule->states + (mode & ST_OPTIM_EXTRA ? rule->extra : 0) +
                (mode & ST_OPTIM_MOMENTUM ? rule->momentum : 0);
  if (states.n != (uint64_t)n * self.n) {
    return st__fail(ST_BAD_SHAPE, "argument 'states' must have %d tensors for "
                    "each of the %u parameters, got %u", n, self.n, states.n);
  }
  for (int i = 0; i < n; i++) {
    const st_tensors list = {self.n ? states.p + (size_t)i * self.n : NULL,
                             self.n};
    add_list(&c, list, "states");
  }
  add_list(&c, grads, "grads");
  return st__optim_step(&c);
}
