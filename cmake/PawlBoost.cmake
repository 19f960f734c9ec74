# Boost.Asio compiled once: without it, a build on 2 cores is spent compiling the same templates again.

find_package(Threads REQUIRED)
find_package(OpenSSL REQUIRED)
find_path(PAWL_BOOST_INCLUDE boost/asio.hpp REQUIRED)

file(STRINGS ${PAWL_BOOST_INCLUDE}/boost/version.hpp boost_version REGEX "define BOOST_LIB_VERSION")
if(NOT boost_version MATCHES "1_81")
  message(FATAL_ERROR "Boost 1.81 is needed, found: ${boost_version}. On Debian 12: apt-get install libboost1.81-dev")
endif()

add_library(pawl_boost STATIC ${CMAKE_CURRENT_LIST_DIR}/boost.cpp)
target_link_libraries(pawl_boost PUBLIC Threads::Threads PRIVATE pawl_options)
target_compile_definitions(pawl_boost PUBLIC
  BOOST_ASIO_SEPARATE_COMPILATION BOOST_ASIO_NO_DEPRECATED BOOST_ASIO_DISABLE_VISIBILITY
  # A coroutine's frame by operator new: aligned_alloc costs four times as much, 46 times per new key.
  BOOST_ASIO_DISABLE_STD_ALIGNED_ALLOC BOOST_ASIO_DISABLE_BOOST_ALIGN)
add_library(pawl_boost_ssl STATIC ${CMAKE_CURRENT_LIST_DIR}/boost_ssl.cpp)
target_link_libraries(pawl_boost_ssl PUBLIC pawl_boost OpenSSL::SSL PRIVATE pawl_options)
