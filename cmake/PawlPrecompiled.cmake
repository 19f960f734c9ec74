# Three precompiled headers, each made once and shared by every folder: Asio, GoogleTest, both. (One of the standard library
# alone for the core saves little, and GCC 12 then raises false alarms about it.)
# Only headers of others stand in them: a header of ours still has to include what it uses, and a change of ours rebuilds
# no more than what includes it. Measured on tests: 0.6 of the processor time, together with -O1.

set(PAWL_STANDARD_HEADERS
  <algorithm> <array> <atomic> <charconv> <chrono> <compare> <cstdint> <cstring> <deque> <functional> <list> <map> <memory>
  <mutex> <optional> <set> <span> <string> <string_view> <tuple> <unordered_map> <utility> <variant> <vector>)
set(PAWL_ASIO_HEADERS
  <boost/asio/awaitable.hpp> <boost/asio/co_spawn.hpp> <boost/asio/io_context.hpp>
  <boost/asio/as_tuple.hpp> <boost/asio/use_awaitable.hpp> <boost/asio/use_future.hpp>
  <boost/asio/steady_timer.hpp> <boost/asio/this_coro.hpp> <boost/asio/experimental/awaitable_operators.hpp>)
# A test's own code runs once: what it tests is optimised, in libraries of their own.
set(PAWL_TEST_OPTIONS -O1)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12 about std::string, which it keeps to itself where <string> was not precompiled.
  list(APPEND PAWL_TEST_OPTIONS -Wno-array-bounds -Wno-stringop-overflow -Wno-stringop-overread)
endif()
set(PAWL_TEST_HEADERS <gmock/gmock.h> <gtest/gtest.h> <filesystem> <fstream> <future> <sstream> <thread>)

function(pawl_precompiled_header name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;LINK;OPTIONS")
  add_library(${name} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cpp)
  target_link_libraries(${name} PRIVATE pawl_options ${arg_LINK})
  target_compile_options(${name} PRIVATE ${arg_OPTIONS})
  target_precompile_headers(${name} PRIVATE ${arg_HEADERS})
endfunction()

pawl_precompiled_header(pawl_pch_boost HEADERS ${PAWL_STANDARD_HEADERS} ${PAWL_ASIO_HEADERS} LINK pawl_boost)
if(PAWL_TESTS)
  pawl_precompiled_header(pawl_pch_test HEADERS ${PAWL_STANDARD_HEADERS} ${PAWL_TEST_HEADERS} LINK GTest::gmock
    OPTIONS ${PAWL_TEST_OPTIONS})
  pawl_precompiled_header(pawl_pch_boost_test
    HEADERS ${PAWL_STANDARD_HEADERS} ${PAWL_ASIO_HEADERS} ${PAWL_TEST_HEADERS} LINK pawl_boost GTest::gmock
    OPTIONS ${PAWL_TEST_OPTIONS})
endif()

# pawl_precompiled(TARGET BOOST TESTS): the header that fits, by what the target is made of.
function(pawl_precompiled target boost tests)
  if(NOT boost AND NOT tests)
    return()
  endif()
  set(header pawl_pch)
  if(boost)
    string(APPEND header _boost)
  endif()
  if(tests)
    string(APPEND header _test)
  endif()
  target_precompile_headers(${target} REUSE_FROM ${header})
  if(tests)
    target_compile_options(${target} PRIVATE ${PAWL_TEST_OPTIONS})
  endif()
endfunction()
