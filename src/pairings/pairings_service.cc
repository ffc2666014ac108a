#include "pairings/pairings_service.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"
#include "base/sha256.h"

namespace cru::pairings {
namespace {

constexpr size_t max_codes = 64;
constexpr int64_t max_keys = 256;
constexpr Duration code_life = 24h;

constexpr Migration pairing_schema[] = {{"pairings", 1, R"(
CREATE TABLE pairings(
  id TEXT PRIMARY KEY, label TEXT NOT NULL, key_hash TEXT NOT NULL UNIQUE, created_at INTEGER NOT NULL) WITHOUT ROWID;
CREATE INDEX pairings_by_age ON pairings(created_at);
)"}};

Pairing to_pairing(const Row& row) {
  return {.id = row.text(0), .label = row.text(1), .created_at = row.time(2)};
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
    for (const auto& row : reader.rows("SELECT key_hash, id FROM pairings"))
      found.emplace(row.text(0), row.text(1));
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

PairingCode Pairings::create_code(std::string label) {
  auto now = clock_.wall();
  std::erase_if(codes_, [&](const PairingCode& code) { return code.expires_at <= now; });
  if (codes_.size() >= max_codes) codes_.erase(codes_.begin());
  codes_.push_back({.text = make_secret(2), .label = std::move(label), .expires_at = now + code_life});
  return codes_.back();
}

Task<Result<Redeemed>> Pairings::redeem(std::string code) {
  auto now = clock_.wall();
  auto found = std::ranges::find_if(codes_, [&](const PairingCode& known) {
    return known.expires_at > now && equal_in_constant_time(known.text, code);
  });
  if (found == codes_.end())
    co_return fail(Code::not_found, "this code is wrong or has expired", "code",
                   "get a new one with: cru open, or cru pair");
  Redeemed made{.pairing = {.id = fmt::format("place-{:08x}", random_.next() & 0xffffffff),
                            .label = found->label,
                            .created_at = now},
                .key = make_secret(4)};
  auto hash = sha256(made.key);
  using Ids = std::vector<std::string>;
  auto dropped = co_await store_.write([pairing = made.pairing, hash](Tx& tx) -> Result<Ids> {
    tx.exec("INSERT INTO pairings(id, label, key_hash, created_at) VALUES(?, ?, ?, ?)", pairing.id,
            pairing.label, hash, pairing.created_at);
    Ids gone;
    for (const auto& row :
         tx.rows("SELECT id FROM pairings ORDER BY created_at DESC, id LIMIT -1 OFFSET ?", max_keys))
      gone.push_back(row.text(0));
    for (const auto& id : gone) tx.exec("DELETE FROM pairings WHERE id = ?", id);
    tx.emit({"pairing.created", "", to_event(pairing)});
    return gone;
  });
  if (!dropped) co_return fail(std::move(dropped.error()));
  std::erase_if(
      keys_, [&](const auto& known) { return std::ranges::find(*dropped, known.second) != dropped->end(); });
  keys_.emplace(std::move(hash), made.pairing.id);
  co_return made;
}

bool Pairings::knows(std::string_view key) const { return keys_.contains(sha256(key)); }

Task<Result<std::vector<Pairing>>> Pairings::list() {
  co_return co_await store_.read([](Reader& reader) -> Result<std::vector<Pairing>> {
    std::vector<Pairing> found;
    for (const auto& row : reader.rows("SELECT id, label, created_at FROM pairings ORDER BY created_at, id"))
      found.push_back(to_pairing(row));
    return found;
  });
}

Task<Result<Pairing>> Pairings::revoke(std::string id) {
  auto revoked = co_await store_.write([id](Tx& tx) -> Result<Pairing> {
    auto row = tx.row("SELECT id, label, created_at FROM pairings WHERE id = ?", id);
    if (!row) return fail(Code::not_found, "no such pairing: " + id, "id", "see: cru pair list");
    tx.exec("DELETE FROM pairings WHERE id = ?", id);
    auto pairing = to_pairing(*row);
    tx.emit({"pairing.revoked", "", to_event(pairing)});
    return pairing;
  });
  if (revoked) std::erase_if(keys_, [&](const auto& known) { return known.second == id; });
  co_return revoked;
}

}  // namespace cru::pairings
