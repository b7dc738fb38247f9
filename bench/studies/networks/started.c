/* Starts a program and waits for its end: prints the seconds between, and the most bytes that it had in memory.
 *
 * It is small itself. A program counts what lay in memory before it was started, so that one that Python starts would
 * count Python.
 */
#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    int status = 0;
    struct rusage used;
    const double began = now();
    const pid_t child = argc > 1 ? fork() : -1;
    if (child == 0) {
        const int nowhere = open("/dev/null", O_WRONLY);
        if (nowhere >= 0)
            dup2(nowhere, STDOUT_FILENO);
        execv(argv[1], argv + 1);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &used) < 0)
        return 1;
    printf("%.6f %ld\n", now() - began, 1024 * used.ru_maxrss);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
