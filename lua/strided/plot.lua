--- st.plot: lines, points, bars, histograms, images and heat maps, as text in
-- the terminal, as SVG, and as PNG or PDF.
--
--     st.plot(y)                                  -- shown by the prompt
--     st.plot(x, y, {title = "loss", log = "y"}):save "loss.svg"
--     local fig = st.plot {{x = x, y = a, label = "a"}, {x = x, y = b}}
--     fig:scatter(x, c, {label = "c"}):set {xlabel = "time"}
--     print(fig)
--
-- @module strided.plot

local core = require "strided.core"
local failure = require "strided.io.failure"
local frame = require "strided.plot.frame"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"
local series = require "strided.plot.series"
local terminal = require "strided.plot.terminal"
local text_of = require "strided.plot.text"
local svg_of = require "strided.plot.svg"
local table = table

local check_taken, is_tensor = core.check_taken, core.is_tensor
local find, floor, format, getmetatable, ipairs, match, next, pairs, print,
  rawget, setmetatable, tostring, type = string.find, math.floor, string.format,
  getmetatable, ipairs, string.match, next, pairs, print, rawget, setmetatable,
  tostring, type

local require = require "strided.core".require

local WIDTH, HEIGHT = 640, 400 -- of pictures, in pixels
local MOST = 100000            -- pixels of a side
local MOST_CELLS = 1000        -- characters of a side of a plot as text

--- A figure: what st.plot returns. Its methods that draw return the figure, so
-- that calls can be chained; tostring(fig) is the plot as text.
-- @type Figure
local Figure = {}

local SETTINGS = {title = true, xlabel = true, ylabel = true, xlim = true,
                  ylim = true, log = true, legend = true, width = true,
                  height = true}

-- What matplotlib calls them.
local ELSEWHERE = {xscale = 'log = "x"', yscale = 'log = "y"',
                   c = "color", lw = "linewidth", s = "size",
                   figsize = "width and height, in pixels"}

-- -- Arguments ---------------------------------------------------------------

local function is_figure(self)
  return type(self) == "table" and getmetatable(self) ~= nil and
         getmetatable(self).__index == Figure
end

local function check_self(self, name)
  if not is_figure(self) then
    raise("%s: write fig:%s() with a colon", name, name)
  end
end

--- True for a table of names, as opposed to a list of numbers.
local function is_options(value)
  return type(value) == "table" and not is_tensor(value) and value[1] == nil
end

--- The arguments (y), (y, options), (x, y) and (x, y, options).
local function x_y_options(where, a, b, c)
  if c ~= nil and type(c) ~= "table" then
    raise("%s: the options must be a table, got %s", where, type(c))
  end
  if b == nil then return nil, a, c end
  if c == nil and is_options(b) then return nil, a, b end
  return a, b, c
end

local function check_size(where, o, name, least, most)
  local value = series.check_number(where, o, name, least)
  if value and value > most then
    raise("%s: option '%s' must be at most %d, got %g", where, name, most,
          value)
  end
  return value and floor(value)
end

local function check_log(where, o)
  local log = o.log
  if log == nil or log == false then return log and nil end
  if log == true then return "y" end
  if log ~= "x" and log ~= "y" and log ~= "xy" and log ~= "yx" then
    raise("%s: option 'log' must be \"x\", \"y\" or \"xy\", got %s", where,
          tostring(log))
  end
  return log
end

--- A logarithmic axis needs numbers above 0.
local function check_fits(where, fig)
  local log = fig.options.log
  for _, name in ipairs {"x", "y"} do
    if log and find(log, name, 1, true) then
      local limits = fig.options[name .. "lim"]
      if limits and limits[1] <= 0 then
        raise("%s: option '%slim' must begin above 0 on a logarithmic axis, "
              .. "got %g", where, name, limits[1])
      end
      for _, s in ipairs(fig.series) do
        if s.is_grid then
          raise("%s: the axes of images and heat maps are not logarithmic",
                where)
        elseif not frame.fits_log(s, name) then
          raise("%s: '%s' has no number above 0 for a logarithmic axis", where,
                name)
        end
      end
    end
  end
end

--- Writes options of figures into a copy of those of fig.
local function set(where, fig, given)
  local o = options(where, given, SETTINGS)
  local new = {}
  for key, value in next, fig.options do new[key] = value end
  for _, name in ipairs {"title", "xlabel", "ylabel"} do
    new[name] = series.check_text(where, o, name) or new[name]
  end
  for _, name in ipairs {"xlim", "ylim"} do
    new[name] = series.check_pair(where, o, name) or new[name]
  end
  if o.log ~= nil then new.log = check_log(where, o) end
  if o.legend ~= nil then new.legend = series.check_flag(where, o, "legend") end
  new.width = check_size(where, o, "width", 100, MOST) or new.width
  new.height = check_size(where, o, "height", 80, MOST) or new.height
  return new
