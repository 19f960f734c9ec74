// RFC 8785 against the documents and numbers of cyberphone/json-canonicalization.
#include <gtest/gtest.h>

#include <bit>
#include <charconv>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "src/core/canonical.hpp"
#include "src/core/sha256.hpp"
#include "tests/vectors/vectors.hpp"

namespace pawl::json {
namespace {

namespace fs = std::filesystem;

// "7b 22 ..." with blanks and line breaks anywhere.
std::string from_hex(std::string_view text) {
  std::string bytes;
  while (true) {
    const auto begin = text.find_first_not_of(" \r\n");
    if (begin == text.npos) return bytes;
    text.remove_prefix(begin);
    unsigned byte = 0;
    std::from_chars(text.data(), text.data() + 2, byte, 16);
    bytes.push_back(static_cast<char>(byte));
    text.remove_prefix(2);
  }
}

struct NumberLine {
  double value;
  std::string expected;
};

std::vector<NumberLine> number_lines(std::string_view text) {
  std::vector<NumberLine> lines;
  while (!text.empty()) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    std::uint64_t bits = 0;
    const std::size_t comma = line.find(',');
    std::from_chars(line.data(), line.data() + comma, bits, 16);
    lines.push_back({std::bit_cast<double>(bits), std::string(line.substr(comma + 1))});
  }
  return lines;
}

TEST(JcsVectors, DocumentsComeOutByteForByte) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  int documents = 0;
  for (const auto& entry : fs::directory_iterator(*folder / "jcs" / "input")) {
    const std::string name = entry.path().stem().string();
    const auto value = read(vectors::read_bytes(entry.path()));
    ASSERT_TRUE(value) << name << ": " << value.error().what;
    const std::string text = canonical(*value, Numbers::rfc8785);
    EXPECT_EQ(text, vectors::read_bytes(*folder / "jcs" / "output" / (name + ".json"))) << name;
    EXPECT_EQ(text, from_hex(vectors::read_bytes(*folder / "jcs" / "outhex" / (name + ".txt"))))
        << name;
    ++documents;
  }
  EXPECT_GE(documents, 4);
  RecordProperty("documents", documents);
}

TEST(JcsVectors, NumbersAreWrittenAsEcmascriptWritesThem) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  const auto lines = number_lines(vectors::read_bytes(*folder / "jcs" / "es6-numbers.txt"));
  EXPECT_GE(lines.size(), 7500u);
  RecordProperty("numbers", static_cast<int>(lines.size()));
  for (const NumberLine& line : lines) ASSERT_EQ(ecmascript_number(line.value), line.expected);
}

TEST(JcsVectors, ExactNumbersHaveTheSameLayout) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  for (const auto& line : number_lines(vectors::read_bytes(*folder / "jcs" / "es6-numbers.txt"))) {
    const auto value = read(line.expected);
    ASSERT_TRUE(value) << line.expected;
    ASSERT_EQ(canonical(*value, Numbers::exact), line.expected);
    ASSERT_EQ(canonical(*value, Numbers::rfc8785), line.expected);
  }
}

// The doubles of upstream's sequence from its third part on: little-endian, out of SHA-256 applied
// to itself again and again, starting with 32 zero bytes.
class RandomDoubles {
 public:
  double next() {
    while (true) {
      if (at_ == block_.size()) {
        block_ = sha256({reinterpret_cast<const char*>(block_.data()), block_.size()});
        at_ = 0;
      }
      std::uint64_t bits = 0;
      for (unsigned shift = 0; shift < 64; shift += 8)
        bits |= std::uint64_t{block_[at_++]} << shift;
      const bool is_finite = (bits >> 52 & 0x7FF) != 0x7FF;
      if (bits << 1 != 0 && is_finite) return std::bit_cast<double>(bits);
    }
  }

 private:
  Digest block_{};
  std::size_t at_ = block_.size();
};

TEST(JcsVectors, RandomDoublesReadBackAsThemselves) {
  RandomDoubles doubles;
  for (int i = 0; i < 100'000; ++i) {
    const double value = doubles.next();
    const std::string text = ecmascript_number(value);
    double back = 0;
    std::from_chars(text.data(), text.data() + text.size(), back);
    ASSERT_EQ(back, value) << text;
  }
}

TEST(JcsVectors, TheListedNumbersAreThoseOfTheSequence) {
  const auto folder = vectors::folder();
  if (!folder) GTEST_SKIP() << vectors::absent;
  const auto lines = number_lines(vectors::read_bytes(*folder / "jcs" / "es6-numbers.txt"));
  std::multiset<double> listed;
  for (const NumberLine& line : lines) listed.insert(line.value);
  RandomDoubles doubles;
  std::size_t found = 0;
  for (int i = 0; i < 10'000; ++i) found += listed.count(doubles.next());
  EXPECT_GT(found, lines.size() / 2) << "the generator is not upstream's";
}

}  // namespace
}  // namespace pawl::json
