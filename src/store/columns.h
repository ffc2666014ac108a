#pragma once
/// Columns: which columns of a table hold which members of a struct, said once. From that come the texts of
/// statements, and the reading and writing of rows; no position is written by hand.
///
///   constexpr auto lock_columns = columns<Lock>(
///       "locks", column("path", &Lock::path), column<ByName<kind_from>>("kind", &Lock::kind),
///       part(&Lock::expires, column("expires_at", &Moment::wall), column("boot", &Moment::boot)));
///
///   auto lock = read_row<lock_columns, "SELECT {} FROM locks WHERE path = ?">(reader, path);
///   insert_row<lock_columns>(tx, *lock);
///   update_row<lock_columns, "path", "kind", "boot">(tx, *lock);  // the last two, of the one with its path
///
/// A list is a constant of a namespace, and what does not fit together is not compiled.
#include <array>
#include <memory>
#include <span>
#include <tuple>
#include <utility>

#include "store/column_value.h"
#include "store/statement_text.h"

namespace cru {

/// A column and the member that it holds. `Way` says how, unless its type does.
template <class Way, class T, class Member>
struct Column {
  using Of = T;
  static constexpr size_t width = 1;
  std::string_view name;
  Member T::* member;

  auto store(const T& value) const {
    if constexpr (std::is_void_v<Way>)
      return to_column(value.*member);
    else
      return Way::store(value.*member);
  }
  void load(const Row& row, size_t at, T& value) const {
    if constexpr (std::is_void_v<Way>)
      from_column(row, at, value.*member);
    else
      value.*member = Way::load(row, at);
  }
  constexpr auto singles() const { return std::tuple(*this); }
};

template <class Way = void, class T, class Member>
constexpr auto column(std::string_view name, Member T::* member) {
  return Column<Way, T, Member>{name, member};
}

template <class T>
std::optional<T> to_optional(T);
template <class T>
std::optional<T> to_optional(std::optional<T>);

/// One column of a part.
template <class T, class Part, class Inner>
struct PartColumn {
  std::string_view name;
  Part T::* member;
  Inner inner;

  auto store(const T& value) const {
    const Part& held = value.*member;
    if constexpr (std::is_same_v<Part, typename Inner::Of>) {
      return inner.store(held);
    } else {
      using Stored = decltype(to_optional(inner.store(*held)));
      return held ? Stored(inner.store(*held)) : Stored();
    }
  }
};

template <class T, class Part, class First, class... Others>
struct PartColumns {
  using Of = T;
  using Whole = typename First::Of;
  static constexpr size_t width = 1 + sizeof...(Others);
  Part T::* member;
  std::tuple<First, Others...> inner;

  void load(const Row& row, size_t at, T& value) const {
    if constexpr (std::is_same_v<Part, Whole>) {
      load_whole(row, at, value.*member);
    } else if constexpr (std::is_same_v<Part, std::optional<Whole>>) {
      (value.*member).reset();
      if (!row.is_null(at)) load_whole(row, at, (value.*member).emplace());
    } else {
      auto made = std::make_shared<Whole>();
      load_whole(row, at, *made);
      value.*member = std::move(made);
    }
  }
  void load_whole(const Row& row, size_t at, Whole& whole) const {
    std::apply([&](const auto&... one) { (one.load(row, at++, whole), ...); }, inner);
  }
  constexpr auto singles() const {
    return std::apply(
        [&]<class... Inner>(const Inner&... one) {
          return std::tuple(PartColumn<T, Part, Inner>{one.name, member, one}...);
        },
        inner);
  }
};

/// The columns of a member that is a struct, an optional one (none if the first column is null), or a shared
/// one.
template <class T, class Part, class... Inner>
constexpr auto part(Part T::* member, Inner... inner) {
  return PartColumns<T, Part, Inner...>{member, {inner...}};
}

template <class T, class... Items>
struct ColumnList {
  using Of = T;
  static constexpr size_t width = (Items::width + ...);
  std::string_view table;
  std::tuple<Items...> items;

