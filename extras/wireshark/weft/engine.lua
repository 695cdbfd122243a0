-- Shows packets that are described by tables.
--
-- A transport is a table:
--
--	name, title    "mrc": prefix of every filter; and its name for people
--	udp_port       where it lives
--	is_ours(byte)  whether the packet is ours, by the first byte after UDP; the others go to
--	               the dissector that had the port before
--	headers        name -> header, a list of fields such as
--	                   {"psn", 72, 24, "Packet sequence number", base = base.HEX, values = {}}
--	               name, first bit, width, text. They tile the header's `bytes`. A name that
--	               starts with "rsv" is reserved.
--	base, kind     the header every packet starts with, and its field that tells packets apart
--	packets        value of that field -> {text, {header, ...}, payload = true or nil}; a
--	               header may be {name, when = function(values)}
--	version        {header, field, value}: any other value stops the dissection
--	derived        name -> {text, type, options}: fields that a note adds
--	note(header, values, add)   called after each header; add(field, name, value) puts a
--	               derived value under a field
--	summary(values, add)        called at the end; add(text) extends the Info column
--	trim_cuts      header -> true: what a trimming switch may cut off, besides the payload
--	length_is_original(values)  true where the UDP length is that of another packet
--
-- Every field has the filter transport.header.field.

local M = {}

local FIELD_SIZES = {"uint8", "uint16", "uint24", "uint32", [8] = "uint64"}
local NO_DSCP = 255
local WHOLE, TRIMMED, TRIMMED_LASTHOP = 0, 1, 2
local ICRC_BAD, ICRC_GOOD, ICRC_UNVERIFIED, ICRC_ABSENT = 0, 1, 2, 3
local ICRC_BYTES, UDP_BYTES = 4, 8

local frame_field = Field.new("frame")
local dscp_v4_field = Field.new("ip.dsfield.dscp")
local dscp_v6_field = Field.new("ipv6.tclass.dscp")

-- Field declarations -----------------------------------------------------------------------------

-- The bytes that hold bits [bit, bit + width): first byte, how many, and how far from their end.
local function place(f)
	local bit, width = f[2], f[3]
	local first = math.floor(bit / 8)
	local bytes = math.floor((bit + width + 7) / 8) - first
	return first, bytes, (first + bytes) * 8 - bit - width
end

local function mask_of(f)
	local _, bytes, shift = place(f)
	if f[3] == bytes * 8 then
		return nil
	end
	return (2 ^ f[3] - 1) * 2 ^ shift
end

local function declare_field(path, f)
	local _, bytes = place(f)
	local filter, text = path .. "." .. f[1], f[4] or "Reserved"
	if f[3] > 64 then
		return ProtoField.bytes(filter, text)
	end
	local kind = assert(FIELD_SIZES[bytes], filter .. " spans an odd number of bytes")
	local default = f[3] >= 32 and base.HEX or base.DEC
	return ProtoField[kind](filter, text, f.base or default, f.values, mask_of(f))
end

-- A header whose fields leave a gap, overlap or miss its end would show wrong values silently.
local function check_tiles(path, header)
	local bit = 0
	for _, f in ipairs(header) do
		assert(f[2] == bit, path .. "." .. f[1] .. " leaves a gap or overlaps")
		bit = bit + f[3]
	end
	assert(bit == header.bytes * 8, path .. " does not fill its bytes")
end

local function declare_headers(t, all)
	local fields = {}
	for name, header in pairs(t.headers) do
		local path = t.name .. "." .. name
		check_tiles(path, header)
		fields[name] = {_self = ProtoField.none(path, header.text)}
		table.insert(all, fields[name]._self)
		for _, f in ipairs(header) do
			fields[name][f[1]] = declare_field(path, f)
			table.insert(all, fields[name][f[1]])
		end
	end
	return fields
end

