// One message to many WebSocket clients: from its POST until the last of them has it, and the server's
// memory. One message at a time: the next is sent when all have the one before and the POST was answered.
// Prints JSON.
//   fan_out PORT SERVER_PID WS_PATH POST_PATH TOKEN [clients, default 1000] [messages, default 200]
// The server sends something to whoever connects; then {"data":{"n":N,…}} is posted, and each client must get
// a text with "n":N in it.
#include <sys/epoll.h>
#include <sys/resource.h>

#include <deque>
#include <fstream>
#include <sstream>
#include <thread>

#include "figures.h"
#include "web_sockets.h"

namespace {

using namespace bench;
using cru::json::object;

double resident_kb(const std::string& pid) {
  int64_t all = 0, resident = 0;
  std::ifstream("/proc/" + pid + "/statm") >> all >> resident;
  if (resident == 0) give_up("no such server", pid);
  return static_cast<double>(resident) * static_cast<double>(::sysconf(_SC_PAGESIZE)) / 1024;
}

/// Of all its threads. What waits for a busy machine is not in it.
double cpu_micros(const std::string& pid) {
  std::ifstream file("/proc/" + pid + "/stat");
  std::string text((std::istreambuf_iterator<char>(file)), {}), skipped;
  std::istringstream fields(text.substr(text.rfind(") ") + 2));
  for (int i = 0; i < 11; ++i) fields >> skipped;
  double user = 0, system = 0;
  fields >> user >> system;
  return (user + system) * 1e6 / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

class Clients {
 public:
  Clients() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {}
  ~Clients() { ::close(epoll_); }
  Clients(const Clients&) = delete;

  void connect(size_t count, uint16_t port, const std::string& path) {
    for (size_t i = 0; i < count; ++i) {
      auto& client = sockets_.emplace_back(port, path);
      epoll_event event{.events = EPOLLIN, .data = {.ptr = &client}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, client.fd(), &event);
    }
    size_t greeted = 0;
    for (auto& client : sockets_) client.take_messages([&](std::string_view) { ++greeted; });
    wait([&](std::string_view) { ++greeted; }, [&] { return greeted >= count; });
  }
  /// Micros from `begun` to each client that got message `number`, until all have it.
  void await_all(int64_t number, Steady::time_point begun, std::vector<double>& micros) {
    auto end = micros.size() + sockets_.size();
    wait(
        [&](std::string_view text) {
          if (number_after(text, "\"n\":") == number) micros.push_back(micros_since(begun));
        },
        [&] { return micros.size() == end; });
  }

 private:
  template <class F, class G>
  void wait(const F& visit, const G& is_done) {
    epoll_event ready[256];
    while (!is_done()) {
      int count = ::epoll_wait(epoll_, ready, 256, 20'000);
      if (count <= 0) give_up("not all clients got it within 20 s");
      for (int i = 0; i < count; ++i) {
        auto& client = *static_cast<WebSocket*>(ready[i].data.ptr);
        client.receive();
        client.take_messages(visit);
      }
    }
  }
  int epoll_;
  std::deque<WebSocket> sockets_;
};

std::string message(int64_t number) {
  return "{\"data\":{\"n\":" + std::to_string(number) + ",\"text\":\"" + std::string(100, 'x') + "\"}}";
}

struct Times {
  std::vector<double> each, all;  ///< of every delivery; of the last of each message
};

/// Numbers never come twice, whatever the server has told before.
Times send_messages(Clients& clients, Poster& poster, int count) {
  static int64_t number = Steady::now().time_since_epoch().count() / 1000;
  Times times;
  for (int i = 0; i < count; ++i) {
    auto begun = Steady::now();
    poster.post(message(++number));
    clients.await_all(number, begun, times.each);
    times.all.push_back(times.each.back());
    poster.read_reply();
  }
  return times;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 6) give_up("usage", "fan_out PORT SERVER_PID WS_PATH POST_PATH TOKEN [clients] [messages]");
  auto port = static_cast<uint16_t>(std::atoi(argv[1]));
  std::string pid = argv[2], ws_path = argv[3];
  Poster poster(port, argv[4], argv[5]);
  auto count = static_cast<size_t>(argc > 6 ? std::atoi(argv[6]) : 1000);
  int messages = argc > 7 ? std::atoi(argv[7]) : 200;
  rlimit files{};
  ::getrlimit(RLIMIT_NOFILE, &files);
  files.rlim_cur = files.rlim_max;
  ::setrlimit(RLIMIT_NOFILE, &files);
  {
    Clients few;  // what comes once, not with each
    few.connect(16, port, ws_path);
    send_messages(few, poster, 50);
  }
  auto pause = [] { std::this_thread::sleep_for(std::chrono::milliseconds(1000)); };
  pause();
  auto before = resident_kb(pid);
  Clients clients;
  auto begun = Steady::now();
  clients.connect(count, port, ws_path);
  auto connecting = micros_since(begun);
  pause();
  auto connected = resident_kb(pid);
  send_messages(clients, poster, 10);
  auto cpu = cpu_micros(pid);
  auto times = send_messages(clients, poster, messages);
  cpu = (cpu_micros(pid) - cpu) / messages;
  pause();
  auto after = resident_kb(pid);
  auto clients_count = static_cast<double>(count);
  object figures{{"connect_us", connecting / clients_count},
                 {"before_kb", before},
                 {"connected_kb", connected},
                 {"after_kb", after},
                 {"idle_kb_each", (connected - before) / clients_count},
                 {"used_kb_each", (after - before) / clients_count},
                 {"cpu_us", cpu},
                 {"each", to_json(std::move(times.each))},
                 {"all", to_json(std::move(times.all))}};
  std::printf("%s\n", cru::to_text(figures).c_str());
  return 0;
}
