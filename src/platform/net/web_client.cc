#include "platform/net/web_client.h"

#include <fmt/format.h>
#include <sys/socket.h>

#include <map>

#include "platform/net/web_transfer.h"

namespace cru {
namespace {

constexpr long max_kept_connections = 8;

curl_socket_t open_socket(void*, curlsocktype, curl_sockaddr* address) {
  return ::socket(address->family, address->socktype | SOCK_CLOEXEC, address->protocol);
}

}  // namespace

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
    curl->curl_multi_setopt(multi, CURLMOPT_MAXCONNECTS, max_kept_connections);
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
    WebTransfer* transfer;
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
void configure(WebTransfer& transfer, Client& state) {
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
  set(CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request.connect_timeout.count()));
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
  set(CURLOPT_WRITEFUNCTION, &take_web_body);
  set(CURLOPT_WRITEDATA, &transfer);
  set(CURLOPT_HEADERFUNCTION, &take_web_header);
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

}  // namespace

WebClient::WebClient(Loop& loop) : state_(std::make_shared<State>(loop)) {}
WebClient::~WebClient() = default;

namespace {

/// Registers a transfer with the client for as long as it lives.
template <class Client>
class Registered {
 public:
  Registered(std::shared_ptr<Client> client, WebTransfer& transfer)
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
  WebTransfer& transfer_;
};

}  // namespace

Task<Result<HttpReply>> WebClient::fetch(WebRequest request, TakeBody take, Stop& stop) {
  auto state = state_;
  auto address = check_web_request(request);
  if (!address) co_return fail(std::move(address.error()));
  if (auto opened = state->open(); !opened) co_return fail(std::move(opened.error()));
  WebTransfer transfer;
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
    auto limit = transfer.has_answered ? transfer.request.idle_timeout : transfer.request.first_byte_timeout;
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
      co_return fail(web_error(Code::cannot_execute, "refused", "the reply was rejected"));
    if (transfer.error) co_return fail(*std::move(transfer.error));
  }
  if (transfer.error || *transfer.result != CURLE_OK) co_return fail(explain(transfer, *state->curl));
  transfer.reply.body = std::move(transfer.body);
  co_return std::move(transfer.reply);
}

}  // namespace cru
