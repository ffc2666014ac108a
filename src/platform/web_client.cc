#include "platform/web_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <cstring>
#include <map>
#include <set>
#include <system_error>

#include "base/json.h"
#include "platform/curl_library.h"

namespace cru {
namespace {

constexpr size_t most_error_body = 64u << 10;
constexpr size_t most_headers = 200;
constexpr long most_kept_connections = 8;

Error web_error(Code code, std::string_view type, std::string message, std::string hint = {}) {
  return {code, std::move(message), {}, std::move(hint), to_text(json::object{{"type", type}})};
}

/// One request under way. Its coroutine owns it; while it is alive libcurl may call into it.
struct Transfer {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  WebRequest request;
  WebAddress address;
  HttpReply reply;
  std::string body;     ///< came, and was not taken yet
  size_t received = 0;  ///< bytes of the body
  std::optional<CURLcode> result;
  std::optional<Error> error;  ///< ours, before libcurl's
  bool has_answered = false;
  bool has_news = false;  ///< since it was last resumed
  BootTime heard_at{};
  char words[CURL_ERROR_SIZE] = {};

  bool is_streamed() const { return reply.status >= 200 && reply.status < 300; }
};

size_t take_body(char* bytes, size_t size, size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  size_t length = size * count;
  transfer.has_news = true;
  transfer.received += length;
  if (transfer.received > transfer.request.most_bytes) {
    transfer.error = web_error(Code::too_large, "too_large",
                               fmt::format("{} answered with more than {} MiB", transfer.address.host,
                                           transfer.request.most_bytes >> 20));
    return 0;
  }
  if (transfer.is_streamed() || transfer.body.size() < most_error_body) transfer.body.append(bytes, length);
  return length;
}

size_t take_header(char* bytes, size_t size, size_t count, void* context) {
  auto& transfer = *static_cast<Transfer*>(context);
  std::string_view line(bytes, size * count);
  transfer.has_answered = transfer.has_news = true;
  while (line.ends_with('\n') || line.ends_with('\r')) line.remove_suffix(1);
  if (line.starts_with("HTTP/")) {  // a new head: what came before was a 100
    auto space = line.find(' ');
    transfer.reply = {};
    if (space != std::string_view::npos)
      transfer.reply.status = std::atoi(std::string(line.substr(space)).c_str());
  } else if (auto colon = line.find(':'); colon != std::string_view::npos) {
    auto value = line.substr(colon + 1);
    while (value.starts_with(' ')) value.remove_prefix(1);
    if (transfer.reply.headers.size() < most_headers)
      transfer.reply.headers.emplace_back(line.substr(0, colon), value);
  }
  return size * count;
}

curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

/// What went wrong, in our own words: libcurl's may name the URL, or a proxy with its password.
Error explain(const Transfer& transfer, const CurlLibrary& curl) {
  if (transfer.error) return *transfer.error;
  auto where = fmt::format("{}:{}", transfer.address.host, transfer.address.port);
  long system_error = 0;
  curl.curl_easy_getinfo(transfer.easy, CURLINFO_OS_ERRNO, &system_error);
  auto reason =
      system_error ? std::generic_category().message(static_cast<int>(system_error)) : std::string();
  bool by_proxy = !transfer.request.proxy.empty();
  auto lost = [&](std::string why) { return web_error(Code::overloaded, "connection", std::move(why)); };
  switch (*transfer.result) {
    case CURLE_COULDNT_RESOLVE_HOST:
      return lost(fmt::format("{} has no address: is the name right, and is there a network?",
                              transfer.address.host));
    case CURLE_COULDNT_RESOLVE_PROXY:
    case CURLE_PROXY:
      return web_error(Code::overloaded, "proxy", "the proxy cannot be reached, or refuses",
                       "check `proxy`, HTTPS_PROXY and NO_PROXY");
    case CURLE_COULDNT_CONNECT:
      return lost(fmt::format("cannot connect to {}{}: {}", where, by_proxy ? " by its proxy" : "",
                              reason.empty() ? "no connection" : reason));
    case CURLE_OPERATION_TIMEDOUT:
      return web_error(Code::timed_out, "timed_out",
                       fmt::format("no connection to {} within {}", where,
                                   format_duration(transfer.request.connect_limit)));
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_ISSUER_ERROR:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_CIPHER:
      return web_error(Code::cannot_execute, "tls",
                       fmt::format("no safe connection to {}: {}", where,
                                   transfer.words[0] ? transfer.words : "TLS failed"),
                       "if its certificate is of your own authority, name it with `ca_file`");
    case CURLE_RECV_ERROR:
      // A proxy's refusal of CONNECT comes as this.
      if (by_proxy && !transfer.has_answered)
        return web_error(Code::overloaded, "proxy", fmt::format("the proxy does not connect to {}", where),
                         "check `proxy`, HTTPS_PROXY and NO_PROXY");
      return lost(fmt::format("the connection to {} was lost", where));
    case CURLE_GOT_NOTHING:
    case CURLE_SEND_ERROR:
    case CURLE_PARTIAL_FILE:
    case CURLE_HTTP2_STREAM:
    case CURLE_HTTP2:
      return lost(fmt::format("the connection to {} was lost", where));
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL:
      return lost(fmt::format("{} does not speak HTTP", where));
    default:
      return lost(
          fmt::format("the request to {} failed: {}", where, curl.curl_easy_strerror(*transfer.result)));
  }
}

}  // namespace

std::string web_failure(const Error& error) {
  auto details = parse_json(error.details);
  return details && details->is_object() ? std::string(text_or(details->get_object(), "type"))
                                         : std::string();
}

/// libcurl's multi handle, driven by the loop: its sockets are watched, its timer is ours. Nothing but
/// `drive` calls into it, and no coroutine is resumed inside of it.
struct WebClient::State : std::enable_shared_from_this<State> {
  struct Socket {
    std::unique_ptr<Watch> watch;
    bool reads = false, writes = false;           ///< wanted
    bool is_reading = false, is_writing = false;  ///< armed
  };

