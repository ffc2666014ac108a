// Random operations on the queue beside a simple model of it. Invariant I3: each piece of work has at most
// one accepted completion, and none is lost.
#include <algorithm>
#include <map>
#include <random>

#include "work/work_fixture.h"

namespace cru::coordination {
namespace {

struct Item {
  std::string status = "pending";
  std::vector<std::string> depends_on = {};
  bool releases = false;
  int64_t priority = 5, number = 0, attempts = 0, max_attempts = 1, token = 0;
  std::string claimer = {};
  int completions = 0;
};

class Model {
 public:
  std::map<std::string, Item> items;

  bool is_ready(const Item& item) const {
    return item.status == "pending" && std::ranges::all_of(item.depends_on, [&](const auto& id) {
             return is_over(items.at(id)) && !fails_by(item, items.at(id));
           });
  }
  static bool is_over(const Item& item) {
    return item.status == "completed" || item.status == "failed" || item.status == "cancelled";
  }
  static bool fails_by(const Item& item, const Item& dependency) {
    return !item.releases && is_over(dependency) && dependency.status != "completed";
  }
  std::string first_ready() const {
    std::string best;
    for (const auto& [id, item] : items)
      if (is_ready(item) && (best.empty() || std::pair(item.priority, item.number) <
                                                 std::pair(items.at(best).priority, items.at(best).number)))
        best = id;
    return best;
  }
  /// A failed dependency fails what does not release, until nothing changes.
  void settle() {
    for (bool changed = true; changed;) {
      changed = false;
      for (auto& [id, item] : items)
        if (item.status == "pending" && std::ranges::any_of(item.depends_on, [&](const auto& other) {
              return fails_by(item, items.at(other));
            })) {
          item.status = "failed";
          changed = true;
        }
    }
  }
  void give_back(Item& item) {
    item.status = item.attempts >= item.max_attempts ? "failed" : "pending";
    item.claimer.clear();
    settle();
  }
};

class WorkPropertyTest : public WorkFixture, public testing::WithParamInterface<unsigned> {
 public:
  WorkPropertyTest() : chance(GetParam()) {}
  int pick(int below) { return std::uniform_int_distribution<int>(0, below - 1)(chance); }
  std::string any_item() {
    auto found = model.items.begin();
    std::advance(found, pick(static_cast<int>(model.items.size())));
    return found->first;
  }
  std::string agent() { return "agent" + std::to_string(pick(4)); }

  void submit_some() {
    auto id = "w" + std::to_string(model.items.size());
    Item item{.releases = pick(3) == 0,
              .priority = 1 + pick(3),
              .number = static_cast<int64_t>(model.items.size()),
              .max_attempts = 1 + pick(3)};
    for (int i = pick(3); i > 0 && !model.items.empty(); --i) {
      auto other = any_item();
      if (std::ranges::find(item.depends_on, other) == item.depends_on.end())
        item.depends_on.push_back(other);
    }
    auto done = submit({.task_id = id,
                        .priority = item.priority,
                        .depends_on = item.depends_on,
                        .release_on_dependency_failure = item.releases,
                        .max_attempts = item.max_attempts,
                        .backoff = 0s});
    ASSERT_TRUE(done) << done.error().message;
    model.items[id] = item;
    model.settle();
  }

  void claim_some() {
    auto name = agent();
    auto expected = model.first_ready();
    auto done = claim(who(name));
    ASSERT_TRUE(done) << done.error().message;
    ASSERT_EQ(text_or(done->reply, "task_id"), expected);
    if (expected.empty()) return;
    auto& item = model.items.at(expected);
    auto token = int_or(done->reply, "fencing_token");
    ASSERT_GT(token, last_token) << "tokens only grow";
    last_token = item.token = token;
    item.status = "claimed";
    item.claimer = name;
    ++item.attempts;
  }

