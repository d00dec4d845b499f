--- Shares tensors with other Lua states of the process.
--
--     channel:push(st.share(t))              -- here
--     local t = st.attach(channel:pop())     -- there, in another thread
--
-- The states exchange a token, a string. Both then have separate tensors over
-- the same elements; either tensor may outlive the other tensor and its Lua
-- state. The storage can no longer grow.
--
-- The only synchronization is between share and attach: what a thread wrote
-- before share is visible after attach. Apart from that, concurrent access is a
-- data race: while one thread writes, no other may read or write. Synchronize
-- by passing tokens or messages.
--
-- Tokens are valid only in the process that created them. A forked child has
-- the tokens that existed at the fork; their elements are copies, as all memory
-- of the child is.
--
-- @module strided.io.share

local core = require "strided.core"

local share = {}

--- Creates a token for a tensor: its elements, and its current shape and
-- strides, without autograd history. The token keeps the elements alive until
-- it is used up; `st.memory` counts them as "shared".
-- @function share
-- @tparam Tensor t a tensor on the CPU
-- @tparam[opt=1] number|table times how often the token may be attached, or
-- `{times = ...}`; `math.huge` for any number of times, until `unshare`
-- @treturn string the token
share.share = core.share

--- Creates a tensor over the elements of a shared one. Raises an error if the
-- token is used up, was withdrawn, belongs to another process, or is invalid.
-- @function attach
-- @tparam string token
-- @treturn Tensor
share.attach = core.attach

--- Withdraws a token, which can then no longer be attached. Tensors that are
-- attached already remain valid.
-- @function unshare
-- @tparam string token
-- @treturn boolean false if the token was used up or withdrawn already
share.unshare = core.unshare

return share
