// What `pawl serve` and `pawl worker` do before they begin, and `pawl config check` without
// beginning.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/config/serving.hpp"
#include "src/gateway/request_log.hpp"
#include "src/node/open_store.hpp"

namespace pawl::cmd {

// The configuration, if a node could start with it. Looks at files, at no store and no network.
Expected<config::Read, config::Troubles> read_settings(
    const std::optional<std::string>& path, const config::Overrides& overrides,
    config::Purpose purpose = config::Purpose::serve);

// What is known of a store when a node starts on it.
struct StoreState {
  std::string name;   // "sqlite:/var/lib/pawl/pawl.db"; no password
  std::string holds;  // "new", "12 keys", "about 3400000 keys"
  bool is_new = false;
  bool is_relative = false;         // another store in another folder
  std::vector<std::string> sealed;  // warnings: what is sealed with keys that are not here
};
// Of a store that is open. Ask before anything is recorded in it.
StoreState state_of(const config::Config& config, OpenStore& store);

// Refuses scopes that would make live keys new, unless that was accepted; then records how they are
// made.
Expected<Done, std::string> agree_on_scopes(const config::Config& config, OpenStore& store,
                                            bool accepted);

// As many descriptors as the machine allows, and no more connections than have room in them: each
// is two. Says what was cut down; empty where nothing was.
std::string fit_into_descriptors(config::Config& config);

// A memory_budget that was left to the machine: a quarter of what this process may use.
void fit_into_memory(config::Config& config);

// "starting": with what, on what, for whom. `listen` is empty where there is no listener.
struct Addresses {
  std::string listen;
  std::string admin;
};
void announce(gateway::RequestLog& log, const config::Read& read, const StoreState& store,
              const Addresses& addresses);

// For a node, before anything else: a pipe that breaks, a terminal that goes away and a file that
// may not grow end no payment; a standard stream that is closed becomes no socket's descriptor,
// into which the log would be written; and what is written is not for everybody.
void prepare_process();

}  // namespace pawl::cmd
