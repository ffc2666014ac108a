// Claims and completions a second of a durable work queue: items are put first, then each client claims one
// (or a batch) and completes it, one after the other, until all are done. Then every item is looked up: each
// must have been claimed once and be completed. One thread and epoll, the same for every queue. Prints JSON.
//   claim_complete http|mcp|beanstalkd|redis|postgresql SOCKET CLIENTS ITEMS [BATCH]
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include <functional>
#include <unordered_set>
#include <vector>

#include "peers.h"

namespace {

using namespace bench;
using Steady = std::chrono::steady_clock;

int connect_to(const std::string& path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) give_up("the socket's name is too long", path);
  path.copy(address.sun_path, sizeof address.sun_path - 1);
  int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (::connect(fd, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    give_up("cannot connect", path);
  return fd;
}

/// Connections of which each has one request under way.
class Clients {
 public:
  /// Given a client's whole reply, its next request; empty: this client has nothing more to do.
  using Next = std::function<std::string(int client, std::string_view reply)>;

  Clients(const std::string& path, int count, Protocol& protocol)
      : protocol_(protocol), in_(static_cast<size_t>(count)) {
    for (int client = 0; client < count; ++client) {
      int fd = connect_to(path);
      epoll_event event{.events = EPOLLIN, .data = {.u32 = static_cast<uint32_t>(client)}};
      ::epoll_ctl(epoll_, EPOLL_CTL_ADD, fd, &event);
      fds_.push_back(fd);
    }
    run([&](int client) { return protocol_.greeting(client); }, [](int, std::string_view) { return ""; });
  }
  ~Clients() {
    for (int fd : fds_) ::close(fd);
    ::close(epoll_);
  }
  Clients(const Clients&) = delete;
  Clients& operator=(const Clients&) = delete;

  /// `first(client)` is each client's first request.
  void run(const std::function<std::string(int client)>& first, const Next& next) {
    int busy = 0;
    for (int client = 0; client < static_cast<int>(fds_.size()); ++client)
      if (auto request = first(client); !request.empty()) ++busy, send(client, request);
    while (busy > 0) {
      epoll_event events[64];
      int ready = ::epoll_wait(epoll_, events, 64, 30'000);
      if (ready <= 0) give_up("no reply within 30 seconds");
      for (int i = 0; i < ready; ++i) {
        auto client = static_cast<int>(events[i].data.u32);
        std::string_view reply = receive(client);
        if (reply.empty()) continue;
        auto request = next(client, reply);
        in_[static_cast<size_t>(client)].erase(0, reply.size());
        if (request.empty())
          --busy;
        else
          send(client, request);
      }
    }
  }

 private:
  void send(int client, const std::string& request) {
    auto sent = ::write(fds_[static_cast<size_t>(client)], request.data(), request.size());
    if (sent != static_cast<ssize_t>(request.size())) give_up("cannot send", std::strerror(errno));
  }
  std::string_view receive(int client) {
    auto& in = in_[static_cast<size_t>(client)];
    char bytes[16384];
    auto got = ::read(fds_[static_cast<size_t>(client)], bytes, sizeof bytes);
    if (got <= 0) give_up("the connection ended", in);
    in.append(bytes, static_cast<size_t>(got));
    in.erase(0, protocol_.to_skip(in));
    return std::string_view(in).substr(0, protocol_.reply_length(in));
  }

  Protocol& protocol_;
  int epoll_ = ::epoll_create1(EPOLL_CLOEXEC);
  std::vector<int> fds_;
  std::vector<std::string> in_;
};

void put_all(Clients& clients, Protocol& protocol, int64_t items) {
  int64_t asked = 0;
  auto put = [&](int client) { return asked < items ? protocol.put(client, ++asked) : std::string(); };
  clients.run(put, [&](int client, std::string_view reply) {
    protocol.check_put(reply);
    return put(client);
  });
}

struct Measured {
  double seconds = 0;
  std::vector<float> micros;     ///< of each claim and its completion together
  std::vector<std::string> ids;  ///< as they were claimed
};

Measured claim_and_complete_all(Clients& clients, int count, Protocol& protocol, int64_t items, int batch) {
  struct State {
    Steady::time_point begun;
    bool has_claimed = false;
  };
  std::vector<State> states(static_cast<size_t>(count));
  Measured measured;
  measured.ids.reserve(static_cast<size_t>(items));
  measured.micros.reserve(static_cast<size_t>(items));
  int64_t asked = 0;
  auto claim = [&](int client) {
    if (asked >= items) return std::string();
    asked += batch;
    states[static_cast<size_t>(client)] = {Steady::now(), false};
    return protocol.claim(client);
  };
  auto begun = Steady::now();
  clients.run(claim, [&](int client, std::string_view reply) {
    auto& state = states[static_cast<size_t>(client)];
    if (state.has_claimed) {
      protocol.check_completed(reply);
      measured.micros.push_back(
          std::chrono::duration<float, std::micro>(Steady::now() - state.begun).count());
      return claim(client);
    }
    auto claimed = protocol.claimed(reply);
    state.has_claimed = true;
    auto request = protocol.complete(client, claimed);
    for (auto& item : claimed) measured.ids.push_back(std::move(item.id));
    return request;
  });
  measured.seconds = std::chrono::duration<double>(Steady::now() - begun).count();
  return measured;
}

/// Every item claimed exactly once, and done as the queue itself tells.
void check_all(Clients& clients, Protocol& protocol, const std::vector<std::string>& ids) {
  std::unordered_set<std::string_view> different(ids.begin(), ids.end());
  if (different.size() != ids.size()) give_up("an item was claimed twice");
  size_t asked = 0;
  auto look_up = [&](int client) {
    return asked < ids.size() ? protocol.look_up(client, ids[asked++]) : std::string();
  };
  clients.run(look_up, [&](int client, std::string_view reply) {
    protocol.check_done(reply);
    return look_up(client);
  });
}

std::unique_ptr<Protocol> protocol_named(std::string_view name, int batch) {
  if (name == "http") return std::make_unique<CruHttp>(batch);
  if (name == "mcp") return std::make_unique<CruMcp>(batch);
  if (name == "beanstalkd") return std::make_unique<Beanstalkd>();
  if (name == "redis") return std::make_unique<Redis>();
  if (name == "postgresql") return std::make_unique<PostgreSql>();
  give_up("unknown protocol", name);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 5 && argc != 6) {
    std::fputs("usage: claim_complete http|mcp|beanstalkd|redis|postgresql SOCKET CLIENTS ITEMS [BATCH]\n",
               stderr);
    return 2;
  }
  int batch = argc == 6 ? std::atoi(argv[5]) : 1;
  auto protocol = protocol_named(argv[1], batch);
  std::string socket = argv[2];
  int count = std::atoi(argv[3]);
  int64_t items = std::atoll(argv[4]);
  Measured measured;
  {
    // 64 put and look up, however many are measured.
    constexpr int helpers = 64;
    Clients putting(socket, helpers, *protocol);
    put_all(putting, *protocol, items);
  }
  {
    Clients clients(socket, count, *protocol);
    measured = claim_and_complete_all(clients, count, *protocol, items, batch);
  }
  Clients checking(socket, 64, *protocol);
  check_all(checking, *protocol, measured.ids);
  if (static_cast<int64_t>(measured.ids.size()) != items) give_up("not every item was claimed");
  std::ranges::sort(measured.micros);
  auto at = [&](double share) {
    return measured.micros[static_cast<size_t>(share * static_cast<double>(measured.micros.size() - 1))];
  };
  std::printf(R"({"per_second":%.1f,"p50_us":%.1f,"p99_us":%.1f,"items":%zu})"
              "\n",
              static_cast<double>(measured.ids.size()) / measured.seconds, at(0.5), at(0.99),
              measured.ids.size());
  return 0;
}
