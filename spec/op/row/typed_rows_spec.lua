--- The types of typed functions (core/op/row/typed.h) are those of the schemas
-- of their rows: a compiler sees no schema, and what is unboxed as another type
-- is read as one.
-- axes: none

local build = require "spec.support.build"
local call_graph = require "spec.support.source.call_graph"

-- -- Rows and functions ------------------------------------------------------

--- The types of a schema's arguments, without alias marks and sizes of lists:
-- {"Tensor", "int[]", "Scalar?"}.
local function types_of(schema)
  local arguments, types = schema:match "^[^(]*%((.*)%) %-> ", {}
  arguments = arguments:gsub("%(%l[^()]*%)", ""):gsub("%[%d+%]", "[]")
                       :gsub("=%b[]", "")
  for argument in arguments:gmatch "[^,]+" do
    local type = argument:match "^ *(%u?[%a%d]+[%[%]?]*) "
    if type then types[#types + 1] = type end -- not *
  end
  return types
end

--- The schemas of the rows that name a boxed kernel, by its name; or that a
-- table of C gives it to, as {ST_OP_copy_, st__box_device_copy_}.
local function schemas_by_kernel()
  local schemas, of_row = {}, {}
  for _, name in ipairs(build.files("core/op", "/ops%.def$")) do
    local text = build.read(name):gsub("/%*.-%*/", "")
    for row in text:gmatch "\nST_[%u_]+(%b())" do
      row = row:gsub('\\"', "'")
      local id, schema = row:match '^%(([%w_]+),%s*"(.-)",'
      schema = schema and schema:gsub('"%s*"', "")
      if id then of_row[id] = schema end
      for kernel in row:gmatch "st__box_[%w_]+" do
        assert.truthy(schema, row)
        schemas[kernel] = schemas[kernel] or {}
        table.insert(schemas[kernel], schema)
      end
    end
  end
  for _, name in ipairs(build.files("core/op", "%.c$")) do
    for id, kernel in
        build.read(name):gmatch "{ST_OP_([%w_]+), (st__box_[%w_]+)}" do
      schemas[kernel] = {of_row[id]}
    end
  end
  return schemas
end

--- Calls f(kernel, types) for each typed function of core/op.
local function each_typed(f)
  for _, name in ipairs(build.files("core/op", "%.[ch]$")) do
    local code = call_graph.code_of(build.read(name)):gsub("%s+", " ")
    for kernel, list in
        code:gmatch "%u[%u_]+%((st__box_[%w_]+), [%w_]+, %(([%u_, ]+)%)%)" do
      local types = {}
      for type in list:gmatch "[%u_]+" do types[#types + 1] = type end
      f(kernel, types)
    end
  end
end

--- Calls f(kernel, types) for each boxed kernel of core/op that begins with the
-- names of its arguments (ST_ARGS of core/dispatch/args.h).
local function each_named(f)
  for _, name in ipairs(build.files("core/op", "%.[ch]$")) do
    local code = call_graph.code_of(build.read(name)):gsub("%s+", " ")
    for kernel, at in code:gmatch "ST_BOXED%((st__box_[%w_]+)%) { ?()" do
      local types = {}
      local list, next_at = code:match("^ST_ARGS(%b()); ?()", at)
      while list do
        for type in list:gmatch "%f[%w_](%u[%u_]+)%(" do
          types[#types + 1] = type
        end
        list, next_at = code:match("^ST_ARGS(%b()); ?()", next_at)
      end
      if #types > 0 then f(kernel, types) end
    end
  end
end

-- -- What fits ---------------------------------------------------------------

local INTEGERS = {int = true, Dim = true, Index = true, End = true,
                  ScalarType = true, Layout = true, MemoryFormat = true,
                  Device = true}
local EXACT = {TENSOR = "Tensor", OPT_TENSOR = "Tensor?", TENSORS = "Tensor[]",
               OPT_TENSORS = "Tensor?[]", FLOAT = "float", BOOL = "bool",
               SCALAR = "Scalar", OPT_SCALAR = "Scalar?", STRING = "str",
               OPT_FLOAT = "float?", OPT_BOOL = "bool?", FLOATS = "float[]",
               BOOLS = "bool[]", GENERATOR = "Generator?",
               ANY_GENERATOR = "Generator?"}
local SUFFIX = {INT = "", OPT_INT = "?", INTS = "[]", SIZES = "[]",
                OPT_INTS = "[]?"}

--- Whether a schema's type can be unboxed as a type of typed.h.
local function fits(type, of_schema)
  if type == "VALUE" or EXACT[type] == of_schema then return true end
  local integer, suffix = of_schema:match "^(%a+)(.*)$"
  return INTEGERS[integer] and SUFFIX[type] == suffix or false
end

-- What ST_ARGS reads as what: a reader that takes None, too, has two lines.
local READ = {TENSOR = {"TENSOR", "OPT_TENSOR"},
              MUTABLE = {"TENSOR", "OPT_TENSOR"},
              TENSORS = {"TENSORS", "OPT_TENSORS"},
              INT_OR = {"OPT_INT"}, INTS = {"INTS", "OPT_INTS"},
              FLOAT_OR = {"OPT_FLOAT"}, BOOL = {"BOOL", "OPT_BOOL"},
              BOOL_OR = {"OPT_BOOL"}, BOXED = {"VALUE"}, SKIP = {"VALUE"}}

--- Why the arguments that a kernel names are not those of a schema, or nil.
local function unread(types, schema)
  local of_schema = types_of(schema)
  for k, type in ipairs(types) do
    local fit = false
    for _, as in ipairs(READ[type] or {type}) do
      fit = fit or of_schema[k] ~= nil and fits(as, of_schema[k])
    end
    if not fit then
      return ("%d: %s of %s"):format(k, type, of_schema[k] or "nothing")
    end
  end
end

--- Why the types of a typed function are not those of a schema, or nil.
local function difference(types, schema)
  local of_schema = types_of(schema)
  for k, type in ipairs(types) do
    if not of_schema[k] then return ("%d: %s of nothing"):format(k, type) end
    if not fits(type, of_schema[k]) then
      return ("%d: %s of %s"):format(k, type, of_schema[k])
    end
  end
end

-- -- Specs -------------------------------------------------------------------

describe("The types of a typed function", function()
  it("are compared with those of a schema", function()
    local schema = "f.a(Tensor(a!) self, Dim[2] dim=[0, 1], *, ScalarType? " ..
                   "dtype=None, Generator? generator=None) -> Tensor(a!)"
    assert.same({"Tensor", "Dim[]", "ScalarType?", "Generator?"},
                types_of(schema))
    assert.is_nil(difference({"TENSOR", "SIZES", "OPT_INT", "VALUE"}, schema))
    assert.is_nil(difference({"TENSOR"}, schema))
    assert.equal("2: INT of Dim[]", difference({"TENSOR", "INT"}, schema))
    assert.equal("1: OPT_TENSOR of Tensor", difference({"OPT_TENSOR"}, schema))
    assert.equal("1: INT of nothing", difference({"INT"}, "f() -> Tensor"))
  end)

  it("are those of the schemas of its rows", function()
    local schemas, wrong, n = schemas_by_kernel(), {}, 0
    each_typed(function(kernel, types)
      assert.truthy(schemas[kernel], kernel .. " is in no row")
      for _, schema in ipairs(schemas[kernel]) do
        local why = difference(types, schema)
        n = n + 1
        if why then wrong[#wrong + 1] = schema .. ": " .. why end
      end
    end)
    assert.is_true(n > 90, tostring(n))
    assert.same({}, wrong)
  end)
end)

describe("The arguments that a boxed kernel names", function()
  it("are compared with those of a schema", function()
    local schema = "f(Tensor? self, int[] dim, int? n, bool? b) -> Tensor"
    assert.is_nil(unread({"TENSOR", "INTS", "INT_OR", "BOOL"}, schema))
    assert.is_nil(unread({"MUTABLE", "SKIP", "BOXED", "VALUE"}, schema))
    assert.equal("3: INT of int?", unread({"TENSOR", "INTS", "INT"}, schema))
    assert.equal("1: INT of nothing", unread({"INT"}, "f() -> Tensor"))
  end)

  it("are those of the schemas of its rows", function()
    local schemas, wrong, n = schemas_by_kernel(), {}, 0
    each_named(function(kernel, types)
      for _, schema in ipairs(schemas[kernel] or {}) do
        local why = unread(types, schema)
        n = n + 1
        if why then wrong[#wrong + 1] = schema .. ": " .. why end
      end
    end)
    assert.is_true(n > 150, tostring(n))
    assert.same({}, wrong)
  end)
end)
