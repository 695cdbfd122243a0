#include "tools/sim/events.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/json_writer.h"

/* More than the most packets that hosts send and receive in EVENTS_SLICE events of a simulation. */
#define SLOTS (1u << 20)

/* The one that an abort writes, and who had the signal before. */
static struct events *open_one;
static struct sigaction before;

static volatile sig_atomic_t is_writing;

/* An abort in the middle of a line, as of an assertion that fails there, adds nothing to it. */
static void on_abort(int number)
{
	if (!is_writing)
		events_write(open_one);
	sigaction(number, &before, NULL);
	/* It is delivered when this returns. */
	raise(number);
}

static void catch_abort(struct events *e)
{
	struct sigaction action = {.sa_handler = on_abort};

	open_one = e;
	sigemptyset(&action.sa_mask);
	sigaction(SIGABRT, &action, &before);
}

int events_open(struct events *e, const char *path, const struct scenario *s)
{
	*e = (struct events){.scenario = s, .memory = calloc(1, trace_bytes(SLOTS))};
	if (!e->memory)
		return ENOMEM;
	e->out.fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
	if (e->out.fd < 0) {
		int error = errno;

		free(e->memory);
		return error;
	}
	e->is_open = true;
	trace_lend(&e->trace, e->memory, SLOTS);
	catch_abort(e);
	return 0;
}

static void write_all(struct events *e)
{
	const struct trace_words words = hosts_words(e->scenario->transport.row);
	const struct topology *t = &e->scenario->topology;
	struct trace_event event;

	while (trace_take(&e->trace, &e->next, &event, 1, &e->n_lost)) {
		struct json_writer w = json_writer(lines_put, &e->out);

		json_object(&w, NULL, JSON_INLINE);
		json_text(&w, "host", t->labels[event.node]);
		trace_json(&w, &event, &words, NULL);
		json_close(&w);
		json_end(&w);
		e->n_written++;
	}
	lines_flush(&e->out);
}

void events_write(struct events *e)
{
	sigset_t aborts, mask;

	/* One that somebody sends waits until the lines are whole. */
	sigemptyset(&aborts);
	sigaddset(&aborts, SIGABRT);
	sigprocmask(SIG_BLOCK, &aborts, &mask);
	is_writing = true;
	write_all(e);
	is_writing = false;
	sigprocmask(SIG_SETMASK, &mask, NULL);
}

int events_close(struct events *e)
{
	if (!e->is_open)
		return 0;
	events_write(e);
	sigaction(SIGABRT, &before, NULL);
	if (close(e->out.fd) && !e->out.error)
		e->out.error = errno;
	trace_lend(&e->trace, NULL, 0);
	free(e->memory);
	e->is_open = false;
	return e->out.error;
}
