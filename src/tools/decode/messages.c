#include "tools/decode/messages.h"

#include <string.h>

#include "base/crc32.h"
#include "base/serial.h"

/* The addresses of 16 bytes each; those of IPv4 have zeros behind them. */
static void get_ends(const struct wire_packet *pkt, uint8_t *src, uint8_t *dst)
{
	const struct net_ip *ip = net_ip(&pkt->net);

	if (ip->version == 4) {
		memcpy(src, &ip->v4.src, sizeof ip->v4.src);
		memcpy(dst, &ip->v4.dst, sizeof ip->v4.dst);
	} else {
		memcpy(src, ip->v6.src, sizeof ip->v6.src);
		memcpy(dst, ip->v6.dst, sizeof ip->v6.dst);
	}
}

static bool is_last(const struct mrc_pkt *m)
{
	return m->bth.opcode == MRC_OP_WRITE_LAST || m->bth.opcode == MRC_OP_WRITE_LAST_IMM;
}

/* How many packets m stands behind the one that is remembered; negative: before it. */
static int32_t distance(const struct message *kept, const struct mrc_pkt *m)
{
	return psn24_diff(psn24_of(m->bth.psn), psn24_of(kept->psn));
}

/* Numbers of queue pairs and messages come again. It is another message where the PSNs are further
 * apart than this one is long, and when it is begun anew without being retransmitted. */
static bool is_same(const struct message *kept, const struct message_name *name,
		    const struct mrc_pkt *m)
{
	const int64_t least_pmtu = 256;
	int64_t apart = distance(kept, m);

	if (!kept->is_used || memcmp(&kept->name, name, sizeof *name) != 0)
		return false;
	if (m->bth.opcode == MRC_OP_WRITE_FIRST && !m->bth.rtx && kept->has_first)
		return false;
	return (apart < 0 ? -apart : apart) <= kept->dmalen / least_pmtu;
}

static struct message_facts compare(const struct message *kept, const struct mrc_pkt *m)
{
	uint32_t own_pmtu = is_last(m) ? 0 : m->payload.len;
	uint32_t pmtu = kept->pmtu ? kept->pmtu : own_pmtu;
	int64_t ahead = (int64_t)distance(kept, m) * pmtu;

	return (struct message_facts){
		.is_rkey_other = m->reth.rkey != kept->rkey,
		.is_dmalen_other = m->reth.dmalen != kept->dmalen,
		.is_pmtu_other = own_pmtu && own_pmtu != pmtu,
		.is_va_off = m->reth.va != kept->va + (uint64_t)ahead,
		.is_tail_off = is_last(m) && pmtu && m->reth.dmalen &&
			       m->payload.len != (m->reth.dmalen - 1) % pmtu + 1,
	};
}

static struct message_facts note_data(struct messages *all, const struct wire_packet *pkt)
{
	const struct mrc_pkt *m = &pkt->mrc;
	struct message_facts facts = {0};
	struct message_name name = {.dest_qp = m->bth.dest_qp, .msn = m->meth.msn};

	get_ends(pkt, name.src, name.dst);
	struct message *kept = &all->kept[crc32_update(0, &name, sizeof name) % MESSAGES_KEPT];

	if (is_same(kept, &name, m))
		facts = compare(kept, m);
	else
		*kept = (struct message){true,       false,        name,           m->reth.va,
					 m->bth.psn, m->reth.rkey, m->reth.dmalen, 0};
	if (!kept->pmtu && !is_last(m))
		kept->pmtu = m->payload.len;
	kept->has_first |= m->bth.opcode == MRC_OP_WRITE_FIRST;
	return facts;
}

static struct trimmed *trimmed_at(struct messages *all, const struct trimmed_name *name)
{
	return &all->trimmed[crc32_update(0, name, sizeof *name) % TRIMMED_KEPT];
}

static void note_trimmed(struct messages *all, const struct wire_packet *pkt)
{
	const struct mrc_bth *bth = &pkt->mrc.bth;
	struct trimmed_name name = {
		.qp16 = bth->dest_qp & 0xffff, .psn = bth->psn, .rtx = bth->rtx};

	get_ends(pkt, name.src, name.dst);
	*trimmed_at(all, &name) = (struct trimmed){name, pkt->net.udp.length};
}

/* A NACK goes the other way, names the queue pair that the packet went to, and repeats its rtx.
 * Where the packet was not captured there is nothing to say. */
static bool is_original_other(struct messages *all, const struct wire_packet *pkt)
{
	const struct neth *neth = &pkt->mrc.neth;
	struct trimmed_name name = {
		.qp16 = neth->spdcid, .psn = neth->nack_psn, .rtx = pkt->mrc.bth.rtx};

	get_ends(pkt, name.dst, name.src);
	const struct trimmed *kept = trimmed_at(all, &name);

	return memcmp(&kept->name, &name, sizeof name) == 0 &&
	       kept->udp_length != pkt->net.udp.length;
}

static bool is_trim_nack(const struct mrc_pkt *m)
{
	return m->has & MRC_NETH && (m->neth.nack_reason == MRC_NACK_TRIMMED ||
				     m->neth.nack_reason == MRC_NACK_TRIMMED_LASTHOP);
}

static bool is_answer(const struct mrc_pkt *m)
{
	return m->bth.opcode == MRC_OP_ACKNOWLEDGE || m->bth.opcode == MRC_OP_SACK ||
	       m->bth.opcode == MRC_OP_NACK;
}

static bool is_status(const struct mrc_pkt *m)
{
	return (m->has & MRC_ERTH && m->erth.op == MRC_ENDPOINT_PORT_STATUS) ||
	       (m->has & MRC_EETH && m->eeth.op == MRC_ENDPOINT_PORT_STATUS);
}

struct message_facts messages_note(struct messages *all, const struct wire_packet *pkt)
{
	const uint16_t whole = MRC_METH | MRC_RETH | MRC_PAYLOAD;
	const struct mrc_pkt *m = &pkt->mrc;
	uint64_t class = UINT64_C(1) << net_dscp(&pkt->net);

	if (m->bth.opcode < MRC_OP_ACKNOWLEDGE)
		all->data_dscps |= class;
	if (pkt->net.trim != NET_WHOLE)
		note_trimmed(all, pkt);
	if ((m->has & whole) == whole && m->bth.opcode < MRC_OP_WRITE_ONLY)
		return note_data(all, pkt);
	bool is_shared = all->data_dscps & class;

	return (struct message_facts){.is_original_other =
					      is_trim_nack(m) && is_original_other(all, pkt),
				      .is_answer_in_data_class = is_shared && is_answer(m),
				      .is_status_in_data_class = is_shared && is_status(m)};
}
