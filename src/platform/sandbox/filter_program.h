#pragma once
/// Filter program: a list of rules about system calls, as seccomp takes it. Allocates nothing. A call that
/// has a rule is decided by it.
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>

#include <cstddef>
#include <cstdint>

namespace cru {

class FilterProgram {
 public:
  /// Calls of another architecture are refused: they have other numbers.
  FilterProgram();

  static constexpr uint32_t refusal(int reason) {
    return SECCOMP_RET_ERRNO | (static_cast<uint32_t>(reason) & SECCOMP_RET_DATA);
  }

  void refuse(long call, int reason);
  /// If any bit of `mask` is in an argument.
  void refuse_with(long call, int argument, uint32_t mask, int reason);
  /// If any of `first_mask` is in one argument and any of `mask` in another.
  void refuse_with_both(long call, int first, uint32_t first_mask, int argument, uint32_t mask, int reason);
  /// If an argument is one of two values.
  void refuse_either(long call, int argument, uint32_t value, uint32_t other, int reason);
  /// Unless an argument, of which the low half counts, is 0: the caller itself.
  void refuse_for_others(long call, int argument, int reason);
  /// The same, if another argument, a pointer, is given too.
  void refuse_setting_for_others(long call, int argument, int pointer, int reason);
  /// Unless one argument is not `forbidden` and another is 0.
  void refuse_kind_and_others(long call, int kind, uint32_t forbidden, int argument, int reason);

  /// For this process and all it starts. False with errno, or where there were too many rules.
  bool apply();

 private:
  void add(sock_filter instruction);
  void load(int argument, bool is_high_half = false);
  void begin(long call, uint8_t rest);
  void answer(uint32_t value);
  void skip(uint16_t how, uint32_t value, uint8_t if_true, uint8_t if_false);

  static constexpr size_t most = 400;
  sock_filter program_[most];
  size_t count_ = 0;
};

}  // namespace cru
