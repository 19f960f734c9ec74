// From a file and flags to a configuration that `pawl serve` can start with.
#pragma once

#include <optional>
#include <string>

#include "pawl/types/expected.hpp"
#include "src/config/config.hpp"
#include "src/config/diagnostics.hpp"
#include "src/config/read_config.hpp"

namespace pawl::config {

// Flags of `pawl serve`. Each wins over the file, and is read as the file's would be.
struct Overrides {
  std::optional<std::string> listen;
  std::optional<std::string> admin;
  std::optional<std::string> upstream;
  std::optional<std::string> store;
};

// What is wrong with the flags; those that are right are applied.
Troubles apply(Config& config, const Overrides& overrides);

// Why `pawl serve` would not start with this configuration, which is right in itself: what is
// missing, what would be unsafe, and what is not built yet.
// A worker that has only the outbox to look after needs no upstream.
enum class Purpose { serve, work };
Troubles check_ready_to_serve(const Config& config, Purpose purpose = Purpose::serve);

// Puts in what {env:NAME} and {file:PATH} stand for in the store's URL.
Troubles expand_store(Config& config);

// All of it in one call: reads the file (none: the defaults), applies the flags, loads the secrets,
// checks the other files, and checks that serving can begin.
Expected<Read, Troubles> read_for_serving(const std::optional<std::string>& path,
                                          const Overrides& overrides,
                                          Purpose purpose = Purpose::serve);

// Does any request depend on the store? Not where everything is passed on or only watched.
bool needs_store(const Config& config);

}  // namespace pawl::config
