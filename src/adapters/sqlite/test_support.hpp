// What the tests of this folder share: a directory that goes away, and a store without coroutines.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "src/adapters/sqlite/connection.hpp"
#include "src/adapters/sqlite/sqlite_store.hpp"
#include "testing/builders.hpp"
#include "testing/run.hpp"

namespace pawl::sqlite {

class TempDir {
 public:
  TempDir() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-sqlite-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~TempDir() { std::filesystem::remove_all(path_); }
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;

  [[nodiscard]] std::string file(const std::string& name = "pawl.db") const {
    return (path_ / name).string();
  }
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

inline std::unique_ptr<SqliteStore> opened(const std::string& path, Options options = {}) {
  auto store = SqliteStore::open(path, std::move(options));
  if (!store) throw std::runtime_error(store.error());
  return std::move(*store);
}

// Why the store cannot be opened; empty if it can.
inline std::string refusal(const std::string& path) {
  auto store = SqliteStore::open(path);
  return store ? std::string() : store.error();
}

// co_spawn wants a result that can be made from nothing; an Expected cannot.
template <class T>
Task<std::optional<T>> boxed(Task<T> task) {
  std::optional<T> result;
  result.emplace(co_await std::move(task));
  co_return result;
}

template <class T>
T wait_for(Task<T> task) {
  return std::move(*testing::run(boxed(std::move(task))));
}

inline StoreResult<Written> insert(Store& store, const Record& record) {
  return wait_for(store.insert_or_read_one(record));
}
inline StoreResult<Written> replace(Store& store, const Record& next, const Guard& expected) {
  return wait_for(store.replace_one(Replacement{next, expected, {}}));
}
inline StoreResult<std::optional<Record>> find(Store& store, const Record& like) {
  return wait_for(store.find(like.scope, like.key));
}

// As text, so that a failed expectation can be read: "mine", "theirs", "none" or the error.
inline std::string told(const StoreResult<Written>& result) {
  if (!result) return std::string(to_text(result.error()));
  if (!result->current) return "none";
  return result->mine ? "mine" : "theirs";
}

inline void execute(const std::string& path, const std::string& sql) {
  auto connection = Connection::open(path, WhenMissing::fail, {});
  if (!connection) throw std::runtime_error(connection.error().text);
  if (connection->run(sql.c_str()) != SQLITE_OK) {
    throw std::runtime_error(connection->last_error().text);
  }
}

inline Record completed(const Record& record, std::string body = R"({"id":"pay_1"})") {
  Record next = testing::in_state(record, Status::completed, record.created_at);
  std::get<Completed>(next.state).response.body = std::move(body);
  return next;
}

}  // namespace pawl::sqlite
