#include "src/adapters/sqlite/transaction.hpp"

#include <algorithm>

namespace pawl::sqlite {

StoreError meaning_before_commit(int code) {
  return primary_code(code) == SQLITE_BUSY ? StoreError::contended : StoreError::unavailable;
}

// A COMMIT in WAL mode appends frames to the log, the last of them marked as a commit, and syncs
// it. If a frame could not be written, the mark is not in the log: nothing will ever be read of it.
// If the sync failed, or anything after it, the mark may be in the log: this process ignores it,
// but one that recovers the log after a crash would believe it.
StoreError meaning_of_commit(int code) {
  if (code == SQLITE_IOERR_WRITE) return StoreError::unavailable;
  switch (primary_code(code)) {
    case SQLITE_BUSY: return StoreError::contended;
    case SQLITE_FULL:
    case SQLITE_READONLY: return StoreError::unavailable;
    default: return StoreError::in_doubt;
  }
}

namespace {

// Errors of the store rather than of one row: to try the neighbours one by one would be in vain.
bool concerns_everyone(int code) {
  switch (primary_code(code)) {
    case SQLITE_BUSY:
    case SQLITE_READONLY:
    case SQLITE_CANTOPEN:
    case SQLITE_NOTADB:
    case SQLITE_PERM: return true;
    default: return false;
  }
}

bool concerns_one_row(int code) {
  return primary_code(code) == SQLITE_CONSTRAINT || primary_code(code) == SQLITE_TOOBIG;
}

struct Failure {
  enum class Blame { one, everyone, somebody };
  Blame blame = Blame::everyone;
  std::size_t culprit = 0;  // for Blame::one
  StoreError meaning = StoreError::unavailable;
  std::optional<std::string> trouble;
};

using Blame = Failure::Blame;

// One transaction over all of `writes`, or none of it.
std::optional<Failure> try_writes(Session& session, std::span<Write* const> writes, Instant now,
                                  std::int64_t& purge_epoch) {
  if (auto why = session.ready()) return Failure{Blame::everyone, 0, StoreError::unavailable, why};
  if (const int code = session.statements().begin.run(); code != SQLITE_OK) {
    return Failure{Blame::everyone, 0, meaning_before_commit(code), session.failed(code)};
  }
  if (auto why = session.schema_changed()) {
    return Failure{Blame::everyone, 0, StoreError::unavailable, why};
  }
  if (const int code = session.read_purge_epoch(purge_epoch); code != SQLITE_OK) {
    return Failure{Blame::everyone, 0, meaning_before_commit(code), session.failed(code)};
  }
  session.extend_log();
  for (std::size_t at = 0; at < writes.size(); ++at) {
    const int code = writes[at]->apply(session, now);
    if (code == SQLITE_OK) continue;
    std::optional<std::string> why = session.failed(code);
    if (concerns_one_row(code)) why.reset();
    return Failure{concerns_everyone(code) ? Blame::everyone : Blame::one, at,
                   meaning_before_commit(code), std::move(why)};
  }
  const int code = session.statements().commit.run();
  if (code == SQLITE_OK) return std::nullopt;
  // Only a lack of room can be one row's fault. A log that cannot be written is everyone's.
  const Blame blame = primary_code(code) == SQLITE_FULL ? Blame::somebody : Blame::everyone;
  return Failure{blame, 0, meaning_of_commit(code), session.failed(code)};
}

void fail(std::span<Write* const> writes, StoreError meaning) {
  for (Write* write : writes) write->error = meaning;
}

}  // namespace

// Tries a window of the writes at a time; at first, and nearly always, that is all of them. The
// window shrinks to what stood before the culprit, or to a half where nobody can be named. A
// culprit that fails alone is left out.
Transacted write_all(Session& session, std::span<Write* const> writes, Instant now) {
  Transacted done;
  std::size_t window = writes.size();
  while (!writes.empty()) {
    const std::optional<Failure> failure =
        try_writes(session, writes.first(window), now, done.purge_epoch);
    done.trouble = failure ? failure->trouble : std::nullopt;
    if (!failure) {
      ++done.commits;
      writes = writes.subspan(window);
      window = writes.size();
    } else if (failure->blame == Blame::everyone) {
      fail(writes.first(window), failure->meaning);
      const bool doubt = failure->meaning == StoreError::in_doubt;
      fail(writes.subspan(window), doubt ? StoreError::unavailable : failure->meaning);
      return done;
    } else if (failure->blame == Blame::one && failure->culprit > 0) {
      window = failure->culprit;
    } else if (failure->blame == Blame::somebody && window > 1) {
      window /= 2;
    } else {
      fail(writes.first(1), failure->meaning);
      writes = writes.subspan(1);
      window = writes.size();
    }
  }
  return done;
}

std::optional<std::string> probe(Session& session, Instant now) {
  class ProbeWrite final : public Write {
   public:
    int apply(Session& in, Instant at) override {
      const std::string text = std::to_string(micros(at));
      Statement& update = in.statements().probe_write;
      update.bind_text(1, text);
      return update.run();
    }
  };
  ProbeWrite write;
  Write* const one = &write;
  return write_all(session, std::span(&one, 1), now).trouble;
}

}  // namespace pawl::sqlite
