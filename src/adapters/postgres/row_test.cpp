#include "src/adapters/postgres/row.hpp"

#include <gtest/gtest.h>

#include "src/core/sealed.hpp"
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

// As versions from before encryption do with whatever member they do not know.
TEST(Row, ASealedRequestIsMarkedAsWhatEarlierVersionsDoNotUnderstand) {
  Record record = testing::an_in_progress_record();
  record.request = StoredRequest{std::string(sealed_target), {}, "ciphertext"};
  const std::array<const Record*, 1> one{&record};
  const ColumnInfo& column = columns()[static_cast<std::size_t>(Column::request)];
  const std::string bytes = only_element(encode_column(column, one)).bytes;
  EXPECT_EQ(bytes, "{\"target\":\"pawl:sealed\",\"headers\":[],\"sealed\":1}\nciphertext");
  EXPECT_EQ(with_request(bytes)->request, record.request);
  EXPECT_FALSE(with_request("{\"target\":\"pawl:sealed\",\"headers\":[],\"sealed\":2}\nx"));
  EXPECT_FALSE(with_request("{\"target\":\"/\",\"headers\":[],\"sealed\":1}\nx"));
}

}  // namespace
}  // namespace pawl::postgres
