#include "src/adapters/http/body.hpp"

#include <algorithm>

namespace pawl::http {

Refusal body_too_large(std::size_t bytes_max) {
  return {Problem::body_too_large,
          "The body is over the limit of " + std::to_string(bytes_max) + " bytes.",
          {}};
}

Refusal overloaded() { return {Problem::overloaded, {}, {}}; }

std::optional<Refusal> refusal_of(BodyTrouble trouble) {
  if (trouble.refusal) return std::move(trouble.refusal);
  if (trouble.io != Io::timed_out) return std::nullopt;
  return Refusal{Problem::bad_request, "The body did not arrive in time.", 408};
}

BodyReader::BodyReader(Stream& stream, Framing framing, std::uint64_t length)
    : stream_(stream),
      framing_(framing),
      left_(length),
      done_(framing == Framing::none || (framing == Framing::length && length == 0)) {}

// Moves on in what has arrived; leaves a piece, or nothing if more is needed.
std::optional<BodyTrouble> BodyReader::take_arrived() {
  const std::string_view arrived = stream_.arrived();
  switch (framing_) {
    case Framing::none: break;
    case Framing::until_close:
      piece_ = arrived;
      used_ = arrived.size();
      break;
    case Framing::length:
      piece_ = arrived.substr(
          0, static_cast<std::size_t>(std::min<std::uint64_t>(left_, arrived.size())));
      used_ = piece_.size();
      left_ -= used_;
      done_ = left_ == 0;
      break;
    case Framing::chunked: {
      const Expected<ChunkedDecoder::Step, Refusal> step = chunks_.decode(arrived);
      if (!step) return BodyTrouble{Io::ok, step.error()};
      piece_ = step->content;
      used_ = step->used;
      done_ = chunks_.done();
      break;
    }
  }
  return std::nullopt;
}

Task<Expected<std::string_view, BodyTrouble>> BodyReader::next() {
  piece_ = {};
  stream_.consume(used_);
  used_ = 0;
  while (!done_) {
    if (!stream_.arrived().empty()) {
      std::optional<BodyTrouble> trouble = take_arrived();
      if (trouble) co_return Unexpected{std::move(*trouble)};
      if (!piece_.empty()) co_return piece_;
      stream_.consume(used_);
      used_ = 0;
      if (done_) break;
      if (!stream_.arrived().empty()) continue;
    }
    const Io io = co_await stream_.read_more();
    if (io == Io::closed && framing_ == Framing::until_close) {
      done_ = true;
    } else if (io != Io::ok) {
      BodyTrouble trouble;
      trouble.io = io;
      co_return Unexpected{std::move(trouble)};
    }
  }
  co_return piece_;
}

Task<Expected<std::string, BodyTrouble>> BodyReader::read_whole(std::size_t bytes_max,
                                                                Charge* memory) {
  const auto has_room_for = [memory](std::size_t bytes) {
    return memory == nullptr || memory->cover(bytes, MemoryUse::new_work);
  };
  std::string whole;
  BodyTrouble trouble;
  stream_.consume(used_);
  used_ = 0;
  const bool has_length = framing_ == Framing::length && left_ <= bytes_max;
  const std::size_t all = has_length ? static_cast<std::size_t>(left_) : bytes_max;
  const std::string_view arrived = stream_.arrived();
  // Nearly every body comes with its head: then there is nothing to wait for.
  if (has_length && all <= arrived.size()) {
    if (!has_room_for(all)) {
      trouble.refusal = overloaded();
      co_return Unexpected{std::move(trouble)};
    }
    whole = arrived.substr(0, all);
    stream_.consume(whole.size());
    left_ = 0;
    done_ = true;
    co_return whole;
  }
  if (has_length) whole.reserve(all);
  for (;;) {
    const Expected<std::string_view, BodyTrouble> piece = co_await next();
    if (!piece) co_return Unexpected{piece.error()};
    if (piece->empty()) co_return whole;
    const std::size_t size = whole.size() + piece->size();
    if (size > bytes_max) {
      trouble.refusal = body_too_large(bytes_max);
      co_return Unexpected{std::move(trouble)};
    }
    if (!has_room_for(charged_for(size, all))) {
      trouble.refusal = overloaded();
      co_return Unexpected{std::move(trouble)};
    }
    whole.append(*piece);
  }
}

}  // namespace pawl::http
