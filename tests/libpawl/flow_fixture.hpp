// payments_child runs against one store, and what they left there and at the provider.
#pragma once

#include <gtest/gtest.h>
#include <sys/types.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/support/postgres_server.hpp"
#include "tests/support/serve_process.hpp"

namespace pawl::testing {

enum class StoreKind { sqlite, postgres };

struct Told {
  int exit_code = 0;  // 128 + signal if it was killed
  int status = 0;     // 0: it did not get so far
  bool replayed = false;
  std::string body;
  std::string out;
  std::string err;
};

// A child that has stopped itself.
class StoppedChild {
 public:
  explicit StoppedChild(const std::vector<std::string>& command);
  ~StoppedChild();
  StoppedChild(const StoppedChild&) = delete;
  StoppedChild& operator=(const StoppedChild&) = delete;
  // Lets it go on, and waits for its end.
  Told resume();

 private:
  pid_t pid_ = -1;
  int out_ = -1;
  std::string said_;
};

class FlowTest : public ::testing::TestWithParam<StoreKind> {
 protected:
  FlowTest();

  using Options = std::vector<std::string>;
  [[nodiscard]] Options command(const std::string& key, const Options& more) const;
  Told child(const std::string& key, const Options& more = {});
  Told pay(const std::string& key, Options more = {});
  // As a client does: again while it is told 409 or 503, until there is something else.
  Told retry(const std::string& key, const Options& more = {});
  // As a worker does: until nothing of this flow is abandoned any more.
  void complete(const Options& more = {});
  // As if the time had come: nobody waits for the leases of those who were killed.
  void end_leases();
  // Every point that an undisturbed payment passes.
  std::vector<std::string> points();

  std::string query(const std::string& sql);
  // How often the provider moved money under the key of this payment.
  std::size_t charges(const std::string& key);
  std::string status_of(const std::string& key);
  void expect_one_effect(const std::string& key);

  [[nodiscard]] bool on_postgres() const { return GetParam() == StoreKind::postgres; }

 private:
  TemporaryFolder folder_;
  std::string url_;
  std::string database_;
};

}  // namespace pawl::testing
