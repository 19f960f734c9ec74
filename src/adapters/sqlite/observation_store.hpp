// Observe mode's tables in a SQLite store. A connection of its own: what is only watched waits for
// those who have work to do, not they for it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "src/adapters/sqlite/database.hpp"
#include "src/ports/observation_store.hpp"

namespace pawl::sqlite {

class SqliteObservationStore final : public ObservationStore {
 public:
  // The file is opened when it is needed; it must be a store by then.
  explicit SqliteObservationStore(std::string path, Options options = {});
  ~SqliteObservationStore() override;

  Expected<Done, std::string> apply(const std::vector<ObservedKey>& keys,
                                    const Transition& transition) override;
  Expected<std::size_t, std::string> reap(Duration tallies_kept) override;
  Expected<Summary, std::string> summary(Duration since) override;
  void disconnect() override;

 private:
  struct Live;

  std::optional<std::string> ready();
  std::string failed();
  bool find(const std::vector<ObservedKey>& keys, Found& found);
  bool write(const ObservationUpdate& updated);
  Expected<bool, std::string> write_over(const std::vector<ObservedKey>& keys, const Found& found,
                                         const ObservationUpdate& updated);

  const std::string path_;
  const Options options_;
  std::optional<Database> database_;
  std::unique_ptr<Live> live_;
};

}  // namespace pawl::sqlite
