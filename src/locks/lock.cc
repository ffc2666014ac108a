#include "locks/lock.h"

#include <fmt/format.h>

#include <array>

#include "base/glob.h"
#include "base/json_text.h"

namespace cru::coordination {
namespace {

constexpr size_t max_path_bytes = 4096;
constexpr size_t max_glob_bytes = 256;
constexpr int64_t max_wildcards = 16;
constexpr std::array<std::string_view, 7> prefixes = {
    "api:", "db:", "event:", "flag:", "env:", "contract:", "feature:"};

std::unexpected<Error> bad_path(std::string message) {
  return fail(Code::invalid_argument, std::move(message), "file_path",
              "use a path in the project, a glob, a folder that ends in /, or a key such as api:users");
}

bool is_wildcard(char c) { return c == '*' || c == '?'; }

/// `text` without `.` and empty segments. False if a `..` is among them.
bool tidy_segments(std::string_view text, std::string& tidy) {
  while (!text.empty()) {
    auto end = std::min(text.find('/'), text.size());
    auto segment = text.substr(0, end);
    bool is_last = end == text.size();
    text.remove_prefix(is_last ? end : end + 1);
    if (segment == "..") return false;
    if (segment.empty() || segment == ".") continue;
    tidy.append(segment);
    if (!is_last) tidy += '/';
  }
  return true;
}

ObjectText text_of(const Lock& lock) {
  ObjectText text(400 + lock.reason.size());
  text.text("file_path", lock.key.text);
  text.text("locked_by", lock.agent_id);
  text.text("agent_type", lock.agent_type);
  text.text("session_id", lock.session_id);
  text.text_or_null("member", lock.member);
  text.text("locked_at", to_rfc3339(lock.locked_at));
  text.text("expires_at", to_rfc3339(lock.expires.wall));
  text.text_or_null("reason", lock.reason);
  text.number("fencing_token", lock.fencing_token);
  return text;
}

}  // namespace

std::string_view name(LockKey::Kind kind) {
  switch (kind) {
    case LockKey::Kind::path:
      return "path";
    case LockKey::Kind::glob:
      return "glob";
    case LockKey::Kind::logical:
      return "logical";
  }
  return "path";
}

LockKey::Kind lock_kind_from(std::string_view name) {
  if (name == "glob") return LockKey::Kind::glob;
  return name == "logical" ? LockKey::Kind::logical : LockKey::Kind::path;
}

Result<LockKey> parse_lock_key(std::string_view text) {
  if (text.empty()) return bad_path("the path is empty");
  if (text.size() > max_path_bytes) return bad_path("the path is longer than 4096 bytes");
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      return bad_path("the path contains a control character");
    if (c == '\\') return bad_path("the path contains a backslash; separate folders with /");
  }
  for (auto prefix : prefixes)
    if (text.starts_with(prefix)) {
      if (text.size() == prefix.size()) return bad_path(fmt::format("the key is empty after {}", prefix));
      return LockKey{LockKey::Kind::logical, std::string(text)};
    }
  auto wildcards = std::ranges::count_if(text, is_wildcard);
  if (wildcards == 0 && !text.ends_with('/')) return LockKey{LockKey::Kind::path, std::string(text)};
  if (wildcards > max_wildcards) return bad_path("the glob has more than 16 wildcards");
  if (wildcards > 0 && text.size() > max_glob_bytes) return bad_path("the glob is longer than 256 bytes");
  std::string tidy;
  if (!tidy_segments(split_glob(text).rest, tidy)) return bad_path("the glob contains .. after a wildcard");
  return LockKey{LockKey::Kind::glob, std::string(text)};
}

GlobParts split_glob(std::string_view glob) {
  auto wildcard = static_cast<size_t>(std::ranges::find_if(glob, is_wildcard) - glob.begin());
  if (wildcard == glob.size()) return {std::string(glob), ""};
  auto slash = glob.substr(0, wildcard).rfind('/');
  if (slash == std::string_view::npos) return {"", std::string(glob)};
  return {std::string(glob.substr(0, slash + 1)), std::string(glob.substr(slash + 1))};
}

LockKey join_glob(std::string_view folder, std::string_view rest) {
  std::string text(folder);
  if (!text.empty()) text += '/';
  tidy_segments(rest, text);
  // The folder of the whole project has no name of its own.
  return {LockKey::Kind::glob, text.empty() ? "**" : text};
}

bool overlap(const LockKey& a, const LockKey& b) {
  using Kind = LockKey::Kind;
  if (a.text == b.text) return a.kind == b.kind || (a.kind != Kind::logical && b.kind != Kind::logical);
  if (a.kind == Kind::logical || b.kind == Kind::logical) return false;
  if (a.kind == Kind::path && b.kind == Kind::path) return false;
  if (a.kind == Kind::path) return Glob(b.text).matches(a.text);
  if (b.kind == Kind::path) return Glob(a.text).matches(b.text);
  return Glob(a.text).meets(Glob(b.text));
}

Taking take(const Who& who, const LockRequest& request, const std::vector<Lock>& standing,
            const std::vector<Lock>& mine, const std::vector<Waiting>& ahead, const Moment& now) {
  using What = Taking::What;
  auto others =
      std::ranges::find_if(standing, [&](const Lock& lock) { return lock.session_id != who.session_id; });
  auto own = std::ranges::find_if(mine, [&](const Lock& lock) { return lock.key == request.key; });
  bool has_it = own != mine.end();
  if (request.fencing_token && (!has_it || own->fencing_token != *request.fencing_token))
    return {.what = What::stale_token,
            .lock = has_it ? *own : Lock{},
            .other = others == standing.end() ? Lock{} : *others};
  auto expires = after(now, request.ttl);
  if (has_it) {
    auto renewed = *own;
    if (!request.reason.empty()) renewed.reason = request.reason;
    if (until(expires, now) > until(renewed.expires, now)) renewed.expires = expires;
    return {.what = What::refresh, .lock = std::move(renewed)};
  }
  if (others != standing.end()) return {.what = What::held_by_other, .other = *others};
  for (const auto& waiting : ahead) {
    if (waiting.session_id == who.session_id) continue;
    // Whoever waits for the requester itself would wait for ever if the requester queued behind it.
    bool waits_for_me =
        std::ranges::any_of(mine, [&](const Lock& lock) { return overlap(lock.key, waiting.key); });
    if (!waits_for_me) return {.what = What::behind_waiting, .waiting = waiting};
  }
  return {.what = What::acquire,
          .lock = {.key = request.key,
                   .agent_id = who.agent_id,
                   .agent_type = who.agent_type,
                   .session_id = who.session_id,
                   .reason = request.reason,
                   .locked_at = now.wall,
                   .expires = expires,
                   .member = who.member}};
}

std::string lock_text(const Lock& lock, int64_t waiters) {
  auto text = text_of(lock);
  text.number("waiters", waiters);
  return text.take();
}

std::string event_text(const Lock& lock, std::string_view why) {
  auto text = text_of(lock);
  if (!why.empty()) text.text("why", why);
  return text.take();
}

std::string describe(const Lock& lock, std::string_view path) {
  auto text = fmt::format("{} is locked by {}", path, lock.agent_id);
  if (lock.key.text != path) text += fmt::format(" through {}", lock.key.text);
  if (!lock.reason.empty()) text += fmt::format(" ({})", lock.reason);
  return text + " until " + to_rfc3339(lock.expires.wall);
}

}  // namespace cru::coordination
