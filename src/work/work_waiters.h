#pragma once
/// WorkWaiters: agents that wait for work, in the order they came. One item that becomes
/// ready wakes one of them. A ticket is a place in the line; it vanishes with its caller,
/// and what it was woken for is passed on.
#include <list>
#include <memory>

#include "platform/loop/loop.h"

namespace cru::coordination {

class WorkWaiters {
 public:
  explicit WorkWaiters(Loop& loop) : loop_(loop) {}
  WorkWaiters(const WorkWaiters&) = delete;

  class Ticket {
   public:
    Ticket(std::shared_ptr<WorkWaiters> waiters, std::vector<std::string> task_types);
    ~Ticket();
    Ticket(const Ticket&) = delete;
    /// `co_await ticket.wait(limit)`: true if woken.
    Signal::Waiter wait(Duration limit) { return signal_.wait(limit); }
    bool is_woken() const { return woken_; }
    /// It has tried: `taken` is the type of what it got, or empty.
    void tried(const std::string& taken);

   private:
    friend class WorkWaiters;
    bool wants(const std::string& type) const;
    void wake(std::string type, bool sweeps);
    std::shared_ptr<WorkWaiters> waiters_;
    std::vector<std::string> task_types_;
    Signal signal_;
    std::list<Ticket*>::iterator place_;
    bool woken_ = false;
    bool sweeps_ = false;    ///< whatever it finds, the next in line tries too
    std::string woken_for_;  ///< the type of what became ready
  };

  /// An item of this type is ready: the first who wants it and is not on its way already.
  void wake(const std::string& type);
  /// Something is ready, of unknown types: one after the other tries.
  void wake_each() { wake_from(tickets_.begin()); }
  size_t size() const { return tickets_.size(); }

 private:
  void wake_from(std::list<Ticket*>::iterator first);
  Loop& loop_;
  std::list<Ticket*> tickets_;
};

}  // namespace cru::coordination
