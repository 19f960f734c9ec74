// Observe mode's tables in a SQLite store. A connection of its own: what is only watched waits for
// those who have work to do, not they for it.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "pawl/ports/observations.hpp"
#include "src/adapters/sqlite/database.hpp"

namespace pawl::sqlite {

class SqliteObservations final : public Observations {
 public:
  // The file is opened when it is needed; it must be a store by then.
  explicit SqliteObservations(std::string path, Options options = {});
  ~SqliteObservations() override;

  Expected<Done, std::string> apply(const std::vector<ObservedKey>& keys,
                                    const Judge& judge) override;
  Expected<std::size_t, std::string> reap(Duration tallies_kept) override;
  Expected<Summary, std::string> summary(Duration since) override;
  void disconnect() override;

 private:
  struct Live;

  std::optional<std::string> ready();
  std::string failed();
  bool find(const std::vector<ObservedKey>& keys, Found& found);
  bool write(const Judged& judged);
  Expected<bool, std::string> write_over(const std::vector<ObservedKey>& keys, const Found& found,
                                         const Judged& judged);

  const std::string path_;
  const Options options_;
  std::optional<Database> database_;
  std::unique_ptr<Live> live_;
};

}  // namespace pawl::sqlite
