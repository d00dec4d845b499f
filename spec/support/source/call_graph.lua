--- Which C files use functions and data of which others, read from their texts.

local call_graph = {}

--- A text without comments and without what strings say.
function call_graph.code_of(text)
  return (text:gsub("/%*.-%*/", " "):gsub('"[^"\n]*"', '""'))
end

--- The functions and data with names of ours that a file defines at the left
-- edge. A macro that makes a boxed kernel, or stands before its body, has its
-- name in parentheses.
local function definitions(code)
  local list = {}
  code = "\n" .. code
  for name in code:gmatch "\nST_[%u_]+%((st__box_[%w_]+)" do
    list[#list + 1] = name
  end
  code = code:gsub("\n%u[%u_]+%b()%f[\n]", "\n")
  for head, sign in code:gmatch "\n(%a[^;{}#=]-) ?([{=])" do
    local name = head:match "^ST_SHORTCUT%((st__?%l[%w_]*)" or
                 head:match "%f[%w_](st__?%l[%w_]*)%(" or
                 sign == "=" and head:match "%f[%w_](st__?%l[%w_]*)[%[%]%w_]*$"
    if name and not head:find "^static %a" and not head:find "^typedef" then
      list[#list + 1] = name
    end
  end
  return list
end

--- The bodies of the functions and of the macros of a header.
local function bodies_of(code)
  local bodies = {}
  code = "\n" .. code:gsub("\\\n", " ")
  for body in code:gmatch "\nstatic inline[^;{}]-(%b{})" do
    bodies[#bodies + 1] = body
  end
  for body in code:gmatch "\n *# *define [%w_]+([^\n]*)" do
    bodies[#bodies + 1] = body
  end
  return table.concat(bodies, "\n")
end

--- What each module, a C file with its header, uses of others, from the texts
-- of the files by name: uses[module][other] is a set of names. Of a header the
-- bodies of its functions and macros count.
function call_graph.of(texts)
  local codes, home, uses = {}, {}, {}
  local function module_of(name) return name:match "^(.*)%.[ch]$" end
  for name, text in pairs(texts) do codes[name] = call_graph.code_of(text) end
  for name, code in pairs(codes) do
    for _, defined in ipairs(definitions(code)) do
      home[defined] = module_of(name)
    end
  end
  for name, code in pairs(codes) do
    local module = module_of(name)
    uses[module] = uses[module] or {}
    if name:find "%.h$" then code = bodies_of(code) end
    for used in code:gmatch "%f[%w_](st__?%l[%w_]*)" do
      local other = home[used]
      if other and other ~= module then
        uses[module][other] = uses[module][other] or {}
        uses[module][other][used] = true
      end
    end
  end
  return uses
end

--- The uses that may(module, other) refuses, as texts.
function call_graph.wrong(uses, may)
  local wrong = {}
  for module, others in pairs(uses) do
    for other, names in pairs(others) do
      if not may(module, other) then
        wrong[#wrong + 1] = ("%s uses %s of %s"):format(module, next(names),
                                                        other)
      end
    end
  end
  table.sort(wrong)
  return wrong
end

--- The circles of a graph with more than two nodes, by Tarjan: sets of nodes
-- each of which leads to all others of its set.
function call_graph.circles(graph)
  local found, stack, index, low, n = {}, {}, {}, {}, 0
  local function visit(node)
    n = n + 1
    index[node], low[node] = n, n
    stack[#stack + 1] = node
    for other in pairs(graph[node]) do
      if not index[other] then visit(other) end
      low[node] = math.min(low[node], low[other])
    end
    if low[node] ~= index[node] then return end
    local circle, last = {}
    repeat
      last = table.remove(stack)
      low[last] = math.huge -- it leads nowhere any more
      circle[#circle + 1] = last
    until last == node
    table.sort(circle)
    if #circle > 2 then found[#found + 1] = table.concat(circle, ", ") end
  end
  for node in pairs(graph) do
    if not index[node] then visit(node) end
  end
  return found
end

return call_graph
