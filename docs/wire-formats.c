/* Prints the reference page of every header from the field lists themselves: docs/wire-formats.md.
 */
#include <stdio.h>

#include "wire/drop.h"
#include "wire/layouts.h"
#include "wire/mrc.h"
#include "wire/roce.h"

static void print_header(const struct wire_layout *l)
{
	printf("\n### %s, %u bytes\n\n| bytes | bits | field | width |\n|---|---|---|---|\n",
	       l->name, l->bytes);
	for (unsigned i = 0; i < l->n_fields; i++) {
		const struct wire_field *f = &l->fields[i];
		unsigned last = f->bit + f->width - 1u;

		if (f->bit / 8 == last / 8)
			printf("| %u ", f->bit / 8);
		else
			printf("| %u-%u ", f->bit / 8, last / 8);
		printf("| %u.%u to %u.%u | %s | %u |\n", f->bit / 8, 7u - f->bit % 8, last / 8,
		       7 - last % 8, wire_field_is_reserved(f) ? "*reserved*" : f->name, f->width);
	}
}

/* The names of the headers in a stack, in wire order. */
static void print_stack(const char *const *names, unsigned stack)
{
	const char *comma = "";

	for (unsigned bit = 0; names[bit]; bit++) {
		if (stack >> bit & 1) {
			printf("%s%s", comma, names[bit]);
			comma = ", ";
		}
	}
	puts(" |");
}

static void print_opcodes(void)
{
	static const char *const roce[] = {"reth",  "atomic_eth", "aeth", "atomic_ack_eth",
					   "immdt", "ieth",       "cnp",  "payload",
					   NULL};
	static const char *const mrc[] = {"meth", "[tseth]",  "reth", "immdt", "aeth",
					  "seth", "cc_state", "neth", "peth",  "erth",
					  "eeth", "payload",  NULL};
	uint16_t roce_stack, mrc_stack;

	puts("\n## Opcodes\n\n| value | packet | headers after the base transport header |");
	puts("|---|---|---|");
	for (unsigned op = 0; op < 256; op++) {
		if (roce_opcode_stack((uint8_t)op, &roce_stack)) {
			printf("| 0x%02x | %s | ", op, roce_opcode_name((uint8_t)op));
			print_stack(roce, roce_stack);
		} else if (mrc_opcode_stack((uint8_t)op, &mrc_stack)) {
			printf("| 0x%02x | %s | ", op, mrc_opcode_name((uint8_t)op));
			print_stack(mrc, mrc_stack);
		}
	}
}

static void print_drops(void)
{
	puts("\n## Why a packet is dropped\n\n| name | meaning |\n|---|---|");
	for (enum wire_drop why = WIRE_DROP_NONE + 1; why < WIRE_DROP_COUNT; why++)
		printf("| %s | %s |\n", wire_drop_name(why), wire_drop_text(why));
}

int main(void)
{
	const struct wire_layout *l;

	puts("# Wire formats\n\nEvery header weft reads and writes, printed from the field lists "
	     "in\n"
	     "`src/wire` by `make docs`. Bit 7 is the first bit of a byte on the wire. Reserved\n"
	     "fields are sent as zero and ignored on receipt. Where a specification contradicts\n"
	     "itself, [wire-notes.md](wire-notes.md) says what weft does.\n\n## Headers");
	for (size_t i = 0; (l = wire_layout_at(i)); i++)
		print_header(l);
	print_opcodes();
	print_drops();
	return 0;
}
