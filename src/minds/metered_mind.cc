#include "minds/metered_mind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"
#include "minds/usage_limit.h"
#include "platform/files/log.h"

namespace cru::minds {
namespace {

/// Bytes of a prompt for one token, taken low: rather too much is set aside than too little.
constexpr size_t bytes_of_token = 3;

/// Passes everything on, and counts. Written one at a time, the newest each time.
class Metering final : public Listener, public std::enable_shared_from_this<Metering> {
 public:
  Metering(Loop& loop, budgets::Budgets& budgets, Listener& listener, std::string id, Model model,
           ProviderKind kind, bool is_program)
      : loop_(loop),
        budgets_(budgets),
        listener_(listener),
        id_(std::move(id)),
        model_(std::move(model)),
        kind_(kind),
        is_program_(is_program),
        began_(loop.clock().boot()),
        written_(loop) {}

  Stop stop;  ///< of the reply: by whoever asked for it, or by the budget
  std::optional<budgets::Shortage> shortage;

  void text(std::string_view more) override {
    if (!closed_) listener_.text(more);
  }
  void tool_used(const std::string& name, const json::object& input) override {
    if (!closed_) listener_.tool_used(name, input);
  }
  void waiting(const std::string& why, Duration how_long) override {
    if (!closed_) listener_.waiting(why, how_long);
  }
  void restarted() override {
    if (!closed_) listener_.restarted();
  }
  void resumable(const std::string& resume) override {
    if (!closed_) listener_.resumable(resume);
  }
  void wasted(const Usage& usage, std::optional<double> cost_usd) override {
    if (closed_) return;
    before_ += to_spend(usage, cost_usd, model_, kind_, std::max<int64_t>(1, replies_));
    now_ = {};
    replies_ = 0;
    count();
    listener_.wasted(usage, cost_usd);
  }
  void used(const Usage& usage, std::optional<double> cost_usd, int64_t replies) override {
    if (closed_) return;
    replies_ = replies;
    now_ = to_spend(usage, cost_usd, model_, kind_, replies);
    count();
  }

  /// The time alone.
  void tick() { count(); }

  /// Somebody has spent what this one draws from too.
  void check() {
    if (is_program_ && !closed_) loop_.spawn(look(shared_from_this()));
  }

  Task<budgets::Spend> finish(const Result<Reply>& reply) {
    closed_ = true;
    while (writing_) co_await written_.wait();
    if (reply) now_ = to_spend(reply->usage, reply->cost_usd, model_, kind_, std::max<int64_t>(1, replies_));
    co_return total();
  }

 private:
  budgets::Spend total() const {
    auto all = before_ + now_;
    all.time = loop_.clock().boot() - began_;
    return all;
  }

  void count() {
    dirty_ = true;
    if (!std::exchange(writing_, true)) loop_.spawn(write(shared_from_this()));
  }

  static Task<void> write(std::shared_ptr<Metering> self) {
    while (std::exchange(self->dirty_, false)) {
      auto noted = co_await self->budgets_.note(self->id_, self->total());
      if (!noted) log_error("cannot count what a reply has cost", noted.error(), {{"call", self->id_}});
      if (!noted || !*noted || self->closed_) continue;
      // The reply of an API ends by itself; only its time can be over.
      if (!self->is_program_ && (*noted)->resource != budgets::Resource::time) continue;
      self->shortage = **noted;
      self->stop.request();
    }
    self->writing_ = false;
    self->written_.notify();
  }

  static Task<void> look(std::shared_ptr<Metering> self) {
    auto found = co_await self->budgets_.shortage_of(self->id_);
    if (!found || !*found || self->closed_) co_return;
    self->shortage = **found;
    self->stop.request();
  }

  Loop& loop_;
  budgets::Budgets& budgets_;
  Listener& listener_;
  const std::string id_;
  const Model model_;
  const ProviderKind kind_;
  const bool is_program_;
  const BootTime began_;
  budgets::Spend before_, now_;  ///< of attempts that came to nothing, and of this one
  int64_t replies_ = 0;
  bool dirty_ = false, writing_ = false, closed_ = false;
  Signal written_;
};

class MeteredMind final : public Mind {
 public:
  MeteredMind(Loop& loop, budgets::Budgets& budgets, Random& random, Mind& inner, const Provider& provider)
      : loop_(loop),
        budgets_(budgets),
        random_(random),
        inner_(inner),
        provider_(provider.name),
        kind_(provider.kind) {}

