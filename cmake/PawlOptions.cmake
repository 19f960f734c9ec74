# Language, warnings, sanitizers and ccache: everything that holds for every target.

option(PAWL_FUZZ "Build the libFuzzer targets (needs Clang)" OFF)
option(PAWL_BENCH "Build the benchmarks" ON)
# A folder's sources compiled together: the same headers are read, and the same templates instantiated, once instead of
# twenty times. What a change costs to build again grows with PAWL_UNITY_FILES. `dev` and `clang` compile each file alone, so
# that one which does not include what it uses is found.
option(PAWL_UNITY "Compile the sources of a folder together" ON)
set(PAWL_UNITY_FILES 10 CACHE STRING "How many of them at most")
set(PAWL_SANITIZE "" CACHE STRING "Sanitizers, as -fsanitize takes them")

set(CMAKE_CXX_STANDARD 20)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
add_compile_options(-fPIC)  # everywhere alike: programs share the precompiled header with libraries
# What an overrun costs an attacker: the process ends, and nothing is where it was guessed to be.
# hardening_test looks for all of it in what was built. Also everywhere alike.
add_compile_options(-fstack-protector-strong -fstack-clash-protection -D_GLIBCXX_ASSERTIONS
  # It needs the optimiser, and the sanitizers put functions of their own in the place of the checked ones.
  $<$<CONFIG:Release>:-U_FORTIFY_SOURCE> $<$<CONFIG:Release>:-D_FORTIFY_SOURCE=3>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|amd64|AMD64")
  add_compile_options(-fcf-protection=full)
endif()
add_link_options(LINKER:-z,relro,-z,now,-z,noexecstack
  $<$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>:-pie>)
# What is never called is left out of what ships.
add_compile_options($<$<CONFIG:Release>:-ffunction-sections> $<$<CONFIG:Release>:-fdata-sections>)
add_link_options($<$<CONFIG:Release>:LINKER:--gc-sections>)
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
set(CMAKE_CXX_FLAGS_RELEASE "-O2 -g1")  # no NDEBUG: see PAWL_CHECK
set(CMAKE_CXX_FLAGS_SANITIZED "-O1 -g1 -fno-omit-frame-pointer")

# Sources that are compiled together see each other's unnamed namespaces: a local name may be another's there.
set(PAWL_SHADOW -Wshadow)
if(PAWL_UNITY AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  set(PAWL_SHADOW -Wshadow=local)
endif()
add_library(pawl_options INTERFACE)
target_compile_options(pawl_options INTERFACE
  -Wall -Wextra -Wpedantic ${PAWL_SHADOW} -Wconversion -Wsign-conversion -Wnon-virtual-dtor
  -Wold-style-cast -Woverloaded-virtual -Wimplicit-fallthrough -Werror -Werror=switch)
if(CMAKE_CXX_COMPILER_ID STREQUAL "GNU")
  # False alarms of GCC 12 on coroutine frames of Asio 1.26 and on optimised std::variant<std::string>.
  target_compile_options(pawl_options INTERFACE
    -Wno-mismatched-new-delete -Wno-maybe-uninitialized -Wno-restrict -Wno-tsan)
endif()
if(PAWL_SANITIZE)
  target_compile_options(pawl_options INTERFACE -fsanitize=${PAWL_SANITIZE} -fno-sanitize-recover=all)
  target_link_options(pawl_options INTERFACE -fsanitize=${PAWL_SANITIZE})
  if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
    # Clang 14 cannot assemble a coroutine with it: "Cannot represent a difference across sections".
    target_compile_options(pawl_options INTERFACE -fno-sanitize=function)
  endif()
endif()
if(PAWL_FUZZ)
  # Without it libFuzzer sees no coverage and only guesses.
  target_compile_options(pawl_options INTERFACE -fsanitize=fuzzer-no-link)
endif()

find_program(PAWL_CCACHE ccache)
if(PAWL_CCACHE)
  # The sloppiness is what ccache asks for before it will cache anything that uses a precompiled header.
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env
    CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime
    CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1 ${PAWL_CCACHE})
endif()