local ICRC_STATUS = {
	[ICRC_BAD] = "Bad",
	[ICRC_GOOD] = "Good",
	[ICRC_UNVERIFIED] = "Unverified",
	[ICRC_ABSENT] = "Not present",
}
local TRIM_STATUS = {
	[WHOLE] = "No",
	[TRIMMED] = "TRIMMED",
	[TRIMMED_LASTHOP] = "TRIMMED_LASTHOP",
}

local function declare_common(t, all)
	local n = t.name
	local common = {
		payload = ProtoField.bytes(n .. ".payload", "Payload"),
		payload_length = ProtoField.uint32(n .. ".payload.length", "Payload length"),
		pad = ProtoField.bytes(n .. ".padding", "Padding"),
		left = ProtoField.bytes(n .. ".undecoded", "Bytes not decoded"),
		icrc = ProtoField.uint32(n .. ".icrc", "Invariant CRC", base.HEX),
		icrc_right = ProtoField.uint32(n .. ".icrc.expected", "Expected CRC", base.HEX),
		icrc_status = ProtoField.uint8(n .. ".icrc.status", "CRC status", base.DEC,
			ICRC_STATUS),
		trimmed = ProtoField.uint8(n .. ".trimmed", "Trimmed", base.DEC, TRIM_STATUS),
		original = ProtoField.uint16(n .. ".original_length", "Original UDP length"),
	}
	for _, f in pairs(common) do
		table.insert(all, f)
	end
	return common
end

local function declare_derived(t, all)
	local fields = {}
	for name, d in pairs(t.derived) do
		fields[name] = ProtoField[d[2]](t.name .. "." .. name, d[1], d.base, d.values)
		table.insert(all, fields[name])
	end
	return fields
end

local function declare_experts(t)
	local function new(name, text, group, severity)
		return ProtoExpert.new(t.name .. ".expert." .. name, text, expert.group[group],
			expert.severity[severity])
	end
	return {
		short = new("short", "The packet ends inside a header", "MALFORMED", "ERROR"),
		version = new("version", "Unknown header version", "PROTOCOL", "ERROR"),
		unknown = new("unknown_opcode", "Opcode is not assigned", "UNDECODED", "WARN"),
		reserved = new("reserved", "Reserved bits are not zero", "PROTOCOL", "NOTE"),
		trimmed = new("trimmed", "Packets of this kind are never trimmed", "PROTOCOL", "ERROR"),
		length = new("length", "Wrong length", "MALFORMED", "ERROR"),
		icrc = new("icrc", "Wrong invariant CRC", "CHECKSUM", "ERROR"),
		cut = new("cut", "The capture ends before the packet does", "UNDECODED", "NOTE"),
	}
end

-- What surrounds a packet ------------------------------------------------------------------------

-- DSCP of the outermost IP header: the only one a trimming switch writes.
local function outer_dscp()
	local outermost
	for _, list in ipairs({{dscp_v4_field()}, {dscp_v6_field()}}) do
		for _, info in ipairs(list) do
			if not outermost or info.offset < outermost.offset then
				outermost = info
			end
		end
	end
	return outermost and outermost.value
end

local function trim_of(prefs)
	local dscp = outer_dscp()
	if not dscp or dscp == NO_DSCP then
		return WHOLE
	elseif dscp == prefs.dscp_trimmed then
		return TRIMMED
	elseif dscp == prefs.dscp_trimmed_lasthop then
		return TRIMMED_LASTHOP
	end
	return WHOLE
end

-- The bytes of the innermost IP header and the UDP header before tvb. nil where they do not stand
-- directly before it in the frame, as after IP reassembly: then there is nothing to check a CRC by.
local function headers_before(tvb, pinfo)
	local frame, at = frame_field(), tvb:offset()
	local ip_bytes = tostring(pinfo.net_src):find(":", 1, true) and 40 or 20
	if not frame or at < ip_bytes + UDP_BYTES or at + tvb:len() > frame.range:len() then
		return nil
	end
	local ip = frame.range:raw(at - UDP_BYTES - ip_bytes, ip_bytes)
	local udp = frame.range:raw(at - UDP_BYTES, UDP_BYTES)
	local next_header = ip:byte(ip_bytes == 40 and 7 or 10)
	local port = udp:byte(3) * 256 + udp:byte(4)
	if next_header ~= 17 or port ~= pinfo.dst_port then
		return nil
	end
	return {ip = ip, udp = udp, udp_length = udp:byte(5) * 256 + udp:byte(6)}
