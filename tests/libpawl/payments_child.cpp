// A small payments service as a process that can be killed and stopped anywhere. It takes one
// request, or completes what others left behind, and says what came of it:
//
//   payments_child store=URL ledger=FILE key=KEY [do=pay|complete|points|setup] [kill=POINT]
//                  [stop=POINT] [dedupes=no] [window=MS] [look_up=yes] [version=2] [lease=MS]
//
// Its flow has a local, a foreign and a local phase. The provider is a file that only ever grows: a
// line for each time that money moved, which no transaction of ours can take back.
#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <unistd.h>

#include <fstream>
#include <iostream>
#include <map>

#include "pawl/pawl.hpp"

namespace {

using namespace std::chrono_literals;

std::map<std::string, std::string> options;

std::string option(const std::string& name, const std::string& otherwise = "") {
  const auto found = options.find(name);
  return found == options.end() ? otherwise : found->second;
}

void reach(std::string_view point) {
  if (option("do") == "points") std::cout << point << '\n' << std::flush;
  if (option("kill") == point) ::kill(::getpid(), SIGKILL);
  if (option("stop") == point) {
    options["stop"].clear();
    std::cout << "stopped\n" << std::flush;
    ::raise(SIGSTOP);
  }
}

// The provider: charges once per key, for as long as it likes to remember keys.
class Provider {
 public:
  static bool knows(const std::string& key) {
    std::ifstream lines(option("ledger"));
    for (std::string line; std::getline(lines, line);) {
      if (line == key) return true;
    }
    return false;
  }

  static pawl::Outcome charge(const pawl::Call& call) {
    const int file = ::open(option("ledger").c_str(), O_CREAT | O_APPEND | O_WRONLY, 0600);
    ::flock(file, LOCK_EX);
    const bool again = option("dedupes") != "no" && knows(call.key);
    reach("provider:before-charge");
    if (!again) {
      const std::string line = call.key + "\n";
      if (::write(file, line.data(), line.size()) < 0) ::_exit(1);
    }
    reach("provider:after-charge");
    ::close(file);
    return pawl::Answered{answer(call)};
  }

  static std::optional<pawl::Response> look_up(const pawl::Call& call) {
    if (!knows(call.key)) return std::nullopt;
    return answer(call);
  }

 private:
  static pawl::Response answer(const pawl::Call& call) {
    return {201, {}, "ch_" + call.key.substr(0, 8)};
  }
};

pawl::Next create(pawl::Transaction& tx, const pawl::Run& run) {
  tx.execute("INSERT INTO payments (id, client_key, status) VALUES ($1, $2, 'created')",
             {run.id("payment"), run.key.text});
  reach("create:wrote");
  return pawl::advance(option("version") == "2" ? "charge-v2" : "charge")
      .with("payment", run.id("payment"));
}

pawl::Next charged(pawl::Transaction& tx, const pawl::Run& run, const pawl::Response& answer) {
  tx.execute("UPDATE payments SET charge = $2, status = 'charged' WHERE id = $1",
             {run.get("payment"), answer.body});
  return pawl::advance("finish").with("charge", answer.body);
}

pawl::Next finish(pawl::Transaction& tx, const pawl::Run& run) {
  tx.execute("INSERT INTO entries (payment) VALUES ($1)", {run.get("payment")});
  tx.enqueue({.destination = "receipts", .path = "/send", .body = run.get("payment")});
  const std::string body = "{\"id\":\"" + run.get("payment") + "\",\"charge\":\"" +
                           run.get("charge") + "\",\"attempt\":" + std::to_string(run.attempt) +
                           "}";
  return pawl::respond({201, {{"Content-Type", "application/json"}}, body});
}

void declare(pawl::Flow& flow) {
  pawl::Destination provider;
  provider.send = Provider::charge;
  if (option("look_up") == "yes") provider.look_up = Provider::look_up;
  provider.dedupes = option("dedupes") != "no";
  if (!option("window").empty()) {
    provider.dedupe_window = std::chrono::milliseconds(std::stoll(option("window")));
  }
  const auto call = [](const pawl::Run& run) {
    return pawl::Outbound{.path = "/charges", .body = run.get("payment")};
  };
  flow.local("create", create);
  flow.foreign(option("version") == "2" ? "charge-v2" : "charge", provider, call, charged);
  flow.local("finish", finish);
}

int run() {
  pawl::NodeOptions node_options;
  node_options.migrate = true;
  node_options.at_point = reach;
  node_options.passes = false;
  const pawl::Node node = pawl::open(option("store"), node_options);
  if (option("do") == "setup") {
    node.transact([](pawl::Database& database) {
      database.execute(
          "CREATE TABLE payments (id TEXT NOT NULL, client_key TEXT NOT NULL, status TEXT, "
          "charge TEXT);"
          "CREATE TABLE entries (payment TEXT NOT NULL)");
    });
    return 0;
  }
  pawl::FlowOptions flow_options;
  flow_options.name = "payments";
  flow_options.policy.lease = std::chrono::milliseconds(std::stoll(option("lease", "30000")));
  pawl::Flow flow(node, flow_options);
  declare(flow);
  if (option("do") == "complete") {
    const pawl::CompletionReport report = flow.complete_abandoned();
    std::cout << "seen " << report.seen << " completed " << report.completed << " stopped "
              << report.stopped << " refused " << report.refused << '\n';
    return 0;
  }
  const pawl::HttpRequest request{
      .method = "POST",
      .target = "/v1/payments",
      .headers = {{"Idempotency-Key", option("key")}, {"Content-Type", "application/json"}},
      .body = R"({"amount":1000})"};
  const pawl::Response response = flow.handle("tenant-a", request);
  std::cout << "status " << response.status << '\n';
  for (const pawl::Header& header : response.headers) {
    std::cout << header.name << ": " << header.value << '\n';
  }
  std::cout << "\n" << response.body << std::flush;
  return 0;
}

}  // namespace

int main(int count, char** arguments) {
  for (int i = 1; i < count; ++i) {
    const std::string_view argument = arguments[i];
    const std::size_t equals = argument.find('=');
    options[std::string(argument.substr(0, equals))] = argument.substr(equals + 1);
  }
  try {
    return run();
  } catch (const std::exception& failure) {
    std::cerr << failure.what() << '\n';
    return 1;
  }
}
