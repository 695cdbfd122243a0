-- The TLVs of End.MT in IPv6 segment routing headers: which receivers each edge node of a multicast
-- group serves (draft on multicast of RDMA RC over SRv6, section 7.2).
--
-- Wireshark's own dissector shows a segment routing header up to its segments, and asks nobody
-- about the TLVs behind them. So this one comes after all others, finds the header by the fields
-- that were shown of it, and adds a tree of its own. Ids such as T-01 name places where the text is
-- open; docs/wire-notes-multicast.md has them.

local M = {}

local TYPE = 124 -- experimental, until one is assigned (T-03)
local ROUTING_TYPE, PAD1 = 4, 0
local TLV_BYTES, RECEIVER_BYTES = 24, 20

local last_entry_field = Field.new("ipv6.routing.srh.last_entry")

-- Made by register, as Wireshark wants each only once.
local proto, f, experts

local function values(t)
	local list = {}
	for _, value in pairs(t) do
		table.insert(list, value)
	end
	return list
end

local function declare()
	proto = Proto("endmt", "SRv6 End.MT")
	f = {
		tlv = ProtoField.none("endmt.tlv", "End.MT TLV"),
		type = ProtoField.uint8("endmt.tlv.type", "Type"),
		length = ProtoField.uint8("endmt.tlv.length", "Length"),
		rsv0 = ProtoField.uint16("endmt.tlv.rsv0", "Reserved", base.HEX),
		edge = ProtoField.ipv6("endmt.tlv.edge", "Edge Node Address"),
		n_receivers = ProtoField.uint8("endmt.tlv.n_receivers", "Num Receivers"),
		rsv1 = ProtoField.uint24("endmt.tlv.rsv1", "Reserved", base.HEX),
		receiver = ProtoField.none("endmt.receiver", "Receiver"),
		address = ProtoField.ipv6("endmt.receiver.address", "Receiver Address"),
		qpn = ProtoField.uint24("endmt.receiver.qpn", "Receiver QPN", base.HEX),
		receiver_rsv0 = ProtoField.uint8("endmt.receiver.rsv0", "Reserved", base.HEX),
	}
	experts = {
		length = ProtoExpert.new("endmt.expert.length", "No number of receivers has this length",
			expert.group.MALFORMED, expert.severity.ERROR),
		count = ProtoExpert.new("endmt.expert.count", "The length says another number of receivers",
			expert.group.MALFORMED, expert.severity.ERROR),
		short = ProtoExpert.new("endmt.expert.short", "A TLV does not fit the routing header",
			expert.group.MALFORMED, expert.severity.ERROR),
		reserved = ProtoExpert.new("endmt.expert.reserved", "Reserved bits are not zero",
			expert.group.PROTOCOL, expert.severity.NOTE),
		cut = ProtoExpert.new("endmt.expert.cut", "The capture ends before the TLVs do",
			expert.group.UNDECODED, expert.severity.NOTE),
	}
	proto.fields = values(f)
	proto.experts = values(experts)
end

local function add_reserved(tree, field, range)
	local item = tree:add(field, range)
	if tostring(range:bytes()):find("[^0]") then
		item:add_proto_expert_info(experts.reserved)
	end
end

local function show_receiver(tree, range)
	local item = tree:add(f.receiver, range)
	item:append_text(string.format(": %s QP 0x%06x", tostring(range(0, 16):ipv6()),
		range(16, 3):uint()))
	item:add(f.address, range(0, 16))
	item:add(f.qpn, range(16, 3))
	add_reserved(item, f.receiver_rsv0, range(19, 1))
end

-- One whole TLV, from its type on. T-01: the length is that of its receivers, and says how many.
local function show_tlv(tree, range)
	local item = tree:add(f.tlv, range)
	item:add(f.type, range(0, 1))
	local length = item:add(f.length, range(1, 1))
	local receivers = range:len() - TLV_BYTES
	if receivers <= 0 or receivers % RECEIVER_BYTES ~= 0 then
		length:add_proto_expert_info(experts.length)
		return
	end
	add_reserved(item, f.rsv0, range(2, 2))
	item:add(f.edge, range(4, 16))
	local count = item:add(f.n_receivers, range(20, 1))
	add_reserved(item, f.rsv1, range(21, 3))
	item:append_text(": " .. tostring(range(4, 16):ipv6()))
	if range(20, 1):uint() ~= receivers / RECEIVER_BYTES then
		count:add_proto_expert_info(experts.count)
		return
	end
	for at = TLV_BYTES, range:len() - 1, RECEIVER_BYTES do
		show_receiver(item, range(at, RECEIVER_BYTES))
	end
end

-- Steps through the TLVs in [at, last) of the frame; root() is the tree, made when it is needed.
local function show_tlvs(tvb, at, last, root)
	local there = math.min(last, tvb:len())
	while at < there do
		if tvb(at, 1):uint() == PAD1 then
			at = at + 1
		else
			local bytes = at + 2 <= there and 2 + tvb(at + 1, 1):uint()
			local is_ours = tvb(at, 1):uint() == proto.prefs.tlv_type
			if not bytes or at + bytes > there then
				if is_ours then
					root():add_proto_expert_info(
						last > there and experts.cut or experts.short)
				end
				return
			end
			if is_ours then
				show_tlv(root(), tvb(at, bytes))
			end
			at = at + bytes
		end
	end
end

local function dissect(tvb, tree)
	local shown
	local function root()
		shown = shown or tree:add(proto)
		return shown
	end
	for _, info in ipairs({last_entry_field()}) do
		-- The header starts four bytes before; where it stands elsewhere than in the frame, as
		-- after IP reassembly, there is nothing to find.
		local at = info.offset - 4
		if at >= 0 and at + 8 <= tvb:len() and tvb(at + 2, 1):uint() == ROUTING_TYPE
				and tvb(at + 4, 1):uint() == info.value then
			show_tlvs(tvb, at + 8 + 16 * (info.value + 1), at + 8 + 8 * tvb(at + 1, 1):uint(),
				root)
		end
	end
end

function M.register()
	declare()
	function proto.dissector(tvb, _, tree)
		dissect(tvb, tree)
	end
	proto.prefs.tlv_type = Pref.uint("Type of the TLV", TYPE,
		"Type of the End.MT TLV in segment routing headers; 0: there is none")
	register_postdissector(proto)
end

return M
