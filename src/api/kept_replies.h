#pragma once
/// KeptReplies: the replies of reads that are asked for again and again, as text. A reply is kept until a
/// commit touches a table that it was read from, or until it changes by itself with time; whoever asks gets
/// what a read would give now. Bounded in number and in bytes. Lives on the loop.
#include <map>
#include <memory>
#include <vector>

#include "api/api.h"

namespace cru::api {

class KeptReplies {
 public:
  KeptReplies(Loop& loop, Store& store) : loop_(loop), store_(store) {}

  /// What a read gives: the reply's text, and until when it holds if nothing is written.
  struct Made {
    std::string text;
    Time until = Time::max();
  };
  using Make = std::function<Result<Made>(Reader&)>;

  /// The reply that `make` reads, or the one that it gave before. `question` tells everything that it
  /// depends on beside the store, the clock and the caller. A closure like any other of a read; its `now`
  /// is what the loop's clock says at this call. Errors, which are not kept: those of `make`.
  Task<Result<Reply>> read(const Call& call, std::string_view operation, std::string question, Make make);

  static constexpr size_t max_kept = 64, max_bytes = 4u << 20;
  size_t kept() const { return kept_.size(); }

 private:
  Task<Result<Reply>> read_key(std::string key, Make make);
  using Text = std::shared_ptr<const std::string>;
  struct Kept {
    Text text;
    Time since, until;
    Tables tables;
    TableChanges::Mark mark;
    uint64_t used;  ///< when, counted in calls
  };
  /// A read that is under way, and who waits for it. Who comes after a commit has a read of his own.
  struct UnderWay {
    TableChanges::Mark mark;
    std::vector<Completion<Result<Text>>::Handle> waiting = {};
  };
  struct Read {
    Made made;
    Tables tables;
  };
  Task<Result<Text>> read_now(std::string key, Make make);
  bool holds(const Kept& kept, Time now) const;
  void keep(std::string key, Kept kept);

  Loop& loop_;
  Store& store_;
  std::map<std::string, Kept, std::less<>> kept_;
  std::map<std::string, std::shared_ptr<UnderWay>, std::less<>> under_way_;
  size_t bytes_ = 0;
  uint64_t calls_ = 0;
};

}  // namespace cru::api
