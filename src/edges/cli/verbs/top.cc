// `cru top`: everybody who is there, what they spend and what they do; redrawn when something happens.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/render.h"
#include "edges/cli/verbs/all_commands.h"
#include "platform/files/readiness.h"
#include "platform/loop/clock.h"
#include "platform/process/signals.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

constexpr Duration between_drawings = 250ms;
constexpr std::array<std::string_view, 7> top_columns = {
    "name", "kind", "badge", "spent", "tokens_per_minute TOKENS/MIN", "since", "doing"};

/// At most so many lines; where there are more, the last of them says how many are left out.
std::string first_lines(std::string_view text, size_t most) {
  auto lines = static_cast<size_t>(std::ranges::count(text, '\n'));
  auto shown = lines <= most ? lines : std::max<size_t>(most - 1, 1);
  size_t end = 0;
  for (size_t line = 0; line < shown; ++line) end = text.find('\n', end) + 1;
  std::string out(text.substr(0, end));
  if (shown < lines && most > 1) out += fmt::format("and {} more: see cru top --once\n", lines - shown);
  return out;
}

/// "today: 12000 tokens, $0.42, 12 replies (24 % of 50000 tokens); 800 tokens a minute".
std::string headline(const json::object& top, const Style& style) {
  const auto* today = object_at(top, "today");
  std::string text = "today: nothing was spent";
  if (today && int_or(*today, "tokens") > 0) {
    const auto* usd = today->if_contains("usd");
    text = fmt::format("today: {} tokens", int_or(*today, "tokens"));
    if (usd && usd->is_number()) text += fmt::format(", ${:.2f}", usd->to_number<double>());
    if (int_or(*today, "unpriced_tokens") > 0)
      text += fmt::format(" and {} tokens of unknown price", int_or(*today, "unpriced_tokens"));
  }
  if (today && !text_or(*today, "budget").empty())
    text += fmt::format(" ({} % of {})", int_or(*today, "percent"), text_or(*today, "budget"));
  text += fmt::format("; {} tokens a minute", int_or(top, "tokens_per_minute"));
  return style.paint(safe_for_terminal(text), Colour::bold) + "\n";
}

Result<std::string> top_page(Context& context, const Style& style) {
  auto top = context.client().get("/top");
  if (!top) return fail(top.error());
  const auto* crew = array_at(*top, "crew");
  auto out = headline(*top, style);
  if (!crew || crew->empty()) return out + "no member is active\n";
  return out + table(top_columns, *crew, style);
}

/// From the top of the screen, each line to its end, and nothing below.
void draw_top(Context& context, const std::string& page, size_t rows) {
  std::string out = "\x1b[H";
  for (char c : first_lines(page, rows > 1 ? rows - 1 : rows))
    out += c == '\n' ? std::string("\x1b[K\n") : std::string(1, c);
  context.print(out + "\x1b[J");
}

Result<int> watch_top(Context& context) {
  Signals signals({SIGINT, SIGTERM, SIGHUP, SIGWINCH});
  auto events = context.another_client();
  events.interrupt_on({signals.fd()});
  std::string last_id;
  context.print("\x1b[2J");
  for (;;) {
    auto style = context.out;
    style.now = system_clock().wall();  // not when the verb began: it may go on for days
    auto size = terminal_size(standard_output);
    if (size) style.width = static_cast<size_t>(size->cols);
    auto page = top_page(context, style);
    if (!page) return fail(page.error());
    draw_top(context, *page, size ? static_cast<size_t>(size->rows) : 24);
    // Until something happens; what happens meanwhile is drawn with it.
    auto waited = events.stream("/events", last_id, [&](const ServerEvent& event) {
      if (!event.id.empty()) last_id = event.id;
      return event.type == "heartbeat" || event.type == "state.snapshot";
    });
    for (int signal = signals.take(); signal != 0; signal = signals.take())
      if (signal != SIGWINCH) {
        context.print("\n");
        return 0;
      }
    if (!waited && !events.interrupted()) return fail(waited.error());
    if (wait_readable(signals.fd(), between_drawings)) continue;
  }
}

Result<int> top_verb(Context& context, const Args& args) {
  if (context.json) {
    auto text = context.client().call_text("GET", "/top");
    if (!text) return fail(text.error());
    context.print_json(*text);
    return 0;
  }
  if (!args.has("once") && context.out.tty) return watch_top(context);
  auto page = top_page(context, context.out);
  if (!page) return fail(page.error());
  context.print(*page);
  return 0;
}

}  // namespace

void add_top_commands(std::vector<Command>& table) {
  table.push_back(
      {.path = "top",
       .group = "Agents",
       .summary = "Shows all members with their spending and activity",
       .flags = {{.name = "once", .summary = "print it once"}},
       .examples = {"cru top", "cru top --once", "cru top --json"},
       .run = top_verb,
       .reads = true,
       .details =
           "In a terminal the list is updated when something happens; Ctrl-C exits. See also: cru budget."});
}

}  // namespace cru::cli
