#include "edges/cli/chat/chat_editor.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <vector>

#include "api/project.h"
#include "base/json.h"
#include "edges/cli/chat/chat_typing.h"
#include "edges/cli/core/context.h"
#include "platform/files/files.h"
#include "platform/files/readiness.h"
#include "platform/terminal/edit_library.h"
#include "platform/terminal/terminal.h"

namespace cru::cli {
namespace {

constexpr size_t max_remembered = 1000, max_history_bytes = 4 << 20;

bool is_dumb() {
  auto term = api::own_environment("TERM").value_or("");
  return term.empty() || term == "dumb";
}

std::string in_one_line(std::string text) {
  for (auto& c : text)
    if (c == '\n') c = ' ';
  return text;
}

void append_utf8(std::string& out, char32_t c) {
  auto put = [&](char32_t bits) { out += static_cast<char>(bits); };
  if (c < 0x80) return put(c);
  if (c < 0x800) {
    put(0xc0 | (c >> 6));
  } else {
    if (c < 0x10000) {
      put(0xe0 | (c >> 12));
    } else {
      put(0xf0 | (c >> 18));
      put(0x80 | ((c >> 12) & 0x3f));
    }
    put(0x80 | ((c >> 6) & 0x3f));
  }
  put(0x80 | (c & 0x3f));
}

}  // namespace

struct LineEditor::State {
  Signals& signals;
  std::string history_file, prompt;
  bool styled = false, interrupted = false, ended = false;
  Typing typing;
  const EditLibrary* lib = nullptr;
  EditLine* line = nullptr;
  History* past = nullptr;

  State(Signals& with, std::string file, bool style)
      : signals(with), history_file(std::move(file)), styled(style) {
    if (is_dumb() || !(lib = edit_library())) return;
    choose_utf8();  // libedit reads and shows characters by the locale
    line = lib->el_init("cru", stdin, stdout, stderr);
    past = lib->history_init();
    if (!line || !past) return;
    HistEvent event;
    lib->history(past, &event, H_SETSIZE, static_cast<int>(max_remembered));
    lib->history(past, &event, H_SETUNIQUE, 1);
    lib->el_set(line, EL_CLIENTDATA, this);
    lib->el_set(line, EL_PROMPT_ESC, &State::give_prompt, '\1');
    lib->el_set(line, EL_EDITOR, "emacs");
    lib->el_set(line, EL_HIST, lib->history, past);
    lib->el_set(line, EL_GETCFN, &State::give_character);
    bind_keys();
    load_history();
  }
  ~State() {
    if (line) lib->el_end(line);
    if (past) lib->history_end(past);
  }
  State(const State&) = delete;
  State& operator=(const State&) = delete;

  /// What people expect beyond libedit's own: words by Ctrl-arrows, Delete, Ctrl-R, Ctrl-W.
  void bind_keys() {
    constexpr const char* keys[][2] = {{"^I", "ed-insert"},           {"^R", "em-inc-search-prev"},
                                       {"^W", "ed-delete-prev-word"}, {"\\e[3~", "ed-delete-next-char"},
                                       {"\\e[H", "ed-move-to-beg"},   {"\\e[F", "ed-move-to-end"},
                                       {"\\e[1~", "ed-move-to-beg"},  {"\\e[4~", "ed-move-to-end"},
                                       {"\\e[1;5C", "em-next-word"},  {"\\e[1;5D", "ed-prev-word"}};
    for (const auto& [key, command] : keys) lib->el_set(line, EL_BIND, key, command, nullptr);
  }

