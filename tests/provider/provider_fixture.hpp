// A pawl_provider with a file of its own, for each test anew.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <optional>

#include "tests/support/raw_client.hpp"
#include "tests/support/service_process.hpp"
#include "tests/support/upstream_server.hpp"

namespace pawl::testing {

// What a JSON pointer leads to, as text; "(none)" where it leads nowhere.
std::string at(const std::string& document, std::string_view pointer);

// Blocks until it holds; false past the deadline. For what has no event to wait for.
bool until(const std::function<bool()>& condition);

class ProviderTest : public ::testing::Test {
 protected:
  using Flags = std::vector<std::string>;

  // On the same file as before, if there was one.
  void start(const Flags& flags = {});

  // Nothing where the provider hung up.
  std::optional<HttpAnswer> send(const std::string& path, const std::string& key,
                                 const std::string& body) const;
  std::optional<HttpAnswer> charge(const std::string& key, int amount = 1000) const;
  std::string read(const std::string& target) const;  // the body of a GET
  int status(const std::string& target) const;
  // POST /_faults, which must work.
  void faults(const std::string& document) const;
  // What the ledger says, by pointer.
  std::string ledger(std::string_view pointer) const { return at(read("/v1/ledger"), pointer); }

  TemporaryFolder folder_;
  std::optional<ServiceProcess> provider_;
};

}  // namespace pawl::testing