end

-- Packets ----------------------------------------------------------------------------------------

-- One packet on its way through the tables: what it is made of, and how far it was read.
local Packet = {}
Packet.__index = Packet

function Packet:left()
	return self.last - self.at
end

-- Marks an item; without a text the note says what it was declared with.
function Packet:expert(item, which, text)
	if text then
		item:add_proto_expert_info(self.d.experts[which], text)
	else
		item:add_proto_expert_info(self.d.experts[which])
	end
end

function Packet:show_field(tree, header, name, f)
	local first, bytes = place(f)
	local range = self.tvb(self.at + first, bytes)
	local item = tree:add(self.d.fields[name][f[1]], range)
	local value
	if f[3] <= 64 then
		value = self.tvb(self.at, header.bytes):bitfield(f[2], f[3])
	else
		value = range:bytes()
	end
	if f[1]:sub(1, 3) == "rsv" and tostring(value):find("[^0]") then
		self:expert(item, "reserved", name .. "." .. f[1] .. " is not zero")
	end
	self.values[name][f[1]] = value
	return item
end

-- Shows one header and steps over it; false where the packet ends before it does.
function Packet:header(name)
	local t, header = self.d.transport, self.d.transport.headers[name]
	if self:left() < header.bytes then
		return false
	end
	local tree = self.tree:add(self.d.fields[name]._self, self.tvb(self.at, header.bytes))
	local items = {}
	self.values[name] = {}
	for _, f in ipairs(header) do
		items[f[1]] = self:show_field(tree, header, name, f)
	end
	t.note(name, self.values, function(field, derived, value)
		items[field]:add(self.d.derived[derived], value):set_generated()
	end)
	self.at = self.at + header.bytes
	return true
end

function Packet:rest_is_undecoded()
	if self:left() > 0 then
		self.tree:add(self.d.common.left, self.tvb(self.at, self:left()))
	end
	self.at = self.last
end

function Packet:short(name)
	local header = self.d.transport.headers[name]
	local text = string.format("%s: %d bytes needed, %d left", header.text, header.bytes,
		self:left())
	self:expert(self.tree, self.is_cut and "cut" or "short", text)
	self:rest_is_undecoded()
	return false
end

-- The base header and what it calls for. False where the packet could not be followed to its end.
function Packet:stack()
	local t = self.d.transport
	if not self:header(t.base) then
		return self:short(t.base)
	end
	local v = t.version
	if self.values[v[1]][v[2]] ~= v[3] then
		self:expert(self.tree, "version",
			"Header version " .. tostring(self.values[v[1]][v[2]]) .. " is not known")
		self:rest_is_undecoded()
		return false
	end
	local kind = self.values[t.base][t.kind]
	self.packet = t.packets[kind]
	if not self.packet then
		self:expert(self.tree, "unknown",
			string.format("Opcode 0x%02x is not assigned", kind))
		self:rest_is_undecoded()
		return false
	end
	-- Without its CRC a control packet could be anyone's: only data is believed when cut.
	if self.is_short and not self.packet.payload then
		self:expert(self.tree, "trimmed")
		self:rest_is_undecoded()
		return false
	end
	for _, entry in ipairs(self.packet[2]) do
		local name = entry.when and entry[1] or entry
		if not entry.when or entry.when(self.values) then
			if not self:header(name) then
				return self:stop_at(name)
			end
		end
	end
	return true
end

