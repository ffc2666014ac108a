#include "platform/net/http_client.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "base/text.h"
#include "platform/files/files.h"
#include "platform/loop/clock.h"
#include "platform/net/unix_socket.h"

namespace cru {
namespace {

constexpr size_t max_body_bytes = 64u << 20;
constexpr size_t max_line_bytes = 64u << 10;
constexpr size_t max_headers = 128;

template <class T>
bool parse_number(std::string_view text, T& value, int base = 10) {
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return !text.empty() && error == std::errc() && end == text.data() + text.size();
}

/// Feeds text/event-stream line by line, in whatever pieces it arrives.
class EventReader {
 public:
  explicit EventReader(const std::function<bool(const ServerEvent&)>& on_event) : on_event_(on_event) {}
  bool take(std::string_view bytes) {
    rest_ += bytes;
    size_t start = 0;
    bool go_on = true;
    for (size_t end; go_on && (end = rest_.find('\n', start)) != std::string::npos; start = end + 1) {
      std::string_view line(rest_.data() + start, end - start);
      if (line.ends_with('\r')) line.remove_suffix(1);
      go_on = take_line(line);
    }
    rest_.erase(0, start);
    return go_on && rest_.size() + event_.data.size() <= max_body_bytes;
  }

 private:
  bool take_line(std::string_view line) {
    if (line.empty()) {
      bool is_event = seen_;
      seen_ = false;
      if (event_.data.ends_with('\n')) event_.data.pop_back();
      auto event = std::exchange(event_, {});
      return !is_event || on_event_(event);
    }
    auto colon = line.find(':');
    auto field = line.substr(0, colon);
    auto value = colon == std::string_view::npos ? std::string_view() : line.substr(colon + 1);
    if (value.starts_with(' ')) value.remove_prefix(1);
    if (field == "event") event_.type = value;
    if (field == "id") event_.id = value;
    if (field == "data") {
      event_.data.append(value).append("\n");
      seen_ = true;
    }
    return true;
  }
  const std::function<bool(const ServerEvent&)>& on_event_;
  std::string rest_;
  ServerEvent event_;
  bool seen_ = false;
};

}  // namespace

std::string_view HttpReply::header(std::string_view name) const {
  for (const auto& [key, value] : headers)
    if (equal_ignoring_case(key, name)) return value;
  return {};
}

std::string percent_encode(std::string_view text) {
  std::string out;
  for (char c : text) {
    bool plain = is_letter_or_digit(c) || std::string_view("-._~").find(c) != std::string_view::npos;
    if (plain)
      out += c;
    else
      fmt::format_to(std::back_inserter(out), "%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

Result<HttpClient> HttpClient::connect(const std::string& path) {
  auto socket = connect_unix(path);
  if (!socket) return fail(socket.error());
  return HttpClient(std::move(*socket));
}

Result<HttpClient> HttpClient::connect_loopback(std::string_view url) {
  constexpr std::string_view beginning = "http://";
  constexpr std::string_view address_text = "127.0.0.1:";
  while (url.ends_with('/')) url.remove_suffix(1);
  uint16_t port = 0;
  if (!url.starts_with(beginning) || !url.substr(beginning.size()).starts_with(address_text) ||
      !parse_number(url.substr(beginning.size() + address_text.size()), port))
    return fail(Code::invalid_argument, fmt::format("{} is not an address of a daemon", url));
  Fd socket(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
  if (!socket) return fail(system_error(errno, "create a socket"));
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  address.sin_port = htons(port);
  while (::connect(socket.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    if (errno == EINTR) continue;
    if (errno == ECONNREFUSED)
      return fail(Code::daemon_unreachable, fmt::format("no process is listening on {}", url));
    return fail(system_error(errno, fmt::format("connect to {}", url)));
  }
  if (::fcntl(socket.get(), F_SETFL, O_NONBLOCK) != 0) return fail(system_error(errno, "use a socket"));
  return HttpClient(std::move(socket), std::string(url.substr(beginning.size())));
}

pid_t HttpClient::peer_pid() const {
  ucred peer{};
  socklen_t size = sizeof peer;
  return ::getsockopt(socket_.get(), SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 ? peer.pid : 0;
}

std::unexpected<Error> HttpClient::broken(Code code, std::string message) {
  socket_.reset();
  buffer_.clear();
  return fail(code, std::move(message));
}

Result<> HttpClient::wait(short events) {
  std::vector<pollfd> polled{{socket_.get(), events, 0}};
  for (int descriptor : interrupts_) polled.push_back({descriptor, POLLIN, 0});
  for (;;) {
    auto left = deadline_ - system_clock().boot();
    if (left <= Duration(0)) return broken(Code::timed_out, "the daemon did not respond in time");
    int ready =
        ::poll(polled.data(), polled.size(), static_cast<int>(std::min<int64_t>(left.count(), 60000)));
    if (ready < 0 && errno != EINTR) return broken(Code::internal, "poll failed");
    if (ready <= 0) continue;
    // What has arrived is taken before an interrupt is heeded, so that nothing seen is asked for twice.
    if (polled[0].revents != 0) return {};
    interrupted_ = true;
    return broken(Code::daemon_unreachable, "interrupted");
  }
}

Result<> HttpClient::send(const HttpRequest& request) {
  if (!socket_) return broken(Code::daemon_unreachable, "the connection is closed");
  interrupted_ = false;
  auto text = fmt::format("{} {} HTTP/1.1\r\nHost: {}\r\n", request.method, request.target, host_);
  for (const auto& [name, value] : request.headers) text += fmt::format("{}: {}\r\n", name, value);
  if (!request.body.empty() || request.method != "GET")
    text += fmt::format("Content-Length: {}\r\n", request.body.size());
  text += "\r\n" + request.body;
  std::string_view rest = text;
  while (!rest.empty()) {
    ssize_t count = ::send(socket_.get(), rest.data(), rest.size(), MSG_NOSIGNAL);
    if (count > 0) {
      rest.remove_prefix(static_cast<size_t>(count));
    } else if (errno == EAGAIN) {
      if (auto ready = wait(POLLOUT | POLLIN); !ready) return ready;
    } else if (errno != EINTR) {
      // An early refusal (413) may already be waiting to be read.
      break;
    }
  }
  return {};
}

Result<> HttpClient::fill() {
  for (;;) {
    char bytes[65536];
    ssize_t count = ::recv(socket_.get(), bytes, sizeof bytes, 0);
    if (count > 0) {
      buffer_.append(bytes, static_cast<size_t>(count));
      if (silence_.count() > 0) deadline_ = system_clock().boot() + silence_;
      return {};
    }
    if (count == 0) return broken(Code::daemon_unreachable, "the daemon closed the connection");
    if (errno == EAGAIN) {
      if (auto ready = wait(POLLIN); !ready) return ready;
    } else if (errno != EINTR) {
      return broken(Code::daemon_unreachable, std::strerror(errno));
    }
  }
}

Result<std::string> HttpClient::read_line() {
  for (;;) {
    if (auto end = buffer_.find('\n'); end != std::string::npos) {
      if (end == 0 || buffer_[end - 1] != '\r') return broken(Code::daemon_unreachable, "malformed reply");
      auto line = buffer_.substr(0, end - 1);
      buffer_.erase(0, end + 1);
      return line;
    }
    if (buffer_.size() > max_line_bytes)
      return broken(Code::daemon_unreachable, "malformed reply: line too long");
    if (auto more = fill(); !more) return fail(more.error());
  }
}

Result<HttpClient::Head> HttpClient::read_head() {
  auto line = read_line();
  if (!line) return fail(line.error());
  Head head;
  if (!line->starts_with("HTTP/1.1 ") || line->size() < 12 ||
      !parse_number(std::string_view(*line).substr(9, 3), head.reply.status))
    return broken(Code::daemon_unreachable, "the peer does not use HTTP/1.1");
  bool has_length = false;
  for (;;) {
    line = read_line();
    if (!line) return fail(line.error());
    if (line->empty()) break;
    auto colon = line->find(':');
    if (colon == std::string::npos || colon == 0 || head.reply.headers.size() >= max_headers)
      return broken(Code::daemon_unreachable, "malformed reply header");
    auto name = line->substr(0, colon);
    auto value = std::string(trim(std::string_view(*line).substr(colon + 1)));
    if (equal_ignoring_case(name, "content-length")) {
      if (has_length || !parse_number(value, head.length) || head.length > max_body_bytes)
        return broken(Code::daemon_unreachable, "malformed or too long reply");
      has_length = true;
    }
    if (equal_ignoring_case(name, "transfer-encoding")) {
      if (!equal_ignoring_case(value, "chunked"))
        return broken(Code::daemon_unreachable, "unknown transfer encoding");
      head.chunked = true;
    }
    if (equal_ignoring_case(name, "connection") && equal_ignoring_case(value, "close")) head.close = true;
    head.reply.headers.emplace_back(std::move(name), std::move(value));
  }
  if (head.chunked && has_length) return broken(Code::daemon_unreachable, "malformed reply: two lengths");
  bool bodiless = head.reply.status == 204 || head.reply.status == 304;
  head.until_close = !head.chunked && !has_length && !bodiless;
  return head;
}

Result<> HttpClient::read_body(Head& head, const std::function<bool(std::string_view)>& take) {
  auto stopped = [&] { return broken(Code::too_large, "stopped"); };
  // Passes on `length` bytes as they come; all that come, for a reply that ends with the connection.
  auto pass = [&](size_t length) -> Result<> {
    while (length > 0) {
      if (buffer_.empty())
        if (auto more = fill(); !more) return more;
      size_t count = std::min(length, buffer_.size());
      bool go_on = take(std::string_view(buffer_).substr(0, count));
      buffer_.erase(0, count);
      length -= count;
      if (!go_on) return stopped();
    }
    return {};
  };
  if (head.until_close) {
    auto ended = pass(std::numeric_limits<size_t>::max());
    bool at_end = !ended && ended.error().code == Code::daemon_unreachable && !interrupted_;
    return at_end ? Result<>() : ended;
  }
  if (!head.chunked) return pass(head.length);
  for (;;) {
    auto line = read_line();
    if (!line) return fail(line.error());
    size_t size = 0;
    auto digits = std::string_view(*line).substr(0, line->find(';'));
    if (!parse_number(trim(digits), size, 16) || size > max_body_bytes)
      return broken(Code::daemon_unreachable, "malformed chunk");
    if (size > 0)
      if (auto passed = pass(size); !passed) return passed;
    line = read_line();
    if (!line) return fail(line.error());
    while (size == 0 && !line->empty()) {  // trailers
      line = read_line();
      if (!line) return fail(line.error());
    }
    if (!line->empty()) return broken(Code::daemon_unreachable, "malformed chunk");
    if (size == 0) return {};
  }
}

Result<HttpReply> HttpClient::request(const HttpRequest& request, Duration limit) {
  deadline_ = system_clock().boot() + limit;
  silence_ = Duration(0);
  if (auto sent = send(request); !sent) return fail(sent.error());
  auto head = read_head();
  if (!head) return fail(head.error());
  bool fits = true;
  auto read = read_body(*head, [&](std::string_view bytes) {
    fits = head->reply.body.size() + bytes.size() <= max_body_bytes;
    if (fits) head->reply.body += bytes;
    return fits;
  });
  if (!fits) return fail(Code::too_large, "the daemon's reply is larger than 64 MiB");
  if (!read) return fail(read.error());
  if (head->close || head->until_close) socket_.reset();
  return std::move(head->reply);
}

Result<HttpReply> HttpClient::stream(const HttpRequest& request, Duration silence,
                                     const std::function<bool(const ServerEvent&)>& on_event) {
  deadline_ = system_clock().boot() + silence;
  silence_ = silence;
  if (auto sent = send(request); !sent) return fail(sent.error());
  auto head = read_head();
  if (!head) return fail(head.error());
  bool is_stream =
      head->reply.status == 200 && head->reply.header("content-type").starts_with("text/event-stream");
  EventReader events(on_event);
  bool stopped = false, fits = true;
  auto read = read_body(*head, [&](std::string_view bytes) {
    if (is_stream) {
      stopped = !events.take(bytes);
      return !stopped;
    }
    fits = head->reply.body.size() + bytes.size() <= max_body_bytes;
    if (fits) head->reply.body += bytes;
    return fits;
  });
  if (!fits) return fail(Code::too_large, "the daemon's reply is larger than 64 MiB");
  if (!read && !stopped) return fail(read.error());
  if (is_stream || head->close || head->until_close) socket_.reset();
  return std::move(head->reply);
}

}  // namespace cru
