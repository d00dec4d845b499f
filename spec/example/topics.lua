--- What the scripts of this folder share: topics, of which each prints its name
-- once it has passed, and assertions.

local st = require "strided"

local topics = {}

function topics.topic(name, fn)
  fn()
  print(name)
end

function topics.same(expected, got)
  if expected ~= got then
    error(("expected %s, got %s"):format(tostring(expected), tostring(got)),
          2)
  end
end

function topics.same_values(expected, t)
  if not expected:equal(t:to {device = "cpu"}) then
    error(("expected %s, got %s"):format(tostring(expected), tostring(t)), 2)
  end
end

function topics.fails(text, fn, ...)
  local ok, why = pcall(fn, ...)
  if ok or not tostring(why):find(text, 1, true) then
    error(("expected a failure with '%s', got %s"):format(text,
                                                          tostring(why)), 2)
  end
end

--- What is alive, as a text.
function topics.live()
  if jit then jit.flush() end -- compiled code holds what it has seen
  for _ = 1, 3 do collectgarbage() end
  local m = st.memory()
  return ("%d tensors, %d storages, %d values, %d of the graph, %d blocks")
    :format(m.tensors.count, m.storages.count, m.values.count, m.graph.count,
            st.ops.example.live_blocks())
end

return topics
