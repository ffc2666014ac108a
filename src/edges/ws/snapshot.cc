#include "edges/ws/snapshot.h"

#include <fmt/format.h>

#include <map>

#include "edges/ws/messages.h"
#include "edges/ws/wire_text.h"

namespace cru::edges {
namespace {

constexpr std::string_view lists[] = {"seats", "users", "agents", "conversations"};
constexpr size_t page_numbers = sizeof(R"(,"page":99999,"pages":99999)");
/// Every byte of an id may have to be written in six.
constexpr size_t room_for_id = sizeof(R"(,"request_id":"")") + 6 * max_request_id_bytes;

/// One page in the making: its members but for the lists, and the lists as text.
struct Page {
  json::object members;
  std::map<std::string_view, std::string> lists;
  size_t size = 0;
};

class Pages {
 public:
  explicit Pages(const json::object& world) : world_(world) {
    add_page();
    for (auto member : {"layout", "hearing", "version", "warning", "auto_mode"})
      if (const auto* value = world_.if_contains(member); value && !value->is_null())
        pages_.back().members[member] = *value;
    for (auto list : lists) pages_.back().lists[list];
    pages_.back().size += to_text(pages_.back().members).size() + 64;
  }

  void add(std::string_view list, std::string item) {
    bool fits = pages_.back().size + item.size() < max_text_bytes;
    if (!fits) add_page();
    auto& page = pages_.back();
    page.size += item.size() + 1;
    auto& text = page.lists[list];
    if (!text.empty()) text += ',';
    text += item;
  }

  std::vector<std::string> texts() const {
    std::vector<std::string> out;
    for (const auto& page : pages_) {
      auto members = page.members;
      members["page"] = out.size() + 1;
      members["pages"] = pages_.size();
      auto text = to_text(members);
      text.pop_back();  // the lists go in before the brace
      for (const auto& [list, items] : page.lists) text += fmt::format(R"(,"{}":[{}])", list, items);
      out.push_back(text + "}");
    }
    return out;
  }

 private:
  void add_page() {
    Page page;
    page.members = {
        {"type", "world_snapshot"}, {"seq", int_or(world_, "last_seq")}, {"page", 0}, {"pages", 0}};
    for (auto member : {"space_id", "now", "now_ms"})
      if (const auto* value = world_.if_contains(member)) page.members[member] = *value;
    page.lists["agents"];
    page.size = to_text(page.members).size() + page_numbers + room_for_id + 64;
    pages_.push_back(std::move(page));
  }

  const json::object& world_;
  std::vector<Page> pages_;
};

/// As text; nobody is so large that a page cannot hold them, or they are told by their id alone.
std::string item_text(const json::value& item) {
  auto text = to_text(item);
  if (text.size() <= max_text_bytes / 2) return text;
  json::object short_one{{"truncated", true}};
  if (const auto* object = item.if_object())
    for (auto id : {"agent_id", "user_id", "uid", "conversationId"})
      if (const auto* value = object->if_contains(id)) short_one[id] = *value;
  return to_text(short_one);
}

}  // namespace

std::vector<std::string> snapshot_pages(const json::object& world) {
  Pages pages(world);
  for (auto list : lists)
    if (const auto* items = array_at(world, list))
      for (const auto& item : *items) pages.add(list, item_text(item));
  return pages.texts();
}

std::string with_request_id(std::string_view page, std::string_view request_id) {
  page.remove_suffix(1);  // the brace
  return fmt::format(R"({},"request_id":{}}})", page, to_text(json::value(request_id)));
}

}  // namespace cru::edges
