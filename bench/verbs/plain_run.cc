// The least that a program can do which runs a command and records it: a shell that executes it, and when
// that has ended one line in a file and one sync. Exits with the command's code.
//   plain_run FILE COMMAND
#include <fcntl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <string>

int main(int argc, char** argv) {
  if (argc != 3) return std::fputs("usage: plain_run FILE COMMAND\n", stderr), 2;
  pid_t child = ::fork();
  if (child == 0) {
    ::execl("/bin/sh", "sh", "-c", argv[2], nullptr);
    ::_exit(127);
  }
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child) return std::perror("plain_run"), 1;
  auto line = std::string(argv[2]) + " " + std::to_string(status) + "\n";
  int fd = ::open(argv[1], O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
  if (fd < 0 || ::write(fd, line.data(), line.size()) < 0 || ::fdatasync(fd) != 0)
    return std::perror("plain_run"), 1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}
