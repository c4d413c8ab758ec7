# All that brig needs, from the distribution; nothing is downloaded. scripts/deps installs it.

find_package(Threads REQUIRED)
find_package(fmt REQUIRED)
find_package(nlohmann_json 3.11 REQUIRED)
find_package(CLI11 2.1 REQUIRED)

find_package(PkgConfig REQUIRED)
pkg_check_modules(SECCOMP REQUIRED libseccomp>=2.5)
# By name, not by the path pkg-config's imported target would give: the same target then links
# libseccomp.so into libbrig.so and libseccomp.a into the static program.
add_library(brig_seccomp INTERFACE)
target_include_directories(brig_seccomp SYSTEM INTERFACE ${SECCOMP_INCLUDE_DIRS})
target_link_directories(brig_seccomp INTERFACE ${SECCOMP_LIBRARY_DIRS})
target_link_libraries(brig_seccomp INTERFACE seccomp)

pkg_check_modules(RE2 REQUIRED re2)
add_library(brig_re2 INTERFACE)
target_link_libraries(brig_re2 INTERFACE re2)

# The distribution's CMake target means the shared library, which has no static twin: use the headers.
find_path(TOMLPLUSPLUS_INCLUDE_DIR toml++/toml.h REQUIRED)
add_library(brig_toml INTERFACE)
target_include_directories(brig_toml SYSTEM INTERFACE ${TOMLPLUSPLUS_INCLUDE_DIR})
target_compile_definitions(brig_toml INTERFACE TOML_HEADER_ONLY=0)

# The egress proxy's and the server's. Boost.Asio and Beast are headers only.
find_path(BOOST_INCLUDE_DIR boost/beast/http/parser.hpp REQUIRED)
add_library(brig_asio_headers INTERFACE)
target_include_directories(brig_asio_headers SYSTEM INTERFACE ${BOOST_INCLUDE_DIR})
target_compile_definitions(brig_asio_headers INTERFACE BOOST_ASIO_NO_DEPRECATED BOOST_ERROR_CODE_HEADER_ONLY)
if(BRIG_SANITIZE STREQUAL "thread")
  # Asio's handlers stand between fences, which that sanitizer does not see; but what is posted is under a mutex as well.
  target_compile_options(brig_asio_headers INTERFACE -Wno-tsan)
endif()
# By name, as libseccomp: libbrig.so uses libcares.so, and the static program libcares.a.
pkg_check_modules(CARES REQUIRED libcares>=1.18)
add_library(brig_cares INTERFACE)
target_include_directories(brig_cares SYSTEM INTERFACE ${CARES_INCLUDE_DIRS})
target_link_libraries(brig_cares INTERFACE cares)

# The server's.
find_package(OpenSSL 3.0 REQUIRED)
find_package(prometheus-cpp REQUIRED)
add_library(brig_asio INTERFACE)
target_link_libraries(brig_asio INTERFACE brig_asio_headers OpenSSL::SSL OpenSSL::Crypto)

if(BRIG_TESTS)
  find_package(GTest REQUIRED)
endif()
if(BRIG_BENCH)
  find_package(benchmark REQUIRED)
endif()

function(print_dependency_summary)
  message(STATUS "brig ${PROJECT_VERSION}, ${CMAKE_BUILD_TYPE}, "
                 "${CMAKE_CXX_COMPILER_ID} ${CMAKE_CXX_COMPILER_VERSION}")
  message(STATUS "  fmt             ${fmt_VERSION} (headers)")
  message(STATUS "  nlohmann_json   ${nlohmann_json_VERSION} (headers)")
  message(STATUS "  toml++          ${TOMLPLUSPLUS_INCLUDE_DIR} (headers)")
  message(STATUS "  CLI11           ${CLI11_VERSION} (headers)")
  message(STATUS "  libseccomp      ${SECCOMP_VERSION}")
  message(STATUS "  c-ares          ${CARES_VERSION}")
  message(STATUS "  re2             ${RE2_VERSION}")
  message(STATUS "  OpenSSL         ${OPENSSL_VERSION}")
  message(STATUS "  prometheus-cpp  ${prometheus-cpp_VERSION}")
  message(STATUS "  Boost           ${BOOST_INCLUDE_DIR} (headers)")
  if(BRIG_TESTS)
    message(STATUS "  GoogleTest      ${GTest_VERSION}")
  endif()
  if(BRIG_BENCH)
    message(STATUS "  benchmark       ${benchmark_VERSION}")
  endif()
  message(STATUS "  sanitizers      [${BRIG_SANITIZE}]  harden ${BRIG_HARDEN}  "
                 "static program ${BRIG_STATIC_PROGRAM}  werror ${BRIG_WERROR}")
endfunction()
