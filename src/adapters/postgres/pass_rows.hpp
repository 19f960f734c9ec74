// Rows of pawl.keys and pawl.due on their way through a pass.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "src/adapters/postgres/batch.hpp"
#include "src/adapters/postgres/passes.hpp"

namespace pawl::postgres {

// A row of pawl.due.
struct Passes::Note {
  std::string scope;
  std::int64_t id = 0;
  Instant due_at;
  std::vector<std::string> keys;
  bool wanted = false;            // led to a row that is due: stays until somebody dealt with that
  std::optional<Instant> next{};  // led to a row that will be due
};

// A row of pawl.keys that may be due, without its bodies.
struct Passes::Candidate {
  Scope scope;
  Key key;
  Instant time;  // when it is due
  std::size_t bytes = 0;
  // What is needed to put it off.
  Status status = Status::expired;
  Fence fence;
  Instant reap_after;
  bool stays = false;  // finished, and kept all the same: a flow half done, a dead letter
};

// What a pass has found so far.
struct Passes::Harvest {
  std::size_t rows_max = 0;
  Deadline deadline;
  std::vector<std::pair<Instant, Record>> rows{};  // with the time they were due
  std::set<std::string> seen{};                    // identities: several notes may lead to one row
  std::size_t bytes = 0;
  std::size_t unreadable = 0;
  bool reaping = false;           // then what stays is no part of it
  std::vector<Candidate> kept{};  // it goes here
  bool full = false;              // as many rows, or bytes, as a page has
  bool exhausted = false;         // there is nothing more
};

Deadline end_of_pass(const Session& session);
bool is_past(Deadline deadline);

Instant instant_in(const Rows& rows, int row, std::size_t column);
std::int64_t int64_in(const Rows& rows, int row, std::size_t column);
std::size_t bytes_in(const Rows& rows, int row, std::size_t column);

// Earliest of all: nothing sorts before it.
Instant beginning();

std::vector<Query> one(Query query);

}  // namespace pawl::postgres
