// Throughput of the whole path child → pipe → keeper → output log, beside `cat > file` from the same
// producer.
//   keeper_throughput [MiB of 80-byte lines, default 256] [rounds, default 6]
// The first round warms the page cache and is not counted: on a virtual machine memory that was never touched
// comes from the host at a quarter of the speed, for `cat` and `dd` alike.
#include <fcntl.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "keeper/keeper.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

/// The producer: whole 80-byte lines, 64 KiB a write as a C library does it into a pipe, at most.
int produce(size_t bytes) {
  std::string block;
  for (int i = 0; block.size() < 65520; ++i) {
    char line[96];
    std::snprintf(line, sizeof line,
                  "%08d the quick brown fox jumps over the lazy dog and writes a line of eighty.....", i);
    block.append(line, 79).push_back('\n');
  }
  for (size_t done = 0; done < bytes;) {
    ssize_t n = write(1, block.data(), std::min(block.size(), bytes - done));
    if (n <= 0) return 1;
    done += static_cast<size_t>(n);
  }
  return 0;
}

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

double through_cat(const std::string& self, const fs::path& root, const std::string& bytes) {
  std::string command = self + " --produce " + bytes + " | cat > " + (root / "cat.out").string();
  auto begun = Clock::now();
  if (std::system(command.c_str()) != 0) std::exit(1);
  return seconds_since(begun);
}

class Client {
 public:
  explicit Client(const fs::path& root) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    (root / ".coven/keeper.sock").string().copy(address.sun_path, sizeof address.sun_path - 1);
    do fd_ = socket(AF_UNIX, SOCK_STREAM, 0);
    while (connect(fd_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 && close(fd_) == 0 &&
           usleep(1000) == 0);
  }
  ~Client() { close(fd_); }
  void send(const cru::json::object& request) {
    std::string line = cru::to_text(request) + "\n";
    (void)!::write(fd_, line.data(), line.size());
  }
  cru::json::object until(const std::string& key, const std::string& value) {
    while (true) {
      size_t newline;
      while ((newline = in_.find('\n')) == std::string::npos) {
        char bytes[65536];
        ssize_t n = read(fd_, bytes, sizeof bytes);
        if (n <= 0) std::exit(1);
        in_.append(bytes, static_cast<size_t>(n));
      }
      auto message = cru::parse_json(in_.substr(0, newline))->as_object();
      in_.erase(0, newline + 1);
      if (cru::text_or(message, "error") != "") std::exit(1);
      if (cru::text_or(message, key) == value) return message;
    }
  }

 private:
  int fd_ = -1;
  std::string in_;
};

}  // namespace

int main(int argc, char** argv) {
  if (argc == 3 && std::string_view(argv[1]) == "--produce")
    return produce(std::strtoull(argv[2], nullptr, 10));
  size_t bytes = (argc > 1 ? std::strtoull(argv[1], nullptr, 10) : 256) << 20;
  int rounds = argc > 2 ? std::atoi(argv[2]) : 6;
  const char* where = std::getenv("TMPDIR");
  std::string pattern = std::string(where ? where : "/tmp") + "/keeper-bench-XXXXXX";
  fs::path root = mkdtemp(pattern.data());
  std::string self = fs::read_symlink("/proc/self/exe");
  pid_t keeper = fork();
  if (keeper == 0) _exit(cru::keeper_main(root.string()));
  {
    Client daemon(root);
    daemon.send({{"op", "hello"}, {"id", 1}, {"role", "daemon"}});
    for (int round = 0; round <= rounds; ++round) {
      std::string uid = "r" + std::to_string(round), output = ".coven/output/" + uid + ".jsonl";
      auto begun = Clock::now();
      daemon.send({{"op", "start"},
                   {"id", 2},
                   {"uid", uid},
                   {"task_id", uid},
                   {"argv", {self, "--produce", std::to_string(bytes)}},
                   {"env", cru::json::object{}},
                   {"cwd", "."},
                   {"output", output},
                   {"stdin", "null"}});
      auto exit = daemon.until("notice", "exited").at("exit").as_object();
      double seconds = seconds_since(begun);
      double out = static_cast<double>(cru::int_or(exit, "bytes"));
      fs::remove(root / output);
      double cat = through_cat(self, root, std::to_string(bytes));
      fs::remove(root / "cat.out");
      if (round == 0) continue;
      std::printf("keeper %6.0f MB/s in %6.0f MB/s out   cat %6.0f MB/s\n",
                  static_cast<double>(bytes) / seconds / 1e6, out / seconds / 1e6,
                  static_cast<double>(bytes) / cat / 1e6);
    }
    daemon.send({{"op", "stop"}, {"id", 3}});
  }
  waitpid(keeper, nullptr, 0);
  fs::remove_all(root);
  return 0;
}
