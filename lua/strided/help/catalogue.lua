--- Everything that st.help knows, with its first sentence and its topic.
--
-- The topic of an operator is the folder of its row, core/op/FOLDER/ops.def, or
-- the prefix of its name; of an operator of the user, its namespace; of a
-- function or class in Lua, the module that it is in.
--
-- @module strided.help.catalogue

local core = require "strided.core"
local comments = require "strided.help.comments"
local documents = require "strided.help.documents"
local functions = require "strided.help.functions"
local operator = require "strided.help.operator"
local topics = require "strided.help.topics"

local find, ipairs, match, next, sort, sub = string.find, ipairs, string.match,
  next, table.sort, string.sub

local catalogue = {}

-- What a folder of operators, or a module, is called where the name is another.
local RENAMED = {
  decompositions = "linalg", lazy = "elementwise", lobpcg = "linalg",
  conv = "nn", index = "indexing", loss = "nn",
  norm = "normalization", pool = "pooling", rnn = "recurrent", sort = "sorting",
  array_api = "general", init = "general", tensor_methods = "general",
  printing = "general", iterator = "layout", library = "operators",
  expression = "operators", fuse = "operators", explain = "operators",
  profile = "operators", sandbox = "general", session = "general",
  help = "general",
}

local function topic_of_operator(full, packet)
  local family = match(operator.short_name(full), "^(%a+)%.")
  if family then return family == "signal" and "fft" or family end
  local folder = match(packet:dump(), "debug: core/op/([%w_]+)/")
  return RENAMED[folder] or folder or "general"
end

-- Functions of st whose comments are all in one file, by what begins a name.
local IN_GENERAL = {
  {"^memory", "memory"}, {"^scope$", "memory"}, {"^keep$", "memory"},
  {"grad", "autograd"}, {"^backward$", "autograd"}, {"^inference", "autograd"},
  {"dtype", "dtypes"}, {"^[fi]info$", "dtypes"}, {"^result_type$", "dtypes"},
  {"rng_state", "random"}, {"seed", "random"}, {"^Generator$", "random"},
  {"autocast", "amp"}, {"^masked%.", "masked"}, {"jit", "operators"},
  {"dispatch_mode", "operators"}, {"^linalg%.", "linalg"},
  {"^lobpcg$", "linalg"}, {"attention", "nn"}, {"_loss$", "nn"},
}

local function topic_in_general(name)
  for _, row in ipairs(IN_GENERAL) do
    if find(name, row[1]) then return row[2] end
  end
  return "general"
end

local function topic_of_module(name, module)
  local first = match(module, "^strided%.([%w_]+)") or "general"
  local topic = RENAMED[first] or first
  if not topics.is_known(topic) then topic = "general" end
  return topic == "general" and topic_in_general(name) or topic
end

--- The first sentence of a text.
function catalogue.sentence(text)
  return match(text, "^(.-[^%.]%.)%s+[%u`]") or match(text, "^(.-): %l+%.") or
         match(text, "^(.-):$") or text
end

local built_in = {} -- entries of operators of aten, by their full names

local function entry_of(full)
  local ns = match(full, "^(.-)::")
  local entry = built_in[full]
  if entry then return entry end
  local packet = core.packet(full)
  if not packet then return nil end -- it has kernels, and no schema
  entry = {name = operator.short_name(full), kind = "operator",
           line = catalogue.sentence(packet:doc() or ""),
           topic = ns ~= "aten" and ns or topic_of_operator(full, packet)}
  if ns == "aten" then built_in[full] = entry end
  return entry
end

local function add_operators(add)
  local seen = {}
  for _, full in ipairs((core.operators())) do
    local base = match(full, "^(.*[^_])_$")
    local is_variant = base and core.packet(base)
    if not seen[full] and not find(full, "::_") and not is_variant then
      seen[full] = true
      local entry = entry_of(full)
      if entry then add(entry) end
    end
  end
end

local in_lua -- entries of functions and classes in Lua

local function entries_in_lua()
  if in_lua then return in_lua end
  in_lua = {}
  comments.each(function(name, text, module, kind)
    local line = catalogue.sentence(text)
    local last = match(name, "[^.:]*$")
    if kind == "function" and find(last, "^%u") then kind = "class" end
    in_lua[#in_lua + 1] = {name = name, kind = kind, line = line,
                           topic = topic_of_module(name, module)}
  end)
  return in_lua
end

--- True if there may be names of this topic.
function catalogue.has_topic(topic)
  if topics.is_known(topic) then return true end
  for _, full in ipairs((core.operators())) do
    if sub(full, 1, #topic + 2) == topic .. "::" then return true end
  end
  return false
end

--- All that is known: a list of {name =, kind =, line =, topic =}, sorted by
-- name; kind is "operator", "function", "class" or "method".
-- @treturn {table,...}
function catalogue.all()
  local list, seen = {}, {}
  local function add(entry)
    if seen[entry.name] or find(entry.name, "^_") then return end
    seen[entry.name] = true
    list[#list + 1] = entry
  end
  add_operators(add)
  for name, f in next, functions do
    add {name = name, kind = "function", line = catalogue.sentence(f.line),
         topic = topic_in_general(name)}
  end
  for name, text in next, documents.named() do
    add {name = name, kind = "function", line = catalogue.sentence(text),
         topic = "yours"}
  end
  for _, entry in ipairs(entries_in_lua()) do add(entry) end
  sort(list, function(a, b) return a.name < b.name end)
  return list
end

return catalogue