-- The packet ends inside this header, which is no fault where a switch may have cut it.
function Packet:stop_at(name)
	if not self.is_short or not self.d.transport.trim_cuts[name] then
		return self:short(name)
	end
	self:rest_is_undecoded()
	return true
end

function Packet:payload()
	local c, left, pad = self.d.common, self:left(), 0
	if not self.packet.payload then
		if left > 0 then
			self:expert(self.tree, "length", left .. " bytes follow the last header")
			self:rest_is_undecoded()
		end
		return
	end
	pad = self.values[self.d.transport.base].pad
	if left % 4 ~= 0 and not self.is_cut then
		self:expert(self.tree, "length", "Payload and padding are no multiple of 4 bytes")
	end
	if pad > left then
		self:expert(self.tree, "length", "More padding than payload")
		self:rest_is_undecoded()
		return
	end
	if left > pad then
		self.tree:add(c.payload, self.tvb(self.at, left - pad))
	end
	self.tree:add(c.payload_length, left - pad):set_generated()
	self.payload_length = left - pad
	if pad > 0 then
		self.tree:add(c.pad, self.tvb(self.last - pad, pad))
	end
	self.at = self.last
end

function Packet:icrc()
	local c, p = self.d.common, self.tvb(self.last, ICRC_BYTES)
	local item = self.tree:add_le(c.icrc, p)
	local status, right = ICRC_UNVERIFIED, nil
	if self.d.proto.prefs.check_icrc and self.before then
		right = self.d.crc32.icrc(self.before.ip,
			self.before.udp .. self.tvb:raw(0, self.last))
	end
	if right then
		status = right == p:le_uint() and ICRC_GOOD or ICRC_BAD
	end
	item:append_text(" [" .. ICRC_STATUS[status] .. "]")
	item:add(c.icrc_status, status):set_generated()
	if status == ICRC_BAD then
		item:add(c.icrc_right, right):set_generated()
		self:expert(item, "icrc", string.format("The CRC should be 0x%08x", right))
	end
end

-- A switch may mark as trimmed what is too short to be cut: then the UDP length is still right, and
-- nothing is missing (M-48).
function Packet:was_cut()
	return self.trim ~= WHOLE and not (self.before
		and self.before.udp_length == UDP_BYTES + self.tvb:reported_len())
end

-- What the packet says about a length other than its own (M-13, M-42).
function Packet:original_length()
	local t = self.d.transport
	if not self.before then
		return
	end
	local length = self.before.udp_length
	if self.trim ~= WHOLE or t.length_is_original(self.values) then
		self.tree:add(self.d.common.original, length):set_generated()
	elseif length ~= UDP_BYTES + self.tvb:reported_len() then
		self:expert(self.tree, "length", "The UDP length does not fit the IP length")
	end
end

function Packet:info()
	local cols, words = self.pinfo.cols, {}
	cols.protocol = self.d.transport.name:upper()
	if self.packet then
		table.insert(words, self.d.transport.name:upper() .. " " .. self.packet[1])
	else
		table.insert(words, self.d.transport.name:upper() .. " not decoded")
	end
	if self.trim ~= WHOLE then
		table.insert(words, TRIM_STATUS[self.trim])
	end
	if self.packet then
		self.d.transport.summary(self.values, function(text)
			table.insert(words, text)
		end)
	end
	if self.payload_length then
		table.insert(words, "len " .. self.payload_length)
	end
	cols.info = table.concat(words, " ")
end

function Packet:show()
	local c = self.d.common
	self.is_short = self:was_cut()
	local ends_in_icrc = not self.is_short and not self.is_cut and self.last >= ICRC_BYTES
	if ends_in_icrc then
		self.last = self.last - ICRC_BYTES
	end
	if self.trim ~= WHOLE then
		self.tree:add(c.trimmed, self.trim):set_generated()
	end
	if self:stack() then
		if self.is_short then
			self:rest_is_undecoded()
		else
			self:payload()
		end
		self:original_length()
		if self.is_cut then
			self:expert(self.tree, "cut")
		end
	end
	if ends_in_icrc then
		self:icrc()
	elseif self.is_short then
		self.tree:add(c.icrc_status, ICRC_ABSENT):set_generated()
	end
	self:info()
