// The background passes: which rows are due, found by index, in bounded pieces.
#pragma once

#include "src/adapters/postgres/session.hpp"

namespace pawl::postgres {

class Passes {
 public:
  explicit Passes(Session& session) : session_(session) {}

  using Page = StoreResult<std::vector<Record>>;

  // Rows in `kind` (in_progress, unknown, pending) whose time has come, oldest first; and tidies
  // the notes in pawl.due that led to rows which have moved on.
  Task<Page> due(Status kind, PassQuery query);

  // Finished rows past `expires_at`; and puts the rows off that it looked at too early.
  Task<Page> past_retention(PassQuery query);

  Task<StoreResult<std::vector<bool>>> erase(std::vector<Erasure> batch);

 private:
  struct Note;
  struct Candidate;

  Task<StoreResult<std::vector<Note>>> next_notes(Status kind, Instant now, const Note& after);
  Task<StoreResult<std::vector<Candidate>>> look_at(Status kind, const std::vector<Note>& notes);
  Task<StoreResult<Done>> tidy(Status kind, const std::vector<Note>& notes);
  Task<StoreResult<std::vector<Candidate>>> next_expired(Instant now, const Candidate& after,
                                                         std::size_t rows_max);
  Task<StoreResult<Done>> put_off(const std::vector<Candidate>& early, Instant now);
  Task<Page> read(std::vector<Candidate> wanted, std::size_t rows_max);

  Session& session_;
};

}  // namespace pawl::postgres
