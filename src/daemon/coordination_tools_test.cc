// Tools of coordination: an input is checked as the call itself checks it.
#include "daemon/coordination_tools.h"

#include "store/store_fixture.h"

namespace cru::daemon {
namespace {

class CoordinationToolsTest : public StoreFixture {
 public:
  CoordinationToolsTest()
      : StoreFixture({}),
        pool(thread->loop, 1),
        sessions(thread->loop, *store, pool, system_random(), {.root = folder.path()}),
        endings(thread->loop, sessions),
        api(*store),
        tools(api, endings) {}
  ~CoordinationToolsTest() override { thread->stop(); }

  std::string refusal(const std::string& name, std::string_view input) {
    auto good = tools.check(name, parse_json(input)->as_object());
    return good ? std::string() : good.error().field + ": " + good.error().message;
  }

  Pool pool;
  coordination::Sessions sessions;
  Endings endings;
  api::Api api;
  CoordinationTools tools;
};

TEST_F(CoordinationToolsTest, CheckAnInputAsTheCallDoes) {
  auto submit = [&](std::string_view more) {
    return refusal("submit_work",
                   std::string(R"({"task_type":"t","description":"d")") + std::string(more) + "}");
  };
  EXPECT_EQ(submit(""), "");
  EXPECT_EQ(submit(R"(,"priority":1,"depends_on":["a"],"input_data":[{"any":1},2])"), "");
  EXPECT_EQ(submit(R"(,"prority":1)"), "prority: submit_work has no field prority");
  EXPECT_EQ(submit(R"(,"priority":"high")"), "priority: priority must be an integer");
  EXPECT_EQ(submit(R"(,"priority":11)"), "priority: priority must be from 1 to 10");
  EXPECT_EQ(submit(R"(,"depends_on":[1])"), "depends_on: depends_on must be a list of strings");
  EXPECT_EQ(submit(R"(,"on_dependency_failure":"wait")"),
            "on_dependency_failure: on_dependency_failure must be one of fail, release");
  EXPECT_EQ(refusal("submit_work", R"({"task_type":"t"})"), "description: description is required");
  EXPECT_NE(refusal("no_such", "{}"), "");
}

}  // namespace
}  // namespace cru::daemon
