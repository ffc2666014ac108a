#pragma once
/// Once: a write that is carried out at most once however often it is sent. Its
/// reply is stored in its own transaction, so there is no moment at which the
/// change is there and the reply is not.
#include "base/once.h"
#include "store/replies_table.h"
#include "store/store.h"

namespace cru {

/// The stored reply of an earlier request with this key, if there is one.
/// Errors: conflict if that one had another input.
Result<std::optional<Done>> find_reply(Reader& reader, const Once& once);
void keep_reply(Tx& tx, const Once& once, const Done& done);

/// The reply of a request that is carried out in this transaction: looked up once, and kept without being
/// looked up again.
class OnceReply {
 public:
  /// Errors: those of find_reply.
  static Result<OnceReply> find(Tx& tx, const Once& once);
  std::optional<Done> earlier = {};
  /// Nothing has written a reply under this key since `find`. Notes the text in `done`.
  void keep(Tx& tx, const Once& once, Done& done) const;

 private:
  bool has_row_ = false;
};

/// `closure(Tx&) -> Result<Done>`, at most once.
template <class F>
Task<Result<Done>> write_once(Store& store, Once once, F closure) {
  co_return co_await store.write([once, closure](Tx& tx) -> Result<Done> {
    auto reply = OnceReply::find(tx, once);
    if (!reply) return fail(std::move(reply.error()));
    if (reply->earlier) return *std::move(reply->earlier);
    auto done = closure(tx);
    if (done && done->changed) reply->keep(tx, once, *done);
    return done;
  });
}

}  // namespace cru
