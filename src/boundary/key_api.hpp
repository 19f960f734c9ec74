// The key API: reserve, advance, complete, release and renew for owners outside of the process.
//
// Their records live in scopes of their own, and every write needs the owner's token and its fence.
// Nothing of an owner is kept here: any node may be asked, and asking again is harmless. Over
// values and ports, like the boundary: its caller has the socket, reads the body and delivers the
// answer.
#pragma once

#include <optional>
#include <string_view>
#include <variant>

#include "src/boundary/boundary.hpp"
#include "src/boundary/key_calls.hpp"

namespace pawl {

// What became of a call.
struct KeyAnswer {
  Response response;  // what the caller is told
  // The same as values. Neither: it was refused, or failed, before there was anything to decide on.
  std::variant<std::monostate, Reservation, GrantWrite> result;
  Duration lease_left{0};  // of what the caller holds, as it is told
};

// What the fingerprint of a reserve is made of. A view of `call`.
RequestContent content_of(const KeyCall& call);

// One per thread, beside that thread's boundary.
class KeyApi {
 public:
  KeyApi(BoundaryState& state, Boundary::Ports ports, Boundary& boundary)
      : state_(state), ports_(ports), boundary_(boundary) {}

  // Of a context whose scope and key are known, and whose body has been read.
  Task<KeyAnswer> call(RequestContext& context, KeyVerb verb);

 private:
  Task<KeyAnswer> reserve(RequestContext& context, const KeyCall& call);
  // For a scope that is over its limit: what is there already, with nothing written.
  Task<KeyAnswer> look_up(RequestContext& context, const KeyCall& call, const Request& request);
  Task<KeyAnswer> write(RequestContext& context, KeyVerb verb, const KeyCall& call);
  Task<StoreResult<GrantWrite>> apply(RequestContext& context, KeyVerb verb, const KeyCall& call);
  // What is to be said instead, where an answer that was refused could not be kept as evidence.
  Task<std::optional<Response>> keep_refused(RequestContext& context, const KeyCall& call,
                                             const GrantWrite& refused);

  KeyAnswer answer(RequestContext& context, Reservation found);
  KeyAnswer answer(RequestContext& context, const KeyCall& call, GrantWrite written);
  Response render_replay(RequestContext& context, const Reservation& found, const Replay& replay,
                         Duration lease_left);
  Response stale(RequestContext& context, const KeyCall& call, const Record& record);
  Response failed(RequestContext& context, StoreError error);
  Response limited(RequestContext& context, std::string_view detail = {});

  BoundaryState& state_;
  Boundary::Ports ports_;
  Boundary& boundary_;
};

}  // namespace pawl
