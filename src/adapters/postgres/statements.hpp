// Every statement this adapter sends, by name, in one place.
//
// Arrays and unnest, times as parameters, conditions repeated where a row may have changed while a
// lock was awaited. A distributed PostgreSQL (Citus) wants to be told which scopes a batch touches;
// a plain one plans better without.
#pragma once

#include <array>
#include <string>

namespace pawl::postgres {

enum class StatementId {
  begin,        // settings for this transaction only, and the store's clock
  begin_all,    // the same settings for the whole session: where nobody shares it
  clock,        // and from then on the clock alone, in the same column
  barrier,      // a commit that the standby must have: see doubts.hpp
  limit,        // how long the server may work at each statement of this transaction
  reserve,      // insert: records that start a life, fewer columns
  insert,       // insert: any record
  reserve_one,  // the same for a lone record
  settle_one,   // and its settlement
  settle,       // update under a guard: what may change while a fence stands
  replace,      // update under a guard, the stored request untouched
  replace_all,  // update under a guard, the stored request too
  note_due,     // tell the passes about rows that were just written
  audit,
  erase,
  find,
  peek,  // states and times of many keys, without their bodies
  due_page,
  due_delete,
  due_move,
  reap_page,
  reap_later,
  keep_evidence,
  count_active,
  count
};
inline constexpr auto statements_count = static_cast<std::size_t>(StatementId::count);

struct Statement {
  std::string name;
  std::string sql;
};

class Statements {
 public:
  explicit Statements(bool distributed);
  [[nodiscard]] const Statement& operator[](StatementId id) const {
    return all_[static_cast<std::size_t>(id)];
  }
  [[nodiscard]] bool distributed() const { return distributed_; }

 private:
  void set(StatementId id, std::string name, std::string sql);
  // `scopes`: what tells a distributed server which scopes a batch touches; else empty.
  void set_transactions();
  void set_writes(const std::string& scopes);
  void set_notes(const std::string& scopes);
  void set_reads(const std::string& scopes);
  void set_due(const std::string& scopes);
  void set_reaping(const std::string& scopes);
  void set_evidence();

  std::array<Statement, statements_count> all_;
  bool distributed_;
};

}  // namespace pawl::postgres
