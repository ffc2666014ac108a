#pragma once
/// Reader and Tx: SQL as the rooms' tables see it, the same on every kind of
/// store. Statements are constants; values are always bound. A failing
/// statement throws StoreFailure, which the store alone catches.
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/tables.h"

namespace cru {

struct NewEvent;

struct StoreFailure {
  Error error;
};

using Value = std::variant<std::monostate, int64_t, double, std::string>;

inline Value to_value(std::nullopt_t) { return std::monostate(); }
inline Value to_value(bool value) { return int64_t(value); }
inline Value to_value(int value) { return int64_t(value); }
inline Value to_value(int64_t value) { return value; }
inline Value to_value(double value) { return value; }
inline Value to_value(Time value) { return to_millis(value); }
inline Value to_value(std::string value) { return value; }
inline Value to_value(std::string_view value) { return std::string(value); }
inline Value to_value(const char* value) { return std::string(value); }
template <class T>
Value to_value(const std::optional<T>& value) {
  return value ? to_value(*value) : Value();
}

/// One row of an answer; columns by position. A null reads as 0, empty or nullopt, and so does a value of the
/// wrong kind, which is told (note_damage): nothing in the store can end the process.
class Row {
 public:
  /// `statement` is the SQL, which must outlive the row.
  explicit Row(std::vector<Value> values, std::string_view statement = {})
      : values_(std::move(values)), statement_(statement) {}
  bool is_null(size_t column) const { return values_.at(column).index() == 0; }
  int64_t integer(size_t column) const;
  double real(size_t column) const;
  std::string text(size_t column) const;
  bool boolean(size_t column) const { return integer(column) != 0; }
  /// From the year 1 to the year 9999; anything else is no time.
  Time time(size_t column) const { return maybe_time(column).value_or(Time()); }
  /// Milliseconds, as a length of time or on the clock since boot: at most some hundred thousand years, so
  /// that sums of them are still numbers.
  Duration duration(size_t column) const;
  std::optional<int64_t> maybe_integer(size_t column) const;
  std::optional<Time> maybe_time(size_t column) const;
  /// The strings of a JSON array. Anything else is none at all: half a command line is another command.
  std::vector<std::string> texts(size_t column) const;
  /// Says that what a column holds, though of the right kind, cannot be.
  void is_damaged(size_t column, std::string_view why) const;

 private:
  std::vector<Value> values_;
  std::string_view statement_;
};

class Reader {
 public:
  virtual ~Reader() = default;

  template <class... Args>
  std::vector<Row> rows(std::string_view sql, Args&&... args) {
    return query(sql, {to_value(std::forward<Args>(args))...});
  }
  template <class... Args>
  std::optional<Row> row(std::string_view sql, Args&&... args) {
    auto found = rows(sql, std::forward<Args>(args)...);
    if (found.empty()) return {};
    return std::move(found.front());
  }
  /// The number of the last event this reader can see.
  virtual int64_t last_event() = 0;
  /// The tables that it has read so far; all of them where that is not known.
  virtual Tables tables() const { return Tables::all(); }

 protected:
  virtual std::vector<Row> query(std::string_view sql, std::vector<Value> args) = 0;
};

class Tx : public Reader {
 public:
  /// Returns how many rows changed.
  template <class... Args>
  int64_t exec(std::string_view sql, Args&&... args) {
    return execute(sql, {to_value(std::forward<Args>(args))...});
  }
  /// Writes an event with this transaction; it gets its number at commit.
  virtual void emit(NewEvent event) = 0;
  /// The wall time of this transaction: one reading for all its closures' rows.
  virtual Time now() const = 0;

 protected:
  virtual int64_t execute(std::string_view sql, std::vector<Value> args) = 0;
};

}  // namespace cru
