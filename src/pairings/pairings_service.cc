#include "pairings/pairings_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"
#include "base/sha256.h"
#include "store/columns.h"

namespace cru::pairings {
namespace {

constexpr int64_t max_codes = 64;
constexpr int64_t max_keys = 256;
constexpr Duration code_life = 24h;

constexpr Migration pairing_schema[] = {{"pairings", 1, R"(
CREATE TABLE pairings(
  id TEXT PRIMARY KEY, label TEXT NOT NULL, key_hash TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX pairings_by_age ON pairings(created_at);
CREATE TABLE pairing_codes(
  code_hash TEXT PRIMARY KEY, label TEXT NOT NULL, expires_at INTEGER NOT NULL) WITHOUT ROWID;
)"}};

constexpr auto pairing_columns =
    columns<Pairing>("pairings", column("id", &Pairing::id), column("label", &Pairing::label),
                     column("created_at", &Pairing::created_at));

/// As it is stored. A code that may be used again is told by its name: none can be made of the other.
std::string stored_code(std::string_view text, bool reusable) {
  return (reusable ? "reusable:" : "") + sha256(text);
}

json::object to_event(const Pairing& pairing) {
  return {{"pairing_id", pairing.id}, {"label", pairing.label}};
}

}  // namespace

std::span<const Migration> migrations() { return pairing_schema; }

Task<Result<>> Pairings::recover() {
  using Keys = std::map<std::string, std::string>;
  auto keys = co_await store_.read([](Reader& reader) -> Result<Keys> {
    Keys found;
    for (auto& [key_hash, id] :
         read_values<std::string, std::string>(reader, "SELECT key_hash, id FROM pairings"))
      found.emplace(std::move(key_hash), std::move(id));
    return found;
  });
  if (!keys) co_return fail(std::move(keys.error()));
  keys_ = *std::move(keys);
  co_return Result<>();
}

std::string Pairings::make_secret(int words) {
  std::string secret;
  for (int i = 0; i < words; ++i) secret += fmt::format("{:016x}", random_.next());
  return secret;
}

Task<Result<PairingCode>> Pairings::create_code(std::string label, bool reusable) {
  PairingCode code{
      .text = make_secret(2), .label = std::move(label), .expires_at = clock_.wall() + code_life};
  auto written =
      co_await store_.write([code, hash = stored_code(code.text, reusable)](Tx& tx) -> Result<bool> {
        tx.exec("DELETE FROM pairing_codes WHERE expires_at <= ?", tx.now());
        tx.exec("INSERT INTO pairing_codes(code_hash, label, expires_at) VALUES(?, ?, ?)", hash, code.label,
                code.expires_at);
        tx.exec(
            "DELETE FROM pairing_codes WHERE code_hash IN"
            " (SELECT code_hash FROM pairing_codes ORDER BY expires_at DESC LIMIT -1 OFFSET ?)",
            max_codes);
        return true;
      });
  if (!written) co_return fail(std::move(written.error()));
  co_return code;
}

namespace {

/// The label of a code that is good. One that is for a single place is spent by that.
std::optional<std::string> take_code(Tx& tx, std::string_view text) {
  for (bool reusable : {false, true}) {
    auto hash = stored_code(text, reusable);
    auto known = read_value<std::string>(
        tx, "SELECT label FROM pairing_codes WHERE code_hash = ? AND expires_at > ?", hash, tx.now());
    if (!known) continue;
    if (!reusable) tx.exec("DELETE FROM pairing_codes WHERE code_hash = ?", hash);
    return *std::move(known);
  }
  return {};
}

/// Removes the row and tells of it.
void drop(Tx& tx, const Pairing& pairing) {
  tx.exec("DELETE FROM pairings WHERE id = ?", pairing.id);
  tx.emit({"pairing.revoked", "", to_event(pairing)});
}

}  // namespace

Task<Result<Redeemed>> Pairings::redeem(std::string code, std::string previous) {
  Redeemed made{.pairing = {.id = fmt::format("place-{:08x}", random_.next() & 0xffffffff),
                            .label = {},
                            .created_at = clock_.wall()},
                .key = make_secret(4)};
  auto hash = sha256(made.key);
  struct Kept {
    std::string label;
    std::vector<std::string> dropped;
  };
  auto kept = co_await store_.write([fresh = made.pairing, hash, code,
                                     previous = sha256(previous)](Tx& tx) -> Result<Kept> {
    auto label = take_code(tx, code);
    if (!label)
      return fail(Code::not_found, "this code is wrong, was used already, or has expired", "code",
                  "get a new one with: cru open, or cru pair");
    auto pairing = fresh;
    pairing.label = *label;
    Kept done{.label = pairing.label, .dropped = {}};
    if (auto before = read_row<pairing_columns, "SELECT {} FROM pairings WHERE key_hash = ?">(tx, previous)) {
      drop(tx, *before);
      done.dropped.push_back(before->id);
    }
    insert_row<pairing_columns, "key_hash">(tx, pairing, hash);
    auto oldest = read_values<std::string>(
        tx, "SELECT id FROM pairings ORDER BY created_at DESC, id LIMIT -1 OFFSET ?", max_keys);
    for (const auto& id : oldest) tx.exec("DELETE FROM pairings WHERE id = ?", id);
    done.dropped.insert(done.dropped.end(), oldest.begin(), oldest.end());
    tx.emit({"pairing.created", "", to_event(pairing)});
    return done;
  });
  if (!kept) co_return fail(std::move(kept.error()));
  made.pairing.label = kept->label;
  std::erase_if(keys_, [&](const auto& known) {
    return std::ranges::find(kept->dropped, known.second) != kept->dropped.end();
  });
  keys_.emplace(std::move(hash), made.pairing.id);
  co_return made;
}

bool Pairings::knows(std::string_view key) const { return keys_.contains(sha256(key)); }

Task<Result<std::vector<Pairing>>> Pairings::list() {
  co_return co_await store_.read([](Reader& reader) -> Result<std::vector<Pairing>> {
    return read_rows<pairing_columns, "SELECT {} FROM pairings ORDER BY created_at, id">(reader);
  });
}

Task<Result<Pairing>> Pairings::revoke(std::string id) {
  auto revoked = co_await store_.write([id](Tx& tx) -> Result<Pairing> {
    auto pairing = read_row<pairing_columns, "SELECT {} FROM pairings WHERE id = ?">(tx, id);
    if (!pairing)
      return fail(Code::not_found, fmt::format("pairing not found: \"{}\"", id), "id", "see: cru pair list");
    drop(tx, *pairing);
    return *std::move(pairing);
  });
  if (revoked) std::erase_if(keys_, [&](const auto& known) { return known.second == id; });
  co_return revoked;
}

Task<Result<>> Pairings::drop_all() {
  auto dropped = co_await store_.write([](Tx& tx) -> Result<bool> {
    tx.exec("DELETE FROM pairing_codes");
    for (const auto& pairing : read_rows<pairing_columns, "SELECT {} FROM pairings">(tx)) drop(tx, pairing);
    return true;
  });
  if (!dropped) co_return fail(std::move(dropped.error()));
  keys_.clear();
  co_return Result<>();
}

}  // namespace cru::pairings