  bool is_program() const override { return inner_.is_program(); }

  Task<Result<Reply>> think(Request request, Listener& listener, Stop& stop) override {
    bool is_program = inner_.is_program();
    // A program that is followed again is the same call.
    auto id =
        is_program && !request.run_id.empty()
            ? request.run_id
            : fmt::format("{}#{:016x}", request.run_id.empty() ? "call" : request.run_id, random_.next());
    auto payer = request.payer;
    if (payer.member.empty()) payer.member = request.member;
    auto begun = co_await budgets_.begin({.id = id,
                                          .payer = std::move(payer),
                                          .provider = provider_,
                                          .model = request.model.name,
                                          .wanted = expected_spend(request, is_program),
                                          .is_priced = is_priced(request.model, kind_)},
                                         stop);
    if (stop.requested()) {
      if (begun) co_await budgets_.abandon(id);
      co_return fail(mind_failure("cancelled", "the reply was cancelled"));
    }
    if (!begun) co_return fail(std::move(begun.error()));
    auto metering =
        std::make_shared<Metering>(loop_, budgets_, listener, id, request.model, kind_, is_program);
    Stop::Listener passes(stop, [metering] { metering->stop.request(); });
    auto watch = budgets_.watch([metering] { metering->check(); });
    Timer timer{
        loop_,
        *begun ? loop_.set_timer(std::max<Duration>(**begun, 1ms), [metering] { metering->tick(); }) : 0};
    auto reply = co_await inner_.think(std::move(request), *metering, metering->stop);
    auto total = co_await metering->finish(reply);
    auto ended = co_await budgets_.end(std::move(id), total);
    if (!ended) log_error("cannot count what a reply has cost", ended.error());
    if (!reply && metering->shortage && !stop.requested()) {
      auto failure = budgets::exhausted(*metering->shortage);
      bool may_go_on =
          metering->shortage->when == budgets::WhenExhausted::pause && !metering->shortage->is_closed;
      co_return fail(may_go_on ? interrupted_by_budget(std::move(failure)) : std::move(failure));
    }
    co_return reply;
  }

 private:
  struct Timer {
    Loop& loop;
    Loop::TimerId id;
    ~Timer() {
      if (id) loop.cancel_timer(id);
    }
  };

  Loop& loop_;
  budgets::Budgets& budgets_;
  Random& random_;
  Mind& inner_;
  const std::string provider_;
  const ProviderKind kind_;
};

}  // namespace

budgets::Spend expected_spend(const Request& request, bool is_program) {
  budgets::Spend spend{.turns = 1};
  if (is_program) return spend;
  size_t bytes = request.system.size();
  for (const auto& message : request.messages) bytes += to_text(to_json(message)).size();
  for (const auto& tool : request.tools) bytes += tool.description.size() + to_text(tool.input_schema).size();
  Usage usage{.input = static_cast<int64_t>(bytes / bytes_of_token),
              .output = request.model.max_output_tokens};
  spend.tokens = usage.total();
  if (request.model.prices) spend.micro_usd = budgets::to_micro_usd(cost_of(*request.model.prices, usage));
  return spend;
}

bool is_priced(const Model& model, ProviderKind kind) {
  return model.prices || kind == ProviderKind::scripted || kind == ProviderKind::claude;
}

budgets::Spend to_spend(const Usage& usage, std::optional<double> cost_usd, const Model& model,
                        ProviderKind kind, int64_t replies) {
  budgets::Spend spend{.tokens = usage.total(), .turns = replies};
  if (!cost_usd && model.prices) cost_usd = cost_of(*model.prices, usage);
  if (!cost_usd && kind == ProviderKind::scripted) cost_usd = 0;
  if (cost_usd)
    spend.micro_usd = budgets::to_micro_usd(*cost_usd);
  else
    spend.unpriced = spend.tokens;
  return spend;
}

std::unique_ptr<Mind> metered_mind(Loop& loop, budgets::Budgets& budgets, Random& random, Mind& inner,
                                   const Provider& provider) {
  return std::make_unique<MeteredMind>(loop, budgets, random, inner, provider);
}

}  // namespace cru::minds
