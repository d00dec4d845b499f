--- The shape of the binding: how it calls Lua functions, and what its state
-- holds. What its rooms include and call: architecture_spec.lua.
-- axes: unsanitized

local build = require "spec.support.build"
local on_disk = require "spec.support.files"

local files, lines_of, read = build.files, on_disk.lines_of, build.read

-- -- The binding state -------------------------------------------------------

describe("The binding state", function()
  -- The fields of its struct that are no parts: a part is a pointer to a struct
  -- which its owner alone knows.
  local function fields()
    local list = {}
    local header = read "lua/bind/state/state.h"
    local body = header:match "\nstruct st__state (%b{});"
    for line in body:gsub("/%*.-%*/", ""):sub(2, -2):gmatch "[^;]+" do
      line = line:gsub("%b[]", "")
      local pointer = line:match "%(%*([%l_]+)%)%("
      if pointer then
        list[#list + 1] = pointer
      elseif not line:find "^%s*st__[%w_]+ %*" then
        for field in line:gmatch "([%l_]+)%s*%f[,%z]" do
          list[#list + 1] = field
        end
      end
    end
    return list
  end

  it("has no field for one file, which keeps a part of its own", function()
    local users = {}
    for _, name in ipairs(files("lua/bind", "%.[ch]$")) do
      for field in read(name):gmatch "[h)]%->([%l_]+)" do
        users[field] = users[field] or {}
        users[field][name] = true
      end
    end
    local list, wrong = fields(), {}
    for _, field in ipairs(list) do
      local first = next(users[field] or {})
      if not first or not next(users[field], first) then
        wrong[#wrong + 1] = field
      end
    end
    assert.is_true(#list > 20)
    assert.same({}, wrong)
  end)
end)

-- -- Calls of Lua ------------------------------------------------------------

describe("Calls of Lua functions by the binding", function()
  -- The mechanism itself, a macro for the C functions of others, and the first
  -- calls of a new Lua state.
  local MAY_CALL = {["lua/bind/state/nested_call.c"] = true,
                    ["lua/bind/state/c_stack.c"] = true,
                    ["lua/bind/process/worker_threads.c"] = true,
                    ["lua/bind/compat.h"] = true}

  --- Calls f(name, line, number, lines) for each line of the binding's code.
  local function each_line(f)
    for _, name in ipairs(files("lua/bind", "%.[ch]$")) do
      local lines = lines_of(read(name))
      for number, line in ipairs(lines) do
        local code = line:gsub("/%*.*", "")
        if not code:find "^ %*" then f(name, code, number, lines) end
      end
    end
  end

  local function wrong_lines(is_wrong)
    local wrong = {}
    each_line(function(name, code, number, lines)
      if not MAY_CALL[name] and is_wrong(code, number, lines) then
        wrong[#wrong + 1] = ("%s:%d: %s"):format(name, number, code)
      end
    end)
    return wrong
  end

  it("go through nested_call.c", function()
    local n = 0
    assert.same({}, wrong_lines(function(code)
      if code:find "st__call_lua%(" then n = n + 1 end
      return code:find "lua_p?callk?%(" or code:find "lua_resume%(" or
             code:find "lua_cpcall%("
    end))
    assert.is_true(n > 5)
  end)

  it("are checked before a body runs", function()
    local n = 0
    assert.same({}, wrong_lines(function(code, number, lines)
      if not code:find "st__run_body%(" and
         not code:find "st__run_handled%(" or code:find ";$" and
         code:find "^int " then
        return false
      end
      n = n + 1
      for k = number, 1, -1 do
        if lines[k]:find "st__check_body%(" or
           lines[k]:find "st__check_depth%(" then
          return false
        end
        if lines[k] == "}" then return true end
      end
      return true
    end))
    assert.is_true(n > 8)
  end)

  it("do not hide in the fields of a script's table", function()
    assert.same({}, wrong_lines(function(code)
      local table_at = code:match "lua_getfield%(L, ([^,]+)," or
                       code:match "lua_getfield%(r%->L, ([^,]+),"
      return code:find "lua_[gs]ettable%(" or code:find "lua_geti%(" or
             code:find "lua_equal%(" or code:find "lua_compare%(" or
             code:find "luaL_callmeta%(" or code:find "luaL_tolstring%(" or
             table_at and not table_at:find "^%-%d" and
             not table_at:find "^lua_upvalueindex"
    end))
  end)
end)
