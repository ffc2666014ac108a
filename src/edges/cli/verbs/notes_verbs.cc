// notes: the project's markdown, searched, listed, read and indexed.
#include <fmt/format.h>

#include <atomic>
#include <thread>

#include "base/text.h"
#include "edges/cli/core/context.h"
#include "edges/cli/core/operation_commands.h"
#include "edges/cli/verbs/all_commands.h"
#include "platform/files/doorbell.h"

namespace cru::cli {
namespace {

Result<json::object> object_of(const Result<std::string>& text) {
  if (!text) return fail(text.error());
  auto value = parse_json(*text);
  if (!value || !value->is_object())
    return fail(Code::internal, "unexpected reply from the daemon: not an object");
  return std::move(value->get_object());
}

/// Where, how well, and what it says there: two lines a result.
std::string found_page(const json::array& results, const Style& style) {
  std::string out;
  for (const auto& result : results) {
    if (!result.is_object()) continue;
    const auto& found = result.get_object();
    json::error_code error;
    const auto* score = found.if_contains("score");
    auto title = safe_for_terminal(text_or(found, "title"));
    auto heading = safe_for_terminal(text_or(found, "heading"));
    if (!heading.empty() && heading != title) title += " › " + heading;
    auto place = fmt::format("{}:{}", safe_for_terminal(text_or(found, "path")), int_or(found, "line"));
    out += fmt::format("{:.2f}  {}  {}\n", score ? score->to_number<double>(error) : 0.0,
                       style.paint(place, Colour::cyan), title);
    auto excerpt = safe_for_terminal(text_or(found, "excerpt"));
    if (style.tty) excerpt = truncate(excerpt, style.width > 6 ? style.width - 6 : 1);
    if (!excerpt.empty()) out += fmt::format("      {}\n", style.paint(excerpt, Colour::dim));
  }
  return out;
}

Result<int> search_verb(Context& context, const Args& args) {
  auto text = call_row(context, "semantic_search", row_input("semantic_search", args));
  auto reply = object_of(text);
  if (!reply) return fail(reply.error());
  if (context.json) {
    context.print_json(*text);
    return 0;
  }
  const auto* results = array_at(*reply, "results");
  if (results) context.print(found_page(*results, context.out));
  if (!results || results->empty())
    context.note(fmt::format("nothing found in {} notes", int_or(*reply, "notes")));
  if (!bool_or(*reply, "complete", true))
    context.note("indexing is in progress, so results may be incomplete; see: cru notes status");
  return 0;
}

/// The whole note, however many replies it takes; as it is when nobody looks, made safe when somebody does.
Result<int> read_verb(Context& context, const Args& args) {
  auto input = row_input("read_note", args);
  bool part = args.has("offset") || args.has("limit");
  for (;;) {
    auto text = call_row(context, "read_note", input);
    auto reply = object_of(text);
    if (!reply) return fail(reply.error());
    if (context.json) {
      context.print_json(*text);
      return 0;
    }
    auto content = text_or(*reply, "text");
    context.print(context.out.tty ? safe_for_terminal(content, Newlines::keep) : std::string(content));
    auto next = int_or(*reply, "next_offset", -1);
    if (!part && next > int_or(input, "offset")) {
      input["offset"] = next;
      continue;
    }
    if (next >= 0) context.note(fmt::format("more available: use --offset {}", next));
    return 0;
  }
}

/// Draws how far the indexing is, from the daemon's events, for as long as it lives.
class ProgressBar {
 public:
  explicit ProgressBar(Context& context)
      : client_(context.another_client()), width_(context.err.width), thread_([this] { listen(); }) {}
  ~ProgressBar() {
    stopping_ = true;
    stop_.ring();
    thread_.join();
    if (drawn_) write_out(standard_error, "\r\x1b[K");
  }
  ProgressBar(const ProgressBar&) = delete;

 private:
  void listen() {
    client_.interrupt_on({stop_.fd()});
    (void)client_.stream("/events?type=notes.progress", {}, [this](const ServerEvent& event) {
      auto value = parse_json(event.data);
      if (event.type == "notes.progress" && value && value->is_object())
        if (const auto* data = object_at(value->get_object(), "data")) draw(*data);
      return !stopping_.load();
    });
  }
  void draw(const json::object& data) {
    auto indexed = int_or(data, "indexed"), total = std::max<int64_t>(int_or(data, "total"), 1);
    auto room = static_cast<int64_t>(std::min<size_t>(width_, 100)) - 30;
    auto full = std::clamp<int64_t>(room, 5, 70) * indexed / total;
    std::string bar;
    for (int64_t i = 0; i < std::clamp<int64_t>(room, 5, 70); ++i) bar += i < full ? "█" : "░";
    write_out(standard_error, fmt::format("\r\x1b[K{} {}/{} notes", bar, indexed, total));
    drawn_ = true;
  }

  Client client_;
  size_t width_;
  Doorbell stop_;
  std::atomic<bool> stopping_ = false, drawn_ = false;
  std::thread thread_;
};

Result<int> index_verb(Context& context, const Args& args) {
  // Connected first: the bar never starts a daemon.
  if (auto connected = context.client().connect(); !connected) return fail(connected.error());
  Result<json::object> reply = json::object();
  {
    std::unique_ptr<ProgressBar> bar;
    if (context.err.tty && !context.json) bar = std::make_unique<ProgressBar>(context);
    reply = context.client().post("/notes/index", {{"rebuild", args.has("rebuild")}}, 30min);
  }
  if (!reply) return fail(reply.error());
  if (context.json)
    context.print_json(to_text(*reply));
  else
    context.print(fmt::format("{} notes indexed, searchable by {}\n", int_or(*reply, "notes"),
                              text_or(*reply, "method") == "hybrid" ? "words and meaning" : "words"));
  return 0;
}

Command row(const std::string& operation, std::string path) {
  auto command = generic_command(operation);
  command.path = std::move(path);
  command.group = "Project";
  return command;
}

}  // namespace

void add_notes_commands(std::vector<Command>& table) {
  auto search = row("semantic_search", "notes search");
  search.examples = {"cru notes search \"how do we deploy\"", "cru notes search car --folder docs --limit 3"};
  search.run = search_verb;
  table.push_back(std::move(search));
  auto list = row("list_notes", "notes list");
  list.examples = {"cru notes list", "cru notes list docs --limit 20"};
  table.push_back(std::move(list));
  auto read = row("read_note", "notes read");
  read.arguments = {{.name = "path", .summary = "a path, or a name as in [[name#heading]]"}};
  std::erase_if(read.flags, [](const Flag& flag) { return flag.name == "path"; });
  read.examples = {"cru notes read docs/plan.md", "cru notes read \"[[plan#Next steps]]\""};
  read.run = read_verb;
  table.push_back(std::move(read));
  auto index = row("index_notes", "notes index");
  index.examples = {"cru notes index", "cru notes index --rebuild"};
  index.run = index_verb;
  table.push_back(std::move(index));
  table.push_back(row("notes_state", "notes status"));
}

}  // namespace cru::cli
