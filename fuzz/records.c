#include "records.h"

#include "fuzz.h"

enum { PULL_MAX = 8, TALK_MAX = 16 };

void subject_pull(struct subject *s)
{
	const struct subject_ops *ops = s->ops;
	uint8_t heads[PULL_MAX][ENGINE_HEAD_MAX];
	struct tx_pkt tx[PULL_MAX];
	struct engine_room left = {.may = UINT32_MAX};

	memcpy(left.pkts, ops->room, sizeof left.pkts);
	bool was_due = s->e->ops->deadline(s->e, engine_may(&left)) <= s->now;

	for (uint32_t i = 0; i < PULL_MAX; i++)
		tx[i].head = heads[i];
	uint32_t n = s->e->ops->pull(s->e, s->now, &left, tx, PULL_MAX);

	must(n < PULL_MAX && (was_due || n == 0));
	for (uint32_t i = 0; i < n; i++) {
		must(tx[i].head_len <= ops->head_bytes && tx[i].n_body <= ENGINE_PIECES);
		must(tx[i].port < ops->n_ports && left.pkts[tx[i].port]-- > 0);
		must(tx[i].peer == RECORD_PEER && tx[i].tclass < ENGINE_TCLASSES);
		if (ops->check)
			ops->check(s, &tx[i]);
	}
	must(s->e->ops->deadline(s->e, engine_may(&left)) > s->now);
}

/* A copy in a block of just that size; NULL for nothing. */
static uint8_t *copy_of(const uint8_t *bytes, uint32_t n)
{
	uint8_t *copy = n ? malloc(n) : NULL;

	must(copy != NULL || n == 0);
	if (n)
		memcpy(copy, bytes, n);
	return copy;
}

static void input(struct subject *s, const uint8_t *record, uint32_t n)
{
	uint32_t n_virtual = 16u * record[2], flags = record[1];
	uint32_t n_head = n < s->ops->head_bytes ? n : s->ops->head_bytes;
	uint8_t *head = copy_of(record + RECORD_HEAD, n_head);
	uint8_t *body = copy_of(record + RECORD_HEAD + n_head, n - n_head);
	uint64_t before = s->ops->count(s->e);
	struct rx_pkt rx = {
		.head = {head, n_head},
		.body = {{body, n - n_head}, {NULL, n_virtual}},
		.at = s->now,
		.peer = flags & RECORD_IS_STRANGE ? RECORD_PEER + 1 : RECORD_PEER,
		.udp_len = (uint16_t)(n + n_virtual + 12),
		.trimmed = flags & RECORD_IS_TRIMMED ? 1 : 0,
		.ecn = flags & RECORD_IS_MARKED ? 3 : 2,
	};

	s->ops->fit(s, record[1], &rx, head);
	s->e->ops->input(s->e, s->now, &rx, 1);
	must(s->ops->count(s->e) == before + 1);
	free(head);
	free(body);
}

void subject_run(struct subject *s, const uint8_t *data, size_t size)
{
	while (size >= RECORD_HEAD) {
		uint32_t n = data[3], left = (uint32_t)size - RECORD_HEAD;

		if (n > left)
			n = left;
		switch (data[0] % RECORD_KINDS) {
		case RECORD_PACKET: input(s, data, n); break;
		case RECORD_PULL: subject_pull(s); break;
		case RECORD_POST: s->ops->post(s, data[1], data[2]); break;
		case RECORD_CANCEL:
			if (s->ops->cancel)
				s->ops->cancel(s, data[1], data[2]);
			break;
		case RECORD_WAIT: s->now += 1 + s->ops->wait_ns * data[1]; break;
		}
		s->ops->poll(s);
		s->ops->count(s->e);
		data += RECORD_HEAD + n;
		size -= RECORD_HEAD + n;
	}
}

void records_add(struct records *r, uint8_t what, uint8_t flags, const struct tx_pkt *tx)
{
	uint8_t *head = r->bytes + r->len, *end = head + RECORD_HEAD;
	uint32_t n_virtual = 0;

	if (tx) {
		memcpy(end, tx->head, tx->head_len);
		end += tx->head_len;
	}
	for (uint32_t i = 0; tx && i < tx->n_body; i++) {
		if (!tx->body[i].at) {
			n_virtual += tx->body[i].len;
			continue;
		}
		memcpy(end, tx->body[i].at, tx->body[i].len);
		end += tx->body[i].len;
	}
	head[0] = what;
	head[1] = flags;
	head[2] = (uint8_t)(n_virtual / 16);
	head[3] = (uint8_t)(end - head - RECORD_HEAD);
	r->len = (uint32_t)(end - r->bytes);
}

void records_converse(struct records *r, const struct talk *t)
{
	static const struct engine_room room = {.pkts = {TALK_MAX, TALK_MAX}, .may = UINT32_MAX};
	static uint8_t heads[TALK_MAX][ENGINE_HEAD_MAX];
	struct tx_pkt tx[TALK_MAX];

	for (uint32_t i = 0; i < TALK_MAX; i++)
		tx[i].head = heads[i];
	uint32_t n = t->from->ops->pull(t->from, t->now, &room, tx, TALK_MAX);

	for (uint32_t i = 0; i < n; i++) {
		struct rx_pkt rx = {.head = {tx[i].head, tx[i].head_len},
				    .at = t->heard,
				    .peer = RECORD_PEER,
				    .ev = tx[i].ev,
				    .port = tx[i].port,
				    .trimmed = t->flags & RECORD_IS_TRIMMED};

		if (t->except >> i & 1)
			continue;
		for (uint32_t k = 0; k < tx[i].n_body; k++)
			rx.body[0].len += tx[i].body[k].len;
		rx.udp_len = (uint16_t)(rx.head.len + rx.body[0].len + 12);
		records_add(r, RECORD_PACKET, t->flags, &tx[i]);
		if (t->to)
			t->to->ops->input(t->to, t->heard, &rx, 1);
	}
}
