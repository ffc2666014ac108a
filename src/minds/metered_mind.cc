#include "minds/metered_mind.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/id.h"
#include "base/trace_context.h"
#include "minds/usage_limit.h"
#include "platform/files/log.h"

namespace cru::minds {
namespace {

/// Bytes of a prompt for one token, taken low: rather too much is set aside than too little.
constexpr size_t bytes_of_token = 3;

size_t bytes_of(const Request& request) {
  size_t bytes = request.system.size();
  for (const auto& message : request.messages) bytes += to_text(to_json(message)).size();
  for (const auto& tool : request.tools) bytes += tool.description.size() + to_text(tool.input_schema).size();
  return bytes;
}

/// Passes everything on, and counts. Written one at a time, the newest each time.
class Metering final : public Listener, public std::enable_shared_from_this<Metering> {
 public:
  Metering(Loop& loop, budgets::Budgets& budgets, Listener& listener, std::string id, const Request& request,
           ProviderKind kind, bool is_program, const budgets::Begun& begun)
      : loop_(loop),
        budgets_(budgets),
        listener_(listener),
        id_(std::move(id)),
        trace_id_(parse_traceparent(request.traceparent).value_or(TraceContext()).trace_id),
        model_(request.model),
        kind_(kind),
        is_program_(is_program),
        prompt_bytes_(bytes_of(request)),
        worked_(begun.counted),
        works_since_(loop.clock().boot()),
        has_asked_(begun.counted_until != Time()),
        written_(loop) {}

  Stop stop;  ///< of the reply: by whoever asked for it, or by the budget
  std::optional<budgets::Shortage> shortage;

  void text(std::string_view more) override {
    said_bytes_ += more.size();
    if (!closed_) listener_.text(more);
  }
  void tool_used(const std::string& name, const json::object& input) override {
    said_bytes_ += name.size() + to_text(input).size();
    if (!closed_) listener_.tool_used(name, input);
  }
  void waiting(const std::string& why, Duration how_long) override {
    if (closed_) return;
    if (why == "rate_limited" && !is_program_) hold_clock(std::min<Duration>(how_long, longest_short_limit));
    listener_.waiting(why, how_long);
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

  void tell_uncounted(const Error& why) const {
    log_error("cannot count what a reply has cost", why, {{"call", id_}, {"trace_id", trace_id_}});
  }

  /// Counts again when so much time has passed: then it may be over.
  void arm(std::optional<Duration> time_left) {
    disarm();
    if (!time_left || closed_) return;
    auto delay = std::max<Duration>(*time_left + still_limited(), 1ms);
    timer_ = loop_.set_timer(delay, [weak = weak_from_this()] {
      auto self = weak.lock();
      if (!self) return;
      self->timer_ = 0;
      self->count();
    });
  }
  void disarm() {
    if (auto timer = std::exchange(timer_, 0)) loop_.cancel_timer(timer);
  }

  void end_for(const budgets::Shortage& found) {
    shortage = found;
    stop.request();
  }

  /// Somebody has spent what this one draws from too, or a budget was changed.
  void check() {
    if (!closed_) loop_.spawn(look(shared_from_this()));
  }

  /// A person is asked, or no longer: its time stands still, or goes on.
  void asked() {
    has_asked_ = true;
    if (!closed_) count();
  }
  bool has_asked() const { return has_asked_; }

  Task<budgets::Spend> finish(const Result<Reply>& reply) {
    closed_ = true;
    disarm();
    while (writing_) co_await written_.wait();
    auto told = reply ? reply->usage : Usage();
    if (!is_program_ && kind_ != ProviderKind::scripted && (reply || said_bytes_ > 0))
      told = plausible_usage(told, prompt_bytes_, said_bytes_);
    auto counted =
        to_spend(told, reply ? reply->cost_usd : std::nullopt, model_, kind_, std::max<int64_t>(1, replies_));
    if (reply || counted.tokens > now_.tokens) now_ = counted;
    co_return total();
  }

 private:
  budgets::Spend total() const {
    auto all = before_ + now_;
    all.time = worked_ + (loop_.clock().boot() - works_since_) - (limited_ - still_limited());
    return all;
  }

  /// It waits for its provider's limit: its time stands still.
  void hold_clock(Duration how_long) {
    limited_ += how_long - still_limited();
    limited_until_ = loop_.clock().boot() + how_long;
  }
  Duration still_limited() const { return std::max(Duration(0), limited_until_ - loop_.clock().boot()); }

  void count() {
    dirty_ = true;
    if (!std::exchange(writing_, true)) loop_.spawn(write(shared_from_this()));
  }

  static Task<void> write(std::shared_ptr<Metering> self) {
    while (std::exchange(self->dirty_, false)) {
      auto told = self->total();
      auto noted = co_await self->budgets_.note(self->id_, told, self->has_asked_);
      if (!noted) self->tell_uncounted(noted.error());
      // In what does not count a person was asked.
      if (noted) self->worked_ -= told.time - noted->time;
      if (noted && !self->closed_) self->take(*noted);
    }
    self->writing_ = false;
    self->written_.notify();
  }

  static Task<void> look(std::shared_ptr<Metering> self) {
    auto found = co_await self->budgets_.standing_of(self->id_);
    if (!found || self->closed_) co_return;
    // What has passed of its time is not counted yet.
    if (!found->shortage && found->time_left) self->count();
    self->take(*found);
  }

  void take(const budgets::Standing& standing) {
    if (!standing.shortage) return arm(standing.is_asking ? std::nullopt : standing.time_left);
    // The reply of an API ends by itself; only its time can be over.
    if (is_program_ || standing.shortage->resource == budgets::Resource::time) end_for(*standing.shortage);
  }

  Loop& loop_;
  budgets::Budgets& budgets_;
  Listener& listener_;
  const std::string id_, trace_id_;
  const Model model_;
  const ProviderKind kind_;
  const bool is_program_;
  const size_t prompt_bytes_;
  size_t said_bytes_ = 0;
  Duration worked_;  ///< its time but for what has passed since then; an earlier daemon may have begun it
  const BootTime works_since_;
  Duration limited_{0};  ///< in which it waits or waited for its provider's limit
  BootTime limited_until_ = {};
  bool has_asked_;  ///< since it began; of what an earlier daemon began that is not known
  Loop::TimerId timer_ = 0;
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
    auto begun = co_await begin(request, id, is_program, listener, stop);
    if (!begun) co_return fail(std::move(begun.error()));
    auto metering =
        std::make_shared<Metering>(loop_, budgets_, listener, id, request, kind_, is_program, *begun);
    Stop::Listener passes(stop, [metering] { metering->stop.request(); });
    auto watch = budgets_.watch([metering] { metering->check(); },
                                request.payer.member.empty() ? request.member : request.payer.member,
                                [metering] { metering->asked(); });
    Armed armed{*metering};
    // Whoever follows the program ends it.
    if (begun->shortage) metering->end_for(*begun->shortage);
    if (!begun->unpriced.empty()) metering->stop.request();
    metering->arm(begun->time_left);
    auto model = request.model.name;
    auto reply = co_await inner_.think(std::move(request), *metering, metering->stop);
    auto total = co_await metering->finish(reply);
    auto ended = co_await budgets_.end(std::move(id), total, metering->has_asked());
    if (!ended) metering->tell_uncounted(ended.error());
    if (!reply && metering->shortage && !stop.requested()) {
      auto failure = budgets::exhausted(*metering->shortage);
      bool may_go_on = budgets::may_be_raised(*metering->shortage);
      co_return fail(may_go_on ? interrupted_by_budget(std::move(failure)) : std::move(failure));
    }
    if (!reply && !begun->unpriced.empty() && !stop.requested())
      co_return fail(budgets::unpriced(model, begun->unpriced));
    co_return reply;
  }

