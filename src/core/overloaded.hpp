#pragma once

namespace pawl {

// std::visit(Overloaded{[](const A&) {...}, [](const B&) {...}}, variant): a missing alternative
// does not compile.
template <class... Functions>
struct Overloaded : Functions... {
  using Functions::operator()...;
};
template <class... Functions>
Overloaded(Functions...) -> Overloaded<Functions...>;

}  // namespace pawl
