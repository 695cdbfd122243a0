#include "tools/sim/events.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>

#include "tools/json_file.h"

/* More than the most packets that hosts send and receive in EVENTS_SLICE events of a simulation. */
#define SLOTS (1u << 20)

/* The one that an abort writes, and who had the signal before. */
static struct events *open_one;
static struct sigaction before;

/* Engines do not write files, so who fails an assertion is not in the middle of it. */
static void on_abort(int number)
{
	if (open_one)
		events_close(open_one);
	raise(number);
}

static void catch_abort(void)
{
	struct sigaction action = {.sa_handler = on_abort};

	sigemptyset(&action.sa_mask);
	sigaction(SIGABRT, &action, &before);
}

int events_open(struct events *e, const char *path, const struct scenario *s)
{
	*e = (struct events){.scenario = s, .memory = calloc(1, trace_bytes(SLOTS))};
	if (!e->memory)
		return ENOMEM;
	e->out = fopen(path, "we");
	if (!e->out) {
		int error = errno;

		free(e->memory);
		return error;
	}
	trace_lend(&e->trace, e->memory, SLOTS);
	open_one = e;
	catch_abort();
	return 0;
}

void events_write(struct events *e)
{
	const struct trace_words words = hosts_words(e->scenario->transport.row);
	const struct topology *t = &e->scenario->topology;
	struct trace_event event;

	while (trace_take(&e->trace, &e->next, &event, 1, &e->n_lost)) {
		struct json_writer w = json_file(e->out);

		json_object(&w, NULL, JSON_INLINE);
		json_text(&w, "host", t->labels[event.node]);
		trace_json(&w, &event, &words, NULL);
		json_close(&w);
		json_end(&w);
		e->n_written++;
	}
}

int events_close(struct events *e)
{
	int error = 0;

	if (!e->out)
		return 0;
	events_write(e);
	sigaction(SIGABRT, &before, NULL);
	open_one = NULL;
	error = ferror(e->out) ? EIO : 0;
	if (fclose(e->out) && !error)
		error = errno;
	trace_lend(&e->trace, NULL, 0);
	free(e->memory);
	e->out = NULL;
	return error;
}