  void complete_some() {
    auto id = any_item();
    auto name = agent();
    auto& item = model.items.at(id);
    bool success = pick(2) == 0, retry = pick(4) != 0;
    std::optional<int64_t> token;
    if (pick(2) == 0)
      token = pick(2) == 0 && item.token > 0 ? item.token : 1 + pick(static_cast<int>(last_token) + 2);
    auto done =
        complete(who(name), {.task_id = id, .success = success, .retry = retry, .fencing_token = token});
    ASSERT_TRUE(done) << done.error().message;
    bool accepted = bool_or(done->reply, "success") && !bool_or(done->reply, "repeated");
    bool may = item.status == "claimed" && item.claimer == name && (!token || *token == item.token);
    ASSERT_EQ(accepted, may) << to_text(done->reply);
    if (!accepted) return;
    ASSERT_EQ(text_or(done->reply, "status"), success ? "completed" : "failed");
    if (success) {
      ++item.completions;
      item.status = "completed";
    } else {
      if (!retry) item.attempts = item.max_attempts;
      model.give_back(item);
      if (!retry) item.attempts = row(id).attempts;
    }
  }

  void cancel_some() {
    auto id = any_item();
    auto& item = model.items.at(id);
    ASSERT_EQ(cancel(id).has_value(), !Model::is_over(item) || item.status == "cancelled");
    if (!Model::is_over(item)) item.status = "cancelled";
    model.settle();
  }

  void kill_some() {
    auto name = agent();
    ASSERT_TRUE(write([this, name](Tx& tx) -> Result<int64_t> {
      return requeue_work_of(tx, who(name).session_id, "it died", sessions->now());
    }));
    for (auto& [id, item] : model.items)
      if (item.status == "claimed" && item.claimer == name) model.give_back(item);
  }

  void expire_some() {
    auto id = any_item();
    auto& item = model.items.at(id);
    if (item.status != "claimed") return;
    ASSERT_TRUE(write([id](Tx& tx) -> Result<> {
      tx.exec("UPDATE work_queue SET lease_boot = 1, due = 1 WHERE task_id = ?", id);
      return {};
    }));
    ASSERT_TRUE(thread->await([&] { return queue->recover(); }));
    model.give_back(item);
  }

  void compare() {
    auto rows =
        *read([](Reader& reader) -> Result<std::vector<Work>> { return list_work(reader, "", "", 10000); });
    ASSERT_EQ(rows.size(), model.items.size()) << "an item is lost";
    int64_t open = 0;
    for (const auto& work : rows) {
      const auto& item = model.items.at(work.task_id);
      ASSERT_EQ(name(work.status), item.status) << work.task_id << ": " << work.error_message;
      ASSERT_EQ(coordination::is_ready(work), model.is_ready(item)) << work.task_id;
      ASSERT_LE(item.completions, 1);
      open += is_closed(work.status) ? 0 : 1;
    }
    ASSERT_EQ(open, *read([](Reader& reader) -> Result<int64_t> { return count_open_work(reader); }));
  }

  /// Whoever is left does all that can be done: nothing may stay blocked.
  void drain() {
    for (auto& [id, item] : model.items)
      if (item.status == "claimed")
        ASSERT_TRUE(complete(who(item.claimer), {.task_id = id, .success = true}));
    for (size_t i = 0; i < model.items.size(); ++i) {
      auto id = claim_id("last");
      if (id.empty()) break;
      ASSERT_TRUE(complete(who("last"), {.task_id = id, .success = true}));
    }
    ASSERT_EQ(*read([](Reader& reader) -> Result<int64_t> { return count_open_work(reader); }), 0)
        << "something is blocked for ever";
  }

  std::mt19937 chance;
  Model model;
  int64_t last_token = 0;
};

TEST_P(WorkPropertyTest, TheQueueDoesWhatASimpleModelSays) {
  for (int i = 0; i < 150 && !HasFatalFailure(); ++i) {
    int what = model.items.empty() ? 0 : pick(20);
    if (what < 5)
      submit_some();
    else if (what < 11)
      claim_some();
    else if (what < 17)
      complete_some();
    else if (what < 18)
      cancel_some();
    else if (what < 19)
      kill_some();
    else
      expire_some();
    if (!HasFatalFailure()) compare();
  }
  if (!HasFatalFailure()) drain();
}

INSTANTIATE_TEST_SUITE_P(Seeds, WorkPropertyTest, testing::Range(1u, 9u));

}  // namespace
}  // namespace cru::coordination
