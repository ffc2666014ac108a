#include "platform/sandbox/filter_program.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace cru {
namespace {

#if defined(__x86_64__)
constexpr uint32_t this_architecture = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
constexpr uint32_t this_architecture = AUDIT_ARCH_AARCH64;
#else
#error "say how system calls are numbered on this architecture"
#endif
constexpr uint32_t x32_calls = 0x40000000;

}  // namespace

void FilterProgram::add(sock_filter instruction) {
  if (count_ < most) program_[count_] = instruction;
  ++count_;
}
/// Both architectures are little endian: the low half comes first.
void FilterProgram::load(int argument, bool is_high_half) {
  auto offset = offsetof(seccomp_data, args) + static_cast<size_t>(argument) * 8 + (is_high_half ? 4 : 0);
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, static_cast<uint32_t>(offset)));
}
void FilterProgram::answer(uint32_t value) { add(BPF_STMT(BPF_RET | BPF_K, value)); }
void FilterProgram::skip(uint16_t how, uint32_t value, uint8_t if_true, uint8_t if_false) {
  add(BPF_JUMP(static_cast<uint16_t>(BPF_JMP | how | BPF_K), value, if_true, if_false));
}
/// The rule is of so many instructions; other calls go on behind it.
void FilterProgram::begin(long call, uint8_t rest) { skip(BPF_JEQ, static_cast<uint32_t>(call), 0, rest); }

FilterProgram::FilterProgram() {
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, arch)));
  skip(BPF_JEQ, this_architecture, 1, 0);
  answer(refusal(EPERM));
  add(BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)));
  skip(BPF_JGE, x32_calls, 0, 1);
  answer(refusal(ENOSYS));
}

void FilterProgram::refuse(long call, int reason) {
  begin(call, 1);
  answer(refusal(reason));
}

void FilterProgram::refuse_with(long call, int argument, uint32_t mask, int reason) {
  begin(call, 4);
  load(argument);
  skip(BPF_JSET, mask, 0, 1);
  answer(refusal(reason));
  answer(SECCOMP_RET_ALLOW);
}

void FilterProgram::refuse_with_both(long call, int first, uint32_t first_mask, int argument, uint32_t mask,
                                     int reason) {
  begin(call, 6);
  load(first);
  skip(BPF_JSET, first_mask, 0, 3);
  load(argument);
  skip(BPF_JSET, mask, 0, 1);
  answer(refusal(reason));
  answer(SECCOMP_RET_ALLOW);
}

void FilterProgram::refuse_either(long call, int argument, uint32_t value, uint32_t other, int reason) {
  begin(call, 5);
  load(argument);
  skip(BPF_JEQ, value, 1, 0);
  skip(BPF_JEQ, other, 0, 1);
  answer(refusal(reason));
  answer(SECCOMP_RET_ALLOW);
}

void FilterProgram::refuse_for_others(long call, int argument, int reason) {
  begin(call, 4);
  load(argument);
  skip(BPF_JEQ, 0, 1, 0);
  answer(refusal(reason));
  answer(SECCOMP_RET_ALLOW);
}

void FilterProgram::refuse_setting_for_others(long call, int argument, int pointer, int reason) {
  begin(call, 8);
  load(argument);
  skip(BPF_JEQ, 0, 5, 0);
  load(pointer);
  skip(BPF_JEQ, 0, 0, 2);
  load(pointer, true);
  skip(BPF_JEQ, 0, 1, 0);
  answer(refusal(reason));
  answer(SECCOMP_RET_ALLOW);
}

void FilterProgram::refuse_kind_and_others(long call, int kind, uint32_t forbidden, int argument,
                                           int reason) {
  begin(call, 6);
  load(kind);
  skip(BPF_JEQ, forbidden, 2, 0);
  load(argument);
  skip(BPF_JEQ, 0, 1, 0);
  answer(refusal(reason));
  answer(SECCOMP_RET_ALLOW);
}

bool FilterProgram::apply() {
  answer(SECCOMP_RET_ALLOW);
  if (count_ > most) return errno = E2BIG, false;
  sock_fprog filter{static_cast<unsigned short>(count_), program_};
  return ::prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
         ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &filter) == 0;
}

}  // namespace cru