  explicit State(Loop& l) : loop(l) {}

  ~State() {
    if (multi) curl->curl_multi_cleanup(multi);  // which may still set the timer
    if (timer) loop.cancel_timer(timer);
  }

  Result<> open() {
    if (multi) return {};
    auto loaded = load_curl();
    if (!loaded) return fail(std::move(loaded.error()));
    curl = *loaded;
    multi = curl->curl_multi_init();
    CRU_ASSERT(multi != nullptr);
    curl->curl_multi_setopt(multi, CURLMOPT_SOCKETFUNCTION, &State::socket_changed);
    curl->curl_multi_setopt(multi, CURLMOPT_SOCKETDATA, this);
    curl->curl_multi_setopt(multi, CURLMOPT_TIMERFUNCTION, &State::timer_changed);
    curl->curl_multi_setopt(multi, CURLMOPT_TIMERDATA, this);
    curl->curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, most_kept_connections);
    return {};
  }

  static int socket_changed(CURL*, curl_socket_t fd, int what, void* context, void*) {
    auto& self = *static_cast<State*>(context);
    if (what == CURL_POLL_REMOVE) {
      self.sockets.erase(fd);
      return 0;
    }
    auto& socket = self.sockets[fd];
    if (!socket.watch) socket.watch = self.loop.watch(fd);
    socket.reads = what & CURL_POLL_IN;
    socket.writes = what & CURL_POLL_OUT;
    self.arm(fd, socket);
    return 0;
  }

  static int close_socket(void* context, curl_socket_t fd) {
    static_cast<State*>(context)->sockets.erase(fd);  // a watch goes before its descriptor
    return ::close(fd);
  }

  void arm(curl_socket_t fd, Socket& socket) {
    if (socket.reads && !socket.is_reading) {
      socket.is_reading = true;
      socket.watch->when_readable([this, fd] { ready(fd, CURL_CSELECT_IN); });
    }
    if (socket.writes && !socket.is_writing) {
      socket.is_writing = true;
      socket.watch->when_writable([this, fd] { ready(fd, CURL_CSELECT_OUT); });
    }
  }

  void ready(curl_socket_t fd, int what) {
    auto& socket = sockets.at(fd);
    (what == CURL_CSELECT_IN ? socket.is_reading : socket.is_writing) = false;
    if (!(what == CURL_CSELECT_IN ? socket.reads : socket.writes)) return;  // no longer of interest
    auto alive = shared_from_this();
    drive(fd, what);
    if (auto still = sockets.find(fd); still != sockets.end()) arm(fd, still->second);
  }

  static int timer_changed(CURLM*, long millis, void* context) {
    auto& self = *static_cast<State*>(context);
    if (self.timer) self.loop.cancel_timer(std::exchange(self.timer, 0));
    if (millis >= 0)
      self.timer = self.loop.set_timer(Duration(millis), [&self] {
        self.timer = 0;
        self.drive(CURL_SOCKET_TIMEOUT, 0);
      });
    return 0;
  }

