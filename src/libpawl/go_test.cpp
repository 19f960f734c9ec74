// The right to execute, held for longer than the node that gave it: as a server's event loop does
// that was declared before the node and ends after it.
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <future>

#include "pawl/middleware.hpp"

namespace pawl {
namespace {

class Folder {
 public:
  Folder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "pawl-go-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("mkdtemp");
    path_ = pattern;
  }
  ~Folder() { std::filesystem::remove_all(path_); }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  [[nodiscard]] std::string url() const { return "sqlite:" + (path_ / "pawl.db").string(); }

 private:
  std::filesystem::path path_;
};

class Go : public ::testing::TestWithParam<WhenInFlight> {};

HttpRequest payment() {
  HttpRequest request;
  request.headers = {{"Idempotency-Key", "key-of-a-payment-0001"},
                     {"Content-Type", "application/json"}};
  request.body = R"({"amount":10})";
  return request;
}

// The second one sleeps until the first is answered, and that never happens.
TEST(Node, MayEndWhileARequestWaits) {
  const Folder folder;
  Route route{.name = "payments"};
  route.policy.in_flight = WhenInFlight::wait;
  std::promise<Middleware::Begun> begun;
  std::future<Middleware::Begun> first = begun.get_future();
  {
    Middleware middleware(open(folder.url()), route);
    middleware.begin("tenant-a", payment(),
                     [&](Middleware::Begun each) { begun.set_value(std::move(each)); });
    first.wait();
    for (int i = 0; i < 3; ++i) {
      middleware.begin("tenant-a", payment(),
                       [](const Middleware::Begun&) { ADD_FAILURE() << "nobody has answered"; });
    }
    // On the node's thread after those: they have begun to wait by then.
    std::promise<void> later;
    HttpRequest other = payment();
    other.headers.front().value = "key-of-a-payment-0002";
    middleware.begin("tenant-a", other, [&](const Middleware::Begun&) { later.set_value(); });
    later.get_future().wait();
  }
}

TEST_P(Go, MayBeDroppedWhenItsMiddlewareAndItsNodeAreGone) {
  const Folder folder;
  std::promise<Middleware::Begun> begun;
  std::future<Middleware::Begun> result = begun.get_future();
  Middleware::Begun held;
  {
    Route route{.name = "payments"};
    route.policy.in_flight = GetParam();
    Middleware middleware(open(folder.url()), route);
    middleware.begin("tenant-a", payment(),
                     [&](Middleware::Begun each) { begun.set_value(std::move(each)); });
    held = result.get();
  }
  ASSERT_TRUE(std::holds_alternative<Middleware::Go>(held));
  held = Middleware::Unguarded{};  // the address sanitizer says whether that was well
}

INSTANTIATE_TEST_SUITE_P(All, Go, ::testing::Values(WhenInFlight::conflict, WhenInFlight::wait),
                         [](const auto& which) {
                           return which.param == WhenInFlight::wait ? "Wait" : "Conflict";
                         });

}  // namespace
}  // namespace pawl
