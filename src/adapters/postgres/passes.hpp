// The background passes: which rows are due, found by index, in bounded pieces.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <optional>
#include <utility>

#include "src/adapters/postgres/session.hpp"

namespace pawl::postgres {

// What cannot be understood is stepped over, however much of it there is: a pass goes on until it
// has enough that can be, and where its time is up before that, the next one goes on from there.
class Passes {
 public:
  explicit Passes(Session& session);
  ~Passes();

  using Page = StoreResult<std::vector<Record>>;

  // Rows in `kind` (in_progress, unknown, pending) whose time has come, oldest first; and tidies
  // the notes in pawl.due that led to rows which have moved on.
  Task<Page> due(Status kind, PassQuery query);

  // Finished rows past `expires_at`; and puts the rows off that it looked at too early.
  Task<Page> past_retention(PassQuery query);

  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch);

  // Rows that the last passes met and could not understand. Any thread.
  [[nodiscard]] std::size_t unreadable_rows() const;

 private:
  struct Note;
  struct Candidate;
  struct Harvest;

  Task<StoreResult<std::vector<Note>>> next_notes(Status kind, Instant now, const Note& after);
  Task<StoreResult<std::vector<Candidate>>> look_at(Status kind, const std::vector<Note>& notes);
  Task<StoreResult<Done>> tidy(Status kind, const std::vector<Note>& notes);
  Task<StoreResult<std::vector<Candidate>>> next_expired(Instant now, const Candidate& after,
                                                         std::size_t rows_max);
  Task<StoreResult<Done>> put_off(const std::vector<Candidate>& early, Instant now);
  Task<StoreResult<std::vector<Candidate>>> look_further(Status kind, Instant now, Note& last,
                                                         Harvest& harvest);
  Task<StoreResult<Done>> read(std::vector<Candidate> wanted, Harvest& harvest);
  Page end(Status kind, Harvest harvest);

  Session& session_;
  // Where a pass that ran out of time stopped.
  std::map<Status, Note> stopped_at_;
  std::unique_ptr<Candidate> reaper_stopped_at_;
  std::map<Status, std::atomic<std::size_t>> unreadable_;  // by pass; `completed` is the reaper's
};

}  // namespace pawl::postgres
