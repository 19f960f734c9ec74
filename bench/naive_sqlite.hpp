// The other side: what one writes first. One transaction per operation on one connection, with the
// same durability, indexes as the first article has them.
#pragma once

#include <sqlite3.h>

#include <mutex>

#include "bench/samples.hpp"

namespace pawl::bench {

class NaiveSqlite final : public Subject {
 public:
  explicit NaiveSqlite(const std::string& path);
  ~NaiveSqlite() override;
  NaiveSqlite(const NaiveSqlite&) = delete;
  NaiveSqlite& operator=(const NaiveSqlite&) = delete;
  Samples run(int callers, Seconds seconds) override;

 private:
  bool one_pair();
  void execute(const char* sql);

  sqlite3* database_ = nullptr;
  sqlite3_stmt* insert_ = nullptr;
  sqlite3_stmt* update_ = nullptr;
  std::mutex mutex_;
};

}  // namespace pawl::bench
