// Many writes, one commit; and when something goes wrong, who is to blame.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "src/adapters/sqlite/writes.hpp"

namespace pawl::sqlite {

struct Transacted {
  std::uint64_t commits = 0;
  std::int64_t purge_epoch = 0;        // as the last of them has seen it
  std::optional<std::string> trouble;  // why the store cannot be used; nothing if it can
};

// What an error means to whoever wrote: before the COMMIT, and of the COMMIT itself.
StoreError meaning_before_commit(int code);
StoreError meaning_of_commit(int code);

// Applies all of them in one transaction where that works, and sets the error of each that failed.
// A write that fails is left out and its neighbours are written without it.
Transacted write_all(Session& session, std::span<Write* const> writes, Instant now);

// Writes something of no importance: does the disk take it?
std::optional<std::string> probe(Session& session, Instant now);

}  // namespace pawl::sqlite
