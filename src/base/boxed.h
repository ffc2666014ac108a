#pragma once
/// Boxed: a large value that passes through many hands. Moving it moves a pointer; copying it copies the
/// value. After a move it is empty, and may only be destroyed or assigned to.
#include <memory>
#include <utility>

namespace cru {

template <class T>
class Boxed {
 public:
  Boxed(T value = {}) : value_(std::make_unique<T>(std::move(value))) {}  // NOLINT: implicit on purpose
  Boxed(const Boxed& other) : value_(std::make_unique<T>(*other)) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    if (this != &other) value_ = std::make_unique<T>(*other);
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  T& operator*() { return *value_; }
  const T& operator*() const { return *value_; }
  T* operator->() { return value_.get(); }
  const T* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<T> value_;
};

}  // namespace cru
