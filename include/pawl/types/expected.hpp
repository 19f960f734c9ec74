// A value, or the reason there is none. What std::expected is from C++23 on; see
// docs/decisions/0002-expected.md.
#pragma once

#include <type_traits>
#include <utility>
#include <variant>

#include "pawl/types/check.hpp"

namespace pawl {

template <class E>
struct Unexpected {
  E error;
};
template <class E>
Unexpected(E) -> Unexpected<E>;

// Reading the value of a failure, or the error of a success, is a bug and ends the process.
template <class T, class E>
class [[nodiscard]] Expected {
 public:
  using value_type = T;
  using error_type = E;

  Expected(T value) : content_(std::in_place_index<0>, std::move(value)) {}
  Expected(Unexpected<E> failure) : content_(std::in_place_index<1>, std::move(failure.error)) {}

  [[nodiscard]] bool has_value() const noexcept { return content_.index() == 0; }
  explicit operator bool() const noexcept { return has_value(); }

  T& value() & {
    PAWL_CHECK(has_value());
    return *std::get_if<0>(&content_);
  }
  const T& value() const& {
    PAWL_CHECK(has_value());
    return *std::get_if<0>(&content_);
  }
  T&& value() && {
    PAWL_CHECK(has_value());
    return std::move(*std::get_if<0>(&content_));
  }
  const E& error() const& {
    PAWL_CHECK(!has_value());
    return *std::get_if<1>(&content_);
  }

  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

 private:
  std::variant<T, E> content_;
};

// Success with nothing to say.
struct Done {
  friend bool operator==(const Done&, const Done&) = default;
};

}  // namespace pawl