  void load_history() {
    auto text = history_file.empty() ? Result<std::string>("") : read_file(history_file, max_history_bytes);
    if (!text) return;
    std::vector<std::string> all;
    for (std::string_view rest = *text; !rest.empty();) {
      auto one = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), one.size() + 1));
      if (auto value = parse_json(one); value && value->is_string()) all.emplace_back(value->get_string());
    }
    auto first = all.size() > max_remembered ? all.size() - max_remembered : 0;
    for (auto i = first; i < all.size(); ++i) enter(all[i]);
  }

  void enter(const std::string& message) {
    if (!past) return;
    HistEvent event;
    lib->history(past, &event, H_ENTER, in_one_line(message).c_str());
  }

  static State* of(EditLine* line) {
    void* found = nullptr;
    edit_library()->el_get(line, EL_CLIENTDATA, &found);
    return static_cast<State*>(found);
  }
  static char* give_prompt(EditLine* line) { return of(line)->prompt.data(); }
  static int give_character(EditLine* line, wchar_t* out) {
    auto c = of(line)->next_character();
    if (!c) return of(line)->interrupted ? -1 : 0;
    *out = static_cast<wchar_t>(*c);
    return 1;
  }

  /// Waits for a character. None: interrupted, or the input has ended.
  std::optional<char32_t> next_character() {
    for (bool settled = false;;) {
      if (auto c = typing.next(settled)) return c;
      std::array<Awaited, 2> awaited = {{{.fd = standard_input}, {.fd = signals.fd()}}};
      auto waited = wait_ready(awaited, typing.is_waiting() ? std::optional<Duration>(40ms) : std::nullopt);
      settled = waited == Waited::late;
      if (waited != Waited::ready) continue;
      if (awaited[1].is_ready && heard(signals.take())) return {};
      if (!awaited[0].is_ready) continue;
      auto bytes = read_in(standard_input);
      if (bytes.empty()) {
        ended = true;
        return {};
      }
      typing.add(bytes);
    }
  }

  /// True if the line is over with the signal.
  bool heard(int signal) {
    if (signal == SIGWINCH && line) lib->el_resize(line);
    if (signal == SIGCONT && line) {
      lib->el_set(line, EL_PREP_TERM, 1);
      lib->el_set(line, EL_REFRESH);
    }
    if (signal == SIGTERM || signal == SIGHUP) return ended = true;
    if (signal == SIGINT) interrupted = true;
    return interrupted;
  }

  Line edited() {
    write_out(standard_output, "\x1b[?2004h");  // pastes are marked
    int count = 0;
    const char* text = lib->el_gets(line, &count);
    write_out(standard_output, "\x1b[?2004l");
    if (interrupted) return {Got::interrupted};
    if (!text || count <= 0) return {Got::ended};
    return {Got::line, std::string(text, static_cast<size_t>(count))};
  }

  Line plain() {
    write_out(standard_output, prompt);
    std::string text;
    for (;;) {
      auto c = next_character();
      if (!c && interrupted) return {Got::interrupted};
      if (!c && text.empty()) return {Got::ended};
      if (!c || *c == '\n') return {Got::line, text};
      append_utf8(text, *c);
    }
  }
};

LineEditor::LineEditor(Signals& signals, std::string history_file, bool styled)
    : state_(std::make_unique<State>(signals, std::move(history_file), styled)) {}
LineEditor::~LineEditor() = default;

LineEditor::Line LineEditor::read(const std::string& prompt, bool verbatim) {
  auto& state = *state_;
  bool editing = state.line && state.past;
  state.interrupted = false;
  if (state.ended) return {Got::ended};
  // The library must not count what has no width.
  state.prompt = state.styled && editing ? "\1\x1b[1m\1" + prompt + "\1\x1b[0m\1 " : prompt + " ";
  state.typing.verbatim = verbatim;
  auto got = editing ? state.edited() : state.plain();
  while (got.text.ends_with('\n') || got.text.ends_with('\r')) got.text.pop_back();
  return got;
}

void LineEditor::type(std::string_view bytes) { state_->typing.add(bytes); }

void LineEditor::remember(const std::string& message) {
  state_->enter(message);
  if (state_->history_file.empty()) return;
  auto file = open_to_append(state_->history_file, 0600, Links::follow);
  if (file) (void)write_to(*file, to_text(json::value(message)) + "\n", state_->history_file);
}

std::string chat_history_file() {
  auto state = api::own_environment("XDG_STATE_HOME").value_or("");
  if (!state.starts_with('/')) {
    state = api::own_environment("HOME").value_or("");
    if (!state.starts_with('/')) return {};
    state += "/.local/state";
  }
  auto folder = state + "/cru";
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (error) return {};
  auto file = folder + "/chat_history";
  // Kept from growing for ever.
  if (auto size = std::filesystem::file_size(file, error); !error && size > max_history_bytes / 4)
    if (auto text = read_file(file, max_history_bytes)) {
      auto at = text->find('\n', text->size() / 2);
      (void)write_file(file, at == std::string::npos ? "" : text->substr(at + 1), 0600);
    }
  return file;
}

}  // namespace cru::cli
