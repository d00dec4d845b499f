--- What strided.mpi has for training on several ranks, written in Lua on its
-- collectives: DataParallel, samplers, shards, checkpoints, lines of progress.
--
-- @module strided.mpi.training

local pairs, require = pairs, require

--- Adds the functions to the module strided.mpi.
-- @tparam table mpi
return function(mpi)
  --- A network whose gradients are averaged over the ranks while the backward
  -- pass runs; see strided.mpi.data_parallel. All ranks call it.
  -- @function DataParallel
  -- @tparam table net a module
  -- @tparam[opt] table options `deterministic` (false): the gradients, and so
  -- the weights, have the same bits for any number of ranks; `parts`: how many
  -- parts a batch of all ranks has, required then, by default the number of
  -- ranks; `bucket_cap_mb` (25): bytes of gradients that are sent together;
  -- `find_unused_parameters` (false): the backward pass may leave out
  -- parameters, other ones in each step and on each rank; `broadcast_buffers`
  -- (true): buffers are those of rank 0 before each step; `comm` (mpi.world)
  -- @treturn table a module; `reset()` abandons a step after an error, `free()`
  -- frees buckets and communicator
  function mpi.DataParallel(net, options)
    return require "strided.mpi.data_parallel"(net, options, mpi.world)
  end

  for _, name in pairs {"sampler", "together"} do
    for key, fn in pairs(require("strided.mpi." .. name)(mpi)) do
      mpi[key] = fn
    end
  end
end
