#include "api/handlers/handlers.h"

namespace cru::api {
namespace {

json::object pairing_to_json(const pairings::Pairing& pairing) {
  return {{"id", pairing.id}, {"label", pairing.label}, {"created_at", to_rfc3339(pairing.created_at)}};
}

Task<Result<Reply>> create_pairing(pairings::Pairings& pairings, std::string label, bool reusable,
                                   std::string url) {
  auto code = co_await pairings.create_code(std::move(label), reusable);
  if (!code) co_return fail(std::move(code.error()));
  // In the part of an address that a browser does not send.
  co_return Reply(json::object{{"code", code->text},
                               {"label", code->label},
                               {"expires_at", to_rfc3339(code->expires_at)},
                               {"url", url + "#code=" + code->text}});
}

Task<Result<Reply>> redeem_pairing(pairings::Pairings& pairings, std::string code, std::string previous) {
  auto made = co_await pairings.redeem(std::move(code), std::move(previous));
  if (!made) co_return fail(std::move(made.error()));
  auto reply = pairing_to_json(made->pairing);
  reply["key"] = made->key;
  co_return Reply(std::move(reply));
}

Task<Result<Reply>> list_pairings(pairings::Pairings& pairings) {
  auto found = co_await pairings.list();
  if (!found) co_return fail(std::move(found.error()));
  json::array rows;
  for (const auto& pairing : *found) rows.push_back(pairing_to_json(pairing));
  co_return Reply(json::object{{"pairings", std::move(rows)}});
}

Task<Result<Reply>> revoke_pairing(pairings::Pairings& pairings, std::string id) {
  auto revoked = co_await pairings.revoke(std::move(id));
  if (!revoked) co_return fail(std::move(revoked.error()));
  auto reply = pairing_to_json(*revoked);
  reply["status"] = "revoked";
  co_return Reply(std::move(reply));
}

}  // namespace

void bind_pairings(Api& api, pairings::Pairings& pairings, std::string url) {
  api.bind("create_pairing", [&pairings, url](const Call&, const json::object& in) {
    return create_pairing(pairings, text(in, "label"), bool_or(in, "reusable"), url);
  });
  api.bind("redeem_pairing", [&pairings](const Call&, const json::object& in) {
    return redeem_pairing(pairings, text(in, "code"), text(in, "previous"));
  });
  api.bind("list_pairings",
           [&pairings](const Call&, const json::object&) { return list_pairings(pairings); });
  api.bind("revoke_pairing", [&pairings](const Call&, const json::object& in) {
    return revoke_pairing(pairings, text(in, "id"));
  });
}

}  // namespace cru::api
