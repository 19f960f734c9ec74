# What `cmake --install` lays down: the program, and libpawl as a static and a shared library with its
# headers, a CMake package and a pkg-config file. Components: program, library.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)
find_package(SQLite3 REQUIRED)
find_package(PostgreSQL REQUIRED)

# The same objects that the program is linked from; Boost is inside and not part of the interface.
set(parts pawl_core pawl_ports pawl_engine pawl_boundary pawl_workers pawl_os pawl_http pawl_resume pawl_sealed pawl_sql pawl_reconcile pawl_sqlite pawl_postgres pawl_node pawl_service
  pawl_boost pawl_boost_ssl)
set(objects)
foreach(part ${parts})
  list(APPEND objects $<TARGET_OBJECTS:${part}>)
endforeach()

add_library(pawl_static STATIC ${objects})
add_library(pawl_shared SHARED ${objects})
foreach(library pawl_static pawl_shared)
  set_target_properties(${library} PROPERTIES OUTPUT_NAME pawl LINKER_LANGUAGE CXX)
  target_link_libraries(${library} PRIVATE
    OpenSSL::SSL OpenSSL::Crypto SQLite::SQLite3 PostgreSQL::PostgreSQL Threads::Threads)
  target_include_directories(${library} INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
  target_compile_features(${library} INTERFACE cxx_std_20)
endforeach()
# Only pawl:: is exported: a program with another Boost of its own never meets ours.
set(exports ${PROJECT_SOURCE_DIR}/cmake/pawl.map)
set_target_properties(pawl_shared PROPERTIES
  VERSION ${PROJECT_VERSION} SOVERSION ${PROJECT_VERSION_MAJOR}.${PROJECT_VERSION_MINOR}
  LINK_DEPENDS ${exports})
target_link_options(pawl_shared PRIVATE LINKER:--version-script=${exports})
if(PAWL_SANITIZE)
  target_link_options(pawl_shared PRIVATE -fsanitize=${PAWL_SANITIZE})
endif()

install(TARGETS pawl RUNTIME COMPONENT program)
# What `pawl demo` starts beside itself: it looks for them in ../libexec/pawl.
install(TARGETS pawl_payments pawl_provider RUNTIME DESTINATION libexec/pawl COMPONENT program)
# A component of its own, as a distribution's debug packages are.
foreach(program pawl pawl_payments pawl_provider)
  set(folder $<IF:$<STREQUAL:${program},pawl>,${CMAKE_INSTALL_BINDIR},libexec/pawl>)
  install(FILES $<TARGET_FILE:${program}>.debug DESTINATION ${folder} COMPONENT debug OPTIONAL)
endforeach()
install(TARGETS pawl_static pawl_shared EXPORT pawl_targets COMPONENT library)

# include/pawl is exactly what is installed.
install(DIRECTORY include/pawl DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT library
  FILES_MATCHING PATTERN "*.hpp")

set(package ${CMAKE_INSTALL_LIBDIR}/cmake/pawl)
install(EXPORT pawl_targets NAMESPACE pawl:: DESTINATION ${package} COMPONENT library)
configure_package_config_file(cmake/pawl-config.cmake.in ${PROJECT_BINARY_DIR}/pawl-config.cmake
  INSTALL_DESTINATION ${package})
write_basic_package_version_file(${PROJECT_BINARY_DIR}/pawl-config-version.cmake
  COMPATIBILITY SameMinorVersion)
install(FILES ${PROJECT_BINARY_DIR}/pawl-config.cmake ${PROJECT_BINARY_DIR}/pawl-config-version.cmake
  DESTINATION ${package} COMPONENT library)

# Paths start at the file's own place: what is installed can be moved.
file(RELATIVE_PATH include_from_pc /${CMAKE_INSTALL_LIBDIR}/pkgconfig /${CMAKE_INSTALL_INCLUDEDIR})
configure_file(cmake/pawl.pc.in ${PROJECT_BINARY_DIR}/pawl.pc @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/pawl.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig
  COMPONENT library)
