// Measures an MCP server over stdio, whatever it is written in: from its start to the first tools/list, calls
// one after the other, calls in a pipeline, memory. Prints JSON.
//   mcp_driver STARTS CALLS PIPELINED [--] COMMAND [ARGUMENT …]
// The server must have the tools `check_locks` (a read) and `acquire_lock` (durable when it is answered).
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/json.h"

extern char** environ;

namespace {

namespace json = cru::json;
using Steady = std::chrono::steady_clock;

[[noreturn]] void give_up(std::string_view why, std::string_view what = "") {
  std::fprintf(stderr, "mcp_driver: %.*s: %.*s\n", static_cast<int>(why.size()), why.data(),
               static_cast<int>(what.size()), what.data());
  std::exit(1);
}

double micros_since(Steady::time_point begun) {
  return std::chrono::duration<double, std::micro>(Steady::now() - begun).count();
}

/// One server, our child, with pipes as its stdin and stdout.
class Server {
 public:
  explicit Server(char** command) {
    int to[2], from[2];
    if (::pipe2(to, O_CLOEXEC) != 0 || ::pipe2(from, O_CLOEXEC) != 0) give_up("pipe", std::strerror(errno));
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, to[0], 0);
    posix_spawn_file_actions_adddup2(&actions, from[1], 1);
    begun_ = Steady::now();
    if (::posix_spawnp(&pid_, command[0], &actions, nullptr, command, environ) != 0)
      give_up("cannot start", command[0]);
    posix_spawn_file_actions_destroy(&actions);
    ::close(to[0]);
    ::close(from[1]);
    in_ = from[0];
    out_ = to[1];
  }
  /// End of file on its stdin ends a server; one that stays is killed.
  ~Server() {
    ::close(out_);
    for (int waited = 0; waited < 5000; ++waited) {
      if (::waitpid(pid_, nullptr, WNOHANG) == pid_) {
        ::close(in_);
        return;
      }
      ::usleep(1000);
    }
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
    ::close(in_);
    std::fprintf(stderr, "mcp_driver: the server did not end by itself\n");
  }
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  pid_t pid() const { return pid_; }
  Steady::time_point begun() const { return begun_; }

  void send(const std::string& line) {
    for (size_t sent = 0; sent < line.size();) {
      auto n = ::write(out_, line.data() + sent, line.size() - sent);
      if (n <= 0) give_up("cannot send", std::strerror(errno));
      sent += static_cast<size_t>(n);
    }
  }
  /// The next answer; notifications are passed over.
  json::object receive() {
    while (true) {
      auto parsed = cru::parse_json(line());
      if (!parsed || !parsed->is_object()) give_up("not a JSON object");
      auto& message = parsed->as_object();
      if (!message.contains("id") || message.contains("method")) continue;
      if (message.contains("error")) give_up("error", cru::to_text(message));
      return std::move(message);
    }
  }

