--- Sequences of different lengths in one batch: `nn.utils.rnn`, as in
-- torch.nn.utils.rnn.
--
--     local rnn = nn.utils.rnn
--     local packed = rnn.pack_sequence({a, b, c}, {enforce_sorted = false})
--     local out = lstm(packed)
--     local padded, lengths = rnn.pad_packed_sequence(out)
--
-- A padded batch has shape {steps, N, ...}, or {N, steps, ...} with
-- `batch_first`. A packed sequence has the rows of all sequences that have a
-- first step, then those that have a second step, and so on, the longest
-- sequence first. Positions count from 1.
--
-- @module strided.nn.packed

local st = require "strided"
local options = require "strided.option.options"
local raise = require "strided.argument.caller_error"

local arange, concat, is_tensor = st.arange, table.concat, st.is_tensor
local getmetatable, ipairs, setmetatable, tonumber, tostring, type =
  getmetatable, ipairs, setmetatable, tonumber, tostring, type

local packed = {}

local INT64 = {dtype = "int64"}

-- -- PackedSequence ----------------------------------------------------------

local PackedSequence = {__name = "PackedSequence"}
PackedSequence.__index = PackedSequence

--- Is it a packed sequence?
-- @param value
-- @treturn boolean
function packed.is_packed_sequence(value)
  return type(value) == "table" and getmetatable(value) == PackedSequence
end

--- The inverse of a permutation.
-- @tparam Tensor permutation a vector of positions, or nil
-- @treturn Tensor
function packed.invert_permutation(permutation)
  if permutation == nil then return nil end
  if not is_tensor(permutation) then
    raise("invert_permutation: argument 'permutation' must be a Tensor, got %s",
          type(permutation))
  end
  return permutation:argsort()
end

--- A packed sequence. pack_padded_sequence and pack_sequence create it, and
-- recurrent layers return it.
-- @function PackedSequence
-- @tparam Tensor data the rows
-- @tparam Tensor batch_sizes int64: how many sequences have each step
-- @tparam[opt] Tensor sorted_indices the position, in the batch, of the longest
-- sequence, then of the second longest, and so on
-- @tparam[opt] Tensor unsorted_indices the inverse of it
-- @treturn table with these names
function packed.PackedSequence(data, batch_sizes, sorted_indices,
                               unsorted_indices)
  if not is_tensor(data) or not is_tensor(batch_sizes) then
    raise("PackedSequence: data and batch_sizes must be Tensors, got %s and %s",
          type(data), type(batch_sizes))
  end
  return setmetatable({
    data = data, batch_sizes = batch_sizes, sorted_indices = sorted_indices,
    unsorted_indices = unsorted_indices or
                       packed.invert_permutation(sorted_indices),
  }, PackedSequence)
end

--- The packed sequence with its data converted. The indices follow the data to
-- a device; the sizes of batches stay.
-- @function PackedSequence:to
-- @param ... as for Tensor:to
function PackedSequence:to(...)
  local data = self.data:to(...)
  local function beside(t) return t and t:to(data.device) end
  return packed.PackedSequence(data, self.batch_sizes,
                               beside(self.sorted_indices),
                               beside(self.unsorted_indices))
end

function PackedSequence:__tostring()
  return "PackedSequence of " .. tostring(self.batch_sizes.shape[1]) ..
    " steps: " .. tostring(self.data)
end

local function check_packed(name, value)
  if not packed.is_packed_sequence(value) then
    raise("%s: argument 'sequence' must be a packed sequence, got %s", name,
          is_tensor(value) and "Tensor" or type(value))
  end
end

-- -- Padding -----------------------------------------------------------------

local function check_list(name, sequences)
  if type(sequences) ~= "table" or not is_tensor(sequences[1]) then
    raise("%s: argument 'sequences' must be a list of Tensors, got %s", name,
          is_tensor(sequences) and "Tensor" or type(sequences) == "table" and
          "a table without them" or type(sequences))
  end
  local first = sequences[1].shape
  for i, t in ipairs(sequences) do
    local same = is_tensor(t) and #t.shape == #first and #first > 0
    for d = 2, same and #first or 0 do
      same = same and t.shape[d] == first[d]
    end
    if not same then
      raise("%s: the sequences must be Tensors of one shape but for their "
            .. "length, number %d is %s, the first has shape {%s}", name, i,
            is_tensor(t) and "of shape {" .. concat(t.shape, ", ") .. "}" or
            type(t), concat(first, ", "))
    end
  end