end

local function dissect(d, tvb, pinfo, tree)
	local packet = setmetatable({
		d = d,
		tvb = tvb,
		pinfo = pinfo,
		tree = tree:add(d.proto, tvb()),
		at = 0,
		last = tvb:len(),
		is_cut = tvb:len() < tvb:reported_len(),
		trim = trim_of(d.proto.prefs),
		before = headers_before(tvb, pinfo),
		values = {},
	}, Packet)
	packet:show()
	return tvb:len()
end

-- Registration -----------------------------------------------------------------------------------

local function add_preferences(t, proto)
	local prefs = proto.prefs
	prefs.udp_port = Pref.uint("UDP port", t.udp_port, "Destination port of " .. t.title)
	prefs.check_icrc = Pref.bool("Check the invariant CRC", false,
		"Takes about as long again as everything else in captures of large packets")
	prefs.dscp_trimmed = Pref.uint("DSCP of trimmed packets", NO_DSCP,
		"A packet whose outermost DSCP is this was cut by a switch; 255: none is")
	prefs.dscp_trimmed_lasthop = Pref.uint("DSCP of packets trimmed at the last hop", NO_DSCP,
		"As above, for a cut at the last hop; 255: not told apart")
end

-- Takes the port over, and lends it back when the preference names another one. What had the port
-- still gets every packet that is not ours.
local function take_port(d)
	local ports = DissectorTable.get("udp.port")
	local port = d.proto.prefs.udp_port
	if d.port and d.port ~= port then
		ports:remove(d.port, d.proto)
		if d.former then
			ports:add(d.port, d.former)
		end
		d.port, d.former = nil, nil
	end
	local owner = ports:get_dissector(port)
	if not owner or tostring(owner) ~= d.own then
		d.former = owner
		ports:add(port, d.proto)
		d.own = tostring(ports:get_dissector(port))
	end
	d.port = port
end

-- Gives a packet that is not ours to whom the port belonged. When that dissector throws, it has
-- already marked the packet as malformed, and the Lua error that follows would only repeat it.
local function hand_on(d, tvb, pinfo, tree)
	if not d.former then
		return 0
	end
	local is_done, used = pcall(d.former.call, d.former, tvb, pinfo, tree)
	return is_done and used or tvb:len()
end

-- Makes a dissector of a transport's tables.
function M.register(t, crc32)
	local proto = Proto(t.name, t.title)
	local all = {}
	local d = {
		transport = t,
		proto = proto,
		crc32 = crc32,
		fields = declare_headers(t, all),
		common = declare_common(t, all),
		derived = declare_derived(t, all),
		experts = declare_experts(t),
	}
	local experts = {}
	for _, e in pairs(d.experts) do
		table.insert(experts, e)
	end
	proto.fields = all
	proto.experts = experts
	add_preferences(t, proto)

	function proto.dissector(tvb, pinfo, tree)
		if tvb:len() > 0 and t.is_ours(tvb(0, 1):uint()) then
			return dissect(d, tvb, pinfo, tree)
		end
		return hand_on(d, tvb, pinfo, tree)
	end
	-- A source port below ours may belong to some other dissector, which then comes first. With
	-- udp.try_heuristic_first set, this one comes before it.
	proto:register_heuristic("udp", function(tvb, pinfo, tree)
		if pinfo.dst_port ~= proto.prefs.udp_port or tvb:len() == 0
				or not t.is_ours(tvb(0, 1):uint()) then
			return false
		end
		dissect(d, tvb, pinfo, tree)
		return true
	end)
	function proto.prefs_changed()
		take_port(d)
	end
	-- Other dissectors claim their ports again when their preferences change.
	function proto.init()
		take_port(d)
	end
	take_port(d)
end

return M
