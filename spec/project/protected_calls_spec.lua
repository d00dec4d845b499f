--- Protected calls in the library's Lua files, the binding and the rocks: those
-- that catch any error are listed, with what becomes of an interrupt. Others
-- use core.try, which catches refusals only (Note [Errors that may be caught]).
-- axes: none

local build = require "spec.support.build"
local files = require "spec.support.files"

-- How many calls of pcall and xpcall a file has, and why.
local AGAIN = "cleans up and raises the same error"
local TEXT = "raises what is no refusal again"
local TYPED = "a session shows what came, an interrupt too"
local ALLOWED = {
  ["autograd/checkpoint.lua"] = {1, AGAIN},
  ["autograd/gradcheck.lua"] = {1, AGAIN},
  ["data/dataset.lua"] = {1, TEXT},
  ["data/loader.lua"] = {1, AGAIN},
  ["data/worker.lua"] = {3, "a worker is a state of its own: errors are sent"},
  ["io/csv.lua"] = {3, TEXT},
  ["io/csv/read.lua"] = {1, AGAIN},
  ["io/failure.lua"] = {1, AGAIN},
  ["io/file.lua"] = {3, TEXT},
  ["io/image.lua"] = {2, TEXT},
  ["io/raw.lua"] = {1, TEXT},
  ["io/replace.lua"] = {1, TEXT},
  ["io/values.lua"] = {1, TEXT},
  ["iterator.lua"] = {1, TEXT},
  ["profile.lua"] = {1, AGAIN},
  ["session/advice.lua"] = {1, "a text that a session shows"},
  ["progress.lua"] = {1, TEXT},
  ["session.lua"] = {2, TYPED},
  ["session/command.lua"] = {1, TYPED},
  ["session/complete.lua"] = {2, TYPED},
  ["session/complete_in.lua"] = {1, TYPED},
  ["session/input.lua"] = {2, TYPED},
  ["session/show.lua"] = {1, TYPED},
  ["session/traceback.lua"] = {1, TYPED},
  ["types/classes.lua"] = {1, "writes the types, in a process of its own"},
}

-- The same of the rocks.
local ROCKS = {
  ["strided-image/lua/strided/image.lua"] = {1, TEXT},
  ["strided-mpi/lua/strided/mpi.lua"] = {2, "ends all ranks with the text"},
  ["strided-mpi/lua/strided/mpi/check.lua"] = {1, TEXT},
  ["strided-mpi/lua/strided/mpi/together.lua"] = {2, TEXT},
  ["strided-mpi/lua/strided/mpi/data_parallel.lua"] = {1, AGAIN},
}

-- How many protected calls a file of the binding has.
local RAISED = "raises it after it has cleaned up"
local STORED = "becomes the error of the operator call"
local LATER = "raises that of a hook later: Note [Errors of hooks]"
local BINDING = {
  ["trace/fused_function.c"] = {1, RAISED},
  ["trace/dispatch_trace.c"] = {1, RAISED},
  ["library/symbolic_trace.c"] = {1, RAISED},
  ["tensor/from_table.c"] = {1, RAISED},
  ["value/cdata.c"] = {2, LATER},
  ["grad/reachability.c"] = {1, RAISED},
  ["grad/backward.c"] = {1, RAISED},
  ["value/keepalive.c"] = {1, LATER},
  ["grad/autograd_function.c"] = {1, RAISED},
  ["call/lua_kernel.c"] = {2, STORED},
  ["library/operator_library.c"] = {1, RAISED},
  ["call/no_grad_guards.c"] = {1, RAISED},
  ["call/dispatch_mode.c"] = {3, "raises it where the observed body ends"},
  ["library/registration_listener.c"] = {1, LATER},
  ["value/tensor_scope.c"] = {2, RAISED},
  ["sandbox/load_module.c"] = {1, RAISED},
  ["sandbox/sandbox_close.c"] = {1, RAISED},
  ["sandbox/sandbox_run.c"] = {2, "a host gets it as pcall does"},
  ["process/interrupt_signal.c"] = {2, TYPED},
  ["state/refusal.c"] = {1, "raises what is no refusal again"},
  ["state/gc_pacing.c"] = {3, LATER},
  ["process/worker_threads.c"] = {1, "a worker is a state of its own"},
  ["state/warning.c"] = {1, LATER},
}

local IN_C = {"st__pcall_c", "st__run_body", "st__run_handled", "st__protected",
              "st__nested_pcall", "lua_pcallk?", "lua_cpcall"}

-- What these are made of.
local MAKES = {["state/nested_call.c"] = true, ["state/c_stack.c"] = true}

--- Protected calls in the text of a file in C, without its own definitions.
local function count_in_c(text)
  local n = 0
  for line in text:gsub("/%*.-%*/", ""):gmatch "[^\n]+" do
    for _, name in ipairs(IN_C) do
      if line:find("%f[%w_]" .. name .. "%(") and not line:find "^%w" then
        n = n + 1
      end
    end
  end
  return n
end

--- Calls of pcall and xpcall, and uses of them as values, outside of comments
-- and of the imports.
local function count(text)
  local n = 0
  for line in text:gmatch "[^\n]+" do
    if not line:find "^%s*%-%-" and not line:find '"' then
      for _ in line:gmatch "[^%w_.]x?pcall%(" do n = n + 1 end
    elseif not line:find "^%s*%-%-" and line:find "[=,(] ?x?pcall%(" then
      n = n + 1
    end
  end
  return n
end

--- What differs between a table of files and those of a folder.
local function differences(folder, pattern, allowed, counted)
  local found, wrong = {}, {}
  local list = build.output(("cd '%s/%s'; find . -name '%s'")
                            :format(build.root, folder, pattern))
  for name in list:gmatch "%./([^\n]+)" do
    local n = counted(files.read(build.root .. "/" .. folder .. "/" .. name),
                      name)
    local row = allowed[name]
    found[name] = n > 0
    if n ~= (row and row[1] or 0) then
      wrong[#wrong + 1] = ("%s has %d protected calls"):format(name, n)
    end
  end
  for name in pairs(allowed) do
    if not found[name] then wrong[#wrong + 1] = name .. " has none" end
  end
  return wrong
end

describe("Protected calls let interrupts pass, or are listed with a reason",
         function()
  it("in the library", function()
    assert.same({}, differences("lua/strided", "*.lua", ALLOWED,
                                function(text, name)
      return name:find "^help/pages" and 0 or count(text)
    end))
  end)

  it("in the rocks", function()
    assert.same({}, differences("rocks", "*.lua", ROCKS, function(text, name)
      return name:find "^[^/]+/lua/" and count(text) or 0
    end))
    assert.same({}, differences("rocks", "*.c", {}, count_in_c))
  end)

  it("in the binding", function()
    assert.same({}, differences("lua/bind", "*.c", BINDING,
                                function(text, name)
      return MAKES[name] and 0 or count_in_c(text)
    end))
  end)
end)
