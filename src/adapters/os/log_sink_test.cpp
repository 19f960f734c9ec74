#include "src/adapters/os/log_sink.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <optional>
#include <vector>

namespace pawl::os {
namespace {

using namespace std::chrono_literals;

class Pipe {
 public:
  explicit Pipe(int flags = 0) {
    if (::pipe2(ends_.data(), O_CLOEXEC | flags) != 0) std::abort();
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  ~Pipe() {
    for (const int end : ends_) ::close(end);
  }
  [[nodiscard]] int reader() const { return ends_[0]; }
  [[nodiscard]] int writer() const { return ends_[1]; }
  std::string read(std::size_t bytes) {
    while (buffer_.size() < bytes) fill();
    return take(bytes);
  }
  std::string read_line() {
    while (buffer_.find('\n') == std::string::npos) fill();
    return take(buffer_.find('\n') + 1);
  }

 private:
  void fill() {
    pollfd readable{reader(), POLLIN, 0};
    ::poll(&readable, 1, -1);
    std::array<char, 16384> some{};
    const ssize_t count = ::read(reader(), some.data(), some.size());
    if (count > 0) buffer_.append(some.data(), static_cast<std::size_t>(count));
  }
  std::string take(std::size_t bytes) {
    std::string taken = buffer_.substr(0, bytes);
    buffer_.erase(0, bytes);
    return taken;
  }

  std::string buffer_;
  std::array<int, 2> ends_{};
};

std::string line_of(std::size_t size, char letter) { return std::string(size - 1, letter) + "\n"; }

std::vector<std::string> lines_in(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t end = std::min(text.find('\n', at), text.size() - 1) + 1;
    lines.push_back(text.substr(at, end - at));
    at = end;
  }
  return lines;
}

LogSinkOptions options_for(int descriptor) {
  LogSinkOptions options;
  options.descriptor = descriptor;
  options.end_wait = 60s;  // whoever is not meant to wait for long says so
  options.dropped_line = [](std::uint64_t lines) { return std::to_string(lines) + " dropped\n"; };
  return options;
}

TEST(LogSink, LinesOfManyThreadsComeOutWholeAndInTheirOrder) {
  Pipe pipe;
  constexpr std::size_t threads = 4;
  constexpr std::size_t lines = 2000;
  constexpr std::size_t width = 100;
  LogSink sink(options_for(pipe.writer()));
  std::vector<std::thread> writers;
  for (std::size_t i = 0; i < threads; ++i) {
    writers.emplace_back([&sink, i] {
      for (std::size_t n = 1000; n < 1000 + lines; ++n) {
        const std::string number = std::to_string(n);
        sink.write(number + line_of(width - number.size(), static_cast<char>('a' + i)));
      }
    });
  }
  const std::string text = pipe.read(threads * lines * width);
  for (std::thread& writer : writers) writer.join();
  std::array<std::size_t, threads> next{};
  for (const std::string& line : lines_in(text)) {
    ASSERT_EQ(line.size(), width) << line;
    const char letter = line[4];
    const std::size_t number = 1000 + next.at(static_cast<std::size_t>(letter - 'a'))++;
    ASSERT_EQ(line, std::to_string(number) + line_of(width - 4, letter));
  }
  EXPECT_EQ(sink.dropped(), 0U);
}

// Nobody reads: every write returns all the same, or this test would not end.
TEST(LogSink, AFullQueueDropsLinesCountsThemAndSaysSo) {
  Pipe pipe;
  LogSink sink(options_for(pipe.writer()));
  std::string accepted;
  std::uint64_t refused = 0;
  for (std::size_t i = 0; refused < 1000; ++i) {
    const std::string line = line_of(1000, static_cast<char>('a' + i % 26));
    if (sink.write(line)) {
      accepted += line;
    } else {
      ++refused;
    }
  }
  EXPECT_EQ(sink.dropped(), refused);
  std::string came;
  std::uint64_t told = 0;  // more than once, where there was room in between
  while (told < refused) {
    const std::string line = pipe.read_line();
    if (line.ends_with(" dropped\n")) {
      told += std::stoull(line);
    } else {
      came += line;
    }
  }
  EXPECT_EQ(told, refused);
  EXPECT_EQ(came, accepted);
  EXPECT_TRUE(sink.write("after\n", LogSink::When::at_once));
  EXPECT_EQ(pipe.read(6), "after\n");
  EXPECT_EQ(sink.dropped(), refused);
}

TEST(LogSink, ItsEndWaitsForAReaderButNotForEver) {
  Pipe pipe;
  std::string accepted;
  {
    LogSinkOptions options = options_for(pipe.writer());
    options.end_wait = 10ms;
    LogSink sink(options);
    for (std::string line = line_of(1000, 'x'); sink.write(line);) accepted += line;
    EXPECT_FALSE(sink.flush());
  }
  EXPECT_EQ(pipe.read(accepted.size()), accepted) << "the thread goes on while the process does";
  {
    LogSink sink(options_for(pipe.writer()));
    sink.write("the last line\n");
  }
  pollfd readable{pipe.reader(), POLLIN, 0};
  ASSERT_EQ(::poll(&readable, 1, 0), 1) << "its end came before its last line";
  std::string line = pipe.read_line();
  if (line.ends_with(" dropped\n")) line = pipe.read_line();  // the first one's last word
  EXPECT_EQ(line, "the last line\n");
}

TEST(LogSink, FlushReturnsWhenAllOfItIsOut) {
  Pipe pipe;
  LogSinkOptions options = options_for(pipe.writer());
  options.gather = 1h;
  LogSink sink(options);
  sink.write("one\n");
  EXPECT_TRUE(sink.flush());
  pollfd readable{pipe.reader(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 1);
  EXPECT_EQ(pipe.read(4), "one\n");
  sink.write("two\n", LogSink::When::at_once);
  EXPECT_EQ(pipe.read(4), "two\n");
}

// This program leaves SIGPIPE as it is: it would end here.
TEST(LogSink, AReaderThatIsGoneEndsNothing) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  ::close(ends[0]);
  LogSink sink(options_for(ends[1]));
  for (int i = 0; i < 10; ++i) sink.write("nobody\n");
  EXPECT_TRUE(sink.flush());
  EXPECT_EQ(sink.dropped(), 10U);
  ::close(ends[1]);
}

TEST(LogSink, AFileThatCannotGrowIsGoneOnWithOnALineOfItsOwn) {
  std::string name = "/tmp/pawl-log-sink-XXXXXX";
  const int file = ::mkstemp(name.data());
  ASSERT_GE(file, 0);
  {
    LogSink sink(options_for(file));
    rlimit before{};
    ::getrlimit(RLIMIT_FSIZE, &before);
    const rlimit small{250, before.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &small);
    for (int i = 0; i < 4; ++i) sink.write(line_of(100, 'x'));
    EXPECT_TRUE(sink.flush());
    ::setrlimit(RLIMIT_FSIZE, &before);
    EXPECT_EQ(sink.dropped(), 2U);
    sink.write("after\n");
    EXPECT_TRUE(sink.flush());
    EXPECT_EQ(sink.dropped(), 2U);
  }
  std::string text(1000, '\0');
  const ssize_t size = ::pread(file, text.data(), text.size(), 0);
  text.resize(static_cast<std::size_t>(size));
  EXPECT_EQ(text,
            line_of(100, 'x') + line_of(100, 'x') + std::string(50, 'x') + "\nafter\n2 dropped\n");
  ::close(file);
  ::unlink(name.c_str());
}

// Some programs make the pipe they give us so, and it is one and the same for both.
TEST(LogSink, ADescriptorThatDoesNotBlockLosesNothing) {
  Pipe pipe(O_NONBLOCK);
  LogSink sink(options_for(pipe.writer()));
  std::string accepted;
  for (int i = 0; i < 500; ++i) {
    const std::string line = line_of(1000, static_cast<char>('a' + i % 26));
    ASSERT_TRUE(sink.write(line));
    accepted += line;
  }
  EXPECT_EQ(pipe.read(accepted.size()), accepted);
  EXPECT_EQ(sink.dropped(), 0U);
}

TEST(LogSink, TwoThatShareAPipeDoNotMixTheirLines) {
  Pipe pipe;
  constexpr std::size_t lines = 500;
  std::optional<LogSink> sinks[2];
  for (auto& sink : sinks) sink.emplace(options_for(pipe.writer()));
  for (std::size_t i = 0; i < lines; ++i) {
    sinks[0]->write(line_of(700, 'a'));
    sinks[1]->write(line_of(900, 'b'));
  }
  for (const std::string& line : lines_in(pipe.read(lines * 1600))) {
    ASSERT_EQ(line, line[0] == 'a' ? line_of(700, 'a') : line_of(900, 'b'));
  }
}

TEST(LogSink, ALineLongerThanAPipeTakesAtOnceIsWhole) {
  Pipe pipe;
  LogSink sink(options_for(pipe.writer()));
  const std::string text =
      line_of(100, 'a') + line_of(200'000, 'b') + line_of(5000, 'c') + line_of(10, 'd');
  for (const std::string& line : lines_in(text)) sink.write(line);
  EXPECT_EQ(pipe.read(text.size()), text);
}

}  // namespace
}  // namespace pawl::os
