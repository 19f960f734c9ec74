// What a node costs its machine and its database, with every feature in use: connections, threads.
#include <filesystem>
#include <fstream>
#include <iostream>
#include <map>
#include <thread>

#include "tests/e2e/gateway_fixture.hpp"

namespace pawl::e2e {
namespace {

class Numbers : public OnPostgres {
 protected:
  // Requests that wait, async ones, observed ones, a source with a ledger, a destination.
  ServeProcess& start_all(bool worker) {
    const std::string url = upstream.url();
    return start({.policy = "reconcile = \"books\"\n",
                  .top = "threads = 2\nsweep_interval = \"100ms\"\n",
                  .rest = "[[route]]\nmatch = \"POST /wait\"\nin_flight = \"wait\"\n"
                          "[[route]]\nmatch = \"POST /later\"\nmode = \"async\"\n"
                          "[[route]]\nmatch = \"POST /watched\"\nmode = \"observe\"\n"
                          "[[route]]\nmatch = \"POST /committed\"\ntransactional = true\n"
                          "[[destination]]\nname = \"provider\"\nurl = \"" +
                          url + "\"\nsecret_file = \"" + (folder() / "secret").string() +
                          "\"\n[[source]]\nname = \"books\"\nurl = \"" + url +
                          "/books/{derived_key}\"\n"
                          "[[source.rule]]\nstatus = 404\nthen = \"unknown\"\n"},
                 worker);
  }
  void SetUp() override { std::ofstream(folder() / "secret") << "whsec_0123456789abcdef"; }

  [[nodiscard]] std::string connections() {
    return shared_postgres().query(
        "SELECT count(*) FROM pg_stat_activity WHERE application_name = 'pawl' AND datname = '" +
        database() + "'");
  }

  // By name, as the kernel has them: a thread of ours has one.
  static std::size_t threads(const ServeProcess& node) {
    std::size_t count = 0;
    const std::string tasks = "/proc/" + std::to_string(node.pid()) + "/task";
    for (const auto& task : std::filesystem::directory_iterator(tasks)) {
      std::string name;
      std::ifstream(task.path() / "comm") >> name;
      if (!name.starts_with("jemalloc")) ++count;
    }
    return count;
  }

  void use_everything(const ServeProcess& node, const std::string& key) {
    for (const char* path : {"/wait", "/later", "/watched", "/committed", "/plain"}) {
      Post request = payment;
      request.path = path;
      request.key = "0123456789abcdef" + key + std::string(path + 1);
      EXPECT_LT(post(node.port(), request).status, 300) << path;
    }
  }
};

TEST_F(Numbers, ANodeNeedsFourConnectionsAndNoThreadPerFeature) {
  upstream.behave(Behaviour::answer(201));
  ServeProcess& node = start_all(false);
  use_everything(node, "first");
  // One that writes, one for transactional rows, one that reads, one for all the rest.
  EXPECT_TRUE(until([&] { return connections() == "4"; })) << connections();
  use_everything(node, "second");
  EXPECT_EQ(connections(), "4");
  std::cout << "count: a node on PostgreSQL: " << connections() << " connections, " << threads(node)
            << " threads\n";
  // The main thread, two event loops, the store's loop and its session, the log's.
  EXPECT_LE(threads(node), 6U);
}

TEST_F(Numbers, AWorkerNeedsNoMore) {
  ServeProcess& worker = start_all(true);
  EXPECT_TRUE(until([&] { return std::stoi(connections()) >= 2; })) << connections();
  EXPECT_LE(std::stoi(connections()), 4);
  EXPECT_LE(threads(worker), 6U);
}

}  // namespace
}  // namespace pawl::e2e