  void drive(curl_socket_t fd, int what) {
    auto alive = shared_from_this();
    int running = 0;
    curl->curl_multi_socket_action(multi, fd, what, &running);
    int left = 0;
    while (auto* message = curl->curl_multi_info_read(multi, &left))
      if (message->msg == CURLMSG_DONE) {
        auto done = transfers.find(message->easy_handle);
        if (done != transfers.end()) done->second.transfer->result = message->data.result;
      }
    wake();
  }

  /// Resumes those that have something to do, one by one: each may end others.
  void wake() {
    std::vector<CURL*> ready;
    for (const auto& [easy, waiting] : transfers) {
      const auto& transfer = *waiting.transfer;
      if (transfer.result || transfer.error || transfer.has_news) ready.push_back(easy);
    }
    for (auto* easy : ready)
      if (auto found = transfers.find(easy); found != transfers.end())
        if (auto resume = std::exchange(found->second.resume, {})) resume.resume();
  }

  struct Waiting {
    Transfer* transfer;
    std::coroutine_handle<> resume = {};
  };

  Loop& loop;
  const CurlLibrary* curl = nullptr;
  CURLM* multi = nullptr;
  Loop::TimerId timer = 0;
  std::map<curl_socket_t, Socket> sockets;
  std::map<CURL*, Waiting> transfers;
};

namespace {

template <class Client>
void configure(Transfer& transfer, Client& state) {
  const auto& request = transfer.request;
  auto set = [&](CURLoption option, auto value) {
    state.curl->curl_easy_setopt(transfer.easy, option, value);
  };
  set(CURLOPT_URL, request.url.c_str());
  set(CURLOPT_PROTOCOLS_STR, "http,https");
  set(CURLOPT_FOLLOWLOCATION, 0L);
  set(CURLOPT_NOSIGNAL, 1L);
  set(CURLOPT_SSL_VERIFYPEER, 1L);
  set(CURLOPT_SSL_VERIFYHOST, 2L);
  set(CURLOPT_SSLVERSION, static_cast<long>(CURL_SSLVERSION_TLSv1_2));
  set(CURLOPT_NETRC, static_cast<long>(CURL_NETRC_IGNORED));
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_limit.count()));
  set(CURLOPT_ERRORBUFFER, transfer.words);
  set(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  // Set in any case: libcurl would read the environment otherwise.
  set(CURLOPT_PROXY, request.proxy.c_str());
  set(CURLOPT_NOPROXY, request.no_proxy.c_str());
  if (!request.ca_file.empty()) {
    set(CURLOPT_CAINFO, request.ca_file.c_str());
    set(CURLOPT_PROXY_CAINFO, request.ca_file.c_str());
  }
  set(CURLOPT_OPENSOCKETFUNCTION, &open_socket);
  set(CURLOPT_CLOSESOCKETFUNCTION, &Client::close_socket);
  set(CURLOPT_CLOSESOCKETDATA, &state);
  set(CURLOPT_WRITEFUNCTION, &take_body);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, &take_header);
  set(CURLOPT_HEADERDATA, &transfer);
  auto add = [&](const std::string& line) {
    transfer.headers = state.curl->curl_slist_append(transfer.headers, line.c_str());
  };
  for (const auto& [name, value] : request.headers) add(name + ": " + value);
  add("Expect:");  // do not wait for a 100
  set(CURLOPT_HTTPHEADER, transfer.headers);
  if (request.method != "GET") {
    set(CURLOPT_POST, 1L);
    set(CURLOPT_CUSTOMREQUEST, request.method.c_str());
    set(CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body.size()));
    set(CURLOPT_POSTFIELDS, request.body.data());
  }
}

/// Headers cannot hold line ends: nothing that we were given may add a header of its own.
bool is_one_line(const HttpHeaders& headers) {
  return std::ranges::all_of(headers, [](const auto& header) {
    return (header.first + header.second).find_first_of(std::string_view("\r\n\0", 3)) == std::string::npos;
  });
}

Result<WebAddress> check(const WebRequest& request) {
  auto address = parse_web_address(request.url);
  if (!address) return address;
  if (address->scheme == "http" && !address->is_loopback && !request.allows_plain_http)
    return fail(web_error(Code::invalid_argument, "invalid_url",
                          fmt::format("{} would be asked without encryption", address->host),
                          "use https, or allow_plain_http if you know the network"));
  if (!is_one_line(request.headers))
    return fail(web_error(Code::invalid_argument, "invalid_url", "a header holds a line end"));
  return address;
}

}  // namespace

WebClient::WebClient(Loop& loop) : state_(std::make_shared<State>(loop)) {}
WebClient::~WebClient() = default;

