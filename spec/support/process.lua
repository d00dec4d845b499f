--- The programs of spec/process, which never touch Lua: compiling them.

local build = require "spec.support.build"

local HERE = build.root .. "/spec"
local OPTIONS = "-std=c11 -D_GNU_SOURCE -O1 -g -Wall -Wextra -Wpedantic "
                .. "-Werror -pthread " .. build.sanitize

local process = {}

--- A program of one source, which the caller removes. `more` is for gcc.
function process.compile(source, more)
  local program = os.tmpname()
  local said = build.run(
    ("gcc %s '%s/process/%s.c' %s -o '%s'"):format(OPTIONS, HERE, source,
                                                   more or "", program))
  assert(said == "", said)
  return program
end

--- The same, on the public header alone and against the library.
function process.link(source)
  return process.compile(source, ("-I'%s/include' -L'%s/lib' -lstrided "
                                  .. "-Wl,-rpath,'%s/lib'"):format(
                         build.folder, build.folder, build.folder))
end

return process