 private:
  struct Armed {
    Metering& metering;
    ~Armed() { metering.disarm(); }
  };

  /// A program that an earlier daemon began runs, whatever is left for it and whether it is still wanted: it
  /// is counted, and whoever follows it ends it. Anything else begins when it may.
  Task<Result<budgets::Begun>> begin(const Request& request, std::string id, bool is_program,
                                     Listener& listener, Stop& stop) {
    auto payer = request.payer;
    if (payer.member.empty()) payer.member = request.member;
    if (payer.trace_id.empty())
      payer.trace_id = parse_traceparent(request.traceparent).value_or(TraceContext()).trace_id;
    if (payer.chain.empty() && !request.agent.empty()) payer.chain = {"user", request.agent};
    budgets::Begin call{.id = id,
                        .payer = std::move(payer),
                        .provider = provider_,
                        .model = request.model.name,
                        .wanted = expected_spend(request, is_program),
                        .is_priced = is_priced(request.model, kind_)};
    if (is_program && request.follows && !request.run_id.empty()) {
      auto is_known = co_await budgets_.has_begun(id);
      if (!is_known) co_return fail(std::move(is_known.error()));
      if (*is_known) co_return co_await budgets_.take_up(std::move(call));
    }
    bool waits = false;
    auto tell_waiting = [&] {
      waits = true;
      listener.waiting_for_budget(true);
    };
    auto time_left = co_await budgets_.begin(std::move(call), stop, tell_waiting);
    if (waits) listener.waiting_for_budget(false);
    if (stop.requested()) {
      if (time_left) co_await budgets_.abandon(id);
      co_return fail(mind_failure("cancelled", "the reply was cancelled"));
    }
    if (!time_left) co_return fail(std::move(time_left.error()));
    co_return budgets::Begun{.time_left = *time_left};
  }

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
  Usage usage{.input = static_cast<int64_t>(bytes_of(request) / bytes_of_token),
              .output = request.model.max_output_tokens};
  spend.tokens = usage.total();
  if (request.model.prices) spend.micro_usd = budgets::to_micro_usd(cost_of(*request.model.prices, usage));
  return spend;
}

Usage plausible_usage(Usage told, size_t prompt_bytes, size_t said_bytes) {
  constexpr size_t most_bytes_of_token = 16;
  auto estimate = [](size_t bytes) {
    return static_cast<int64_t>((bytes + bytes_of_token - 1) / bytes_of_token);
  };
  if (told.output < static_cast<int64_t>(said_bytes / most_bytes_of_token))
    told.output = estimate(said_bytes);
  if (told.input + told.cache_read + told.cache_write <= 0) told.input = estimate(prompt_bytes);
  return told;
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
