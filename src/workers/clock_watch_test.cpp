#include "src/workers/clock_watch.hpp"

#include <gmock/gmock.h>

namespace pawl::workers {
namespace {

using namespace std::chrono_literals;
using ::testing::HasSubstr;
using ::testing::Not;

class ClockWatchTest : public ::testing::Test {
 protected:
  ClockWatchTest() { tell(0s); }

  // What the watch says once the store's clock is so far ahead of where it was.
  std::optional<ClockNotice> tell(Duration ahead) {
    boot_ += 1s;
    time_.observe(Instant(1000h) + boot_.time_since_epoch() + ahead, boot_, boot_);
    return watch_.changed(time_);
  }

  BootTime boot_{};
  StoreTime time_;
  ClockWatch watch_;
};

TEST_F(ClockWatchTest, SaysOnceWhenAClockJumpedAndOnceWhenItIsOver) {
  EXPECT_FALSE(tell(0s)) << "all is well";
  const std::optional<ClockNotice> jumped = tell(10min);
  ASSERT_TRUE(jumped);
  EXPECT_STREQ(jumped->level, "warning");
  EXPECT_THAT(jumped->text, HasSubstr("moved apart"));
  EXPECT_THAT(jumped->text, Not(HasSubstr("restart")));
  EXPECT_FALSE(tell(10min)) << "it was said";
  const std::optional<ClockNotice> over = tell(0s);
  ASSERT_TRUE(over);
  EXPECT_STREQ(over->level, "info");
  EXPECT_FALSE(tell(0s));
}

TEST_F(ClockWatchTest, SaysWhenOnlyARestartHelps) {
  const std::optional<ClockNotice> jumped = tell(16min);
  ASSERT_TRUE(jumped);
  EXPECT_THAT(jumped->text, HasSubstr("restart this node"));
  EXPECT_EQ(clock_trouble(time_), jumped->text) << "readiness says the same";
}

}  // namespace
}  // namespace pawl::workers
