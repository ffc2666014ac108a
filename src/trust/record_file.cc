#include "trust/record_file.h"

#include <fmt/format.h>

#include <filesystem>
#include <set>

#include "base/sha256.h"
#include "platform/files/files.h"
#include "platform/files/own_file.h"
#include "platform/files/own_mark.h"

namespace cru::trust {
namespace {

namespace fs = std::filesystem;

constexpr size_t max_record_bytes = 8 << 20;

Result<std::string> read_own(const std::string& folder, const std::string& name, size_t limit) {
  return read_own_file(folder, name, limit,
                       fmt::format("remove {}, then trust the project again with: cru trust", folder));
}

}  // namespace

std::string record_folder(const std::string& root) {
  auto state = user_state_folder();
  std::error_code error;
  auto real = fs::weakly_canonical(state, error).string();
  // Whoever may write in the project could trust whatever he writes.
  bool is_inside = (real + "/").starts_with(root == "/" ? root : root + "/");
  if (state.empty() || error || is_inside) return {};
  return fmt::format("{}/trust/{}", real, sha256(root).substr(0, 32));
}

Result<Record> load_record(const std::string& folder, const std::string& root) {
  if (folder.empty()) return Record();
  auto text = read_own(folder, "record.json", max_record_bytes);
  if (!text && text.error().code == Code::not_found) return Record();
  if (!text) return fail(std::move(text.error()));
  auto record = parse_record(*text, root);
  if (!record)
    return fail(Code::invalid_argument,
                fmt::format("{}/record.json is damaged: {}", folder, record.error().message), "",
                "trust the project again with: cru trust");
  return record;
}

Result<> save_record(const std::string& folder, const std::string& root, const Record& record,
                     const std::map<std::string, std::string>& texts) {
  if (folder.empty())
    return fail(Code::conflict, "there is no folder outside the project to record it in", "",
                "set HOME or XDG_STATE_HOME to one, or trust it for now only with --trust-once");
  std::set<std::string> named;
  for (const auto& [path, entry] : record)
    if (!entry.once) named.insert(entry.sha256);
  std::error_code error;
  if (named.empty()) {
    fs::remove_all(folder, error);
    return error ? Result<>(fail(system_error(error, "remove " + folder))) : Result<>();
  }
  auto shelf = folder + "/texts";
  for (const auto& each : {fs::path(folder).parent_path().string(), folder, shelf})
    if (auto made = make_private_folder(each); !made) return made;
  // The texts first: a record never names one that is not there yet.
  for (const auto& [digest, text] : texts)
    if (named.contains(digest))
      if (auto written = write_file(shelf + "/" + digest, text, 0600); !written) return written;
  if (auto written = write_file(folder + "/record.json", record_text(record, root), 0600); !written)
    return written;
  for (fs::directory_iterator at(shelf, error), end; !error && at != end; at.increment(error)) {
    std::error_code ignored;
    if (!named.contains(at->path().filename().string())) fs::remove(at->path(), ignored);
  }
  return {};
}

std::string trusted_text(const std::string& folder, const std::string& digest) {
  if (folder.empty()) return {};
  auto text = read_own(folder + "/texts", digest, max_item_bytes);
  return text && sha256(*text) == digest ? *text : std::string();
}

}  // namespace cru::trust
