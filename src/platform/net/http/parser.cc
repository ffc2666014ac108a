#include "platform/net/http/parser.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#pragma clang diagnostic push
#pragma clang diagnostic ignored "-Wconversion"
#include <boost/beast/http/basic_parser.hpp>
#pragma clang diagnostic pop

namespace cru::http {
namespace {

namespace beast = boost::beast;
using beast::error_code;
using View = beast::string_view;

std::string_view view(View text) { return {text.data(), text.size()}; }

bool all_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

Refusal refuse(int status, Code code, std::string message) {
  return {status, Error{code, std::move(message)}};
}
Refusal refuse_bad(std::string message) { return refuse(400, Code::invalid_argument, std::move(message)); }

/// Beast's parser with our own sink: headers and body go straight into the Request.
class Sink final : public beast::http::basic_parser<true> {
 public:
  Sink(const ParserLimits& limits, Request& request) : limits_(limits), request_(request) {
    header_limit(static_cast<uint32_t>(limits.header));
    body_limit(limits.body);
  }
  std::optional<Refusal> refusal;
  bool expects_continue = false;

 private:
  void refuse_with(Refusal why, error_code& error) {
    refusal = std::move(why);
    error = beast::http::error::bad_value;
  }

  void on_request_impl(beast::http::verb, View method, View target, int version, error_code& error) override {
    if (target.size() > limits_.url)
      return refuse_with(
          refuse(414, Code::too_large, fmt::format("the URL is longer than {} bytes", limits_.url)), error);
    request_.method = view(method);
    request_.target = view(target);
    request_.http_1_1 = version >= 11;
  }

  void on_field_impl(beast::http::field field, View name, View value, error_code& error) override {
    if (head_done_) return;  // a trailer must not pose as a header
    using beast::http::field;
    auto text = view(value);
    if (field == field::transfer_encoding && (!equal_ignoring_case(text, "chunked") || !request_.http_1_1))
      return refuse_with(refuse(501, Code::invalid_argument, "the only supported transfer coding is chunked"),
                         error);
    if (field == field::content_length && (!all_digits(text) || has_length_))
      return refuse_with(refuse_bad("Content-Length must be given once, as a number"), error);
    if (field == field::content_length) has_length_ = true;
    if (field == field::host && std::exchange(has_host_, true))
      return refuse_with(refuse_bad("Host must be given once"), error);
    // Whoever checks one of two and another who uses the other would disagree about the caller.
    if (field == field::origin && std::exchange(has_origin_, true))
      return refuse_with(refuse_bad("Origin must be given once"), error);
    if (field == field::authorization && std::exchange(has_authorization_, true))
      return refuse_with(refuse_bad("Authorization must be given once"), error);
    if (field == field::expect) {
      if (!equal_ignoring_case(text, "100-continue"))
        return refuse_with(
            refuse(417, Code::invalid_argument, "the only supported expectation is 100-continue"), error);
      expects_continue = request_.http_1_1;
    }
    request_.headers.emplace_back(view(name), text);
  }

  void on_header_impl(error_code& error) override {
    head_done_ = true;
    if (auto split = split_target(request_); !split)
      refuse_with({http_status(split.error().code), split.error()}, error);
  }

  void on_body_init_impl(const boost::optional<uint64_t>&, error_code&) override {}
  size_t on_body_impl(View body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_chunk_header_impl(uint64_t, View, error_code&) override {}
  size_t on_chunk_body_impl(uint64_t, View body, error_code&) override {
    request_.body.append(body.data(), body.size());
    return body.size();
  }
  void on_finish_impl(error_code&) override {}
  void on_response_impl(int, View, int, error_code&) override {}

  const ParserLimits& limits_;
  Request& request_;
  bool head_done_ = false;
  bool has_length_ = false;
  bool has_host_ = false;
  bool has_origin_ = false;
  bool has_authorization_ = false;
};

Refusal explain(const error_code& error, const ParserLimits& limits) {
  using beast::http::error;
  namespace bh = beast::http;
  if (error == bh::error::body_limit)
    return refuse(413, Code::too_large, fmt::format("the body is larger than {} bytes", limits.body));
  if (error == bh::error::header_limit)
    return refuse(431, Code::too_large, fmt::format("the headers are larger than {} bytes", limits.header));
  if (error == bh::error::bad_version) return refuse_bad("only HTTP/1.0 and HTTP/1.1 are supported");
  return refuse_bad("the request is malformed: " + error.message());
}

}  // namespace

struct RequestParser::Impl {
  ParserLimits limits;
  Request request;
  std::optional<Sink> sink;
  size_t head_bytes = 0;
  char last_byte = 0;

  /// A header continued on the next line: obsolete, and read differently by different programs.
  bool is_folded(std::string_view taken) {
    for (char c : taken) {
      if (last_byte == '\n' && (c == ' ' || c == '\t')) return true;
      last_byte = c;
    }
    return false;
  }
};

RequestParser::RequestParser(ParserLimits limits) : impl_(std::make_unique<Impl>()) {
  impl_->limits = limits;
  reset();
}
RequestParser::~RequestParser() = default;

void RequestParser::reset() {
  impl_->request = Request();
  impl_->sink.emplace(impl_->limits, impl_->request);
  impl_->head_bytes = 0;
  impl_->last_byte = 0;
}

std::expected<size_t, Refusal> RequestParser::feed(std::string_view bytes) {
  auto& sink = *impl_->sink;
  CRU_ASSERT(!sink.is_done());
  bool in_head = !sink.is_header_done();
  // The shortest end of a chunked body is "0\r\n\r\n"; offered less of it twice, Beast 1.81 asserts.
  if (!in_head && sink.chunked() && bytes.size() < 5) return 0;
  sink.eager(!in_head);  // stop after the head: it may be refused before the body is read
  error_code error;
  size_t taken = sink.put({bytes.data(), bytes.size()}, error);
  if (sink.refusal) return std::unexpected(std::move(*sink.refusal));
  if (in_head) {
    if (impl_->is_folded(bytes.substr(0, taken)))
      return std::unexpected(refuse_bad("a header may not be continued on the next line"));
    impl_->head_bytes += taken;
    // Beast's limit is for one put; this one is for the whole head.
    size_t waiting = sink.is_header_done() ? 0 : bytes.size() - taken;
    bool is_sound = !error || error == beast::http::error::need_more;
    if (is_sound && impl_->head_bytes + waiting > impl_->limits.header)
      error = beast::http::error::header_limit;
  } else if (error == beast::http::error::need_more && bytes.size() - taken > impl_->limits.header) {
    error = beast::http::error::header_limit;  // a chunk's header or the trailer without an end
  }
  if (error && error != beast::http::error::need_more) return std::unexpected(explain(error, impl_->limits));
  return taken;
}

bool RequestParser::started() const { return impl_->sink->got_some(); }
bool RequestParser::head_done() const { return impl_->sink->is_header_done(); }
bool RequestParser::done() const { return impl_->sink->is_done(); }
bool RequestParser::keep_alive() const { return impl_->sink->keep_alive(); }
bool RequestParser::expects_continue() const { return impl_->sink->expects_continue; }
Request& RequestParser::request() { return impl_->request; }

}  // namespace cru::http
