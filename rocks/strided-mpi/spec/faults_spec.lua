--- What happens when one rank fails, under mpirun: the others do not wait for
-- it. Each program takes a second or two; after 30 it is killed.

local HERE = debug.getinfo(1, "S").source:match "^@(.*)/[^/]*$"
local mpirun = dofile(HERE .. "/support/mpirun.lua")

local SECONDS, SOON = 30, 15

--- Prepares a run of a program that fails soon; the function that is returned
-- returns what it prints.
local function later(n, program, arguments)
  return mpirun.later(n, "faults/" .. program .. ".lua", SECONDS, arguments)
end

local function fails(run)
  local text, code, took = run()
  assert(code ~= 124 and code ~= 137 or took < SOON,
         "it was still running after " .. took .. " seconds:\n" .. text)
  assert(took < SOON, "it took " .. took .. " seconds:\n" .. text)
  assert(code ~= 0, "it ended well:\n" .. text)
  return text
end

local function has(text, part)
  assert(text:find(part, 1, true), ("'%s' is not in\n%s"):format(part, text))
end

describe("strided.mpi: when a rank", function()
  for _, n in ipairs {2, 4} do
    local raises, killed = later(n, "raises"), later(n, "killed")
    it(("raises an error, all %d stop with its message"):format(n), function()
      local text = fails(raises)
      has(text, ("rank %d: "):format(n - 1))
      has(text, "the disk is full")
    end)

    it(("is killed, all %d stop with an error"):format(n), function()
      has(fails(killed), "exited on signal 9")
    end)

    for _, how in ipairs {"return", "close", "exit"} do
      local exits = later(n, "exits", how)
      it(("ends early (%s), all %d stop with an error"):format(how, n),
         function()
        has(fails(exits), ("rank %d: this rank has finished after 1 " ..
            "collectives, but rank 0 waits for it in number 2, " ..
            "mpi::all_reduce"):format(n - 1))
      end)
    end

    local unequal = later(n, "unequal")
    it(("makes a step more, all %d stop with an error"):format(n), function()
      has(fails(unequal), ("but rank %d waits for it"):format(n - 1))
    end)
  end

  for _, how in ipairs {"async", "blocking"} do
    local fails_there = later(3, "stage", how)
    it("fails in a stage, all stop with its message: " .. how, function()
      has(fails(fails_there), "rank 2: mpi::all_reduce_parts" ..
          (how == "async" and "_async" or "") .. ": out of memory")
    end)
  end

  for arguments, said in pairs {
    half = "got number '3.5'", zero = "got number '0'",
    text = "got string '7'", big = "got number '256'",
  } do
    local aborts = later(2, "aborts", arguments)
    it("aborts with a wrong code, the exit code is 1: " .. arguments, function()
      local text, code = aborts()
      assert(code == 1, code .. "\n" .. text)
      has(text, "the disk is full")
      has(text, "mpi.abort: the code must be a whole number from 1 to 255, " ..
          said)
    end)
  end

  local plain = later(2, "aborts", "plain")
  it("aborts with a code, that is the exit code", function()
    local _, code = plain()
    assert(code == 7, code)
  end)

  for what, said in pairs {
    collective = "all ranks have finished, but mpi::all_reduce_async, number "
      .. "2 of the collectives on its communicator, is in progress: rank 1 has "
      .. "called 1",
    ["collective collected"] = "rank 1 has called 1",
    parts = "all ranks have finished, but mpi::all_reduce_parts_async, number "
      .. "2 of",
    test = "rank 0 waits for it in number 2, mpi::all_reduce_async",
    send = "all ranks have finished, but mpi::send_async to rank 2 with tag 3 "
      .. "is in progress: it was not received",
    ["recv collected"] = "mpi::recv_async_ from rank 2 with tag 0 is in " ..
      "progress: it was not sent",
    test_recv = "this rank has finished, but rank 0 waits for it in " ..
      "mpi::recv_async_",
    any = "all other ranks have finished, but rank 0 waits for one in " ..
      "mpi::recv_",
    own = "mpi::recv_: rank 0 waits for a message that it has not sent " ..
      "itself",
    checked_recv = "mpi::recv_: rank 2 has finished, but rank 0 waits " ..
      "for a message from it",
    checked_any = "mpi::recv_: all other ranks have finished, but rank 0 waits "
      .. "for a message from one",
    checked_test = "mpi::recv_async_: rank 2 has finished, but rank 0 waits " ..
      "for a message from it",
  } do
    local unfinished = later(3, "unfinished", what)
    it("leaves a request behind, all stop with its name: " .. what, function()
      has(fails(unfinished), said)
    end)
  end

  for what, said in pairs {
    shape = {"all_reduce sum of float32 [2, 2]",
             "all_reduce sum of float32 [2, 3]"},
    dtype = {"broadcast_ of float32 [3]", "broadcast_ of int32 [3]"},
    root = {"float32 [3], root 0", "float32 [3], root 1"},
    op = {"all_reduce sum of float32 [3]", "all_reduce max of float32 [3]"},
    call = {"all_gather of float32 [3]", "mpi::barrier"},
  } do
    local differs = later(3, "differs", what)
    it("differs in the " .. what .. ", checked mode says who and what",
       function()
         local text = fails(differs)
         has(text, "rank 0 calls mpi::" .. said[1]:gsub("^float32.*",
                                                        "reduce sum of %0"))
         has(text, "but rank 2 calls ")
         has(text, said[2])
       end)
  end
end)
