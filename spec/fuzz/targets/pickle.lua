--- Any bytes as a pickle of PyTorch. Its storages are of any size.

local failure = require "strided.io.failure"
local pickle = require "strided.io.pickle"
local pt_names = require "strided.io.pt.names"
local pt_tensors = require "strided.io.pt.tensors"
local reader = require "strided.io.reader"
local reading = require "spec.fuzz.targets.reading"
local st = require "strided"

local function persist(m, id)
  local _, class, n = pt_tensors.parse_id(m, id)
  return pt_tensors.storage(st.zeros({n % 64}, {dtype = class.dtype}), class,
                            ">")
end

return function(bytes)
  local value = reading.try(function(source)
    return failure.catch(pickle.load, reader.of_source(source, 0),
                         pt_names, persist)
  end, bytes)
  reading.all_elements(value)
end
