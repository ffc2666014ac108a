#include "edges/cli/terminal/output.h"

#include <fmt/format.h>

#include "base/id.h"
#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/ids.h"

namespace cru::cli {

std::string bytes_of(const json::object& line) {
  if (auto raw = text_or(line, "raw"); !raw.empty())
    if (auto bytes = from_base64(raw)) return std::move(*bytes);
  return std::string(text_or(line, "data"));
}

namespace {

Colours colours_for(const Style& style) {
  if (!style.tty) return Colours::plain;
  return style.colour ? Colours::shown : Colours::dropped;
}

}  // namespace

OutputPrinter::OutputPrinter(const Context& context, Options options)
    : context_(context),
      options_(options),
      out_colours_(colours_for(context.out)),
      err_colours_(colours_for(context.err)) {}

void OutputPrinter::print(const json::array& lines) {
  for (const auto& line : lines)
    if (line.is_object()) print_line(line.get_object());
  flush();
}

void OutputPrinter::print_line(const json::object& line) {
  bool is_told = bool_or(line, "told");
  if (is_told && text_or(line, "data").empty()) return;
  int fd = text_or(line, "stream") == "stderr" ? 2 : 1;
  const Style& style = fd == 2 ? context_.err : context_.out;
  if (fd != fd_ || pending_.size() > (64u << 10)) flush();
  fd_ = fd;
  bool ends = bool_or(line, "eol", true);
  if (options_.timestamps && !line_open_[fd]) {
    std::string_view ts = text_or(line, "ts");
    pending_ += style.paint(ts, Colour::dim) + " ";
  }
  auto text = bytes_of(line);
  if (options_.raw) {
    pending_ += text;
  } else if (is_told) {
    pending_ += style.tty ? safe_for_terminal(text, Newlines::keep) : text;
  } else {
    if (style.tty && ends && text.ends_with('\r')) text.pop_back();  // a line of CRLF
    pending_ += colours_of(fd).take(text, ends);
  }
  if (ends) pending_ += '\n';
  line_open_[fd] = !ends;
}

void OutputPrinter::flush() {
  if (!pending_.empty()) write_out(fd_, pending_);
  pending_.clear();
}

void OutputPrinter::finish() {
  flush();
  for (int fd : {1, 2}) {
    const Style& style = fd == 2 ? context_.err : context_.out;
    auto rest = colours_of(fd).finish();
    if (line_open_[fd] && style.tty) rest += "\n";
    if (!rest.empty()) write_out(fd, rest);
    line_open_[fd] = false;
  }
}

std::string page_target(const PageRequest& request) {
  auto target =
      fmt::format("{}/output?since={}&limit={}", run_path(request.id), request.since, request.limit);
  if (!request.stream.empty()) target += "&stream=" + percent_encode(request.stream);
  if (request.tail > 0) target += fmt::format("&tail={}", request.tail);
  if (request.wait.count() > 0) target += fmt::format("&wait_seconds={}", request.wait.count());
  if (!request.raw) target += "&as=text";
  if (request.with_run) target += "&with_run=true";
  return target;
}

Result<json::object> read_page(Client& client, const PageRequest& request) {
  return client.get(page_target(request), 30s + request.wait);
}

bool has_ended(std::string_view status) {
  return status == "completed" || status == "failed" || status == "killed";
}

}  // namespace cru::cli
