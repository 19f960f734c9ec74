# One target per folder: the link graph is the architecture.

# What runs needs no GoogleTest: `make run` neither installs it nor builds with it, `make test` does both.
find_package(GTest QUIET)
set(PAWL_TESTS ${GTest_FOUND})
if(PAWL_TESTS)
  include(GoogleTest)
  file(REMOVE ${PROJECT_BINARY_DIR}/without_tests)
else()
  file(TOUCH ${PROJECT_BINARY_DIR}/without_tests)  # for scripts/build
  message(STATUS "No GoogleTest: the tests are left out. scripts/setup test installs it; configure again afterwards.")
endif()

include(PawlPrecompiled)

function(pawl_unity name)
  if(NOT PAWL_UNITY)
    return()
  endif()
  set_target_properties(${name} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${PAWL_UNITY_FILES})
  # A type of one source's unnamed namespace in a class of the same source: the warning means headers.
  if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE -Wno-subobject-linkage)
  endif()
endfunction()

# pawl_library(NAME SOURCES... [LINK targets...] [BOOST])
#   BOOST: the folder may use Boost; its precompiled header then has Asio in it.
function(pawl_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BOOST" "" "SOURCES;LINK;PRIVATE_LINK")
  add_library(${name} STATIC ${arg_SOURCES})
  target_include_directories(${name} PUBLIC ${PROJECT_SOURCE_DIR}/include PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PUBLIC ${arg_LINK} PRIVATE pawl_options ${arg_PRIVATE_LINK})
  pawl_precompiled(${name} ${arg_BOOST} FALSE)
  pawl_unity(${name})
  # What one file calls once is inlined; ten files together call it ten times, and -O2 then leaves it a call. With the
  # thresholds of -O3 for this alone, compiling a folder together costs a request nothing (without: 4 to 15 % more instructions).
  if(PAWL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
    target_compile_options(${name} PRIVATE "$<$<CONFIG:Release>:--param=large-unit-insns=200000;--param=early-inlining-insns=14;\
--param=max-inline-insns-auto=30;--param=max-inline-insns-single=200;--param=inline-min-speedup=15>")
  endif()
endfunction()

# pawl_program(NAME SOURCES... LINK targets... [BOOST]): lands in the build folder's root, build/NAME.
function(pawl_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BOOST;TESTS" "" "SOURCES;LINK")
  add_executable(${name} ${arg_SOURCES})
  target_include_directories(${name} PRIVATE ${PROJECT_SOURCE_DIR})
  target_link_libraries(${name} PRIVATE pawl_options ${arg_LINK})
  pawl_precompiled(${name} ${arg_BOOST} ${arg_TESTS})
endfunction()

# pawl_ships(NAME): a program for others. Nine tenths of it would be debug symbols: they stand in NAME.debug beside it, where
# debuggers look. Sanitizers say more with them inside.
find_program(PAWL_OBJCOPY objcopy)
function(pawl_ships name)
  if(PAWL_SANITIZE OR NOT PAWL_OBJCOPY OR NOT CMAKE_BUILD_TYPE STREQUAL "Release")
    return()
  endif()
  add_custom_command(TARGET ${name} POST_BUILD WORKING_DIRECTORY ${PROJECT_BINARY_DIR} VERBATIM
    COMMAND ${PAWL_OBJCOPY} --only-keep-debug $<TARGET_FILE:${name}> $<TARGET_FILE:${name}>.debug
    COMMAND ${PAWL_OBJCOPY} --strip-all --add-gnu-debuglink=$<TARGET_FILE:${name}>.debug $<TARGET_FILE:${name}>)
endfunction()

# pawl_test(NAME LABEL unit|contract|e2e|sim SOURCES... LINK targets... [BOOST] [TOGETHER] [APART] [TIMEOUT seconds] [SUITE name] [DEFINES definitions...])
#   Every TEST becomes a ctest entry, so ctest's summary counts promises, not programs.
#   TOGETHER: one entry for the whole program, for tests that share a server which takes seconds to start.
#   APART: its sources are compiled one by one, where they use the same names for different things.
#   The target tests_LABEL builds all of one kind and nothing else.
#   SUITE: ha, compat or chaos, a second label: `make test` runs the short form of it, `make test-ha`, `test-compat` and `chaos` the long one.
foreach(label unit contract e2e)
  add_custom_target(tests_${label})
endforeach()
function(pawl_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "BOOST;TOGETHER;APART" "LABEL;TIMEOUT;SUITE" "SOURCES;LINK;DEFINES")
  if(NOT PAWL_TESTS)
    return()
  endif()
  if(NOT arg_TIMEOUT)
    set(arg_TIMEOUT 120)
  endif()
  set(labels ${arg_LABEL} ${arg_SUITE})
  if(arg_BOOST)
    set(boost BOOST)
  endif()
  pawl_program(${name} ${boost} TESTS SOURCES ${arg_SOURCES} LINK ${arg_LINK} pawl_test_support GTest::gmock GTest::gtest_main)
  target_compile_definitions(${name} PRIVATE ${arg_DEFINES})
  if(NOT arg_APART)
    pawl_unity(${name})
  endif()
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/tests)
  add_dependencies(tests_${arg_LABEL} ${name})
  if(arg_TOGETHER)
    add_test(NAME ${name} COMMAND ${name} WORKING_DIRECTORY ${PROJECT_SOURCE_DIR})
    set_tests_properties(${name} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT})
    return()
  endif()
  gtest_discover_tests(${name} DISCOVERY_MODE PRE_TEST DISCOVERY_TIMEOUT 60 NO_PRETTY_VALUES
    WORKING_DIRECTORY ${PROJECT_SOURCE_DIR} PROPERTIES LABELS "${labels}" TIMEOUT ${arg_TIMEOUT})
endfunction()
