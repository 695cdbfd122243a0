/* How fast each CRC implementation is, beside memcpy over the same bytes in the same run.
 *
 * bench-crc [--quick] [--json]. About 10 seconds, 2 with --quick. Times are reported, never judged:
 * the exit status says only whether the benchmark could run. */
#include "base/crc32.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "tools/json_file.h"

#define IMPLS_MAX 8u
#define ROWS_MAX  (1u + 4u * IMPLS_MAX)
#define ROUNDS    5u

/* aim: the share of memcpy's speed that the best implementation's CRC should reach; 0 for none. */
struct size {
	const char *name;
	size_t bytes;
	double aim;
};

static const struct size sizes[] = {
	{"64 MiB", (size_t)64 << 20, 0.9},
	{"256 KiB", (size_t)256 << 10, 0.6},
	{"4 KiB", 4096, 0},
	{"1 KiB", 1024, 0},
	{"64 B", 64, 0},
};
#define N_SIZES (sizeof sizes / sizeof sizes[0])

/* One thing measured: update is set, or copy is. */
struct row {
	const char *impl, *what;
	uint32_t (*update)(uint32_t crc, const void *data, size_t n);
	uint32_t (*copy)(uint32_t crc, void *dst, const void *src, size_t n);
	bool has_aim;
	double gb_per_s[N_SIZES];
};

struct buffers {
	uint8_t *src, *dst;
	uint32_t crc; /* carried from call to call, so that none can be left out */
};

static double now_s(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static uint32_t plain_memcpy(uint32_t crc, void *dst, const void *src, size_t n)
{
	memcpy(dst, src, n);
	return crc;
}

static size_t rows_make(struct row *rows)
{
	const struct crc_impl *m;
	size_t n = 0;

	rows[n++] = (struct row){.impl = "libc", .what = "memcpy", .copy = plain_memcpy};
	for (size_t i = 0; i < IMPLS_MAX && (m = crc_impl_at(i)) != NULL; i++) {
		const bool best = i == 0;

		rows[n++] = (struct row){m->name, "crc32", .update = m->crc32, .has_aim = best};
		rows[n++] = (struct row){m->name, "crc32c", .update = m->crc32c, .has_aim = best};
		rows[n++] = (struct row){m->name, "crc32_copy", .copy = m->crc32_copy};
		rows[n++] = (struct row){m->name, "crc32c_copy", .copy = m->crc32c_copy};
	}
	return n;
}

/* Seconds for one call: the best batch among those that fit in slot_s, at least one. A batch is
 * long enough that reading the clock does not count. */
static double measure(const struct row *r, struct buffers *b, size_t bytes, double slot_s)
{
	const size_t calls = bytes < 1 << 18 ? (1 << 18) / bytes : 1;
	const double end = now_s() + slot_s;
	double best = 1e9, start, stop;

	do {
		start = now_s();
		for (size_t i = 0; i < calls; i++)
			b->crc = r->update ? r->update(b->crc, b->src, bytes)
					   : r->copy(b->crc, b->dst, b->src, bytes);
		stop = now_s();
		if ((stop - start) / (double)calls < best)
			best = (stop - start) / (double)calls;
	} while (stop < end);
	return best;
}

/* Rounds outside, rows inside: a slow moment of the machine falls on all rows alike. */
static void measure_all(struct row *rows, size_t n_rows, struct buffers *b, double slot_s)
{
	for (size_t s = 0; s < N_SIZES; s++)
		for (unsigned round = 0; round < ROUNDS; round++)
			for (struct row *r = rows; r < rows + n_rows; r++) {
				const double t = measure(r, b, sizes[s].bytes, slot_s);
				const double speed = (double)sizes[s].bytes / t * 1e-9;

				if (speed > r->gb_per_s[s])
					r->gb_per_s[s] = speed;
			}
}

static void print_table(const struct row *rows, size_t n_rows)
{
	for (size_t s = 0; s < N_SIZES; s++) {
		printf("%-28s   GB/s  of memcpy\n", sizes[s].name);
		for (const struct row *r = rows; r < rows + n_rows; r++) {
			printf("  %-12s %-12s %7.2f  %9.2f", r->impl, r->what, r->gb_per_s[s],
			       r->gb_per_s[s] / rows[0].gb_per_s[s]);
			if (r->has_aim && sizes[s].aim > 0)
				printf("  aim %.2f", sizes[s].aim);
			putchar('\n');
		}
	}
}

static void put_row(struct json_writer *w, const struct row *r, size_t s, double memcpy_gb_per_s)
{
	json_object(w, NULL, JSON_INLINE);
	json_text(w, "impl", r->impl);
	json_text(w, "what", r->what);
	json_number(w, "bytes", sizes[s].bytes);
	json_measured(w, "speed", r->gb_per_s[s], 3);
	json_measured(w, "of_memcpy", r->gb_per_s[s] / memcpy_gb_per_s, 3);
	if (r->has_aim && sizes[s].aim > 0)
		json_measured(w, "aim", sizes[s].aim, 2);
	json_close(w);
}

static void print_json(const struct row *rows, size_t n_rows)
{
	struct json_writer w = json_file(stdout);

	json_object(&w, NULL, JSON_INLINE);
	json_text(&w, "bench", "crc");
	json_text(&w, "unit", "GB/s");
	json_array(&w, "results", JSON_LINES);
	for (size_t s = 0; s < N_SIZES; s++)
		for (const struct row *r = rows; r < rows + n_rows; r++)
			put_row(&w, r, s, rows[0].gb_per_s[s]);
	json_close(&w);
	json_close(&w);
	json_end(&w);
}

int main(int argc, char **argv)
{
	struct row rows[ROWS_MAX];
	const size_t n_rows = rows_make(rows);
	bool quick = false, json = false;
	struct buffers b = {0};

	for (int i = 1; i < argc; i++) {
		if (strcmp(argv[i], "--quick") == 0) {
			quick = true;
		} else if (strcmp(argv[i], "--json") == 0) {
			json = true;
		} else {
			fprintf(stderr, "usage: %s [--quick] [--json]\n", argv[0]);
			return EXIT_FAILURE;
		}
	}
	b.src = malloc(sizes[0].bytes);
	b.dst = malloc(sizes[0].bytes);
	if (!b.src || !b.dst) {
		fprintf(stderr, "no memory for two buffers of %s\n", sizes[0].name);
		free(b.src);
		free(b.dst);
		return EXIT_FAILURE;
	}
	for (size_t i = 0; i < sizes[0].bytes; i++)
		b.src[i] = (uint8_t)(i * 2654435761u >> 13);
	memset(b.dst, 0, sizes[0].bytes);
	measure_all(rows, n_rows, &b, (quick ? 1.0 : 9.0) / (double)(N_SIZES * ROUNDS * n_rows));
	if (json)
		print_json(rows, n_rows);
	else
		print_table(rows, n_rows);
	free(b.dst);
	free(b.src);
	return EXIT_SUCCESS;
}