 private:
  std::string line() {
    size_t newline;
    while ((newline = received_.find('\n', looked_at_)) == std::string::npos) {
      looked_at_ = received_.size();
      pollfd ready{.fd = in_, .events = POLLIN, .revents = 0};
      if (::poll(&ready, 1, 30'000) <= 0) give_up("no answer within 30 seconds");
      char bytes[65536];
      auto n = ::read(in_, bytes, sizeof bytes);
      if (n <= 0) give_up("the server ended");
      received_.append(bytes, static_cast<size_t>(n));
    }
    auto line = received_.substr(from_, newline - from_);
    from_ = looked_at_ = newline + 1;
    if (from_ == received_.size()) received_.clear(), from_ = looked_at_ = 0;
    return line;
  }

  pid_t pid_ = 0;
  int in_ = -1, out_ = -1;
  Steady::time_point begun_;
  std::string received_;
  size_t from_ = 0, looked_at_ = 0;
};

class Session {
 public:
  explicit Session(char** command) : server_(command) {
    request("initialize", R"({"protocolVersion":"2025-06-18","capabilities":{},)"
                          R"("clientInfo":{"name":"bench","version":"1"}})");
    (void)server_.receive();
    initialized_ms_ = micros_since(server_.begun()) / 1000;
    server_.send("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}\n");
    request("tools/list", "{}");
    auto answer = server_.receive();
    first_list_ms_ = micros_since(server_.begun()) / 1000;
    tools_ = answer.at("result").at("tools").as_array().size();
  }

  double first_list_ms() const { return first_list_ms_; }
  double initialized_ms() const { return initialized_ms_; }
  size_t tools() const { return tools_; }
  pid_t pid() const { return server_.pid(); }

  void call_tool(std::string_view name, std::string_view arguments) {
    request("tools/call",
            R"({"name":")" + std::string(name) + R"(","arguments":)" + std::string(arguments) + "}");
  }
  void check_answer(std::string_view expected) {
    auto answer = server_.receive();
    const auto& result = answer.at("result").as_object();
    bool is_error = result.contains("isError") && result.at("isError") == json::value(true);
    if (is_error || cru::to_text(result).find(expected) == std::string::npos)
      give_up("unexpected result", cru::to_text(result));
  }

 private:
  void request(std::string_view method, std::string_view params) {
    line_.assign(R"({"jsonrpc":"2.0","id":)");
    line_.append(std::to_string(++last_id_)).append(R"(,"method":")").append(method);
    line_.append(R"(","params":)").append(params).append("}\n");
    server_.send(line_);
  }

  Server server_;
  std::string line_;
  int64_t last_id_ = 0;
  double first_list_ms_ = 0, initialized_ms_ = 0;
  size_t tools_ = 0;
};

struct Tool {
  std::string_view name, arguments, expected;
};
constexpr Tool read_call{"check_locks", R"({"file_paths":["src/file3.cc"]})",
                         R"("file_path":"src/file3.cc")"};
constexpr Tool durable_call{"acquire_lock", R"({"file_path":"src/file3.cc","reason":"bench"})",
                            R"("success":true)"};

/// With a pause before each call, as an agent makes, everybody on the way sleeps and has to be woken.
json::object one_after_the_other(Session& session, const Tool& tool, int calls, unsigned pause_us = 0) {
  std::vector<double> micros;
  for (int i = 0; i < calls + calls / 10; ++i) {
    if (pause_us > 0) ::usleep(pause_us);
    auto asked = Steady::now();
    session.call_tool(tool.name, tool.arguments);
    session.check_answer(tool.expected);
    if (i >= calls / 10) micros.push_back(micros_since(asked));  // the first tenth warms up
  }
  std::ranges::sort(micros);
  auto at = [&](double share) {
    return micros[static_cast<size_t>(share * static_cast<double>(micros.size() - 1))];
  };
  return {{"p50_us", at(0.5)}, {"p99_us", at(0.99)}};
}

/// Calls a second with `window` of them under way.
double in_a_pipeline(Session& session, const Tool& tool, int calls, int window) {
  auto begun = Steady::now();
  int asked = 0;
  for (int answered = 0; answered < calls; ++answered) {
    for (; asked < calls && asked - answered < window; ++asked) session.call_tool(tool.name, tool.arguments);
    session.check_answer(tool.expected);
  }
  return calls / (micros_since(begun) / 1e6);
}

/// kB of the lines of /proc/PID/smaps_rollup.
json::object memory_of(pid_t pid) {
  std::ifstream file("/proc/" + std::to_string(pid) + "/smaps_rollup");
  json::object memory;
  for (std::string line; std::getline(file, line);)
    for (const char* name : {"Rss", "Pss", "Anonymous"})
      if (line.starts_with(std::string(name) + ":"))
        memory[name] = std::atoll(line.c_str() + std::strlen(name) + 1);
  return memory;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 5) return std::fprintf(stderr, "usage: mcp_driver STARTS CALLS PIPELINED COMMAND …\n"), 2;
  ::signal(SIGPIPE, SIG_IGN);
  int starts = std::atoi(argv[1]), calls = std::atoi(argv[2]), pipelined = std::atoi(argv[3]);
  char** command = argv + 4;
  json::array first_list_ms, initialized_ms;
  for (int i = 0; i < starts; ++i) {
    Session session(command);
    first_list_ms.push_back(session.first_list_ms());
    initialized_ms.push_back(session.initialized_ms());
  }
  Session session(command);
  json::object found{{"first_list_ms", first_list_ms},
                     {"initialized_ms", initialized_ms},
                     {"tools", session.tools()},
                     {"memory_at_start", memory_of(session.pid())}};
  // Ten locks are held, as in a project at work.
  for (int i = 0; i < 10; ++i) {
    session.call_tool("acquire_lock",
                      R"({"file_path":"src/file)" + std::to_string(i) + R"(.cc","reason":"bench"})");
    session.check_answer(durable_call.expected);
  }
  found["read"] = one_after_the_other(session, read_call, calls);
  found["read_paused"] = one_after_the_other(session, read_call, calls, 2000);
  found["durable"] = one_after_the_other(session, durable_call, calls);
  found["reads_per_second"] = in_a_pipeline(session, read_call, pipelined, 64);
  found["durable_per_second"] = in_a_pipeline(session, durable_call, pipelined, 64);
  found["memory"] = memory_of(session.pid());
  std::printf("%s\n", cru::to_text(found).c_str());
  return 0;
}
