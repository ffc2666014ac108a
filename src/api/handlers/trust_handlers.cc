// Trust: what of the project waits, and a person's word on it.
#include "api/handlers/crew_handlers.h"

namespace cru::api {
namespace {

using trust::Trust;

Result<Reply> as_reply(Result<trust::Listing> listing) {
  if (!listing) return fail(std::move(listing.error()));
  return Reply(trust::to_json(*listing));
}

Task<Result<Reply>> list_trust(Trust& trust, std::vector<std::string> named) {
  co_return as_reply(co_await trust.list(std::move(named)));
}
Task<Result<Reply>> trust_content(Trust& trust, std::map<std::string, std::string> items, bool once) {
  co_return as_reply(co_await trust.grant(std::move(items), once));
}
Task<Result<Reply>> revoke_trust(Trust& trust, std::vector<std::string> paths) {
  co_return as_reply(co_await trust.revoke(std::move(paths)));
}

}  // namespace

void bind_trust(Api& api, Trust& trust) {
  api.bind("list_trust", [&trust](const Call&, const json::object& in) {
    auto named = text(in, "path");
    return list_trust(trust, named.empty() ? std::vector<std::string>() : std::vector{named});
  });
  api.bind("trust_content", [&trust](const Call&, const json::object& in) {
    std::map<std::string, std::string> items;
    for (const auto& [path, digest] : in.at("items").get_object())
      items[std::string(path)] = std::string(digest.get_string());
    return trust_content(trust, std::move(items), bool_or(in, "once"));
  });
  api.bind("revoke_trust", [&trust](const Call&, const json::object& in) {
    return revoke_trust(trust, texts_at(in, "paths"));
  });
}

}  // namespace cru::api
