--- Writes annotations for the Lua language server: functions and classes.
--
-- A form is one way to call a function: `params`, a list of {name =, type =,
-- optional =, text =}; `rest`, the type of further arguments; `returns`, a list
-- of {type =, name =}.
--
-- @module strided.types.emit

local concat, find, format, gsub, ipairs, pairs = table.concat,
  string.find, string.format, string.gsub, ipairs, pairs

local type = type

local emit = {}

local KEYWORDS = {}
for word in ("and break do else elseif end false for function goto if in local "
             .. "nil not or repeat return then true until while")
            :gmatch "%S+" do
  KEYWORDS[word] = true
end

--- A name that may be that of an argument.
function emit.argument(name)
  return KEYWORDS[name] and name .. "_" or name
end

--- Is it a name that can follow a dot?
function emit.is_name(name)
  return find(name, "^[%a_][%w_]*$") and not KEYWORDS[name]
end

--- A type within a union or before "[]".
local function closed(text)
  return find(text, "^fun%(") and "(" .. text .. ")" or text
end

--- The union of types, each once.
function emit.union(...)
  local list, seen = {}, {}
  for _, text in ipairs {...} do
    for part in text:gmatch "[^|]+" do
      if not seen[part] then
        seen[part], list[#list + 1] = true, part
      end
    end
  end
  return seen.any and "any" or concat(list, "|")
end

--- The type of a list of a type.
function emit.list_of(text)
  return find(text, "|", 1, true) and "(" .. text .. ")[]" or
         closed(text) .. "[]"
end

--- The lines of a description, each after three dashes.
function emit.text(out, text)
  if not text or text == "" then return end
  for line in (gsub(text, "\n+$", "") .. "\n"):gmatch "(.-)\n" do
    out[#out + 1] = "---" .. (line == "" and "" or " " .. line)
  end
end

local function arguments(form, self)
  local list = {}
  if self then list[1] = "self: " .. self end
  for _, p in ipairs(form.params) do
    list[#list + 1] = p.name .. (p.optional and "?" or "") .. ": " .. p.type
  end
  if form.rest then list[#list + 1] = "...: " .. form.rest end
  return concat(list, ", ")
end

local function results(form)
  local list = {}
  for i, r in ipairs(form.returns) do list[i] = closed(r.type) end
  return list[1] and ": " .. concat(list, ", ") or ""
end

--- The type of a function of a form: "fun(a: integer): string".
-- @tparam table form
-- @tparam ?string self the type of the object of a method
function emit.fun(form, self)
  return "fun(" .. arguments(form, self) .. ")" .. results(form)
end

--- The forms of a list without those that are there twice.
function emit.different(forms)
  local list, seen = {}, {}
  for _, form in ipairs(forms) do
    local text = emit.fun(form)
    if not seen[text] then
      seen[text], list[#list + 1] = true, form
    end
  end
  return list
end

--- A name after the table that it is in: "st.add", `st["repeat"]`.
function emit.place(owner, name, sign)
  return emit.is_name(name) and owner .. (sign or ".") .. name or
         format("%s[%q]", owner, name)
end

--- Writes a function.
-- @tparam table out the lines of the file
-- @tparam string owner the local that it is a field of
-- @tparam table f `name`, `text`, `forms`; `self`, the type of the object of a
-- method
function emit.func(out, owner, f)
  local first = f.forms[1]
  emit.text(out, f.text)
  for i = 2, #f.forms do
    out[#out + 1] = "---@overload " .. emit.fun(f.forms[i], f.self)
  end
  local names = {}
  local is_key = not emit.is_name(f.name)
  if is_key and f.self then
    names[1] = "self"
    out[#out + 1] = "---@param self " .. f.self
  end
  for _, p in ipairs(first.params) do
    names[#names + 1] = p.name
    out[#out + 1] = format("---@param %s%s %s%s", p.name,
                           p.optional and "?" or "", p.type,
                           p.text and p.text ~= "" and " " .. p.text or "")
  end
  if first.rest then
    names[#names + 1] = "..."
    out[#out + 1] = "---@param ... " .. first.rest
  end
  for _, r in ipairs(first.returns) do
    out[#out + 1] = "---@return " .. r.type ..
                    (r.name and r.name ~= "" and " " .. r.name or "")
  end
  if is_key then
    out[#out + 1] = format("%s = function(%s) end",
                           emit.place(owner, f.name), concat(names, ", "))
  else
    out[#out + 1] = format("function %s(%s) end",
                           emit.place(owner, f.name, f.self and ":"),
                           concat(names, ", "))
  end
  out[#out + 1] = ""
end

--- The name of a field with its type, after ---@field.
local function field(f)
  local name = (emit.is_name(f.name) or find(f.name, "^%[")) and f.name or
               format("[%q]", f.name)
  if f.optional and name == f.name then name = name .. "?" end
  local kind = f.optional and name ~= f.name .. "?" and f.type .. "?" or f.type
  local text = f.text and gsub(f.text, "%s+", " ") or ""
  return format("---@field %s %s%s", name, kind,
                text ~= "" and " " .. text or "")
end

--- Writes a class.
-- @tparam table out
-- @tparam table c `name`, `parent`, `text`; `fields`, a list of {name =, type
-- =, optional =, text =}; `calls`, the forms that it may be called in; `lines`,
-- further annotations; `var`, the local that its functions are in, if any
function emit.class(out, c)
  emit.text(out, c.text)
  out[#out + 1] = "---@class " .. c.name ..
                  (c.parent and ": " .. c.parent or "")
  for _, f in ipairs(c.fields or {}) do out[#out + 1] = field(f) end
  for _, line in ipairs(c.lines or {}) do out[#out + 1] = "---@" .. line end
  for _, form in ipairs(c.calls or {}) do
    out[#out + 1] = "---@overload " .. emit.fun(form)
  end
  if c.var then out[#out + 1] = "local " .. c.var .. " = {}" end
  out[#out + 1] = ""
end

--- The keys of a table of strings, sorted.
function emit.sorted(t)
  local list = {}
  for key in pairs(t) do
    if type(key) == "string" then list[#list + 1] = key end
  end
  table.sort(list)
  return list
end

--- The first line of a file. `require` finds a module by its name; what is none
-- is called "_".
function emit.head(module)
  return {"---@meta " .. (module or "_"), "",
          "-- Written by strided.types; do not edit.", ""}
end

return emit
