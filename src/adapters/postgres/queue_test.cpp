#include "src/adapters/postgres/queue.hpp"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>

#include "testing/builders.hpp"

namespace pawl::postgres {
namespace {

class Queue : public ::testing::Test {
 protected:
  std::shared_ptr<Write> push(WriteKind kind, const std::string& key, std::size_t bytes = 10) {
    auto write = std::make_shared<Write>();
    write->kind = kind;
    write->next = testing::an_in_progress_record(key);
    write->identity = identity_of(write->next.scope, write->next.key);
    write->bytes = bytes;
    queue_.push(write);
    return write;
  }
  std::vector<std::string> take() {
    std::vector<std::string> keys;
    for (const auto& write : queue_.take()) keys.push_back(write->next.key.text);
    return keys;
  }

  using Keys = std::vector<std::string>;
  Options options_{.batch_rows_max = 4, .batch_bytes_max = 100};
  BusyKeys busy_;
  WriteQueue queue_{options_, busy_};
};

TEST_F(Queue, ABatchIsSortedByKindAndKey) {
  push(WriteKind::replace, "d");
  push(WriteKind::insert, "c");
  push(WriteKind::insert, "a");
  push(WriteKind::replace, "b");
  EXPECT_EQ(take(), (Keys{"a", "c", "b", "d"}));
  EXPECT_TRUE(queue_.empty());
}

TEST_F(Queue, InsertionsOfOneKeyShareABatchReplacementsDoNot) {
  push(WriteKind::insert, "a");
  push(WriteKind::insert, "a");
  EXPECT_EQ(take(), (Keys{"a", "a"}));
  busy_.clear();
  push(WriteKind::replace, "b");
  push(WriteKind::replace, "b");
  push(WriteKind::replace, "c");
  EXPECT_EQ(take(), (Keys{"b", "c"}));
  EXPECT_EQ(take(), Keys{}) << "b is on its way";
  busy_.clear();
  EXPECT_EQ(take(), (Keys{"b"}));
}

TEST_F(Queue, TheWritesOfOneKeyKeepTheirOrder) {
  push(WriteKind::replace, "a");
  push(WriteKind::insert, "a");
  push(WriteKind::replace, "b");
  EXPECT_EQ(take(), (Keys{"a", "b"}));
  push(WriteKind::replace, "a");
  busy_.clear();
  EXPECT_EQ(take(), (Keys{"a"}));  // the insertion
  EXPECT_FALSE(queue_.empty());
}

TEST_F(Queue, RowsAndBytesAreBounded) {
  for (const char* key : {"a", "b", "c", "d", "e"}) push(WriteKind::insert, key);
  EXPECT_EQ(take().size(), 4u);
  EXPECT_EQ(take().size(), 1u);
  push(WriteKind::insert, "f", 60);
  push(WriteKind::insert, "g", 60);
  push(WriteKind::insert, "h", 500);
  EXPECT_EQ(take(), (Keys{"f"}));
  EXPECT_EQ(take(), (Keys{"g"}));
  EXPECT_EQ(take(), (Keys{"h"})) << "too large for any batch, it goes alone";
}

}  // namespace
}  // namespace pawl::postgres
