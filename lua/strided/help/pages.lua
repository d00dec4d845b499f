--- Short pages of st.help on what is not one name. Each is a text, the file
-- pages/NAME.lua; what is typed in it, a spec runs.
--
-- @module strided.help.pages

local ipairs = ipairs

local require = require "strided.core".require

local LINES = {
  {"absent", "what is not there, and what to write"},
  {"autograd", "gradients of what was computed"},
  {"broadcasting", "operators on tensors of different shapes"},
  {"devices", "where tensors are: cpu, meta, and those of libraries"},
  {"dtypes", "element types, defaults, promotion, integers and fractions"},
  {"errors", "what they say, and how to find the cause"},
  {"functional", "where the functions of torch.nn.functional are"},
  {"indexing", "elements, ranges, masks; counting from 1"},
  {"layout", "shapes, strides, views and memory formats"},
  {"memory", "when tensors are released; limits; files as memory"},
  {"plot", "pictures of numbers, in the terminal and in files"},
  {"random", "seeds, generators, and the same numbers again"},
  {"session", "what one can type at the prompt; options of strided"},
}

local ALSO = {
  missing = "absent", ["out of scope"] = "absent", F = "functional",
  ["nn.functional"] = "functional", ["torch.nn.functional"] = "functional",
  autodiff = "autograd", gradients = "autograd", broadcast = "broadcasting",
  device = "devices", dtype = "dtypes", promotion = "dtypes",
  types = "dtypes",
  error = "errors", index = "indexing", slicing = "indexing",
  layouts = "layout", strides = "layout", views = "layout", seed = "random",
  figure = "plot", plots = "plot", plotting = "plot", chart = "plot",
  prompt = "session", gc = "memory",
}

local known = {}
for _, row in ipairs(LINES) do known[row[1]] = row[1] end

local pages = {}

--- The text of a page; nil if there is none of that name.
-- @tparam string name
-- @tparam[opt] boolean exactly not by another name
-- @treturn ?string
function pages.text(name, exactly)
  local page = known[name] or not exactly and ALSO[name]
  return page and require("strided.help.pages." .. page) or nil
end

--- The pages as entries of strided.help.catalogue.
function pages.entries()
  local list = {}
  for i, row in ipairs(LINES) do
    list[i] = {name = row[1], kind = "page", line = row[2], topic = "page"}
  end
  return list
end

return pages
