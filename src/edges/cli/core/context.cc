#include "edges/cli/core/context.h"

#include <fmt/format.h>

#include <iostream>

#include "base/text.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {

int exit_code(Code code) {
  switch (code) {
    case Code::invalid_argument:
      return exit_usage;
    case Code::not_found:
      return 3;
    case Code::unauthorized:
    case Code::forbidden:
    case Code::not_a_person:
      return 4;
    case Code::daemon_unreachable:
      return 5;
    case Code::timed_out:
      return exit_timed_out;
    case Code::untrusted_content:
      return exit_untrusted;
    default:
      return 1;
  }
}

Client& Context::client() {
  if (!client_) client_ = std::make_unique<Client>(another_client());
  return *client_;
}

Client Context::another_client() const {
  Client::Options options;
  options.check_version = !client_;
  options.note = [this](const std::string& text) { note(text); };
  return {project, std::move(options)};
}

Client Context::quiet_client() const {
  Client::Options options;
  options.may_start = false;
  options.check_version = false;
  return {project, std::move(options)};
}

void Context::print(std::string_view text) const { write_out(standard_output, text); }

void Context::print_json(std::string_view text) const {
  std::string line = out.tty ? json_safe_for_terminal(text) : std::string(text);
  while (line.ends_with('\n')) line.pop_back();
  print(line + "\n");
}

void Context::note(std::string_view text) const {
  if (!json) write_out(standard_error, fmt::format("cru: {}\n", safe_for_terminal(text)));
}

bool Context::can_ask() const { return is_terminal(standard_input) && out.tty; }

bool Context::ask_yes(std::string_view question) const {
  print(fmt::format("{} [y/N] ", question));
  std::string answer;
  std::getline(std::cin, answer);
  auto word = to_lower(trim(answer));
  return word == "y" || word == "yes";
}

int Context::show(const Error& error) const {
  if (json) {
    print_json(to_text(to_json(error)));
    return exit_code(error.code);
  }
  auto text = fmt::format("{} {}\n", err.paint("cru:", Colour::red),
                          safe_for_terminal(error.message, Newlines::keep));
  std::string_view hints = error.hint;
  while (!hints.empty()) {
    auto line = hints.substr(0, hints.find('\n'));
    text += fmt::format("  {}\n", safe_for_terminal(line));
    hints.remove_prefix(std::min(hints.size(), line.size() + 1));
  }
  write_out(standard_error, text);
  return exit_code(error.code);
}

}  // namespace cru::cli
