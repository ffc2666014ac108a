// Throughput of the path child → pipe → keeper → output log, beside `cat > file` and `tee file > /dev/null`
// from the same producer, in turns. Prints the seconds of each round as JSON.
//   keeper_throughput FOLDER [MiB of 80-byte lines, default 256] [rounds, default 5]
// The first round warms the page cache and is not counted: on a virtual machine memory that was never touched
// comes from the host at a quarter of the speed, for `cat` and `dd` alike.
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/json.h"
#include "keeper/keeper.h"

namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begun) {
  return std::chrono::duration<double>(Clock::now() - begun).count();
}

/// Seconds that `producer | consumer` takes; what it wrote is removed after the clock has stopped.
double through(const std::string& producer, const std::string& consumer, const fs::path& written) {
  auto begun = Clock::now();
  if (std::system((producer + " | " + consumer).c_str()) != 0) std::exit(1);
  double seconds = seconds_since(begun);
  fs::remove(written);
  return seconds;
}

class Client {
 public:
  explicit Client(const fs::path& root) {
    fs::current_path(root);  // sun_path is short
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    std::string(".coven/keeper.sock").copy(address.sun_path, sizeof address.sun_path - 1);
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
  if (argc < 2) return std::fprintf(stderr, "usage: keeper_throughput FOLDER [MiB] [rounds]\n"), 2;
  fs::path root = fs::absolute(argv[1]);
  auto bytes = std::to_string((argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 256) << 20);
  int rounds = argc > 3 ? std::atoi(argv[3]) : 5;
  auto producer = (fs::read_symlink("/proc/self/exe").parent_path() / "produce_lines").string();
  pid_t keeper = fork();
  if (keeper == 0) _exit(cru::keeper_main(root.string()));
  cru::json::array ours, cat, tee;
  int64_t written = 0;
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
                   {"argv", {producer, bytes}},
                   {"env", cru::json::object{}},
                   {"cwd", "."},
                   {"output", output},
                   {"stdin", "null"}});
      auto exit = daemon.until("notice", "exited").at("exit").as_object();
      double seconds = seconds_since(begun);
      written = cru::int_or(exit, "bytes");
      fs::remove(output);
      auto through_cat = through(producer + " " + bytes, "cat > cat.out", "cat.out");
      auto through_tee = through(producer + " " + bytes, "tee tee.out > /dev/null", "tee.out");
      if (round == 0) continue;
      ours.push_back(seconds);
      cat.push_back(through_cat);
      tee.push_back(through_tee);
    }
    daemon.send({{"op", "stop"}, {"id", 3}});
  }
  waitpid(keeper, nullptr, 0);
  cru::json::object found{{"bytes_in", std::stoll(bytes)},
                          {"bytes_out", written},
                          {"keeper", std::move(ours)},
                          {"cat", std::move(cat)},
                          {"tee", std::move(tee)}};
  std::printf("%s\n", cru::to_text(found).c_str());
  return 0;
}
