-- The Ethernet CRC-32 and, made of it, the invariant CRC of RoCEv2 and MRC packets.

local bits = bit32 or bit
local bxor, band, rshift = bits.bxor, bits.band, bits.rshift
local unpack = table.unpack or unpack

local BLOCK = 32 -- bytes that one turn takes: a call costs more than looking up a byte

-- steps[k][b]: what byte b does to the CRC when k bytes end with it.
local steps = {{}}
for i = 0, 255 do
	local c = i
	for _ = 1, 8 do
		if c % 2 == 1 then
			c = bxor(rshift(c, 1), 0xedb88320)
		else
			c = rshift(c, 1)
		end
	end
	steps[1][i] = c
end
for k = 2, BLOCK do
	steps[k] = {}
	for i = 0, 255 do
		local c = steps[k - 1][i]
		steps[k][i] = bxor(steps[1][band(c, 0xff)], rshift(c, 8))
	end
end

-- A function(s, c) that takes the CRC c over the whole blocks of s. The bytes of a block do not
-- depend on each other, so their table entries are joined by one call; as text because Lua has no
-- other way to name so many values without a table of them, which costs what is gained.
local function make_blocks()
	local tables, bytes, found = {}, {}, {}
	for k = 1, BLOCK do
		tables[k] = "t" .. k
		bytes[k] = "b" .. k
		found[k] = ("t%d[b%d]"):format(BLOCK + 1 - k, k)
		if k <= 4 then -- these meet the CRC so far
			found[k] = ("t%d[band(rshift(c, %d), 0xff)]"):format(BLOCK + 1 - k, 8 * (k - 1))
		end
	end
	local text = ([[
		local bxor, band, rshift, TABLES = ...
		return function(s, c)
			for i = 1, #s - #s % BLOCK, BLOCK do
				local BYTES = s:byte(i, i + BLOCK - 1)
				c = bxor(c, b1 + b2 * 0x100 + b3 * 0x10000 + b4 * 0x1000000)
				c = bxor(FOUND)
			end
			return c
		end]]):gsub("%u%u+", {
			BLOCK = BLOCK,
			TABLES = table.concat(tables, ", "),
			BYTES = table.concat(bytes, ", "),
			FOUND = table.concat(found, ", "),
		})
	return assert((loadstring or load)(text))(bxor, band, rshift, unpack(steps))
end

local over_blocks = make_blocks()
local M = {}

-- The CRC of a string, as a number from 0 to 2^32 - 1.
function M.of(s)
	local c = over_blocks(s, 0xffffffff)
	for i = #s - #s % BLOCK + 1, #s do
		c = bxor(steps[1][band(bxor(c, s:byte(i)), 0xff)], rshift(c, 8))
	end
	return bxor(c, 0xffffffff) % 2 ^ 32
end

-- s with its bytes from first to last, counted from 0, replaced by ones.
local function masked(s, first, last)
	return s:sub(1, first) .. ("\255"):rep(last - first + 1) .. s:sub(last + 2)
end

-- The invariant CRC of a packet: ip is its innermost IP header without options or extensions,
-- rest what follows from UDP to the end of the padding. What a router may change counts as ones.
-- nil for an IP header of another form.
function M.icrc(ip, rest)
	if #ip == 20 and ip:byte(1) == 0x45 then
		ip = masked(ip, 1, 1) -- type of service
		ip = masked(ip, 8, 8) -- time to live
		ip = masked(ip, 10, 11) -- header checksum
	elseif #ip == 40 and rshift(ip:byte(1), 4) == 6 then
		ip = string.char(0x6f) .. masked(ip, 1, 3):sub(2) -- traffic class and flow label
		ip = masked(ip, 7, 7) -- hop limit
	else
		return nil
	end
	rest = masked(rest, 6, 7) -- UDP checksum
	rest = masked(rest, 12, 12) -- the reserved byte of BTH that is not covered
	return M.of(("\255"):rep(8) .. ip .. rest)
end

return M