end

local PAD = {batch_first = true, padding_value = true, padding_side = true}

--- Sequences of different lengths as a batch, filled up with a value.
-- @tparam table sequences a list of Tensors of shape {length, ...}
-- @tparam[opt] table given options: `batch_first` (false), `padding_value` (0),
-- `padding_side` ("right" or "left")
-- @treturn Tensor
function packed.pad_sequence(sequences, given)
  check_list("pad_sequence", sequences)
  local o = options("pad_sequence", given, PAD)
  local side = o.padding_side or "right"
  if side ~= "right" and side ~= "left" then
    raise("pad_sequence: option 'padding_side' must be \"right\" or \"left\"")
  end
  local steps, rows = 0, {}
  for _, t in ipairs(sequences) do
    if t.shape[1] > steps then steps = t.shape[1] end
  end
  for i, t in ipairs(sequences) do
    local shape, more = t:size(), steps - t.shape[1]
    shape[1] = more
    local fill = more > 0 and t:new_full(shape, o.padding_value or 0)
    rows[i] = not fill and t or
              st.cat(side == "right" and {t, fill} or {fill, t}, 1)
  end
  return st.stack(rows, o.batch_first and 1 or 2)
end

--- The lengths as an int64 vector.
local function lengths_of(name, lengths, batch)
  if type(lengths) == "table" then lengths = st.tensor(lengths, INT64) end
  if not is_tensor(lengths) or lengths.ndim ~= 1 then
    raise("%s: argument 'lengths' must be a list or a vector, got %s", name,
          is_tensor(lengths) and "a Tensor of shape {" ..
          concat(lengths.shape, ", ") .. "}" or type(lengths))
  end
  if lengths.shape[1] ~= batch then
    raise("%s: %d lengths do not match a batch of %d", name, lengths.shape[1],
          batch)
  end
  if lengths.device ~= "meta" then lengths = lengths:to "cpu" end
  return lengths:to "int64"
end

local function check_padded(name, padded)
  if not is_tensor(padded) or padded.ndim < 2 then
    raise("%s: the batch must be a Tensor of two dimensions or more, got %s",
          name, is_tensor(padded) and "shape {" .. concat(padded.shape, ", ")
          .. "}" or type(padded))
  end
end

local BATCH_FIRST = {batch_first = true}

--- The inverse of pad_sequence.
-- @tparam Tensor padded
-- @param lengths a list or an int64 vector
-- @tparam[opt] table given options: `batch_first` (false)
-- @treturn table a list of Tensors
function packed.unpad_sequence(padded, lengths, given)
  local o = options("unpad_sequence", given, BATCH_FIRST)
  check_padded("unpad_sequence", padded)
  if not o.batch_first then padded = padded:transpose(1, 2) end
  lengths = lengths_of("unpad_sequence", lengths, padded.shape[1])
  local list = {}
  for i, n in ipairs(lengths:totable()) do
    n = tonumber(n)
    if n > padded.shape[2] then n = padded.shape[2] end
    list[i] = padded:select(1, i):narrow(1, 1, n):clone()
  end
  return list
end

-- -- Packing -----------------------------------------------------------------

--- Which steps of a padded batch are of a sequence: a bool {steps, N}.
local function steps_of(lengths, steps)
  return arange(steps, INT64):unsqueeze(2):lt(lengths:unsqueeze(1))
end

--- The positions of the rows that are true, of a bool {steps, N}, on a device.
local function rows_of(mask, device)
  return mask:flatten():nonzero():squeeze(2):to(device)
end

local function check_lengths(lengths, steps, is_sorted)
  local list = lengths:totable()
  for i, n in ipairs(list) do
    if n < 1 or n > steps then
      raise("pack_padded_sequence: lengths[%d] must be from 1 to the %d steps "
            .. "of the batch, it is %d", i, steps, tonumber(n))
    elseif is_sorted and i > 1 and list[i - 1] < n then
      raise("pack_padded_sequence: the lengths must decrease, lengths[%d] "
            .. "exceeds the one before; write {enforce_sorted = false} to sort "
            .. "the sequences", i)
    end
  end
