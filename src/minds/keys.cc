#include "minds/keys.h"

#include <fmt/format.h>

#include <cctype>
#include <filesystem>

#include "base/text.h"
#include "platform/files/file_status.h"
#include "platform/process/self.h"

namespace cru::minds {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_key_bytes = 4096;

/// It goes into a header: one line of visible characters.
bool is_key(std::string_view text) {
  return !text.empty() && text.size() <= max_key_bytes &&
         std::ranges::all_of(text, [](char c) { return c > ' ' && c < 0x7f; });
}

bool is_inside(const std::string& path, const std::string& folder) {
  std::error_code error;
  auto file = fs::weakly_canonical(path, error);
  auto base = fs::weakly_canonical(folder, error);
  auto relative = file.lexically_relative(base);
  return error || (!relative.empty() && *relative.begin() != "..");
}

std::string key_file_of(const Provider& provider, const std::string& home_config) {
  return provider.key_file.empty() ? fmt::format("{}/keys/{}", home_config, provider.name)
                                   : provider.key_file;
}

Error no_key(const Provider& provider, const std::string& file) {
  return mind_failure(
      "not_configured", fmt::format("no API key for {}", provider.name),
      fmt::format("set {} where you start cru, or write the key to {} (chmod 600)", provider.key_env, file));
}

}  // namespace

Result<std::string> read_key_file(const std::string& path, const std::string& root) {
  auto file = open_to_read(path);
  if (!file)
    return fail(file.error() == std::errc::no_such_file_or_directory ? Code::not_found : Code::forbidden,
                "cannot be read");
  if (!file->status.is_plain_file()) return fail(Code::forbidden, "is not a regular file");
  if (file->status.owner != own_user())
    return fail(Code::forbidden, "belongs to another user", {}, "change its owner with chown");
  if (file->status.mode & 077)
    return fail(Code::forbidden, "can be read by others", {}, fmt::format("chmod 600 {}", path));
  if (is_inside(path, root))
    return fail(Code::forbidden, "is inside the project", {},
                "move it out of the repository: ~/.config/crucible/keys/");
  auto text = read_part(file->fd, 0, max_key_bytes + 16);
  auto key = text ? trim(*text) : std::string_view();
  if (!is_key(key))
    return fail(Code::invalid_argument, "contains no key", {}, "write only the key, on one line");
  return std::string(key);
}

std::string without_key(std::string_view text, std::string_view key) {
  constexpr size_t shortest_that_is_one = 8;
  if (key.empty()) return std::string(text);
  auto is_of_word = [&](size_t at) {
    return at < text.size() && (std::isalnum(static_cast<unsigned char>(text[at])) || text[at] == '_');
  };
  std::string out;
  size_t done = 0;
  for (auto at = text.find(key); at != std::string_view::npos; at = text.find(key, at)) {
    auto behind = at + key.size();
    bool is_word = (at == 0 || !is_of_word(at - 1)) && !is_of_word(behind);
    if (key.size() < shortest_that_is_one && !is_word) {
      ++at;
      continue;
    }
    out.append(text.substr(done, at - done)).append("[key]");
    done = at = behind;
  }
  return out.append(text.substr(done));
}

Task<Result<Key>> Keys::find(Provider provider) {
  if (provider.key_env.empty() && provider.key_file.empty() && !offered_.contains(provider.name))
    co_return Key{};
  auto set = places_.environment.find(provider.key_env);
  if (!provider.key_env.empty() && set != places_.environment.end() && !trim(set->second).empty()) {
    if (!is_key(trim(set->second)))
      co_return fail(mind_failure("not_configured", provider.key_env + " contains no key",
                                  "it must be one line of visible characters"));
    co_return Key{std::string(trim(set->second)), provider.key_env};
  }
  if (auto offered = offered_.find(provider.name); offered != offered_.end())
    co_return Key{offered->second, "a verb"};
  auto path = key_file_of(provider, places_.home_config);
  auto read = co_await pool_.run([path, root = places_.root] { return read_key_file(path, root); });
  if (read) co_return Key{*std::move(read), path};
  if (read.error().code == Code::not_found) co_return fail(no_key(provider, path));
  co_return fail(mind_failure("not_configured", fmt::format("the key file {} {}", path, read.error().message),
                              read.error().hint));
}

Result<> Keys::offer(const std::string& provider, std::string key) {
  auto text = std::string(trim(key));
  if (!is_key(text))
    return fail(Code::invalid_argument, "must be one line of at most 4096 visible characters", "key");
  offered_[provider] = std::move(text);
  return {};
}

}  // namespace cru::minds
