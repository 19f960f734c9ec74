#include "src/adapters/postgres/row.hpp"

#include <gtest/gtest.h>

#include "testing/builders.hpp"

namespace pawl::postgres {
namespace {

// The record as it comes back when its request's column holds these bytes.
std::optional<Record> with_request(const std::string& bytes) {
  Record record = testing::an_in_progress_record();
  record.request = StoredRequest{"/v1/payments", {{"A", "b"}}, "body"};
  std::vector<Parameter> row;
  for (const ColumnInfo& info : columns()) {
    const std::array<const Record*, 1> one{&record};
    row.push_back(only_element(encode_column(info, one)));
  }
  row[static_cast<std::size_t>(Column::request)].bytes = bytes;
  const Fields fields = [&](std::size_t i) -> std::optional<std::string_view> {
    if (row[i].null) return std::nullopt;
    return row[i].bytes;
  };
  return decode_record(fields, 0);
}

TEST(Row, ARequestThatSomebodyNewerHasStoredIsNotUnderstood) {
  const auto known = with_request("{\"target\":\"/\",\"headers\":[[\"A\",\"b\"]]}\nbody");
  ASSERT_TRUE(known && known->request);
  EXPECT_EQ(known->request->body, "body");
  EXPECT_FALSE(with_request("{\"target\":\"/\",\"headers\":[],\"deadline\":5}\nbody"));
  EXPECT_FALSE(with_request("{\"target\":\"/\"}\nbody"));
  EXPECT_FALSE(with_request("[]\nbody"));
}

}  // namespace
}  // namespace pawl::postgres
