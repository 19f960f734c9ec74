// Several processes on one store.
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "src/adapters/postgres/pg_fixture.hpp"

namespace pawl::postgres {
namespace {

using testing::run;

// Another process, with a store of its own: reserves every key it can, and says how many.
[[noreturn]] void race_in_a_child(const std::string& url, int child, int go, int keys) {
  int exit_code = 1;
  {
    const auto store = open_store(url);
    char byte = 0;
    if (::read(go, &byte, 1) < 0) ::_exit(2);
    std::vector<Record> rows;
    for (int i = 0; i < keys; ++i) {
      rows.push_back(held("raced-key-" + std::to_string(i), "child-" + std::to_string(child)));
    }
    std::size_t answered = 0;
    for (int i = 0; i < keys; i += 25) {
      const std::vector<Record> part(rows.begin() + i, rows.begin() + i + 25);
      for (const auto& written : run(store->insert_or_read(part))) {
        if (!written || !written->current) continue;
        ++answered;
        if (!written->mine) continue;
        const Record done = completed(*written->current);
        const auto settled = run(store->replace_one({done, guard_of(*written->current), {}}));
        if (!settled || !settled->mine) ::_exit(3);
      }
    }
    exit_code = answered == rows.size() ? 0 : 4;
  }
  ::_exit(exit_code);
}

TEST(Races, TwoProcessesNeverOwnOneKey) {
  const std::string url = migrated_url(shared_server());
  constexpr int children = 3;
  constexpr int keys = 500;
  std::array<int, 2> go{};
  ASSERT_EQ(::pipe(go.data()), 0);
  std::vector<pid_t> running;
  for (int child = 0; child < children; ++child) {
    running.push_back(::fork());
    if (running.back() == 0) {
      ::close(go[1]);
      race_in_a_child(url, child, go[0], keys);
    }
  }
  ::close(go[1]);  // all of them read the end at once
  for (const pid_t child : running) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  }
  ::close(go[0]);
  Sql sql(url);
  EXPECT_EQ(sql("SELECT count(*) FROM pawl.keys WHERE status = 'completed'"), std::to_string(keys));
}

}  // namespace
}  // namespace pawl::postgres
