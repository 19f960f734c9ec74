// Where the data keys of scopes lie: what seals a scope's bodies, wrapped by a key of the
// operator's file. Erasing a scope's data keys erases what they sealed.
//
// From any thread. After an error nothing was written, or, where it is `in_doubt`, that is not
// known.
#pragma once

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "src/core/outbox.hpp"
#include "src/ports/store.hpp"

namespace pawl {

struct WrappedKey {
  Scope scope;
  int generation = 1;   // rises with every data key of a scope
  std::string kek;      // the id of the key that wraps it
  std::string wrapped;  // empty: erased, and what it sealed with it
  friend bool operator==(const WrappedKey&, const WrappedKey&) = default;
};

class DataKeyStore {
 public:
  virtual ~DataKeyStore() = default;

  // All of a scope, the oldest first; those that were erased too.
  virtual Task<StoreResult<std::vector<WrappedKey>>> keys_of(Scope scope) = 0;

  // False: the scope has one of this generation already, and nothing was written.
  virtual Task<StoreResult<bool>> add(WrappedKey key) = 0;

  // Those that another key than `kek` wraps, after this one by scope and generation.
  virtual Task<StoreResult<std::vector<WrappedKey>>> not_under(std::string kek, WrappedKey after,
                                                               std::size_t keys_max) = 0;
  // How many there are under each key; none that was erased.
  using Counts = std::vector<std::pair<std::string, std::size_t>>;
  virtual Task<StoreResult<Counts>> counts() = 0;
  // The same data key under another key. False: it is not `was` any more.
  virtual Task<StoreResult<bool>> rewrap(WrappedKey was, WrappedKey next) = 0;

  // Erases every data key of the scope, with an audit entry in the same commit, and raises the
  // purge epoch: what nodes have in memory is void. How many were erased.
  virtual Task<StoreResult<std::size_t>> forget(Scope scope, AuditEntry audit) = 0;

  // A message of the outbox that lies in clear, sealed in place with the scope's data key of this
  // generation: its headers and its body are those of `sealed`, which are plain ASCII. `digest`:
  // see sealed_digest. False: it does not lie in clear any more, or that key was erased.
  virtual Task<StoreResult<bool>> seal_message(OutboxRow sealed, std::string digest,
                                               int generation) = 0;

  // Why the last call that failed has failed: a sentence for an operator.
  [[nodiscard]] virtual std::string trouble() const = 0;
};

}  // namespace pawl
