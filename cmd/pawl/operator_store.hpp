// A store that is opened for one command of an operator.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "cmd/pawl/command.hpp"
#include "src/adapters/os/random.hpp"
#include "src/adapters/os/system_clock.hpp"
#include "src/engine/engine.hpp"
#include "src/node/open_store.hpp"
#include "src/node/run_here.hpp"
#include "src/operator/key_ports.hpp"

namespace pawl::cmd {

class NoMetrics final : public Metrics {
 public:
  void add(Counter, std::string_view, std::uint64_t) override {}
};

struct OperatorStore {
  OpenStore open;
  os::SystemClock clock;
  os::SystemEntropy entropy;
  NoMetrics metrics;
  std::optional<Engine> engine;

  [[nodiscard]] KeyPorts keys() const {
    return {*open.store, *open.cases, *open.directory, *open.upkeep};
  }
};

// Never makes a store, and never changes its schema: a node of an older version may be running on
// it, and would stop.
Expected<std::unique_ptr<OperatorStore>, std::string> open_for_operator(
    const std::string& url, const KeyRing& encryption = {});

// The same of what --store says, which may have {env:NAME} and {file:PATH} in it, with the keys of
// --keys-file; empty: none.
Expected<std::unique_ptr<OperatorStore>, std::string> open_given(const std::string& store,
                                                                 const std::string& keys_file = "");

// What a command that meets bodies says about its --keys-file.
inline constexpr const char* keys_file_words =
    "[encryption] keys_file of the nodes, where bodies are sealed";

// Says on stderr why it was refused, in the name of `command`; the exit code.
int failed(const char* command, const std::string& sentence, int code = exit_failed);
int failed(const char* command, const Refusal& refusal);

}  // namespace pawl::cmd