namespace {

/// Registers a transfer with the client for as long as it lives.
template <class Client>
class Registered {
 public:
  Registered(std::shared_ptr<Client> client, Transfer& transfer)
      : client_(std::move(client)), transfer_(transfer) {
    client_->transfers[transfer.easy] = {&transfer};
    client_->curl->curl_multi_add_handle(client_->multi, transfer.easy);
  }
  ~Registered() {
    client_->transfers.erase(transfer_.easy);
    client_->curl->curl_multi_remove_handle(client_->multi, transfer_.easy);
    client_->curl->curl_easy_cleanup(transfer_.easy);
    client_->curl->curl_slist_free_all(transfer_.headers);
  }
  Registered(const Registered&) = delete;

  /// Suspends until there are news, or the time is over.
  struct News {
    Registered& self;
    Duration limit;
    Loop::TimerId timer = 0;
    News(Registered& r, Duration d) : self(r), limit(d) {}
    News(const News&) = delete;
    ~News() {
      if (timer) self.client_->loop.cancel_timer(timer);
    }
    bool await_ready() const noexcept { return self.transfer_.error.has_value(); }
    void await_suspend(std::coroutine_handle<> handle) {
      self.waiting().resume = handle;
      timer = self.client_->loop.set_timer(limit, [this] {
        timer = 0;
        self.resume();
      });
    }
    void await_resume() const noexcept {}
  };
  News news(Duration limit) { return {*this, limit}; }
  void resume() {
    if (auto handle = std::exchange(waiting().resume, {})) handle.resume();
  }

 private:
  auto& waiting() { return client_->transfers.at(transfer_.easy); }
  std::shared_ptr<Client> client_;
  Transfer& transfer_;
};

Error too_slow(const Transfer& transfer) {
  const auto& request = transfer.request;
  return web_error(Code::timed_out, "timed_out",
                   transfer.has_answered ? fmt::format("{} fell silent for {}", transfer.address.host,
                                                       format_duration(request.silence_limit))
                                         : fmt::format("{} did not answer within {}", transfer.address.host,
                                                       format_duration(request.first_byte_limit)));
}

}  // namespace

Task<Result<HttpReply>> WebClient::fetch(WebRequest request, TakeBody take, Stop& stop) {
  auto state = state_;
  auto address = check(request);
  if (!address) co_return fail(std::move(address.error()));
  if (auto opened = state->open(); !opened) co_return fail(std::move(opened.error()));
  Transfer transfer;
  transfer.request = std::move(request);
  transfer.address = *std::move(address);
  transfer.easy = state->curl->curl_easy_init();
  CRU_ASSERT(transfer.easy != nullptr);
  configure(transfer, *state);
  Registered<State> registered(state, transfer);
  Stop::Listener hears(stop, [&] {
    transfer.error = web_error(Code::conflict, "cancelled", "the request was cancelled");
    // From the loop: whoever stops may be in the midst of something. It may also be the last to know us.
    state->loop.post([weak = std::weak_ptr(state)] {
      if (auto alive = weak.lock()) alive->wake();
    });
  });
  transfer.heard_at = state->loop.clock().boot();
  while (!transfer.result) {
    auto limit = transfer.has_answered ? transfer.request.silence_limit : transfer.request.first_byte_limit;
    auto left = transfer.heard_at + limit - state->loop.clock().boot();
    if (left <= Duration(0)) transfer.error = too_slow(transfer);
    if (!transfer.error) co_await registered.news(left);
    if (transfer.error) co_return fail(*std::move(transfer.error));
    if (std::exchange(transfer.has_news, false)) transfer.heard_at = state->loop.clock().boot();
    if (transfer.reply.status >= 300 && transfer.reply.status < 400)
      co_return fail(web_error(Code::cannot_execute, "redirected",
                               fmt::format("{} redirects elsewhere ({}), and redirects are not followed",
                                           transfer.address.host, transfer.reply.status),
                               "set base_url to the final address"));
    if (!transfer.is_streamed()) continue;
    auto bytes = std::exchange(transfer.body, {});
    if (!bytes.empty() && !take(bytes))
      co_return fail(web_error(Code::cannot_execute, "refused", "the reply was not taken"));
    if (transfer.error) co_return fail(*std::move(transfer.error));
  }
  if (transfer.error || *transfer.result != CURLE_OK) co_return fail(explain(transfer, *state->curl));
  transfer.reply.body = std::move(transfer.body);
  co_return std::move(transfer.reply);
}

}  // namespace cru
