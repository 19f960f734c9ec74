// Records as an operator finds them: lists, searches, and the one way to delete one by hand.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "src/ports/reconciliation_store.hpp"
#include "src/ports/store.hpp"

namespace pawl {

// A record as a list shows it.
struct ListedKey {
  Scope scope;
  Key key;
  std::string status;
  std::string route;
  std::string method;
  std::string path;
  int attempt = 1;
  Fence fence;
  Instant created_at{};
  std::string last_error;
  std::optional<CaseState> state;  // of its case, where it has one under this fence
  int attempts = 0;
  std::string last_result;
};

// A record as a search sees it.
struct KeyRef {
  Scope scope;
  Key key;
  Fence fence;
  int attempt = 1;
};

// Where else a key is.
struct ScopesOfKey {
  std::vector<Scope> scopes;
  bool whole = true;  // false: there are more scopes than were looked at
};

// Which records a list shows. Dead: all that wait for an operator, unknown or out of attempts.
enum class Listed { unknown, dead, in_progress, pending };

template <>
struct Names<Listed> {
  static constexpr NameTable<Listed, 4> table{{{Listed::unknown, "unknown"},
                                               {Listed::dead, "dead"},
                                               {Listed::in_progress, "in_progress"},
                                               {Listed::pending, "pending"}}};
};

class KeyDirectory {
 public:
  virtual ~KeyDirectory() = default;

  virtual Task<StoreResult<std::vector<ListedKey>>> list(Listed which, std::size_t keys_max) = 0;

  // Records by primary key, after this one; fewer than asked for: the last of them.
  virtual Task<StoreResult<std::vector<KeyRef>>> keys_after(Scope scope, Key key,
                                                            std::size_t keys_max) = 0;
  // The scopes in which this key has a record. One lookup by primary key for each scope there is.
  virtual Task<StoreResult<ScopesOfKey>> scopes_of(Key key, std::size_t scopes_max) = 0;

  // Deletes a record in which `expected` holds, with its audit entry in the same commit. False:
  // it does not hold.
  virtual Task<StoreResult<bool>> purge(Scope scope, Key key, Guard expected, AuditEntry audit) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
