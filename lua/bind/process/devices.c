/* The devices of the process: their names and properties, and waiting for their
 * work.
 */

#include <stdio.h>
#include <string.h>

#include "process/process.h"

static st_device check_device(st__state *h, lua_State *L, int idx) {
  st_device device;
  char got[96], devices[200];
  if (st__to_device(L, idx, &device)) return device;
  st__describe_value(h, L, idx, got, sizeof got);
  st__describe_devices(devices, sizeof devices);
  st__argument_error(h, L, ST_BAD_TYPE, "argument 'device' must be a device, "
                     "got %s%s", got, devices);
  return ST_DEVICE_CPU;
}

static int devices(lua_State *L) {
  st_device device;
  lua_newtable(L);                                /* [+1] */
  for (int k = 0; st_device_nth(k, &device); k++) {
    lua_pushstring(L, st_device_name(device));    /* [+1] */
    lua_rawseti(L, -2, k + 1);                    /* [-1] */
  }
  return 1;
}

/* Without an argument all devices. */
static int synchronize(lua_State *L) {
  st__state *h = st__state_of(L);
  st_status status = ST_OK;
  st_device device;
  if (!lua_isnoneornil(L, 1)) {
    status = st_synchronize(check_device(h, L, 1));
  } else {
    for (int k = 0; status == ST_OK && st_device_nth(k, &device); k++) {
      status = st_synchronize(device);
    }
  }
  return status == ST_OK ? 0 : st__raise(h, L, status);
}

static void set_number(lua_State *L, const char *name, double number) {
  if (number == 0) return; /* unknown */
  lua_pushnumber(L, number);  /* [+1] */
  lua_setfield(L, -2, name);  /* [-1] */
}

static int device_properties(lua_State *L) {
  st__state *h = st__state_of(L);
  const st_device device = check_device(h, L, 1);
  st_device_properties p;
  const st_status status = st_device_properties_of(device, &p);
  if (status != ST_OK) return st__raise(h, L, status);
  lua_newtable(L);                                      /* [+1] */
  lua_pushlstring(L, p.name, strnlen(p.name, sizeof p.name)); /* [+1] */
  lua_setfield(L, -2, "name");                          /* [-1] */
  set_number(L, "alignment", (double)p.alignment);
  set_number(L, "max_bytes", (double)p.max_bytes);
  set_number(L, "total_bytes", (double)p.total_bytes);
  set_number(L, "free_bytes", (double)p.free_bytes);
  set_number(L, "units", p.nunits);
  return 1;
}

static const luaL_Reg functions[] = {
  {"devices", devices}, {"synchronize", synchronize},
  {"device_properties", device_properties}, {NULL, NULL}
};

void st__open_devices(st__state *h, lua_State *L) {
  st__set_functions(h, L, functions);
}