  /// What the first `width` columns of a row hold.
  T read(const Row& row) const {
    T value;
    size_t at = 0;
    std::apply([&](const auto&... item) { ((item.load(row, at, value), at += item.width), ...); }, items);
    return value;
  }
  constexpr auto singles() const {
    return std::apply([](const auto&... item) { return std::tuple_cat(item.singles()...); }, items);
  }
  constexpr auto names() const {
    return std::apply([](const auto&... one) { return std::array{one.name...}; }, singles());
  }
  constexpr size_t place_of(std::string_view name) const {
    auto all = names();
    auto found = std::ranges::find(all, name);
    if (found == all.end()) throw "the list has no column of this name";
    return static_cast<size_t>(found - all.begin());
  }
};

template <class T, class... Items>
constexpr auto columns(std::string_view table, Items... items) {
  static_assert((std::is_same_v<typename Items::Of, T> && ...), "a column of another struct");
  return ColumnList<T, Items...>{table, {items...}};
}
/// A list and further columns behind it.
template <class T, class... Items, class... More>
constexpr auto columns(const ColumnList<T, Items...>& first, More... more) {
  return std::apply([&](auto... items) { return columns<T>(first.table, items..., more...); }, first.items);
}
template <const auto& list>
using RowOf = typename std::remove_cvref_t<decltype(list)>::Of;

// Reading.

template <const auto& list, Literal text>
struct SelectText {
  static constexpr TextMaker make() { return with_columns(text.view(), list.names()); }
};
/// A statement that reads the columns of a list, "SELECT {} FROM runs WHERE …", or with an alias, "SELECT {r}
/// FROM runs AS r WHERE …". More columns may follow.
template <const auto& list, Literal text>
constexpr std::string_view select = StaticText<SelectText<list, text>>::view;

/// What `read` makes of each row that a statement finds.
template <class Read, class... Args>
auto read_each(Reader& reader, std::string_view sql, Read read, Args&&... args) {
  auto rows = reader.rows(sql, std::forward<Args>(args)...);
  std::vector<decltype(read(rows.front()))> found;
  found.reserve(rows.size());
  for (const auto& row : rows) found.push_back(read(row));
  return found;
}
/// What it makes of the first. None if there is no row, or if it makes none of it.
template <class Read, class... Args>
auto read_first(Reader& reader, std::string_view sql, Read read, Args&&... args) {
  auto row = reader.row(sql, std::forward<Args>(args)...);
  return row ? std::optional(read(*row)) : std::nullopt;
}

/// The value of a list's columns; with `More`, a tuple of it and the columns that follow.
template <const auto& list, class... More>
auto value_in(const Row& row) {
  [[maybe_unused]] size_t at = list.width;
  if constexpr (sizeof...(More) == 0)
    return list.read(row);
  else
    return std::tuple<RowOf<list>, More...>{list.read(row), value_at<More>(row, at++)...};
}
/// The values that a select finds; with `More`, tuples of them and the columns that follow.
template <const auto& list, Literal text, class... More, class... Args>
auto read_rows(Reader& reader, Args&&... args) {
  return read_each(reader, select<list, text>, value_in<list, More...>, std::forward<Args>(args)...);
}
template <const auto& list, Literal text, class... More, class... Args>
auto read_row(Reader& reader, Args&&... args) {
  return read_first(reader, select<list, text>, value_in<list, More...>, std::forward<Args>(args)...);
}

/// All columns of a row: one by itself, several as a tuple.
template <class... Ts>
auto values_in(const Row& row) {
  [[maybe_unused]] size_t at = 0;
  if constexpr (sizeof...(Ts) == 1)
    return (value_at<Ts>(row, at), ...);
  else
    return std::tuple<Ts...>{value_at<Ts>(row, at++)...};
}
/// What any other statement finds.
template <class... Ts, class... Args>
auto read_values(Reader& reader, std::string_view sql, Args&&... args) {
  return read_each(reader, sql, values_in<Ts...>, std::forward<Args>(args)...);
}
template <class... Ts, class... Args>
auto read_value(Reader& reader, std::string_view sql, Args&&... args) {
  return read_first(reader, sql, values_in<Ts...>, std::forward<Args>(args)...);
}

// Writing. Each of these gives how many rows changed.

template <const auto& list>
inline constexpr auto singles_of = list.singles();

template <const auto& list, Literal verb, Literal key, Literal... more>
struct InsertText {
  static constexpr TextMaker make() {
    constexpr auto names = list.names();
    TextMaker text;
    text << verb.view() << " INTO " << list.table << "(";
    list_columns(text, names);
    ((text << ", " << more.view()), ...);
    text << ") VALUES(?";
    for (size_t i = 1; i < names.size() + sizeof...(more); ++i) text << ", ?";
    text << ")";
    if (key.view().empty()) return text;
    text << " ON CONFLICT(" << key.view() << ") DO UPDATE SET ";
    std::string_view between;
    for (auto name : names)
      if (name != key.view()) text << std::exchange(between, ", ") << name << " = excluded." << name;
    return text;
  }
};
template <const auto& list, Literal verb, Literal key, Literal... more>
int64_t insert_as(Tx& tx, const RowOf<list>& value, const auto&... values) {
  static_assert(sizeof...(more) == sizeof...(values), "each further column needs a value");
  constexpr auto sql = StaticText<InsertText<list, verb, key, more...>>::view;
  return std::apply([&](const auto&... one) { return tx.exec(sql, one.store(value)..., values...); },
                    singles_of<list>);
}

/// Inserts a row. `more` are columns that the list does not have, which get `values`.
template <const auto& list, Literal... more>
int64_t insert_row(Tx& tx, const RowOf<list>& value, const auto&... values) {
  return insert_as<list, "INSERT", "", more...>(tx, value, values...);
}
/// In place of every row that it conflicts with.
template <const auto& list, Literal... more>
int64_t replace_row(Tx& tx, const RowOf<list>& value, const auto&... values) {
  return insert_as<list, "INSERT OR REPLACE", "", more...>(tx, value, values...);
}
/// Unless it conflicts with a row that is there.
template <const auto& list, Literal... more>
int64_t insert_new_row(Tx& tx, const RowOf<list>& value, const auto&... values) {
  return insert_as<list, "INSERT OR IGNORE", "", more...>(tx, value, values...);
}
/// Inserts it, or changes the row with the same `key`.
template <const auto& list, Literal key>
int64_t upsert_row(Tx& tx, const RowOf<list>& value) {
  static_assert(list.place_of(key.view()) < list.width);
  return insert_as<list, "INSERT", key>(tx, value);
}

template <const auto& list, Literal verb, size_t rows>
struct InsertManyText {
  static constexpr TextMaker make() {
    TextMaker text;
    text << verb.view() << " INTO " << list.table << "(";
    list_columns(text, list.names());
    for (size_t row = 0; row < rows; ++row)
      for (size_t i = 0; i < list.width; ++i) text << (i > 0 ? ", ?" : row > 0 ? "), (?" : ") VALUES(?");
    return text << ")";
  }
};
template <const auto& list, Literal verb, size_t rows>
void insert_some(Tx& tx, std::span<const RowOf<list>> values) {
  std::array<Bound, rows * list.width> bound;
  auto next = bound.begin();
  for (const auto& value : values) {
    auto bind = [&](const auto& one) {
      using Stored = decltype(one.store(value));
      static_assert(
          !std::is_same_v<Stored, std::string> && !std::is_same_v<Stored, std::optional<std::string>>,
          "what is made of it to be bound would be gone before the statement runs");
      *next++ = to_bound(one.store(value));
    };
    std::apply([&](const auto&... one) { (bind(one), ...); }, singles_of<list>);
  }
  tx.exec_all(StaticText<InsertManyText<list, verb, rows>>::view, bound);
}
/// Inserts all of them, 16 a statement: to begin and end one costs as much as a row.
template <const auto& list, Literal verb = "INSERT">
void insert_rows(Tx& tx, std::span<const RowOf<list>> values) {
  constexpr size_t most = 16;
  for (; values.size() >= most; values = values.subspan(most))
    insert_some<list, verb, most>(tx, values.first(most));
  for (const auto& value : values) insert_some<list, verb, 1>(tx, {&value, 1});
}

template <const auto& list, Literal... changed>
int64_t update_as(Tx& tx, std::string_view sql, const RowOf<list>& value, const auto&... more) {
  return tx.exec(sql, std::get<list.place_of(changed.view())>(singles_of<list>).store(value)..., more...);
}

template <const auto& list, Literal key, Literal... changed>
struct UpdateText {
  static constexpr TextMaker make() {
    TextMaker text;
    text << "UPDATE " << list.table << " SET ";
    list_columns(text, std::array{changed.view()...}, {}, " = ?");
    return text << " WHERE " << key.view() << " = ?";
  }
};
/// Changes some columns of the row with the same `key`.
template <const auto& list, Literal key, Literal... changed>
int64_t update_row(Tx& tx, const RowOf<list>& value) {
  return update_as<list, changed..., key>(tx, StaticText<UpdateText<list, key, changed...>>::view, value);
}

template <Literal text, Literal... changed>
struct ChangeText {
  static constexpr TextMaker make() {
    return with_columns(text.view(), std::array{changed.view()...}, " = ?");
  }
};
/// The same by a statement of one's own, "UPDATE runs SET {}, … WHERE …"; `more` are its further arguments.
template <const auto& list, Literal text, Literal... changed>
int64_t update_rows(Tx& tx, const RowOf<list>& value, const auto&... more) {
  return update_as<list, changed...>(tx, StaticText<ChangeText<text, changed...>>::view, value, more...);
}

}  // namespace cru
