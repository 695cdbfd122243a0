/* What an input of fuzz_mt_node means: records, one after the other, each of eight bytes and, of a
 * frame as it is, the bytes of that behind them. The seeds are written in the same way. */
#ifndef WEFT_FUZZ_MT_RECORDS_H
#define WEFT_FUZZ_MT_RECORDS_H

/* The first byte: what it is, and bits. */
enum {
	MT_RECORD_FRAME,  /* comes in as it is */
	MT_RECORD_MADE,   /* a request or an answer that the target makes */
	MT_RECORD_WINDOW, /* of CNPs ends */
	MT_RECORD_MEMBER, /* comes or goes */
	MT_RECORD_KINDS,
};
enum {
	MT_RECORD_IS_KNOWN_GOOD = 4,
	MT_RECORD_IS_SEALED = 8, /* made right, whatever else is wrong */
	MT_RECORD_IS_FAR = 16,   /* its PSN */
	MT_RECORD_IS_REQUEST = 32,
	MT_RECORD_ASKS = 64,
	MT_RECORD_HAS_CHECKSUM = 128,
};

/* Bytes of a record. */
enum {
	MT_RECORD_WHAT,
	MT_RECORD_PORT,     /* of a frame as it is; else how far from the right one */
	MT_RECORD_GROUP,    /* low half; high half: the branch */
	MT_RECORD_OPCODE,   /* of a member: joins, leaves, is ejected */
	MT_RECORD_PSN,      /* signed, from the group's first */
	MT_RECORD_SYNDROME, /* of an answer; of a request: words of payload */
	MT_RECORD_LEN,      /* two bytes, the high one first: how many of a frame follow */
	MT_RECORD_MSN,      /* low byte of that: the MSN of an answer */
	MT_RECORD_HEAD = 8,
	MT_RECORD_GROUPS = 5, /* that the node has */
	/* Of a frame as it is: pieces of 16 bytes behind it that are not stored. */
	MT_RECORD_VIRTUAL = MT_RECORD_OPCODE,
};

#endif