end

--- Splits options into those of series of a kind and those of figures.
local function split(where, kind, given)
  local own, rest, known = {}, {}, {}
  for key in next, SETTINGS do known[key] = true end
  for key in next, series.KNOWN[kind] do known[key] = true end
  for key in next, type(given) == "table" and given or {} do
    if ELSEWHERE[key] and not known[key] then
      raise("%s: there is no option '%s': write %s", where, key, ELSEWHERE[key])
    end
  end
  for key, value in next, options(where, given, known) do
    if SETTINGS[key] then rest[key] = value else own[key] = value end
  end
  return own, rest
end

--- Adds series and options, or raises an error and changes nothing.
local function add(where, fig, list, settings)
  local new = {options = set(where, fig, settings), series = {}}
  for i, s in ipairs(fig.series) do new.series[i] = s end
  for _, s in ipairs(list) do new.series[#new.series + 1] = s end
  check_fits(where, new)
  fig.options, fig.series = new.options, new.series
  return fig
end

-- -- Series ------------------------------------------------------------------

local ADDERS = {}

function ADDERS.line(where, fig, a, b, c)
  local x, y, given = x_y_options(where, a, b, c)
  local own, rest = split(where, "line", given)
  return add(where, fig, series.points(where, "line", x, y, own), rest)
end

function ADDERS.scatter(where, fig, a, b, c)
  local x, y, given = x_y_options(where, a, b, c)
  local own, rest = split(where, "scatter", given)
  return add(where, fig, series.points(where, "scatter", x, y, own), rest)
end

function ADDERS.bar(where, fig, a, b, c)
  local x, y, given = x_y_options(where, a, b, c)
  local own, rest = split(where, "bar", given)
  return add(where, fig, {series.bar(where, x, y, own)}, rest)
end

for _, kind in ipairs {"hist", "image", "heatmap"} do
  ADDERS[kind] = function(where, fig, value, given)
    local own, rest = split(where, kind, given)
    return add(where, fig, {series[kind](where, value, own)}, rest)
  end
end
ADDERS.histogram, ADDERS.plot = ADDERS.hist, ADDERS.line

--- Adds a line through the points (x, y); x is 1, 2, ... if it is left out. The
-- columns of a matrix y are lines of their own. NaN and infinity are gaps.
-- @function Figure:line
-- @param[opt] x a tensor or a list of numbers
-- @param y the same
-- @tparam[opt] table options `label`, a text (for a matrix, a list of them);
-- `color`, "#rrggbb" or a name; `linewidth`; `marker`, true for points, too;
-- and those of `fig:set`
-- @treturn Figure
function Figure:line(x, y, opts)
  check_self(self, "line")
  return ADDERS.line("line", self, x, y, opts)
end

--- Adds points. Where very many lie close together, one stands for them.
-- @function Figure:scatter
-- @param[opt] x a tensor or a list of numbers
-- @param y the same
-- @tparam[opt] table options `label`, `color`, `size` in pixels; those of
-- `fig:set`
-- @treturn Figure
function Figure:scatter(x, y, opts)
  check_self(self, "scatter")
  return ADDERS.scatter("scatter", self, x, y, opts)
end

--- Adds the histogram of the elements of x. NaN and infinity do not count.
-- @function Figure:hist
-- @param x a tensor or a list of numbers
-- @tparam[opt] table options `bins`, a number or a list of edges; by default
-- some that grow with the number of elements, or one for each of few integers;
-- `range`, {low, high}; `density`, true for an area of 1; `label`, `color`;
-- those of `fig:set`
-- @treturn Figure
function Figure:hist(x, opts)
  check_self(self, "hist")
  return ADDERS.hist("hist", self, x, opts)
end

--- Adds bars of the heights y at x: numbers, or texts below the bars. Several
-- calls give bars side by side.
-- @function Figure:bar
-- @param[opt] x a tensor, a list of numbers, or a list of texts
-- @param y a tensor or a list of numbers
-- @tparam[opt] table options `label`, `color`; those of `fig:set`
-- @treturn Figure
function Figure:bar(x, y, opts)
  check_self(self, "bar")
  return ADDERS.bar("bar", self, x, y, opts)
end

--- Adds an image: {height, width} in gray from the least number to the
-- greatest; {3, height, width} or {height, width, 3} in colours, uint8 or from
-- 0 to 1. `st.save("x.png", t)` writes the pixels alone.
-- @function Figure:image
-- @tparam Tensor t
-- @tparam[opt] table options `vmin`, `vmax`: the numbers that are black and
-- white; `cmap`, as for `fig:heatmap`; those of `fig:set`
-- @treturn Figure
function Figure:image(t, opts)
  check_self(self, "image")
  return ADDERS.image("image", self, t, opts)
end

--- Adds a matrix in colours, row 1 at the top, with a colour bar.
-- @function Figure:heatmap
-- @tparam Tensor t
-- @tparam[opt] table options `cmap`, "viridis", "gray" or "coolwarm"; `vmin`,
-- `vmax`: the numbers at the ends of the colours; `colorbar`, false for none;
-- those of `fig:set`
-- @treturn Figure
function Figure:heatmap(t, opts)
  check_self(self, "heatmap")
  return ADDERS.heatmap("heatmap", self, t, opts)
end

--- Sets what is around the series.
-- @function Figure:set
-- @tparam table options `title`, `xlabel`, `ylabel`: texts; `xlim`, `ylim`:
-- {low, high}; `log`: "x", "y" or "xy"; `legend`, false for none; `width` and
-- `height` of pictures, in pixels, 640 and 400 by default
-- @treturn Figure
function Figure:set(opts)
  check_self(self, "set")
  return add("set", self, {}, opts)
end

-- -- Output ------------------------------------------------------------------

--- The plot as SVG.
-- @function Figure:svg
-- @treturn string
function Figure:svg()
  check_self(self, "svg")
  local o = self.options
  return svg_of(self, o.width or WIDTH, o.height or HEIGHT)
end

local TEXT = {width = true, height = true, colors = true, colours = true}

--- The plot as text.
-- @function Figure:text
-- @tparam[opt] table options `width`, in columns, by default that of the
-- terminal, or 80; `height`, rows within the axes; `colors`: 0, 256 or
-- 16777216, by default those of the terminal
-- @treturn string
function Figure:text(opts)
  check_self(self, "text")
  local o = options("text", opts, TEXT)
  local depth = o.colors or o.colours
  if depth == nil then depth = terminal.colours() end
  if depth ~= 0 and depth ~= 256 and depth ~= 16777216 then
    raise("text: option 'colors' must be 0, 256 or 16777216, got %s",
          tostring(depth))
  end
  local width = check_size("text", o, "width", 20, MOST_CELLS)
  return text_of(self, width or terminal.width(),
                 check_size("text", o, "height", 1, MOST_CELLS), depth)
end

function Figure:__tostring()
  return self:text()
end

--- Shows the plot: as a picture in terminals that have them (kitty's protocol,
-- or sixel), else as text. The environment variable STRIDED_GRAPHICS chooses
-- "kitty", "sixel" or "none". Pictures need `rsvg-convert`, and sixel ones
-- `img2sixel`.
-- @function Figure:show
-- @tparam[opt] table options `graphics`: "kitty", "sixel" or "none"
-- @treturn Figure
function Figure:show(opts)
  check_self(self, "show")
  check_taken("session", "plot: show")
  local o = options("show", opts, {graphics = true})
  local kind = o.graphics
  if kind ~= nil and kind ~= "kitty" and kind ~= "sixel" and kind ~= "none"
  then
    raise("show: option 'graphics' must be \"kitty\", \"sixel\" or \"none\", "
          .. "got %s", tostring(kind))
  end
  if not terminal.picture(self, kind) then print(self:text()) end
  return self
end

--- Writes the plot into a file: `.svg`, `.png` and `.pdf` by `rsvg-convert`
-- (package librsvg2-bin), or `.txt`.
-- @function Figure:save
-- @tparam string path
-- @tparam[opt] table options `scale`: pixels of a .png for each one of the
-- figure, 2 by default
-- @treturn Figure
function Figure:save(path, opts)
  check_self(self, "save")
  check_taken("files", "plot: save")
  local o = options("save", opts, {scale = true})
  local scale = series.check_number("save", o, "scale", 0.1) or 2
  if type(path) ~= "string" then
    raise("save: the path must be a string, got %s", type(path))
  end
  if find(path, "%z") then raise "save: the path has a NUL in it" end
  local suffix = match(path, "%.(%w+)$")
  suffix = suffix and suffix:lower()
  local why
  if suffix == "svg" then
    why = terminal.write(path, self:svg())
  elseif suffix == "txt" then
    why = terminal.write(path, self:text {width = 80, colors = 0} .. "\n")
  elseif suffix == "png" or suffix == "pdf" then
    why = terminal.write_as(path, self:svg(), suffix, scale)
  else
    raise("save: %s must end in .svg, .png, .pdf or .txt", failure.quote(path))
  end
  if why then raise("save: cannot write %s: %s", failure.quote(path), why) end
  return self
end

-- -- st.plot -----------------------------------------------------------------

local meta = {__tostring = Figure.__tostring}
Figure.__tostring = nil

--- What a figure has, and for other names an error with similar ones.
setmetatable(Figure, {__index = function(_, name)
  if SETTINGS[name] then
    raise("a figure has no '%s': write fig:set {%s = ...}", name, name)
  end
  local list = {}
  for key in next, Figure do list[#list + 1] = key end
  table.sort(list)
  return require "strided.name.unknown_name".missing("a figure", tostring(name),
    Figure, "it has " .. table.concat(list, ", "))
end})
meta.__index = Figure

local function new_figure()
  return setmetatable({series = {}, options = {}}, meta)
end

--- True for a description of a series, as opposed to a row of numbers.
local function is_series(value)
  if type(value) ~= "table" or is_tensor(value) then return false end
  local first = rawget(value, 1)
  return value.y ~= nil or value.x ~= nil or value.kind ~= nil or
         type(first) == "table" and type(first[1]) ~= "table" or
         is_tensor(first)
end

local function adder(where, kind)
  local fn = ADDERS[kind or "line"]
  if not fn then
    raise("%s: option 'kind' must be \"line\", \"scatter\", \"hist\", "
          .. "\"bar\", \"image\" or \"heatmap\", got %s", where,
          tostring(kind))
  end
  return fn
end

--- Adds what one table describes: {x =, y =, kind =, label = ...}.
local function add_described(fig, item, where)
  local x, y, own = item.x, item.y, {}
  for key, value in next, item do
    if key ~= "x" and key ~= "y" and key ~= "kind" and key ~= 1 and key ~= 2
    then
      own[key] = value
    end
  end
  if x == nil and y == nil then
    x, y = item[1], item[2]
    if y == nil then x, y = nil, x end
  end
  local kind = item.kind
  local fn = adder(where, kind)
  if kind == "hist" or kind == "histogram" or kind == "image" or
     kind == "heatmap" then
    return fn(where, fig, y == nil and x or y, own)
  end
  if x == nil then return fn(where, fig, y, own) end
  return fn(where, fig, x, y, own)
end

local function add_list(fig, list)
  local settings = {}
  for key, value in pairs(list) do
    if type(key) ~= "number" then settings[key] = value end
  end
  for i, item in ipairs(list) do
    if is_tensor(item) then item = {y = item} end
    if not is_series(item) then
      raise("plot: element [%d] of the list must be a table {x =, y =, ...} "
            .. "or a tensor, got %s", i, type(item))
    end
    add_described(fig, item, format("plot: series %d", i))
  end
  return add("plot", fig, {}, settings)
end

--- Draws a plot: st.plot(y), st.plot(x, y, options), or a list of series,
-- st.plot {{x = x, y = a, label = "a"}, {x = x, y = b}, title = "..."}. The
-- prompt and `print` show it as text. `fig:save(path)` writes SVG and PNG.
--
-- Options of a series: `kind`, "line", "scatter", "hist", "bar", "image" or
-- "heatmap"; `label`; `color`; and those of the figure's method of that name.
-- Options of the figure: `title`, `xlabel`, `ylabel`, `xlim`, `ylim`, `log`
-- ("x", "y" or "xy"), `legend`, `width`, `height`.
--
--     st.plot(x:sin(), {title = "sine"})
--     st.plot(losses, {log = "y", xlabel = "epoch"}):save "loss.png"
--     st.plot(st.randn(1000), {kind = "hist"})
-- @function plot
-- @param[opt] x a tensor or a list of numbers; without y, it is y
-- @param[opt] y a tensor or a list of numbers; the columns of a matrix are
-- lines; without arguments, the figure is empty
-- @tparam[opt] table options
-- @treturn Figure with the methods `line`, `scatter`, `hist`, `bar`, `image`,
-- `heatmap`, `set`, `save`, `show`, `svg` and `text`
local function plot(x, y, opts)
  local fig = new_figure()
  if x == nil and y == nil and opts == nil then return fig end
  local is_list = y == nil and opts == nil and type(x) == "table" and
                  not is_tensor(x)
  if is_list and (is_series(x[1]) or is_tensor(x[1])) then
    return add_list(fig, x)
  elseif is_list and next(x) ~= nil and x[1] == nil then
    if x.x ~= nil or x.y ~= nil then return add_described(fig, x, "plot") end
    return add("plot", fig, {}, x)
  end
  local a, b, given = x_y_options("plot", x, y, opts)
  local kind = given and given.kind
  local item = {}
  for key, value in next, given or {} do item[key] = value end
  item.kind = nil
  local fn = adder("plot", kind)
  if a == nil then return fn("plot", fig, b, item) end
  if ADDERS.line ~= fn and ADDERS.scatter ~= fn and ADDERS.bar ~= fn then
    raise("plot: kind \"%s\" takes one argument and options", kind)
  end
  return fn("plot", fig, a, b, item)
end

return {plot = plot}
