#include "pawl/node.hpp"

#include <fstream>
#include <iterator>

#include "src/core/key_ring.hpp"
#include "src/engine/stored_restoration.hpp"
#include "src/libpawl/node_core.hpp"
#include "src/node/run_here.hpp"

namespace pawl {
namespace detail {
namespace {

KeyRing keys_in(const std::string& path) {
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file) throw OpenError("encryption_keys_file " + path + " cannot be read");
  Expected<KeyRing, std::string> keys = parse_key_ring(text);
  if (!keys) throw OpenError("encryption_keys_file " + path + ": " + keys.error());
  return std::move(*keys);
}

}  // namespace

OpenedStore open_for_service(const std::string& url, const NodeOptions& options) {
  using WhenOld = OpenStoreOptions::WhenOld;
  OpenStoreOptions opening;
  opening.allow_lossy_store = options.allow_lossy_store;
  opening.when_old = WhenOld::migrate;
  opening.when_shared_is_old = options.migrate ? WhenOld::migrate : WhenOld::refuse;
  opening.create = true;
  opening.encryption = keys_in(options.encryption_keys_file);
  // First: a limit that makes no sense is refused before anything is migrated.
  auto transactions =
      open_transactions(url, opening, {options.connections, options.statement_timeout});
  if (!transactions) throw OpenError(transactions.error());
  Expected<OpenStore, std::string> store = open_store(url, opening);
  if (!store) throw OpenError(store.error());
  std::unique_ptr<TransactionSource> sealing = store->sealing(std::move(*transactions));
  return OpenedStore{std::move(*store), std::move(sealing), {}};
}

}  // namespace detail

Node open(const std::string& url, NodeOptions options) {
  detail::OpenedStore opened = detail::open_for_service(url, options);
  const auto told = run_here(restoration_to_obey(*opened.ports.upkeep));
  if (!told) throw OpenError(told.error());
  opened.restored = *told;
  return Node(std::make_shared<detail::NodeCore>(std::move(opened), std::move(options)));
}

void Node::transact(const std::function<void(Database&)>& work) const {
  const std::unique_ptr<PhaseTransaction> open = core_->transactions().begin();
  Database database(*open);
  work(database);
  if (open->commit() == Commit::in_doubt) {
    throw DatabaseError("40003", "the commit's acknowledgement was lost: it may have happened");
  }
}

std::optional<std::string> Node::trouble() const { return core_->trouble(); }

Rows Database::query(const std::string& sql, const std::vector<Value>& parameters) {
  return work_.query(sql, parameters);
}

void Database::execute(const std::string& sql, const std::vector<Value>& parameters) {
  work_.query(sql, parameters);
}

template <>
sqlite3* Database::native<sqlite3*>() {
  return work_.sqlite();
}

template <>
pg_conn* Database::native<pg_conn*>() {
  return work_.postgres();
}

}  // namespace pawl