end

local PACK = {batch_first = true, enforce_sorted = true}

--- Packs a padded batch.
-- @tparam Tensor padded
-- @param lengths a list or a vector
-- @tparam[opt] table given options: `batch_first` (false); `enforce_sorted`
-- (true): the lengths must decrease; with false the sequences are sorted
-- @treturn table a packed sequence
function packed.pack_padded_sequence(padded, lengths, given)
  local name = "pack_padded_sequence"
  local o = options(name, given, PACK)
  check_padded(name, padded)
  if o.batch_first then padded = padded:transpose(1, 2) end
  lengths = lengths_of(name, lengths, padded.shape[2])
  check_lengths(lengths, padded.shape[1], o.enforce_sorted ~= false)
  local sorted
  if o.enforce_sorted == false then
    lengths, sorted = lengths:sort({stable = true, descending = true})
    sorted = sorted:to(padded.device)
    padded = padded:index_select(2, sorted)
  end
  local longest = tonumber(lengths:max():item())
  local mask = steps_of(lengths, longest)
  local rows = rows_of(mask, padded.device)
  local data = padded:flatten(1, 2):index_select(1, rows)
  return packed.PackedSequence(data, mask:sum({2}), sorted)
end

local UNPACK = {batch_first = true, padding_value = true, total_length = true}

--- The inverse of pack_padded_sequence.
-- @tparam table sequence a packed sequence
-- @tparam[opt] table given options: `batch_first` (false), `padding_value` (0),
-- `total_length`: the steps of the batch, if more than those of the longest
-- sequence
-- @treturn Tensor the padded batch
-- @treturn Tensor the lengths
function packed.pad_packed_sequence(sequence, given)
  check_packed("pad_packed_sequence", sequence)
  local o = options("pad_packed_sequence", given, UNPACK)
  local data, sizes = sequence.data, sequence.batch_sizes
  local batch, steps = tonumber(sizes:select(1, 1):item()), sizes.shape[1]
  local total = o.total_length or steps
  if type(total) ~= "number" or total < steps then
    raise("pad_packed_sequence: option 'total_length' must be at least the %d "
          .. "steps of the longest sequence, it is %s", steps, tostring(total))
  end
  local mask = steps_of(sizes, batch):t()
  local shape = data:size()
  shape[1] = total * batch
  local padded = data:new_full(shape, o.padding_value or 0)
    :index_copy(1, rows_of(mask, data.device), data)
    :unflatten(1, {total, batch})
  local lengths, unsorted = mask:sum({1}), sequence.unsorted_indices
  if o.batch_first then padded = padded:transpose(1, 2) end
  if unsorted then
    padded = padded:index_select(o.batch_first and 1 or 2, unsorted)
    lengths = lengths:index_select(1, unsorted:to(lengths.device))
  end
  return padded, lengths
end

local ENFORCE = {enforce_sorted = true}

--- Packs a list of sequences.
-- @tparam table sequences a list of Tensors of shape {length, ...}
-- @tparam[opt] table given options: `enforce_sorted` (true), as in
-- pack_padded_sequence
-- @treturn table a packed sequence
function packed.pack_sequence(sequences, given)
  check_list("pack_sequence", sequences)
  local lengths = {}
  for i, t in ipairs(sequences) do lengths[i] = t.shape[1] end
  return packed.pack_padded_sequence(packed.pad_sequence(sequences), lengths,
                                     options("pack_sequence", given, ENFORCE))
end

--- The inverse of pack_sequence.
-- @tparam table sequence a packed sequence
-- @treturn table a list of Tensors
function packed.unpack_sequence(sequence)
  check_packed("unpack_sequence", sequence)
  local padded, lengths =
    packed.pad_packed_sequence(sequence, {batch_first = true})
  return packed.unpad_sequence(padded, lengths, {batch_first = true})
end

return require "strided.name.guard".names(packed, "st.nn.utils.rnn")
