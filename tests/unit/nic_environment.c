/* What the environment may have a device do: nothing to files in a program that has more rights
 * than its caller, and no more than to append to a regular file in any other. */
#include "nic_stage.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/wait.h>

#define STRANGER 12345
#define SECRET   "[words of root = 1"

/* A folder that everybody may enter, with what is root's alone in it. */
struct folder {
	char path[64], program[96], counters[96], config[96], said[96];
};

static void write_text(const char *path, const char *text, mode_t mode)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
}

static void read_text(const char *path, char *text, size_t size)
{
	FILE *f = fopen(path, "r");

	assert_non_null(f);
	size_t n = fread(text, 1, size - 1, f);

	text[n] = 0;
	fclose(f);
}

static void copy_program(const char *path, mode_t mode)
{
	int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	static char bytes[1 << 16];
	ssize_t n;

	assert_true(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof bytes)) > 0)
		assert_int_equal(write(to, bytes, (size_t)n), n);
	assert_int_equal(n, 0);
	assert_int_equal(fchmod(to, mode), 0);
	close(from);
	close(to);
}

static struct folder make_folder(mode_t mode)
{
	struct folder f = {.path = "/tmp/weft-environment-XXXXXX"};

	assert_non_null(mkdtemp(f.path));
	assert_int_equal(chmod(f.path, 0755), 0);
	snprintf(f.program, sizeof f.program, "%s/program", f.path);
	snprintf(f.counters, sizeof f.counters, "%s/counters", f.path);
	snprintf(f.config, sizeof f.config, "%s/devices.conf", f.path);
	snprintf(f.said, sizeof f.said, "%s/said", f.path);
	copy_program(f.program, mode);
	write_text(f.counters, "", 0600);
	write_text(f.config, SECRET "\n", 0600);
	write_text(f.said, "", 0666);
	return f;
}

static void remove_folder(const struct folder *f)
{
	unlink(f->program);
	unlink(f->counters);
	unlink(f->config);
	unlink(f->said);
	assert_int_equal(rmdir(f->path), 0);
}

/* Runs the copy as that user with a variable set, and all it says in f->said. */
static int run(const struct folder *f, uid_t uid, const char *variable, const char *value)
{
	char setting[160], verbose[] = "WEFT_VERBOSE=1";
	char *envp[] = {setting, verbose, NULL};
	int status = 0;
	pid_t child;

	snprintf(setting, sizeof setting, "%s=%s", variable, value);
	fflush(NULL);
	child = fork();
	assert_true(child >= 0);
	if (child == 0) {
		int fd = open(f->said, O_WRONLY | O_TRUNC);

		if (dup2(fd, STDOUT_FILENO) < 0 || dup2(fd, STDERR_FILENO) < 0 ||
		    (uid && (setresgid(uid, uid, uid) || setresuid(uid, uid, uid))))
			_exit(126);
		execle(f->program, f->program, "open", NULL, envp);
		_exit(127);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	return WEXITSTATUS(status);
}

/* Run by the copy: opens the first device of loopback and closes it again. */
static int open_and_close(void)
{
	struct nic_info *list = NULL;
	int n = nic_list(&list);
	struct nic_user *u = n > 0 ? nic_open(&list[0]) : NULL;

	free(list);
	if (n >= 0 && !u)
		return 3;
	if (!u || nic_close(u)) {
		puts(nic_error());
		return 4;
	}
	return 0;
}

static void a_program_with_more_rights_minds_no_variable(void **state)
{
	char text[16384];

	(void)state;
	if (geteuid() != 0)
		skip();
	struct folder f = make_folder(04755);

	assert_int_equal(run(&f, STRANGER, "WEFT_COUNTERS", f.counters), 0);
	read_text(f.counters, text, sizeof text);
	assert_string_equal(text, "");
	assert_int_equal(run(&f, STRANGER, "WEFT_CONFIG", f.config), 0);
	read_text(f.said, text, sizeof text);
	assert_null(strstr(text, "words"));
	/* Nor a folder to look for such a file in, nor anything of a device. */
	assert_int_equal(run(&f, STRANGER, "WEFT_INTERFACES", "none-such"), 0);
	assert_int_equal(run(&f, STRANGER, "WEFT_DRIVER", "none-such"), 0);
	remove_folder(&f);
}

/* The same program, and the same variables, where its caller has all the rights it has. */
static void a_program_of_the_caller_minds_them(void **state)
{
	char text[16384];

	(void)state;
	struct folder f = make_folder(0755);

	assert_int_equal(run(&f, 0, "WEFT_COUNTERS", f.counters), 0);
	read_text(f.counters, text, sizeof text);
	assert_non_null(strstr(text, "\"device\":\"weft_rc0\""));
	assert_int_equal(run(&f, 0, "WEFT_CONFIG", f.config), 4);
	read_text(f.said, text, sizeof text);
	assert_non_null(strstr(text, "words"));
	assert_int_equal(run(&f, 0, "WEFT_INTERFACES", "none-such"), 4);
	assert_int_equal(run(&f, 0, "WEFT_DRIVER", "none-such"), 4);
	remove_folder(&f);
}

static void check_refused(const struct folder *f, const char *path)
{
	char text[4096];

	assert_int_equal(run(f, 0, "WEFT_COUNTERS", path), 0);
	read_text(f->said, text, sizeof text);
	assert_non_null(strstr(text, "WEFT_COUNTERS="));
	assert_non_null(strstr(text, "is no regular file but a link, a pipe or a device"));
}

static void counters_go_to_regular_files_only(void **state)
{
	struct folder f = make_folder(0755);
	char other[128], text[16384];
	int fd;

	(void)state;
	snprintf(other, sizeof other, "%s/other", f.path);
	assert_int_equal(symlink(f.counters, other), 0);
	check_refused(&f, other);
	read_text(f.counters, text, sizeof text);
	assert_string_equal(text, "");
	unlink(other);
	assert_int_equal(mkfifo(other, 0600), 0);
	check_refused(&f, other); /* that nobody reads, ... */
	fd = open(other, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	assert_true(fd >= 0);
	check_refused(&f, other); /* ... or somebody */
	close(fd);
	unlink(other);
	check_refused(&f, "/dev/null");
	/* One that is not there yet is made, and each device adds its line. */
	assert_int_equal(run(&f, 0, "WEFT_COUNTERS", other), 0);
	assert_int_equal(run(&f, 0, "WEFT_COUNTERS", other), 0);
	read_text(other, text, sizeof text);
	char *second = strchr(text, '\n');

	assert_non_null(second);
	assert_true(strchr(second + 1, '\n') == text + strlen(text) - 1);
	unlink(other);
	remove_folder(&f);
}

static const struct CMUnitTest cases[] = {
	cmocka_unit_test(a_program_with_more_rights_minds_no_variable),
	cmocka_unit_test(a_program_of_the_caller_minds_them),
	cmocka_unit_test(counters_go_to_regular_files_only),
};

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "open"))
		return open_and_close();
	isolate();
	setenv("WEFT_CONFIG", "/dev/null", 1);
	return check_main(argc, argv, cases, sizeof cases / sizeof cases[0]);
}
