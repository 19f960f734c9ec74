// pawl keys rewrap: the last step of a rotation of encryption keys.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <memory>

#include "cmd/pawl/command.hpp"
#include "cmd/pawl/operator_store.hpp"
#include "src/adapters/sealed/rewrap.hpp"
#include "src/config/files.hpp"

namespace pawl::cmd {
namespace {

constexpr const char* self = "pawl keys rewrap";

struct Options {
  std::string store;
  std::string keys_file;
};

std::size_t count_others(const DataKeyStore::Counts& counts, const std::string& newest) {
  std::size_t others = 0;
  for (const auto& [kek, keys] : counts) {
    if (kek != newest) others += keys;
  }
  return others;
}

// On a terminal only: a log wants the last line alone.
void show_progress(std::size_t done, std::size_t all) {
  constexpr std::size_t width = 30;
  const std::size_t full = all == 0 ? width : std::min(width, done * width / all);
  std::cerr << "\r[" << std::string(full, '#') << std::string(width - full, '.') << "] " << done
            << " of " << all << std::flush;
}

int rewrap(const Options& options) {
  const Expected<KeyRing, std::string> keys = config::read_key_ring(options.keys_file);
  if (!keys) {
    return failed(self, "--keys-file " + options.keys_file + ": " + keys.error(), exit_usage);
  }
  const auto store = open_given(options.store);
  if (!store) return failed(self, store.error());
  DataKeyStore& data_keys = *(*store)->open.data_keys;
  const StoreResult<DataKeyStore::Counts> counts = run_here(data_keys.counts());
  if (!counts) return failed(self, port_failed(data_keys, counts.error()).error);
  const std::string& newest = keys->keys.front().id;
  const std::size_t all = count_others(*counts, newest);
  const bool shown = ::isatty(STDERR_FILENO) == 1 && all > 0;
  const auto progress = [&](std::size_t done) {
    if (shown) show_progress(done, all);
  };
  const StoreResult<sealed::Rewrapped> result =
      run_here(sealed::rewrap_all(data_keys, *keys, progress));
  if (shown) std::cerr << '\n';
  if (!result) {
    return failed(self, port_failed(data_keys, result.error()).error.sentence +
                            "; what is rewrapped stays so: repeat it");
  }
  std::cout << "rewrapped " << result->rewrapped << " data keys under \"" << newest << "\"\n";
  if (result->left == 0) {
    std::cout << "no other key of the file is needed any more\n";
    return exit_ok;
  }
  std::string others;
  for (const std::string& kek : result->others) {
    others += (others.empty() ? "\"" : ", \"") + kek + '"';
  }
  return failed(self, std::to_string(result->left) + " are wrapped by " + others +
                          ", which the file does not have, or has with other bytes: they stay as "
                          "they are, and so do the 503s of their scopes");
}

}  // namespace

void add_rewrap(Command& keys, int& exit_code) {
  auto options = std::make_shared<Options>();
  Command* command = keys.add_subcommand(
      "rewrap", "Wrap all data keys with the newest encryption key, so that older ones can go");
  command->add_option("--store", options->store, "postgres://..., key=value pairs, or sqlite:PATH")
      ->required();
  command->add_option("--keys-file", options->keys_file, "[encryption] keys_file of the nodes")
      ->required();
  command->footer(
      "First give every node the file with the new key on top, and restart it. Nodes\n"
      "go on beside this command. It can be interrupted and repeated.\n"
      "Example: pawl keys rewrap --store postgres://pawl@db/pawl \\\n"
      "           --keys-file /etc/pawl/encryption.keys\n"
      "Exit codes: 0 all are under the newest key, 1 some are not, or failed, 64 wrong usage.");
  command->callback([options, &exit_code] { exit_code = rewrap(*options); });
}

}  // namespace pawl::cmd
