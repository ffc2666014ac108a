#include "edges/mcp/local_server.h"

namespace cru::mcp {

void InlineLoop::run_ready() {
  while (!queue_.empty()) {
    auto work = std::move(queue_.front());
    queue_.pop_front();
    work();
  }
}

LocalServer::LocalServer(std::string why, bool is_run, std::function<void(std::string)> send)
    : why_(std::move(why)), is_run_(is_run), send_(std::move(send)), server_(loop_, *this, nullptr) {
  server_.set_notifications(this);
}

Task<Result<api::Reply>> LocalServer::call(const api::Operation& operation, Boxed<api::Call>,
                                           json::object input) {
  // A mistake of the caller's is one whether or not anybody could carry it out.
  auto checked = api::check_input(operation, std::move(input));
  if (!checked) co_return fail(std::move(checked.error()));
  co_return fail(unreachable());
}

Task<Result<>> LocalServer::may_call(const api::Operation&, const api::Call&) {
  if (is_run_) co_return fail(unreachable());
  co_return Result<>();
}

Error LocalServer::unreachable() const {
  return {Code::database_unavailable, why_, {}, "continue without it; the next call retries"};
}

void LocalServer::respond(std::string message) {
  if (!silent_) send_(std::move(message));
}

void LocalServer::receive(std::string_view line) {
  server_.receive(line, {}, *this);
  loop_.run_ready();
}

void LocalServer::remember(std::string_view line) {
  silent_ = true;
  receive(line);
  silent_ = false;
}

}  // namespace cru::mcp
