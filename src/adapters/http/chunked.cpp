#include "src/adapters/http/chunked.hpp"

#include <algorithm>

#include "src/adapters/http/fields.hpp"
#include "src/adapters/http/syntax.hpp"

namespace pawl::http {
namespace {

constexpr int size_digits_max = 16;
constexpr std::size_t extension_bytes_max = 4096;  // of the whole body
constexpr std::size_t trailer_bytes_max = 16384;
// A megabyte in one-byte chunks is six on the wire: no honest client does that.
constexpr std::uint64_t overhead_bytes_free = 16384;
constexpr std::uint64_t overhead_per_byte_max = 4;

Refusal bad_chunk(std::string detail, Problem problem = Problem::bad_request) {
  return {problem, std::move(detail), {}};
}

}  // namespace

Expected<ChunkedDecoder::Step, Refusal> ChunkedDecoder::decode(std::string_view input) {
  std::size_t at = 0;
  while (at < input.size() && state_ != State::done) {
    if (state_ == State::data) {
      const auto length =
          static_cast<std::size_t>(std::min<std::uint64_t>(left_, input.size() - at));
      left_ -= length;
      content_bytes_ += length;
      if (left_ == 0) state_ = State::data_cr;
      return Step{at + length, input.substr(at, length)};
    }
    ++overhead_bytes_;
    if (std::optional<Refusal> refusal = take(input[at])) return Unexpected{*refusal};
    ++at;
  }
  return Step{at, {}};
}

std::optional<Refusal> ChunkedDecoder::take(char c) {
  if (overhead_bytes_ > overhead_bytes_free + overhead_per_byte_max * content_bytes_ &&
      state_ < State::trailer) {
    return bad_chunk("The chunks are too small for what they carry.", Problem::body_too_large);
  }
  switch (state_) {
    case State::size: return take_size(c);
    case State::extension: return take_extension(c);
    case State::size_lf:
      if (c != '\n') return bad_chunk("A chunk's size line must end in CRLF.");
      digits_ = 0;
      state_ = left_ == 0 ? State::trailer : State::data;
      return std::nullopt;
    case State::data_cr:
      if (c != '\r') return bad_chunk("A chunk must end in CRLF.");
      state_ = State::data_lf;
      return std::nullopt;
    case State::data_lf:
      if (c != '\n') return bad_chunk("A chunk must end in CRLF.");
      state_ = State::size;
      return std::nullopt;
    case State::trailer: return take_trailer(c);
    case State::trailer_lf: {
      if (c != '\n') return bad_chunk("A trailer line must end in CRLF.");
      if (line_.empty()) {
        state_ = State::done;
        return std::nullopt;
      }
      Fields ignored;  // never acted on: a trailer comes after every decision
      line_ += "\r\n";
      if (auto trouble = read_fields(line_, 1, BlanksBeforeColon::refused, ignored)) {
        return bad_chunk(trouble->what, trouble->problem);
      }
      line_.clear();
      state_ = State::trailer;
      return std::nullopt;
    }
    case State::data:
    case State::done: break;
  }
  return std::nullopt;
}

std::optional<Refusal> ChunkedDecoder::take_size(char c) {
  const int digit = hex_value(c);
  if (digit >= 0) {
    if (++digits_ > size_digits_max || (left_ >> 60) != 0) {
      return bad_chunk("A chunk's size is too long.");
    }
    left_ = left_ * 16 + static_cast<std::uint64_t>(digit);
    return std::nullopt;
  }
  if (digits_ == 0) return bad_chunk("A chunk must start with its size in hexadecimal.");
  if (c == '\r') {
    state_ = State::size_lf;
    return std::nullopt;
  }
  if (c != ';') return bad_chunk("A chunk's size must be followed by CRLF.");
  state_ = State::extension;
  return std::nullopt;
}

std::optional<Refusal> ChunkedDecoder::take_extension(char c) {
  if (++extension_bytes_ > extension_bytes_max) return bad_chunk("Chunk extensions are too long.");
  if (c == '\r') {
    if (in_quotes_) return bad_chunk("A chunk extension's quote is not closed.");
    state_ = State::size_lf;
    return std::nullopt;
  }
  if (!is_field_value({&c, 1})) return bad_chunk("A chunk extension has a control character.");
  if (escaped_) {
    escaped_ = false;
  } else if (in_quotes_ && c == '\\') {
    escaped_ = true;
  } else if (c == '"') {
    in_quotes_ = !in_quotes_;
  }
  return std::nullopt;
}

std::optional<Refusal> ChunkedDecoder::take_trailer(char c) {
  if (++trailer_bytes_ > trailer_bytes_max) {
    return bad_chunk("The trailer section is too large.", Problem::headers_too_large);
  }
  if (c == '\r') {
    state_ = State::trailer_lf;
    return std::nullopt;
  }
  if (c == '\n') return bad_chunk("A trailer line must end in CRLF.");
  if (line_.empty() && !is_token_char(c)) {
    return bad_chunk("The last chunk must be followed by CRLF or a trailer field.");
  }
  line_ += c;
  return std::nullopt;
}

}  // namespace pawl::http
