#pragma once
/// Reader and Tx: SQL as the rooms' tables see it, the same on every kind of
/// store. Statements are constants; values are always bound. A failing
/// statement throws StoreFailure, which the store alone catches.
#include <bit>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <variant>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "store/tables.h"

namespace cru {

struct NewEvent;
class RowMemory;

struct StoreFailure {
  Error error;
};

/// What a column holds.
using Value = std::variant<std::monostate, int64_t, double, std::string>;
/// What is bound to a statement. A text is not copied: it has to be there until the statement has run, as the
/// arguments of a call are.
using Bound = std::variant<std::monostate, int64_t, double, std::string_view>;

inline Bound to_bound(std::nullopt_t) { return std::monostate(); }
inline Bound to_bound(bool value) { return int64_t(value); }
inline Bound to_bound(int value) { return int64_t(value); }
inline Bound to_bound(int64_t value) { return value; }
inline Bound to_bound(double value) { return value; }
inline Bound to_bound(Time value) { return to_millis(value); }
inline Bound to_bound(const std::string& value) { return std::string_view(value); }
inline Bound to_bound(std::string_view value) { return value; }
inline Bound to_bound(const char* value) { return std::string_view(value); }
template <class T>
Bound to_bound(const std::optional<T>& value) {
  static_assert(std::is_arithmetic_v<T> || std::is_same_v<T, Time> || std::is_same_v<T, std::string> ||
                    std::is_same_v<T, std::string_view> || std::is_same_v<T, const char*>,
                "what is made of it to be bound would be gone before the statement runs");
  return value ? to_bound(*value) : Bound();
}

/// The arguments of a statement, which live as long as the call.
class Bounds {
 public:
  Bounds(std::initializer_list<Bound> values) : values_(values.begin(), values.size()) {}
  Bounds(std::span<const Bound> values) : values_(values) {}
  size_t size() const { return values_.size(); }
  const Bound& operator[](size_t at) const { return values_[at]; }

 private:
  std::span<const Bound> values_;
};

/// One row of an answer; columns by position. A null reads as 0, empty or nullopt, and so does a value of the
/// wrong kind, which is told (note_damage): nothing in the store can end the process.
class Row {
 public:
  /// `statement` is the SQL, which must outlive the row.
  explicit Row(size_t columns, std::string_view statement = {}) : statement_(statement) {
    cells_.reserve(columns);
  }
  explicit Row(const std::vector<Value>& values, std::string_view statement = {});
  /// The next column.
  void add() { cells_.emplace_back(); }
  void add(int64_t value) {
    cells_.push_back({.kind = Cell::Kind::integer, .bits = std::bit_cast<uint64_t>(value)});
  }
  void add(double value) {
    cells_.push_back({.kind = Cell::Kind::real, .bits = std::bit_cast<uint64_t>(value)});
  }
  void add(std::string_view text);

  bool is_null(size_t column) const { return cells_.at(column).kind == Cell::Kind::null; }
  int64_t integer(size_t column) const;
  double real(size_t column) const;
  std::string text(size_t column) const { return std::string(text_view(column)); }
  /// As long as the row is there.
  std::string_view text_view(size_t column) const;
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
  struct Cell {
    enum class Kind : uint32_t { null, integer, real, text };
    Kind kind = Kind::null;
    uint32_t size = 0;  ///< of a text
    uint64_t bits = 0;  ///< a number's, or where a text begins in `texts_`
  };
  std::vector<Cell> cells_;
  std::string texts_;  ///< of all columns, one after the other
  std::string_view statement_;
};

class Reader {
 public:
  virtual ~Reader() = default;

  template <class... Args>
  std::vector<Row> rows(std::string_view sql, Args&&... args) {
    // In one expression: what a conversion makes of an argument is there until its end.
    return query(sql, std::initializer_list<Bound>{to_bound(std::forward<Args>(args))...});
  }
  /// The first row.
  template <class... Args>
  std::optional<Row> row(std::string_view sql, Args&&... args) {
    return query_first(sql, std::initializer_list<Bound>{to_bound(std::forward<Args>(args))...});
  }
  /// The number of the last event this reader can see.
  virtual int64_t last_event() = 0;
  /// The tables that it has read so far; all of them where that is not known.
  virtual Tables tables() const { return Tables::all(); }
  /// What may be read from memory; null where nothing is remembered. See store/row_memory.h.
  virtual RowMemory* memory() { return nullptr; }

 protected:
  virtual std::vector<Row> query(std::string_view sql, Bounds args) = 0;
  virtual std::optional<Row> query_first(std::string_view sql, Bounds args) {
    auto found = query(sql, args);
    if (found.empty()) return {};
    return std::move(found.front());
  }
};

class Tx : public Reader {
 public:
  /// Returns how many rows changed.
  template <class... Args>
  int64_t exec(std::string_view sql, Args&&... args) {
    return execute(sql, std::initializer_list<Bound>{to_bound(std::forward<Args>(args))...});
  }
  /// The same with arguments of which only the program knows how many there are.
  int64_t exec_all(std::string_view sql, std::span<const Bound> args) { return execute(sql, args); }
  /// The key that the last insertion was given, in a table with an integer key.
  virtual int64_t last_inserted() const = 0;
  /// Writes an event with this transaction; it gets its number at commit.
  virtual void emit(NewEvent event) = 0;
  /// The wall time of this transaction: one reading for all its closures' rows.
  virtual Time now() const = 0;

 protected:
  virtual int64_t execute(std::string_view sql, Bounds args) = 0;
};

}  // namespace cru
