--- What pickles may name of Python itself.
--
-- A Counter and a defaultdict are dictionaries; the function that a defaultdict
-- has for missing keys is left out.
--
-- @module strided.io.pickle.builtins

local literals = require "strided.io.pickle.literals"

local ipairs, type = ipairs, type

local require = require "strided.core".require

local names = {}

local function kind_of(m, value)
  return type(value) == "table" and m.kinds[value]
end

local function set(m, args)
  local list = args[1]
  if list == nil then return m:new "set" end
  local kind = kind_of(m, list)
  if args[2] == nil and (kind == "list" or kind == "tuple") then
    return m:set_of(list)
  end
end

local function complex(_, args)
  if type(args[1]) == "number" and type(args[2]) == "number" then
    return require "strided".complex(args[1], args[2])
  end
end

--- bytes and bytearray: of nothing, or of bytes.
local function bytes(_, args)
  if args[1] == nil then return "" end
  if type(args[1]) == "string" and args[2] == nil then return args[1] end
end

for _, module in ipairs {"builtins.", "__builtin__."} do
  names[module .. "set"] = {call = set}
  names[module .. "frozenset"] = {call = set}
  names[module .. "complex"] = {call = complex}
  names[module .. "bytes"] = {call = bytes}
  names[module .. "bytearray"] = {call = bytes}
end

names["_codecs.encode"] = {call = function(_, args)
  if type(args[1]) ~= "string" or args[2] ~= "latin1" then return nil end
  return literals.latin1(args[1])
end}

names["collections.OrderedDict"] = {call = function(m, args)
  local dict, list = m:new "ordered dict", args[1]
  if list == nil then return dict end
  if kind_of(m, list) ~= "list" then return nil end
  m:spend_entries(#list)
  for _, pair in ipairs(list) do
    local kind = kind_of(m, pair)
    if kind ~= "list" and kind ~= "tuple" or #pair ~= 2 then return nil end
    m:set(dict, pair[1], pair[2])
  end
  return dict
end}

names["collections.Counter"] = {call = function(m, args)
  if args[1] == nil then return m:new "dict" end
  if kind_of(m, args[1]) == "dict" and args[2] == nil then return args[1] end
end}

names["collections.defaultdict"] = {call = function(m, args)
  if args[2] == nil then return m:new "dict" end
end}

return {names = names}
