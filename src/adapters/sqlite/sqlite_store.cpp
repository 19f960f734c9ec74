#include "src/adapters/sqlite/sqlite_store.hpp"

#include <boost/asio/async_result.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "src/adapters/sqlite/database.hpp"

namespace pawl::sqlite {
namespace {

namespace net = boost::asio;

template <class W>
std::vector<Write*> pointers(std::vector<W>& writes, WriteGroup& group) {
  group.unfinished = writes.size();
  std::vector<Write*> all;
  all.reserve(writes.size());
  for (W& write : writes) {
    write.group = &group;
    all.push_back(&write);
  }
  return all;
}

template <class W>
std::vector<StoreResult<Written>> results(std::vector<W>& writes, const WriteGroup& group) {
  std::vector<StoreResult<Written>> all;
  all.reserve(writes.size());
  for (W& write : writes) all.push_back(std::move(write).result(group));
  return all;
}

}  // namespace

Expected<std::unique_ptr<SqliteStore>, std::string> SqliteStore::open(const std::string& path,
                                                                      Options options,
                                                                      WhenOld when_old) {
  Expected<Database, std::string> database = prepare_database(path, options, when_old);
  if (!database) return Unexpected{database.error()};
  return std::unique_ptr<SqliteStore>(new SqliteStore(std::move(*database), std::move(options)));
}

SqliteStore::SqliteStore(Database database, Options options)
    : database_(std::move(database)),
      options_(std::move(options)),
      writer_(database_, options_, health_),
      finder_(database_, options_, health_, Part::finder),
      passes_(database_, options_, health_, Part::passes) {}

SqliteStore::~SqliteStore() = default;

Task<void> SqliteStore::perform(std::span<Write* const> writes, WriteGroup& group, WriteKind kind) {
  if (writes.empty()) {
    group.store_time = options_.clock();
    co_return;
  }
  auto start = [this, writes, &group, kind](auto handler) {
    group.waiter = waiting::make_waiter(std::move(handler));
    if (writer_.submit(writes, kind)) return;  // the group may be gone already
    for (Write* write : writes) write->error = StoreError::contended;
    waiting::wake_one(std::move(group.waiter));
  };
  co_await net::async_initiate<const net::use_awaitable_t<>&, void()>(start, net::use_awaitable);
}

Task<void> SqliteStore::perform(Reader& reader, Read& read) {
  auto start = [&reader, &read](auto handler) {
    read.waiter = waiting::make_waiter(std::move(handler));
    if (reader.submit(read)) return;  // the read may be gone already
    read.error = StoreError::contended;
    waiting::wake_one(std::move(read.waiter));
  };
  co_await net::async_initiate<const net::use_awaitable_t<>&, void()>(start, net::use_awaitable);
}

Task<std::vector<StoreResult<Written>>> SqliteStore::insert_or_read(std::vector<Record> fresh) {
  std::vector<InsertWrite> writes;
  writes.reserve(fresh.size());
  for (Record& record : fresh) writes.emplace_back(std::move(record));
  WriteGroup group;
  const std::vector<Write*> all = pointers(writes, group);
  co_await perform(all, group, WriteKind::requests);
  co_return results(writes, group);
}

Task<std::vector<StoreResult<Written>>> SqliteStore::replace(std::vector<Replacement> batch) {
  std::vector<ReplaceWrite> writes;
  writes.reserve(batch.size());
  for (Replacement& change : batch) writes.emplace_back(std::move(change));
  WriteGroup group;
  const std::vector<Write*> all = pointers(writes, group);
  co_await perform(all, group, WriteKind::requests);
  co_return results(writes, group);
}

// The port has one error for all rows. Where some were erased and others were not, that is doubt.
Task<StoreResult<std::vector<bool>>> SqliteStore::erase(std::vector<Erasure> batch) {
  std::vector<EraseWrite> writes;
  writes.reserve(batch.size());
  for (Erasure& erasure : batch) writes.emplace_back(std::move(erasure));
  WriteGroup group;
  const std::vector<Write*> all = pointers(writes, group);
  co_await perform(all, group, WriteKind::reaping);
  std::vector<bool> erased;
  std::optional<StoreError> error;
  bool any_erased = false;
  for (const EraseWrite& write : writes) {
    if (write.error) error = write.error;
    erased.push_back(!write.error && write.erased());
    any_erased = any_erased || erased.back();
  }
  if (error) co_return Unexpected{any_erased ? StoreError::in_doubt : *error};
  co_return erased;
}

Task<StoreResult<std::optional<Record>>> SqliteStore::find(Scope scope, Key key) {
  FindRead read(std::move(scope), std::move(key));
  co_await perform(finder_, read);
  co_return std::move(read).result();
}

Task<StoreResult<StoreClock>> SqliteStore::time() {
  EpochRead read;
  co_await perform(finder_, read);
  if (read.error) co_return Unexpected{*read.error};
  co_return StoreClock{options_.clock(), read.epoch()};
}

Task<StoreResult<std::vector<Record>>> SqliteStore::pass(Statement Statements::*statement,
                                                         PassQuery query,
                                                         std::atomic<std::size_t>& unreadable) {
  PassRead read(statement, query);
  co_await perform(passes_, read);
  if (!read.error) unreadable = read.skipped();
  co_return std::move(read).result();
}

Task<StoreResult<std::vector<Record>>> SqliteStore::lapsed(PassQuery query) {
  return pass(&Statements::lapsed, query, unreadable_lapsed_);
}

Task<StoreResult<std::vector<Record>>> SqliteStore::past_retention(PassQuery query) {
  return pass(&Statements::past_retention, query, unreadable_past_retention_);
}

Task<StoreResult<std::vector<Record>>> SqliteStore::undetermined(PassQuery query) {
  return pass(&Statements::undetermined, query, unreadable_undetermined_);
}

Task<StoreResult<std::vector<Record>>> SqliteStore::pending(PassQuery query) {
  return pass(&Statements::pending, query, unreadable_pending_);
}

std::size_t SqliteStore::unreadable_rows() const {
  return unreadable_lapsed_ + unreadable_past_retention_ + unreadable_undetermined_ +
         unreadable_pending_;
}

Task<StoreResult<std::size_t>> SqliteStore::count_active(Scope scope, std::size_t up_to) {
  CountRead read(std::move(scope), up_to);
  co_await perform(finder_, read);
  co_return std::move(read).result();
}

Task<StoreResult<Done>> SqliteStore::keep_evidence(LateEvidence evidence) {
  std::vector<EvidenceWrite> writes;
  writes.emplace_back(std::move(evidence));
  WriteGroup group;
  const std::vector<Write*> all = pointers(writes, group);
  co_await perform(all, group, WriteKind::requests);
  if (writes.front().error) co_return Unexpected{*writes.front().error};
  co_return Done{};
}

}  // namespace pawl::sqlite
