// The chunked transfer coding, decoded strictly as the bytes arrive.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "src/adapters/http/head.hpp"

namespace pawl::http {

class ChunkedDecoder {
 public:
  struct Step {
    std::size_t used = 0;      // bytes of the input that are done with
    std::string_view content;  // of the input; append it to the body
  };

  // Call again with the rest until `done()` or until nothing is used. Extensions and trailers are
  // checked and dropped. A chunk's framing may not cost much more than what it carries.
  Expected<Step, Refusal> decode(std::string_view input);

  [[nodiscard]] bool done() const { return state_ == State::done; }

 private:
  enum class State {
    size,       // hexadecimal digits
    extension,  // up to CR
    size_lf,
    data,
    data_cr,
    data_lf,
    trailer,  // a line, up to CR; an empty one is the end
    trailer_lf,
    done,
  };

  std::optional<Refusal> take(char c);
  std::optional<Refusal> take_size(char c);
  std::optional<Refusal> take_extension(char c);
  std::optional<Refusal> take_trailer(char c);

  State state_ = State::size;
  std::uint64_t left_ = 0;
  int digits_ = 0;
  bool in_quotes_ = false;
  bool escaped_ = false;
  std::string line_;  // of the trailer section
  std::size_t trailer_bytes_ = 0;
  std::size_t extension_bytes_ = 0;
  std::uint64_t overhead_bytes_ = 0;
  std::uint64_t content_bytes_ = 0;
};

}  // namespace pawl::http
