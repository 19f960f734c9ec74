#include "bench/samples.hpp"

#include <array>
#include <cstdio>
#include <random>

namespace pawl::bench {

std::string random_key() {
  thread_local std::mt19937_64 generator(std::random_device{}());
  std::array<char, 40> text{};
  const int size = std::snprintf(text.data(), text.size(), "%016llx%016llx",
                                 static_cast<unsigned long long>(generator()),
                                 static_cast<unsigned long long>(generator()));
  return {text.data(), static_cast<std::size_t>(size)};
}

const std::string& sample_body() {
  static const std::string body =
      R"({"id":"pay_0123456789abcdef","amount":12000,"note":")" + std::string(140, 'x') + R"("})";
  return body;
}

}  // namespace pawl::bench
