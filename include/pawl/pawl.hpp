// All of libpawl that needs nothing but the standard library. pawl/async.hpp (coroutines) and
// pawl/beast.hpp (Boost.Beast messages) are for programs that use Boost.
#pragma once

#include "pawl/flow.hpp"
#include "pawl/http_request.hpp"
#include "pawl/middleware.hpp"
#include "pawl/node.hpp"
#include "pawl/reconcile.hpp"
