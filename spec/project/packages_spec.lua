--- The table of packages: a program is known by what it prints, since another
-- one may have its name.
-- axes: unsanitized

local build = require "spec.support.build"
local files = require "spec.support.files"

local TABLE = build.root .. "/spec/support/packages.sh"

-- The programs of the table: name, option, text.
local programs = {}
for name, option, text in files.read(TABLE):gmatch
  "\n      | ([^%s/]+) (%-[^:%s]*): ([^\n]+)" do
  programs[#programs + 1] = {name = name, option = option, text = text}
end

--- In a folder: programs that print a line for any option.
local function write_programs(folder, line)
  for _, program in ipairs(programs) do
    local path = folder .. "/" .. program.name
    files.write(path, ("#!/bin/sh\ncat <<'END'\n%s\nEND\n"):format(
      line(program)))
    assert(build.shell(("chmod +x '%s'"):format(path)))
  end
end

--- What a script prints that has the functions of packages.sh, in a new folder
-- with the folders of programs `wrong` and `right`.
local function run(script)
  local path = os.tmpname()
  os.remove(path)
  build.shell(("mkdir -p '%s/wrong' '%s/right'"):format(path, path))
  write_programs(path .. "/wrong", function(program)
    return program.name .. ": this is not " .. program.name .. " 1.2"
  end)
  write_programs(path .. "/right", function(program)
    -- a line that the expression is about
    return (program.text:gsub("\\|.*", ""):gsub("^%^", ""):gsub("%$$", "")
                        :gsub("%[.-%]%*?", "1"):gsub("%.%*", " "))
  end)
  local text = build.output(("cd '%s' && root=$(pwd) && " ..
    "PATH=$root/wrong:$root/right:$PATH && . '%s' && %s"):format(
    path, TABLE, script))
  build.shell(("rm -r '%s'"):format(path))
  return text
end

describe("The table of packages", function()
  it("has programs", function() assert.is_true(#programs > 25) end)

  it("does not take another program for the one of its name", function()
    local script = {}
    for _, program in ipairs(programs) do
      script[#script + 1] = ("(PATH=$root/wrong:/usr/bin:/bin; file=$("
        .. "find_program '%s %s: %s'); case $file in $root/*) "
        .. "echo \"$file\";; esac)"):format(program.name, program.option,
                                            program.text)
    end
    assert.equal("", run(table.concat(script, "\n")))
  end)

  it("finds a program that another one hides, and links to it", function()
    local script = {}
    for _, program in ipairs(programs) do
      script[#script + 1] = ("present '%s %s: %s' || echo lacks %s"):format(
        program.name, program.option, program.text, program.name)
    end
    script[#script + 1] = "prefer_programs"
    for _, program in ipairs(programs) do
      script[#script + 1] = ("command -v %s"):format(program.name)
    end
    local count = 0
    for line in run(table.concat(script, "\n")):gmatch "[^\n]+" do
      count = count + 1
      assert.truthy(line:find("/build/programs/" .. programs[count].name, 1,
                              true), line)
    end
    assert.equal(#programs, count)
  end)
end)
